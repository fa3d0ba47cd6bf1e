//! How often what happened on each node.

use crate::NodeId;
use core::sync::atomic::AtomicU64;
use std::io;

/// Numbers of events on a node so far.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Counts {
    /// Faults that asked another node for a page to read.
    pub reads: AtomicU64,
    /// Faults that asked another node for a page to write, or for the right to write.
    pub writes: AtomicU64,
    /// Faults on pages that this node already had the right to: first touches, and further threads on one
    /// page.
    pub local: AtomicU64,
    /// Pages sent to other nodes.
    pub sent: AtomicU64,
    /// Pages taken away.
    pub lost: AtomicU64,
    /// Pages of this node's own that its threads may use since a first touch.
    pub touched: AtomicU64,
    /// Nanoseconds from the arrival of a fault that asked another node to its page's, summed over faults.
    pub waited_ns: AtomicU64,
    /// Pages that came along with others, before a thread wanted them.
    pub along: AtomicU64,
    /// Times that this node's threads have met those of the others: beginnings and ends of regions, and barriers.
    pub(crate) phase: AtomicU64,
}

/// The counts of `nodes` nodes, in memory that processes forked later share with this one. Never unmapped.
///
/// # Errors
/// There is no memory.
pub(crate) fn shared(nodes: NodeId) -> io::Result<&'static [Counts]> {
    let len = usize::from(nodes);
    // SAFETY: the call makes a new mapping.
    let at = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            len * size_of::<Counts>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping is as long as the slice and stays; zero bytes are valid counts, which are only ever
    // used as atomics.
    Ok(unsafe { core::slice::from_raw_parts(at.cast::<Counts>(), len) })
}
