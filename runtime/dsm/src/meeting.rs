//! The barrier of nodes that one process forked: in memory that all of them map beside the program's.
//!
//! A barrier by messages wakes four threads in turn for each node: the caller's agent, the origin's thread for messages,
//! the node's, and the caller. Here the last node that comes wakes the callers themselves, and callers that have cores of
//! their own look for a while before they sleep.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use hetmp_core::bell::Bell;
use std::io;

/// Looks at the number of barriers before a caller sleeps, if its node has CPUs of its own: about as long as waking a
/// core takes.
const LOOKS: u32 = 1000;

/// The place where nodes meet. Zero bytes are one where nobody is.
///
/// # Memory ordering
/// Each caller adds itself to `arrived` with release after it has written `carried`, and the last one acquires: it
/// sees the word. It releases `passed` after it has written `received`, and the other callers acquire `passed`.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Meeting {
    /// Nodes that have come to this barrier.
    arrived: AtomicU32,
    /// Barriers that are over.
    passed: AtomicU32,
    /// The bitwise or of the words that nodes brought to this barrier.
    carried: AtomicU64,
    /// The word of the last barrier.
    received: AtomicU64,
    /// Callers sleep on it until `passed` grows.
    bell: Bell,
}

impl Meeting {
    /// A place in memory that processes forked later share with this one. Never unmapped.
    ///
    /// # Errors
    /// There is no memory.
    pub(crate) fn shared() -> io::Result<&'static Meeting> {
        // SAFETY: the call makes a new mapping.
        let at = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                size_of::<Meeting>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the mapping is aligned to a page, long enough, and stays; zero bytes are a `Meeting`, which is only
        // ever used through atomics.
        Ok(unsafe { &*at.cast::<Meeting>() })
    }

    /// Waits until all `nodes` nodes have called this function. Returns the bitwise or of their words. `looks`: the
    /// node has CPUs of its own. Takes no lock: the caller may run on a shared stack.
    pub(crate) fn barrier(&self, nodes: u32, word: u64, looks: bool) -> u64 {
        let before = self.passed.load(Ordering::Acquire);
        if word != 0 {
            self.carried.fetch_or(word, Ordering::Relaxed);
        }
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == nodes {
            // All other nodes wait: nobody touches these words before `passed` grows.
            self.arrived.store(0, Ordering::Relaxed);
            let carried = self.carried.swap(0, Ordering::Relaxed);
            self.received.store(carried, Ordering::Relaxed);
            self.passed.fetch_add(1, Ordering::SeqCst);
            self.bell.ring_after_swap();
            return carried;
        }
        let over = || self.passed.load(Ordering::Acquire) != before;
        for _ in 0..if looks { LOOKS } else { 0 } {
            if over() {
                break;
            }
            core::hint::spin_loop();
        }
        if !over() {
            self.bell.sleep_until(&mut || over());
        }
        // This is still the barrier's word: the next barrier cannot end before this node has come to it.
        self.received.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each round another node, or none, brings a word. A node that went on too early would see another round's.
    #[test]
    fn every_node_gets_every_word() {
        const NODES: u32 = 3;
        for looks in [false, true] {
            let meeting = Meeting::default();
            std::thread::scope(|s| {
                for me in 0..NODES {
                    let meeting = &meeting;
                    s.spawn(move || {
                        for round in 1..=2000u32 {
                            let brings = round % 4 == me;
                            let word = if brings { u64::from(round) } else { 0 };
                            let got = meeting.barrier(NODES, word, looks);
                            let expected = if round % 4 < NODES { round } else { 0 };
                            assert_eq!(got, u64::from(expected), "round {round}");
                        }
                    });
                }
            });
            assert_eq!(meeting.passed.load(Ordering::Relaxed), 2000);
        }
    }
}
