//! The tool interface (OMPT): a tool that counts events, under programs built by both compilers.
//!
//! The tool also checks what the interface promises of every event: that data are 0 at the begin and kept to the end,
//! that the current task and region can be asked for, that it is known from where the program called.

use hetmp_abi_compat::scratch::Scratch;
use hetmp_abi_compat::{clang, exec, library};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Longer than any command here takes, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// A source of `c-tests/tool`.
fn source(name: &str) -> String {
    library::root()
        .join("c-tests/tool")
        .join(name)
        .display()
        .to_string()
}

fn tool(s: &Scratch) -> String {
    let file = s.path("libcount.so");
    let args = [
        "-O1",
        "-w",
        "-shared",
        "-fPIC",
        &source("count.c"),
        "-o",
        &file,
    ];
    exec::succeed("gcc", &args, &[], LIMIT);
    file
}

/// Builds the program with every construct, by `compiler`.
fn program(s: &Scratch, compiler: &str, more: &[&str]) -> String {
    program_of(s, "all.c", compiler, more)
}

/// Builds a program of `c-tests/tool`, by `compiler`.
fn program_of(s: &Scratch, name: &str, compiler: &str, more: &[&str]) -> String {
    let file = s.path(&format!("{name}-{}", compiler.replace('/', "-")));
    let all = source(name);
    let mut args = vec!["-O1", "-fopenmp", &all, "-o", &file];
    args.extend(more);
    let own_runtime = (compiler == clang::CLANG).then(|| clang::runtime_path().expect("libomp"));
    args.extend(own_runtime.as_deref());
    exec::succeed(compiler, &args, &[], LIMIT);
    file
}

/// Runs `program` under the library; `hetmp` is false for the program's own runtime.
fn run(program: &str, hetmp: bool, env: &[(&str, &str)]) -> String {
    let library = library::fresh().display().to_string();
    let mut env = env.to_vec();
    if hetmp {
        env.push(("LD_PRELOAD", &library));
    }
    exec::succeed(program, &[], &env, LIMIT)
}

/// The events of a run, and how often each was seen.
fn events(text: &str) -> BTreeMap<String, u64> {
    text.lines()
        .filter_map(|line| line.strip_prefix("event "))
        .filter_map(|line| line.rsplit_once(": "))
        .map(|(name, count)| (name.to_owned(), count.parse().expect("a count")))
        .collect()
}

fn check(text: &str) -> BTreeMap<String, u64> {
    check_result(text, "sum 16\n")
}

fn check_result(text: &str, result: &str) -> BTreeMap<String, u64> {
    assert!(text.contains(result), "the program's result: {text}");
    assert!(
        text.contains("wrong: 0\n") && !text.contains("tool: not so"),
        "{text}"
    );
    let events = events(text);
    for (begin, count) in events.iter().filter(|(name, _)| name.ends_with(" begin")) {
        let end = begin.replace(" begin", " end");
        assert_eq!(Some(count), events.get(&end), "{begin}: {text}");
    }
    events
}

/// What both compilers' programs show: (event, how often).
const BOTH: [(&str, u64); 28] = [
    ("thread_begin 1", 1),
    ("thread_begin 2", 1),
    ("thread_end", 2),
    ("parallel_begin", 5),
    ("parallel_end", 5),
    ("initial_task begin", 1),
    ("implicit_task begin", 8),
    ("sync 9 begin", 6),
    ("wait 9 begin", 6),
    ("sync 5 begin", 1),
    ("sync 6 begin", 1),
    ("wait 6 begin", 1),
    ("work 11 begin", 6),
    ("work 12 begin", 2),
    ("work 3 begin", 2),
    ("work 4 begin", 2),
    ("task_create 1", 4),
    ("task_create with dependences 1", 1),
    ("mutex_acquire 1", 2),
    ("mutex_acquired 1", 2),
    ("mutex_released 1", 3),
    ("mutex_acquired 2", 1),
    ("mutex_acquire 3", 4),
    ("mutex_acquired 3", 2),
    ("nest_lock begin", 2),
    ("mutex_acquire 5", 4),
    ("mutex_released 5", 4),
    ("mutex_acquired 7", 4),
];

fn check_both(events: &BTreeMap<String, u64>) {
    for (name, count) in BOTH {
        assert_eq!(events.get(name), Some(&count), "{name}: {events:?}");
    }
}

#[test]
fn a_program_by_gcc_is_seen() {
    let s = Scratch::in_target("tool-gcc");
    let (tool, program) = (tool(&s), program(&s, "gcc", &[]));
    let seen = check(&run(&program, true, &[("OMP_TOOL_LIBRARIES", &tool)]));
    check_both(&seen);
    assert_eq!(
        seen.get("sync 3 begin"),
        Some(&6),
        "a barrier, and two behind single: {seen:?}"
    );
    assert_eq!(
        seen.get("sync 8 begin"),
        Some(&6),
        "behind three loops: {seen:?}"
    );
}

#[test]
fn a_program_by_clang_is_seen_as_by_libomp() {
    if !clang::installed() {
        return;
    }
    let s = Scratch::in_target("tool-clang");
    let (tool, program) = (tool(&s), program(&s, clang::CLANG, &[]));
    let env = [("OMP_TOOL_LIBRARIES", tool.as_str())];
    let mut ours = check(&run(&program, true, &env));
    check_both(&ours);
    let theirs = run(&program, false, &env);
    let mut theirs = events(&theirs);
    // libomp does not tell the ends of its threads before it ends the tool. How many chunks a guided loop has depends
    // on who comes when, and so does whether a task has to wait for another one.
    for events in [&mut ours, &mut theirs] {
        events.retain(|name, _| {
            !name.starts_with("thread_end")
                && !name.starts_with("task_schedule")
                && !name.starts_with("initial_task end")
                && !name.starts_with("dispatch 3")
                && !name.starts_with("task_dependence")
        });
    }
    assert_eq!(ours, theirs);
}

