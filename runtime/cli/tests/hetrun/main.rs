//! `hetrun` as a user runs it, and our processes under other launchers.
//!
//! The programs of the jobs are shells, and this file's own test binary: started with a role in
//! `HETRUN_TEST_ROLE`, [`a_process_of_a_job`] plays it.

mod ends;
mod hosts;
mod launchers;

use ends::verdict;
use hetmp_core::bootstrap::wire::{read_frame, Reply, Request, Ticket, VERSION};
use hetmp_core::bootstrap::{connect, Job};
use hetmp_core::topo::PlaceKind;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const HETRUN: &str = env!("CARGO_BIN_EXE_hetrun");

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A command that does not see how the tests themselves were started.
fn clean(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let launchers = ["PMI", "OMPI_", "HYD", "HETMP_", "HETRUN_", "SLURM_"];
        if launchers.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    command
}

fn hetrun(arguments: &[&str]) -> Command {
    let mut command = clean(HETRUN);
    command.args(arguments);
    command
}

/// A command that goes on for so long has failed. What must be ended before it ends by itself sleeps longer.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs to the end, or panics after the limit.
fn run(command: &mut Command) -> Output {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    finish(&mut child)
}

/// Reads what a child prints while it waits for its end.
fn finish(child: &mut Child) -> Output {
    let end = Instant::now() + LIMIT;
    let mut out = child.stdout.take().expect("piped");
    let mut err = child.stderr.take().expect("piped");
    let out = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        out.read_to_end(&mut bytes).map(|_| bytes)
    });
    let err = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        err.read_to_end(&mut bytes).map(|_| bytes)
    });
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if Instant::now() > end {
            let _ = child.kill();
            panic!("no end within {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Output {
        status,
        stdout: out.join().expect("a reader").expect("readable"),
        stderr: err.join().expect("a reader").expect("readable"),
    }
}

/// Runs this file's program in a role.
fn role<'a>(command: &'a mut Command, role: &str) -> &'a mut Command {
    let own = std::env::current_exe().expect("this program");
    command
        .arg(own)
        .args(["--exact", "a_process_of_a_job", "--nocapture"])
        .env("HETRUN_TEST_ROLE", role)
}

