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

    /// Takes a callback back, or switches callbacks off.
    fn acc_prof_unregister(event: c_int, callback: Option<Callback>, how: c_int) {
        profile::register(event, callback, how, false);
    }

    /// Functions of the runtime that a tool may ask for by name: none.
    fn acc_prof_lookup(_name: *const c_char) -> *const c_void {
        core::ptr::null()
    }

    /// Profiling libraries define this; there is nothing to be done by the runtime's own.
    fn acc_register_library(
        _register: *const c_void, _unregister: *const c_void, _lookup: *const c_void,
    ) {
        report::fatal(format_args!(
            "acc_register_library called in the runtime: it is to be defined by the profiling \
             library, and named by ACC_PROFLIB"
        ));
    }
}
