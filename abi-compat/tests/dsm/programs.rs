//! What programs on several nodes do is what they do without: constructs, memory, files, languages.

use crate::harness::{
    by_hetrun, by_hetrun_with, compile, faults_in, hetrun_finds_the_library, is_same,
    prints_the_same, run, same, same_by_clang, same_with, skipped, sum_in, BY_SIGNALS,
};
use hetmp_abi_compat::sample;

#[test]
fn ep_on_two_and_three_nodes() {
    same("c-tests/kernels/ep.c", &["S"], 2);
    same("c-tests/kernels/ep.c", &["S"], 3);
}

#[test]
fn cg_on_two_nodes() {
    same("c-tests/kernels/cg.c", &["S"], 2);
}

/// As many nodes as there may be.
#[test]
fn kernels_on_sixteen_nodes() {
    let threads = ("OMP_NUM_THREADS", "16");
    for source in ["c-tests/kernels/hydro.c", "c-tests/kernels/kmeans.c"] {
        let program = compile(source, &[]);
        let expected = run(&program, &["S"], 0, &[threads]);
        for by in sample::one(source, vec!["uffd", "sigsegv"]) {
            let got = run(&program, &["S"], 16, &[threads, ("HETMP_DSM", by)]);
            if !skipped(&got) {
                let said = is_same(&got, &expected, 16);
                assert!(!said.contains("node 15: 0 regions"), "{by}: {said}");
            }
        }
    }
}

/// Regions that need their thread numbers have uneven parts on nodes, too: each node calls a copy of its own.
#[test]
fn uneven_parts_cross() {
    let forced = ("HETMP_STATIC", "force-uneven");
    for (source, args) in [
        ("c-tests/kernels/kmeans.c", &["S"][..]),
        ("c-tests/openmp/static_uneven.c", &[]),
        ("c-tests/openmp/static_uneven_catch.cc", &[]),
    ] {
        let program = compile(source, &["-DUNEVEN"]);
        let expected = run(&program, args, 0, &[]);
        for nodes in [2, 3] {
            let got = run(&program, args, nodes, &[forced, ("HETMP_DSM_TRUST", "1")]);
            if skipped(&got) {
                return;
            }
            let said = is_same(&got, &expected, nodes);
            assert!(said.contains("; loops "), "{source}: {said}");
        }
    }
}

/// The nodes' own threads start before the program's data is shared, and after it was copied.
#[test]
fn programs_know_that_they_have_threads() {
    let program = compile("c-tests/dsm/single_threaded.c", &[]);
    let expected = run(&program, &[], 0, &[]);
    for by in ["uffd", "sigsegv"] {
        for cross in ["always", "never"] {
            let more = [("HETMP_DSM", by), ("HETMP_DSM_CROSS", cross)];
            let got = run(&program, &[], 3, &more);
            if !skipped(&got) {
                prints_the_same(&got, &expected);
            }
        }
    }
}

/// What a node wanted together before comes together: a fault brings what would take many.
#[test]
fn pages_that_are_wanted_together_come_together() {
    let program = compile("c-tests/dsm/sweeps.c", &[]);
    let expected = run(&program, &[], 0, &[]);
    let said = |ahead: &str, by: Option<&str>| {
        let ahead = ("HETMP_DSM_AHEAD", ahead);
        let got = match by {
            Some(by) => run(&program, &[], 2, &[ahead, ("HETMP_DSM", by)]),
            None => by_hetrun_with(&program, 2, &[], &[ahead]),
        };
        (!skipped(&got)).then(|| is_same(&got, &expected, 2))
    };
    let hetrun = hetrun_finds_the_library().then_some(None);
    for by in [Some("uffd"), Some("sigsegv")].into_iter().chain(hetrun) {
        let (Some(alone), Some(together)) = (said("off", by), said("on", by)) else {
            continue;
        };
        assert!(alone.contains(" 0 pages along"), "{by:?}: {alone}");
        let faults = (faults_in(&alone), faults_in(&together));
        assert!(2 * faults.1 < faults.0, "{by:?}: {faults:?}: {together}");
    }
}

