//! Interoperability with other offload programming models (OpenMP 5.1, section 3.12; 6.0, chapter 26).
//!
//! There are no devices, so no object can be made. Every object is `omp_interop_none`, which has no
//! properties. The routines that return names of properties and meanings of return codes work.

use crate::entry::entries;
use core::ffi::CStr;
use libc::{c_char, c_int, c_void, intptr_t, size_t};

// Return codes.
const NO_VALUE: c_int = 1;
const SUCCESS: c_int = 0;
const EMPTY: c_int = -1;
const OUT_OF_RANGE: c_int = -2;
const TYPE_INT: c_int = -3;
const TYPE_PTR: c_int = -4;
const TYPE_STR: c_int = -5;

/// The names of the properties. The first belongs to number -1 (`omp_ipr_fr_id`), the next to -2, and so on.
const PROPERTIES: [&CStr; 9] = [
    c"fr_id",
    c"fr_name",
    c"vendor",
    c"vendor_name",
    c"device_num",
    c"platform",
    c"device",
    c"device_context",
    c"targetsync",
];

/// The name of the property with this number; `None` for other numbers.
fn property(id: c_int) -> Option<&'static CStr> {
    let place = usize::try_from(id.checked_neg()? - 1).ok()?;
    PROPERTIES.get(place).copied()
}

/// The meaning of a return code; `None` for codes that never occur here.
fn meaning(code: c_int) -> Option<&'static CStr> {
    Some(match code {
        NO_VALUE => c"the property has no meaningful value",
        SUCCESS => c"the value was read",
        // Programs compare this text, so its words are libgomp's.
        EMPTY => c"provided interoperability object is equal to omp_interop_none",
        OUT_OF_RANGE => c"there is no property of this number",
        TYPE_INT => c"the property is an integer: omp_get_interop_int",
        TYPE_PTR => c"the property is a pointer: omp_get_interop_ptr",
        TYPE_STR => c"the property is a string: omp_get_interop_str",
        _ => return None,
    })
}

/// Writes the code that tells why no property can be read: there is no property with this number, or there is
/// no object.
///
/// # Safety
/// `code` is null, or points to an integer of the program.
unsafe fn refuse(id: c_int, code: *mut c_int) {
    let why = if property(id).is_some() {
        EMPTY
    } else {
        OUT_OF_RANGE
    };
    if !code.is_null() {
        // SAFETY: not null, and so an integer of the program: this function's contract.
        unsafe { *code = why };
    }
}

fn pointer(text: Option<&'static CStr>) -> *const c_char {
    text.map_or(core::ptr::null(), CStr::as_ptr)
}

/// Returns a text as a Fortran pointer to a character string. If there is no text, the pointer is
/// disassociated.
///
/// # Safety
/// Both places may be written.
pub(super) unsafe fn to_fortran(
    text: Option<&'static CStr>,
    result: *mut *const c_char,
    length: *mut size_t,
) {
    // SAFETY: both places may be written: this function's contract.
    unsafe {
        *result = pointer(text);
        *length = text.map_or(0, CStr::count_bytes);
    }
}