/// What both compilers' programs show of the constructs of `more.c`: (event, how often).
const MORE: [(&str, u64); 10] = [
    ("source 1", 5),
    ("sink 1", 4),
    ("dispatch 2", 2),
    ("dispatch 4", 4),
    ("work 7 begin", 1),
    ("work 7 end", 1),
    ("task_dependence", 1),
    ("league_begin", 1),
    ("league_end", 1),
    ("error 1", 1),
];

fn check_more(compiler: &str, hetmp: bool, chunks: u64) -> BTreeMap<String, u64> {
    let name = format!("tool-more-{compiler}-{hetmp}");
    let s = Scratch::in_target(&name);
    let (tool, program) = (tool(&s), program_of(&s, "more.c", compiler, &[]));
    let text = run(&program, hetmp, &[("OMP_TOOL_LIBRARIES", &tool)]);
    assert!(text.contains("sum 221 5\n"), "the program's result: {text}");
    // libomp does not know where the regions inside of a league come from.
    let seen = if hetmp {
        check_result(&text, "sum 221 5\n")
    } else {
        events(&text)
    };
    for (name, count) in MORE.into_iter().chain([("dispatch 3", chunks)]) {
        assert_eq!(seen.get(name), Some(&count), "{name}: {text}");
    }
    seen
}

/// A dynamic loop has a chunk for each of its 10 iterations. The doacross loop has one for each thread; gcc divides the
/// static loop by itself.
#[test]
fn chunks_leagues_and_dependences_are_seen() {
    check_more("gcc", true, 12);
}

#[test]
fn chunks_leagues_and_dependences_are_seen_as_by_libomp() {
    if !clang::installed() {
        return;
    }
    let ours = check_more(clang::CLANG, true, 14);
    let theirs = check_more(clang::CLANG, false, 14);
    assert_eq!(ours.get("mutex_acquired 6"), Some(&2), "{ours:?}");
    for name in [
        "initial_task begin",
        "parallel_begin",
        "work 6 begin",
        "dispatch 5",
        "mutex_acquire 6",
        "mutex_acquired 6",
        "mutex_released 6",
    ] {
        assert_eq!(
            ours.get(name),
            theirs.get(name),
            "{name}: {ours:?} {theirs:?}"
        );
    }
}

#[test]
fn a_tool_in_the_program_is_found_first_and_disabled_is_obeyed() {
    let s = Scratch::in_target("tool-inside");
    let count = source("count.c");
    let program = program(&s, "gcc", &["-w", &count, "-rdynamic"]);
    let told = run(&program, true, &[("OMP_TOOL_VERBOSE_INIT", "stderr")]);
    check_both(&check(&told));
    assert!(
        told.contains("hetmp: tool: ompt_start_tool in the program or its libraries: starts\n")
            && told.contains("hetmp: tool: the tool is attached\n"),
        "{told}"
    );
    let without = run(&program, true, &[("OMP_TOOL", "disabled")]);
    assert_eq!(without, "sum 16\n");
    let wrong = run(&program, true, &[("OMP_TOOL", "perhaps")]);
    assert_eq!(
        wrong,
        "hetmp: OMP_TOOL: 'perhaps': unknown, so that no tool is looked for (expected enabled or disabled)\nsum 16\n"
    );
}

#[test]
fn a_library_that_is_no_tool_is_passed_over() {
    let s = Scratch::in_target("tool-missing");
    let (tool, program) = (tool(&s), program(&s, "gcc", &[]));
    let missing = s.path("missing.so");
    let text = run(&program, true, &[("OMP_TOOL_LIBRARIES", &missing)]);
    assert!(
        text.starts_with(&format!("hetmp: OMP_TOOL_LIBRARIES: '{missing}': "))
            && text.ends_with("\nsum 16\n"),
        "{text}"
    );
    let log = s.path("log");
    let list = format!("{missing}:libm.so.6:{tool}");
    let env = [
        ("OMP_TOOL_LIBRARIES", list.as_str()),
        ("OMP_TOOL_VERBOSE_INIT", &log),
    ];
    check_both(&check(&run(&program, true, &env)));
    let log = std::fs::read_to_string(Path::new(&log)).expect("the log");
    assert!(
        log.contains("library 'libm.so.6': has no ompt_start_tool")
            && log.ends_with("the tool is attached\n"),
        "{log}"
    );
}

#[test]
fn commands_reach_the_tool() {
    if !clang::installed() {
        return;
    }
    let s = Scratch::in_target("tool-control");
    let tool = tool(&s);
    let main = s.path("control.c");
    let text = "#include <omp.h>\n#include <stdio.h>\nint main(void) { printf(\"%d\\n\", \
        omp_control_tool(omp_control_tool_flush, 4, NULL)); }\n";
    std::fs::write(&main, text).expect("a source");
    let program = s.path("control");
    exec::succeed(
        clang::CLANG,
        &["-fopenmp", &main, "-o", &program],
        &[],
        LIMIT,
    );
    assert_eq!(run(&program, true, &[]), "-2\n", "there is no tool");
    let text = run(&program, true, &[("OMP_TOOL_LIBRARIES", &tool)]);
    assert!(
        text.starts_with("34\n") && text.contains("event control_tool 3: 1\n"),
        "{text}"
    );
}
