//! The way of a fault from the thread that faulted to the one that serves it.
//!
//! It leads through memory. A pipe would be a descriptor that the program's own threads use: a program may close it, and use
//! its number.

use super::raw;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use hetmp_core::segment::PAGE;

/// Faults that are noted at a time. With more, threads wait until one is taken.
const PLACES: usize = 64;

/// Faults that nobody has taken yet.
///
/// # Memory ordering
/// A thread writes its note, then adds to `written`, then wakes. The taker reads `written`, then all places, then sleeps only
/// if `written` is still the same (the kernel compares). So a note that it has not found ends its sleep.
pub(super) struct Notes {
    /// A page's address, plus 1 for a fault of writing; 0: none.
    places: [AtomicUsize; PLACES],
    /// Grows with each note.
    written: AtomicU32,
    /// The place behind the one from which the last note was taken: no place waits for ever.
    next: AtomicUsize,
}

impl Notes {
    pub(super) const fn new() -> Notes {
        Notes {
            places: [const { AtomicUsize::new(0) }; PLACES],
            written: AtomicU32::new(0),
            next: AtomicUsize::new(0),
        }
    }

    /// Notes a fault, and wakes the taker. Async-signal-safe.
    pub(super) fn write(&self, address: usize, writes: bool) {
        let note = address & !(PAGE - 1) | usize::from(writes);
        let put = |place: &AtomicUsize| {
            place
                .compare_exchange(0, note, Ordering::Release, Ordering::Relaxed)
                .is_ok()
        };
        while !self.places.iter().any(put) {
            // SAFETY: a call without arguments.
            unsafe { raw::call(libc::SYS_sched_yield, [0; 6]) };
        }
        self.written.fetch_add(1, Ordering::SeqCst);
        raw::futex_wake(&self.written);
    }

    /// The next fault: an address in its page, and whether it was one of writing. Waits for it. For one thread.
    pub(super) fn take(&self) -> (usize, bool) {
        loop {
            let seen = self.written.load(Ordering::SeqCst);
            let from = self.next.load(Ordering::Relaxed);
            for at in (from..from + PLACES).map(|at| at % PLACES) {
                let note = self.places[at].swap(0, Ordering::Acquire);
                if note != 0 {
                    self.next.store(at + 1, Ordering::Relaxed);
                    return (note & !(PAGE - 1), note % PAGE != 0);
                }
            }
            raw::futex_wait(&self.written, seen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More threads than places note a fault each.
    #[test]
    fn no_note_is_lost() {
        const THREADS: usize = 3 * PLACES;
        let notes = Notes::new();
        let mut taken: Vec<(usize, bool)> = std::thread::scope(|s| {
            for i in 1..=THREADS {
                let notes = &notes;
                s.spawn(move || notes.write(i * PAGE + i, i % 2 == 1));
            }
            (0..THREADS).map(|_| notes.take()).collect()
        });
        taken.sort_unstable();
        let expected = (1..=THREADS).map(|i| (i * PAGE, i % 2 == 1));
        assert_eq!(taken, expected.collect::<Vec<_>>());
    }
}
