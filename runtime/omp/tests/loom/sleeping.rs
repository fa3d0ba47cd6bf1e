//! Threads that sleep next to tasks, or wait for their children, and who wakes them.

use crate::barrier::{wait_on, Barrier, Pastime};
use crate::counts::{Counts, Live};
use crate::pastimes::{self, AtBarrier, Drain, Worker};
use crate::sleep::{Sleep, Sleepers, Wants};
use crate::{bounded, Data};
use hetmp_core::park::{Flag, Poll};
use hetmp_core::sync::{fence, AtomicBool, AtomicU32, Ordering};
use loom::sync::Arc;
use loom::thread;

/// A queue of tasks that are all alike, the announcements of two threads, and the flags on which they sleep. Threads
/// outnumber cores, so that there is a lookout. The time stands still: a lookout is trusted as long as there is one.
struct Work {
    queued: AtomicU32,
    finished: AtomicU32,
    sleepers: Sleepers,
    sleep: [Sleep; 2],
    idle: [Flag; 2],
}

const REGION: u32 = 1;
const NOW: u32 = 0;

impl Work {
    fn new() -> Work {
        Work {
            queued: AtomicU32::new(0),
            finished: AtomicU32::new(0),
            sleepers: Sleepers::new(),
            sleep: core::array::from_fn(|_| Sleep::new()),
            idle: core::array::from_fn(|_| Flag::new()),
        }
    }

    /// As `wait::drained`.
    fn drained(&self) {
        pastimes::drained(&self.sleepers, || {
            for s in &self.sleep {
                s.nudge(&self.sleepers);
            }
        });
    }

    /// As `Team::enqueue`, by the thread `from`.
    fn enqueue(&self, from: usize) {
        self.queued.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.sleepers.any() {
            self.wake_one(from);
        }
    }

    /// As `Team::wake_one`. Nobody may begin a task of these who waits inside of another one.
    fn wake_one(&self, from: usize) {
        let others = (0..2)
            .filter(|&tid| tid != from)
            .map(|tid| &self.sleep[tid]);
        self.sleepers
            .wake_one(others, Some((REGION, NOW)), &|_| false);
    }

    /// As `Team::attend`.
    fn attend(&self, tid: usize) {
        if self.sleep[tid].withdraw(&self.sleepers)
            && self.sleepers.any()
            && self.queued.load(Ordering::Relaxed) != 0
        {
            self.wake_one(tid);
        }
    }

    /// As `run_one`: does not take the lock of a deque that looks empty.
    fn run_one(&self, tid: usize, body: &impl Fn()) -> bool {
        if self.queued.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let took = self
            .queued
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |n| n.checked_sub(1));
        if took.is_err() {
            return false;
        }
        if self.sleep[tid].is_marked() {
            self.attend(tid);
        }
        body();
        self.finished.fetch_add(1, Ordering::Release);
        true
    }

    fn asleep(&self, tid: usize, flag: &Flag, yes: bool) {
        if yes {
            assert!(!self.sleep[tid].announce(&self.sleepers, flag, Wants::Any));
        } else {
            self.attend(tid);
        }
    }

    /// As `wait::leave`.
    fn leave(&self, tid: usize) {
        if self.sleep[tid].is_marked() {
            self.attend(tid);
        }
    }

    /// As `wait::drain` and `wait::drained`: waits until all of `tasks` are complete.
    fn drain(&self, tid: usize, tasks: u32, body: &impl Fn()) {
        let worker = At(self, tid, tasks, body);
        wait_on(&self.idle[tid], 1, &mut Drain { worker, phase: 0 });
        self.leave(tid);
        self.drained();
    }
}

/// A thread of the team, how many tasks there will be, and what a task does.
struct At<'a, B: Fn()>(&'a Work, usize, u32, &'a B);

impl<B: Fn()> Worker for At<'_, B> {
    fn active(&self) -> bool {
        true
    }
    fn run_one(&self) -> bool {
        self.0.run_one(self.1, self.3)
    }
    fn quiescent(&self, _: usize) -> bool {
        self.0.finished.load(Ordering::Acquire) == self.2
    }
    fn look_out(&self) -> Poll {
        self.0.sleep[self.1].look_out(&self.0.sleepers, REGION, NOW);
        Poll::Idle
    }
    fn announce(&self, flag: &Flag, yes: bool) {
        self.0.asleep(self.1, flag, yes);
    }
    fn drained(&self) {
        self.0.drained();
    }
}

