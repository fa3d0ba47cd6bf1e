//! Programs that have rights their caller lacks: set-user-id programs, started by another user. Nothing that the
//! caller's environment names may be loaded, executed, read, written or connected to; numbers that size the work count.
//!
//! One test scans the sources instead: only one room reads the environment, and that room looks at the process's
//! rights.
//!
//! The programs need root (who makes them) and a user without rights (who starts them). Without root they are skipped.

use hetmp_abi_compat::scratch::Scratch;
use hetmp_abi_compat::{c_api, library};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The user who starts the programs (`nobody`).
const CALLER: u32 = 65534;

/// A set-user-id program of root, linked with the library, in a folder that everybody may read.
struct Privileged {
    scratch: Scratch,
    program: PathBuf,
}

impl Privileged {
    /// `None`, and a line, where such a program cannot be made or keeps no rights.
    fn new(name: &str, text: &str) -> Option<Privileged> {
        // SAFETY: geteuid has no preconditions.
        if unsafe { libc::geteuid() } != 0 {
            eprintln!("skipped: {name}: only root can make a program of root's");
            return None;
        }
        let scratch = Scratch::new(name);
        let everybody = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
        };
        everybody(&scratch.folder, 0o755);
        let lib = scratch.folder.join("lib");
        fs::create_dir(&lib).expect("a folder");
        everybody(&lib, 0o755);
        let built = c_api::library_folder(library::fresh(), name).expect("the library");
        for file in fs::read_dir(built).expect("a folder").flatten() {
            let to = lib.join(file.file_name());
            fs::copy(file.path(), &to).expect("a copy");
            everybody(&to, 0o755);
        }
        let source = scratch.write("program.c", text);
        let program = scratch.folder.join("program");
        c_api::compile(&source, &program, &lib, &["-O1", "-fopenmp"]).expect("it compiles");
        everybody(&program, 0o4755);
        let made = Privileged { scratch, program };
        let said = made.run(&[]);
        if !said.contains("euid 0") {
            eprintln!("skipped: {name}: the file system ignores set-user-id ({said})");
            return None;
        }
        Some(made)
    }

    /// What it prints when the caller starts it with `env`; both streams. It has ended well.
    fn run(&self, env: &[(&str, &str)]) -> String {
        let Output {
            status,
            stdout,
            stderr,
        } = Command::new("timeout")
            .args(["-s", "KILL", "60"])
            .arg(&self.program)
            .env_clear()
            .envs(env.iter().copied())
            .env("PATH", "/usr/bin:/bin")
            .uid(CALLER)
            .gid(CALLER)
            .current_dir("/")
            .output()
            .expect("timeout starts");
        let said = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
        assert!(status.success(), "{env:?}: {status}: {said}");
        said
    }
}

#[test]
fn what_the_caller_names_is_neither_run_nor_read_nor_written() {
    let Some(program) = Privileged::new(
        "privileged-openmp",
        "#include <stdio.h>\n#include <unistd.h>\n\
         int main(void) {\n    int n = 0;\n#pragma omp parallel reduction(+ : n)\n    n += 1;\n\
         #pragma omp parallel for schedule(runtime) reduction(+ : n)\n    for (int i = 0; i < 1000; i++) n += i & 0;\n\
         printf(\"uid %d euid %d threads %d\\n\", getuid(), geteuid(), n);\n    return 0;\n}\n",
    ) else {
        return;
    };
    let expected = "uid 65534 euid 0 threads 2\n";
    let two = ("OMP_NUM_THREADS", "2");
    assert_eq!(program.run(&[two]), expected);
    let file = |name: &str| program.scratch.path(name);
    let secret = program.scratch.write("secret", "cores=0;precious\n");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).expect("a mode");
    let (written, read) = (file("written"), format!("@{secret}"));
    for (name, value) in [
        // Another process image, for ever or once.
        ("HETMP_NODES", "dsm:2"),
        ("HETMP_NODES", "dsm:job"),
        // Files that are read: their text would stand in a message.
        ("HETMP_NODES", read.as_str()),
        ("HETMP_CALIBRATION", secret.as_str()),
        // Files that are written.
        ("HETMP_REPORT", written.as_str()),
        ("HETMP_PROFILE", written.as_str()),
        ("HETMP_CACHE", written.as_str()),
        ("XDG_CACHE_HOME", written.as_str()),
        ("HETMP_TRACE", written.as_str()),
        ("HETMP_TIMES", written.as_str()),
        ("OMP_TOOL_VERBOSE_INIT", written.as_str()),
        // Libraries that are loaded.
        ("OMP_TOOL_LIBRARIES", secret.as_str()),
        ("ACC_PROFLIB", secret.as_str()),
        // Launchers that are connected to.
        ("HETMP_JOB", "nowhere:0:00"),
        ("PMI_FD", "0"),
    ] {
        // Under the second one regions' code is read, and would be kept.
        for schedule in ["dynamic,4", "hetprobe"] {
            let schedule = ("OMP_SCHEDULE", schedule);
            let force = ("HETMP_STATIC", "force");
            assert_eq!(
                program.run(&[two, schedule, force, (name, value)]),
                expected,
                "{name}={value}"
            );
        }
        assert!(!Path::new(&written).exists(), "{name} wrote a file");
    }
}

