//! Device memory routines: the host is the only device.

use crate::entry::entries;
use hetmp_omp::device::{self, Rect};
use libc::{c_int, c_void, size_t, EINVAL};

entries! {
    "OMP_4.5" default:
    /// Allocates memory of a device; null for other devices than the host.
    fn omp_target_alloc(size: size_t, device: c_int) -> *mut c_void {
        if device::is_host(device) {
            // SAFETY: malloc takes any size.
            unsafe { libc::malloc(size) }
        } else {
            core::ptr::null_mut()
        }
    }

    /// Frees it.
    fn omp_target_free(memory: *mut c_void, device: c_int) {
        if !memory.is_null() && device::is_host(device) {
            // SAFETY: the program frees what omp_target_alloc gave, once.
            unsafe { libc::free(memory) };
        }
    }

    /// Is there a device copy of `address`? The host has everything.
    fn omp_target_is_present(address: *const c_void, device: c_int) -> c_int {
        c_int::from(address.is_null() || device::is_host(device))
    }

    /// Copies between devices; 0, or `EINVAL` for devices that are not there.
    fn omp_target_memcpy(
        dst: *mut c_void, src: *const c_void, length: size_t, dst_offset: size_t,
        src_offset: size_t, dst_device: c_int, src_device: c_int,
    ) -> c_int {
        // SAFETY: the program promises so many bytes at both places.
        unsafe { copy(dst, src, length, dst_offset, src_offset, dst_device, src_device) }
    }

    /// Copies a block of an array into another array; 0, or `EINVAL` where that cannot be. Without
    /// both arrays: the number of dimensions that can be.
    fn omp_target_memcpy_rect(
        dst: *mut c_void, src: *const c_void, element: size_t, dimensions: c_int,
        volume: *const size_t, dst_offsets: *const size_t, src_offsets: *const size_t,
        dst_dimensions: *const size_t, src_dimensions: *const size_t, dst_device: c_int,
        src_device: c_int,
    ) -> c_int {
        if dst.is_null() && src.is_null() {
            return c_int::MAX;
        }
        if !device::is_host(dst_device) || !device::is_host(src_device) {
            return EINVAL;
        }
        let Ok(n) = usize::try_from(dimensions) else {
            return EINVAL;
        };
        if n == 0 {
            return EINVAL;
        }
        // SAFETY: the program passes arrays of that many elements, and the arrays they describe.
        // (Of one dimension the two extents are not read, and may be anything.)
        let done = unsafe {
            let list = |p: *const size_t| core::slice::from_raw_parts(p, n);
            let extents = |p: *const size_t| if n == 1 { &[] } else { list(p) };
            let rect = Rect {
                volume: list(volume),
                dst_offsets: list(dst_offsets),
                src_offsets: list(src_offsets),
                dst_dimensions: extents(dst_dimensions),
                src_dimensions: extents(src_dimensions),
            };
            device::copy_rect(dst.cast(), src.cast(), element, &rect)
        };
        if done.is_some() { 0 } else { EINVAL }
    }

    /// Makes device memory the copy of host memory; never possible on the host itself.
    fn omp_target_associate_ptr(
        _host: *const c_void, _target: *const c_void, _size: size_t, _offset: size_t,
        device: c_int,
    ) -> c_int {
        device::is_host(device);
        EINVAL
    }

    /// Ends that.
    fn omp_target_disassociate_ptr(_host: *const c_void, device: c_int) -> c_int {
        device::is_host(device);
        EINVAL
    }

    "OMP_5.1.1" default:
    /// The device's address of host memory.
    fn omp_get_mapped_ptr(address: *const c_void, device: c_int) -> *mut c_void {
        if device::is_host(device) {
            address.cast_mut()
        } else {
            core::ptr::null_mut()
        }
    }

    /// Can the device reach this memory?
    fn omp_target_is_accessible(
        _address: *const c_void, _size: size_t, device: c_int,
    ) -> c_int {
        c_int::from(device::is_host(device))
    }
}

/// `omp_target_memcpy`.
///
/// # Safety
/// Both places have `length` bytes at their offsets.
unsafe fn copy(
    dst: *mut c_void,
    src: *const c_void,
    length: usize,
    dst_offset: usize,
    src_offset: usize,
    dst_device: c_int,
    src_device: c_int,
) -> c_int {
    if !device::is_host(dst_device) || !device::is_host(src_device) {
        return EINVAL;
    }
    // SAFETY: the caller's promise; overlapping memory is copied as by memmove.
    unsafe {
        core::ptr::copy(
            src.cast::<u8>().add(src_offset),
            dst.cast::<u8>().add(dst_offset),
            length,
        );
    }
    0
}