#[test]
fn a_task_queued_beside_a_sleeper_is_run_by_it() {
    bounded(3, || {
        let work = Arc::new(Work::new());
        let sleeper = {
            let work = Arc::clone(&work);
            thread::spawn(move || work.drain(0, 1, &|| ()))
        };
        work.enqueue(2);
        sleeper.join().unwrap();
        assert!(!work.sleepers.any());
        assert!(!work.sleepers.lookout.is_there(REGION, NOW));
    });
}

#[test]
fn nobody_sleeps_on_in_a_barrier_after_the_last_task() {
    // A third thread makes a task. One of the two threads in the barrier runs the task, and both must leave
    // the barrier.
    bounded(2, || {
        let work = Arc::new(Work::new());
        let others: Vec<_> = (0..2)
            .map(|tid| {
                let work = Arc::clone(&work);
                thread::spawn(move || work.drain(tid, 1, &|| ()))
            })
            .collect();
        work.enqueue(2);
        for o in others {
            o.join().unwrap();
        }
    });
}

#[test]
fn all_leave_a_barrier_of_nodes_when_its_tasks_are_complete() {
    // `across::Local::meet`: the thread that came last waits for all tasks, and then tells the other one, which may
    // have run the last task.
    bounded(2, || {
        let shared = Arc::new((Work::new(), AtomicU32::new(0), Data::new(0)));
        shared.0.enqueue(1);
        let other = {
            let s = Arc::clone(&shared);
            thread::spawn(move || {
                let mut with = AtBarrier {
                    worker: At(&s.0, 0, 1, &|| s.2.set(1)),
                    over: || s.1.load(Ordering::Acquire) != 0,
                    worked: false,
                };
                wait_on(&s.0.idle[0], 1, &mut with);
                assert_eq!(s.2.get(), 1);
            })
        };
        let (work, passed, data) = &*shared;
        let worker = At(work, 1, 1, &|| data.set(1));
        wait_on(&work.idle[1], 1, &mut Drain { worker, phase: 0 });
        work.leave(1);
        assert_eq!(data.get(), 1);
        passed.fetch_add(1, Ordering::SeqCst);
        work.drained();
        other.join().unwrap();
    });
}

#[test]
fn a_task_queued_beside_a_lookout_is_run_by_it() {
    // The second task wakes nobody where the thread woken for the first is still on its way.
    bounded(3, || {
        let work = Arc::new(Work::new());
        let sleeper = {
            let work = Arc::clone(&work);
            thread::spawn(move || work.drain(0, 2, &|| ()))
        };
        work.enqueue(2);
        work.enqueue(2);
        sleeper.join().unwrap();
        assert!(!work.sleepers.any());
        assert!(!work.sleepers.lookout.is_there(REGION, NOW));
    });
}

#[test]
fn a_lookout_with_a_long_task_wakes_the_next_thread() {
    // Each of two tasks ends when the other has begun. So two threads must be awake, although the second task may have
    // been queued while there was a lookout.
    bounded(2, || {
        let work = Arc::new((Work::new(), [Flag::new(), Flag::new()]));
        let sleepers: Vec<_> = (0..2)
            .map(|tid| {
                let work = Arc::clone(&work);
                thread::spawn(move || {
                    let (work, begun) = &*work;
                    work.drain(tid, 2, &|| {
                        begun[tid].signal(1);
                        begun[1 - tid].wait(1);
                    });
                })
            })
            .collect();
        work.0.enqueue(2);
        work.0.enqueue(2);
        for s in sleepers {
            s.join().unwrap();
        }
    });
}

/// Waits in a barrier as `TaskPastime` does, next to work that only this thread can do.
struct OwnWork<'a> {
    sleepers: &'a Sleepers,
    sleep: &'a Sleep,
    begun: &'a AtomicBool,
    ready: &'a AtomicBool,
}

impl Pastime for OwnWork<'_> {
    fn poll(&mut self) -> Poll {
        if self.ready.load(Ordering::Acquire) {
            Poll::Leave
        } else {
            Poll::Idle
        }
    }
    fn asleep(&mut self, flag: &Flag, yes: bool) {
        if yes {
            assert!(!self.sleep.announce(self.sleepers, flag, Wants::Any));
        } else {
            let _ = self.sleep.withdraw(self.sleepers);
        }
    }
    fn may_work(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }
}

