//! `hetmp report` as a user runs it, on files as the runtime writes them.

use serde_json::{json, Value};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("hetmp-cli-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a folder");
        Scratch(dir)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).expect("written");
        path.display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn hetmp(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hetmp"))
        .arg("report")
        .args(arguments)
        .output()
        .expect("hetmp runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// A report with two regions and a loop; the first region's place is `module` at `offset`.
fn report(module: &str, build_id: Option<&str>, offset: u64) -> Value {
    let place = |symbol: &str| {
        json!({
            "region": "prog+0x40", "module": module, "build_id": build_id, "offset": offset,
            "symbol": symbol,
        })
    };
    let with = |mut base: Value, more: Value| {
        let base_map = base.as_object_mut().expect("an object");
        base_map.extend(more.as_object().expect("an object").clone());
        base
    };
    let way = |name: &str, kept: bool, ns: u64| {
        json!({
            "way": name, "kept": kept, "reason": format!("because of {name}"), "threads": 2,
            "virtual_threads": if kept { None } else { Some(16) },
            "runs": 1, "elapsed_ns": ns, "min_ns": ns, "max_ns": ns,
        })
    };
    json!({
        "hetmp_report": 2, "hetmp": "0.1.0", "program": "/a/</script><b>prog", "pid": 4,
        "started_unix_ms": 0, "elapsed_ns": 5_000_000, "ending": "signal 11",
        "schedule": "hetprobe,10%",
        "nodes": [{"cpus": "0", "speed": 1.0, "name": null}, {"cpus": "1", "speed": 0.33, "name": "slow"}],
        "reach": {"runs": 2, "elapsed_ns": 4_000_000, "by": [
            {"way": "virtual-team", "kept": false, "reason": "x", "runs": 1, "elapsed_ns": 3_000_000, "share": 0.75},
            {"way": "short", "kept": true, "reason": "too short", "runs": 1, "elapsed_ns": 1_000_000, "share": 0.25},
        ]},
        "regions": [
            with(place("small._omp_fn.0"), json!({
                "runs": 1, "elapsed_ns": 1_000_000, "min_ns": 1_000_000, "max_ns": 1_000_000,
                "ways": [way("short", true, 1_000_000)],
            })),
            with(place("_Z5sweepPdi._omp_fn.1"), json!({
                "runs": 1, "elapsed_ns": 3_000_000, "min_ns": 3_000_000, "max_ns": 3_000_000,
                "ways": [way("virtual-team", false, 3_000_000)],
            })),
        ],
        "loops": [with(place("sweep"), json!({
            "unit": "iterations", "schedule": "hetprobe,10%", "executions": 2, "iterations": 200,
            "elapsed_ns": 2_000_000, "min_ns": 900_000, "max_ns": 1_100_000,
            "nodes": [
                {"threads": 1, "iterations": 150, "share": 0.75, "busy_ns": 1, "elapsed_ns": 1, "csr": 3.0},
                {"threads": 1, "iterations": 50, "share": 0.25, "busy_ns": 1, "elapsed_ns": 1, "csr": null},
            ],
            "decisions": [{
                "execution": 1, "iterations": 100, "elapsed_ns": 1_100_000, "learning": "probed",
                "reason": "split <i>&</i>", "nodes": [
                    {"decided_share": 0.7, "probe_ns_per_iteration": 12.5, "share": 0.75, "csr": 3.0},
                    {"decided_share": null, "probe_ns_per_iteration": null, "share": 0.25, "csr": null},
                ],
            }],
        }))],
    })
}

fn trace() -> Value {
    let mut events = vec![
        json!({"name": "thread_name", "ph": "M", "pid": 4, "tid": 4, "args": {"name": "thread 0"}}),
        json!({"name": "decision", "cat": "decision", "ph": "i", "s": "t", "pid": 4, "tid": 4, "ts": 30.0,
            "args": {"loop": "l", "reason": "split </script>"}}),
    ];
    for (cat, ts, dur) in [
        ("region", 10.0, 80.0),
        ("probe", 12.0, 8.0),
        ("chunk", 20.0, 60.5),
        ("wait", 81.0, 9.0),
    ] {
        for tid in [4, 5] {
            events.push(json!({"name": cat, "cat": cat, "ph": "X", "pid": 4, "tid": tid, "ts": ts, "dur": dur,
                "args": {}}));
        }
    }
    json!({"displayTimeUnit": "ns", "otherData": {"hetmp_trace": 1, "ending": "exit", "dropped_events": 3},
        "traceEvents": events})
}

#[test]
fn a_table() {
    let scratch = Scratch::new("table");
    let file = scratch.write(
        "r.json",
        &report("/nonexistent/prog", None, 0x40).to_string(),
    );
    let out = hetmp(&[&file]);
    assert_eq!(text(&out.stderr), "");
    assert!(out.status.success());
    let out = text(&out.stdout);
    for part in [
        "by signal 11 (SIGSEGV) after 5.00 ms",
        "1: CPUs 1, slow, slowed to 0.33",
        "virtual-team  divided  75.0%",
        "short         kept     25.0%",
        "75.0% 25.0%",
        "3.00:-",
        "no source lines for /nonexistent/prog: the file is gone",
    ] {
        assert!(out.contains(part), "{part} in\n{out}");
    }
    // The region that took longer comes first, under the name that it has in the source.
    let (sweep, small) = (out.find("  sweep  "), out.find("  small  "));
    assert!(sweep.is_some() && sweep < small, "{out}");
    let top = text(&hetmp(&[&file, "--top", "1"]).stdout);
    assert!(
        top.contains("  sweep  ") && !top.contains("  small  "),
        "{top}"
    );
}

/// The words of the tables, without a report.
#[test]
fn words_are_explained() {
    let out = hetmp(&["--words"]);
    assert_eq!(text(&out.stderr), "");
    let out = text(&out.stdout);
    for (word, meaning) in [
        ("virtual-team", "run as more pieces than threads"),
        ("no-schedule", "--schedule hetprobe"),
        ("one-thread", "a team of one thread. By `num_threads(1)`"),
    ] {
        let line = out.lines().find(|l| l.starts_with(&format!("  {word} ")));
        assert!(line.is_some_and(|l| l.contains(meaning)), "{word}: {out}");
    }
    assert_eq!(hetmp(&["--words", "--json"]).status.code(), Some(2));
}

/// A function at a known line, built with and without debug information.
#[test]
fn source_lines() {
    let scratch = Scratch::new("source");
    let source = scratch.write(
        "prog.c",
        "\n\nint work(int x)\n{\n    return x * 3;\n}\nint main(void)\n{\n    return work(0);\n}\n",
    );
    let build = |name: &str, options: &[&str]| {
        let program = scratch.0.join(name);
        let status = Command::new("gcc")
            .args(["-O0", "-Wl,--build-id", "-o"])
            .arg(&program)
            .arg(&source)
            .args(options)
            .status();
        assert!(status.expect("gcc runs").success());
        program
    };
    let address = |program: &Path| {
        let out = Command::new("nm")
            .arg(program)
            .output()
            .expect("nm (binutils) runs");
        let out = text(&out.stdout);
        let line = out
            .lines()
            .find(|l| l.ends_with(" T work"))
            .expect("the function");
        u64::from_str_radix(&line[..16], 16).expect("an address")
    };
    let show_of = |list: &str, program: &Path, id: Option<&str>, offset: u64| {
        let value = report(&program.display().to_string(), id, offset);
        let file = scratch.write("r.json", &value.to_string());
        let out = hetmp(&[&file, "--json"]);
        let out: Value = serde_json::from_slice(&out.stdout).expect("JSON");
        out[list][0]["source"].clone()
    };
    let show = |program: &Path, id, offset| show_of("regions", program, id, offset);
    let full = build("full", &["-g"]);
    let at = address(&full);
    let found = show(&full, None, at);
    assert_eq!(
        (&found["function"], &found["line"]),
        (&json!("work"), &json!(4)),
        "{found}"
    );
    assert!(
        found["file"]
            .as_str()
            .is_some_and(|f| f.ends_with("prog.c")),
        "{found}"
    );
    // A loop is named by where its first call returns to, or by the function that is its body: not by what is before.
    let found = show_of("loops", &full, None, at);
    assert_eq!(
        (&found["function"], &found["line"]),
        (&json!("work"), &json!(4)),
        "{found}"
    );
    let plain = build("plain", &[]);
    let found = show(&plain, None, address(&plain));
    assert_eq!(
        (&found["function"], &found["line"]),
        (&json!("work"), &Value::Null)
    );
    assert!(
        found["note"].as_str().is_some_and(|n| n.contains("-g")),
        "{found}"
    );
    // The build-id differs: this is not the file that ran, and its debug information must not be used.
    let found = show(&full, Some("0123456789abcdef"), at);
    assert_eq!(found["note"], "the file was changed since");
    assert_eq!(
        (&found["function"], &found["line"]),
        (&json!("small"), &Value::Null)
    );
    // With damaged debug information, the result is the same as without any.
    let mut bytes = fs::read(&full).expect("readable");
    let middle = bytes.len() / 3;
    bytes[middle..].fill(0xa5);
    fs::write(scratch.0.join("damaged"), bytes).expect("written");
    show(&scratch.0.join("damaged"), None, at);
}

#[test]
fn files_that_are_no_reports() {
    let scratch = Scratch::new("bad");
    let good = report("/nonexistent/prog", None, 0).to_string();
    let mut later = report("/nonexistent/prog", None, 0);
    later["hetmp_report"] = json!(3);
    let mut wrong = report("/nonexistent/prog", None, 0);
    wrong["loops"][0]["iterations"] = json!(-1);
    for (content, why) in [
        ("", "cut short after 0 bytes"),
        (&good[..good.len() / 2], "cut short after"),
        (&good[..good.len() - 1], "cut short after"),
        ("[1, 2", "cut short"),
        ("hello", "not JSON"),
        ("{}", "no field hetmp_report"),
        ("[]", "no field hetmp_report"),
        (&later.to_string(), "format 3 (expected format 2, "),
        (&wrong.to_string(), "-1"),
        (&"[".repeat(100_000), "not JSON"),
    ] {
        let file = scratch.write("bad.json", content);
        for options in [&[][..], &["--json"], &["--html", "/dev/null"]] {
            let out = hetmp(&[&[file.as_str()], options].concat());
            assert_eq!(out.status.code(), Some(2), "{why}");
            let said = text(&out.stderr);
            assert!(
                said.starts_with(&format!("hetmp: report {file}: ")),
                "{said}"
            );
            assert!(
                said.contains(why) && said.lines().count() == 1,
                "{why}: {said}"
            );
            assert_eq!(text(&out.stdout), "", "{why}");
        }
    }
    let file = scratch.write("good.json", &good);
    for arguments in [
        &["/nonexistent/file"][..],
        &["/"],
        &[&file, "--html", "/nonexistent/page.html"],
        &[&file, "--html", "/dev/null", "--trace", &file],
        &[
            &file,
            "--html",
            "/dev/null",
            "--trace",
            "/nonexistent/trace",
        ],
        &[&file, "--trace", &file],
        &[],
    ] {
        let out = hetmp(arguments);
        assert_eq!(out.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&out.stdout), "");
        assert!(!out.stderr.is_empty());
    }
}

/// The page needs no other files, and no text of the program becomes markup.
#[test]
fn a_page_of_its_own() {
    let scratch = Scratch::new("page");
    let file = scratch.write(
        "r.json",
        &report("/nonexistent/prog", None, 0x40).to_string(),
    );
    let trace = scratch.write("t.json", &trace().to_string());
    let html = scratch.0.join("page.html");
    let name = html.display().to_string();
    let out = hetmp(&[&file, "--html", &name, "--trace", &trace]);
    assert_eq!(text(&out.stderr), "");
    let page = fs::read_to_string(&html).expect("written");
    for reference in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert!(page.contains("split &lt;i&gt;&amp;&lt;/i&gt;"));
    assert!(page.contains("no room for 3 older events"));
    assert_eq!(page.matches("</script>").count(), 2);
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium to open the page in (optional; scripts/setup does not install it)");
        return;
    };
    let dump = |extra: &[&str]| {
        let profile = scratch.0.join("profile");
        let out = Command::new(browser)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ])
            .arg(format!("--user-data-dir={}", profile.display()))
            .args(["--window-size=1200,1600", "--virtual-time-budget=3000"])
            .args(extra)
            .arg(format!("file://{name}"))
            .output()
            .expect("the browser runs");
        (
            text(&out.stdout),
            String::from_utf8_lossy(&out.stderr).into_owned(),
        )
    };
    let (dom, errors) = dump(&["--dump-dom", "--enable-logging=stderr"]);
    // Eight spans, some of them on the same pixel perhaps, and a decision.
    assert!(dom.contains("data-drawn=\"9\""), "{errors}\n{dom}");
    assert!(!errors.contains("CONSOLE"), "{errors}");
    let picture = scratch.0.join("page.png");
    dump(&[&format!("--screenshot={}", picture.display())]);
    let size = fs::metadata(&picture).map_or(0, |m| m.len());
    assert!(size > 10_000, "a picture of {size} bytes");
}

