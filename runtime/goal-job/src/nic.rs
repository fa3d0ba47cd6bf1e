//! The engine `nic`: runs are triggered operations of a network adapter, which is emulated. Whatever the process does
//! meanwhile, the adapter executes what a message or another operation has made ready.
//!
//! * **What it owns**: a segment of each rank with the arenas of its runs, the counters of the rank's port, and the
//!   queue pair on which runs are posted.
//! * **Two forms.** In the form `process` (`nic`) each rank has an adapter that is a process of its own, the command
//!   `hetmp goal nic-adapter` ([`serve`]): it goes on while the rank's process is stopped. In the form `thread`
//!   (`nic-thread`) the adapter is a thread of the rank's process.
//!
//! What a run's steps are, and where they lie in an arena, is said by [`hetmp_goal::triggered`].
//!
//! # Memory ordering
//! The process writes a run's input into the arena, and then posts; the doorbell record is stored with release and
//! loaded with acquire by the adapter. The adapter adds to a counter with release after the memory that the count
//! stands for, and [`Device::is_done`] loads the run's last counter with acquire. `COLLECTED` is stored with release
//! after the results were copied out, and loaded with acquire by a peer that then lets its adapter write there.

use crate::offload::{Device, Image, Offload, Refused};
use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_core::keeper::Keeper;
use hetmp_core::page;
use hetmp_core::park::{self, Policy};
use hetmp_core::segment::Segment;
use hetmp_core::{helper, quota, sys};
use hetmp_goal::schedule::Schedule;
use hetmp_goal::series::{self, Turn};
use hetmp_goal::triggered::{self, Action, Program, Step, ARENA, COUNTERS, ENDED, RUNS, STEPS};
use hetmp_nic::descriptor::{CounterId, Descriptor, Key, Local, Remote, Source, Work};
use hetmp_nic::engine::QueuePair;
use hetmp_nic::job::apart::{self, Queue};
use hetmp_nic::job::Job;
use hetmp_nic::keys::{Memory, Rights};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many runs a rank has at once.
const SLOTS: usize = series::slots(RUNS) as usize;
/// Counters that the rank's port has.
pub(crate) const ALL_COUNTERS: usize = SLOTS * COUNTERS;
/// Slots of the queue pair: for all steps of as many runs as there can be at once.
const DEPTH: usize = SLOTS * STEPS;
const _: () = assert!(DEPTH <= 1 << 16, "the longest queue pair");

/// Offsets of words in a rank's segment: whether the rank has its adapter, and up to which run all are collected, by
/// series.
const STATUS: usize = 0;
const COLLECTED: usize = 128;
/// Offset of the queue pair.
const QUEUE: usize = page::LARGEST;

/// The rank has its adapter.
const READY: u64 = 1;
/// It has none.
const FAILED: u64 = 2;

/// How long a post waits for room: the adapter notes the end of an operation a moment after the counter has moved.
const ROOM: u64 = 1_000_000_000;

fn arenas() -> usize {
    (QUEUE + apart::queue_bytes(DEPTH)).next_multiple_of(page::LARGEST)
}

fn bytes() -> usize {
    arenas() + ARENA as usize * SLOTS
}

/// Where the adapter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A process for each rank.
    Process,
    /// A thread of the rank's process.
    Thread,
}

impl Form {
    /// What a rank tells the others while it joins.
    pub(crate) fn note(self) -> Vec<u8> {
        format!("nic 1 {self:?}").into_bytes()
    }

    /// Whether all ranks want this form. `notes` are those of all ranks.
    ///
    /// # Errors
    /// One line: which rank does not.
    pub(crate) fn agreed(self, notes: &[Vec<u8>]) -> Result<Form, String> {
        match notes.iter().position(|n| *n != self.note()) {
            Some(r) => Err(format!("rank {r} does not have it")),
            None => Ok(self),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Form::Process => "nic",
            Form::Thread => "nic-thread",
        }
    }
}

