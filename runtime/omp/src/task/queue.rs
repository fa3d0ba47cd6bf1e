//! Putting tasks where they wait ([`super::deque`]), and taking them from there.
//!
//! A queued task is live, and so are the records of its ancestors.

use super::deque::Deque;
use super::lookout;
use super::offer::{self, Offering};
use super::record::Task;
use super::sleep::{Sleep, Wants};
use crate::team::members::{Member, Team};
use crate::thread::Thread;
use hetmp_core::park::{Flag, Policy, Poll};
use hetmp_core::sync::{fence, Ordering};
use hetmp_core::sys;

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

fn is(a: &Member, b: &Member) -> bool {
    core::ptr::eq(a, b)
}

impl Team {
    /// Queues a ready task in the deque of member `m` (or among the prioritised tasks), and wakes a member to
    /// run it. The caller runs the task's parent, or has not yet counted a sibling of the task as complete.
    #[inline]
    pub(crate) fn enqueue(&self, m: &Member, task: &Task) {
        let parent = task.parent.get();
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
        // Another thread may have run the task by now, and the record may be gone.
        //
        // SAFETY: the parent's record lives until all children are complete, and the caller keeps one from that.
        self.tell_sleepers(m, |waiter| unsafe { &*parent }.is_or_descends_from(waiter));
    }

    /// Wakes a member, if any sleeps, for tasks that were just queued at `m`. A member that waits inside of a task is
    /// woken if that task `suits`.
    #[inline]
    fn tell_sleepers(&self, m: &Member, suits: impl Fn(*const ()) -> bool) {
        // The task must be visible before sleepers are counted. A sleeper counts itself before its last look
        // for tasks.
        fence(Ordering::SeqCst);
        if self.tasks.sleepers.any() {
            self.wake_one(m, &suits);
        }
    }

    /// Wakes one sleeping member other than `from`. Follows a fence after the tasks were queued.
    #[cold]
    fn wake_one(&self, from: &Member, suits: &dyn Fn(*const ()) -> bool) {
        let others = self.in_use().iter().filter(|m| !is(m, from));
        // Where each thread has a core, waking several threads at once lets them begin the sooner.
        let crowd = Policy::oversubscribed()
            .then(|| (self.tasks.region_number(), lookout::time(sys::ticks())));
        self.tasks
            .sleepers
            .wake_one(others.map(|m| &m.sleep), crowd, suits);
    }

    /// Is a task queued that descends from the one at this address?
    fn has_descendant_of(&self, waiter: *const ()) -> bool {
        let allowed = |t: &Task| {
            // SAFETY: a record lives until the records of its children are released, and a queued task is live.
            unsafe { t.parent.get().as_ref() }.is_some_and(|p| p.is_or_descends_from(waiter))
        };
        self.tasks.has_prioritised_for(&allowed)
            || self.in_use().iter().any(|m| m.deque.has(&allowed))
    }

    /// Member `m` has looked for tasks of this region and found none. Where threads outnumber cores one such thread is
    /// enough: the lookout.
    #[inline]
    pub(super) fn look_out(&self, m: &Member) -> Poll {
        if !Policy::oversubscribed() {
            return Poll::Idle;
        }
        let (region, now) = (self.tasks.region_number(), lookout::time(sys::ticks()));
        if m.sleep.look_out(&self.tasks.sleepers, region, now) {
            Poll::Idle
        } else {
            Poll::Needless
        }
    }

    /// Member `m` is about to sleep on `flag`.
    pub(super) fn announce(&self, m: &Member, flag: &Flag, wants: Wants) {
        if m.sleep.announce(&self.tasks.sleepers, flag, wants) {
            self.pass_on(m);
        }
    }

    /// Member `m` is awake, and has something to do: takes down its announcement. If others relied on it and there are
    /// more tasks, another thread is woken.
    #[cold]
    pub(super) fn attend(&self, m: &Member) {
        if m.sleep.withdraw(&self.tasks.sleepers) {
            self.pass_on(m);
        }
    }

