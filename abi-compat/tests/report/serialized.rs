//! Regions of one thread, whose `if` clause is false: gcc has the library run them, clang runs them itself between two
//! calls. Reports have both.

use super::scratch::{list, number, stderr, Scratch};
use hetmp_abi_compat::clang::{self, CLANG};
use hetmp_abi_compat::exec::Ending;
use serde_json::Value;
use std::process::Command;

const REGION: &str = r#"
#include <stdio.h>
#include <omp.h>

static int threads, levels;
static void region(int n)
{
    #pragma omp parallel if(n > 10)
    {
        #pragma omp single
        {
            threads += omp_get_num_threads();
            levels += omp_get_level();
        }
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    for (int i = 0; i < 7; i++) region(argc);
    for (int i = 0; i < 3; i++) region(argc + 100);
    /* A region of one thread inside of another region belongs to that one. */
    #pragma omp parallel num_threads(2)
    #pragma omp single
    region(argc);
    printf("%d %d\n", threads, levels);
    return 0;
}
"#;

/// How often the program's regions ran on `threads` threads, together.
fn runs(report: &Value, threads: u64) -> u64 {
    list(report, "regions")
        .iter()
        .flat_map(|region| list(region, "ways"))
        .filter(|way| number(way, "threads") == threads)
        .map(|way| number(way, "runs"))
        .sum()
}

#[test]
fn serialized_regions_are_reported() {
    let scratch = Scratch::new("serialized");
    let mut programs = vec![scratch.compile_text("by_gcc", REGION)];
    if clang::installed() {
        let program = scratch.folder.join("by_clang");
        let built = Command::new(CLANG)
            .args(["-O1", "-fopenmp", "-o"])
            .arg(&program)
            .arg(scratch.folder.join("by_gcc.c"))
            .status()
            .expect("clang runs");
        assert!(built.success());
        programs.push(program);
    }
    for program in programs {
        let env = [("OMP_DYNAMIC", "false"), ("HETMP_REPORT", "report.json")];
        let out = scratch.run(&program, &[], &env);
        assert_eq!((out.ending, stderr(&out)), (Ending::Exit(0), String::new()));
        // 7 times one thread, 3 times two, and once one thread at level 2.
        assert_eq!(String::from_utf8_lossy(&out.stdout), "14 12\n");
        let report = scratch.json("report.json");
        assert_eq!((runs(&report, 1), runs(&report, 2)), (7, 4), "{report}");
    }
}
