//! What the C++ run-time library keeps for each thread about exceptions: which are being handled,
//! and how many are in flight.
//!
//! A virtual thread that is suspended inside a handler must find its exception again. The Itanium C++
//! ABI (exception handling, 2.2.2) gives the two words of a thread by `__cxa_get_globals`; a process
//! without C++ has no such function.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::ffi::CString;

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
            if let Some(path) = loaded_library() {
                // SAFETY: a C string; nothing is loaded that is not there, and the handle keeps it there.
                let library =
                    unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
                if !library.is_null() {
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

/// Looks for the C++ run-time library again, if an object was loaded since the last time.
pub(super) fn look_again() {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    /// Looks at the first object's record only: the count is the same in all.
    unsafe extern "C" fn count(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        data: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid record, and `data` is the number below.
        unsafe { *data.cast::<u64>() = (*info).dlpi_adds };
        1
    }
    let mut adds = 0u64;
    // SAFETY: `count` gets the number back, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(count), (&raw mut adds).cast()) };
    if SEEN.swap(adds, Ordering::Relaxed) != adds && GET.load(Ordering::Relaxed) == ABSENT {
        GET.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
}

/// The path of a C++ run-time library that is loaded. By the loader's list: to ask for it by name would
/// make the loader search the disk, again and again in programs that have none.
fn loaded_library() -> Option<CString> {
    unsafe extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        found: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid record, whose name is null or a C string; `found` is the
        // option below.
        unsafe {
            if (*info).dlpi_name.is_null() {
                return 0;
            }
            let path = CStr::from_ptr((*info).dlpi_name);
            let file = path.to_bytes().rsplit(|&b| b == b'/').next();
            let is = |start: &[u8]| file.is_some_and(|f| f.starts_with(start));
            if is(b"libstdc++.so") || is(b"libc++abi.so") {
                *found.cast::<Option<CString>>() = Some(path.to_owned());
                return 1;
            }
        }
        0
    }
    let mut found: Option<CString> = None;
    // SAFETY: `look` gets the option back, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found
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
