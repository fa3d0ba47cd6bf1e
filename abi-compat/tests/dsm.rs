//! Unmodified programs on several nodes of a software DSM: `HETMP_NODES=dsm:N`.
//!
//! Where this machine forbids userfaultfd, the library says so, and the tests that need nodes are skipped with a line.

use hetmp_abi_compat::library::{fresh, root, target_dir};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(240);

/// `LD_PRELOAD` of both libraries, the second one built beside the first.
fn preload() -> &'static OsString {
    static BOTH: OnceLock<OsString> = OnceLock::new();
    BOTH.get_or_init(|| {
        let first = fresh();
        let out = Command::new(env!("CARGO"))
            .args([
                "build",
                "--release",
                "--quiet",
                "--package",
                "hetmp-dsm-preload",
            ])
            .current_dir(root())
            .env("CARGO_TARGET_DIR", target_dir())
            .output()
            .expect("cargo starts");
        let text = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "libhetmp_dsm.so: {text}");
        let mut both = OsString::from(target_dir().join("release/libhetmp_dsm.so"));
        both.push(":");
        both.push(first);
        both
    })
}

fn compile(source: &str, flags: &[&str]) -> PathBuf {
    let folder = target_dir().join("dsm-tests");
    std::fs::create_dir_all(&folder).expect("a folder");
    // Tests run side by side: each way to compile has a file of its own.
    let name = format!("{source}{}", flags.concat()).replace(['/', '.'], "_");
    let program = folder.join(name);
    let out = Command::new("gcc")
        .args(["-O2", "-fopenmp", "-Ic-tests/kernels", source, "-o"])
        .arg(&program)
        .args(flags)
        .arg("-lm")
        .current_dir(root())
        .output()
        .expect("gcc");
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    program
}

