//! Builds what the tests of nodes need, runs programs on nodes and without, and compares what they print.

use hetmp_abi_compat::clang::{self, CLANG};
use hetmp_abi_compat::library::{fresh, root, target_dir};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(240);

/// A file of the release build. The first call builds all that the tests of nodes need.
pub(crate) fn built(name: &str) -> PathBuf {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let out = Command::new(env!("CARGO"))
            .args(["build", "--release", "--quiet"])
            .args(["--package", "hetmp-dsm-preload", "--package", "hetmp-cli"])
            .current_dir(root())
            .env("CARGO_TARGET_DIR", target_dir())
            .output()
            .expect("cargo starts");
        let text = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "libhetmp_dsm.so, hetrun: {text}");
    });
    target_dir().join("release").join(name)
}

/// The value of `LD_PRELOAD` that loads both libraries.
pub(crate) fn preload() -> OsString {
    let mut both = OsString::from(built("libhetmp_dsm.so"));
    both.push(":");
    both.push(fresh());
    both
}

/// Compiles a program with gcc, g++ or gfortran.
pub(crate) fn compile(source: &str, flags: &[&str]) -> PathBuf {
    let compiler = match source.rsplit('.').next() {
        Some("cpp" | "cc") => "g++",
        Some("f90") => "gfortran",
        _ => "gcc",
    };
    compile_by(compiler, source, flags)
}

pub(crate) fn compile_by(compiler: &str, source: &str, flags: &[&str]) -> PathBuf {
    let folder = target_dir().join("dsm-tests");
    std::fs::create_dir_all(&folder).expect("a folder");
    let name = format!("{source}{compiler}{}", flags.concat()).replace(['/', '.'], "_");
    let program = folder.join(name);
    // Several tests compile one program at the same time, and may already run the file that one of them has made.
    static COMPILED: AtomicU32 = AtomicU32::new(0);
    let count = COMPILED.fetch_add(1, Ordering::Relaxed);
    let made = program.with_extension(format!("{}-{count}", std::process::id()));
    let out = Command::new(compiler)
        .args(["-O2", "-fopenmp", "-Ic-tests/kernels", source, "-o"])
        .arg(&made)
        .args(flags)
        .arg("-lm")
        // Fortran's module files.
        .arg(format!("-I{}", folder.display()))
        .current_dir(root())
        .output()
        .expect("a compiler");
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    std::fs::rename(&made, &program).expect("the program's place");
    program
}

/// Runs the program on `nodes` nodes, or without nodes if that is 0.
pub(crate) fn run(program: &PathBuf, args: &[&str], nodes: u32, more: &[(&str, &str)]) -> Output {
    let mut command = Command::new(program);
    command.args(args).env("OMP_NUM_THREADS", "4");
    if nodes > 0 {
        command
            .env("LD_PRELOAD", preload())
            .env("HETMP_NODES", format!("dsm:{nodes}"))
            // Whether a region is faster across is not what most tests are about.
            .env("HETMP_DSM_CROSS", "always")
            .env("HETMP_VERBOSE", "1");
    }
    command.envs(more.iter().copied());
    finish(command, program, nodes)
}

/// False, after a line, if `libhetmp.so` is not next to hetrun, which would not find it.
pub(crate) fn hetrun_finds_the_library() -> bool {
    let both = built("hetrun").with_file_name("libhetmp.so") == *fresh();
    if !both {
        println!("skipped: libhetmp.so is not next to hetrun");
    }
    both
}

/// `program` as `nodes` processes that hetrun starts. All regions cross that may, and the program's report says which
/// did.
pub(crate) fn by_hetrun(program: &Path, nodes: u32) -> Output {
    by_hetrun_with(program, nodes, &[], &[])
}

/// The same with more options of hetrun and variables.
pub(crate) fn by_hetrun_with(
    program: &Path,
    nodes: u32,
    options: &[&str],
    variables: &[(&str, &str)],
) -> Output {
    let mut command = Command::new(built("hetrun"));
    command
        .args(["--dsm", "-n", &nodes.to_string()])
        .args(options)
        .arg(program)
        .env("OMP_NUM_THREADS", "4")
        .env("HETMP_DSM_CROSS", "always")
        .env("HETMP_VERBOSE", "1")
        .envs(variables.iter().copied());
    finish(command, program, nodes)
}

