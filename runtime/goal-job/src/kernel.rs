//! The engine `kernel`: runs move on where their packets arrive, in a program at the traffic control hook of a network
//! interface, whatever the process does meanwhile.
//!
//! * **What it owns**: the helper that has loaded the program ([`helper`]), the memory shared with the program
//!   ([`area`]), the runs that have not ended, and which collectives the engine takes.
//! * **Data in**: collectives with their buffers. **Data out**: bytes in the buffers, and for each run a word that says
//!   that the run has ended.
//!
//! The process copies a run's input into shared memory, starts the run by one system call, and copies the output back
//! when it sees that the run is complete. In between nobody needs the process, not even for a lost packet: the helper
//! asks for that again.
//!
//! What the engine does not take goes to the engine `thread`. Whether it takes a collective depends on what all ranks
//! know (`hetmp_goal::kernel::place`), so that all ranks decide alike.
//!
//! More than [`RUNS`] collectives at once wait in a queue for those before them, and then begin within later calls.

mod area;
mod helper;

use crate::choice::Collective;
use crate::memory::Segment;
use crate::settings::{self, Settings};
use area::Area;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use helper::Helper;
use hetmp_core::hash::HashMap;
use hetmp_core::park::Policy;
use hetmp_core::sync::pause;
use hetmp_core::{report, sys};
use hetmp_goal::graph;
use hetmp_goal::kernel::{self, run, Declined, Image, Kick, COUNTERS, RANKS, RUNS};
use hetmp_goal::rank::Failure;
use hetmp_goal::schedule::Schedule;
use std::collections::VecDeque;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// How many collectives are remembered, with their images or why they were declined.
const CACHED: usize = 256;
/// How often a waiter looks before it gives its core away: some 10 us, if every rank has a core.
const LOOKS: u32 = 300;
/// The first of [`LOOKS`], which have no pause between them.
const QUICK: u32 = 64;
/// How often a waiter gives its core away before it sleeps.
const YIELDS: u32 = 64;
/// A waiter's first nap, nanoseconds. Each is half as long again as the one before. Nobody wakes a waiter: what a nap is
/// too long delays it.
const FIRST_NAP: u64 = 10_000;
/// The longest nap, nanoseconds.
const LONGEST_NAP: u64 = 500_000;
/// After this time without an end a waiter asks whether its peers still live, nanoseconds, and then again and again.
const CHECKS: u64 = 50_000_000;
/// How often a peer is asked how far it is, nanoseconds.
const PROBES: u64 = 1_000_000;
/// How long a rank that leaves waits for peers that may still ask for messages, nanoseconds.
const FAREWELL: u64 = 1_000_000_000;

const RUNNING: u32 = 0;
const ENDED: u32 = 1;
const FAILED: u32 = 2;

/// A run of this engine.
#[derive(Debug)]
pub(crate) struct Run {
    number: u64,
    image: Arc<Image>,
    segments: Box<[*mut u8]>,
    /// Stored with release after the results are in the program's memory.
    word: AtomicU32,
    failure: OnceLock<Failure>,
}

// SAFETY: who started the run has promised that the segments are valid, and that nobody else uses them, until the run
// has ended. They are accessed under the lock of `Kernel` only.
unsafe impl Send for Run {}
// SAFETY: as for `Send`, by the same rule.
unsafe impl Sync for Run {}

impl Run {
    /// `None` while the run goes on, as far as the last test has seen.
    #[inline]
    pub(crate) fn poll(&self) -> Option<Result<(), Failure>> {
        match self.word.load(Ordering::Acquire) {
            RUNNING => None,
            ENDED => Some(Ok(())),
            _ => Some(Err(self
                .failure
                .get()
                .copied()
                .unwrap_or(Failure::Abandoned))),
        }
    }

    fn fail(&self, why: Failure) {
        // The first failure counts.
        let _ = self.failure.set(why);
        self.word.store(FAILED, Ordering::Release);
    }
}

#[derive(Debug)]
struct Runs {
    /// The number of the run that was begun last, by its caller.
    last: u64,
    /// Runs that wait for their slots, in order.
    queue: VecDeque<Arc<Run>>,
    /// By slot: the run that has not ended.
    open: [Option<Arc<Run>>; RUNS as usize],
    /// By slot: which ranks got messages of the run that the slot holds.
    sent: [u64; RUNS as usize],
    /// When peers were asked how far they are.
    probed: u64,
    /// Why no further run can succeed.
    lost: Option<Failure>,
    taken: HashMap<Collective, Option<Arc<Image>>>,
    /// The collective that was run last; most calls repeat it.
    latest: Option<(Collective, Option<Arc<Image>>)>,
    /// Reasons for which the engine has declined a collective, and has said so.
    told: Vec<String>,
}

