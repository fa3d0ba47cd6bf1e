//! The functions that a tool gets by its lookup (OpenMP 5.2, section 19.6), and `omp_control_tool`.
//!
//! A tool knows these functions only by the addresses that [`lookup`] returns, so none of them is exported.

use crate::entry::entries;
use crate::omp::to_int;
use core::ffi::{c_char, c_int, c_void, CStr};
use hetmp_omp::tool::interface::{Data, Frame};
use hetmp_omp::tool::{self, attach, events, query};
use hetmp_omp::{query as routines, Thread};

/// A function that a tool gets. The tool casts it to its type.
type Entry = unsafe extern "C" fn();

/// An address for callbacks (`ompt_callback_t`).
type Callback = usize;

/// Makes the interface known to the engine, which looks for a tool at the first use of OpenMP.
pub(crate) fn offer() {
    attach::offer(lookup, tool::finish::finish);
}

/// Names and functions.
macro_rules! table {
    ($($name:literal = $f:ident),* $(,)?) => {
        /// `ompt_function_lookup_t`: the function with this name, or null.
        unsafe extern "C" fn lookup(name: *const c_char) -> Option<Entry> {
            if name.is_null() {
                return None;
            }
            // SAFETY: the tool passes a string.
            let name = unsafe { CStr::from_ptr(name) }.to_bytes();
            $(if name == $name.as_bytes() {
                // SAFETY: the tool casts the function back to the type that the interface gives this name, which is
                // the function's own type.
                return Some(unsafe { core::mem::transmute::<*const (), Entry>($f as *const ()) });
            })*
            None
        }
    };
}

table! {
    "ompt_enumerate_states" = enumerate_states,
    "ompt_enumerate_mutex_impls" = enumerate_mutex_impls,
    "ompt_set_callback" = set_callback,
    "ompt_get_callback" = get_callback,
    "ompt_get_state" = get_state,
    "ompt_get_parallel_info" = get_parallel_info,
    "ompt_get_task_info" = get_task_info,
    "ompt_get_task_memory" = get_task_memory,
    "ompt_get_thread_data" = get_thread_data,
    "ompt_get_unique_id" = get_unique_id,
    "ompt_finalize_tool" = finalize_tool,
    "ompt_get_num_procs" = get_num_procs,
    "ompt_get_num_places" = get_num_places,
    "ompt_get_place_proc_ids" = get_place_proc_ids,
    "ompt_get_place_num" = get_place_num,
    "ompt_get_partition_place_nums" = get_partition_place_nums,
    "ompt_get_proc_id" = get_proc_id,
    "ompt_get_target_info" = get_target_info,
    "ompt_get_num_devices" = get_num_devices,
}

/// The states in the order in which tools get them. The first is the one from which an enumeration starts.
const STATES: [(c_int, &CStr); 23] = [
    (0x102, c"ompt_state_undefined"),
    (0x000, c"ompt_state_work_serial"),
    (0x001, c"ompt_state_work_parallel"),
    (0x002, c"ompt_state_work_reduction"),
    (0x010, c"ompt_state_wait_barrier"),
    (0x011, c"ompt_state_wait_barrier_implicit_parallel"),
    (0x012, c"ompt_state_wait_barrier_implicit_workshare"),
    (0x013, c"ompt_state_wait_barrier_implicit"),
    (0x014, c"ompt_state_wait_barrier_explicit"),
    (0x015, c"ompt_state_wait_barrier_implementation"),
    (0x016, c"ompt_state_wait_barrier_teams"),
    (0x020, c"ompt_state_wait_taskwait"),
    (0x021, c"ompt_state_wait_taskgroup"),
    (0x040, c"ompt_state_wait_mutex"),
    (0x041, c"ompt_state_wait_lock"),
    (0x042, c"ompt_state_wait_critical"),
    (0x043, c"ompt_state_wait_atomic"),
    (0x044, c"ompt_state_wait_ordered"),
    (0x080, c"ompt_state_wait_target"),
    (0x081, c"ompt_state_wait_target_map"),
    (0x082, c"ompt_state_wait_target_update"),
    (0x100, c"ompt_state_idle"),
    (0x101, c"ompt_state_overhead"),
];

