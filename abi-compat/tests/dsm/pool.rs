//! Nodes that share a memory without coherence (`HETMP_DSM=pool`): the same results, and a checker that names what is
//! left out.

use crate::harness::{compile, prints_the_same, run, same_with, skipped};

const CHECKED: [(&str, &str); 1] = [("HETMP_DSM", "pool,check")];
const STALE: &str = "uses it as it was before";

/// Loops with atomic operations and reductions, barriers, neighbouring bytes, and every construct.
#[test]
fn programs_on_a_pool_print_the_same() {
    let programs = [
        ("c-tests/kernels/ep.c", &["S"][..], 3),
        ("c-tests/kernels/cg.c", &["S"], 2),
        ("c-tests/kernels/hydro.c", &["S"], 2),
        ("c-tests/dsm/sweeps.c", &[], 2),
        ("c-tests/dsm/lent.c", &["20"], 3),
        ("c-tests/dsm/constructs.c", &[], 2),
    ];
    for (source, args, nodes) in programs {
        for by in ["pool", "pool,check"] {
            if let Some(said) = same_with(source, args, nodes, &[("HETMP_DSM", by)]) {
                assert!(!said.contains(STALE), "{source}: {said}");
                assert!(!said.contains("pool: 0 lines"), "{source}: {said}");
            }
        }
    }
}

/// Whatever is left out at a point shows as a wrong value, and the checker says where.
#[test]
fn what_is_left_out_at_a_point_is_seen_and_named() {
    let program = compile("c-tests/dsm/pool.c", &[]);
    let two = ("OMP_NUM_THREADS", "2");
    let expected = run(&program, &[], 0, &[two]);
    let got = run(&program, &[], 2, &[two, CHECKED[0]]);
    if skipped(&got) {
        return;
    }
    prints_the_same(&got, &expected);
    let said = String::from_utf8_lossy(&got.stderr);
    assert!(!said.contains("pool: line"), "{said}");
    for (left_out, named) in [
        (
            "write-back:fork",
            "was not written back at the beginning of a region",
        ),
        (
            "invalidate:begin",
            "was not taken anew at the beginning of a node's part",
        ),
        ("write-back:barrier", "was not written back at a barrier"),
        ("invalidate:barrier", "was not taken anew at a barrier"),
        (
            "write-back:unlock",
            "was not written back at giving a lock back",
        ),
        ("invalidate:lock", "was not taken anew at taking a lock"),
        (
            "write-back:end",
            "was not written back at the end of a node's part",
        ),
        (
            "invalidate:join",
            "was not taken anew at the end of a region",
        ),
    ] {
        let got = run(
            &program,
            &[],
            2,
            &[two, CHECKED[0], ("HETMP_TEST_POOL", left_out)],
        );
        let said = String::from_utf8_lossy(&got.stderr);
        assert!(got.status.success(), "{left_out}: {said}");
        assert_ne!(got.stdout, expected.stdout, "{left_out}: {said}");
        let line = said.lines().find(|l| l.contains(named));
        assert!(
            line.is_some_and(|l| l.contains(STALE)),
            "{left_out}: {said}"
        );
    }
}

/// Nodes that write different bytes of one line in one interval lose none, and are told which line.
#[test]
fn lines_that_nodes_write_at_the_same_time_are_named() {
    if let Some(said) = same_with("c-tests/dsm/lent.c", &["20"], 2, &CHECKED) {
        assert!(said.contains("wrote to it at the same time"), "{said}");
    }
}
