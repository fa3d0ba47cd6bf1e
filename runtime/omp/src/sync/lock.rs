//! The locks that programs use (OpenMP 5.1, section 3.3).
//!
//! A simple lock is a [`Lock`] of `hetmp-core`, one word. There are two kinds of nestable locks, because
//! libgomp exports two versions of their routines: since OpenMP 3.0 a *task* owns the lock ([`NestLock`]),
//! before that a *thread* did ([`ThreadNestLock`]).
//!
//! All three lie in variables of the program, whose size and alignment the ABIs have fixed. (For nestable
//! locks gcc's and clang's differ: see [`NestLock`].) Zeroed memory is a free lock of each kind, because some
//! programs do not initialise static locks.

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

/// Waits for a lock that another thread has. If this thread emulates a slow core, its clock stops meanwhile,
/// because waiting is not work.
#[cold]
#[inline(never)]
fn contended(lock: &Lock) {
    let th = Thread::try_current();
    if let Some(th) = th {
        // Another virtual thread of the same real thread may hold the lock. If the real thread waited for it,
        // it would wait for ever.
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

/// A nestable lock that a task owns (`omp_nest_lock_t` since OpenMP 3.0).
///
/// The program's variable has 16 bytes in gcc's `omp.h` and 8 in clang's, so only 8 are used. They hold the
/// address of a `Nest`, which is made at the lock's first use. Zeros are a free lock.
///
/// # Memory ordering
/// The thread that makes the `Nest` publishes the address with release, and other threads read the address
/// with acquire. So a thread that sees the address sees an initialised lock.
#[derive(Debug)]
#[repr(transparent)]
pub struct NestLock {
    inner: AtomicPtr<Nest>,
}

/// The data of a nestable lock.
///
/// # Invariant
/// Only the task that holds `lock` writes `count` and `owner`. Other tasks may read `owner`, but they find
/// their own address there only if they have written it.
#[derive(Debug)]
struct Nest {
    lock: Lock,
    count: Cell<i32>,
    owner: AtomicPtr<Task>,
}

// SAFETY: only the holder of `lock` touches `count`, as the invariant says.
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

    /// Destroys the lock. The variable is a free lock afterwards (`omp_destroy_nest_lock`).
    ///
    /// # Safety
    /// No thread uses the lock meanwhile.
    pub unsafe fn destroy(&self) {
        let made = self.inner.swap(core::ptr::null_mut(), Ordering::AcqRel);
        if !made.is_null() {
            // SAFETY: made by `make`. No other thread uses the lock (this function's contract), and the swap
            // took the address from the variable.
            drop(unsafe { Box::from_raw(made) });
        }
    }

    #[inline]
    fn nest(&self) -> &Nest {
        let there = self.inner.load(Ordering::Acquire);
        // SAFETY: null, or made by `make`, and alive until `destroy`.
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
            // SAFETY: published by the exchange, and alive until `destroy`.
            Ok(_) => unsafe { &*new },
            Err(theirs) => {
                // SAFETY: `new` was not published. `theirs` was, and lives until `destroy`.
                unsafe {
                    drop(Box::from_raw(new));
                    &*theirs
                }
            }
        }
    }

    /// Takes the lock, or adds one nesting if the task has the lock already (`omp_set_nest_lock`).
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

    /// Removes one nesting, and releases the lock if that was the last (`omp_unset_nest_lock`). Returns the
    /// number of nestings that are left.
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

    /// Takes the lock, or adds one nesting, if that needs no waiting (`omp_test_nest_lock`). Returns the new
    /// number of nestings, or 0.
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

/// A nestable lock that a thread owns (`omp_nest_lock_t` of OpenMP 2.5). It fits into 8 bytes.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ThreadNestLock {
    /// The owner's thread id in the kernel. Linux has ids below 2^22.
    owner: OwnedLock,
    count: Cell<i32>,
}

// SAFETY: only the thread whose id is in `owner` touches `count`.
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

    /// Takes the lock, or adds one nesting if the thread has the lock already.
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

    /// Removes one nesting, and releases the lock if that was the last.
    pub fn unset(&self) {
        let left = self.count.get() - 1;
        self.count.set(left);
        if left == 0 {
            self.owner.release();
        }
    }

    /// Takes the lock, or adds one nesting, if that needs no waiting. Returns the new number of nestings, or
    /// 0.
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
