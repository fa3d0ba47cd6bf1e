//! A team: the threads of one parallel region, and what they share.
//!
//! The pool of the thread that opens a region owns the region's team, and uses it again for later regions at
//! the same nesting depth. The team outlives the pool's workers, so a worker that leaves a region may still
//! look at the team.
//!
//! # Who may write what
//! * The primary thread writes [`Shared`] while no worker is in the team. Between fork and join all threads
//!   only read it. The flags of the workers' slots order the two.
//! * Each thread writes its own [`Member`]. Other threads use only the atomics in it.

use crate::icv::Icv;
use crate::init;
use crate::task::deque::{Deque, Tasks};
use crate::task::record::Task;
use crate::task::sleep::Sleep;
use crate::task::sums::{self, Sums};
use crate::team::barrier::{Barrier, Signals};
use crate::team::levels::{Distance, Placed};
use crate::team::seat::Seat;
use crate::thread::SavedContext;
use crate::tool::record::TeamRecord;
use crate::worksharing::singles::Singles;
use crate::worksharing::work::WorkChain;
use core::cell::Cell;
use crossbeam_utils::CachePadded;
use hetmp_core::park::Flag;
use hetmp_core::sync::{AtomicBool, AtomicPtr, AtomicU64};
use hetmp_scan::Told;

/// An outlined region or task body.
pub type Outlined = unsafe extern "C" fn(*mut libc::c_void);

/// Facts about a region that all its threads read.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Number of threads in the team, as the program sees it.
    pub(crate) nthreads: Cell<u32>,
    /// Seats in use: the team's threads in this process. Fewer than `nthreads` only in a region that crosses processes.
    pub(crate) seats: Cell<u32>,
    /// The region's `code`.
    pub(crate) code: Cell<usize>,
    /// Nesting level, counting all regions. 0 outside of regions.
    pub(crate) level: Cell<u32>,
    /// Nesting level, counting only regions that have more than one thread.
    pub(crate) active_level: Cell<u32>,
    /// The team uses central barriers, because it has more threads than cores or may be cancelled; otherwise
    /// spread ones.
    pub(crate) central: Cell<bool>,
    /// The team's barriers, where they are not central, are in levels: its threads are on nodes that are far apart.
    pub(crate) levels: Cell<bool>,
    /// The region can be cancelled (`OMP_CANCELLATION`).
    pub(crate) cancellable: Cell<bool>,
    /// The control variables with which the implicit tasks start.
    pub(crate) icv: Cell<Icv>,
    /// Numbers of threads that a clause of an outer region gave for the regions inside.
    pub(crate) nested: Cell<crate::ahead::said::Nested>,
    /// The team of the thread that opened the region.
    pub(crate) parent: Cell<*const Team>,
    /// That thread's number in the team `parent`.
    pub(crate) parent_number: Cell<u32>,
    /// The primary thread's context before the region.
    pub(crate) saved: Cell<SavedContext>,
    /// The team size for which the threads' affinity was last shown (`OMP_DISPLAY_AFFINITY`).
    pub(crate) shown: Cell<u32>,
    /// Threads by which this region counts against the limit of the contention group.
    pub(crate) taken: Cell<u32>,
    /// The primary thread's place partition before the region.
    pub(crate) saved_partition: Cell<(u32, u32)>,
    /// The members' placements were computed for this policy, this placement of the primary thread, and this
    /// team size.
    pub(crate) placed_for: Cell<(u32, (u32, u32, u32), u32)>,
    /// The members are virtual threads.
    pub(crate) is_virtual: Cell<bool>,
    /// What its calls get that print the number of threads.
    pub(crate) printed: Cell<Printed>,
    /// Some of the region's threads are in other processes: see [`crate::across`].
    pub(crate) across: Cell<bool>,
    /// What the tool knows of the region.
    pub(crate) tool: TeamRecord,
}

/// Calls of `omp_get_num_threads` in the region of a virtual team whose answer is printed and used for nothing else,
/// and that answer: the size of the team that the program would have otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Printed {
    pub(crate) calls: Told,
    pub(crate) answer: u32,
}

/// The threads of one parallel region.
#[derive(Debug)]
pub struct Team {
    pub(crate) shared: CachePadded<Shared>,
    pub(crate) barrier: Barrier,
    /// The barriers in levels.
    pub(crate) placed: Placed,
    /// One for each thread of the largest team so far. The first [`Team::seats`] are in use.
    #[allow(clippy::vec_box, reason = "contexts point into members")]
    pub(crate) members: Vec<Box<Member>>,
    pub(crate) works: WorkChain,
    pub(crate) tasks: Tasks<Task>,
    /// The region was cancelled.
    pub(crate) cancelled: AtomicBool,
    /// Which of the region's `single` constructs are taken.
    pub(crate) singles: Singles,
    /// A pointer that one thread passes to the others between two barriers.
    pub(crate) broadcast: AtomicPtr<libc::c_void>,
    /// Nanoseconds that the region spent in loops which hetmp's own schedules divide, for the report. The
    /// last thread to leave such a loop adds to it. The primary thread takes it after the join.
    pub(crate) divided_ns: AtomicU64,
}

