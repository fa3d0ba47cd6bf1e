//! Loops that a schedule of hetmp's own divides among nodes.

use crate::harness::{
    by_hetrun_with, compile, faults_in, finish, hetrun_finds_the_library, prints_the_same, run,
    skipped,
};
use hetmp_abi_compat::sample;
use std::path::Path;
use std::process::{Command, Output};

const BACKENDS: [&str; 2] = ["uffd", "sigsegv"];

/// Runs the program under `schedule` on `nodes` nodes.
fn under(
    schedule: &str,
    program: &Path,
    args: &[&str],
    nodes: u32,
    more: &[(&str, &str)],
) -> Output {
    let more = [more, &[("OMP_SCHEDULE", schedule)]].concat();
    run(&program.to_path_buf(), args, nodes, &more)
}

/// Each node keeps the pages of its part: once the parts are decided, a lap over an array of 256 pages costs hardly a
/// fault besides those of a region's start and end. Handed out on demand, a lap moves some 30 pages of it or more.
#[test]
#[ignore = "measures times: a quiet machine is needed"]
fn a_settled_loop_leaves_pages_where_they_are() {
    let program = compile("c-tests/dsm/blocks.c", &["-DLAPS"]);
    let (few, many) = (["laps", "10"], ["laps", "50"]);
    let expected = run(&program, &many, 0, &[]);
    for by in BACKENDS {
        for nodes in [2, 3] {
            let faults = |schedule: &str, args: &[&str]| {
                let alone = [("HETMP_DSM", by), ("HETMP_DSM_AHEAD", "off")];
                let got = under(schedule, &program, args, nodes, &alone);
                if skipped(&got) {
                    return None;
                }
                if args == many {
                    prints_the_same(&got, &expected);
                }
                Some(faults_in(&String::from_utf8_lossy(&got.stderr)))
            };
            let a_lap = |schedule| {
                let (few, many) = (faults(schedule, &few)?, faults(schedule, &many)?);
                Some(many.saturating_sub(few) / 40)
            };
            let Some(on_demand) = a_lap("dynamic") else {
                continue;
            };
            let given = ["static-csr:1,1", "static-csr:1,1,1"][nodes as usize - 2];
            for schedule in ["hetprobe", "hetprobe-i", given] {
                let settled = a_lap(schedule).expect("nodes");
                assert!(
                    3 * settled < on_demand,
                    "{by}, {nodes} nodes: {schedule} {settled}, dynamic {on_demand}"
                );
            }
        }
    }
}

/// `static-csr` gives each node what the user says, from the first execution on. (A node that comes very late loses its
/// part to others: so the best of some laps counts.)
#[test]
fn given_ratios_divide_loops_among_nodes() {
    let program = compile("c-tests/dsm/blocks.c", &["-DGIVEN"]);
    let expected = run(&program, &["given"], 0, &[]);
    for by in BACKENDS {
        let got = under(
            "static-csr:3,1",
            &program,
            &["given"],
            2,
            &[("HETMP_DSM", by)],
        );
        if skipped(&got) {
            continue;
        }
        prints_the_same(&got, &expected);
        let said = String::from_utf8_lossy(&got.stderr);
        assert!(said.contains("\noff by 0 0\n"), "{by}: {said}");
        assert!(said.contains("; loops 750+250 thousandths"), "{by}: {said}");
    }
    if hetrun_finds_the_library() {
        let schedule = [("OMP_SCHEDULE", "static-csr:3,1")];
        let got = by_hetrun_with(&program, 2, &[], &schedule);
        if !skipped(&got) {
            let said = String::from_utf8_lossy(&got.stderr);
            assert!(said.contains("; loops 750+250 thousandths"), "{said}");
        }
    }
}

/// Where the schedule takes the place of a `dynamic` clause, a program's chunk stays in one thread.
#[test]
fn chunks_of_a_clause_stay_whole() {
    let program = compile("c-tests/dsm/blocks.c", &["-DCHUNKS"]);
    let expected = run(&program, &["chunks"], 0, &[]);
    for (nodes, schedule) in [(2, "static-csr:2,1"), (3, "static-csr:1,2,1")] {
        let got = under(schedule, &program, &["chunks"], nodes, &[]);
        if skipped(&got) {
            return;
        }
        prints_the_same(&got, &expected);
        let said = String::from_utf8_lossy(&got.stderr);
        assert!(said.contains("; loops "), "{said}");
    }
}

