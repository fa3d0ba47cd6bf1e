//! The chain of worksharing constructs of a team.
//!
//! Every thread of a team meets the same worksharing constructs in the same order (OpenMP 5.1,
//! section 2.11). So the team has one chain of nodes, [`Work`], and each thread its own place in
//! it, [`WorkPos`]: to enter a construct is to take the node at that place and to step on. Whoever
//! takes a node first prepares it; the others use it as it is.
//!
//! # Blocks
//! Nodes come in blocks of [`BLOCK`]. A fast thread may run ahead over any number of `nowait`
//! constructs: blocks are added as needed, and nobody waits for a slow thread. A thread that steps
//! from a block into the next counts itself in [`Link::left`]; the one that makes the count the
//! size of the team puts the block on the free list. In the steady state two blocks take turns,
//! nothing is allocated, and the chain costs one read-modify-write for [`BLOCK`] constructs.
//!
//! # Rounds instead of resets
//! A node's state holds the number of the round of its block in which it was taken. To recycle a
//! block is to count up its round: nodes with the number of an older round are free again, and
//! nobody has to touch their cache lines.
//!
//! # Memory ordering
//! 1. The claimer's compare-exchange acquires and its `READY` store releases; whoever sees
//!    `READY` of its round acquires. So the node's plain cells are the claimer's alone until then,
//!    and only read after.
//! 2. A block is linked by a releasing compare-exchange, and found by an acquiring load: its round
//!    and its empty link are seen by whoever steps in.
//! 3. `left` is counted with acquire-release: whoever recycles has seen everything that the
//!    others did in the block, and passes it on through the lock of the free list.

use crate::doacross::Doacross;
use crate::loops::{Kind, NodeSchedule};
use crate::thread::Thread;
use core::alloc::Layout;
use core::cell::{Cell, UnsafeCell};
use core::ptr::NonNull;
use hetmp_core::lock::Brief;
use hetmp_core::park::Spinner;
use hetmp_core::sync::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, CacheLine, Ordering};
use hetmp_core::{report, sys};
use hetmp_sched::plain::{Dynamic, Guided};
use hetmp_sched::ranges::{LoopBounds, Range};

/// Nodes of a block.
const BLOCK: usize = 16;
/// Blocks that a chain keeps between regions.
const KEEP: usize = 4;

const INIT: u32 = 1;
const READY: u32 = 2;
/// Rounds are counted in the upper 30 bits of a state.
const ROUND: u32 = 4;

/// A thread's progress in its current loop. Iterations are normalised.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    /// Static schedules: number of the thread's next chunk.
    pub(crate) trip: u64,
    /// Ordered loops: the chunk in hand whose turn was not passed on yet; empty if none.
    pub(crate) chunk: Range,
}

impl Cursor {
    /// Nothing taken yet.
    pub const START: Cursor = Cursor {
        trip: 0,
        chunk: Range { start: 0, end: 0 },
    };
}

/// Zeroed memory that the threads of a construct share.
#[derive(Debug)]
struct Zeroed {
    memory: NonNull<u8>,
    layout: Layout,
}

impl Zeroed {
    fn new(bytes: usize) -> Zeroed {
        let layout = Layout::from_size_align(bytes.max(1), 64).unwrap_or_else(|_| {
            report::fatal(format_args!(
                "a construct's shared {bytes} bytes: too large"
            ))
        });
        // SAFETY: the layout is not empty.
        let memory = unsafe { std::alloc::alloc_zeroed(layout) };
        let Some(memory) = NonNull::new(memory) else {
            report::fatal(format_args!(
                "out of memory for a construct's shared {bytes} bytes"
            ))
        };
        Zeroed { memory, layout }
    }
}

impl Drop for Zeroed {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { std::alloc::dealloc(self.memory.as_ptr(), self.layout) };
    }
}

