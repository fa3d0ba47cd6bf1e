//! `bench sched` measures what it says: on one small kernel, every part ends well, all
//! times are there, and what cannot be is refused in one line.

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

#[test]
fn every_variant_is_measured_in_every_round() {
    if std::thread::available_parallelism().map_or(1, |n| n.get()) < 2 {
        eprintln!("skipped: one CPU is one node");
        return;
    }
    let file = std::env::temp_dir().join(format!("hetmp-bench-{}.json", std::process::id()));
    let out = bench(&[
        "--size",
        "S",
        "--rounds",
        "2",
        "--kernels",
        "^ep$",
        "--parts",
        "a,b,c,d",
        "--json",
        file.to_str().unwrap(),
    ]);
    let text = String::from_utf8_lossy(&out.stdout);
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{text}{said}");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
    let groups = written["groups"].as_array().unwrap();
    let mut variants = 0;
    for series in groups.iter().flat_map(|g| g["series"].as_array().unwrap()) {
        let samples = series["samples"].as_array().unwrap();
        assert_eq!(samples.len(), 2, "{series}");
        for sample in samples {
            for time in ["whole", "first", "settled"] {
                assert!(sample[time].as_f64().unwrap() > 0.0, "{series}");
            }
        }
        variants += 1;
    }
    // a: 6; c: 2, and 3 where there are quotas; d: 2 for each of two forms.
    let quota = written["quota"].is_null();
    assert_eq!(variants, if quota { 15 } else { 12 }, "{text}");
    assert_eq!(text.matches("| ep |").count(), if quota { 5 } else { 4 });
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