    /// Wakes another thread than `m` if there are tasks. Follows a fence after `m` has stopped to look for any.
    #[cold]
    fn pass_on(&self, m: &Member) {
        if self.tasks.sleepers.any()
            && (self.tasks.has_prioritised() || self.in_use().iter().any(|m| m.deque.len() != 0))
        {
            self.wake_one(m, &|waiter| self.has_descendant_of(waiter));
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
        let taken = if offer::wanted() {
            self.take_offering(th, scope)
        } else {
            self.take::<Greedy>(th, scope)
        };
        if taken.is_some() && th.member().sleep.is_marked() {
            // Before the task runs: it may be a long one.
            self.attend(th.member());
        }
        taken
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
                    self.tell_sleepers(th.member(), |waiter| self.has_descendant_of(waiter));
                }
                return Some(t);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More threads than any machine has cores.
    struct Crowd;

    impl Crowd {
        const THREADS: isize = 1 << 20;
        fn new() -> Crowd {
            Policy::add_threads(Self::THREADS);
            Crowd
        }
    }

    impl Drop for Crowd {
        fn drop(&mut self) {
            Policy::add_threads(-Self::THREADS);
        }
    }

    /// A team of four, of which all but the first sleep.
    fn sleeping(flag: &Flag) -> Team {
        let team = Team::new(4);
        team.resize(4);
        for m in &team.members[1..] {
            team.announce(m, flag, Wants::Any);
        }
        team
    }

    fn asleep(team: &Team) -> usize {
        team.members.iter().filter(|m| m.sleep.wants_any()).count()
    }

    #[test]
    fn where_threads_outnumber_cores_the_tasks_of_a_maker_wake_one_thread_at_a_time() {
        let flag = Flag::new();
        let team = sleeping(&flag);
        Policy::join(1);
        let _crowd = Crowd::new();
        let begin = sys::ticks();
        team.tell_sleepers(&team.members[0], |_| false);
        assert_eq!(asleep(&team), 2);
        team.tell_sleepers(&team.members[0], |_| false);
        // A thread that is woken may be kept from looking for so long that the maker wakes another one.
        if lookout::time(sys::ticks()).wrapping_sub(lookout::time(begin)) < 100 {
            assert_eq!(asleep(&team), 2, "the first is on its way");
        }
        // The woken thread has taken a task, and there is none left.
        let before = asleep(&team);
        team.attend(&team.members[1]);
        assert_eq!(asleep(&team), before);
        team.tell_sleepers(&team.members[0], |_| false);
        assert_eq!(asleep(&team), before - 1, "nobody is on the way");
    }

    #[test]
    fn a_woken_thread_that_takes_a_task_wakes_the_next_if_there_are_more() {
        let flag = Flag::new();
        let team = sleeping(&flag);
        Policy::join(1);
        let _crowd = Crowd::new();
        team.tell_sleepers(&team.members[0], |_| false);
        assert_eq!(asleep(&team), 2);
        // Never looked at.
        team.members[0].deque.push(core::ptr::dangling());
        team.attend(&team.members[1]);
        assert_eq!(asleep(&team), 1);
    }

    #[test]
    fn a_member_without_a_seat_is_nobodys_lookout() {
        let flag = Flag::new();
        let team = sleeping(&flag);
        team.resize(1);
        Policy::join(1);
        let _crowd = Crowd::new();
        // Those announced their sleep in a region with more threads, and take no part in this one.
        team.tell_sleepers(&team.members[0], |_| true);
        assert_eq!(asleep(&team), 3);
        let (region, now) = (team.tasks.region_number(), lookout::time(sys::ticks()));
        assert!(!team.tasks.sleepers.lookout.is_there(region, now));
    }

    #[test]
    fn a_member_that_may_not_begin_a_task_is_not_woken_for_it() {
        let flag = Flag::new();
        let team = Team::new(4);
        team.resize(4);
        // Members 1 and 2 wait inside of their implicit tasks, member 3 in a barrier.
        let task = |m: &Member| core::ptr::from_ref(&m.implicit).cast();
        for m in &team.members[1..3] {
            team.announce(m, &flag, Wants::DescendantsOf(task(m)));
        }
        team.announce(&team.members[3], &flag, Wants::Any);
        let child = Task::implicit();
        child.parent.set(&raw const team.members[2].implicit);
        let wake = || team.tell_sleepers(&team.members[0], |w| child.is_or_descends_from(w));
        let marked = || -> Vec<bool> {
            team.members[1..]
                .iter()
                .map(|m| m.sleep.is_asleep())
                .collect()
        };
        wake();
        assert_eq!(
            marked(),
            [true, true, false],
            "who may begin any task is first"
        );
        // It is in its implicit task again, and has nothing to do with the next task.
        team.attend(&team.members[3]);
        wake();
        assert_eq!(marked(), [true, false, false]);
        wake();
        assert_eq!(
            marked(),
            [true, false, false],
            "nobody is left who may begin it"
        );
    }

    #[test]
    fn who_slept_when_the_team_was_left_is_not_counted_off_later() {
        let flag = Flag::new();
        let team = sleeping(&flag);
        team.dismiss();
        assert!(!team.tasks.sleepers.any());
        // As the next region's start.
        team.attend(&team.members[1]);
        team.announce(&team.members[1], &flag, Wants::Any);
        assert!(team.tasks.sleepers.any());
    }

    #[test]
    fn a_wake_up_that_is_of_no_use_is_passed_on() {
        let flag = Flag::new();
        let team = Team::new(3);
        team.resize(3);
        let m = &team.members[1];
        let inside = Wants::DescendantsOf(core::ptr::from_ref(&m.implicit).cast());
        team.announce(m, &flag, inside);
        team.tell_sleepers(&team.members[0], |_| true);
        assert!(!m.sleep.is_asleep(), "nobody else sleeps");
        team.announce(&team.members[2], &flag, Wants::Any);
        // Never looked at.
        team.members[0].deque.push(core::ptr::dangling());
        // It has found nothing that it may begin.
        team.announce(m, &flag, inside);
        assert!(!team.members[2].sleep.is_asleep());
    }
}
