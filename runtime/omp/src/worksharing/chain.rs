//! A chain of nodes that all threads of a team walk along, each at its own pace.
//!
//! Every thread meets the same worksharing constructs in the same order. So a team has one chain with a node
//! for each construct, and each thread has its own place in the chain, [`Pos`]. To enter a construct, a
//! thread takes the node at its place and steps on. The first thread that takes a node prepares it for the
//! others.
//!
//! # Blocks
//! Nodes come in blocks. A fast thread may run ahead over any number of nodes: blocks are added when they are
//! needed, and no thread waits for a slow one. A thread that steps from one block into the next counts itself
//! in [`Link::left`]. The last thread of the team to do so puts the block that it leaves on the free list.
//! After a while two blocks take turns: then nothing is allocated, and the chain costs each thread one
//! read-modify-write per block.
//!
//! # Rounds instead of resets
//! A node's state holds a round number of its block: that of the round in which the node was taken. To
//! recycle a block, a thread counts up the block's round. Nodes with an older number are then free again, and
//! no thread has to touch their cache lines.
//!
//! # Memory ordering
//! 1. A thread claims a node by a compare-exchange that acquires, and shows it by a `READY` store that
//!    releases. Other threads acquire when they see `READY` of their round. So only the claimer touches the
//!    node's content before that store, and all may read it after. A claim also comes after all uses of the
//!    node in older rounds (see 3).
//! 2. A block is linked by a compare-exchange that releases, and found by a load that acquires. So a thread
//!    that steps into a block sees the block's round and its empty link.
//! 3. `left` is counted with acquire-release. So the thread that recycles a block has seen everything that
//!    the others did in the block. It passes this on through the lock of the free list and through the link.

use core::cell::{Cell, UnsafeCell};
use core::ptr::NonNull;
use crossbeam_utils::CachePadded;
use hetmp_core::lock::Brief;
use hetmp_core::park::Spinner;
#[cfg(not(loom))]
use hetmp_core::report;
#[cfg(loom)]
use hetmp_core::sync::pause;
use hetmp_core::sync::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// Number of blocks that a chain keeps between regions.
const KEEP: usize = 4;

/// State of a node that a thread has claimed and is preparing.
const INIT: u32 = 1;
/// State of a node that is prepared.
const READY: u32 = 2;
/// Rounds are counted in the upper 30 bits of a state.
const ROUND: u32 = 4;

/// An element of a chain.
pub(crate) trait Node {
    /// A node that was never used.
    fn new() -> Self;
    /// The node's state, which the chain keeps here; 0 in a new node. It is part of the node so that it can
    /// share a cache line with the fields that are read next.
    fn state(&self) -> &AtomicU32;
    /// Frees memory that the node's last use left behind.
    ///
    /// # Safety
    /// No other thread uses the node.
    unsafe fn clean(&self);
}

/// A node at which a thread has arrived.
#[derive(Debug)]
pub(crate) struct Step<'a, N> {
    pub(crate) node: &'a N,
    round: u32,
}

impl<'a, N: Node> Step<'a, N> {
    /// Tries to claim the node. Returns true if this thread has claimed it: the caller then prepares the node
    /// and calls [`Step::publish`]. Returns false if another thread has prepared the node; waits for that
    /// thread if needed.
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

    /// Returns true if some thread has claimed the node. Use it as a hint about time only: the caller does
    /// not see anything that the claimer wrote.
    #[inline]
    pub(crate) fn is_claimed(&self) -> bool {
        self.node.state().load(Ordering::Relaxed) & !(ROUND - 1) == self.round
    }

    /// Waits until the claimer has prepared the node. The claimer is at work already, so the wait is as long
    /// as the preparation.
    #[cold]
    #[inline(never)]
    fn wait_ready(&self) {
        let mut spinner = Spinner::new();
        while self.node.state().load(Ordering::Acquire) != self.round | READY {
            spinner.turn_or_rest();
        }
    }

    /// Shows a claimed and prepared node to the other threads.
    #[inline]
    pub(crate) fn publish(&self) {
        self.node
            .state()
            .store(self.round | READY, Ordering::Release);
    }
}

