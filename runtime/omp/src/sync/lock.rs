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
use hetmp_core::sync::{AtomicPtr, AtomicU32, Ordering};
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
    wait(Thread::try_current(), &mut || lock.try_lock(), &|| {
        lock.lock();
    });
}

/// How a thread waits for any lock of the program: `try_take` takes the lock if it is free, `take` waits for it. A
/// thread of an emulated slow core stops its clock meanwhile: waiting is not work.
fn wait(th: Option<&Thread>, try_take: &mut dyn FnMut() -> bool, take: &dyn Fn()) {
    if let Some(th) = th {
        // Another virtual thread of the same real thread may hold the lock. If the real thread waited for it,
        // it would wait for ever.
        if th.suspend_for_lock(try_take) {
            return;
        }
        th.leave_program(Reason::Lock);
    }
    take();
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

    /// Does the calling thread's task have the lock?
    pub(crate) fn is_held_by(&self, th: &Thread) -> bool {
        self.nest().owner.load(Ordering::Relaxed) == th.ctx.task.get().cast_mut()
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

    /// The number of nestings of the task that holds the lock, which calls this function.
    #[must_use]
    pub fn count(&self) -> i32 {
        self.nest().count.get()
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

/// The kernel's ids of threads are below this number (`PID_MAX_LIMIT` of Linux).
const KERNEL_IDS: u32 = 1 << 22;

/// The number by which the calling thread holds a [`ThreadNestLock`]: the kernel's id. A virtual thread has a number of
/// its own: it may be suspended with the lock held, and the next virtual thread of the same real thread must wait.
fn identity(th: Option<&Thread>) -> u32 {
    let Some(th) = th.filter(|th| th.is_runner()) else {
        return sys::gettid().unsigned_abs();
    };
    static NEXT: AtomicU32 = AtomicU32::new(KERNEL_IDS);
    let mine = &th.member().identity;
    if mine.get() == 0 {
        mine.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    mine.get()
}

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
        let th = Thread::try_current();
        let me = identity(th);
        match self.owner.try_take(me) {
            Ok(()) => {}
            Err(holder) if holder == me => {
                self.count.set(self.count.get() + 1);
                return;
            }
            Err(_) => wait(th, &mut || self.owner.try_take(me).is_ok(), &|| {
                self.owner.take(me);
            }),
        }
        self.count.set(1);
    }

    /// Does the calling thread have the lock?
    pub(crate) fn is_held_by_caller(&self) -> bool {
        if !self.owner.is_held() {
            return false;
        }
        let me = identity(Thread::try_current());
        match self.owner.try_take(me) {
            // Its holder has released it meanwhile.
            Ok(()) => {
                self.owner.release();
                false
            }
            Err(holder) => holder == me,
        }
    }

    /// Removes one nesting, and releases the lock if that was the last. Returns the number of nestings that are left.
    pub fn unset(&self) -> i32 {
        let left = self.count.get() - 1;
        self.count.set(left);
        if left == 0 {
            self.owner.release();
        }
        left
    }

    /// Takes the lock, or adds one nesting, if that needs no waiting. Returns the new number of nestings, or
    /// 0.
    pub fn test(&self) -> i32 {
        let me = identity(Thread::try_current());
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
    use crate::team::members::Team;
    use crate::team::seat::Seat;
    use crate::team::suspend::Suspend;
    use core::ptr::NonNull;

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
    fn virtual_threads_of_one_real_thread_exclude_each_other() {
        /// Another virtual thread gives the lock up while this one is suspended.
        #[derive(Debug)]
        struct Fake(&'static ThreadNestLock, Cell<u32>);
        impl Suspend for Fake {
            fn wait_for_lock(&self, done: &mut dyn FnMut() -> bool) -> bool {
                assert!(!done());
                self.1.set(self.1.get() + 1);
                self.0.unset();
                done()
            }
            fn wait_for_others(&self, _: &mut dyn FnMut() -> bool) -> bool {
                unreachable!("no barrier here")
            }
            fn barrier(&self) {
                unreachable!("no barrier here")
            }
        }

        let lock: &'static ThreadNestLock = Box::leak(Box::new(ThreadNestLock::new()));
        let fake: &'static Fake = Box::leak(Box::new(Fake(lock, Cell::new(0))));
        let team: &'static Team = Box::leak(Box::new(Team::new(2)));
        let th = Thread::current();
        let saved = th.save();
        th.runner.set(Some(NonNull::from(fake as &dyn Suspend)));
        th.become_member(team, Seat::new(0), 2);
        lock.set();
        assert_eq!(lock.test(), 2);
        lock.unset();
        th.become_member(team, Seat::new(1), 2);
        assert_eq!(lock.test(), 0, "held by another virtual thread");
        lock.set();
        assert_eq!(fake.1.get(), 1, "suspended once");
        assert_eq!(lock.test(), 2, "held by this one");
        lock.unset();
        lock.unset();
        assert!(!lock.owner.is_held());
        th.runner.set(None);
        th.restore(&saved);
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
