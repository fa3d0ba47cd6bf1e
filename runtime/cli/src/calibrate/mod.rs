//! `hetmp calibrate`: measures the nodes of this machine and the links between them, and writes the file that the
//! runtime reads under `HETMP_CALIBRATION`.
//!
//! * `kernels`: core speed ratios of standard kernels.
//! * `link`: for each pair of kinds of nodes a sweep over operations per byte. Its result is the threshold above
//!   which several nodes are faster than one.
//! * Power, if the machine's energy counters can be read and a node is a whole package.
//! * `dsm`: the same sweep between two processes that share pages by the DSM (`--nodes dsm:2`).
//! * `goal` measures collectives between processes instead.
//! * `crew` runs the work, `svg` draws the sweeps.
//!
//! The nodes are those of `HETMP_NODES`, or those that are found. Slowed nodes are slowed here too.

mod crew;
mod dsm;
mod goal;
mod kernels;
mod link;
mod svg;

use crate::outputs::{self, By};
use crate::progress::Progress;
use crate::Output;
use hetmp_core::calibration::{kind_of, Calibration, LinkKind, NodeKind};
use hetmp_core::power::Meter;
use hetmp_core::topo::{Node, Nodes, Topology};
use hetmp_nic::job::Way;
use link::{Point, Threshold};
use serde_json::{json, Value};
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    /// Writes the calibration into this file, which HETMP_CALIBRATION then names
    #[arg(long, value_name = "FILE")]
    out: Option<String>,
    /// Also draws the sweeps into an SVG file
    #[arg(long, value_name = "FILE")]
    svg: Option<String>,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    /// The nodes, as in HETMP_NODES; with dsm:2 the link between two processes that share pages is measured
    #[arg(long, value_name = "NODES")]
    nodes: Option<std::ffi::OsString>,
    /// How pages travel between nodes dsm:2: auto (through memory that both map) or tcp
    #[arg(long, value_name = "WAY", default_value = "auto", value_parser = ["auto", "tcp"])]
    over: String,
    /// How long one measurement takes, in milliseconds; there are some hundred
    #[arg(long, value_name = "MS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    time: u64,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Measures the algorithms of goal.h's collectives against each other, in the processes that hetrun starts, and
    /// prints what HETMP_GOAL_CHOICE should say
    Goal(goal::Arguments),
}

/// Two kinds of nodes, and the measurements between them.
struct Pair {
    kinds: [String; 2],
    /// What joins them.
    coupling: &'static str,
    points: Vec<Point>,
    threshold: Threshold,
}

/// Watts of a node, busy and idle; or why they are not known.
type Watts = Result<[f64; 2], &'static str>;