/// The data by which a block is part of a chain.
#[derive(Debug)]
struct Link<N, const BLOCK: usize> {
    next: AtomicPtr<Block<N, BLOCK>>,
    /// Threads of the team that have stepped into the next block.
    left: AtomicU32,
    /// Number of the block's current round, in steps of `ROUND`. The thread that recycles the block writes
    /// it.
    round: AtomicU32,
}

/// A block of nodes.
#[derive(Debug)]
pub(crate) struct Block<N, const BLOCK: usize> {
    nodes: [N; BLOCK],
    link: CachePadded<Link<N, BLOCK>>,
}

impl<N: Node, const BLOCK: usize> Block<N, BLOCK> {
    /// Builds the block in place on the heap. A block is too large for the small stacks that some programs
    /// give their threads.
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
            core::ptr::addr_of_mut!((*p).link).write(CachePadded::new(Link::new()));
            Box::from_raw(p)
        }
    }

    #[cfg(loom)]
    fn new() -> Box<Self> {
        Box::new(Block {
            nodes: core::array::from_fn(|_| N::new()),
            link: CachePadded::new(Link::new()),
        })
    }

    fn start(&self) -> Pos<N, BLOCK> {
        Pos {
            block: self,
            index: 0,
            round: self.link.round.load(Ordering::Relaxed),
        }
    }

    /// Makes all nodes free. May be called only while no thread is in the block. `absent` threads count as
    /// having left it already.
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

/// A thread's place in a chain: the node that it will take next.
#[derive(Debug)]
pub(crate) struct Pos<N, const BLOCK: usize> {
    block: *const Block<N, BLOCK>,
    /// Index of the node in the block. `BLOCK` means the first node of the next block.
    index: u32,
    /// The block's round at the time when the thread stepped in.
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
    /// The place in front of the first node, before the chain has any block.
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

/// Addresses of blocks, in the form in which blocks are linked.
type Blocks<N, const BLOCK: usize> = UnsafeCell<Vec<NonNull<Block<N, BLOCK>>>>;

/// A team's chain.
///
/// # Invariant
/// Blocks live until the chain is dropped, or until `settle` or `restart` finds them unused. The lists are protected by
/// the lock, or by the fact that no other thread is in the team: whoever calls an unsafe function here promises that,
/// but for [`Chain::step`].
#[derive(Debug)]
pub(crate) struct Chain<N: Node, const BLOCK: usize> {
    /// The place where the threads of the next region start. Written between regions.
    start: Cell<Pos<N, BLOCK>>,
    /// Blocks in which no thread is.
    free: Blocks<N, BLOCK>,
    /// All blocks.
    all: Blocks<N, BLOCK>,
    lock: Brief,
    /// Number of the team's threads that are in other processes. A block is recycled without them. Written
    /// between regions.
    absent: AtomicU32,
    /// Some node holds memory of its own, or there are more than `KEEP` blocks.
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

    /// The place of the first node for all threads of a region that begins.
    ///
    /// # Safety
    /// No other thread is in the team.
    #[inline]
    pub(crate) unsafe fn position(&self) -> Pos<N, BLOCK> {
        let pos = self.start.get();
        if pos.block.is_null() {
            return self.first_block();
        }
        pos
    }

    #[cold]
    fn first_block(&self) -> Pos<N, BLOCK> {
        // SAFETY: `fresh` returns a live block.
        let pos = unsafe { self.fresh().as_ref() }.start();
        self.start.set(pos);
        pos
    }

    /// Takes the node at `pos` for the whole team. Returns the node, and the place from which all threads go
    /// on. The caller must pass both to the threads when it starts them.
    ///
    /// # Safety
    /// No other thread is in the team, and `pos` is where its threads are.
    pub(crate) unsafe fn at(&self, pos: Pos<N, BLOCK>) -> (&N, Pos<N, BLOCK>) {
        // Steps as a team of one thread, so this thread is also the last to leave a block that ends here.
        // SAFETY: this function's contract.
        let (step, next) = unsafe { self.step(pos, 1) };
        let state = step.node.state();
        state.store(step.round | READY, Ordering::Relaxed);
        (step.node, next)
    }

