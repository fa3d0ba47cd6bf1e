//! `hetmp goal` as a user runs it.

use std::path::{Path, PathBuf};
use std::process::Command;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("hetmp-goal-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Exit status, standard output, standard error.
fn goal(arguments: &[&str]) -> (i32, String, String) {
    let ran = Command::new(env!("CARGO_BIN_EXE_hetmp"))
        .arg("goal")
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        ran.status.code().unwrap(),
        text(ran.stdout),
        text(ran.stderr),
    )
}

fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A binomial broadcast over eight ranks, as generators write it.
fn tree() -> String {
    let mut text = String::from("num_ranks 8\n");
    for r in 0..8u32 {
        text.push_str(&format!("rank {r} {{\n"));
        if r != 0 {
            text.push_str(&format!("l0: recv 9000b from {} tag 1\n", r & (r - 1)));
        }
        let lowest = if r == 0 { 8 } else { r & r.wrapping_neg() };
        for bit in [1, 2, 4].into_iter().filter(|b| *b < lowest) {
            text.push_str(&format!("s{bit}: send 9000b to {} tag 1\n", r + bit));
            if r != 0 {
                text.push_str(&format!("s{bit} requires l0\n"));
            }
        }
        text.push_str("c: calc 100\n}\n");
    }
    text
}