/// The engine.
#[derive(Debug)]
pub(crate) struct Kernel {
    rank: u32,
    ranks: u32,
    area: Area,
    runs: Mutex<Runs>,
    /// The number of the last run that has left the queue.
    launched: AtomicU64,
    /// The helper ends, and detaches the program, when this closes.
    helper: Mutex<Option<UnixStream>>,
}

/// A rank that has a helper, and has not met the other ranks yet.
#[derive(Debug)]
pub(crate) struct Offer {
    helper: Helper,
    note: Note,
    local: bool,
}

/// What a rank tells the others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Note {
    /// Rank 0's is the job's number.
    number: u64,
    address: [u8; 6],
    /// The network namespace, as this machine numbers it.
    namespace: String,
}

impl Note {
    fn encode(&self) -> String {
        let address: String = self.address.iter().map(|b| format!("{b:02x}")).collect();
        let version = kernel::VERSION;
        format!(
            "kernel {version} {:016x} {address} {}",
            self.number, self.namespace
        )
    }

    fn parse(text: &[u8]) -> Option<Note> {
        let text = core::str::from_utf8(text).ok()?;
        let text = text.strip_prefix(&format!("kernel {} ", kernel::VERSION))?;
        let mut words = text.split(' ');
        let note = Note {
            number: u64::from_str_radix(words.next()?, 16).ok()?,
            address: helper::address(words.next()?)?,
            namespace: words.next()?.to_owned(),
        };
        words.next().is_none().then_some(note)
    }
}

/// A number that another job, or this job after a restart, has with a probability of 2^-63 only. Asked of the system: the
/// standard library's source of random numbers would take static thread-local storage in every process that loads this.
fn random() -> Result<u64, String> {
    let mut number = [0u8; 8];
    // SAFETY: the call writes at most the eight bytes of `number`.
    let got = unsafe { libc::getrandom(number.as_mut_ptr().cast(), number.len(), 0) };
    if got != number.len() as isize {
        return Err(format!("getrandom: {}", std::io::Error::last_os_error()));
    }
    Ok(u64::from_le_bytes(number) | 1)
}

fn namespace() -> String {
    use std::os::unix::fs::MetadataExt as _;
    match std::fs::metadata("/proc/self/ns/net") {
        Ok(m) => format!("{}:{}", m.dev(), m.ino()),
        Err(_) => "unknown".to_owned(),
    }
}

impl Offer {
    /// Loads the program for this rank.
    ///
    /// # Errors
    /// One line: why this rank cannot have the engine.
    pub(crate) fn new(interface: &str, ranks: u32) -> Result<Offer, String> {
        if ranks > RANKS {
            return Err(Declined::Ranks(ranks).to_string());
        }
        let helper = Helper::start(interface)?;
        let note = Note {
            number: random()?,
            address: helper.address,
            namespace: namespace(),
        };
        Ok(Offer {
            // The address of the loopback device is zero.
            local: helper.address == [0; 6],
            helper,
            note,
        })
    }

    /// What the other ranks have to know.
    pub(crate) fn note(&self) -> Vec<u8> {
        self.note.encode().into_bytes()
    }

    /// The engine, if all ranks have one. `notes` are those of all ranks, this one's too.
    ///
    /// # Errors
    /// One line: which rank cannot take part, and why.
    pub(crate) fn accept(self, rank: u32, notes: &[Vec<u8>]) -> Result<Kernel, String> {
        let mut all = Vec::new();
        for (r, note) in notes.iter().enumerate() {
            let Some(note) = Note::parse(note) else {
                return Err(format!("rank {r} does not have it"));
            };
            if self.local && note.namespace != self.note.namespace {
                return Err(format!(
                    "rank {r} is in another network namespace: HETMP_GOAL_INTERFACE with an interface that reaches \
                     all ranks is accepted"
                ));
            }
            all.push(note);
        }
        let Helper {
            socket,
            descriptors: [state, runs, program],
            interface,
            ..
        } = self.helper;
        let area = Area::new(state, runs, program).map_err(|e| format!("shared memory: {e}"))?;
        let addresses: Vec<[u8; 6]> = all.iter().map(|n| n.address).collect();
        area.join(all[0].number, rank, interface, &addresses);
        Ok(Kernel {
            rank,
            ranks: all.len() as u32,
            area,
            runs: Mutex::new(Runs {
                last: 0,
                queue: VecDeque::new(),
                open: Default::default(),
                sent: [0; RUNS as usize],
                probed: 0,
                lost: None,
                taken: HashMap::default(),
                latest: None,
                told: Vec::new(),
            }),
            launched: AtomicU64::new(0),
            helper: Mutex::new(Some(socket)),
        })
    }
}

