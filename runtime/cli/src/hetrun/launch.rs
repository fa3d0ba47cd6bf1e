//! A job from its start to its end: one loop that receives all events.

use super::arguments::{Run, HOST_TIMEOUT};
use super::exchange::{Action, End, Event, Exchange};
use super::host::{Happening, Host, Output, Plan, Report};
use super::hosts;
use super::output::{Printer, Stream};
use super::remote::{Remote, Word, SSH};
use super::signals;
use hetmp_core::bootstrap::wire::Reply;
use hetmp_core::report::warn;
use hetmp_core::topo::nodes::dsm;
use std::ffi::OsString;
use std::io::{IsTerminal as _, Read, Write};
use std::net::{IpAddr, ToSocketAddrs as _, UdpSocket};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After a failure, the time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(1000);
/// After somebody has asked for the job's end by a signal and one process has ended, the time that the others have.
const FAREWELL: Duration = Duration::from_secs(10);
/// How long the end of a connection may come before the end of its process. The kernel closes the files of a killed
/// process first. On a machine with a load of ten times its cores, more than half a second was seen between the two.
const AGAIN: Duration = Duration::from_secs(3);
/// How long output may go on after the processes have ended; their own children may still hold it open.
const DRAIN: Duration = Duration::from_millis(1000);

/// An event for the loop.
enum Input {
    /// From a host, by the host's number.
    Word(usize, Word),
    Signal(i32),
}

/// The part of the job on one host.
enum Part {
    Here(Host),
    There(Remote),
}

impl Part {
    fn reply(&self, rank: u32, reply: Reply) {
        match self {
            Self::Here(host) => host.reply(rank, &reply),
            Self::There(remote) => remote.reply(rank, reply),
        }
    }

    fn signal(&self, signal: i32) {
        match self {
            Self::Here(host) => host.signal(signal),
            Self::There(remote) => remote.signal(signal),
        }
    }
}

/// The ranks of one host, before anything is started.
struct Share {
    name: String,
    here: bool,
    plan: Plan,
}

