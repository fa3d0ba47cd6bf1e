//! Nodes, and the schedules that use them, in unmodified programs: every iteration runs
//! once, no thread waits for a thread that is not there, threads run on the CPUs of their
//! nodes, and the library's messages about all this are true.
//!
//! On a machine with one CPU there are no two nodes: these tests then say so and pass.

#[path = "nodes/once.rs"]
mod once;
#[path = "nodes/signals.rs"]
mod signals;
#[path = "nodes/values.rs"]
mod values;

use hetmp_abi_compat::case::{self, Setting};
use hetmp_abi_compat::exec::Ending;
use hetmp_abi_compat::scratch::Scratch;
use hetmp_abi_compat::{library, sample};
use hetmp_sched::schedule::{Order, TABLE};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Each of our schedules with its arguments, some in any order, and two of OpenMP's.
fn schedules() -> Vec<String> {
    let ours = TABLE.iter().filter(|row| row.name.is_ours());
    let mut all: Vec<String> = ours
        .flat_map(|row| {
            let free = |i| i > 0 && row.order == Order::Any;
            let examples = row.examples.iter().enumerate();
            examples.map(move |(i, text)| match free(i) {
                true => format!("nonmonotonic:{text}"),
                false => (*text).to_owned(),
            })
        })
        .collect();
    all.extend(["dynamic,3", "static"].map(str::to_owned));
    all
}

/// CPUs that the tests may use, if they are at least two.
fn cpus() -> Option<Vec<usize>> {
    // SAFETY: all-zero is a valid cpu_set_t, and the call writes only into that set.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, std::mem::size_of_val(&set), &mut set);
        set
    };
    let cpus: Vec<usize> = (0..libc::CPU_SETSIZE as usize)
        // SAFETY: the number is below the size of the set.
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) })
        .collect();
    if cpus.len() < 2 {
        eprintln!("skipped: one CPU is one node");
        return None;
    }
    Some(cpus)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn kernel() -> PathBuf {
    library::root().join("c-tests/kernels/nbody.c")
}

#[test]
fn every_schedule_runs_every_iteration_once() {
    let Some(cpus) = cpus() else { return };
    let scratch = Scratch::new("matrix");
    let unlike = format!("cores={},speed=1;cores={},speed=0.33", cpus[0], cpus[1]);
    for name in [
        "nodes_every_iteration.c",
        "nodes_nowait_absent.c",
        "nodes_irregular.c",
        "nodes_whole_chunks.c",
        "nodes_each_thread.c",
        "gomp_legacy_runtime.c",
    ] {
        let program = scratch.compile(&library::root().join("c-tests/openmp").join(name));
        for schedule in &schedules() {
            let settings = ["2", &unlike]
                .into_iter()
                .flat_map(|nodes| ["1", "2", "3", "8"].map(|threads| (nodes, threads)))
                .collect();
            for (nodes, threads) in sample::settings(&format!("{name}{schedule}"), settings) {
                let out = scratch.run(
                    &program,
                    &[],
                    &[
                        ("HETMP_SCHEDULE", schedule),
                        ("HETMP_NODES", nodes),
                        ("OMP_NUM_THREADS", threads),
                        ("OMP_CANCELLATION", "true"),
                    ],
                );
                let what = format!("{name} {schedule} {nodes} {threads} threads");
                assert_eq!(text(&out.stdout), "ok\n", "{what}: {}", out.ending);
                assert_eq!(out.ending, Ending::Exit(0), "{what}");
                assert_eq!(text(&out.stderr), "", "{what}");
            }
        }
    }
}

/// Whichever of our schedules takes the place of libgomp's: no thread gets an iteration that comes before those that it
/// has had.
#[test]
fn the_iterations_of_each_thread_ascend() {
    let Some(cpus) = cpus() else { return };
    let scratch = Scratch::new("order");
    let program = scratch.compile(&library::root().join("c-tests/openmp/nodes_order.c"));
    let unlike = format!("cores={},speed=1;cores={},speed=0.33", cpus[0], cpus[1]);
    for schedule in &schedules() {
        let schedule = schedule.trim_start_matches("nonmonotonic:");
        let settings = ["2", &unlike].into_iter();
        let settings = settings
            .flat_map(|nodes| [(nodes, "2"), (nodes, "5")])
            .collect();
        for (nodes, threads) in sample::settings(&format!("order{schedule}"), settings) {
            let env = [
                ("OMP_SCHEDULE", schedule),
                ("HETMP_NODES", nodes),
                ("OMP_NUM_THREADS", threads),
            ];
            let out = scratch.run(&program, &[], &env);
            let what = format!("{schedule} {nodes} {threads} threads");
            assert_eq!(text(&out.stdout), "ok\n", "{what}: {}", out.ending);
        }
    }
}