pub(crate) fn run(arguments: &Arguments) -> Output {
    if let Some(What::Goal(arguments)) = &arguments.what {
        return goal::run(arguments);
    }
    let mut files = Vec::new();
    for (option, file) in [("--out", &arguments.out), ("--svg", &arguments.svg)] {
        files.extend(file.as_ref().map(|f| (option, Path::new(f), By::Command)));
    }
    if let Err(error) = outputs::check(&files) {
        return Output::refuse(error);
    }
    let told = arguments
        .nodes
        .clone()
        .or_else(|| std::env::var_os("HETMP_NODES"));
    if let Some(text) = told.as_ref().and_then(|v| v.to_str()) {
        if text.trim().starts_with("dsm:") {
            return across(arguments, text.trim());
        }
    }
    let machine = Topology::discover();
    let value = told.map(std::ffi::OsString::into_encoded_bytes);
    let nodes = match Nodes::from_env(value.as_deref(), &machine) {
        Ok(nodes) => nodes,
        // Other nodes must not be measured instead: the user did not ask for them.
        Err(error) => {
            return Output {
                errors: vec![error.to_string()],
                ..Output::default()
            }
        }
    };
    let each = Duration::from_millis(arguments.time);
    let all = pairs(&nodes);
    let progress = Progress::new(2 + all.len());
    progress.at(0, "speeds");
    let rows = kernels::measure(&nodes, each);
    progress.at(1, "watts");
    let watts = watts(&nodes, &machine, each.max(Duration::from_millis(200)));
    let pairs: Vec<Pair> = all
        .into_iter()
        .enumerate()
        .map(|(i, [a, b])| {
            progress.at(2 + i, "links");
            let points = link::sweep([&nodes[a], &nodes[b]], each);
            Pair {
                kinds: [kind_of(&nodes[a]), kind_of(&nodes[b])],
                coupling: "coherent memory",
                threshold: link::threshold(&points),
                points,
            }
        })
        .collect();
    drop(progress);
    let calibration = calibration(&nodes, &rows, &watts, &pairs);
    let mut output = Output::default();
    let mut write = |option: &str, path: &str, text: &str| {
        let written = outputs::write(option, Path::new(path), text);
        output.errors.extend(written.err());
    };
    if let Some(path) = &arguments.out {
        write("--out", path, &calibration.to_string());
    }
    if let Some(path) = &arguments.svg {
        match svg::draw(&pairs) {
            Ok(text) => write("--svg", path, &text),
            Err(error) => output.errors.push(error),
        }
    }
    output.text = if arguments.json {
        format!("{:#}\n", all_json(&nodes, &rows, &watts, &pairs))
    } else {
        text(arguments, &nodes, &rows, &watts, &pairs)
    };
    output
}

/// The link between two nodes with memory of their own.
fn across(arguments: &Arguments, nodes: &str) -> Output {
    if nodes != "dsm:2" {
        return Output::refuse(format!(
            "--nodes: '{nodes}': cannot be calibrated (expected dsm:2)"
        ));
    }
    let (way, coupling) = match &*arguments.over {
        "tcp" => (Way::Tcp, "pages of the DSM over TCP"),
        _ => (Way::Auto, "pages of the DSM through memory that both map"),
    };
    let points = match dsm::sweep(way, Duration::from_millis(arguments.time)) {
        Ok(points) => points,
        Err(error) => return Output::refuse(error),
    };
    let pairs = [Pair {
        kinds: ["dsm", "dsm"].map(str::to_owned),
        coupling,
        threshold: link::threshold(&points),
        points,
    }];
    let mut output = Output::default();
    if let Some(path) = &arguments.out {
        let text = calibration(&[], &[], &[], &pairs).to_string();
        output
            .errors
            .extend(outputs::write("--out", Path::new(path), &text).err());
    }
    if let Some(path) = &arguments.svg {
        let drawn =
            svg::draw(&pairs).and_then(|text| outputs::write("--svg", Path::new(path), text));
        output.errors.extend(drawn.err());
    }
    output.text = if arguments.json {
        format!(
            "{:#}\n",
            json!({"HETMP_NODES": nodes, "links": links_json(&pairs)})
        )
    } else {
        let mut text = format!("nodes: HETMP_NODES='{nodes}'\n");
        links_text(&mut text, &pairs);
        text
    };
    output
}

/// A pair of nodes for each two kinds.
fn pairs(nodes: &[Node]) -> Vec<[usize; 2]> {
    let kinds: Vec<String> = nodes.iter().map(kind_of).collect();
    let mut seen: Vec<[&str; 2]> = Vec::new();
    let mut out = Vec::new();
    for b in 0..nodes.len() {
        for a in 0..b {
            let mut pair = [kinds[a].as_str(), kinds[b].as_str()];
            pair.sort_unstable();
            if !seen.contains(&pair) {
                seen.push(pair);
                out.push([a, b]);
            }
        }
    }
    out
}

