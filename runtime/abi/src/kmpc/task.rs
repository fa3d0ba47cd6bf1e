//! Tasks, taskgroups, taskloops, events.
//!
//! clang asks for a task's memory, fills it in, and submits the task. The memory begins with a part that
//! compiled code and the runtime know ([`KmpTask`]). Behind it lie data that only compiled code uses, and
//! then the addresses of shared variables. In front of it lies this module's [`Head`], and in front of that
//! the engine's record.

use super::task_frame::call;
use super::Loc;
use crate::entry::entries;
use crate::gomp::task::List;
use core::cell::Cell;
use hetmp_core::report;
use hetmp_omp::task::depend::{self, Kind};
use hetmp_omp::task::submit::{self, Submission};
use hetmp_omp::task::taskloop::{shares, Cut, Told};
use hetmp_omp::task::{self, group};
use hetmp_omp::tool::{self, events};
use hetmp_omp::{ahead, query, Thread};
use libc::{c_char, c_void};
use std::ffi::CStr;

// Bits of a task's flags (`kmp_tasking_flags`).
const TIED: i32 = 1;
const FINAL: i32 = 1 << 1;
const DESTRUCTORS: i32 = 1 << 3;
const PROXY: i32 = 1 << 4;
const PRIORITY: i32 = 1 << 5;
/// The task is for a device (`hidden_helper` in libomp).
const HELPER: i32 = 1 << 7;

/// What stands for a task's number in a libomp that does not number tasks: all bits are set.
const UNNUMBERED: u64 = u64::MAX;

pub(super) type Routine = unsafe extern "C" fn(i32, *mut KmpTask) -> i32;

/// A word with two uses.
#[repr(C)]
union Extra {
    priority: i32,
    routine: Option<Routine>,
}

/// The part of a task that compiled code and the runtime know (`kmp_task_t`).
#[repr(C)]
pub(crate) struct KmpTask {
    shareds: *mut c_void,
    routine: Option<Routine>,
    part: i32,
    destructors: Extra,
    priority: Extra,
}

const _: () = assert!(size_of::<KmpTask>() == 40);

/// This module's record of a task, in front of the [`KmpTask`].
#[repr(C, align(16))]
struct Head {
    flags: i32,
    /// The body runs or has run.
    begun: Cell<bool>,
    /// The body has submitted its own task again: one part of the task has ended, and another follows.
    again: Cell<bool>,
    /// Bytes of the task without (`bytes`) and with (`whole`) the addresses of its shared variables.
    bytes: u32,
    whole: u32,
}

const _: () = assert!(size_of::<Head>() == submit::ALIGN);

/// The head of `task`.
///
/// # Safety
/// `task` was made by [`allocate`] and has not ended.
unsafe fn head<'a>(task: *mut KmpTask) -> &'a Head {
    // SAFETY: `allocate` made the task with a head before it, and it has not ended: this function's contract.
    unsafe { &*task.cast::<Head>().sub(1) }
}

fn data_of(task: *mut KmpTask) -> *mut u8 {
    task.cast::<u8>().wrapping_sub(size_of::<Head>())
}

/// Allocates a task of `bytes` bytes, and `shareds` bytes for the addresses of its shared variables.
fn allocate(flags: i32, bytes: usize, shareds: usize, routine: Option<Routine>) -> *mut KmpTask {
    let bytes = bytes.max(size_of::<KmpTask>()).next_multiple_of(16);
    let whole = bytes.saturating_add(shareds);
    let (Ok(bytes32), Ok(whole32)) = (u32::try_from(bytes), u32::try_from(whole)) else {
        report::fatal(format_args!("task data of {whole} bytes: less than 4 GiB"));
    };
    let data = submit::allocate(Thread::current(), size_of::<Head>() + whole);
    // SAFETY: there is room for the head, and for the task behind it.
    unsafe {
        data.cast::<Head>().write(Head {
            flags,
            begun: Cell::new(false),
            again: Cell::new(false),
            bytes: bytes32,
            whole: whole32,
        });
        let task: *mut KmpTask = data.add(size_of::<Head>()).cast();
        task.write(KmpTask {
            shareds: if shareds > 0 {
                task.cast::<u8>().add(bytes).cast()
            } else {
                core::ptr::null_mut()
            },
            routine,
            part: 0,
            destructors: Extra { routine: None },
            priority: Extra { priority: 0 },
        });
        if flags & PROXY != 0 {
            // The task is complete when the program says so, not when its body ends.
            submit::event(data);
        }
        task
    }
}

