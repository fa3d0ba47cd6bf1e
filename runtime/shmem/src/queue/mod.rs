//! The way to a peer through queue pairs: the engines of [`hetmp_nic`].
//!
//! * [`hetmp_nic::job`] decides which engine is needed, and starts it.
//! * [`lane`] is one queue pair with what a context needs to know of it.
//! * [`lanes`] are those of one context: one, or one for each thread that uses it.
//!
//! **Addresses.** The job registers a PE's segment first, with base 0: the key is the same at every PE, and an address
//! in a descriptor is an offset into the target's segment. Local buffers may lie anywhere in the process: a
//! second region spans the address space, with the rights of the owner's own operations alone.

pub(crate) mod lane;
pub(crate) mod lanes;
pub(crate) mod site;

use crate::fail;
use crate::word::{Op, Word};
use crate::world::World;
use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_nic::descriptor::{AtomicOp, Completion, SignalOp, Status, Width};
use hetmp_nic::device_memory::board::{Access, Board, Kind};
use hetmp_nic::engine::{Engine, QueuePair, TemplateKeys};
use hetmp_nic::job::{Job, Reach};
use lane::{Atomic, Lane};
use lanes::Lanes;
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Slots of the default context's queue pairs, and of the library's own.
const DEPTH: usize = 256;
/// Slots of a context that the program makes: there may be many.
pub(crate) const CONTEXT_DEPTH: usize = 64;

/// The engine of this PE, and the queue pairs that belong to no context of the program.
pub(crate) struct Net {
    pub(crate) engine: &'static dyn Engine,
    pub(crate) keys: TemplateKeys,
    pub(crate) reach: Reach,
    /// Of `SHMEM_CTX_DEFAULT`.
    pub(crate) default: Lanes,
    /// Of the library itself: what collectives tell each other.
    pub(crate) internal: Lanes,
    pub(crate) counts: Counts,
    /// Where a checker of the modelled memory pins what it finds, one of each PE.
    pub(crate) boards: Option<&'static [Board]>,
    /// What this PE has waited for, where there are boards.
    pub(crate) awaited: Mutex<Awaited>,
}

/// Ranges of this PE's segment that were waited for or tested, start to end. What is written there is a flag: the
/// order of two flags is nobody's business, since each is waited for.
#[derive(Debug, Default)]
pub(crate) struct Awaited(BTreeMap<u64, u64>);

impl Awaited {
    fn add(&mut self, start: u64, len: u64) {
        let end = self.0.entry(start).or_insert(0);
        *end = (*end).max(start + len);
    }

    fn has(&self, start: u64, len: u64) -> bool {
        // A range that begins earlier may be shorter than one before it; few programs wait for many.
        self.0
            .range(..=start)
            .rev()
            .any(|(_, end)| *end >= start + len)
    }
}

impl core::fmt::Debug for Net {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Net")
            .field("engine", &self.engine.name())
            .field("reach", &self.reach)
            .finish_non_exhaustive()
    }
}

/// What was done, for `SHMEM_DEBUG`. Lanes add theirs when they are quiet.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) lanes: AtomicU64,
    pub(crate) puts: AtomicU64,
    pub(crate) gets: AtomicU64,
    pub(crate) atomics: AtomicU64,
    pub(crate) fences: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

impl core::fmt::Display for Counts {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let n = |c: &AtomicU64| c.load(Ordering::Relaxed);
        write!(
            f,
            "{} queue pairs, {} puts, {} gets, {} atomics, {} fences, {} bytes",
            n(&self.lanes),
            n(&self.puts),
            n(&self.gets),
            n(&self.atomics),
            n(&self.fences),
            n(&self.bytes)
        )
    }
}

static NET: OnceLock<Option<Net>> = OnceLock::new();

/// Reaches the peers that are not accessed by loads and stores; none where all are.
#[inline]
pub(crate) fn net() -> Option<&'static Net> {
    NET.get().and_then(Option::as_ref)
}

/// Begins to use the engine of a job, if it has one.
pub(crate) fn start(job: &'static Job) {
    NET.get_or_init(|| Net::of(job));
}

impl Net {
    fn of(job: &'static Job) -> Option<Net> {
        Some(Net {
            engine: job.engine()?,
            keys: job.keys(),
            reach: job.reach(),
            default: Lanes::new(DEPTH, false),
            internal: Lanes::of_library(DEPTH),
            counts: Counts::default(),
            boards: job.boards().map(|b| &**b),
            awaited: Mutex::default(),
        })
    }

    /// A new queue pair with `depth` slots.
    pub(crate) fn queue_pair(&self, depth: usize) -> QueuePair {
        self.counts.lanes.fetch_add(1, Ordering::Relaxed);
        self.engine.queue_pair(depth, self.keys)
    }

    /// All PEs have met, and what they posted before is done.
    pub(crate) fn met(&self, world: &World) {
        if let Some(board) = self.boards.as_ref().and_then(|b| b.get(world.me as usize)) {
            board.advance();
        }
    }

