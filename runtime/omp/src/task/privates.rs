//! Task reductions whose private copies the runtime makes and combines (OpenMP 5.1, sections 2.21.5.5 and
//! 2.21.5.6), for compilers that leave this to the runtime, as clang does. Code compiled by gcc makes its
//! copies itself (`runtime/abi/src/gomp/reduction.rs`).
//!
//! The reductions belong to a taskgroup. A thread gets its copy of a variable when one of its tasks asks for
//! the copy the first time. When the taskgroup ends, the copies are combined into the variable.
//!
//! With the `task` reduction modifier on a region or a worksharing construct, every thread of the team has
//! its own taskgroup and its own variable, but all threads share one set of copies. The last thread to end
//! its taskgroup combines the copies into its own variable, and the construct's ordinary reduction goes on
//! from there.

pub use super::copies::Variable;
use super::copies::{Copies, Reductions};
use super::group;
use super::record::Group;
use crate::thread::Thread;
use crate::worksharing::construct;
use core::any::Any;
use hetmp_core::report;
use libc::c_void;
use std::sync::Arc;

/// Gives reductions to the innermost taskgroup. The returned address names the group to [`private`].
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

/// Begins the taskgroup of the `task` reduction modifier in the calling thread. All threads of the team call
/// this.
///
/// # Safety
/// The addresses and functions of `variables` are valid until the taskgroup ends. The variables of all
/// threads differ only in their addresses.
pub unsafe fn begin_modifier(th: &Thread, variables: Box<[Variable]>) -> *const Group {
    let threads = th.nthreads();
    let make = || Arc::new(Copies::new(variables.len(), threads as usize, threads));
    let copies = if threads == 1 {
        make()
    } else {
        let object = construct::share(th, || -> Arc<dyn Any + Send + Sync> { make() });
        object.downcast().unwrap_or_else(|_| {
            report::fatal(format_args!(
                "a task reduction modifier that not all threads of the team meet in the same order"
            ))
        })
    };
    group::start(th);
    attach_with(th, variables, copies)
}

/// Ends the taskgroup that [`begin_modifier`] began.
pub fn end_modifier(th: &Thread) {
    group::end(th);
}

/// The calling thread's copy of the variable that `item` names, by the variable's own address or an address
/// in one of its copies. The variable is looked up in the taskgroup `group` (null: the innermost) and then in
/// those around it.
///
/// # Safety
/// `group` is null or an address that [`attach`] or [`begin_modifier`] returned, of a taskgroup that has not
/// ended.
pub unsafe fn private(th: &Thread, group: *const Group, item: *mut c_void) -> *mut c_void {
    let mut p = if group.is_null() {
        th.task().group.get()
    } else {
        group
    };
    while let Some(g) = Group::of(p) {
        if let Some(reductions) = g.privates() {
            if let Some(i) = reductions.find(item) {
                return reductions.copy(i, th.seat());
            }
        }
        p = g.outer.get();
    }
    report::fatal(format_args!(
        "in_reduction of {item:p}: no task_reduction of it around this task"
    ))
}
