//! `hetmp run --profile`, for programs built by both compilers: what is measured is compared with what the program does
//! by construction, and lines with the comments of the source.

use hetmp_abi_compat::scratch::Scratch;
use hetmp_abi_compat::{clang, exec, library};
use serde_json::Value;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// Longer than any command here takes, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// The command, built as the library is.
fn hetmp() -> String {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let out = Command::new(env!("CARGO"))
            .args(["build", "--release", "--quiet", "--package", "hetmp-cli"])
            .current_dir(library::root())
            .env("CARGO_TARGET_DIR", library::target_dir())
            .output()
            .expect("cargo starts");
        let text = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "hetmp: {text}");
    });
    let command = library::target_dir().join("release/hetmp");
    command.display().to_string()
}

/// Builds a program of `c-tests/tool` with debug information.
fn program(s: &Scratch, compiler: &str, name: &str) -> String {
    let file = s.path(&format!("{name}-{}", compiler.replace('/', "-")));
    let source = source(name);
    let args = ["-g", "-O0", "-fopenmp", &source, "-o", &file];
    exec::succeed(compiler, &args, &[], LIMIT);
    file
}

fn source(name: &str) -> String {
    let path = library::root().join(format!("c-tests/tool/{name}.c"));
    path.display().to_string()
}

/// The number of the line with this comment.
fn line(name: &str, comment: &str) -> u64 {
    let text = std::fs::read_to_string(source(name)).expect("the source");
    let comment = format!("/* {comment} */");
    let at = text.lines().position(|line| line.contains(&comment));
    at.expect("the comment") as u64 + 1
}

/// Runs `words` under the profiler. Returns the text and the processes of the JSON file.
fn profile(s: &Scratch, words: &[&str], status: exec::Ending) -> (String, Vec<Value>) {
    let file = s.path("profile.json");
    let (library, option) = (library::fresh(), format!("--profile={file}"));
    let library = library.display().to_string();
    let mut args = vec!["run", "--library", &library, &option];
    args.extend(words);
    let out = exec::command(&hetmp(), &args, &[], LIMIT);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!(out.ending, status, "{words:?}: {text}");
    let json = std::fs::read_to_string(&file).expect("the file of the profile");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["hetmp_profile"], 1);
    let processes = json["processes"].as_array().expect("processes").clone();
    (text, processes)
}

/// Is a row's line this one? gcc gives the call that opens some regions the line of the statement before, and clang
/// that of some loops the line after the pragma.
fn is_at(row: &Value, line: u64) -> bool {
    number(&row["line"]).abs_diff(line) <= 1
}

/// The row with this name and line in a list.
fn row<'a>(list: &'a Value, construct: &str, line: u64) -> &'a Value {
    let rows = list.as_array().expect("a list");
    let found = rows
        .iter()
        .find(|row| row["construct"] == construct && is_at(row, line));
    found.unwrap_or_else(|| panic!("{construct} in line {line}: {list:#}"))
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value}: a number"))
}

/// Three runs of 100 ms that one thread is busy and the other waits, nanoseconds.
const SLEPT: u64 = 300_000_000;

