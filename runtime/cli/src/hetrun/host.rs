//! The processes of a job on one machine: starts them, listens for them on a unix socket, reads what they print, and
//! waits for their ends. Used by hetrun itself, and by its agents on other hosts.

use super::exchange::{End, Event};
use super::output::{relay, Stream};
use super::places;
use super::prepare::{dsm_preload, half_for_this_machine, more_files, prepare};
use hetmp_core::bootstrap::wire::{hex, read_frame, same_secret, Reply, Request, Ticket, VERSION};
use hetmp_core::bootstrap::SECRET;
use hetmp_core::file;
use hetmp_core::topo::Topology;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::os::fd::AsRawFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What has to be started on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// How many processes the job has.
    pub(crate) size: u32,
    /// The ranks on this machine, ascending, and the numbers of their programs.
    pub(crate) ranks: Vec<(u32, u32)>,
    pub(crate) programs: Vec<Program>,
    pub(crate) secret: [u8; SECRET],
    /// The address by which other machines reach this one.
    pub(crate) address: String,
    /// The value of `HETMP_NODES`. Each process gets one of the nodes.
    pub(crate) nodes: Option<String>,
    pub(crate) bind: places::Bind,
    /// True if output is passed on in whole lines only.
    pub(crate) whole: bool,
    /// True if the processes are the nodes of one program.
    pub(crate) dsm: bool,
    /// After this many seconds of silence hetrun and the agent on another host give each other up; 0: never.
    pub(crate) host_timeout: u32,
}

/// A program of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// Its name and its arguments.
    pub(crate) words: Vec<OsString>,
    pub(crate) directory: PathBuf,
    pub(crate) variables: Vec<(OsString, OsString)>,
}

impl Plan {
    /// True if the rank is one of this machine.
    pub(crate) fn has(&self, rank: u32) -> bool {
        self.ranks.binary_search_by_key(&rank, |(r, _)| *r).is_ok()
    }

    /// The programs that are started on this machine.
    fn programs_here(&self) -> impl Iterator<Item = &Program> {
        let used = |number: u32| self.ranks.iter().any(|(_, program)| *program == number);
        let numbered = (0..).zip(&self.programs);
        numbered.filter(move |(n, _)| used(*n)).map(|(_, p)| p)
    }
}

/// An event on this machine.
#[derive(Debug)]
pub(crate) enum Happening {
    /// An event of a rank.
    Rank(u32, Event),
    /// Both outputs of a rank have ended.
    Drained(u32),
}

/// The receiver of happenings.
pub(crate) type Report = Arc<dyn Fn(Happening) + Send + Sync>;
/// The receiver of output.
pub(crate) type Output = Arc<dyn Fn(u32, Stream, &[u8]) + Send + Sync>;

/// Why nothing was started: the exit status, and a line for the user.
pub(crate) type Refusal = (i32, String);

type Connections = Arc<Mutex<HashMap<u32, UnixStream>>>;

/// The processes on this machine.
#[derive(Debug)]
pub(crate) struct Host {
    /// The processes' ids. Each process leads a process group.
    groups: Vec<libc::pid_t>,
    connections: Connections,
    stdin: Option<ChildStdin>,
}

