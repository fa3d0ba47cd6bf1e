//! Places, binding of threads, affinity formats.

use super::{alias, to_int};
use crate::entry::entries;
use hetmp_omp::query;
use libc::{c_char, size_t};
use std::ffi::CStr;

/// The bytes of a C string. Null counts as empty.
///
/// # Safety
/// `text` is null, or a string with a terminating zero.
unsafe fn bytes<'a>(text: *const c_char) -> &'a [u8] {
    if text.is_null() {
        return &[];
    }
    // SAFETY: not null, and so a string with a terminating zero: this function's contract.
    unsafe { CStr::from_ptr(text) }.to_bytes()
}

/// The bytes of a Fortran string.
///
/// # Safety
/// `text` has `length` bytes.
unsafe fn fortran<'a>(text: *const c_char, length: size_t) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: `text` has `length` bytes: this function's contract.
    unsafe { core::slice::from_raw_parts(text.cast(), length) }
}

/// A buffer of the program.
///
/// # Safety
/// `buffer` has `size` bytes.
unsafe fn buffer<'a>(buffer: *mut c_char, size: size_t) -> &'a mut [u8] {
    if size == 0 {
        return &mut [];
    }
    // SAFETY: `buffer` has `size` bytes: this function's contract. The bytes are only written, so the program
    // need not have initialised them.
    unsafe { core::slice::from_raw_parts_mut(buffer.cast(), size) }
}

/// Ends a text of `length` bytes in a C buffer with a zero. A text that does not fit is cut.
fn terminate(buffer: &mut [u8], length: usize) {
    if let Some(last) = buffer.len().checked_sub(1) {
        buffer[length.min(last)] = 0;
    }
}

/// Fills a Fortran buffer with blanks behind a text of `length` bytes.
fn pad(buffer: &mut [u8], length: usize) {
    if let Some(rest) = buffer.get_mut(length..) {
        rest.fill(b' ');
    }
}

/// Copies the current format to `buffer` as far as it fits. Returns the length of the whole format.
fn copy_format(buffer: &mut [u8]) -> usize {
    query::with_affinity_format(|format| {
        let fits = format.len().min(buffer.len());
        buffer[..fits].copy_from_slice(&format[..fits]);
        format.len()
    })
}