/// One worksharing construct of a team: a loop, sections, single, or scope.
///
/// # Invariant
/// The cells are written by the claimer before it publishes the node, and only read after that
/// until the block is recycled ([`Work::copyprivate`] is written later, before a barrier).
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Work {
    state: AtomicU32,
    /// How iterations are handed out.
    pub(crate) kind: Cell<Kind>,
    /// Iterations have turns ([`crate::ordered`]).
    pub(crate) ordered: Cell<bool>,
    /// The loop, as the program wrote it.
    pub(crate) bounds: Cell<LoopBounds>,
    /// Static schedules: the chunk size, 0 for one piece for each thread.
    pub(crate) chunk: Cell<u64>,
    /// The task reduction descriptor of the first thread.
    reductions: Cell<*mut usize>,
    /// What the executor of a `single copyprivate` broadcasts.
    pub(crate) copyprivate: Cell<*mut libc::c_void>,
    memory: UnsafeCell<Option<Box<Zeroed>>>,
    pub(crate) doacross: UnsafeCell<Option<Box<Doacross>>>,
    /// A schedule that knows of nodes, for [`Kind::Ours`].
    pub(crate) ours: UnsafeCell<Option<Box<dyn NodeSchedule>>>,
    /// Dynamic schedules: the cursor all threads take chunks from.
    pub(crate) dynamic: Dynamic,
    /// Guided schedules: the same.
    pub(crate) guided: Guided,
    /// Ordered loops: all iterations before this one had their turn.
    pub(crate) turn: CacheLine<AtomicU64>,
}

impl Work {
    fn new() -> Work {
        Work {
            state: AtomicU32::new(0),
            kind: Cell::new(Kind::Static),
            ordered: Cell::new(false),
            bounds: Cell::new(LoopBounds::default()),
            chunk: Cell::new(0),
            reductions: Cell::new(core::ptr::null_mut()),
            copyprivate: Cell::new(core::ptr::null_mut()),
            memory: UnsafeCell::new(None),
            doacross: UnsafeCell::new(None),
            ours: UnsafeCell::new(None),
            dynamic: Dynamic::new(),
            guided: Guided::new(),
            turn: CacheLine(AtomicU64::new(0)),
        }
    }