impl Drop for Team {
    /// Another thread may still be in the middle of fulfilling an event of this team's tasks, also of a team of one.
    fn drop(&mut self) {
        // In a child of fork there are no other threads.
        if !init::forked() {
            self.tasks.quiesce();
        }
    }
}

/// One thread's part of a team.
#[derive(Debug)]
#[repr(align(128))]
pub struct Member {
    /// The implicit task of this thread.
    pub(crate) implicit: Task,
    /// Number of the last barrier at which this thread arrived.
    pub(crate) epoch: Cell<u32>,
    /// The member's index in its team.
    pub(crate) seat: Seat,
    /// The barrier flags of this thread.
    pub(crate) signals: Signals,
    /// Tasks that this thread made and no thread has begun.
    pub(crate) deque: CachePadded<Deque<Task>>,
    /// How many tasks this thread has deferred and finished.
    pub(crate) sums: Sums,
    /// This thread sleeps on this flag when it waits for tasks. The flag is never signalled, only nudged.
    pub(crate) idle: CachePadded<Flag>,
    /// Tells whether this thread sleeps and must be nudged when there are tasks.
    pub(crate) sleep: Sleep,
    /// Where this thread runs: its place plus one (0: not bound), and its partition.
    pub(crate) placement: Cell<(u32, u32, u32)>,
    /// The node that this thread belongs to, plus one. 0 while no nodes are in use.
    pub(crate) node: Cell<u32>,
    /// By which number a virtual thread holds old nestable locks ([`crate::sync::lock`]); 0: it never did. Touched by
    /// this thread only.
    pub(crate) identity: Cell<u32>,
}

impl Member {
    /// The member on `seat` of a team for up to `capacity` threads.
    fn new(seat: Seat, capacity: u32) -> Member {
        Member {
            implicit: Task::implicit(),
            epoch: Cell::new(0),
            seat,
            signals: Signals::new(capacity),
            deque: CachePadded::new(Deque::new()),
            sums: Sums::new(),
            idle: CachePadded::new(Flag::new()),
            sleep: Sleep::new(),
            placement: Cell::new((0, 0, 0)),
            node: Cell::new(0),
            identity: Cell::new(0),
        }
    }
}

impl Team {
    /// A team for up to `capacity` threads.
    pub(crate) fn new(capacity: u32) -> Team {
        Team {
            shared: CachePadded::new(Shared {
                nthreads: Cell::new(1),
                seats: Cell::new(1),
                code: Cell::new(0),
                level: Cell::new(0),
                active_level: Cell::new(0),
                central: Cell::new(false),
                levels: Cell::new(false),
                cancellable: Cell::new(false),
                icv: Cell::new(init::globals().icv),
                nested: Cell::new(crate::ahead::said::Nested::NONE),
                parent: Cell::new(core::ptr::null()),
                parent_number: Cell::new(0),
                saved: Cell::new(SavedContext::empty()),
                shown: Cell::new(0),
                taken: Cell::new(0),
                saved_partition: Cell::new((0, 0)),
                placed_for: Cell::new((0, (0, 0, 0), 0)),
                is_virtual: Cell::new(false),
                printed: Cell::new(Printed::default()),
                across: Cell::new(false),
                tool: TeamRecord::new(),
            }),
            barrier: Barrier::new(),
            placed: Placed::default(),
            members: members(capacity),
            works: WorkChain::new(),
            tasks: Tasks::new(),
            cancelled: AtomicBool::new(false),
            singles: Singles::new(),
            broadcast: AtomicPtr::new(core::ptr::null_mut()),
            divided_ns: AtomicU64::new(0),
        }
    }

    /// The largest number of threads that the team has room for.
    pub(crate) fn capacity(&self) -> u32 {
        self.members.len() as u32
    }

    /// Makes this team one node's part of a region with `total` threads, of which `absent` are on other
    /// nodes. The implicit tasks start with `icv`. The team's count of `single` constructs starts at
    /// `singles`. May be called only while no thread is in the team.
    pub(crate) fn cross(&self, total: u32, absent: u32, singles: u64, icv: Icv) {
        let s = &self.shared;
        s.across.set(true);
        s.nthreads.set(total);
        let other = s.seats.replace(total - absent) != total - absent;
        s.level.set(1);
        s.active_level.set(1);
        s.icv.set(icv);
        self.tasks.end_region();
        if other {
            self.dismiss();
        }
        self.tasks.begin_region();
        // SAFETY: no thread is in the team.
        unsafe { self.works.restart_without(absent) };
        self.singles.restart(singles);
    }

