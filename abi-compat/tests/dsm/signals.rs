//! Programs whose page faults are caught by signals (`HETMP_DSM=sigsegv`), and what the kernel reads and writes for
//! them.

use crate::harness::{built, compile, finish, hetrun_finds_the_library, is_same, run, same_with};
use crate::harness::{compile_by, prints_the_same, same, skipped, BY_SIGNALS};
use hetmp_abi_compat::sample;
use std::process::Command;

/// Buffers, structures and texts of system calls lie in pages that another node wrote last; so do those of calls that
/// the C library makes by itself, what a new process is started with, and the stacks of signal handlers.
#[test]
fn system_calls_reach_pages_of_other_nodes() {
    let file = |nodes: u32| format!("{}", built(&format!("system-calls-{nodes}")).display());
    for nodes in sample::one("system_calls_reach_pages_of_other_nodes", vec![2, 3]) {
        same("c-tests/dsm/system_calls.c", &[&file(nodes)], nodes);
        same_with(
            "c-tests/dsm/system_calls.c",
            &[&file(nodes)],
            nodes,
            &BY_SIGNALS,
        );
    }
}

/// Threads are cancelled in system calls, masks of signals last, and `vfork` works.
#[test]
fn threads_are_cancelled_in_system_calls() {
    for nodes in sample::one("threads_are_cancelled_in_system_calls", vec![2, 3]) {
        same("c-tests/dsm/cancelled.c", &[], nodes);
        same_with("c-tests/dsm/cancelled.c", &[], nodes, &BY_SIGNALS);
    }
}

/// The end of a thread is told by the word that has its number, also where half of an address equals that number.
#[test]
fn threads_with_any_number_end() {
    let program = compile("c-tests/dsm/thread_number.c", &[]);
    let expected = run(&program, &[], 0, &[]);
    for _ in 0..3 {
        let got = run(&program, &[], 2, &BY_SIGNALS);
        if !skipped(&got) {
            prints_the_same(&got, &expected);
        }
        if String::from_utf8_lossy(&got.stderr).contains("no thread had the number") {
            println!("skipped: threads' numbers cannot be chosen here");
        }
    }
}

/// The programs that show that nodes work, without userfaultfd.
#[test]
fn programs_print_what_they_print() {
    for (source, arguments) in [
        ("c-tests/dsm/shared.c", &[][..]),
        ("c-tests/dsm/constructs.c", &[]),
        ("c-tests/dsm/ordered.c", &[]),
        ("c-tests/dsm/tasks.c", &[]),
        ("c-tests/dsm/nest.c", &[]),
        ("c-tests/dsm/doacross.c", &[]),
        ("c-tests/dsm/files.c", &[]),
        ("c-tests/dsm/signals.c", &[]),
        ("c-tests/dsm/objects.cpp", &["word"]),
        ("c-tests/dsm/common.f90", &[]),
        ("c-tests/kernels/ep.c", &["S"]),
        ("c-tests/kernels/cg.c", &["S"]),
    ] {
        for nodes in sample::one(source, vec![2, 4]) {
            same_with(source, arguments, nodes, &BY_SIGNALS);
        }
    }
    // Nested functions of gcc: stacks that may be executed.
    let more = [BY_SIGNALS[0], ("HETMP_DSM_TRUST", "1")];
    same_with("c-tests/dsm/memory.c", &[], 3, &more);
}

/// A program in C++ that uses shared pointers has the C library's variable of that name in its own data, which the
/// library reads and writes whenever a thread starts: also when the nodes start. The pointers count with atomic
/// instructions then. And `OMP_STACKSIZE` is for threads of all nodes.
#[test]
fn threads_start_beside_the_programs_data() {
    for (compiler, source, flags, setting) in [
        (
            "g++",
            "c-tests/openmp/cxx_task_objects.cc",
            "-O2",
            ("OMP_PROC_BIND", "false"),
        ),
        (
            "g++",
            "c-tests/dsm/counts.cpp",
            "-O2",
            ("OMP_PROC_BIND", "false"),
        ),
        (
            "gcc",
            "c-tests/openmp/env_stacksize.c",
            "-O0",
            ("OMP_STACKSIZE", "48M"),
        ),
    ] {
        let program = compile_by(compiler, source, &[flags]);
        let expected = run(&program, &[], 0, &[setting]);
        for by in ["uffd", "sigsegv"] {
            for nodes in sample::one(&format!("{source}{by}"), vec![2, 4]) {
                let got = run(&program, &[], nodes, &[setting, ("HETMP_DSM", by)]);
                if !skipped(&got) {
                    prints_the_same(&got, &expected);
                }
            }
        }
    }
}

#[test]
fn started_nodes_need_no_userfaultfd() {
    if !hetrun_finds_the_library() {
        return;
    }
    let program = compile("c-tests/dsm/shared.c", &["-DSTARTED_BY_SIGNALS"]);
    let expected = run(&program, &[], 0, &[]);
    let mut command = Command::new(built("hetrun"));
    command
        .args(["--dsm", "-n", "2"])
        .arg(&program)
        .envs(BY_SIGNALS)
        .env("OMP_NUM_THREADS", "4")
        .env("HETMP_DSM_CROSS", "always")
        .env("HETMP_VERBOSE", "1");
    let got = finish(command, &program, 5);
    if !skipped(&got) {
        is_same(&got, &expected, 2);
    }
}

/// A stack that overflows ends the program, as without nodes: the page below a stack belongs to no node.
#[test]
fn a_stack_that_overflows_is_the_programs_own_fault() {
    use std::os::unix::process::ExitStatusExt as _;
    let program = compile("c-tests/dsm/overflow.c", &["-O0"]);
    let got = run(&program, &[], 2, &BY_SIGNALS);
    if skipped(&got) {
        return;
    }
    let said = String::from_utf8_lossy(&got.stderr);
    assert_eq!(got.status.signal(), Some(libc::SIGSEGV), "{said}");
    assert!(got.stdout.is_empty());
}