/// Calls the task's function until the task has no parts left. An untied task submits itself again at a point
/// where another thread may go on with it. Here the same thread goes on.
///
/// # Safety
/// `task` was made by [`allocate`] and has not ended.
unsafe fn finish_parts(task: *mut KmpTask) {
    let gtid = ahead::number(Thread::current()) as i32;
    // SAFETY: `allocate` made the task, and it has not ended: this function's contract. The function is the
    // compiled code's for this task.
    unsafe {
        while head(task).again.take() {
            if let Some(routine) = (*task).routine {
                call(routine, gtid, task);
            }
        }
    }
}

/// Calls the destructors of the objects in a task's memory.
///
/// # Safety
/// `task` was made by [`allocate`] and has not ended.
unsafe fn destroy(task: *mut KmpTask) {
    // SAFETY: `allocate` made the task, and it has not ended: this function's contract. If the flag is set,
    // the compiled code has set the function.
    unsafe {
        if head(task).flags & DESTRUCTORS != 0 {
            if let Some(destructors) = (*task).destructors.routine {
                destructors(ahead::number(Thread::current()) as i32, task);
            }
        }
    }
}

/// The body of every task.
unsafe extern "C" fn body(data: *mut c_void) {
    let task: *mut KmpTask = data.cast::<u8>().wrapping_add(size_of::<Head>()).cast();
    // SAFETY: the engine calls this once for a submitted task.
    unsafe {
        let h = head(task);
        h.begun.set(true);
        h.again.set(true);
        let th = Thread::current();
        let _number = (h.flags & HELPER != 0).then(|| ahead::Helper::lend(th));
        finish_parts(task);
        destroy(task);
    }
}

/// Submits a task with dependences.
///
/// # Safety
/// `task` was made by [`allocate`], has not ended, and is submitted only once.
unsafe fn submit(task: *mut KmpTask, depends: &List, deferrable: bool) {
    // SAFETY: `allocate` made the task, it has not ended, and it is submitted once: this function's contract.
    unsafe {
        let h = head(task);
        if h.begun.get() {
            // An untied task submits itself between two of its parts.
            h.again.set(true);
            return;
        }
        let how = Submission {
            body,
            deferrable,
            is_final: h.flags & FINAL != 0,
            untied: h.flags & TIED == 0,
            depends: depends.as_slice(),
            priority: if h.flags & PRIORITY != 0 {
                (*task).priority.priority
            } else {
                0
            },
            outside: h.flags & HELPER != 0,
        };
        submit::submit(Thread::current(), data_of(task), &how);
    }
}

/// One list item of a `depend` clause (`kmp_depend_info`).
#[repr(C)]
pub(crate) struct DependInfo {
    address: usize,
    length: usize,
    flags: u8,
}

const _: () = assert!(size_of::<DependInfo>() == 24);

/// `omp_all_memory` as a flag. Compiled code may also pass it as this address.
const ALL_MEMORY: u8 = 0x80;
const EVERYWHERE: usize = depend::EVERYWHERE;

/// The dependences of two lists. Either list may be empty.
///
/// # Safety
/// The lists have these lengths.
unsafe fn dependences(
    count: i32,
    list: *const DependInfo,
    more_count: i32,
    more: *const DependInfo,
) -> List {
    let mut all = List::new();
    let mut everywhere = false;
    for (count, list) in [(count, list), (more_count, more)] {
        if count <= 0 || list.is_null() {
            continue;
        }
        // SAFETY: not null, and `count` long: this function's contract.
        for d in unsafe { core::slice::from_raw_parts(list, count as usize) } {
            if d.flags & ALL_MEMORY != 0 || d.address == EVERYWHERE {
                if !everywhere {
                    all.push(EVERYWHERE, Kind::Out);
                }
                everywhere = true;
                continue;
            }
            let kind = match d.flags & 0xf {
                1 => Kind::In,
                4 => Kind::MutexInOutSet,
                8 => Kind::InOutSet,
                _ => Kind::Out,
            };
            all.push(d.address, kind);
        }
    }
    all
}

unsafe extern "C" fn nothing(_: i32, _: *mut KmpTask) -> i32 {
    0
}