/// Runs the program, on `nodes` nodes where that is not 0.
fn run(program: &PathBuf, args: &[&str], nodes: u32, more: &[(&str, &str)]) -> Output {
    let mut command = Command::new(program);
    command.args(args).env("OMP_NUM_THREADS", "4");
    if nodes > 0 {
        command
            .env("LD_PRELOAD", preload())
            .env("HETMP_NODES", format!("dsm:{nodes}"))
            .env("HETMP_VERBOSE", "1");
    }
    command.envs(more.iter().copied());
    // To files: a node that outlived the program must not keep a pipe open.
    let base = program.with_extension(format!("{nodes}-{}", std::process::id()));
    let (out, err) = (base.with_extension("out"), base.with_extension("err"));
    let file = |p: &PathBuf| std::fs::File::create(p).expect("a file");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(file(&out))
        .stderr(file(&err))
        .spawn()
        .expect("the program");
    let until = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if Instant::now() > until {
            let _ = child.kill();
            panic!("{}: no end", program.display());
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let read = |p: PathBuf| {
        let text = std::fs::read(&p).expect("its output");
        let _ = std::fs::remove_file(p);
        text
    };
    Output {
        status,
        stdout: read(out),
        stderr: read(err),
    }
}

/// True, with a line, where there can be no nodes here.
fn skipped(output: &Output) -> bool {
    let text = String::from_utf8_lossy(&output.stderr);
    let refused = text.lines().find(|l| l.contains("HETMP_DSM uffd: root"));
    if let Some(line) = refused {
        println!("skipped: {line}");
    }
    refused.is_some()
}

/// The same output as under libgomp; every node faulted.
fn same(source: &str, args: &[&str], nodes: u32) {
    let program = compile(source, &[]);
    let expected = run(&program, args, 0, &[]);
    assert!(expected.status.success(), "under libgomp");
    let got = run(&program, args, nodes, &[]);
    if skipped(&got) {
        return;
    }
    let said = String::from_utf8_lossy(&got.stderr);
    assert!(got.status.success(), "{}: {said}", got.status);
    assert_eq!(
        String::from_utf8_lossy(&got.stdout),
        String::from_utf8_lossy(&expected.stdout),
        "{said}"
    );
    for node in 1..nodes {
        let line = said
            .lines()
            .find(|l| l.contains(&format!("dsm: node {node}: ")))
            .unwrap_or_else(|| panic!("node {node}: {said}"));
        assert!(
            !line.contains(": 0 regions") && !line.contains(" 0 read faults, 0 write"),
            "{line}"
        );
    }
}

#[test]
fn ep_on_two_and_three_nodes() {
    same("c-tests/kernels/ep.c", &["S"], 2);
    same("c-tests/kernels/ep.c", &["S"], 3);
}

#[test]
fn cg_on_two_nodes() {
    same("c-tests/kernels/cg.c", &["S"], 2);
}

#[test]
fn constructs_on_two_and_four_nodes() {
    same("c-tests/dsm/constructs.c", &[], 2);
    same("c-tests/dsm/constructs.c", &[], 4);
}

#[test]
fn threads_are_in_processes_with_memory_of_their_own() {
    let program = compile("c-tests/dsm/nodes.c", &[]);
    let trust = [("HETMP_DSM_TRUST", "1")];
    for nodes in [2, 4] {
        let got = run(&program, &[], nodes, &trust);
        if skipped(&got) {
            return;
        }
        assert_eq!(
            String::from_utf8_lossy(&got.stdout),
            format!("threads 4 pids {nodes} inodes {nodes}\n"),
            "{}",
            String::from_utf8_lossy(&got.stderr)
        );
    }
    // Nobody vouches for getpid: the region stays at the origin.
    let got = run(&program, &[], 2, &[]);
    assert_eq!(
        String::from_utf8_lossy(&got.stdout),
        "threads 4 pids 1 inodes 1\n"
    );
    assert!(String::from_utf8_lossy(&got.stderr).contains("at the origin: it may call"));
}

/// `timeout`, `time` and shells get the variables first, and start processes, which a program on several nodes may not.
#[test]
fn a_shell_in_between_passes_the_nodes_on() {
    let program = compile("c-tests/kernels/ep.c", &["-DBY_A_SHELL"]);
    let expected = run(&program, &["S"], 0, &[]);
    // A link, so that its name's folder takes what the shell writes.
    let shell = program.with_extension("shell");
    let _ = std::fs::remove_file(&shell);
    std::os::unix::fs::symlink("/bin/sh", &shell).expect("a link");
    let line = format!("{} S; exit $?", program.display());
    let got = run(&shell, &["-c", &line], 2, &[]);
    if skipped(&got) {
        return;
    }
    let said = String::from_utf8_lossy(&got.stderr);
    assert!(got.status.success(), "{}: {said}", got.status);
    assert_eq!(
        String::from_utf8_lossy(&got.stdout),
        String::from_utf8_lossy(&expected.stdout),
        "{said}"
    );
    assert!(said.contains("dsm: node 1: "), "{said}");
}

#[test]
fn a_killed_node_ends_the_program_with_a_line() {
    let program = compile("c-tests/dsm/killed.c", &[]);
    let got = run(&program, &[], 2, &[("HETMP_DSM_TRUST", "1")]);
    if skipped(&got) {
        return;
    }
    let said = String::from_utf8_lossy(&got.stderr);
    assert_eq!(got.status.code(), Some(1), "{said}");
    assert!(
        said.contains("node 1 ended while the program ran"),
        "{said}"
    );
    assert!(got.stdout.is_empty());
}

#[test]
fn what_cannot_be_is_refused_with_one_line() {
    let program = compile("c-tests/dsm/constructs.c", &[]);
    let refused = |more: &[(&str, &str)], text: &str| {
        let got = run(&program, &[], 2, more);
        let said = String::from_utf8_lossy(&got.stderr);
        assert_eq!(got.status.code(), Some(2), "{said}");
        assert!(said.starts_with("hetmp: ") && said.contains(text), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(got.stdout.is_empty());
    };
    refused(&[("HETMP_NODES", "dsm:1")], "dsm:2 to dsm:8 are accepted");
    refused(
        &[("HETMP_NODES", "dsm:nine")],
        "dsm:2 to dsm:8 are accepted",
    );
    refused(&[("HETMP_DSM", "sigsegv")], "uffd is accepted");
    let both = preload().to_string_lossy();
    let one = both.split(':').next().unwrap_or("");
    refused(
        &[("LD_PRELOAD", one)],
        "LD_PRELOAD=libhetmp_dsm.so:libhetmp.so is accepted",
    );
}
