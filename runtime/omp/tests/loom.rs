//! The protocols of barriers, sleeping and tasks, under all interleavings that loom finds with few
//! preemptions. `scripts/model` runs this test.
//!
//! Some files of the engine hold a protocol and depend on nothing but `hetmp-core`. They are compiled into
//! this test as they are. The code around them (a task's body, a queue) is written anew here, as small as
//! possible, with its steps in the engine's order. Comments name the place in the engine.
#![cfg(loom)]
#![allow(dead_code, reason = "each model uses a part of the engine's files")]

#[path = "../src/team/barrier.rs"]
mod barrier;
#[path = "../src/task/counts.rs"]
mod counts;
#[path = "../src/team/levels.rs"]
mod levels;
#[path = "../src/task/lookout.rs"]
mod lookout;
#[path = "../src/team/routes.rs"]
mod routes;
#[path = "../src/team/seat.rs"]
mod seat;
#[path = "../src/task/sleep.rs"]
mod sleep;

use barrier::{wait_on, Barrier, Pastime, Signals};
use counts::{Counts, Live};
use hetmp_core::park::{Flag, Poll};
use hetmp_core::sync::{fence, AtomicBool, AtomicU32, Ordering};
use levels::{Distance, Levels};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use seat::Seat;
use sleep::{Sleep, Sleepers, Wants};

fn bounded(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(f);
}

/// Waits, and does nothing else.
struct Idle;

impl Pastime for Idle {
    fn poll(&mut self) -> Poll {
        Poll::Idle
    }
    fn asleep(&mut self, _: &Flag, _: bool) {}
}

/// Plain data. Loom checks that the accesses to it are ordered.
struct Data(UnsafeCell<u32>);
// SAFETY: loom's cell finds accesses that are not ordered, and this is what the test looks for.
unsafe impl Sync for Data {}
// SAFETY: loom's cell finds accesses that are not ordered, and this is what the test looks for.
unsafe impl Send for Data {}

impl Data {
    fn new(v: u32) -> Data {
        Data(UnsafeCell::new(v))
    }
    fn set(&self, v: u32) {
        // SAFETY: loom checks that no other thread accesses the cell.
        self.0.with_mut(|p| unsafe { *p = v });
    }
    fn get(&self) -> u32 {
        // SAFETY: loom checks that no thread writes the cell.
        self.0.with(|p| unsafe { *p })
    }
}

/// Runs `body(tid)` on `n` threads, of which the caller is one.
fn team(n: u32, body: impl Fn(u32) + Send + Sync + 'static) {
    let body = Arc::new(body);
    let others: Vec<_> = (1..n)
        .map(|tid| {
            let body = Arc::clone(&body);
            thread::spawn(move || body(tid))
        })
        .collect();
    body(0);
    for o in others {
        o.join().unwrap();
    }
}

// ---- barriers ----

fn barriers(n: u32, epochs: u32, preemptions: usize, central: bool) {
    bounded(preemptions, move || {
        let barrier = Barrier::new();
        let signals: Vec<Signals> = (0..n).map(|_| Signals::new(n)).collect();
        let data: Vec<Data> = (0..n).map(|_| Data::new(0)).collect();
        team(n, move |tid| {
            for e in 1..=epochs {
                // A full epoch would need two barriers: write, barrier, read, barrier. The data of the next
                // epoch is written only after the next barrier, so one barrier is enough in odd epochs.
                if e % 2 == 1 {
                    data[tid as usize].set(e);
                }
                if central {
                    barrier.central(e, n, &mut Idle);
                } else {
                    let own = |seat: Seat| &signals[seat.index()];
                    barrier.spread(e, Seat::new(tid), n, own, &mut Idle);
                }
                if e % 2 == 1 {
                    for d in &data {
                        assert_eq!(d.get(), e);
                    }
                }
            }
        });
    });
}

#[test]
fn spread_barrier_of_two() {
    barriers(2, 3, 3, false);
}

#[test]
fn spread_barrier_of_three() {
    barriers(3, 2, 1, false);
}

