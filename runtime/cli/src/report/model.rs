//! The file of `HETMP_REPORT`, as far as it is read here. `docs/report.md` describes all of it.

use crate::source::Place;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// The version of a report's format that is read.
pub(super) const FORMAT: u64 = 2;
/// The version of a trace's.
pub(super) const TRACE_FORMAT: u64 = 1;
/// Larger files are not reports, bytes.
const LARGEST: u64 = 1 << 30;

#[derive(Debug, Deserialize)]
pub(super) struct Report {
    pub(super) program: String,
    pub(super) elapsed_ns: u64,
    pub(super) ending: String,
    pub(super) schedule: String,
    pub(super) nodes: Vec<Node>,
    /// Missing if the program crashed while the runtime was changing it.
    pub(super) reach: Option<Reach>,
    #[serde(default)]
    pub(super) regions: Vec<Region>,
    #[serde(default)]
    pub(super) loops: Vec<Loop>,
    /// Only of programs on several nodes (`HETMP_NODES=dsm:N`).
    pub(super) dsm: Option<Dsm>,
}

/// What a distributed shared memory did.
#[derive(Debug, Deserialize)]
pub(super) struct Dsm {
    pub(super) nodes: Vec<Traffic>,
    pub(super) regions: Vec<Crossing>,
    pub(super) pages: Vec<Page>,
}

/// Events of one node.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Traffic {
    pub(super) read_faults: u64,
    pub(super) write_faults: u64,
    /// Reports of older versions do not have it.
    #[serde(default)]
    pub(super) pages_along: u64,
    pub(super) bytes_sent: u64,
    pub(super) pages_taken_away: u64,
    pub(super) waited_ns: u64,
}

impl core::iter::Sum for Traffic {
    fn sum<I: Iterator<Item = Traffic>>(all: I) -> Traffic {
        // A file of somebody else may have any numbers.
        let sum = u64::saturating_add;
        all.fold(Traffic::default(), |a, b| Traffic {
            read_faults: sum(a.read_faults, b.read_faults),
            write_faults: sum(a.write_faults, b.write_faults),
            pages_along: sum(a.pages_along, b.pages_along),
            bytes_sent: sum(a.bytes_sent, b.bytes_sent),
            pages_taken_away: sum(a.pages_taken_away, b.pages_taken_away),
            waited_ns: sum(a.waited_ns, b.waited_ns),
        })
    }
}

/// A region that may cross nodes.
#[derive(Debug, Deserialize)]
pub(super) struct Crossing {
    #[serde(flatten)]
    pub(super) place: Place,
    pub(super) crossed: u64,
    pub(super) across_ns: u64,
    /// Executions whole on another node. Reports of older versions do not have them.
    #[serde(default)]
    pub(super) moved: u64,
    #[serde(default)]
    pub(super) moved_ns: u64,
    #[serde(default)]
    pub(super) moved_to: u32,
    /// The last trial. Reports of older versions do not have it.
    #[serde(default)]
    pub(super) trial: Option<Trial>,
    pub(super) stayed: u64,
    pub(super) home_ns: u64,
    pub(super) reason: String,
    /// What happened on each node while the region crossed; empty if it never did.
    pub(super) nodes: Vec<Traffic>,
}

/// What the origin's threads did when it was last tried whether a region gains by crossing.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Trial {
    pub(super) faults: u64,
    pub(super) fault_period_us: Option<f64>,
    pub(super) fault_threshold_us: f64,
    pub(super) ended_early: bool,
}

impl core::fmt::Display for Trial {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.fault_period_us {
            Some(us) => write!(
                f,
                "{} faults, {us:.1} of {:.1} us",
                self.faults, self.fault_threshold_us
            )?,
            None => f.write_str("no faults")?,
        }
        f.write_str(if self.ended_early {
            ", ended early"
        } else {
            ""
        })
    }
}