/// Locks a mutex. No lock is ever poisoned, because a panic ends the process.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Host {
    /// Starts the processes. Must be called by the thread that lives as long as hetrun: the kernel kills the
    /// processes when that thread ends.
    pub(crate) fn start(plan: &Plan, report: &Report, output: &Output) -> Result<Self, Refusal> {
        if let Some(program) = plan.programs_here().find(|p| !p.directory.is_dir()) {
            return Err((
                1,
                format!(
                    "folder {}: not on this host (expected the same folder on each)",
                    program.directory.display()
                ),
            ));
        }
        let places = places::places(plan, Topology::discover, &|name| std::env::var_os(name))
            .map_err(|text| (2, text))?;
        let socket = format!(
            "hetrun-{}-{}",
            std::process::id(),
            hex(&super::random::<8>().map_err(|error| (1, error))?)
        );
        let connections = Connections::default();
        let listening = SocketAddr::from_abstract_name(socket.as_bytes())
            .and_then(|name| UnixListener::bind_addr(&name))
            .map_err(|error| (1, format!("socket {socket}: one is needed ({error})")))?;
        let door = Door {
            plan: plan.clone(),
            report: Arc::clone(report),
            connections: Arc::clone(&connections),
            strangers: AtomicUsize::new(0),
        };
        std::thread::spawn(move || Arc::new(door).listen(&listening));
        let files = more_files();
        let preload = match plan.dsm {
            true => Some(dsm_preload().map_err(|text| (2, text))?),
            false => None,
        };

        let mut host = Self {
            groups: Vec::new(),
            connections,
            stdin: None,
        };
        for ((index, place), (rank, program)) in (0_u32..).zip(places).zip(&plan.ranks) {
            let (rank, program) = (*rank, &plan.programs[*program as usize]);
            let ticket = Ticket {
                socket: socket.clone(),
                rank,
                secret: plan.secret,
            };
            let half = match plan.dsm {
                true => half_for_this_machine(&program.words[0]),
                false => None,
            };
            let mut command = match &half {
                // The child has the descriptor until its program runs.
                Some(half) => Command::new(format!("/proc/self/fd/{}", half.as_raw_fd())),
                None => Command::new(&program.words[0]),
            };
            command
                .arg0(&program.words[0])
                .args(&program.words[1..])
                .current_dir(&program.directory)
                .envs(program.variables.iter().map(|(n, v)| (n, v)))
                .env("HETMP_JOB", ticket.encode())
                .env("HETRUN_RANK", rank.to_string())
                .env("HETRUN_SIZE", plan.size.to_string())
                .env("HETRUN_LOCAL_RANK", index.to_string())
                .stdin(if rank == 0 {
                    Stdio::piped()
                } else {
                    Stdio::null()
                })
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                // A group of its own, so that a signal reaches everything that the process has started.
                .process_group(0);
            if let Some(nodes) = place.nodes {
                command.env("HETMP_NODES", nodes);
            }
            if let Some(preload) = &preload {
                // Symbols are bound at start: lazy binding would write to memory that the nodes share.
                command.env("LD_PRELOAD", preload).env("LD_BIND_NOW", "1");
            }
            prepare(&mut command, place.cpus.words().to_vec(), files, plan.dsm);
            match command.spawn() {
                Ok(child) => host.adopt(rank, child, plan.whole, report, output),
                Err(error) => {
                    host.signal(libc::SIGKILL);
                    let status = if error.kind() == ErrorKind::NotFound {
                        127
                    } else {
                        126
                    };
                    let text = format!(
                        "program {}: {error} (expected one that can be started)",
                        program.words[0].to_string_lossy()
                    );
                    return Err((status, text));
                }
            }
        }
        Ok(host)
    }

    /// Starts the threads that read a process's output and wait for its end.
    fn adopt(
        &mut self,
        rank: u32,
        mut child: Child,
        whole: bool,
        report: &Report,
        output: &Output,
    ) {
        self.groups.push(child.id() as libc::pid_t);
        if let Some(stdin) = child.stdin.take() {
            self.stdin = Some(stdin);
        }
        let open = Arc::new(AtomicUsize::new(2));
        let reader = |from: Box<dyn std::io::Read + Send>, stream| {
            let (report, output, open) =
                (Arc::clone(report), Arc::clone(output), Arc::clone(&open));
            std::thread::spawn(move || {
                relay(from, whole, |bytes| output(rank, stream, bytes));
                // The thread that ends second reports. By then the other one has passed on all its output.
                if open.fetch_sub(1, Ordering::AcqRel) == 1 {
                    report(Happening::Drained(rank));
                }
            });
        };
        if let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) {
            reader(Box::new(out), Stream::Out);
            reader(Box::new(err), Stream::Err);
        }
        let report = Arc::clone(report);
        std::thread::spawn(move || {
            let end = match child.wait() {
                Ok(status) => match (status.code(), status.signal()) {
                    (Some(code), _) => End::Status(code),
                    (None, Some(signal)) => End::Signal(signal),
                    (None, None) => End::Status(1),
                },
                Err(_) => End::Status(1),
            };
            report(Happening::Rank(rank, Event::Ended(end)));
        });
    }

    /// The standard input of rank 0, if that rank is here. Can be taken once.
    pub(crate) fn stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// Sends a reply to a process. A process that does not read it loses its connection.
    pub(crate) fn reply(&self, rank: u32, reply: &Reply) {
        let mut connections = lock(&self.connections);
        let sent = connections
            .get_mut(&rank)
            .map(|stream| stream.write_all(&reply.encode()));
        if let Some(Err(_)) = sent {
            if let Some(stream) = connections.remove(&rank) {
                // This wakes the thread that reads from the connection, which then reports the end.
                let _ = stream.shutdown(std::net::Shutdown::Both);
            }
        }
    }

    /// Sends a signal to all processes, and to everything that they have started.
    pub(crate) fn signal(&self, signal: i32) {
        for group in &self.groups {
            // SAFETY: sends a signal to a group that this process has made. It fails without harm for a group that
            // has ended.
            unsafe { libc::kill(-group, signal) };
        }
    }
}

