//! Work that needs a stack of some size, on behalf of threads that may have little of it.
//!
//! The first region of a program may be opened by a thread with the least stack that the system
//! allows, 16 KiB. What the runtime does once, for all that follow, can need more than that: reading
//! the program's code, taking signals while it measures. Such work is done by a thread of ours then.

use core::mem::MaybeUninit;

/// A thread with this much room below it does the work itself.
const ROOM: usize = 64 << 10;

/// What is handed to our thread, and what it hands back.
struct Handed<W, R> {
    work: Option<W>,
    done: Option<R>,
}

/// Runs `work`: here, or on a thread of its own where the calling thread's stack is small or unknown. That
/// thread blocks all signals. If there can be no thread, `work` is run here in any case.
pub fn run<R: Send, W: FnOnce() -> R + Send>(work: W) -> R {
    if has_room() {
        return work();
    }
    let mut handed = Handed {
        work: Some(work),
        done: None,
    };
    let place = (&raw mut handed).expose_provenance();
    let thread = crate::thread::start(c"hetmp-aside", move || {
        // SAFETY: `run` keeps the place alive and untouched until it has joined this thread.
        let handed = unsafe { &mut *core::ptr::with_exposed_provenance_mut::<Handed<W, R>>(place) };
        handed.done = handed.work.take().map(|work| work());
    });
    if let Ok(thread) = thread {
        thread.join();
    }
    match handed {
        Handed {
            done: Some(done), ..
        } => done,
        Handed {
            work: Some(work), ..
        } => work(),
        Handed { .. } => unreachable!("work that was taken is done when its thread ends"),
    }
}

/// Has the calling thread [`ROOM`] on its stack?
fn has_room() -> bool {
    let here = 0u8;
    let here = (&raw const here).addr();
    // The program's first thread has a stack that grows. To ask would make the C library read a file.
    // SAFETY: both calls have no preconditions.
    if crate::sys::gettid() == unsafe { libc::getpid() } {
        return true;
    }
    // SAFETY: the attributes are initialised by the first call before the others use them; the places
    // for the results are live.
    let (low, size) = unsafe {
        let mut attr = MaybeUninit::<libc::pthread_attr_t>::uninit();
        if libc::pthread_getattr_np(libc::pthread_self(), attr.as_mut_ptr()) != 0 {
            return true;
        }
        let (mut low, mut size) = (core::ptr::null_mut(), 0);
        libc::pthread_attr_getstack(attr.as_ptr(), &mut low, &mut size);
        libc::pthread_attr_destroy(attr.as_mut_ptr());
        (low.addr(), size)
    };
    // Elsewhere than on its thread's stack: a coroutine's, of any size.
    here >= low && here - low < size && here - low >= ROOM
}

#[cfg(test)]
mod tests {
    #[test]
    fn large_stacks_are_used_and_small_ones_spared() {
        let at = |stack: usize| {
            std::thread::Builder::new()
                .stack_size(stack)
                .spawn(|| {
                    let own = std::thread::current().id();
                    super::run(|| std::thread::current().id()) == own
                })
                .expect("a thread")
                .join()
                .expect("no panic")
        };
        assert!(at(1 << 20));
        assert!(!at(32 << 10));
    }
}
