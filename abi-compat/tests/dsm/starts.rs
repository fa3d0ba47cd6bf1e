//! The ways to start nodes: the preload, `hetmp run`, `hetrun` on one machine and on several hosts, a shell in between.

use crate::harness::{
    built, by_hetrun, compile, finish, hetrun_finds_the_library, is_same, prints_the_same, run,
    skipped,
};
use hetmp_abi_compat::library::{fresh, target_dir};
use std::path::{Path, PathBuf};
use std::process::Command;

/// If only the first library is preloaded, it finds the second one beside itself, and starts the program again.
#[test]
fn the_second_library_is_found() {
    let program = compile("c-tests/dsm/objects.cpp", &["-DFOUND"]);
    let expected = run(&program, &["an argument"], 0, &[]);
    let one = fresh().as_os_str().to_str().expect("a path");
    if fresh().with_file_name("libhetmp_dsm.so") != built("libhetmp_dsm.so") {
        println!("skipped: libhetmp_dsm.so is not beside {one}");
        return;
    }
    let got = run(&program, &["an argument"], 2, &[("LD_PRELOAD", one)]);
    if !skipped(&got) {
        is_same(&got, &expected, 2);
    }
    // A copy of the library in another folder has no second library beside it.
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
        "hetmp: HETMP_NODES: 'dsm:2': libhetmp_dsm.so is needed, beside libhetmp.so or in LD_PRELOAD before it"
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
    // The command looks for the second library beside the first, which need not be this build's.
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

/// Two network name spaces `a` and `b`, joined by a private network, removed on drop. A command that is started in one
/// also has name spaces of its own for processes and System V memory: the two share nothing but the network.
struct Network {
    spaces: [String; 2],
    folder: PathBuf,
}

const ADDRESSES: [&str; 2] = ["10.215.7.1", "10.215.7.2"];

impl Network {
    /// `None`, after printing a line with the reason, if such a network cannot be made.
    fn new() -> Option<Network> {
        let id = std::process::id();
        let spaces = [format!("hda{id}"), format!("hdb{id}")];
        let folder = target_dir().join(format!("dsm-tests/net-{id}"));
        std::fs::create_dir_all(&folder).expect("a folder");
        let [a, b] = spaces.clone();
        let script = format!(
            "while :; do case $1 in -*) shift ;; *) break ;; esac; done\n\
             case $1 in {}) space={a} ;; {}) space={b} ;; *) exit 255 ;; esac\nshift\n\
             exec ip netns exec $space unshare --pid --ipc --fork --kill-child --mount-proc sh -c \"$*\"\n",
            ADDRESSES[0], ADDRESSES[1]
        );
        std::fs::write(folder.join("ssh"), script).expect("written");
        let hosts = format!("{}\n{}\n", ADDRESSES[0], ADDRESSES[1]);
        std::fs::write(folder.join("hosts"), hosts).expect("written");
        let network = Network { spaces, folder };
        let try_it = |program: &str, arguments: &str| {
            let output = Command::new(program).args(arguments.split(' ')).output();
            let why = match output {
                Ok(output) if output.status.success() => return true,
                Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
                Err(error) => error.to_string(),
            };
            println!("skipped: {program} {arguments}: {why}");
            false
        };
        let ip = |arguments: &str| try_it("ip", arguments);
        let made = try_it(
            "unshare",
            "--pid --ipc --fork --kill-child --mount-proc true",
        ) && ip(&format!("netns add {a}"))
            && ip(&format!("netns add {b}"))
            && ip(&format!(
                "link add v0 netns {a} type veth peer name v0 netns {b}"
            ))
            && ip(&format!("-n {a} addr add {}/24 dev v0", ADDRESSES[0]))
            && ip(&format!("-n {b} addr add {}/24 dev v0", ADDRESSES[1]))
            && ip(&format!("-n {a} link set v0 up"))
            && ip(&format!("-n {b} link set v0 up"));
        made.then_some(network)
    }

    /// hetrun, which is to run the program on both hosts. All regions cross that may.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(built("hetrun"));
        let ssh = format!("sh {} -T", self.folder.join("ssh").display());
        command
            .args(["--dsm", "--ssh", &ssh, "--hosts"])
            .arg(self.folder.join("hosts"))
            .arg(program)
            .env("OMP_NUM_THREADS", "4")
            .env("HETMP_DSM_CROSS", "always");
        command
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for space in &self.spaces {
            let _ = Command::new("ip").args(["netns", "del", space]).output();
        }
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
        let space = network.spaces[0].clone();
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
    // `finish` writes the outputs of a run beside the program, which is impossible beside /bin/sh. So the shell is
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