/// The power of each node, while it computes and while nothing runs.
fn watts(nodes: &[Node], machine: &Topology, time: Duration) -> Vec<Watts> {
    let meters = Meter::all();
    let during = |m: &Meter, work: &dyn Fn()| -> Option<f64> {
        let (before, start) = (m.read()?, Instant::now());
        work();
        let seconds = start.elapsed().as_secs_f64();
        Some(m.joules(before, m.read()?) / seconds)
    };
    // Here packages are named by their lowest CPU, in the counters by a number. Both are in the same order.
    let mut packages: Vec<usize> = machine.cpus().iter().map(|c| c.package).collect();
    packages.sort_unstable();
    packages.dedup();
    nodes
        .iter()
        .map(|node| {
            if meters.is_empty() {
                return Err("this machine shows no energy counters, or not to this user");
            }
            let first = node.cpus.first().and_then(|id| machine.cpu(id));
            let package = first.map(|c| c.package).unwrap_or_default();
            let whole = machine
                .cpus()
                .iter()
                .all(|c| (c.package == package) == node.cpus.contains(c.id));
            if !whole {
                return Err("the counter is that of a package, of which the node is a part");
            }
            let number = packages.iter().position(|&p| p == package);
            let meter = meters
                .iter()
                .find(|m| Some(m.package) == number)
                .ok_or("its package has no energy counter")?;
            let idle = during(meter, &|| std::thread::sleep(time));
            let busy = during(meter, &|| kernels::load(node, time));
            match (busy, idle) {
                (Some(busy), Some(idle)) if busy > 0.0 => Ok([busy, idle.min(busy)]),
                _ => Err("the energy counter cannot be read"),
            }
        })
        .collect()
}

fn calibration(
    nodes: &[Node],
    rows: &[kernels::Row],
    watts: &[Watts],
    pairs: &[Pair],
) -> Calibration {
    // More digits would be noise.
    let digits = |x: f64, n: i32| (x * 10f64.powi(n)).round() / 10f64.powi(n);
    let mut out = Calibration::default();
    for (i, node) in nodes.iter().enumerate() {
        let kind = kind_of(node);
        if out.node(&kind).is_some() {
            continue;
        }
        let watts = watts[i].as_ref().ok();
        out.nodes.push(NodeKind {
            kind,
            watts: watts.map(|w| digits(w[0], 2)),
            watts_idle: watts.map(|w| digits(w[1], 2)),
            csr: rows
                .iter()
                .map(|r| (r.name.to_owned(), digits(r.csr[i], 3)))
                .collect(),
        });
    }
    out.links = pairs
        .iter()
        .map(|p| LinkKind {
            nodes: p.kinds.clone(),
            fault_period_us: digits(p.threshold.us(), 3),
        })
        .collect();
    out
}

/// The threshold as text.
fn explained(p: &Pair) -> String {
    let [a, b] = &p.kinds;
    match p.threshold {
        Threshold::Always => format!(
            "threshold 0 us: at every point, from {:.1} us of core time per moved page on, {a} and {b} \
             together do more than the better one alone",
            p.points.first().map_or(0.0, |q| q.fault_period_us)
        ),
        Threshold::From(us) => format!(
            "threshold {us:.1} us: from this core time per moved page on, {a} and {b} together do more \
             than the better one alone"
        ),
        Threshold::Beyond(us) => format!(
            "threshold {us:.1} us, the largest core time per moved page that was tried: up to it {a} and \
             {b} together do no more than the better one alone"
        ),
    }
}

fn text(
    arguments: &Arguments,
    nodes: &Nodes,
    rows: &[kernels::Row],
    watts: &[Watts],
    pairs: &[Pair],
) -> String {
    let mut out = format!("nodes: HETMP_NODES='{nodes}'\n");
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "\ncore speed ratios (slowest node 1), all cores busy; ns of a unit of work in brackets"
    );
    for row in rows {
        let _ = write!(out, "  {:<9}", row.name);
        for (csr, ns) in row.csr.iter().zip(&row.ns) {
            let _ = write!(out, " {csr:>6.2} ({ns:.1})");
        }
        let _ = writeln!(out, "   {}", row.what);
    }
    let _ = writeln!(out, "\npower");
    for (i, w) in watts.iter().enumerate() {
        let _ = match w {
            Ok([busy, idle]) => writeln!(out, "  node {i}: {busy:.1} W busy, {idle:.1} W idle"),
            Err(why) => writeln!(out, "  node {i}: not measured, {why}"),
        };
    }
    if pairs.is_empty() {
        let _ = writeln!(out, "\none node: there is no link to measure");
    }
    links_text(&mut out, pairs);
    if let Some(path) = &arguments.out {
        let _ = writeln!(
            out,
            "\nwritten to {path}; use it with HETMP_CALIBRATION={path}"
        );
    }
    out
}

