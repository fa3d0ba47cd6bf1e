//! Which threads sleep and want to be woken when there is a task.
//!
//! A thread that is about to sleep marks the flag it sleeps on, announces itself, and looks for work a last
//! time (`park::Flag::wait_polling` keeps that order). A thread that makes work looks for announcements
//! afterwards, takes one down, and nudges its flag. Where the thread is woken for a task, and threads outnumber cores,
//! it is the team's [lookout](super::lookout) from then on.
//!
//! # A wake-up is a debt
//! Who leaves a ready task behind and goes to work has seen to it that a sleeper wakes which may begin the task, or
//! that a thread is awake which will look. A thread that was woken for a task, or was the lookout, is the one that
//! others rely on. So before it does anything but look (it begins a task, or its wait is over, or it may begin none of
//! the queued tasks and sleeps again), it wakes the next sleeper if there are tasks left: it
//! [*passes on*](Sleepers::wake_one) the wake-up.
//!
//! # Memory ordering
//! 1. Announcing ends with a sequentially consistent fence, and looking begins with one. Either the sleeper's
//!    last look finds the work, or the other thread finds the announcement.
//! 2. Taking an announcement down is an exchange. It acquires the announcement, and so the mark that was made
//!    before: the nudge finds the mark, and no thread sleeps on without an announcement.
//! 3. A lookout that is about to sleep stops being one before the fence of 1, so that its last look comes after that.
//! 4. A thread without an announcement need not be nudged, be it a lookout or not: it polls again before it sleeps,
//!    after the fence of 1.

use super::lookout::Lookout;
use crossbeam_utils::CachePadded;
use hetmp_core::park::Flag;
use hetmp_core::sync::{fence, AtomicPtr, AtomicU32, Ordering};

/// Awake, and nobody relies on it.
const AWAKE: u32 = 0;
/// Awake, or about to be: it was woken for a task, or is the lookout.
const LOOKING: u32 = 1;
/// Announced: it sleeps or is about to.
const ASLEEP: u32 = 2;
/// The same for a thread that waits inside of a task and may begin few others. It is woken as nobody's lookout.
const ASLEEP_INSIDE: u32 = 3;

/// Which tasks a sleeper may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// Any task of the team.
    Any,
    /// Descendants of the task at this address, in which it waits.
    DescendantsOf(*const ()),
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

    /// Wakes one of `others` for tasks that were queued before the caller passed a fence. Where threads outnumber
    /// cores, `crowd` is the region's number and the time, and nobody is woken while there is a lookout. A thread that
    /// waits inside of a task is woken if no other one can be, and only if the task `suits`: some queued task descends
    /// from it.
    #[cold]
    pub(crate) fn wake_one<'a>(
        &self,
        mut others: impl Iterator<Item = &'a Sleep> + Clone,
        crowd: Option<(u32, u32)>,
        suits: &dyn Fn(*const ()) -> bool,
    ) {
        if let Some((region, now)) = crowd {
            if self.lookout.is_there(region, now) {
                return;
            }
            if others.clone().any(Sleep::wants_any) {
                // Taken before the thread is called: one that wakes up by itself gives the part up at once.
                if !self.lookout.take(region, now) || others.clone().any(|s| s.call(self)) {
                    return;
                }
                // They all woke up meanwhile. Some may sleep again, and a task that was queued while this thread had
                // the part has woken nobody.
                self.lookout.leave();
                fence(Ordering::SeqCst);
                if self.any() {
                    others.for_each(|s| {
                        s.nudge(self);
                    });
                }
                return;
            }
        } else if others.clone().any(|s| s.call(self)) {
            return;
        }
        // One that wakes up and waits inside of another task meanwhile looks for tasks before it sleeps.
        others.any(|s| s.call_inside(self, suits));
    }
}

/// One thread's announcement.
#[derive(Debug)]
pub(crate) struct Sleep {
    state: AtomicU32,
    on: AtomicPtr<Flag>,
    /// The task of [`Wants::DescendantsOf`]: an address to compare.
    inside: AtomicPtr<()>,
}

impl Sleep {
    pub(crate) fn new() -> Sleep {
        Sleep {
            state: AtomicU32::new(AWAKE),
            on: AtomicPtr::new(core::ptr::null_mut()),
            inside: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// Announces a sleep on `flag`, which is marked already and lives as long as this object. A lookout stops being
    /// one. True if the thread was woken for a task that it may not begin: its last look will not find the task, so
    /// that it has to pass on the wake-up.
    #[must_use]
    pub(crate) fn announce(&self, all: &Sleepers, flag: &Flag, wants: Wants) -> bool {
        self.on
            .store(core::ptr::from_ref(flag).cast_mut(), Ordering::Release);
        let state = match wants {
            Wants::Any => ASLEEP,
            Wants::DescendantsOf(task) => {
                self.inside.store(task.cast_mut(), Ordering::Release);
                ASLEEP_INSIDE
            }
        };
        // Counted before it can be taken down. Else the count could be zero for a moment, while another thread sleeps.
        all.count.fetch_add(1, Ordering::SeqCst);
        let before = self.state.swap(state, Ordering::SeqCst);
        if before >= ASLEEP {
            all.count.fetch_sub(1, Ordering::SeqCst);
        }
        if before == LOOKING {
            all.lookout.leave();
        }
        fence(Ordering::SeqCst);
        before == LOOKING && state == ASLEEP_INSIDE
    }

    /// Takes the announcement down without a nudge: its thread is awake. True if makers of tasks may have relied on
    /// this thread: it has to pass on the wake-up. A lookout announces its sleep before its last look, so that an
    /// announced thread may have been one until then.
    #[must_use]
    pub(crate) fn withdraw(&self, all: &Sleepers) -> bool {
        let before = self.state.swap(AWAKE, Ordering::SeqCst);
        if before >= ASLEEP {
            all.count.fetch_sub(1, Ordering::SeqCst);
        }
        if before == LOOKING {
            all.lookout.leave();
        }
        fence(Ordering::SeqCst);
        before == LOOKING || before == ASLEEP
    }

    /// Is there an announcement, or do others rely on the thread? Called by that thread.
    #[inline(always)]
    pub(crate) fn is_marked(&self) -> bool {
        self.state.load(Ordering::Relaxed) != AWAKE
    }

    #[cfg(all(test, not(loom)))]
    pub(crate) fn is_asleep(&self) -> bool {
        self.state.load(Ordering::Relaxed) >= ASLEEP
    }

    /// The calling thread has looked for tasks and found none. It becomes the lookout, if there is none. Is it the
    /// lookout?
    pub(crate) fn look_out(&self, all: &Sleepers, region: u32, now: u32) -> bool {
        match self.state.load(Ordering::Relaxed) {
            AWAKE if all.lookout.take(region, now) => self.state.store(LOOKING, Ordering::Relaxed),
            LOOKING => all.lookout.looked(region, now),
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

    /// [`nudge`](Self::nudge) for a task, if the thread may begin any. Where threads outnumber cores it is the lookout,
    /// for which the caller has taken the part.
    fn call(&self, all: &Sleepers) -> bool {
        self.wants_any() && self.take_down(all, ASLEEP, LOOKING)
    }

    /// The same for a thread that waits inside of a task that `suits`.
    fn call_inside(&self, all: &Sleepers, suits: &dyn Fn(*const ()) -> bool) -> bool {
        self.state.load(Ordering::SeqCst) == ASLEEP_INSIDE
            && suits(self.inside.load(Ordering::Acquire))
            && self.take_down(all, ASLEEP_INSIDE, LOOKING)
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