fn skewed(compiler: &str) {
    let s = Scratch::in_target(&format!("profile-{}", compiler.replace('/', "-")));
    let program = program(&s, compiler, "skew");
    let (text, processes) = profile(&s, &[&program], exec::Ending::Exit(0));
    assert!(text.starts_with("sum 6\n"), "{text}");
    let [process] = &processes[..] else {
        panic!("one process: {processes:?}")
    };
    assert_eq!(process["ending"], "exit");
    assert_eq!(process["complete"], true);
    let regions = &process["regions"];
    assert_eq!(regions.as_array().expect("regions").len(), 2);

    let first = row(regions, "parallel", line("skew", "region 1"));
    assert_eq!((number(&first["runs"]), number(&first["threads"])), (3, 2));
    assert_eq!(first["busiest_thread"], 1, "{first:#}");
    assert!(number(&first["elapsed_ns"]) >= SLEPT, "{first:#}");
    assert!(number(&first["busy_ns"]) >= SLEPT, "{first:#}");
    let barrier = row(&first["constructs"], "barrier", line("skew", "barrier 1"));
    assert_eq!(
        (number(&barrier["runs"]), number(&barrier["busy_ns"])),
        (6, 0)
    );
    // Thread 0 has said that it is done, and may be kept from its processor before it comes to the barrier.
    assert!(number(&barrier["waiting_ns"]) >= SLEPT / 3, "{barrier:#}");
    let critical = first["constructs"].as_array().expect("constructs").iter();
    let critical: Vec<_> = critical.filter(|c| c["construct"] == "critical").collect();
    assert_eq!(critical.len(), 1, "{first:#}");
    assert_eq!(number(&critical[0]["runs"]), 6);

    let second = row(regions, "parallel", line("skew", "region 2"));
    let loops = second["constructs"].as_array().expect("constructs").iter();
    let loops: Vec<_> = loops
        .filter(|c| c["construct"] == "loop, dynamic")
        .collect();
    let [dynamic] = loops[..] else {
        panic!("one loop: {second:#}")
    };
    assert!(is_at(dynamic, line("skew", "loop 2")), "{dynamic:#}");
    assert!(number(&dynamic["busy_ns"]) >= SLEPT, "{dynamic:#}");
    let waiting = number(&second["waiting_ns"]);
    assert!(waiting >= SLEPT / 3, "{second:#}");

    for region in [first, second] {
        let all = number(&region["threads_ns"]);
        assert!(all >= 2 * number(&region["elapsed_ns"]), "{region:#}");
        let sum = number(&region["busy_ns"]) + number(&region["waiting_ns"]);
        assert!(sum <= all + all / 100, "{region:#}");
        let by_thread = region["by_thread"].as_array().expect("threads");
        let busy: u64 = by_thread.iter().map(|t| number(&t["busy_ns"])).sum();
        assert_eq!(busy, number(&region["busy_ns"]), "{region:#}");
    }
    let barrier = format!("skew.c:{}\n", line("skew", "barrier 1"));
    assert!(
        text.contains(&barrier) && text.contains("(thread 1)"),
        "{text}"
    );
}

#[test]
#[ignore = "measures times: a quiet machine is needed"]
fn the_busy_thread_and_the_line_where_others_wait_are_named_for_gcc() {
    skewed("gcc");
}

#[test]
#[ignore = "measures times: a quiet machine is needed"]
fn the_busy_thread_and_the_line_where_others_wait_are_named_for_clang() {
    if clang::installed() {
        skewed(clang::CLANG);
    }
}

/// The regions of a process that runs `ends.c`, by the comments in their lines, with how often they ended.
fn regions(process: &Value) -> Vec<(&'static str, u64)> {
    let list = process["regions"].as_array().expect("regions");
    let name = |row: &Value| {
        let names = ["first", "second", "killed", "outer", "inside"];
        let found = names
            .into_iter()
            .find(|name| is_at(row, line("ends", name)));
        found.unwrap_or_else(|| panic!("a region of another line: {row:#}"))
    };
    let all = list.iter().map(|r| (name(r), number(&r["runs"])));
    let mut all: Vec<_> = all.collect();
    all.sort_unstable();
    all
}

#[test]
fn a_killed_program_says_where_its_threads_were() {
    let s = Scratch::in_target("profile-kill");
    let program = program(&s, "gcc", "ends");
    let (text, processes) = profile(&s, &[&program, "kill"], exec::Ending::Signal(9));
    assert!(
        text.contains("ended     by signal 9 (SIGKILL) after"),
        "{text}"
    );
    assert_eq!(regions(&processes[0]), [("first", 1), ("killed", 0)]);
    let region = row(&processes[0]["regions"], "parallel", line("ends", "killed"));
    assert!(number(&region["elapsed_ns"]) >= 50_000_000, "{region:#}");
    let deadlock = line("ends", "deadlock");
    let lock = row(&region["constructs"], "lock", deadlock);
    assert!(number(&lock["waiting_ns"]) > 0, "{lock:#}");
    let waited = format!("thread 0 waited in lock at ends.c:{deadlock} for");
    assert!(text.contains(&waited), "{text}");
    assert!(
        text.contains("thread 1 was in parallel at ends.c:"),
        "{text}"
    );
}

