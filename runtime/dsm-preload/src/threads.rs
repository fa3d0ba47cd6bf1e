//! `pthread_create` and `thrd_create`: threads of the program and of the runtime get stacks in shared memory, in the
//! part of their node. Their thread-local storage lies there, too. So the address of a variable on a stack, or of one
//! thread's copy of a threadprivate variable, means the same in every node.

use crate::malloc::with_caller;
use crate::{kernel, place, stacks};
use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};
use libc::{c_int, pthread_attr_t, pthread_t};

with_caller! {
    "pthread_create" 4 create;
    "thrd_create" 3 create_c11;
}

extern "C" {
    fn pthread_attr_getdetachstate(attributes: *const pthread_attr_t, state: *mut c_int) -> c_int;
}

type Body = extern "C-unwind" fn(*mut c_void) -> *mut c_void;
type Create =
    unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, Body, *mut c_void) -> c_int;

/// This library's code. Threads that it starts serve pages, and get private stacks.
static OWN: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Notes where this library's code is.
pub(crate) fn set_own(code: core::ops::Range<usize>) {
    OWN[0].store(code.start, Ordering::Relaxed);
    OWN[1].store(code.end, Ordering::Relaxed);
}

fn real() -> Create {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    let mut at = REAL.load(Ordering::Relaxed);
    if at == 0 {
        // SAFETY: the name is a C string. The next definition is the C library's.
        at = unsafe { libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr()) } as usize;
        assert!(at != 0, "pthread_create of the C library");
        REAL.store(at, Ordering::Relaxed);
    }
    // SAFETY: the C library's function has this type.
    unsafe { core::mem::transmute::<usize, Create>(at) }
}

/// # Safety
/// The arguments are as `pthread_create` demands.
unsafe extern "C" fn create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    body: Body,
    argument: *mut c_void,
    caller: usize,
) -> c_int {
    let own = OWN[0].load(Ordering::Relaxed)..OWN[1].load(Ordering::Relaxed);
    // SAFETY: the arguments are as `pthread_create` demands: this function's contract.
    unsafe {
        if !place::started() || own.contains(&caller) {
            return real()(thread, attributes, body, argument);
        }
        if !place::is_runtime(caller) {
            place::note_other();
        }
        on_shared_stack(thread, attributes, 0, body, argument)
    }
}

/// `thrd_create` of C11: the C library makes the same threads for both functions, and takes the lower half of what the
/// thread's function returns.
///
/// # Safety
/// The arguments are as `thrd_create` demands.
unsafe extern "C" fn create_c11(
    thread: *mut pthread_t,
    body: Body,
    argument: *mut c_void,
    caller: usize,
) -> c_int {
    const ERROR: c_int = 2;
    const NO_MEMORY: c_int = 3;
    // SAFETY: the arguments are as `thrd_create` demands: this function's contract.
    match unsafe { create(thread, core::ptr::null(), body, argument, caller) } {
        0 => 0,
        libc::ENOMEM => NO_MEMORY,
        _ => ERROR,
    }
}

/// Starts a thread on a shared stack. Its size in bytes: `len`, or the size in `attributes` if that is
/// larger.
///
/// # Safety
/// The arguments are as `pthread_create` demands, and the nodes run.
pub(crate) unsafe fn on_shared_stack(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    len: usize,
    body: Body,
    argument: *mut c_void,
) -> c_int {
    if !kernel::is_on() {
        // SAFETY: this function's contract.
        return unsafe { start(thread, attributes, len, body, argument) };
    }
    let Some(prepared) = kernel::prepare(body, argument) else {
        return libc::EAGAIN;
    };
    // SAFETY: this function's contract; `kernel::begin` is for what `kernel::prepare` gave.
    unsafe {
        let error = start(thread, attributes, len, kernel::begin(), prepared);
        if error != 0 {
            kernel::forget(prepared);
        }
        error
    }
}

/// Starts a thread on a shared stack.
///
/// # Safety
/// As for [`on_shared_stack`].
unsafe fn start(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    len: usize,
    body: Body,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the attributes are null, or the caller's, or made here; the other arguments are as
    // `pthread_create` demands.
    unsafe {
        let mut new: pthread_attr_t = core::mem::zeroed();
        libc::pthread_attr_init(&raw mut new);
        let (mut size, mut is_detached) = (0, false);
        if attributes.is_null() {
            libc::pthread_attr_getstacksize(&raw const new, &raw mut size);
        } else {
            let (mut at, mut detached) = (core::ptr::null_mut(), 0);
            libc::pthread_attr_getstack(attributes, &raw mut at, &raw mut size);
            if at.addr().wrapping_add(size) != 0 {
                // The program has provided a stack.
                return real()(thread, attributes, body, argument);
            }
            libc::pthread_attr_getstacksize(attributes, &raw mut size);
            pthread_attr_getdetachstate(attributes, &raw mut detached);
            libc::pthread_attr_setdetachstate(&raw mut new, detached);
            is_detached = detached == libc::PTHREAD_CREATE_DETACHED;
        }
        // The additional 2 MiB are for the thread's own storage, and for a distance between stacks.
        let Some(stack) = stacks::take(size.max(len).max(1 << 20) + (2 << 20)) else {
            return libc::EAGAIN;
        };
        let at = core::ptr::with_exposed_provenance_mut(stack.start);
        let mut made = libc::pthread_attr_setstack(&raw mut new, at, stack.len());
        if made == 0 {
            made = real()(thread, &raw const new, body, argument);
        }
        libc::pthread_attr_destroy(&raw mut new);
        if made != 0 {
            stacks::give_back(&stack);
        } else if is_detached {
            stacks::detached(*thread);
        }
        made
    }
}
