//! Waits for tasks, and running tasks during other waits.
//!
//! A waiting thread reads records that live because it waits: its children are counted in them.

use super::event;
use super::pastimes::{self, AtBarrier, Drain, Worker};
use super::queue::Scope;
use super::record::{Group, Task};
use super::run::run_one;
use super::sleep::Wants;
use crate::boundary::Reason;
use crate::team::barrier::{wait_on, Pastime};
use crate::team::members::{Member, Team};
use crate::thread::Thread;
use crate::tool;
use crate::tool::interface::Sync;
use hetmp_core::park::{Flag, Poll};
use hetmp_core::sync::Ordering;

/// Announces that member `th` sleeps on `flag` and `wants` tasks, or that it is awake again.
fn announce(th: &Thread, flag: &Flag, wants: Wants, yes: bool) {
    let (team, m) = (th.team(), th.member());
    if yes {
        team.announce(m, flag, wants);
    } else {
        team.attend(m);
    }
}

/// Takes down the announcement of member `m`, which something other than a nudge has woken, or ends its part as the
/// lookout.
#[cold]
pub(crate) fn wake_up(team: &Team, m: &Member) {
    team.attend(m);
}

/// The wait is over: the thread looks for tasks no more.
#[inline(always)]
fn leave(th: &Thread) {
    let m = th.member();
    if m.sleep.is_marked() {
        th.team().attend(m);
    }
}

impl Worker for &Thread {
    fn active(&self) -> bool {
        self.team().tasks.active()
    }
    fn run_one(&self) -> bool {
        run_one(self, Scope::Any)
    }
    fn quiescent(&self, phase: usize) -> bool {
        self.team().quiescent(phase)
    }
    fn look_out(&self) -> Poll {
        self.team().look_out(self.member())
    }
    fn announce(&self, flag: &Flag, yes: bool) {
        announce(self, flag, Wants::Any, yes);
    }
    fn drained(&self) {
        drained(self.team());
    }
}

/// Runs tasks of the team while waiting at a barrier or join.
pub(crate) struct TaskPastime<'a> {
    th: &'a Thread,
    leave_when_cancelled: bool,
}

impl<'a> TaskPastime<'a> {
    #[inline(always)]
    pub(crate) fn new(th: &'a Thread) -> Self {
        TaskPastime {
            th,
            leave_when_cancelled: false,
        }
    }

    /// Ends the wait when the region is cancelled.
    pub(crate) fn leave_when_cancelled(&mut self) {
        self.leave_when_cancelled = true;
    }
}

impl Pastime for TaskPastime<'_> {
    #[inline]
    fn poll(&mut self) -> Poll {
        let team = self.th.team();
        if self.leave_when_cancelled && team.cancelled.load(Ordering::Acquire) {
            return Poll::Leave;
        }
        if !team.tasks.active() {
            return Poll::Idle;
        }
        if run_one(self.th, Scope::Any) {
            return Poll::Worked;
        }
        team.look_out(self.th.member())
    }

    fn asleep(&mut self, flag: &Flag, yes: bool) {
        announce(self.th, flag, Wants::Any, yes);
    }

    fn may_work(&self) -> bool {
        self.th.team().tasks.active()
    }
}

impl Drop for TaskPastime<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        leave(self.th);
    }
}

/// Runs tasks of the last region while a worker waits in the dock for the next one.
///
/// The primary thread may end the region, change the team and open the next region at any moment. So a helper
/// registers, looks whether its region is still the current one, and only then touches queues. The primary
/// thread turns `active` off and waits until no helper is registered.
pub(crate) struct DockPastime<'a> {
    th: &'a Thread,
    team: Option<&'a Team>,
    region: u32,
    /// The worker has run a task since it last nudged the primary thread.
    worked: bool,
}

impl<'a> DockPastime<'a> {
    /// # Safety
    /// `team` is null or outlives the waiting thread.
    pub(crate) unsafe fn new(th: &'a Thread, team: *const Team, region: u32) -> Self {
        DockPastime {
            th,
            // SAFETY: this function's contract: the team of the pool that the waiting worker belongs to, or null.
            team: unsafe { team.as_ref() },
            region,
            worked: false,
        }
    }

    fn help(&mut self, team: &Team) -> Poll {
        team.tasks.helpers.enter();
        let current = team.tasks.helpers.is_open(self.region);
        let mut found = Poll::Idle;
        if current && run_one(self.th, Scope::Any) {
            found = Poll::Worked;
            self.worked = true;
        } else {
            if core::mem::take(&mut self.worked) {
                // That may have been the last task, while the primary thread sleeps until all are done.
                team.nudge(&team.members[0]);
            }
            if current {
                // The start of the worker's next region ends its part as the lookout.
                found = team.look_out(self.th.member());
            }
        }
        team.tasks.helpers.leave();
        found
    }
}

impl Pastime for DockPastime<'_> {
    #[inline]
    fn poll(&mut self) -> Poll {
        let team = self.team;
        match team {
            Some(team) if team.tasks.helpers.is_open(self.region) => self.help(team),
            _ => Poll::Idle,
        }
    }

    fn asleep(&mut self, flag: &Flag, yes: bool) {
        let Some(team) = self.team else { return };
        team.tasks.helpers.enter();
        // Only if the worker's region is still the current one: a later region may have other members. The
        // start of the worker's next region takes the announcement down when it wakes the worker.
        if team.tasks.region_number() == self.region {
            announce(self.th, flag, Wants::Any, yes);
        }
        team.tasks.helpers.leave();
    }
}

