//! Functions of libomp's `omp.h` that OpenMP does not have (`kmp_*`), and second names of OpenMP routines.
//!
//! Most functions have a Fortran form, whose name ends with an underscore and whose arguments are addresses.

use crate::entry::{entries, export};
use hetmp_core::report;
use hetmp_omp::icv::TargetOffload;
use hetmp_omp::{device, init, query};
use libc::{c_char, c_void, size_t};
use std::ffi::CStr;

/// A program's variable for a set of CPUs: a pointer to a set on the heap.
type Mask = *mut libc::cpu_set_t;

const CPUS: i32 = libc::CPU_SETSIZE;

/// Changes a mask or asks about it, for CPU `proc`. Returns -1 if there is no mask, and -2 if there is no
/// such CPU.
///
/// # Safety
/// `mask` is null, or a variable with a mask.
unsafe fn with_proc(
    proc: i32,
    mask: *const Mask,
    f: impl FnOnce(usize, &mut libc::cpu_set_t) -> i32,
) -> i32 {
    // SAFETY: `mask` is null or a variable with a mask: this function's contract.
    let Some(set) = (unsafe { mask.as_ref().and_then(|m| m.as_mut()) }) else {
        return -1;
    };
    if (0..CPUS).contains(&proc) {
        f(proc as usize, set)
    } else {
        -2
    }
}

/// How long threads spin before they sleep if the user said nothing, in milliseconds.
const BLOCKTIME_MS: i32 = 200;