/// The image of this rank's part of a collective, or why the engine declines the collective.
fn image(what: &Collective, rank: u32, ranks: u32, settings: &Settings) -> Result<Image, String> {
    // Their arguments differ from rank to rank, so that ranks could decide differently.
    if let Collective::NeighbourAllgather { .. } | Collective::NeighbourAlltoall { .. } = what {
        return Err("neighbour collective: collectives of all ranks are accepted".to_owned());
    }
    let schedule =
        |r| -> Result<Schedule, graph::Error> { what.graph(r, ranks, settings)?.compile() };
    let all: Result<Vec<Schedule>, _> = (0..ranks).map(schedule).collect();
    let all = all.map_err(|e| e.to_string())?;
    kernel::place(&all, rank).map_err(|e| e.to_string())
}

impl Kernel {
    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This rank's image of a collective; `None` if the engine does not take it. Then rank 0 says why, once for each
    /// reason.
    fn image(&self, runs: &mut Runs, what: &Collective, settings: &Settings) -> Option<Arc<Image>> {
        if let Some((latest, image)) = &runs.latest {
            if latest == what {
                return image.clone();
            }
        }
        let image = match runs.taken.get(what) {
            Some(image) => image.clone(),
            None => {
                let image = match image(what, self.rank, self.ranks, settings) {
                    Ok(image) => Some(Arc::new(image)),
                    Err(why) => {
                        self.decline(runs, why);
                        None
                    }
                };
                if runs.taken.len() >= CACHED {
                    runs.taken.clear();
                }
                runs.taken.insert(what.clone(), image.clone());
                image
            }
        };
        runs.latest = Some((what.clone(), image.clone()));
        image
    }

    #[cold]
    fn decline(&self, runs: &mut Runs, why: String) {
        if self.rank == 0 && !runs.told.contains(&why) && runs.told.len() < 8 {
            report::warn(format_args!(
                "GOAL engine kernel: {why}; such collectives take the engine thread"
            ));
            runs.told.push(why);
        }
    }

    /// Begins a collective. `None` if the engine does not take it.
    ///
    /// # Errors
    /// A peer is lost, so that no collective can end any more; or the kernel does not start the program.
    ///
    /// # Safety
    /// The buffers are valid for the collective's reads and writes until the run has ended, and nobody else uses them
    /// meanwhile.
    pub(crate) unsafe fn start(
        &self,
        what: &Collective,
        buffers: &[Segment; 2],
        settings: &Settings,
    ) -> Option<Result<Arc<Run>, Failure>> {
        let mut runs = self.lock();
        let image = self.image(&mut runs, what, settings)?;
        // A missing buffer is an error that the other way reports. Nothing has begun yet.
        let needs =
            |(placed, have): (&kernel::Placed, &Segment)| placed.bytes > 0 && have.start.is_null();
        if image.segments().iter().zip(buffers).any(needs) {
            return None;
        }
        if let Some(why) = runs.lost {
            return Some(Err(why));
        }
        runs.last += 1;
        let run = Arc::new(Run {
            number: runs.last,
            segments: buffers.iter().map(|b| b.start).collect(),
            image,
            word: AtomicU32::new(RUNNING),
            failure: OnceLock::new(),
        });
        runs.queue.push_back(Arc::clone(&run));
        self.launch(&mut runs);
        Some(Ok(run))
    }

