//! A job from its start to its end: one loop that receives all events.

use super::arguments::Run;
use super::exchange::{Action, End, Event, Exchange};
use super::host::{Happening, Host, Output, Report};
use super::output::{Printer, Stream};
use super::remote::{Remote, Word, SSH};
use super::shares::{self, Share};
use super::signals;
use hetmp_core::bootstrap::wire::Reply;
use hetmp_core::report::warn;
use std::io::{IsTerminal as _, Read, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After a failure, the time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(1000);
/// After somebody has asked for the job's end by a signal and one process has ended, the time that the others have.
const FAREWELL: Duration = Duration::from_secs(10);
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

/// Runs the job, and returns its exit status. An error is one line and a status.
pub(crate) fn run(run: &Run) -> Result<u8, (u8, String)> {
    if !run.unheeded.is_empty() {
        warn(format_args!(
            "options: '{}': have no meaning here, nothing follows them",
            run.unheeded.join("', '")
        ));
    }
    let shares = shares::shares(run)?;
    let size = shares.iter().map(|s| s.plan.ranks.len() as u32).sum();
    let printer = Arc::new(Printer::new(run.prefix));
    signals::block();
    let (sender, inputs) = mpsc::channel();
    let parts = start(run, &shares, &sender, &printer)?;
    signals::watch(sender, Input::Signal);
    let mut part_of = vec![0; size as usize];
    for (part, share) in shares.iter().enumerate() {
        for (rank, _) in &share.plan.ranks {
            part_of[*rank as usize] = part;
        }
    }
    let mut job = Job {
        parts,
        part_of,
        exchange: Exchange::new(size),
        drained: vec![false; size as usize],
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
    /// By rank: the part that it belongs to.
    part_of: Vec<usize>,
    exchange: Exchange,
    /// By rank: whether its outputs have ended.
    drained: Vec<bool>,
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
        match &mut self.parts[*self.part_of.first()?] {
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
        if let Part::There(remote) = &self.parts[part] {
            remote.close();
        }
        let actions = self.exchange.fail_by(status, text);
        self.act(actions);
        let of = |rank: &u32| self.part_of[*rank as usize] == part;
        let ranks: Vec<u32> = (0..self.part_of.len() as u32).filter(of).collect();
        for rank in ranks {
            self.happened(Happening::Rank(rank, Event::Ended(End::Signal(9))));
            self.drained[rank as usize] = true;
        }
    }

    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Reply(rank, reply) => {
                    self.parts[self.part_of[rank as usize]].reply(rank, reply);
                }
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
        [self.kill_at, give_up].into_iter().flatten().min()
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
    }
}
