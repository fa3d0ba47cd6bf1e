//! Pieces that compute for long are not taken for threads that wait for each other unseen.

use super::scratch::{list, stderr, two_cpus, Scratch};
use super::BOTH;
use hetmp_abi_compat::exec::Ending;

/// Two iterations compute for 1.4 s each, all others for almost no time. Of 16 pieces on two threads these are in the
/// second piece of each thread: when they begin, short pieces have ended, and others are left.
const LONG: &str = r#"
#include <stdio.h>
#include <time.h>
static double out[64];
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
int main(void)
{
    double sum = 0;
    for (int run = 0; run < 2; run++) {
        #pragma omp parallel for
        for (int i = 0; i < 64; i++) {
            double began = now(), s = 0;
            do {
                for (int k = 1; k < 1000; k++) s += 1.0 / (i + k);
            } while (i % 32 == 4 && now() - began < 1.4);
            out[i] = i + (s > 0);
        }
    }
    for (int i = 0; i < 64; i++) sum += out[i];
    printf("%.1f\n", sum);
}
"#;

#[test]
#[ignore = "measures times: a quiet machine is needed"]
fn long_pieces_are_no_waits() {
    if !two_cpus() {
        return;
    }
    let scratch = Scratch::new("long");
    let program = scratch.compile_text("long", LONG);
    let env = [BOTH[0], BOTH[1], BOTH[2], ("HETMP_STATIC", "force")];
    let out = scratch.run(&program, &[], &env);
    assert_eq!(out.ending, Ending::Exit(0), "{}", stderr(&out));
    assert_eq!(String::from_utf8_lossy(&out.stdout), "2080.0\n");
    let report = scratch.json("report.json");
    let by = list(&report["reach"], "by");
    let ways: Vec<&str> = by.iter().filter_map(|p| p["way"].as_str()).collect();
    assert_eq!(ways, ["virtual-team"], "{report}");
}