/// Nodes write different bytes of pages at the same time, where the region's code can tell other threads nothing. A
/// program with threads of its own has each page on one node.
#[test]
fn bytes_that_nodes_write_at_the_same_time_meet() {
    let programs = ["-DLENT", "-DTHREAD"].map(|flag| compile("c-tests/dsm/lent.c", &[flag]));
    for nodes in sample::one("bytes_that_nodes_write", vec![2, 3, 4]) {
        let expected = run(&programs[0], &[], 0, &[]);
        for by in [Some("uffd"), Some("sigsegv"), None] {
            for (program, lends) in programs.iter().zip([true, false]) {
                let got = match by {
                    Some(by) => run(program, &[], nodes, &[("HETMP_DSM", by)]),
                    None if !hetrun_finds_the_library() => continue,
                    None => by_hetrun(program, nodes),
                };
                if !skipped(&got) {
                    let said = is_same(&got, &expected, nodes);
                    let lent = sum_in(&said, " lent") > 0;
                    assert_eq!(lent, lends, "{by:?}, {nodes} nodes: {said}");
                }
            }
        }
    }
}

/// No page comes along with others, if asked.
#[test]
fn pages_come_alone_if_asked() {
    for (source, args, nodes) in [
        ("c-tests/kernels/cg.c", &["S"][..], 3),
        ("c-tests/dsm/constructs.c", &[], 3),
    ] {
        // The flag says nothing to the program: tests run at the same time, so each has a file of its own.
        let program = compile(source, &["-DAHEAD"]);
        let expected = run(&program, args, 0, &[]);
        let got = run(&program, args, nodes, &[("HETMP_DSM_AHEAD", "off")]);
        if skipped(&got) {
            return;
        }
        is_same(&got, &expected, nodes);
    }
}

#[test]
fn constructs_on_two_and_four_nodes() {
    same("c-tests/dsm/constructs.c", &[], 2);
    same("c-tests/dsm/constructs.c", &[], 4);
}

#[test]
fn what_the_runtime_hands_out_crosses() {
    for nodes in sample::one("what_the_runtime_hands_out_crosses", vec![2, 3, 4]) {
        same("c-tests/dsm/shared.c", &[], nodes);
    }
}

/// Under `OMP_THREAD_LIMIT`, a region that crosses or runs whole on another node gives back what it took from the
/// limit.
#[test]
fn regions_give_their_threads_back_to_the_limit() {
    let limit = ("OMP_THREAD_LIMIT", "6");
    let program = compile("c-tests/dsm/limit.c", &[]);
    let expected = run(&program, &[], 0, &[limit]);
    for (nodes, place) in [(2, "always"), (3, "always"), (2, "node:1")] {
        let got = run(&program, &[], nodes, &[limit, ("HETMP_DSM_CROSS", place)]);
        if skipped(&got) {
            return;
        }
        prints_the_same(&got, &expected);
        let said = String::from_utf8_lossy(&got.stderr);
        let left = if place == "always" {
            " 40 times"
        } else {
            "whole on node 1 40 times"
        };
        assert!(said.contains(left), "{said}");
    }
}

#[test]
fn ordered_loops_cross() {
    for nodes in sample::one("ordered_loops_cross", vec![2, 3]) {
        same("c-tests/dsm/ordered.c", &[], nodes);
        same_by_clang("c-tests/dsm/ordered.c", &[], nodes, &[]);
    }
}

/// Runs the program on 2, 3 and 4 nodes (in short runs on one of these numbers), by both compilers. Every region
/// crosses.
fn crosses(source: &str) {
    for nodes in sample::one(source, vec![2, 3, 4]) {
        for got in [
            same(source, &[], nodes),
            same_by_clang(source, &[], nodes, &[]),
        ] {
            let said = got.unwrap_or_default();
            assert!(!said.contains("at the origin"), "{said}");
        }
    }
}

/// Tasks stay on the node that made them. Barriers of all nodes wait for them.
#[test]
fn tasks_cross() {
    crosses("c-tests/dsm/tasks.c");
}

#[test]
fn loops_whose_iterations_wait_for_others_cross() {
    crosses("c-tests/dsm/doacross.c");
}

/// Regions inside of regions, thousands deep on one stack: what opens a region that crosses has a frame of its own.
#[test]
fn deep_regions_take_little_of_the_stack() {
    let program = compile("c-tests/openmp/parallel_deep_stack.c", &[]);
    let expected = run(&program, &[], 0, &[]);
    for nodes in sample::one("deep_regions_take_little_of_the_stack", vec![2, 3]) {
        let got = run(&program, &[], nodes, &[]);
        if !skipped(&got) {
            prints_the_same(&got, &expected);
        }
    }
}

/// Threads on other nodes have the floating-point modes of the thread that opens the region, however page faults are
/// caught.
#[test]
fn floating_point_modes_hold_on_all_nodes() {
    same("c-tests/openmp/float_traps.c", &[], 2);
    same_with("c-tests/openmp/float_traps.c", &[], 2, &BY_SIGNALS);
}

