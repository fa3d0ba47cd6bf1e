//! Private copies of reduction variables, made and combined by the runtime: the state of
//! [`super::privates`].
//!
//! Who attaches variables there (`unsafe`) promises that a variable's functions are for objects of its size, may be
//! called with its addresses and with a copy, and that all of it outlives the taskgroup. The program's functions are
//! called on that promise.

use crate::team::seat::Seat;
use hetmp_core::report;
use hetmp_core::sync::{AtomicPtr, AtomicU32, Ordering};
use libc::c_void;
use std::alloc::Layout;
use std::sync::Arc;

/// One reduction variable, as the program describes it.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Address of the result. Tasks also name the variable by it.
    pub shared: *mut c_void,
    /// The object that `init` may read.
    pub original: *mut c_void,
    /// Size in bytes.
    pub size: usize,
    /// Initialises a copy (first argument) from `original` (second); `None`: fill with zeros.
    pub init: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    /// Destroys a copy.
    pub fini: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Combines the second argument into the first.
    pub combine: unsafe extern "C" fn(*mut c_void, *mut c_void),
}

/// The private copies of the variables, by variable and thread.
///
/// # Memory ordering
/// A slot is written by its own thread with release, and read with acquire by threads that look whether an
/// address lies in a copy. The thread that combines the copies has seen all tasks of the taskgroups end.
#[derive(Debug)]
pub(super) struct Copies {
    /// `slots[v * threads + seat]`.
    slots: Box<[AtomicPtr<u8>]>,
    threads: usize,
    /// Taskgroups that have not ended.
    groups: AtomicU32,
}

impl Copies {
    pub(super) fn new(variables: usize, threads: usize, groups: u32) -> Copies {
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

/// The allocation of a copy: cache lines of its own, since threads write to their copies all the time.
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
    pub(super) variables: Box<[Variable]>,
    pub(super) copies: Arc<Copies>,
}

impl Reductions {
    /// The index of the variable whose address or copy `item` is.
    pub(super) fn find(&self, item: *mut c_void) -> Option<usize> {
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

    /// The copy of variable `i` that belongs to the thread on `seat`.
    pub(super) fn copy(&self, i: usize, seat: Seat) -> *mut c_void {
        let Some(slot) = self.copies.of(i).get(seat.index()) else {
            report::fatal(format_args!(
                "in_reduction in thread {}: the task_reduction around it has {} threads",
                seat.get(),
                self.copies.threads
            ));
        };
        let there = slot.load(Ordering::Relaxed);
        if !there.is_null() {
            return there.cast();
        }
        let v = &self.variables[i];
        // SAFETY: `layout` has at least one byte.
        let copy = unsafe { std::alloc::alloc_zeroed(layout(v.size)) };
        if copy.is_null() {
            report::fatal(format_args!(
                "out of memory for a task reduction of {} bytes",
                v.size
            ));
        }
        if let Some(init) = v.init {
            // SAFETY: a copy of this size, which no other thread knows yet; else as who attached the variable promised.
            unsafe { init(copy.cast(), v.original) };
        }
        slot.store(copy, Ordering::Release);
        copy.cast()
    }

    /// Ends one taskgroup. The last one to end combines the copies into the variables and frees them.
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
                // SAFETY: as who attached the variable promised. `groups` was 1: the last taskgroup has ended, and
                // with it all tasks that used the copy. The layout is that of its allocation.
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
