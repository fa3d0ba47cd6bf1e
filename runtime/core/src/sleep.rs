//! Sleeping without a fence on the waker's fast path.
//!
//! For threads of one process; between processes there is [`crate::bell`].
//!
//! The sleeper has found nothing, has spun as [`crate::park`] says, and sleeps here. The waker, after each store that
//! may end the wait, looks whether somebody sleeps. The processor must not reorder that store and that look. An
//! ordinary fence between them would cost the waker more than the whole message. So the sleeper pays for both sides:
//! after setting its word it has the kernel run a barrier on all threads of the process (`membarrier`), and only then
//! looks a last time.
//!
//! 1. sleeper: `word = 1`; barrier everywhere; looks; sleeps while `word` is 1.
//! 2. waker: stores what the sleeper waits for; looks at `word`; if 1, sets 0 and wakes.
//!
//! Either the waker's store came before the barrier, and the sleeper's last look sees it; or the waker's look comes
//! after the barrier, and sees `word`. Where the kernel has no `membarrier`, a sleep lasts a millisecond at most. In
//! the loom model both barriers are sequentially consistent fences.

#[cfg(loom)]
use crate::sync::Futex;
use crate::sync::{fence, AtomicU32, Ordering};

/// A word that one thread sleeps on.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Sleep {
    word: AtomicU32,
    #[cfg(loom)]
    kernel: Futex,
}

impl Sleep {
    /// Nobody sleeps.
    #[must_use]
    pub fn new() -> Sleep {
        Sleep::default()
    }

    /// The word's address, for the paths that C headers inline.
    #[cfg(not(loom))]
    pub fn address(&self) -> usize {
        self.word.as_ptr() as usize
    }

    /// Sleeps until woken, but `ms` milliseconds at most, and not at all if `ready` says true. May return early.
    pub fn sleep(&self, ready: &mut dyn FnMut() -> bool, ms: u32) {
        self.word.store(1, Ordering::Relaxed);
        let everywhere = barrier_everywhere();
        if ready() {
            self.word.store(0, Ordering::Relaxed);
            return;
        }
        #[cfg(not(loom))]
        crate::sys::futex_wait_for(
            &self.word,
            1,
            u64::from(if everywhere { ms } else { 1 }) * 1_000_000,
        );
        #[cfg(loom)]
        {
            let _ = (ms, everywhere);
            self.kernel.wait(&self.word, 1);
        }
        self.word.store(0, Ordering::Relaxed);
    }

    /// Wakes the sleeper if there is one. Call it after the store that the sleeper may wait for.
    #[inline(always)]
    pub fn notify(&self) {
        #[cfg(not(loom))]
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
        #[cfg(loom)]
        fence(Ordering::SeqCst);
        if self.word.load(Ordering::Relaxed) != 0 {
            self.wake();
        }
    }

    /// Wakes the sleeper.
    #[cold]
    pub fn wake(&self) {
        self.word.store(0, Ordering::Relaxed);
        #[cfg(not(loom))]
        crate::sys::futex_wake(self.word.as_ptr(), i32::MAX);
        #[cfg(loom)]
        self.kernel.wake_all();
    }
}

#[cfg(not(loom))]
mod membarrier {
    use once_cell::race::OnceBool;
    pub(super) const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    pub(super) const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    pub(super) fn command(what: libc::c_int) -> bool {
        // SAFETY: membarrier reads its three integers and no memory.
        unsafe { libc::syscall(libc::SYS_membarrier, what, 0, 0) == 0 }
    }

    /// Registers the process on the first call; false where the kernel cannot.
    pub(super) fn registered() -> bool {
        static REGISTERED: OnceBool = OnceBool::new();
        REGISTERED.get_or_init(|| command(REGISTER_PRIVATE_EXPEDITED))
    }
}

/// Registers the process for `membarrier`. Call it while the process has one thread: the kernel then registers it at
/// once. Later the kernel waits for all processors, which takes up to 20 ms.
#[cfg(not(loom))]
pub fn prepare() {
    membarrier::registered();
}

/// Runs a full barrier on every thread of this process. False if the kernel cannot.
#[cfg(not(loom))]
fn barrier_everywhere() -> bool {
    use membarrier::{command, registered, PRIVATE_EXPEDITED, REGISTER_PRIVATE_EXPEDITED};
    let registered = registered();
    // A fence of this thread's own, which is needed where the kernel has no barrier.
    fence(Ordering::SeqCst);
    // After a fork the child is not registered yet.
    registered
        && (command(PRIVATE_EXPEDITED)
            || command(REGISTER_PRIVATE_EXPEDITED) && command(PRIVATE_EXPEDITED))
}

#[cfg(loom)]
fn barrier_everywhere() -> bool {
    fence(Ordering::SeqCst);
    true
}
