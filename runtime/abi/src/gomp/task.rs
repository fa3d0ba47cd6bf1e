//! Tasks, taskgroups, taskloops, task reductions, events.

use super::reduction;
use crate::entry::entries;
use hetmp_core::report;
use hetmp_omp::cancel::{self, Construct};
use hetmp_omp::task::depend::{self, Dependence, Kind};
use hetmp_omp::task::run::CopyData;
use hetmp_omp::task::taskloop::{taskloop, Cut, Taskloop};
use hetmp_omp::task::{self, group, NewTask};
use hetmp_omp::team::Outlined;
use hetmp_omp::Thread;
use libc::{c_int, c_long, c_uint, c_ulong, c_ulonglong, c_void};

// Bits of the `flags` arguments (gomp-constants.h of gcc).
const FINAL: c_uint = 1 << 1;
const DEPEND: c_uint = 1 << 3;
const PRIORITY: c_uint = 1 << 4;
const UP: c_uint = 1 << 8;
const GRAINSIZE: c_uint = 1 << 9;
const IF: c_uint = 1 << 10;
const NOGROUP: c_uint = 1 << 11;
const REDUCTION: c_uint = 1 << 12;
const DETACH: c_uint = 1 << 13;
const STRICT: c_uint = 1 << 14;

/// The dependence type behind a number in an `omp_depend_t` object or in the array of OpenMP 5.0.
pub(crate) fn kind_of(raw: usize) -> Kind {
    match raw {
        1 => Kind::In,
        2 | 3 => Kind::Out,
        4 => Kind::MutexInOutSet,
        5 => Kind::InOutSet,
        _ => report::fatal(format_args!(
            "omp_depend_t of type {raw}: initialise it with the depobj construct"
        )),
    }
}

/// Dependences on the stack, or on the heap when there are many.
pub(crate) struct List {
    few: [Dependence; List::FEW],
    many: Vec<Dependence>,
    len: usize,
}

impl List {
    const FEW: usize = 8;

    pub(crate) fn new() -> List {
        List {
            few: [Dependence {
                address: 0,
                kind: Kind::In,
            }; List::FEW],
            many: Vec::new(),
            len: 0,
        }
    }

    pub(crate) fn push(&mut self, address: usize, kind: Kind) {
        let d = Dependence { address, kind };
        if self.len < List::FEW {
            self.few[self.len] = d;
        } else {
            if self.len == List::FEW {
                self.many.extend_from_slice(&self.few);
            }
            self.many.push(d);
        }
        self.len += 1;
    }

    /// The dependences, in order.
    pub(crate) fn as_slice(&self) -> &[Dependence] {
        if self.len <= List::FEW {
            &self.few[..self.len]
        } else {
            &self.many
        }
    }
}

/// Reads the array that gcc passes for `depend` clauses. Two forms: `[total, outs, addresses...]`,
/// and since 5.0 `[0, total, outs, mutexinoutsets, ins, addresses..., depobjs...]`.
///
/// # Safety
/// `depend` is such an array.
pub(crate) unsafe fn dependences(depend: *const *mut c_void) -> List {
    let mut list = List::new();
    // SAFETY: `depend` is an array as gcc makes it, whose first words say how long it is: this function's
    // contract.
    unsafe {
        let word = |i: usize| *depend.add(i) as usize;
        if word(0) != 0 {
            let (total, outs) = (word(0), word(1));
            for i in 0..total {
                list.push(word(2 + i), if i < outs { Kind::Out } else { Kind::In });
            }
        } else {
            let (total, outs, mutexes, ins) = (word(1), word(2), word(3), word(4));
            let plain = outs + mutexes + ins;
            for i in 0..total {
                if i < plain {
                    let kind = if i < outs {
                        Kind::Out
                    } else if i < outs + mutexes {
                        Kind::MutexInOutSet
                    } else {
                        Kind::In
                    };
                    list.push(word(5 + i), kind);
                } else {
                    let object = word(5 + i) as *const usize;
                    list.push(*object, kind_of(*object.add(1)));
                }
            }
        }
    }
    list
}