entries! {
    "VERSION" default:
    /// Allocates memory.
    fn kmp_malloc(size: size_t) -> *mut c_void {
        // SAFETY: malloc has no preconditions.
        unsafe { libc::malloc(size) }
    }

    /// Allocates memory with an alignment.
    fn kmp_aligned_malloc(size: size_t, align: size_t) -> *mut c_void {
        let mut p = core::ptr::null_mut();
        // SAFETY: `p` is a variable of this function.
        let error = unsafe { libc::posix_memalign(&mut p, align.max(size_of::<usize>()), size) };
        if error == 0 { p } else { core::ptr::null_mut() }
    }

    /// Allocates zeroed memory.
    fn kmp_calloc(count: size_t, size: size_t) -> *mut c_void {
        // SAFETY: calloc has no preconditions.
        unsafe { libc::calloc(count, size) }
    }

    /// Changes a block's size.
    fn kmp_realloc(block: *mut c_void, size: size_t) -> *mut c_void {
        // SAFETY: the program passes what it got from these routines.
        unsafe { libc::realloc(block, size) }
    }

    /// Frees memory.
    fn kmp_free(block: *mut c_void) {
        // SAFETY: the program frees what it got from these routines, once.
        unsafe { libc::free(block) };
    }

    /// Sets how long threads wait before they sleep, in milliseconds; the largest value: for ever.
    fn kmp_set_blocktime(ms: i32) {
        init::set_blocktime(ms.max(0));
    }

    /// Fortran form of `kmp_set_blocktime`.
    fn kmp_set_blocktime_(ms: &i32) {
        init::set_blocktime((*ms).max(0));
    }

    /// The value that `kmp_set_blocktime` sets.
    fn kmp_get_blocktime() -> i32 {
        init::blocktime().unwrap_or(BLOCKTIME_MS)
    }

    /// Sets the stack size of threads that are made from now on, in bytes.
    fn kmp_set_stacksize_s(bytes: size_t) {
        init::set_stack_size(bytes);
    }

    /// `kmp_set_stacksize_s` with an `int`.
    fn kmp_set_stacksize(bytes: i32) {
        init::set_stack_size(bytes.max(0) as usize);
    }

    /// Fortran form of `kmp_set_stacksize_s`.
    fn kmp_set_stacksize_s_(bytes: *const size_t) {
        // SAFETY: the program passes an integer.
        init::set_stack_size(unsafe { *bytes });
    }

    /// Fortran form of `kmp_set_stacksize`.
    fn kmp_set_stacksize_(bytes: &i32) {
        init::set_stack_size((*bytes).max(0) as usize);
    }

    /// The value that `kmp_set_stacksize_s` sets.
    fn kmp_get_stacksize_s() -> size_t {
        init::stack_size()
    }

    /// `kmp_get_stacksize_s`, cut to the range of an `int`.
    fn kmp_get_stacksize() -> i32 {
        i32::try_from(init::stack_size()).unwrap_or(i32::MAX)
    }

    /// Makes an empty mask.
    fn kmp_create_affinity_mask(mask: *mut Mask) {
        // SAFETY: all bytes zero is an empty set; the program passes a variable.
        unsafe { mask.write(Box::into_raw(Box::new(core::mem::zeroed()))) };
    }

    /// Destroys a mask.
    fn kmp_destroy_affinity_mask(mask: *mut Mask) {
        // SAFETY: the program destroys a mask that `kmp_create_affinity_mask` made.
        unsafe {
            let set = mask.replace(core::ptr::null_mut());
            if !set.is_null() {
                drop(Box::from_raw(set));
            }
        }
    }

    /// Binds the calling thread to the CPUs of a mask. 0 on success.
    fn kmp_set_affinity(mask: *const Mask) -> i32 {
        // SAFETY: the program passes a variable with a mask.
        match unsafe { mask.as_ref().and_then(|m| m.as_ref()) } {
            // SAFETY: the set has the size that is passed.
            Some(set) => unsafe { libc::sched_setaffinity(0, size_of_val(set), set) },
            None => -1,
        }
    }

    /// Writes the calling thread's CPUs to a mask. 0 on success.
    fn kmp_get_affinity(mask: *const Mask) -> i32 {
        // SAFETY: the program passes a variable with a mask.
        match unsafe { mask.as_ref().and_then(|m| m.as_mut()) } {
            // SAFETY: the set has the size that is passed.
            Some(set) => unsafe { libc::sched_getaffinity(0, size_of_val(set), set) },
            None => -1,
        }
    }

    /// The number of configured CPUs: one more than the largest number that a mask may hold, if the numbers
    /// have no gaps.
    fn kmp_get_affinity_max_proc() -> i32 {
        // SAFETY: sysconf has no preconditions.
        let configured = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
        i32::try_from(configured).unwrap_or(CPUS).clamp(1, CPUS)
    }

    /// Adds a CPU to a mask.
    fn kmp_set_affinity_mask_proc(proc: i32, mask: *const Mask) -> i32 {
        // SAFETY: the program passes a variable with a mask. `with_proc` has checked the CPU's number.
        unsafe { with_proc(proc, mask, |cpu, set| { libc::CPU_SET(cpu, set); 0 }) }
    }

    /// Removes a CPU from a mask.
    fn kmp_unset_affinity_mask_proc(proc: i32, mask: *const Mask) -> i32 {
        // SAFETY: the program passes a variable with a mask. `with_proc` has checked the CPU's number.
        unsafe { with_proc(proc, mask, |cpu, set| { libc::CPU_CLR(cpu, set); 0 }) }
    }

    /// Is a CPU in a mask?
    fn kmp_get_affinity_mask_proc(proc: i32, mask: *const Mask) -> i32 {
        // SAFETY: the program passes a variable with a mask. `with_proc` has checked the CPU's number.
        unsafe { with_proc(proc, mask, |cpu, set| i32::from(libc::CPU_ISSET(cpu, set))) }
    }

    /// Has no effect: any number of loops may be in flight.
    fn kmp_set_disp_num_buffers(_count: i32) {}

    /// The number of threads of the process that the runtime has met.
    fn kmp_get_num_known_threads() -> i32 {
        hetmp_omp::ahead::highest_index() as i32 + 1
    }

    /// How threads wait: 1 serial, 2 turnaround, 3 throughput.
    fn kmp_get_library() -> i32 {
        if query::icv().max_active_levels == 0 { 1 } else if init::blocktime() == Some(i32::MAX) { 2 } else { 3 }
    }

    /// Takes settings that replace those of the environment: `NAME=value`, separated by `|`. They count only
    /// before the first use of OpenMP.
    fn kmp_set_defaults(text: *const c_char) {
        // SAFETY: the program passes a string.
        preset(unsafe { CStr::from_ptr(text) }.to_bytes());
    }

    /// Fortran form of `kmp_set_defaults`; the length of the text is an argument.
    fn kmp_set_defaults_(text: *const c_char, length: i32) {
        // SAFETY: the program passes a string of that length.
        preset(unsafe { core::slice::from_raw_parts(text.cast(), length.max(0) as usize) });
    }

    /// Lets the runtime print warnings.
    fn kmp_set_warnings_on() {
        init::once();
        report::set_quiet(false);
    }

    /// Keeps the runtime from printing warnings.
    fn kmp_set_warnings_off() {
        init::once();
        report::set_quiet(true);
    }

    /// Lets the calling thread run on all CPUs that the process had at its start. 0 on success.
    fn kmp_set_thread_affinity_mask_initial() -> i32 {
        match hetmp_core::topo::set_affinity(&init::globals().allowed) {
            Ok(()) => 0,
            Err(error) => error.raw_os_error().unwrap_or(-1),
        }
    }

    /// `omp_pause_resource` for the host, for libomptarget. 0 on success.
    fn __kmpc_pause_resource(_kind: i32) -> i32 {
        i32::from(!query::pause())
    }

    /// `OMP_TARGET_OFFLOAD`, for libomptarget: 0 disabled, 1 default, 2 mandatory.
    fn __kmpc_get_target_offload() -> i32 {
        match device::target_offload() {
            TargetOffload::Disabled => 0,
            TargetOffload::Default => 1,
            TargetOffload::Mandatory => 2,
        }
    }

    /// Sets how threads wait. 1 (serial): no region has more than one thread. 2 (turnaround): threads
    /// spin for ever. Anything else, such as 3 (throughput): threads spin for the usual time, and then
    /// sleep.
    fn kmp_set_library(kind: i32) {
        set_library(kind);
    }

    /// Lets no region have more than one thread from now on (`kmp_set_library(1)`).
    fn kmp_set_library_serial() {
        set_library(1);
    }

    /// Lets waiting threads spin for ever (`kmp_set_library(2)`).
    fn kmp_set_library_turnaround() {
        set_library(2);
    }

    /// Lets waiting threads spin for the usual time, and then sleep (`kmp_set_library(3)`).
    fn kmp_set_library_throughput() {
        set_library(3);
    }
}

