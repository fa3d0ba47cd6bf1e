//! Procedures of the Fortran module `openacc` that take data. Fortran calls them by a generic name, and the
//! compiler chooses among three forms: one with the length as a 4-byte integer, one with the length as an
//! 8-byte integer, and one for an array, which gfortran passes as an array descriptor.

use super::data::{
    acc_copyin, acc_copyin_async, acc_copyout, acc_copyout_async, acc_create, acc_create_async,
    acc_delete, acc_delete_async, acc_is_present, acc_update_device, acc_update_device_async,
    acc_update_self, acc_update_self_async,
};
use crate::entry::entries;
use libc::{c_int, c_void, size_t};

/// One dimension of an array.
#[repr(C)]
struct Dimension {
    stride: isize,
    lower: isize,
    upper: isize,
}

/// gfortran's array descriptor (since gcc 9), followed by its dimensions.
#[repr(C)]
pub(crate) struct Descriptor {
    base: *mut c_void,
    offset: size_t,
    element: size_t,
    version: c_int,
    rank: i8,
    kind: i8,
    attribute: i16,
    span: isize,
}

const _: () = assert!(size_of::<Descriptor>() == 40 && size_of::<Dimension>() == 24);

/// The address of a contiguous array, and its size in bytes.
///
/// # Safety
/// `array` is a descriptor with its dimensions.
unsafe fn extent(array: *const Descriptor) -> (*mut c_void, size_t) {
    // SAFETY: `array` is a descriptor with its dimensions behind it: this function's contract.
    unsafe {
        let head = &*array;
        let dimensions = array.add(1).cast::<Dimension>();
        let mut bytes = head.element;
        for i in 0..usize::try_from(head.rank).unwrap_or(0) {
            let d = &*dimensions.add(i);
            bytes *= usize::try_from(d.upper - d.lower + 1).unwrap_or(0);
        }
        (head.base, bytes)
    }
}

/// Defines the three forms of a routine: `routine => form with a 4-byte length, with an 8-byte length, for an
/// array`.
macro_rules! forms {
    ($node:literal: $($routine:ident => $short:ident, $long:ident, $array:ident;)+) => {
        entries! {
            $node default:
            $(
                /// The form whose length is a 4-byte integer.
                fn $short(data: *mut c_void, length: *const i32) {
                    // SAFETY: the program passes data of that length.
                    unsafe { $routine(data, *length as size_t) };
                }

                /// The form whose length is an 8-byte integer.
                fn $long(data: *mut c_void, length: *const i64) {
                    // SAFETY: the program passes data of that length.
                    unsafe { $routine(data, *length as size_t) };
                }

                /// The form for an array.
                fn $array(array: *const Descriptor) {
                    // SAFETY: the program passes an array.
                    unsafe {
                        let (data, length) = extent(array);
                        $routine(data, length);
                    }
                }
            )+
        }
    };
}

/// Defines the three forms of a routine that takes the number of a queue, too.
macro_rules! async_forms {
    ($node:literal: $($routine:ident => $short:ident, $long:ident, $array:ident;)+) => {
        entries! {
            $node default:
            $(
                /// The form whose length is a 4-byte integer.
                fn $short(data: *mut c_void, length: *const i32, queue: *const c_int) {
                    // SAFETY: the program passes data of that length.
                    unsafe { $routine(data, *length as size_t, *queue) };
                }

                /// The form whose length is an 8-byte integer.
                fn $long(data: *mut c_void, length: *const i64, queue: *const c_int) {
                    // SAFETY: the program passes data of that length.
                    unsafe { $routine(data, *length as size_t, *queue) };
                }

                /// The form for an array.
                fn $array(array: *const Descriptor, queue: *const c_int) {
                    // SAFETY: the program passes an array.
                    unsafe {
                        let (data, length) = extent(array);
                        $routine(data, length, *queue);
                    }
                }
            )+
        }
    };
}

entries! {
    "OACC_2.0" default:
    /// `acc_is_present` whose length is a 4-byte integer.
    fn acc_is_present_32_h_(data: *mut c_void, length: *const i32) -> c_int {
        // SAFETY: the program passes data of that length.
        unsafe { acc_is_present(data, *length as size_t) }
    }

    /// `acc_is_present` whose length is an 8-byte integer.
    fn acc_is_present_64_h_(data: *mut c_void, length: *const i64) -> c_int {
        // SAFETY: the program passes data of that length.
        unsafe { acc_is_present(data, *length as size_t) }
    }

    /// `acc_is_present` for an array.
    fn acc_is_present_array_h_(array: *const Descriptor) -> c_int {
        // SAFETY: the program passes an array.
        unsafe {
            let (data, length) = extent(array);
            acc_is_present(data, length)
        }
    }
}

forms! {
    "OACC_2.0":
    acc_copyin => acc_copyin_32_h_, acc_copyin_64_h_, acc_copyin_array_h_;
    acc_copyin => acc_present_or_copyin_32_h_, acc_present_or_copyin_64_h_, acc_present_or_copyin_array_h_;
    acc_create => acc_create_32_h_, acc_create_64_h_, acc_create_array_h_;
    acc_create => acc_present_or_create_32_h_, acc_present_or_create_64_h_, acc_present_or_create_array_h_;
    acc_copyout => acc_copyout_32_h_, acc_copyout_64_h_, acc_copyout_array_h_;
    acc_delete => acc_delete_32_h_, acc_delete_64_h_, acc_delete_array_h_;
    acc_update_device => acc_update_device_32_h_, acc_update_device_64_h_, acc_update_device_array_h_;
    acc_update_self => acc_update_self_32_h_, acc_update_self_64_h_, acc_update_self_array_h_;
}

forms! {
    "OACC_2.5":
    acc_copyout => acc_copyout_finalize_32_h_, acc_copyout_finalize_64_h_, acc_copyout_finalize_array_h_;
    acc_delete => acc_delete_finalize_32_h_, acc_delete_finalize_64_h_, acc_delete_finalize_array_h_;
}

async_forms! {
    "OACC_2.5":
    acc_copyin_async => acc_copyin_async_32_h_, acc_copyin_async_64_h_, acc_copyin_async_array_h_;
    acc_create_async => acc_create_async_32_h_, acc_create_async_64_h_, acc_create_async_array_h_;
    acc_copyout_async => acc_copyout_async_32_h_, acc_copyout_async_64_h_, acc_copyout_async_array_h_;
    acc_delete_async => acc_delete_async_32_h_, acc_delete_async_64_h_, acc_delete_async_array_h_;
    acc_update_device_async =>
        acc_update_device_async_32_h_, acc_update_device_async_64_h_, acc_update_device_async_array_h_;
    acc_update_self_async => acc_update_self_async_32_h_, acc_update_self_async_64_h_, acc_update_self_async_array_h_;
}

async_forms! {
    "OACC_2.6.1":
    acc_copyout_async => acc_copyout_finalize_async_32_h_, acc_copyout_finalize_async_64_h_,
        acc_copyout_finalize_async_array_h_;
    acc_delete_async => acc_delete_finalize_async_32_h_, acc_delete_finalize_async_64_h_,
        acc_delete_finalize_async_array_h_;
}
