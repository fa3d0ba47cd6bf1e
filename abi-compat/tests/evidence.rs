//! `scripts/evidence` on outputs of benchmarks that lie in its folder already: what is compared, and which verdict
//! follows. Nothing is measured.

use hetmp_abi_compat::{library, suite};
use std::fs;
use std::process::Command;

/// What the script prints for these outputs, by file name, and its status. `None`: no python3 with tomllib.
fn evidence(name: &str, papers: &str, outputs: &[(&str, &str)]) -> Option<(String, i32)> {
    let folder = library::target_dir().join("evidence-tests").join(name);
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).unwrap();
    for (file, text) in outputs {
        fs::write(folder.join(file), text).unwrap();
    }
    let python = suite::find_in_path("python3").ok()?;
    let new = Command::new(&python)
        .args(["-c", "import tomllib"])
        .output()
        .unwrap();
    if !new.status.success() {
        return None;
    }
    let out = Command::new(python)
        .arg(library::root().join("scripts/evidence"))
        .args(["--quick", "--papers", papers, "--runs"])
        .arg(&folder)
        .arg("--html")
        .arg(folder.join("page.html"))
        .arg("--csv")
        .arg(folder.join("rows.csv"))
        .arg("--markdown")
        .arg(folder.join("summary.md"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(!errors.contains("Traceback"), "{errors}");
    let page = fs::read_to_string(folder.join("page.html")).unwrap();
    // Each paper has a number to compare with, which gets a bar.
    assert!(page.contains("<svg") && page.contains("</table>"), "{page}");
    // The summary has all that was missed, the rows of the other file all that there is.
    let rows = fs::read_to_string(folder.join("rows.csv")).unwrap();
    let summary = fs::read_to_string(folder.join("summary.md")).unwrap();
    assert_eq!(
        text.lines().filter(|l| l.contains(" | not | ")).count(),
        rows.lines().filter(|l| l.contains(",not,")).count()
    );
    for line in text.lines().filter(|l| l.contains(" | not | ")) {
        let claim = line.split(" | ").nth(1).unwrap();
        assert!(summary.contains(&format!("| {claim} |")), "{summary}");
    }
    Some((text, out.status.code().unwrap()))
}

fn row<'a>(text: &'a str, claim: &str) -> &'a str {
    text.lines()
        .find(|l| l.contains(claim))
        .unwrap_or_else(|| panic!("{claim}: {text}"))
}

#[test]
fn verdicts_follow_from_the_numbers() {
    let gio = r#"{"rows": [
        {"part": "latency", "name": "4", "series": [
            {"mode": "cpu", "values": [2.0, 2.0]}, {"mode": "gio", "values": [5.0, 5.0]},
            {"mode": "ikn", "values": [10.0, 10.5]}, {"mode": "interk", "values": [5.0, 5.0]}]},
        {"part": "bandwidth", "name": "1048576 B", "series": [
            {"mode": "cpu", "values": [10.0, 20.0]}, {"mode": "gio", "values": [9.0, 21.0]},
            {"mode": "ikn", "values": [11.0, 16.0]}, {"mode": "interk", "values": [8.0, 17.0]}]},
        {"part": "spts", "name": "road, 1 million rows, 1 PEs", "series": [
            {"mode": "gio", "values": [12.0]}, {"mode": "ikn", "values": [15.0]}]},
        {"part": "spts", "name": "road, 1 million rows, 4 PEs", "series": [{"mode": "gio", "values": [4.0]}]}]}"#;
    let Some((text, status)) = evidence("verdicts", "gio", &[("gio.json", gio)]) else {
        eprintln!("skipped: no python3 with tomllib");
        return;
    };
    assert_eq!(status, 0, "{text}");
    // Less is better in a latency: 2.8 us over 2.0; 5.15 over 5.0.
    assert!(row(&text, "by a CPU: 2.8 us").contains("| 2.8 us | 2 us | measured | better |"));
    assert!(row(&text, "by GIO: 5.15 us").contains("| 5.15 us | 5 us | measured | reproduced |"));
    assert!(row(&text, "4 bytes: IKN over GIO").contains("| 2 | 2.05 | measured | reproduced |"));
    let not = row(&text, "Inter-K with an empty kernel");
    assert!(
        not.contains("| 3 | 1 | measured | not | a parallel region"),
        "{not}"
    );
    // A row that the benchmark did not print.
    assert!(row(&text, "Jacobi, 1K x 1K").contains("| - | measured | no number |"));
    assert!(row(&text, "uncached buffers").contains("| at most 1.09 | - | measured | no number |"));
    // The slowest of three over the CPU's, by round: 8/10 and 16/20. One row over another, times a scale: 12 / 4 / 4.
    assert!(row(&text, "the peak bandwidth").contains("| 1 | 0.8 | measured | not |"));
    assert!(row(&text, "on one node: IKN over GIO")
        .contains("| at least 1 | 1.25 | measured | reproduced |"));
    assert!(
        row(&text, "parallel efficiency of GIO").contains("| 0.7 | 0.75 | measured | reproduced |")
    );
}