/// Prints the affinity mask of each thread of a team and of an inner team, and the
/// value of `omp_get_num_procs`.
const PLACED: &str = r#"
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
static int only_cpu(void) {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set)) return CPU_COUNT(&set) == 1 ? i : -1;
    return -2;
}
int main(void) {
    int cpu[5], inner[4], procs = omp_get_num_procs();
    omp_set_max_active_levels(2);
    #pragma omp parallel num_threads(5)
    cpu[omp_get_thread_num()] = only_cpu();
    #pragma omp parallel num_threads(2)
    {
        int outer = omp_get_thread_num();
        #pragma omp parallel num_threads(2)
        inner[2 * outer + omp_get_thread_num()] = only_cpu();
    }
    for (int i = 0; i < 5; i++) printf("%d ", cpu[i]);
    for (int i = 0; i < 4; i++) printf("%d ", inner[i]);
    printf("%d\n", procs == omp_get_num_procs());
    return 0;
}
"#;

/// Threads that have wandered off come back with the next region, and none is bound there. Where a thread runs is here
/// where it was last taken, whatever the kernel has done with it since. The last two counts: inner regions of one
/// thread, one by the limit on active levels and one by a clause.
const WANDERED: &str = r#"
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { ROUNDS = 9, T = 5 };
static cpu_set_t all;
static int hits[T + 4 + 2], bound;
static _Thread_local int at = -1;
int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set) {
    if (CPU_COUNT_S(size, set) == 1)
        for (int i = 0; i < 8 * (int)size; i++)
            if (CPU_ISSET_S(i, size, set)) at = i;
    return syscall(SYS_sched_setaffinity, pid, size, set);
}
int sched_getcpu(void) {
    unsigned cpu = 0;
    return at >= 0 ? at : syscall(SYS_getcpu, &cpu, 0, 0) ? -1 : (int)cpu;
}
static void wander(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    sched_setaffinity(0, sizeof all, &all);
}
static void look(int to, int cpu) {
    cpu_set_t mine;
    hits[to] += at == cpu;
    sched_getaffinity(0, sizeof mine, &mine);
    if (!CPU_EQUAL(&mine, &all)) bound = 1;
}
int main(int argc, char **argv) {
    int first = atoi(argv[1]), second = atoi(argv[2]);
    sched_getaffinity(0, sizeof all, &all);
    for (int r = 0; r < ROUNDS; r++) {
        #pragma omp parallel num_threads(T)
        wander(omp_get_thread_num() % 2 ? first : second);
        #pragma omp parallel num_threads(T)
        look(omp_get_thread_num(), omp_get_thread_num() % 2 ? second : first);
        omp_set_max_active_levels(2);
        for (int look_now = 0; look_now < 2; look_now++)
            #pragma omp parallel num_threads(2)
            {
                int outer = omp_get_thread_num();
                #pragma omp parallel num_threads(2)
                if (look_now) look(T + 2 * outer + omp_get_thread_num(), outer ? second : first);
                else wander(outer ? first : second);
            }
        omp_set_max_active_levels(1);
        #pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == 1) {
            #pragma omp parallel
            look(T + 4, second);
            #pragma omp parallel num_threads(1)
            look(T + 5, second);
        }
    }
    for (int i = 0; i < T + 6; i++) printf("%d", hits[i]);
    printf(" %s\n", bound ? "bound" : "free");
    return 0;
}
"#;

#[test]
fn threads_come_to_their_nodes() {
    let Some(cpus) = cpus() else { return };
    let (a, b) = (cpus[0].to_string(), cpus[1].to_string());
    let scratch = Scratch::new("wandered");
    let program = scratch.compile_text("wandered", WANDERED);
    // The second CPU is the first node.
    let nodes = format!("cores={b};cores={a},speed=0.5");
    for schedule in ["static", "hetprobe"] {
        let env = [("HETMP_NODES", &*nodes), ("HETMP_SCHEDULE", schedule)];
        let out = scratch.run(&program, &[&b, &a], &env);
        assert_eq!(
            text(&out.stdout),
            "99999999999 free\n",
            "{}",
            text(&out.stderr)
        );
    }
}

