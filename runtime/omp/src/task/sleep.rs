//! Which threads sleep and want to be woken when there is a task.
//!
//! A thread that is about to sleep marks the flag it sleeps on, announces itself, and looks for work a last
//! time (`park::Flag::wait_polling` keeps that order). A thread that makes work looks for announcements
//! afterwards, takes one down, and nudges its flag. Where the thread is woken for a task, and threads outnumber cores, it
//! is the team's [lookout](super::lookout) from then on.
//!
//! # Memory ordering
//! 1. Announcing ends with a sequentially consistent fence, and looking begins with one. Either the sleeper's
//!    last look finds the work, or the other thread finds the announcement.
//! 2. Taking an announcement down is an exchange. It acquires the announcement, and so the mark that was made
//!    before: the nudge finds the mark, and no thread sleeps on without an announcement.
//! 3. A lookout that is about to sleep stops being one before the fence of 1, so that its last look comes after that.
//! 4. A thread without an announcement need not be nudged, be it a lookout or not: it polls again before it sleeps, after
//!    the fence of 1.

use super::lookout::Lookout;
use crossbeam_utils::CachePadded;
use hetmp_core::park::Flag;
use hetmp_core::sync::{fence, AtomicPtr, AtomicU32, Ordering};

/// Awake, and no lookout.
const AWAKE: u32 = 0;
/// Awake, or about to be: a lookout.
const LOOKOUT: u32 = 1;
/// Announced: it sleeps or is about to.
const ASLEEP: u32 = 2;
/// The same for a thread that may begin few tasks: it waits inside of a task. It is woken as nobody's lookout.
const ASLEEP_INSIDE: u32 = 3;

/// Which tasks a sleeper may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// Any task of the team.
    Any,
    /// Descendants of the task in which it waits.
    Descendants,
}

/// What a team knows of all its sleepers.
#[derive(Debug)]
pub(crate) struct Sleepers {
    /// The number of announcements, so that nobody need look at every member.
    count: CachePadded<AtomicU32>,
    pub(crate) lookout: CachePadded<Lookout>,
}

impl Sleepers {
    pub(crate) fn new() -> Sleepers {
        Sleepers {
            count: CachePadded::new(AtomicU32::new(0)),
            lookout: CachePadded::new(Lookout::new()),
        }
    }

    /// Is any thread announced? Who has made work passes a fence before this look.
    #[inline(always)]
    pub(crate) fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) != 0
    }

    /// Forgets all announcements. Only while nobody else looks at them.
    pub(crate) fn forget(&self) {
        self.count.store(0, Ordering::Relaxed);
    }
}

/// One thread's announcement.
#[derive(Debug)]
pub(crate) struct Sleep {
    state: AtomicU32,
    on: AtomicPtr<Flag>,
}

impl Sleep {
    pub(crate) fn new() -> Sleep {
        Sleep {
            state: AtomicU32::new(AWAKE),
            on: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// Announces a sleep on `flag`, which is marked already and lives as long as this object. A lookout stops being one.
    pub(crate) fn announce(&self, all: &Sleepers, flag: &Flag, wants: Wants) {
        self.on
            .store(core::ptr::from_ref(flag).cast_mut(), Ordering::Release);
        let state = match wants {
            Wants::Any => ASLEEP,
            Wants::Descendants => ASLEEP_INSIDE,
        };
        // Counted before it can be taken down. Else the count could be zero for a moment, while another thread sleeps.
        all.count.fetch_add(1, Ordering::SeqCst);
        let before = self.state.swap(state, Ordering::SeqCst);
        if before >= ASLEEP {
            all.count.fetch_sub(1, Ordering::SeqCst);
        }
        if before == LOOKOUT {
            all.lookout.leave();
        }
        fence(Ordering::SeqCst);
    }

    /// Takes the announcement down without a nudge: its thread is awake. True if makers of tasks may have trusted that this
    /// thread looks for any task: it has to look for more tasks, and to wake the next thread if there are any. A lookout
    /// announces its sleep before its last look, so that an announced thread may have been one until then.
    #[must_use]
    pub(crate) fn withdraw(&self, all: &Sleepers) -> bool {
        let before = self.state.swap(AWAKE, Ordering::SeqCst);
        if before >= ASLEEP {
            all.count.fetch_sub(1, Ordering::SeqCst);
        }
        if before == LOOKOUT {
            all.lookout.leave();
        }
        fence(Ordering::SeqCst);
        before == LOOKOUT || before == ASLEEP
    }

    /// Is there an announcement, or is the thread a lookout? Called by that thread.
    #[inline(always)]
    pub(crate) fn is_marked(&self) -> bool {
        self.state.load(Ordering::Relaxed) != AWAKE
    }

    /// The calling thread has looked for tasks and found none. It becomes the lookout, if there is none. Is it the lookout?
    pub(crate) fn look_out(&self, all: &Sleepers, region: u32, now: u32) -> bool {
        match self.state.load(Ordering::Relaxed) {
            AWAKE if all.lookout.take(region, now) => self.state.store(LOOKOUT, Ordering::Relaxed),
            LOOKOUT => all.lookout.looked(region, now),
            // Another one is the lookout, or this thread has announced its sleep.
            _ => return false,
        }
        true
    }

    /// Removes the announcement without counting. Only while nobody else looks at it.
    pub(crate) fn forget(&self) {
        self.state.store(AWAKE, Ordering::Relaxed);
    }

    /// Takes the announcement down, if there is one, and nudges its thread. Returns whether there was one.
    pub(crate) fn nudge(&self, all: &Sleepers) -> bool {
        // The caller has made the work before this fence; the sleeper looks again after it has announced its
        // sleep.
        fence(Ordering::SeqCst);
        let state = self.state.load(Ordering::SeqCst);
        state >= ASLEEP && self.take_down(all, state, AWAKE)
    }

    /// Is a thread announced that may begin any task?
    pub(crate) fn wants_any(&self) -> bool {
        self.state.load(Ordering::SeqCst) == ASLEEP
    }

    /// [`nudge`](Self::nudge) for a thread that may begin any task: it is the lookout, for which the caller has taken the
    /// part.
    pub(crate) fn call(&self, all: &Sleepers) -> bool {
        self.take_down(all, ASLEEP, LOOKOUT)
    }

    fn take_down(&self, all: &Sleepers, before: u32, after: u32) -> bool {
        if self
            .state
            .compare_exchange(before, after, Ordering::SeqCst, Ordering::Relaxed)
            .is_err()
        {
            return false;
        }
        all.count.fetch_sub(1, Ordering::SeqCst);
        let flag = self.on.load(Ordering::Acquire);
        if !flag.is_null() {
            // SAFETY: `announce` was given a flag that lives as long as this object.
            unsafe { (*flag).nudge() };
        }
        true
    }
}