entries! {
    "GOMP_2.0" default:
    /// Makes a task. Arguments: body, its data, copy constructor, bytes and alignment of the data, `if`
    /// clause, flags, dependences, priority, event variable. (Older compilers do not pass the last three; the
    /// entry reads each of them only if a flag says that it is there.)
    watched fn GOMP_task(
        f: Outlined, data: *mut c_void, copy: Option<CopyData>, size: c_long, align: c_long,
        if_clause: bool, flags: c_uint, depend: *const *mut c_void, priority: c_int,
        event: *mut c_void,
    ) {
        let th = Thread::current();
        if copy.is_none() && flags & (DEPEND | DETACH) == 0 {
            // SAFETY: the compiled code describes its task.
            if unsafe { task::create_simple(th, f, data, if_clause, flags & FINAL != 0) } {
                return;
            }
        }
        let list;
        let depends = if flags & DEPEND != 0 {
            // SAFETY: the compiled code passes the array with this flag.
            list = unsafe { dependences(depend) };
            Some(list.as_slice())
        } else {
            None
        };
        let new = NewTask {
            f,
            data,
            copy,
            size: size as usize,
            align: align as usize,
            deferrable: if_clause,
            outside: false,
            is_final: flags & FINAL != 0,
            depends,
            priority: if flags & PRIORITY != 0 { priority } else { 0 },
            event: (flags & DETACH != 0).then_some(event.cast()),
            range: None,
        };
        // SAFETY: the compiled code describes its task.
        unsafe { task::create(th, &new) };
    }

    /// Waits for the children of the current task.
    watched fn GOMP_taskwait() {
        task::taskwait(Thread::current());
    }

    "GOMP_3.0" default:
    /// A point at which the current task may be suspended.
    fn GOMP_taskyield() {
        task::taskyield();
    }

    "GOMP_4.0" default:
    /// Begins a taskgroup.
    watched fn GOMP_taskgroup_start() {
        group::start(Thread::current());
    }

    /// Ends the innermost taskgroup: waits for all tasks made in it, and for their descendants.
    watched fn GOMP_taskgroup_end() {
        group::end(Thread::current());
    }

    "GOMP_4.5" default:
    /// A taskloop over `long`.
    watched fn GOMP_taskloop(
        f: Outlined, data: *mut c_void, copy: Option<CopyData>, size: c_long, align: c_long,
        flags: c_uint, num_tasks: c_ulong, priority: c_int, start: c_long, end: c_long, step: c_long,
    ) {
        let trips = hetmp_sched::ranges::LoopBounds::signed(start, end, step).trip_count();
        // SAFETY: the compiled code describes its loop.
        unsafe {
            run_taskloop(f, data, copy, size, align, flags, num_tasks, priority, trips,
                start as u64, step as u64);
        }
    }

    /// A taskloop over `unsigned long long`.
    watched fn GOMP_taskloop_ull(
        f: Outlined, data: *mut c_void, copy: Option<CopyData>, size: c_long, align: c_long,
        flags: c_uint, num_tasks: c_ulong, priority: c_int, start: c_ulonglong, end: c_ulonglong,
        step: c_ulonglong,
    ) {
        let trips =
            hetmp_sched::ranges::LoopBounds::unsigned(flags & UP != 0, start, end, step).trip_count();
        // SAFETY: the compiled code describes its loop.
        unsafe {
            run_taskloop(f, data, copy, size, align, flags, num_tasks, priority, trips, start, step);
        }
    }

    "GOMP_5.0" default:
    /// Waits until a task with these dependences could begin.
    watched fn GOMP_taskwait_depend(depend: *const *mut c_void) {
        // SAFETY: the compiled code passes an array as `dependences` reads it.
        let list = unsafe { dependences(depend) };
        depend::wait_for(Thread::current(), list.as_slice());
    }

    /// Registers the reductions of the current taskgroup.
    fn GOMP_taskgroup_reduction_register(data: *mut usize) {
        // SAFETY: the compiled code passes its descriptor.
        unsafe { reduction::register(Thread::current(), data) };
    }

    /// Frees the private copies of the reductions that were registered with this descriptor.
    fn GOMP_taskgroup_reduction_unregister(data: *mut usize) {
        // SAFETY: the compiled code passes the descriptor it registered.
        unsafe { reduction::unregister(data) };
    }

    /// Replaces addresses of reduction variables by those of this thread's private copies.
    fn GOMP_task_reduction_remap(count: usize, originals: usize, items: *mut *mut c_void) {
        // SAFETY: the compiled code passes an array with room for both.
        unsafe { reduction::remap(Thread::current(), count, originals, items.cast()) };
    }

    /// Ends the reductions of a worksharing construct in this thread.
    fn GOMP_workshare_task_reduction_unregister(cancelled: bool) {
        // SAFETY: the compiled code calls it once in each thread, after combining the copies.
        unsafe { reduction::workshare_unregister(Thread::current(), cancelled) };
    }

    "GOMP_5.1.1" default:
    /// `taskwait` with `depend` and `nowait`: an empty task with these dependences.
    fn GOMP_taskwait_depend_nowait(depend: *const *mut c_void) {
        // SAFETY: the compiled code passes an array as `dependences` reads it.
        let list = unsafe { dependences(depend) };
        hetmp_omp::device::take_turn(Thread::current(), list.as_slice(), true);
    }

    "OMP_5.0.1" default:
    /// Fulfills the event of a detachable task (OpenMP 5.1, section 3.11.1).
    fn omp_fulfill_event(event: *mut c_void) {
        task::fulfill(event);
    }

    /// Fortran form of `omp_fulfill_event`, whose argument has the VALUE attribute.
    fn omp_fulfill_event_(event: *mut c_void) {
        task::fulfill(event);
    }
}

