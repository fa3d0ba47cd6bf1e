//! Every command and option that reads a file, with files that are none of its kind: a device without end, a pipe that
//! nobody writes to, a folder, a gigabyte of zeros, a file that this user may not read, an empty one, and one with
//! control characters. Each ends soon, with one line, of bounded memory, and shows no control character.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A reader without an end reaches neither of them by itself.
const LIMIT: Duration = Duration::from_secs(120);
const MOST_KIB: u32 = 6 << 20;

const HETMP: &str = "hetmp";
const HETRUN: &str = "hetrun";

/// The command, its arguments and a variable; FILE stands for the file, GOOD for a report.
const READERS: &[(&str, &[&str], &str)] = &[
    (HETMP, &["report", "FILE"], ""),
    (
        HETMP,
        &["report", "GOOD", "--html", "/dev/null", "--trace", "FILE"],
        "",
    ),
    (HETMP, &["which", "FILE"], ""),
    (HETMP, &["which", "--python", "FILE", "numpy"], ""),
    (HETMP, &["run", "--library", "FILE", "/bin/echo", "ran"], ""),
    (
        HETMP,
        &[
            "run",
            "--library",
            "LIBRARY",
            "--nodes",
            "@FILE",
            "/bin/echo",
            "ran",
        ],
        "",
    ),
    (HETMP, &["run", "--library", "LIBRARY", "FILE"], ""),
    (HETMP, &["simulate", "--platform", "FILE"], ""),
    (HETMP, &["simulate", "--workload", "FILE"], ""),
    (HETMP, &["info"], "HETMP_NODES"),
    (HETMP, &["goal", "check", "FILE"], ""),
    (
        HETMP,
        &[
            "goal",
            "compile",
            "FILE",
            "--rank",
            "0",
            "--output",
            "/dev/null",
        ],
        "",
    ),
    (HETMP, &["goal", "show", "FILE"], ""),
    (HETMP, &["goal", "plot", "FILE"], ""),
    (HETMP, &["goal", "import", "FILE"], ""),
    (HETMP, &["goal", "run", "FILE"], ""),
    (HETRUN, &["--hosts", "FILE", "/bin/echo", "ran"], ""),
    (HETRUN, &["-n", "1", "FILE"], ""),
];

const REPORT: &str = r#"{"hetmp_report":2, "hetmp":"0.1.0", "program":"p", "pid":1, "started_unix_ms":1, "elapsed_ns":2,
"ending":"exit", "schedule":"static", "nodes":[], "regions":[], "loops":[]}"#;

#[test]
fn files_that_are_none_of_the_kind() {
    let dir = std::env::temp_dir().join(format!("hetmp-cli-files-{}", std::process::id()));
    fs::create_dir_all(&dir).expect("a folder");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("a mode");
    let at = |name: &str| dir.join(name);
    // Another user may have no way to where they were built.
    fs::copy(env!("CARGO_BIN_EXE_hetmp"), at(HETMP)).expect("copied");
    fs::copy(env!("CARGO_BIN_EXE_hetrun"), at(HETRUN)).expect("copied");
    fs::write(at("good"), REPORT).expect("written");
    fs::write(at("l.c"), "int hetmp_stand_in;").expect("written");
    let made = Command::new("gcc")
        .args(["-shared", "-fPIC", "l.c", "-o", "LIBRARY"])
        .current_dir(&dir)
        .status();
    assert!(made.expect("gcc runs").success());
    let made = Command::new("mkfifo").arg(at("pipe")).status();
    assert!(made.expect("mkfifo runs").success());
    let zeros = fs::File::create(at("zeros")).expect("a file");
    zeros.set_len(1 << 30).expect("a hole");
    fs::write(at("empty"), "").expect("written");
    fs::write(at("controls"), "\u{1b}]0;title\u{7} x\n\u{1}\u{9b}2J\n").expect("written");
    fs::write(at("secret"), "hunter2 is a secret\n").expect("written");
    fs::set_permissions(at("secret"), fs::Permissions::from_mode(0o0)).expect("a mode");

    let names = ["pipe", "zeros", "empty", "controls", "secret", "nothing"];
    let mut files: Vec<PathBuf> = names.iter().map(|name| at(name)).collect();
    files.extend([PathBuf::from("/dev/zero"), dir.clone()]);
    for file in &files {
        for (command, arguments, variable) in READERS {
            check(&dir, file, command, arguments, variable);
        }
    }
    fs::remove_dir_all(&dir).expect("removed");
}

fn check(dir: &Path, file: &Path, command: &str, arguments: &[&str], variable: &str) {
    let whole = |argument: &str| {
        argument
            .replace("FILE", &file.display().to_string())
            .replace("GOOD", &dir.join("good").display().to_string())
            .replace("LIBRARY", &dir.join("LIBRARY").display().to_string())
    };
    let (out, err) = (dir.join("out"), dir.join("err"));
    let create = |path: &Path| fs::File::create(path).expect("a file");
    let mut shell = Command::new("/bin/sh");
    shell
        .arg("-c")
        .arg(format!("ulimit -v {MOST_KIB}; exec \"$@\""))
        .arg("sh")
        .arg(dir.join(command))
        .args(arguments.iter().map(|argument| whole(argument)))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(create(&out))
        .stderr(create(&err));
    if !variable.is_empty() {
        shell.env(variable, format!("@{}", file.display()));
    }
    // SAFETY: geteuid has no preconditions.
    if file.ends_with("secret") && unsafe { libc::geteuid() } == 0 {
        // Nobody.
        shell.uid(65534).gid(65534);
    }
    let mut child = shell.spawn().expect("it starts");
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if begin.elapsed() > LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{command} {arguments:?} does not end on {}", file.display());
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let said = fs::read_to_string(&err).expect("UTF-8");
    let text = fs::read_to_string(&out).expect("UTF-8");
    let what = format!(
        "{command} {arguments:?} {}: {status}: {said}",
        file.display()
    );
    // Programs that cannot be started, as shells say it; `info` shows what there is without the nodes.
    let accepted: &[i32] = match arguments {
        ["info"] => &[1],
        ["-n", ..] | ["run", .., "FILE"] => &[126, 127],
        _ => &[2],
    };
    assert!(
        status.code().is_some_and(|code| accepted.contains(&code)),
        "{what}"
    );
    assert_eq!(said.lines().count(), 1, "{what}");
    assert!(said.starts_with("hetmp: ") && said.len() < 1000, "{what}");
    assert!(!said.trim_end().contains(char::is_control), "{what}");
    assert!(!text.contains("ran") && !said.contains("hunter2"), "{what}");
}
