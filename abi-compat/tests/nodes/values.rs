//! Bad values of what describes nodes and places, each with its line.

use super::{cpus, kernel, text};
use hetmp_abi_compat::exec::Ending;
use hetmp_abi_compat::scratch::Scratch;
use std::process::Command;

#[test]
fn bad_values_cost_one_line_each() {
    let Some(cpus) = cpus() else { return };
    let scratch = Scratch::new("bad");
    let program = scratch.compile(&kernel());
    let run = |env: &[(&str, &str)]| {
        let out = scratch.run(&program, &["50", "2"], env);
        assert_eq!(out.ending, Ending::Exit(0));
        let lines = text(&out.stderr);
        let ours: Vec<String> = lines
            .lines()
            .filter(|l| l.starts_with("hetmp: "))
            .map(str::to_owned)
            .collect();
        ours
    };
    let two = format!("cores={};cores={}", cpus[0], cpus[1]);
    let lines = run(&[("HETMP_NODES", &two), ("OMP_SCHEDULE", "static-csr:3,2,1")]);
    assert_eq!(
        lines,
        ["hetmp: OMP_SCHEDULE: 'static-csr:3,2,1': 3 ratios for 2 nodes (expected one for each); dynamic,1 is used"]
    );
    // Where HETMP_SCHEDULE does not fit the nodes, OMP_SCHEDULE holds, unless that does not fit either.
    for (omp, holds) in [
        ("guided,4", "guided,4"),
        ("static-csr:1,0", "static-csr:1,0"),
        ("static-csr:1", "dynamic,1"),
        ("no schedule", "dynamic,1"),
    ] {
        let lines = run(&[
            ("HETMP_NODES", &two),
            ("OMP_SCHEDULE", omp),
            ("HETMP_SCHEDULE", "static-csr:3,2,1"),
        ]);
        assert_eq!(
            lines,
            [format!(
                "hetmp: HETMP_SCHEDULE: 'static-csr:3,2,1': 3 ratios for 2 nodes (expected one for each); {holds} is \
                    used"
            )]
        );
    }
    let lines = run(&[("HETMP_NODES", "cores=x"), ("OMP_SCHEDULE", "dynamic")]);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].starts_with("hetmp: HETMP_NODES: 'cores=x': "),
        "{lines:?}"
    );
    let named = format!("{two},speed.nbody=0.5");
    // A value that gives a speed to a single kernel is accepted.
    assert_eq!(run(&[("HETMP_NODES", &named)]), [""; 0]);
    let lines = run(&[
        ("HETMP_NODES", &two),
        ("HETMP_SCHEDULE", "hetprobe"),
        ("HETMP_REPORT", "/nonexistent/report.json"),
    ]);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].starts_with("hetmp: HETMP_REPORT: '/nonexistent/report.json': "),
        "{lines:?}"
    );
}

/// Whatever variable has a value that nobody can mean, each of our lines says what is expected.
#[test]
fn what_is_expected_is_said_of_every_variable() {
    let Some(cpus) = cpus() else { return };
    let scratch = Scratch::new("expected");
    let program = scratch.compile_text(
        "one",
        "int main(void) {\n#pragma omp parallel for schedule(runtime)\nfor (int i = 0; i < 9; i++);\n}\n",
    );
    let two = format!("cores={};cores={}", cpus[0], cpus[1]);
    let mut said_something = 0;
    for variable in hetmp_core::env::TABLE {
        let name = variable.name;
        for value in ["@no/such!", "/no such/value!"] {
            let usual = [
                ("HETMP_NODES", two.as_str()),
                ("HETMP_SCHEDULE", "hetprobe"),
            ];
            let usual = usual.into_iter().filter(|(n, _)| *n != name);
            let env: Vec<_> = usual.chain([(name, value)]).collect();
            let said = text(&scratch.run(&program, &[], &env).stderr);
            for line in said.lines().filter(|l| l.starts_with("hetmp: ")) {
                assert!(line.contains(" (expected "), "{name} {value}: {line}");
                said_something += 1;
            }
        }
    }
    assert!(said_something > 50, "{said_something}");
}

