//! Matrix Market files, as the programs of `c-tests/apps` read them.
//!
//! The C function reads a buffer as far as its length says, and ends what it writes with a zero byte.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::ffi::{c_char, c_int, CStr};

extern "C" {
    fn fuzz_matrix(bytes: *mut c_char, n: usize, why: *mut c_char, room: usize) -> c_int;
}

// The C part is linked with the library of this package.
use hetmp_fuzz as _;

fuzz_target!(|bytes: &[u8]| {
    let (mut bytes, mut why) = (bytes.to_vec(), [0; 200]);
    // SAFETY: two live buffers with their lengths; the first is only read.
    let good = unsafe {
        fuzz_matrix(
            bytes.as_mut_ptr().cast(),
            bytes.len(),
            why.as_mut_ptr(),
            why.len(),
        )
    };
    if good == 0 {
        // SAFETY: what is wrong was printed there, with an end.
        let why = unsafe { CStr::from_ptr(why.as_ptr()) };
        assert!(!why.is_empty());
    }
});
