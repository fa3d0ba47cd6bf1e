//! The locks that programs use (OpenMP 5.1, section 3.3).
//!
//! A simple lock is a [`Lock`] of `hetmp-core`, one word. Nestable locks come in two forms, as
//! libgomp exports two versions of their routines: since OpenMP 3.0 a *task* owns the lock
//! ([`NestLock`]), before that it was a *thread* ([`ThreadNestLock`]).
//!
//! All three live in memory of the program whose size and alignment ABIs fixed long ago (for nestable
//! locks, gcc's and clang's differ: see [`NestLock`]). Zeroed memory is a free lock of each kind, since
//! programs are known to skip the initialisation of static locks.

use crate::boundary::Reason;
use crate::task::record::Task;
use crate::thread::Thread;
use core::cell::Cell;
use hetmp_core::lock::{Lock, OwnedLock};
use hetmp_core::sync::{AtomicPtr, Ordering};
use hetmp_core::sys;

/// Takes `lock`, for a critical section or a lock routine.
#[inline(always)]
pub fn take(lock: &Lock) {
    if !lock.try_lock() {
        contended(lock);
    }
}

/// The waiting part of [`take`]. A thread of an emulated slow core stops its clock meanwhile:
/// waiting is not work.
#[cold]
#[inline(never)]
fn contended(lock: &Lock) {
    let th = Thread::try_current();
    if let Some(th) = th {
        // Another virtual thread of this real thread may hold the lock: waiting would be for ever.
        if th.suspend_for_lock(&mut || lock.try_lock()) {
            return;
        }
        th.leave_program(Reason::Lock);
    }
    lock.lock();
    if let Some(th) = th {
        th.enter_program(Reason::Lock);
    }
}

/// A nestable lock owned by a task (`omp_nest_lock_t` since OpenMP 3.0).
///
/// The program's variable has 16 bytes in gcc's `omp.h` and 8 in clang's, so only 8 are used: the address
/// of the lock proper, which is made at the first use. Zeros are a free lock.
///
/// # Memory ordering
/// The address is published with release by the thread that made the lock, and read with acquire: a
/// thread that sees it sees an initialised lock.
#[derive(Debug)]
#[repr(transparent)]
pub struct NestLock {
    inner: AtomicPtr<Nest>,
}

/// The lock proper.
///
/// # Invariant
/// `count` and `owner` are written only by the task that holds `lock`. `owner` is read by others,
/// but it equals the reader's own task only if the reader wrote it.
#[derive(Debug)]
struct Nest {
    lock: Lock,
    count: Cell<i32>,
    owner: AtomicPtr<Task>,
}

// SAFETY: `count` is touched only by the holder of `lock`, see the invariant.
unsafe impl Sync for Nest {}

impl Default for NestLock {
    fn default() -> Self {
        Self::new()
    }
}

impl NestLock {
    /// A free lock.
    #[must_use]
    pub const fn new() -> NestLock {
        NestLock {
            inner: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// Ends the lock, which is free afterwards (`omp_destroy_nest_lock`).
    ///
    /// # Safety
    /// No thread uses the lock meanwhile.
    pub unsafe fn destroy(&self) {
        let made = self.inner.swap(core::ptr::null_mut(), Ordering::AcqRel);
        if !made.is_null() {
            // SAFETY: made by `make`; the program destroys a lock when nobody uses it, and the swap gave it to this thread.
            drop(unsafe { Box::from_raw(made) });
        }
    }

    #[inline]
    fn nest(&self) -> &Nest {
        let there = self.inner.load(Ordering::Acquire);
        // SAFETY: null or made by `make`; it lives until `destroy`.
        unsafe { there.as_ref() }.unwrap_or_else(|| self.make())
    }

    #[cold]
    fn make(&self) -> &Nest {
        let new = Box::into_raw(Box::new(Nest {
            lock: Lock::new(),
            count: Cell::new(0),
            owner: AtomicPtr::new(core::ptr::null_mut()),
        }));
        let null = core::ptr::null_mut();
        match self
            .inner
            .compare_exchange(null, new, Ordering::AcqRel, Ordering::Acquire)
        {
            // SAFETY: published just now; it lives until `destroy`.
            Ok(_) => unsafe { &*new },
            Err(theirs) => {
                // SAFETY: `new` was not published; `theirs` was, and lives until `destroy`.
                unsafe {
                    drop(Box::from_raw(new));
                    &*theirs
                }
            }
        }
    }

    /// Takes the lock once more (`omp_set_nest_lock`).
    #[inline]
    pub fn set(&self, th: &Thread) {
        let n = self.nest();
        let me = th.ctx.task.get().cast_mut();
        if n.owner.load(Ordering::Relaxed) != me {
            take(&n.lock);
            n.owner.store(me, Ordering::Relaxed);
        }
        n.count.set(n.count.get() + 1);
    }

    /// Gives up one nesting (`omp_unset_nest_lock`); the nesting that is left.
    #[inline]
    pub fn unset(&self) -> i32 {
        let n = self.nest();
        let left = n.count.get() - 1;
        n.count.set(left);
        if left == 0 {
            n.owner.store(core::ptr::null_mut(), Ordering::Relaxed);
            n.lock.unlock();
        }
        left
    }

    /// Takes the lock if that needs no waiting; the new nesting count, or 0
    /// (`omp_test_nest_lock`).
    #[inline]
    pub fn test(&self, th: &Thread) -> i32 {
        let n = self.nest();
        let me = th.ctx.task.get().cast_mut();
        if n.owner.load(Ordering::Relaxed) != me {
            if !n.lock.try_lock() {
                return 0;
            }
            n.owner.store(me, Ordering::Relaxed);
        }
        let count = n.count.get() + 1;
        n.count.set(count);
        count
    }
}

/// A nestable lock owned by a thread (`omp_nest_lock_t` of OpenMP 2.5), which fits into 8 bytes.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ThreadNestLock {
    /// Held by the kernel's id of a thread; ids of Linux are below 2^22.
    owner: OwnedLock,
    count: Cell<i32>,
}

// SAFETY: `count` is touched only by the thread whose id is in `owner`.
unsafe impl Sync for ThreadNestLock {}

impl ThreadNestLock {
    /// A free lock.
    #[must_use]
    pub const fn new() -> ThreadNestLock {
        ThreadNestLock {
            owner: OwnedLock::new(),
            count: Cell::new(0),
        }
    }