/// Makes the tasks of a taskloop.
///
/// # Safety
/// `pattern` was made by [`allocate`]. `lower` and `upper` lie in its memory. `copy` is null, or the compiled
/// code's function that turns a copy of the pattern into a task. Its arguments: the task, the pattern, and
/// whether the task has the last iteration.
#[allow(clippy::too_many_arguments, reason = "the arguments are the ABI's")]
unsafe fn taskloop(
    pattern: *mut KmpTask,
    deferrable: bool,
    lower: *mut u64,
    upper: *mut u64,
    step: i64,
    nogroup: bool,
    cut: Cut,
    copy: Option<unsafe extern "C" fn(*mut KmpTask, *mut KmpTask, i32)>,
) {
    let th = Thread::current();
    if !nogroup {
        group::start(th);
    }
    // SAFETY: this function's contract: `allocate` made the pattern, both bounds lie in its memory, and
    // `copy` is null or the compiled code's function.
    unsafe {
        let (first, last) = (*lower, *upper);
        let h = head(pattern);
        let trips = match step {
            1 => last.wrapping_sub(first).wrapping_add(1),
            s if s > 0 => (last.wrapping_sub(first) / s as u64).wrapping_add(1),
            s => (first.wrapping_sub(last) / s.unsigned_abs().max(1)).wrapping_add(1),
        };
        let (tasks, share) = shares(trips, cut, th.nthreads());
        let offset = |p: *mut u64| p as usize - pattern as usize;
        let (at_lower, at_upper) = (offset(lower), offset(upper));
        let none = List::new();
        let told = Told::begin(th, trips);
        let mut from = first;
        for i in 0..if trips == 0 { 0 } else { tasks } {
            let count = share(i);
            let to = from.wrapping_add(count.wrapping_sub(1).wrapping_mul(step as u64));
            let (bytes, whole) = (h.bytes as usize, h.whole as usize);
            let t = allocate(h.flags, bytes, whole - bytes, (*pattern).routine);
            let shareds = (*t).shareds;
            core::ptr::copy_nonoverlapping(pattern.cast::<u8>(), t.cast::<u8>(), whole);
            (*t).shareds = shareds;
            t.cast::<u8>().add(at_lower).cast::<u64>().write(from);
            t.cast::<u8>().add(at_upper).cast::<u64>().write(to);
            if let Some(copy) = copy {
                copy(t, pattern, i32::from(i + 1 == tasks));
            }
            if let Some(told) = &told {
                told.chunk(th, from, count);
            }
            submit(t, &none, deferrable);
            from = to.wrapping_add(step as u64);
        }
        if let Some(told) = told {
            told.end(th);
        }
        destroy(pattern);
        submit::discard(th, data_of(pattern));
    }
    if !nogroup {
        group::end(th);
    }
}

/// How a taskloop is cut into tasks. `kind`: 0 no clause, 1 `grainsize`, 2 `num_tasks`.
fn cut(kind: i32, number: u64, strict: bool) -> Cut {
    match (kind, strict) {
        (1, false) => Cut::Grain(number),
        (1, true) => Cut::StrictGrain(number),
        (2, _) => Cut::Tasks(number),
        _ => Cut::Tasks(0),
    }
}

