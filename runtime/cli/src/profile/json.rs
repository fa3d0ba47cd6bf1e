//! A profile as JSON; `docs/tools.md` describes the fields.

use super::sums::Construct;
use super::Process;
use serde_json::{json, Value};

/// The version of the format.
const FORMAT: u64 = 1;

pub(super) fn of(all: &[Process]) -> Value {
    json!({
        "hetmp_profile": FORMAT,
        "hetmp": env!("CARGO_PKG_VERSION"),
        "processes": all.iter().map(process).collect::<Vec<_>>(),
    })
}

fn process(p: &Process) -> Value {
    let regions = p.sums.regions.iter().map(|r| {
        let mut value = construct(&r.itself);
        value["elapsed_ns"] = r.elapsed.into();
        value["threads_ns"] = r.threads_time.into();
        value["threads"] = r.threads.into();
        value["own_ns"] = r.own.into();
        value["end_waiting_ns"] = r.end_wait.into();
        let by_thread = r.by_thread.iter().map(|&(thread, busy, wait)| {
            json!({ "thread": thread, "busy_ns": busy, "waiting_ns": wait })
        });
        value["by_thread"] = by_thread.collect();
        value["constructs"] = r.constructs.iter().map(construct).collect();
        value
    });
    let unfinished = p.sums.unfinished.iter().map(|u| {
        json!({
            "thread": u.thread, "construct": u.kind.name(), "waiting": u.waits,
            "file": u.source.file, "line": u.source.line, "since_ns": u.since,
        })
    });
    json!({
        "program": p.program, "pid": p.pid, "ending": p.ending,
        "elapsed_ns": p.elapsed, "from_start": p.from_start,
        "regions": regions.collect::<Vec<_>>(),
        "outside": p.sums.outside.iter().map(construct).collect::<Vec<_>>(),
        "unfinished": unfinished.collect::<Vec<_>>(),
        "lost_threads": p.sums.lost_threads, "complete": !p.sums.is_short,
    })
}

fn construct(c: &Construct) -> Value {
    let place = c.place.as_ref();
    json!({
        "construct": c.kind.name(), "runs": c.count, "busy_ns": c.busy, "waiting_ns": c.wait, "most_ns": c.most,
        "imbalance": c.imbalance.map(|i| i.0), "busiest_thread": c.imbalance.map(|i| i.1),
        "function": c.source.function, "file": c.source.file, "line": c.source.line,
        "module": place.map(|p| p.path.display().to_string()), "offset": place.map(|p| p.offset),
    })
}
