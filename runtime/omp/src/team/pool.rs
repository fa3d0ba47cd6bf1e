//! Worker threads and how they are started.
//!
//! A thread that opens regions owns a [`Pool`] for each nesting depth at which it does so. The
//! pool's worker `i` is always thread `i + 1` of the pool's team, so that threadprivate data
//! persists between regions. Between regions a worker waits at its [`Slot`] (the *dock*); the primary
//! thread writes the call into the slot and signals the slot's flag. Everything a worker needs
//! to start lies in the same cache lines as the flag: one transfer starts it.
//!
//! A worker in the dock is still useful: while the region it came from has tasks it runs them. What a
//! worker does is in [`super::worker`].

use crate::init;
use crate::task::record::Group;
use crate::team::members::{Outlined, Team};
use crate::worksharing::work::{Work, WorkPos};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use hetmp_core::park::{Flag, Policy};
use hetmp_core::sync::{AtomicBool, AtomicU32, Ordering};

/// With this number of workers or more, the kernel is told how many may sleep.
const MANY_WORKERS: u32 = 256;

/// What a worker is started with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) entry: Outlined,
    pub(crate) data: *mut libc::c_void,
    pub(crate) team: *const Team,
    pub(crate) nthreads: u32,
    /// The primary thread's barrier epoch.
    pub(crate) epoch: u32,
    /// Number of the region.
    pub(crate) number: u32,
    /// The worksharing construct the region starts in, or null.
    pub(crate) work: *const Work,
    pub(crate) pos: WorkPos,
    pub(crate) group: *const Group,
    /// Counts the threads of the contention group.
    pub(crate) busy: *const AtomicU32,
    /// The primary thread's place in its league of teams.
    pub(crate) league: (u32, u32),
    /// Each thread says where it runs (`OMP_DISPLAY_AFFINITY`).
    pub(crate) show: bool,
}

/// What a worker runs: its argument is its [`Slot`].
pub(crate) type Main = extern "C" fn(*mut libc::c_void) -> *mut libc::c_void;

/// Where a worker waits for its next region.
///
/// # Invariant
/// `call` is written by the pool's owner while the worker waits (before the signal of the next
/// number) and read by the worker after it; the flag orders the two.
#[derive(Debug)]
#[repr(C, align(128))]
pub(super) struct Slot {
    /// Numbers of the regions this worker was started for.
    pub(super) go: Flag,
    pub(super) call: UnsafeCell<MaybeUninit<Call>>,
    /// Told to end rather than to run.
    pub(super) exit: AtomicBool,
    pub(super) tid: u32,
    handle: UnsafeCell<libc::pthread_t>,
    /// Owner's count of signals.
    sent: UnsafeCell<u32>,
}

/// The workers of one primary thread at one depth, and their team.
#[derive(Debug)]
pub(crate) struct Pool {
    workers: Vec<*const Slot>,
    pub(crate) team: Team,
    /// Threads of this pool in the last region, as told to the waiting policy.
    counted: u32,
}

impl Pool {
    #[allow(
        clippy::vec_box,
        reason = "a pool's address is in its workers' calls and must not move"
    )]
    pub(crate) fn new() -> Box<Pool> {
        Box::new(Pool {
            workers: Vec::new(),
            team: Team::new(1),
            counted: 1,
        })
    }

    /// Sees to it that there are `wanted` workers, each of which runs `main` on its slot; returns how many
    /// there are, at most `wanted`.
    #[inline]
    pub(crate) fn ensure_workers(&mut self, wanted: u32, main: Main) -> u32 {
        if (self.workers.len() as u32) < wanted {
            self.spawn(wanted, main);
        }
        let have = (self.workers.len() as u32).min(wanted);
        if self.counted != have + 1 {
            Policy::add_threads(have as isize + 1 - self.counted as isize);
            self.counted = have + 1;
        }
        have
    }

    #[cold]
    fn spawn(&mut self, wanted: u32, main: Main) {
        if wanted >= MANY_WORKERS {
            hetmp_core::sys::expect_sleepers(wanted);
        }
        while (self.workers.len() as u32) < wanted {
            let slot = Box::into_raw(Box::new(Slot {
                go: Flag::new(),
                call: UnsafeCell::new(MaybeUninit::uninit()),
                exit: AtomicBool::new(false),
                tid: self.workers.len() as u32 + 1,
                handle: UnsafeCell::new(0),
                sent: UnsafeCell::new(0),
            }));
            // SAFETY: the attributes are initialised for the life of the process; the worker gets a
            // slot that lives until it was joined.
            let error = unsafe {
                libc::pthread_create(
                    (*slot).handle.get(),
                    init::thread_attributes(),
                    main,
                    slot.cast(),
                )
            };
            if error != 0 {
                // SAFETY: no worker got it.
                drop(unsafe { Box::from_raw(slot) });
                init::warn_few_threads(self.workers.len() as u32 + 1, wanted + 1, error);
                return;
            }
            self.workers.push(slot);
        }
    }

    /// Starts the first `count` workers on `call`.
    #[inline]
    pub(crate) fn start(&self, count: u32, call: &Call) {
        for &slot in &self.workers[..count as usize] {
            // SAFETY: slots live until their worker was joined, and the worker waits: its last
            // region was joined before this one could be opened.
            unsafe {
                (*(*slot).call.get()).write(*call);
                let sent = &mut *(*slot).sent.get();
                *sent = sent.wrapping_add(1) & crate::EPOCH_MASK;
                (*slot).go.signal(*sent);
            }
        }
    }

    /// Ends the workers and waits until they are gone.
    pub(crate) fn shut_down(mut self: Box<Self>) {
        for &slot in &self.workers {
            // SAFETY: slots live until their worker was joined, below, and the worker waits: its last region was
            // joined before the pool could end.
            unsafe {
                (*slot).exit.store(true, Ordering::Relaxed);
                let sent = &mut *(*slot).sent.get();
                *sent = sent.wrapping_add(1) & crate::EPOCH_MASK;
                (*slot).go.signal(*sent);
            }
        }
        for slot in core::mem::take(&mut self.workers) {
            // SAFETY: each handle is joined once; then nobody else refers to the slot.
            unsafe {
                libc::pthread_join(*(*slot).handle.get(), core::ptr::null_mut());
                drop(Box::from_raw(slot.cast_mut()));
            }
        }
        // An event may just have been fulfilled from outside.
        self.team.tasks.quiesce();
        Policy::add_threads(1 - self.counted as isize);
    }

    /// Lets go of a pool whose workers stayed behind in the parent of a `fork`. Their memory is
    /// leaked: their stacks and slots are copies nobody can give back in order.
    pub(crate) fn forget(self: Box<Self>) {
        core::mem::forget(self);
    }
}
