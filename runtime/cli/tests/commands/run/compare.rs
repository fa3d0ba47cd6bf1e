//! `hetmp compare`, in which the program is a shell script that says how it was started. Asked for a report, it writes
//! one as of an OpenMP program.

use super::{text, Scratch};
use std::fs;

const REPORT: &str = r#"{"program": "sh", "elapsed_ns": 9, "ending": "exit", "schedule": "hetprobe", "nodes": [],
    "reach": {"by": [{"way": "bound", "kept": true, "reason": "its threads are bound to places", "runs": 1,
    "elapsed_ns": 9, "share": 1.0}]}}"#;

/// What `hetmp compare` prints about a shell script.
fn compared(s: &Scratch, options: &[&str], script: &str) -> (Option<i32>, String, String) {
    let asked = r#"test -n "$HETMP_REPORT" && printf %s "$REPORT" >"${HETMP_REPORT%%p.json}1.json" && exit; "#;
    let script = format!("{asked}{script}");
    let arguments: Vec<&str> = options
        .iter()
        .copied()
        .chain(["sh", "-c", &script])
        .collect();
    let mut command = s.command("compare", &arguments);
    let out = command.env("REPORT", REPORT).output().expect("hetmp runs");
    (out.status.code(), text(&out.stdout), text(&out.stderr))
}

