//! Unmodified programs on several nodes of a software DSM: `HETMP_NODES=dsm:N`.
//!
//! If this machine forbids userfaultfd, the library says so, and the tests that need nodes are skipped with a line.

use hetmp_abi_compat::case::CLANG;
use hetmp_abi_compat::library::{fresh, root, target_dir};
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(240);

/// A file of the release build. The first call builds all that the tests of nodes need.
fn built(name: &str) -> PathBuf {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let out = Command::new(env!("CARGO"))
            .args(["build", "--release", "--quiet"])
            .args(["--package", "hetmp-dsm-preload", "--package", "hetmp-cli"])
            .current_dir(root())
            .env("CARGO_TARGET_DIR", target_dir())
            .output()
            .expect("cargo starts");
        let text = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "libhetmp_dsm.so, hetrun: {text}");
    });
    target_dir().join("release").join(name)
}

/// The value of `LD_PRELOAD` that loads both libraries.
fn preload() -> OsString {
    let mut both = OsString::from(built("libhetmp_dsm.so"));
    both.push(":");
    both.push(fresh());
    both
}

/// Compiles a program with gcc, g++ or gfortran.
fn compile(source: &str, flags: &[&str]) -> PathBuf {
    let compiler = match source.rsplit('.').next() {
        Some("cpp") => "g++",
        Some("f90") => "gfortran",
        _ => "gcc",
    };
    compile_by(compiler, source, flags)
}

fn compile_by(compiler: &str, source: &str, flags: &[&str]) -> PathBuf {
    let folder = target_dir().join("dsm-tests");
    std::fs::create_dir_all(&folder).expect("a folder");
    // Tests run at the same time, so each set of flags has a file of its own.
    let name = format!("{source}{compiler}{}", flags.concat()).replace(['/', '.'], "_");
    let program = folder.join(name);
    let out = Command::new(compiler)
        .args(["-O2", "-fopenmp", "-Ic-tests/kernels", source, "-o"])
        .arg(&program)
        .args(flags)
        .arg("-lm")
        // Fortran's module files.
        .arg(format!("-I{}", folder.display()))
        .current_dir(root())
        .output()
        .expect("a compiler");
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    program
}

/// Runs the program on `nodes` nodes, or without nodes if that is 0.
fn run(program: &PathBuf, args: &[&str], nodes: u32, more: &[(&str, &str)]) -> Output {
    let mut command = Command::new(program);
    command.args(args).env("OMP_NUM_THREADS", "4");
    if nodes > 0 {
        command
            .env("LD_PRELOAD", preload())
            .env("HETMP_NODES", format!("dsm:{nodes}"))
            // Whether a region is faster across is not what most tests are about.
            .env("HETMP_DSM_CROSS", "always")
            .env("HETMP_VERBOSE", "1");
    }
    command.envs(more.iter().copied());
    finish(command, program, nodes)
}

