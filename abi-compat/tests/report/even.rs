//! Regions on nodes that are alike: the library leaves them alone until their threads have waited for each other.

use super::scratch::{list, stderr, two_cpus, Scratch};
use hetmp_abi_compat::exec::Ending;

/// One loop with equal iterations, and one whose first half takes three times as long as the second.
const EVEN: &str = r#"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 64 };
static volatile long sink;
static void work(long n) { for (long k = 0; k < n; k++) sink = k; }

static void even(void)
{
    #pragma omp parallel for
    for (int i = 0; i < N; i++) work(500);
}

/* Threads that are done early wait at the barrier, and not at the end. */
static void uneven(void)
{
    #pragma omp parallel
    {
        #pragma omp for
        for (int i = 0; i < N; i++) work(i < N / 2 ? 60000 : 20000);
        work(10);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    /* The number of threads is to be the runtime's own choice. */
    if (getenv("OMP_NUM_THREADS")) {
        unsetenv("OMP_NUM_THREADS");
        execv("/proc/self/exe", argv);
        return 1;
    }
    printf("%d\n", omp_get_max_threads());
    for (int i = 0; i < 300; i++) even();
    /* For so long that reading the region's code is a small part of the time. */
    for (int i = 0; i < 200; i++) uneven();
    return 0;
}
"#;

/// Two nodes that are alike. A region runs as without nodes (reason `even`) until its threads have waited for each
/// other at a barrier. A region whose threads never wait keeps running so. An uneven region gets virtual threads (way
/// `fibers`).
#[test]
#[ignore = "measures times: a quiet machine is needed"]
fn even_regions_on_like_nodes_are_left_alone() {
    if !two_cpus() {
        return;
    }
    let scratch = Scratch::new("even");
    let program = scratch.compile_text("even", EVEN);
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = format!("{cpus}\n");
    for (extra, left_alone) in [
        (("HETMP_SCHEDULE", "hetprobe"), true),
        // Weights in the schedule make the nodes unlike, and `force` asks for virtual teams everywhere.
        (("HETMP_SCHEDULE", "static-csr:2,1"), false),
        (("HETMP_STATIC", "force"), false),
    ] {
        let env = [
            ("HETMP_NODES", "2"),
            ("OMP_SCHEDULE", "hetprobe"),
            extra,
            ("HETMP_REPORT", "report.json"),
        ];
        let out = scratch.run(&program, &[], &env);
        assert_eq!((out.ending, stderr(&out)), (Ending::Exit(0), String::new()));
        // `omp_get_max_threads` counts virtual threads only if regions get them from the start.
        let told = String::from_utf8_lossy(&out.stdout).into_owned();
        assert_eq!(told == threads, left_alone, "{extra:?}: {told:?}");
        let report = scratch.json("report.json");
        let ways = |function: &str| -> Vec<String> {
            let region = list(&report, "regions")
                .iter()
                .find(|r| r["symbol"].as_str().unwrap().starts_with(function))
                .unwrap_or_else(|| panic!("{function} in {report}"));
            list(region, "ways")
                .iter()
                .map(|w| w["way"].as_str().unwrap().to_owned())
                .collect()
        };
        let (even, uneven) = (ways("even"), ways("uneven"));
        if left_alone {
            assert_eq!(even, ["even"], "{extra:?}");
            assert!(uneven.contains(&"even".to_owned()), "{uneven:?}");
            assert!(uneven.contains(&"fibers".to_owned()), "{uneven:?}");
        } else {
            assert!(!even.contains(&"even".to_owned()), "{even:?}");
            assert!(!uneven.contains(&"even".to_owned()), "{uneven:?}");
        }
    }
}
