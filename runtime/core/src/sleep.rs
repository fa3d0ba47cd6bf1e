//! Sleeping without a fence on the other side's fast path.
//!
//! For one process: the kernel runs a barrier on its threads. Between processes there is [`crate::bell`].
//!
//! A side that finds nothing spins under the policy of [`crate::park`] and then sleeps here. The other side,
//! after each store that may end the wait, looks whether somebody sleeps. Between that store and
//! that look the processor must not reorder, and an ordinary fence for it would cost more than the whole
//! message. So the sleeper pays for both: after setting its word it has the kernel run a barrier on all
//! threads of the process (`membarrier`), and only then looks a last time.
//!
//! 1. sleeper: `word = 1`; barrier everywhere; looks; sleeps while `word` is 1.
//! 2. waker: stores what the sleeper waits for; looks at `word`; if 1, sets 0 and wakes.
//!
//! Either the waker's store was before the barrier, and the sleeper's look sees it; or the waker's look is after the
//! barrier, and sees `word`. Where the kernel has no `membarrier`, sleeps are a millisecond long.
//! In the loom model both barriers are sequentially consistent fences.

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

    /// Where the word lies, for the inline paths.
    #[cfg(not(loom))]
    pub fn address(&self) -> usize {
        self.word.as_ptr() as usize
    }

    /// Sleeps until woken, for at most `ms` milliseconds, unless `ready`. May return early.
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

    /// Wakes the sleeper if there is one. Comes after the store that it may wait for.
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
    use std::sync::OnceLock;
    pub(super) const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    pub(super) const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    pub(super) fn command(what: libc::c_int) -> bool {
        // SAFETY: membarrier reads its three integers and no memory.
        unsafe { libc::syscall(libc::SYS_membarrier, what, 0, 0) == 0 }
    }

    /// Registers the process on the first call; false where the kernel cannot.
    pub(super) fn registered() -> bool {
        static REGISTERED: OnceLock<bool> = OnceLock::new();
        *REGISTERED.get_or_init(|| command(REGISTER_PRIVATE_EXPEDITED))
    }
}

/// To be called while the process has one thread: the kernel then registers it at once. Later it waits for all
/// processors, which takes up to 20 ms.
#[cfg(not(loom))]
pub fn prepare() {
    membarrier::registered();
}

/// Runs a full barrier on every thread of this process. False where the kernel cannot.
#[cfg(not(loom))]
fn barrier_everywhere() -> bool {
    use membarrier::{command, registered, PRIVATE_EXPEDITED, REGISTER_PRIVATE_EXPEDITED};
    let registered = registered();
    // Its own side, too, where the kernel does nothing.
    fence(Ordering::SeqCst);
    // After a fork the child has to register again.
    registered
        && (command(PRIVATE_EXPEDITED)
            || command(REGISTER_PRIVATE_EXPEDITED) && command(PRIVATE_EXPEDITED))
}

#[cfg(loom)]
fn barrier_everywhere() -> bool {
    fence(Ordering::SeqCst);
    true
}
