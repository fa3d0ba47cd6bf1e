//! Functions for libgomp's offload plugins: `GOMP_PLUGIN_*`. hetmp has no devices and so never loads a
//! plugin. Functions that make sense without a device work; the others end the program with a line.

use crate::entry::entries;
use crate::variadic::{variadic, VaList};
use hetmp_core::report;
use hetmp_omp::acc::profile::{self, ApiInfo, EventInfo, Info};
use hetmp_omp::init;
use libc::{c_char, c_int, c_uint, c_void, size_t};

extern "C" {
    fn vsnprintf(
        buffer: *mut c_char,
        size: size_t,
        format: *const c_char,
        arguments: *mut VaList,
    ) -> c_int;
}

fn no_plugins(what: &str) -> ! {
    report::fatal(format_args!(
        "{what} called: only by an offload plugin, and hetmp has no devices to load one for"
    ))
}

/// Returns `memory`. If it is null although `size` bytes were wanted, ends the program.
fn checked(memory: *mut c_void, size: size_t) -> *mut c_void {
    if memory.is_null() && size != 0 {
        report::fatal(format_args!("out of memory allocating {size} bytes"));
    }
    memory
}

entries! {
    "GOMP_PLUGIN_1.0" default:
    /// Allocates, or ends the program.
    fn GOMP_PLUGIN_malloc(size: size_t) -> *mut c_void {
        // SAFETY: malloc takes any size.
        checked(unsafe { libc::malloc(size) }, size)
    }

    /// Allocates zeroed memory, or ends the program.
    fn GOMP_PLUGIN_malloc_cleared(size: size_t) -> *mut c_void {
        // SAFETY: calloc takes any size.
        checked(unsafe { libc::calloc(1, size) }, size)
    }

    /// Changes a block's size, or ends the program.
    fn GOMP_PLUGIN_realloc(block: *mut c_void, size: size_t) -> *mut c_void {
        // SAFETY: the plugin passes what it got from these functions.
        checked(unsafe { libc::realloc(block, size) }, size)
    }

    /// Was for asynchronous unmapping; libgomp does not use this function any more, either.
    fn GOMP_PLUGIN_async_unmap_vars(_data: *mut c_void, _queue: c_int) {
        no_plugins("GOMP_PLUGIN_async_unmap_vars");
    }

    /// The plugin's data of the calling thread: none.
    fn GOMP_PLUGIN_acc_thread() -> *mut c_void {
        core::ptr::null_mut()
    }

    "GOMP_PLUGIN_1.1" default:
    /// Called when a device has run a task; ends the program, because there are no devices.
    fn GOMP_PLUGIN_target_task_completion(_task: *mut c_void) {
        no_plugins("GOMP_PLUGIN_target_task_completion");
    }

    "GOMP_PLUGIN_1.2" default:
    /// A default launch dimension (from `GOMP_OPENACC_DIM`): 0 gang, 1 worker, 2 vector.
    fn GOMP_PLUGIN_acc_default_dim(which: c_uint) -> c_int {
        match init::globals().acc_dimensions.get(which as usize) {
            Some(&n) => n,
            None => report::fatal(format_args!(
                "OpenACC launch dimension {which}: 0 (gang), 1 (worker) or 2 (vector)"
            )),
        }
    }

    "GOMP_PLUGIN_1.3" default:
    /// Calls the callbacks that a profiling library has registered for an event.
    fn GOMP_PLUGIN_goacc_profiling_dispatch(
        info: *mut Info, event: *mut EventInfo, api: *mut ApiInfo,
    ) {
        // SAFETY: the plugin passes its structures.
        unsafe { profile::dispatch(info, event, api) };
    }

    /// libgomp's internal structure of the calling thread; ends the program, because hetmp has no such
    /// structure.
    fn GOMP_PLUGIN_goacc_thread() -> *mut c_void {
        no_plugins("GOMP_PLUGIN_goacc_thread");
    }
}

/// Formats a message of at most 1023 bytes; the rest is cut off.
///
/// # Safety
/// `format` and `arguments` fit each other.
unsafe fn message(format: *const c_char, arguments: *mut VaList) -> String {
    let mut buffer = [0u8; 1024];
    // SAFETY: `format` and `arguments` fit each other: this function's contract. The buffer has the size that
    // is passed.
    let n = unsafe { vsnprintf(buffer.as_mut_ptr().cast(), buffer.len(), format, arguments) };
    let n = usize::try_from(n).unwrap_or(0).min(buffer.len() - 1);
    String::from_utf8_lossy(&buffer[..n]).into_owned()
}

/// `GOMP_PLUGIN_debug(kind, format, ...)`: writes a message under `GOMP_DEBUG`.
unsafe extern "C" fn debug(named: *const u64, rest: *mut VaList) {
    if init::globals().debug != 0 {
        // SAFETY: the entry passes the named arguments and its list; the plugin's format fits.
        let text = unsafe { message((*named.add(1)) as *const c_char, rest) };
        report::write_all(libc::STDERR_FILENO, text.as_bytes());
    }
}

/// `GOMP_PLUGIN_error(format, ...)`: reports an error.
unsafe extern "C" fn error(named: *const u64, rest: *mut VaList) {
    // SAFETY: the entry passes the named arguments and its list; the plugin's format fits them.
    let text = unsafe { message(*named as *const c_char, rest) };
    report::warn(format_args!("offload plugin: {text}"));
}

/// `GOMP_PLUGIN_fatal(format, ...)`: reports an error and ends the program.
unsafe extern "C" fn fatal(named: *const u64, rest: *mut VaList) {
    // SAFETY: the entry passes the named arguments and its list; the plugin's format fits them.
    let text = unsafe { message(*named as *const c_char, rest) };
    report::fatal(format_args!("offload plugin: {text}"));
}

variadic!(debug, "GOMP_PLUGIN_debug", "GOMP_PLUGIN_1.0", 2);
variadic!(error, "GOMP_PLUGIN_error", "GOMP_PLUGIN_1.0", 1);
variadic!(fatal, "GOMP_PLUGIN_fatal", "GOMP_PLUGIN_1.0", 1);
