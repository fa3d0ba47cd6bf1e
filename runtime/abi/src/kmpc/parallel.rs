//! Parallel regions, barriers, cancellation, and numbers of threads.

use super::{flags, Loc, BARRIER, BARRIER_OF_WORK};
use crate::entry::entries;
use crate::gomp::keyed;
use crate::variadic::{note, variadic, VaList};
use core::ptr::{null, null_mut};
use hetmp_core::report;
use hetmp_omp::ahead::Strict;
use hetmp_omp::cancel::{self, Construct};
use hetmp_omp::icv::ProcBind;
use hetmp_omp::team::{self, resolve_num_threads, Form, Region};
use hetmp_omp::tool::interface::Sync;
use hetmp_omp::tool::{self, events};
use hetmp_omp::{ahead, query, Thread};
use libc::{c_char, c_void};
use std::ffi::CStr;

/// The function that clang outlines from a region. It has one further argument for each shared variable, so
/// it is called only by [`hetmp_kmpc_call`].
pub(super) type Microtask = unsafe extern "C" fn(*const i32, *const i32);

/// A region's function and its arguments, for the region's threads.
#[repr(C)]
pub(super) struct Fork {
    microtask: Microtask,
    count: usize,
    arguments: *const usize,
}

impl Fork {
    /// The address that identifies the region.
    pub(super) fn code(&self) -> usize {
        self.microtask as usize
    }
}

/// Up to this number of arguments lie on the stack of every region.
const FEW: usize = 16;
/// Up to this number of arguments lie on the stack: on several nodes, stacks are shared, and the memory of the
/// runtime is not. A region with more arguments stays at the origin there.
const MANY: usize = 256;

/// Collects the `count` variable arguments of an entry and passes them on as a [`Fork`].
///
/// # Safety
/// `rest` has at least `count` arguments, each a word.
pub(super) unsafe fn with_fork(
    microtask: Microtask,
    count: usize,
    rest: &mut VaList,
    run: impl FnOnce(&Fork),
) {
    // SAFETY: the list has `count` words: this function's contract.
    unsafe {
        if count <= FEW {
            with_arguments(microtask, &mut [0; FEW][..count], rest, run);
        } else if count <= MANY {
            with_many(microtask, count, rest, run);
        } else {
            let mut all = vec![0; count];
            collect(&mut all, rest);
            // In the runtime's memory like its arguments, so that a check of this address tells where they are.
            run(&Box::new(Fork {
                microtask,
                count,
                arguments: all.as_ptr(),
            }));
        }
    }
}

/// [`with_fork`] for more than [`FEW`] arguments. A function of its own, because it needs much stack.
///
/// # Safety
/// `rest` has at least `count` arguments, each a word. `count` is at most [`MANY`].
#[cold]
#[inline(never)]
unsafe fn with_many(
    microtask: Microtask,
    count: usize,
    rest: &mut VaList,
    run: impl FnOnce(&Fork),
) {
    // SAFETY: the list has `count` words: this function's contract.
    unsafe { with_arguments(microtask, &mut [0; MANY][..count], rest, run) };
}

/// Fills `arguments` from the list and passes them on.
///
/// # Safety
/// `rest` has at least as many arguments as there are places, each a word.
#[inline(always)]
unsafe fn with_arguments(
    microtask: Microtask,
    arguments: &mut [usize],
    rest: &mut VaList,
    run: impl FnOnce(&Fork),
) {
    // SAFETY: the list has as many words as there are places: this function's contract.
    unsafe { collect(arguments, rest) };
    run(&Fork {
        microtask,
        count: arguments.len(),
        arguments: arguments.as_ptr(),
    });
}

/// # Safety
/// `rest` has at least as many arguments as there are places, each a word.
#[inline(always)]
unsafe fn collect(arguments: &mut [usize], rest: &mut VaList) {
    for a in arguments {
        // SAFETY: each turn of this loop takes one word, and there are enough: this function's contract.
        *a = unsafe { rest.next_word() };
    }
}

