//! What gcc's `-fopenacc` code calls: `GOACC_*`.
//!
//! Most of these functions have a variable number of arguments (launch dimensions, queues to wait for). On
//! the host none of these arguments matters, so the entries do not read them. Only `wait` does (module
//! `queue`).

use crate::entry::entries;
use hetmp_core::report;
use hetmp_omp::acc::{self, Movement};
use hetmp_omp::init;
use hetmp_omp::team::Outlined;
use libc::{c_int, c_void, size_t};

/// A bit of `flags`: the `if` clause said no. gcc passes `flags` with all bits inverted.
const FALLBACK: c_int = 1;

// gcc's map kinds. Only the low byte of a kind counts.
const POINTER: u16 = 0x04;
const TO_PSET: u16 = 0x05;
const FORCE_DEVICEPTR: u16 = 0x08;
const USE_DEVICE_PTR: u16 = 0x0e;
const USE_DEVICE_PTR_IF_PRESENT: u16 = 0x10;
const STRUCT: u16 = 0x1c;
const ALLOC: u16 = 0x00;
const TO: u16 = 0x01;
const FORCE_PRESENT: u16 = 0x06;
const ATTACH: u16 = 0x50;
const FORCE_ALLOC: u16 = 0x80;
const FORCE_TO: u16 = 0x81;
const FROM: u16 = 0x02;
const DELETE: u16 = 0x07;
const RELEASE: u16 = 0x17;
const DETACH: u16 = 0x51;
const FORCE_FROM: u16 = 0x82;
const FORCE_DETACH: u16 = 0xd1;

/// The low bytes of the map kinds of a construct's items.
///
/// # Safety
/// `kinds` has `count` elements.
unsafe fn kinds_of<'a>(count: size_t, kinds: *const u16) -> impl Iterator<Item = u16> + 'a {
    let kinds = if count == 0 {
        &[][..]
    } else {
        // SAFETY: `kinds` has `count` elements: this function's contract.
        unsafe { core::slice::from_raw_parts(kinds, count) }
    };
    kinds.iter().map(|k| k & 0xff)
}

/// Prepares the items of a compute construct that Fortran code calls. gcc passes a `deviceptr` variable as an
/// array descriptor, and a second time as the pointer in the descriptor if the region uses the variable. The
/// region must not see the descriptor, so this function sets the descriptor's address to null.
///
/// # Safety
/// The arrays have `count` elements.
unsafe fn hide_descriptors(
    count: size_t,
    addresses: *mut *mut c_void,
    sizes: *const size_t,
    kinds: *const u16,
) {
    for i in 0..count {
        // SAFETY: the arrays have `count` elements, and `i` is below: this function's contract.
        unsafe {
            if *kinds.add(i) & 0xff == FORCE_DEVICEPTR && *sizes.add(i) != size_of::<*mut c_void>()
            {
                addresses.add(i).write(core::ptr::null_mut());
            }
        }
    }
}

/// Reports a call under `GOMP_DEBUG`.
fn trace(name: &str, count: size_t) {
    if init::globals().debug != 0 {
        report::warn(format_args!("{name}: {count} items"));
    }
}

