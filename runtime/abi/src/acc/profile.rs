//! The profiling interface of `acc_prof.h`.

use crate::entry::entries;
use hetmp_core::report;
use hetmp_omp::acc::profile::{self, Callback};
use libc::{c_char, c_int, c_void};

entries! {
    "OACC_2.5.1" default:
    /// Registers a callback for an event, or switches callbacks on.
    fn acc_prof_register(event: c_int, callback: Option<Callback>, how: c_int) {
        profile::register(event, callback, how, true);
    }

    /// Removes a callback, or switches callbacks off.
    fn acc_prof_unregister(event: c_int, callback: Option<Callback>, how: c_int) {
        profile::register(event, callback, how, false);
    }

    /// Looks up a function of the runtime by name, for a tool; there are none.
    fn acc_prof_lookup(_name: *const c_char) -> *const c_void {
        core::ptr::null()
    }

    /// A profiling library defines a function of this name, and the runtime calls that one. If a program
    /// calls the runtime's own, no library defines it, and the program ends.
    fn acc_register_library(
        _register: *const c_void, _unregister: *const c_void, _lookup: *const c_void,
    ) {
        report::fatal(format_args!(
            "acc_register_library called in the runtime: it is to be defined by the profiling \
             library, and named by ACC_PROFLIB"
        ));
    }
}