    /// Called when the region has ended.
    ///
    /// # Safety
    /// No other thread is in the team, and `pos` is the place of the next node of each of its threads.
    #[inline]
    pub(crate) unsafe fn settle(&self, pos: Pos<N, BLOCK>) {
        self.start.set(pos);
        if self.heavy.load(Ordering::Relaxed) {
            // SAFETY: this function's contract.
            unsafe { self.lighten() };
        }
    }

    /// Frees memory of nodes whose constructs are over, and blocks that were needed only because a thread
    /// once ran far ahead.
    ///
    /// # Safety
    /// As for [`Chain::settle`].
    #[cold]
    unsafe fn lighten(&self) {
        self.heavy.store(false, Ordering::Relaxed);
        // SAFETY: no other thread is in the team, so no other thread uses the lists and the nodes, and
        // nothing refers to a free block.
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

    /// Forgets the places of the threads. If the region was cancelled, they may have been at different nodes.
    ///
    /// # Safety
    /// No other thread is in the team, and nobody uses a place from before.
    pub(crate) unsafe fn restart(&self) {
        // SAFETY: no other thread is in the team, so no other thread uses the lists. (The primary thread
        // restarts the chain after the join.)
        unsafe {
            let free = &mut *self.free.get();
            free.clear();
            for block in &*self.all.get() {
                block.as_ref().renew(self.absent.load(Ordering::Relaxed));
                free.push(*block);
            }
        }
        self.start.set(Pos::NOWHERE);
        // SAFETY: this function's contract.
        unsafe { self.lighten() };
    }

    /// From now on `absent` threads of the team never come, because they are in other processes. Takes effect with the
    /// next [`Chain::restart`].
    pub(crate) fn expect_less(&self, absent: u32) {
        self.absent.store(absent, Ordering::Relaxed);
    }

    /// Notes that some node holds memory, so that the memory is freed when the region ends.
    pub(crate) fn note_heavy(&self) {
        self.heavy.store(true, Ordering::Relaxed);
    }

    /// Returns `pos`, or the start of the next block if `pos` is the end of a block.
    #[inline(always)]
    fn within(&self, pos: Pos<N, BLOCK>, nthreads: u32) -> Pos<N, BLOCK> {
        if pos.index == BLOCK as u32 {
            self.leave(pos, nthreads)
        } else {
            pos
        }
    }

    /// The node at `pos` and the place behind it, for a thread of a team of `nthreads`.
    ///
    /// # Safety
    /// `pos` is where this thread is: the start of its region, or what its last step in the region returned.
    #[inline(always)]
    pub(crate) unsafe fn step(
        &self,
        pos: Pos<N, BLOCK>,
        nthreads: u32,
    ) -> (Step<'_, N>, Pos<N, BLOCK>) {
        let pos = self.within(pos, nthreads);
        // SAFETY: a block lives at least until this thread has left it. `index` is below BLOCK, because only
        // this module makes `Pos` values.
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
            // SAFETY: happens only in a team of one thread that no `fork` has started.
            return unsafe { self.position() };
        }
        // SAFETY: this thread has not left the block yet, so the block is not recycled.
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
        // SAFETY: a linked block is live until all threads have left it, and this thread has not.
        let to = unsafe { &*next }.start();
        if block.link.left.fetch_add(1, Ordering::AcqRel) + 1 == nthreads {
            block.renew(self.absent.load(Ordering::Relaxed));
            self.put_back(NonNull::from(block));
        }
        to
    }

    /// Takes a free block, or makes one. No other thread refers to it.
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
        // SAFETY: no other thread knows the block.
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

    /// The number of blocks.
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
            // SAFETY: every block comes from `Box::into_raw` and is in `all` once, and no thread uses the
            // chain any more.
            drop(unsafe { Box::from_raw(block.as_ptr()) });
        }
    }
}

#[cfg(all(test, not(loom)))]
#[path = "chain/tests.rs"]
mod tests;
