//! Whose turn it is to work on the wires, who has rung meanwhile, and who sleeps: the order of memory of
//! [`super::drive`], without wires or sockets, so that a model runs this code.
//!
//! # Memory ordering
//! * A doorbell first counts in `bells`, then tries `driving`, then looks who is asleep. The driving thread reads
//!   `bells` before it takes what was posted, and compares the count again after it has let go of `driving`, and
//!   after it has marked itself asleep. Sequentially consistent fences lie between these steps on both sides. So a
//!   doorbell finds the wires free, or is seen by the thread that had them, or finds a sleeper to wake.
//! * An initiator raises `sessions`, then takes and changes the wires, and in `let_go` looks whether the thread is
//!   asleep. The thread marks itself asleep, then compares `sessions`. The same fences lie between. So the thread does
//!   not sleep over a `watch` that an initiator has overtaken without being woken.
//! * `driving` (acquire, release) passes the wires from one thread to the next.

use crossbeam_utils::CachePadded;
use hetmp_core::lock::Lock;
use hetmp_core::sync::{fence, AtomicBool, AtomicU64, Ordering};

/// Who may sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// The engine's thread, which has let go of the wires.
    Thread,
    /// The initiator that sleeps while it holds the wires.
    Leader,
}

/// What is left to do after the wires were let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// Somebody has rung, and the caller has the wires again.
    Again,
    /// The thread sleeps, and does not watch for what is needed now: it is to be woken.
    Wake,
    Nothing,
}

pub(super) struct Turns {
    /// Who holds this has the wires.
    driving: CachePadded<Lock>,
    bells: CachePadded<AtomicU64>,
    /// Raised whenever an initiator begins to drive.
    sessions: CachePadded<AtomicU64>,
    thread_sleeps: AtomicBool,
    leader_sleeps: AtomicBool,
}

impl Turns {
    pub(super) fn new() -> Turns {
        Turns {
            driving: CachePadded::new(Lock::new()),
            bells: CachePadded::new(AtomicU64::new(0)),
            sessions: CachePadded::new(AtomicU64::new(0)),
            thread_sleeps: AtomicBool::new(false),
            leader_sleeps: AtomicBool::new(false),
        }
    }

    fn sleeps(&self, who: Who) -> &AtomicBool {
        match who {
            Who::Thread => &self.thread_sleeps,
            Who::Leader => &self.leader_sleeps,
        }
    }

    /// Takes the wires if nobody has them.
    #[inline]
    pub(super) fn take(&self) -> bool {
        self.driving.try_lock()
    }

    /// Takes the wires for an initiator that is about to wait, if nobody has them.
    pub(super) fn begin_session(&self) -> bool {
        self.sessions.fetch_add(1, Ordering::Relaxed);
        self.take()
    }

    pub(super) fn sessions(&self) -> u64 {
        self.sessions.load(Ordering::Relaxed)
    }

    pub(super) fn are_taken(&self) -> bool {
        self.driving.is_held()
    }

    /// Takes the wires for good.
    pub(super) fn keep(&self) {
        self.driving.lock();
    }

    /// The rings so far. Read before what was posted is taken.
    pub(super) fn rings(&self) -> u64 {
        self.bells.load(Ordering::Acquire)
    }

    /// Something was posted. The caller then takes the wires, or wakes a [`sleeper`](Self::sleeper).
    #[inline]
    pub(super) fn ring(&self) {
        self.bells.fetch_add(1, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// Who sleeps, and is to be woken after a ring.
    #[inline]
    pub(super) fn sleeper(&self) -> Option<Who> {
        // A leader holds the wires while it sleeps: only the leader can see to them.
        [Who::Leader, Who::Thread]
            .into_iter()
            .find(|who| self.sleeps(*who).load(Ordering::Relaxed))
    }

    /// Lets go of the wires. If somebody has rung since there were `seen` rings and the wires are still free, takes
    /// them again. `care`: somebody must look again even if nothing arrives and nothing is posted.
    pub(super) fn let_go(&self, seen: u64, care: bool) -> Left {
        self.driving.unlock();
        fence(Ordering::SeqCst);
        if self.bells.load(Ordering::Relaxed) != seen {
            return match self.take() {
                true => Left::Again,
                false => Left::Nothing,
            };
        }
        match care && self.thread_sleeps.load(Ordering::Relaxed) {
            true => Left::Wake,
            false => Left::Nothing,
        }
    }

    /// Marks the caller asleep. True if it may sleep: nobody has rung since there were `seen` rings, and no initiator
    /// has had the wires since there were `sessions`.
    pub(super) fn lie_down(&self, who: Who, seen: u64, sessions: Option<u64>) -> bool {
        self.sleeps(who).store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.rings() == seen && sessions.is_none_or(|then| self.sessions() == then)
    }

    pub(super) fn get_up(&self, who: Who) {
        self.sleeps(who).store(false, Ordering::Relaxed);
    }
}
