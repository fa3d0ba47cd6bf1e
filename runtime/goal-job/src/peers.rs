//! Whether the processes of mapped peers still live.
//!
//! A process that dies writes nothing more and rings no bell, so its peers have to ask the system. [`Peers`] owns where the
//! peers' segments are mapped, and a descriptor of each process that it has asked about: once open, the descriptor cannot
//! come to mean another process with the same number.

use crate::link;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// What [`Peers::check`] has found out about a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// The process runs, or has not said yet which process it is.
    Alive,
    /// The process has ended, and this cannot change any more.
    Dead,
    /// The peer's segment is not mapped here: only an engine can find out.
    Unknown,
}

/// The processes of all ranks, as far as their segments are mapped here.
#[derive(Debug)]
pub(crate) struct Peers {
    /// By rank: where its segment is mapped; null for ranks of other machines.
    bases: Box<[*mut u8]>,
    /// By rank: whether its process was found to have died.
    died: Box<[AtomicBool]>,
    /// Rank and open process descriptor of each peer that was asked about.
    watched: Mutex<Vec<(u32, i32)>>,
}

// SAFETY: `bases` never changes, and its segments stay mapped as long as the process. All that is accessed through them is
// the word that `link::process` loads as an atomic.
unsafe impl Send for Peers {}
// SAFETY: threads share `died` as atomics, `watched` behind its mutex, and `bases` for atomic loads of `link::process`.
unsafe impl Sync for Peers {}

impl Peers {
    /// No peer was asked about.
    ///
    /// # Safety
    /// Each of `bases` is null, or the start of a [`link::Layout`] that stays mapped as long as the process.
    pub(crate) unsafe fn new(bases: Box<[*mut u8]>) -> Peers {
        Peers {
            died: bases.iter().map(|_| AtomicBool::new(false)).collect(),
            bases,
            watched: Mutex::new(Vec::new()),
        }
    }

    /// Whether [`Peers::check`] has found the peer's process dead. Asks nobody.
    pub(crate) fn has_died(&self, peer: u32) -> bool {
        self.died[peer as usize].load(Ordering::Relaxed)
    }

    /// Asks the system about a peer's process.
    pub(crate) fn check(&self, peer: u32) -> Health {
        let base = self.bases[peer as usize];
        if base.is_null() {
            return Health::Unknown;
        }
        // SAFETY: who called `Peers::new` has promised that `base` is the start of a `Layout` that stays mapped.
        let pid = unsafe { link::process(base) };
        if pid == 0 || !self.has_ended(peer, pid) {
            return Health::Alive;
        }
        self.died[peer as usize].store(true, Ordering::Relaxed);
        Health::Dead
    }

    fn has_ended(&self, peer: u32, pid: u32) -> bool {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let fd = match watched.iter().find(|(p, _)| *p == peer) {
            Some((_, fd)) => *fd,
            None => {
                // SAFETY: a system call that takes numbers.
                let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as i32;
                if fd < 0 {
                    // Any other error says nothing about the process (no more descriptors, an old kernel).
                    let error = std::io::Error::last_os_error();
                    return error.raw_os_error() == Some(libc::ESRCH);
                }
                watched.push((peer, fd));
                fd
            }
        };
        let mut poll = libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: `poll` is one live structure, and the call is told of one. A process's descriptor becomes readable when
        // the process ends.
        unsafe { libc::poll(&raw mut poll, 1, 0) == 1 }
    }
}
