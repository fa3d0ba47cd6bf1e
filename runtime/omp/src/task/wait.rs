//! Waiting for tasks, and passing the time of other waits with tasks.

use super::event;
use super::queue::Scope;
use super::record::{Group, Task};
use super::run::run_one;
use crate::boundary::Reason;
use crate::team::barrier::{wait_on, Pastime};
use crate::team::members::{Member, Team};
use crate::thread::Thread;
use hetmp_core::park::{Flag, Poll};
use hetmp_core::sync::{fence, Ordering};

/// Announces that member `th` sleeps on `flag`, or that it is awake.
fn announce(th: &Thread, flag: &Flag, yes: bool) {
    let sleepers = &th.team().tasks.sleepers;
    if yes {
        th.member().sleep.announce(sleepers, flag);
    } else {
        th.member().sleep.withdraw(sleepers);
    }
}

/// Takes down the announcement of member `m`, which was woken by something else than a nudge.
#[cold]
pub(crate) fn wake_up(team: &Team, m: &Member) {
    m.sleep.withdraw(&team.tasks.sleepers);
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
        if team.tasks.active() && run_one(self.th, Scope::Any) {
            Poll::Worked
        } else {
            Poll::Idle
        }
    }

    fn asleep(&mut self, flag: &Flag, yes: bool) {
        announce(self.th, flag, yes);
    }
}

/// Runs tasks of the last region while waiting in the dock for the next one.
///
/// The primary thread may end the region, change the team and open the next region at any moment.
/// So a helper registers, looks whether its region is still the current one, and only then touches
/// queues; the primary thread turns `active` off and waits until no helper is registered.
pub(crate) struct DockPastime<'a> {
    th: &'a Thread,
    team: Option<&'a Team>,
    region: u32,
    /// Ran a task since it last looked for the primary thread.
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

    fn help(&mut self, team: &Team) -> bool {
        team.tasks.helpers.fetch_add(1, Ordering::SeqCst);
        let worked = team.tasks.active()
            && team.tasks.region.load(Ordering::SeqCst) == self.region
            && run_one(self.th, Scope::Any);
        if worked {
            self.worked = true;
        } else if core::mem::take(&mut self.worked) {
            // That may have been the last task, and the primary thread asleep until it is done.
            team.nudge(&team.members[0]);
        }
        team.tasks.helpers.fetch_sub(1, Ordering::SeqCst);
        worked
    }
}

impl Pastime for DockPastime<'_> {
    #[inline]
    fn poll(&mut self) -> Poll {
        let team = self.team;
        match team {
            Some(team)
                if team.tasks.active()
                    && team.tasks.region.load(Ordering::Relaxed) == self.region
                    && self.help(team) =>
            {
                Poll::Worked
            }
            _ => Poll::Idle,
        }
    }

    fn asleep(&mut self, flag: &Flag, yes: bool) {
        let Some(team) = self.team else { return };
        team.tasks.helpers.fetch_add(1, Ordering::SeqCst);
        // Only to the region this worker may help: the members of a later one may be others. A worker
        // that is woken by the start of its next region takes the announcement down there.
        if team.tasks.region.load(Ordering::SeqCst) == self.region {
            announce(self.th, flag, yes);
        }
        team.tasks.helpers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits inside a task: runs descendants of the current task until `done`.
struct Inside<'a, D: Fn() -> bool, W: Fn(bool)> {
    th: &'a Thread,
    done: D,
    /// Marks the thing waited for, so that whoever completes it nudges.
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
        announce(self.th, flag, yes);
        (self.mark)(yes);
    }
}

fn inside(th: &Thread, done: impl Fn() -> bool, mark: impl Fn(bool)) {
    th.leave_program(Reason::Tasks);
    let m = th.member();
    // Nobody signals the flag: it is for sleeping only, and `done` ends the wait.
    let never = m.idle.epoch().wrapping_add(1) & crate::EPOCH_MASK;
    wait_on(&m.idle, never, &mut Inside { th, done, mark });
    th.enter_program(Reason::Tasks);
}

/// Waits until the children of the current task are complete (`taskwait`).
pub fn taskwait(th: &Thread) {
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
    // If all records are released too, counting can start afresh: it never overflows then.
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

/// Waits until `done`, which some task of this one brings about and then nudges this member.
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

/// `taskyield`. Tied tasks could only yield to their own descendants; like libgomp we do not
/// switch, but a thread that shares its core lets others run.
pub fn taskyield() {
    if hetmp_core::park::Policy::oversubscribed() {
        hetmp_core::sys::yield_now();
    }
}

/// Runs tasks until there are none to be had.
pub(crate) fn work_off(th: &Thread) {
    while run_one(th, Scope::Any) {}
}

/// True when all tasks of `phase` are complete. Everybody is in the barrier of that phase.
fn quiescent(team: &Team, phase: usize) -> bool {
    let members = &team.members[..team.nthreads() as usize];
    let mut finished = team.tasks.finished_outside[phase].load(Ordering::Acquire);
    for m in members {
        finished += m.finished[phase].load(Ordering::Acquire);
    }
    let mut created = 0;
    for m in members {
        created += m.created[phase].load(Ordering::Acquire);
    }
    finished == created
}

/// Waits at a barrier, after everybody has arrived, until all tasks made before it are complete.
/// `epoch` is the number of the barrier before.
pub(crate) fn drain(th: &Thread, epoch: u32) {
    struct Drain<'a> {
        th: &'a Thread,
        phase: usize,
    }
    impl Pastime for Drain<'_> {
        fn poll(&mut self) -> Poll {
            if run_one(self.th, Scope::Any) {
                Poll::Worked
            } else if quiescent(self.th.team(), self.phase) {
                Poll::Leave
            } else {
                Poll::Idle
            }
        }
        fn asleep(&mut self, flag: &Flag, yes: bool) {
            announce(self.th, flag, yes);
        }
    }
    let team = th.team();
    let phase = (epoch & 1) as usize;
    if !quiescent(team, phase) {
        let m = th.member();
        let never = m.idle.epoch().wrapping_add(1) & crate::EPOCH_MASK;
        wait_on(&m.idle, never, &mut Drain { th, phase });
    }
}

/// Wakes members that went to sleep in `drain` before the last task ended. At barriers; at a join
/// only the primary thread waits for tasks, and workers asleep in the dock are better left there.
pub(crate) fn drained(team: &Team) {
    // The count of the last task, a plain store perhaps of this very thread, must be visible before
    // sleepers are counted; a sleeper counts itself before it sums up a last time.
    fence(Ordering::SeqCst);
    if team.tasks.sleepers.load(Ordering::Relaxed) != 0 {
        team.nudge_all();
    }
}
