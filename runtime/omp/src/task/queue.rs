//! Putting tasks where they wait ([`super::deque`]), and taking them from there.

use super::deque::Deque;
use super::offer::{self, Offering};
use super::record::Task;
use super::sleep::Sleep;
use crate::team::members::{Member, Team};
use crate::thread::Thread;
use hetmp_core::sync::{fence, Ordering};

/// How a thread takes tasks. A type and not a flag, so that the ways which every wait goes hold no code for race
/// detectors.
pub(super) trait Manner {
    /// Most tasks that a thief takes in addition to the one it runs.
    const MOST_SPOILS: usize;
    /// Called before the thread takes a task of its own.
    fn before_own(th: &Thread, team: &Team);
    /// Called before the thread takes one of another member's `deque`.
    fn before_theft(th: &Thread, team: &Team, deque: &Deque<Task>);
}

/// Takes what is there.
struct Greedy;

impl Manner for Greedy {
    const MOST_SPOILS: usize = 16;
    #[inline(always)]
    fn before_own(_: &Thread, _: &Team) {}
    #[inline(always)]
    fn before_theft(_: &Thread, _: &Team, _: &Deque<Task>) {}
}

/// Which tasks a thread may begin.
#[derive(Clone, Copy)]
pub(crate) enum Scope<'a> {
    /// Any task: the thread is at a barrier.
    Any,
    /// Descendants of this task, which waits.
    DescendantsOf(&'a Task),
}

impl Team {
    /// Queues a ready task in the deque of member `m` (or among the prioritised tasks), and wakes a member to
    /// run it.
    #[inline]
    pub(crate) fn enqueue(&self, m: &Member, task: &Task) {
        let priority = task.priority.get();
        if priority > 0 {
            self.tasks.with_prioritised(|map, len| {
                map.entry(core::cmp::Reverse(priority))
                    .or_default()
                    .push_back(task);
                len.fetch_add(1, Ordering::Relaxed);
            });
        } else {
            m.deque.push(task);
        }
        self.tell_sleepers(m);
    }

    /// Wakes a member, if any sleeps, for tasks that were just queued at `m`.
    #[inline]
    fn tell_sleepers(&self, m: &Member) {
        // The task must be visible before sleepers are counted. A sleeper counts itself before its last look
        // for tasks.
        fence(Ordering::SeqCst);
        if self.tasks.sleepers.load(Ordering::Relaxed) != 0 {
            self.nudge_one(m);
        }
    }

    /// Wakes one sleeping member other than `from`.
    #[cold]
    fn nudge_one(&self, from: &Member) {
        for m in &self.members {
            if !core::ptr::eq::<Member>(&**m, from) && self.nudge(m) {
                return;
            }
        }
    }

    /// Wakes every member that sleeps.
    #[cold]
    pub(crate) fn nudge_all(&self) {
        for m in &self.members {
            self.nudge(m);
        }
    }

    /// Wakes member `m` if it sleeps.
    pub(crate) fn nudge(&self, m: &Member) -> bool {
        self.nudge_sleeper(&m.sleep)
    }

    /// [`nudge`](Self::nudge) for the member whose `sleep` this is.
    pub(crate) fn nudge_sleeper(&self, sleep: &Sleep) -> bool {
        // Members sleep on flags of the team or of their slot; both live as long as the member.
        sleep.nudge(&self.tasks.sleepers)
    }

    /// A task that the thread may begin; `None` if there is none.
    pub(crate) fn take_task(&self, th: &Thread, scope: Scope<'_>) -> Option<*const Task> {
        if offer::wanted() {
            return self.take_offering(th, scope);
        }
        self.take::<Greedy>(th, scope)
    }

    /// [`take_task`](Self::take_task) while a tool judges by the order of tasks.
    #[cold]
    #[inline(never)]
    fn take_offering(&self, th: &Thread, scope: Scope<'_>) -> Option<*const Task> {
        self.take::<Offering>(th, scope)
    }

    #[inline(always)]
    fn take<M: Manner>(&self, th: &Thread, scope: Scope<'_>) -> Option<*const Task> {
        let m = th.member();
        M::before_own(th, self);
        match scope {
            Scope::Any => {
                if let Some(t) = self.tasks.take_prioritised(&|_| true) {
                    return Some(t);
                }
                if let Some(t) = m.deque.pop(&|_| true) {
                    return Some(t);
                }
                self.steal::<M>(th, None)
            }
            Scope::DescendantsOf(waiter) => {
                let allowed = |t: &Task| t.descends_from(waiter);
                if let Some(t) = self.tasks.take_prioritised(&allowed) {
                    return Some(t);
                }
                if let Some(t) = m.deque.pop(&allowed) {
                    return Some(t);
                }
                self.steal::<M>(th, Some(&allowed))
            }
        }
    }

    fn steal<M: Manner>(
        &self,
        th: &Thread,
        allowed: Option<&dyn Fn(&Task) -> bool>,
    ) -> Option<*const Task> {
        let (mine, n) = (th.seat(), self.seats());
        let mut spoils = Vec::new();
        // Neighbours first: threads of one node have neighbouring seats.
        for k in 1..n {
            let v = self.member(mine.after(k, n));
            M::before_theft(th, self, &v.deque);
            if let Some(t) = v.deque.steal(allowed, M::MOST_SPOILS, &mut spoils) {
                if !spoils.is_empty() {
                    for s in spoils {
                        th.member().deque.push(s);
                    }
                    // While these tasks were between the two deques nobody saw them, and a member may have
                    // gone to sleep.
                    self.tell_sleepers(th.member());
                }
                return Some(t);
            }
        }
        None
    }
}
