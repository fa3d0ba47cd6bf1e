//! A chain of nodes that all threads of a team walk along, each at its own pace.
//!
//! Every thread meets the same worksharing constructs in the same order. So a team has one chain
//! with a node for each construct, and each thread its own place in it, [`Pos`]: to enter a
//! construct is to take the node at that place and to step on. Whoever takes a node first prepares
//! it; the others use it as it is.
//!
//! # Blocks
//! Nodes come in blocks. A fast thread may run ahead over any number of nodes: blocks are added as
//! needed, and nobody waits for a slow thread. A thread that steps from a block into the next counts
//! itself in [`Link::left`]; the one that makes the count the size of the team puts the block on
//! the free list. In the steady state two blocks take turns, nothing is allocated, and the
//! chain costs one read-modify-write for a block's worth of nodes.
//!
//! # Rounds instead of resets
//! A node's state holds the number of the round of its block in which it was taken. To recycle a
//! block is to count up its round: nodes with the number of an older round are free again, and
//! nobody has to touch their cache lines.
//!
//! # Memory ordering
//! 1. The claimer's compare-exchange acquires and its `READY` store releases; whoever sees
//!    `READY` of its round acquires. So a node's content is the claimer's alone until then, and
//!    shared after. An acquiring claim also comes after all uses of the node in older rounds (3).
//! 2. A block is linked by a releasing compare-exchange, and found by an acquiring load: its round
//!    and its empty link are seen by whoever steps in.
//! 3. `left` is counted with acquire-release: whoever recycles has seen everything that the
//!    others did in the block, and passes it on through the lock of the free list and the link.

use core::cell::{Cell, UnsafeCell};
use core::ptr::NonNull;
use hetmp_core::lock::Brief;
use hetmp_core::park::Spinner;
#[cfg(loom)]
use hetmp_core::sync::pause;
use hetmp_core::sync::{AtomicBool, AtomicPtr, AtomicU32, CacheLine, Ordering};
#[cfg(not(loom))]
use hetmp_core::{report, sys};

/// Blocks that a chain keeps between regions.
const KEEP: usize = 4;

/// A node was claimed and is being prepared.
const INIT: u32 = 1;
/// A node was prepared.
const READY: u32 = 2;
/// Rounds are counted in the upper 30 bits of a state.
const ROUND: u32 = 4;

/// What a chain is made of.
pub(crate) trait Node {
    /// A node that was never used.
    fn new() -> Self;
    /// Where the chain keeps the node's state; 0 in a new node. It lies in the node so that it
    /// can share a cache line with what is read next.
    fn state(&self) -> &AtomicU32;
    /// Frees memory that the node's last use left.
    fn clean(&self);
}

/// A node at which a thread stands.
#[derive(Debug)]
pub(crate) struct Step<'a, N> {
    pub(crate) node: &'a N,
    round: u32,
}

impl<'a, N: Node> Step<'a, N> {
    /// Tries to claim the node. True: the caller prepares it and calls [`Step::publish`]. False:
    /// another thread did.
    #[inline]
    pub(crate) fn claim(&self) -> bool {
        let state = self.node.state();
        let seen = state.load(Ordering::Acquire);
        if seen == self.round | READY {
            return false;
        }
        if seen != self.round | INIT
            && state
                .compare_exchange(
                    seen,
                    self.round | INIT,
                    Ordering::Acquire,
                    Ordering::Relaxed,
                )
                .is_ok()
        {
            return true;
        }
        self.wait_ready();
        false
    }

    /// True when some thread claimed the node. Only a hint for timing: nothing the claimer wrote is
    /// seen by it.
    #[inline]
    pub(crate) fn is_claimed(&self) -> bool {
        self.node.state().load(Ordering::Relaxed) & !(ROUND - 1) == self.round
    }