fn preset(text: &[u8]) {
    for setting in text.split(|&b| b == b'|').map(<[u8]>::trim_ascii) {
        if hetmp_core::env::preset(setting) {
            continue;
        }
        // This setting counts later, too, because nothing made at the first use of OpenMP depends on it.
        if let Some(value) = setting.strip_prefix(b"OMP_TARGET_OFFLOAD=") {
            device::set_target_offload(value);
        } else {
            report::warn(format_args!(
                "kmp_set_defaults {}: a setting before the first use of OpenMP",
                String::from_utf8_lossy(setting)
            ));
        }
    }
}

fn set_library(kind: i32) {
    match kind {
        1 => query::change_icv(|icv| icv.max_active_levels = 0),
        2 => init::set_blocktime(i32::MAX),
        _ => init::set_blocktime(BLOCKTIME_MS),
    }
}

export!(kmp_set_defaults, "kmpc_set_defaults", "VERSION", "@@");
export!(kmp_set_warnings_on, "kmp_set_warnings_on_", "VERSION", "@@");
export!(
    kmp_set_warnings_off,
    "kmp_set_warnings_off_",
    "VERSION",
    "@@"
);
export!(kmp_malloc, "kmpc_malloc", "VERSION", "@@");
export!(kmp_aligned_malloc, "kmpc_aligned_malloc", "VERSION", "@@");
export!(kmp_calloc, "kmpc_calloc", "VERSION", "@@");
export!(kmp_realloc, "kmpc_realloc", "VERSION", "@@");
export!(kmp_free, "kmpc_free", "VERSION", "@@");
export!(kmp_set_blocktime, "kmpc_set_blocktime", "VERSION", "@@");
export!(kmp_set_stacksize, "kmpc_set_stacksize", "VERSION", "@@");
export!(kmp_set_stacksize_s, "kmpc_set_stacksize_s", "VERSION", "@@");
export!(kmp_set_library, "kmpc_set_library", "VERSION", "@@");
export!(
    kmp_set_affinity_mask_proc,
    "kmpc_set_affinity_mask_proc",
    "VERSION",
    "@@"
);
export!(
    kmp_unset_affinity_mask_proc,
    "kmpc_unset_affinity_mask_proc",
    "VERSION",
    "@@"
);
export!(
    kmp_get_affinity_mask_proc,
    "kmpc_get_affinity_mask_proc",
    "VERSION",
    "@@"
);
export!(kmp_get_blocktime, "kmp_get_blocktime_", "VERSION", "@@");
export!(kmp_get_stacksize, "kmp_get_stacksize_", "VERSION", "@@");
export!(kmp_get_stacksize_s, "kmp_get_stacksize_s_", "VERSION", "@@");
export!(kmp_get_library, "kmp_get_library_", "VERSION", "@@");
export!(
    kmp_set_library_serial,
    "kmp_set_library_serial_",
    "VERSION",
    "@@"
);
export!(
    kmp_set_library_turnaround,
    "kmp_set_library_turnaround_",
    "VERSION",
    "@@"
);
export!(
    kmp_set_library_throughput,
    "kmp_set_library_throughput_",
    "VERSION",
    "@@"
);
export!(
    kmp_get_affinity_max_proc,
    "kmp_get_affinity_max_proc_",
    "VERSION",
    "@@"
);
export!(
    kmp_get_num_known_threads,
    "kmp_get_num_known_threads_",
    "VERSION",
    "@@"
);
export!(
    kmp_create_affinity_mask,
    "kmp_create_affinity_mask_",
    "VERSION",
    "@@"
);
export!(
    kmp_destroy_affinity_mask,
    "kmp_destroy_affinity_mask_",
    "VERSION",
    "@@"
);
export!(kmp_set_affinity, "kmp_set_affinity_", "VERSION", "@@");
export!(kmp_get_affinity, "kmp_get_affinity_", "VERSION", "@@");

