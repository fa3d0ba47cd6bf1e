//! Worker threads, and how they are started.
//!
//! A thread that opens regions owns a [`Pool`] for each nesting depth at which it opens them. Worker `i` of a
//! pool is always thread `i + 1` of the pool's team, so threadprivate data stays with the same thread number
//! from region to region. Between regions a worker waits at its [`Slot`] (the *dock*). To start it, the
//! primary thread writes a [`Call`] into the slot and signals the slot's flag. The flag lies in the same
//! cache lines as the call, so one transfer of these brings the worker everything that it needs.
//!
//! A worker in the dock still works: as long as the region from which it came has tasks, it runs them.
//! [`super::worker`] has the code that a worker runs.

use crate::affinity::processors;
use crate::init;
use crate::task::record::Group;
use crate::team::inherited::Inherited;
use crate::team::members::{Outlined, Team};
use crate::team::seat::Seat;
use crate::worksharing::work::{Work, WorkPos};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use hetmp_core::park::{Flag, Policy};
use hetmp_core::sync::{AtomicBool, AtomicU32, Ordering};

/// If a pool gets this number of workers or more, the kernel is told how many threads may sleep.
const MANY_WORKERS: u32 = 256;

/// The order with which a worker is started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) entry: Outlined,
    pub(crate) data: *mut libc::c_void,
    pub(crate) team: *const Team,
    pub(crate) nthreads: u32,
    /// The primary thread's count of barriers.
    pub(crate) epoch: u32,
    /// The number of the region, which is the number of its join.
    pub(crate) number: u32,
    /// The worksharing construct in which the region starts, or null.
    pub(crate) work: *const Work,
    pub(crate) pos: WorkPos,
    pub(crate) group: *const Group,
    /// Number of busy threads in the contention group.
    pub(crate) busy: *const AtomicU32,
    /// The primary thread's team number in its league, and the size of the league less one.
    pub(crate) league: (u32, u32),
    /// Each thread is to print where it runs (`OMP_DISPLAY_AFFINITY`).
    pub(crate) show: bool,
}

/// The function that a worker runs. Its argument is the worker's [`Slot`].
pub(crate) type Main = extern "C" fn(*mut libc::c_void) -> *mut libc::c_void;

/// Where a worker waits for its next region.
///
/// # Invariant
/// The pool's owner writes `call` while the worker waits, before it signals the next number. The worker reads
/// `call` after that signal. So the flag orders the two.
#[derive(Debug)]
#[repr(C, align(128))]
pub(super) struct Slot {
    /// Signalled each time with the next number, from 1 on, when the worker is to run a region or to end.
    pub(super) go: Flag,
    pub(super) call: UnsafeCell<MaybeUninit<Call>>,
    /// The worker is to end when it is signalled next.
    pub(super) exit: AtomicBool,
    /// The worker's, in every team of the pool.
    pub(super) seat: Seat,
    handle: UnsafeCell<libc::pthread_t>,
    /// How often the owner has signalled `go`.
    sent: UnsafeCell<u32>,
}

