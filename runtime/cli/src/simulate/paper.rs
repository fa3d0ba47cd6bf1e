//! The paper's figures, next to ours for the same cases.
//!
//! All figures are from the evaluation of libHetMP: geometric means of ten benchmarks on a Xeon (16 cores) and a
//! ThunderX (96 cores) over RDMA. The available text gives means and decisions, and no more figures for single
//! benchmarks than those here.

use super::compare::{geomean, misses, Comparison};
use super::library::PAPER_TEN;

/// One figure.
pub(super) struct Figure {
    pub(super) what: &'static str,
    pub(super) paper: &'static str,
    pub(super) ours: Option<f64>,
    /// True for a share, which is shown in percent; false for a ratio.
    pub(super) percent: bool,
}

/// The figures, if `c` contains the ten benchmarks on the paper's machine.
pub(super) fn figures(c: &Comparison<'_>) -> Option<Vec<Figure>> {
    let names: Vec<&str> = c
        .request
        .workloads
        .iter()
        .map(|w| w.shown.as_str())
        .collect();
    let ten = PAPER_TEN.iter().all(|n| names.contains(n));
    if !ten || c.request.platform.model.name != "xeon-thunderx-rdma" {
        return None;
    }
    let all = c.rows(|w| w.paper.is_some());
    let on = |place: &str| c.rows(|w| w.paper.as_ref().is_some_and(|p| p.decision == place));
    let (four, xeon, thunderx) = (on("split"), on("xeon"), on("thunderx"));
    let six = [xeon.clone(), thunderx.clone()].concat();
    let column = |name: &str| c.column(name);
    let mean = |rows: &[usize], name: &str| c.mean(rows, column(name)?);
    let ratio = |row: usize, of: &str, to: &str| {
        Some(c.gain(row, column(to)?)? / c.gain(row, column(of)?)? - 1.0)
    };
    let average = |rows: &[usize], of: &str, to: &str| {
        let sum: Option<f64> = rows.iter().map(|&r| ratio(r, of, to)).sum();
        Some(sum? / rows.len() as f64)
    };
    let row = |name: &str| names.iter().position(|n| *n == name);
    let described = row("streamcluster").map(|r| c.described(r));
    let figure = |what, paper, ours| Figure {
        what,
        paper,
        ours,
        percent: false,
    };
    let percent = |what, paper, ours| Figure {
        what,
        paper,
        ours,
        percent: true,
    };
    Some(vec![
        figure("HetProbe, all ten", "1.41", mean(&all, "hetprobe")),
        figure("ThunderX alone, all ten", "1.11", mean(&all, "thunderx")),
        figure("best choice by hand, all ten", "1.60", c.mean_of_best(&all)),
        figure(
            "ideal CSR, four that profit",
            "2.55",
            mean(&four, "ideal-csr"),
        ),
        figure(
            "cross-node dynamic, four that profit",
            "2.68",
            mean(&four, "cross-dynamic"),
        ),
        figure("HetProbe, four that profit", "2.4", mean(&four, "hetprobe")),
        percent(
            "HetProbe longer than ideal CSR, four that profit",
            "5.5 %",
            average(&four, "hetprobe", "ideal-csr"),
        ),
        figure(
            "ideal CSR, six that do not profit",
            "much below 1",
            mean(&six, "ideal-csr"),
        ),
        figure(
            "cross-node dynamic, six that do not profit",
            "much below 1",
            mean(&six, "cross-dynamic"),
        ),
        percent(
            "HetProbe longer than the Xeon alone, three left on the Xeon",
            "6.1 %",
            average(&xeon, "hetprobe", "xeon"),
        ),
        figure(
            "HetProbe, three sent to the ThunderX",
            "below the ThunderX alone",
            mean(&thunderx, "hetprobe"),
        ),
        figure(
            "ThunderX alone, three sent to it",
            "-",
            mean(&thunderx, "thunderx"),
        ),
        figure(
            "cfd, ThunderX alone",
            "below 1",
            row("cfd").and_then(|r| c.gain(r, column("thunderx")?)),
        ),
        figure(
            "streamcluster, HetProbe-I against HetProbe",
            "0.65",
            row("streamcluster").and_then(|r| {
                Some(c.gain(r, column("hetprobe-i")?)? / c.gain(r, column("hetprobe")?)?)
            }),
        ),
        figure(
            "HetProbe as its paper describes it, all ten",
            "1.41",
            mean(&all, "hetprobe-paper"),
        ),
        figure(
            "streamcluster, HetProbe-I against HetProbe, both as described",
            "0.65",
            described
                .as_ref()
                .map(|[plain, again]| plain.seconds / again.seconds),
        ),
        figure(
            "streamcluster, its cache misses, both as described",
            "1.55",
            described
                .as_ref()
                .map(|[plain, again]| misses(again) / misses(plain)),
        ),
        figure(
            "streamcluster, our cache misses, HetProbe-I against HetProbe",
            "1.55",
            row("streamcluster").and_then(|r| {
                Some(
                    misses(c.outcome(r, column("hetprobe-i")?))
                        / misses(c.outcome(r, column("hetprobe")?)),
                )
            }),
        ),
        figure(
            "decisions that agree, of ten",
            "10",
            Some(agreeing(c) as f64),
        ),
    ])
}

/// How many benchmarks HetProbe has run where the paper's HetProbe did.
fn agreeing(c: &Comparison<'_>) -> usize {
    let Some(hetprobe) = c.column("hetprobe") else {
        return 0;
    };
    (0..c.request.workloads.len())
        .filter(|&w| {
            c.request.workloads[w]
                .paper
                .as_ref()
                .is_some_and(|p| p.decision == c.place(w, hetprobe))
        })
        .count()
}

/// The gain of HetProbe-I over HetProbe for each workload, for which the paper varies irregularity.
pub(super) fn irregular_over_plain(c: &Comparison<'_>) -> Option<f64> {
    let (i, plain) = (c.column("hetprobe-i")?, c.column("hetprobe")?);
    geomean((0..c.request.workloads.len()).map(|w| Some(c.gain(w, i)? / c.gain(w, plain)?)))
}
