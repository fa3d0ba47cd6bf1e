//! The files of `HETMP_REPORT` and `HETMP_TRACE`, from unmodified programs: the files are complete, their figures add
//! up, and they are written however the program ends.
//!
//! On a machine with one CPU there are no two nodes: these tests then say so and pass.

#[path = "report/even.rs"]
mod even;
#[path = "report/libraries.rs"]
mod libraries;
#[path = "report/long.rs"]
mod long;
#[path = "report/scratch.rs"]
mod scratch;
#[path = "report/serialized.rs"]
mod serialized;
#[path = "report/trace.rs"]
mod trace;

use hetmp_abi_compat::exec::Ending;
use hetmp_abi_compat::library;
use scratch::{list, number, stderr, two_cpus, Scratch};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use trace::check_trace;

/// A program that runs a loop five times, and in the sixth run ends in the way that its argument names.
const ENDS: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *how = "";
static volatile long sink;
static int is(const char *word) { return !strcmp(how, word); }
static void handler(int signal) { exit(signal); }

static void loop(int last)
{
    #pragma omp parallel for schedule(runtime)
    for (int i = 0; i < 200; i++) {
        for (long k = 0; k < 2000; k++) sink = k;
        if (!last || i != 150) continue;
        if (is("exit")) exit(3);
        if (is("abort")) abort();
        if (is("segv")) *(volatile int *)8 = 1;
        if (is("kill")) { kill(getpid(), SIGKILL); for (;;) pause(); }
        if (is("term") || is("own")) { kill(getpid(), SIGTERM); for (;;) pause(); }
    }
}

static void child(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        loop(0);
        if (is("fork-term")) raise(SIGTERM);
        exit(7);
    }
    waitpid(pid, &status, 0);
    printf("%d\n", WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
    if (argc > 1) how = argv[1];
    if (is("own")) signal(SIGTERM, handler);
    if (is("ignored")) signal(SIGTERM, SIG_IGN);
    for (int i = 0; i < 5; i++) loop(0);
    if (is("ignored")) raise(SIGTERM);
    if (is("fork") || is("fork-term")) child();
    if (is("kill")) usleep(300000);
    loop(1);
    return 0;
}
"#;

const BOTH: [(&str, &str); 4] = [
    ("HETMP_NODES", "2"),
    ("HETMP_SCHEDULE", "hetprobe"),
    ("HETMP_REPORT", "report.json"),
    ("HETMP_TRACE", "trace.json"),
];

#[test]
fn however_a_program_ends() {
    if !two_cpus() {
        return;
    }
    let scratch = Scratch::new("ends");
    let program = scratch.compile_text("ends", ENDS);
    for (how, ending, said, executions, traced) in [
        ("", Ending::Exit(0), "exit", 6, true),
        ("exit", Ending::Exit(3), "exit", 5, true),
        ("abort", Ending::Signal(libc::SIGABRT), "signal 6", 5, true),
        ("segv", Ending::Signal(libc::SIGSEGV), "signal 11", 5, true),
        ("term", Ending::Signal(libc::SIGTERM), "signal 15", 5, true),
        // SIGKILL runs no handler: the file is that of the last checkpoint.
        ("kill", Ending::Signal(libc::SIGKILL), "running", 5, false),
        // A handler of the program, and a signal that the program ignores, work as without the library.
        ("own", Ending::Exit(libc::SIGTERM), "exit", 5, true),
        ("ignored", Ending::Exit(0), "exit", 6, true),
        ("fork", Ending::Exit(0), "exit", 6, true),
        ("fork-term", Ending::Exit(0), "exit", 6, true),
    ] {
        let out = scratch.run(&program, &[how], &BOTH);
        assert_eq!(out.ending, ending, "{how}: {}", stderr(&out));
        assert_eq!(stderr(&out), "", "{how}");
        match how {
            "fork" => assert_eq!(out.stdout, b"7\n"),
            "fork-term" => assert_eq!(out.stdout, b"-15\n"),
            _ => {}
        }
        let report = scratch.json("report.json");
        assert_eq!(report["hetmp_report"], 2, "{how}");
        assert_eq!(report["ending"], said, "{how}");
        let loops = list(&report, "loops");
        assert_eq!(loops.len(), 1, "{how}: {report}");
        assert_eq!(number(&loops[0], "executions"), executions, "{how}");
        let mut files = vec!["report.json"];
        if traced {
            files.push("trace.json");
            let trace = scratch.json("trace.json");
            check_trace(&trace);
            assert_eq!(trace["otherData"]["ending"], said, "{how}");
            let in_midst = list(&trace, "traceEvents")
                .iter()
                .filter(|e| e["args"]["unfinished"] == true)
                .count();
            assert_eq!(in_midst > 0, executions == 5, "{how}: {in_midst}");
        }
        // No half-written file is left, and no child process has written a report.
        assert_eq!(scratch.files(), files, "{how}");
        for file in files {
            fs::remove_file(scratch.folder.join(file)).unwrap();
        }
    }
}

