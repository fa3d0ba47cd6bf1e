//! Task reductions whose private copies the runtime makes and combines (OpenMP 5.1, sections 2.21.5.5
//! and 2.21.5.6), for compilers that leave that to the runtime (clang; gcc's compiled code does it
//! itself, see [`super::reduction`]).
//!
//! The reductions belong to a taskgroup. A thread gets its copy of a variable when one of its tasks
//! asks for it the first time; when the taskgroup ends, the copies are combined into the variable.
//!
//! With the `task` reduction modifier on a region or a worksharing construct, every thread of the team
//! has a taskgroup of its own, and a variable of its own, but the copies are the same for all: the
//! last thread to end its taskgroup combines them into its own variable, and the construct's ordinary
//! reduction goes on from there.

use super::group::{self, Group};
use crate::thread::Thread;
use crate::worksharing::work;
use core::any::Any;
use hetmp_core::report;
use hetmp_core::sync::{AtomicPtr, AtomicU32, Ordering};
use libc::c_void;
use std::alloc::Layout;
use std::sync::Arc;

/// One reduction variable, as the program describes it.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Where the result goes; also what tasks name the variable by.
    pub shared: *mut c_void,
    /// What `init` may look at.
    pub original: *mut c_void,
    /// Bytes.
    pub size: usize,
    /// Initialises a copy (first argument); `None`: zeros.
    pub init: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    /// Ends a copy.
    pub fini: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Combines the second argument into the first.
    pub combine: unsafe extern "C" fn(*mut c_void, *mut c_void),
}

/// The private copies of the variables, by variable and thread.
///
/// # Memory ordering
/// A slot is written by its own thread, with release, and read by others that look whether an
/// address lies in a copy. Whoever combines has seen all tasks of the taskgroups end.
#[derive(Debug)]
struct Copies {
    /// `slots[v * threads + t]`.
    slots: Box<[AtomicPtr<u8>]>,
    threads: usize,
    /// Taskgroups that have not ended.
    groups: AtomicU32,
}

impl Copies {
    fn new(variables: usize, threads: usize, groups: u32) -> Copies {
        Copies {
            slots: (0..variables * threads)
                .map(|_| AtomicPtr::new(core::ptr::null_mut()))
                .collect(),
            threads,
            groups: AtomicU32::new(groups),
        }
    }

    fn of(&self, variable: usize) -> &[AtomicPtr<u8>] {
        &self.slots[variable * self.threads..][..self.threads]
    }
}

/// A cache line for each copy: threads write to their own all the time.
fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes.max(1), 64).unwrap_or_else(|_| {
        report::fatal(format_args!(
            "a task reduction of {bytes} bytes: less than half of the memory"
        ))
    })
}

/// The reductions of one taskgroup.
#[derive(Debug)]
pub(crate) struct Reductions {
    variables: Box<[Variable]>,
    copies: Arc<Copies>,
}

impl Reductions {
    /// The number of the variable that `item` is, or is a copy of.
    fn find(&self, item: *mut c_void) -> Option<usize> {
        let named = self.variables.iter().position(|v| v.shared == item);
        named.or_else(|| {
            self.variables.iter().enumerate().position(|(i, v)| {
                self.copies.of(i).iter().any(|slot| {
                    let copy = slot.load(Ordering::Acquire) as usize;
                    copy != 0 && (copy..copy + v.size.max(1)).contains(&(item as usize))
                })
            })
        })
    }

    /// Thread `t`'s copy of variable `i`.
    fn copy(&self, i: usize, t: usize) -> *mut c_void {
        let Some(slot) = self.copies.of(i).get(t) else {
            report::fatal(format_args!(
                "in_reduction in thread {t}: the task_reduction around it has {} threads",
                self.copies.threads
            ));
        };
        let there = slot.load(Ordering::Relaxed);
        if !there.is_null() {
            return there.cast();
        }
        let v = &self.variables[i];
        // SAFETY: the layout is not empty.
        let copy = unsafe { std::alloc::alloc_zeroed(layout(v.size)) };
        if copy.is_null() {
            report::fatal(format_args!(
                "out of memory for a task reduction of {} bytes",
                v.size
            ));
        }
        if let Some(init) = v.init {
            // SAFETY: the promise made to `attach`: the program's function for a copy of this size.
            unsafe { init(copy.cast(), v.original) };
        }
        slot.store(copy, Ordering::Release);
        copy.cast()
    }

    /// One taskgroup has ended; the last one combines and frees the copies.
    pub(super) fn end(self) {
        if self.copies.groups.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        for (i, v) in self.variables.iter().enumerate() {
            for slot in self.copies.of(i) {
                let copy = slot.load(Ordering::Acquire);
                if copy.is_null() {
                    continue;
                }
                // SAFETY: the promise made to `attach`; all tasks that used the copy have ended, and
                // the layout is that of its allocation.
                unsafe {
                    (v.combine)(v.shared, copy.cast());
                    if let Some(fini) = v.fini {
                        fini(copy.cast());
                    }
                    std::alloc::dealloc(copy, layout(v.size));
                }
            }
        }
    }
}

/// Gives reductions to the innermost taskgroup; its address names the group to [`private`].
///
/// # Safety
/// The addresses and functions of `variables` are valid until the taskgroup ends.
pub unsafe fn attach(th: &Thread, variables: Box<[Variable]>) -> *const Group {
    let copies = Copies::new(variables.len(), th.nthreads() as usize, 1);
    attach_with(th, variables, Arc::new(copies))
}

fn attach_with(th: &Thread, variables: Box<[Variable]>, copies: Arc<Copies>) -> *const Group {
    if th.task().group.get().is_null() {
        group::start(th);
    }
    let p = th.task().group.get();
    if let Some(group) = Group::of(p) {
        group.set_privates(Reductions { variables, copies });
    }
    p
}

/// Begins the taskgroup of the `task` reduction modifier in the calling thread. All threads of the team
/// call this.
///
/// # Safety
/// As for [`attach`]; the variables of all threads are the same but for their addresses.
pub unsafe fn begin_modifier(th: &Thread, variables: Box<[Variable]>) -> *const Group {
    let threads = th.nthreads();
    let make = || Arc::new(Copies::new(variables.len(), threads as usize, threads));
    let copies = if threads == 1 {
        make()
    } else {
        let object = work::share(th, || -> Arc<dyn Any + Send + Sync> { make() });
        object.downcast().unwrap_or_else(|_| {
            report::fatal(format_args!(
                "a task reduction modifier that not all threads of the team meet in the same order"
            ))
        })
    };
    group::start(th);
    attach_with(th, variables, copies)
}

/// Ends that taskgroup.
pub fn end_modifier(th: &Thread) {
    group::end(th);
}

/// The calling thread's copy of the variable that `item` is the address of, or a copy's; of the taskgroup
/// `group` (null: the innermost) or one around it.
///
/// # Safety
/// `group` is null or what [`attach`] or [`begin_modifier`] gave, of a taskgroup that has not ended.
pub unsafe fn private(th: &Thread, group: *const Group, item: *mut c_void) -> *mut c_void {
    let mut p = if group.is_null() {
        th.task().group.get()
    } else {
        group
    };
    while let Some(g) = Group::of(p) {
        if let Some(reductions) = g.privates() {
            if let Some(i) = reductions.find(item) {
                return reductions.copy(i, th.tid() as usize);
            }
        }
        p = g.outer.get();
    }
    report::fatal(format_args!(
        "in_reduction of {item:p}: no task_reduction of it around this task"
    ))
}
