//! Programs whose regions are in a library: which of them are told the number of virtual threads.

use super::scratch::{list, stderr, two_cpus, Scratch};
use hetmp_abi_compat::exec::Ending;
use std::path::PathBuf;
use std::process::Command;

/// Partial results in an array that has a place for each thread that the library was told, and guard words behind them.
const LIBRARY: &str = r#"
#include <omp.h>
#include <sched.h>
#include <stdlib.h>

#ifdef LOCAL
static int mine;
#pragma omp threadprivate(mine)
int touched(void) { return ++mine; }
#endif
#ifdef YIELDS
void yields(void) { sched_yield(); }
#endif
#ifdef LARGE
__asm__(".text\n.skip 0x50000, 0x90\n");
#endif
#ifdef TASKS
void tasks(int *n)
{
    #pragma omp parallel
    #pragma omp single
    #pragma omp task
    ++*n;
}
#endif

long best(int n)
{
    int threads = omp_get_max_threads();
    long *best = calloc((size_t)threads + 64, sizeof *best), top = -1;
    #pragma omp parallel
    {
        int me = omp_get_thread_num();
        best[me] = -1;
        #pragma omp for
        for (int i = 0; i < n; i++) {
            long v = (i * 7919L) % 10007;
            if (v > best[me]) best[me] = v;
        }
    }
    for (int t = 0; t < threads; t++)
        if (best[t] > top) top = best[t];
    for (int t = threads; t < threads + 64; t++)
        if (best[t] != 0) abort();
    free(best);
    return top;
}
"#;

const PROGRAM: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern int omp_get_max_threads(void);
#ifdef LINKED
extern long best(int);
#endif

int main(int argc, char **argv)
{
    /* The number of threads is to be the runtime's own choice. */
    if (getenv("OMP_NUM_THREADS")) {
        unsetenv("OMP_NUM_THREADS");
        execv("/proc/self/exe", argv);
        return 1;
    }
#ifndef LINKED
    void *opened = dlopen(argv[1], RTLD_NOW);
    long (*best)(int) = opened ? (long (*)(int))dlsym(opened, "best") : NULL;
    if (!best) return 2;
#endif
    (void)argc;
    long sum = 0;
    for (int run = 0; run < 200; run++) sum += best(20000);
    printf("%d %ld\n", omp_get_max_threads(), sum);
    return 0;
}
"#;

fn gcc(scratch: &Scratch, text: &str, name: &str, flags: &[&str]) -> PathBuf {
    let source = scratch.folder.join(format!("{name}.c"));
    std::fs::write(&source, text).unwrap();
    let file = scratch.folder.join(name);
    let mut command = Command::new("gcc");
    command
        .arg("-O2")
        .arg(&source)
        .arg("-o")
        .arg(&file)
        .args(flags);
    let out = command.output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{command:?}: {said}");
    file
}

/// The program opens no region itself. It is told a number that its library and its regions live up to; and the number
/// of threads where the library has thread-local variables, tasks, or a way of its own to wait, is large, or was opened
/// while the program ran.
#[test]
fn small_libraries_that_the_program_is_linked_with_take_part() {
    if !two_cpus() {
        return;
    }
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
    for (name, define, linked, told_more) in [
        ("plain", "-DPLAIN", true, true),
        ("opened", "-DPLAIN", false, false),
        ("local", "-DLOCAL", true, false),
        ("yields", "-DYIELDS", true, false),
        ("tasks", "-DTASKS", true, false),
        ("large", "-DLARGE", true, false),
    ] {
        let scratch = Scratch::new(&format!("library-{name}"));
        let flags = ["-fopenmp", "-shared", "-fPIC", define];
        let library = gcc(&scratch, LIBRARY, "libbest.so", &flags);
        let rpath = format!("-Wl,-rpath,{}", scratch.folder.display());
        let at = format!("-L{}", scratch.folder.display());
        // What the program asks is answered by the library's OpenMP, whichever that is.
        let with = ["-DLINKED", &at, "-lbest", &rpath, "-fopenmp"];
        let flags: &[&str] = if linked { &with } else { &["-fopenmp"] };
        let program = gcc(&scratch, PROGRAM, "program", flags);
        let out = scratch.run(
            &program,
            &[library.to_str().unwrap()],
            &[
                ("HETMP_NODES", "2"),
                // Weights make the nodes unlike.
                ("HETMP_SCHEDULE", "static-csr:2,1"),
                ("HETMP_REPORT", "report.json"),
            ],
        );
        assert_eq!(
            (out.ending, stderr(&out)),
            (Ending::Exit(0), String::new()),
            "{name}"
        );
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let (told, sum) = text.trim().split_once(' ').unwrap();
        assert_eq!(sum, "2001200", "{name}");
        assert_eq!(
            told.parse::<usize>().unwrap() > cpus,
            told_more,
            "{name}: {told}"
        );
        let report = scratch.json("report.json");
        let divided = list(&report, "regions").iter().any(|region| {
            let mut ways = list(region, "ways").iter();
            ways.any(|way| way["way"] == "fibers" || way["way"] == "virtual-team")
        });
        assert_eq!(divided, told_more, "{name}: {report}");
    }
}
