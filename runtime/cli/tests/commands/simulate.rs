//! `hetmp simulate` as a user runs it.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Output};

fn hetmp(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hetmp"))
        .arg("simulate")
        .args(arguments)
        .output()
        .expect("hetmp runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn stdout(arguments: &[&str]) -> String {
    let output = hetmp(arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    text(&output.stdout)
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[arguments, &["--json"]].concat())).expect("JSON")
}

/// A folder of its own that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("hetmp-simulate-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a temporary file");
        path.to_str().expect("UTF-8").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn names(of: &str) -> Vec<String> {
    let all = stdout(&["--list"]);
    let (platforms, workloads) = all.split_once("workloads\n").expect("both lists");
    let list = if of == "platforms" {
        platforms
    } else {
        workloads
    };
    list.lines()
        .filter_map(|l| l.strip_prefix("  "))
        .map(|l| l.split_whitespace().next().expect("a name").to_owned())
        .collect()
}

const TWO: &str = r#"
about = "three to one"
coherent = true
call_ns = 0
fork_us = 0
[[node]]
name = "fast"
kind = "fast"
cores = 1
[[node]]
name = "slow"
kind = "slow"
cores = 1
[kind.fast]
core_watts = 30
[kind.slow]
speed = 0.3333333333333333
core_watts = 2
"#;

const PLAIN: &str = r#"
about = "one loop"
repeat = 10
[[loop]]
name = "l"
iterations = 100_000
ns = 1000
"#;

/// Two nodes of 3:1 without faults: 4/3 of the fast one; and their energy.
#[test]
fn files_of_ones_own() {
    let folder = Folder::new("own");
    let (platform, workload) = (
        folder.file("two.toml", TWO),
        folder.file("plain.toml", PLAIN),
    );
    let own = ["--platform", &platform, "--workload", &workload];
    let value = json(
        &[
            &own[..],
            &[
                "--schedule",
                "static-csr:3,1",
                "--schedule",
                "static-csr:1,0",
                "--schedule",
                "static",
            ],
        ]
        .concat(),
    );
    let runs = &value["comparisons"][0]["programs"][0]["runs"];
    let gain = |name: &str| runs[name]["gain"].as_f64().expect(name);
    for (name, expected, tolerance) in [
        ("fast", 1.0, 1e-9),
        ("slow", 1.0 / 3.0, 1e-4),
        ("ideal-csr", 4.0 / 3.0, 1e-4),
        ("static-csr:3,1", 4.0 / 3.0, 1e-4),
        ("static-csr:1,0", 1.0, 1e-4),
        ("static", 2.0 / 3.0, 1e-4),
        ("hetprobe", 4.0 / 3.0, 0.02),
        ("hetprobe-i", 4.0 / 3.0, 0.03),
    ] {
        assert!(
            (gain(name) - expected).abs() <= tolerance,
            "{name} {}",
            gain(name)
        );
    }
    // 1 s at 30 W; 0.75 s at 32 W; 3 s at 2 W.
    for (name, joules) in [("fast", 30.0), ("ideal-csr", 24.0), ("slow", 6.0)] {
        let got = runs[name]["joules"].as_f64().expect("joules");
        assert!((got - joules).abs() < 0.01, "{name} {got}");
    }
    assert_eq!(value["energy"], "modelled");
    assert_eq!(runs["hetprobe"]["runs_on"], "split");
    // With energy as the objective, the fast core is not used.
    let thrifty = json(&[&own[..], &["--objective", "energy"]].concat());
    let hetprobe = &thrifty["comparisons"][0]["programs"][0]["runs"]["hetprobe"];
    assert_eq!(hetprobe["runs_on"], "slow");
    assert!(hetprobe["joules"].as_f64().expect("joules") < 10.0);
}

#[test]
fn equal_seeds_give_equal_results() {
    let of = |seed| {
        stdout(&[
            "--platform",
            "pe-laptop",
            "--workload",
            "lavamd",
            "--seed",
            seed,
            "--json",
        ])
    };
    let one = of("7");
    assert_eq!(one, of("7"));
    assert_ne!(one, of("8"));
}

/// The benchmarks that are quick to simulate run where the paper says.
#[test]
fn decisions_are_the_papers() {
    let value = json(&[
        "--workload",
        "ep-c",
        "--workload",
        "lavamd",
        "--workload",
        "kmeans",
        "--workload",
        "cg-c",
        "--workload",
        "streamcluster",
    ]);
    let programs = value["comparisons"][0]["programs"]
        .as_array()
        .expect("programs");
    assert_eq!(programs.len(), 5);
    for program in programs {
        let hetprobe = &program["runs"]["hetprobe"];
        assert_eq!(
            hetprobe["runs_on"], program["paper_decision"],
            "{}",
            program["name"]
        );
        let gain = hetprobe["gain"].as_f64().expect("gain");
        let best = program["best"]["gain"].as_f64().expect("gain");
        assert!(gain > 0.85 * best, "{} {gain} {best}", program["name"]);
    }
}

