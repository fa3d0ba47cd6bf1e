//! Whether the processes of mapped peers still live.
//!
//! A process that dies writes nothing more and rings no bell, so its peers have to ask the system. [`Peers`] owns where
//! the peers' segments are mapped, and when each process began that it has asked about: another process that gets the
//! same number began later. It keeps no descriptor, since a program may close what it did not open, and take the
//! number.

use crate::link;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hetmp_core::file;
use std::io::Error;
use std::path::Path;

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
    /// By rank: when its process began, as its [`Life`] says; 0 for one that was not asked about.
    began: Box<[AtomicU64]>,
}

// SAFETY: `bases` never changes, and its segments stay mapped as long as the process. All that is accessed through them
// is the word that `link::process` loads as an atomic.
unsafe impl Send for Peers {}
// SAFETY: threads share `died` and `began` as atomics, and `bases` for atomic loads of `link::process`.
unsafe impl Sync for Peers {}

impl Peers {
    /// No peer was asked about.
    ///
    /// # Safety
    /// Each of `bases` is null, or the start of a [`link::Layout`] that stays mapped as long as the process.
    pub(crate) unsafe fn new(bases: Box<[*mut u8]>) -> Peers {
        Peers {
            died: bases.iter().map(|_| AtomicBool::new(false)).collect(),
            began: bases.iter().map(|_| AtomicU64::new(0)).collect(),
            bases,
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

    /// False unless it is certain: the system may have no descriptor left to look with.
    fn has_ended(&self, peer: u32, pid: u32) -> bool {
        // SAFETY: signal 0 is sent to nobody.
        let found = unsafe { libc::kill(pid as libc::pid_t, 0) } == 0;
        if !found && Error::last_os_error().raw_os_error() == Some(libc::ESRCH) {
            return true;
        }
        let stat = file::bytes(Path::new(&format!("/proc/{pid}/stat")), 4096).unwrap_or_default();
        let Some(life) = Life::read(&String::from_utf8_lossy(&stat)) else {
            return false;
        };
        let order = Ordering::Relaxed;
        let known = self.began[peer as usize].compare_exchange(0, life.began, order, order);
        life.over || known.is_err_and(|began| began != life.began)
    }
}

/// What the system says about a process, dead or alive.
#[derive(Debug, PartialEq, Eq)]
struct Life {
    /// It has ended, and its parent has not asked for its status yet.
    over: bool,
    /// When it began, in the system's unit.
    began: u64,
}

impl Life {
    /// From the text of `/proc/PID/stat`. `None` for any other text.
    fn read(stat: &str) -> Option<Life> {
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?;
        let threads: u64 = fields.nth(16)?.parse().ok()?;
        let began = fields.nth(1)?.parse().ok()?;
        // The state is that of the first thread, which may end before the others.
        let over = matches!(state, "Z" | "X") && threads <= 1;
        Some(Life { over, began })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pid: u32) -> Option<Life> {
        Life::read(&std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process"))
    }

    #[test]
    fn a_process_lives_until_it_has_ended() {
        let peers = Peers {
            bases: Box::default(),
            died: Box::default(),
            began: [0, 0].map(AtomicU64::new).into(),
        };
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("a process");
        let pid = child.id();
        assert!(!peers.has_ended(0, pid) && !peers.has_ended(0, pid));
        assert_eq!(of(pid).map(|life| life.over), Some(false));
        // Another process that has the number now. (The unit may be too coarse to tell the two apart.)
        assert!(peers.has_ended(0, std::process::id()) || of(pid) == of(std::process::id()));
        drop(child.stdin.take());
        // Waits, and leaves the status to be asked for.
        // SAFETY: a live structure, which the call fills.
        let ended = unsafe {
            let mut info = core::mem::zeroed();
            libc::waitid(
                libc::P_PID,
                pid,
                &raw mut info,
                libc::WEXITED | libc::WNOWAIT,
            )
        };
        assert_eq!(ended, 0);
        assert_eq!(of(pid).map(|life| life.over), Some(true));
        assert!(peers.has_ended(0, pid) && peers.has_ended(1, pid));
        child.wait().expect("its status");
        assert!(peers.has_ended(1, pid));
    }

    #[test]
    fn a_first_thread_may_end_before_the_others_and_other_files_say_nothing() {
        let line = |state: &str, threads: u32| {
            format!("7 (a) b) {state} 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 {threads} 0 1234 5 6 7")
        };
        let life = |over| Some(Life { over, began: 1234 });
        assert_eq!(Life::read(&line("S", 1)), life(false));
        assert_eq!(Life::read(&line("Z", 2)), life(false));
        assert_eq!(Life::read(&line("Z", 1)), life(true));
        for other in [
            "",
            "bytes",
            "7 (a) Z 1 7",
            &line("Z", 1).replace("1234", "-"),
        ] {
            assert_eq!(Life::read(other), None, "{other}");
        }
    }
}
