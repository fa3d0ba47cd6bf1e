//! Device memory routines: the host is the only device.

use crate::entry::entries;
use crate::gomp::task::kind_of;
use core::ffi::CStr;
use hetmp_omp::device::{self, Rect};
use hetmp_omp::task::depend::Dependence;
use hetmp_omp::Thread;
use libc::{c_char, c_int, c_void, size_t, EINVAL};

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

    /// Frees memory of `omp_target_alloc`.
    fn omp_target_free(memory: *mut c_void, device: c_int) {
        if !memory.is_null() && device::is_host(device) {
            // SAFETY: the program frees what omp_target_alloc gave, once.
            unsafe { libc::free(memory) };
        }
    }

    /// Is there a device copy of `address`? On the host every address is present.
    fn omp_target_is_present(address: *const c_void, device: c_int) -> c_int {
        c_int::from(address.is_null() || device::is_host(device))
    }

    /// Copies between devices. Returns 0, or `EINVAL` if a device does not exist.
    fn omp_target_memcpy(
        dst: *mut c_void, src: *const c_void, length: size_t, dst_offset: size_t,
        src_offset: size_t, dst_device: c_int, src_device: c_int,
    ) -> c_int {
        // SAFETY: the program passes addresses of `length` bytes behind both offsets, as the specification
        // demands (5.1, section 3.8.5).
        unsafe { copy(dst, src, length, dst_offset, src_offset, dst_device, src_device) }
    }

    /// Copies a block of an array into another array. Returns 0, or `EINVAL` if that is not possible. If both
    /// arrays are null, returns the largest number of dimensions.
    fn omp_target_memcpy_rect(
        dst: *mut c_void, src: *const c_void, element: size_t, dimensions: c_int,
        volume: *const size_t, dst_offsets: *const size_t, src_offsets: *const size_t,
        dst_dimensions: *const size_t, src_dimensions: *const size_t, dst_device: c_int,
        src_device: c_int,
    ) -> c_int {
        let shape = Shape {
            dimensions, volume, dst_offsets, src_offsets, dst_dimensions, src_dimensions,
        };
        // SAFETY: the program passes lists with one element for each dimension, and arrays of the extents in
        // the lists.
        unsafe { copy_rect(dst, src, element, &shape, dst_device, src_device) }
    }

    /// Associates device memory with host memory. Always refused: `EINVAL`, because the host is the only
    /// device.
    fn omp_target_associate_ptr(
        _host: *const c_void, _target: *const c_void, _size: size_t, _offset: size_t,
        device: c_int,
    ) -> c_int {
        device::is_host(device);
        EINVAL
    }

    /// Ends an association of `omp_target_associate_ptr`. Always refused: `EINVAL`.
    fn omp_target_disassociate_ptr(_host: *const c_void, device: c_int) -> c_int {
        device::is_host(device);
        EINVAL
    }

    "OMP_5.1.1" default:
    /// The device's address of host memory: the same address on the host, null for other devices.
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

    /// `omp_target_memcpy`, after the tasks that `count` depend objects name. The copy is complete when this
    /// function returns; OpenMP allows that.
    fn omp_target_memcpy_async(
        dst: *mut c_void, src: *const c_void, length: size_t, dst_offset: size_t,
        src_offset: size_t, dst_device: c_int, src_device: c_int, count: c_int,
        objects: *const [usize; 2],
    ) -> c_int {
        // SAFETY: the program passes the stated number of dependence objects, and `length` bytes at both places.
        unsafe {
            wait(count, objects);
            copy(dst, src, length, dst_offset, src_offset, dst_device, src_device)
        }
    }

    /// `omp_target_memcpy_rect` after the tasks that `count` depend objects name.
    fn omp_target_memcpy_rect_async(
        dst: *mut c_void, src: *const c_void, element: size_t, dimensions: c_int,
        volume: *const size_t, dst_offsets: *const size_t, src_offsets: *const size_t,
        dst_dimensions: *const size_t, src_dimensions: *const size_t, dst_device: c_int,
        src_device: c_int, count: c_int, objects: *const [usize; 2],
    ) -> c_int {
        let shape = Shape {
            dimensions, volume, dst_offsets, src_offsets, dst_dimensions, src_dimensions,
        };
        // SAFETY: the program passes the stated number of dependence objects, lists with one element for each
        // dimension, and arrays of the extents in the lists.
        unsafe {
            wait(count, objects);
            copy_rect(dst, src, element, &shape, dst_device, src_device)
        }
    }

    "GOMP_6.0" default:
    /// The number of the device with this name; -4 (`omp_invalid_device`) if there is none.
    fn omp_get_device_from_uid(uid: *const c_char) -> c_int {
        if uid.is_null() {
            return INVALID_DEVICE;
        }
        // SAFETY: the program passes a string.
        device_of(unsafe { CStr::from_ptr(uid) }.to_bytes())
    }

    /// Fortran form of `omp_get_device_from_uid`: a string and its length.
    fn omp_get_device_from_uid_(uid: *const c_char, length: size_t) -> c_int {
        if uid.is_null() {
            return INVALID_DEVICE;
        }
        // SAFETY: the compiled code passes `length` characters.
        device_of(unsafe { core::slice::from_raw_parts(uid.cast(), length) })
    }

    /// The name of a device; null if no device has this number.
    fn omp_get_uid_from_device(device: c_int) -> *const c_char {
        uid_of(device).map_or(core::ptr::null(), CStr::as_ptr)
    }

    /// Fortran form of `omp_get_uid_from_device`: a function whose result is a pointer to a string.
    fn omp_get_uid_from_device_(
        result: *mut *const c_char, length: *mut size_t, device: i32,
    ) {
        // SAFETY: the compiled code passes places for the result.
        unsafe { super::interop::to_fortran(uid_of(device), result, length) };
    }

    /// Fortran form of `omp_get_uid_from_device` for 8-byte integers.
    fn omp_get_uid_from_device_8_(
        result: *mut *const c_char, length: *mut size_t, device: i64,
    ) {
        // SAFETY: the compiled code passes places for the result.
        unsafe { super::interop::to_fortran(uid_of(super::to_int(device)), result, length) };
    }

    "GOMP_6.0.1" default:
    /// Fills device memory, and returns its address.
    fn omp_target_memset(
        memory: *mut c_void, value: c_int, size: size_t, device: c_int,
    ) -> *mut c_void {
        // SAFETY: the program passes `size` bytes.
        unsafe { fill(memory, value, size, device) }
    }

    /// `omp_target_memset` after the tasks that `count` depend objects name.
    fn omp_target_memset_async(
        memory: *mut c_void, value: c_int, size: size_t, device: c_int, count: c_int,
        objects: *const [usize; 2],
    ) -> *mut c_void {
        // SAFETY: the program passes the stated number of dependence objects, and `size` bytes.
        unsafe {
            wait(count, objects);
            fill(memory, value, size, device)
        }
    }
}

