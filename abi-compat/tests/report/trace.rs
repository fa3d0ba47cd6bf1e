//! The file of `HETMP_TRACE`: well formed, nested, and joined where it would become too large.

use super::scratch::{list, number, stderr, two_cpus, Scratch};
use super::ENDS;
use hetmp_abi_compat::exec::Ending;
use serde_json::Value;
use std::collections::BTreeMap;

/// Checks a trace against the trace event format, and checks that its events are properly nested. Returns the number of
/// events by category.
pub(super) fn check_trace(trace: &Value) -> BTreeMap<String, usize> {
    let mut categories = BTreeMap::new();
    // For each thread: the begin of its last event in nanoseconds, and the ends of the events around that one.
    let mut threads: BTreeMap<u64, (u64, Vec<u64>)> = BTreeMap::new();
    let ns = |e: &Value, field: &str| {
        let us = e[field]
            .as_f64()
            .unwrap_or_else(|| panic!("{field} of {e}"));
        assert!(us >= 0.0, "{e}");
        (us * 1000.0).round() as u64
    };
    for e in list(trace, "traceEvents") {
        assert!(
            e["name"].is_string() && e["pid"].is_u64() && e["args"].is_object(),
            "{e}"
        );
        let tid = number(e, "tid");
        let phase = e["ph"].as_str().expect("a phase");
        if phase == "M" {
            assert!(
                e["args"]["name"].is_string() || e["args"]["sort_index"].is_u64(),
                "{e}"
            );
            continue;
        }
        let category = e["cat"].as_str().expect("a category");
        *categories.entry(category.to_owned()).or_default() += 1;
        let start = ns(e, "ts");
        let (last, open) = threads.entry(tid).or_default();
        assert!(*last <= start, "thread {tid} goes back at {e}");
        *last = start;
        while open.last().is_some_and(|&end| end <= start) {
            open.pop();
        }
        match phase {
            "X" => {
                let end = start + ns(e, "dur");
                if let Some(&around) = open.last() {
                    assert!(end <= around, "{e} goes on after {around}");
                }
                open.push(end);
            }
            "i" => assert_eq!(e["s"], "t", "{e}"),
            _ => panic!("{e}"),
        }
        match category {
            "chunk" | "probe" => {
                assert!(number(&e["args"], "from") < number(&e["args"], "to"), "{e}");
                assert!(
                    e["args"]["loop"].is_string() && e["args"]["node"].is_u64(),
                    "{e}"
                );
            }
            "region" => assert!(
                number(&e["args"], "thread") < number(&e["args"], "threads"),
                "{e}"
            ),
            "decision" => assert!(!e["args"]["reason"].as_str().unwrap().is_empty(), "{e}"),
            "piece" => {
                assert!(
                    number(&e["args"], "virtual_thread") < number(&e["args"], "of"),
                    "{e}"
                );
            }
            "wait" => {}
            other => panic!("category {other}"),
        }
    }
    categories
}

/// Barriers, and a loop without a schedule clause, which runs as virtual threads.
const BUSY: &str = r"
#include <omp.h>
static double a[100000];
int main(void)
{
    for (int r = 0; r < 10; r++) {
        #pragma omp parallel for
        for (int i = 0; i < 100000; i++) a[i] += i * 0.5 + r;
        #pragma omp parallel
        {
            #pragma omp barrier
            #pragma omp for schedule(dynamic, 1000)
            for (int i = 0; i < 100000; i++) a[i] *= 0.5;
        }
    }
    return a[7] < 0;
}
";

#[test]
fn a_trace_shows_each_thread() {
    if !two_cpus() {
        return;
    }
    let scratch = Scratch::new("trace");
    let program = scratch.compile_text("busy", BUSY);
    for schedule in ["hetprobe", "dynamic", "static"] {
        let env = [
            ("HETMP_NODES", "2"),
            ("HETMP_SCHEDULE", schedule),
            ("HETMP_TRACE", "trace.json"),
        ];
        let out = scratch.run(&program, &[], &env);
        assert_eq!((out.ending, stderr(&out)), (Ending::Exit(0), String::new()));
        let trace = scratch.json("trace.json");
        assert_eq!(trace["otherData"]["dropped_events"], 0);
        let seen = check_trace(&trace);
        for category in ["region", "wait"] {
            assert!(seen.contains_key(category), "{schedule}: {seen:?}");
        }
        if schedule == "dynamic" {
            // Ten loops of a hundred chunks each.
            assert_eq!(seen["chunk"], 1000, "{seen:?}");
            // Two threads, twenty regions.
            assert_eq!(seen["region"], 40, "{seen:?}");
        }
    }
}

/// Millions of chunks make a trace coarser, and do not push out its start.
#[test]
fn a_full_trace_joins_chunks() {
    let scratch = Scratch::new("joined");
    let program = scratch.compile_text("ends", ENDS);
    let env = [
        ("HETMP_TRACE", "trace.json"),
        ("HETMP_TRACE_EVENTS", "256"),
        ("OMP_NUM_THREADS", "2"),
        ("OMP_SCHEDULE", "dynamic,1"),
    ];
    let out = scratch.run(&program, &[""], &env);
    assert_eq!((out.ending, stderr(&out)), (Ending::Exit(0), String::new()));
    let trace = scratch.json("trace.json");
    let seen = check_trace(&trace);
    assert_eq!(seen["region"], 12, "{seen:?}");
    // One of the threads had more than 256 of the 1200.
    assert!(seen["chunk"] < 1200, "{seen:?}");
    let chunks: u64 = list(&trace, "traceEvents")
        .iter()
        .filter(|e| e["cat"] == "chunk")
        .map(|e| number(&e["args"], "chunks"))
        .sum();
    assert_eq!(chunks, 1200);
}

#[test]
fn a_full_trace_says_so() {
    let scratch = Scratch::new("full");
    let program = scratch.compile_text("busy", BUSY);
    let env = [
        ("HETMP_TRACE", "trace.json"),
        ("HETMP_TRACE_EVENTS", "16"),
        ("OMP_NUM_THREADS", "2"),
    ];
    let out = scratch.run(&program, &[], &env);
    let said = stderr(&out);
    assert!(
        said.starts_with("hetmp: HETMP_TRACE_EVENTS: '16': "),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    let trace = scratch.json("trace.json");
    // Each thread has had twenty regions, and room for sixteen.
    let regions = check_trace(&trace)["region"];
    assert!((16..=32).contains(&regions), "{regions}");
    assert!(number(&trace["otherData"], "dropped_events") >= 40 - regions as u64);
    for bad in ["15", "x", "", "99999999999"] {
        let env = [("HETMP_TRACE", "t"), ("HETMP_TRACE_EVENTS", bad)];
        let said = stderr(&scratch.run(&program, &[""], &env));
        let line = format!("hetmp: HETMP_TRACE_EVENTS: '{bad}': not a whole number in range (expected an integer from \
            16 to 16777216)");
        assert!(bad.is_empty() || said.starts_with(&line), "{said}");
    }
}
