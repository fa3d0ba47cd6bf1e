//! `hetmp info` as a user runs it.

use serde_json::Value;
use std::process::{Command, Output, Stdio};

fn hetmp(arguments: &[&str], nodes: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hetmp"));
    command.args(arguments).env_remove("HETMP_NODES");
    if let Some(nodes) = nodes {
        command.env("HETMP_NODES", nodes);
    }
    command.output().expect("hetmp runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn info_shows_each_fact() {
    let output = hetmp(&["info"], None);
    assert!(output.status.success());
    assert_eq!(text(&output.stderr), "");
    let out = text(&output.stdout);
    for name in [
        "hetmp  ",
        "library  ",
        "parts  ",
        "OpenMP  ",
        "machine",
        "allowed CPUs",
        "CPU quota",
        "default threads",
        "threads (",
        "cores (",
        "sockets (",
        "ll_caches (",
        "numa_domains (",
        "nodes (found)",
        "  node 0",
    ] {
        assert!(
            out.lines().any(|line| line.starts_with(name)),
            "{name} in\n{out}"
        );
    }
}

#[test]
fn found_nodes_are_accepted_when_told() {
    let found = json(&hetmp(&["info", "--json"], None));
    assert_eq!(found["nodes_from"], "discovery");
    let syntax = found["HETMP_NODES"].as_str().expect("text");
    let output = hetmp(&["info", "--json"], Some(syntax));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let told = json(&output);
    assert_eq!(told["nodes_from"], "HETMP_NODES");
    assert_eq!(told["HETMP_NODES"], syntax);
}

/// Each CPU of the nodes has its square, and each node its label.
#[test]
fn nodes_are_drawn() {
    let found = json(&hetmp(&["info", "--json"], None));
    let allowed: Vec<u64> = found["allowed"]
        .as_array()
        .expect("CPUs")
        .iter()
        .filter_map(Value::as_u64)
        .collect();
    let told = format!("cores={},speed=0.5,name=slow", allowed[0]);
    let path = std::env::temp_dir().join(format!("hetmp-info-{}.svg", std::process::id()));
    let file = path.to_str().expect("text");
    for (nodes, squares) in [(None, allowed.len()), (Some(told.as_str()), 1)] {
        let output = hetmp(&["info", "--svg", file], nodes);
        assert_eq!(text(&output.stderr), "");
        let drawn = std::fs::read_to_string(&path).expect("a picture");
        assert_eq!(drawn.matches("text-anchor").count(), squares, "{drawn}");
        assert!(
            drawn.starts_with("<svg ") && drawn.ends_with("</svg>\n"),
            "{drawn}"
        );
        assert_eq!(
            drawn.contains("node 0 (slow), slowed to 0.5"),
            nodes.is_some(),
            "{drawn}"
        );
    }
    let _ = std::fs::remove_file(&path);
    let output = hetmp(&["info", "--svg", "/no/such/file"], None);
    assert!(text(&output.stderr).starts_with("hetmp: --svg: '/no/such/file': "));
    assert!(!output.status.success());
}

#[test]
fn told_nodes_show() {
    let found = json(&hetmp(&["info", "--json"], None));
    let cpu = found["allowed"][0].as_u64().expect("a CPU");
    let told = format!("cores={cpu},speed=0.5,speed.cfd=0.25,watts=3,name=slow");
    let output = hetmp(&["info"], Some(&told));
    let out = text(&output.stdout);
    assert!(out.contains(&format!("HETMP_NODES='{told}'")), "{out}");
    assert!(
        out.contains("slow, slowed to 0.5, cfd to 0.25, 3 W"),
        "{out}"
    );
    let value = json(&hetmp(&["info", "--json"], Some(&told)));
    assert_eq!(value["nodes"][0]["speeds"]["cfd"], 0.25);
    assert_eq!(value["nodes"][0]["cpus"][0], cpu);
}

#[test]
fn a_bound_process_sees_its_cpus_only() {
    let all = json(&hetmp(&["info", "--json"], None));
    let last = all["allowed"]
        .as_array()
        .and_then(|a| a.last())
        .expect("a CPU");
    let output = Command::new("taskset")
        .args(["-c", &last.to_string(), env!("CARGO_BIN_EXE_hetmp")])
        .args(["info", "--json"])
        .env_remove("HETMP_NODES")
        .output()
        .expect("taskset (util-linux) runs");
    let bound = json(&output);
    assert_eq!(bound["allowed"], serde_json::json!([last]));
    assert_eq!(bound["default_threads"], 1);
    assert_eq!(bound["places"]["cores"], serde_json::json!([[last]]));
}

#[test]
fn bad_nodes_are_said_in_one_line_and_fail() {
    let output = hetmp(&["info"], Some("cores=60000"));
    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    assert!(
        error.starts_with("hetmp: HETMP_NODES: 'cores=60000': this process has no CPUs"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1);
    // The command still shows the nodes of that case.
    assert!(text(&output.stdout).contains("nodes (found)"));
}

#[test]
fn the_environment_table() {
    let out = text(&hetmp(&["info", "--env"], None).stdout);
    for name in ["OMP_NUM_THREADS (", "OMP_PLACES (", "HETMP_NODES ("] {
        assert!(out.lines().any(|line| line.starts_with(name)), "{name}");
    }
    let table = json(&hetmp(&["info", "--env", "--json"], None));
    let table = table.as_array().expect("array");
    assert_eq!(
        table.len(),
        out.lines().filter(|l| !l.starts_with(' ')).count()
    );
    for row in table {
        for key in ["name", "type", "default", "accepts", "help", "spec"] {
            assert!(row[key].is_string(), "{key} of {row}");
        }
    }
}

#[test]
fn bad_arguments_exit_with_2() {
    for arguments in [&[][..], &["nosuch"], &["info", "--nosuch"], &["info", "x"]] {
        let output = hetmp(arguments, None);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        assert!(!output.stderr.is_empty());
    }
    for (arguments, line) in [
        (
            &["nosuch"][..],
            "unrecognized subcommand 'nosuch' (expected what hetmp --help lists)",
        ),
        (&["reprot"], "unrecognized subcommand 'reprot' (expected report)"),
        (&["info", "--jsn"], "unexpected argument '--jsn' found (expected --json)"),
        (
            &["completions", "basch"],
            "invalid value 'basch' for '<SHELL>' [possible values: bash, elvish, fish, powershell, zsh] (expected \
             bash)",
        ),
        (
            &["info", "--nosuch"],
            "unexpected argument '--nosuch' found (expected what hetmp info --help lists)",
        ),
        (
            &["which"],
            "the following required arguments were not provided: <PROGRAM|PACKAGE>... (expected what hetmp which \
             --help lists)",
        ),
        (
            &["goal", "show", "--nosuch"],
            "unexpected argument '--nosuch' found (expected what hetmp goal show --help lists)",
        ),
    ] {
        let output = hetmp(arguments, None);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&output.stderr), format!("hetmp: {line}\n"));
    }
    for arguments in [&["--help"][..], &["--version"], &["info", "--help"]] {
        assert!(hetmp(arguments, None).status.success(), "{arguments:?}");
    }
}