entries! {
    "VERSION" default:
    /// Allocates memory for a task. Compiled code fills it in and submits the task.
    fn __kmpc_omp_task_alloc(
        _loc: Loc, _gtid: i32, flags: i32, bytes: usize, shareds: usize, routine: Option<Routine>,
    ) -> *mut KmpTask {
        allocate(flags & !HELPER, bytes, shareds, routine)
    }

    /// `__kmpc_omp_task_alloc` for `target nowait`. The task runs on the host, later, even if it was made
    /// outside of any region.
    fn __kmpc_omp_target_task_alloc(
        _loc: Loc, _gtid: i32, flags: i32, bytes: usize, shareds: usize, routine: Option<Routine>,
        _device: i64,
    ) -> *mut KmpTask {
        allocate(flags | HELPER, bytes, shareds, routine)
    }

    /// Submits a task.
    watched fn __kmpc_omp_task(_loc: Loc, _gtid: i32, task: *mut KmpTask) -> i32 {
        // SAFETY: the compiled code submits what it allocated.
        unsafe { submit(task, &List::new(), true) };
        0
    }

    /// `__kmpc_omp_task` for untied tasks, which have several parts.
    watched fn __kmpc_omp_task_parts(_loc: Loc, _gtid: i32, task: *mut KmpTask) -> i32 {
        // SAFETY: the compiled code submits what it allocated.
        unsafe { submit(task, &List::new(), true) };
        0
    }

    /// Submits a task with dependences.
    watched fn __kmpc_omp_task_with_deps(
        _loc: Loc, _gtid: i32, task: *mut KmpTask, count: i32, list: *const DependInfo,
        more_count: i32, more: *const DependInfo,
    ) -> i32 {
        // SAFETY: the compiled code submits what it allocated, and passes lists with their lengths.
        unsafe {
            let depends = dependences(count, list, more_count, more);
            submit(task, &depends, true);
        }
        0
    }

    /// Begins a task that compiled code runs itself.
    watched fn __kmpc_omp_task_begin_if0(_loc: Loc, _gtid: i32, task: *mut KmpTask) {
        // SAFETY: the compiled code begins what it allocated, and ends it.
        unsafe {
            let h = head(task);
            h.begun.set(true);
            let (is_final, untied) = (h.flags & FINAL != 0, h.flags & TIED == 0);
            submit::enter(Thread::current(), data_of(task), is_final, untied);
        }
    }

    /// Ends a task that `__kmpc_omp_task_begin_if0` began.
    fn __kmpc_omp_task_complete_if0(_loc: Loc, _gtid: i32, task: *mut KmpTask) {
        // SAFETY: the compiled code ends the task that it began.
        unsafe {
            finish_parts(task);
            destroy(task);
            submit::leave(Thread::current(), data_of(task));
        }
    }

    /// Waits until a task with these dependences could begin.
    watched fn __kmpc_omp_wait_deps(
        _loc: Loc, _gtid: i32, count: i32, list: *const DependInfo, more_count: i32,
        more: *const DependInfo,
    ) {
        // SAFETY: the compiled code passes lists with their lengths.
        let depends = unsafe { dependences(count, list, more_count, more) };
        depend::wait_as_task(Thread::current(), depends.as_slice());
    }

    /// As `__kmpc_omp_wait_deps`. With `nowait` it does not wait, but makes an empty task with these
    /// dependences.
    watched fn __kmpc_omp_taskwait_deps_51(
        _loc: Loc, _gtid: i32, count: i32, list: *const DependInfo, more_count: i32,
        more: *const DependInfo, nowait: i32,
    ) {
        // SAFETY: the compiled code passes lists with their lengths.
        let depends = unsafe { dependences(count, list, more_count, more) };
        if nowait != 0 {
            let task = allocate(0, 0, 0, Some(nothing));
            // SAFETY: `allocate` made the task in the line before.
            unsafe { submit(task, &depends, true) };
        } else {
            depend::wait_as_task(Thread::current(), depends.as_slice());
        }
    }

    /// Waits for the children of the current task.
    watched fn __kmpc_omp_taskwait(_loc: Loc, _gtid: i32) -> i32 {
        task::taskwait(Thread::current());
        0
    }

    /// A point at which the current task may be suspended.
    watched fn __kmpc_omp_taskyield(_loc: Loc, _gtid: i32, _part: i32) -> i32 {
        task::taskyield_to_descendant(Thread::current());
        0
    }

    /// Begins a taskgroup.
    watched fn __kmpc_taskgroup(_loc: Loc, _gtid: i32) {
        group::start(Thread::current());
    }

    /// Ends the innermost taskgroup.
    watched fn __kmpc_end_taskgroup(_loc: Loc, _gtid: i32) {
        group::end(Thread::current());
    }

    /// Cuts a loop into tasks like `task`.
    watched fn __kmpc_taskloop(
        _loc: Loc, _gtid: i32, task: *mut KmpTask, if_clause: i32, lower: *mut u64, upper: *mut u64,
        step: i64, nogroup: i32, kind: i32, number: u64,
        copy: Option<unsafe extern "C" fn(*mut KmpTask, *mut KmpTask, i32)>,
    ) {
        let cut = cut(kind, number, false);
        // SAFETY: the compiled code describes its loop.
        unsafe { taskloop(task, if_clause != 0, lower, upper, step, nogroup != 0, cut, copy) };
    }

    /// `__kmpc_taskloop` with the `strict` modifier.
    watched fn __kmpc_taskloop_5(
        _loc: Loc, _gtid: i32, task: *mut KmpTask, if_clause: i32, lower: *mut u64, upper: *mut u64,
        step: i64, nogroup: i32, kind: i32, number: u64, strict: i32,
        copy: Option<unsafe extern "C" fn(*mut KmpTask, *mut KmpTask, i32)>,
    ) {
        let cut = cut(kind, number, strict != 0);
        // SAFETY: the compiled code describes its loop.
        unsafe { taskloop(task, if_clause != 0, lower, upper, step, nogroup != 0, cut, copy) };
    }

    /// The `affinity` clause: advice, which is ignored.
    fn __kmpc_omp_reg_task_with_affinity(
        _loc: Loc, _gtid: i32, _task: *mut KmpTask, _count: i32, _list: *const c_void,
    ) -> i32 {
        0
    }

    /// Returns the event of a detachable task.
    fn __kmpc_task_allow_completion_event(
        _loc: Loc, _gtid: i32, task: *mut KmpTask,
    ) -> *mut c_void {
        // SAFETY: the compiled code asks for the event of what it allocated.
        unsafe { submit::event(data_of(task)) }
    }

    /// Called by a thread of the team when a proxy task is complete.
    fn __kmpc_proxy_task_completed(_gtid: i32, task: *mut KmpTask) {
        // SAFETY: the program completes a proxy task once.
        unsafe { task::fulfill(submit::handle(data_of(task))) };
    }

    /// Called by any thread when a proxy task is complete.
    fn __kmpc_proxy_task_completed_ooo(task: *mut KmpTask) {
        // SAFETY: the program completes a proxy task once.
        unsafe { task::fulfill(submit::handle(data_of(task))) };
    }

    /// Returns a task's node in the graph of dependences between siblings, for programs that look at the
    /// graph.
    fn __kmpc_task_get_depnode(task: *mut KmpTask) -> *const c_void {
        // SAFETY: the program passes a task that it submitted and that has not ended.
        unsafe { submit::graph(data_of(task)) }.0
    }

    /// Returns the list of nodes that wait for a task. An item holds the address of a node, and then the
    /// address of the next item.
    fn __kmpc_task_get_successors(task: *mut KmpTask) -> *const c_void {
        // SAFETY: the program passes a task that it submitted and that has not ended.
        unsafe { submit::graph(data_of(task)) }.1
    }

    /// May other threads run tasks that the current task makes?
    fn __kmpc_omp_has_task_team(_gtid: i32) -> bool {
        query::num_threads() > 1
    }

    /// Asked by libomptarget at the start of a `target nowait` that goes to a device, where
    /// `__kmpc_omp_has_task_team` answered yes: the place for a handle of the device's work. The runtime would run
    /// a task with such a handle again and again until the work is done. Here tasks run once, so there is no place,
    /// which the interface allows: with null, libomptarget waits for the device inside of the task.
    fn __kmpc_omp_get_target_async_handle_ptr(_gtid: i32) -> *mut *mut c_void {
        core::ptr::null_mut()
    }

    /// The number of the current task. libomp numbers tasks only when it was built for a debugger. In the libomp of
    /// LLVM's releases, every task has this number. (There, a thread that has not used the runtime has 0.)
    fn __kmpc_get_taskid() -> u64 {
        UNNUMBERED
    }

    /// The number of the task that made the current one; for an implicit task, of the task that met the region.
    /// 0 in the initial task.
    fn __kmpc_get_parent_taskid() -> u64 {
        if query::in_explicit_task() || query::level() > 0 { UNNUMBERED } else { 0 }
    }

    /// The `error` directive. Severity 1 warns; 2 ends the program.
    watched fn __kmpc_error(_loc: Loc, severity: i32, message: *const c_char) {
        let message = if message.is_null() {
            c""
        } else {
            // SAFETY: the compiled code passes a string.
            unsafe { CStr::from_ptr(message) }
        };
        if tool::on() {
            events::error(severity as u32, message);
        }
        let text = message.to_string_lossy();
        if severity == 2 {
            report::fatal(format_args!("error directive: {text}"));
        }
        report::warn(format_args!("error directive: {text}"));
    }
}
