//! An entry of a board: words under a stamp, which anybody may read while somebody writes.

use hetmp_core::sync::{fence, AtomicU64, Ordering};

/// The stamp of an entry that is being written.
const BUSY: u64 = u64::MAX;

/// The stamp, and the words behind it.
///
/// # Memory ordering
/// A writer takes the entry by its stamp, passes a release fence, writes the words, and releases the entry with the new
/// stamp. A reader acquires the stamp, reads the words, passes an acquire fence, and looks whether the stamp is the
/// same. The two fences meet: a reader that has read a word of the new report finds that the old stamp is gone.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a>(pub(crate) &'a [AtomicU64]);

impl Entry<'_> {
    pub(crate) fn stamp(&self) -> &AtomicU64 {
        &self.0[0]
    }

    /// Takes the entry to write it, whatever it holds; false if somebody else writes it.
    pub(crate) fn take(&self) -> bool {
        self.stamp().swap(BUSY, Ordering::Acquire) != BUSY
    }

    /// Takes the entry to write it, if it is free.
    pub(crate) fn take_free(&self) -> bool {
        self.stamp()
            .compare_exchange(0, BUSY, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Writes an entry that the caller has taken.
    pub(crate) fn write(&self, words: &[u64], stamp: u64) {
        fence(Ordering::Release);
        for (to, w) in self.0[1..].iter().zip(words) {
            to.store(*w, Ordering::Relaxed);
        }
        self.stamp().store(stamp, Ordering::Release);
    }

    /// The stamp and the words of an entry that is neither free nor being written.
    pub(crate) fn read<const N: usize>(&self) -> Option<(u64, [u64; N])> {
        let stamp = self.stamp().load(Ordering::Acquire);
        if stamp == 0 || stamp == BUSY {
            return None;
        }
        let words = core::array::from_fn(|i| self.0[i + 1].load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        (self.stamp().load(Ordering::Relaxed) == stamp).then_some((stamp, words))
    }
}
