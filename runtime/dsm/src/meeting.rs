//! The barrier of nodes that one process forked, and the blocks of loops that they take: in memory that all of them map
//! next to the program's.
//!
//! A barrier by messages wakes four threads in turn for each node: the caller's agent, the origin's thread for
//! messages, the node's, and the caller. Here the last node that comes wakes the callers themselves, and callers that
//! have cores of their own look for a while before they sleep. To take a block of a loop costs an atomic operation
//! here, where a message and its answer cost more than many a loop.

use hetmp_core::bell::Bell;
use hetmp_core::sync::{pause, AtomicU32, AtomicU64, Ordering};
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
    /// For the last loops of the region that are divided in blocks: the loop's number plus 1, and behind it, as
    /// [`BLOCKS`] bits, the blocks that are taken. 0: no loop.
    claims: [AtomicU64; CLAIMS],
}

/// Loops whose blocks are known at a time. A later loop takes the place of one that is this many earlier.
const CLAIMS: usize = 16;
/// Bits for a loop's blocks: one for each node.
pub(crate) const BLOCKS: u32 = 32;

impl Meeting {
    /// A region begins: its loops have numbers from 0 on. The message that starts the region on the other nodes comes
    /// after these stores.
    pub(crate) fn forget_claims(&self) {
        (self.claims.iter()).for_each(|c| c.store(0, Ordering::SeqCst));
    }

    /// Takes a block of the loop with this number. Returns whether nobody had taken the block before, and the blocks
    /// that are taken now, as bits. A block that no node has only looks.
    ///
    /// A node asks for a loop's blocks until all are taken, and only then goes on to the next loop. So if there is
    /// already a later loop in this loop's place, all of this loop's blocks are taken.
    ///
    /// Relaxed: a block carries no data but its number.
    pub(crate) fn claim(&self, number: u64, block: u64) -> (bool, u64) {
        let all = (1 << BLOCKS) - 1;
        let bit = if block < u64::from(BLOCKS) {
            1 << block
        } else {
            0
        };
        let place = &self.claims[number as usize % CLAIMS];
        let mut now = place.load(Ordering::Relaxed);
        loop {
            let taken = match (now >> BLOCKS).cmp(&(number + 1)) {
                core::cmp::Ordering::Less => 0,
                core::cmp::Ordering::Equal => now & all,
                core::cmp::Ordering::Greater => return (false, all),
            };
            let new = (number + 1) << BLOCKS | taken | bit;
            match place.compare_exchange_weak(now, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return (bit & !taken != 0, taken | bit),
                Err(other) => now = other,
            }
        }
    }

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
            pause();
        }
        if !over() {
            self.bell.sleep_until(&mut || over());
        }
        // This is still the barrier's word: the next barrier cannot end before this node has come to it.
        self.received.load(Ordering::Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Three nodes go through 500 loops: each takes its own block of a loop, if it is free, then those of the others.
    #[test]
    fn every_block_is_taken_once() {
        const NODES: u64 = 3;
        const LOOPS: usize = 500;
        let meeting = Meeting::default();
        for region in 0..20 {
            meeting.forget_claims();
            let had = [const { AtomicU64::new(0) }; LOOPS];
            std::thread::scope(|s| {
                for me in 0..NODES {
                    let (meeting, had) = (&meeting, &had);
                    s.spawn(move || {
                        for (number, had) in (0..).zip(had) {
                            let others = (1..NODES).map(|i| (me + i) % NODES);
                            for block in core::iter::once(me).chain(others) {
                                let (mine, taken) = meeting.claim(number, block);
                                assert_ne!(taken & 1 << block, 0);
                                // Each block counts in digits of its own.
                                had.fetch_add(u64::from(mine) << (8 * block), Ordering::Relaxed);
                            }
                            assert_eq!(meeting.claim(number, u64::MAX).1 & 7, 7);
                        }
                    });
                }
            });
            let had = had.map(|h| h.into_inner());
            assert!(had.iter().all(|&h| h == 0x01_01_01), "{region}: {had:x?}");
        }
    }

    /// A node that comes late, when a later loop has this loop's place.
    #[test]
    fn a_loop_that_others_have_left_has_no_free_block() {
        let meeting = Meeting::default();
        assert_eq!(meeting.claim(3, 0), (true, 1));
        assert_eq!(meeting.claim(3, 1), (true, 3));
        assert_eq!(meeting.claim(3, u64::MAX), (false, 3));
        assert_eq!(meeting.claim(3 + CLAIMS as u64, 0), (true, 1));
        assert!(!meeting.claim(3, 1).0);
        meeting.forget_claims();
        assert_eq!(meeting.claim(3, 1), (true, 2));
    }

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