    /// A wait or test looks at `bytes` at `address`: what is written there are flags.
    pub(crate) fn awaits(&self, world: &World, address: usize, bytes: usize) {
        if self.boards.is_none() {
            return;
        }
        if let Some(offset) = world.offset(address, bytes) {
            let mut awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
            awaited.add(offset, bytes as u64);
        }
    }

    /// After a wait or test has seen what it looked for in `bytes` at `address`: ends the job if what made it
    /// so may have overtaken a write that was meant to be there.
    pub(crate) fn observed(&self, f: &'static str, world: &World, address: usize, bytes: usize) {
        let Some(board) = self.boards.as_ref().and_then(|b| b.get(world.me as usize)) else {
            return;
        };
        let Some(offset) = world.offset(address, bytes) else {
            return;
        };
        let text = |a: &Access| {
            let what = match a.kind {
                Kind::Put => "put",
                Kind::Atomic => "atomic",
                Kind::Signal => "signal",
            };
            format!(
                "{what} of {} bytes to {:#x} at {}",
                a.len,
                world.address(a.address).unwrap_or(0),
                site::name(a.site)
            )
        };
        let mut awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
        awaited.add(offset, bytes as u64);
        let races = board.observe(offset, bytes as u32);
        let race = races
            .iter()
            .find(|r| !awaited.has(r.first.address, u64::from(r.first.len)));
        if let Some(race) = race {
            fail::die(
                f,
                format_args!(
                    "PE {}: the flag at {address:#x} may be seen before the data: by PE {}, {}, then {}: \
                     shmem_fence or shmem_quiet between the two, or a put with signal, is accepted",
                    world.me,
                    race.initiator,
                    text(&race.first),
                    text(&race.flag)
                ),
            );
        }
    }
}

/// A place of a peer that is reached through a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remote {
    pub(crate) world: &'static World,
    pub(crate) net: &'static Net,
    /// Of the context that the operation belongs to.
    pub(crate) lanes: &'static Lanes,
    pub(crate) pe: u32,
    /// In its segment.
    pub(crate) offset: u64,
}

impl Remote {
    fn on<R>(&self, f: &'static str, post: impl FnOnce(&mut Lane) -> R) -> R {
        self.lanes.with(f, self.world, self.net, post)
    }

    /// # Safety
    /// `source` is readable for `bytes`.
    pub(crate) unsafe fn put(&self, f: &'static str, source: *const u8, bytes: usize) {
        self.on(f, |lane| {
            // SAFETY: this function's contract: `source` is readable for `bytes`.
            unsafe { lane.put(f, self.pe, self.offset, source, bytes) }
        });
    }

    /// # Safety
    /// `source` is readable for `bytes`, and stays as it is until quiet.
    pub(crate) unsafe fn put_nbi(&self, f: &'static str, source: *const u8, bytes: usize) {
        self.on(f, |lane| {
            // SAFETY: this function's contract: `source` is readable for `bytes`, and stays as it is until quiet.
            unsafe { lane.put_nbi(self.pe, self.offset, source, bytes) }
        });
    }

    /// # Safety
    /// `dest` is writable for `bytes`.
    pub(crate) unsafe fn get(&self, f: &'static str, dest: *mut u8, bytes: usize) {
        self.on(f, |lane| {
            // SAFETY: this function's contract: `dest` is writable for `bytes`.
            unsafe { lane.get(f, self.pe, self.offset, dest, bytes) }
        });
    }

    /// # Safety
    /// `dest` is writable for `bytes` until quiet.
    pub(crate) unsafe fn get_nbi(&self, f: &'static str, dest: *mut u8, bytes: usize) {
        self.on(f, |lane| {
            // SAFETY: this function's contract: `dest` is writable for `bytes` until quiet.
            unsafe { lane.get_nbi(self.pe, self.offset, dest, bytes) }
        });
    }

    /// Runs an atomic and waits for the old value.
    pub(crate) fn fetching<W: Word>(&self, f: &'static str, op: Op, operand: W, condition: W) -> W {
        let (op, operand) = atomic(op, operand);
        let old = self.on(f, |lane| {
            let a = whole(op, width::<W>(), operand, condition.bits());
            lane.fetch(f, self.pe, self.offset, a)
        });
        W::from_bits(old)
    }

    /// Starts an atomic that fetches nothing.
    pub(crate) fn update<W: Word>(&self, f: &'static str, op: Op, operand: W) {
        let (op, operand) = atomic(op, operand);
        self.on(f, |lane| {
            lane.update(self.pe, self.offset, whole(op, width::<W>(), operand, 0));
        });
    }

    /// Starts an atomic whose old value is at `fetch` after quiet.
    ///
    /// # Safety
    /// `fetch` is writable until then.
    pub(crate) unsafe fn fetching_nbi<W: Word>(
        &self,
        f: &'static str,
        fetch: *mut W,
        op: Op,
        operand: W,
        condition: W,
    ) {
        let (op, operand) = atomic(op, operand);
        self.on(f, |lane| {
            let a = whole(op, width::<W>(), operand, condition.bits());
            // SAFETY: this function's contract: `fetch` is writable until quiet.
            unsafe { lane.fetch_to(self.pe, self.offset, a, fetch.cast()) };
        });
    }

