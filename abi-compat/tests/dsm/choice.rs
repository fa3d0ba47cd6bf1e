//! Which regions cross when that is measured, and what a report says of it.

use crate::harness::{
    built, by_hetrun_with, compile, faults_in, finish, hetrun_finds_the_library, preload,
    prints_the_same, run, skipped,
};
use std::path::Path;
use std::process::{Command, Output};

/// What `hetmp report` prints of a report.
fn table_of(report: &Path) -> String {
    let out = Command::new(built("hetmp"))
        .arg("report")
        .arg(report)
        .output()
        .expect("hetmp");
    let table = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{table}");
    table
}

/// Without `HETMP_DSM_CROSS`, a region is tried at home and across, and runs where it is faster.
#[test]
#[ignore = "measures times: a quiet machine is needed"]
fn regions_run_where_they_are_faster() {
    let program = compile("c-tests/dsm/weighed.c", &[]);
    let expected = run(&program, &[], 0, &[]);
    let report = program.with_extension("json");
    let file = report.to_str().expect("a path");
    let auto = [("HETMP_DSM_CROSS", "auto"), ("HETMP_REPORT", file)];
    let got = run(&program, &[], 2, &auto);
    if skipped(&got) {
        return;
    }
    prints_the_same(&got, &expected);
    let text = std::fs::read_to_string(&report).expect("a report");
    let all: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let rows = all["dsm"]["regions"].as_array().expect("regions");
    // Where a region is faster depends on the machine and on what else runs there. But each region first runs at
    // home, and some are long enough to be tried across.
    let mut crossed = 0;
    for (name, runs) in [("short_loop", 2000), ("fight", 300), ("compute", 20)] {
        let named =
            |r: &&serde_json::Value| r["symbol"].as_str().is_some_and(|s| s.starts_with(name));
        let row = rows
            .iter()
            .find(named)
            .unwrap_or_else(|| panic!("{name}: {text}"));
        let number = |field: &str| row[field].as_u64().expect("a number");
        let left = number("crossed") + number("moved");
        assert_eq!(left + number("stayed"), runs, "{text}");
        assert!(number("stayed") >= 2, "{text}");
        crossed += number("crossed");
    }
    assert!(crossed > 0, "{text}");
    let _ = std::fs::remove_file(&report);
}

#[test]
fn a_report_has_every_node_and_region() {
    let program = compile("c-tests/dsm/weighed.c", &["-DALWAYS"]);
    let report = program.with_extension("json");
    let file = report.to_str().expect("a path");
    let got = run(&program, &[], 3, &[("HETMP_REPORT", file)]);
    if skipped(&got) {
        return;
    }
    let text = std::fs::read_to_string(&report).expect("a report");
    let all: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let nodes = all["dsm"]["nodes"].as_array().expect("nodes");
    assert_eq!(nodes.len(), 3, "{text}");
    for node in &nodes[1..] {
        assert!(node["read_faults"].as_u64() > Some(0), "{text}");
        assert!(node["waited_ns"].as_u64() > Some(0), "{text}");
    }
    let regions = all["regions"].as_array().expect("regions");
    let across = |r: &serde_json::Value| r["ways"][0]["way"] == "across";
    assert_eq!(regions.len(), 3, "{text}");
    assert!(regions.iter().all(across), "{text}");
    let pages = all["dsm"]["pages"].as_array().expect("pages");
    let contents = |p: &serde_json::Value| p["contents"].as_str().map(str::to_owned);
    let named = pages.iter().filter_map(contents);
    assert!(named.clone().any(|c| c.contains("fought_for[")), "{text}");
    // `hetmp report` shows them.
    let table = table_of(&report);
    for words in ["Distributed shared memory on 3 nodes", "fought_for["] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let _ = std::fs::remove_file(&report);
}