/// The sweeps: the paper's two figures as columns.
fn links_text(out: &mut String, pairs: &[Pair]) {
    for p in pairs {
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "\nlink {} - {} ({})\n  \
             operations  pages/s alone             both   gain   both, 10^9   core us per\n  \
             per byte        first     second                  operations/s   moved page",
            p.kinds[0], p.kinds[1], p.coupling
        );
        for q in &p.points {
            let _ = writeln!(
                out,
                "  {:>8.2}   {:>10.0} {:>10.0} {:>10.0}  {:>5.2}   {:>10.3}   {:>9.1}",
                q.ops_per_byte,
                q.throughput[0],
                q.throughput[1],
                q.throughput[2],
                q.gain(),
                1e-9 * q.operations(),
                q.fault_period_us
            );
        }
        let _ = writeln!(out, "  {}", explained(p));
        let _ = match link::plateau(&p.points) {
            Some(q) => writeln!(
                out,
                "  plateau: from {:.2} operations per byte ({:.1} us of core time per moved page) on, both do at \
                 least nine tenths of their most",
                q.ops_per_byte, q.fault_period_us
            ),
            None => writeln!(
                out,
                "  plateau: none; operations per second still grow at the last point"
            ),
        };
    }
}

fn links_json(pairs: &[Pair]) -> Vec<Value> {
    pairs
        .iter()
        .map(|p| {
            json!({
                "nodes": p.kinds,
                "coupling": p.coupling,
                "fault_period_us": p.threshold.us(),
                "explanation": explained(p),
                "plateau": link::plateau(&p.points).map(|q| json!({
                    "ops_per_byte": q.ops_per_byte,
                    "operations_per_second": q.operations(),
                    "fault_period_us": q.fault_period_us,
                })),
                "points": p.points.iter().map(|q| json!({
                    "ops_per_byte": q.ops_per_byte,
                    "pages_per_second": {
                        "first": q.throughput[0], "second": q.throughput[1], "both": q.throughput[2],
                    },
                    "operations_per_second": q.operations(),
                    "gain": q.gain(),
                    "fault_period_us": q.fault_period_us,
                })).collect::<Vec<_>>(),
            })
        })
        .collect()
}

fn all_json(nodes: &Nodes, rows: &[kernels::Row], watts: &[Watts], pairs: &[Pair]) -> Value {
    json!({
        "HETMP_NODES": nodes.to_string(),
        "kernels": rows.iter().map(|r| json!({
            "name": r.name, "what": r.what, "ns": r.ns, "csr": r.csr,
        })).collect::<Vec<_>>(),
        "power": watts.iter().map(|w| match w {
            Ok([busy, idle]) => json!({"watts": busy, "watts_idle": idle}),
            Err(why) => json!({"not_measured": why}),
        }).collect::<Vec<_>>(),
        "links": links_json(pairs),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hetmp_core::topo::CpuSet;

    #[test]
    fn like_kinds_are_measured_once() {
        let named = |name: &str, cpu| {
            let mut n = Node::new(CpuSet::from_iter([cpu]));
            n.name = Some(name.to_owned());
            n
        };
        let nodes = [named("p", 0), named("p", 1), named("e", 2), named("e", 3)];
        assert_eq!(pairs(&nodes), [[0, 1], [0, 2], [2, 3]]);
        assert_eq!(pairs(&nodes[..1]), [[0; 2]; 0]);
    }
}