#[test]
fn what_is_never_cancelled_crosses() {
    crosses("c-tests/dsm/cancel.c");
}

/// With `OMP_CANCELLATION=true` the region stays, and a line says why.
#[test]
fn what_may_be_cancelled_stays() {
    let allowed = [("OMP_CANCELLATION", "true")];
    let program = compile("c-tests/dsm/cancel.c", &["-DALLOWED"]);
    let expected = run(&program, &[], 0, &allowed);
    let got = run(&program, &[], 2, &allowed);
    if skipped(&got) {
        return;
    }
    prints_the_same(&got, &expected);
    let said = String::from_utf8_lossy(&got.stderr);
    assert!(
        said.contains("at the origin: it may be cancelled (OMP_CANCELLATION)"),
        "{said}"
    );
    assert!(!said.contains("may cross"), "{said}");
}

/// The last region stays: the initial task holds the lock.
#[test]
fn nestable_locks_cross() {
    for nodes in sample::one("nestable_locks_cross", vec![2, 3, 4]) {
        same("c-tests/dsm/nest.c", &[], nodes);
        same_by_clang("c-tests/dsm/nest.c", &[], nodes, &[]);
    }
}

/// A region stays if a task that it makes calls what is not known.
#[test]
fn what_tasks_call_is_read() {
    for (flags, why) in [
        (
            &[][..],
            "it calls what is not known to work across nodes: printf",
        ),
        (
            &["-DBY_POINTER"],
            "it calls what is not known to work across nodes: at 0x",
        ),
    ] {
        let program = compile("c-tests/dsm/task_prints.c", flags);
        let expected = run(&program, &[], 0, &[]);
        let got = run(&program, &[], 2, &[]);
        if skipped(&got) {
            return;
        }
        prints_the_same(&got, &expected);
        let said = String::from_utf8_lossy(&got.stderr);
        assert!(said.contains(&format!("at the origin: {why}")), "{said}");
        assert!(!said.contains("may cross"), "{said}");
    }
}

/// clang's regions: a function with as many arguments as the region has shared variables.
#[test]
fn programs_by_clang_cross() {
    for nodes in sample::one("programs_by_clang_cross", vec![2, 3, 4]) {
        same_by_clang("c-tests/dsm/shared.c", &[], nodes, &[]);
        same_by_clang("c-tests/dsm/clang.c", &[], nodes, &[]);
    }
    same_by_clang("c-tests/dsm/constructs.c", &[], 2, &[]);
    same_by_clang("c-tests/kernels/ep.c", &["S"], 2, &[]);
    same_by_clang("c-tests/kernels/cg.c", &["S"], 2, &["-O0"]);
    same_by_clang("c-tests/dsm/files.c", &[], 3, &[]);
    same_by_clang("c-tests/dsm/objects.cpp", &["word"], 2, &[]);
}

/// Programs may define `read`, `write` and other names of the C library: the nodes do not call these. A program's
/// signals reach its own threads. Thread-local variables stay with their threads when one region stays at the origin
/// and the next one may cross.
#[test]
fn what_programs_rely_on() {
    for (source, flags) in [
        ("c-tests/openmp/own_system_calls.c", &["-rdynamic"][..]),
        ("c-tests/openmp/signal_mask.c", &[]),
        // The variable `environ` lies in this program's own data.
        ("c-tests/openmp/proc_spawn_in_region.c", &[]),
        ("c-tests/openmp/static_thread_local_pointer.c", &[]),
    ] {
        let program = compile(source, flags);
        let expected = run(&program, &[], 0, &[]);
        let got = run(&program, &[], 2, &[]);
        if skipped(&got) {
            return;
        }
        let said = String::from_utf8_lossy(&got.stderr);
        assert_eq!(
            String::from_utf8_lossy(&got.stdout),
            String::from_utf8_lossy(&expected.stdout),
            "{source}: {said}"
        );
        assert!(got.status.success(), "{source}: {said}");
    }
}

/// A region that calls an entry without support for several nodes stays at the origin, and a line names the entry.
#[test]
fn what_does_not_cross_stays() {
    for (source, entry) in [
        (
            "c-tests/openmp/taskgroup_reduction.c",
            "GOMP_taskgroup_reduction_register",
        ),
        ("c-tests/dsm/stays.c", "omp_get_ancestor_thread_num"),
    ] {
        let program = compile(source, &[]);
        let expected = run(&program, &[], 0, &[]);
        let got = run(&program, &[], 2, &[("HETMP_DSM_TRUST", "1")]);
        if skipped(&got) {
            return;
        }
        let said = String::from_utf8_lossy(&got.stderr);
        assert_eq!(
            String::from_utf8_lossy(&got.stdout),
            String::from_utf8_lossy(&expected.stdout),
            "{said}"
        );
        assert!(got.status.success(), "{said}");
        assert!(
            !said.contains("on all nodes") && !said.contains("may cross"),
            "{said}"
        );
        let line = format!("at the origin: it calls what is not done across nodes: {entry}");
        assert!(said.contains(&line), "{said}");
    }
}

