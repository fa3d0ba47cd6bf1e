//! A region that runs once has no second chance: on nodes that are known to differ its code is read before.

use super::{cpus, text};
use hetmp_abi_compat::exec::Ending;
use hetmp_abi_compat::scratch::Scratch;
use serde_json::Value;
use std::fs;

/// One region of some 8 KB, as path tracers have them.
const ONCE: &str = r#"
#include <math.h>
#include <stdio.h>
enum { N = 256 };
static double cell[N], out[N];
#define A(n) { \
    double d = x * (n + 0.25) + y; \
    if (d > n) y = sqrt(fabs(d)) - n * 1e-3; \
    else x = x * 0.75 + cell[(s >> 3) & (N - 1)] * 1e-9 + n * 1e-4; \
    s = s * 1664525u + n; \
    if (s & 64) x -= y * (n * 1e-5); \
}
#define B(n) A(n) A(n + 1) A(n + 2) A(n + 3) A(n + 4) A(n + 5) A(n + 6) A(n + 7)
int main(void)
{
    #pragma omp parallel for
    for (int i = 0; i < N; i++) {
        double x = 0, y = 1;
        unsigned s = i * 2654435761u + 1;
        for (int k = 0; k < 200; k++) { B(1) B(9) B(17) B(25) }
        out[i] = x + y;
    }
    double sum = 0;
    for (int i = 0; i < N; i++) sum += out[i];
    printf("%.9f\n", sum);
}
"#;

/// What reading may take is counted in the processor's time, so that a busy machine changes nothing.
#[test]
fn a_region_that_runs_once_is_read_before() {
    let Some(cpus) = cpus() else { return };
    let scratch = Scratch::new("once");
    let program = scratch.compile_text("once", ONCE);
    let nodes = format!("cores={},speed=1;cores={},speed=0.33", cpus[0], cpus[1]);
    let report = scratch.path("report.json");
    let run = |schedule| {
        let env = [
            ("OMP_NUM_THREADS", "2"),
            ("HETMP_NODES", &nodes),
            ("OMP_SCHEDULE", schedule),
            ("HETMP_REPORT", &report),
        ];
        let out = scratch.run(&program, &[], &env);
        assert_eq!(out.ending, Ending::Exit(0), "{}", text(&out.stderr));
        text(&out.stdout)
    };
    let expected = run("static");
    assert_eq!(run("hetprobe"), expected);
    let report: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    let by = report["reach"]["by"].as_array().unwrap();
    let ways: Vec<&str> = by.iter().filter_map(|p| p["way"].as_str()).collect();
    assert_eq!(ways, ["virtual-team"], "{report}");
    let spent = |field: &str| report["reach"][field].as_u64().unwrap();
    assert!(
        (1..spent("allowed_ns")).contains(&spent("looked_ns")),
        "{report}"
    );
    assert_eq!(spent("lost_ns"), 0, "{report}");
}
