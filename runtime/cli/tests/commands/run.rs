//! `hetmp run` as a user runs it. A library that does nothing replaces the real one: these tests look at
//! the environment of the program, and at messages. `abi-compat/tests/install.rs` uses the real library.

mod compare;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{chown, PermissionsExt as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

struct Scratch(PathBuf);

impl Scratch {
    /// A folder with a library `l.so` that does nothing.
    fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("hetmp-cli-run-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a folder");
        let dir = fs::canonicalize(dir).expect("a folder");
        let scratch = Scratch(dir);
        scratch.compile("l.so", "int hetmp_stand_in;", &["-shared", "-fPIC"]);
        scratch
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn compile(&self, name: &str, source: &str, options: &[&str]) -> PathBuf {
        let c = self.path(&format!("{name}.c"));
        fs::write(&c, source).expect("written");
        let path = self.path(name);
        let out = Command::new("gcc")
            .args(options)
            .arg(&c)
            .arg("-o")
            .arg(&path)
            .output()
            .expect("gcc runs");
        assert!(out.status.success(), "{}", text(&out.stderr));
        path
    }

    fn script(&self, name: &str, source: &str, mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, source).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        path
    }

    /// `hetmp run --library l.so`, in an environment without the variables that the command reads.
    fn hetmp<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        self.command("run", arguments)
    }

    fn command<A: AsRef<OsStr>>(&self, name: &str, arguments: &[A]) -> Command {
        let subcommand = name;
        let mut command = Command::new(env!("CARGO_BIN_EXE_hetmp"));
        for name in [
            "LD_PRELOAD",
            "HETMP_SCHEDULE",
            "OMP_SCHEDULE",
            "HETMP_NODES",
        ] {
            command.env_remove(name);
        }
        command
            .arg(subcommand)
            .arg("--library")
            .arg(self.path("l.so"))
            .args(arguments);
        command
    }

    fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Output {
        self.hetmp(arguments).output().expect("hetmp runs")
    }

    /// The one line that refuses, behind `hetmp: `.
    fn refusal(&self, status: i32, arguments: &[&OsStr]) -> String {
        let out = self.run(arguments);
        let error = text(&out.stderr);
        assert_eq!(out.status.code(), Some(status), "{error}");
        assert_eq!(text(&out.stdout), "");
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines.len(), 1, "{error}");
        lines[0]
            .strip_prefix("hetmp: ")
            .expect("the prefix")
            .to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_program_has_this_process_and_the_preload() {
    let s = Scratch::new("same");
    let child = s
        .hetmp(&[
            "sh",
            "-c",
            "echo $$ $LD_PRELOAD \"$1\"; exit 7",
            "sh",
            "--report",
        ])
        .env("LD_PRELOAD", "/nonexistent-before.so")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("hetmp runs");
    let id = child.id();
    let out = child.wait_with_output().expect("it ends");
    let library = s.path("l.so");
    assert_eq!(
        text(&out.stdout),
        format!(
            "{id} {}:/nonexistent-before.so --report\n",
            library.display()
        )
    );
    assert_eq!(out.status.code(), Some(7));
}

#[test]
fn options_become_variables() {
    let s = Scratch::new("options");
    let show = "echo $HETMP_SCHEDULE,$HETMP_NODES,$OMP_NUM_THREADS,$HETMP_TRACE,$HETMP_PROFILE,$HETMP_VERBOSE";
    let out = s.run(&["sh", "-c", show]);
    assert!(
        text(&out.stdout).ends_with(",,,,,\n"),
        "{}",
        text(&out.stdout)
    );
    let options = [
        "--schedule",
        "static-csr:2,1",
        "--nodes",
        "1",
        "--threads",
        "4,2",
        "--trace",
        "t.json",
        "--profile-file",
        "p",
        "--verbose",
        "--",
        "sh",
        "-c",
        show,
    ];
    // The program may change its folder.
    let out = s
        .hetmp(&options)
        .current_dir(&s.0)
        .output()
        .expect("hetmp runs");
    assert_eq!(
        text(&out.stdout),
        format!("static-csr:2,1,1,4,2,{0}/t.json,{0}/p,1\n", s.0.display())
    );
    // A variable of the environment counts if no option sets another value.
    let out = s
        .hetmp(&["sh", "-c", show])
        .env("HETMP_SCHEDULE", "guided")
        .env("HETMP_NODES", "1")
        .output()
        .expect("hetmp runs");
    assert_eq!(text(&out.stdout), "guided,1,,,,\n");
}

