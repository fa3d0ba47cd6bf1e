//! Two processes of a job on one core, although there is a core for each.
//!
//! The scheduler may leave them there for long: each process gives the core away whenever it waits, so that none of
//! them looks starved. A process therefore counts such waits, and after many in a row moves itself to another of its
//! CPUs.

use crate::topo;
use core::sync::atomic::{AtomicU32, Ordering};

/// How the waits of one process have ended lately.
///
/// # Memory ordering
/// Relaxed: the counts only decide how soon the process moves, and no other data depends on them.
#[derive(Debug)]
pub struct HandOvers {
    /// Waits in a row that ended after the core had been given away.
    row: AtomicU32,
    /// Moves so far.
    moves: AtomicU32,
}

impl HandOvers {
    /// No wait so far.
    #[allow(
        clippy::new_without_default,
        reason = "a state of one process, made once"
    )]
    pub const fn new() -> HandOvers {
        HandOvers {
            row: AtomicU32::new(0),
            moves: AtomicU32::new(0),
        }
    }

    /// A wait has ended without giving the core away.
    #[inline]
    pub fn kept(&self) {
        self.row.store(0, Ordering::Relaxed);
    }

    /// A wait of process number `me` has ended after the core was given away. Only for jobs that have a core for each
    /// process. The number of waits before a move differs between processes, so that two on one core do not both
    /// move. It doubles with each move, up to 1024 times: where the other CPUs belong to other programs, moving does
    /// not help and soon costs next to nothing.
    pub fn gave(&self, me: u32) {
        let after = (64 * (1 + me % 16)) << self.moves.load(Ordering::Relaxed).min(10);
        if self.row.fetch_add(1, Ordering::Relaxed) + 1 >= after {
            self.row.store(0, Ordering::Relaxed);
            self.moves.fetch_add(1, Ordering::Relaxed);
            leave_core();
        }
    }
}

#[cold]
#[inline(never)]
fn leave_core() {
    let all = topo::affinity();
    // SAFETY: no preconditions.
    let here = unsafe { libc::sched_getcpu() };
    let mut others = all.clone();
    if let Ok(here) = usize::try_from(here) {
        others.remove(here);
    }
    if others.is_empty() {
        return;
    }
    // Some containers refuse this; the thread then stays where it is.
    if topo::set_affinity(&others).is_ok() {
        let _ = topo::set_affinity(&all);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn waits_in_a_row_move_it_ever_more_rarely() {
        // Runs in a thread of its own, so that other tests keep their CPUs.
        std::thread::spawn(|| {
            let before = topo::affinity();
            let h = HandOvers::new();
            let moves = || h.moves.load(Ordering::Relaxed);
            for _ in 0..63 {
                h.gave(0);
            }
            h.kept();
            h.gave(0);
            assert_eq!(moves(), 0);
            for _ in 0..63 {
                h.gave(0);
            }
            assert_eq!(moves(), 1);
            for _ in 0..127 {
                h.gave(0);
            }
            assert_eq!(moves(), 1);
            h.gave(0);
            assert_eq!(moves(), 2);
            assert_eq!(topo::affinity().words(), before.words(), "it may go back");
        })
        .join()
        .expect("no panic");
    }
}