#[test]
fn exit_in_a_region_forks_and_further_programs_are_told_apart() {
    let s = Scratch::in_target("profile-ends");
    let program = program(&s, "gcc", "ends");
    let (_, all) = profile(&s, &[&program, "inside"], exec::Ending::Exit(3));
    assert_eq!(all[0]["ending"], "exit status 3");
    assert_eq!(regions(&all[0]), [("first", 1), ("inside", 0)]);

    let (_, all) = profile(&s, &[&program, "fork"], exec::Ending::Exit(0));
    assert_eq!(all.len(), 1, "a child of fork writes nothing: {all:#?}");
    assert_eq!(regions(&all[0]), [("first", 1)]);

    let (_, all) = profile(&s, &[&program, "exec"], exec::Ending::Exit(0));
    let [before, after] = &all[..] else {
        panic!("two programs: {all:#?}")
    };
    assert_eq!(before["ending"], "executing another program");
    assert_eq!(regions(before), [("first", 1)]);
    assert_eq!(regions(after), [("first", 1), ("second", 1)]);
    assert_eq!(before["pid"], after["pid"]);
}

#[test]
fn an_inner_region_is_a_construct_of_the_outer_one() {
    let s = Scratch::in_target("profile-nested");
    let program = program(&s, "gcc", "ends");
    let (_, all) = profile(&s, &[&program, "nested"], exec::Ending::Exit(0));
    let (second, outer) = (line("ends", "second"), line("ends", "outer"));
    assert_eq!(
        regions(&all[0]),
        [("first", 1), ("outer", 1), ("second", 2)]
    );
    let region = row(&all[0]["regions"], "parallel", outer);
    let inner = row(&region["constructs"], "parallel, nested", second);
    assert_eq!(number(&inner["runs"]), 2);
    let itself = row(&all[0]["regions"], "parallel", second);
    assert_eq!(number(&inner["busy_ns"]), number(&itself["elapsed_ns"]));
}

#[test]
fn what_cannot_be_measured_is_said() {
    let s = Scratch::in_target("profile-refused");
    let library = library::fresh().display().to_string();
    let run = |more: &[&str]| {
        let args = [&["run", "--library", &library], more].concat();
        let out = exec::command(&hetmp(), &args, &[], LIMIT);
        (
            out.ending,
            String::from_utf8_lossy(&out.stdout).into_owned(),
        )
    };
    let (ending, text) = run(&["--profile", "true"]);
    assert_eq!(ending, exec::Ending::Exit(0));
    assert!(
        text.starts_with("hetmp: profile: program ") && text.ends_with(": it used no OpenMP\n"),
        "{text}"
    );
    let (ending, text) = run(&["--profile", "--nodes", "dsm:2", "true"]);
    assert_eq!(ending, exec::Ending::Exit(2));
    assert!(text.starts_with("hetmp: option --profile: "), "{text}");
    // A process that may not write its sums says so, and nobody says that it used no OpenMP.
    let program_by_gcc = program(&s, "gcc", "ends");
    let limited = format!(
        "ulimit -f 8; exec {} run --library {library} --profile {program_by_gcc}",
        hetmp()
    );
    let text = exec::succeed("sh", &["-c", &limited], &[], LIMIT);
    let said = text.lines().filter(|l| l.starts_with("hetmp: ")).count();
    assert!(
        said == 1 && text.contains(": the limit for files (ulimit -f) is below "),
        "{text}"
    );
    // A folder that is not there costs one line, and the program runs.
    let env = [
        ("LD_PRELOAD", library.as_str()),
        ("HETMP_TIMES", "/nonexistent"),
    ];
    let text = exec::succeed(&program_by_gcc, &[], &env, LIMIT);
    assert!(
        text.starts_with("hetmp: HETMP_TIMES: '/nonexistent': ") && text.lines().count() == 1,
        "{text}"
    );
}