/// The Fortran forms of routines whose arguments are addresses.
macro_rules! fortran {
    ($($name:ident $export:literal ($($a:ident: $t:ty),*) -> $r:ty = $f:ident($($call:expr),*);)+) => {$(
        unsafe extern "C" fn $name($($a: $t),*) -> $r {
            // SAFETY: the program passes references to its variables.
            unsafe { $f($($call),*) }
        }
        export!($name, $export, "VERSION", "@@");
    )+};
}

fortran! {
    malloc_f "kmp_malloc_" (size: *const size_t) -> *mut c_void = kmp_malloc(*size);
    aligned_malloc_f "kmp_aligned_malloc_" (size: *const size_t, align: *const size_t) -> *mut c_void
        = kmp_aligned_malloc(*size, *align);
    calloc_f "kmp_calloc_" (count: *const size_t, size: *const size_t) -> *mut c_void
        = kmp_calloc(*count, *size);
    realloc_f "kmp_realloc_" (block: *const *mut c_void, size: *const size_t) -> *mut c_void
        = kmp_realloc(*block, *size);
    free_f "kmp_free_" (block: *const *mut c_void) -> () = kmp_free(*block);
    set_proc_f "kmp_set_affinity_mask_proc_" (proc: *const i32, mask: *const Mask) -> i32
        = kmp_set_affinity_mask_proc(*proc, mask);
    unset_proc_f "kmp_unset_affinity_mask_proc_" (proc: *const i32, mask: *const Mask) -> i32
        = kmp_unset_affinity_mask_proc(*proc, mask);
    get_proc_f "kmp_get_affinity_mask_proc_" (proc: *const i32, mask: *const Mask) -> i32
        = kmp_get_affinity_mask_proc(*proc, mask);
    set_library_f "kmp_set_library_" (kind: *const i32) -> () = kmp_set_library(*kind);
    set_buffers_f "kmp_set_disp_num_buffers_" (count: *const i32) -> () = kmp_set_disp_num_buffers(*count);
}

export!(
    kmp_set_disp_num_buffers,
    "kmpc_set_disp_num_buffers",
    "VERSION",
    "@@"
);

/// Constants of `omp.h` as variables, for languages that link to them.
macro_rules! constants {
    ($($name:literal = $value:literal;)+) => {$(
        core::arch::global_asm!(
            ".pushsection .rodata.hetmp_constants, \"a\", @progbits",
            ".p2align 3",
            concat!(".globl hetmp_constant.", $name),
            concat!(".type hetmp_constant.", $name, ", @object"),
            concat!("hetmp_constant.", $name, ":"),
            concat!(".quad ", $value),
            concat!(".size hetmp_constant.", $name, ", 8"),
            concat!(".symver hetmp_constant.", $name, ", ", $name, "@@VERSION, remove"),
            ".popsection",
        );
    )+};
}

constants! {
    "omp_null_allocator" = 0;
    "omp_default_mem_alloc" = 1;
    "omp_large_cap_mem_alloc" = 2;
    "omp_const_mem_alloc" = 3;
    "omp_high_bw_mem_alloc" = 4;
    "omp_low_lat_mem_alloc" = 5;
    "omp_cgroup_mem_alloc" = 6;
    "omp_pteam_mem_alloc" = 7;
    "omp_thread_mem_alloc" = 8;
    "kmp_max_mem_alloc" = 1024;
    "omp_default_mem_space" = 0;
    "omp_large_cap_mem_space" = 1;
    "omp_const_mem_space" = 2;
    "omp_high_bw_mem_space" = 3;
    "omp_low_lat_mem_space" = 4;
}

/// Levels of libomp's trace of itself, for programs that link to them and set them. This runtime has no such trace, and
/// does not read them.
macro_rules! levels {
    ($($name:literal)+) => {$(
        core::arch::global_asm!(
            ".pushsection .bss.hetmp_levels, \"aw\", @nobits",
            ".p2align 2",
            concat!(".globl hetmp_level.", $name),
            concat!(".type hetmp_level.", $name, ", @object"),
            concat!("hetmp_level.", $name, ":"),
            ".zero 4",
            concat!(".size hetmp_level.", $name, ", 4"),
            concat!(".symver hetmp_level.", $name, ", ", $name, "@@VERSION, remove"),
            ".popsection",
        );
    )+};
}

levels! {
    "kmp_a_debug" "kmp_b_debug" "kmp_c_debug" "kmp_d_debug" "kmp_e_debug" "kmp_f_debug" "kmp_diag"
}