/// The state of the listening thread.
struct Door {
    plan: Plan,
    report: Report,
    connections: Connections,
    /// How many connections have not said hello yet.
    strangers: AtomicUsize,
}

/// How long a connection may take to say hello.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a rank's new process waits until its old one is gone.
const TURN: Duration = Duration::from_secs(1);
/// The time between two looks at a process whose connection has ended.
const LOOK: Duration = Duration::from_millis(10);
/// In how many looks a process must be seen to go on. Looks, since the clock goes on while a machine that has too much
/// to do runs nothing of the job.
const LOOKS: u32 = 300;

impl Door {
    fn listen(self: Arc<Self>, listener: &UnixListener) {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                // Accepting may fail for a while, if descriptors are short for example.
                std::thread::sleep(Duration::from_millis(20));
                continue;
            };
            // A bounded number of threads serves connections without the secret, each for a bounded time.
            let limit = self.plan.ranks.len() + 64;
            if self.strangers.fetch_add(1, Ordering::Relaxed) >= limit {
                self.strangers.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let door = Arc::clone(&self);
            std::thread::spawn(move || {
                if let Some((rank, process)) = door.serve(stream) {
                    door.see_off(rank, &process, LOOKS);
                }
            });
        }
    }

    /// Serves a connection to its end: whose it was, if it was one of the job.
    fn serve(&self, mut stream: UnixStream) -> Option<(u32, Process)> {
        let process = Process::new(peer(&stream)?.pid);
        let greeted = self.greet(&mut stream);
        self.strangers.fetch_sub(1, Ordering::Relaxed);
        let rank = match greeted {
            Ok(rank) => rank,
            Err(why) => {
                let _ = stream.write_all(&Reply::Refused(why).encode());
                return None;
            }
        };
        let event = |event| (self.report)(Happening::Rank(rank, event));
        loop {
            match read_frame(&mut stream) {
                Ok(Some(bytes)) => match Request::decode(&bytes) {
                    Ok(request) => event(Event::Request(request)),
                    Err(error) => {
                        event(Event::Garbled(error.to_string()));
                        break;
                    }
                },
                Err(error) if error.kind() == ErrorKind::InvalidData => {
                    event(Event::Garbled(error.to_string()));
                    break;
                }
                Ok(None) | Err(_) => break,
            }
        }
        // Reported before the rank's next process can be let in and reported.
        let mut connections = lock(&self.connections);
        connections.remove(&rank);
        event(Event::Left);
        Some((rank, process))
    }

    /// Reports a process that goes on without its connection. A connection is kept by a thread with descriptors of its
    /// own, which may end long before the others; and the end of the process tells more than that of the connection.
    fn see_off(&self, rank: u32, process: &Process, looks: u32) {
        let mut seen = 0;
        while seen < looks {
            match process.life() {
                // Another thread waits for it, and reports its end: on a busy machine that may come seconds after the
                // process has gone from /proc.
                Life::Over if process.is_ours => return,
                Life::Ends => {}
                // What was a script's child may be over, and the script goes on.
                Life::Over | Life::GoesOn => seen += 1,
            }
            std::thread::sleep(LOOK);
        }
        (self.report)(Happening::Rank(rank, Event::WentOn));
    }

    /// Lets a process in that knows the job's secret.
    fn greet(&self, stream: &mut UnixStream) -> Result<u32, String> {
        let failed = |error: std::io::Error| format!("a greeting: one is needed ({error})");
        if peer(stream).map(|peer| peer.uid) != Some(own_uid()) {
            return Err("another user's process (expected one of the job)".to_owned());
        }
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        // A process that does not read its replies must not delay the others for long.
        stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
        let bytes = read_frame(stream).map_err(failed)?.unwrap_or_default();
        let Ok(Request::Hello {
            version,
            secret,
            rank,
        }) = Request::decode(&bytes)
        else {
            return Err(
                "no greeting of hetrun's protocol (expected a process of the job)".to_owned(),
            );
        };
        if !same_secret(&secret, &self.plan.secret) {
            return Err("not the job's secret (expected a process of the job)".to_owned());
        }
        if version != VERSION {
            return Err(format!(
                "protocol {version}: another version (expected {VERSION})"
            ));
        }
        if !self.plan.has(rank) {
            return Err(format!(
                "rank {rank}: not started here (expected one that was)"
            ));
        }
        stream.set_read_timeout(None).map_err(failed)?;
        let writer = stream.try_clone().map_err(failed)?;
        let until = Instant::now() + TURN;
        let mut connections = lock(&self.connections);
        while connections.contains_key(&rank) {
            // The rank's old process may have ended just now, while its thread has not noticed yet.
            drop(connections);
            if Instant::now() > until {
                return Err(format!(
                    "rank {rank}: joined already (expected one process of each rank at a time)"
                ));
            }
            std::thread::sleep(Duration::from_millis(10));
            connections = lock(&self.connections);
        }
        // A process may end as soon as it is welcome, and its end is reported by another thread: the joining is
        // reported first, or the end would look like that of a process that never joined. Replies wait for the
        // connection, so the welcome comes before all of them.
        let event = |event| (self.report)(Happening::Rank(rank, event));
        event(Event::Joined);
        let welcome = Reply::Welcome {
            size: self.plan.size,
            local: self.plan.ranks.iter().map(|(rank, _)| *rank).collect(),
            address: self.plan.address.clone(),
        };
        if let Err(error) = stream.write_all(&welcome.encode()) {
            event(Event::Left);
            return Err(failed(error));
        }
        connections.insert(rank, writer);
        Ok(rank)
    }
}

