//! The ways to start nodes: the preload, `hetmp run`, `hetrun` on one machine and on several hosts, a shell in between.

use crate::harness::{
    built, by_hetrun, compile, finish, hetrun_finds_the_library, is_same, prints_the_same, run,
    skipped,
};
use hetmp_abi_compat::library::{fresh, target_dir};
use hetmp_abi_compat::readme::examples;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// If only the first library is preloaded, it finds the second one next to itself, and starts the program again.
#[test]
fn the_second_library_is_found() {
    let program = compile("c-tests/dsm/objects.cpp", &["-DFOUND"]);
    let expected = run(&program, &["an argument"], 0, &[]);
    let one = fresh().as_os_str().to_str().expect("a path");
    if fresh().with_file_name("libhetmp_dsm.so") != built("libhetmp_dsm.so") {
        println!("skipped: libhetmp_dsm.so is not next to {one}");
        return;
    }
    let got = run(&program, &["an argument"], 2, &[("LD_PRELOAD", one)]);
    if !skipped(&got) {
        is_same(&got, &expected, 2);
    }
    // A copy of the library in another folder has no second library next to it.
    let alone = program.with_extension("alone");
    std::fs::create_dir_all(&alone).expect("a folder");
    let copy = alone.join("libhetmp.so");
    std::fs::copy(fresh(), &copy).expect("a copy");
    let path = copy.to_str().expect("a path");
    let got = run(&program, &[], 2, &[("LD_PRELOAD", path)]);
    let said = String::from_utf8_lossy(&got.stderr);
    assert_eq!(got.status.code(), Some(2), "{said}");
    assert_eq!(
        said.trim_end(),
        "hetmp: HETMP_NODES: 'dsm:2': libhetmp_dsm.so is needed, next to libhetmp.so or in LD_PRELOAD before it"
    );
    std::fs::remove_dir_all(&alone).expect("removed");
}

/// The commands set both preloads.
#[test]
fn hetmp_run_makes_nodes() {
    let program = compile("c-tests/dsm/shared.c", &["-DBY_HETMP_RUN"]);
    let expected = run(&program, &[], 0, &[]);
    let mut command = Command::new(built("hetmp"));
    command
        .args(["run", "--nodes", "dsm:2", "--verbose", "--threads", "4"])
        .arg("--library")
        .arg(fresh())
        .arg(&program)
        .env("HETMP_DSM_CROSS", "always");
    // The command looks for the second library next to the first, which need not be this build's.
    let beside = fresh().with_file_name("libhetmp_dsm.so");
    if !beside.exists() {
        println!("skipped: no {}", beside.display());
        return;
    }
    let got = finish(command, &program, 2);
    if !skipped(&got) {
        is_same(&got, &expected, 2);
    }
}

/// hetrun starts each node as a process of its own: the nodes inherit nothing from each other.
#[test]
fn hetrun_makes_nodes_of_started_processes() {
    if !hetrun_finds_the_library() {
        return;
    }
    for (source, nodes) in [("c-tests/dsm/shared.c", 2), ("c-tests/dsm/objects.cpp", 3)] {
        let program = compile(source, &["-DBY_HETRUN"]);
        let expected = run(&program, &[], 0, &[]);
        let got = by_hetrun(&program, nodes);
        if !skipped(&got) {
            is_same(&got, &expected, nodes);
        }
    }
}

fn shell(lines: &str, folder: &Path) -> Output {
    Command::new("sh")
        .args(["-e", "-c", lines])
        .current_dir(folder)
        .output()
        .expect("a shell")
}

/// The two hosts of docs/dsm.md, made as it says and removed on drop.
struct Network {
    /// What the recipe calls `space`.
    name: String,
    folder: PathBuf,
    /// The recipe's last line.
    remove: String,
}

impl Network {
    /// `None`, after printing a line with the reason, if this machine has no such hosts.
    fn new() -> Option<Network> {
        let tried = shell(
            "unshare --net --pid --ipc --fork --kill-child --mount-proc ip link add v0 type veth peer name v1",
            &target_dir(),
        );
        if !tried.status.success() {
            println!("skipped: {}", String::from_utf8_lossy(&tried.stderr).trim());
            return None;
        }
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hd{}-{count}-", std::process::id());
        let folder = target_dir().join(format!("dsm-tests/{name}"));
        std::fs::create_dir_all(&folder).expect("a folder");
        let recipe = examples("docs/dsm.md", "### Two hosts on one machine", "sh")[0]
            .replace("space", &name);
        let (make, rest) = recipe.split_once("hetrun ").expect("the command");
        let (_, remove) = rest.split_once('\n').expect("a line behind it");
        let network = Network {
            name,
            folder,
            remove: remove.to_owned(),
        };
        let made = shell(make, &network.folder);
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        Some(network)
    }

