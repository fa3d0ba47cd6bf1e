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
        err.contains("rank 1 operation 0") && err.ends_with(": a circle\n"),
        "{err}"
    );
    let bad = folder.file("bad", b"num_ranks 1 rank 0 { send }");
    let binary = folder.file("binary", &[0xff; 64]);
    let text = folder.file("tree", tree().as_bytes());
    let nowhere = folder.0.join("no/where");
    for (arguments, words) in [
        (
            vec!["check", shown(&bad)],
            "line 1: }: a length such as 8b is accepted",
        ),
        (
            vec!["check", "/dev/zero"],
            "file /dev/zero: another kind, or too long",
        ),
        (vec!["check", shown(&binary)], "not UTF-8"),
        (
            vec!["show", shown(&binary)],
            "no GOAL schedule: another magic number or version at word 0",
        ),
        (
            vec!["compile", shown(&text), "--rank", "8", "-o", "x"],
            "--rank 8: 0 to 7 are accepted",
        ),
        (
            vec!["compile", shown(&text), "-o", shown(&nowhere)],
            "a file that can be written is accepted",
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