    /// Waits for the claimer. It is there already, so this takes as long as preparing takes.
    #[cold]
    #[inline(never)]
    fn wait_ready(&self) {
        let mut spinner = Spinner::new();
        while self.node.state().load(Ordering::Acquire) != self.round | READY {
            if !spinner.turn() {
                #[cfg(not(loom))]
                sys::yield_now();
                #[cfg(loom)]
                pause();
            }
        }
    }

    /// Shows a claimed and prepared node to the others.
    #[inline]
    pub(crate) fn publish(&self) {
        self.node
            .state()
            .store(self.round | READY, Ordering::Release);
    }
}

/// How a block hangs in the chain.
#[derive(Debug)]
struct Link<N, const BLOCK: usize> {
    next: AtomicPtr<Block<N, BLOCK>>,
    /// Threads of the team that have stepped into the next block.
    left: AtomicU32,
    /// Number of the block's current use, in steps of `ROUND`. Written by whoever recycles.
    round: AtomicU32,
}

/// A run of nodes.
#[derive(Debug)]
pub(crate) struct Block<N, const BLOCK: usize> {
    nodes: [N; BLOCK],
    link: CacheLine<Link<N, BLOCK>>,
}

impl<N: Node, const BLOCK: usize> Block<N, BLOCK> {
    /// Built in place: a block is larger than the stack that some programs give their threads
    /// could spare.
    #[cfg(not(loom))]
    fn new() -> Box<Self> {
        let layout = core::alloc::Layout::new::<Self>();
        // SAFETY: the layout is not empty; every field is written before the box is made, and the
        // memory is freed by the box with the same layout.
        unsafe {
            let p: *mut Self = std::alloc::alloc(layout).cast();
            if p.is_null() {
                report::fatal(format_args!("out of memory for worksharing constructs"));
            }
            let nodes: *mut N = core::ptr::addr_of_mut!((*p).nodes).cast();
            for i in 0..BLOCK {
                nodes.add(i).write(N::new());
            }
            core::ptr::addr_of_mut!((*p).link).write(CacheLine(Link::new()));
            Box::from_raw(p)
        }
    }

    #[cfg(loom)]
    fn new() -> Box<Self> {
        Box::new(Block {
            nodes: core::array::from_fn(|_| N::new()),
            link: CacheLine(Link::new()),
        })
    }

    fn start(&self) -> Pos<N, BLOCK> {
        Pos {
            block: self,
            index: 0,
            round: self.link.round.load(Ordering::Relaxed),
        }
    }

    /// Makes all nodes free. Only while no thread is in the block.
    ///
    /// `absent` threads count as having left already.
    fn renew(&self, absent: u32) {
        let l = &self.link;
        let round = l.round.load(Ordering::Relaxed).wrapping_add(ROUND);
        l.round.store(round, Ordering::Relaxed);
        l.left.store(absent, Ordering::Relaxed);
        l.next.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
}

impl<N, const BLOCK: usize> Link<N, BLOCK> {
    fn new() -> Self {
        Link {
            next: AtomicPtr::new(core::ptr::null_mut()),
            left: AtomicU32::new(0),
            round: AtomicU32::new(ROUND),
        }
    }
}

/// A thread's place in a chain: its next node.
#[derive(Debug)]
pub(crate) struct Pos<N, const BLOCK: usize> {
    block: *const Block<N, BLOCK>,
    /// `BLOCK`: the first node of the next block.
    index: u32,
    /// The block's round.
    round: u32,
}

impl<N, const BLOCK: usize> Clone for Pos<N, BLOCK> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<N, const BLOCK: usize> Copy for Pos<N, BLOCK> {}

impl<N, const BLOCK: usize> Pos<N, BLOCK> {
    /// Before the first node of a team of one.
    pub(crate) const NOWHERE: Self = Pos {
        block: core::ptr::null(),
        index: BLOCK as u32,
        round: 0,
    };