    /// hetrun, which is to run the program on both hosts. All regions cross that may.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(built("hetrun"));
        command
            .args(["--dsm", "--hosts", "hosts", "--ssh", "sh as-ssh"])
            .current_dir(&self.folder)
            .arg(program)
            .env("OMP_NUM_THREADS", "4")
            .env("HETMP_DSM_CROSS", "always");
        command
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        shell(&self.remove, &self.folder);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn two_hosts_run_one_program() {
    if !hetrun_finds_the_library() {
        return;
    }
    let Some(network) = Network::new() else {
        return;
    };
    for (source, arguments) in [
        ("c-tests/dsm/shared.c", &[][..]),
        ("c-tests/kernels/ep.c", &["S"]),
        ("c-tests/dsm/common.f90", &[]),
    ] {
        let program = compile(source, &["-DON_TWO_HOSTS"]);
        let expected = run(&program, arguments, 0, &[]);
        let mut command = network.command(&program);
        command.args(arguments).env("HETMP_VERBOSE", "1");
        let got = finish(command, &program, 7);
        if skipped(&got) {
            return;
        }
        is_same(&got, &expected, 2);
    }
}

/// Two hosts lose each other, while a region runs and while none does. The job ends, and says so.
#[test]
fn a_cut_link_ends_the_job() {
    if !hetrun_finds_the_library() {
        return;
    }
    let program = compile("c-tests/dsm/failures.c", &["-DCUT"]);
    for what in ["cut", "away"] {
        let Some(network) = Network::new() else {
            return;
        };
        let begun = network.folder.join("begun");
        let mut command = network.command(&program);
        command
            .arg(what)
            .arg(&begun)
            .env("HETMP_DSM_TRUST", "1")
            .env("HETMP_NIC_TIMEOUT", "2");
        let space = format!("{}1", network.name);
        let cutter = std::thread::spawn(move || {
            let until = std::time::Instant::now() + std::time::Duration::from_secs(100);
            while !begun.exists() {
                if std::time::Instant::now() > until {
                    return false;
                }
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            Command::new("ip")
                .args(["-n", &space, "link", "set", "v0", "down"])
                .status()
                .is_ok_and(|status| status.success())
        });
        let got = finish(command, &program, 10);
        let cut = cutter.join().expect("a thread");
        if skipped(&got) {
            return;
        }
        let said = String::from_utf8_lossy(&got.stderr);
        assert!(cut, "{what}: {said}");
        assert!(!got.status.success(), "{what}: {said}");
        assert!(said.contains("no answer for 2 s"), "{what}: {said}");
        assert!(got.stdout.is_empty());
    }
}

/// A shell as the job's command starts another program on each rank.
#[test]
fn different_programs_are_no_nodes_of_one() {
    let program = compile("c-tests/dsm/shared.c", &["-DOF_RANK_0"]);
    let other = compile("c-tests/dsm/shared.c", &["-DOF_RANK_1", "-O1"]);
    let line = format!(
        "[ $HETRUN_RANK = 0 ] && exec {}; exec {}",
        program.display(),
        other.display()
    );
    let mut command = Command::new(built("hetrun"));
    command.args(["--dsm", "-n", "2", "sh", "-c", &line]);
    let got = finish(command, &program, 9);
    let said = String::from_utf8_lossy(&got.stderr);
    assert_eq!(got.status.code(), Some(2), "{said}");
    assert!(
        said.contains("node 1: program ") && said.contains(", as on node 0: the same files"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(got.stdout.is_empty());
}

/// Under `timeout`, `time` or a shell, that command sees the variables first. It starts a process, which a program on
/// several nodes must not do: so it leaves the nodes to the process that it starts.
#[test]
fn a_shell_in_between_passes_the_nodes_on() {
    let program = compile("c-tests/kernels/ep.c", &["-DBY_A_SHELL"]);
    let expected = run(&program, &["S"], 0, &[]);
    // `finish` writes the outputs of a run next to the program, which is impossible next to /bin/sh. So the shell is
    // started by a symbolic link in the test's folder.
    let shell = program.with_extension("shell");
    let _ = std::fs::remove_file(&shell);
    std::os::unix::fs::symlink("/bin/sh", &shell).expect("a link");
    let line = format!("{} S; exit $?", program.display());
    let got = run(&shell, &["-c", &line], 2, &[]);
    if skipped(&got) {
        return;
    }
    prints_the_same(&got, &expected);
    let said = String::from_utf8_lossy(&got.stderr);
    assert!(said.contains("dsm: node 1: "), "{said}");
}
