//! The worksharing constructs of a team.
//!
//! Every thread of a team meets the same worksharing constructs in the same order (OpenMP 5.1,
//! section 2.11), so they are nodes of a [chain](crate::worksharing::chain) that all threads walk along. This
//! module says what a node holds; [`super::construct`] how a thread enters a construct.

use crate::worksharing::chain::{Chain, Node, Pos};
use crate::worksharing::kinds::{Handing, NodeSchedule};
use crate::worksharing::posts::Doacross;
use core::alloc::Layout;
use core::any::Any;
use core::cell::{Cell, UnsafeCell};
use core::fmt;
use core::ptr::NonNull;
use hetmp_core::report;
use hetmp_core::sync::{AtomicU32, AtomicU64, CacheLine, Ordering};
use hetmp_sched::plain::{Dynamic, Guided};
use hetmp_sched::ranges::{LoopBounds, Range};
use std::sync::Arc;

/// Nodes of a block of the chain.
const BLOCK: usize = 16;

/// A thread's place among the worksharing constructs of its team: its next one.
pub(crate) type WorkPos = Pos<Work, BLOCK>;

/// A thread's progress in its current loop. Iterations are normalised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    /// Static schedules: number of the thread's next chunk.
    pub(crate) trip: u64,
    /// Ordered loops: the chunk in hand whose turn was not passed on yet; empty if none.
    pub(crate) chunk: Range,
}

impl Cursor {
    /// Nothing taken yet.
    pub(crate) const START: Cursor = Cursor {
        trip: 0,
        chunk: Range { start: 0, end: 0 },
    };
}

/// What the threads of a construct share beyond the node.
pub(super) enum Shared {
    Memory(Zeroed),
    Object(Arc<dyn Any + Send + Sync>),
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Shared::Memory(_) => "Memory",
            Shared::Object(_) => "Object",
        })
    }
}

/// Zeroed memory that the threads of a construct share.
#[derive(Debug)]
pub(super) struct Zeroed {
    pub(super) memory: NonNull<u8>,
    layout: Layout,
}

impl Zeroed {
    pub(super) fn new(bytes: usize) -> Zeroed {
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
    pub(crate) kind: Cell<Handing>,
    /// Iterations have turns ([`super::ordered`]).
    pub(crate) ordered: Cell<bool>,
    /// The loop, as the program wrote it.
    pub(crate) bounds: Cell<LoopBounds>,
    /// Static schedules: the chunk size, 0 for one piece for each thread.
    pub(crate) chunk: Cell<u64>,
    /// What the first thread made of the construct's task reductions (`construct::TaskReductions`).
    pub(super) reductions: Cell<usize>,
    /// What the executor of a `single copyprivate` broadcasts.
    pub(crate) copyprivate: Cell<*mut libc::c_void>,
    pub(super) shared: UnsafeCell<Option<Box<Shared>>>,
    pub(crate) doacross: UnsafeCell<Option<Box<Doacross>>>,
    /// A schedule that knows of nodes, for [`Handing::Ours`].
    pub(crate) ours: UnsafeCell<Option<Box<dyn NodeSchedule>>>,
    /// [`Handing::Fixed`]: each thread's piece.
    pub(crate) pieces: UnsafeCell<Vec<Range>>,
    /// Dynamic schedules: the cursor all threads take chunks from.
    pub(crate) dynamic: Dynamic,
    /// Guided schedules: the same.
    pub(crate) guided: Guided,
    /// Ordered loops: all iterations before this one had their turn.
    pub(crate) turn: CacheLine<AtomicU64>,
}

impl Node for Work {
    fn new() -> Work {
        Work {
            state: AtomicU32::new(0),
            kind: Cell::new(Handing::Static),
            ordered: Cell::new(false),
            bounds: Cell::new(LoopBounds::default()),
            chunk: Cell::new(0),
            reductions: Cell::new(0),
            copyprivate: Cell::new(core::ptr::null_mut()),
            shared: UnsafeCell::new(None),
            doacross: UnsafeCell::new(None),
            ours: UnsafeCell::new(None),
            pieces: UnsafeCell::new(Vec::new()),
            dynamic: Dynamic::new(),
            guided: Guided::new(),
            turn: CacheLine(AtomicU64::new(0)),
        }
    }

    #[inline(always)]
    fn state(&self) -> &AtomicU32 {
        &self.state
    }

    #[inline]
    fn clean(&self) {
        // SAFETY: the chain and the claimer call this while the node is theirs alone.
        unsafe {
            if (*self.shared.get()).is_some()
                || (*self.doacross.get()).is_some()
                || (*self.ours.get()).is_some()
            {
                self.clean_heap();
            }
        }
    }
}

impl Work {
    #[cold]
    fn clean_heap(&self) {
        // SAFETY: `clean` calls this, and the chain and the claimer call `clean` while the node is theirs alone.
        unsafe {
            *self.shared.get() = None;
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

/// The worksharing constructs of a team.
#[derive(Debug)]
pub(crate) struct WorkChain {
    pub(super) chain: Chain<Work, BLOCK>,
    /// The barrier epoch in which a construct was cancelled, plus `VALID`; see [`super::construct::cancel`].
    pub(super) cancelled: AtomicU32,
    pub(crate) parked: CacheLine<[Parked; PARKED]>,
}

impl WorkChain {
    /// No constructs yet.
    pub(crate) fn new() -> WorkChain {
        WorkChain {
            chain: Chain::new(),
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
    /// thread is in the team, as the next three.
    #[inline]
    pub(crate) fn position(&self) -> WorkPos {
        self.chain.position()
    }

    /// The construct at `pos`, entered for the whole team, and where everybody goes from there.
    #[inline]
    pub(crate) fn at(&self, pos: WorkPos) -> (&Work, WorkPos) {
        self.chain.at(pos)
    }

    /// The region has ended, and all threads would have had their next construct at `pos`.
    #[inline]
    pub(crate) fn settle(&self, pos: WorkPos) {
        self.chain.settle(pos);
    }

    /// Forgets in which constructs the threads were: they may have been in different ones when the
    /// region was cancelled.
    pub(crate) fn restart(&self) {
        self.cancelled.store(0, Ordering::Relaxed);
        self.chain.restart();
    }

    /// The same, for a region `absent` threads of which will never come here.
    pub(crate) fn restart_without(&self, absent: u32) {
        self.chain.expect_less(absent);
        self.restart();
    }

    /// Marks that some construct holds memory, so that it is freed when the region ends.
    pub(crate) fn note_heavy(&self) {
        self.chain.note_heavy();
    }
}