#[allow(clippy::too_many_arguments, reason = "the arguments are the ABI's")]
unsafe fn run_taskloop(
    f: Outlined,
    data: *mut c_void,
    copy: Option<CopyData>,
    size: c_long,
    align: c_long,
    flags: c_uint,
    num_tasks: c_ulong,
    priority: c_int,
    trips: u64,
    start: u64,
    step: u64,
) {
    let cut = match (flags & GRAINSIZE != 0, flags & STRICT != 0) {
        (false, _) => Cut::Tasks(num_tasks),
        (true, false) => Cut::Grain(num_tasks),
        (true, true) => Cut::StrictGrain(num_tasks),
    };
    let th = Thread::current();
    let reductions = flags & (REDUCTION | NOGROUP) == REDUCTION;
    if reductions {
        // SAFETY: the third word of the data of a taskloop with reductions is the address of compiled code's
        // descriptor.
        unsafe {
            let descriptor = *data.cast::<*mut usize>().add(2);
            if trips == 0 || cancel::is_cancelled(th, Construct::Parallel) {
                reduction::register_none(descriptor);
                return;
            }
            group::start(th);
            reduction::register(th, descriptor);
        }
    }
    let loop_ = Taskloop {
        f,
        data,
        copy,
        size: size as usize,
        align: align as usize,
        trips,
        start,
        step,
        cut,
        deferrable: flags & IF != 0,
        is_final: flags & FINAL != 0,
        nogroup: reductions || flags & NOGROUP != 0,
        priority: if flags & PRIORITY != 0 { priority } else { 0 },
    };
    // SAFETY: the compiled code's function, data and copy function for this loop: this function's contract.
    unsafe { taskloop(th, &loop_) };
    if reductions {
        group::end(th);
    }
}
