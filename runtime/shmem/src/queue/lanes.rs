//! The queue pairs of one context.
//!
//! A private or serialized context has one queue pair, used without a lock: the program has promised that one thread
//! at a time calls. A shared context has one for each thread that uses it, in a small table: a thread tries the place
//! that its number hashes to, and goes to the next one if another thread is in that place. A place is locked for one
//! call of the program, by one exchange on a cache line that no other thread writes. For the library's own operations
//! a thread waits for its place instead of going on, so that a flag is posted to the queue pair that carried the
//! data.
//!
//! **Fences.** A fence must order what *any* thread posted on the context before (and told this thread about) with
//! what any thread posts afterwards. On one queue pair a fence descriptor for each target does that. Two queue pairs
//! are independent, so once a second one exists, a fence completes everything that was written. To leave no gap, a
//! thread that makes a further queue pair first completes what the others have.

use super::lane::Lane;
use super::Net;
use crate::world::World;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hetmp_core::park::Spinner;
use std::sync::OnceLock;

/// The most queue pairs of a shared context.
const PLACES: usize = 64;

/// # Memory ordering
/// `busy` is taken with acquire and released with release: in between the lane belongs to one thread.
#[repr(align(64))]
struct Place {
    busy: AtomicBool,
    lane: UnsafeCell<Option<Lane>>,
}

/// Unlocks the place when dropped.
struct Held<'a>(&'a Place);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.busy.store(false, Ordering::Release);
    }
}

impl Place {
    fn try_lock(&self) -> Option<Held<'_>> {
        // Not `then_some`: that would make the guard in any case, and dropping it would unlock the place.
        (!self.busy.load(Ordering::Relaxed) && !self.busy.swap(true, Ordering::Acquire))
            .then(|| Held(self))
    }

    fn lock(&self) -> Held<'_> {
        let mut spinner = Spinner::new();
        loop {
            if let Some(held) = self.try_lock() {
                return held;
            }
            spinner.turn_or_rest();
        }
    }
}

impl Held<'_> {
    #[allow(clippy::mut_from_ref, reason = "the lock is what makes it exclusive")]
    fn lane(&mut self) -> &mut Option<Lane> {
        // SAFETY: this thread has taken `busy`, so that nobody else has a reference.
        unsafe { &mut *self.0.lane.get() }
    }
}

/// The queue pairs of a context.
pub(crate) struct Lanes {
    /// Slots of each queue pair.
    depth: usize,
    /// One queue pair for all threads, used without a lock.
    exclusive: bool,
    /// The library's own queue pairs, which no checker looks at.
    library: bool,
    places: OnceLock<Box<[Place]>>,
    /// Bit `i` is set if place `i` has a queue pair.
    used: AtomicU64,
}

// SAFETY: only the thread that holds a place touches its lane. In an exclusive context the program lets one thread at
// a time call (SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED).
unsafe impl Sync for Lanes {}
// SAFETY: a lane may be moved to another thread.
unsafe impl Send for Lanes {}

impl core::fmt::Debug for Lanes {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Lanes")
            .field("exclusive", &self.exclusive)
            .field("used", &self.used)
            .finish_non_exhaustive()
    }
}