    /// Begins the runs of the queue that have slots.
    fn launch(&self, runs: &mut Runs) {
        while let Some(run) = runs.queue.front() {
            let run = Arc::clone(run);
            if !self.is_free(runs, run.number) {
                return;
            }
            runs.queue.pop_front();
            let slot = (run.number % RUNS) as usize;
            runs.sent[slot] = run.image.sent();
            // SAFETY: who has started the run keeps its buffers valid until the run has ended. `is_free` says that
            // nobody needs what the slot holds. This thread holds the lock.
            unsafe { self.area.write(run.number, &run.image, &run.segments) };
            if let Err(error) = self.area.kick(Kick::Start { run: run.number }) {
                report::warn(format_args!("GOAL engine kernel: start of a run: {error}"));
                self.fail_all(runs, Failure::Abandoned);
                run.fail(Failure::Abandoned);
                return;
            }
            self.launched.store(run.number, Ordering::Relaxed);
            runs.open[slot] = Some(run);
        }
    }

    /// Whether the slot of run `number` can be written: its run has ended, and no peer can ask for messages of it.
    fn is_free(&self, runs: &mut Runs, number: u64) -> bool {
        let slot = (number % RUNS) as usize;
        if let Some(run) = runs.open[slot].clone() {
            if !self.collect(runs, &run) {
                return false;
            }
        }
        let Some(before) = number.checked_sub(RUNS).filter(|n| *n > 0) else {
            return true;
        };
        let behind = self.behind(runs.sent[slot], before);
        if behind != 0 {
            self.probe(runs, behind);
        }
        behind == 0
    }

    /// Of these ranks: those that have not said that they are done with run `number`.
    fn behind(&self, ranks: u64, number: u64) -> u64 {
        (0..self.ranks)
            .filter(|r| ranks >> r & 1 == 1 && self.area.done_at(*r) < number)
            .fold(0, |all, r| all | 1 << r)
    }

    /// Asks ranks how far they are, unless they were asked a moment ago.
    fn probe(&self, runs: &mut Runs, ranks: u64) {
        let now = sys::monotonic_ns();
        if now.saturating_sub(runs.probed) >= PROBES {
            runs.probed = now;
            // An error here is one of the system's; the next start meets it too, and reports it.
            let _ = self.area.kick(Kick::Probe { peers: ranks });
        }
    }

    /// Whether the program has completed a run that was launched.
    fn is_done(&self, run: &Run) -> bool {
        self.area.state_of(run.number) == run::DONE && self.area.holds(run.number) == run.number
    }

    /// Takes the results of a run if it is complete. True if the run has ended.
    fn collect(&self, runs: &mut Runs, run: &Arc<Run>) -> bool {
        let slot = (run.number % RUNS) as usize;
        let is_open = matches!(&runs.open[slot], Some(open) if Arc::ptr_eq(open, run));
        if !is_open {
            return run.poll().is_some();
        }
        if !self.is_done(run) {
            return false;
        }
        // SAFETY: the state is DONE and the slot holds the run, which is open: nobody has collected it. Who started the
        // run keeps its buffers valid until `word` says that the run has ended. This thread holds the lock.
        unsafe { self.area.read(run.number, &run.image, &run.segments) };
        runs.open[slot] = None;
        run.word.store(ENDED, Ordering::Release);
        true
    }

    fn fail_all(&self, runs: &mut Runs, why: Failure) {
        runs.lost = Some(why);
        let open = runs.open.iter_mut().filter_map(Option::take);
        for run in open.chain(runs.queue.drain(..)) {
            run.fail(why);
        }
    }

    /// The result of a run; `None` while it goes on.
    pub(crate) fn test(&self, run: &Arc<Run>) -> Option<Result<(), Failure>> {
        let ended = run.poll();
        if ended.is_some() {
            return ended;
        }
        if self.is_done(run) {
            let mut runs = self.lock();
            self.collect(&mut runs, run);
            self.launch(&mut runs);
            return run.poll();
        }
        if run.number > self.launched.load(Ordering::Relaxed) {
            let mut runs = self.lock();
            self.launch(&mut runs);
        }
        None
    }

    /// Waits for the end of a run. `is_gone` says whether a rank has died, or has left.
    ///
    /// # Errors
    /// Why the run has failed.
    pub(crate) fn wait(
        &self,
        run: &Arc<Run>,
        is_gone: &dyn Fn(u32) -> Gone,
    ) -> Result<(), Failure> {
        if !Policy::oversubscribed() {
            for i in 0..LOOKS {
                if let Some(ended) = self.test(run) {
                    return ended;
                }
                if i >= QUICK {
                    pause();
                }
            }
        }
        for _ in 0..YIELDS {
            if let Some(ended) = self.test(run) {
                return ended;
            }
            sys::yield_now();
        }
        let (mut nap, mut checked) = (FIRST_NAP, sys::monotonic_ns());
        loop {
            if let Some(ended) = self.test(run) {
                return ended;
            }
            rest(nap);
            nap = (nap + nap / 2).min(LONGEST_NAP);
            let now = sys::monotonic_ns();
            if now.saturating_sub(checked) >= CHECKS {
                checked = now;
                self.check(run, is_gone);
            }
        }
    }

