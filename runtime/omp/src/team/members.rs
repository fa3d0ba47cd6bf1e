//! What a team is: the threads of one parallel region.
//!
//! A team is owned by the pool of the thread that opens regions at that depth, and reused for all
//! of them. It outlives its workers, so a worker on its way out may still look at it.
//!
//! # What makes the sharing sound
//! * [`Shared`] is written by the primary thread while no worker is in the team, and only read
//!   between fork and join. The slots' flags order the two.
//! * A [`Member`] is written by its own thread, except for its atomics.

use crate::icv::Icv;
use crate::init;
use crate::task::deque::{Deque, Tasks};
use crate::task::record::Task;
use crate::task::sleep::Sleep;
use crate::team::barrier::{Barrier, Seat};
use crate::thread::SavedContext;
use crate::worksharing::work::WorkChain;
use core::cell::Cell;
use hetmp_core::park::Flag;
use hetmp_core::sync::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, CacheLine, Ordering};

/// An outlined region or task body.
pub type Outlined = unsafe extern "C" fn(*mut libc::c_void);

/// What the threads of a region read about it.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Size of the team.
    pub(crate) nthreads: Cell<u32>,
    /// The region's `code`.
    pub(crate) code: Cell<usize>,
    /// Nesting level, counting inactive regions; 0 outside.
    pub(crate) level: Cell<u32>,
    /// Nesting level, counting only regions of more than one thread.
    pub(crate) active_level: Cell<u32>,
    /// Barriers are central (oversubscribed or cancellable) rather than spread.
    pub(crate) central: Cell<bool>,
    /// The region can be cancelled (`OMP_CANCELLATION`).
    pub(crate) cancellable: Cell<bool>,
    /// Internal control variables that implicit tasks start with.
    pub(crate) icv: Cell<Icv>,
    /// Numbers of threads that a clause of an outer region gives for the regions inside.
    pub(crate) nested: Cell<crate::ahead::said::Nested>,
    /// The team of the thread that opened the region, and its number there.
    pub(crate) parent: Cell<*const Team>,
    /// See `parent`.
    pub(crate) parent_tid: Cell<u32>,
    /// What the primary thread was doing.
    pub(crate) saved: Cell<SavedContext>,
    /// The size of team whose affinity was last shown (`OMP_DISPLAY_AFFINITY`).
    pub(crate) shown: Cell<u32>,
    /// Threads taken from the limit of the contention group.
    pub(crate) taken: Cell<u32>,
    /// The primary thread's place partition before the region.
    pub(crate) saved_partition: Cell<(u32, u32)>,
    /// What the members' placements were computed for: policy, primary thread's placement, size.
    pub(crate) placed_for: Cell<(u32, (u32, u32, u32), u32)>,
    /// The members are virtual threads.
    pub(crate) is_virtual: Cell<bool>,
    /// The region's threads are in several processes: see [`crate::across`].
    pub(crate) across: Cell<bool>,
}

/// The threads of one parallel region.
#[derive(Debug)]
pub struct Team {
    pub(crate) shared: CacheLine<Shared>,
    pub(crate) barrier: Barrier,
    /// As many as the team ever had threads; the first `nthreads` are in use.
    #[allow(clippy::vec_box, reason = "contexts point into members")]
    pub(crate) members: Vec<Box<Member>>,
    pub(crate) works: WorkChain,
    pub(crate) tasks: Tasks<Task>,
    /// The region was cancelled.
    pub(crate) cancelled: AtomicBool,
    /// `single` constructs that some thread of the region has taken.
    pub(crate) singles: CacheLine<AtomicU32>,
    /// What one thread passes to the others between two barriers.
    pub(crate) broadcast: AtomicPtr<libc::c_void>,
    /// Nanoseconds of the region in loops that schedules of ours divide, for the report. Added to by
    /// the thread that leaves such a loop last, and taken by the primary thread after the join.
    pub(crate) divided_ns: AtomicU64,
}

/// One thread's part of a team.
#[derive(Debug)]
#[repr(align(128))]
pub struct Member {
    /// The implicit task of this thread.
    pub(crate) implicit: Task,
    /// Number of the last barrier this thread arrived at.
    pub(crate) epoch: Cell<u32>,
    /// Barrier flags others signal to this thread.
    pub(crate) seat: Seat,
    /// Tasks this thread made and nobody has begun.
    pub(crate) deque: CacheLine<Deque<Task>>,
    /// Tasks this thread deferred, for even and odd epochs. Written by this thread only.
    pub(crate) created: CacheLine<[AtomicU64; 2]>,
    /// Deferred tasks this thread finished, for even and odd epochs. Written by this thread only.
    pub(crate) finished: CacheLine<[AtomicU64; 2]>,
    /// Task waits of this thread sleep here; only ever nudged.
    pub(crate) idle: CacheLine<Flag>,
    /// Set while this thread sleeps and wants to be nudged when there are tasks.
    pub(crate) sleep: Sleep,
    /// Where this thread runs: place plus one (0: unbound), and its partition.
    pub(crate) placement: Cell<(u32, u32, u32)>,
    /// The node this thread belongs to plus one; 0 while no nodes are in use.
    pub(crate) node: Cell<u32>,
}