// libomp's Fortran forms take other arguments than libgomp's: only those of C have both nodes.
crate::entry::stub!(
    (omp_get_device_from_uid),
    "omp_get_device_from_uid",
    "VERSION",
    "@"
);
crate::entry::stub!(
    (omp_get_uid_from_device),
    "omp_get_uid_from_device",
    "VERSION",
    "@"
);
crate::entry::stub!((omp_target_memset), "omp_target_memset", "VERSION", "@");
crate::entry::stub!(
    (omp_target_memset_async),
    "omp_target_memset_async",
    "VERSION",
    "@"
);

/// The host's name, and the numbers `omp_initial_device` and `omp_invalid_device`. All are the same as in
/// libgomp.
const HOST_UID: &CStr = c"OMP_INITIAL_DEVICE";
const INITIAL_DEVICE: c_int = -1;
const INVALID_DEVICE: c_int = -4;

/// The number of the device with this name; the invalid number if there is none.
fn device_of(uid: &[u8]) -> c_int {
    if uid == HOST_UID.to_bytes() {
        INITIAL_DEVICE
    } else {
        INVALID_DEVICE
    }
}

/// The name of the device with this number, if there is one.
fn uid_of(number: c_int) -> Option<&'static CStr> {
    (number == INITIAL_DEVICE || number == device::num_devices()).then_some(HOST_UID)
}

/// Does the work of `omp_target_memset`.
///
/// # Safety
/// `memory` has `size` bytes.
unsafe fn fill(memory: *mut c_void, value: c_int, size: usize, device: c_int) -> *mut c_void {
    if device::is_host(device) {
        // SAFETY: `memory` has `size` bytes: this function's contract.
        unsafe { core::ptr::write_bytes(memory.cast::<u8>(), value as u8, size) };
    }
    memory
}

/// Waits for the tasks that `count` depend objects name.
///
/// # Safety
/// `objects` has `count` initialised elements.
unsafe fn wait(count: c_int, objects: *const [usize; 2]) {
    let list: Vec<Dependence> = (0..usize::try_from(count).unwrap_or(0))
        .map(|i| {
            // SAFETY: `objects` has `count` initialised elements, of which this is one: this function's contract.
            let [address, kind] = unsafe { *objects.add(i) };
            Dependence {
                address,
                kind: kind_of(kind),
            }
        })
        .collect();
    if !list.is_empty() {
        device::take_turn(Thread::current(), &list, false);
    }
}

/// The lists that describe a block of an array, as C passes them.
struct Shape {
    dimensions: c_int,
    volume: *const size_t,
    dst_offsets: *const size_t,
    src_offsets: *const size_t,
    dst_dimensions: *const size_t,
    src_dimensions: *const size_t,
}

/// Does the work of `omp_target_memcpy_rect`.
///
/// # Safety
/// Each list of the shape has one element for each dimension, and both arrays have the extents in the lists.
unsafe fn copy_rect(
    dst: *mut c_void,
    src: *const c_void,
    element: usize,
    shape: &Shape,
    dst_device: c_int,
    src_device: c_int,
) -> c_int {
    if dst.is_null() && src.is_null() {
        return c_int::MAX;
    }
    if !device::is_host(dst_device) || !device::is_host(src_device) {
        return EINVAL;
    }
    let Ok(n @ 1..) = usize::try_from(shape.dimensions) else {
        return EINVAL;
    };
    // SAFETY: this function's contract: the lists have one element for each dimension, and both arrays have
    // the extents in the lists. (With one dimension the two extents are not read, and may be anything.)
    let done = unsafe {
        let list = |p: *const size_t| core::slice::from_raw_parts(p, n);
        let extents = |p: *const size_t| if n == 1 { &[] } else { list(p) };
        let rect = Rect {
            volume: list(shape.volume),
            dst_offsets: list(shape.dst_offsets),
            src_offsets: list(shape.src_offsets),
            dst_dimensions: extents(shape.dst_dimensions),
            src_dimensions: extents(shape.src_dimensions),
        };
        device::copy_rect(dst.cast(), src.cast(), element, &rect)
    };
    if done.is_some() {
        0
    } else {
        EINVAL
    }
}

/// Does the work of `omp_target_memcpy`.
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
    // SAFETY: both places have `length` bytes at their offsets: this function's contract. They may overlap,
    // because the copy is done as by memmove.
    unsafe {
        core::ptr::copy(
            src.cast::<u8>().add(src_offset),
            dst.cast::<u8>().add(dst_offset),
            length,
        );
    }
    0
}
