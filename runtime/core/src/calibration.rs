//! What `hetmp calibrate` measured, as the runtime reads it (`HETMP_CALIBRATION`).
//!
//! ```toml
//! hetmp_calibration = 1
//!
//! [[node]]
//! kind = "big"               # the node's name, or its CPUs
//! watts = 45.0               # while all its cores compute; optional
//! watts_idle = 4.0           # while nothing runs on it; optional
//! csr = { integer = 2.9, float = 3.1, memory = 1.4, branchy = 2.6 }   # optional
//!
//! [[link]]
//! nodes = ["big", "little"]  # two kinds, or one kind twice
//! fault_period_us = 85.0     # core time per page that must be exceeded to use both
//! ```
//!
//! **Data in**: the file. **Data out**: thresholds and watts by kind of node.

use crate::toml::{self, quoted, Fields};
use crate::topo::Node;
use core::fmt::{self, Write as _};
use std::path::Path;

/// The version of the format.
pub const VERSION: u32 = 1;

/// A kind of node, as measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeKind {
    /// Which nodes: those for which [`kind_of`] returns this text.
    pub kind: String,
    /// Watts of the whole node while all its cores compute.
    pub watts: Option<f64>,
    /// Watts of the whole node while nothing runs on it.
    pub watts_idle: Option<f64>,
    /// Core speed ratios of standard kernels, where the slowest kind has 1. Shown to people; the runtime measures
    /// each loop.
    pub csr: Vec<(String, f64)>,
}

/// The connection between two kinds of nodes, as measured.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkKind {
    /// The two kinds.
    pub nodes: [String; 2],
    /// Core time per remote page fault, in microseconds, that a loop must exceed.
    pub fault_period_us: f64,
}

/// A calibration. [`Display`](fmt::Display) writes the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibration {
    /// The kinds of nodes.
    pub nodes: Vec<NodeKind>,
    /// The links between them.
    pub links: Vec<LinkKind>,
}

/// The name under which a calibration keeps a node: the node's name, or its CPUs if it has none.
#[must_use]
pub fn kind_of(node: &Node) -> String {
    node.name
        .clone()
        .unwrap_or_else(|| format!("cores={}", node.cpus))
}

impl Calibration {
    /// Reads a file. Errors say what is wrong, and what is expected.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = crate::file::text(path, crate::file::SMALL)
            .map_err(|e| format!("{e} (expected a readable file)"))?;
        Self::parse(&text)
    }

    /// Reads the text of a file. Errors say what is wrong, and what is expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        const SHAPE: &str =
            "no calibration (expected a file written by hetmp calibrate, with [[node]] and [[link]] tables)";
        let mut root = toml::parse(text)?;
        match root.number("hetmp_calibration", "version 1", |_| true)? {
            Some(v) if v == f64::from(VERSION) => {}
            Some(v) => {
                return Err(format!(
                    "hetmp_calibration = {v}: another version (expected {VERSION})"
                ))
            }
            None => return Err(SHAPE.to_owned()),
        }
        let nodes = root.array("node", SHAPE)?.unwrap_or_default();
        let links = root.array("link", SHAPE)?.unwrap_or_default();
        root.done("hetmp_calibration, [[node]] and [[link]]")?;
        Ok(Calibration {
            nodes: nodes.into_iter().map(node).collect::<Result<_, _>>()?,
            links: links.into_iter().map(link).collect::<Result<_, _>>()?,
        })
    }

    /// The threshold for a team on nodes of these kinds, in microseconds: the highest of all links between them, so
    /// that a loop gains on every link that it uses. `None` if no link between two of these kinds was measured.
    #[must_use]
    pub fn fault_period_us(&self, kinds: &[String]) -> Option<f64> {
        let between = |l: &&LinkKind| {
            let at = |k: &String| kinds.iter().filter(move |x| *x == k).count();
            if l.nodes[0] == l.nodes[1] {
                at(&l.nodes[0]) > 1
            } else {
                l.nodes.iter().all(|k| at(k) > 0)
            }
        };
        self.links
            .iter()
            .filter(between)
            .map(|l| l.fault_period_us)
            .reduce(f64::max)
    }

    /// What was measured for nodes of this kind.
    #[must_use]
    pub fn node(&self, kind: &str) -> Option<&NodeKind> {
        self.nodes.iter().find(|n| n.kind == kind)
    }
}

fn node(mut fields: Fields<'_>) -> Result<NodeKind, String> {
    let kind = fields
        .text("kind")?
        .ok_or("every [[node]] needs \"kind\", a node's name or CPUs")?;
    let watts = fields.number("watts", "a number above 0", |w| w > 0.0)?;
    let watts_idle = fields.number("watts_idle", "a number from 0", |w| w >= 0.0)?;
    let csr = fields.numbers("csr")?;
    fields.done("kind, watts, watts_idle and csr")?;
    Ok(NodeKind {
        kind,
        watts,
        watts_idle,
        csr,
    })
}

