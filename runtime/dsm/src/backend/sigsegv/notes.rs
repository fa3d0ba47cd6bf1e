//! The way of a fault from the thread that faulted to the one that serves it.
//!
//! It leads through memory. A pipe would be a descriptor that the program's own threads use: a program may close it,
//! and use its number.

use super::raw;
use crate::backend::Fault;
use crate::{Access, PAGE};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Faults that are noted at a time. With more, threads wait until one is taken.
const PLACES: usize = 64;
/// Bits of a thread's number: the kernel's limit (`PID_MAX_LIMIT`). A page's number has 35 where addresses have 47.
const THREAD: u32 = 22;

/// A fault as a word that is not 0.
fn packed(fault: Fault) -> usize {
    let thread = fault.thread as usize & ((1 << THREAD) - 1);
    let writes = usize::from(fault.access == Access::Write);
    (fault.address / PAGE) << (THREAD + 1) | thread << 1 | writes
}

fn unpacked(note: usize) -> Fault {
    Fault {
        address: (note >> (THREAD + 1)) * PAGE,
        access: if note & 1 == 0 {
            Access::Read
        } else {
            Access::Write
        },
        thread: (note >> 1) as u32 & ((1 << THREAD) - 1),
    }
}

/// Faults that nobody has taken yet.
///
/// # Memory ordering
/// A thread writes its note, then adds to `written`, then wakes. The taker reads `written`, then all places, then
/// sleeps only if `written` is still the same (the kernel compares). So a note that it has not found ends its sleep.
pub(super) struct Notes {
    /// [`packed`] faults; 0: none.
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
    pub(super) fn write(&self, fault: Fault) {
        let note = packed(fault);
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

    /// The next fault, with the address of its page. Waits for it. For one thread.
    pub(super) fn take(&self) -> Fault {
        loop {
            let seen = self.written.load(Ordering::SeqCst);
            let from = self.next.load(Ordering::Relaxed);
            for at in (from..from + PLACES).map(|at| at % PLACES) {
                let note = self.places[at].swap(0, Ordering::Acquire);
                if note != 0 {
                    self.next.store(at + 1, Ordering::Relaxed);
                    return unpacked(note);
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
        const THREADS: u32 = 3 * PLACES as u32;
        let of = |i: u32, address: usize| Fault {
            address,
            access: [Access::Read, Access::Write][i as usize % 2],
            thread: (1 << THREAD) - i,
        };
        let notes = Notes::new();
        let mut taken: Vec<Fault> = std::thread::scope(|s| {
            for i in 1..=THREADS {
                let notes = &notes;
                s.spawn(move || notes.write(of(i, (1 << 47) - i as usize * PAGE + i as usize)));
            }
            (0..THREADS).map(|_| notes.take()).collect()
        });
        taken.sort_unstable_by_key(|f| core::cmp::Reverse(f.address));
        let expected = (1..=THREADS).map(|i| of(i, (1 << 47) - i as usize * PAGE));
        assert_eq!(taken, expected.collect::<Vec<_>>());
    }
}