#[test]
fn unlike_nodes_get_hetprobe_unless_something_is_said() {
    let s = Scratch::new("unlike");
    // SAFETY: sysconf has no preconditions.
    if unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) } < 2 {
        return; // A machine of one core has no two nodes.
    }
    let info = Command::new(env!("CARGO_BIN_EXE_hetmp"))
        .args(["info", "--json"])
        .output()
        .expect("hetmp runs");
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).expect("JSON");
    let cpus = info["allowed"].as_array().expect("a list");
    let [a, b, ..] = &cpus[..] else { return };
    let nodes = format!("cores={a},speed=1;cores={b},speed=0.5");
    let out = s.run(&[
        "--verbose",
        "--nodes",
        &nodes,
        "sh",
        "-c",
        "echo $HETMP_SCHEDULE",
    ]);
    assert_eq!(text(&out.stdout), "hetprobe\n");
    assert_eq!(
        text(&out.stderr),
        "hetmp: schedule hetprobe: nodes 0 and 1 differ in the speed they are slowed to\n"
    );
    let out = s
        .hetmp(&["--nodes", &nodes, "sh", "-c", "echo $HETMP_SCHEDULE"])
        .env("OMP_SCHEDULE", "static")
        .output()
        .expect("hetmp runs");
    assert_eq!(text(&out.stdout), "\n");
}

#[test]
fn what_takes_no_preload_is_refused_in_one_line() {
    let s = Scratch::new("refused");
    let refused = |status, path: &Path| s.refusal(status, &[path.as_os_str()]);
    let name = |path: &Path| format!("program {}: ", path.display());

    let nowhere = s.path("nowhere");
    assert!(refused(127, &nowhere).starts_with(&name(&nowhere)));
    assert_eq!(
        s.refusal(127, &[OsStr::new("hetmp-no-such-program")]),
        "program hetmp-no-such-program: not found (expected the name of a program)"
    );
    assert_eq!(
        refused(126, &s.0),
        name(&s.0) + "a folder (expected a program)"
    );
    let plain = s.script("plain", "x", 0o644);
    assert_eq!(
        refused(126, &plain),
        name(&plain) + "not executable (expected a program that can be executed)"
    );
    let words = s.script("words", "just words\n", 0o755);
    assert_eq!(
        refused(126, &words),
        name(&words) + "neither an ELF program nor a script with #! (expected a program)"
    );
    let lost = s.script("lost", "#!/nonexistent/interpreter -x\n", 0o755);
    assert!(refused(126, &lost).starts_with("program /nonexistent/interpreter: "));

    let main = "int main(void) { return 0; }";
    let fixed = s.compile("fixed", main, &["-static"]);
    assert_eq!(
        refused(126, &fixed),
        name(&fixed)
            + "statically linked, so there is no loader that could preload anything (expected a program with shared \
               libraries)"
    );
    let usual = s.compile("usual", main, &[]);
    assert!(s.run(&[&usual]).status.success());
    let bytes = fs::read(&usual).expect("read");
    let changed = |to: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        let path = s.path(to);
        fs::write(&path, bytes).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        path
    };
    // e_machine of SPARC.
    let sparc = changed("sparc", &|b| b[18] = 2);
    assert_eq!(
        refused(126, &sparc),
        name(&sparc) + "for another architecture (expected a 64-bit program of this machine)"
    );
    let loader = b"/ld-linux";
    let at = bytes
        .windows(loader.len())
        .position(|w| w == loader)
        .expect("an interpreter");
    let musl = changed("musl", &|b| b[at..at + 9].copy_from_slice(b"/ld-musl-"));
    assert_eq!(
        refused(126, &musl),
        name(&musl) + "built for musl (expected a program of the GNU C library)"
    );
    let cut = changed("cut", &|b| b.truncate(80));
    assert_eq!(
        refused(126, &cut),
        name(&cut) + "its ELF header is broken (expected a program)"
    );
    // Only root can give a file away.
    if chown(&usual, Some(1), Some(1)).is_ok() {
        fs::set_permissions(&usual, fs::Permissions::from_mode(0o4755)).expect("a mode");
        assert!(refused(126, &usual).contains("setuid"));
    }
}

