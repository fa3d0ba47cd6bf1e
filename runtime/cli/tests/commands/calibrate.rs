//! `hetmp calibrate` as a user runs it, but for a short time: the measured values are rough, and the
//! file must be complete.

use serde_json::Value;
use std::process::{Command, Output};

fn calibrate(arguments: &[&str], nodes: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hetmp"))
        .args(["calibrate", "--time", "1"])
        .args(arguments)
        .env("HETMP_NODES", nodes)
        .output()
        .expect("hetmp runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Two nodes, if the machine has two CPUs for them.
fn two_nodes() -> Option<String> {
    let out = Command::new(env!("CARGO_BIN_EXE_hetmp"))
        .args(["info", "--json"])
        .env("HETMP_NODES", "2")
        .output()
        .expect("hetmp runs");
    let json: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    if !out.status.success() {
        eprintln!("skipped: one CPU is one node");
        return None;
    }
    let list = json["HETMP_NODES"].as_str().expect("text");
    let (a, b) = list.split_once(';').expect("two");
    Some(format!(
        "{a},name=quick;{},name=slow",
        b.replace("speed=1", "speed=0.25")
    ))
}

#[test]
fn what_is_measured_is_written_and_drawn() {
    let Some(nodes) = two_nodes() else { return };
    let dir = std::env::temp_dir().join(format!("hetmp-calibrate-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("made");
    let (toml, svg) = (dir.join("c.toml"), dir.join("c.svg"));
    let path = |p: &std::path::Path| p.display().to_string();
    let out = calibrate(
        &["--json", "--out", &path(&toml), "--svg", &path(&svg)],
        &nodes,
    );
    assert!(out.status.success(), "{}", text(&out.stderr));
    let json: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(json["kernels"].as_array().expect("a list").len(), 4);
    for kernel in json["kernels"].as_array().expect("a list") {
        let csr: Vec<f64> = kernel["csr"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|v| v.as_f64().expect("a number"))
            .collect();
        assert!(csr.len() == 2 && csr.contains(&1.0), "{kernel}");
    }
    // One node is slowed four times. On a busy machine the measured factor may be another one, but most
    // kernels must show which node is slow.
    let shown = json["kernels"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|k| k["csr"][0].as_f64() > Some(1.3))
        .count();
    assert!(shown >= 2, "{json:#}");
    let link = &json["links"][0];
    assert_eq!(link["nodes"], serde_json::json!(["quick", "slow"]));
    let points = link["points"].as_array().expect("a list");
    assert_eq!(points.len(), 9);
    let period = |i: usize| points[i]["fault_period_us"].as_f64().expect("a number");
    assert!(
        period(8) > 10.0 * period(0),
        "more work for a page takes longer: {link:#}"
    );
    let written = std::fs::read_to_string(&toml).expect("written");
    let read =
        hetmp_core::calibration::Calibration::parse(&written).expect("what the runtime takes");
    assert_eq!(read.links.len(), 1);
    let threshold = link["fault_period_us"].as_f64().expect("a number");
    assert!((read.links[0].fault_period_us - threshold).abs() < 1e-3);
    assert_eq!(read.nodes.len(), 2);
    let picture = std::fs::read_to_string(&svg).expect("drawn");
    assert!(picture.starts_with("<svg") && picture.contains("operations per byte"));
    assert!(picture.contains("quick alone") && picture.trim_end().ends_with("</svg>"));
    std::fs::remove_dir_all(&dir).expect("removed");
}

#[test]
fn one_node_has_no_link() {
    let out = calibrate(&[], "1");
    assert!(out.status.success(), "{}", text(&out.stderr));
    let shown = text(&out.stdout);
    assert!(shown.contains("integer"), "{shown}");
    assert!(
        shown.contains("one node: there is no link to measure"),
        "{shown}"
    );
}

#[test]
fn what_cannot_be_is_said_in_one_line() {
    let out = calibrate(&[], "cores=x");
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(text(&out.stdout), "");
    let err = text(&out.stderr);
    assert!(
        err.starts_with("hetmp: HETMP_NODES: 'cores=x': ") && err.lines().count() == 1,
        "{err}"
    );
    let out = calibrate(&["--out", "/nonexistent/file"], "1");
    assert_eq!(out.status.code(), Some(2));
    let err = text(&out.stderr);
    assert!(
        err.starts_with("hetmp: --out: '/nonexistent/file': ") && err.lines().count() == 1,
        "{err}"
    );
    assert_eq!(calibrate(&["--time", "0"], "1").status.code(), Some(2));
}

/// Between two processes, pages move by faults: both together do less than one alone until there is enough to compute.
#[test]
#[ignore = "measures times"]
fn the_link_between_nodes_of_the_dsm_is_measured() {
    let dir = std::env::temp_dir().join(format!("hetmp-calibrate-dsm-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("made");
    let svg = dir.join("c.svg").display().to_string();
    let file = dir.join("c.toml");
    let toml = file.display().to_string();
    let files = ["--svg", &svg, "--out", &toml];
    let out = calibrate(&[&["--nodes", "dsm:2", "--json"], &files[..]].concat(), "2");
    let said = text(&out.stderr);
    if said.contains("expected two") || said.contains("userfaultfd") {
        eprintln!("skipped: {said}");
        return;
    }
    assert!(out.status.success(), "{said}");
    let json: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let link = &json["links"][0];
    let points = link["points"].as_array().expect("a list");
    assert_eq!(points.len(), 16);
    assert!(
        points[0]["gain"].as_f64().expect("a number") < 1.0,
        "{link}"
    );
    for point in points {
        let number = |name: &str| point[name].as_f64().expect("a number");
        let pages = point["pages_per_second"]["both"]
            .as_f64()
            .expect("a number");
        let want = pages * 4096.0 * number("ops_per_byte");
        assert!(
            (number("operations_per_second") / want - 1.0).abs() < 1e-9,
            "{point}"
        );
        assert!(number("fault_period_us") > 0.0);
    }
    assert!(link["coupling"].as_str().expect("text").contains("DSM"));
    let drawn = std::fs::read_to_string(dir.join("c.svg")).expect("drawn");
    assert!(drawn.contains("dsm - dsm"));
    // What HETMP_CALIBRATION says to such nodes.
    let read = hetmp_core::calibration::Calibration::read(&file).expect("a calibration");
    let threshold = read.fault_period_us(&["dsm", "dsm"].map(str::to_owned));
    assert!(threshold.is_some(), "{read}");
    std::fs::remove_dir_all(&dir).expect("removed");
    let out = calibrate(&["--nodes", "dsm:3"], "2");
    let said = "hetmp: --nodes: 'dsm:3': cannot be calibrated (expected dsm:2)\n";
    assert_eq!(
        (out.status.code(), text(&out.stderr)),
        (Some(2), said.to_owned())
    );
}