#[test]
fn a_nudge_reaches_its_thread_beside_others_in_a_barrier() {
    // The others, for whom there is nothing, wake up, too, or come to sleep just then. The first thread may be between
    // its last look and its sleep.
    bounded(2, || {
        let s = Arc::new((
            Barrier::new(),
            Sleepers::new(),
            [Sleep::new(), Sleep::new()],
            [Flag::new(), Flag::new()],
            AtomicBool::new(false),
            [AtomicBool::new(false), AtomicBool::new(false)],
        ));
        let sleepers: Vec<_> = (0..2)
            .map(|tid| {
                let s = Arc::clone(&s);
                thread::spawn(move || {
                    let mut with = OwnWork {
                        sleepers: &s.1,
                        sleep: &s.2[tid],
                        begun: &s.4,
                        ready: &s.5[tid],
                    };
                    s.0.central(1, 3, &s.3[tid], &mut with);
                })
            })
            .collect();
        // Once both have looked in vain: they yield then, too.
        thread::yield_now();
        s.4.store(true, Ordering::SeqCst);
        for (tid, sleeper) in sleepers.into_iter().enumerate() {
            s.5[tid].store(true, Ordering::Release);
            s.2[tid].nudge(&s.1);
            sleeper.join().unwrap();
        }
    });
}

/// Waits as `wait::inside` does.
struct Inside<'a, D: Fn() -> bool, M: Fn(bool)> {
    sleepers: &'a Sleepers,
    sleep: &'a Sleep,
    done: D,
    mark: M,
}

impl<D: Fn() -> bool, M: Fn(bool)> Pastime for Inside<'_, D, M> {
    fn poll(&mut self) -> Poll {
        if (self.done)() {
            Poll::Leave
        } else {
            Poll::Idle
        }
    }
    fn asleep(&mut self, flag: &Flag, yes: bool) {
        if yes {
            let task = core::ptr::null();
            let inside = Wants::DescendantsOf(task);
            assert!(!self.sleep.announce(self.sleepers, flag, inside));
        } else {
            assert!(!self.sleep.withdraw(self.sleepers));
        }
        (self.mark)(yes);
    }
}

#[test]
fn a_taskwait_ends_with_the_last_child() {
    bounded(3, || {
        let s = Arc::new((
            Counts::new(),
            Sleepers::new(),
            Sleep::new(),
            Flag::new(),
            [Data::new(0), Data::new(0)],
        ));
        let children: Vec<_> = (0..2)
            .map(|i| {
                let s = Arc::clone(&s);
                thread::spawn(move || {
                    s.4[i].set(1);
                    if s.0.child_released(true).waiting {
                        s.2.nudge(&s.1);
                    }
                })
            })
            .collect();
        let done = || s.0.joined() == 2;
        if !done() {
            wait_on(
                &s.3,
                1,
                &mut Inside {
                    sleepers: &s.1,
                    sleep: &s.2,
                    done,
                    mark: |yes| s.0.set_waiting(yes),
                },
            );
        }
        assert_eq!(s.4[0].get() + s.4[1].get(), 2);
        for c in children {
            c.join().unwrap();
        }
    });
}

#[test]
fn a_taskgroup_ends_with_its_last_task() {
    bounded(3, || {
        let s = Arc::new((
            Live::new(),
            Sleepers::new(),
            Sleep::new(),
            Flag::new(),
            [Data::new(0), Data::new(0)],
        ));
        s.0.enter();
        s.0.enter();
        let tasks: Vec<_> = (0..2)
            .map(|i| {
                let s = Arc::clone(&s);
                thread::spawn(move || {
                    s.4[i].set(1);
                    if s.0.leave() {
                        s.2.nudge(&s.1);
                    }
                })
            })
            .collect();
        if !s.0.is_empty() {
            wait_on(
                &s.3,
                1,
                &mut Inside {
                    sleepers: &s.1,
                    sleep: &s.2,
                    done: || s.0.is_empty(),
                    mark: |yes| s.0.set_waiting(yes),
                },
            );
        }
        assert_eq!(s.4[0].get() + s.4[1].get(), 2);
        for t in tasks {
            t.join().unwrap();
        }
    });
}
