//! The functions that `libhetmp_dsm.so` offers to this library, and how to call them.

use core::sync::atomic::{AtomicU32, Ordering};
use hetmp_core::observers;
use once_cell::race::OnceRef;

/// The functions that `libhetmp_dsm.so` offers. The same structure is declared in its module `offers`.
#[repr(C)]
#[derive(Debug)]
pub struct Table {
    /// Names the sources of the library: both libraries must be made of the same.
    pub sources: [u8; 16],
    /// This node's number. The origin is 0.
    pub(crate) me: u32,
    /// The number of nodes.
    pub(crate) nodes: u32,
    /// Runs one request. Arguments: the request's number, and a pointer to three words, which the answer
    /// replaces.
    pub(crate) ask: extern "C" fn(u32, *mut u64),
    /// Is the address in memory that all nodes share?
    pub(crate) is_shared: extern "C" fn(usize) -> bool,
    /// Writes eleven words about the node that the first argument names, those of another node as they were when its
    /// part of the last region ended (at the origin only). Five counts: read faults that asked another node, write
    /// faults that asked another node, pages sent, pages taken away, and the nanoseconds from a fault's arrival to the
    /// page's, summed over faults. Then the three words that the node asked with when its part ended. Then the pages of
    /// its own that this node, whatever the argument is, has touched so far. Then two more counts: pages that came
    /// along with others, and copies that were lent to the node.
    pub(crate) counts: extern "C" fn(u32, *mut u64),
    /// Writes two words about the calling thread: its faults that asked another node, and the nanoseconds that it has
    /// waited for their pages.
    pub(crate) waits: extern "C" fn(*mut u64),
    /// Called by the origin when the program ends: the other nodes may end.
    pub(crate) leave: extern "C" fn(),
    /// Binds the calling thread to this node's CPUs, if the nodes have CPUs of their own.
    pub(crate) stay: extern "C" fn(),
    /// Allocates bytes in memory that all nodes share: the size, and the alignment, a power of two. Null if there is no
    /// room.
    pub(crate) allocate: extern "C" fn(usize, usize) -> *mut u8,
    /// Frees what `allocate` gave.
    pub(crate) free: unsafe extern "C" fn(*mut libc::c_void),
    /// The origin keeps all pages that it has for this many nanoseconds from now on.
    pub(crate) keep: extern "C" fn(u64),
    /// From now on this is called, on a thread with a stack of its own, whenever a thread of this node asks another
    /// node for a page. The first function stays.
    pub(crate) judge: extern "C" fn(extern "C" fn()),
    /// From now on this node may lend pages to several nodes that write them, or may not: threads of the region learn
    /// of what threads on other nodes write only by requests. Returns whether it may.
    pub(crate) lend: extern "C" fn(bool) -> bool,
    /// All nodes have the same libraries at the same addresses: they are of one instruction set.
    pub(crate) alike: bool,
}

// Requests. Their numbers are those of `hetmp_dsm::together::Op`.
pub(super) const FORK: u32 = 1;
pub(super) const JOIN: u32 = 2;
pub(super) const NEXT: u32 = 3;
pub(super) const DONE: u32 = 4;
pub(super) const BARRIER: u32 = 5;
const LOCK: u32 = 6;
const UNLOCK: u32 = 7;
pub(super) const HOT: u32 = 8;
pub(super) const TAKE: u32 = 9;
const TRY_LOCK: u32 = 10;
pub(super) const TURN: u32 = 12;
pub(super) const PASS: u32 = 13;
pub(super) const POST: u32 = 14;
pub(super) const AWAIT: u32 = 15;
pub(super) const CLAIM: u32 = 16;

/// A bit of a loop's number in [`TAKE`]: one chunk only. `hetmp_dsm::together::ONE`.
pub(super) const ONE: u64 = 1 << 31;
/// The same: all chunks that are left. `hetmp_dsm::together::REST`.
pub(super) const REST: u64 = 1 << 30;

/// The key of the lock of critical sections without a name. The program has no variable for it.
pub(crate) const UNNAMED: u64 = 1;
/// The key of the lock of `GOMP_atomic_start`. The program has no variable for it.
pub(crate) const ATOMIC: u64 = 2;

static TABLE: OnceRef<'static, Table> = OnceRef::new();

#[inline(always)]
pub(crate) fn table() -> Option<&'static Table> {
    TABLE.get()
}

pub(super) fn set(new: &'static Table) {
    // `libhetmp_dsm.so` offers its table once.
    let _ = TABLE.set(new);
    observers::begin(observers::NODE);
}

/// The number of nodes, if this process is one.
pub(crate) fn nodes() -> Option<usize> {
    table().map(|t| t.nodes as usize)
}

/// Is this process a node?
#[inline(always)]
pub fn is_on() -> bool {
    TABLE.get().is_some()
}

/// The origin's threads that ask for something. They may wait for other nodes, so that the origin keeps no pages
/// meanwhile: a thread counts itself and then ends keeping; who begins keeping then looks for threads that ask
/// ([`asking`]). All are sequentially consistent, so one of the two sees the other.
static ASKING: AtomicU32 = AtomicU32::new(0);

/// Does a thread of the origin ask for something?
pub(super) fn asking() -> bool {
    ASKING.load(Ordering::SeqCst) > 0
}

pub(super) fn ask(table: &Table, op: u32, words: [u64; 3]) -> [u64; 3] {
    let mut words = words;
    if table.me == 0 {
        ASKING.fetch_add(1, Ordering::SeqCst);
        (table.keep)(0);
    }
    (table.ask)(op, words.as_mut_ptr());
    if table.me == 0 {
        ASKING.fetch_sub(1, Ordering::SeqCst);
    }
    words
}

/// The words that `node` asked with when its part of the last region ended.
pub(super) fn words(table: &Table, node: u32) -> [u64; 3] {
    let [.., a, b, c, _, _, _] = counts(table, node);
    [a, b, c]
}

/// What [`Table::counts`] says of `node`.
pub(super) fn counts(table: &Table, node: u32) -> [u64; 11] {
    let mut words = [0; 11];
    (table.counts)(node, words.as_mut_ptr());
    words
}

/// Takes a lock that all nodes share. `key`: the address of a critical section's or of the program's lock
/// variable, or `UNNAMED`, or `ATOMIC`.
#[cold]
pub fn lock(key: u64) {
    if let Some(t) = table() {
        ask(t, LOCK, [key, 0, 0]);
    }
}

/// Takes the lock of `key` if no thread has it. Returns true if it did.
#[cold]
pub fn try_lock(key: u64) -> bool {
    table().is_some_and(|t| ask(t, TRY_LOCK, [key, 0, 0])[0] != 0)
}

/// Gives the lock of `key` back.
#[cold]
pub fn unlock(key: u64) {
    if let Some(t) = table() {
        ask(t, UNLOCK, [key, 0, 0]);
    }
}
