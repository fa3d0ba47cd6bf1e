//! What `libhetmp_dsm.so` offers, and how to ask it.

use core::sync::atomic::{AtomicPtr, Ordering};

/// What `libhetmp_dsm.so` offers; the same structure is in its `start`.
#[repr(C)]
#[derive(Debug)]
pub struct Table {
    /// 2.
    pub(crate) version: u32,
    /// This node.
    pub(crate) me: u32,
    /// All of them.
    pub(crate) nodes: u32,
    /// Runs one request: its number, and three words, which become the answer.
    pub(crate) ask: extern "C" fn(u32, *mut u64),
    /// Is the address in memory that all nodes share?
    pub(crate) is_shared: extern "C" fn(usize) -> bool,
    /// Three words: faults that asked other nodes, to read and to write, and pages sent, of this node.
    pub(crate) counts: extern "C" fn(*mut u64),
    /// Origin: the program ends, and the other nodes are not needed any more.
    pub(crate) leave: extern "C" fn(),
}

pub(super) const VERSION: u32 = 2;

// Requests, by the numbers of `hetmp_dsm::together::Op`.
pub(super) const FORK: u32 = 1;
pub(super) const JOIN: u32 = 2;
pub(super) const NEXT: u32 = 3;
pub(super) const DONE: u32 = 4;
pub(super) const BARRIER: u32 = 5;
const LOCK: u32 = 6;
const UNLOCK: u32 = 7;
pub(super) const COUNTS: u32 = 8;
pub(super) const TAKE: u32 = 9;
const TRY_LOCK: u32 = 10;

/// Keys of locks that have no address in the program.
pub(crate) const UNNAMED: u64 = 1;
/// See [`UNNAMED`].
pub(crate) const ATOMIC: u64 = 2;

static TABLE: AtomicPtr<Table> = AtomicPtr::new(core::ptr::null_mut());

#[inline(always)]
pub(super) fn table() -> Option<&'static Table> {
    // SAFETY: null, or what `set` was given, which lives as long as the process.
    unsafe { TABLE.load(Ordering::Acquire).as_ref() }
}

pub(super) fn set(new: &'static Table) {
    TABLE.store(core::ptr::from_ref(new).cast_mut(), Ordering::Release);
}

/// Is this process a node?
#[inline(always)]
pub fn is_on() -> bool {
    !TABLE.load(Ordering::Relaxed).is_null()
}

pub(super) fn ask(table: &Table, op: u32, words: [u64; 3]) -> [u64; 3] {
    let mut words = words;
    (table.ask)(op, words.as_mut_ptr());
    words
}

/// Takes a lock of the whole program: that of a critical section or of a lock variable by its address, or
/// [`UNNAMED`], [`ATOMIC`].
#[cold]
pub fn lock(key: u64) {
    if let Some(t) = table() {
        ask(t, LOCK, [key, 0, 0]);
    }
}

/// Takes it if nobody has it.
#[cold]
pub fn try_lock(key: u64) -> bool {
    table().is_some_and(|t| ask(t, TRY_LOCK, [key, 0, 0])[0] != 0)
}

/// Gives it back.
#[cold]
pub fn unlock(key: u64) {
    if let Some(t) = table() {
        ask(t, UNLOCK, [key, 0, 0]);
    }
}
