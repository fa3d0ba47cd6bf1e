//! When an endpoint's objects are closed.
//!
//! Two ranks may live in one process, as in this crate's tests. The provider `shm` then gives both the same mapping of
//! an endpoint's queues: a message to an endpoint that was closed a moment ago writes to memory that is gone. So the
//! objects of such endpoints are closed together, when the last of the process has ended; until then, late messages lie
//! in queues that nobody reads. Endpoints in processes of their own have mappings of their own, and close at once.

use super::abi::{Av, Cq, Domain, Ep, Fabric, Fid};
use core::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// # Safety
/// `object` is open, and nobody uses it any more.
pub(super) unsafe fn close(object: *mut Fid) {
    // SAFETY: who calls has an open object that nobody uses any more.
    unsafe {
        ((*(*object).ops).close)(object);
    }
}

/// Objects to be closed, each before those that it needs.
pub(super) trait Close: Send {
    /// # Safety
    /// Nobody uses the objects any more.
    unsafe fn close(self);
}

/// What libfabric has opened for an endpoint. Null: not opened.
pub(super) struct Objects {
    pub(super) fabric: *mut Fabric,
    pub(super) domain: *mut Domain,
    pub(super) av: *mut Av,
    pub(super) cq: *mut Cq,
    pub(super) ep: *mut Ep,
}

// SAFETY: any thread may use libfabric's objects, one thread at a time; `&mut self` of the endpoint ensures that.
unsafe impl Send for Objects {}

impl Objects {
    pub(super) const NONE: Objects = Objects {
        fabric: null_mut(),
        domain: null_mut(),
        av: null_mut(),
        cq: null_mut(),
        ep: null_mut(),
    };
}

impl Close for Objects {
    unsafe fn close(self) {
        let objects: [*mut Fid; 5] = [
            self.ep.cast(),
            self.cq.cast(),
            self.av.cast(),
            self.domain.cast(),
            self.fabric.cast(),
        ];
        for object in objects.into_iter().filter(|o| !o.is_null()) {
            // SAFETY: the object is open, and nobody uses it. Each is closed before the objects that it needs.
            unsafe { close(object) }
        }
    }
}

/// The endpoints of the provider `shm` in this process.
pub(super) static MAPPED: Together<Objects> = Together::new();

/// The endpoints of this process that are reached through a common mapping.
pub(super) struct Together<T>(Mutex<State<T>>);

struct State<T> {
    open: usize,
    ended: Vec<T>,
}

impl<T: Close> Together<T> {
    pub(super) const fn new() -> Together<T> {
        Together(Mutex::new(State {
            open: 0,
            ended: Vec::new(),
        }))
    }

    /// Another endpoint is about to be opened.
    pub(super) fn opens(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).open += 1;
    }

    /// An endpoint for which [`opens`](Self::opens) was called has ended, with these objects.
    ///
    /// # Safety
    /// Its owner does not use the objects any more. Only the owners of the other endpoints may reach them, through the
    /// provider.
    pub(super) unsafe fn ends(&self, objects: T) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.ended.push(objects);
        state.open -= 1;
        if state.open == 0 {
            // The lock is held: an endpoint that opens now begins when all of these are gone.
            for objects in state.ended.drain(..) {
                // SAFETY: no owner is left that could use or reach them.
                unsafe { objects.close() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Close, Together};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    struct Counted(&'static AtomicUsize);

    impl Close for Counted {
        unsafe fn close(self) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn all_are_closed_when_the_last_has_ended() {
        static CLOSED: AtomicUsize = AtomicUsize::new(0);
        let together = Together::new();
        for round in 1..3 {
            for _ in 0..3 {
                together.opens();
            }
            for left in [2, 1, 0] {
                assert_eq!(CLOSED.load(Relaxed), 3 * (round - 1));
                // SAFETY: there is nothing to use.
                unsafe { together.ends(Counted(&CLOSED)) }
                assert_eq!(CLOSED.load(Relaxed), 3 * (round - usize::from(left > 0)));
            }
        }
    }
}