/// Runs the command to its end, and returns its output.
fn finish(mut command: Command, program: &Path, tag: u32) -> Output {
    // The output goes to files, not to pipes: a node that wrongly outlives the program would keep a pipe open,
    // and the test would hang.
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let base = program.with_extension(format!("{tag}-{run}-{}", std::process::id()));
    let (out, err) = (base.with_extension("out"), base.with_extension("err"));
    let file = |p: &PathBuf| std::fs::File::create(p).expect("a file");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(file(&out))
        .stderr(file(&err))
        .spawn()
        .expect("the program");
    let until = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if Instant::now() > until {
            let _ = child.kill();
            panic!("{}: no end", program.display());
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let read = |p: PathBuf| {
        let text = std::fs::read(&p).expect("its output");
        let _ = std::fs::remove_file(p);
        text
    };
    Output {
        status,
        stdout: read(out),
        stderr: read(err),
    }
}

/// True, after printing a line, if this machine cannot run nodes.
fn skipped(output: &Output) -> bool {
    let text = String::from_utf8_lossy(&output.stderr);
    let refused = text.lines().find(|l| l.contains("HETMP_DSM uffd: root"));
    if let Some(line) = refused {
        println!("skipped: {line}");
    }
    refused.is_some()
}

/// Checks that the output is the same as under libgomp, and that every node had page faults.
fn same(source: &str, args: &[&str], nodes: u32) {
    same_with(source, args, nodes, &[]);
}

fn same_with(source: &str, args: &[&str], nodes: u32, more: &[(&str, &str)]) {
    let program = compile(source, &[]);
    let expected = run(&program, args, 0, &[]);
    assert!(expected.status.success(), "under libgomp");
    let got = run(&program, args, nodes, more);
    if !skipped(&got) {
        is_same(&got, &expected, nodes);
    }
}

/// [`same`] for a program that clang compiled, in C or C++. Skipped, with a line, where clang is not installed.
fn same_by_clang(source: &str, args: &[&str], nodes: u32, flags: &[&str]) {
    let compiler = if source.ends_with(".cpp") {
        CLANG.replace("clang", "clang++")
    } else {
        CLANG.to_owned()
    };
    if Command::new(&compiler).arg("--version").output().is_err() {
        println!("skipped: {compiler} is not installed");
        return;
    }
    let program = compile_by(&compiler, source, flags);
    let expected = run(&program, args, 0, &[]);
    assert!(expected.status.success(), "under libomp");
    let got = run(&program, args, nodes, &[]);
    if !skipped(&got) {
        is_same(&got, &expected, nodes);
    }
}

/// Checks that the outputs are equal, and that every node had page faults.
fn is_same(got: &Output, expected: &Output, nodes: u32) {
    let said = String::from_utf8_lossy(&got.stderr);
    assert!(got.status.success(), "{}: {said}", got.status);
    assert_eq!(
        String::from_utf8_lossy(&got.stdout),
        String::from_utf8_lossy(&expected.stdout),
        "{said}"
    );
    for node in 0..nodes {
        let line = said
            .lines()
            .find(|l| l.contains(&format!("dsm: node {node}: ")))
            .unwrap_or_else(|| panic!("node {node}: {said}"));
        assert!(
            !line.contains(": 0 regions") && !line.contains(" 0 read faults, 0 write"),
            "{line}"
        );
    }
}

#[test]
fn ep_on_two_and_three_nodes() {
    same("c-tests/kernels/ep.c", &["S"], 2);
    same("c-tests/kernels/ep.c", &["S"], 3);
}

#[test]
fn cg_on_two_nodes() {
    same("c-tests/kernels/cg.c", &["S"], 2);
}

#[test]
fn constructs_on_two_and_four_nodes() {
    same("c-tests/dsm/constructs.c", &[], 2);
    same("c-tests/dsm/constructs.c", &[], 4);
}

#[test]
fn what_the_runtime_hands_out_crosses() {
    for nodes in [2, 3, 4] {
        same("c-tests/dsm/shared.c", &[], nodes);
    }
}

#[test]
fn ordered_loops_cross() {
    for nodes in [2, 3] {
        same("c-tests/dsm/ordered.c", &[], nodes);
        same_by_clang("c-tests/dsm/ordered.c", &[], nodes, &[]);
    }
}

/// clang's regions: a function with as many arguments as the region has shared variables.
#[test]
fn programs_by_clang_cross() {
    for nodes in [2, 3, 4] {
        same_by_clang("c-tests/dsm/shared.c", &[], nodes, &[]);
        same_by_clang("c-tests/dsm/clang.c", &[], nodes, &[]);
    }
    same_by_clang("c-tests/dsm/constructs.c", &[], 2, &[]);
    same_by_clang("c-tests/kernels/ep.c", &["S"], 2, &[]);
    same_by_clang("c-tests/kernels/cg.c", &["S"], 2, &["-O0"]);
    same_by_clang("c-tests/dsm/files.c", &[], 3, &[]);
    same_by_clang("c-tests/dsm/objects.cpp", &["word"], 2, &[]);
}

/// Without `HETMP_DSM_CROSS`, a region is tried at home and across, and runs where it is faster.
#[test]
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
    let said = String::from_utf8_lossy(&got.stderr);
    assert!(got.status.success(), "{}: {said}", got.status);
    assert_eq!(
        String::from_utf8_lossy(&got.stdout),
        String::from_utf8_lossy(&expected.stdout),
        "{said}"
    );
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
        assert_eq!(number("crossed") + number("stayed"), runs, "{text}");
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
    let across = |r: &serde_json::Value| r["ways"][0]["lever"] == "across";
    assert_eq!(regions.len(), 3, "{text}");
    assert!(regions.iter().all(across), "{text}");
    let pages = all["dsm"]["pages"].as_array().expect("pages");
    let contents = |p: &serde_json::Value| p["contents"].as_str().map(str::to_owned);
    let named = pages.iter().filter_map(contents);
    assert!(named.clone().any(|c| c.contains("fought_for[")), "{text}");
    // `hetmp report` shows them.
    let out = Command::new(built("hetmp"))
        .arg("report")
        .arg(&report)
        .output()
        .expect("hetmp");
    let table = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{table}");
    for words in ["Distributed shared memory on 3 nodes", "fought_for["] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let _ = std::fs::remove_file(&report);
}