/// By mistake, a variable names a pipe without a writer, or a device that never ends. The library must not read from
/// either for ever.
#[test]
fn no_file_is_read_for_ever() {
    let Some(cpus) = cpus() else { return };
    let scratch = Scratch::new("endless");
    let program = scratch.compile_text(
        "one",
        "int main(void) {\n#pragma omp parallel for schedule(runtime)\nfor (int i = 0; i < 9; i++);\n}\n",
    );
    let pipe = scratch.folder.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let pipe = pipe.display().to_string();
    let two = format!("cores={};cores={}", cpus[0], cpus[1]);
    for name in [
        "HETMP_NODES",
        "HETMP_CALIBRATION",
        "HETMP_PROFILE",
        "HETMP_REPORT",
        "HETMP_TRACE",
    ] {
        let writes = matches!(name, "HETMP_REPORT" | "HETMP_TRACE");
        // Writing to /dev/zero succeeds, so a variable for output may name it.
        let files = [pipe.as_str(), "/dev/zero"];
        for file in &files[..if writes { 1 } else { 2 }] {
            let at = name == "HETMP_NODES";
            let value = format!("{}{file}", if at { "@" } else { "" });
            let env = [
                ("HETMP_NODES", two.as_str()),
                ("HETMP_SCHEDULE", "hetprobe"),
                (name, value.as_str()),
            ];
            let env = &env[usize::from(name == "HETMP_NODES")..];
            let out = scratch.run(&program, &[], env);
            let said = text(&out.stderr);
            assert_eq!(out.ending, Ending::Exit(0), "{name} {file}: {said}");
            assert_eq!(said.lines().count(), 1, "{name} {file}: {said}");
            assert!(
                said.starts_with(&format!("hetmp: {name}: '{value}': ")),
                "{said}"
            );
            assert!(writes || said.contains("not a regular file"), "{said}");
        }
    }
}

/// Places that name CPUs which the machine does not have. libgomp ends the program, and says only that a thread cannot
/// be created.
#[test]
fn places_beyond_the_machine() {
    let Some(cpus) = cpus() else { return };
    let scratch = Scratch::new("beyond");
    let program = scratch.compile_text(
        "beyond",
        r#"
#include <omp.h>
int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp critical
    omp_display_affinity("CPUs %A");
}
"#,
    );
    let first = cpus[cpus.len() - 1] + 5;
    let value = format!("{first}-{}", first + 2);
    let out = scratch.run(&program, &[], &[("GOMP_CPU_AFFINITY", &value)]);
    let said = text(&out.stderr);
    assert_eq!(out.ending, Ending::Exit(0), "{said}");
    assert!(
        said.starts_with(&format!(
            "hetmp: GOMP_CPU_AFFINITY: '{value}': this process may use the CPUs "
        )),
        "{said}"
    );
    assert!(!said.contains(&format!("CPUs {first}")), "{said}");
    assert!(said.contains(&format!("CPUs {}", cpus[0])), "{said}");
}

/// A value of `HETMP_FAR` that is no distance costs a line, and nothing is emulated.
#[test]
fn distances_that_are_none() {
    let scratch = Scratch::new("no-distance");
    let program = scratch.compile_text(
        "one",
        "int main(void) {\nint n = 0;\n#pragma omp parallel\n#pragma omp atomic\nn++;\nreturn n == 0; }\n",
    );
    for far in ["", "8,1", "1,2,round"] {
        let out = scratch.run(&program, &[], &[("HETMP_FAR", far)]);
        assert_eq!(out.ending, Ending::Exit(0));
        let want = format!(
            "hetmp: HETMP_FAR: '{far}': not understood (expected NEAR,FAR or NEAR,FAR,flat, in microseconds up to \
                1000000, FAR at least NEAR)\n"
        );
        assert_eq!(text(&out.stderr), want);
    }
}