#[test]
fn central_barrier_of_two() {
    barriers(2, 3, 3, true);
}

#[test]
fn central_barrier_of_three() {
    barriers(3, 2, 1, true);
}

/// A barrier in levels for threads on these nodes, as far apart as makes it the faster one.
fn barriers_in_levels(nodes: &'static [u32], epochs: u32, preemptions: usize) {
    bounded(preemptions, move || {
        let distance = Distance {
            ratio: 8.0,
            emulated: None,
            verbose: false,
        };
        let levels = Levels::new(nodes, distance);
        assert!(levels.is_used());
        let data: Vec<Data> = nodes.iter().map(|_| Data::new(0)).collect();
        team(nodes.len() as u32, move |tid| {
            for e in 1..=epochs {
                // As in `barriers`.
                if e % 2 == 1 {
                    data[tid as usize].set(e);
                }
                levels.pass(e, Seat::new(tid), &mut Idle);
                if e % 2 == 1 {
                    for d in &data {
                        assert_eq!(d.get(), e);
                    }
                }
            }
        });
    });
}

/// Two threads meet, one of them crosses, and then tells the other.
#[test]
fn barrier_in_levels_of_three() {
    barriers_in_levels(&[0, 0, 1], 2, 1);
}

/// Two threads of each node meet, and both cross.
#[test]
fn barrier_in_levels_of_four() {
    barriers_in_levels(&[0, 0, 1, 1], 1, 0);
}

/// The start and the end of regions, as in `Pool::start`, `team::worker` and `region::join`. The slot is
/// written again for the next region as soon as the join is complete.
fn regions(n: u32, regions: u32, preemptions: usize, central: bool) {
    bounded(preemptions, move || {
        let barrier = Barrier::new();
        let signals: Vec<Signals> = (0..n).map(|_| Signals::new(n)).collect();
        let slots: Vec<(Flag, Data)> = (0..n).map(|_| (Flag::new(), Data::new(0))).collect();
        let results: Vec<Data> = (0..n).map(|_| Data::new(0)).collect();
        team(n, move |tid| {
            for r in 1..=regions {
                if tid == 0 {
                    if central {
                        barrier.expect(n - 1);
                    }
                    for (go, call) in &slots[1..] {
                        call.set(r);
                        go.signal(r);
                    }
                } else {
                    let (go, call) = &slots[tid as usize];
                    wait_on(go, r, &mut Idle);
                    results[tid as usize].set(call.get());
                }
                match (central, tid) {
                    (false, _) => {
                        let own = |seat: Seat| &signals[seat.index()];
                        barrier.join_spread(r, Seat::new(tid), n, own, &mut Idle);
                    }
                    (true, 0) => barrier.collect(r, n, &mut Idle),
                    (true, _) => barrier.report(r),
                }
                if tid == 0 {
                    for result in &results[1..] {
                        assert_eq!(result.get(), r);
                    }
                }
            }
        });
    });
}

#[test]
fn regions_of_two() {
    regions(2, 2, 3, false);
    regions(2, 2, 3, true);
}

#[test]
fn regions_of_three() {
    regions(3, 2, 1, false);
    regions(3, 2, 1, true);
}