/// Programs may define `read`, `write` and other names of the C library: the nodes do not call these. A program's
/// signals reach its own threads. Thread-local variables stay with their threads when one region stays at the origin
/// and the next one may cross.
#[test]
fn what_programs_rely_on() {
    for (source, flags) in [
        ("c-tests/own_system_calls.c", &["-rdynamic"][..]),
        ("c-tests/signal_mask.c", &[]),
        // The variable `environ` lies in this program's own data.
        ("c-tests/proc_spawn_in_region.c", &[]),
        ("c-tests/static_thread_local_pointer.c", &[]),
    ] {
        let program = compile(source, flags);
        let expected = run(&program, &[], 0, &[]);
        let got = run(&program, &[], 2, &[]);
        if skipped(&got) {
            return;
        }
        let said = String::from_utf8_lossy(&got.stderr);
        assert_eq!(
            String::from_utf8_lossy(&got.stdout),
            String::from_utf8_lossy(&expected.stdout),
            "{source}: {said}"
        );
        assert!(got.status.success(), "{source}: {said}");
    }
}

/// A region that calls an entry without support for several nodes stays at the origin, and a line names the entry.
#[test]
fn what_does_not_cross_stays() {
    for (source, entry) in [
        ("c-tests/lock_nest.c", "omp_test_nest_lock"),
        ("c-tests/dsm/stays.c", "omp_get_ancestor_thread_num"),
    ] {
        let program = compile(source, &[]);
        let expected = run(&program, &[], 0, &[]);
        let got = run(&program, &[], 2, &[("HETMP_DSM_TRUST", "1")]);
        if skipped(&got) {
            return;
        }
        let said = String::from_utf8_lossy(&got.stderr);
        assert_eq!(
            String::from_utf8_lossy(&got.stdout),
            String::from_utf8_lossy(&expected.stdout),
            "{said}"
        );
        assert!(got.status.success(), "{said}");
        assert!(
            !said.contains("on all nodes") && !said.contains("may cross"),
            "{said}"
        );
        let line = format!("at the origin: {entry} is not done across nodes");
        assert!(said.contains(&line), "{said}");
    }
}

#[test]
fn every_form_of_allocation() {
    // The program calls a nested function by its address. The library cannot know that function; HETMP_DSM_TRUST
    // vouches for it.
    same_with("c-tests/dsm/memory.c", &[], 2, &[("HETMP_DSM_TRUST", "1")]);
    same("c-tests/dsm/memory.c", &[], 3);
}

#[test]
fn files_that_are_mapped_to_be_read() {
    same("c-tests/dsm/files.c", &[], 2);
    same("c-tests/dsm/files.c", &[], 3);
}

#[test]
fn objects_of_cplusplus() {
    same("c-tests/dsm/objects.cpp", &["word"], 2);
    same("c-tests/dsm/objects.cpp", &[], 4);
}

#[test]
fn common_blocks_of_fortran() {
    same("c-tests/dsm/common.f90", &[], 2);
    same("c-tests/dsm/common.f90", &[], 3);
}

