//! Tables for people.

use super::compare::{geomean, Comparison};
use super::library::What;
use super::{file, paper};
use hetmp_sched::decide::Objective;
use std::fmt::Write as _;

/// Writes to a text, which cannot fail.
macro_rules! line {
    ($out:expr, $($what:tt)*) => {{
        let _ = writeln!($out, $($what)*);
    }};
}

/// What is shipped.
pub(super) fn listing() -> Result<String, String> {
    let mut out = String::new();
    line!(out, "platforms");
    for (name, _) in What::Platform.shipped() {
        line!(out, "  {name:<20}{}", file::platform(name)?.about);
    }
    line!(out, "workloads");
    for (name, _) in What::Workload.shipped() {
        line!(out, "  {name:<20}{}", file::workload(name)?.about);
    }
    Ok(out)
}

/// Where the numbers of the shipped files come from.
pub(super) fn sources() -> Result<String, String> {
    let mut out = String::from("| file | value | source |\n| --- | --- | --- |\n");
    for (name, _) in What::Platform.shipped() {
        for (value, origin) in file::platform(name)?.source {
            line!(out, "| {name} | `{value}` | {} |", origin.0);
        }
    }
    for (name, _) in What::Workload.shipped() {
        for (value, origin) in file::workload(name)?.source {
            line!(out, "| {name} | `{value}` | {} |", origin.0);
        }
    }
    Ok(out)
}

/// One comparison.
pub(super) fn table(c: &Comparison<'_>, details: bool, with_paper: bool) -> String {
    let mut out = String::new();
    let platform = &c.request.platform;
    line!(out, "{}: {}", platform.model.name, platform.about);
    let (what, unit) = match c.request.objective {
        Objective::Energy => ("joules", "energy, modelled"),
        Objective::Edp => ("joule s", "energy times time, modelled"),
        _ => ("seconds", "time"),
    };
    line!(
        out,
        "{what} of {} alone, and how many times less {unit} the others take; seed {}",
        c.columns[0].name,
        c.request.seed
    );
    let columns = 1..c.columns.len();
    let names: Vec<&str> = c.columns.iter().map(|c| c.name.as_str()).collect();
    let widths: Vec<usize> = names.iter().map(|n| n.len().max(6) + 2).collect();
    let first = c
        .request
        .workloads
        .iter()
        .map(|w| w.shown.len())
        .chain([8])
        .max()
        .unwrap_or(8);
    let mut head = format!("{:first$}{:>w$}", "", names[0], w = widths[0].max(9));
    for k in columns.clone() {
        let _ = write!(head, "{:>w$}", names[k], w = widths[k]);
    }
    let hetprobe = c.column("hetprobe");
    let later = hetprobe.filter(|_| with_paper);
    if later.is_some() {
        let _ = write!(head, "{:>13}", "after first");
    }
    line!(out, "{head}{:>7}  hetprobe runs it on", "best");
    let number = |v: Option<f64>| v.map_or("-".to_owned(), short);
    for (w, workload) in c.request.workloads.iter().enumerate() {
        let mut row = format!(
            "{:first$}{:>w$}",
            workload.shown,
            format!("{:.3}", c.score(&c.outcomes[w][0])),
            w = widths[0].max(9)
        );
        for k in columns.clone() {
            let _ = write!(row, "{:>w$}", number(c.gain(w, k)), w = widths[k]);
        }
        if let Some(h) = later {
            let _ = write!(row, "{:>13}", number(c.later(w, h)));
        }
        let _ = write!(row, "{:>7}", number(c.best(w).map(|b| b.1)));
        if let Some(h) = hetprobe {
            let _ = write!(row, "  {}", c.place(w, h));
        }
        if let (true, Some(p)) = (with_paper, &workload.paper) {
            let _ = write!(row, " (paper: {})", p.decision);
        }
        line!(out, "{row}");
    }
    let mut mean = |name: &str, rows: &[usize]| {
        if rows.len() < 2 {
            return;
        }
        let mut row = format!("{name:first$}{:>w$}", "", w = widths[0].max(9));
        for k in columns.clone() {
            let _ = write!(row, "{:>w$}", number(c.mean(rows, k)), w = widths[k]);
        }
        if let Some(h) = later {
            let several = rows.iter().filter_map(|&w| c.later(w, h));
            let _ = write!(row, "{:>13}", number(geomean(several.map(Some))));
        }
        line!(out, "{row}{:>7}", number(c.mean_of_best(rows)));
    };
    mean("geomean", &c.rows(|_| true));
    let split = |w: usize| hetprobe.is_some_and(|h| c.place(w, h) == "split");
    let all = 0..c.request.workloads.len();
    let (yes, no): (Vec<usize>, Vec<usize>) = all.partition(|&w| split(w));
    if !yes.is_empty() && !no.is_empty() {
        mean("  split", &yes);
        mean("  others", &no);
    }
    if with_paper {
        beside(&mut out, c);
    }
    if details {
        each_loop(&mut out, c);
    }
    out
}

/// Three or four digits.
fn short(v: f64) -> String {
    match v {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 0.1 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

fn beside(out: &mut String, c: &Comparison<'_>) {
    let Some(figures) = paper::figures(c) else {
        line!(
            out,
            "\nthe paper's figures are for its ten programs on xeon-thunderx-rdma"
        );
        return;
    };
    line!(
        out,
        "\n{:<66}{:>26}{:>10}",
        "against the Xeon alone",
        "paper",
        "here"
    );
    for f in figures {
        let ours = match f.ours {
            None => "-".to_owned(),
            Some(v) if f.percent => format!("{:.1} %", v * 100.0),
            Some(v) if v.fract() == 0.0 => v.to_string(),
            Some(v) => short(v),
        };
        line!(out, "{:<66}{:>26}{ours:>10}", f.what, f.paper);
    }
}

fn each_loop(out: &mut String, c: &Comparison<'_>) {
    let nodes = &c.request.platform.model.nodes;
    for (w, workload) in c.request.workloads.iter().enumerate() {
        line!(out, "\n{}: {}", workload.shown, workload.about);
        for (k, column) in c.columns.iter().enumerate() {
            let o = &c.outcomes[w][k];
            line!(
                out,
                "  {}: {:.4} s, of that {:.4} s serial; {:.1} J (modelled)",
                column.name,
                o.seconds,
                o.serial_seconds,
                o.joules
            );
            for l in &o.loops {
                let total: u64 = l.iterations.iter().sum();
                let shares: Vec<String> = nodes
                    .iter()
                    .zip(&l.iterations)
                    .zip(&l.faults)
                    .filter(|((_, &i), _)| i > 0)
                    .map(|((node, &i), f)| {
                        format!(
                            "{} {:.1}% {f} faults",
                            node.name,
                            i as f64 * 100.0 / total as f64
                        )
                    })
                    .collect();
                line!(
                    out,
                    "    {}: {} times, {} probed, {} renewals, {:.4} s, first {:.3} ms, last {:.3} ms; {}",
                    l.name,
                    l.executions,
                    l.probed,
                    l.renewals,
                    l.seconds,
                    l.first_seconds * 1e3,
                    l.last_seconds * 1e3,
                    shares.join(", ")
                );
                if let Some(d) = &l.decision {
                    line!(out, "      {d}");
                }
            }
        }
    }
}
