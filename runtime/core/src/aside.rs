//! Work that needs more stack than the calling thread may have.
//!
//! A program may open its first region on a thread with the least stack that the system allows, 16 KiB. At that
//! region the runtime does work that is done once for the whole program and needs more: it reads the program's code,
//! and takes signals while it measures. If the caller's stack is too small, [`run`] starts a thread for such work and
//! waits for it.

use core::mem::MaybeUninit;

/// A thread with at least this much free stack does the work itself, bytes.
const ROOM: usize = 64 << 10;

/// The work on its way to the other thread, and its result on the way back.
struct Handed<W, R> {
    work: Option<W>,
    done: Option<R>,
}

/// Runs `work` and returns its result. If the calling thread's stack is small or unknown, `work` runs on a new
/// thread, which blocks all signals. If no thread can be started, `work` runs here all the same.
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

/// True if the calling thread has [`ROOM`] left on its stack.
fn has_room() -> bool {
    let here = 0u8;
    let here = (&raw const here).addr();
    // The program's first thread has a stack that grows. The C library would read a file to tell how far.
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
    // False where this code runs on another stack than the thread's own: a coroutine's, whose size nobody knows.
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