/// `HETMP_DSM_CPUS=own`: regions that stay at the origin keep to its CPUs, as on a machine of its own.
#[test]
fn the_origin_keeps_to_its_own_cpus_if_asked() {
    let program = compile("c-tests/dsm/cpus.c", &[]);
    let without = run(&program, &[], 0, &[]);
    let all = run(&program, &[], 2, &[]);
    if skipped(&all) {
        return;
    }
    let text = |got: &Output| String::from_utf8_lossy(&got.stdout).into_owned();
    assert_eq!(text(&all), text(&without));
    let own = run(&program, &[], 2, &[("HETMP_DSM_CPUS", "own")]);
    let said = String::from_utf8_lossy(&own.stderr);
    assert!(own.status.success(), "{said}");
    let count: usize = text(&without)
        .split(' ')
        .next()
        .and_then(|n| n.parse().ok())
        .expect("a number of CPUs");
    // With one CPU the nodes have none of their own.
    let expected = if count < 2 { 1 } else { count / 2 };
    assert_eq!(text(&own), format!("{expected} {expected}\n"), "{said}");
}

// Tests run at the same time, so each has a program of its own: hence the flags, which say nothing to the program.

/// Regions may run whole on a node that is not the origin, by the user's word: every construct works there, the serial
/// part stays where it was, and all threads of the region are in one other process.
#[test]
fn regions_run_whole_on_another_node_if_asked() {
    let program = compile("c-tests/dsm/elsewhere.c", &["-DNODE"]);
    let expected = run(&program, &[], 0, &[]);
    for (nodes, node) in [(2, 1), (3, 2)] {
        let place = format!("node:{node}");
        let report = program.with_extension(format!("{node}.json"));
        let file = report.to_str().expect("a path");
        let more = [
            ("HETMP_DSM_CROSS", &*place),
            ("HETMP_DSM_TRUST", "1"),
            ("HETMP_REPORT", file),
        ];
        let got = run(&program, &["where"], nodes, &more);
        if skipped(&got) {
            return;
        }
        let said = String::from_utf8_lossy(&got.stderr);
        let text = String::from_utf8_lossy(&got.stdout);
        let (place, rest) = text.split_once('\n').expect("two lines");
        assert_eq!(place, "1 process, another one", "{said}");
        assert_eq!(rest, String::from_utf8_lossy(&expected.stdout), "{said}");
        assert!(
            said.contains(&format!("whole on node {node} 60 times")),
            "{said}"
        );
        // `hetmp report` shows them apart from those at the origin and across. Of a program that ends while something
        // holds the report's locks for long, the last checkpoint is what there is.
        let mut table = table_of(&report);
        for _ in 0..3 {
            if !table.contains("without a word") {
                break;
            }
            run(&program, &["where"], nodes, &more);
            table = table_of(&report);
        }
        assert!(table.contains(&format!("60 on {node}")), "{table}");
        let _ = std::fs::remove_file(&report);
    }
}

/// A schedule that gives all to one node says where regions run; one with a ratio too few or too many is refused as
/// ever.
#[test]
fn a_schedule_for_one_node_forces_regions_there() {
    let program = compile("c-tests/dsm/elsewhere.c", &["-DSCHEDULE"]);
    let expected = run(&program, &[], 0, &[]);
    let forced = |schedule, nodes: u32| {
        let mut command = Command::new(&program);
        command
            .env("OMP_NUM_THREADS", "4")
            .env("LD_PRELOAD", preload())
            .env("HETMP_NODES", format!("dsm:{nodes}"))
            .env("HETMP_VERBOSE", "1")
            .env("OMP_SCHEDULE", schedule);
        finish(command, &program, nodes)
    };
    let got = forced("static-csr:0,1", 2);
    if skipped(&got) {
        return;
    }
    prints_the_same(&got, &expected);
    let said = String::from_utf8_lossy(&got.stderr).into_owned();
    assert!(said.contains("whole on node 1 60 times"), "{said}");
    assert!(!said.contains("one ratio per node"), "{said}");
    for (schedule, nodes, given) in [("static-csr:0,1,1", 2, 3), ("static-csr:0,1", 3, 2)] {
        let refused = forced(schedule, nodes);
        prints_the_same(&refused, &expected);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        let line = format!("{given} ratios for {nodes} nodes (expected one for each)");
        assert!(said.contains(&line), "{said}");
        // By measured times regions might run whole on a node, but not all of them.
        assert!(!said.contains("whole on node 1 60 times"), "{said}");
    }
}

