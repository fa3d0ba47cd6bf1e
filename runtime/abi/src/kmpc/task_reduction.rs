//! Task reductions: the variables of a taskgroup as clang describes them, and each thread's copies.

use super::Loc;
use crate::entry::entries;
use hetmp_omp::task::privates::{self, Variable};
use hetmp_omp::task::Group;
use hetmp_omp::Thread;
use libc::c_void;

/// A reduction variable as clang describes it (`kmp_taskred_input`).
#[repr(C)]
pub(crate) struct Reduced {
    shared: *mut c_void,
    original: *mut c_void,
    size: usize,
    init: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    fini: Option<unsafe extern "C" fn(*mut c_void)>,
    combine: unsafe extern "C" fn(*mut c_void, *mut c_void),
    /// Tells when to make copies. Here copies are made at their first use, so the flags are ignored.
    flags: u32,
}

const _: () = assert!(size_of::<Reduced>() == 56);

/// A reduction variable in older code (`kmp_task_red_input`): its `init` has one argument.
#[repr(C)]
pub(crate) struct ReducedBefore {
    shared: *mut c_void,
    size: usize,
    init: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    fini: Option<unsafe extern "C" fn(*mut c_void)>,
    combine: unsafe extern "C" fn(*mut c_void, *mut c_void),
    flags: u32,
}

const _: () = assert!(size_of::<ReducedBefore>() == 48);

/// # Safety
/// The array has `count` elements.
unsafe fn variables(count: i32, list: *const Reduced) -> Box<[Variable]> {
    // SAFETY: the array has `count` elements: this function's contract.
    unsafe { core::slice::from_raw_parts(list, count.max(0) as usize) }
        .iter()
        .map(|r| Variable {
            shared: r.shared,
            original: if r.original.is_null() {
                r.shared
            } else {
                r.original
            },
            size: r.size,
            init: r.init,
            fini: r.fini,
            combine: r.combine,
        })
        .collect()
}

/// # Safety
/// The array has `count` elements.
unsafe fn variables_before(count: i32, list: *const ReducedBefore) -> Box<[Variable]> {
    // SAFETY: the array has `count` elements: this function's contract. `init` of older code has one
    // argument; on the supported processors a function of one argument ignores a second one.
    unsafe { core::slice::from_raw_parts(list, count.max(0) as usize) }
        .iter()
        .map(|r| Variable {
            shared: r.shared,
            original: r.shared,
            size: r.size,
            init: r.init,
            fini: r.fini,
            combine: r.combine,
        })
        .collect()
}

entries! {
    "VERSION" default:
    /// Adds reductions to the current taskgroup.
    fn __kmpc_taskred_init(_gtid: i32, count: i32, list: *const Reduced) -> *const Group {
        // SAFETY: the compiled code describes variables that outlive the taskgroup.
        unsafe { privates::attach(Thread::current(), variables(count, list)) }
    }

    /// `__kmpc_taskred_init` as older code calls it.
    fn __kmpc_task_reduction_init(_gtid: i32, count: i32, list: *const ReducedBefore) -> *const Group {
        // SAFETY: the compiled code describes variables that outlive the taskgroup.
        unsafe { privates::attach(Thread::current(), variables_before(count, list)) }
    }

    /// Begins the taskgroup of the `task` reduction modifier.
    fn __kmpc_taskred_modifier_init(
        _loc: Loc, _gtid: i32, _worksharing: i32, count: i32, list: *const Reduced,
    ) -> *const Group {
        // SAFETY: the compiled code describes variables that outlive the construct.
        unsafe { privates::begin_modifier(Thread::current(), variables(count, list)) }
    }

    /// `__kmpc_taskred_modifier_init` as older code calls it.
    fn __kmpc_task_reduction_modifier_init(
        _loc: Loc, _gtid: i32, _worksharing: i32, count: i32, list: *const ReducedBefore,
    ) -> *const Group {
        // SAFETY: the compiled code describes variables that outlive the construct.
        unsafe { privates::begin_modifier(Thread::current(), variables_before(count, list)) }
    }

    /// Ends the taskgroup of the `task` reduction modifier.
    fn __kmpc_task_reduction_modifier_fini(_loc: Loc, _gtid: i32, _worksharing: i32) {
        privates::end_modifier(Thread::current());
    }

    /// The calling thread's copy of a reduction variable.
    fn __kmpc_task_reduction_get_th_data(
        _gtid: i32, group: *const Group, item: *mut c_void,
    ) -> *mut c_void {
        // SAFETY: the compiled code passes null, or a pointer that one of the entries above returned.
        unsafe { privates::private(Thread::current(), group, item) }
    }
}
