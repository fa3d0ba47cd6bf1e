//! Jobs on several hosts, which are network name spaces joined by a pair of virtual interfaces. The
//! tests are skipped if this user may not create name spaces.

use super::{clean, finish, hetrun, role, run, sorted, text, verdict, Scratch, HETRUN, LIMIT};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Network name spaces `a` and `b` of a private network, whose names end with this process's id.
/// They, and what was started in them, go away with it.
struct Network {
    spaces: [String; 2],
    ssh: Scratch,
    hosts: Scratch,
}

const ADDRESSES: [&str; 2] = ["10.213.7.1", "10.213.7.2"];

impl Network {
    /// `None`, and a line that says why, where such a network cannot be made.
    fn new(name: &str) -> Option<Self> {
        let id = std::process::id();
        let spaces = [format!("hr{name}a{id}"), format!("hr{name}b{id}")];
        let ip = |arguments: &str| {
            let output = Command::new("ip").args(arguments.split(' ')).output();
            match output {
                Ok(output) if output.status.success() => true,
                Ok(output) => {
                    println!("skipped: ip {arguments}: {}", text(&output.stderr).trim());
                    false
                }
                Err(error) => {
                    println!("skipped: ip: {error}");
                    false
                }
            }
        };
        let [a, b] = &spaces;
        // Stands in for ssh: host names are addresses, and an address is in a name space.
        let script = format!(
            "#!/bin/sh\nwhile :; do case $1 in -*) shift ;; *) break ;; esac; done\n\
             case $1 in {}) space={a} ;; {}) space={b} ;; *) exit 255 ;; esac\nshift\n\
             exec ip netns exec $space sh -c \"$*\"\n",
            ADDRESSES[0], ADDRESSES[1]
        );
        let network = Self {
            ssh: Scratch::new(&format!("{name}-ssh"), &script),
            hosts: Scratch::new(
                &format!("{name}-hosts"),
                &format!("{} slots=2\n{} slots=2\n", ADDRESSES[0], ADDRESSES[1]),
            ),
            spaces: spaces.clone(),
        };
        let made = ip(&format!("netns add {a}"))
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

    fn hetrun(&self) -> Command {
        let ssh = format!("sh {} -T", self.ssh.0.display());
        let hosts = self.hosts.0.display().to_string();
        hetrun(&["--ssh", &ssh, "--hosts", &hosts])
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for space in &self.spaces {
            let _ = Command::new("ip").args(["netns", "del", space]).output();
        }
    }
}

#[test]
fn jobs_on_several_hosts() {
    let Some(network) = Network::new("j") else {
        return;
    };
    let output = run(network.hetrun().args([HETRUN, "--who"]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let expected: Vec<String> = (0..4)
        .map(|rank| {
            format!(
                "rank {rank} of 4, by hetrun, on this machine {}, at {}, values of 4 exchanged",
                ["0,1", "2,3"][rank / 2],
                ADDRESSES[rank / 2]
            )
        })
        .collect();
    assert_eq!(sorted(&output.stdout), expected);
    let output = run(role(&mut network.hetrun(), "exchange"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    // The addresses are those by which the hosts reach each other.
    let ping = "[ $HETRUN_RANK != 0 ] || ip -brief address show dev v0; pwd; echo \"$X\"";
    let mut command = network.hetrun();
    command.args(["-n", "3", "--prefix", "-x", "X=a  'b'", "sh", "-c", ping]);
    let output = run(&mut command);
    let lines = sorted(&output.stdout);
    assert_eq!(lines.len(), 7, "{lines:?} {}", text(&output.stderr));
    assert!(lines
        .iter()
        .any(|l| l.starts_with("[0] v0") && l.contains(ADDRESSES[0])));
    let here = std::env::current_dir().expect("a folder");
    for rank in 0..3 {
        assert!(lines.contains(&format!("[{rank}] {}", here.display())));
        assert!(lines.contains(&format!("[{rank}] a  'b'")));
    }
    // Input crosses, more of it than fits on the way.
    let mut child = network
        .hetrun()
        .args(["-n", "4", "--prefix", "wc", "-c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hetrun");
    let mut stdin = child.stdin.take().expect("piped");
    let writer = std::thread::spawn(move || stdin.write_all(&vec![b'x'; 3_000_000]));
    let output = finish(&mut child);
    writer.join().expect("a writer").expect("written");
    assert_eq!(
        sorted(&output.stdout),
        ["[0] 3000000", "[1] 0", "[2] 0", "[3] 0"]
    );
}

#[test]
fn a_death_on_one_host_ends_the_job_on_all() {
    let Some(network) = Network::new("d") else {
        return;
    };
    let script = "if [ $HETRUN_RANK = 3 ]; then kill -ABRT $$; fi; trap '' TERM; \
                  sleep 300 & sleep 300; wait";
    let output = run(network.hetrun().args(["sh", "-c", script]));
    assert_eq!(output.status.code(), Some(134));
    assert_eq!(
        verdict(&output),
        ["hetmp: rank 3: ended by signal 6 (SIGABRT)"]
    );
    let output = run(role(&mut network.hetrun(), "abort"));
    assert_eq!(
        verdict(&output),
        ["hetmp: rank 1: ended the job with status 9: no more room"]
    );
    // The connection to a host breaks: its agent's end stands for it.
    let script = "[ $HETRUN_RANK != 2 ] || kill -KILL $PPID; exec sleep 300";
    let output = run(network.hetrun().args(["sh", "-c", script]));
    assert_eq!(output.status.code(), Some(1));
    let lines = verdict(&output);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("hetmp: host 10.213.7.2: its connection is needed"));
    // No agent there, or another program that talks.
    for (path, line) in [
        ("/no/hetrun", "one that ssh reaches, with hetrun on it)"),
        ("/bin/echo", "hetrun's answers only, and nothing"),
    ] {
        let mut command = network.hetrun();
        command.args(["-n", "1", "--remote", path, "true"]);
        let output = run(&mut command);
        assert_eq!(output.status.code(), Some(1));
        let said = verdict(&output);
        let form = said[0].starts_with("hetmp: host 10.213.7.1: ");
        assert!(
            form && said[0].contains(&format!(" (expected {line}")),
            "{said:?}"
        );
    }
    let mut command = network.hetrun();
    let output = run(command.args(["-n", "1", "/no/such"]));
    assert_eq!(output.status.code(), Some(127));
    assert!(verdict(&output)[0].starts_with("hetmp: host 10.213.7.1: program /no/such: "));
}

#[test]
fn addresses_that_others_cannot_reach_are_refused() {
    let hosts = Scratch::new("loop-hosts", "me@127.0.0.1\n10.213.7.2\n");
    let output = run(hetrun(&["-n", "2", "--hosts"]).arg(&hosts.0).arg("true"));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "hetmp: host me@127.0.0.1: '127.0.0.1': other hosts cannot reach it (expected an address by which they do)\n"
    );
}

/// All names of this machine are one host, which is reached without ssh.
#[test]
fn names_of_this_machine_are_one_host() {
    for text_of in [
        "localhost slots=3\n",
        "localhost:1\n127.0.0.1 slots=1 # again\nlocalhost\n",
    ] {
        let hosts = Scratch::new("one-host", text_of);
        let mut command = hetrun(&["--ssh", "/no/ssh", "-machinefile"]);
        let output = run(command.arg(&hosts.0).args([HETRUN, "--who"]));
        let lines = sorted(&output.stdout);
        assert_eq!(lines.len(), 3, "{}", text(&output.stderr));
        assert!(
            lines[2].starts_with("rank 2 of 3, by hetrun, on this machine 0,1,2, at 127.0.0.1,")
        );
    }
}

/// `localhost` is this machine, and a job here needs no hosts at all, where nothing can tell addresses of names.
#[test]
fn a_job_here_needs_no_server_of_names() {
    let script = "for f in hosts nsswitch.conf resolv.conf; do \
                  [ ! -e /etc/$f ] || mount --bind /dev/null /etc/$f || exit 77; done; exec \"$@\"";
    let mut command = clean("unshare");
    command.args(["-m", "sh", "-c", script, "sh", HETRUN, "-n", "1"]);
    command.args([
        HETRUN,
        "--who",
        ":",
        "-n",
        "1",
        "-H",
        "localhost",
        HETRUN,
        "--who",
    ]);
    let output = run(&mut command);
    let said = text(&output.stderr);
    if output.status.code() == Some(77) || said.starts_with("unshare: ") {
        println!("skipped: no files can be hidden here: {said}");
        return;
    }
    assert!(output.status.success(), "{said}");
    assert_eq!(sorted(&output.stdout).len(), 2);
}

/// Who is where: the job's lines of `--who`, shortened.
fn whereabouts(command: &mut Command) -> Vec<String> {
    let output = run(command);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = sorted(&output.stdout);
    let part = |line: &String| {
        let line = line.split_once(" on this machine ").expect("a line").1;
        line.split_once(", values").expect("a line").0.to_owned()
    };
    lines.iter().map(part).collect()
}

#[test]
fn programs_and_hosts_in_any_order() {
    let Some(network) = Network::new("p") else {
        return;
    };
    let who = [HETRUN, "--who"];
    let [a, b] = ADDRESSES;
    let mut command = network.hetrun();
    command.args(["--map-by", "node", "-n", "1"]).args(who);
    let got = whereabouts(command.args([":", "-n", "3"]).args(who));
    let (even, odd) = (format!("0,2, at {a}"), format!("1,3, at {b}"));
    assert_eq!(got, [even.as_str(), &odd, &even, &odd]);
    // Each program runs with its own words and variables and in its own folder, where its host is.
    let show = "echo $HETRUN_RANK $HETRUN_LOCAL_RANK $0 $A $(pwd)";
    let mut command = network.hetrun();
    command.args([
        "-n", "1", "-x", "A=1", "-wdir", "/", "sh", "-c", show, "x y",
    ]);
    let output = run(command.args([":", "-n", "2", "-wdir", "/usr", "sh", "-c", show, "z"]));
    assert_eq!(
        sorted(&output.stdout),
        ["0 0 x y 1 /", "1 1 z /usr", "2 0 z /usr"],
        "{}",
        text(&output.stderr)
    );
    // Programs on hosts of their own: the second host has ranks on both sides of the first one's.
    let ssh = format!("sh {}", network.ssh.0.display());
    let mut command = hetrun(&["--ssh", &ssh, "-n", "1", "-H", b]);
    command.args(who).args([":", "-n", "1", "-H", a]).args(who);
    let got = whereabouts(command.args([":", "-n", "2", "-host", b]).args(who));
    let on_b = format!("0,2,3, at {b}");
    assert_eq!(got, [on_b.as_str(), &format!("1, at {a}"), &on_b, &on_b]);
    // More than the slots, if that is allowed; they are divided among the hosts.
    let mut command = network.hetrun();
    let output = run(command.args(["-n", "6"]).args(who));
    assert_eq!(output.status.code(), Some(2));
    let got = whereabouts(
        network
            .hetrun()
            .args(["-n", "6", "--oversubscribe"])
            .args(who),
    );
    assert_eq!(got[5], format!("3,4,5, at {b}"));
    // This machine by a name that only it knows: the others get the address on the way to them.
    let hosts = Scratch::new("lo-hosts", &format!("localhost\n{b}\n"));
    let mut command = clean("ip");
    command.args(["netns", "exec", &network.spaces[0], HETRUN]);
    command.args(["--ssh", &ssh, "-f"]);
    let got = whereabouts(command.arg(&hosts.0).args(who));
    assert_eq!(got, [format!("0, at {a}"), format!("1, at {b}")]);
}

/// A job of two processes on one host that is reached by a stand-in for ssh, whose process becomes the agent: host, and
/// a file's worth of what the processes do. Rank 0 prints the agent's process id and its own.
fn through_an_agent(name: &str) -> (Scratch, Scratch, Command) {
    let script = "#!/bin/sh\nwhile :; do case $1 in -*) shift ;; *) break ;; esac; done\nshift\nexec sh -c \"$*\"\n";
    let ssh = Scratch::new(&format!("{name}-ssh"), script);
    // A user's name makes it another host.
    let hosts = Scratch::new(&format!("{name}-hosts"), "me@127.0.0.1 slots=2\n");
    let mut command = hetrun(&["--host-timeout", "4", "--hosts"]);
    command
        .arg(&hosts.0)
        .arg("--ssh")
        .arg(format!("sh {}", ssh.0.display()))
        .args([
            "sh",
            "-c",
            "[ $HETRUN_RANK != 0 ] || echo $PPID $$; exec sleep 1000",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    (ssh, hosts, command)
}

/// The two numbers of the job's first line.
fn numbers(child: &mut std::process::Child) -> (i32, i32) {
    let mut line = String::new();
    let out = child.stdout.as_mut().expect("piped");
    // Byte by byte: the rest is read by somebody else.
    while !line.ends_with('\n') {
        let mut byte = [0];
        std::io::Read::read_exact(out, &mut byte).expect("a line");
        line.push(char::from(byte[0]));
    }
    let mut words = line
        .split_whitespace()
        .map(|w| w.parse().expect("a number"));
    (words.next().expect("two"), words.next().expect("two"))
}

fn send(process: i32, signal: i32) {
    // SAFETY: a signal to a process that the test has started.
    unsafe { libc::kill(process, signal) };
}

/// A host that gives no sign of life, as far as hetrun can see: its agent is stopped, and no connection ends.
#[test]
fn a_host_that_falls_silent_ends_the_job() {
    let (_ssh, _hosts, mut command) = through_an_agent("silent");
    let mut child = command.spawn().expect("hetrun");
    let (agent, _) = numbers(&mut child);
    send(agent, libc::SIGSTOP);
    let output = finish(&mut child);
    let errors = text(&output.stderr);
    assert_eq!(
        errors.trim(),
        "hetmp: host me@127.0.0.1, ranks 0 to 1: no sign of life for 4 s (--host-timeout)"
    );
    assert_eq!(output.status.code(), Some(1));
}

/// The processes on a host end when the host of hetrun gives no sign of life.
#[test]
fn processes_end_when_the_host_of_hetrun_falls_silent() {
    let (_ssh, _hosts, mut command) = through_an_agent("orphans");
    let mut child = command.spawn().expect("hetrun");
    let (_, process) = numbers(&mut child);
    send(child.id() as i32, libc::SIGSTOP);
    let folder = format!("/proc/{process}");
    let end = std::time::Instant::now() + LIMIT;
    while std::path::Path::new(&folder).exists() {
        assert!(std::time::Instant::now() < end, "process {process} goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
    send(child.id() as i32, libc::SIGCONT);
    assert!(!finish(&mut child).status.success());
}

/// A job that its terminal has stopped gives no sign of life, and must not be ended for that.
#[test]
fn a_stopped_job_is_not_given_up() {
    let (_ssh, _hosts, mut command) = through_an_agent("stopped");
    let mut child = command.spawn().expect("hetrun");
    let (_, process) = numbers(&mut child);
    send(child.id() as i32, libc::SIGTSTP);
    // Longer than the timeout.
    std::thread::sleep(Duration::from_secs(6));
    assert!(std::path::Path::new(&format!("/proc/{process}")).exists());
    assert!(child.try_wait().expect("a child").is_none());
    send(child.id() as i32, libc::SIGCONT);
    send(child.id() as i32, libc::SIGTERM);
    let output = finish(&mut child);
    assert_eq!(text(&output.stderr), "");
}