/// The origin is ten times as slow as the other node: the program's regions are tried at the origin, across and whole
/// on the other node, and give the same everywhere. (Where they end is decided by times, and tested with times that are
/// given: `crossing/whole.rs` of the scheduler.)
#[test]
fn regions_that_move_between_nodes_give_the_same() {
    let program = compile("c-tests/dsm/elsewhere.c", &["-DSPEEDS"]);
    let expected = run(&program, &[], 0, &[]);
    for speeds in ["dsm:2;speed=0.1;speed=1", "dsm:2;speed=1;speed=0.3"] {
        let nodes = ("HETMP_NODES", speeds);
        let got = run(&program, &[], 2, &[("HETMP_DSM_CROSS", "auto"), nodes]);
        if skipped(&got) {
            return;
        }
        prints_the_same(&got, &expected);
    }
}

/// How many threads each node had, as `HETMP_VERBOSE` says of the first region.
fn threads_in(said: &str) -> Vec<u32> {
    let (_, after) = said.split_once("; threads ").expect("a division");
    after
        .split([';', '\n'])
        .next()
        .into_iter()
        .flat_map(|t| t.split('+'))
        .map(|t| t.parse().expect("a number"))
        .collect()
}

/// Checks the output, and that the first node had more threads of the first region than the second.
fn first_node_has_more(got: &Output, expected: &Output) {
    prints_the_same(got, expected);
    let said = String::from_utf8_lossy(&got.stderr);
    let threads = threads_in(&said);
    assert!(threads[0] > threads[1], "{threads:?}: {said}");
}

/// `speed=` for each node: a region's static loops are divided in proportion, with more threads than cores. That goes
/// by the processor's time, which other work on the machine hardly changes, and each part takes many times as long as a
/// part must to count.
#[test]
#[ignore = "measures times: a quiet machine is needed"]
fn unlike_nodes_get_unlike_parts() {
    let program = compile("c-tests/dsm/parts.c", &[]);
    let expected = run(&program, &[], 0, &[]);
    let more = [
        ("HETMP_NODES", "dsm:2;speed=1;speed=0.1"),
        ("OMP_NUM_THREADS", "2"),
    ];
    let got = run(&program, &[], 2, &more);
    if skipped(&got) {
        return;
    }
    first_node_has_more(&got, &expected);
}

#[test]
fn speeds_that_do_not_fit_are_refused() {
    let program = compile("c-tests/dsm/elsewhere.c", &["-DREFUSED"]);
    for value in [
        "dsm:2;speed=1",
        "dsm:2;speed=1;speed=0",
        "dsm:2;speed=1;cores=1",
        "dsm:2;speed=1;speed=1;speed=1",
        "dsm:2;",
    ] {
        let got = run(&program, &[], 2, &[("HETMP_NODES", value)]);
        let said = String::from_utf8_lossy(&got.stderr);
        assert_eq!(got.status.code(), Some(2), "{value}: {said}");
        assert!(said.contains("(expected behind dsm:2"), "{value}: {said}");
    }
}

/// The same value, by the variable or by the option, for processes that hetrun starts.
#[test]
#[ignore = "measures times: a quiet machine is needed"]
fn unlike_nodes_of_hetrun_get_unlike_parts() {
    if !hetrun_finds_the_library() {
        return;
    }
    let program = compile("c-tests/dsm/parts.c", &["-DHETRUN"]);
    let expected = run(&program, &[], 0, &[]);
    let value = "dsm:2;speed=1;speed=0.1";
    let by_variable = [("HETMP_NODES", value), ("OMP_NUM_THREADS", "2")];
    let runs = [
        by_hetrun_with(&program, 2, &[], &by_variable),
        by_hetrun_with(&program, 2, &["--nodes", value], &by_variable[1..]),
    ];
    for got in runs {
        if skipped(&got) {
            return;
        }
        first_node_has_more(&got, &expected);
    }
}