#[test]
fn every_form_of_allocation() {
    // The program calls a nested function by its address. The library cannot know that function; HETMP_DSM_TRUST
    // vouches for it.
    same_with("c-tests/dsm/memory.c", &[], 2, &[("HETMP_DSM_TRUST", "1")]);
    same("c-tests/dsm/memory.c", &[], 3);
}

/// A process that is forked past the library cannot change what the program has.
#[test]
fn a_raw_fork_changes_nothing() {
    same("c-tests/dsm/raw_fork.c", &[], 2);
    same_with("c-tests/dsm/raw_fork.c", &[], 3, &BY_SIGNALS);
}

#[test]
fn files_that_are_mapped_to_be_read() {
    for nodes in sample::one("files_that_are_mapped_to_be_read", vec![2, 3]) {
        let said = same("c-tests/dsm/files.c", &[], nodes);
        // The program maps a file with MAP_SHARED, too.
        let copies = |said: String| said.matches("mmap MAP_SHARED of a file: a copy").count();
        assert_eq!(said.map_or(1, copies), 1);
    }
}

#[test]
fn objects_of_cplusplus() {
    same("c-tests/dsm/objects.cpp", &["word"], 2);
    same("c-tests/dsm/objects.cpp", &[], 4);
    same("c-tests/dsm/containers.cpp", &[], 2);
    same_by_clang("c-tests/dsm/containers.cpp", &[], 2, &[]);
}

#[test]
fn common_blocks_of_fortran() {
    same("c-tests/dsm/common.f90", &[], 2);
    same("c-tests/dsm/common.f90", &[], 3);
}

#[test]
fn threads_are_in_processes_with_memory_of_their_own() {
    let program = compile("c-tests/dsm/nodes.c", &[]);
    let trust = [("HETMP_DSM_TRUST", "1")];
    for nodes in sample::one(
        "threads_are_in_processes_with_memory_of_their_own",
        vec![2, 4],
    ) {
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
    // getpid is not known to work on other nodes: the region stays at the origin.
    let got = run(&program, &[], 2, &[]);
    assert_eq!(
        String::from_utf8_lossy(&got.stdout),
        "threads 4 pids 1 inodes 1\n"
    );
    assert!(
        String::from_utf8_lossy(&got.stderr).contains("at the origin: it calls what is not known")
    );
}

/// `OMP_DISPLAY_AFFINITY`: the threads of all nodes show where they run, in any order.
#[test]
fn threads_of_all_nodes_show_their_affinity() {
    let program = compile("c-tests/dsm/affinity.c", &[]);
    let shown = [
        ("OMP_DISPLAY_AFFINITY", "true"),
        ("OMP_AFFINITY_FORMAT", "thread %n of %N"),
    ];
    let lines = |out: &std::process::Output| {
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        let mut lines: Vec<String> = text
            .lines()
            .filter(|l| l.starts_with("thread "))
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    };
    let expected = run(&program, &[], 0, &shown);
    assert_eq!(lines(&expected).len(), 7, "{expected:?}");
    for nodes in sample::one("threads_of_all_nodes_show_their_affinity", vec![2, 3]) {
        let got = run(&program, &[], nodes, &shown);
        if skipped(&got) {
            return;
        }
        is_same(&got, &expected, nodes);
        assert_eq!(lines(&got), lines(&expected));
    }
}

/// A region with fewer threads than the one before waits for its own tasks only, and a thread that has no part in it
/// stays out of the next one until that is open.
#[test]
fn tasks_of_regions_of_changing_size() {
    for by in ["uffd", "sigsegv"] {
        for nodes in sample::one(&format!("sizes {by}"), vec![2, 3]) {
            same_with("c-tests/dsm/sizes.c", &[], nodes, &[("HETMP_DSM", by)]);
        }
    }
}

/// `omp_pause_resource` ends the threads that each node keeps for regions that cross.
#[test]
fn paused_nodes_have_new_threads() {
    for by in ["uffd", "sigsegv"] {
        for nodes in sample::one(&format!("pause {by}"), vec![2, 3]) {
            same_with("c-tests/dsm/pause.c", &[], nodes, &[("HETMP_DSM", by)]);
        }
    }
}