// ---- sleeping and waking ----

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
            sleep: [Sleep::new(), Sleep::new()],
            idle: [Flag::new(), Flag::new()],
        }
    }

    /// As `Team::nudge_all`.
    fn nudge_all(&self) {
        for s in &self.sleep {
            s.nudge(&self.sleepers);
        }
    }

    /// As `wait::drained`.
    fn drained(&self) {
        fence(Ordering::SeqCst);
        if self.sleepers.any() {
            self.nudge_all();
        }
    }

    /// As `Team::enqueue`.
    fn enqueue(&self) {
        self.queued.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.sleepers.any() {
            self.wake_one(usize::MAX);
        }
    }

    /// As `Team::wake_one`, for the thread `from`.
    fn wake_one(&self, from: usize) {
        let all = &self.sleepers;
        if all.lookout.is_there(REGION, NOW) {
            return;
        }
        let others = (0..2)
            .filter(|&tid| tid != from)
            .map(|tid| &self.sleep[tid]);
        let mut candidates = others.filter(|s| s.wants_any()).peekable();
        if candidates.peek().is_some() {
            if !all.lookout.take(REGION, NOW) || candidates.any(|s| s.call(all)) {
                return;
            }
            all.lookout.leave();
            fence(Ordering::SeqCst);
            if all.any() {
                self.nudge_all();
            }
        }
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

    /// As `wait::drain` and `wait::drained`: waits until all of `tasks` are complete.
    fn drain(&self, tid: usize, tasks: u32, body: &impl Fn()) {
        struct Drain<'a, B: Fn()>(&'a Work, usize, u32, &'a B);
        impl<B: Fn()> Pastime for Drain<'_, B> {
            fn poll(&mut self) -> Poll {
                if self.0.run_one(self.1, self.3) {
                    Poll::Worked
                } else if self.0.finished.load(Ordering::Acquire) == self.2 {
                    Poll::Leave
                } else {
                    self.0.sleep[self.1].look_out(&self.0.sleepers, REGION, NOW);
                    Poll::Idle
                }
            }
            fn asleep(&mut self, flag: &Flag, yes: bool) {
                if yes {
                    self.0.sleep[self.1].announce(&self.0.sleepers, flag, Wants::Any);
                } else {
                    self.0.attend(self.1);
                }
            }
        }
        wait_on(&self.idle[tid], 1, &mut Drain(self, tid, tasks, body));
        if self.sleep[tid].is_marked() {
            self.attend(tid);
        }
        self.drained();
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
        work.enqueue();
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
        work.enqueue();
        for o in others {
            o.join().unwrap();
        }
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
        work.enqueue();
        work.enqueue();
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
        work.0.enqueue();
        work.0.enqueue();
        for s in sleepers {
            s.join().unwrap();
        }
    });
}

// ---- waiting for children ----

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
            self.sleep.announce(self.sleepers, flag, Wants::Descendants);
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

// ---- task records ----

/// A task record. It must be freed exactly once, and no thread may touch it after that.
struct Record {
    counts: Counts,
    alive: Data,
    parent: Option<usize>,
}

impl Record {
    fn new(parent: Option<usize>) -> Record {
        Record {
            counts: Counts::new(),
            alive: Data::new(1),
            parent,
        }
    }
    /// Any use of the record. Loom finds races with `free`; the assertion finds later uses.
    fn touch(&self) -> &Counts {
        assert_eq!(self.alive.get(), 1, "a freed record is used");
        &self.counts
    }
    fn free(&self) {
        assert_eq!(self.alive.get(), 1, "freed twice");
        self.alive.set(0);
    }
}

/// As `run::bury` and `run::release_chain`, step by step.
fn bury(records: &[Record], task: usize, spawned: u32) {
    let t = &records[task];
    let Some(parent) = t.parent else { return };
    if spawned != 0 {
        records[parent].touch().child_complete();
        if t.touch().complete(spawned) {
            release_chain(records, task);
        }
        return;
    }
    t.free();
    if records[parent].touch().child_released(true).dead {
        release_chain(records, parent);
    }
}

fn release_chain(records: &[Record], mut task: usize) {
    loop {
        records[task].free();
        let Some(parent) = records[task].parent else {
            return;
        };
        if !records[parent].touch().child_released(false).dead {
            return;
        }
        task = parent;
    }
}

#[test]
fn records_of_three_generations_are_freed_once_and_not_used_after() {
    // Record 0: an implicit task, which lives on. Record 1: its child, complete already, which has a child.
    // Record 2: that child, which ends while its own child, record 3, ends on another thread. The last thread
    // frees the chain up to record 1.
    bounded(3, || {
        let records = Arc::new([
            Record::new(None),
            Record::new(Some(0)),
            Record::new(Some(1)),
            Record::new(Some(2)),
        ]);
        bury(&*records, 1, 1);
        let child = {
            let records = Arc::clone(&records);
            thread::spawn(move || bury(&*records, 3, 0))
        };
        bury(&*records, 2, 1);
        child.join().unwrap();
        for r in &records[1..] {
            assert_eq!(r.alive.get(), 0, "a record was not freed");
        }
        assert_eq!(records[0].counts.joined(), 1);
        assert_eq!(records[0].counts.released(), 1);
    });
}