/// The report of a program on two nodes with memory of their own: one region crossed and once ran whole on node 1, the
/// other one stayed.
fn report_of_nodes() -> Value {
    let traffic = |reads: u64, writes: u64, pages: u64, taken: u64, ns: u64| {
        json!({"read_faults": reads, "write_faults": writes, "pages_along": 7, "bytes_sent": pages * 4096,
            "pages_taken_away": taken, "waited_ns": ns})
    };
    let region = |symbol: &str, more: Value| {
        let mut row = json!({"region": "prog+0x40", "module": "/nonexistent/prog", "build_id": null, "offset": 0x40,
            "symbol": symbol, "crossed": 0, "across_ns": 0, "threads": [], "moved": 0, "moved_ns": 0, "moved_to": 0,
            "stayed": 0, "home_ns": 0, "reason": "too short", "nodes": []});
        let fields = more.as_object().expect("an object").clone();
        row.as_object_mut().expect("an object").extend(fields);
        row
    };
    let mut all = report("/nonexistent/prog", None, 0x40);
    all["dsm"] = json!({
        "nodes": [traffic(11, 22, 3, 44, 5_000_000), traffic(66, 77, 8, 99, 15_000_000)],
        "regions": [
            region("quiet._omp_fn.0", json!({"stayed": 5, "home_ns": 500_000})),
            region("relax._omp_fn.1", json!({
                "crossed": 4, "across_ns": 8_000_000, "moved": 2, "moved_ns": 6_000_000, "moved_to": 1,
                "reason": "faster <i>across</i>",
                "nodes": [traffic(1, 20, 2, 31, 1_000_000), traffic(46, 57, 4, 68, 3_000_000)],
            })),
        ],
        "pages": [{"address": 0x40_5000, "requests": 120, "contents": "grid<b>[4096..8191]"},
            {"address": 0x40_6000, "requests": 30, "contents": "grid[8192..12287]"}],
    });
    all
}