/// Waits inside a task: runs descendants of the current task until `done`.
struct Inside<'a, D: Fn() -> bool, W: Fn(bool)> {
    th: &'a Thread,
    done: D,
    /// Marks the awaited object, so that the thread that completes it nudges this member.
    mark: W,
}

impl<D: Fn() -> bool, W: Fn(bool)> Pastime for Inside<'_, D, W> {
    fn poll(&mut self) -> Poll {
        if (self.done)() {
            Poll::Leave
        } else if run_one(self.th, Scope::DescendantsOf(self.th.task())) {
            Poll::Worked
        } else {
            Poll::Idle
        }
    }

    fn asleep(&mut self, flag: &Flag, yes: bool) {
        let task = core::ptr::from_ref(self.th.task()).cast();
        announce(self.th, flag, Wants::DescendantsOf(task), yes);
        (self.mark)(yes);
    }
}

fn inside(th: &Thread, done: impl Fn() -> bool, mark: impl Fn(bool)) {
    th.leave_program(Reason::Tasks);
    let m = th.member();
    // Nobody signals the flag: it is only slept on, and `done` ends the wait.
    let never = m.idle.epoch().wrapping_add(1) & crate::EPOCH_MASK;
    wait_on(&m.idle, never, &mut Inside { th, done, mark });
    th.enter_program(Reason::Tasks);
}

/// The `taskwait` construct.
pub fn taskwait(th: &Thread) {
    if tool::on() {
        return tool::events::waits(th, Sync::Taskwait, || for_children(th));
    }
    for_children(th);
}

/// Waits until the children of the current task are complete.
#[inline]
pub(super) fn for_children(th: &Thread) {
    let task = th.task();
    if task.spawned.get() == 0 {
        return;
    }
    if !task.children_done() {
        inside(
            th,
            || task.children_done(),
            |yes| task.counts.set_waiting(yes),
        );
    }
    // If all records are released, too, counting starts again from zero, so that it never overflows.
    if task.counts.released() == task.spawned.get() {
        task.counts.reset();
        task.spawned.set(0);
    }
    // SAFETY: only the thread that runs a task touches `children`. All children are complete, so
    // nothing can depend on them any more.
    unsafe { *task.children.get() = None };
}

/// Waits for the tasks of a group.
pub(crate) fn for_group(th: &Thread, group: &Group) {
    inside(th, || group.is_empty(), |yes| group.set_waiting(yes));
}

/// Waits until `done` is true. A task of this team makes it true and then nudges this member.
pub(crate) fn until(th: &Thread, done: impl Fn() -> bool) {
    if !done() {
        inside(th, done, |_| {});
    }
}

/// Waits until the event of the current, undeferred task is fulfilled.
pub(crate) fn for_event(th: &Thread, task: &Task) {
    until(th, || event::is_fulfilled(task.event.get()));
    event::close(task.event.get());
}

/// `taskyield`. A tied task could only yield to its own descendants. As in libgomp, no task is switched to,
/// but a thread that shares its core lets other threads run.
pub fn taskyield() {
    if hetmp_core::park::Policy::oversubscribed() {
        hetmp_core::sys::yield_now();
    }
}

/// `taskyield` of a compiler whose programs expect that other tasks run meanwhile. A program may spin on it until tasks
/// have run which no other thread may begin, so one ready descendant of the current task runs.
pub fn taskyield_to_descendant(th: &Thread) {
    if !th.team().tasks.active() {
        return taskyield();
    }
    th.leave_program(Reason::Tasks);
    let mut ran = false;
    let mut run = || ran = run_one(th, Scope::DescendantsOf(th.task()));
    if tool::on() {
        tool::tasks::yields(th, run);
    } else {
        run();
    }
    th.enter_program(Reason::Tasks);
    if !ran {
        taskyield();
    }
}

/// Runs tasks until none is ready.
pub(crate) fn work_off(th: &Thread) {
    while run_one(th, Scope::Any) {}
}

/// Waits at a barrier, after all members have arrived, until all tasks made before it are complete. `epoch`
/// is the number of the barrier before.
pub(crate) fn drain(th: &Thread, epoch: u32) {
    let team = th.team();
    let phase = (epoch & 1) as usize;
    if !team.quiescent(phase) {
        let m = th.member();
        let never = m.idle.epoch().wrapping_add(1) & crate::EPOCH_MASK;
        let worker = th;
        wait_on(&m.idle, never, &mut Drain { worker, phase });
        leave(th);
    }
}

/// Waits in a barrier of several processes until it is `over`, and runs tasks of this process meanwhile. The thread
/// that came last waits in [`drain`].
pub(crate) fn at_barrier(th: &Thread, over: impl Fn() -> bool) {
    let m = th.member();
    let never = m.idle.epoch().wrapping_add(1) & crate::EPOCH_MASK;
    th.leave_program(Reason::Tasks);
    let mut with = AtBarrier {
        worker: th,
        over,
        worked: false,
    };
    wait_on(&m.idle, never, &mut with);
    th.enter_program(Reason::Tasks);
}

/// Wakes members that went to sleep in [`drain`] before the last task ended. Used at barriers. At a join only the
/// primary thread waits for tasks, and workers asleep in the dock should stay asleep.
pub(crate) fn drained(team: &Team) {
    pastimes::drained(&team.tasks.sleepers, || team.nudge_all());
}