    #[inline(always)]
    fn next(self) -> Self {
        Pos {
            index: self.index + 1,
            ..self
        }
    }
}

/// Blocks by address, as they are linked.
type Blocks<N, const BLOCK: usize> = UnsafeCell<Vec<NonNull<Block<N, BLOCK>>>>;

/// A team's chain.
///
/// # Invariant
/// Blocks live until the chain is dropped, or until `settle` or `restart` find them unused, which
/// are called while no other thread is in the team. The lists are protected by the lock, or by the
/// absence of other threads.
#[derive(Debug)]
pub(crate) struct Chain<N: Node, const BLOCK: usize> {
    /// Where the threads of the next region start. Written between regions.
    start: Cell<Pos<N, BLOCK>>,
    /// Blocks nobody is in.
    free: Blocks<N, BLOCK>,
    /// All blocks.
    all: Blocks<N, BLOCK>,
    lock: Brief,
    /// Threads of the team that are in other processes: a block is recycled without them. Written between regions.
    absent: AtomicU32,
    /// Some node holds memory of its own, or there are many blocks.
    heavy: AtomicBool,
}

impl<N: Node, const BLOCK: usize> Chain<N, BLOCK> {
    /// An empty chain. Blocks are made when they are needed.
    pub(crate) fn new() -> Self {
        Chain {
            start: Cell::new(Pos::NOWHERE),
            free: UnsafeCell::new(Vec::new()),
            all: UnsafeCell::new(Vec::new()),
            lock: Brief::new(),
            absent: AtomicU32::new(0),
            heavy: AtomicBool::new(false),
        }
    }

    /// Where all threads of a region that begins have their first node. Only while no other thread
    /// is in the team.
    #[inline]
    pub(crate) fn position(&self) -> Pos<N, BLOCK> {
        let pos = self.start.get();
        if pos.block.is_null() {
            return self.first_block();
        }
        pos
    }

    #[cold]
    fn first_block(&self) -> Pos<N, BLOCK> {
        // SAFETY: `fresh` gives out live blocks.
        let pos = unsafe { self.fresh().as_ref() }.start();
        self.start.set(pos);
        pos
    }

    /// The node at `pos`, taken for the whole team, and where everybody goes from there. Whoever
    /// starts the threads also shows them the node. Only while no other thread is in the team.
    pub(crate) fn at(&self, pos: Pos<N, BLOCK>) -> (&N, Pos<N, BLOCK>) {
        // A team of one: whoever steps out of a block is the last to leave it.
        let (step, next) = self.step(pos, 1);
        let state = step.node.state();
        state.store(step.round | READY, Ordering::Relaxed);
        (step.node, next)
    }

    /// The region has ended, and all threads would have had their next node at `pos`. Only while
    /// no other thread is in the team.
    #[inline]
    pub(crate) fn settle(&self, pos: Pos<N, BLOCK>) {
        self.start.set(pos);
        if self.heavy.load(Ordering::Relaxed) {
            self.lighten();
        }
    }

    /// Frees memory of nodes that are over, and blocks that a thread once needed to run far ahead.
    #[cold]
    fn lighten(&self) {
        self.heavy.store(false, Ordering::Relaxed);
        // SAFETY: no other thread is in the team, so neither list nor node is in use, and a free
        // block is referred to by nobody.
        unsafe {
            let all = &mut *self.all.get();
            for block in all.iter() {
                for node in &block.as_ref().nodes {
                    node.clean();
                }
            }
            let free = &mut *self.free.get();
            let spare = all.len().saturating_sub(KEEP).min(free.len());
            let mut gone: Vec<_> = free.drain(free.len() - spare..).collect();
            gone.sort_unstable();
            all.retain(|b| gone.binary_search(b).is_err());
            for block in gone {
                drop(Box::from_raw(block.as_ptr()));
            }
        }
    }

    /// Forgets where the threads were: they may have been at different nodes when the region was
    /// cancelled. Only while no other thread is in the team.
    pub(crate) fn restart(&self) {
        // SAFETY: no other thread is in the team, so neither list is in use: a region is restarted by its primary
        // thread, after the join.
        unsafe {
            let free = &mut *self.free.get();
            free.clear();
            for block in &*self.all.get() {
                block.as_ref().renew(self.absent.load(Ordering::Relaxed));
                free.push(*block);
            }
        }
        self.start.set(Pos::NOWHERE);
        self.lighten();
    }

