//! Archer, LLVM's race detector for OpenMP, which learns from the tool interface what orders the accesses of a program:
//! what it says of the programs of `c-tests/archer` under libhetmp.so is what it says under libomp. The names of the
//! programs with a race end with `_race`.

use hetmp_abi_compat::scratch::Scratch;
use hetmp_abi_compat::{clang, exec, library};
use std::path::Path;
use std::time::Duration;

/// Longer than any command here takes, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

const ARCHER: &str = "/usr/lib/llvm-19/lib/libarcher.so";

/// Runs of a program with a race. A detector sees a race that happens, and one run may be without.
const TRIES: usize = 10;
/// Runs of a program without a race, none of which may report one.
const CLEAN: usize = 3;

/// Builds a program of `c-tests/archer`; `None`: this machine lacks what is needed, which is printed.
fn build(s: &Scratch, name: &str) -> Option<String> {
    if !clang::installed() {
        return None;
    }
    if !Path::new(ARCHER).is_file() {
        eprintln!("skipped: {name}: no {ARCHER}");
        return None;
    }
    let source = library::root().join(format!("c-tests/archer/{name}.c"));
    let (source, file) = (source.display().to_string(), s.path(name));
    let own_runtime = clang::runtime_path().expect("clang's own runtime");
    let args = [
        &own_runtime,
        "-g",
        "-O1",
        "-fopenmp",
        "-fsanitize=thread",
        &source,
        "-o",
        &file,
    ];
    let built = exec::command(clang::CLANG, &args, &[], LIMIT);
    let said = String::from_utf8_lossy(&built.stdout).into_owned();
    if said.contains("libclang_rt.tsan") {
        eprintln!("skipped: {name}: no ThreadSanitizer (libclang-rt-19-dev)");
        return None;
    }
    assert_eq!(built.ending, exec::Ending::Exit(0), "{name}: {said}");
    Some(file)
}

/// Does Archer report a race in one run of `program`? `None`: ThreadSanitizer cannot run on this machine.
fn race(program: &str, library: &str) -> Option<bool> {
    let mut env = vec![
        ("OMP_TOOL_LIBRARIES", ARCHER),
        // The runtimes themselves are not instrumented.
        (
            "TSAN_OPTIONS",
            "ignore_noninstrumented_modules=1 exitcode=66",
        ),
    ];
    if !library.is_empty() {
        env.push(("LD_PRELOAD", library));
    }
    let run = exec::command(program, &[], &env, LIMIT);
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    if said.contains("FATAL: ThreadSanitizer") {
        eprintln!("skipped: {program}: {said}");
        return None;
    }
    let race = said.contains("WARNING: ThreadSanitizer: data race");
    let status = if race { 66 } else { 0 };
    assert_eq!(run.ending, exec::Ending::Exit(status), "{program}: {said}");
    Some(race)
}

/// A program's verdict under `library` (empty: libomp), where `expected` is right.
fn verdict(program: &str, library: &str, expected: bool) -> Option<bool> {
    for _ in 0..if expected { TRIES } else { CLEAN } {
        if race(program, library)? {
            return Some(true);
        }
    }
    Some(false)
}

fn compare(name: &str) {
    let s = Scratch::in_target(&format!("archer-{name}"));
    let Some(program) = build(&s, name) else {
        return;
    };
    let expected = name.ends_with("_race");
    let library = library::fresh().display().to_string();
    let Some(theirs) = verdict(&program, "", expected) else {
        return;
    };
    let ours = verdict(&program, &library, expected);
    assert_eq!((theirs, ours), (expected, Some(expected)), "{name}");
}

macro_rules! programs {
    ($($name:ident),*) => {$(
        #[test]
        fn $name() {
            compare(stringify!($name));
        }
    )*};
}

programs!(
    shared_race,
    nowait_race,
    task_race,
    depend_race,
    locks,
    barriers,
    tasks,
    small_race,
    small_tasks
);

#[test]
fn every_program_has_a_test() {
    let mut count = 0;
    for entry in std::fs::read_dir(library::root().join("c-tests/archer")).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        assert!(name.to_string_lossy().ends_with(".c"), "{name:?}");
        count += 1;
    }
    assert_eq!(count, 9, "each program is named in programs!");
}
