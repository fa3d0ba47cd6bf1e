//! A slave while its thread runs: its state, the list of running slaves, and which slave the calling thread is.
//!
//! Slaves and queues use each other: a queue asks its slave for transfers, and a slave that waits moves the messages
//! of all its queues. Starting slaves and waiting for their ends is in [`crate::slaves`].

use crate::callers;
use crate::dma::{Controller, Engine};
use crate::error::Error;
use crate::platform::Platform;
use crate::queue::Queue;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, Ordering};
use memmap2::MmapRaw;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A slave while its thread runs.
#[derive(Debug)]
pub struct Slave {
    /// Its cluster's number.
    pub cluster: u32,
    /// Its number in the cluster.
    pub number: u32,
    /// Its DMA engine. Only its thread uses it.
    pub engine: Engine,
    running: AtomicBool,
    /// The queue on which it waits, and how many waits it has begun.
    blocked: AtomicPtr<Queue>,
    waits: AtomicU64,
    /// The number of the [`Error`] with which its waits have to end.
    abandon: AtomicI32,
    mine: UnsafeCell<Mine>,
}

/// The part that only the slave's thread touches.
#[derive(Debug, Default)]
pub(crate) struct Mine {
    /// The queues that it has used.
    pub(crate) queues: Vec<&'static Queue>,
    /// The blocks that it has allocated in its store.
    pub(crate) blocks: Vec<usize>,
    /// Its own transfers under way: when each ends, and the reply that it counts up.
    transfers: Vec<(u64, *mut i32)>,
    /// Its stack for signals.
    pub(crate) signal_stack: Option<MmapRaw>,
}

// SAFETY: only the slave's own thread touches `mine` and `engine` (`own` checks it). All other fields are atomic.
unsafe impl Sync for Slave {}
// SAFETY: only the slave's own thread touches `mine` and `engine`; all other fields are atomic. The pointers in
// `mine` belong to the slave's program.
unsafe impl Send for Slave {}

impl Slave {
    pub(crate) fn new(
        cluster: u32,
        number: u32,
        platform: &Platform,
        controller: &'static Controller,
    ) -> Slave {
        Slave {
            cluster,
            number,
            engine: Engine::new(platform, controller),
            running: AtomicBool::new(true),
            blocked: AtomicPtr::new(core::ptr::null_mut()),
            waits: AtomicU64::new(0),
            abandon: AtomicI32::new(0),
            mine: UnsafeCell::new(Mine::default()),
        }
    }

