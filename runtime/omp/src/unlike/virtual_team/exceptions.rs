//! What the C++ run-time library keeps for each thread about exceptions: which are being handled,
//! and how many are in flight.
//!
//! A virtual thread that is suspended inside a handler must find its exception again. The Itanium C++
//! ABI (exception handling, 2.2.2) gives the two words of a thread by `__cxa_get_globals`; a process
//! without C++ has no such function.

use core::sync::atomic::{AtomicPtr, Ordering};

/// The words of one thread or fiber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InFlight {
    caught: *mut libc::c_void,
    uncaught: libc::c_uint,
}

#[repr(C)]
struct Globals {
    caught: *mut libc::c_void,
    uncaught: libc::c_uint,
}

type GetGlobals = unsafe extern "C" fn() -> *mut Globals;

/// `__cxa_get_globals`; null: not looked for yet; `ABSENT`: not there.
static GET: AtomicPtr<libc::c_void> = AtomicPtr::new(core::ptr::null_mut());
const ABSENT: *mut libc::c_void = core::ptr::without_provenance_mut(1);

fn globals() -> Option<*mut Globals> {
    let mut get = GET.load(Ordering::Relaxed);
    if get.is_null() {
        // SAFETY: the name is a C string.
        get = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_get_globals".as_ptr()) };
        if get.is_null() {
            // A library that was opened for itself brings it in out of sight.
            for name in [c"libstdc++.so.6", c"libc++abi.so.1"] {
                // SAFETY: names are C strings; nothing is loaded that is not there, and the handle
                // keeps it there.
                let library =
                    unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
                if !library.is_null() && get.is_null() {
                    // SAFETY: a handle from above, and a C string.
                    get = unsafe { libc::dlsym(library, c"__cxa_get_globals".as_ptr()) };
                }
            }
        }
        if get.is_null() {
            get = ABSENT;
        }
        GET.store(get, Ordering::Relaxed);
    }
    if get == ABSENT {
        return None;
    }
    // SAFETY: the function of that name has this type in every implementation of the ABI; it returns
    // the calling thread's words.
    Some(unsafe { core::mem::transmute::<*mut libc::c_void, GetGlobals>(get)() })
}

/// Looks for the C++ run-time library again: it may have been loaded since.
pub(super) fn look_again() {
    if GET.load(Ordering::Relaxed) == ABSENT {
        GET.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
}

impl InFlight {
    /// No exceptions.
    pub(super) const NONE: InFlight = InFlight {
        caught: core::ptr::null_mut(),
        uncaught: 0,
    };

    /// Takes the calling thread's words, and leaves none there.
    pub(super) fn take() -> InFlight {
        let Some(g) = globals() else {
            return InFlight::NONE;
        };
        // SAFETY: the calling thread's own words.
        unsafe {
            let words = InFlight {
                caught: (*g).caught,
                uncaught: (*g).uncaught,
            };
            (*g).caught = core::ptr::null_mut();
            (*g).uncaught = 0;
            words
        }
    }

    /// Gives the words to the calling thread.
    pub(super) fn put(self) {
        if let Some(g) = globals() {
            // SAFETY: the calling thread's own words.
            unsafe {
                (*g).caught = self.caught;
                (*g).uncaught = self.uncaught;
            }
        }
    }
}
