//! The C++ run-time library's state of each thread about exceptions: which are being handled, and how many
//! are in flight.
//!
//! A virtual thread that is suspended inside a handler must find its exception again. By the Itanium C++ ABI
//! (exception handling, 2.2.2) `__cxa_get_globals` returns the two words of a thread. A process without C++
//! has no such function.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::ffi::CString;

/// The two words of one thread or fiber.
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

/// `__cxa_get_globals`; null: not looked for yet; `ABSENT`: the process does not have it.
static GET: AtomicPtr<libc::c_void> = AtomicPtr::new(core::ptr::null_mut());
const ABSENT: *mut libc::c_void = core::ptr::without_provenance_mut(1);

fn globals() -> Option<*mut Globals> {
    let mut get = GET.load(Ordering::Relaxed);
    if get.is_null() {
        // SAFETY: the name is a C string.
        get = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_get_globals".as_ptr()) };
        if get.is_null() {
            // A library that was opened with RTLD_LOCAL may have brought the function in without making it
            // visible.
            if let Some(path) = loaded_library() {
                // SAFETY: the path is a C string. RTLD_NOLOAD loads nothing, and the handle keeps the library
                // loaded.
                let library =
                    unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
                if !library.is_null() {
                    // SAFETY: the handle is that of dlopen, and the name a C string.
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
    // SAFETY: in every implementation of the ABI the function with this name has this type; it returns the
    // calling thread's words.
    Some(unsafe { core::mem::transmute::<*mut libc::c_void, GetGlobals>(get)() })
}

/// Lets the library be looked for again, if an object was loaded since the last call.
pub(super) fn look_again() {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    /// Reads only the first object's record: the count is the same in all records.
    unsafe extern "C" fn count(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        data: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid record, and `data` leads to `adds`.
        unsafe { *data.cast::<u64>() = (*info).dlpi_adds };
        1
    }
    let mut adds = 0u64;
    // SAFETY: `count` gets the address of `adds`, which outlives the call.
    unsafe { hetmp_core::whole::each_object(count, (&raw mut adds).cast()) };
    if SEEN.swap(adds, Ordering::Relaxed) != adds && GET.load(Ordering::Relaxed) == ABSENT {
        GET.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
}

/// The path of a loaded C++ run-time library, from the loader's list. Asking for it by name would make the
/// loader search the disk, again and again in programs that have none.
fn loaded_library() -> Option<CString> {
    unsafe extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        found: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid record, whose name is null or a C string; `found` leads to the
        // option of the caller.
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
    // SAFETY: `look` gets the address of `found`, which outlives the call.
    unsafe { hetmp_core::whole::each_object(look, (&raw mut found).cast()) };
    found
}

impl InFlight {
    /// No exceptions.
    pub(super) const NONE: InFlight = InFlight {
        caught: core::ptr::null_mut(),
        uncaught: 0,
    };

    /// Takes the calling thread's words, and leaves none.
    pub(super) fn take() -> InFlight {
        let Some(g) = globals() else {
            return InFlight::NONE;
        };
        // SAFETY: the words belong to the calling thread.
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

    /// Makes these the calling thread's words.
    pub(super) fn put(self) {
        if let Some(g) = globals() {
            // SAFETY: the words belong to the calling thread.
            unsafe {
                (*g).caught = self.caught;
                (*g).uncaught = self.uncaught;
            }
        }
    }
}