    /// True if it runs.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.running.load(Ordering::Acquire)
    }

    fn own(&self) -> *mut Mine {
        debug_assert!(current().is_none_or(|me| core::ptr::eq(me, self)));
        self.mine.get()
    }

    /// Keeps the thread's stack for signals.
    pub(crate) fn has_signal_stack(&self, stack: Option<MmapRaw>) {
        // SAFETY: only the slave's own thread calls this, as it begins.
        unsafe { (*self.own()).signal_stack = stack };
    }

    /// Takes the thread's lists, at the thread's end.
    pub(crate) fn ends(&self) -> Mine {
        // SAFETY: only the slave's own thread calls this, while it has no reference to its part.
        unsafe { core::mem::take(&mut *self.own()) }
    }

    /// Says that the slave does not run any more. Nobody will find it from now on.
    pub(crate) fn is_over(&self) {
        self.running.store(false, Ordering::Release);
        all().retain(|s| !core::ptr::eq(&**s, self));
    }

    pub(crate) fn uses(&self, queue: &'static Queue) {
        // SAFETY: only the slave's own thread calls this.
        unsafe { (*self.own()).queues.push(queue) };
    }

    pub(crate) fn took_block(&self, address: usize) {
        // SAFETY: only the slave's own thread calls this: `api::allocate` asks `current` for it.
        unsafe { (*self.own()).blocks.push(address) };
    }

    /// Forgets a block. False if the block is not this slave's.
    pub(crate) fn gave_block(&self, address: usize) -> bool {
        // SAFETY: only the slave's own thread calls this: `api::free` asks `current` for it. The reference ends
        // with the call.
        let blocks = unsafe { &mut (*self.own()).blocks };
        match blocks.iter().position(|&b| b == address) {
            Some(i) => {
                blocks.swap_remove(i);
                true
            }
            None => false,
        }
    }

    pub(crate) fn began_transfer(&self, ends: u64, reply: *mut i32) {
        // SAFETY: only the slave's own thread calls this: `api::transfer` asks `current` for it.
        unsafe { (*self.own()).transfers.push((ends, reply)) };
    }

    /// Adds to the reply counters of transfers that have ended. Returns when the next one will end.
    pub(crate) fn finish_transfers(&self) -> Option<u64> {
        // SAFETY: only the slave's own thread calls this, from `api` and from its end in `slaves`; no reference
        // survives the call.
        let transfers = unsafe { &mut (*self.own()).transfers };
        transfers.retain(|&(ends, reply)| {
            let done = self.engine.done(ends);
            if done && !reply.is_null() {
                // SAFETY: the program keeps its reply counter until the transfer is done, and only this thread adds
                // to it.
                unsafe { reply.write_volatile(reply.read_volatile() + 1) };
            }
            !done
        });
        transfers.iter().map(|t| t.0).min()
    }

    /// Moves what can be moved in all its queues. True if transfers are under way.
    pub(crate) fn pump_all(&self) -> bool {
        // SAFETY: only the slave's own thread calls this, from queues that it has entered and from its end;
        // pumping a queue does not reach `mine`.
        let queues = unsafe { &(*self.own()).queues };
        let mut under_way = false;
        for queue in queues {
            under_way |= queue.pump(self);
        }
        under_way
    }

    pub(crate) fn begins_wait(&self, queue: &'static Queue) {
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.blocked
            .store(core::ptr::from_ref(queue).cast_mut(), Ordering::Release);
    }

    pub(crate) fn ends_wait(&self) {
        self.blocked.store(core::ptr::null_mut(), Ordering::Release);
    }

    /// The queue on which it waits, and the number of that wait.
    pub(crate) fn waits_on(&self) -> Option<(&'static Queue, u64)> {
        let queue = self.blocked.load(Ordering::Acquire);
        // SAFETY: queues that a slave uses are kept until its thread has ended.
        (!queue.is_null()).then(|| (unsafe { &*queue }, self.waits.load(Ordering::Relaxed)))
    }

    /// The error with which it has to give up waiting, if any.
    pub(crate) fn abandoned(&self) -> Option<Error> {
        Error::from_number(self.abandon.load(Ordering::Acquire))
    }

    pub(crate) fn abandon(&self, why: Error) {
        self.abandon.store(why as i32, Ordering::Release);
        if let Some((queue, _)) = self.waits_on() {
            queue.wake_slave();
        }
    }
}

/// The slave that the calling thread is.
#[inline(always)]
pub(crate) fn current() -> Option<&'static Slave> {
    let record = callers::current()?.slave?.record;
    // SAFETY: `slaves::run` has put a slave there, which is counted until the thread ends. The reference is not used
    // after the calls of that thread.
    Some(unsafe { &*record.cast::<Slave>() })
}

/// The slaves that run.
pub(crate) fn all() -> MutexGuard<'static, Vec<Arc<Slave>>> {
    static RUNNING: Mutex<Vec<Arc<Slave>>> = Mutex::new(Vec::new());
    // A panic aborts the process, so the lock is never poisoned.
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The running slave of this number, in `cluster` or in any cluster.
pub(crate) fn find(cluster: Option<u32>, number: u32) -> Option<Arc<Slave>> {
    all()
        .iter()
        .find(|s| s.number == number && cluster.is_none_or(|c| c == s.cluster))
        .cloned()
}

/// How many slaves run in the process.
pub(crate) fn running() -> usize {
    all().len()
}