/// Times of regions and shares of ways add up, and each region and loop names its module and symbol.
#[test]
fn regions_and_loops_add_up() {
    if !two_cpus() {
        return;
    }
    let scratch = Scratch::new("sums");
    let program = scratch.compile(&library::root().join("c-tests/kernels/nbody.c"));
    for (schedule, divides) in [("hetprobe", true), ("dynamic,3", false)] {
        let out = scratch.run(
            &program,
            &["300", "6"],
            &[
                ("HETMP_NODES", "2"),
                // The nodes are alike: without `force` the library leaves such regions alone.
                ("HETMP_STATIC", "force"),
                ("HETMP_SCHEDULE", schedule),
                ("HETMP_REPORT", "r-%p.json"),
            ],
        );
        assert_eq!(out.ending, Ending::Exit(0));
        let files = scratch.files();
        let name = files.iter().find(|f| f.starts_with("r-")).expect("written");
        let report = scratch.json(name);
        assert_eq!(*name, format!("r-{}.json", report["pid"]));
        fs::remove_file(scratch.folder.join(name)).unwrap();
        let program_name = program.canonicalize().unwrap().display().to_string();
        assert_eq!(report["program"], program_name.as_str());
        let (mut runs, mut time) = (0, 0);
        let regions = list(&report, "regions");
        assert!(!regions.is_empty(), "{report}");
        for region in regions {
            let sum = |field| {
                list(region, "ways")
                    .iter()
                    .map(|w| number(w, field))
                    .sum::<u64>()
            };
            assert_eq!(number(region, "runs"), sum("runs"), "{region}");
            assert_eq!(number(region, "elapsed_ns"), sum("elapsed_ns"), "{region}");
            assert!(number(region, "min_ns") <= number(region, "max_ns"));
            assert_eq!(region["module"], program_name.as_str());
            assert!(
                region["symbol"].as_str().unwrap().contains("_omp_fn"),
                "{region}"
            );
            runs += sum("runs");
            time += sum("elapsed_ns");
        }
        let reach = &report["reach"];
        assert_eq!(number(reach, "runs"), runs);
        assert_eq!(number(reach, "elapsed_ns"), time);
        let by = list(reach, "by");
        let shares: f64 = by.iter().map(|p| p["share"].as_f64().unwrap()).sum();
        assert!((shares - 1.0).abs() < 1e-4, "{reach}");
        // The report counts the schedule that ran the program's loop, and no other.
        let reached: u64 = by
            .iter()
            .filter(|p| p["kept"] == false)
            .map(|p| number(p, "runs"))
            .sum();
        if divides {
            assert_eq!(reached, runs, "{reach}");
        }
        for l in list(&report, "loops") {
            let parts: u64 = list(l, "nodes")
                .iter()
                .map(|n| number(n, "iterations"))
                .sum();
            assert_eq!(number(l, "iterations"), parts, "{l}");
            assert!(number(l, "max_ns") <= number(l, "elapsed_ns"), "{l}");
            assert!(!list(l, "decisions").is_empty(), "{l}");
        }
    }
}

/// Regions for which the report must name the way or the reason: `sections`, which no schedule divides; a loop next to
/// a call through a pointer; and regions and loops as old versions of gcc compile them.
const KINDS: &str = r#"
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void GOMP_parallel_start(void (*)(void *), void *, unsigned);
void GOMP_parallel_end(void);
bool GOMP_loop_runtime_start(long, long, long, long *, long *);
bool GOMP_loop_runtime_next(long *, long *);
void GOMP_loop_end_nowait(void);

enum { N = 400 };
static volatile long sink;
static int hits[N], numbers[64];
static long began[N], ended[N];
static void work(long n) { for (long k = 0; k < n; k++) sink = k; }
static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}
static void iteration(int i)
{
    began[i] = now();
    work(20000);
    hits[i]++;
    ended[i] = now();
}
/* From the loop's first iteration to its last. */
static long in_loop(void)
{
    long first = began[0], last = ended[0];
    for (int i = 1; i < N; i++) {
        if (began[i] < first) first = began[i];
        if (ended[i] > last) last = ended[i];
    }
    return last - first;
}
static void number(int me) { numbers[me]++; }
static void (*volatile anything)(int) = number;

static void sections(void)
{
    #pragma omp parallel sections
    {
        #pragma omp section
        work(400000);
        #pragma omp section
        work(400000);
        #pragma omp section
        work(400000);
    }
}

