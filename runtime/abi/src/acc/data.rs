//! Memory and data of the device. The device is the host, so data is always present, and most of these
//! functions have nothing to do.

use crate::entry::{entries, export};
use hetmp_omp::acc;
use libc::{c_int, c_void, size_t};

entries! {
    "OACC_2.0" default:
    /// Allocates device memory.
    fn acc_malloc(size: size_t) -> *mut c_void {
        acc::allocate(size)
    }

    /// Frees memory of `acc_malloc`.
    fn acc_free(memory: *mut c_void) {
        // SAFETY: the program frees what acc_malloc gave, once.
        unsafe { libc::free(memory) };
    }

    /// Copies to device memory.
    fn acc_memcpy_to_device(target: *mut c_void, host: *const c_void, size: size_t) {
        // SAFETY: the program passes memory of that size; it may overlap.
        unsafe { core::ptr::copy(host.cast::<u8>(), target.cast::<u8>(), size) };
    }

    /// Copies from device memory.
    fn acc_memcpy_from_device(host: *mut c_void, target: *const c_void, size: size_t) {
        // SAFETY: the program passes memory of that size; it may overlap.
        unsafe { core::ptr::copy(target.cast::<u8>(), host.cast::<u8>(), size) };
    }

    /// The device's address of host data.
    fn acc_deviceptr(host: *mut c_void) -> *mut c_void {
        acc::ready();
        host
    }

    /// The host's address of device data.
    fn acc_hostptr(target: *mut c_void) -> *mut c_void {
        acc::ready();
        target
    }

    /// Is host data present on the device?
    fn acc_is_present(data: *mut c_void, size: size_t) -> c_int {
        c_int::from(acc::is_present(data, size))
    }

    /// Makes device memory the copy of host memory.
    fn acc_map_data(host: *mut c_void, target: *mut c_void, _size: size_t) {
        acc::map(host, target);
    }

    /// Ends the mapping that `acc_map_data` made.
    fn acc_unmap_data(_host: *mut c_void) {}

    /// Allocates a device copy and copies to it.
    fn acc_copyin(data: *mut c_void, size: size_t) -> *mut c_void {
        acc::enter(data, size)
    }

    /// Allocates a device copy.
    fn acc_create(data: *mut c_void, size: size_t) -> *mut c_void {
        acc::enter(data, size)
    }

    /// Copies from a device copy and frees it.
    fn acc_copyout(_data: *mut c_void, _size: size_t) {}

    /// Frees a device copy.
    fn acc_delete(_data: *mut c_void, _size: size_t) {}

    /// Copies to a device copy.
    fn acc_update_device(_data: *mut c_void, _size: size_t) {
        acc::ready();
    }

    /// Copies from a device copy.
    fn acc_update_self(_data: *mut c_void, _size: size_t) {
        acc::ready();
    }

    "OACC_2.5" default:
    /// `acc_memcpy_to_device` on a queue.
    fn acc_memcpy_to_device_async(
        target: *mut c_void, host: *const c_void, size: size_t, _queue: c_int,
    ) {
        // SAFETY: the program passes memory of that size; it may overlap.
        unsafe { core::ptr::copy(host.cast::<u8>(), target.cast::<u8>(), size) };
    }

    /// `acc_memcpy_from_device` on a queue.
    fn acc_memcpy_from_device_async(
        host: *mut c_void, target: *const c_void, size: size_t, _queue: c_int,
    ) {
        // SAFETY: the program passes memory of that size; it may overlap.
        unsafe { core::ptr::copy(target.cast::<u8>(), host.cast::<u8>(), size) };
    }

    /// `acc_copyin` on a queue.
    fn acc_copyin_async(data: *mut c_void, size: size_t, _queue: c_int) {
        acc::enter(data, size);
    }

    /// `acc_create` on a queue.
    fn acc_create_async(data: *mut c_void, size: size_t, _queue: c_int) {
        acc::enter(data, size);
    }

    /// `acc_copyout` on a queue.
    fn acc_copyout_async(_data: *mut c_void, _size: size_t, _queue: c_int) {}

    /// `acc_delete` on a queue.
    fn acc_delete_async(_data: *mut c_void, _size: size_t, _queue: c_int) {}

    /// `acc_update_device` on a queue.
    fn acc_update_device_async(_data: *mut c_void, _size: size_t, _queue: c_int) {
        acc::ready();
    }

    /// `acc_update_self` on a queue.
    fn acc_update_self_async(_data: *mut c_void, _size: size_t, _queue: c_int) {
        acc::ready();
    }

    "OACC_2.6" default:
    /// Makes a pointer in a device copy point to the device copy of its target.
    fn acc_attach(_pointer: *mut *mut c_void) {
        acc::attach_pointer(acc::ASYNC_SYNC);
    }

    /// `acc_attach` on a queue.
    fn acc_attach_async(_pointer: *mut *mut c_void, queue: c_int) {
        acc::attach_pointer(queue);
    }

    "OACC_2.6.1" default:
    /// Copies within device memory.
    fn acc_memcpy_device(target: *mut c_void, source: *const c_void, size: size_t) {
        // SAFETY: the program passes memory of that size; it may overlap.
        unsafe { core::ptr::copy(source.cast::<u8>(), target.cast::<u8>(), size) };
    }

    /// `acc_memcpy_device` on a queue.
    fn acc_memcpy_device_async(
        target: *mut c_void, source: *const c_void, size: size_t, _queue: c_int,
    ) {
        // SAFETY: the program passes memory of that size; it may overlap.
        unsafe { core::ptr::copy(source.cast::<u8>(), target.cast::<u8>(), size) };
    }
}

// The device shares the host's memory, so each of these names can stand for a function above.
export!(acc_copyin, "acc_present_or_copyin", "OACC_2.0", "@@");
export!(acc_copyin, "acc_pcopyin", "OACC_2.0.1", "@@");
export!(acc_create, "acc_present_or_create", "OACC_2.0", "@@");
export!(acc_create, "acc_pcreate", "OACC_2.0.1", "@@");
export!(acc_copyout, "acc_copyout_finalize", "OACC_2.5", "@@");
export!(
    acc_copyout_async,
    "acc_copyout_finalize_async",
    "OACC_2.5",
    "@@"
);
export!(acc_delete, "acc_delete_finalize", "OACC_2.5", "@@");
export!(
    acc_delete_async,
    "acc_delete_finalize_async",
    "OACC_2.5",
    "@@"
);
export!(acc_attach, "acc_detach", "OACC_2.6", "@@");
export!(acc_attach_async, "acc_detach_async", "OACC_2.6", "@@");
export!(acc_attach, "acc_detach_finalize", "OACC_2.6", "@@");
export!(
    acc_attach_async,
    "acc_detach_finalize_async",
    "OACC_2.6",
    "@@"
);