#[test]
fn calls_that_cannot_be_fail_and_say_so() {
    let program = compile("c-tests/dsm/refusals.c", &[]);
    let library = program.with_extension("so");
    let out = Command::new("gcc")
        .args(["-shared", "-fPIC", "-x", "c", "/dev/null", "-o"])
        .arg(&library)
        .output()
        .expect("gcc");
    assert!(out.status.success());
    let file = program.with_extension("file");
    let args = [&library, &file].map(|p| p.to_str().expect("a name"));
    let got = run(&program, &args, 2, &[]);
    if skipped(&got) {
        return;
    }
    let said = String::from_utf8_lossy(&got.stderr);
    assert_eq!(
        String::from_utf8_lossy(&got.stdout),
        "fork Function not implemented\ndlopen refused\nsystem library opened\nshared file refused\n\
         private file some text\nfrom a shell\nsystem 0, sum 4\n",
        "{said}"
    );
    for text in ["fork: posix_spawn and system", "dlopen ", "mmap MAP_SHARED"] {
        let lines = said.lines().filter(|l| l.contains(text)).count();
        assert_eq!(lines, 1, "{text}: {said}");
    }
}

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
        "hetmp: HETMP_NODES dsm:2: libhetmp_dsm.so is needed, beside libhetmp.so or in LD_PRELOAD before it"
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
    if built("hetrun").with_file_name("libhetmp.so") != *fresh() {
        println!("skipped: libhetmp.so is not beside hetrun");
        return;
    }
    for (source, nodes) in [("c-tests/dsm/shared.c", 2), ("c-tests/dsm/objects.cpp", 3)] {
        let program = compile(source, &["-DBY_HETRUN"]);
        let expected = run(&program, &[], 0, &[]);
        let mut command = Command::new(built("hetrun"));
        command
            .args(["--dsm", "-n", &nodes.to_string()])
            .arg(&program)
            .env("OMP_NUM_THREADS", "4")
            .env("HETMP_DSM_CROSS", "always")
            .env("HETMP_VERBOSE", "1");
        let got = finish(command, &program, nodes);
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
    if built("hetrun").with_file_name("libhetmp.so") != *fresh() {
        println!("skipped: libhetmp.so is not beside hetrun");
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
        let mut command = Command::new(built("hetrun"));
        let ssh = format!("sh {} -T", network.folder.join("ssh").display());
        command
            .args(["--dsm", "--ssh", &ssh, "--hosts"])
            .arg(network.folder.join("hosts"))
            .arg(&program)
            .args(arguments)
            .env("OMP_NUM_THREADS", "4")
            .env("HETMP_DSM_CROSS", "always")
            .env("HETMP_VERBOSE", "1");
        let got = finish(command, &program, 7);
        if skipped(&got) {
            return;
        }
        is_same(&got, &expected, 2);
    }
}