/// Each way is another environment: its own runtime has no preload, hetmp no schedule, and each schedule its own.
#[test]
fn compare_runs_each_way_in_turns() {
    let s = Scratch::new("compare");
    let log = s.path("log");
    let script = format!(
        "echo \"${{LD_PRELOAD##*/}} $HETMP_SCHEDULE\" >>{}; echo result",
        log.display()
    );
    let (status, out, error) = compared(&s, &["-n", "2", "--schedule", "guided"], &script);
    assert_eq!((status, &*error), (Some(0), ""), "{out}");
    for part in [
        "\n  without hetmp ",
        "\n  hetmp ",
        "\n  guided ",
        "2 of each, in turns",
        "\nloops     guided divided nothing; 100%: its threads are bound to places\n",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(
        out.ends_with("Its output was equal in all runs.\n"),
        "{out}"
    );
    // The second round begins with another way than the first.
    let lines = fs::read_to_string(&log).expect("written");
    assert_eq!(lines, " \nl.so \nl.so guided\nl.so \nl.so guided\n \n");
}

#[test]
fn compare_tells_outputs_apart() {
    let s = Scratch::new("compare-output");
    let (_, out, _) = compared(&s, &["-n", "1"], "echo $HETMP_SCHEDULE");
    assert!(out.contains("perhaps from run to run"), "{out}");
    let (status, out, _) = compared(
        &s,
        &["-n", "2"],
        "echo $HETMP_SCHEDULE; echo hetmp: odd >&2",
    );
    assert_eq!(status, Some(0));
    assert_eq!(out.matches("\nhetmp: odd\n").count(), 1, "{out}");
    let line = "Its output under hetprobe, hetprobe-i differs from that under without hetmp.";
    assert!(out.contains(line), "{out}");
    let (_, out, _) = compared(&s, &["-n", "2", "--json"], "echo $HETMP_SCHEDULE");
    let value: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(value["ways"].as_array().map(Vec::len), Some(4));
    assert_eq!(value["ways"][1]["output_as_first"], true);
    assert_eq!(value["ways"][2]["output_as_first"], false);
    assert_eq!(
        value["ways"][3]["seconds"].as_array().map(Vec::len),
        Some(2)
    );
    assert_eq!(
        value["ways"][3]["cpu_seconds"].as_array().map(Vec::len),
        Some(2)
    );
    let others = value["cpus_used_by_others"].as_f64();
    assert!(others.is_none_or(|share| (0.0..=1.0).contains(&share)));
}

#[test]
fn compare_reads_the_same_input_each_time() {
    let s = Scratch::new("compare-input");
    let input = s.path("input");
    fs::write(&input, "five\n").expect("written");
    let input = input.to_str().expect("text");
    let script = "read -r word && test \"$word\" = five";
    let (status, out, error) = compared(&s, &["-n", "2", "--input", input], script);
    assert_eq!(status, Some(0), "{error}");
    assert!(!out.contains("ended by"), "{out}");
}

#[test]
fn compare_names_a_run_that_ends_otherwise() {
    let s = Scratch::new("compare-status");
    let (status, out, error) = compared(&s, &["-n", "1"], "test -z \"$HETMP_SCHEDULE\"");
    assert_eq!((status, &*out), (Some(1), ""));
    let line = "hetmp: program sh, under hetprobe: exit status 1 (expected: exit status 0, as in the first run)\n";
    assert_eq!(error, line);
    // A program that always ends so can be compared, and one that crashes cannot.
    let (status, out, _) = compared(&s, &["-n", "1"], "exit 3");
    assert_eq!(status, Some(0));
    assert!(out.contains("ended by  exit status 3 in each run"), "{out}");
    let (status, out, error) = compared(&s, &["-n", "1"], "kill -9 $$");
    assert_eq!((status, &*out), (Some(1), ""));
    assert!(
        error.contains("without hetmp: signal 9 (expected a program that ends by itself)"),
        "{error}"
    );
    // Nor is there anything to compare where nothing is parallel.
    let out = s
        .command("compare", &["true"])
        .output()
        .expect("hetmp runs");
    assert_eq!(out.status.code(), Some(1));
    assert!(
        text(&out.stderr).contains("program true: ran no parallel region"),
        "{out:?}"
    );
}

/// Cores that hetmp slows down are not slowed under another runtime.
#[test]
fn compare_leaves_the_own_runtime_out_on_slowed_nodes() {
    let s = Scratch::new("compare-slowed");
    // SAFETY: has no preconditions.
    let cpu = unsafe { libc::sched_getcpu() };
    s.compile(
        "libhetmp_dsm.so",
        "int hetmp_second;",
        &["-shared", "-fPIC"],
    );
    for nodes in [
        &*format!("cores={cpu},speed=0.5"),
        "dsm:2;speed=1;speed=0.5",
    ] {
        let (status, out, error) = compared(&s, &["-n", "1", "--nodes", nodes], "true");
        assert_eq!(status, Some(0), "{error}");
        assert!(
            !out.contains("without hetmp") && out.contains("\n  hetmp "),
            "{out}"
        );
    }
}

#[test]
fn compare_refuses_in_one_line() {
    let s = Scratch::new("compare-bad");
    for (status, options, line) in [
        (
            2,
            &["-n", "0"][..],
            "hetmp: invalid value '0' for '--runs <RUNS>': 0 is not in 1..=1000 (expected what \
                               hetmp --help lists)\n",
        ),
        (
            2,
            &["--input", "/nonexistent"],
            "hetmp: option --input: '/nonexistent': No such file or directory (os error \
            2) (expected a file that can be read)\n",
        ),
        (
            2,
            &["--schedule", "fast"],
            "hetmp: option --schedule: 'fast': not understood",
        ),
        (
            127,
            &["--", "/nonexistent"],
            "hetmp: program /nonexistent: No such file",
        ),
    ] {
        let (found, out, error) = compared(&s, options, "true");
        assert_eq!((found, &*out), (Some(status), ""), "{error}");
        assert!(
            error.starts_with(line) && error.lines().count() == 1,
            "{error}"
        );
    }
}

/// The CPU time is that of the program's processes, not of those that sleep.
#[test]
fn compare_tells_what_runs_used_of_the_cpus() {
    let s = Scratch::new("compare-used");
    let script = "i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done; sleep 0.2";
    let (status, out, error) = compared(&s, &["-n", "1", "--json"], script);
    assert_eq!(status, Some(0), "{error}");
    let value: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    for way in value["ways"].as_array().expect("ways") {
        let of = |name: &str| way[name][0].as_f64().expect("a number");
        let used = of("cpu_seconds");
        assert!(used > 0.0 && used < of("seconds") - 0.1, "{way}");
    }
}