/// Runs the command to its end, and returns its output.
pub(crate) fn finish(mut command: Command, program: &Path, tag: u32) -> Output {
    // The output goes to files, not to pipes: a node that wrongly outlives the program would keep a pipe open,
    // and the test would hang.
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    // Several tests run one program at the same time.
    let name = |what| program.with_extension(format!("{tag}-{run}-{}.{what}", std::process::id()));
    let (out, err) = (name("out"), name("err"));
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

/// True, after printing a line, if this machine cannot run nodes.
pub(crate) fn skipped(output: &Output) -> bool {
    let text = String::from_utf8_lossy(&output.stderr);
    let names = ["HETMP_DSM: 'uffd': root", "HETMP_DSM: 'sigsegv': a kernel"];
    let refused = text.lines().find(|l| names.iter().any(|n| l.contains(n)));
    if let Some(line) = refused {
        println!("skipped: {line}");
    }
    refused.is_some()
}

/// Page faults are caught by signals.
pub(crate) const BY_SIGNALS: [(&str, &str); 1] = [("HETMP_DSM", "sigsegv")];

/// Checks that the output is the same as under libgomp, and that every node had page faults. Returns what the library
/// said; `None` if this machine cannot run nodes.
pub(crate) fn same(source: &str, args: &[&str], nodes: u32) -> Option<String> {
    same_with(source, args, nodes, &[])
}

pub(crate) fn same_with(
    source: &str,
    args: &[&str],
    nodes: u32,
    more: &[(&str, &str)],
) -> Option<String> {
    let program = compile(source, &[]);
    let expected = run(&program, args, 0, &[]);
    assert!(expected.status.success(), "under libgomp");
    let got = run(&program, args, nodes, more);
    (!skipped(&got)).then(|| is_same(&got, &expected, nodes))
}

/// [`same`] for a program that clang compiled, in C or C++. Skipped, with a line, where clang is not installed.
pub(crate) fn same_by_clang(
    source: &str,
    args: &[&str],
    nodes: u32,
    flags: &[&str],
) -> Option<String> {
    let compiler = if source.ends_with(".cpp") {
        CLANG.replace("clang", "clang++")
    } else {
        CLANG.to_owned()
    };
    if Command::new(&compiler).arg("--version").output().is_err() {
        println!("skipped: {compiler} is not installed");
        return None;
    }
    let own_runtime = clang::runtime_path().expect("clang's own runtime");
    let flags = [flags, &[own_runtime.as_str()]].concat();
    let program = compile_by(&compiler, source, &flags);
    let expected = run(&program, args, 0, &[]);
    assert!(expected.status.success(), "under libomp");
    let got = run(&program, args, nodes, &[]);
    (!skipped(&got)).then(|| is_same(&got, &expected, nodes))
}

/// Checks that the run has succeeded, and has printed what was expected.
pub(crate) fn prints_the_same(got: &Output, expected: &Output) {
    let said = String::from_utf8_lossy(&got.stderr);
    let printed = String::from_utf8_lossy(&got.stdout);
    assert!(got.status.success(), "{}: {printed}{said}", got.status);
    assert_eq!(
        String::from_utf8_lossy(&got.stdout),
        String::from_utf8_lossy(&expected.stdout),
        "{said}"
    );
}

/// Checks that the outputs are equal, and that every node had page faults. Returns what the library said.
pub(crate) fn is_same(got: &Output, expected: &Output, nodes: u32) -> String {
    prints_the_same(got, expected);
    let said = String::from_utf8_lossy(&got.stderr).into_owned();
    for node in 0..nodes {
        let line = said
            .lines()
            .find(|l| l.contains(&format!("dsm: node {node}: ")))
            .unwrap_or_else(|| panic!("node {node}: {said}"));
        assert!(
            !line.contains(": 0 regions") && !line.contains(" 0 read faults, 0 write"),
            "{line}"
        );
    }
    said
}

/// Faults of all nodes that asked another one, as `HETMP_VERBOSE` says.
pub(crate) fn faults_in(said: &str) -> u32 {
    sum_in(said, "faults")
}

/// The sum of all nodes' numbers of what is called so.
pub(crate) fn sum_in(said: &str, what: &str) -> u32 {
    let nodes = said.lines().filter(|l| l.starts_with("hetmp: dsm: node "));
    let counts = nodes.flat_map(|l| l.split(", ").filter(|part| part.ends_with(what)));
    counts
        .map(|part| part.split(' ').next().and_then(|n| n.parse::<u32>().ok()))
        .map(|n| n.expect("a number"))
        .sum()
}