#[test]
fn bounds_and_percentages_are_kept_or_not() {
    let line = |what: &str, here: f64| format!(r#"{{"what": "{what}", "here": {here}}}"#);
    let lines = [
        line("HetProbe, all ten", 1.6),
        line("HetProbe longer than ideal CSR, four that profit", 0.04),
        line("cfd, ThunderX alone", 0.8),
        line("streamcluster, HetProbe-I against HetProbe", 0.6),
    ]
    .join(",");
    let simulate = format!(r#"{{"comparisons": [{{"paper": [{lines}]}}]}}"#);
    let irregular = r#"{"comparisons": [{"programs": []}]}"#;
    let calibrate = r#"{"links": [{"fault_period_us": 95, "plateau": {"ops_per_byte": 768}}]}"#;
    let outputs = [
        ("simulate.json", &*simulate),
        ("irregular.json", irregular),
        ("calibrate.json", calibrate),
    ];
    let Some((text, _)) = evidence("bounds", "hetprobe", &outputs) else {
        eprintln!("skipped: no python3 with tomllib");
        return;
    };
    assert!(
        row(&text, "HetProbe over the Xeon alone").contains("| 1.41 | 1.6 | simulated | better |")
    );
    assert!(row(&text, "HetProbe longer than ideal CSR")
        .contains("| 5.5 % | 4.0 % | simulated | better |"));
    assert!(
        row(&text, "cfd on the ThunderX").contains("| at most 1 | 0.8 | simulated | an input |")
    );
    assert!(row(&text, "the curve of operations").contains("| 512 | 768 | measured | not |"));
    assert!(
        row(&text, "between page faults").contains("| 100 us | 95 us | measured | reproduced |")
    );
    assert!(row(&text, "35 % slower").contains("| at least 0.65 | 0.6 | simulated | not |"));
}

#[test]
fn lines_of_goal_are_divided_by_the_best_mpi() {
    let raw = "goal-user 2 barrier 0 1.0 0.1 2.0\nopenmpi 2 barrier 0 2.0 0 4\nmpich 2 barrier 0 1.6 0 8\n\
               goal-user 2 alltoall 8 3 0.1 3.0\nopenmpi 2 alltoall 8 3 0 2.0\ngoal-thread 2 alltoall 8 3 0.9 3\n";
    let kernel = "answer user 1.5\nanswer kernel 8.0\nanswer item 9.0\nanswer kernel 8.2\nanswer item 9.4\nitem 1.2\n\
                  maxima 64 kernel 60\nmaxima 64 user 50\nmaxima 16384 kernel 3000\nmaxima 16384 user 1500\n";
    let veth = "goal-kernel 2 barrier 0 260 0.9 45\ngoal-kernel 2 alltoall 8 133 0.5 50\n";
    let tcp = "goal-kernel 2 alltoall 8 8 0 15\nopenmpi 2 alltoall 8 17 0 57\nmpich 2 alltoall 8 17 0 30\n";
    let outputs = [
        ("goal.txt", raw),
        ("goal-veth.txt", veth),
        ("goal-tcp.txt", tcp),
        ("goal-kernel.txt", kernel),
    ];
    let Some((text, _)) = evidence("goal", "goal", &outputs) else {
        eprintln!("skipped: no python3 with tomllib");
        return;
    };
    assert!(row(&text, "barrier: latency").contains("| 0.625 | measured | reproduced |"));
    assert!(row(&text, "Figure 6a, here").contains("| 0.9 | measured | reproduced |"));
    // The engine in the kernel, over interfaces with a delay: of another run of the bench.
    assert!(row(&text, "| Figure 6a |").contains("| 0.5 | measured | not |"));
    assert!(row(&text, "| Figure 6b |").contains("| 0.9 | measured | reproduced |"));
    assert!(row(&text, "| Figure 7, here |").contains("| 1.5 | measured | not |"));
    // Over TCP the MPIs are those of the same run.
    assert!(row(&text, "| Figure 7 |").contains("| 0.5 | measured | reproduced |"));
    // Differences and ratios of the medians of lines: (9.0 + 9.4) / 2 - (8.0 + 8.2) / 2; 60 / 50; 3000 / 1500.
    assert!(
        row(&text, "a work item of the kernel").contains("| 1.6 us | 1.1 us | measured | better |")
    );
    assert!(row(&text, "maxima of short").contains("| at most 1.5 | 1.2 | measured | reproduced |"));
    assert!(row(&text, "maxima of long").contains("| at most 1 | 2 | measured | not |"));
}

#[test]
fn tables_without_results_are_provided() {
    let names =
        ["1 queues", "1 dma", "24 queues", "24 dma", "24 eager"].map(|n| format!("mt3000 {n}"));
    let chips: Vec<String> = [
        "sw26010 64 eager",
        "sw26010 64 dma",
        "matmul dma",
        "matmul queues",
    ]
    .map(String::from)
    .into_iter()
    .chain(names)
    .map(|name| format!(r#""{name}": 500.0"#))
    .collect();
    let chips = format!("{{{}}}", chips.join(","));
    let outputs = [("chips.json", &*chips), ("mq.json", r#"{"rows": []}"#)];
    let Some((text, _)) = evidence("provided", "queues", &outputs) else {
        eprintln!("skipped: no python3 with tomllib");
        return;
    };
    assert!(row(&text, "what a program is compiled with").contains("| - | - | - | provided |"));
    assert!(row(&text, "| matrix multiplication on SW26010, queues |")
        .contains("| 504 GFLOPS | 500 GFLOPS | simulated | reproduced |"));
}
