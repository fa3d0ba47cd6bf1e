//! Which threads sleep and want to be woken when there is a task.
//!
//! A thread that is about to sleep marks the flag it sleeps on, announces itself, and looks for work a last
//! time (`park::Flag::wait_polling` keeps that order). A thread that makes work looks for announcements
//! afterwards, takes one down, and nudges its flag.
//!
//! # Memory ordering
//! 1. Announcing ends with a sequentially consistent fence, and looking begins with one. Either the sleeper's
//!    last look finds the work, or the other thread finds the announcement.
//! 2. Taking an announcement down is an exchange. It acquires the announcement, and so the mark that was made
//!    before: the nudge finds the mark, and no thread sleeps on without an announcement.

use hetmp_core::park::Flag;
use hetmp_core::sync::{fence, AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// One thread's announcement. The number of a team's announcements is kept beside, in `sleepers`, so that
/// nobody need look at every member.
#[derive(Debug)]
pub(crate) struct Sleep {
    announced: AtomicBool,
    on: AtomicPtr<Flag>,
}

impl Sleep {
    pub(crate) fn new() -> Sleep {
        Sleep {
            announced: AtomicBool::new(false),
            on: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// Announces a sleep on `flag`, which is marked already and lives as long as this object.
    pub(crate) fn announce(&self, sleepers: &AtomicU32, flag: &Flag) {
        self.on
            .store(core::ptr::from_ref(flag).cast_mut(), Ordering::Release);
        if !self.announced.swap(true, Ordering::SeqCst) {
            sleepers.fetch_add(1, Ordering::SeqCst);
        }
        fence(Ordering::SeqCst);
    }

    /// Takes the announcement down without a nudge: its thread is awake.
    pub(crate) fn withdraw(&self, sleepers: &AtomicU32) {
        if self.announced.swap(false, Ordering::SeqCst) {
            sleepers.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Is there an announcement? Called by the announcing thread.
    #[inline]
    pub(crate) fn is_announced(&self) -> bool {
        self.announced.load(Ordering::Relaxed)
    }

    /// Removes the announcement without counting. Only while nobody else looks at it.
    pub(crate) fn forget(&self) {
        self.announced.store(false, Ordering::Relaxed);
    }

    /// Takes the announcement down, if there is one, and nudges its thread. Returns whether there was one.
    pub(crate) fn nudge(&self, sleepers: &AtomicU32) -> bool {
        // The caller has made the work before this fence; the sleeper looks again after it has announced its
        // sleep.
        fence(Ordering::SeqCst);
        if self.announced.load(Ordering::SeqCst) && self.announced.swap(false, Ordering::SeqCst) {
            sleepers.fetch_sub(1, Ordering::SeqCst);
            let flag = self.on.load(Ordering::Acquire);
            if !flag.is_null() {
                // SAFETY: `announce` was given a flag that lives as long as this object.
                unsafe { (*flag).nudge() };
            }
            return true;
        }
        false
    }
}