/// A number of the calling thread, with well-mixed bits.
fn thread() -> usize {
    // SAFETY: `pthread_self` has no preconditions. It returns the address of the thread's control block, so that no
    // word of our thread-local storage is needed.
    let own = unsafe { libc::pthread_self() } as u64;
    (own >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> 40
}

impl Lanes {
    /// The queue pairs of a context. None exists yet; they are made when they are needed.
    pub(crate) fn new(depth: usize, exclusive: bool) -> Lanes {
        Lanes {
            depth,
            exclusive,
            library: false,
            places: OnceLock::new(),
            used: AtomicU64::new(0),
        }
    }

    /// The library's own queue pairs.
    pub(crate) fn of_library(depth: usize) -> Lanes {
        Lanes {
            library: true,
            ..Lanes::new(depth, false)
        }
    }

    fn places(&self) -> &[Place] {
        self.places.get_or_init(|| {
            (0..if self.exclusive { 1 } else { PLACES })
                .map(|_| Place {
                    busy: AtomicBool::new(false),
                    lane: UnsafeCell::new(None),
                })
                .collect()
        })
    }

    /// Runs `post` on the calling thread's queue pair.
    pub(crate) fn with<R>(
        &self,
        f: &'static str,
        world: &World,
        net: &Net,
        post: impl FnOnce(&mut Lane) -> R,
    ) -> R {
        let places = self.places();
        if self.exclusive {
            // SAFETY: the context is exclusive: the program lets one thread at a time call with it
            // (`SHMEM_CTX_PRIVATE`, `SHMEM_CTX_SERIALIZED`), so that nobody else has this place.
            let lane = unsafe { &mut *places[0].lane.get() };
            let lane = lane.get_or_insert_with(|| {
                self.used.store(1, Ordering::Relaxed);
                Lane::new(net, self.depth)
            });
            lane.mark(self.library);
            return post(lane);
        }
        let first = if world.is_multithreaded() {
            thread() % PLACES
        } else {
            0
        };
        let mut i = first;
        let mut spinner = Spinner::new();
        loop {
            let place = if self.library {
                // The thread's own place every time: a flag must use the queue pair that carried its data.
                Some(places[i].lock())
            } else {
                places[i].try_lock()
            };
            if let Some(mut held) = place {
                if let Some(lane) = held.lane() {
                    lane.mark(self.library);
                    return post(lane);
                }
                *held.lane() = Some(Lane::new(net, self.depth));
                // Marked before any thread can post on the new queue pair: a quiet must not miss it.
                let before = self.used.fetch_or(1 << i, Ordering::SeqCst);
                drop(held);
                self.join(f, net, before);
                continue;
            }
            i = (i + 1) % PLACES;
            if i == first {
                spinner.turn_or_rest();
            }
        }
    }

    /// Called after a queue pair was added to those in `before`, without holding the new one: the others are locked
    /// one by one.
    #[cold]
    fn join(&self, f: &'static str, net: &Net, before: u64) {
        self.each(before, |lane| lane.quiet(f, net));
    }

    fn each(&self, which: u64, mut visit: impl FnMut(&mut Lane)) {
        let places = self.places();
        let mut left = which;
        while left != 0 {
            let i = left.trailing_zeros() as usize;
            left &= left - 1;
            if self.exclusive {
                // SAFETY: the context is exclusive: the program lets one thread at a time call with it, so that nobody
                // else has this place.
                if let Some(lane) = unsafe { &mut *places[i].lane.get() } {
                    visit(lane);
                }
            } else if let Some(lane) = places[i].lock().lane() {
                visit(lane);
            }
        }
    }

    /// `shmem_fence` on this context: see the module's text.
    pub(crate) fn fence(&self, f: &'static str, net: &Net) {
        let used = self.used.load(Ordering::SeqCst);
        if used & used.wrapping_sub(1) == 0 {
            let mut alone = true;
            self.each(used, |lane| {
                // If a second queue pair is made now, its thread finds this lock held, and completes this queue pair
                // afterwards.
                alone = self.used.load(Ordering::SeqCst) == used;
                if alone {
                    lane.fence();
                }
            });
            if alone {
                return;
            }
        }
        self.each(self.used.load(Ordering::SeqCst), |lane| {
            if lane.has_written() {
                lane.quiet(f, net);
            }
        });
    }

    /// Completes what all threads have posted.
    pub(crate) fn quiet(&self, f: &'static str, net: &Net) {
        self.each(self.used.load(Ordering::SeqCst), |lane| lane.quiet(f, net));
    }

    /// Like `quiet`, when peers may have ended already: what such a peer no longer takes is dropped.
    pub(crate) fn drain(&self, net: &Net) {
        self.each(self.used.load(Ordering::SeqCst), |lane| lane.drain(net));
    }

    /// Waits until the program may use the memory of nonblocking operations again.
    pub(crate) fn give_back(&self, f: &'static str) {
        self.each(self.used.load(Ordering::SeqCst), |lane| lane.give_back(f));
    }

    /// Turns the batching of doorbells on or off, on all queue pairs.
    pub(crate) fn batch(&self, on: bool) {
        self.each(self.used.load(Ordering::SeqCst), |lane| lane.batch(on));
    }
}