#[test]
fn a_job_is_checked_compiled_shown_and_drawn() {
    let folder = Folder::new("job");
    let file = folder.file("tree.goal", tree().as_bytes());
    let (status, out, err) = goal(&["check", shown(&file), "--seed", "9"]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert_eq!(
        out,
        "8 ranks, 22 operations, 7 messages between ranks: every schedule ends; computation on the longest way 100 ns\n"
    );
    let binary = folder.0.join("r4");
    let (status, out, err) = goal(&["compile", shown(&file), "--rank", "4", "-o", shown(&binary)]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let (status, out, _) = goal(&["show", shown(&binary)]);
    assert_eq!(status, 0);
    assert!(out.starts_with("rank 4 of 8, 4 operations"), "{out}");
    assert!(out.contains("receive 9000 bytes from 0 tag 1\n"), "{out}");
    assert!(
        out.contains("send 9000 bytes to 6 tag 1; after 0\n"),
        "{out}"
    );
    let (status, out, _) = goal(&["plot", shown(&file)]);
    assert_eq!(status, 0);
    assert!(
        out.starts_with("digraph goal {") && out.ends_with("}\n"),
        "{out}"
    );
    assert_eq!(out.matches("color=blue").count(), 7, "{out}");
}

#[test]
fn what_is_wrong_costs_a_line() {
    let folder = Folder::new("wrong");
    let ring = "num_ranks 2\nrank 0 {\na: recv 1b from 1\nb: send 1b to 1\nb requires a }\n\
                rank 1 {\na: recv 1b from 0\nb: send 1b to 0\nb requires a }\n";
    let ring = folder.file("ring", ring.as_bytes());
    let (status, out, err) = goal(&["check", shown(&ring)]);
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(
        err.contains(": a circle (") && err.contains("rank 1 operation 0 is a in line 7"),
        "{err}"
    );
    let bad = folder.file("bad", b"num_ranks 1 rank 0 { send }");
    let binary = folder.file("binary", &[0xff; 64]);
    let text = folder.file("tree", tree().as_bytes());
    let nowhere = folder.0.join("no/where");
    for (arguments, words) in [
        (
            vec!["check", shown(&bad)],
            "line 1: }: out of place (expected a length such as 8b)",
        ),
        (
            vec!["check", "/dev/zero"],
            "file /dev/zero: not a regular file",
        ),
        (vec!["check", shown(&binary)], "not UTF-8"),
        (
            vec!["show", shown(&binary)],
            "no GOAL schedule: another magic number or version at word 0",
        ),
        (
            vec!["compile", shown(&text), "--rank", "8", "-o", "x"],
            "--rank: '8': no such rank (expected 0 to 7)",
        ),
        (
            vec!["compile", shown(&text), "-o", shown(&nowhere)],
            "(expected the name of a file that can be written)",
        ),
    ] {
        let (status, out, err) = goal(&arguments);
        assert_eq!((status, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(
            err.starts_with("hetmp: ") && err.contains(words),
            "{arguments:?}: {err}"
        );
        assert_eq!(err.lines().count(), 1, "{err}");
    }
}

/// `hetmp goal run` in the processes of a job.
fn run(ranks: u32, engine: &str, way: &str, arguments: &[&str]) -> (i32, String, String) {
    let ran = Command::new(env!("CARGO_BIN_EXE_hetrun"))
        .args([
            "-n",
            &ranks.to_string(),
            env!("CARGO_BIN_EXE_hetmp"),
            "goal",
            "run",
        ])
        .args(arguments)
        .env("HETMP_GOAL_ENGINE", engine)
        .env("HETMP_NIC", way)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        ran.status.code().unwrap(),
        text(ran.stdout),
        text(ran.stderr),
    )
}

#[test]
fn a_schedule_runs_for_real_in_the_order_of_its_graph() {
    let folder = Folder::new("run");
    let file = folder.file("tree.goal", tree().as_bytes());
    let (svg, trace) = (folder.0.join("t.svg"), folder.0.join("t.json"));
    for (engine, way) in [("user", "auto"), ("thread", "auto"), ("thread", "tcp")] {
        let arguments = [
            shown(&file),
            "--times",
            "3",
            "--svg",
            shown(&svg),
            "--trace",
            shown(&trace),
        ];
        let (status, out, errors) = run(8, engine, way, &arguments);
        assert_eq!((status, errors.as_str()), (0, ""), "{out}");
        let begins = format!(
            "8 ranks, 22 operations, 3 times by engine {engine}: every order is the graph's;"
        );
        assert!(out.starts_with(&begins), "{out}");
        let picture = std::fs::read_to_string(&svg).unwrap();
        assert_eq!(picture.matches("<title>").count(), 22, "{picture}");
        assert!(picture.contains("rank 7"));
        let trace = std::fs::read_to_string(&trace).unwrap();
        assert_eq!(trace.matches("\"ph\":\"X\"").count(), 22);
    }
}

#[test]
fn a_job_of_another_size_is_refused() {
    let folder = Folder::new("size");
    let file = folder.file("tree.goal", tree().as_bytes());
    let (status, _, errors) = run(2, "thread", "auto", &[shown(&file)]);
    assert_eq!(status, 2);
    assert!(
        errors.contains("hetmp: 2 processes: the job has 8 ranks (expected hetrun -n 8)"),
        "{errors}"
    );
}

/// All pairs exchange: an alltoall of three GPUs, one chunk for each.
fn alltoall() -> String {
    let mut text =
        String::from("<algo name=\"pairs\" ngpus=\"3\" coll=\"alltoall\" inplace=\"0\">\n");
    for r in 0..3 {
        text.push_str(&format!(
            "<gpu id=\"{r}\" i_chunks=\"3\" o_chunks=\"3\" s_chunks=\"0\">\n"
        ));
        for p in 0..3 {
            let (kind, peer) = if p == r { ("cpy", -1) } else { ("s", p) };
            text.push_str(&format!(
                "<tb id=\"{p}\" send=\"{peer}\" recv=\"{peer}\" chan=\"0\">\
                 <step s=\"0\" type=\"{kind}\" srcbuf=\"i\" srcoff=\"{p}\" dstbuf=\"o\" dstoff=\"{r}\" cnt=\"1\" \
                 depid=\"-1\" deps=\"-1\"/>\n"
            ));
            if p != r {
                text.push_str(&format!(
                    "<step s=\"1\" type=\"r\" srcbuf=\"i\" srcoff=\"{r}\" dstbuf=\"o\" dstoff=\"{p}\" cnt=\"1\" \
                     depid=\"-1\" deps=\"-1\"/>\n"
                ));
            }
            text.push_str("</tb>\n");
        }
        text.push_str("</gpu>\n");
    }
    text + "</algo>\n"
}

#[test]
fn an_algorithm_of_msccl_is_imported_and_runs_with_data() {
    let folder = Folder::new("msccl");
    let file = folder.file("pairs.xml", alltoall().as_bytes());
    let (status, text, errors) = goal(&["import", shown(&file), "--chunk", "2"]);
    assert_eq!((status, errors.as_str()), (0, ""));
    assert_eq!(text.matches("send 8b to").count(), 6, "{text}");
    let again = folder.file("pairs.goal", text.as_bytes());
    for file in [&file, &again] {
        let (status, out, errors) = goal(&["check", shown(file)]);
        assert_eq!((status, errors.as_str()), (0, ""));
        assert!(
            out.starts_with("3 ranks, 15 operations, 6 messages"),
            "{out}"
        );
    }
    let (status, _, errors) = goal(&["import", shown(&again)]);
    assert_eq!(status, 2);
    assert!(
        errors.contains("(expected an algorithm of MSCCL)"),
        "{errors}"
    );
    // Short messages, and ones that wait for their receives.
    for chunk in ["4", "5000"] {
        let (status, out, errors) = run(3, "thread", "auto", &[shown(&file), "--chunk", chunk]);
        assert_eq!((status, errors.as_str()), (0, ""), "{out}");
        assert!(out.contains("the data are those of an alltoall"), "{out}");
    }
}

#[test]
fn calibration_names_a_choice_that_is_accepted() {
    let ran = Command::new(env!("CARGO_BIN_EXE_hetrun"))
        .args(["-n", "3", env!("CARGO_BIN_EXE_hetmp"), "calibrate", "goal"])
        .args(["--longest", "512", "--rounds", "1"])
        .output()
        .unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "{out}");
    let choice = out
        .lines()
        .find_map(|l| l.strip_prefix("HETMP_GOAL_CHOICE="));
    let choice = choice.expect("a last line");
    let names: Vec<&str> = choice
        .split(',')
        .filter_map(|p| p.split('=').next())
        .collect();
    assert_eq!(names, ["allreduce", "allgather", "alltoall"]);
    // Tables of three collectives at 8, 32, 128 and 512 bytes.
    let rows = out.lines().filter(|l| {
        let words: Vec<&str> = l.split_whitespace().collect();
        words.len() == 4 && words[1..].iter().all(|w| w.parse::<f64>().is_ok())
    });
    assert_eq!(rows.count(), 12, "{out}");
}
