//! `bench sched` on one small kernel: every part succeeds and writes all its times, and bad
//! arguments are refused in one line.

use hetmp_abi_compat::library;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn bench(args: &[&str]) -> Output {
    with(library::fresh(), args)
}

fn with(library: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bench"))
        .arg("sched")
        .arg("--lib")
        .arg(library)
        .args(args)
        .output()
        .unwrap()
}

/// Runs `parts` on one small kernel. Checks the times, and returns the JSON that was written.
fn measured(parts: &str) -> Option<Value> {
    if std::thread::available_parallelism().map_or(1, |n| n.get()) < 2 {
        eprintln!("skipped: one CPU is one node");
        return None;
    }
    let name = format!("hetmp-bench-{parts}-{}.json", std::process::id());
    let file = std::env::temp_dir().join(name);
    let path = file.to_str().unwrap();
    // Enough laps: the threads must still run when the watcher looks for them.
    let out = bench(&[
        "--size",
        "S",
        "--laps",
        "40",
        "--rounds",
        "2",
        "--kernels",
        "^ep$",
        "--parts",
        parts,
        "--json",
        path,
    ]);
    let text = String::from_utf8_lossy(&out.stdout);
    let said = String::from_utf8_lossy(&out.stderr);
    let written: Value = serde_json::from_str(
        &std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{e}: {text}{said}")),
    )
    .unwrap();
    std::fs::remove_file(&file).unwrap();
    for series in series(&written) {
        // On a busy machine the watcher may find a thread too late. The run then reports this error,
        // which is accepted.
        let error = series["error"].as_str().unwrap_or("");
        if !error.contains("were found on the slow CPUs") {
            assert_eq!(error, "", "{text}");
            assert_eq!(series["samples"].as_array().unwrap().len(), 2, "{series}");
            assert!(out.status.success() || parts == "c", "{text}{said}");
        }
        for sample in series["samples"].as_array().unwrap() {
            for time in ["whole", "first", "settled"] {
                assert!(sample[time].as_f64().unwrap() > 0.0, "{series}");
            }
        }
    }
    Some(written)
}

fn series(written: &Value) -> Vec<&Value> {
    let groups = written["groups"].as_array().unwrap();
    let of = |group: &'_ Value| group["series"].as_array().unwrap().len();
    assert!(groups.iter().all(|g| of(g) > 0));
    groups
        .iter()
        .flat_map(|g| g["series"].as_array().unwrap())
        .collect()
}

#[test]
fn every_variant_is_measured_in_every_round() {
    let Some(written) = measured("a,b,d") else {
        return;
    };
    // Part a: node 0 alone, and nine schedules. Part d: two schedules, for each of two forms.
    assert_eq!(series(&written).len(), 14);
}

#[test]
fn both_runtimes_are_slowed_from_outside() {
    let Some(written) = measured("c") else { return };
    // Two under emulated nodes, and three more if this machine has quotas.
    let quota = written["quota"].is_null();
    assert_eq!(series(&written).len(), if quota { 5 } else { 2 });
}

#[test]
fn bad_options_are_refused_in_one_line() {
    let out = bench(&["--kernels", "no such kernel"]);
    assert_eq!(out.status.code(), Some(2));
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(
        said.starts_with("hetmp: option --kernels no such kernel: ") && said.lines().count() == 1,
        "{said}"
    );
    assert_eq!(bench(&["--speed", "2"]).status.code(), Some(2));
    let libc = Path::new("/lib/x86_64-linux-gnu/libc.so.6");
    if libc.exists() {
        let out = with(libc, &["--size", "S"]);
        assert_eq!(out.status.code(), Some(2));
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(
            said.contains("that serves the calls of a program"),
            "{said}"
        );
    }
}