/// A page that nodes asked for often.
#[derive(Debug, Deserialize)]
pub(super) struct Page {
    pub(super) address: u64,
    pub(super) requests: u64,
    pub(super) contents: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Node {
    pub(super) cpus: String,
    pub(super) speed: f64,
    pub(super) name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Reach {
    /// What looking at regions has taken and trials have lost, of what both may. Missing in reports of older versions.
    #[serde(default)]
    pub(super) looked_ns: u64,
    #[serde(default)]
    pub(super) lost_ns: u64,
    #[serde(default)]
    pub(super) allowed_ns: u64,
    pub(super) by: Vec<Part>,
}

/// How much of the time in regions went one way.
#[derive(Debug, Deserialize)]
pub(super) struct Part {
    /// The word of the way, or of the reason that kept an ordinary team.
    pub(super) way: String,
    pub(super) kept: bool,
    pub(super) reason: String,
    pub(super) runs: u64,
    pub(super) elapsed_ns: u64,
    pub(super) share: f64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Region {
    #[serde(flatten)]
    pub(super) place: Place,
    pub(super) runs: u64,
    pub(super) elapsed_ns: u64,
    pub(super) min_ns: u64,
    pub(super) max_ns: u64,
    pub(super) ways: Vec<Way>,
}

/// Executions of a region in one of its ways.
#[derive(Debug, Deserialize)]
pub(super) struct Way {
    /// The word of the way, or of the reason that kept an ordinary team.
    pub(super) way: String,
    pub(super) kept: bool,
    pub(super) reason: String,
    pub(super) threads: u32,
    pub(super) virtual_threads: Option<u32>,
    pub(super) runs: u64,
    pub(super) elapsed_ns: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Loop {
    #[serde(flatten)]
    pub(super) place: Place,
    /// The unit of its counts: `iterations`, or the virtual threads of a region.
    pub(super) unit: String,
    pub(super) schedule: String,
    pub(super) executions: u64,
    pub(super) iterations: u64,
    pub(super) elapsed_ns: u64,
    pub(super) min_ns: u64,
    pub(super) max_ns: u64,
    pub(super) nodes: Vec<LoopNode>,
    pub(super) decisions: Vec<Decision>,
}

impl Loop {
    /// True if it is a region, which is named by its function. A loop is named by the place to which its first call
    /// of the runtime returns.
    pub(super) fn is_region(&self) -> bool {
        self.unit != "iterations"
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct LoopNode {
    pub(super) threads: u32,
    pub(super) iterations: u64,
    pub(super) share: f64,
    pub(super) csr: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Decision {
    pub(super) execution: u64,
    pub(super) iterations: u64,
    pub(super) elapsed_ns: u64,
    pub(super) learning: String,
    pub(super) reason: String,
    pub(super) nodes: Vec<DecisionNode>,
}

#[derive(Debug, Deserialize)]
pub(super) struct DecisionNode {
    pub(super) decided_share: Option<f64>,
    pub(super) probe_ns_per_iteration: Option<f64>,
    pub(super) share: f64,
    pub(super) csr: Option<f64>,
}

/// Reads a JSON file that identifies itself by the field `marker`, a path with dots, in the `expected` format.
///
/// # Errors
/// One line, with `what` and the file's name.
pub(super) fn read(
    what: &str,
    variable: &str,
    path: &Path,
    marker: &[&str],
    expected: u64,
) -> Result<Value, String> {
    let name = path.display();
    let refuse = |why: &dyn std::fmt::Display| {
        format!("{what} {name}: {why} (expected a file that hetmp wrote under {variable})")
    };
    let text = hetmp_core::file::text(path, LARGEST).map_err(|e| refuse(&e))?;
    let value: Value = serde_json::from_str(&text).map_err(|e| {
        if e.is_eof() {
            refuse(&format_args!("cut short after {} bytes", text.len()))
        } else {
            refuse(&format_args!("not JSON ({e})"))
        }
    })?;
    let format = marker.iter().try_fold(&value, |v, key| v.get(key));
    match format {
        None => Err(refuse(&format_args!("no field {}", marker.join(".")))),
        Some(v) if v.as_u64() == Some(expected) => Ok(value),
        Some(v) => Err(format!(
            "{what} {name}: format {v} (expected format {expected}, that of hetmp {})",
            env!("CARGO_PKG_VERSION")
        )),
    }
}

/// The report in `value`, which [`read`] has returned.
///
/// # Errors
/// One line.
pub(super) fn report(path: &Path, value: &Value) -> Result<Report, String> {
    Report::deserialize(value).map_err(|e| {
        format!(
            "report {}: {e} (expected a file that hetmp wrote under HETMP_REPORT)",
            path.display()
        )
    })
}