fn own_uid() -> libc::uid_t {
    // SAFETY: geteuid has no preconditions.
    unsafe { libc::geteuid() }
}

/// The process at the other end and its user, as they were when it connected.
fn peer(stream: &UnixStream) -> Option<libc::ucred> {
    let mut peer = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: a live socket, and a live record with its length.
    let failed = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    (failed == 0).then_some(peer)
}

/// How far a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    GoesOn,
    /// Killed or ending, but not ready yet for its parent's `wait`.
    Ends,
    Over,
}

/// A process that has joined.
#[derive(Debug)]
struct Process {
    id: libc::pid_t,
    /// Whether it was started here.
    is_ours: bool,
}

impl Process {
    fn new(id: libc::pid_t) -> Self {
        let parent = Stat::of(id).map(|stat| stat.number(4));
        let is_ours = parent == Some(u64::from(std::process::id()));
        Self { id, is_ours }
    }

    fn life(&self) -> Life {
        Stat::of(self.id).map_or(Life::Over, |stat| stat.life())
    }
}

/// What proc_pid_stat(5) says of a process and of its first thread.
struct Stat(String);

impl Stat {
    /// `None` for a process that is gone.
    fn of(process: libc::pid_t) -> Option<Self> {
        let text = file::bytes(Path::new(&format!("/proc/{process}/stat")), 4096).ok()?;
        Some(Self(String::from_utf8_lossy(&text).into_owned()))
    }

    /// Numbered as on that page, whose third field follows the name, which may be any.
    fn field(&self, number: usize) -> &str {
        let fields = self.0.rsplit(')').next().unwrap_or_default();
        fields.split(' ').nth(number - 2).unwrap_or_default()
    }

    fn number(&self, field: usize) -> u64 {
        self.field(field).parse().unwrap_or(0)
    }