/// Runs the job, and returns its exit status. An error is one line and a status.
pub(crate) fn run(run: &Run) -> Result<u8, (u8, String)> {
    let shares = shares(run)?;
    let size = shares.iter().map(|s| s.plan.count).sum();
    let printer = Arc::new(Printer::new(run.prefix));
    signals::block();
    let (sender, inputs) = mpsc::channel();
    let parts = start(run, &shares, &sender, &printer)?;
    signals::watch(sender, Input::Signal);
    let ranges = shares
        .iter()
        .map(|s| s.plan.first..s.plan.first + s.plan.count)
        .collect();
    let mut job = Job {
        parts,
        ranges,
        exchange: Exchange::new(size),
        drained: vec![false; size as usize],
        again: Vec::new(),
        status: None,
        asked: None,
        kill_at: None,
        give_up_at: None,
    };
    if let Some(to) = job.stdin() {
        std::thread::spawn(move || relay_input(to));
    }
    loop {
        if job.over() {
            break;
        }
        let wait = job.next_deadline().map_or(Duration::from_secs(3600), |at| {
            at.saturating_duration_since(Instant::now())
        });
        match inputs.recv_timeout(wait) {
            Ok(Input::Word(_, Word::Happened(happening))) => job.happened(happening),
            Ok(Input::Word(part, Word::Gone(status, text))) => job.gone(part, status, text),
            Ok(Input::Signal(signal)) => job.signal(signal),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        job.deadlines();
    }
    for part in &job.parts {
        part.signal(libc::SIGKILL);
        if let Part::There(remote) = part {
            remote.close();
        }
    }
    let status = job.status.unwrap_or_else(|| job.exchange.worst());
    Ok(u8::try_from(status & 0xff).unwrap_or(1))
}

/// The plan of every host.
fn shares(run: &Run) -> Result<Vec<Share>, (u8, String)> {
    let bad = |text: String| (2, text);
    let failed = |text: String| (1, text);
    let mut places = Vec::new();
    if let Some(path) = &run.hosts {
        let file = path.display().to_string();
        let text = hetmp_core::file::text(path, hetmp_core::file::SMALL)
            .map_err(|error| bad(format!("file {file}: a hosts' file is accepted ({error})")))?;
        let hosts = hosts::parse(&file, &text).map_err(bad)?;
        let counts = hosts::place(&file, &hosts, run.processes).map_err(bad)?;
        let used: Vec<_> = hosts.iter().zip(counts).filter(|(_, n)| *n > 0).collect();
        for (host, count) in &used {
            let (address, here) = locate(&host.name, used.len() == 1).map_err(bad)?;
            places.push((host.name.clone(), here, address, *count));
        }
    } else {
        let count = run.processes.unwrap_or(1);
        let address = IpAddr::from([127, 0, 0, 1]);
        places.push(("localhost".to_owned(), true, address, count));
    }
    let size: u32 = places.iter().map(|place| place.3).sum();
    if run.dsm && !(2..=8).contains(&size) {
        return Err(bad(format!(
            "option --dsm: {size} processes: 2 to 8 nodes are accepted"
        )));
    }
    let nodes = match run.dsm {
        true => dsm_nodes(run, size).map_err(bad)?,
        false => run.nodes.clone(),
    };
    let directory: PathBuf = std::env::current_dir()
        .map_err(|error| failed(format!("this folder: one that exists is needed ({error})")))?;
    let secret = super::random().map_err(failed)?;
    let mut first = 0;
    let mut shares = Vec::new();
    for (name, here, address, count) in places {
        shares.push(Share {
            plan: Plan {
                size,
                first,
                count,
                secret,
                address: address.to_string(),
                directory: directory.clone(),
                nodes: nodes.clone(),
                whole: size > 1 || run.prefix,
                dsm: run.dsm,
                host_timeout: run.host_timeout.unwrap_or(HOST_TIMEOUT),
                program: run.program.clone(),
                variables: variables(run, here),
            },
            name,
            here,
        });
        first += count;
    }
    Ok(shares)
}

/// The nodes of one program, if they are described: by `--nodes`, or by the variable with which nodes of one machine are.
///
/// # Errors
/// One line: another number of nodes than of processes, or what is said of them is not what nodes have.
fn dsm_nodes(run: &Run, size: u32) -> Result<Option<String>, String> {
    let variable = || {
        let given = (run.variables.iter().rev()).find(|(name, _)| name == "HETMP_NODES");
        match given {
            Some((_, Some(value))) => Some(value.clone()),
            _ => std::env::var_os("HETMP_NODES"),
        }
    };
    let (what, value) = match &run.nodes {
        Some(value) => ("option --nodes", value.clone()),
        None => match variable() {
            Some(value) => ("HETMP_NODES", value.to_string_lossy().into_owned()),
            None => return Ok(None),
        },
    };
    // The variable may describe nodes of one process, for programs that are not started by this command.
    let Some((count, _)) = dsm::split(&value) else {
        return Ok(None);
    };
    if count.parse() != Ok(size) {
        return Err(format!(
            "{what} {value}: dsm:{size} is accepted: as many nodes as processes"
        ));
    }
    let members = dsm::members(&value, size as usize)
        .map_err(|accepted| format!("{what} {value}: {accepted}"))?;
    Ok((!members.is_empty()).then_some(value))
}

/// A host's address, and whether the host is this machine.
fn locate(name: &str, only: bool) -> Result<(IpAddr, bool), String> {
    let bare = hosts::without_user(name);
    let address = (bare, 0)
        .to_socket_addrs()
        .map_err(|error| format!("host {name}: a name that has an address is accepted ({error})"))?
        .map(|a| a.ip())
        .min_by_key(IpAddr::is_ipv6)
        .ok_or_else(|| format!("host {name}: a name that has an address is accepted"))?;
    // Finds out whether the address can be bound: only a machine's own addresses can. Nothing is sent, and nothing
    // listens.
    let here = bare == name && UdpSocket::bind((address, 0)).is_ok();
    if address.is_loopback() && !only {
        return Err(format!(
            "host {name}, {address}: with other hosts, an address by which they reach it is accepted"
        ));
    }
    let address = if here && only {
        IpAddr::from([127, 0, 0, 1])
    } else {
        address
    };
    Ok((address, here))
}

/// The variables for the processes of another host. Processes here inherit hetrun's.
fn variables(run: &Run, here: bool) -> Vec<(OsString, OsString)> {
    let mut all: Vec<(OsString, OsString)> = Vec::new();
    if !here {
        for (name, value) in std::env::vars_os() {
            let bytes = name.as_bytes();
            let ours = [
                &b"OMP_"[..],
                b"GOMP_",
                b"HETMP_",
                b"SHMEM_",
                b"SMA_",
                b"ACC_",
            ]
            .iter()
            .any(|prefix| bytes.starts_with(prefix));
            if ours && bytes != b"HETMP_JOB" {
                all.push((name, value));
            }
        }
    }
    for (name, value) in &run.variables {
        if let Some(value) = value.clone().or_else(|| std::env::var_os(name)) {
            all.push((name.clone(), value));
        }
    }
    all
}

fn start(
    run: &Run,
    shares: &[Share],
    sender: &Sender<Input>,
    printer: &Arc<Printer>,
) -> Result<Vec<Part>, (u8, String)> {
    let hetrun = match &run.remote {
        Some(path) => path.clone(),
        None => std::env::current_exe().unwrap_or_else(|_| "hetrun".into()),
    };
    let mut parts = Vec::new();
    for (number, share) in shares.iter().enumerate() {
        let (sender, printer) = (sender.clone(), Arc::clone(printer));
        let part = if share.here {
            let report: Report = Arc::new(move |happening| {
                // After the end of the loop no one is left to be told.
                let _ = sender.send(Input::Word(number, Word::Happened(happening)));
            });
            let output: Output =
                Arc::new(move |rank, stream, bytes| printer.print(rank, stream, bytes));
            Host::start(&share.plan, &report, &output)
                .map(Part::Here)
                .map_err(|(status, text)| (u8::try_from(status).unwrap_or(1), text))
        } else {
            let say = move |word| {
                let _ = sender.send(Input::Word(number, word));
            };
            let print = move |rank, stream: Stream, bytes: &[u8]| {
                printer.print(rank, stream, bytes);
            };
            let ssh = run.ssh.as_deref().unwrap_or(SSH);
            Remote::start(ssh, &share.name, &hetrun, &share.plan, say, print)
                .map(Part::There)
                .map_err(|text| (2, text))
        };
        match part {
            Ok(part) => parts.push(part),
            Err(error) => {
                // What was started ends with hetrun: agents see that their connection has ended, and the processes
                // here are killed.
                for part in &parts {
                    part.signal(libc::SIGKILL);
                }
                return Err(error);
            }
        }
    }
    Ok(parts)
}

/// Passes standard input on to rank 0, until one of the two ends.
fn relay_input(mut to: Box<dyn Write + Send>) {
    let mut from = std::io::stdin();
    let mut buffer = vec![0; 16 * 1024];
    loop {
        // The kernel would stop a hetrun in the background that reads from the terminal.
        while from.is_terminal() && !in_foreground() {
            std::thread::sleep(Duration::from_millis(200));
        }
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(n) => {
                if to.write_all(&buffer[..n]).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn in_foreground() -> bool {
    // SAFETY: asks about a descriptor and this process; neither has preconditions.
    unsafe { libc::tcgetpgrp(libc::STDIN_FILENO) == libc::getpgrp() }
}

struct Job {
    parts: Vec<Part>,
    /// The ranks of each part.
    ranges: Vec<std::ops::Range<u32>>,
    exchange: Exchange,
    /// By rank: whether its outputs have ended.
    drained: Vec<bool>,
    /// When to ask again about which rank.
    again: Vec<(Instant, u32)>,
    /// The exit status, once the job has failed.
    status: Option<i32>,
    /// The signal by which somebody has asked for the job's end.
    asked: Option<i32>,
    /// When to send SIGKILL.
    kill_at: Option<Instant>,
    /// When to stop waiting for output.
    give_up_at: Option<Instant>,
}

impl Job {
    fn stdin(&mut self) -> Option<Box<dyn Write + Send>> {
        let part = self.ranges.iter().position(|range| range.contains(&0))?;
        match &mut self.parts[part] {
            Part::Here(host) => Some(Box::new(host.stdin()?)),
            Part::There(remote) => Some(Box::new(remote.stdin())),
        }
    }

    fn happened(&mut self, happening: Happening) {
        match happening {
            Happening::Rank(rank, event) => {
                let ended = matches!(event, Event::Ended(_));
                let actions = self.exchange.handle(rank, event);
                self.act(actions);
                if ended && self.exchange.ended() {
                    self.give_up_at = Some(Instant::now() + DRAIN);
                }
            }
            Happening::Drained(rank) => self.drained[rank as usize] = true,
        }
    }

    /// A host cannot be used any more.
    fn gone(&mut self, part: usize, status: i32, text: String) {
        let range = self.ranges[part].clone();
        if let Part::There(remote) = &self.parts[part] {
            remote.close();
        }
        let actions = self.exchange.fail_by(status, text);
        self.act(actions);
        for rank in range {
            self.happened(Happening::Rank(rank, Event::Ended(End::Signal(9))));
            self.drained[rank as usize] = true;
        }
    }

    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Reply(rank, reply) => {
                    let part = self.ranges.iter().position(|range| range.contains(&rank));
                    if let Some(part) = part {
                        self.parts[part].reply(rank, reply);
                    }
                }
                Action::AskAgain(rank) => self.again.push((Instant::now() + AGAIN, rank)),
                Action::Fail(status, text) => self.fail(status, Some(&text)),
                Action::Stop => self.fail(0, None),
            }
        }
    }

    fn fail(&mut self, status: i32, text: Option<&str>) {
        if self.asked.is_some() {
            // This end was asked for and is no failure, but the other processes must not wait for ever.
            self.kill_at.get_or_insert(Instant::now() + FAREWELL);
            return;
        }
        if let Some(text) = text {
            warn(format_args!("{text}"));
        }
        self.status = Some(status);
        self.kill_at = Some(Instant::now() + GRACE);
        self.everywhere(libc::SIGTERM);
        // A stopped process would not notice the signal.
        self.everywhere(libc::SIGCONT);
    }

    fn everywhere(&self, signal: i32) {
        for part in &self.parts {
            part.signal(signal);
        }
    }

    fn signal(&mut self, signal: i32) {
        if signals::asks_to_end(signal) {
            if self.asked.is_some() {
                self.kill_at = Some(Instant::now());
            }
            self.asked = Some(signal);
        }
        self.everywhere(signal);
        if signal == libc::SIGTSTP {
            signals::stop_self();
        }
    }

    fn over(&self) -> bool {
        self.exchange.ended()
            && (self.drained.iter().all(|d| *d)
                || self
                    .give_up_at
                    .is_some_and(|at| at + DRAIN <= Instant::now()))
    }

    fn next_deadline(&self) -> Option<Instant> {
        let give_up = self
            .give_up_at
            .map(|at| if at > Instant::now() { at } else { at + DRAIN });
        let again = self.again.iter().map(|(at, _)| *at).min();
        [again, self.kill_at, give_up].into_iter().flatten().min()
    }

    fn deadlines(&mut self) {
        let now = Instant::now();
        if self.kill_at.is_some_and(|at| at <= now) {
            self.kill_at = None;
            self.everywhere(libc::SIGKILL);
        }
        // Children that the processes have left behind keep their outputs open. They get a second.
        if self.give_up_at.is_some_and(|at| at <= now) && !self.over() {
            self.everywhere(libc::SIGKILL);
        }
        let due: Vec<u32> = self
            .again
            .iter()
            .filter(|(at, _)| *at <= now)
            .map(|(_, rank)| *rank)
            .collect();
        self.again.retain(|(at, _)| *at > now);
        for rank in due {
            let actions = self.exchange.handle(rank, Event::Again);
            self.act(actions);
        }
    }
}