entries! {
    "GOMP_5.1.3" default:
    /// The `interop` construct, with objects to make, to use and to destroy. All of them become
    /// `omp_interop_none`. Beyond that only the construct's dependences count.
    fn GOMP_interop(
        device: c_int, inits: c_int, init: *const *mut *mut c_void, _targetsync: *const c_void,
        _prefer: *const c_void, _uses: c_int, _used: *const *mut c_void, destroys: c_int,
        destroy: *const *mut *mut c_void, flags: libc::c_uint, depend: *const *mut c_void,
    ) {
        hetmp_omp::device::settle_for_host(device);
        // SAFETY: the compiled code passes arrays with the stated numbers of addresses of objects, and a list
        // of dependences or null.
        unsafe {
            crate::gomp::target::take_turn(depend, flags);
            for (count, objects) in [(inits, init), (destroys, destroy)] {
                for i in 0..usize::try_from(count).unwrap_or(0) {
                    **objects.add(i) = core::ptr::null_mut();
                }
            }
        }
    }

    /// The number of properties beyond those that OpenMP names.
    fn omp_get_num_interop_properties(_object: *const c_void) -> c_int {
        0
    }

    /// The value of an integer property.
    fn omp_get_interop_int(_object: *const c_void, id: c_int, code: *mut c_int) -> intptr_t {
        // SAFETY: the program passes null or a place for the code.
        unsafe { refuse(id, code) };
        0
    }

    /// The value of a pointer property.
    fn omp_get_interop_ptr(
        _object: *const c_void, id: c_int, code: *mut c_int,
    ) -> *mut c_void {
        // SAFETY: the program passes null or a place for the code.
        unsafe { refuse(id, code) };
        core::ptr::null_mut()
    }

    /// The value of a string property.
    fn omp_get_interop_str(
        _object: *const c_void, id: c_int, code: *mut c_int,
    ) -> *const c_char {
        // SAFETY: the program passes null or a place for the code.
        unsafe { refuse(id, code) };
        core::ptr::null()
    }

    /// The name of a property.
    fn omp_get_interop_name(_object: *const c_void, id: c_int) -> *const c_char {
        pointer(property(id))
    }

    /// The type of a property, as C writes it. Always null, because no object has properties.
    fn omp_get_interop_type_desc(_object: *const c_void, _id: c_int) -> *const c_char {
        core::ptr::null()
    }

    /// The meaning of a return code.
    fn omp_get_interop_rc_desc(_object: *const c_void, code: c_int) -> *const c_char {
        pointer(meaning(code))
    }

    /// Fortran form of `omp_get_interop_str`: a function whose result is a pointer to a string.
    fn omp_get_interop_str_(
        result: *mut *const c_char, length: *mut size_t, _object: *const c_void, id: c_int,
        code: *mut c_int,
    ) {
        // SAFETY: the compiled code passes places for the result, and null or one for the code.
        unsafe {
            refuse(id, code);
            to_fortran(None, result, length);
        }
    }

    /// Fortran form of `omp_get_interop_name`.
    fn omp_get_interop_name_(
        result: *mut *const c_char, length: *mut size_t, _object: *const c_void, id: c_int,
    ) {
        // SAFETY: the compiled code passes places for the result.
        unsafe { to_fortran(property(id), result, length) };
    }

    /// Fortran form of `omp_get_interop_type_desc`.
    fn omp_get_interop_type_desc_(
        result: *mut *const c_char, length: *mut size_t, _object: *const c_void, _id: c_int,
    ) {
        // SAFETY: the compiled code passes places for the result.
        unsafe { to_fortran(None, result, length) };
    }

    /// Fortran form of `omp_get_interop_rc_desc`.
    fn omp_get_interop_rc_desc_(
        result: *mut *const c_char, length: *mut size_t, _object: *const c_void, code: c_int,
    ) {
        // SAFETY: the compiled code passes places for the result.
        unsafe { to_fortran(meaning(code), result, length) };
    }
}

// libomp has these routines at its own version node. Its Fortran forms take the same arguments as the C
// forms.
macro_rules! at_libomps_node {
    ($($name:ident $fortran:literal;)+) => {$(
        crate::entry::stub!(($name), stringify!($name), "VERSION", "@");
        crate::entry::stub!(($name), $fortran, "VERSION", "@@");
    )+};
}

at_libomps_node! {
    omp_get_num_interop_properties "omp_get_num_interop_properties_";
    omp_get_interop_int "omp_get_interop_int_";
    omp_get_interop_ptr "omp_get_interop_ptr_";
    omp_get_interop_str "omp_get_interop_str_";
    omp_get_interop_name "omp_get_interop_name_";
    omp_get_interop_type_desc "omp_get_interop_type_desc_";
    omp_get_interop_rc_desc "omp_get_interop_rc_desc_";
}