entries! {
    "OMP_4.0" default:
    /// The binding of the next region's threads: an `omp_proc_bind_t`.
    fn omp_get_proc_bind() -> i32 {
        query::icv().bind as i32
    }

    "OMP_4.5" default:
    /// The number of places.
    fn omp_get_num_places() -> i32 {
        query::num_places()
    }

    /// The number of CPUs in a place.
    fn omp_get_place_num_procs(place: i32) -> i32 {
        query::place_cpus(place).count() as i32
    }

    /// Fortran form of `omp_get_place_num_procs`.
    fn omp_get_place_num_procs_(place: &i32) -> i32 {
        query::place_cpus(*place).count() as i32
    }

    /// Fortran form of `omp_get_place_num_procs` for 8-byte integers.
    fn omp_get_place_num_procs_8_(place: &i64) -> i32 {
        query::place_cpus(to_int(*place)).count() as i32
    }

    /// Writes the numbers of a place's CPUs to an array of `omp_get_place_num_procs` elements.
    fn omp_get_place_proc_ids(place: i32, ids: *mut i32) {
        for (i, cpu) in query::place_cpus(place).enumerate() {
            // SAFETY: the program passes an array of that size.
            unsafe { ids.add(i).write(cpu) };
        }
    }

    /// Fortran form of `omp_get_place_proc_ids`.
    fn omp_get_place_proc_ids_(place: *const i32, ids: *mut i32) {
        // SAFETY: the program passes an integer, and an array of that size.
        unsafe {
            for (i, cpu) in query::place_cpus(*place).enumerate() {
                ids.add(i).write(cpu);
            }
        }
    }

    /// Fortran form of `omp_get_place_proc_ids` for 8-byte integers.
    fn omp_get_place_proc_ids_8_(place: *const i64, ids: *mut i64) {
        // SAFETY: the program passes an integer, and an array of that size.
        unsafe {
            for (i, cpu) in query::place_cpus(to_int(*place)).enumerate() {
                ids.add(i).write(i64::from(cpu));
            }
        }
    }

    /// The calling thread's place; -1 if the thread is not bound.
    fn omp_get_place_num() -> i32 {
        query::place_num()
    }

    /// The number of places in the calling thread's partition.
    fn omp_get_partition_num_places() -> i32 {
        query::partition().len() as i32
    }

    /// Writes the numbers of the places in the calling thread's partition to an array of
    /// `omp_get_partition_num_places` elements.
    fn omp_get_partition_place_nums(places: *mut i32) {
        for (i, place) in query::partition().enumerate() {
            // SAFETY: the program passes an array of that size.
            unsafe { places.add(i).write(place) };
        }
    }

    /// Fortran form of `omp_get_partition_place_nums` for 8-byte integers.
    fn omp_get_partition_place_nums_8_(places: *mut i64) {
        for (i, place) in query::partition().enumerate() {
            // SAFETY: the program passes an array of that size.
            unsafe { places.add(i).write(i64::from(place)) };
        }
    }

    "OMP_5.0" default:
    /// Sets the format of `omp_display_affinity` and `OMP_DISPLAY_AFFINITY`.
    fn omp_set_affinity_format(format: *const c_char) {
        // SAFETY: the program passes a string.
        query::set_affinity_format(unsafe { bytes(format) });
    }

    /// Fortran form of `omp_set_affinity_format`.
    fn omp_set_affinity_format_(format: *const c_char, length: size_t) {
        // SAFETY: the program passes a string.
        query::set_affinity_format(unsafe { fortran(format, length) });
    }

    /// Copies the format to a buffer as far as it fits, with a terminating zero. Returns the length of the
    /// whole format.
    fn omp_get_affinity_format(text: *mut c_char, size: size_t) -> size_t {
        // SAFETY: the program passes a buffer of that size.
        let text = unsafe { buffer(text, size) };
        let length = copy_format(text);
        terminate(text, length);
        length
    }

    /// Fortran form of `omp_get_affinity_format`; the text is filled up with blanks.
    fn omp_get_affinity_format_(text: *mut c_char, size: size_t) -> i32 {
        // SAFETY: the program passes a string of that size.
        let text = unsafe { buffer(text, size) };
        let length = copy_format(text);
        pad(text, length);
        length as i32
    }

    /// Writes a line about the calling thread to standard error (for programs built for libomp: to standard
    /// output).
    fn omp_display_affinity(format: *const c_char) {
        // SAFETY: the program passes a string.
        query::display_affinity(unsafe { bytes(format) });
    }

    /// Fortran form of `omp_display_affinity`.
    fn omp_display_affinity_(format: *const c_char, length: size_t) {
        // SAFETY: the program passes a string.
        query::display_affinity(unsafe { fortran(format, length) });
    }

    /// Writes the line of `omp_display_affinity` to a buffer as far as it fits, with a terminating zero.
    /// Returns the length of the whole line.
    fn omp_capture_affinity(
        text: *mut c_char, size: size_t, format: *const c_char,
    ) -> size_t {
        // SAFETY: the program passes a buffer of that size, and a string.
        let (text, format) = unsafe { (buffer(text, size), bytes(format)) };
        let length = query::capture_affinity(format, text);
        terminate(text, length);
        length
    }

    /// Fortran form of `omp_capture_affinity`; the text is filled up with blanks.
    fn omp_capture_affinity_(
        text: *mut c_char, format: *const c_char, size: size_t, length: size_t,
    ) -> i32 {
        // SAFETY: the program passes strings of those sizes.
        let (text, format) = unsafe { (buffer(text, size), fortran(format, length)) };
        let length = query::capture_affinity(format, text);
        pad(text, length);
        length as i32
    }
}

// Routines without arguments, or whose only argument is an array, have the same form in Fortran.
alias! {
    "OMP_4.0": omp_get_proc_bind = "omp_get_proc_bind_";
    "OMP_4.5": omp_get_num_places = "omp_get_num_places_",
        omp_get_place_num = "omp_get_place_num_",
        omp_get_partition_num_places = "omp_get_partition_num_places_",
        omp_get_partition_place_nums = "omp_get_partition_place_nums_";
}

// Second names of these routines that libomp has.
crate::entry::export!(
    omp_capture_affinity,
    "ompc_capture_affinity",
    "VERSION",
    "@@"
);
crate::entry::export!(
    omp_display_affinity,
    "ompc_display_affinity",
    "VERSION",
    "@@"
);
crate::entry::export!(
    omp_get_affinity_format,
    "ompc_get_affinity_format",
    "VERSION",
    "@@"
);
crate::entry::export!(
    omp_set_affinity_format,
    "ompc_set_affinity_format",
    "VERSION",
    "@@"
);