    /// From now on `absent` of a team's threads never come: in a region that crosses processes. Only while no other
    /// thread is in the team, and before [`Chain::restart`].
    pub(crate) fn expect_less(&self, absent: u32) {
        self.absent.store(absent, Ordering::Relaxed);
    }

    /// Marks that some node holds memory, so that it is freed when the region ends.
    pub(crate) fn note_heavy(&self) {
        self.heavy.store(true, Ordering::Relaxed);
    }

    /// `pos`, or the start of the next block if `pos` is the end of one.
    #[inline(always)]
    fn within(&self, pos: Pos<N, BLOCK>, nthreads: u32) -> Pos<N, BLOCK> {
        if pos.index == BLOCK as u32 {
            self.leave(pos, nthreads)
        } else {
            pos
        }
    }

    /// The node at `pos` and the place after it, for a thread of a team of `nthreads`.
    #[inline(always)]
    pub(crate) fn step(&self, pos: Pos<N, BLOCK>, nthreads: u32) -> (Step<'_, N>, Pos<N, BLOCK>) {
        let pos = self.within(pos, nthreads);
        // SAFETY: a block lives at least until the thread has left it, and `index` is below BLOCK:
        // `Pos` values are made in this module only.
        let node = unsafe {
            let block = &*pos.block;
            block.nodes.get_unchecked(pos.index as usize)
        };
        let step = Step {
            node,
            round: pos.round,
        };
        (step, pos.next())
    }

    /// Steps from the end of a block into the next one.
    #[cold]
    #[inline(never)]
    fn leave(&self, pos: Pos<N, BLOCK>, nthreads: u32) -> Pos<N, BLOCK> {
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
            block.renew(self.absent.load(Ordering::Relaxed));
            self.put_back(NonNull::from(block));
        }
        to
    }

    /// A block that nobody else refers to.
    fn fresh(&self) -> NonNull<Block<N, BLOCK>> {
        self.lock.lock();
        // SAFETY: the lock is held.
        let found = unsafe { (*self.free.get()).pop() };
        self.lock.unlock();
        if let Some(block) = found {
            return block;
        }
        // SAFETY: `into_raw` is never null.
        let block: NonNull<Block<N, BLOCK>> =
            unsafe { NonNull::new_unchecked(Box::into_raw(Block::new())) };
        let absent = self.absent.load(Ordering::Relaxed);
        // SAFETY: nobody else knows the block.
        unsafe { block.as_ref() }
            .link
            .left
            .store(absent, Ordering::Relaxed);
        self.lock.lock();
        // SAFETY: the lock is held.
        let made = unsafe {
            let all = &mut *self.all.get();
            all.push(block);
            all.len()
        };
        self.lock.unlock();
        if made > KEEP {
            self.note_heavy();
        }
        block
    }

    fn put_back(&self, block: NonNull<Block<N, BLOCK>>) {
        self.lock.lock();
        // SAFETY: the lock is held.
        unsafe { (*self.free.get()).push(block) };
        self.lock.unlock();
    }

    /// Blocks there are.
    #[cfg(any(test, loom))]
    pub(crate) fn blocks(&self) -> usize {
        self.lock.lock();
        // SAFETY: the lock is held.
        let n = unsafe { (*self.all.get()).len() };
        self.lock.unlock();
        n
    }
}

impl<N: Node, const BLOCK: usize> Drop for Chain<N, BLOCK> {
    fn drop(&mut self) {
        for block in self.all.get_mut() {
            // SAFETY: all blocks come from `Box::into_raw`, are in `all` once, and nobody uses the
            // chain any more.
            drop(unsafe { Box::from_raw(block.as_ptr()) });
        }
    }
}

#[cfg(all(test, not(loom)))]
#[path = "chain/tests.rs"]
mod tests;