extern "C" {
    /// Calls `microtask(gtid, tid, arguments...)`. Stores its own frame pointer in `frame` before.
    fn hetmp_kmpc_call(
        microtask: Microtask,
        gtid: *const i32,
        tid: *const i32,
        count: usize,
        arguments: *const usize,
        frame: *mut usize,
    );
}

// System V: four further arguments go to registers, the others to the stack. At the call the stack pointer is
// a multiple of 16.
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .text.hetmp_entry, \"ax\", @progbits",
    ".p2align 4",
    ".globl hetmp_kmpc_call",
    ".hidden hetmp_kmpc_call",
    ".type hetmp_kmpc_call, @function",
    "hetmp_kmpc_call:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "mov [r9], rbp",
    "mov rax, rdi",
    "mov r10, rcx",
    "mov r11, r8",
    "mov rdi, rsi",
    "mov rsi, rdx",
    // Room for the arguments beyond the fourth, rounded up to an even number of words.
    "cmp r10, 4",
    "jbe 3f",
    "lea rcx, [r10 - 3]",
    "and rcx, -2",
    "shl rcx, 3",
    "sub rsp, rcx",
    "2:",
    "mov rcx, [r11 + 8 * r10 - 8]",
    "mov [rsp + 8 * r10 - 40], rcx",
    "dec r10",
    "cmp r10, 4",
    "ja 2b",
    "3:",
    "je 4f",
    "cmp r10, 2",
    "ja 5f",
    "je 6f",
    "test r10, r10",
    "je 8f",
    "jmp 7f",
    "4:",
    "mov r9, [r11 + 24]",
    "5:",
    "mov r8, [r11 + 16]",
    "6:",
    "mov rcx, [r11 + 8]",
    "7:",
    "mov rdx, [r11]",
    "8:",
    "call rax",
    "leave",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".size hetmp_kmpc_call, . - hetmp_kmpc_call",
    ".popsection",
);

// AAPCS64: six further arguments go to registers, the others to the stack.
#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".pushsection .text.hetmp_entry, \"ax\", @progbits",
    ".p2align 4",
    ".globl hetmp_kmpc_call",
    ".hidden hetmp_kmpc_call",
    ".type hetmp_kmpc_call, @function",
    "hetmp_kmpc_call:",
    ".cfi_startproc",
    "stp x29, x30, [sp, #-16]!",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset x29, -16",
    ".cfi_offset x30, -8",
    "mov x29, sp",
    ".cfi_def_cfa_register x29",
    "str x29, [x5]",
    "mov x9, x0",
    "mov x0, x1",
    "mov x1, x2",
    "mov x10, x3",
    "mov x11, x4",
    "cmp x10, #6",
    "b.ls 3f",
    // Room for the arguments beyond the sixth, rounded up to an even number of words.
    "sub x12, x10, #5",
    "and x12, x12, #-2",
    "sub sp, sp, x12, lsl #3",
    "add x13, x11, #48",
    "mov x14, sp",
    "2:",
    "ldr x15, [x13], #8",
    "str x15, [x14], #8",
    "sub x10, x10, #1",
    "cmp x10, #6",
    "b.hi 2b",
    "3:",
    "cmp x10, #6",
    "b.lo 4f",
    "ldr x7, [x11, #40]",
    "4:",
    "cmp x10, #5",
    "b.lo 5f",
    "ldr x6, [x11, #32]",
    "5:",
    "cmp x10, #4",
    "b.lo 6f",
    "ldr x5, [x11, #24]",
    "6:",
    "cmp x10, #3",
    "b.lo 7f",
    "ldr x4, [x11, #16]",
    "7:",
    "cmp x10, #2",
    "b.lo 8f",
    "ldr x3, [x11, #8]",
    "8:",
    "cbz x10, 9f",
    "ldr x2, [x11]",
    "9:",
    "blr x9",
    "mov sp, x29",
    "ldp x29, x30, [sp], #16",
    ".cfi_def_cfa sp, 0",
    ".cfi_restore x29",
    ".cfi_restore x30",
    "ret",
    ".cfi_endproc",
    ".size hetmp_kmpc_call, . - hetmp_kmpc_call",
    ".popsection",
);