#[test]
fn bad_options_are_refused_in_one_line() {
    let s = Scratch::new("options-bad");
    let refusal = |option: &str, value: &str| {
        s.refusal(
            2,
            &[OsStr::new(option), OsStr::new(value), OsStr::new("true")],
        )
    };
    assert_eq!(
        refusal("--threads", "0"),
        "option --threads: '0': not a list of positive integers (expected such as 4 or 4,2)"
    );
    assert_eq!(
        refusal("--treads", "4"),
        "option --treads: unknown, and no program has this name (expected what hetmp run --help lists)"
    );
    assert!(refusal("--schedule", "hetprob").starts_with("option --schedule: 'hetprob': "));
    assert!(refusal("--nodes", "cores=x").starts_with("option --nodes: "));
    assert!(refusal("--library", "/nonexistent/l.so")
        .starts_with("option --library: '/nonexistent/l.so': "));
    let blank = s.path("with blank.so");
    fs::copy(s.path("l.so"), &blank).expect("copied");
    assert!(refusal("--library", &blank.display().to_string())
        .contains("cannot hold blanks and colons"));
}

/// The loader would wait for a pipe, and go on without another file.
#[test]
fn a_library_that_is_none_is_refused() {
    let s = Scratch::new("library");
    let program = s.compile("p", "int main(void) { return 0; }", &[]);
    let pipe = s.path("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let mut other = fs::read(s.path("l.so")).expect("the library");
    other[18] = 0xff;
    fs::write(s.path("other.so"), other).expect("written");
    fs::write(s.path("text.so"), "no library").expect("written");
    for (file, why) in [
        (program, "a program"),
        (pipe, "not a regular file"),
        (PathBuf::from("/dev/zero"), "not a regular file"),
        (s.path("text.so"), "not an ELF file"),
        (s.path("other.so"), "for another architecture"),
    ] {
        let arguments = ["--library".as_ref(), file.as_os_str(), "/bin/echo".as_ref()];
        assert_eq!(
            s.refusal(2, &arguments),
            format!(
                "option --library: '{}': {why} (expected a libhetmp.so of this machine)",
                file.display()
            )
        );
    }
}

/// A sanitizer's library ends the program if another one comes before it.
#[test]
fn sanitizers_come_first() {
    let s = Scratch::new("sanitizers");
    let source = "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(getenv(\"LD_PRELOAD\")); return 0; }";
    for (kind, library) in [("address", "libasan.so."), ("thread", "libtsan.so.")] {
        for compiler in ["gcc", "clang-19"] {
            let (c, program) = (s.path("p.c"), s.path("p"));
            fs::write(&c, source).expect("written");
            let built = Command::new(compiler)
                .arg(format!("-fsanitize={kind}"))
                .args([&c, Path::new("-o"), &program])
                .output();
            if !built.is_ok_and(|out| out.status.success()) {
                println!("skipped: {compiler} has no -fsanitize={kind}");
                continue;
            }
            let out = s.run(&[&program]);
            assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
            let preload = text(&out.stdout);
            let ours = s.path("l.so").display().to_string();
            // clang links it into the program.
            match preload.trim().strip_suffix(&ours) {
                Some(first) if compiler == "gcc" => {
                    assert!(
                        first.starts_with(library) && first.ends_with(':'),
                        "{preload}"
                    );
                }
                other => assert_eq!(other, Some(""), "{compiler}: {preload}"),
            }
        }
    }
}

#[test]
fn files_that_cannot_be_written_are_refused_before_the_program_runs() {
    let s = Scratch::new("outputs");
    let ran = s.path("ran");
    for option in [
        "--report",
        "--html",
        "--trace",
        "--profile",
        "--profile-file",
    ] {
        for file in ["/nonexistent/file", "/dev/full", "/"] {
            let option = format!("{option}={file}");
            let line = s.refusal(2, &[option.as_ref(), "touch".as_ref(), ran.as_os_str()]);
            assert!(line.contains(&format!("'{file}': ")), "{line}");
        }
    }
    let twice = format!("--trace={}", s.path("x").display());
    let other = format!("--html={}/./x", s.0.display());
    let line = s.refusal(
        2,
        &[
            twice.as_ref(),
            other.as_ref(),
            "touch".as_ref(),
            ran.as_os_str(),
        ],
    );
    assert!(line.contains("--trace names this file too"), "{line}");
    assert!(!ran.exists());
}

#[test]
fn report_and_profile_say_how_the_program_ended() {
    let s = Scratch::new("settled");
    // What the library writes at a checkpoint.
    let write = "echo \"{\\\"pid\\\":$$,\\\"ending\\\":\\\"running\\\"}\" > $HETMP_REPORT; ";
    for (end, said) in [
        ("exit 3", "exit status 3"),
        ("exit 0", "exit"),
        ("kill -KILL $$", "signal 9"),
    ] {
        let option = format!("--report={}", s.path("r.json").display());
        s.run(&[&*option, "sh", "-c", &format!("{write}{end}")]);
        let kept = fs::read_to_string(s.path("r.json")).expect("the report");
        assert!(kept.contains(&format!("\"ending\":\"{said}\"")), "{kept}");
    }
}

#[test]
fn beside_the_program_signals_and_endings_pass_through() {
    let s = Scratch::new("beside");
    let none = "the program left none";
    let out = s.run(&["--report", "sh", "-c", "exit 3"]);
    assert_eq!(out.status.code(), Some(3));
    assert!(text(&out.stderr).contains(none), "{}", text(&out.stderr));
    let out = s.run(&["--report", "sh", "-c", "kill -KILL $$"]);
    assert_eq!(out.status.signal(), Some(libc::SIGKILL));
    // A signal to hetmp must reach the program. The program prints a line when it is ready.
    let wait = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = s
        .hetmp(&["--report", "sh", "-c", wait])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("hetmp runs");
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().expect("piped"), &mut ready).expect("ready");
    let id = libc::pid_t::try_from(child.id()).expect("a process number");
    // SAFETY: a signal to our own child, which is not waited for yet.
    unsafe { libc::kill(id, libc::SIGTERM) };
    assert_eq!(child.wait().expect("it ends").code(), Some(9));
}