    /// Fails all runs if a rank is gone without which `run` cannot end.
    fn check(&self, run: &Arc<Run>, is_gone: &dyn Fn(u32) -> Gone) {
        let needs = |rank: u32| {
            let holds = self.area.holds(run.number) == run.number;
            let mut receives = run.image.receives().iter();
            receives.any(|(peer, place)| {
                *peer == rank && !(holds && self.area.is_complete(run.number, *place))
            })
        };
        let others = (0..self.ranks).filter(|r| *r != self.rank);
        let lost = others.into_iter().find(|r| match is_gone(*r) {
            Gone::No => false,
            // What it has sent before it left has arrived, or was asked for.
            Gone::Left => needs(*r),
            Gone::Died => true,
        });
        if let Some(peer) = lost {
            let mut runs = self.lock();
            // What the rank has sent before its end counts.
            if !self.collect(&mut runs, run) {
                self.fail_all(&mut runs, Failure::PeerLost { peer });
            }
        }
    }

    /// Gives up the runs that have not ended, waits a while for peers that may still ask for messages, and lets the
    /// helper detach the program.
    pub(crate) fn finish(&self, is_gone: &dyn Fn(u32) -> Gone) {
        let mut runs = self.lock();
        for run in runs.open.clone().into_iter().flatten() {
            self.collect(&mut runs, &run);
        }
        let was_lost = runs.lost.is_some();
        let has_open = !runs.queue.is_empty() || runs.open.iter().any(Option::is_some);
        self.fail_all(&mut runs, Failure::Abandoned);
        let launched = runs.last;
        let until = sys::monotonic_ns() + FAREWELL;
        // Runs that this rank gives up end at no peer that needs this rank, so that waiting would be in vain.
        while !was_lost && !has_open && sys::monotonic_ns() < until {
            let first = launched.saturating_sub(RUNS - 1).max(1);
            let behind = (first..=launched).fold(0, |all, n| {
                all | self.behind(runs.sent[(n % RUNS) as usize], n)
            });
            let here = (0..self.ranks).filter(|r| behind >> r & 1 == 1 && is_gone(*r) == Gone::No);
            let behind = here.fold(0, |all, r| all | 1u64 << r);
            if behind == 0 {
                break;
            }
            self.probe(&mut runs, behind);
            rest(FIRST_NAP);
        }
        drop(
            self.helper
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        if settings::counters() {
            self.tell();
        }
    }

    /// Prints the program's counters.
    fn tell(&self) {
        let counts: Vec<String> = COUNTERS
            .iter()
            .enumerate()
            .map(|(i, name)| format!("{name} {}", self.area.counter(i)))
            .collect();
        report::line(
            "hetmp: ",
            format_args!(
                "GOAL engine kernel, rank {}: {}",
                self.rank,
                counts.join(", ")
            ),
        );
    }
}

/// Whether a rank is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    /// As far as is known.
    No,
    /// It has left the job.
    Left,
    /// Its process has ended without leaving.
    Died,
}

/// Sleeps for `ns` nanoseconds, less than a second.
fn rest(ns: u64) {
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: ns as i64,
    };
    // SAFETY: `time` lives until the call returns; the null pointer says that the rest of an interrupted sleep is not
    // asked for.
    unsafe { libc::nanosleep(&raw const time, core::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back_and_others_are_refused() {
        let note = Note {
            number: 0x0123_4567_89ab_cdef,
            address: [2, 0, 0, 0xff, 1, 9],
            namespace: "4:4026531840".to_owned(),
        };
        let text = note.encode();
        assert_eq!(Note::parse(text.as_bytes()), Some(note));
        for bad in [
            String::new(),
            text.replace("kernel 1 ", "kernel 2 "),
            text.replace("020000ff0109", "020000ff01"),
            format!("{text} more"),
        ] {
            assert_eq!(Note::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn two_jobs_have_two_numbers() {
        assert_ne!(random(), random());
    }
}
