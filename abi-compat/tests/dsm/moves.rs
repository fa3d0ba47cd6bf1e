//! Where regions run is measured while the program runs: they leave the origin, move, and come back. The times of
//! these programs differ so much between places that other work on the machine does not change what is decided.

use crate::harness::{compile, prints_the_same, run, skipped};
use std::path::Path;

/// Runs the program. Of each phase it names, in how many of the last ten executions iterations ran elsewhere, and in
/// how many some ran at the origin. `None` if this machine cannot run nodes.
fn phases(program: &Path, args: &[&str], nodes: &str) -> Option<Vec<(u32, u32)>> {
    let program = program.to_path_buf();
    let expected = run(&program, args, 0, &[]);
    let more = [
        ("HETMP_DSM_CROSS", "auto"),
        // For getpid and usleep.
        ("HETMP_DSM_TRUST", "1"),
        ("HETMP_NODES", nodes),
        ("OMP_NUM_THREADS", "2"),
    ];
    let got = run(&program, args, 2, &more);
    if skipped(&got) {
        return None;
    }
    prints_the_same(&got, &expected);
    let said = String::from_utf8_lossy(&got.stderr).into_owned();
    println!("{said}");
    let counts = |line: &str| {
        let (_, line) = line.split_once(": elsewhere ")?;
        let (there, here) = line.split_once(", at the origin ")?;
        Some((there.parse().ok()?, here.parse().ok()?))
    };
    Some(said.lines().filter_map(counts).collect())
}

/// The region leaves a slow origin, across or whole. Then its iterations take eighty times as long on the other node,
/// and less than before at the origin: its time at home is measured again, and it stays there.
#[test]
#[ignore = "measures times: a quiet machine is needed"]
fn a_region_leaves_the_origin_and_comes_back() {
    let program = compile("c-tests/dsm/moves.c", &["-DPHASES"]);
    let Some(seen) = phases(&program, &["phases"], "dsm:2") else {
        return;
    };
    let &[(left, _), (stayed_away, at_home)] = &seen[..] else {
        panic!("two phases: {seen:?}")
    };
    assert!(left >= 8, "{seen:?}");
    assert!(stayed_away <= 2 && at_home >= 8, "{seen:?}");
}

/// The origin has a tenth of the other node's speed, and the region's halves cannot be made unlike.
#[test]
#[ignore = "measures times: a quiet machine is needed"]
fn a_region_moves_whole_to_a_faster_node() {
    let program = compile("c-tests/dsm/moves.c", &["-DWHOLE"]);
    let Some(seen) = phases(&program, &["whole"], "dsm:2;speed=0.1;speed=1") else {
        return;
    };
    let &[(left, at_origin)] = &seen[..] else {
        panic!("one phase: {seen:?}")
    };
    assert!(left >= 8 && at_origin <= 2, "{seen:?}");
}