    /// Takes the lock once more.
    pub fn set(&self) {
        let me = sys::gettid().unsigned_abs();
        match self.owner.try_take(me) {
            Ok(()) => {}
            Err(holder) if holder == me => {
                self.count.set(self.count.get() + 1);
                return;
            }
            Err(_) => {
                let th = Thread::try_current();
                if let Some(th) = th {
                    th.leave_program(Reason::Lock);
                }
                self.owner.take(me);
                if let Some(th) = th {
                    th.enter_program(Reason::Lock);
                }
            }
        }
        self.count.set(1);
    }

    /// Gives up one nesting.
    pub fn unset(&self) {
        let left = self.count.get() - 1;
        self.count.set(left);
        if left == 0 {
            self.owner.release();
        }
    }

    /// Takes the lock if that needs no waiting; the new nesting count, or 0.
    pub fn test(&self) -> i32 {
        let me = sys::gettid().unsigned_abs();
        match self.owner.try_take(me) {
            Ok(()) => self.count.set(1),
            Err(holder) if holder == me => self.count.set(self.count.get() + 1),
            Err(_) => return 0,
        }
        self.count.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_nests_and_others_wait() {
        struct Shared(ThreadNestLock, Cell<u32>);
        // SAFETY: the cell is only touched with the lock held.
        unsafe impl Sync for Shared {}
        impl Shared {
            fn count(&self) {
                self.1.set(self.1.get() + 1);
            }
        }
        let s = Shared(ThreadNestLock::new(), Cell::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5_000 {
                        s.0.set();
                        s.0.set();
                        assert_eq!(s.0.test(), 3);
                        s.count();
                        s.0.unset();
                        s.0.unset();
                        s.0.unset();
                    }
                });
            }
        });
        assert_eq!(s.1.get(), 20_000);
        assert_eq!(s.0.test(), 1);
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(s.0.test(), 0));
        });
        s.0.unset();
        assert!(!s.0.owner.is_held());
    }

    #[test]
    fn zeroed_memory_is_a_free_lock_of_eight_bytes() {
        assert_eq!(size_of::<NestLock>(), 8);
        #[repr(C)]
        struct Variable {
            lock: NestLock,
            canary: u64,
        }
        // SAFETY: zeros are a free lock.
        let v: Variable = unsafe { core::mem::transmute([0u64, 0x5a5a_5a5a_5a5a_5a5a]) };
        let lock = &v.lock;
        let th = Thread::current();
        assert_eq!(lock.test(th), 1);
        lock.set(th);
        assert_eq!(lock.unset(), 1);
        assert_eq!(lock.unset(), 0);
        // SAFETY: nobody else uses the lock.
        unsafe { lock.destroy() };
        assert!(lock.inner.load(Ordering::Relaxed).is_null());
        assert_eq!(v.canary, 0x5a5a_5a5a_5a5a_5a5a);
        assert_eq!(lock.test(th), 1, "free and usable again");
        // SAFETY: nobody else uses the lock.
        unsafe { lock.destroy() };
    }
}
