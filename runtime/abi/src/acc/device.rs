//! Devices: choosing, initialising, asking.

use crate::entry::entries;
use crate::omp::alias;
use hetmp_omp::acc;
use libc::{c_char, c_int, c_void, size_t};

entries! {
    "OACC_2.0" default:
    /// The number of devices of a type.
    fn acc_get_num_devices(kind: c_int) -> c_int {
        acc::num_devices(kind)
    }

    /// Fortran form of `acc_get_num_devices`.
    fn acc_get_num_devices_h_(kind: &c_int) -> c_int {
        acc::num_devices(*kind)
    }

    /// Chooses the type of device.
    fn acc_set_device_type(kind: c_int) {
        acc::set_device_type(kind);
    }

    /// Fortran form of `acc_set_device_type`.
    fn acc_set_device_type_h_(kind: &c_int) {
        acc::set_device_type(*kind);
    }

    /// The type of the current device.
    fn acc_get_device_type() -> c_int {
        acc::device_type()
    }

    /// Chooses the device of a type.
    fn acc_set_device_num(number: c_int, kind: c_int) {
        acc::set_device_num(number, kind);
    }

    /// Fortran form of `acc_set_device_num`.
    fn acc_set_device_num_h_(number: *const c_int, kind: *const c_int) {
        // SAFETY: the program passes integers.
        unsafe { acc::set_device_num(*number, *kind) };
    }

    /// The number of the current device of a type.
    fn acc_get_device_num(kind: c_int) -> c_int {
        acc::device_num(kind)
    }

    /// Fortran form of `acc_get_device_num`.
    fn acc_get_device_num_h_(kind: &c_int) -> c_int {
        acc::device_num(*kind)
    }

    /// Initialises the runtime for a type of device.
    fn acc_init(kind: c_int) {
        acc::acc_init(kind);
    }

    /// Fortran form of `acc_init`.
    fn acc_init_h_(kind: &c_int) {
        acc::acc_init(*kind);
    }

    /// Shuts the runtime down for a type of device.
    fn acc_shutdown(kind: c_int) {
        acc::acc_shutdown(kind);
    }

    /// Fortran form of `acc_shutdown`.
    fn acc_shutdown_h_(kind: &c_int) {
        acc::acc_shutdown(*kind);
    }

    /// Does the call run on a device of this type?
    fn acc_on_device(kind: c_int) -> c_int {
        c_int::from(acc::on_device(kind))
    }

    /// Fortran form of `acc_on_device`.
    fn acc_on_device_h_(kind: &c_int) -> c_int {
        c_int::from(acc::on_device(*kind))
    }

    /// The CUDA device in use: none.
    fn acc_get_current_cuda_device() -> *mut c_void {
        core::ptr::null_mut()
    }

    /// The CUDA context in use: none.
    fn acc_get_current_cuda_context() -> *mut c_void {
        core::ptr::null_mut()
    }

    /// The CUDA stream of a queue: none.
    fn acc_get_cuda_stream(_queue: c_int) -> *mut c_void {
        core::ptr::null_mut()
    }

    /// Sets the CUDA stream of a queue: -1 where there is no CUDA, 0 for bad arguments.
    fn acc_set_cuda_stream(queue: c_int, stream: *mut c_void) -> c_int {
        if !acc::is_async(queue) || stream.is_null() {
            return 0;
        }
        acc::ready();
        -1
    }

    "OACC_2.6" default:
    /// A number property of a device; the host has none.
    fn acc_get_property(number: c_int, kind: c_int, property: c_int) -> size_t {
        acc::number_property(number, kind, property)
    }

    /// A string property of a device, or null.
    fn acc_get_property_string(
        number: c_int, kind: c_int, property: c_int,
    ) -> *const c_char {
        acc::property(number, kind, property).map_or(core::ptr::null(), core::ffi::CStr::as_ptr)
    }

    /// Fortran form of `acc_get_property_string`; the text is filled up with blanks.
    fn acc_get_property_string_h_(
        number: c_int, kind: c_int, property: c_int, text: *mut c_char, length: size_t,
    ) {
        let value = acc::property(number, kind, property).map_or(&b""[..], |s| s.to_bytes());
        for i in 0..length {
            let c = value.get(i).copied().unwrap_or(b' ');
            // SAFETY: the program passes a string of that length.
            unsafe { text.add(i).write(c as c_char) };
        }
    }
}

// The Fortran arguments of acc_get_property have the VALUE attribute.
alias! {
    "OACC_2.0": acc_get_device_type = "acc_get_device_type_h_";
    "OACC_2.6": acc_get_property = "acc_get_property_h_";
}