#[test]
fn hetrun_refuses_nodes_that_do_not_fit() {
    if !hetrun_finds_the_library() {
        return;
    }
    let program = compile("c-tests/dsm/parts.c", &["-DREFUSED"]);
    for (value, line) in [
        (
            "dsm:3;speed=1;speed=1;speed=1",
            "not as many nodes as processes (expected dsm:2)",
        ),
        (
            "dsm:2;speed=1",
            "(expected behind dsm:2 speed=S for each of 2 nodes, 0.01 to 1",
        ),
        ("dsm:2;cores=0;cores=99999", "CPU"),
    ] {
        for (options, variables) in [
            (vec!["--nodes", value], vec![]),
            (vec![], vec![("HETMP_NODES", value)]),
        ] {
            let got = by_hetrun_with(&program, 2, &options, &variables);
            let said = String::from_utf8_lossy(&got.stderr);
            assert_eq!(got.status.code(), Some(2), "{value}: {said}");
            assert!(said.contains(line), "{value}: {said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
    }
    // Nodes of one process: the variable is for other programs, the option is a mistake.
    let got = by_hetrun_with(&program, 2, &["--nodes", "2"], &[]);
    assert_eq!(got.status.code(), Some(2));
}

/// Nodes with memory of their own that each have two kinds of cores: each gives its slow threads fewer iterations.
#[test]
#[ignore = "measures times: a quiet machine is needed"]
fn nodes_of_two_kinds_of_cores() {
    if std::thread::available_parallelism().map_or(1, |n| n.get()) < 2 {
        println!("skipped: one CPU");
        return;
    }
    let program = compile("c-tests/dsm/mixed.c", &[]);
    let expected = run(&program, &[], 0, &[]);
    let value = "dsm:2;cores=0,speed=1+cores=1,speed=0.1;cores=0,speed=1+cores=1,speed=0.1";
    let had_by = |got: &Output| {
        prints_the_same(got, &expected);
        let said = String::from_utf8_lossy(&got.stderr);
        let line = said.lines().find_map(|l| l.strip_prefix("had "));
        let had: Vec<u32> = (line.expect("a line").split(' '))
            .map(|n| n.parse().expect("a number"))
            .collect();
        assert_eq!(had.iter().sum::<u32>(), 400);
        for node in had.chunks(2) {
            assert!(node[0] > 2 * node[1], "{had:?}: {said}");
        }
    };
    for by in ["uffd", "sigsegv"] {
        let got = run(
            &program,
            &[],
            2,
            &[("HETMP_DSM", by), ("HETMP_NODES", value)],
        );
        if !skipped(&got) {
            had_by(&got);
        }
    }
    if hetrun_finds_the_library() {
        let got = by_hetrun_with(&program, 2, &["--nodes", value], &[]);
        if !skipped(&got) {
            had_by(&got);
        }
    }
}

/// What opens a region, and the thread that waits for the others at its end, write nothing in the page of the region's
/// data. Two threads on a node: the origin's first one waits for the second, while the other node's threads still read.
#[test]
fn a_region_costs_each_node_a_fault() {
    let program = compile("c-tests/dsm/read_region.c", &[]);
    for by in ["uffd", "sigsegv"] {
        let got = run(&program, &[], 2, &[("HETMP_DSM", by)]);
        if skipped(&got) {
            continue;
        }
        prints_the_same(&got, &run(&program, &[], 0, &[]));
        let said = String::from_utf8_lossy(&got.stderr);
        // 200 regions on two nodes: one node reads the data, and the origin writes those of the next region. Besides,
        // pages come once at the start.
        let faults = faults_in(&said);
        assert!((400..460).contains(&faults), "{by}: {faults}: {said}");
    }
}

/// Each reason why a region stays at the origin is named where it is the cause, and nowhere else.
#[test]
fn the_reason_is_the_cause() {
    let program = compile("c-tests/dsm/reasons.c", &[]);
    for (args, more) in [
        (&[][..], &[][..]),
        (&[], &[("OMP_CANCELLATION", "true")]),
        (&["keeps"], &[]),
        (&["trusted"], &[("HETMP_DSM_TRUST", "1")]),
        (&["never"], &[("HETMP_DSM_CROSS", "never")]),
    ] {
        let got = run(&program, args, 2, more);
        if skipped(&got) {
            return;
        }
        let said = String::from_utf8_lossy(&got.stderr);
        assert!(got.status.success(), "{said}");
        let behind = |begin: &'static str| {
            let lines = said.lines().filter_map(move |l| l.strip_prefix(begin));
            lines.filter_map(|l| Some(l.split_once(": ")?.1))
        };
        let expected: Vec<&str> = behind("expected of ").collect();
        // Behind the program's end each region has a line that tells how it went.
        let told: Vec<&str> = behind("hetmp: dsm: region ").take(expected.len()).collect();
        assert_eq!(told.len(), expected.len(), "{said}");
        for (told, expected) in told.iter().zip(&expected) {
            let fits = told.strip_prefix(expected);
            let exact = fits.is_some_and(|rest| rest.is_empty() || expected.ends_with("0x"));
            assert!(exact, "{told}, not {expected}: {said}");
        }
    }
}

/// The list of regions names the reason, too.
#[test]
fn a_report_says_why_a_region_stayed() {
    let program = compile("c-tests/dsm/reasons.c", &["-DREPORT"]);
    let report = program.with_extension("json");
    let file = report.to_str().expect("a path");
    if skipped(&run(&program, &[], 2, &[("HETMP_REPORT", file)])) {
        return;
    }
    let table = table_of(&report);
    for why in [
        "not known to work across nodes: rand",
        "its function was not found",
    ] {
        assert_eq!(table.matches(why).count(), 1, "{why}: {table}");
    }
    assert!(!table.contains("as the program says"), "{table}");
    let _ = std::fs::remove_file(&report);
}

/// What a report says of the last trial of the only region, if the program was tried across nodes.
fn trial_of(report: &Path) -> Option<serde_json::Value> {
    let text = std::fs::read_to_string(report).expect("a report");
    let all: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let trial = all["dsm"]["regions"][0]["trial"].clone();
    (!trial.is_null()).then_some(trial)
}

/// The origin's faults decide: a trial ends half-way where the threshold says that it is hopeless, and else runs to its
/// end. Other work on the machine may keep a node from its part, so each has some runs.
#[test]
fn faults_end_a_trial_that_is_hopeless() {
    let program = compile("c-tests/dsm/periods.c", &[]);
    let arguments = ["150"];
    let expected = run(&program, &arguments, 0, &[]);
    for by in ["uffd", "sigsegv"] {
        for (threshold, hopeless) in [("1000000", true), ("0.001", false)] {
            let report = program.with_extension(format!("{by}-{hopeless}.json"));
            let more = [
                ("HETMP_DSM", by),
                ("HETMP_DSM_CROSS", "auto"),
                ("HETMP_FAULT_PERIOD", threshold),
                ("OMP_SCHEDULE", "dynamic"),
                ("OMP_NUM_THREADS", "2"),
                ("HETMP_REPORT", report.to_str().expect("a path")),
            ];
            let mut seen = Vec::new();
            let found = (0..8).any(|_| {
                let got = run(&program, &arguments, 2, &more);
                if skipped(&got) {
                    return true;
                }
                prints_the_same(&got, &expected);
                let Some(trial) = trial_of(&report) else {
                    return false;
                };
                let fits = trial["fault_threshold_us"].as_f64() == threshold.parse().ok()
                    && trial["fault_period_us"].as_f64().is_some()
                    && trial["ended_early"] == hopeless;
                seen.push(trial);
                fits && (!hopeless || table_of(&report).contains("ended early"))
            });
            assert!(found, "{by}, {threshold} us: {seen:?}");
            let _ = std::fs::remove_file(&report);
        }
    }
}