/// The workers of one primary thread at one nesting depth, and their team.
#[derive(Debug)]
pub(crate) struct Pool {
    workers: Vec<*const Slot>,
    pub(crate) team: Team,
    /// The number of threads by which the waiting policy counts this pool: those of its last region.
    counted: u32,
    /// What the workers have from the thread that created them. `None` if they differ, or if nobody is to know.
    inherited: Option<Inherited>,
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
            inherited: None,
        })
    }

    /// The number of workers.
    pub(super) fn workers(&self) -> usize {
        self.workers.len()
    }

    /// What the workers have from their creator, if that is the same for all and known.
    pub(super) fn inherited(&self) -> Option<Inherited> {
        self.inherited
    }

    /// The pool belongs to no thread for a while: the waiting policy does not count it.
    pub(super) fn rest(&mut self) {
        // Another thread may still be in the middle of fulfilling an event of this team's tasks. And workers that have
        // announced their sleep, uncounted from now on, would take themselves off the count.
        self.team.dismiss();
        Policy::add_threads(1 - self.counted as isize);
        self.counted = 1;
    }

    /// Starts threads until there are `wanted` workers, each of which runs `main` on its slot. Returns how
    /// many there are, at most `wanted`; there are fewer if the system refused a thread.
    #[inline]
    pub(crate) fn ensure_workers(&mut self, wanted: u32, main: Main) -> u32 {
        if (self.workers.len() as u32) < wanted {
            hetmp_core::sys::keeping_errno(|| self.spawn(wanted, main));
        }
        let have = (self.workers.len() as u32).min(wanted);
        if self.counted != have + 1 {
            Policy::add_threads(have as isize + 1 - self.counted as isize);
            self.counted = have + 1;
        }
        have
    }

    /// The thread library's calls may set `errno` although they succeed.
    #[cold]
    fn spawn(&mut self, wanted: u32, main: Main) {
        if wanted >= MANY_WORKERS {
            hetmp_core::sys::expect_sleepers(wanted);
        }
        if init::globals().as_libomp {
            processors::count_once();
        }
        let inherited = Inherited::here();
        self.inherited = if self.workers.is_empty() || self.inherited == inherited {
            inherited
        } else {
            None
        };
        // Announced all at once: a worker that begins while others are still created must not spin on the creator's
        // core.
        Policy::creates(wanted as usize - self.workers.len());
        while (self.workers.len() as u32) < wanted {
            let slot = Box::into_raw(Box::new(Slot {
                go: Flag::new(),
                call: UnsafeCell::new(MaybeUninit::uninit()),
                exit: AtomicBool::new(false),
                seat: Seat::new(self.workers.len() as u32 + 1),
                handle: UnsafeCell::new(0),
                sent: UnsafeCell::new(0),
            }));
            // SAFETY: the attributes stay initialised as long as the process lives, and the worker's slot
            // lives until the worker was joined.
            let error = unsafe {
                libc::pthread_create(
                    (*slot).handle.get(),
                    init::thread_attributes(),
                    main,
                    slot.cast(),
                )
            };
            if error != 0 {
                Policy::creates_not(wanted as usize - self.workers.len());
                // SAFETY: no worker was started with this slot.
                drop(unsafe { Box::from_raw(slot) });
                init::warn_few_threads(self.workers.len() as u32 + 1, wanted + 1, error);
                return;
            }
            self.workers.push(slot);
        }
    }

    /// Starts the first `count` workers with `call`.
    #[inline]
    pub(crate) fn start(&self, count: u32, call: &Call) {
        for &slot in &self.workers[..count as usize] {
            // SAFETY: a slot lives until its worker was joined. The worker waits, because its last region was
            // joined before this one could be opened.
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
            // SAFETY: a slot lives until its worker was joined, in the loop below. The worker waits, because
            // its last region was joined before the pool could end.
            unsafe {
                (*slot).exit.store(true, Ordering::Relaxed);
                let sent = &mut *(*slot).sent.get();
                *sent = sent.wrapping_add(1) & crate::EPOCH_MASK;
                (*slot).go.signal(*sent);
            }
        }
        for slot in core::mem::take(&mut self.workers) {
            // SAFETY: each handle is joined once, and after that no thread refers to the slot.
            unsafe {
                libc::pthread_join(*(*slot).handle.get(), core::ptr::null_mut());
                drop(Box::from_raw(slot.cast_mut()));
            }
        }
        Policy::add_threads(1 - self.counted as isize);
    }

    /// Lets go of a pool in a child process of `fork`. The pool's workers exist only in the parent. Their
    /// stacks and slots here are copies, which nobody can give back in order, so the memory is leaked.
    pub(crate) fn forget(self: Box<Self>) {
        core::mem::forget(self);
    }
}