#[test]
fn places_decide_before_nodes() {
    let Some(cpus) = cpus() else { return };
    let (a, b) = (cpus[0], cpus[1]);
    let scratch = Scratch::new("placed");
    let program = scratch.compile_text("placed", PLACED);
    // The second CPU is the first node.
    let nodes = format!("cores={b};cores={a},speed=0.5");
    let places = format!("{{{a}}},{{{b}}}");
    let out = scratch.run(
        &program,
        &[],
        &[("HETMP_NODES", &nodes), ("OMP_PLACES", &places)],
    );
    let out = text(&out.stdout);
    assert!(out.starts_with(&format!("{a} ")), "{out}");
    assert!(out.ends_with(" 1\n"), "{out}");
}

/// The number that a program is told, and the size of its next team: at first, with teams that may be smaller, and with
/// a number that the program sets.
const TOLD: &str = r#"
#include <omp.h>
#include <stdio.h>
static int team(void) {
    int n = 0;
    #pragma omp parallel
    #pragma omp single
    n = omp_get_num_threads();
    return n;
}
int main(void) {
    int told[3], is[3];
    told[0] = omp_get_max_threads(), is[0] = team();
    omp_set_dynamic(1);
    told[1] = omp_get_max_threads(), is[1] = team();
    omp_set_dynamic(0);
    omp_set_num_threads(told[0]);
    told[2] = omp_get_max_threads(), is[2] = team();
    for (int i = 0; i < 3; i++) if (told[i] != is[i]) printf("%d: told %d, is %d\n", i, told[i], is[i]);
    printf("%d\n", told[0]);
    return 0;
}
"#;

#[test]
fn a_team_has_the_size_that_was_told() {
    let Some(cpus) = cpus() else { return };
    let scratch = Scratch::new("told");
    let program = scratch.compile_text("told", TOLD);
    let nodes = format!("cores={};cores={},speed=0.5", cpus[0], cpus[1]);
    let env = [("HETMP_NODES", &*nodes), ("HETMP_SCHEDULE", "hetprobe")];
    let out = scratch.run(&program, &[], &env);
    // Virtual threads: eight for each of two.
    assert_eq!(text(&out.stdout), "16\n", "{}", text(&out.stderr));
    let Some(group) = Quota::of_one_cpu() else {
        eprintln!("skipped: a quota of one CPU (root, and the cgroup v1 controller cpu)");
        return;
    };
    let within = format!(
        "echo $$ > {}/cgroup.procs && exec {}",
        group.0.display(),
        program.display()
    );
    let out = scratch.run(Path::new("/bin/sh"), &["-c", &within], &env);
    assert_eq!(text(&out.stdout), "1\n", "{}", text(&out.stderr));
}

/// A control group with one CPU's time.
struct Quota(PathBuf);