#[test]
fn the_callers_launcher_is_not_believed() {
    let Some(program) = Privileged::new(
        "privileged-shmem",
        "#include <shmem.h>\n#include <stdio.h>\n#include <unistd.h>\n\
         int main(void) {\n    shmem_init();\n\
         printf(\"euid %d pe %d of %d\\n\", geteuid(), shmem_my_pe(), shmem_n_pes());\n\
         shmem_finalize();\n    return 0;\n}\n",
    ) else {
        return;
    };
    for (name, value) in [
        ("HETMP_JOB", "nowhere:0:00"),
        ("HETMP_BOOTSTRAP", "pmix"),
        ("PMI_FD", "0"),
        ("PMIX_RANK", "0"),
        ("HETMP_NIC", "tcp"),
    ] {
        assert_eq!(
            program.run(&[(name, value)]),
            "euid 0 pe 0 of 1\n",
            "{name}={value}"
        );
    }
}

/// Where the environment is read, in what is loaded into programs. `snapshot.rs` looks at the process's rights; the two
/// other files hand the whole of it on, to the same program.
const READERS: [&str; 3] = [
    "abi/src/again.rs",
    "core/src/env/snapshot.rs",
    "dsm-preload/src/start.rs",
];

/// Where files are opened by name: `core::file`, for all; and files of the kernel's (`/proc`, `/sys`, `/dev`), whose
/// names are fixed. `outputs.rs` is a command's, and tries before a program runs whether its files can be written. A
/// pool is mapped whole (`HETMP_DSM=pool:FILE`).
const OPENERS: [&str; 19] = [
    "cli/src/hetrun/main.rs",
    "cli/src/info.rs",
    "cli/src/outputs.rs",
    "core/src/bootstrap/mod.rs",
    "core/src/bootstrap/own.rs",
    "core/src/bootstrap/values.rs",
    "core/src/counters.rs",
    "core/src/file.rs",
    "core/src/file/written.rs",
    "core/src/park/spin.rs",
    "core/src/power.rs",
    "core/src/quota.rs",
    "core/src/segment.rs",
    "core/src/topo/discover.rs",
    "dsm/src/backend/uffd.rs",
    "dsm/src/pool/shared.rs",
    "mq/src/crash.rs",
    "profile/src/file.rs",
    "shmem/src/queue/guard.rs",
];

/// The lines of the sources of `runtime/` that are loaded into programs, and of the commands if `cli`, which have one
/// of these words; without comments, tests and examples. Returns the files.
fn files_with(words: &[&str], cli: bool) -> Vec<String> {
    let runtime = library::root().join("runtime");
    let mut found = Vec::new();
    let mut look = vec![runtime.clone()];
    while let Some(folder) = look.pop() {
        for entry in fs::read_dir(&folder)
            .expect("a folder of sources")
            .flatten()
        {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if path.is_dir() {
                let no_code = ["tests", "examples", "target", "fuzz"].contains(&&*name);
                if !no_code && (cli || !["cli", "hetcc", "lab"].contains(&&*name)) {
                    look.push(path);
                }
                continue;
            }
            if !(name.ends_with(".rs") || name.ends_with(".c"))
                || ["build.rs", "sources.rs"].contains(&&*name)
                || name.ends_with("tests.rs")
                || name == "fixture.rs"
            {
                continue;
            }
            let text = fs::read_to_string(&path).expect("a source");
            let code = text.split("\nmod tests {").next().unwrap_or("");
            let is_one = |line: &str| {
                let line = line.split("//").next().unwrap_or("");
                words.iter().any(|word| line.contains(word))
            };
            if code.replace("secure_getenv(", "").lines().any(is_one) {
                let path = path.strip_prefix(&runtime).expect("below");
                found.push(path.display().to_string());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn one_room_reads_the_environment() {
    let words = [
        "getenv(",
        "env::var",
        "env::temp_dir",
        "static environ",
        "static mut environ",
    ];
    assert_eq!(files_with(&words, false), READERS);
}

#[test]
fn one_room_opens_files() {
    let words = [
        "File::open(",
        "File::create(",
        "File::options(",
        "OpenOptions::new(",
        "fs::read(",
        "fs::read_to_string(",
        "fs::write(",
        "libc::open(",
        "fopen(",
    ];
    assert_eq!(files_with(&words, true), OPENERS);
}

/// The length of memory that others may map is sealed, so all of it is made in one place.
#[test]
fn one_room_makes_files_in_memory() {
    assert_eq!(
        files_with(&["memfd_create("], true),
        ["core/src/segment.rs"]
    );
}