fn sorted(bytes: &[u8]) -> Vec<String> {
    let mut lines: Vec<String> = text(bytes).lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Checks the exchange between all ranks: every value arrives, all ranks have the same secret, and a key
/// that nobody put is not found.
fn exchange(job: &mut dyn Job) {
    let (rank, size) = (job.rank(), job.size());
    assert!(rank < size);
    assert!(job.local_ranks().contains(&rank));
    let long = |rank: u32| -> Vec<u8> { (0..3000).map(|i| (i * 7 + rank) as u8).collect() };
    job.put("long", &long(rank)).expect("put");
    job.put("empty", b"").expect("put");
    let secret = *job.secret();
    job.put("secret", &secret).expect("put");
    if rank == 0 {
        job.put("only0", b"x").expect("put");
    }
    job.fence().expect("fence");
    for other in 0..size {
        assert_eq!(job.get(other, "long").expect("get"), Some(long(other)));
        assert_eq!(job.get(other, "empty").expect("get"), Some(Vec::new()));
        let secret = job.get(other, "secret").expect("get");
        assert_eq!(secret.as_deref(), Some(&job.secret()[..]));
        let only = job.get(other, "only0").expect("get");
        assert_eq!(only.is_some(), other == 0);
    }
    // Later fences show later values.
    for round in 0..20_u32 {
        let key = format!("round{round}");
        job.put(&key, &(rank * 1000 + round).to_le_bytes())
            .expect("put");
        job.fence().expect("fence");
        let next = (rank + 1) % size;
        assert_eq!(
            job.get(next, &key).expect("get"),
            Some((next * 1000 + round).to_le_bytes().to_vec())
        );
    }
}

#[test]
fn a_process_of_a_job() {
    let role = std::env::var("HETRUN_TEST_ROLE").unwrap_or_default();
    let mut job = connect().expect("a job");
    match role.as_str() {
        // As a test of its own: a job of one.
        "" | "exchange" => {
            exchange(job.as_mut());
            job.finalize().expect("finalize");
        }
        "abort" if job.rank() == 1 => job.abort(9, "no more room"),
        "abort" | "fence" => {
            // Waits for one that will not come.
            let error = job.fence().expect_err("no fence");
            panic!("{error}");
        }
        "leave" if job.rank() == 1 => {
            // Ends with status 0 and without leaving the job.
            std::process::exit(0);
        }
        "leave" => {
            let _ = job.fence();
            panic!("a fence without rank 1");
        }
        "hide" if job.rank() == 1 => {
            // The process goes on, its part in the job does not.
            drop(job);
            std::thread::sleep(Duration::from_secs(60));
        }
        "hide" => {
            let _ = job.fence();
        }
        other => panic!("role {other}"),
    }
}

#[test]
fn ranks_exchange_values() {
    for size in ["1", "2", "7"] {
        let output = run(role(&mut hetrun(&["-n", size]), "exchange"));
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let output = run(hetrun(&["-n", "3"]).args([HETRUN, "--who"]));
    let lines = sorted(&output.stdout);
    assert_eq!(lines.len(), 3, "{}", text(&output.stderr));
    assert_eq!(
        lines[2],
        "rank 2 of 3, by hetrun, on this machine 0,1,2, at 127.0.0.1, values of 3 exchanged"
    );
}

#[test]
fn programs_of_one_rank_follow_each_other() {
    let script = format!("for i in 1 2 3 4 5; do {HETRUN} --who || exit; done");
    let output = run(&mut hetrun(&["-n", "3", "sh", "-c", &script]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 15);
}

#[test]
fn output_comes_in_whole_lines() {
    let script = "i=0; while [ $i -lt 200 ]; do printf '%s' $HETRUN_RANK; \
                  printf '%s\\n' 'abcdefghijklmnopqrstuvwxyz'; i=$((i+1)); done; \
                  echo error >&2; printf last";
    let output = run(&mut hetrun(&["-n", "4", "--prefix", "sh", "-c", script]));
    assert!(output.status.success());
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for line in text(&output.stdout).lines() {
        *counts.entry(line.to_owned()).or_default() += 1;
    }
    assert_eq!(counts.len(), 8, "{counts:?}");
    for rank in 0..4 {
        assert_eq!(
            counts[&format!("[{rank}] {rank}abcdefghijklmnopqrstuvwxyz")],
            200
        );
        assert_eq!(counts[&format!("[{rank}] last")], 1);
    }
    assert_eq!(
        sorted(&output.stderr),
        ["[0] error", "[1] error", "[2] error", "[3] error"]
    );
}

#[test]
fn input_goes_to_rank_0() {
    let mut child = hetrun(&["-n", "2", "--prefix", "sh", "-c", "wc -c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hetrun");
    let mut stdin = child.stdin.take().expect("piped");
    let writer = std::thread::spawn(move || stdin.write_all(&vec![b'x'; 3_000_000]));
    let output = finish(&mut child);
    writer.join().expect("a writer").expect("written");
    assert_eq!(sorted(&output.stdout), ["[0] 3000000", "[1] 0"]);
    // A process that does not read its input does not stop the job. hetrun does not wait for the end of the input.
    let mut child = hetrun(&["-n", "1", "true"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hetrun");
    let held = child.stdin.take();
    assert!(finish(&mut child).status.success());
    drop(held);
}

#[test]
fn mistakes_cost_one_line() {
    let file = Scratch::new("hosts", "a;b\n");
    let path = file.0.display().to_string();
    for (arguments, status, line) in [
        (&["-n", "x", "true"][..], 2, "option -n: 'x': ".to_owned()),
        (&["-n", "2"], 2, "program: none is named".to_owned()),
        (
            &["--frob", "true"],
            2,
            "option: '--frob': unknown".to_owned(),
        ),
        (
            &["-n", "1", "true", ":"],
            2,
            "program: none is named".to_owned(),
        ),
        (
            &["-n", "4096", "true", ":", "-n", "1", "true"],
            2,
            "option -n: '4097': more than hetrun starts".to_owned(),
        ),
        (
            &["-n", "2", "-wdir", "/no/such", "true"],
            1,
            "folder /no/such: ".to_owned(),
        ),
        (
            &["-n", "1", "true", ":", "-n", "1", "/no/such"],
            127,
            "program /no/such: ".to_owned(),
        ),
        (
            &["-n", "2", "--bind-to", "core:4000", "true"],
            2,
            "option --bind-to: '2' processes of 4000 cores: ".to_owned(),
        ),
        (
            &["-n", "2", "/no/such"],
            127,
            "program /no/such: ".to_owned(),
        ),
        (
            &["-n", "2", "/etc/passwd"],
            126,
            "program /etc/passwd: ".to_owned(),
        ),
        (
            &["--hosts", "/no/such", "true"],
            2,
            "file /no/such: ".to_owned(),
        ),
        (
            &["--hosts", &path, "true"],
            2,
            format!("file {path} line 1: 'a;b': "),
        ),
        (
            &["-n", "1", "--nodes", "0", "true"],
            2,
            "option --nodes: ".to_owned(),
        ),
    ] {
        let output = run(&mut hetrun(arguments));
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        let lines = text(&output.stderr);
        assert_eq!(lines.lines().count(), 1, "{lines}");
        assert!(lines.starts_with(&format!("hetmp: {line}")), "{lines}");
    }
    for (variable, value, line) in [
        (
            "HETMP_JOB",
            "x",
            "HETMP_JOB: '(1 bytes)': not usable (expected what hetrun sets)",
        ),
        (
            "HETMP_BOOTSTRAP",
            "mpi",
            "HETMP_BOOTSTRAP: 'mpi': not usable (expected alone, hetrun, pmi1, pmi2 or pmix)",
        ),
    ] {
        let output = run(hetrun(&["--who"]).env(variable, value));
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(text(&output.stderr), format!("hetmp: {line}\n"));
    }
}

#[test]
fn who_does_not_know_the_secret_stays_out() {
    let mut child = hetrun(&["-n", "1", "sh", "-c", "echo $HETMP_JOB; exec sleep 300"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hetrun");
    let mut out = child.stdout.take().expect("piped");
    let mut line = String::new();
    while !line.ends_with('\n') {
        let mut byte = [0];
        assert_eq!(out.read(&mut byte).expect("output"), 1);
        line.push(char::from(byte[0]));
    }
    let ticket = Ticket::decode(line.trim()).expect("a ticket");
    let name = SocketAddr::from_abstract_name(ticket.socket.as_bytes()).expect("a name");
    let knock = |bytes: &[u8]| {
        let mut stream = UnixStream::connect_addr(&name).expect("it listens");
        stream.write_all(bytes).expect("written");
        let reply = read_frame(&mut stream).expect("an answer").expect("one");
        (Reply::decode(&reply).expect("a reply"), stream)
    };
    let hello = |secret, rank, version| {
        Request::Hello {
            version,
            secret,
            rank,
        }
        .encode()
    };
    let refused = |bytes: &[u8], why: &str| match knock(bytes).0 {
        Reply::Refused(text) => assert!(text.contains(why), "{text}"),
        other => panic!("{other:?}"),
    };
    let mut wrong = ticket.secret;
    wrong[31] ^= 1;
    refused(&hello(wrong, 0, VERSION), "secret");
    refused(&hello(ticket.secret, 1, VERSION), "rank 1");
    refused(&hello(ticket.secret, 0, VERSION + 1), "protocol");
    refused(&Request::Fence.encode(), "greeting");
    refused(&[255; 64], "greeting");
    let (reply, stream) = knock(&hello(ticket.secret, 0, VERSION));
    assert!(matches!(reply, Reply::Welcome { size: 1, .. }));
    refused(
        &hello(ticket.secret, 0, VERSION),
        "one process of each rank",
    );
    // Once inside, nonsense ends the job, with a line.
    let mut stream = stream;
    stream.write_all(&[1, 0, 0, 0, 99]).expect("written");
    child.stdout = Some(out);
    let output = finish(&mut child);
    assert_eq!(
        text(&output.stderr),
        "hetmp: rank 0: unknown request (expected messages of the launcher's protocol)\n"
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn nodes_are_handed_out() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let script = "echo $HETMP_NODES; grep Cpus_allowed_list /proc/self/status";
    let output = run(&mut hetrun(&[
        "-n", "1", "--nodes", "1", "sh", "-c", script,
    ]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("cores="));
    if cores < 2 {
        println!("skipped: two nodes need two cores");
        return;
    }
    let output = run(&mut hetrun(&[
        "-n", "2", "--nodes", "2", "sh", "-c", script,
    ]));
    let lines = sorted(&output.stdout);
    assert_eq!(lines.len(), 4);
    assert_ne!(lines[0], lines[1]);
    assert_ne!(lines[2], lines[3]);
}

#[test]
fn several_programs_are_one_job() {
    let show = "echo $HETRUN_RANK of $HETRUN_SIZE $HETRUN_LOCAL_RANK $0 $A $B $(pwd)";
    let mut command = hetrun(&["-n", "1", "-wdir", "/", "-x", "A=1"]);
    command.args(["sh", "-c", show, "first", ":"]);
    command.args(["-n", "2", "-genv", "B", "2", "sh", "-c", show, "second"]);
    let output = run(command.current_dir("/usr"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(
        sorted(&output.stdout),
        [
            "0 of 3 0 first 1 2 /",
            "1 of 3 1 second 2 /usr",
            "2 of 3 2 second 2 /usr"
        ]
    );
    // They find each other, and each end is an end of the job.
    let who = [HETRUN, "--who"];
    let mut command = hetrun(&["-n", "1"]);
    let output = run(command.args(who).args([":", "-np", "2"]).args(who));
    let lines = sorted(&output.stdout);
    assert_eq!(
        lines.last().map(String::as_str),
        Some("rank 2 of 3, by hetrun, on this machine 0,1,2, at 127.0.0.1, values of 3 exchanged")
    );
    let output = run(&mut hetrun(&[
        "-n", "1", "sleep", "30", ":", "-n", "1", "sh", "-c", "exit 3",
    ]));
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(verdict(&output), ["hetmp: rank 1: ended with status 3"]);
}

/// A script for another launcher: what means nothing here is named in one line, once, and the job runs.
#[test]
fn options_of_other_launchers_do_no_harm() {
    let options =
        "--allow-run-as-root --mca btl self,tcp -mca pml ob1 --display-map --map-by core \
                   --oversubscribe --bind-to none -np2 --tag-output";
    let options: Vec<&str> = options.split_whitespace().collect();
    let output = run(hetrun(&options).args(["echo", "x"]));
    assert!(output.status.success());
    assert_eq!(sorted(&output.stdout), ["[0] x", "[1] x"]);
    assert_eq!(
        text(&output.stderr),
        "hetmp: options: '--mca btl self,tcp', '-mca pml ob1', '--display-map', '--map-by core': have \
         no meaning here, nothing follows them\n"
    );
}

#[test]
fn processes_have_cores_of_their_own() {
    let script = "grep Cpus_allowed_list /proc/self/status";
    let lists = |options: &[&str]| {
        let mut command = hetrun(&["-n", "2"]);
        command
            .env_remove("OMP_NUM_THREADS")
            .env_remove("OMP_PLACES");
        let output = run(command.args(options).args(["sh", "-c", script]));
        assert!(output.status.success(), "{}", text(&output.stderr));
        sorted(&output.stdout)
    };
    let [free, same] = &lists(&["--bind-to", "none"])[..] else {
        panic!();
    };
    assert_eq!(free, same);
    let cores = hetmp_core::topo::Topology::discover().places(PlaceKind::Cores, None);
    if cores.len() < 2 {
        println!("skipped: two processes need two cores");
        return;
    }
    let bound = lists(&[]);
    assert_ne!(bound[0], bound[1]);
    let one = |i: usize| format!("Cpus_allowed_list:\t{}", cores[i]);
    assert_eq!(lists(&["--bind-to", "core"]), [one(0), one(1)]);
    assert_eq!(&lists(&["-x", "OMP_PLACES={0}"])[0], free);
}

/// A file that goes away.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, content: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hetrun-test-{}-{name}", std::process::id()));
        std::fs::write(&path, content).expect("a temporary file");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