entries! {
    "GOACC_2.0" default:
    /// A compute construct, from gcc 5: always runs on the host.
    fn GOACC_parallel(
        _flags: c_int, f: Outlined, _count: size_t, addresses: *mut *mut c_void,
    ) {
        // SAFETY: the compiled code passes a region's function and the addresses that it expects.
        acc::fall_back(|| unsafe { f(addresses.cast()) });
    }

    /// Begins a structured data region.
    fn GOACC_data_start(
        _flags: c_int, count: size_t, _addresses: *mut *mut c_void, _sizes: *const size_t,
        kinds: *const u16,
    ) {
        trace("GOACC_data_start", count);
        // SAFETY: the compiled code passes arrays of `count` elements.
        let host_data = unsafe { kinds_of(count, kinds) }
            .any(|k| k == USE_DEVICE_PTR || k == USE_DEVICE_PTR_IF_PRESENT);
        acc::begin_data(host_data);
    }

    /// Ends the innermost structured data region.
    fn GOACC_data_end() {
        acc::end_data();
    }

    /// The `update` directive.
    fn GOACC_update(
        _flags: c_int, _count: size_t, _addresses: *mut *mut c_void, _sizes: *const size_t,
        _kinds: *const u16, queue: c_int,
    ) {
        acc::move_data(Movement::Update, queue);
    }

    /// `enter data` or `exit data`, from gcc before 12. The kinds tell which of the two.
    fn GOACC_enter_exit_data(
        _flags: c_int, count: size_t, _addresses: *mut *mut c_void, _sizes: *const size_t,
        kinds: *const u16, queue: c_int,
    ) {
        // SAFETY: the compiled code passes arrays of `count` elements.
        let deciding = unsafe { kinds_of(count, kinds) }
            .find(|k| !matches!(*k, POINTER | TO_PSET | STRUCT));
        let what = match deciding {
            Some(ALLOC | TO | FORCE_PRESENT | ATTACH | FORCE_ALLOC | FORCE_TO) => Movement::Enter,
            None | Some(FROM | DELETE | RELEASE | DETACH | FORCE_FROM | FORCE_DETACH) => {
                Movement::Exit
            }
            Some(kind) => report::fatal(format_args!(
                "OpenACC map kind {kind:#04x} of enter or exit data: code that gcc 12 makes"
            )),
        };
        acc::move_data(what, queue);
    }

    /// The thread's number in a compute construct, from gcc 5.
    fn GOACC_get_thread_num() -> c_int {
        0
    }

    /// The number of threads of a compute construct, from gcc 5.
    fn GOACC_get_num_threads() -> c_int {
        1
    }

    "GOACC_2.0.1" default:
    /// A compute construct.
    fn GOACC_parallel_keyed(
        flags: c_int, f: Outlined, count: size_t, addresses: *mut *mut c_void,
        sizes: *const size_t, kinds: *const u16,
    ) {
        trace("GOACC_parallel_keyed", count);
        acc::compute(!flags & FALLBACK != 0, || {
            // SAFETY: the compiled code passes a region's function, and arrays of `count` elements.
            unsafe {
                hide_descriptors(count, addresses, sizes, kinds);
                f(addresses.cast());
            }
        });
    }

    /// The `declare` directive: data that lives as long as a variable.
    fn GOACC_declare(
        _flags: c_int, count: size_t, _addresses: *mut *mut c_void, _sizes: *const size_t,
        kinds: *const u16,
    ) {
        // SAFETY: the compiled code passes arrays of `count` elements.
        for kind in unsafe { kinds_of(count, kinds) } {
            match kind {
                FORCE_ALLOC | TO | FORCE_TO => acc::move_data(Movement::Enter, acc::ASYNC_SYNC),
                FROM | FORCE_FROM | RELEASE | DELETE => {
                    acc::move_data(Movement::Exit, acc::ASYNC_SYNC);
                }
                // The other kinds ask for memory that is allocated and present already, because the host is
                // the device.
                _ => acc::ready(),
            }
        }
    }

    "GOACC_2.0.2" default:
    /// The `enter data` directive.
    fn GOACC_enter_data(
        _flags: c_int, _count: size_t, _addresses: *mut *mut c_void, _sizes: *const size_t,
        _kinds: *const u16, queue: c_int,
    ) {
        acc::move_data(Movement::Enter, queue);
    }

    /// The `exit data` directive.
    fn GOACC_exit_data(
        _flags: c_int, _count: size_t, _addresses: *mut *mut c_void, _sizes: *const size_t,
        _kinds: *const u16, queue: c_int,
    ) {
        acc::move_data(Movement::Exit, queue);
    }
}