/// The function that each thread of a region calls.
///
/// # Safety
/// `fork` is a [`Fork`] whose function may be called with its arguments now.
pub(super) unsafe extern "C" fn run(fork: *mut c_void) {
    // SAFETY: `fork` is a `Fork`: this function's contract. The thread that opened the region keeps it on its
    // stack until all threads have ended their part.
    let fork = unsafe { &*fork.cast::<Fork>() };
    let th = Thread::current();
    let gtid = ahead::number(th) as i32;
    let tid = th.number() as i32;
    let mut nowhere = 0;
    let frame = events::exit_frame(th).map_or(&raw mut nowhere, core::cell::Cell::as_ptr);
    // SAFETY: the function may be called with these arguments now: this function's contract.
    unsafe {
        hetmp_kmpc_call(
            fork.microtask,
            &raw const gtid,
            &raw const tid,
            fork.count,
            fork.arguments,
            frame,
        );
    }
}

/// Runs a whole region.
///
/// # Safety
/// All threads of the region may call the function.
unsafe fn parallel(fork: &Fork, threads: Option<u32>) {
    let th = Thread::current();
    let (asked, bind) = ahead::take_region(th);
    let nthreads = threads.unwrap_or_else(|| resolve_num_threads(th, asked, 0));
    if let Some(strict) = ahead::take_strict(th) {
        if nthreads < asked {
            too_few(nthreads, asked, strict);
        }
    }
    let region = Region {
        entry: run,
        data: core::ptr::from_ref(fork).cast_mut().cast(),
        code: fork.code(),
        form: Form::Numbers,
        nthreads,
        asked: threads.unwrap_or(asked),
        bind,
        group: null(),
    };
    ahead::with_num_threads_list(th, || {
        // SAFETY: all threads of the region may call the function: this function's contract. `fork` stays on
        // this stack until they have called it.
        unsafe { team::parallel(th, &region, None) }
    });
}

/// Reports that a region has fewer threads than `num_threads(strict: asked)` demands.
#[cold]
fn too_few(got: u32, asked: u32, strict: Strict) {
    let message = if strict.message.is_null() {
        "".into()
    } else {
        // SAFETY: the compiled code passes a string constant.
        unsafe { CStr::from_ptr(strict.message) }.to_string_lossy()
    };
    let line = format!("num_threads(strict: {asked}): {got} threads are available: {message}");
    if strict.fatal {
        report::fatal(format_args!("{line}"));
    }
    report::warn(format_args!("{line}"));
}

/// `__kmpc_fork_call(loc, count, microtask, ...)`: runs a whole region.
unsafe extern "C" fn fork_call(named: *const u64, rest: *mut VaList) {
    // SAFETY: the entry stored the named arguments and the list. The compiled code passes a function, and
    // `count` words.
    unsafe {
        note(named);
        let microtask: Microtask = core::mem::transmute(*named.add(2) as usize);
        let count = *named.add(1) as u32 as usize;
        with_fork(microtask, count, &mut *rest, |fork| parallel(fork, None));
    }
}

variadic!(fork_call, "__kmpc_fork_call", "VERSION", 3);

/// `__kmpc_serialized_parallel(loc, gtid)`: opens a region of one thread. Compiled code calls the region's function
/// itself, or has it inline. So the function has no address here, and `code` identifies the region: the address that
/// the entry returns to, which the exported stub passes.
unsafe extern "C" fn serialized(_loc: Loc, _gtid: i32, code: usize) {
    unsafe extern "C" fn nothing(_: *mut c_void) {}
    let th = Thread::current();
    let (_, bind) = ahead::take_region(th);
    let region = Region {
        entry: nothing,
        data: null_mut(),
        code,
        form: Form::default(),
        nthreads: 1,
        asked: 1,
        bind,
        group: null(),
    };
    // SAFETY: `nothing` may be called at any time. Compiled code calls `__kmpc_end_serialized_parallel` after its part.
    unsafe { team::open(th, &region, None) };
}

#[cfg(target_arch = "x86_64")]
keyed::named!(
    serialized,
    "__kmpc_serialized_parallel",
    ["VERSION" "@@"],
    "mov rdx, [rsp]",
    "jmp {f}"
);
#[cfg(target_arch = "aarch64")]
keyed::named!(
    serialized,
    "__kmpc_serialized_parallel",
    ["VERSION" "@@"],
    "mov x2, x30",
    "b {f}"
);

