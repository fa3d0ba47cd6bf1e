//! Nodes that share a memory without coherence (`HETMP_DSM=pool`): the same results, and a checker that names what is
//! left out.

use crate::harness::{compile, prints_the_same, run, skipped};

const CHECKED: (&str, &str) = ("HETMP_DSM", "pool,check");
/// Otherwise each node finds the library's functions when it first calls them, and writes that down.
const BOUND: (&str, &str) = ("LD_BIND_NOW", "1");
const STALE: &str = "uses it as it was before";

/// What the library says of a run on `nodes` nodes, which prints what it does without; `None` if this machine cannot
/// run nodes.
fn said(source: &str, args: &[&str], nodes: u32, by: (&str, &str)) -> Option<String> {
    // The flag says nothing to the program: tests run at the same time, so each has a file of its own.
    let program = compile(source, &["-DPOOL"]);
    let expected = run(&program, args, 0, &[]);
    let got = run(&program, args, nodes, &[by, BOUND]);
    if skipped(&got) {
        return None;
    }
    prints_the_same(&got, &expected);
    let said = String::from_utf8_lossy(&got.stderr).into_owned();
    for node in 0..nodes {
        let name = format!("dsm: node {node}: ");
        let line = said.lines().find(|l| l.contains(&name));
        assert!(line.is_some_and(|l| !l.contains(": 0 regions")), "{said}");
    }
    assert!(!said.contains("pool: 0 lines"), "{source}: {said}");
    assert!(!said.contains(STALE), "{source}: {said}");
    Some(said)
}

/// Loops with atomic operations and reductions, barriers, neighbouring bytes, and every construct.
#[test]
fn programs_on_a_pool_print_the_same() {
    let programs = [
        ("c-tests/kernels/ep.c", &["S"][..], 3),
        ("c-tests/kernels/cg.c", &["S"], 2),
        ("c-tests/kernels/hydro.c", &["S"], 2),
        ("c-tests/dsm/sweeps.c", &[], 2),
        ("c-tests/dsm/lent.c", &["20"], 4),
        ("c-tests/dsm/constructs.c", &[], 2),
    ];
    for (source, args, nodes) in programs {
        for by in ["pool", "pool,check"] {
            said(source, args, nodes, ("HETMP_DSM", by));
        }
    }
}

/// Whatever is left out at a point shows as a wrong value, and the checker says where.
#[test]
fn what_is_left_out_at_a_point_is_seen_and_named() {
    let source = "c-tests/dsm/pool.c";
    let Some(whole) = said(source, &[], 2, CHECKED) else {
        return;
    };
    assert!(!whole.contains("pool: line"), "{whole}");
    let program = compile(source, &[]);
    let expected = run(&program, &[], 0, &[]);
    for (left_out, named) in [
        (
            "write-back:fork",
            "written back at the beginning of a region",
        ),
        (
            "invalidate:begin",
            "taken anew at the beginning of a node's part",
        ),
        ("write-back:barrier", "written back at a barrier"),
        ("invalidate:barrier", "taken anew at a barrier"),
        ("write-back:unlock", "written back at giving a lock back"),
        ("invalidate:lock", "taken anew at taking a lock"),
        ("write-back:end", "written back at the end of a node's part"),
        ("invalidate:join", "taken anew at the end of a region"),
    ] {
        let without = ("HETMP_TEST_POOL", left_out);
        let got = run(&program, &[], 2, &[CHECKED, BOUND, without]);
        let said = String::from_utf8_lossy(&got.stderr);
        assert!(got.status.success(), "{left_out}: {said}");
        assert_ne!(got.stdout, expected.stdout, "{left_out}: {said}");
        let line = said
            .lines()
            .find(|l| l.contains(STALE) && l.contains(named));
        assert!(line.is_some(), "{left_out}: {said}");
    }
}

/// Nodes that write different bytes of one line in one interval lose none, and are told which line.
#[test]
fn lines_that_nodes_write_at_the_same_time_are_named() {
    if let Some(said) = said("c-tests/dsm/lent.c", &["20"], 2, CHECKED) {
        assert!(said.contains("wrote to it at the same time"), "{said}");
    }
}

/// A pool in a file that is too small ends the program with a line; one that is large enough does not.
#[test]
fn a_file_is_a_pool() {
    let program = compile("c-tests/dsm/pool.c", &["-DIN_FILE"]);
    let expected = run(&program, &[], 0, &[]);
    let path = program.with_extension(format!("pool-{}", std::process::id()));
    let by = format!("pool:{}", path.display());
    for (len, text) in [
        (0, "no room for a page"),
        (20 << 10, "no room for more than 4 pages"),
        (8 << 20, "pool: "),
    ] {
        let file = std::fs::File::create(&path).expect("a file");
        file.set_len(len).expect("its length");
        let got = run(&program, &[], 2, &[("HETMP_DSM", &by)]);
        if skipped(&got) {
            break;
        }
        let said = String::from_utf8_lossy(&got.stderr);
        assert!(said.contains(text), "{len}: {said}");
        assert_eq!(got.status.success(), text == "pool: ", "{len}: {said}");
        if got.status.success() {
            prints_the_same(&got, &expected);
        }
    }
    let _ = std::fs::remove_file(&path);
}