/// With one coherent memory, only the speeds decide, on any number of nodes.
#[test]
fn larger_machines() {
    for (platform, least) in [
        ("four-nodes", 4.5),
        ("sixty-four-nodes", 30.0),
        ("big-little", 1.2),
    ] {
        let value = json(&["--platform", platform, "--workload", "compute"]);
        let runs = &value["comparisons"][0]["programs"][0]["runs"];
        let gain = |name: &str| runs[name]["gain"].as_f64().expect(name);
        assert!(gain("hetprobe") > least, "{platform} {}", gain("hetprobe"));
        assert!(gain("hetprobe") > 0.8 * gain("ideal-csr"), "{platform}");
    }
}

#[test]
fn irregularity_makes_programs() {
    let out = stdout(&["--platform", "pe-laptop", "--irregularity", "0,60"]);
    assert!(out.contains("mix 0%") && out.contains("mix 60%"), "{out}");
}

#[test]
fn pictures() {
    let folder = Folder::new("svg");
    let path = folder.0.join("gains.svg");
    let path = path.to_str().expect("UTF-8");
    let out = stdout(&[
        "--platform",
        "big-little",
        "--workload",
        "compute",
        "--svg",
        path,
    ]);
    assert!(out.starts_with("big-little"));
    let svg = std::fs::read_to_string(path).expect("the picture");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.matches("<rect").count() > 5 && svg.contains("compute"));
    let output = hetmp(&[
        "--platform",
        "big-little",
        "--workload",
        "compute",
        "--svg",
        "/nowhere/at/all.svg",
    ]);
    assert_eq!(output.status.code(), Some(2));
    let error = text(&output.stderr);
    assert!(
        error.starts_with("hetmp: --svg: '/nowhere/at/all.svg': "),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1);
}

/// Values of a file by their names without numbers and names of things.
fn values(what: &str, value: &toml::Value, at: &str, out: &mut BTreeSet<String>) {
    match value {
        toml::Value::Table(table) if !at.ends_with("spread") => {
            for (key, value) in table {
                // The names of kinds and of kernels are no values.
                let named = match (what, at) {
                    ("platforms", "kind" | "kind.kernel") => format!("{at}/"),
                    (_, "") => key.clone(),
                    _ => format!("{}.{key}", at.trim_end_matches('/')),
                };
                if at.is_empty() && ["source", "paper", "about", "coherent"].contains(&key.as_str())
                {
                    continue;
                }
                if ["name", "kind", "between"].contains(&key.as_str()) && !value.is_table() {
                    continue;
                }
                if named == "loop.kernel" {
                    continue;
                }
                values(what, value, &named, out);
            }
        }
        toml::Value::Array(array)
            if array.iter().any(|v| v.is_table()) && !at.ends_with("touches") =>
        {
            for value in array {
                values(what, value, at, out);
            }
        }
        _ => {
            out.insert(at.to_owned());
        }
    }
}

/// Every number of a shipped file says where it comes from.
#[test]
fn numbers_have_sources() {
    for what in ["platforms", "workloads"] {
        for name in names(what) {
            let text = stdout(&["--show", &name]);
            let value: toml::Value = toml::from_str(&text).expect("TOML");
            let mut used = BTreeSet::new();
            values(what, &value, "", &mut used);
            let said: BTreeSet<String> = value["source"]
                .as_table()
                .expect("sources")
                .keys()
                .filter(|k| *k != "about")
                .cloned()
                .collect();
            let missing: Vec<_> = used.difference(&said).collect();
            assert!(missing.is_empty(), "{name}: no source for {missing:?}");
            let stale: Vec<_> = said.difference(&used).collect();
            assert!(stale.is_empty(), "{name}: sources for nothing: {stale:?}");
        }
    }
}

/// `--sources` has a line for each value of each shipped file.
#[test]
fn sources_are_listed() {
    let listed = stdout(&["--sources"]);
    for what in ["platforms", "workloads"] {
        for name in names(what) {
            let text = stdout(&["--show", &name]);
            let value: toml::Value = toml::from_str(&text).expect("TOML");
            for key in value["source"].as_table().expect("sources").keys() {
                let row = format!("| {name} | `{key}` | ");
                assert!(listed.contains(&row), "{row}");
            }
        }
    }
}