/// A loop has no barrier at its beginning. A node whose only thread comes when the loop is over had its part executed
/// by others. The thread that executes the last iteration then executes no other.
#[test]
fn a_part_that_nobody_comes_for_is_executed() {
    let program = compile("c-tests/dsm/blocks.c", &["-DLATE"]);
    let expected = run(&program, &["late"], 0, &[]);
    for by in BACKENDS {
        for (nodes, schedule) in [(2, "static-csr:1,1"), (3, "static-csr:1,2,1")] {
            let threads = nodes.to_string();
            let more = [("HETMP_DSM", by), ("OMP_NUM_THREADS", &*threads)];
            let got = under(schedule, &program, &["late"], nodes, &more);
            if !skipped(&got) {
                prints_the_same(&got, &expected);
            }
        }
    }
    if hetrun_finds_the_library() {
        let more = [("OMP_SCHEDULE", "static-csr:1,1"), ("OMP_NUM_THREADS", "2")];
        let mut command = Command::new(crate::harness::built("hetrun"));
        command
            .args(["--dsm", "-n", "2"])
            .arg(&program)
            .arg("late")
            .envs(more)
            .env("HETMP_DSM_CROSS", "always");
        let got = finish(command, &program, 2);
        if !skipped(&got) {
            prints_the_same(&got, &expected);
        }
    }
}

/// A node of a tenth of the speed gets a small part, which the first execution has shown.
#[test]
#[ignore = "measures times: a quiet machine is needed"]
fn parts_follow_the_speeds_of_nodes() {
    let program = compile("c-tests/dsm/blocks.c", &["-DSPEEDS"]);
    let args = ["laps", "12"];
    let expected = run(&program, &args, 0, &[]);
    for schedule in ["hetprobe", "hetprobe-i"] {
        let more = [
            ("OMP_NUM_THREADS", "2"),
            ("HETMP_NODES", "dsm:2;speed=1;speed=0.1"),
        ];
        let got = under(schedule, &program, &args, 2, &more);
        if skipped(&got) {
            return;
        }
        prints_the_same(&got, &expected);
        let said = String::from_utf8_lossy(&got.stderr);
        let first = first_part(&said);
        // 909 of 1000 is what the speeds come to. What a slow node waits for pages is slow, too, where all pages are
        // new.
        assert!((700..1000).contains(&first), "{schedule}: {said}");
    }
}

/// Rows that take the longer, the later they come: the first node's part is the larger one. Then the other way round:
/// `hetprobe-i` divides anew.
#[test]
#[ignore = "measures times: a quiet machine is needed"]
fn parts_follow_work_that_changes() {
    let program = compile("c-tests/dsm/blocks.c", &["-DUNLIKE"]);
    for (args, fits) in [
        (["unlike", "12", "0"], 550..1000),
        (["unlike", "12", "12"], 0..450),
    ] {
        let expected = run(&program, &args, 0, &[]);
        let more = [("OMP_NUM_THREADS", "2")];
        let got = under("hetprobe-i", &program, &args, 2, &more);
        if skipped(&got) {
            return;
        }
        prints_the_same(&got, &expected);
        let said = String::from_utf8_lossy(&got.stderr);
        assert!(fits.contains(&first_part(&said)), "{args:?}: {said}");
    }
}

/// The first node's part in thousandths, as `HETMP_VERBOSE` says of the first region.
fn first_part(said: &str) -> u32 {
    let (_, after) = said.split_once("; loops ").expect("a division");
    (after.split('+').next())
        .and_then(|n| n.parse().ok())
        .expect("a number")
}

/// A schedule that the program sets is that of all nodes, whatever the environment says.
#[test]
fn a_schedule_that_the_program_sets_holds_on_all_nodes() {
    let program = compile("c-tests/dsm/set_schedule.c", &[]);
    let expected = run(&program, &[], 0, &[]);
    for by in BACKENDS {
        for schedule in ["dynamic", "hetprobe", "static-csr:1,1"] {
            let got = under(schedule, &program, &[], 2, &[("HETMP_DSM", by)]);
            if !skipped(&got) {
                prints_the_same(&got, &expected);
            }
        }
    }
}

/// Pages go to and fro at nearly each of two million iterations. The origin sees that in the first moments of the
/// trial, and runs the rest alone; or, where it cannot, runs its part before the other node.
#[test]
fn a_trial_that_only_moves_pages_ends_early() {
    let program = compile("c-tests/dsm/scattered.c", &[]);
    let expected = run(&program, &[], 0, &[]);
    for by in BACKENDS {
        for schedule in sample::one(by, vec!["hetprobe", "guided", "static"]) {
            let weighed = [("HETMP_DSM", by), ("HETMP_DSM_CROSS", "auto")];
            let got = under(schedule, &program, &[], 2, &weighed);
            if skipped(&got) {
                continue;
            }
            prints_the_same(&got, &expected);
            // Whole regions by signals take more in some runs, with early ends or without.
            let by_chance = (by, schedule) == ("sigsegv", "static");
            let faults = faults_in(&String::from_utf8_lossy(&got.stderr));
            assert!(
                by_chance || faults < 50_000,
                "{by}, {schedule}: {faults} faults"
            );
        }
    }
}
