//! How often what happened on each node.
//!
//! The counts lie in a mapping that all nodes share and nobody unmaps, and are atomics, for which zero is a value.

use crate::backend::Fault;
use crate::{Access, NodeId};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::io;

/// Threads of a node whose faults are counted apart. With more, those counts of some begin anew.
const THREADS: usize = 256;

/// What one thread has waited for.
#[derive(Debug, Default)]
struct Thread {
    /// The kernel's number of the thread; 0: this place is free.
    number: AtomicU32,
    faults: AtomicU64,
    waited_ns: AtomicU64,
}

/// Counts of a node's threads. Written by one thread at a time.
#[derive(Debug)]
struct Threads([Thread; THREADS]);

impl Default for Threads {
    fn default() -> Threads {
        Threads(core::array::from_fn(|_| Thread::default()))
    }
}

impl Threads {
    fn find(&self, number: u32) -> Option<&Thread> {
        let from = number as usize;
        (from..from + THREADS)
            .map(|at| &self.0[at % THREADS])
            .take_while(|t| t.number.load(Ordering::Acquire) != 0)
            .find(|t| t.number.load(Ordering::Acquire) == number)
    }

    /// The thread's place: its own, or a free one, or that of another thread, which most likely has ended.
    fn place(&self, number: u32) -> &Thread {
        if let Some(known) = self.find(number) {
            return known;
        }
        let from = number as usize;
        let mut places = (from..from + THREADS).map(|at| &self.0[at % THREADS]);
        let free = places.find(|t| t.number.load(Ordering::Relaxed) == 0);
        let place = free.unwrap_or(&self.0[from % THREADS]);
        place.faults.store(0, Ordering::Relaxed);
        place.waited_ns.store(0, Ordering::Relaxed);
        place.number.store(number, Ordering::Release);
        place
    }
}

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
    /// Copies of pages that this node was lent.
    pub lent: AtomicU64,
    /// Times that this node's threads have met those of the others: beginnings and ends of regions, and barriers.
    pub(crate) phase: AtomicU64,
    /// Times that a thread of this node has met those of others in a way that orders memory.
    pub(crate) orders: AtomicU64,
    /// Copies of pages that this node has borrowed and not given back, or a few more.
    pub(crate) loans: AtomicU64,
    threads: Threads,
}

impl Counts {
    /// A thread asks another node for a page.
    pub(crate) fn asks(&self, fault: Fault) {
        let kind = match fault.access {
            Access::Read => &self.reads,
            _ => &self.writes,
        };
        let of_thread = &self.threads.place(fault.thread).faults;
        kind.fetch_add(1, Ordering::Relaxed);
        of_thread.fetch_add(1, Ordering::Relaxed);
    }

    /// For how many pages the thread with this number of the kernel's has asked other nodes, and how many nanoseconds
    /// it has waited for them.
    pub fn of_thread(&self, number: u32) -> [u64; 2] {
        let known = self.threads.find(number);
        known.map_or([0; 2], |t| {
            [&t.faults, &t.waited_ns].map(|n| n.load(Ordering::Relaxed))
        })
    }
}

/// Faults of a node's threads that wait for pages of other nodes.
#[derive(Debug, Default)]
pub(crate) struct Waits(Vec<Wait>);

#[derive(Debug)]
struct Wait {
    page: u64,
    thread: u32,
    since: u64,
}

impl Waits {
    /// A thread waits for the page from now on.
    pub(crate) fn begin(&mut self, page: u64, thread: u32, now: u64) {
        if !(self.0.iter()).any(|w| (w.page, w.thread) == (page, thread)) {
            self.0.push(Wait {
                page,
                thread,
                since: now,
            });
        }
    }

    /// The page is there. Returns whether a thread has waited for it.
    pub(crate) fn end(&mut self, page: u64, now: u64, counts: &Counts) -> bool {
        let before = self.0.len();
        self.0.retain(|w| {
            if w.page == page {
                let ns = now.saturating_sub(w.since);
                let of_thread = &counts.threads.place(w.thread).waited_ns;
                counts.waited_ns.fetch_add(ns, Ordering::Relaxed);
                of_thread.fetch_add(ns, Ordering::Relaxed);
            }
            w.page != page
        });
        self.0.len() < before
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_counts() {
        let counts = Counts::default();
        let mut waits = Waits::default();
        let fault = |thread, access| Fault {
            address: 0,
            access,
            thread,
        };
        // Threads whose numbers fall on one place, and one that waits with another for one page.
        let [a, b] = [7, 7 + THREADS as u32];
        for (thread, page, access) in [
            (a, 1, Access::Read),
            (b, 1, Access::Write),
            (b, 2, Access::Read),
        ] {
            counts.asks(fault(thread, access));
            waits.begin(page, thread, 100);
            waits.begin(page, thread, 200);
        }
        assert!(waits.end(1, 150, &counts) && !waits.end(1, 150, &counts));
        assert!(waits.end(2, 400, &counts));
        assert_eq!(counts.of_thread(a), [1, 50]);
        assert_eq!(counts.of_thread(b), [2, 350]);
        assert_eq!(counts.of_thread(8), [0, 0]);
        let all = [&counts.reads, &counts.writes, &counts.waited_ns];
        assert_eq!(all.map(|n| n.load(Ordering::Relaxed)), [2, 1, 400]);
        // More threads than places: the last ones are counted.
        (1000..3000).for_each(|n| counts.asks(fault(n, Access::Read)));
        assert_eq!(counts.of_thread(2999), [1, 0]);
    }
}