    /// Tries to take the node in `round`. True: the caller prepares it and publishes it. False:
    /// another thread did.
    #[inline]
    fn claim(&self, round: u32) -> bool {
        let seen = self.state.load(Ordering::Acquire);
        if seen == round | READY {
            return false;
        }
        if seen != round | INIT
            && self
                .state
                .compare_exchange(seen, round | INIT, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        {
            return true;
        }
        self.wait_ready(round);
        false
    }

    /// Waits for the claimer. It is there already, so this takes as long as preparing takes.
    #[inline(never)]
    fn wait_ready(&self, round: u32) {
        let mut spinner = Spinner::new();
        while self.state.load(Ordering::Acquire) != round | READY {
            if !spinner.turn() {
                sys::yield_now();
            }
        }
    }

    #[inline]
    fn publish(&self, round: u32) {
        self.state.store(round | READY, Ordering::Release);
    }

    /// Takes the node in `round` if nobody has; there is nothing to prepare.
    ///
    /// Relaxed: nothing is passed on through the node itself.
    #[inline]
    fn take(&self, round: u32) -> bool {
        let seen = self.state.load(Ordering::Relaxed);
        seen != round | READY
            && self
                .state
                .compare_exchange(seen, round | READY, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Frees what the node's last use left. Only for the claimer, or while no thread is in the
    /// construct.
    #[inline]
    fn clean(&self) {
        // SAFETY: the node is the caller's alone, see the invariant.
        unsafe {
            if (*self.memory.get()).is_some()
                || (*self.doacross.get()).is_some()
                || (*self.ours.get()).is_some()
            {
                self.clean_heap();
            }
        }
    }

    #[cold]
    fn clean_heap(&self) {
        // SAFETY: as in `clean`.
        unsafe {
            *self.memory.get() = None;
            *self.doacross.get() = None;
            *self.ours.get() = None;
        }
    }

    /// Prepares the first construct of a region that begins. The node comes from
    /// [`WorkChain::at`]; no other thread can see it yet.
    #[inline]
    pub(crate) fn open_first(&self, prepare: &mut dyn FnMut(&Work)) {
        self.clean();
        prepare(self);
    }
}

/// How a block hangs in the chain.
#[derive(Debug)]
struct Link {
    next: AtomicPtr<WorkBlock>,
    /// Threads of the team that have stepped into the next block.
    left: AtomicU32,
    /// Number of the block's current use, in steps of `ROUND`. Written by whoever recycles.
    round: Cell<u32>,
}

/// A run of nodes.
#[derive(Debug)]
pub struct WorkBlock {
    nodes: [Work; BLOCK],
    link: CacheLine<Link>,
}

impl WorkBlock {
    /// Built in place: a block is larger than the stack that some programs give their threads
    /// could spare.
    fn new() -> Box<WorkBlock> {
        let layout = Layout::new::<WorkBlock>();
        // SAFETY: the layout is not empty; every field is written before the box is made, and the
        // memory is freed by the box with the same layout.
        unsafe {
            let p: *mut WorkBlock = std::alloc::alloc(layout).cast();
            if p.is_null() {
                report::fatal(format_args!("out of memory for worksharing constructs"));
            }
            let nodes: *mut Work = core::ptr::addr_of_mut!((*p).nodes).cast();
            for i in 0..BLOCK {
                nodes.add(i).write(Work::new());
            }
            core::ptr::addr_of_mut!((*p).link).write(CacheLine(Link {
                next: AtomicPtr::new(core::ptr::null_mut()),
                left: AtomicU32::new(0),
                round: Cell::new(ROUND),
            }));
            Box::from_raw(p)
        }
    }

    fn start(&self) -> WorkPos {
        WorkPos {
            block: self,
            index: 0,
            round: self.link.round.get(),
        }
    }

    /// Makes all nodes free. Only while no thread is in the block.
    fn renew(&self) {
        let l = &self.link;
        l.round.set(l.round.get().wrapping_add(ROUND));
        l.left.store(0, Ordering::Relaxed);
        l.next.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
}

/// A thread's place in its team's chain: the node of its next construct.
#[derive(Clone, Copy, Debug)]
pub struct WorkPos {
    block: *const WorkBlock,
    /// `BLOCK`: the first node of the next block.
    index: u32,
    /// The block's round.
    round: u32,
}

impl WorkPos {
    /// Before the first construct of a team of one.
    pub const NOWHERE: WorkPos = WorkPos {
        block: core::ptr::null(),
        index: BLOCK as u32,
        round: 0,
    };
}

/// Where threads sleep that wait for an iteration's turn. Iterations share a place if their numbers
/// collide; a wake-up too many is harmless.
#[derive(Debug)]
pub(crate) struct Parked {
    /// Threads that sleep here or are about to.
    pub(crate) sleepers: AtomicU32,
    /// Counts wake-ups; the word that threads sleep on.
    pub(crate) wakes: AtomicU32,
}

/// Places for sleepers of one team.
pub(crate) const PARKED: usize = 16;

#[derive(Debug)]
struct Store {
    /// Blocks nobody is in. Protected by the lock.
    #[allow(clippy::vec_box, reason = "blocks are linked by address")]
    free: UnsafeCell<Vec<NonNull<WorkBlock>>>,
    /// All blocks. Protected by the lock.
    all: UnsafeCell<Vec<NonNull<WorkBlock>>>,
    lock: Brief,
}

/// The worksharing constructs of a team.
///
/// # Invariant
/// Blocks live until the chain is dropped, or until `settle` or `restart` find them unused, which
/// are called while no other thread is in the team.
#[derive(Debug)]
pub struct WorkChain {
    /// Where the threads of the next region start. Written between regions.
    start: Cell<WorkPos>,
    store: Store,
    /// Some node holds memory of its own.
    heavy: AtomicBool,
    /// The barrier epoch in which a construct was cancelled, plus `VALID`; see [`cancel`].
    cancelled: AtomicU32,
    pub(crate) parked: CacheLine<[Parked; PARKED]>,
}

impl WorkChain {
    /// An empty chain. Blocks are made when constructs are met.
    pub(crate) fn new() -> WorkChain {
        WorkChain {
            start: Cell::new(WorkPos::NOWHERE),
            store: Store {
                free: UnsafeCell::new(Vec::new()),
                all: UnsafeCell::new(Vec::new()),
                lock: Brief::new(),
            },
            heavy: AtomicBool::new(false),
            cancelled: AtomicU32::new(0),
            parked: CacheLine(
                [const {
                    Parked {
                        sleepers: AtomicU32::new(0),
                        wakes: AtomicU32::new(0),
                    }
                }; PARKED],
            ),
        }
    }

    /// Where all threads of a region that begins have their first construct. Only while no other
    /// thread is in the team.
    #[inline]
    pub(crate) fn position(&self) -> WorkPos {
        let pos = self.start.get();
        if pos.block.is_null() {
            return self.first_block();
        }
        pos
    }

    #[cold]
    fn first_block(&self) -> WorkPos {
        // SAFETY: `fresh` gives out live blocks.
        let pos = unsafe { self.fresh().as_ref() }.start();
        self.start.set(pos);
        pos
    }

    /// The node at `pos`, taken for the whole team, and where everybody goes from there. Only while
    /// no other thread is in the team.
    pub(crate) fn at(&self, pos: WorkPos) -> (&Work, WorkPos) {
        // A team of one: whoever steps out of a block is the last to leave it.
        let (work, round, next) = self.step(pos, 1);
        // Whoever starts the threads also publishes the node to them.
        work.state.store(round | READY, Ordering::Relaxed);
        (work, next)
    }

    /// The region has ended, and all threads would have had their next construct at `pos`. Only
    /// while no other thread is in the team.
    #[inline]
    pub(crate) fn settle(&self, pos: WorkPos) {
        self.start.set(pos);
        if self.heavy.load(Ordering::Relaxed) {
            self.lighten();
        }
    }

    /// Frees memory of constructs that are over, and blocks that a thread once needed to run far
    /// ahead.
    #[cold]
    fn lighten(&self) {
        self.heavy.store(false, Ordering::Relaxed);
        // SAFETY: no other thread is in the team, so neither list nor node is in use, and a free
        // block is referred to by nobody.
        unsafe {
            let all = &mut *self.store.all.get();
            for block in all.iter() {
                for node in &block.as_ref().nodes {
                    node.clean();
                }
            }
            let free = &mut *self.store.free.get();
            while all.len() > KEEP {
                let Some(block) = free.pop() else { break };
                all.retain(|&b| b != block);
                drop(Box::from_raw(block.as_ptr()));
            }
        }
    }

    /// Forgets where the threads were: they may have been in different constructs when the region
    /// was cancelled. Only while no other thread is in the team.
    pub(crate) fn restart(&self) {
        self.cancelled.store(0, Ordering::Relaxed);
        // SAFETY: as in `lighten`.
        unsafe {
            let all = &*self.store.all.get();
            let free = &mut *self.store.free.get();
            free.clear();
            for block in all {
                block.as_ref().renew();
                free.push(*block);
            }
        }
        self.start.set(WorkPos::NOWHERE);
        self.lighten();
    }

    /// Marks that some node holds memory, so that it is freed when the region ends.
    pub(crate) fn note_heavy(&self) {
        self.heavy.store(true, Ordering::Relaxed);
    }

    /// The node at `pos`, its round, and the place after it, for a thread of a team of `nthreads`.
    #[inline(always)]
    fn step(&self, pos: WorkPos, nthreads: u32) -> (&Work, u32, WorkPos) {
        let pos = if pos.index == BLOCK as u32 {
            self.leave(pos, nthreads)
        } else {
            pos
        };
        // SAFETY: a block lives at least until the thread has left it, and `index` is below BLOCK:
        // `WorkPos` values are made in this module only.
        let work = unsafe { (*pos.block).nodes.get_unchecked(pos.index as usize) };
        let next = WorkPos {
            index: pos.index + 1,
            ..pos
        };
        (work, pos.round, next)
    }

    /// Steps from the end of a block into the next one.
    #[cold]
    #[inline(never)]
    fn leave(&self, pos: WorkPos, nthreads: u32) -> WorkPos {
        if pos.block.is_null() {
            // Only in a team of one, which nobody started.
            return self.position();
        }
        // SAFETY: the thread has not left the block yet, so it is not recycled.
        let block = unsafe { &*pos.block };
        let mut next = block.link.next.load(Ordering::Acquire);
        if next.is_null() {
            let fresh = self.fresh();
            match block.link.next.compare_exchange(
                core::ptr::null_mut(),
                fresh.as_ptr(),
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => next = fresh.as_ptr(),
                Err(theirs) => {
                    self.put_back(fresh);
                    next = theirs;
                }
            }
        }
        // SAFETY: linked blocks are live, and this thread has yet to leave the next one.
        let to = unsafe { &*next }.start();
        if block.link.left.fetch_add(1, Ordering::AcqRel) + 1 == nthreads {
            block.renew();
            self.put_back(NonNull::from(block));
        }
        to
    }

    /// A block that nobody else refers to.
    fn fresh(&self) -> NonNull<WorkBlock> {
        let s = &self.store;
        s.lock.lock();
        // SAFETY: the lock is held.
        let found = unsafe { (*s.free.get()).pop() };
        s.lock.unlock();
        if let Some(block) = found {
            return block;
        }
        // SAFETY: `into_raw` is never null.
        let block = unsafe { NonNull::new_unchecked(Box::into_raw(WorkBlock::new())) };
        s.lock.lock();
        // SAFETY: the lock is held.
        let made = unsafe {
            let all = &mut *s.all.get();
            all.push(block);
            all.len()
        };
        s.lock.unlock();
        if made > KEEP {
            self.note_heavy();
        }
        block
    }

    fn put_back(&self, block: NonNull<WorkBlock>) {
        let s = &self.store;
        s.lock.lock();
        // SAFETY: the lock is held.
        unsafe { (*s.free.get()).push(block) };
        s.lock.unlock();
    }
}

impl Drop for WorkChain {
    fn drop(&mut self) {
        for block in self.store.all.get_mut() {
            // SAFETY: all blocks come from `Box::into_raw`, are in `all` once, and nobody uses the
            // chain any more.
            drop(unsafe { Box::from_raw(block.as_ptr()) });
        }
    }
}

/// Enters the calling thread's next construct. The first thread of the team to do so runs
/// `prepare` before the others go on. Returns the node, and whether this thread was the first.
#[inline]
pub(crate) fn enter<'a>(th: &'a Thread, prepare: impl FnOnce(&Work)) -> (&'a Work, bool) {
    let n = th.nthreads();
    let (work, round, next) = th.team().works.step(th.ctx.pos.get(), n);
    th.ctx.pos.set(next);
    th.ctx.work.set(work);
    th.ctx.cursor.set(Cursor::START);
    if n == 1 {
        work.clean();
        prepare(work);
        return (work, true);
    }
    let first = work.claim(round);
    if first {
        work.clean();
        prepare(work);
        work.publish(round);
    }
    (work, first)
}

/// Enters a construct that one thread executes and that needs no preparation. True for that thread.
/// The current construct ([`current`]) stays what it was.
#[inline]
pub(crate) fn enter_single(th: &Thread) -> bool {
    let n = th.nthreads();
    if n == 1 {
        return true;
    }
    let (work, round, next) = th.team().works.step(th.ctx.pos.get(), n);
    th.ctx.pos.set(next);
    work.take(round)
}

/// The construct that the calling thread entered last, if any.
#[inline(always)]
pub(crate) fn current(th: &Thread) -> Option<&Work> {
    // SAFETY: null, or a node of the thread's team in a block that the thread has not left.
    unsafe { th.ctx.work.get().as_ref() }
}

/// The clauses of a construct that need the runtime beyond the distribution of its work.
#[derive(Debug)]
pub struct Extras {
    /// The task reduction descriptor, or null.
    pub reductions: *mut usize,
    /// In: the size of the memory that the threads share. Out: its address. Or null.
    pub memory: *mut *mut libc::c_void,
}

/// Enters a construct with `extras`; otherwise as [`enter`].
///
/// # Safety
/// Both pointers of `extras` are null or what gcc passes: valid until the construct ends.
pub(crate) unsafe fn enter_with<'a>(
    th: &'a Thread,
    extras: &Extras,
    prepare: impl FnOnce(&Work),
) -> &'a Work {
    let Extras { reductions, memory } = *extras;
    if !reductions.is_null() {
        crate::task::reduction::workshare_group_start(th);
    }
    let (work, first) = enter(th, |work| {
        prepare(work);
        work.reductions.set(reductions);
        if !reductions.is_null() {
            // SAFETY: the caller's promise.
            unsafe { crate::task::reduction::register(th, reductions) };
        }
        if !memory.is_null() {
            // SAFETY: the caller's promise; the node is this thread's alone.
            unsafe { *work.memory.get() = Some(Box::new(Zeroed::new(*memory as usize))) };
            th.team().works.note_heavy();
        }
    });
    if !first && !reductions.is_null() {
        // SAFETY: the caller's promise; all threads pass descriptors of the same shape.
        unsafe {
            crate::task::reduction::register_workshare(th, reductions, work.reductions.get())
        };
    }
    if !memory.is_null() {
        // SAFETY: the caller's promise; the node is published, and no longer written.
        unsafe {
            *memory = match &*work.memory.get() {
                Some(m) => m.memory.as_ptr().cast(),
                None => core::ptr::null_mut(),
            };
        }
    }
    work
}

/// Marks an epoch in [`WorkChain::cancelled`] as one.
const VALID: u32 = 1 << 31;

/// Cancels the worksharing construct that the calling thread is in (`cancel for`, `cancel
/// sections`; OpenMP 5.1, section 2.20.1), for all threads of the team.
///
/// The construct is known by the number of the last barrier: a construct that can be cancelled ends
/// with a barrier, so the mark expires by itself. It need not have a node: static loops do
/// not call the runtime.
pub fn cancel(th: &Thread) {
    // A thread alone has left the construct when it asks again.
    if th.nthreads() > 1 {
        let mark = th.member().epoch.get() | VALID;
        th.team().works.cancelled.store(mark, Ordering::Release);
    }
}

/// Was the worksharing construct that the calling thread is in cancelled?
pub fn is_cancelled(th: &Thread) -> bool {
    th.nthreads() > 1
        && th.team().works.cancelled.load(Ordering::Acquire) == th.member().epoch.get() | VALID
}