    fn life(&self) -> Life {
        const EXITING: u64 = 4;
        let killed = self.number(31) & 1 << (libc::SIGKILL - 1) != 0;
        match self.field(3) {
            "Z" | "X" if self.number(20) <= 1 => Life::Over,
            "Z" | "X" => Life::Ends,
            _ if killed || self.number(9) & EXITING != 0 => Life::Ends,
            _ => Life::GoesOn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{lock, Door, Event, Happening, Life, Plan, Process, Report, Stat};
    use hetmp_core::bootstrap::wire::{read_frame, Reply, Request, VERSION};
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    /// A door, and what it reports, each after a while.
    fn door() -> (Door, Arc<Mutex<Vec<Event>>>) {
        let seen: Arc<Mutex<Vec<Event>>> = Arc::default();
        let record = Arc::clone(&seen);
        let report: Report = Arc::new(move |happening| {
            std::thread::sleep(Duration::from_millis(50));
            if let Happening::Rank(_, event) = happening {
                lock(&record).push(event);
            }
        });
        let door = Door {
            plan: Plan {
                size: 1,
                ranks: vec![(0, 0)],
                programs: Vec::new(),
                secret: [7; super::SECRET],
                address: String::new(),
                nodes: None,
                bind: super::places::Bind::None,
                whole: false,
                dsm: false,
                host_timeout: 0,
            },
            report,
            connections: Arc::default(),
            strangers: AtomicUsize::new(1),
        };
        (door, seen)
    }

    /// The main thread hears of what happens late. A process that is welcome, and may end at once, has been
    /// reported as joined all the same.
    #[test]
    fn who_is_welcome_has_been_reported() {
        let (door, seen) = door();
        let (mut process, stream) = UnixStream::pair().expect("a pair");
        let hello = Request::Hello {
            version: VERSION,
            secret: door.plan.secret,
            rank: 0,
        };
        process.write_all(&hello.encode()).expect("a greeting");
        let served = std::thread::spawn(move || door.serve(stream));
        let welcome = read_frame(&mut process).expect("a frame").expect("a reply");
        assert!(matches!(Reply::decode(&welcome), Ok(Reply::Welcome { .. })));
        assert_eq!(lock(&seen)[..], [Event::Joined]);
        drop(process);
        served.join().expect("the door's thread");
        assert_eq!(lock(&seen)[..], [Event::Joined, Event::Left]);
    }

    /// However late the thread that waits for it is.
    #[test]
    fn only_a_process_that_goes_on_is_reported_without_its_connection() {
        let (door, seen) = door();
        let mut child = Command::new("sleep").arg("60").spawn().expect("a child");
        let mut process = Process::new(child.id() as libc::pid_t);
        assert!(process.is_ours);
        door.see_off(0, &process, 2);
        assert_eq!(lock(&seen)[..], [Event::WentOn]);
        child.kill().expect("a living child");
        door.see_off(0, &process, u32::MAX);
        assert_eq!(process.life(), Life::Over);
        child.wait().expect("a child");
        door.see_off(0, &process, u32::MAX);
        assert_eq!(lock(&seen).len(), 1);
        process.is_ours = false;
        door.see_off(0, &process, 2);
        assert_eq!(
            lock(&seen).len(),
            2,
            "a script that has started it may go on"
        );
    }

    #[test]
    fn a_process_ends_until_its_last_thread_has_ended() {
        let stat = |state, flags: u32, threads: u32, pending: u32| {
            let before =
                format!("7 (a) b) {state} 1 7 7 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 {threads}");
            Stat(format!("{before} 0 9 0 0 0 0 0 0 0 0 {pending} 0")).life()
        };
        assert_eq!(stat("S", 0x40_0000, 2, 0), Life::GoesOn);
        let killed = stat("S", 0x40_0000, 2, 1 << 8);
        assert_eq!(killed, Life::Ends, "it has not run yet");
        assert_eq!(stat("R", 0x40_0004, 2, 0), Life::Ends);
        let headless = stat("Z", 0x40_0004, 2, 0);
        assert_eq!(headless, Life::Ends, "its first thread has ended");
        assert_eq!(stat("Z", 0x40_0004, 1, 0), Life::Over);
        assert_eq!(Stat(String::new()).life(), Life::GoesOn);
        let own = Process::new(std::process::id() as libc::pid_t);
        assert_eq!((own.life(), own.is_ours), (Life::GoesOn, false));
    }
}
