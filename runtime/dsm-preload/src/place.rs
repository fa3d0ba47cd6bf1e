//! Places in memory: the nodes' parts of the shared heap, the stacks in them, and the code of the runtime.

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Size in bytes of a node's part: first the node's heap, then the stacks of its threads.
pub(crate) const PART: usize = 64 << 30;
const HEAP: usize = 48 << 30;
/// The largest number of nodes.
pub(crate) const MOST: usize = 8;

static START: AtomicUsize = AtomicUsize::new(0);
static NODES: AtomicUsize = AtomicUsize::new(0);
static ME: AtomicUsize = AtomicUsize::new(0);
static NEXT_STACK: AtomicUsize = AtomicUsize::new(0);
/// True from the time when the nodes run.
static STARTED: AtomicBool = AtomicBool::new(false);

/// Code whose allocations are private: begin and end of each range.
static PRIVATE_CODE: [AtomicUsize; 16] = [const { AtomicUsize::new(0) }; 16];

/// Notes where the parts begin and how many there are, before the nodes exist.
pub(crate) fn set(start: usize, nodes: usize) {
    START.store(start, Ordering::Relaxed);
    NODES.store(nodes, Ordering::Relaxed);
}

/// The addresses of a node's part.
pub(crate) fn part(node: usize) -> Range<usize> {
    let start = START.load(Ordering::Relaxed) + node * PART;
    start..start + PART
}

/// From now on the program's allocations come from the shared heap. `me`: this node's number.
pub(crate) fn begin(me: usize) {
    ME.store(me, Ordering::Relaxed);
    let part = part(me);
    crate::arena::SHARED.set_range(part.clone(), part.start..part.start + HEAP);
    NEXT_STACK.store(part.start + HEAP, Ordering::Relaxed);
    STARTED.store(true, Ordering::Release);
}

/// Do the nodes run?
pub(crate) fn started() -> bool {
    STARTED.load(Ordering::Acquire)
}

/// Do allocations by code at this address belong to the program? No for a thread whose stack is private,
/// whatever code it runs: such a thread serves pages, and the C library allocates for it, too, for example
/// when it starts.
pub(crate) fn is_shared_for(caller: usize) -> bool {
    let here = 0u8;
    started() && in_heap((&raw const here).addr()) && !is_runtime(caller)
}

/// Does this address belong to the code of the runtime or of the loader?
pub(crate) fn is_runtime(caller: usize) -> bool {
    PRIVATE_CODE
        .chunks_exact(2)
        .any(|r| (r[0].load(Ordering::Relaxed)..r[1].load(Ordering::Relaxed)).contains(&caller))
}

/// Notes code whose allocations are private.
pub(crate) fn add_runtime(code: Range<usize>) {
    let free = PRIVATE_CODE
        .chunks_exact(2)
        .find(|r| r[1].load(Ordering::Relaxed) == 0);
    if let Some(r) = free {
        r[0].store(code.start, Ordering::Relaxed);
        r[1].store(code.end, Ordering::Relaxed);
    }
}

/// Is this address in the part of any node?
pub(crate) fn in_heap(address: usize) -> bool {
    let start = START.load(Ordering::Relaxed);
    let len = NODES.load(Ordering::Relaxed) * PART;
    start != 0 && address >= start && address - start < len
}

/// Is this address in this node's part?
pub(crate) fn is_own_heap(address: usize) -> bool {
    part(ME.load(Ordering::Relaxed)).contains(&address)
}

/// Reserves a stack in this node's part, with a guard page below. The memory was never used before. `None` if
/// there is no room left.
pub(crate) fn stack(len: usize) -> Option<Range<usize>> {
    let len = len.checked_next_multiple_of(2 << 20)?;
    let start = NEXT_STACK.fetch_add(len, Ordering::Relaxed);
    let end = part(ME.load(Ordering::Relaxed)).end;
    if start + len > end {
        return None;
    }
    // SAFETY: the page is the lowest one of addresses that only this stack has.
    let guarded = unsafe { libc::syscall(libc::SYS_mprotect, start, 4096usize, libc::PROT_NONE) };
    (guarded == 0).then_some(start + 4096..start + len)
}
