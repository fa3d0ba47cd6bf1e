//! The executing end of a queue pair.
//!
//! It points into rings that it keeps alive itself; what it shares with the initiator are atomics.

use super::{Numbers, Rings};
use crate::descriptor::{Completion, Words};
use hetmp_core::sync::Ordering;
use std::sync::Arc;

/// The executing end.
#[derive(Debug)]
pub struct Consumer {
    rings: Arc<Rings>,
    /// Those of `rings`, kept here because every step needs them.
    numbers: *const Numbers,
    taken: u64,
    done: u64,
    written: u64,
    early: u64,
}

// SAFETY: `numbers` points into `rings`, which this value holds and which may be moved to another thread.
unsafe impl Send for Consumer {}
// SAFETY: a shared consumer is only read, and what it shares with the initiator are atomics.
unsafe impl Sync for Consumer {}

impl Consumer {
    #[inline(always)]
    fn numbers(&self) -> &Numbers {
        // SAFETY: `numbers` points into memory that `rings` keeps in place as long as this value lives.
        unsafe { &*self.numbers }
    }

    pub(super) fn new(rings: Arc<Rings>) -> Consumer {
        Consumer {
            numbers: rings.numbers.as_ptr(),
            rings,
            taken: 0,
            done: 0,
            written: 0,
            early: 0,
        }
    }

    /// The ticket and words of the next descriptor, which stays in its slot.
    #[inline]
    pub fn peek(&self) -> Option<(u64, Words)> {
        if self.numbers().posted.load(Ordering::Acquire) == self.taken {
            return None;
        }
        let mask = self.rings.slots.len() as u64 - 1;
        let slot = &self.rings.slots[(self.taken & mask) as usize];
        Some((
            self.taken,
            core::array::from_fn(|i| slot.0[i].load(Ordering::Relaxed)),
        ))
    }

    /// Frees the slot of the descriptor that [`peek`](Consumer::peek) returned.
    #[inline]
    pub fn advance(&mut self) {
        self.taken += 1;
        self.numbers().taken.store(self.taken, Ordering::Release);
    }

    /// Reports that an operation is done, and writes its completion if it has one. Does not wake an initiator that
    /// sleeps; see [`Consumer::notify`].
    #[inline]
    pub fn complete(&mut self, completion: Option<Completion>) {
        if let Some(c) = completion {
            let mask = self.rings.completions.len() as u64 - 1;
            let entry = &self.rings.completions[(self.written & mask) as usize];
            for (word, value) in entry.0.iter().zip(c.encode()) {
                word.store(value, Ordering::Relaxed);
            }
            self.written += 1;
            self.numbers()
                .done
                .written
                .store(self.written, Ordering::Release);
        }
        self.done += 1;
        self.numbers()
            .done
            .operations
            .store(self.done, Ordering::Release);
    }

    /// Reports that the buffers of an operation are free although it is not done. Such an operation is later reported
    /// by [`Consumer::complete_freed`], not by [`Consumer::complete`]. Does not wake an initiator that sleeps.
    pub fn free(&mut self) {
        self.early += 1;
        self.numbers()
            .done
            .early
            .store(self.early, Ordering::Release);
    }

    /// Like [`Consumer::complete`], for an operation whose buffers were reported as [free](Consumer::free).
    pub fn complete_freed(&mut self, completion: Option<Completion>) {
        debug_assert!(self.early > 0);
        self.early -= 1;
        // Leaves `early` before it enters `done`: see "Memory ordering" of `Rings`.
        self.numbers()
            .done
            .early
            .store(self.early, Ordering::Release);
        self.complete(completion);
    }

    /// Wakes the initiator if it sleeps. Call it after [`Consumer::complete`]; not needed where the initiator itself
    /// executes.
    #[inline]
    pub fn notify(&self) {
        self.numbers().progress.nudge();
    }

    /// How many descriptors are taken and not completed.
    pub fn under_way(&self) -> u64 {
        self.taken - self.done
    }

    /// True when the initiator is dropped and everything that it announced was taken.
    pub(crate) fn is_abandoned(&self) -> bool {
        !self.rings.shared && Arc::strong_count(&self.rings) == 1 && self.peek().is_none()
    }
}
