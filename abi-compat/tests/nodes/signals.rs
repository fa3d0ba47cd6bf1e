//! Signals of a program whose nodes run at an emulated speed.

use super::{cpus, schedules, text};
use hetmp_abi_compat::exec::Ending;
use hetmp_abi_compat::library;
use hetmp_abi_compat::scratch::Scratch;
use serde_json::Value;
use std::fs;

const TRAPS_AND_A_REPORT: &str = r#"
#define _GNU_SOURCE
#include <fenv.h>
#include <omp.h>
static unsigned values[10000];
int main(void) {
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_ALL_EXCEPT);
    for (int e = 0; e < 30; e++) {
        #pragma omp parallel for schedule(runtime)
        for (int i = 0; i < 10000; i++)
            for (int k = 0; k < 50; k++) values[i] = values[i] * 1664525u + 1013904223u;
    }
    return fetestexcept(FE_ALL_EXCEPT);
}
"#;

/// A program asks for a signal at every floating-point exception, inexact results among them, and uses integers only:
/// what the schedules compute on the program's threads must not raise one.
#[test]
fn the_programs_traps_do_not_meet_our_arithmetic() {
    let Some(cpus) = cpus() else { return };
    let scratch = Scratch::new("traps");
    let unlike = format!("cores={},speed=1;cores={},speed=0.33", cpus[0], cpus[1]);
    let programs = [
        scratch.compile(&library::root().join("c-tests/openmp/float_traps.c")),
        scratch.compile_text("reported", TRAPS_AND_A_REPORT),
    ];
    let report = scratch.path("traps.json");
    let mut sums = std::collections::BTreeSet::new();
    for schedule in &schedules() {
        for (nodes, mode) in [
            ("2", "auto"),
            (&unlike, "auto"),
            (&unlike, "force"),
            (&unlike, "uneven"),
        ] {
            let probes = schedule.contains("hetprobe");
            if mode != "auto" && !probes {
                continue;
            }
            let out = scratch.run(
                &programs[0],
                &["all"],
                &[
                    ("HETMP_SCHEDULE", schedule),
                    ("HETMP_NODES", nodes),
                    ("HETMP_STATIC", mode),
                    ("OMP_NUM_THREADS", "2"),
                ],
            );
            let what = format!("{schedule} {nodes} {mode}");
            assert_eq!(out.ending, Ending::Exit(0), "{what}");
            let line = text(&out.stdout);
            assert!(
                line.ends_with("signals asked for: yes, flags 0\n"),
                "{what}: {line}"
            );
            sums.insert(line);
        }
    }
    assert_eq!(sums.len(), 1, "{sums:?}");
    // What is written at the end is computed under the program's traps, too.
    let out = scratch.run(
        &programs[1],
        &[],
        &[
            ("HETMP_SCHEDULE", "hetprobe"),
            ("HETMP_NODES", &unlike),
            ("HETMP_REPORT", &report),
            ("OMP_NUM_THREADS", "2"),
        ],
    );
    assert_eq!(out.ending, Ending::Exit(0));
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(report).expect("a report")).expect("JSON");
    assert!(
        kept["loops"].as_array().is_some_and(|l| !l.is_empty()),
        "{kept}"
    );
}

/// Emulated speeds need a signal that the program does not use. Here the program uses all signals.
#[test]
fn no_signal_is_free() {
    let Some(cpus) = cpus() else { return };
    let scratch = Scratch::new("signals");
    let program = scratch.compile_text(
        "signals",
        r#"
#include <signal.h>
static volatile long sink;
int main(void) {
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++) signal(s, SIG_IGN);
    #pragma omp parallel num_threads(2)
    for (long i = 0; i < 100000; i++) sink = i;
}
"#,
    );
    let nodes = format!("cores={},speed=0.5;cores={}", cpus[0], cpus[1]);
    let out = scratch.run(&program, &[], &[("HETMP_NODES", &nodes)]);
    let said = text(&out.stderr);
    assert_eq!(out.ending, Ending::Exit(0), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.starts_with("hetmp: emulated speed: the program has taken every real-time signal"),
        "{said}"
    );
}

/// The program takes the signals only when the library has one of them: first that one, then all.
#[test]
fn the_program_takes_the_signal_later() {
    let Some(cpus) = cpus() else { return };
    let scratch = Scratch::new("signals-later");
    let program = scratch.compile_text(
        "signals-later",
        r#"
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <time.h>
static volatile long sink;
static volatile int got;
static void mine(int s) { got++; }
static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
static void work(void) { for (long i = 0; i < 20000000; i++) sink = i; }
static int is_slowed(void) {
    double alone = cpu();
    work();
    alone = cpu() - alone;
    double inside = 0;
    #pragma omp parallel num_threads(2)
    {
        #pragma omp master
        inside = cpu();
        work();
        #pragma omp barrier
        #pragma omp master
        inside = cpu() - inside;
    }
    return inside > 2 * alone;
}
int main(void) {
    printf("%d", is_slowed());
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++) {
        struct sigaction now;
        sigaction(s, 0, &now);
        if (now.sa_handler != SIG_DFL) signal(s, mine);
    }
    is_slowed();
    printf(" %d", is_slowed());
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++) signal(s, mine);
    is_slowed();
    is_slowed();
    int late = got;
    is_slowed();
    printf(" %d %d\n", late <= 4, got - late);
}
"#,
    );
    let nodes = format!("cores={},speed=0.25;cores={},speed=0.25", cpus[0], cpus[1]);
    let out = scratch.run(&program, &[], &[("HETMP_NODES", &nodes)]);
    let said = text(&out.stderr);
    assert_eq!(text(&out.stdout), "1 1 1 0\n", "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(
        lines[0].starts_with("hetmp: emulated speed: the program has taken signal "),
        "{said}"
    );
    assert!(
        lines[1].starts_with("hetmp: emulated speed: the program has taken every real-time signal"),
        "{said}"
    );
}