/// How locks are made. There is one way: a thread spins and then sleeps.
const MUTEXES: [(c_int, &CStr); 2] = [(0, c"ompt_mutex_impl_none"), (1, c"spin, then sleep")];

/// Stores the number and name behind `current` in a list. Returns whether there is one.
///
/// # Safety
/// Both pointers may be written.
unsafe fn next(
    list: &[(c_int, &'static CStr)],
    current: c_int,
    number: *mut c_int,
    name: *mut *const c_char,
) -> c_int {
    let at = list.iter().position(|&(n, _)| n == current);
    let Some(&(n, text)) = at.and_then(|at| list.get(at + 1)) else {
        return 0;
    };
    // SAFETY: both may be written: this function's contract.
    unsafe {
        *number = n;
        *name = text.as_ptr();
    }
    1
}

unsafe extern "C" fn enumerate_states(
    current: c_int,
    state: *mut c_int,
    name: *mut *const c_char,
) -> c_int {
    // SAFETY: the tool passes its variables.
    unsafe { next(&STATES, current, state, name) }
}

unsafe extern "C" fn enumerate_mutex_impls(
    current: c_int,
    kind: *mut c_int,
    name: *mut *const c_char,
) -> c_int {
    // SAFETY: the tool passes its variables.
    unsafe { next(&MUTEXES, current, kind, name) }
}

extern "C" fn set_callback(event: u32, callback: Callback) -> u32 {
    tool::callbacks::register(event, callback) as u32
}

/// 1 if a callback is registered, which is stored then.
unsafe extern "C" fn get_callback(event: u32, callback: *mut Callback) -> c_int {
    let Some(found) = tool::callbacks::registered(event) else {
        return 0;
    };
    // SAFETY: the tool passes its variable.
    unsafe { *callback = found };
    1
}

extern "C" fn get_thread_data() -> *const Data {
    query::thread_data().unwrap_or(core::ptr::null())
}

unsafe extern "C" fn get_state(awaited: *mut u64) -> c_int {
    let (state, object) = query::state();
    // SAFETY: the tool passes its variable, or null.
    if let Some(awaited) = unsafe { awaited.as_mut() } {
        *awaited = object;
    }
    state as c_int
}

/// The information is there.
const AVAILABLE: c_int = 2;

unsafe extern "C" fn get_parallel_info(
    level: c_int,
    data: *mut *const Data,
    size: *mut c_int,
) -> c_int {
    let Some((region, threads)) = u32::try_from(level).ok().and_then(query::region) else {
        return 0;
    };
    // SAFETY: the tool passes its variables, or null.
    unsafe {
        if let Some(data) = data.as_mut() {
            *data = region;
        }
        if let Some(size) = size.as_mut() {
            *size = threads as c_int;
        }
    }
    AVAILABLE
}

unsafe extern "C" fn get_task_info(
    level: c_int,
    flags: *mut c_int,
    data: *mut *const Data,
    frame: *mut *const Frame,
    region: *mut *const Data,
    number: *mut c_int,
) -> c_int {
    let Some(task) = u32::try_from(level).ok().and_then(query::task) else {
        return 0;
    };
    // SAFETY: the tool passes its variables, or null.
    unsafe {
        if let Some(flags) = flags.as_mut() {
            *flags = task.flags as c_int;
        }
        if let Some(data) = data.as_mut() {
            *data = task.data;
        }
        if let Some(frame) = frame.as_mut() {
            *frame = task.frame;
        }
        if let Some(region) = region.as_mut() {
            *region = task.region;
        }
        if let Some(number) = number.as_mut() {
            *number = task.number as c_int;
        }
    }
    AVAILABLE
}

/// The block `block` of the current task's memory; there is one block. The result tells whether there are more.
unsafe extern "C" fn get_task_memory(
    address: *mut *const c_void,
    size: *mut usize,
    block: c_int,
) -> c_int {
    let found = if block == 0 {
        query::task_memory()
    } else {
        None
    };
    let (at, bytes) = found.unwrap_or((core::ptr::null(), 0));
    // SAFETY: the tool passes its variables.
    unsafe {
        *address = at;
        *size = bytes;
    }
    0
}

extern "C" fn get_unique_id() -> u64 {
    query::unique()
}

extern "C" fn finalize_tool() {
    tool::finish::finish();
}

extern "C" fn get_num_procs() -> c_int {
    routines::num_procs()
}

extern "C" fn get_num_places() -> c_int {
    routines::num_places()
}

/// The CPUs of a place, if the array has room for all. Returns their number.
unsafe extern "C" fn get_place_proc_ids(place: c_int, room: c_int, ids: *mut c_int) -> c_int {
    let count = routines::place_cpus(place).count();
    // SAFETY: the tool passes an array with room for that many numbers.
    unsafe { fill(routines::place_cpus(place), count, room, ids) }
}

extern "C" fn get_place_num() -> c_int {
    routines::place_num()
}

/// The places of the thread's partition, if the array has room for all. Returns their number.
unsafe extern "C" fn get_partition_place_nums(room: c_int, places: *mut c_int) -> c_int {
    let partition = routines::partition();
    // SAFETY: the tool passes an array with room for that many numbers.
    unsafe { fill(partition.clone(), partition.len(), room, places) }
}

/// Stores `count` numbers in an array, if it has room for all. Returns `count`.
///
/// # Safety
/// The array has room for `room` numbers.
unsafe fn fill(
    numbers: impl Iterator<Item = c_int>,
    count: usize,
    room: c_int,
    array: *mut c_int,
) -> c_int {
    if usize::try_from(room).is_ok_and(|room| room >= count) {
        for (i, number) in numbers.take(count).enumerate() {
            // SAFETY: `i` is below `count`, for which the array has room: this function's contract.
            unsafe { *array.add(i) = number };
        }
    }
    count as c_int
}

/// The CPU on which the calling thread runs now; -1 for a thread that the runtime does not know.
extern "C" fn get_proc_id() -> c_int {
    if !query::is_known() {
        return -1;
    }
    // SAFETY: no preconditions.
    unsafe { libc::sched_getcpu() }
}

/// No thread is in a target region of a device.
extern "C" fn get_target_info(_device: *mut u64, _target: *mut u64, _operation: *mut u64) -> c_int {
    0
}

extern "C" fn get_num_devices() -> c_int {
    0
}

/// There is no tool.
const NO_TOOL: c_int = -2;
/// The tool has no callback for commands.
const NO_CALLBACK: c_int = -1;

fn control(command: c_int, modifier: c_int, argument: *mut c_void) -> c_int {
    if !tool::on() {
        return NO_TOOL;
    }
    events::control(Thread::current(), command as u64, modifier as u64, argument)
        .unwrap_or(NO_CALLBACK)
}

entries! {
    "OMP_6.0" default:
    /// Sends the tool a command. Returns its answer; -2 without a tool, -1 if the tool takes no commands.
    watched fn omp_control_tool(command: c_int, modifier: c_int, argument: *mut c_void) -> c_int {
        control(command, modifier, argument)
    }

    /// Fortran form of `omp_control_tool`.
    watched fn omp_control_tool_(
        command: *const c_int, modifier: *const c_int, argument: *mut c_void
    ) -> c_int {
        // SAFETY: the program passes integers.
        let (command, modifier) = unsafe { (*command, *modifier) };
        control(command, modifier, argument)
    }

    /// Fortran form of `omp_control_tool` for 8-byte integers.
    watched fn omp_control_tool_8_(
        command: *const i64, modifier: *const i64, argument: *mut c_void
    ) -> i64 {
        // SAFETY: the program passes integers.
        let (command, modifier) = unsafe { (to_int(*command), to_int(*modifier)) };
        control(command, modifier, argument).into()
    }
}

/// Notes where the program has called an entry. Entries in assembly call this while there is an observer.
unsafe extern "C" fn noted(caller: usize, frame: usize, pointer: usize) {
    events::note(caller, frame, pointer);
}

// The call of an entry looks at the byte of `hetmp_core::observers`, and comes here if the byte is not 0. All registers
// that may hold arguments are kept, except those for floating-point numbers: no entry that comes here has such
// arguments. On the stack: the address in the entry, above it the address in the program (x86-64); the program's frame
// pointer, above it the address in the program (AArch64).
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .text.hetmp_entry, \"ax\", @progbits",
    ".p2align 4",
    ".globl hetmp_note",
    ".hidden hetmp_note",
    ".type hetmp_note, @function",
    "hetmp_note:",
    ".cfi_startproc",
    "push rdi",
    ".cfi_adjust_cfa_offset 8",
    "push rsi",
    ".cfi_adjust_cfa_offset 8",
    "push rdx",
    ".cfi_adjust_cfa_offset 8",
    "push rcx",
    ".cfi_adjust_cfa_offset 8",
    "push r8",
    ".cfi_adjust_cfa_offset 8",
    "push r9",
    ".cfi_adjust_cfa_offset 8",
    "push rax",
    ".cfi_adjust_cfa_offset 8",
    "sub rsp, 8",
    ".cfi_adjust_cfa_offset 8",
    "mov rdi, [rsp + 72]",
    "lea rsi, [rsp + 80]",
    "mov rdx, rbp",
    "call {noted}",
    "add rsp, 8",
    ".cfi_adjust_cfa_offset -8",
    "pop rax",
    ".cfi_adjust_cfa_offset -8",
    "pop r9",
    ".cfi_adjust_cfa_offset -8",
    "pop r8",
    ".cfi_adjust_cfa_offset -8",
    "pop rcx",
    ".cfi_adjust_cfa_offset -8",
    "pop rdx",
    ".cfi_adjust_cfa_offset -8",
    "pop rsi",
    ".cfi_adjust_cfa_offset -8",
    "pop rdi",
    ".cfi_adjust_cfa_offset -8",
    "ret",
    ".cfi_endproc",
    ".size hetmp_note, . - hetmp_note",
    ".popsection",
    noted = sym noted,
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".pushsection .text.hetmp_entry, \"ax\", @progbits",
    ".p2align 4",
    ".globl hetmp_note",
    ".hidden hetmp_note",
    ".type hetmp_note, @function",
    "hetmp_note:",
    ".cfi_startproc",
    "stp x29, x30, [sp, #-96]!",
    ".cfi_def_cfa_offset 96",
    ".cfi_offset x29, -96",
    ".cfi_offset x30, -88",
    "stp x0, x1, [sp, #16]",
    "stp x2, x3, [sp, #32]",
    "stp x4, x5, [sp, #48]",
    "stp x6, x7, [sp, #64]",
    "str x8, [sp, #80]",
    "ldp x2, x0, [sp, #96]",
    "add x1, sp, #112",
    "bl {noted}",
    "ldp x0, x1, [sp, #16]",
    "ldp x2, x3, [sp, #32]",
    "ldp x4, x5, [sp, #48]",
    "ldp x6, x7, [sp, #64]",
    "ldr x8, [sp, #80]",
    "ldp x29, x30, [sp], #96",
    ".cfi_def_cfa_offset 0",
    ".cfi_restore x29",
    ".cfi_restore x30",
    "ret",
    ".cfi_endproc",
    ".size hetmp_note, . - hetmp_note",
    ".popsection",
    noted = sym noted,
);
