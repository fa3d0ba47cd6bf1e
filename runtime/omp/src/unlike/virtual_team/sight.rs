//! Whether the watchdog watches a region of a team.

use hetmp_core::lock::Brief;
use hetmp_core::sync::{AtomicBool, Ordering};

/// A team's regions, of which the watchdog may see one.
///
/// # Memory ordering
/// A region ends only under the lock. So everything that the watchdog does while it holds the lock and sees
/// `on` happens inside of the region; it acquires `on`, which is released when the region has been prepared, and so
/// finds what threads that it makes are to run. `on` is sequentially consistent for the end of the watchdog: see
/// [`watch`](super::watchdog::watch).
#[derive(Debug)]
pub(super) struct Sight {
    on: AtomicBool,
    lock: Brief,
}

impl Sight {
    pub(super) fn new() -> Sight {
        Sight {
            on: AtomicBool::new(false),
            lock: Brief::new(),
        }
    }

    /// A region begins, which has been prepared.
    pub(super) fn open(&self) {
        self.on.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_open(&self) -> bool {
        self.on.load(Ordering::SeqCst)
    }

    /// The region ends.
    pub(super) fn close(&self) {
        self.lock.lock();
        self.on.store(false, Ordering::Relaxed);
        self.lock.unlock();
    }

    /// Calls `look` if there is a region, which cannot end meanwhile. Returns whether there is one.
    pub(super) fn look(&self, look: impl FnOnce()) -> bool {
        if !self.on.load(Ordering::Relaxed) {
            return false;
        }
        self.lock.lock();
        let on = self.on.load(Ordering::Acquire);
        if on {
            look();
        }
        self.lock.unlock();
        on
    }
}
