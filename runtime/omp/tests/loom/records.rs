//! Records of tasks: when they are freed, how tasks are counted at a barrier, and who runs one that waits for others.

use crate::counts::Counts;
use crate::helpers::Helpers;
use crate::successors::{one_less, Edge, Successors};
use crate::sums::{agree, Outside, Sums};
use crate::{bounded, Data};
use hetmp_core::sync::{AtomicBool, AtomicU32, Ordering};
use loom::sync::Arc;
use loom::thread;

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

/// The mask of a flag's epoch.
const MASK: u32 = u32::MAX >> 1;

#[test]
fn a_team_is_freed_only_when_nobody_fulfills_an_event_of_its_tasks() {
    // `end::fulfill` against a thread that waits for the event and ends: `Team::drop`. The team is plain data.
    bounded(3, || {
        let s = Arc::new((Helpers::new(), AtomicBool::new(false), Data::new(1)));
        let helper = {
            let s = Arc::clone(&s);
            thread::spawn(move || {
                s.0.enter();
                s.1.store(true, Ordering::Release);
                // The nudge.
                assert_eq!(s.2.get(), 1, "the team is gone");
                s.0.leave();
            })
        };
        while !s.1.load(Ordering::Acquire) {
            thread::yield_now();
        }
        s.0.quiesce(MASK);
        s.2.set(0);
        helper.join().unwrap();
    });
}

/// A region's last task, which any of its threads or one from outside of it may run.
struct Region {
    helpers: Helpers,
    queued: AtomicU32,
    sums: [Sums; 2],
    outside: Outside,
    /// The member of the thread that made the task: plain data.
    maker: Data,
    result: Data,
}

impl Region {
    fn new(queued: u32) -> Region {
        Region {
            helpers: Helpers::new(),
            queued: AtomicU32::new(queued),
            sums: [Sums::new(), Sums::new()],
            outside: Outside::new(),
            maker: Data::new(1),
            result: Data::new(0),
        }
    }

    /// As `run::run_one`, and `end::complete`, which wakes the maker if it waits inside of the task's parent.
    fn run_one(&self, by: usize) {
        let took = self
            .queued
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |n| n.checked_sub(1));
        if took.is_ok() {
            self.result.set(1);
            assert_eq!(self.maker.get(), 1);
            self.sums[by].finish(0);
        }
    }
}

#[test]
fn the_sums_agree_only_when_nothing_is_in_flight() {
    // A thread's task makes another one, which it or a second thread runs. A third thread looks until the sums agree:
    // for a single look, loom with few preemptions tries no order in which they do.
    bounded(3, || {
        let region = Arc::new(Region::new(0));
        // The first task is made before the barrier.
        region.sums[0].create(0);
        let first = {
            let region = Arc::clone(&region);
            thread::spawn(move || {
                region.sums[0].create(0);
                region.queued.fetch_add(1, Ordering::Release);
                region.sums[0].finish(0);
                region.run_one(0);
            })
        };
        let second = {
            let region = Arc::clone(&region);
            thread::spawn(move || region.run_one(1))
        };
        while !agree(region.sums.iter(), &region.outside, 0) {
            thread::yield_now();
        }
        assert_eq!(region.result.get(), 1);
        first.join().unwrap();
        second.join().unwrap();
    });
}

#[test]
fn members_are_made_anew_only_when_nobody_touches_them() {
    // `DockPastime::help` against the end of the region and `Team::grow`.
    bounded(3, || {
        let region = Arc::new(Region::new(1));
        region.helpers.begin_region(MASK);
        region.sums[0].create(0);
        region.helpers.activate();
        let helper = {
            let region = Arc::clone(&region);
            thread::spawn(move || {
                region.helpers.enter();
                if region.helpers.is_open(1) {
                    region.run_one(1);
                    // That may have been the last task: the maker is woken.
                    assert_eq!(region.maker.get(), 1);
                }
                region.helpers.leave();
            })
        };
        region.run_one(0);
        while !agree(region.sums.iter(), &region.outside, 0) {
            thread::yield_now();
        }
        assert_eq!(region.result.get(), 1);
        region.helpers.end_region();
        region.maker.set(2);
        helper.join().unwrap();
    });
}

/// `DockPastime::help` against what the primary thread does. The team's shape and its tasks are plain data, which tells
/// the region that it belongs to.
fn help(change: fn(&Helpers)) {
    bounded(3, move || {
        let helpers = Helpers::new();
        helpers.begin_region(MASK);
        helpers.activate();
        let s = Arc::new((helpers, Data::new(1)));
        let helper = {
            let s = Arc::clone(&s);
            thread::spawn(move || {
                s.0.enter();
                if s.0.is_open(1) {
                    assert_eq!(s.1.get(), 1);
                }
                s.0.leave();
            })
        };
        change(&s.0);
        s.1.set(2);
        s.0.activate();
        helper.join().unwrap();
    });
}

#[test]
fn the_team_changes_only_without_helpers() {
    help(|h| h.quiesce(MASK));
}

#[test]
fn no_helper_runs_a_task_of_the_next_region() {
    help(|h| {
        h.end_region();
        h.begin_region(MASK);
    });
}

/// A task with dependences, as `siblings::Node`.
struct Sibling {
    missing: AtomicU32,
    successors: Successors<Sibling>,
    edges: [core::cell::UnsafeCell<Edge<Sibling>>; 2],
    /// 1: made. 2: run.
    data: Data,
}
// SAFETY: an edge goes from the maker to the one who takes it out of a list; loom checks the data.
unsafe impl Sync for Sibling {}
// SAFETY: an edge leads to a task that lives as long.
unsafe impl Send for Sibling {}

impl Sibling {
    fn new() -> Sibling {
        Sibling {
            missing: AtomicU32::new(1),
            successors: Successors::new(),
            edges: [const { core::cell::UnsafeCell::new(Edge::NONE) }; 2],
            data: Data::new(0),
        }
    }
}

/// As `depend::release`: tasks 0 and 1 have no predecessors, and task 2 has both.
fn run(tasks: &[Sibling; 3], task: usize) {
    if task == 2 {
        assert_eq!([0, 1, 2].map(|i: usize| tasks[i].data.get()), [2, 2, 1]);
    }
    tasks[task].data.set(2);
    tasks[task].successors.close(|edge| {
        // SAFETY: the edge leads to task 2, which lives.
        if one_less(unsafe { &(*(*edge).to).missing }) {
            run(tasks, 2);
        }
    });
}

#[test]
fn a_task_with_two_predecessors_runs_once_and_after_both() {
    bounded(2, || {
        let tasks = Arc::new([Sibling::new(), Sibling::new(), Sibling::new()]);
        let others = [0, 1].map(|task| {
            let tasks = Arc::clone(&tasks);
            thread::spawn(move || run(&tasks, task))
        });
        let last = &tasks[2];
        last.data.set(1);
        for (before, edge) in tasks.iter().zip(&last.edges) {
            // SAFETY: nobody else has the edge yet, and it lives as long as the list.
            unsafe {
                (*edge.get()).to = last;
                before.successors.add(edge.get(), &last.missing);
            }
        }
        if one_less(&last.missing) {
            run(&tasks, 2);
        }
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(last.data.get(), 2);
    });
}
