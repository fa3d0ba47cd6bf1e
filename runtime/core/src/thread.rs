//! Our threads in the program's process.
//!
//! Not [`std::thread`]: its `spawn` brings a hundred bytes of static thread-local storage, which is scarce for a
//! library that is opened late. All signals are blocked on our threads, because the program's handlers must not run
//! there.

use crate::float;
use core::ffi::{c_void, CStr};
use std::io;

type Body = Box<dyn FnOnce() + Send>;

/// A thread that was started. Dropping this value lets the thread go on by itself.
#[derive(Debug)]
pub struct Thread(Option<libc::pthread_t>);

// SAFETY: any thread may use a thread's id, and the `Option` is taken by `&mut` only.
unsafe impl Send for Thread {}
// SAFETY: a shared `Thread` gives nothing out: only its owner uses the id.
unsafe impl Sync for Thread {}

extern "C" fn run(body: *mut c_void) -> *mut c_void {
    // SAFETY: `start` passes a box that it gives away.
    let body: Box<Body> = unsafe { Box::from_raw(body.cast()) };
    body();
    core::ptr::null_mut()
}

/// Starts a thread named `name` (the kernel keeps 15 bytes of it).
///
/// # Errors
/// The system has no room for another thread.
pub fn start(name: &CStr, body: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
    let own = || {
        float::default_here();
        body();
    };
    begin(name, None, Box::new(own))
}

/// Like [`start`], for a thread that runs the program's code, on a stack of `stack` bytes. Faults of memory are not
/// blocked there, nor in the caller meanwhile: the C library may use a variable of the program's, whose page a handler
/// has to bring.
///
/// # Errors
/// The system has no room for another thread, or no thread can have such a stack.
pub fn start_for_program(
    name: &CStr,
    stack: usize,
    body: impl FnOnce() + Send + 'static,
) -> io::Result<Thread> {
    begin(name, Some(stack), Box::new(body))
}

fn begin(name: &CStr, stack: Option<usize>, body: Body) -> io::Result<Thread> {
    let body = Box::into_raw(Box::new(body));
    // SAFETY: the sets and the id are plain data on this stack, initialised by the calls. The body is given to the
    // thread, or taken back if there is none. The caller's signal mask is restored.
    unsafe {
        let mut all: libc::sigset_t = core::mem::zeroed();
        let mut before: libc::sigset_t = core::mem::zeroed();
        libc::sigfillset(&mut all);
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        let mut error = 0;
        if let Some(stack) = stack {
            libc::sigdelset(&mut all, libc::SIGSEGV);
            error = libc::pthread_attr_setstacksize(&mut attributes, stack);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let mut id: libc::pthread_t = core::mem::zeroed();
        if error == 0 {
            error = libc::pthread_create(&mut id, &attributes, run, body.cast());
        }
        libc::pthread_attr_destroy(&mut attributes);
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, core::ptr::null_mut());
        if error != 0 {
            drop(Box::from_raw(body));
            return Err(io::Error::from_raw_os_error(error));
        }
        // Longer names are refused. A thread without a name works as well.
        libc::pthread_setname_np(id, name.as_ptr());
        Ok(Thread(Some(id)))
    }
}

impl Thread {
    /// Waits until the thread has ended.
    pub fn join(mut self) {
        if let Some(id) = self.0.take() {
            // SAFETY: the thread is joinable: an id that is still in the `Option` was neither joined nor detached.
            unsafe { libc::pthread_join(id, core::ptr::null_mut()) };
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(id) = self.0.take() {
            // SAFETY: the thread is joinable: an id that is still in the `Option` was neither joined nor detached.
            unsafe { libc::pthread_detach(id) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::Arc;

    #[test]
    fn runs_its_body_with_signals_blocked() {
        let blocked = Arc::new(AtomicBool::new(false));
        let seen = blocked.clone();
        start(c"hetmp-test", move || {
            // SAFETY: plain data, filled by the call.
            let mask = unsafe {
                let mut mask: libc::sigset_t = core::mem::zeroed();
                libc::pthread_sigmask(libc::SIG_SETMASK, core::ptr::null(), &mut mask);
                libc::sigismember(&mask, libc::SIGUSR1)
            };
            seen.store(mask == 1, Ordering::Release);
        })
        .expect("a thread")
        .join();
        assert!(blocked.load(Ordering::Acquire));
    }
}