/// The severity of a `strict` clause that lets the program go on after a warning.
const WARNING: i32 = 1;

/// The numbers of a `num_threads` clause with a list.
///
/// # Safety
/// The list has `count` numbers.
unsafe fn numbers(count: u32, list: *const i32) -> Vec<u32> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: the list has `count` numbers: this function's contract.
    unsafe { core::slice::from_raw_parts(list, count as usize) }
        .iter()
        .map(|&n| n.max(0) as u32)
        .collect()
}

entries! {
    "VERSION" default:
    /// Runs a region. The region has more than one thread only if `condition` is true. Its function has one
    /// argument or none.
    watched fn __kmpc_fork_call_if(
        _loc: Loc, _count: i32, microtask: Microtask, condition: i32, argument: usize,
    ) {
        let fork = Fork {
            microtask,
            count: usize::from(argument != 0),
            arguments: &raw const argument,
        };
        // SAFETY: the compiled code made the function and its argument for this call.
        unsafe { parallel(&fork, if condition == 0 { Some(1) } else { None }) };
    }

    /// Ends a region that `__kmpc_serialized_parallel` opened.
    watched fn __kmpc_end_serialized_parallel(_loc: Loc, _gtid: i32) {
        team::close(Thread::current());
    }

    /// `num_threads`, called ahead of the region.
    fn __kmpc_push_num_threads(_loc: Loc, _gtid: i32, n: i32) {
        ahead::say_num_threads(Thread::current(), n.max(0) as u32);
    }

    /// `num_threads(strict: n)`. If the region gets fewer threads, severity 1 warns, and other severities end
    /// the program.
    fn __kmpc_push_num_threads_strict(
        _loc: Loc, _gtid: i32, n: i32, severity: i32, message: *const c_char,
    ) {
        let th = Thread::current();
        ahead::say_num_threads(th, n.max(0) as u32);
        ahead::say_strict(th, Strict { fatal: severity != WARNING, message });
    }

    /// `num_threads` with a list: the number for the region, for regions directly inside of it, and so on.
    fn __kmpc_push_num_threads_list(_loc: Loc, _gtid: i32, count: u32, list: *const i32) {
        // SAFETY: the compiled code passes a list of that length.
        ahead::say_num_threads_list(Thread::current(), &unsafe { numbers(count, list) });
    }

    /// `num_threads` with a list, with `strict` for the region's own number.
    fn __kmpc_push_num_threads_list_strict(
        _loc: Loc, _gtid: i32, count: u32, list: *const i32, severity: i32, message: *const c_char,
    ) {
        let th = Thread::current();
        // SAFETY: the compiled code passes a list of that length.
        ahead::say_num_threads_list(th, &unsafe { numbers(count, list) });
        ahead::say_strict(th, Strict { fatal: severity != WARNING, message });
    }

    /// Withdraws `num_threads` for the next region.
    fn __kmpc_pop_num_threads(_loc: Loc, _gtid: i32) {
        ahead::say_num_threads(Thread::current(), 0);
    }

    /// `proc_bind`, called ahead of the region.
    fn __kmpc_push_proc_bind(_loc: Loc, _gtid: i32, bind: i32) {
        // Numbers above 1 are kinds of binding (primary, close, spread). 0 and 1 mean that there is no
        // clause.
        let bind = u32::try_from(bind).ok().filter(|&b| b > 1).and_then(ProcBind::from_raw);
        ahead::say_proc_bind(Thread::current(), bind);
    }

    /// The calling thread's number in the process.
    fn __kmpc_global_thread_num(_loc: Loc) -> i32 {
        ahead::number(Thread::current()) as i32
    }

    /// The number of threads that the process has or had.
    fn __kmpc_global_num_threads(_loc: Loc) -> i32 {
        ahead::highest_index() as i32 + 1
    }

    /// The calling thread's number in its team.
    fn __kmpc_bound_thread_num(_loc: Loc) -> i32 {
        query::thread_num()
    }

    /// The size of the calling thread's team.
    fn __kmpc_bound_num_threads(_loc: Loc) -> i32 {
        query::num_threads()
    }

    /// Is the thread in an active region?
    fn __kmpc_in_parallel(_loc: Loc) -> i32 {
        i32::from(query::active_level() > 0)
    }

    /// May a region be opened here? Always yes.
    fn __kmpc_ok_to_fork(_loc: Loc) -> i32 {
        1
    }

    /// Starts the runtime. Every other entry starts it, too, if needed.
    fn __kmpc_begin(_loc: Loc, _flags: i32) {
        hetmp_omp::init::once();
    }

    /// Called when the main program ends. Nothing is shut down, because other threads and destructors may
    /// still open regions.
    fn __kmpc_end(_loc: Loc) {}

    /// A barrier of the current team.
    watched fn __kmpc_barrier(loc: Loc, _gtid: i32) {
        team::barrier_of(Thread::current(), kind(loc));
    }

    /// A barrier that can be cancelled; 1 if the region was cancelled.
    watched fn __kmpc_cancel_barrier(loc: Loc, _gtid: i32) -> i32 {
        i32::from(team::barrier_of(Thread::current(), kind(loc)))
    }

    /// A barrier behind which the primary thread runs alone. Returns 1 in the primary thread. The other
    /// threads wait in a second barrier until the primary thread calls `__kmpc_end_barrier_master`.
    watched fn __kmpc_barrier_master(_loc: Loc, _gtid: i32) -> i32 {
        let th = Thread::current();
        team::barrier(th);
        if th.number() == 0 {
            return 1;
        }
        team::barrier(th);
        0
    }

    /// The primary thread lets the other threads go on.
    watched fn __kmpc_end_barrier_master(_loc: Loc, _gtid: i32) {
        team::barrier(Thread::current());
    }

    /// A barrier. Returns 1 in the primary thread.
    watched fn __kmpc_barrier_master_nowait(_loc: Loc, _gtid: i32) -> i32 {
        let th = Thread::current();
        team::barrier(th);
        i32::from(th.number() == 0)
    }

    /// Orders the thread's accesses to memory.
    watched fn __kmpc_flush(_loc: Loc) {
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
        if tool::on() {
            tool::mutex::flushed();
        }
    }

    /// Cancels the innermost construct of this kind; 1 if the thread must leave the construct.
    watched fn __kmpc_cancel(_loc: Loc, _gtid: i32, kind: i32) -> i32 {
        construct(kind).map_or(0, |c| i32::from(cancel::cancel(Thread::current(), c)))
    }

    /// 1 if the innermost construct of this kind was cancelled.
    watched fn __kmpc_cancellationpoint(_loc: Loc, _gtid: i32, kind: i32) -> i32 {
        construct(kind).map_or(0, |c| i32::from(cancel::point(Thread::current(), c)))
    }

    /// Fortran form of [`kmp_get_cancellation_status`].
    fn kmp_get_cancellation_status_(kind: &i32) -> i32 {
        construct(*kind)
            .map_or(0, |c| i32::from(cancel::is_cancelled(Thread::current(), c)))
    }

    /// `__kmpc_cancellationpoint` for calls by the program itself.
    fn kmp_get_cancellation_status(kind: i32) -> i32 {
        construct(kind).map_or(0, |c| i32::from(cancel::is_cancelled(Thread::current(), c)))
    }
}

/// Why there is a barrier at this place, for a tool.
#[inline(always)]
fn kind(loc: Loc) -> Sync {
    if !tool::on() {
        return Sync::Explicit;
    }
    // SAFETY: the compiled code passes a place or null.
    match unsafe { flags(loc) } {
        f if f & BARRIER != 0 => Sync::Explicit,
        f if f & BARRIER_OF_WORK != 0 => Sync::Workshare,
        _ => Sync::Implementation,
    }
}

/// The construct behind clang's number: 1 parallel, 2 loop, 3 sections, 4 taskgroup.
fn construct(kind: i32) -> Option<Construct> {
    Some(match kind {
        1 => Construct::Parallel,
        2 => Construct::Worksharing,
        3 => Construct::Sections,
        4 => Construct::Taskgroup,
        _ => return None,
    })
}
