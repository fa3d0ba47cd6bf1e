//! The results as JSON, for programs.

use super::compare::Comparison;
use super::paper;
use serde_json::{json, Value};

/// All comparisons.
pub(super) fn all(comparisons: &[Comparison<'_>]) -> Value {
    json!({
        "hetmp_simulate": 1,
        "energy": "modelled",
        "comparisons": comparisons.iter().map(one).collect::<Vec<_>>(),
    })
}

fn one(c: &Comparison<'_>) -> Value {
    let platform = &c.request.platform;
    let everything = c.rows(|_| true);
    let means: serde_json::Map<String, Value> = c
        .columns
        .iter()
        .enumerate()
        .map(|(k, column)| (column.name.clone(), json!(c.mean(&everything, k))))
        .collect();
    json!({
        "platform": platform.model.name,
        "about": platform.about,
        "source": platform.source.iter().map(|(k, v)| (k.clone(), json!(v.0))).collect::<serde_json::Map<_, _>>(),
        "nodes": platform.model.nodes.iter().zip(&platform.kinds).map(|(n, kind)| json!({
            "name": n.name, "kind": kind, "cores": n.cores,
        })).collect::<Vec<_>>(),
        "objective": c.request.objective.name(),
        "seed": c.request.seed,
        "baseline": c.columns[0].name,
        "programs": (0..c.request.workloads.len()).map(|w| program(c, w)).collect::<Vec<_>>(),
        "geomean": means,
        "geomean_best": c.mean_of_best(&everything),
        "hetprobe_i_over_hetprobe": paper::irregular_over_plain(c),
        "paper": paper::figures(c).map(|figures| figures.iter().map(|f| json!({
            "what": f.what, "paper": f.paper, "here": f.ours, "percent": f.percent,
        })).collect::<Vec<_>>()),
    })
}

fn program(c: &Comparison<'_>, w: usize) -> Value {
    let workload = &c.request.workloads[w];
    let runs: serde_json::Map<String, Value> = c
        .columns
        .iter()
        .enumerate()
        .map(|(k, column)| {
            let o = &c.outcomes[w][k];
            let loops: Vec<Value> = o
                .loops
                .iter()
                .map(|l| {
                    json!({
                        "name": l.name,
                        "executions": l.executions,
                        "probed": l.probed,
                        "renewals": l.renewals,
                        "seconds": l.seconds,
                        "first_seconds": l.first_seconds,
                        "last_seconds": l.last_seconds,
                        "iterations": l.iterations,
                        "faults": l.faults,
                        "cache_misses": l.misses,
                        "decision_changes": l.changes,
                        "decision": l.decision.as_ref().map(|d| json!({
                            "node": d.one_node(),
                            "shares": d.shares(),
                            "reason": d.to_string(),
                        })),
                    })
                })
                .collect();
            let value = json!({
                "seconds": o.seconds,
                "serial_seconds": o.serial_seconds,
                "joules": o.joules,
                "busy_seconds": o.busy_seconds,
                "gain": c.gain(w, k),
                "runs_on": c.place(w, k),
                "loops": loops,
            });
            (column.name.clone(), value)
        })
        .collect();
    json!({
        "name": workload.shown,
        "about": workload.about,
        "source": workload.source.iter().map(|(k, v)| (k.clone(), json!(v.0))).collect::<serde_json::Map<_, _>>(),
        "paper_decision": workload.paper.as_ref().map(|p| &p.decision),
        "best": c.best(w).map(|(k, gain)| json!({"name": c.columns[k].name, "gain": gain})),
        "runs": runs,
    })
}