/// Gives all ranks their adapters. Collective.
///
/// # Errors
/// [`Refused`].
pub(crate) fn join(job: &'static Job, port: u8, form: Form) -> Result<&'static Offload, Refused> {
    let all = |why: &str| Refused::All(why.to_owned());
    // The same on all ranks: either all map each other, or none maps all.
    if job.peers().iter().any(|p| p.segment.is_none()) {
        return Err(all(
            "ranks do not map each other's memory (expected ranks on one machine, and HETMP_NIC auto or shm)",
        ));
    }
    if form == Form::Process && job.engine().is_some() {
        return Err(all(
            "the adapter of HETMP_NIC emulated is a thread (expected HETMP_NIC auto or shm, or the engine nic-thread)",
        ));
    }
    if job.size() > triggered::RANKS {
        return Err(Refused::All(
            triggered::Declined::Ranks(job.size()).to_string(),
        ));
    }
    let segments = job
        .segment(c"hetmp-goal-nic", bytes(), page::LARGEST)
        .map_err(Refused::Job)?;
    let bases: Box<[*mut u8]> = segments.iter().flatten().map(Segment::base).collect();
    // Never unmapped: peers' adapters write there until the process ends.
    core::mem::forget(segments);
    let own = Memory {
        here: bases[job.rank() as usize],
        len: bytes(),
        base: 0,
    };
    // SAFETY: the segment stays mapped, and peers are expected to write there. It is the first region that every rank
    // registers at this port, so that the key is the same on all ranks.
    let key = unsafe { job.domain().register(port, own, Rights::ALL, None) };
    let key = key.map_err(|e| Refused::Job(e.to_string()))?;
    let begun = adapter(job, &bases, form);
    let area = Area { bases };
    let status = if begun.is_ok() { READY } else { FAILED };
    area.word(job.rank(), STATUS)
        .store(status, Ordering::Release);
    job.fence().map_err(Refused::Job)?;
    let (queue, helper) = begun.map_err(Refused::All)?;
    let failed = (0..job.size()).find(|r| area.word(*r, STATUS).load(Ordering::Acquire) != READY);
    if let Some(r) = failed {
        return Err(Refused::All(format!("rank {r} does not have it")));
    }
    let counters = job
        .domain()
        .port(port)
        .and_then(|p| p.counter(0))
        .ok_or_else(|| all("no counters"))?;
    let device = Nic {
        job,
        form,
        area,
        key,
        counters: counters.0,
        posting: Mutex::new(Posting {
            queue,
            before: vec![0; ALL_COUNTERS].into(),
            collected: [(0, 0); 1 + series::GROUPS as usize],
            error: None,
            posted: 0,
            runs: 0,
        }),
        helper: Mutex::new(helper),
    };
    Ok(Offload::new(job.rank(), job.size(), Box::new(device)))
}

/// This rank's adapter: the posting end of its queue pair, and the socket of its process if it is one.
fn adapter(
    job: &'static Job,
    bases: &[*mut u8],
    form: Form,
) -> Result<(QueuePair, Option<Keeper<UnixStream>>), String> {
    if form == Form::Thread {
        let engine = job.queues().ok_or("no adapter")?;
        return Ok((engine.queue_pair(DEPTH, job.keys()), None));
    }
    let layout = job
        .layout(Queue {
            segment: 0,
            offset: QUEUE,
            depth: DEPTH,
        })
        .ok_or("memory that other processes cannot map")?;
    let at = bases[job.rank() as usize].wrapping_add(QUEUE);
    // SAFETY: the queue lies in this rank's segment behind the words of the first page, is aligned to a page, and was
    // zero. `helper` starts its only adapter.
    let queue = unsafe { apart::queue_pair(job, at, DEPTH) };
    let socket = start(&layout)?;
    Ok((queue, Some(socket)))
}

/// Starts the adapter's process. It ends when the keeper does.
fn start(layout: &str) -> Result<Keeper<UnixStream>, String> {
    let (mut socket, mut child) = helper::start("hetmp", &["goal", "nic-adapter"])?;
    let answer = socket
        .write_all(layout.as_bytes())
        .and_then(|()| helper::receive(&socket));
    // The adapter has forked itself away before it answers, so that the program never gets to see one of our children.
    // If the program's own wait has taken this one, the error says so, and nothing is lost.
    let _ = child.wait();
    let (text, _) = answer.map_err(|e| format!("adapter: {e}"))?;
    match text.strip_prefix("error ") {
        Some(why) => Err(why.to_owned()),
        None if text == "ready" => {
            let number = socket.as_raw_fd();
            let keeper = Keeper::start(c"hetmp-goal", &[number], move || ((), Some(socket)));
            keeper.map(|(k, ())| k).map_err(|e| format!("adapter: {e}"))
        }
        None => Err(format!(
            "adapter: answer {text:?}: hetmp of the same version is needed"
        )),
    }
}

/// Serves the rank at the other end of the socket as its adapter, until the rank closes the socket. The body of the
/// command `hetmp goal nic-adapter`.
///
/// # Errors
/// The socket's. A failure to start is no error here; the rank is told.
pub fn serve(socket: OwnedFd) -> io::Result<()> {
    let socket = UnixStream::from(socket);
    if !helper::apart()? {
        return Ok(());
    }
    let mut layout = String::new();
    let mut reader = BufReader::new(&socket);
    while reader.read_line(&mut layout)? > 0 && layout.lines().last() != Some(apart::END) {}
    // Each rank of this machine has a process and an adapter.
    let ranks = layout
        .lines()
        .nth(2)
        .map_or(1, |l| l.split(' ').count() - 1);
    let cpus = quota::available_cpus();
    Policy::join_job((2 * ranks).saturating_sub(1), cpus);
    let adapter = match apart::start(&layout) {
        Ok(adapter) => adapter,
        Err(why) => {
            let why: String = why.chars().take(400).collect();
            return helper::send(&socket, &format!("error {why}\n"), &[]);
        }
    };
    helper::send(&socket, "ready\n", &[])?;
    while !helper::closes(&socket, Duration::from_secs(3600))? {}
    drop(adapter);
    Ok(())
}

/// The ranks' segments.
#[derive(Debug)]
struct Area {
    bases: Box<[*mut u8]>,
}

// SAFETY: the segments stay mapped. Threads share their words through atomics; arenas are accessed under the lock of
// `Offload`, as "Memory ordering" says.
unsafe impl Send for Area {}
// SAFETY: as for `Send`, by the same rules.
unsafe impl Sync for Area {}

impl Area {
    /// A word of a rank's first page.
    fn word(&self, rank: u32, offset: usize) -> &AtomicU64 {
        // SAFETY: a word of a mapped segment, aligned to 8, which all processes access as an atomic.
        unsafe { AtomicU64::from_ptr(self.bases[rank as usize].wrapping_add(offset).cast()) }
    }
}

/// Offset in a segment of a run's arena.
fn arena(turn: Turn) -> u64 {
    arenas() as u64 + turn.slot(RUNS) * ARENA
}

/// Offset in a segment of the word that says up to which run of a series all are collected.
fn collected(series: u32) -> usize {
    COLLECTED + 64 * series as usize
}

/// The posting end, and what the runs so far have done.
#[derive(Debug)]
struct Posting {
    queue: QueuePair,
    /// By counter of the port: what the runs so far move it by in all. Counters are never set back.
    before: Box<[u64]>,
    /// By series: up to which run all are collected, and after it a bit for each, where bit 0 is the next run's.
    collected: [(u64, u64); 1 + series::GROUPS as usize],
    /// An operation that failed. No run can end after that.
    error: Option<String>,
    posted: u64,
    runs: u64,
}

/// The adapter, as the rank's process sees it.
#[derive(Debug)]
struct Nic {
    job: &'static Job,
    form: Form,
    area: Area,
    /// The key of every rank's segment.
    key: Key,
    /// The first counter of the port.
    counters: u32,
    posting: Mutex<Posting>,
    /// The adapter's process ends when this is dropped.
    helper: Mutex<Option<Keeper<UnixStream>>>,
}

impl Nic {
    fn posting(&self) -> MutexGuard<'_, Posting> {
        self.posting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A counter of a run, as an index in `Posting::before`.
    fn index(turn: Turn, counter: u32) -> usize {
        turn.slot(RUNS) as usize * COUNTERS + counter as usize
    }

    fn counter(&self, turn: Turn, counter: u32) -> CounterId {
        CounterId(self.counters + Nic::index(turn, counter) as u32)
    }

    fn descriptor(&self, turn: Turn, step: &Step, before: &[u64]) -> Descriptor {
        let base = arena(turn);
        let local = |at: u64| Local {
            address: base + at,
            key: self.key,
        };
        let remote = |at: u64| Remote {
            address: base + at,
            key: self.key,
        };
        let me = self.job.rank();
        let (peer, work) = match step.action {
            Action::Wait {
                counter,
                count,
                span,
            } => {
                let wait = Work::Wait {
                    counter: self.counter(turn, counter),
                    threshold: before[Nic::index(turn, counter)] + count,
                    span,
                };
                (me, wait)
            }
            Action::Put {
                peer,
                to,
                from,
                bytes,
            } => {
                let put = Work::Put {
                    source: Source::Memory(local(from), bytes),
                    remote: remote(to),
                    signal: None,
                };
                (peer, put)
            }
            Action::Fence { peer } => (peer, Work::Fence),
            Action::Count { peer, counter } => {
                let count = Work::Count {
                    counter: self.counter(turn, counter),
                    add: 1,
                };
                (peer, count)
            }
            Action::Compute {
                op,
                element,
                target,
                operand,
                bytes,
            } => {
                let compute = Work::Compute {
                    op,
                    element,
                    target: local(target),
                    operand: local(operand),
                    length: bytes,
                };
                (me, compute)
            }
        };
        Descriptor {
            queue_pair: 0,
            peer,
            signalled: false,
            count: step.then.map(|c| self.counter(turn, c)),
            count_source: false,
            work,
        }
    }

    /// Copies the input into the run's arena.
    ///
    /// # Safety
    /// Each of `segments` is valid for reads of the length that the program says, and the slot is free.
    unsafe fn fill(&self, turn: Turn, program: &Program, segments: &[*mut u8]) {
        let arena = self.bases_own().wrapping_add(arena(turn) as usize);
        let (zero, n) = program.zero();
        // SAFETY: `triggered::place` keeps the zeroed part and the segments within an arena. No adapter touches these
        // bytes before the run is posted: early messages go elsewhere. What the caller promises about `segments` holds
        // for the reads.
        unsafe {
            core::ptr::write_bytes(arena.add(zero as usize), 0, n as usize);
            for (placed, from) in program.segments().iter().zip(segments) {
                if placed.goes_in && placed.bytes > 0 {
                    let to = arena.add(placed.offset as usize);
                    core::ptr::copy_nonoverlapping(*from, to, placed.bytes as usize);
                }
            }
        }
    }

    fn bases_own(&self) -> *mut u8 {
        self.area.bases[self.job.rank() as usize]
    }
}

impl Device for Nic {
    fn name(&self) -> &'static str {
        self.form.name()
    }

    fn runs(&self) -> u64 {
        RUNS
    }

    fn place(&self, all: &[Schedule], rank: u32) -> Result<Image, String> {
        triggered::place(all, rank)
            .map(Image::Nic)
            .map_err(|e| e.to_string())
    }

    fn longest_block(&self) -> u64 {
        triggered::NEIGHBOUR
    }

    fn edges(&self, bytes: u64) -> u64 {
        triggered::box_messages(self.job.size(), bytes)
    }

    fn place_own(&self, own: &Schedule) -> Result<Image, String> {
        triggered::place_own(own)
            .map(Image::Nic)
            .map_err(|e| e.to_string())
    }

    unsafe fn begin(&self, turn: Turn, image: &Image, segments: &[*mut u8]) -> io::Result<u64> {
        let Image::Nic(program) = image else {
            return Err(io::Error::other("the image of another engine"));
        };
        // SAFETY: who calls upholds the contract of `Device::begin`, which `fill` has too.
        unsafe { self.fill(turn, program, segments) };
        let mut posting = self.posting();
        let posting = &mut *posting;
        for step in program.steps() {
            let descriptor = self.descriptor(turn, step, &posting.before);
            let until = sys::monotonic_ns() + ROOM;
            while posting.queue.initiator().post(&descriptor).is_err() {
                posting.queue.ring();
                if sys::monotonic_ns() > until {
                    return Err(io::Error::other("the adapter takes nothing"));
                }
                park::rest();
            }
        }
        posting.queue.ring();
        posting.posted += program.steps().len() as u64;
        posting.runs += 1;
        for (counter, moves) in (0..).zip(program.moves()) {
            posting.before[Nic::index(turn, counter)] += moves;
        }
        Ok(posting.before[Nic::index(turn, ENDED)] + 1)
    }

    fn is_done(&self, turn: Turn, mark: u64) -> bool {
        let counters = self.job.domain().counters();
        let value = counters.value(self.counter(turn, ENDED));
        value.is_some_and(|v| v + 1 >= mark)
    }

    unsafe fn collect(&self, turn: Turn, image: &Image, segments: &[*mut u8]) {
        let arena = self.bases_own().wrapping_add(arena(turn) as usize);
        for (placed, to) in image.segments().iter().zip(segments) {
            if placed.comes_out && placed.bytes > 0 {
                // SAFETY: the segment lies within the arena (`triggered::place`), which no adapter touches any more:
                // the run is complete, and the next one in this slot waits for the store below. The caller promises the
                // target.
                unsafe {
                    let from = arena.add(placed.offset as usize);
                    core::ptr::copy_nonoverlapping(from, *to, placed.bytes as usize);
                }
            }
        }
        let mut posting = self.posting();
        let (upto, ahead) = &mut posting.collected[turn.series as usize];
        *ahead |= 1 << (turn.number - *upto - 1);
        while *ahead & 1 == 1 {
            *ahead >>= 1;
            *upto += 1;
        }
        self.area
            .word(self.job.rank(), collected(turn.series))
            .store(*upto, Ordering::Release);
    }

    fn done_at(&self, series: u32, peer: u32) -> u64 {
        self.area
            .word(peer, collected(series))
            .load(Ordering::Acquire)
    }

    /// `done_at` reads the peer's own word.
    fn probe(&self, _series: u32, _peers: u64) {}

    /// A rank that has collected a run has done its part in the run.
    fn needs(&self, turn: Turn, image: &Image, peer: u32) -> bool {
        let Image::Nic(program) = image else {
            return false;
        };
        program.received() >> peer & 1 == 1 && self.done_at(turn.series, peer) < turn.number
    }

    fn failure(&self) -> Option<String> {
        let mut posting = self.posting();
        if let Some(error) = posting.queue.initiator().take_errors().pop() {
            posting.error = Some(format!("operation {}: {:?}", error.ticket, error.status));
        }
        posting.error.clone()
    }

    fn is_asked(&self) -> bool {
        false
    }

    fn detach(&self) {
        let mut helper = self.helper.lock().unwrap_or_else(PoisonError::into_inner);
        drop(helper.take());
    }

    fn counted(&self) -> String {
        let posting = self.posting();
        format!("runs {}, descriptors {}", posting.runs, posting.posted)
    }
}