static void beside(void)
{
    #pragma omp parallel
    {
        anything(omp_get_thread_num());
        #pragma omp for schedule(runtime)
        for (int i = 0; i < N; i++) iteration(i);
    }
}

static void old_loop(void *data)
{
    long s, e, last = -1;
    if (GOMP_loop_runtime_start(0, N, 1, &s, &e))
        do {
            if (s <= last) abort();
            for (long i = s; i < e; i++) iteration(i);
            last = e - 1;
        } while (GOMP_loop_runtime_next(&s, &e));
    GOMP_loop_end_nowait();
}

static void old_static(void *data)
{
    int n = omp_get_num_threads(), me = omp_get_thread_num();
    for (int i = N * me / n; i < N * (me + 1) / n; i++) { work(20000); hits[i]++; }
}

static void old(void (*body)(void *))
{
    GOMP_parallel_start(body, 0, 0);
    body(0);
    GOMP_parallel_end();
}

int main(int argc, char **argv)
{
    const char *what = argv[1];
    int told = omp_get_max_threads();
    long loops = 0;
    for (int i = 0; i < 6; i++) {
        if (!strcmp(what, "sections")) sections();
        if (!strcmp(what, "beside")) beside();
        if (!strcmp(what, "old-loop")) old(old_loop);
        if (!strcmp(what, "old-static")) old(old_static);
        loops += in_loop();
    }
    printf("%d %ld\n", told, loops);
    for (int i = 0; i < N; i++)
        if (hits[i] != hits[0]) abort();
    return 0;
}
"#;

#[test]
fn what_is_reached_is_counted() {
    if !two_cpus() {
        return;
    }
    let scratch = Scratch::new("kinds");
    let program = scratch.compile_text("kinds", KINDS);
    // The way, the reason, and the loop's schedule; `None` if there is none.
    for (what, name, reason, schedule) in [
        ("sections", "sections", None, None),
        (
            "beside",
            "dispatched",
            Some("thread-number"),
            Some("hetprobe"),
        ),
        ("old-loop", "dispatched", Some("inline"), Some("hetprobe")),
        ("old-static", "inline", None, None),
    ] {
        // The nodes are alike: without `force` the library leaves such regions alone.
        let env = [BOTH[0], BOTH[1], BOTH[2], ("HETMP_STATIC", "force")];
        let out = scratch.run(&program, &[what], &env);
        assert_eq!(out.ending, Ending::Exit(0), "{what}: {}", stderr(&out));
        let report = scratch.json("report.json");
        let regions = list(&report, "regions");
        assert_eq!(regions.len(), 1, "{what}: {report}");
        let [way] = &list(&regions[0], "ways")[..] else {
            panic!("{what}: {report}");
        };
        let elapsed = number(way, "elapsed_ns");
        // Time is counted where it was spent, and runs where most of it was, which other programs decide, too.
        let mut expected = BTreeMap::from([(name, (6, elapsed))]);
        let loops = list(&report, "loops");
        assert_eq!(loops.len(), usize::from(schedule.is_some()), "{what}");
        if let (Some(reason), Some(schedule)) = (reason, schedule) {
            let said = loops[0]["schedule"].as_str().unwrap();
            assert!(said.starts_with(schedule), "{what}: {said}");
            assert_eq!(number(&loops[0], "iterations"), 6 * 400);
            assert_eq!(way["else"], reason, "{what}: {way}");
            let divided = number(way, "divided_ns");
            let own = String::from_utf8_lossy(&out.stdout);
            let own: u64 = own.trim().rsplit_once(' ').unwrap().1.parse().unwrap();
            assert!(own > 0 && own <= divided, "{what}: {own}: {way}");
            assert!(divided < elapsed, "{what}: {way}");
            let runs = 6 * u64::from(divided > elapsed / 2);
            expected = BTreeMap::from([
                (name, (runs, divided)),
                (reason, (6 - runs, elapsed - divided)),
            ]);
        }
        let most = expected.iter().max_by_key(|(_, (runs, _))| runs);
        assert_eq!(way["way"], *most.unwrap().0, "{what}: {way}");
        let reach = &report["reach"];
        assert_eq!(number(reach, "runs"), 6, "{what}: {report}");
        let by = list(reach, "by").iter().map(|p| {
            let counted = (number(p, "runs"), number(p, "elapsed_ns"));
            (p["way"].as_str().unwrap(), counted)
        });
        assert_eq!(by.collect::<BTreeMap<_, _>>(), expected, "{what}: {reach}");
    }
}