#[test]
fn a_page_shows_what_nodes_fetched() {
    let scratch = Scratch::new("nodes");
    let page_of = |name: &str, report: &Value| {
        let file = scratch.write(name, &report.to_string());
        let html = format!("{file}.html");
        let out = hetmp(&[&file, "--html", &html]);
        assert_eq!(text(&out.stderr), "");
        fs::read_to_string(&html).expect("written")
    };
    let without = page_of("alone.json", &report("/nonexistent/prog", None, 0x40));
    assert!(!without.contains("Distributed shared memory"), "{without}");

    let page = page_of("nodes.json", &report_of_nodes());
    let row = |cells: &[&str]| {
        let mark = cells.iter().map(|c| format!("<td class=\"n\">{c}"));
        mark.collect::<String>()
    };
    for part in [
        "Distributed shared memory on 2 nodes",
        // Each node over the whole program, a region over its nodes, and that region on one of them.
        &row(&["11", "22", "7", "12 KiB", "44", "5.00 ms"]),
        &row(&["66", "77", "7", "32 KiB", "99", "15.0 ms"]),
        &row(&["47", "77", "14", "24 KiB", "99", "4.00 ms"]),
        &row(&["1", "46", "57", "7", "16 KiB", "68", "3.00 ms"]),
        "<b>across</b> <span class=\"soft\">4 runs, mean 2.00 ms</span>",
        "<b>whole on node 1</b> <span class=\"soft\">2 runs, mean 3.00 ms</span>",
        "<b>at the origin</b> <span class=\"soft\">5 runs, mean 100 us</span>",
        // Three quarters of the time waited was on node 1.
        "<i style=\"width:75.00%;background:var(--n1)\" title=\"node 1: 3.00 ms waited for pages\">",
        "faster &lt;i&gt;across&lt;/i&gt;",
        "<code>0x405000</code><td><code>grid&lt;b&gt;[4096..8191]</code>",
        "<i style=\"width:25.00%;background:var(--k0)\" title=\"30 requests\">",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    // The region that took longest comes first, in the table as well.
    let first =
        |page: &str| page.find("relax").expect("relax") < page.find("quiet").expect("quiet");
    assert!(first(
        &page[page.find("Regions that may cross").expect("a part")..]
    ));
    let file = scratch.0.join("nodes.json").display().to_string();
    let table = text(&hetmp(&[&file]).stdout);
    assert!(
        first(&table[table.find("Distributed").expect("a part")..]),
        "{table}"
    );
    let one = text(&hetmp(&[&file, "--top", "1"]).stdout);
    assert!(one.contains("relax") && !one.contains("quiet"), "{one}");
}

fn browser() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok())
}