// ---- counting of tasks at a barrier ----

#[test]
fn the_sums_agree_only_when_nothing_is_in_flight() {
    // Two threads run tasks. A task of the first makes a task that the second runs. A third thread looks as
    // `wait::quiescent` does: first at the finished tasks, then at the created ones.
    bounded(3, || {
        struct Sums {
            created: [AtomicU32; 2],
            finished: [AtomicU32; 2],
            handed: AtomicBool,
            result: Data,
        }
        let s = Arc::new(Sums {
            // The first task is made before the barrier.
            created: [AtomicU32::new(1), AtomicU32::new(0)],
            finished: [AtomicU32::new(0), AtomicU32::new(0)],
            handed: AtomicBool::new(false),
            result: Data::new(0),
        });
        let first = {
            let s = Arc::clone(&s);
            thread::spawn(move || {
                s.created[0].store(2, Ordering::Release);
                s.handed.store(true, Ordering::Release);
                s.finished[0].store(1, Ordering::Release);
            })
        };
        let second = {
            let s = Arc::clone(&s);
            thread::spawn(move || {
                if s.handed.load(Ordering::Acquire) {
                    s.result.set(1);
                    s.finished[1].store(1, Ordering::Release);
                }
            })
        };
        let sum = |c: &[AtomicU32; 2]| c[0].load(Ordering::Acquire) + c[1].load(Ordering::Acquire);
        let finished = sum(&s.finished);
        let created = sum(&s.created);
        if finished == created {
            assert_eq!(s.result.get(), 1);
        }
        first.join().unwrap();
        second.join().unwrap();
    });
}

// ---- detached tasks ----

#[test]
fn a_detached_task_is_completed_by_exactly_one() {
    const BODY_ENDED: u32 = 1;
    const FULFILLED: u32 = 2;
    bounded(3, || {
        let s = Arc::new((AtomicU32::new(0), AtomicU32::new(0), Data::new(0)));
        let body = {
            let s = Arc::clone(&s);
            thread::spawn(move || {
                s.2.set(1);
                // As `run::execute`.
                if s.0.fetch_or(BODY_ENDED, Ordering::AcqRel) & FULFILLED != 0 {
                    s.2.set(2);
                    s.1.fetch_add(1, Ordering::AcqRel);
                }
            })
        };
        // As `run::fulfill`.
        if s.0.fetch_or(FULFILLED, Ordering::AcqRel) & BODY_ENDED != 0 {
            s.2.set(2);
            s.1.fetch_add(1, Ordering::AcqRel);
        }
        body.join().unwrap();
        assert_eq!(s.1.load(Ordering::Acquire), 1);
        assert_eq!(s.2.get(), 2);
    });
}

// ---- helpers in the dock ----

#[test]
fn the_team_changes_only_without_helpers() {
    // `DockPastime::help` against `Tasks::quiesce`. The team's shape is plain data. Loom treats sequentially
    // consistent accesses as acquiring and releasing ones only, so fences are added.
    bounded(3, || {
        let s = Arc::new((AtomicU32::new(0), AtomicU32::new(1), Data::new(4)));
        let helper = {
            let s = Arc::clone(&s);
            thread::spawn(move || {
                s.0.fetch_add(1, Ordering::SeqCst);
                fence(Ordering::SeqCst);
                if s.1.load(Ordering::SeqCst) == 1 {
                    assert_eq!(s.2.get(), 4);
                }
                s.0.fetch_sub(1, Ordering::SeqCst);
            })
        };
        s.1.swap(2, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        while s.0.load(Ordering::SeqCst) != 0 {
            thread::yield_now();
        }
        s.2.set(8);
        helper.join().unwrap();
    });
}