/// In containers whose profile forbids userfaultfd, the library prints one line, and the program runs without nodes.
#[test]
fn a_refused_userfaultfd_is_one_line() {
    let program = compile("c-tests/dsm/shared.c", &["-DREFUSED"]);
    let mut command = Command::new(&program);
    command
        .env("LD_PRELOAD", preload())
        .env("HETMP_NODES", "dsm:3");
    // SAFETY: the closure runs between fork and exec, and makes only system calls.
    unsafe { command.pre_exec(forbid_userfaultfd) };
    let got = finish(command, &program, 6);
    let said = String::from_utf8_lossy(&got.stderr);
    assert_eq!(got.status.code(), Some(2), "{said}");
    assert!(
        said.starts_with("hetmp: HETMP_DSM uffd: root, access to /dev/userfaultfd"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(got.stdout.is_empty());
}

/// Makes the kernel refuse the system call userfaultfd, and the ioctl of `/dev/userfaultfd`, for this process and its
/// children.
fn forbid_userfaultfd() -> std::io::Result<()> {
    const fn step(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
        libc::sock_filter {
            code: code as u16,
            jt,
            jf,
            k,
        }
    }
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    // struct seccomp_data: the number at 0, the arguments' low words at 16, 24, ...
    let mut steps = [
        step(load, 0, 0, 0),
        step(equal, 3, 0, libc::SYS_userfaultfd as u32),
        step(equal, 0, 3, libc::SYS_ioctl as u32),
        step(load, 0, 0, 24),
        step(equal, 0, 1, 0xaa00),
        step(answer, 0, 0, refuse),
        step(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: `prctl` reads a filter program that lives during the call and has the length that it gives.
    let failed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ) != 0
    };
    if failed {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
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
        said.contains("node 1: program ") && said.contains("as on node 0, is accepted"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(got.stdout.is_empty());
}

#[test]
fn a_killed_node_of_hetrun_ends_the_job() {
    let program = compile("c-tests/dsm/killed.c", &["-DBY_HETRUN"]);
    let mut command = Command::new(built("hetrun"));
    command
        .args(["--dsm", "-n", "2"])
        .arg(&program)
        .env("HETMP_DSM_CROSS", "always")
        .env("HETMP_DSM_TRUST", "1");
    let got = finish(command, &program, 8);
    if skipped(&got) {
        return;
    }
    let said = String::from_utf8_lossy(&got.stderr);
    assert_eq!(got.status.code(), Some(137), "{said}");
    assert!(said.contains("rank 1: ended by signal 9"), "{said}");
    assert!(got.stdout.is_empty());
}

#[test]
fn threads_are_in_processes_with_memory_of_their_own() {
    let program = compile("c-tests/dsm/nodes.c", &[]);
    let trust = [("HETMP_DSM_TRUST", "1")];
    for nodes in [2, 4] {
        let got = run(&program, &[], nodes, &trust);
        if skipped(&got) {
            return;
        }
        assert_eq!(
            String::from_utf8_lossy(&got.stdout),
            format!("threads 4 pids {nodes} inodes {nodes}\n"),
            "{}",
            String::from_utf8_lossy(&got.stderr)
        );
    }
    // getpid is not known to work on other nodes: the region stays at the origin.
    let got = run(&program, &[], 2, &[]);
    assert_eq!(
        String::from_utf8_lossy(&got.stdout),
        "threads 4 pids 1 inodes 1\n"
    );
    assert!(String::from_utf8_lossy(&got.stderr).contains("at the origin: it may call"));
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
    let said = String::from_utf8_lossy(&got.stderr);
    assert!(got.status.success(), "{}: {said}", got.status);
    assert_eq!(
        String::from_utf8_lossy(&got.stdout),
        String::from_utf8_lossy(&expected.stdout),
        "{said}"
    );
    assert!(said.contains("dsm: node 1: "), "{said}");
}

#[test]
fn a_killed_node_ends_the_program_with_a_line() {
    let program = compile("c-tests/dsm/killed.c", &[]);
    let got = run(&program, &[], 2, &[("HETMP_DSM_TRUST", "1")]);
    if skipped(&got) {
        return;
    }
    let said = String::from_utf8_lossy(&got.stderr);
    assert_eq!(got.status.code(), Some(1), "{said}");
    assert!(
        said.contains("node 1 ended while the program ran"),
        "{said}"
    );
    assert!(got.stdout.is_empty());
}

/// However a node ends while a region runs, and wherever the other threads wait then, the program ends with one line.
#[test]
fn a_node_that_ends_in_a_region_ends_the_program() {
    let program = compile("c-tests/dsm/failures.c", &["-DENDS"]);
    let trust = [("HETMP_DSM_TRUST", "1")];
    for what in ["barrier", "lock", "critical", "page", "exit", "exec"] {
        for nodes in [2, 3] {
            let got = run(&program, &[what], nodes, &trust);
            if skipped(&got) {
                return;
            }
            let said = String::from_utf8_lossy(&got.stderr);
            assert_eq!(got.status.code(), Some(1), "{what}: {said}");
            let line = format!("node {} ended while the program ran", nodes - 1);
            let lines = said.lines().filter(|l| l.contains(&line)).count();
            assert_eq!(lines, 1, "{what}: {said}");
            assert!(got.stdout.is_empty(), "{what}");
        }
    }
}

/// The calls are refused on every node, with a line for each call, and the region goes on.
#[test]
fn fork_and_dlopen_in_a_region_are_refused() {
    let program = compile("c-tests/dsm/failures.c", &["-DREFUSED"]);
    let trust = [("HETMP_DSM_TRUST", "1")];
    for (what, line) in [
        ("fork", "hetmp: fork: posix_spawn and system are accepted"),
        ("dlopen", "hetmp: dlopen /nowhere.so: system libraries are"),
    ] {
        let got = run(&program, &[what, "/nowhere.so"], 2, &trust);
        if skipped(&got) {
            return;
        }
        let said = String::from_utf8_lossy(&got.stderr);
        assert!(got.status.success(), "{what}: {said}");
        assert_eq!(
            String::from_utf8_lossy(&got.stdout),
            format!("{what}: refused 4 times\n"),
            "{said}"
        );
        assert_eq!(said.matches(line).count(), 4, "{said}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_one_line() {
    let program = compile("c-tests/dsm/constructs.c", &[]);
    let refused = |more: &[(&str, &str)], text: &str| {
        let got = run(&program, &[], 2, more);
        let said = String::from_utf8_lossy(&got.stderr);
        assert_eq!(got.status.code(), Some(2), "{said}");
        assert!(said.starts_with("hetmp: ") && said.contains(text), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(got.stdout.is_empty());
    };
    refused(&[("HETMP_NODES", "dsm:1")], "dsm:2 to dsm:8 are accepted");
    refused(
        &[("HETMP_NODES", "dsm:nine")],
        "dsm:2 to dsm:8 are accepted",
    );
    refused(&[("HETMP_DSM", "sigsegv")], "uffd is accepted");
    let both = preload();
    let both = both.to_string_lossy();
    let one = both.split(':').next().unwrap_or("");
    refused(
        &[("LD_PRELOAD", one)],
        "LD_PRELOAD=libhetmp_dsm.so:libhetmp.so is accepted",
    );
}