    /// Sends away the helpers of the last region, and forgets who sleeps and the tasks that were. May be called only
    /// while no task is left.
    pub(crate) fn dismiss(&self) {
        self.tasks.quiesce();
        self.forget_tasks();
        self.tasks.sleepers.forget();
        for m in &self.members {
            m.sleep.forget();
        }
    }

    /// Whether all tasks of `phase` are complete. Called while all members are in the barrier of that phase, or none is
    /// in the team.
    pub(crate) fn quiescent(&self, phase: usize) -> bool {
        let members = self.in_use().iter().map(|m| &m.sums);
        sums::agree(members, &self.tasks.outside, phase)
    }

    /// Forgets how many tasks members made and finished. A member may finish the tasks of another: only over all
    /// members of a region both counts are equal. So a region with fewer threads would wait for tasks that a thread
    /// without a part in it has finished long ago. May be called only while no task is left.
    fn forget_tasks(&self) {
        self.tasks.outside.forget();
        for m in &self.members {
            m.sums.forget();
        }
    }

    /// Makes the team of one thread that a thread belongs to outside of regions.
    pub(crate) fn solo() -> Box<Team> {
        Box::new(Team::new(1))
    }

    /// Makes room for `n` threads. May be called only while no worker is in the team.
    pub(super) fn grow(&mut self, n: u32) {
        self.tasks.quiesce();
        // All members are made anew, because each seat needs enough flags for the larger team.
        let epoch = self.members[0].epoch.get();
        self.members = members(n);
        self.realign(epoch);
    }

    /// Sets every member to the same epoch, and forgets old signals and counts. May be called only while no
    /// worker is in the team.
    pub(super) fn realign(&self, epoch: u32) {
        self.dismiss();
        for m in &self.members {
            m.epoch.set(epoch);
            m.placement.set((0, 0, 0));
        }
        self.shared.placed_for.set((0, (0, 0, 0), 0));
        self.barrier.reset(
            epoch,
            self.tasks.region_number(),
            self.members.iter().map(|m| &m.signals),
        );
        self.placed.reset(epoch);
        // SAFETY: no worker is in the team.
        unsafe { self.works.restart() };
    }

    /// Chooses the barrier for the nodes on which the team's `n` threads are now, which are so far apart. May be called
    /// only while no worker is in the team.
    #[cold]
    pub(super) fn arrange(&mut self, n: u32, distance: Distance) {
        let epoch = self.members[0].epoch.get();
        let nodes = self.members[..n as usize].iter().map(|m| m.node.get());
        let levels = self.placed.choose(nodes, distance, epoch);
        if self.shared.levels.get() != levels {
            // The flags of the other kind of barrier may be any number of epochs old, as where `central` changes.
            self.placed.reset(epoch);
            for m in &self.members {
                m.signals.reset_rounds(epoch);
            }
            self.shared.levels.set(levels);
        }
    }

    /// Makes the team one of `n` threads, all of this process. May be called only while no worker is in the team.
    #[inline]
    pub(crate) fn resize(&self, n: u32) {
        self.shared.nthreads.set(n);
        self.shared.seats.set(n);
    }

    /// The number of threads in the team, as the program sees it.
    #[inline(always)]
    pub(crate) fn nthreads(&self) -> u32 {
        self.shared.nthreads.get()
    }

    /// Seats in use.
    #[inline(always)]
    pub(crate) fn seats(&self) -> u32 {
        self.shared.seats.get()
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

    /// Are some of the region's threads in other processes?
    #[inline(always)]
    pub(crate) fn is_across(&self) -> bool {
        self.shared.across.get()
    }

    /// The enclosing team, and the number that the thread which opened this team has there.
    pub(crate) fn parent(&self) -> Option<(&Team, u32)> {
        // SAFETY: null, or the enclosing team, which is in use as long as this team is.
        unsafe { self.shared.parent.get().as_ref() }.map(|t| (t, self.shared.parent_number.get()))
    }

    /// The member on `seat`.
    #[inline(always)]
    pub(crate) fn member(&self, seat: Seat) -> &Member {
        &self.members[seat.index()]
    }

    /// The members whose seats are in use.
    pub(crate) fn in_use(&self) -> &[Box<Member>] {
        &self.members[..self.seats() as usize]
    }

    #[inline(always)]
    pub(super) fn signals(&self, seat: Seat) -> &Signals {
        &self.member(seat).signals
    }
}

#[allow(clippy::vec_box, reason = "contexts point into members")]
fn members(n: u32) -> Vec<Box<Member>> {
    (0..n)
        .map(|i| Box::new(Member::new(Seat::new(i), n)))
        .collect()
}
