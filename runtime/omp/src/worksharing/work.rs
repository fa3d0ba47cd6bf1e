//! The worksharing constructs of a team.
//!
//! Every thread of a team meets the same worksharing constructs in the same order (OpenMP 5.1, section 2.11).
//! So the constructs are nodes of a [chain](crate::worksharing::chain) along which all threads walk. This
//! module describes a node's content; [`super::construct`] describes how a thread enters a construct.

use crate::worksharing::chain::{Chain, Node, Pos};
use crate::worksharing::kinds::{Handing, NodeSchedule};
use crate::worksharing::posts::Doacross;
use core::alloc::Layout;
use core::any::Any;
use core::cell::{Cell, UnsafeCell};
use core::fmt;
use core::ptr::NonNull;
use crossbeam_utils::CachePadded;
use hetmp_core::bell::LocalBell;
use hetmp_core::report;
use hetmp_core::sync::{AtomicU32, AtomicU64, Ordering};
use hetmp_sched::plain::{Dynamic, Guided};
use hetmp_sched::ranges::{LoopBounds, Range};
use std::sync::Arc;

/// Number of nodes in a block of the chain.
const BLOCK: usize = 16;

/// A thread's place among the worksharing constructs of its team: the construct that it will enter next.
pub(crate) type WorkPos = Pos<Work, BLOCK>;

/// How far a thread is in its current loop. Iterations are normalised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    /// Static schedules: number of the chunk that the thread takes next.
    pub(crate) trip: u64,
    /// Ordered loops: the thread's chunk, while its turn has not been passed on; otherwise empty.
    pub(crate) chunk: Range,
}

impl Cursor {
    /// The thread has not taken a chunk yet.
    pub(crate) const START: Cursor = Cursor {
        trip: 0,
        chunk: Range { start: 0, end: 0 },
    };
}

/// Data on the heap that the threads of a construct share.
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
        // SAFETY: `new` allocated the memory with this layout.
        unsafe { std::alloc::dealloc(self.memory.as_ptr(), self.layout) };
    }
}

/// One worksharing construct of a team: a loop, sections, single, or scope.
///
/// # Invariant
/// The thread that claims the node writes the cells before it publishes the node. After that they are only
/// read, until the block is recycled. (The exception is [`Work::copyprivate`], which is written later, before
/// a barrier.)
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Work {
    state: AtomicU32,
    /// How iterations are handed out.
    pub(crate) kind: Cell<Handing>,
    /// The iterations take turns ([`super::ordered`]).
    pub(crate) ordered: Cell<bool>,
    /// The loop, as the program wrote it.
    pub(crate) bounds: Cell<LoopBounds>,
    /// Static schedules: the chunk size; 0 means one piece for each thread.
    pub(crate) chunk: Cell<u64>,
    /// The word by which the first thread passes the construct's task reductions on
    /// (`construct::TaskReductions`).
    pub(super) reductions: Cell<usize>,
    /// The pointer that the executing thread of a `single copyprivate` passes to the others.
    pub(crate) copyprivate: Cell<*mut libc::c_void>,
    pub(super) shared: UnsafeCell<Option<Box<Shared>>>,
    pub(crate) doacross: UnsafeCell<Option<Box<Doacross>>>,
    /// [`Handing::Ours`]: a schedule that knows of nodes.
    pub(crate) ours: UnsafeCell<Option<Box<dyn NodeSchedule>>>,
    /// [`Handing::Fixed`]: each thread's piece.
    pub(crate) pieces: UnsafeCell<Vec<Range>>,
    /// Dynamic schedules: the counter from which all threads take chunks.
    pub(crate) dynamic: Dynamic,
    /// Guided schedules: the counter from which all threads take chunks.
    pub(crate) guided: Guided,
    /// Ordered loops: the iteration whose turn it is. All iterations before it have had their turn.
    pub(crate) turn: CachePadded<AtomicU64>,
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
            turn: CachePadded::new(AtomicU64::new(0)),
        }
    }

    #[inline(always)]
    fn state(&self) -> &AtomicU32 {
        &self.state
    }

    #[inline]
    unsafe fn clean(&self) {
        // SAFETY: this function's contract.
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
    /// # Safety
    /// As for [`Node::clean`].
    #[cold]
    unsafe fn clean_heap(&self) {
        // SAFETY: this function's contract.
        unsafe {
            *self.shared.get() = None;
            *self.doacross.get() = None;
            *self.ours.get() = None;
        }
    }

    /// Prepares the first construct of a region that begins.
    ///
    /// # Safety
    /// The node comes from [`WorkChain::at`], and no other thread can see it yet.
    #[inline]
    pub(crate) unsafe fn open_first(&self, prepare: &mut dyn FnMut(&Work)) {
        // SAFETY: this function's contract.
        unsafe { self.clean() };
        prepare(self);
    }
}

/// Number of bells on which threads of one team sleep that wait for an iteration's turn. Several iterations may
/// share a bell; then some threads are woken in vain, which does no harm.
pub(crate) const BELLS: usize = 16;

/// The worksharing constructs of a team. The unsafe functions ask for what those of [`Chain`] ask for.
#[derive(Debug)]
pub(crate) struct WorkChain {
    pub(super) chain: Chain<Work, BLOCK>,
    /// The barrier epoch in which a construct was cancelled, plus `VALID`: see [`super::construct::cancel`].
    pub(super) cancelled: AtomicU32,
    pub(crate) bells: CachePadded<[LocalBell; BELLS]>,
}

impl WorkChain {
    /// A chain without constructs.
    pub(crate) fn new() -> WorkChain {
        WorkChain {
            chain: Chain::new(),
            cancelled: AtomicU32::new(0),
            bells: CachePadded::new([const { LocalBell::local() }; BELLS]),
        }
    }

    /// The place of the first construct for all threads of a region that begins.
    ///
    /// # Safety
    /// As for [`Chain::position`].
    #[inline]
    pub(crate) unsafe fn position(&self) -> WorkPos {
        // SAFETY: this function's contract.
        unsafe { self.chain.position() }
    }

    /// Enters the construct at `pos` for the whole team. Returns it, and the place from which all threads go
    /// on.
    ///
    /// # Safety
    /// As for [`Chain::at`].
    #[inline]
    pub(crate) unsafe fn at(&self, pos: WorkPos) -> (&Work, WorkPos) {
        // SAFETY: this function's contract.
        unsafe { self.chain.at(pos) }
    }

    /// Called when the region has ended.
    ///
    /// # Safety
    /// As for [`Chain::settle`].
    #[inline]
    pub(crate) unsafe fn settle(&self, pos: WorkPos) {
        // SAFETY: this function's contract.
        unsafe { self.chain.settle(pos) };
    }

    /// Forgets the places of the threads. If the region was cancelled, they may have been in different
    /// constructs.
    ///
    /// # Safety
    /// As for [`Chain::restart`].
    pub(crate) unsafe fn restart(&self) {
        self.cancelled.store(0, Ordering::Relaxed);
        // SAFETY: this function's contract.
        unsafe { self.chain.restart() };
    }

    /// As `restart`, for a region of which `absent` threads will never come here.
    ///
    /// # Safety
    /// As for [`Chain::restart`].
    pub(crate) unsafe fn restart_without(&self, absent: u32) {
        self.chain.expect_less(absent);
        // SAFETY: this function's contract.
        unsafe { self.restart() };
    }

    /// Notes that some construct holds memory, so that the memory is freed when the region ends.
    pub(crate) fn note_heavy(&self) {
        self.chain.note_heavy();
    }
}
