//! Sleeping without a fence on the other side's fast path.
//!
//! A side that finds nothing spins under the policy of [`hetmp_core::park`] and then sleeps here. The other side,
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
use hetmp_core::sync::Futex;
use hetmp_core::sync::{fence, AtomicU32, Ordering};

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
        futex_wait(&self.word, if everywhere { ms } else { 1 });
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
        hetmp_core::sys::futex_wake(self.word.as_ptr(), i32::MAX);
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

/// To be called before there are slaves: in a process of one thread the kernel registers it at once, later it waits
/// for all processors, which takes up to 20 ms.
#[cfg(not(loom))]
pub(crate) fn prepare() {
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

/// Sleeps while the word is 1, for at most `ms` milliseconds.
#[cfg(not(loom))]
fn futex_wait(word: &AtomicU32, ms: u32) {
    let time = libc::timespec {
        tv_sec: libc::time_t::from(ms / 1000),
        tv_nsec: libc::c_long::from(ms % 1000) * 1_000_000,
    };
    let saved = hetmp_core::sys::errno();
    // SAFETY: the word and the time are live; the program's errno is put back.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            1,
            &time,
        );
        *libc::__errno_location() = saved;
    }
}