fn link(mut fields: Fields<'_>) -> Result<LinkKind, String> {
    let nodes = fields.texts("nodes")?.unwrap_or_default();
    let nodes: [String; 2] = nodes
        .try_into()
        .map_err(|_| "every [[link]] needs \"nodes\", a list of two kinds".to_owned())?;
    let fault_period_us = fields
        .number("fault_period_us", "a number of microseconds from 0", |us| {
            us >= 0.0
        })?
        .ok_or("every [[link]] needs \"fault_period_us\"")?;
    fields.done("nodes and fault_period_us")?;
    Ok(LinkKind {
        nodes,
        fault_period_us,
    })
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "hetmp_calibration = {VERSION}")?;
        for n in &self.nodes {
            writeln!(f, "\n[[node]]\nkind = {}", quoted(&n.kind))?;
            for (key, watts) in [("watts", n.watts), ("watts_idle", n.watts_idle)] {
                if let Some(watts) = watts {
                    writeln!(f, "{key} = {watts:?}")?;
                }
            }
            if !n.csr.is_empty() {
                let mut list = String::new();
                for (i, (kernel, csr)) in n.csr.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(list, "{comma}{kernel} = {csr:?}")?;
                }
                writeln!(f, "csr = {{ {list} }}")?;
            }
        }
        for l in &self.links {
            writeln!(
                f,
                "\n[[link]]\nnodes = [{}, {}]\nfault_period_us = {:?}",
                quoted(&l.nodes[0]),
                quoted(&l.nodes[1]),
                l.fault_period_us
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Calibration {
        let kind = |kind: &str, watts| NodeKind {
            kind: kind.to_owned(),
            watts,
            watts_idle: watts.map(|w| w / 8.0),
            csr: vec![("float".to_owned(), 3.0), ("integer".to_owned(), 2.5)],
        };
        let link = |a: &str, b: &str, us| LinkKind {
            nodes: [a.to_owned(), b.to_owned()],
            fault_period_us: us,
        };
        Calibration {
            nodes: vec![kind("big", Some(44.0)), kind("cores=4-7", None)],
            links: vec![
                link("big", "cores=4-7", 85.5),
                link("big", "big", 12.0),
                link("x", "big", 900.0),
            ],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let c = sample();
        assert_eq!(Calibration::parse(&c.to_string()), Ok(c));
        let empty = Calibration::default();
        assert_eq!(Calibration::parse(&empty.to_string()), Ok(empty));
    }

    #[test]
    fn thresholds_are_those_of_the_links_in_use() {
        let c = sample();
        let of = |kinds: &[&str]| {
            let kinds: Vec<String> = kinds.iter().map(|k| (*k).to_owned()).collect();
            c.fault_period_us(&kinds)
        };
        assert_eq!(of(&["big", "cores=4-7"]), Some(85.5));
        assert_eq!(of(&["cores=4-7", "big", "x"]), Some(900.0));
        assert_eq!(of(&["big", "big"]), Some(12.0));
        assert_eq!(of(&["big"]), None);
        assert_eq!(of(&["cores=4-7", "y"]), None);
        assert_eq!(c.node("big").and_then(|n| n.watts_idle), Some(5.5));
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        let v = "hetmp_calibration = 1\n";
        for (text, wrong) in [
            (
                String::new(),
                "no calibration (expected a file written by hetmp calibrate",
            ),
            (
                "hetmp_calibration = 2".to_owned(),
                "hetmp_calibration = 2: another version (expected 1)",
            ),
            (format!("{v}node = 3"), "no calibration (expected"),
            (format!("{v}[[node]]"), "every [[node]] needs \"kind\""),
            (
                format!("{v}[[node]]\nkind = 4"),
                "kind: no text (expected one in quotes)",
            ),
            (
                format!("{v}[[node]]\nkind = \"a\"\nwatts = -1"),
                "watts: not usable (expected a number above 0)",
            ),
            (
                format!("{v}[[node]]\nkind = \"a\"\ncsr = {{ a = 0 }}"),
                "csr: no table (expected one of numbers above 0)",
            ),
            (
                format!("{v}[[link]]\nnodes = [\"a\"]"),
                "every [[link]] needs \"nodes\"",
            ),
            (
                format!("{v}[[link]]\nnodes = [1, 2]"),
                "nodes: no list (expected a list of texts)",
            ),
            (
                format!("{v}[[link]]\nnodes = [\"a\", \"b\"]"),
                "every [[link]] needs \"fault_period_us\"",
            ),
            (
                format!("{v}[[link]]\nnodes = [\"a\", \"b\"]\nfault_period_us = nan"),
                "fault_period_us: not usable (expected a number of microseconds",
            ),
            (
                format!("{v}[x]"),
                "\"x\": unknown (expected hetmp_calibration, [[node]] and [[link]])",
            ),
            (format!("{v}[[link]"), "line 2: "),
        ] {
            let error = Calibration::parse(&text).expect_err(&text);
            assert!(error.starts_with(wrong), "{error}\nwanted {wrong}");
            assert!(!error.contains('\n'));
        }
        assert!(Calibration::read(Path::new("/nonexistent"))
            .expect_err("no file")
            .ends_with("(expected a readable file)"));
    }
}