impl Member {
    fn new(capacity: u32) -> Member {
        Member {
            implicit: Task::implicit(),
            epoch: Cell::new(0),
            seat: Seat::new(capacity),
            deque: CacheLine(Deque::new()),
            created: CacheLine([AtomicU64::new(0), AtomicU64::new(0)]),
            finished: CacheLine([AtomicU64::new(0), AtomicU64::new(0)]),
            idle: CacheLine(Flag::new()),
            sleep: Sleep::new(),
            placement: Cell::new((0, 0, 0)),
            node: Cell::new(0),
        }
    }
}

impl Team {
    /// A team for up to `capacity` threads.
    pub(crate) fn new(capacity: u32) -> Team {
        Team {
            shared: CacheLine(Shared {
                nthreads: Cell::new(1),
                code: Cell::new(0),
                level: Cell::new(0),
                active_level: Cell::new(0),
                central: Cell::new(false),
                cancellable: Cell::new(false),
                icv: Cell::new(init::globals().icv),
                nested: Cell::new(crate::ahead::said::Nested::NONE),
                parent: Cell::new(core::ptr::null()),
                parent_tid: Cell::new(0),
                saved: Cell::new(SavedContext::empty()),
                shown: Cell::new(0),
                taken: Cell::new(0),
                saved_partition: Cell::new((0, 0)),
                placed_for: Cell::new((0, (0, 0, 0), 0)),
                is_virtual: Cell::new(false),
                across: Cell::new(false),
            }),
            barrier: Barrier::new(),
            members: (0..capacity)
                .map(|_| Box::new(Member::new(capacity)))
                .collect(),
            works: WorkChain::new(),
            tasks: Tasks::new(),
            cancelled: AtomicBool::new(false),
            singles: CacheLine(AtomicU32::new(0)),
            broadcast: AtomicPtr::new(core::ptr::null_mut()),
            divided_ns: AtomicU64::new(0),
        }
    }

    /// As many threads as it was made for.
    pub(crate) fn capacity(&self) -> u32 {
        self.members.len() as u32
    }

    /// Makes it this node's part of a region of `total` threads, `absent` of which are on other nodes, whose tasks start
    /// with `icv`; `singles` is where its count of `single` constructs begins. Only while nobody is in the team.
    pub(crate) fn cross(&self, total: u32, absent: u32, singles: u32, icv: Icv) {
        let s = &self.shared;
        s.across.set(true);
        s.nthreads.set(total);
        s.level.set(1);
        s.active_level.set(1);
        s.icv.set(icv);
        self.tasks.begin_region();
        self.works.restart_without(absent);
        self.singles.store(singles, Ordering::Relaxed);
    }

    /// The team of one that a thread outside parallel regions is.
    pub(crate) fn solo() -> Box<Team> {
        Box::new(Team::new(1))
    }

    /// Makes room for `n` threads. Only while no worker is in the team.
    pub(super) fn grow(&mut self, n: u32) {
        self.tasks.quiesce();
        // Seats hold as many flags as the largest team needs, so all are made anew.
        let epoch = self.members[0].epoch.get();
        self.members = (0..n).map(|_| Box::new(Member::new(n))).collect();
        self.realign(epoch);
    }

    /// Brings every member to the same epoch, and forgets old signals and counts. Only while no
    /// worker is in the team.
    pub(super) fn realign(&self, epoch: u32) {
        self.tasks.quiesce();
        for finished in &self.tasks.finished_outside {
            finished.store(0, Ordering::Relaxed);
        }
        for m in &self.members {
            m.epoch.set(epoch);
            m.sleep.forget();
            m.placement.set((0, 0, 0));
            for i in 0..2 {
                m.created[i].store(0, Ordering::Relaxed);
                m.finished[i].store(0, Ordering::Relaxed);
            }
        }
        self.shared.placed_for.set((0, (0, 0, 0), 0));
        self.barrier.reset(
            epoch,
            self.tasks.region_number(),
            self.members.iter().map(|m| &m.seat),
        );
        self.works.restart();
    }

    /// Size of the team.
    #[inline(always)]
    pub(crate) fn nthreads(&self) -> u32 {
        self.shared.nthreads.get()
    }

    /// Nesting level (`omp_get_level`).
    #[inline(always)]
    pub(crate) fn level(&self) -> u32 {
        self.shared.level.get()
    }

    /// Nesting level of active regions (`omp_get_active_level`).
    #[inline(always)]
    pub(crate) fn active_level(&self) -> u32 {
        self.shared.active_level.get()
    }

    /// Are the members virtual threads?
    #[inline(always)]
    pub(crate) fn is_virtual(&self) -> bool {
        self.shared.is_virtual.get()
    }

    /// Are the members a part of a region's threads, the rest of which are in other processes?
    #[inline(always)]
    pub(crate) fn is_across(&self) -> bool {
        self.shared.across.get()
    }

    /// The team around this one and the number there of the thread that opened this one.
    pub(crate) fn parent(&self) -> Option<(&Team, u32)> {
        // SAFETY: the enclosing team is in use as long as this one is.
        unsafe { self.shared.parent.get().as_ref() }.map(|t| (t, self.shared.parent_tid.get()))
    }

    #[inline(always)]
    pub(super) fn seat(&self, tid: u32) -> &Seat {
        &self.members[tid as usize].seat
    }
}
