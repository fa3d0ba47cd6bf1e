//! Reuse of small records that one thread makes and another frees.
//!
//! The magazine scheme (Bonwick and Adams, "Magazines and Vmem", USENIX 2001): each thread has two magazines
//! of free records. Full magazines go to a depot that all threads share, and threads without free records
//! fetch them there. Without a depot, a thread that makes tasks for others to run would allocate every record
//! anew, while the free lists of the other threads overflow. With magazines they meet once in [`ROUNDS`]
//! records.

use core::cell::{Cell, UnsafeCell};
use hetmp_core::lock::Brief;

/// Records in a full magazine.
const ROUNDS: u32 = 64;
/// Most full magazines that the depot keeps; the records of further ones go back to the system.
const MOST_MAGAZINES: usize = 128;

/// A record that can be linked into a magazine while it is free.
///
/// # Safety
/// Any thread may take a free record, and use it or dispose of it.
pub(crate) unsafe trait Record: Sized + 'static {
    /// The link to the next free record.
    fn next(&self) -> &Cell<*mut Self>;
    /// Returns the record's memory to the system.
    ///
    /// # Safety
    /// Nobody uses the record.
    unsafe fn dispose(this: *mut Self);
    /// The depot for full magazines of this type.
    fn depot() -> &'static Depot<Self>;
}

/// Full magazines, for all threads.
#[derive(Debug)]
pub(crate) struct Depot<T> {
    lock: Brief,
    full: UnsafeCell<Vec<*mut T>>,
}

// SAFETY: the vector is only touched with the lock held, and free records may go from one thread to another: the
// contract of `Record`.
unsafe impl<T: Record> Sync for Depot<T> {}

impl<T: Record> Depot<T> {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Depot<T> {
        Depot {
            lock: Brief::new(),
            full: UnsafeCell::new(Vec::new()),
        }
    }

    fn take(&self) -> Option<*mut T> {
        self.lock.lock();
        // SAFETY: the lock is held.
        let found = unsafe { (*self.full.get()).pop() };
        self.lock.unlock();
        found
    }

    fn give(&self, magazine: *mut T) {
        self.lock.lock();
        // SAFETY: the lock is held.
        let full = unsafe { &mut *self.full.get() };
        let keep = full.len() < MOST_MAGAZINES;
        if keep {
            full.push(magazine);
        }
        self.lock.unlock();
        if !keep {
            // SAFETY: the records of a magazine are free, and this one belongs to nobody else.
            unsafe { dispose_all(magazine) };
        }
    }
}

unsafe fn dispose_all<T: Record>(mut p: *mut T) {
    while !p.is_null() {
        // SAFETY: the caller passes a list of free records that it has taken, so that nobody else sees them.
        unsafe {
            let next = (*p).next().get();
            T::dispose(p);
            p = next;
        }
    }
}

/// One thread's free records.
#[derive(Debug)]
pub(crate) struct Recycler<T: Record> {
    /// The magazine in use, and the number of its records.
    loaded: Cell<*mut T>,
    count: Cell<u32>,
    /// A full magazine, or null.
    spare: Cell<*mut T>,
}

impl<T: Record> Recycler<T> {
    pub(crate) const fn new() -> Recycler<T> {
        Recycler {
            loaded: Cell::new(core::ptr::null_mut()),
            count: Cell::new(0),
            spare: Cell::new(core::ptr::null_mut()),
        }
    }

    /// A free record; `None`: the caller makes one.
    #[inline]
    pub(crate) fn take(&self) -> Option<*mut T> {
        let p = self.loaded.get();
        if p.is_null() {
            return self.reload();
        }
        // SAFETY: free records are live and linked by this thread, or came whole from the depot.
        self.loaded.set(unsafe { (*p).next().get() });
        self.count.set(self.count.get() - 1);
        Some(p)
    }

    #[cold]
    fn reload(&self) -> Option<*mut T> {
        let mut magazine = self.spare.replace(core::ptr::null_mut());
        if magazine.is_null() {
            magazine = T::depot().take()?;
        }
        // SAFETY: the magazine is this thread's spare one or came whole from the depot; its records are free, hence
        // live.
        self.loaded.set(unsafe { (*magazine).next().get() });
        self.count.set(ROUNDS - 1);
        Some(magazine)
    }

    /// Takes back a record.
    ///
    /// # Safety
    /// Nobody uses the record any more, and it has the size of the records that `take` gives out.
    #[inline]
    pub(crate) unsafe fn give(&self, p: *mut T) {
        if self.count.get() == ROUNDS {
            self.unload();
        }
        // SAFETY: the record is free, so its link belongs to this thread.
        unsafe { (*p).next().set(self.loaded.get()) };
        self.loaded.set(p);
        self.count.set(self.count.get() + 1);
    }

    #[cold]
    fn unload(&self) {
        let full = self.spare.replace(self.loaded.get());
        if !full.is_null() {
            T::depot().give(full);
        }
        self.loaded.set(core::ptr::null_mut());
        self.count.set(0);
    }
}

impl<T: Record> Drop for Recycler<T> {
    fn drop(&mut self) {
        // SAFETY: both lists belong to this thread.
        unsafe {
            dispose_all(self.loaded.get());
            dispose_all(self.spare.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Thing(Cell<*mut Thing>);
    static LIVE: AtomicUsize = AtomicUsize::new(0);
    static DEPOT: Depot<Thing> = Depot::new();

    // SAFETY: a free record is plain memory.
    unsafe impl Record for Thing {
        fn next(&self) -> &Cell<*mut Thing> {
            &self.0
        }
        unsafe fn dispose(this: *mut Thing) {
            // SAFETY: made by `Box::into_raw` below.
            drop(unsafe { Box::from_raw(this) });
            LIVE.fetch_sub(1, Ordering::Relaxed);
        }
        fn depot() -> &'static Depot<Thing> {
            &DEPOT
        }
    }

    fn take(r: &Recycler<Thing>) -> *mut Thing {
        r.take().unwrap_or_else(|| {
            LIVE.fetch_add(1, Ordering::Relaxed);
            Box::into_raw(Box::new(Thing(Cell::new(core::ptr::null_mut()))))
        })
    }

    #[test]
    fn records_come_back_from_the_thread_that_frees_them() {
        let maker = Recycler::new();
        for _ in 0..20 {
            let made: Vec<usize> = (0..1000).map(|_| take(&maker) as usize).collect();
            std::thread::spawn(move || {
                let freer = Recycler::new();
                for p in made {
                    // SAFETY: nobody uses it.
                    unsafe { freer.give(p as *mut Thing) };
                }
            })
            .join()
            .expect("freer");
            // The freeing thread's own two magazines are freed with it; the others are used again.
            assert!(LIVE.load(Ordering::Relaxed) <= 1000 + 2 * ROUNDS as usize);
        }
    }
}
