//! How long a rank that waits for a peer to copy a long message keeps its core.
//!
//! Where the peer has a core, a copy takes some microseconds to a millisecond, and the waiter has nothing better to do:
//! to give the core away costs a time slice where another program computes there, and to sleep costs a wake-up, which
//! takes as long as the copy of 256 KiB. Where the peer waits for this very core, keeping it is in vain.

use core::sync::atomic::{AtomicU32, Ordering};

/// Bytes that a peer copies while a waiter looks once, some 33 ns: 2 GB/s, a third of what it copies if nothing
/// disturbs it.
const BYTES_A_LOOK: u64 = 64;
/// The most looks: some 2 ms, less than a time slice.
const MOST: u64 = 1 << 16;
/// After a wait that kept the core in vain, how many do not.
const PAUSE: u32 = 8;

/// How the last such waits have ended.
///
/// # Memory ordering
/// Relaxed: the count only decides how soon a waiter gives its core away, and no other data depends on it.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    /// How many waits are not patient from now on.
    pause: AtomicU32,
}

impl Patience {
    /// How often a waiter may look while peers copy this many bytes.
    pub(crate) fn looks(&self, bytes: u64) -> u32 {
        let looks = (bytes / BYTES_A_LOOK).min(MOST) as u32;
        let pause = self.pause.load(Ordering::Relaxed);
        if looks == 0 || pause == 0 {
            return looks;
        }
        // Threads that wait at the same time may lose counts of each other.
        self.pause.store(pause - 1, Ordering::Relaxed);
        0
    }

    /// All these looks have found nothing.
    pub(crate) fn was_in_vain(&self) {
        self.pause.store(PAUSE, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiter_is_patient_while_that_helps() {
        let patience = Patience::default();
        assert_eq!(
            [8, 256 << 10, 1 << 40].map(|n| patience.looks(n)),
            [0, 4096, 1 << 16]
        );
        patience.was_in_vain();
        for _ in 0..PAUSE {
            assert_eq!((patience.looks(0), patience.looks(1 << 20)), (0, 0));
        }
        assert_eq!(patience.looks(1 << 20), 1 << 14);
    }
}