impl Quota {
    fn of_one_cpu() -> Option<Quota> {
        let name = format!("/sys/fs/cgroup/cpu/hetmp-test-{}", std::process::id());
        std::fs::create_dir(&name).ok()?;
        let quota = Quota(name.into());
        for file in ["cpu.cfs_period_us", "cpu.cfs_quota_us"] {
            std::fs::write(quota.0.join(file), "100000").ok()?;
        }
        Some(quota)
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // A process that has just ended may still be in the group.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// A process whose program uses no OpenMP gets no nodes with memory of their own. The value is right all the same.
#[test]
fn a_library_that_is_opened_later_runs_without_nodes() {
    let cases = case::all(&case::folder()).expect("programs");
    let case = (cases.iter())
        .find(|c| c.name == "dlopen_no_openmp_program.c")
        .expect("the program");
    let cache = library::target_dir().join("opened-later");
    let binary = case.build(&cache).expect("compiled");
    let setting = |verbose: &[(&str, &str)]| Setting {
        env: (verbose.iter().chain(&[("HETMP_NODES", "dsm:2")]))
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect(),
    };
    let preload = library::fresh().display().to_string();
    let run = |verbose: &[(&str, &str)]| {
        let preload = ("LD_PRELOAD".to_owned(), preload.clone());
        let out = case.run(&binary, &setting(verbose), &[preload]);
        let out = out.expect("started");
        assert_eq!(text(&out.stdout), "ok\n");
        text(&out.stderr)
    };
    assert_eq!(run(&[]), "");
    assert_eq!(run(&[("OMP_SCHEDULE", "static-csr:3,1")]), "");
    let said = run(&[("HETMP_VERBOSE", "1")]);
    assert!(
        said.contains("hetmp: HETMP_NODES: 'dsm:2': "),
        "no line: {said}"
    );
}

/// All to one node, as ratios of 0 say.
#[test]
fn a_node_may_have_no_share() {
    let Some(cpus) = cpus() else { return };
    let scratch = Scratch::new("zero-share");
    let program = scratch.compile(&library::root().join("c-tests/openmp/nodes_zero_share.c"));
    let two = format!("cores={};cores={}", cpus[0], cpus[1]);
    for (schedule, counts) in [
        ("static-csr:1,0", "10000 0"),
        ("static-csr:0,2.5", "0 10000"),
        ("static-csr:3,1", "7500 2500"),
    ] {
        for variable in ["OMP_SCHEDULE", "HETMP_SCHEDULE"] {
            let out = scratch.run(
                &program,
                &[],
                &[("HETMP_NODES", &two), (variable, schedule)],
            );
            assert_eq!(text(&out.stdout), "ok\n", "{schedule}");
            let want = format!("runtime {counts}\ndynamic {counts}\nmonotonic {counts}\n");
            assert_eq!(text(&out.stderr), want, "{variable} {schedule}");
        }
    }
}

#[test]
fn decisions_are_said_and_written() {
    let Some(cpus) = cpus() else { return };
    let scratch = Scratch::new("report");
    let program = scratch.compile(&kernel());
    let report = scratch.folder.join("report.json");
    let nodes = format!("cores={};cores={}", cpus[0], cpus[1]);
    for schedule in &schedules() {
        let out = scratch.run(
            &program,
            &["300", "5"],
            &[
                ("OMP_NUM_THREADS", "2"),
                ("HETMP_NODES", &nodes),
                ("HETMP_SCHEDULE", schedule),
                ("HETMP_VERBOSE", "1"),
                ("HETMP_REPORT", report.to_str().unwrap()),
            ],
        );
        let said = text(&out.stderr);
        let region = said
            .lines()
            .filter(|l| l.starts_with("hetmp: region nbody+0x"))
            .count();
        assert!(region >= 2, "{schedule}: {said}");
        assert!(said.contains("5 executions"), "{schedule}: {said}");
        let written: Value = serde_json::from_str(&fs::read_to_string(&report).unwrap()).unwrap();
        assert_eq!(written["nodes"].as_array().unwrap().len(), 2);
        let regions = written["loops"].as_array().unwrap();
        assert_eq!(regions.len(), 1, "{schedule}");
        let r = &regions[0];
        assert_eq!(r["executions"], 5, "{schedule}");
        assert_eq!(r["iterations"], 1500, "{schedule}");
        let part = |node: &Value| node["iterations"].as_u64().unwrap();
        let sum: u64 = r["nodes"].as_array().unwrap().iter().map(part).sum();
        assert_eq!(sum, 1500, "{schedule}");
        assert!(!r["decisions"].as_array().unwrap().is_empty(), "{schedule}");
        fs::remove_file(&report).unwrap();
    }
}

/// HetProbe measures that a node is slow. Other processes on the cores can spoil the measurement of a run, so one
/// right run of several is enough.
#[test]
#[ignore = "measures times: a quiet machine is needed"]
fn a_slow_node_gets_less() {
    let Some(cpus) = cpus() else { return };
    let scratch = Scratch::new("slow");
    let program = scratch.compile(&kernel());
    let report = scratch.folder.join("report.json");
    let nodes = format!("cores={},speed=1;cores={},speed=0.33", cpus[0], cpus[1]);
    let mut seen = Vec::new();
    // The range is wide, since other programs on the machine change the shares a little. An even division is far
    // outside of it.
    for _ in 0..20 {
        scratch.run(
            &program,
            &["1500", "8"],
            &[
                ("OMP_NUM_THREADS", "2"),
                ("HETMP_NODES", &nodes),
                ("HETMP_SCHEDULE", "hetprobe"),
                ("HETMP_REPORT", report.to_str().unwrap()),
            ],
        );
        let written: Value = serde_json::from_str(&fs::read_to_string(&report).unwrap()).unwrap();
        let r = &written["loops"][0];
        let csr = r["nodes"][0]["csr"].as_f64().unwrap_or(0.0);
        let share = r["nodes"][0]["share"].as_f64().unwrap_or(0.0);
        if (2.2..4.2).contains(&csr) && (0.66..0.84).contains(&share) {
            return;
        }
        seen.push((csr, share));
    }
    panic!("core speed ratio near 3.03 and share near 0.75 not seen: {seen:?}");
}

/// Runs a loop, forks, runs the loop again in the child, and once more in the parent.
const FORK: &str = r#"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static long work(void) {
    long sum = 0;
    #pragma omp parallel for schedule(runtime) reduction(+:sum)
    for (long i = 0; i < 5000; i++) sum += i;
    return sum;
}
int main(void) {
    for (int i = 0; i < 5; i++) work();
    pid_t child = fork();
    if (child == 0) _exit(work() == 12497500 ? 7 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    printf("%d %ld\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1, work());
    return 0;
}
"#;

#[test]
fn a_child_of_fork_has_nodes_too() {
    if cpus().is_none() {
        return;
    }
    let scratch = Scratch::new("fork");
    let program = scratch.compile_text("fork", FORK);
    for schedule in &schedules() {
        let out = scratch.run(
            &program,
            &[],
            &[("HETMP_NODES", "2"), ("HETMP_SCHEDULE", schedule)],
        );
        assert_eq!(text(&out.stdout), "7 12497500\n", "{schedule}");
    }
}

/// Barriers level by level, which a team takes where its nodes are far apart: here by an emulated distance. Programs
/// with barriers, tasks at barriers, regions inside regions, teams of changing sizes, cancellation.
#[test]
fn barriers_over_far_nodes() {
    let Some(cpus) = cpus() else { return };
    let scratch = Scratch::new("far");
    let (a, b) = (cpus[0], cpus[1]);
    let nodes = format!("cores={a};cores={b}");
    // Threads that go to the nodes in turns need no levels.
    let equal = format!("{{{a}}},{{{a}}},{{{a}}},{{{a}}},{{{b}}},{{{b}}},{{{b}}},{{{b}}}");
    let unequal = format!("{{{a}}},{{{b}}},{{{b}}},{{{b}}},{{{b}}}");
    for name in [
        "barrier_many.c",
        "barrier_phases.c",
        "barrier_runs_tasks.c",
        "cancel_for.c",
        "cancel_parallel.c",
        "loop_ordered.c",
        "parallel_nested.c",
        "parallel_resize.c",
        "single_copyprivate.c",
        "stress_random_mix.c",
        "task_in_loop.c",
        "taskloop_reduction.c",
    ] {
        let program = scratch.compile(&library::root().join("c-tests/openmp").join(name));
        for (threads, places) in [("2", ""), ("3", ""), ("8", &equal), ("7", &unequal)] {
            // Nanoseconds: a signal has arrived as soon as it is seen, and the ratio decides which barrier is used.
            let mut env = vec![
                ("HETMP_NODES", nodes.as_str()),
                ("HETMP_FAR", "0.001,0.008"),
                ("OMP_NUM_THREADS", threads),
                ("HETMP_VERBOSE", "1"),
            ];
            if !places.is_empty() {
                env.extend([("OMP_PLACES", places), ("OMP_PROC_BIND", "close")]);
            }
            if name.starts_with("cancel") {
                env.push(("OMP_CANCELLATION", "true"));
            }
            let out = scratch.run(&program, &[], &env);
            let said = text(&out.stderr);
            assert_eq!(out.ending, Ending::Exit(0), "{name} {env:?}: {said}");
            if name == "barrier_phases.c" && !places.is_empty() {
                let line = "hetmp: 7 threads on 2 nodes: barriers level by level\n";
                assert!(said.contains(line), "{env:?}: {said}");
            }
        }
    }
}