#[test]
fn output_that_cannot_be_written() {
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let output = Command::new(env!("CARGO_BIN_EXE_hetmp"))
        .arg("info")
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .expect("hetmp runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("hetmp: standard output: "));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hetmp"))
        .args(["info", "--env"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hetmp runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success(), "{:?}", output.status);
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn platforms_are_shown_and_a_bad_one_is_one_line() {
    let info = |value: &str, json: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hetmp"));
        command.args(["info", "--platform"]);
        if json {
            command.arg("--json");
        }
        command
            .env("HETMP_PLATFORM", value)
            .output()
            .expect("hetmp")
    };
    let out = info("sw26010,strict", false);
    let text = String::from_utf8(out.stdout).expect("UTF-8");
    assert!(out.status.success() && text.contains("sw26010, strict") && text.contains("mt3000"));
    let out = info("mt3000", true);
    let value: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(value["chosen"]["array_bytes"], 786_432);
    assert_eq!(value["built_in"].as_array().map(Vec::len), Some(3));
    let out = info("sw", false);
    assert!(!out.status.success());
    let line = String::from_utf8(out.stderr).expect("UTF-8");
    assert!(line.starts_with("hetmp: HETMP_PLATFORM: 'sw': ") && line.lines().count() == 1);
}

/// The parts are looked for where an installation has them.
#[test]
fn info_finds_what_is_installed() {
    let value = json(&hetmp(&["info", "--json"], None));
    let there = |name: &str| value["files"][name].as_str().map(std::path::PathBuf::from);
    let hetrun = there("hetrun").expect("built with this command");
    assert!(hetrun.is_file(), "{}", hetrun.display());
    assert_eq!(value["hetmp"], env!("CARGO_PKG_VERSION"));
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("info-{}", std::process::id()));
    std::fs::create_dir_all(dir.join("bin")).expect("a folder");
    std::fs::create_dir_all(dir.join("lib")).expect("a folder");
    let command = dir.join("bin/hetmp");
    // A link: a copy may still be open for writing in a child that another test has just started.
    std::fs::hard_link(env!("CARGO_BIN_EXE_hetmp"), &command).expect("linked");
    std::fs::write(dir.join("lib/libhetmp_dsm.so"), "").expect("written");
    let out = Command::new(&command)
        .arg("info")
        .output()
        .expect("it runs");
    let out = text(&out.stdout);
    let parts =
        "parts            libhetmp_dsm.so (--nodes dsm:N), no libhetmp_mpi.so (MPI programs), ";
    assert!(out.contains(parts), "{out}");
    assert!(
        out.contains("library          not next to this command"),
        "{out}"
    );
    std::fs::remove_dir_all(&dir).expect("removed");
}
