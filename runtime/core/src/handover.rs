//! Two processes of a job that the system has put on one core, though there is a core for each.
//!
//! They may stay there for long: each gives the core away as soon as it waits, so that none looks starved. After many such
//! waits in a row a process moves to another of its CPUs by itself.

use crate::topo;
use core::sync::atomic::{AtomicU32, Ordering};

/// How the waits of one process have ended lately.
///
/// # Memory ordering
/// Relaxed: counts of one process that decide how soon it moves, and nothing else.
#[derive(Debug)]
pub struct HandOvers {
    /// Waits in a row that ended when the core had been given away.
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

    /// A wait has ended while the core was kept.
    #[inline]
    pub fn kept(&self) {
        self.row.store(0, Ordering::Relaxed);
    }

    /// A wait of process `me` has ended after the core was given away, though there is one for each process. The number of
    /// waits after which it moves differs by process, so that not both move, and doubles, so that where moving does not
    /// help (the other CPUs belong to other programs) it costs nothing.
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
    // Refused in some containers: the thread stays where it is.
    if topo::set_affinity(&others).is_ok() {
        let _ = topo::set_affinity(&all);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn waits_in_a_row_move_it_ever_more_rarely() {
        // A thread of its own: the processors of others are not touched.
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