#[test]
fn pages_and_completions_name_every_command() {
    let s = Scratch::new("pages");
    let out = Command::new(env!("CARGO_BIN_EXE_hetmp"))
        .arg("man")
        .arg(s.path("man1"))
        .output()
        .expect("hetmp runs");
    assert!(out.status.success(), "{}", text(&out.stderr));
    for name in [
        "hetmp",
        "hetmp-run",
        "hetmp-report",
        "hetmp-goal-check",
        "hetrun",
        "oshrun",
    ] {
        assert!(s.path(&format!("man1/{name}.1")).is_file(), "{name}");
    }
    let page = fs::read_to_string(s.path("man1/hetrun.1")).expect("a page");
    assert!(page.contains("\n.SH DESCRIPTION\n"), "{page}");
    assert!(page.contains("\\-\\-bind\\-to WHAT"), "{page}");
    for shell in ["bash", "zsh", "fish"] {
        let out = Command::new(env!("CARGO_BIN_EXE_hetmp"))
            .args(["completions", shell])
            .output()
            .expect("hetmp runs");
        assert!(out.status.success());
        let script = text(&out.stdout);
        // Options, and values of options.
        for word in [
            "profile-file",
            "cross-dynamic",
            "xeon-thunderx-rdma",
            "energy",
        ] {
            assert!(script.contains(word), "{shell} {word}: {script}");
        }
        for launcher in ["hetrun", "oshrun"] {
            let out = Command::new(env!("CARGO_BIN_EXE_hetmp"))
                .args(["completions", shell, launcher])
                .output()
                .expect("hetmp runs");
            let script = text(&out.stdout);
            for word in [launcher, "bind-to", "machinefile", "oversubscribe"] {
                assert!(script.contains(word), "{shell} {word}: {script}");
            }
        }
    }
}