#[test]
fn bad_input_is_said_in_one_line() {
    let folder = Folder::new("bad");
    let two = folder.file("two.toml", TWO);
    let plain = folder.file("plain.toml", PLAIN);
    // The last one: names are changed to those of earlier lines.
    let line_of = |text: &str, part: &str| {
        let lines = text.lines().enumerate();
        let last = lines.filter(|(_, l)| l.contains(part)).last();
        last.expect("the line").0 + 1
    };
    // What is changed in a good platform, and what is said about which line.
    let platforms = [
        (
            "cores = 1\n[[node]]",
            "cores = 0\n[[node]]",
            "a whole number from 1 to 4096",
        ),
        (
            "cores = 1\n[[node]]",
            "cores = 1.5\n[[node]]",
            "a whole number from 1 to 4096",
        ),
        (
            "kind = \"slow\"",
            "kind = \"lame\"",
            "(expected one of fast, slow)",
        ),
        ("name = \"slow\"", "name = \"fast\"", "a name of its own"),
        ("speed = 0.33", "speed = -0.33", "a number above 0"),
        ("speed = 0.33", "sped = 0.33", "unknown field `sped`"),
        ("core_watts = 30", "core_watts = \"many\"", "invalid type"),
        (
            "core_watts = 2",
            "core_watts = = 2",
            "string values must be quoted",
        ),
        (
            "coherent = true",
            "coherent = false",
            "coherent = true or a [[link]] is needed",
        ),
    ];
    for (from, to, says) in platforms {
        assert!(TWO.contains(from), "{from}");
        let bad = TWO.replacen(from, to, 1);
        let path = folder.file("bad.toml", &bad);
        let output = hetmp(&["--platform", &path, "--workload", &plain]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{to}: {error}");
        assert!(
            error.starts_with(&format!("hetmp: platform {path}")),
            "{error}"
        );
        assert!(
            error.contains(says) || says.starts_with("string"),
            "{to}: {error}"
        );
        assert_eq!(error.lines().count(), 1, "{error}");
        assert_eq!(text(&output.stdout), "");
        if !says.starts_with("coherent") {
            let line = line_of(&bad, to.lines().next().expect("a line"));
            assert!(
                error.contains(&format!("bad.toml:{line}: ")),
                "{line}: {error}"
            );
        }
    }
    let touch = "ns = 1000\ntouches = [{ array = \"a\" }]";
    for (from, to, says) in [
        ("ns = 1000", "ns = nan", "a number from 0 up"),
        (
            "ns = 1000",
            touch,
            "array a: unknown (expected one of the file's: )",
        ),
        (
            "ns = 1000",
            "ns = 1000\nspread = { uniform = 2 }",
            "a number from 0 to 1",
        ),
        (
            "ns = 1000",
            "ns = 1000\nspread = { gauss = 1 }",
            "unknown variant `gauss`",
        ),
        (
            "repeat = 10",
            "repeat = 1e9",
            "a whole number from 0 to 1000000",
        ),
        ("[[loop]]", "[[lop]]", "unknown field `lop`"),
        (
            "iterations = 100_000",
            "iterations = 100_000_000_000",
            "too many chunks (expected at most 2e8 in all)",
        ),
    ] {
        let path = folder.file("bad.toml", PLAIN.replacen(from, to, 1));
        let output = hetmp(&["--platform", &two, "--workload", &path]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{to}: {error}");
        assert!(error.contains(says), "{to}: {error}");
        assert!(error.starts_with("hetmp: workload "), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let binary = folder.file("binary.toml", [0xff, 0xfe, 0]);
    for (arguments, says) in [
        (
            ["--platform", "mars"],
            "hetmp: platform mars: unknown (expected a file's path or one of xeon-thunderx",
        ),
        (
            ["--workload", "no/such.toml"],
            "hetmp: workload no/such.toml: No such file",
        ),
        (["--platform", &binary], "not UTF-8 (expected a text file)"),
        (["--schedule", "fast"], "hetmp: --schedule: 'fast': "),
        (["--schedule", "static-csr:1"], "(expected one for each)"),
        (
            ["--objective", "fame"],
            "hetmp: --objective: 'fame': unknown (expected time, energy or edp)",
        ),
        (
            ["--irregularity", "101"],
            "hetmp: --irregularity: '101': out of range (expected 0 to 100)",
        ),
        (
            ["--show", "mars"],
            "hetmp: --show: 'mars': unknown (expected a name that --list shows)",
        ),
    ] {
        let output = hetmp(&arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(says), "{arguments:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}