/// A loop's schedule is named as the user asked for it, with its parameters.
#[test]
fn a_schedule_is_named_with_its_parameters() {
    if !two_cpus() {
        return;
    }
    let scratch = Scratch::new("parameters");
    let program = scratch.compile_text("kinds", KINDS);
    for schedule in ["cross-dynamic,7", "cross-dynamic", "static-csr:3,1"] {
        let env = [BOTH[0], BOTH[2], ("OMP_SCHEDULE", schedule)];
        let out = scratch.run(&program, &["beside"], &env);
        assert_eq!(out.ending, Ending::Exit(0), "{schedule}: {}", stderr(&out));
        let report = scratch.json("report.json");
        assert_eq!(list(&report, "loops")[0]["schedule"], schedule, "{report}");
    }
}

/// If the report goes to a pipe, it is written once, at the end. Only files get checkpoints.
#[test]
fn a_pipe_gets_one_report() {
    if !two_cpus() {
        return;
    }
    let scratch = Scratch::new("pipe");
    let program = scratch.compile_text("kinds", KINDS);
    let env = [BOTH[0], BOTH[1], ("HETMP_REPORT", "/proc/self/fd/1")];
    let out = Command::new("sh")
        .args(["-c", "\"$0\" beside | cat"])
        .arg(&program)
        .env("LD_PRELOAD", library::fresh())
        .envs(env)
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    // The program's own output may come before or after the report.
    let (from, to) = (text.find('{').unwrap(), text.rfind('}').unwrap());
    let report: Value =
        serde_json::from_str(&text[from..=to]).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert_eq!(report["ending"], "exit", "{text}");
    assert_eq!(number(&report["reach"], "runs"), 6, "{text}");
}

/// Without nodes and without a schedule of the library's, there is a report too. It names the reasons.
#[test]
fn a_report_of_a_plain_run() {
    let scratch = Scratch::new("plain");
    let program = scratch.compile_text("ends", ENDS);
    let out = scratch.run(&program, &[""], &[("HETMP_REPORT", "report.json")]);
    assert_eq!((out.ending, stderr(&out)), (Ending::Exit(0), String::new()));
    let report = scratch.json("report.json");
    let by = list(&report["reach"], "by");
    assert!(
        !by.is_empty() && by.iter().all(|p| number(p, "runs") > 0),
        "{report}"
    );
    assert_eq!(number(&list(&report, "loops")[0], "executions"), 6);
}

/// A source that is named by mistake stays, and a name that no variable has costs a line.
#[test]
fn a_source_is_not_replaced() {
    let scratch = Scratch::new("mistaken");
    let program = scratch.compile_text("ends", ENDS);
    let env = [("HETMP_REPORT", "ends.c"), ("HETMP_SHCHEDULE_", "x")];
    let out = scratch.run(&program, &[""], &env);
    let said = stderr(&out);
    assert_eq!(out.ending, Ending::Exit(0), "{said}");
    for line in [
        "hetmp: HETMP_REPORT: 'ends.c': is there, and no file of this kind (expected a file that can be written)",
        "hetmp: HETMP_SHCHEDULE_: unknown (expected a name that hetmp info --env lists)",
    ] {
        assert!(said.lines().any(|l| l == line), "{said}");
    }
    let source = std::fs::read_to_string(scratch.path("ends.c")).expect("the source");
    assert_eq!(source, ENDS);
}

#[test]
fn files_that_cannot_be_written_cost_one_line() {
    let scratch = Scratch::new("bad");
    let program = scratch.compile_text("ends", ENDS);
    for variable in ["HETMP_REPORT", "HETMP_TRACE"] {
        for file in ["/dev/full", "no/such/folder", "."] {
            let out = scratch.run(&program, &[""], &[(variable, file)]);
            assert_eq!(out.ending, Ending::Exit(0));
            let said = stderr(&out);
            let start = format!("hetmp: {variable}: '{file}': ");
            assert!(said.starts_with(&start), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
            assert_eq!(scratch.files(), [""; 0]);
        }
    }
    // If the new file cannot be written, the old one stays. The limit on the size of files is 0 bytes here.
    fs::write(scratch.folder.join("old.json"), "old").unwrap();
    // (Messages go through a pipe, for which this limit does not hold.)
    let shell = format!(
        "(trap '' XFSZ; ulimit -f 0; exec {}) 2>&1 | cat",
        program.display()
    );
    let out = scratch.run(
        Path::new("/bin/sh"),
        &["-c", &shell],
        &[("HETMP_REPORT", "old.json")],
    );
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(said.contains("hetmp: HETMP_REPORT: 'old.json': "), "{said}");
    assert_eq!(scratch.files(), ["old.json"]);
    assert_eq!(fs::read(scratch.folder.join("old.json")).unwrap(), b"old");
}
