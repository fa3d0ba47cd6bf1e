//! The way to a peer through queue pairs: the engines of [`hetmp_nic`].
//!
//! * [`hetmp_nic::job`] decides which engine is needed, and starts it.
//! * [`lane`] is one queue pair, with what a context has to remember about it.
//! * [`lanes`] are the queue pairs of one context: one, or one for each thread that uses it.
//!
//! **Addresses.** The first region that the job registers is a PE's segment, with base 0. So the key is the same on
//! every PE, and an address in a descriptor is an offset into the target's segment. Local buffers may lie anywhere in
//! the process: a second region spans the address space, for the owner's own operations only.

mod checker;
mod guard;
pub(crate) mod lane;
pub(crate) mod lanes;
pub(crate) mod site;

use crate::fail;
use crate::word::{Op, Word};
use crate::world::World;
use checker::Checker;
use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_nic::descriptor::{AtomicOp, Completion, SignalOp, Status, Width};
use hetmp_nic::engine::{Engine, QueuePair, TemplateKeys};
use hetmp_nic::job::{Job, Reach};
use lane::{Atomic, Lane};
use lanes::Lanes;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Slots of a queue pair of the default context, and of the library.
const DEPTH: usize = 256;
/// Slots of a queue pair of a program's context. Fewer, because there may be many contexts.
pub(crate) const CONTEXT_DEPTH: usize = 64;

/// The engine of this PE, and the queue pairs that belong to no context which the program made.
pub(crate) struct Net {
    pub(crate) engine: &'static dyn Engine,
    pub(crate) keys: TemplateKeys,
    pub(crate) reach: Reach,
    /// The queue pairs of `SHMEM_CTX_DEFAULT`.
    pub(crate) default: Lanes,
    /// The library's own queue pairs, for collectives.
    pub(crate) internal: Lanes,
    pub(crate) counts: Counts,
    /// The checker of the modelled memory, if there is one.
    checker: Option<Checker>,
}

impl core::fmt::Debug for Net {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Net")
            .field("engine", &self.engine.name())
            .field("reach", &self.reach)
            .finish_non_exhaustive()
    }
}

/// How much was done, for `SHMEM_DEBUG`. A lane adds its numbers when it is quiet.
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

/// The engine that reaches peers for which loads and stores are not used; `None` if there is no such peer.
#[inline]
pub(crate) fn net() -> Option<&'static Net> {
    NET.get().and_then(Option::as_ref)
}

/// Begins to use the job's engine, if it has one.
pub(crate) fn start(world: &'static World) {
    NET.get_or_init(|| Net::of(world, world.job));
}

impl Net {
    fn of(world: &World, job: &'static Job) -> Option<Net> {
        Some(Net {
            engine: job.engine()?,
            keys: job.keys(),
            reach: job.reach(),
            default: Lanes::new(DEPTH, false),
            internal: Lanes::of_library(DEPTH),
            counts: Counts::default(),
            checker: Checker::of(world, job),
        })
    }

    /// A new queue pair with `depth` slots.
    pub(crate) fn queue_pair(&self, depth: usize) -> QueuePair {
        self.counts.lanes.fetch_add(1, Ordering::Relaxed);
        self.engine.queue_pair(depth, self.keys)
    }
}

/// Nobody can die while holding a lock, since panics abort.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All PEs have met, and everything they posted before is done.
pub(crate) fn met(world: &World) {
    if let Some(checker) = checker() {
        checker.met(world);
    }
}

/// A wait or test looks at `bytes` at `address`.
pub(crate) fn awaits(world: &World, address: usize, bytes: usize) {
    if let Some(checker) = checker() {
        checker.awaits(world, address, bytes);
    }
}

/// A wait or test has found its value in `bytes` at `address`.
pub(crate) fn observed(world: &World, address: usize, bytes: usize) {
    if let Some(checker) = checker() {
        checker.observed(world, address, bytes);
    }
}

/// The checker of the modelled memory, if there is one.
pub(crate) fn checker() -> Option<&'static Checker> {
    net().and_then(|net| net.checker.as_ref())
}

/// A place in a peer's segment that is reached through a queue pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remote {
    pub(crate) world: &'static World,
    pub(crate) net: &'static Net,
    /// The queue pairs of the operation's context.
    pub(crate) lanes: &'static Lanes,
    pub(crate) pe: u32,
    /// Offset in the peer's segment.
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

    /// Posts an atomic that fetches nothing.
    pub(crate) fn update<W: Word>(&self, f: &'static str, op: Op, operand: W) {
        let (op, operand) = atomic(op, operand);
        self.on(f, |lane| {
            lane.update(self.pe, self.offset, whole(op, width::<W>(), operand, 0));
        });
    }

    /// Posts an atomic whose old value is at `fetch` after the next quiet.
    ///
    /// # Safety
    /// `fetch` is writable until that quiet.
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

    /// A put and its signal, whose word is at offset `signal`.
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

/// The library's own operations: on its own queue pairs, whatever the program's contexts do. When something arrives,
/// the engine rings the target's bell.
impl Remote {
    fn on_own<R>(&self, post: impl FnOnce(&mut Lane) -> R) -> R {
        self.net.internal.with(OWN, self.world, self.net, post)
    }

    /// Writes bytes. The source may be written again on return.
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

    /// Changes a flag, after everything that this PE has sent there before.
    pub(crate) fn flag(&self, op: Op, value: u64) {
        let (op, value) = atomic(op, value);
        self.on_own(|lane| {
            lane.fence_to(self.pe);
            lane.update(self.pe, self.offset, whole(op, Width::W8, value, 0));
        });
    }
}

/// The function that messages about the library's own operations name.
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

/// The adapter's operation and operand for an [`Op`].
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

/// Ends the job because an operation failed although it was checked before it was posted.
#[cold]
pub(crate) fn failed(f: &'static str, done: &Completion) -> ! {
    match done.status {
        Status::PeerLost => {
            // The launcher knows why the peer has ended. It will say so, and end this PE too.
            std::thread::sleep(LAUNCHER);
            fail::die(
                f,
                format_args!(
                    "PE {}: its connection is lost (expected a PE that has not ended)",
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
