//! The successors of a task: a list that the thread which makes them adds to, until the task is complete.
//!
//! # Memory ordering
//! A successor is pushed with release and the closing swap acquires, so the completing thread sees the whole
//! record of the successor. A maker whose push finds the list closed acquires what the completed task wrote.
//! The last decrement of `missing` acquires all earlier ones.

use core::ptr::null_mut;
use hetmp_core::sync::{AtomicPtr, AtomicU32, Ordering};

/// One successor in a list. It leads there by a raw pointer, because the edge may lie inside the successor.
///
/// The layout is the one that libomp's `__kmpc_task_get_successors` shows to programs.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Edge<T> {
    pub(super) to: *const T,
    pub(super) next: *mut Edge<T>,
    /// The edge was allocated by itself and is not part of `to`.
    pub(super) boxed: bool,
}

impl<T> Edge<T> {
    pub(super) const NONE: Edge<T> = Edge {
        to: core::ptr::null(),
        next: null_mut(),
        boxed: false,
    };
}

/// Singly linked.
#[derive(Debug)]
pub(super) struct Successors<T>(AtomicPtr<Edge<T>>);

/// The head of a list whose owner is complete.
fn closed<T>() -> *mut Edge<T> {
    core::ptr::without_provenance_mut(1)
}

impl<T> Successors<T> {
    pub(super) fn new() -> Successors<T> {
        Successors(AtomicPtr::new(null_mut()))
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.load(Ordering::Acquire) == closed()
    }

    /// The head of the list; null if it is empty or closed.
    pub(super) fn first(&self) -> *mut Edge<T> {
        let head = self.0.load(Ordering::Acquire);
        if head == closed() {
            null_mut()
        } else {
            head
        }
    }

    /// Links the edge, and counts one predecessor more for the task that it leads to. False if the list is closed: then
    /// nothing has changed.
    ///
    /// # Safety
    /// The edge belongs to the caller, and lives until it has been taken out of the list.
    pub(super) unsafe fn add(&self, edge: *mut Edge<T>, missing: &AtomicU32) -> bool {
        // Count first: the other side may release the edge as soon as it is linked.
        missing.fetch_add(1, Ordering::Relaxed);
        let mut head = self.0.load(Ordering::Acquire);
        while head != closed() {
            // SAFETY: the edge is not linked yet, so it belongs to this thread.
            unsafe { (*edge).next = head };
            match self
                .0
                .compare_exchange_weak(head, edge, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return true,
                Err(now) => head = now,
            }
        }
        missing.fetch_sub(1, Ordering::Relaxed);
        false
    }

    /// Closes the list and hands every edge to `each`, which then owns it.
    pub(super) fn close(&self, mut each: impl FnMut(*mut Edge<T>)) {
        let mut edge = self.0.swap(closed(), Ordering::AcqRel);
        while !edge.is_null() && edge != closed() {
            // SAFETY: the swap took the list with its edges; `next` is read before the edge goes.
            let next = unsafe { (*edge).next };
            each(edge);
            edge = next;
        }
    }
}

/// Counts one predecessor less. True when it was the last.
pub(super) fn one_less(missing: &AtomicU32) -> bool {
    missing.fetch_sub(1, Ordering::AcqRel) == 1
}