    /// A put and its signal, the word at offset `signal`.
    ///
    /// # Safety
    /// `source` is readable for `bytes`, until quiet if `nbi`.
    #[allow(clippy::too_many_arguments, reason = "a put and a signal")]
    pub(crate) unsafe fn put_signal(
        &self,
        f: &'static str,
        source: *const u8,
        bytes: usize,
        signal: u64,
        op: SignalOp,
        value: u64,
        nbi: bool,
    ) {
        self.on(f, |lane| {
            // SAFETY: this function's contract: `source` is readable for `bytes`, until quiet if `nbi`.
            unsafe {
                lane.put_signal(
                    f,
                    self.pe,
                    self.offset,
                    source,
                    bytes,
                    (signal, op, value),
                    nbi,
                )
            }
        });
    }
}

/// What the library itself sends: on its own queue pairs, whatever the program's contexts do. The engine rings for the
/// target when something arrives.
impl Remote {
    fn on_own<R>(&self, post: impl FnOnce(&mut Lane) -> R) -> R {
        self.net.internal.with(OWN, self.world, self.net, post)
    }

    /// Writes bytes; the source can be used again on return.
    ///
    /// # Safety
    /// `source` is readable for `bytes`.
    pub(crate) unsafe fn send(&self, source: *const u8, bytes: usize) {
        if bytes != 0 {
            // SAFETY: this function's contract: `source` is readable for `bytes`.
            self.on_own(|lane| unsafe { lane.put(OWN, self.pe, self.offset, source, bytes) });
        }
    }

    /// Reads bytes.
    ///
    /// # Safety
    /// `dest` is writable for `bytes`.
    pub(crate) unsafe fn fetch(&self, dest: *mut u8, bytes: usize) {
        if bytes != 0 {
            // SAFETY: this function's contract: `dest` is writable for `bytes`.
            self.on_own(|lane| unsafe { lane.get(OWN, self.pe, self.offset, dest, bytes) });
        }
    }

    /// Changes a flag behind what this PE sent there before.
    pub(crate) fn flag(&self, op: Op, value: u64) {
        let (op, value) = atomic(op, value);
        self.on_own(|lane| {
            lane.fence_to(self.pe);
            lane.update(self.pe, self.offset, whole(op, Width::W8, value, 0));
        });
    }
}

/// Whom messages about the library's own operations name.
const OWN: &str = "shmem_barrier";

fn width<W>() -> Width {
    if size_of::<W>() == 4 {
        Width::W4
    } else {
        Width::W8
    }
}

fn whole(op: AtomicOp, width: Width, operand: u64, comparand: u64) -> Atomic {
    Atomic {
        op,
        width,
        operand,
        comparand,
    }
}

/// The adapter's operation and operand.
fn atomic<W: Word>(op: Op, operand: W) -> (AtomicOp, u64) {
    let operand = operand.bits();
    match op {
        Op::Fetch => (AtomicOp::Read, 0),
        Op::Set => (AtomicOp::Write, operand),
        Op::Swap => (AtomicOp::Swap, operand),
        Op::CompareSwap => (AtomicOp::CompareSwap, operand),
        Op::Add => (AtomicOp::Add, operand),
        Op::Inc => (AtomicOp::Add, 1),
        Op::And => (AtomicOp::And, operand),
        Op::Or => (AtomicOp::Or, operand),
        Op::Xor => (AtomicOp::Xor, operand),
    }
}

/// How long a launcher may take to notice that a process has ended.
const LAUNCHER: Duration = Duration::from_millis(300);

/// Ends the job: an operation that was checked before it was posted failed all the same.
#[cold]
pub(crate) fn failed(f: &'static str, done: &Completion) -> ! {
    match done.status {
        Status::PeerLost => {
            // Its launcher knows better why it ended, says so, and ends this PE as well.
            std::thread::sleep(LAUNCHER);
            fail::die(
                f,
                format_args!(
                    "PE {}: its connection is lost: a PE that has not ended is accepted",
                    done.value
                ),
            )
        }
        Status::Stopped => fail::die(
            f,
            format_args!("operation {}: the engine has stopped", done.ticket),
        ),
        status => fail::die(
            f,
            format_args!(
                "value {:#x}: refused by the adapter ({status:?})",
                done.value
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::Awaited;

    #[test]
    fn what_was_waited_for_is_known_whole() {
        let mut a = Awaited::default();
        a.add(100, 8);
        a.add(96, 64);
        a.add(100, 4);
        assert!(a.has(100, 8) && a.has(152, 8) && a.has(96, 1));
        assert!(!a.has(156, 8) && !a.has(92, 8) && !a.has(0, 1));
    }
}
