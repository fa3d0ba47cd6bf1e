//! Where tasks wait to be run: a deque for each member of a team, and state that the team has once.
//!
//! The code here does not depend on what a task is: `T` stands for it.

use super::helpers::Helpers;
use super::sleep::Sleepers;
use super::sums::Outside;
use core::cell::UnsafeCell;
use hetmp_core::bell::LocalBell;
use hetmp_core::lock::Brief;
use hetmp_core::sync::{AtomicU32, Ordering};
use std::collections::{BTreeMap, VecDeque};

/// Tasks that one member made (or stole, or released). The owner takes the newest task, thieves take the
/// oldest.
///
/// This is a lock around a deque rather than a lock-free deque, for two reasons. The scheduling constraint
/// may take tasks from the middle. And nearly always the owner takes the lock, so that the cost is the same:
/// one atomic exchange. A deque that looks empty is not locked at all.
///
/// # Invariant
/// `tasks` is only touched with `lock` held. `len` is its length, written under the lock.
#[derive(Debug)]
pub(crate) struct Deque<T> {
    lock: Brief,
    len: AtomicU32,
    tasks: UnsafeCell<VecDeque<*const T>>,
}

impl<T> Deque<T> {
    pub(crate) fn new() -> Deque<T> {
        Deque {
            lock: Brief::new(),
            len: AtomicU32::new(0),
            tasks: UnsafeCell::new(VecDeque::new()),
        }
    }

    /// The length, possibly outdated.
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.len.load(Ordering::Relaxed)
    }

    fn with<R>(&self, f: impl FnOnce(&mut VecDeque<*const T>) -> R) -> R {
        self.lock.lock();
        // SAFETY: the lock is held.
        let tasks = unsafe { &mut *self.tasks.get() };
        let r = f(tasks);
        self.len.store(tasks.len() as u32, Ordering::Relaxed);
        self.lock.unlock();
        r
    }

    #[inline]
    pub(crate) fn push(&self, task: *const T) {
        self.with(|q| q.push_back(task));
    }

    /// Takes the newest task that `allowed` accepts.
    #[inline]
    pub(super) fn pop(&self, allowed: &dyn Fn(&T) -> bool) -> Option<*const T> {
        if self.len() == 0 {
            return None;
        }
        self.with(|q| {
            // SAFETY: queued tasks are live.
            let i = q.iter().rposition(|&t| allowed(unsafe { &*t }))?;
            if i + 1 == q.len() {
                q.pop_back()
            } else {
                q.remove(i)
            }
        })
    }

    /// Is there a task that `allowed` accepts?
    pub(super) fn has(&self, allowed: &dyn Fn(&T) -> bool) -> bool {
        // SAFETY: queued tasks are live.
        self.len() != 0 && self.with(|q| q.iter().any(|&t| allowed(unsafe { &*t })))
    }

    /// Takes the oldest task that `allowed` accepts. Without `allowed`, up to half of the others, at most
    /// `most`, go to `spoils`, oldest first.
    pub(super) fn steal(
        &self,
        allowed: Option<&dyn Fn(&T) -> bool>,
        most: usize,
        spoils: &mut Vec<*const T>,
    ) -> Option<*const T> {
        if self.len() == 0 {
            return None;
        }
        self.with(|q| match allowed {
            None => {
                let first = q.pop_front()?;
                // Half of the rest, so that two threads meet at a deque O(log n) times.
                let more = (q.len() / 2).min(most);
                spoils.extend(q.drain(..more));
                Some(first)
            }
            Some(allowed) => {
                // SAFETY: queued tasks are live.
                let i = q.iter().position(|&t| allowed(unsafe { &*t }))?;
                q.remove(i)
            }
        })
    }
}

/// The team-wide part of tasking.
#[derive(Debug)]
pub(crate) struct Tasks<T> {
    /// Who runs tasks from outside the region, and whether there are any to run.
    pub(crate) helpers: Helpers,
    /// Rings at the first task of a region. Threads that wait in a barrier of several processes sleep on this bell.
    pub(crate) begun: LocalBell,
    /// Members that sleep and want to be nudged.
    pub(crate) sleepers: Sleepers,
    /// What threads outside the team have finished.
    pub(crate) outside: Outside,
    prioritised_len: AtomicU32,
    prioritised_lock: Brief,
    /// Tasks with a priority, by falling priority, oldest first.
    prioritised: UnsafeCell<BTreeMap<core::cmp::Reverse<i32>, VecDeque<*const T>>>,
}

impl<T> Tasks<T> {
    pub(crate) fn new() -> Tasks<T> {
        Tasks {
            helpers: Helpers::new(),
            begun: LocalBell::local(),
            sleepers: Sleepers::new(),
            outside: Outside::new(),
            prioritised_len: AtomicU32::new(0),
            prioritised_lock: Brief::new(),
            prioritised: UnsafeCell::new(BTreeMap::new()),
        }
    }

    /// Was a task deferred in this region?
    #[inline(always)]
    pub(crate) fn active(&self) -> bool {
        self.helpers.active()
    }

    #[inline]
    pub(crate) fn activate(&self) {
        if !self.active() {
            self.helpers.activate();
            self.begun.ring();
        }
    }

    /// The number of the current region, as wide as a flag's epoch. Joins are counted by it and not by
    /// barriers, because the members of a cancelled region pass different numbers of barriers.
    #[inline]
    pub(crate) fn region_number(&self) -> u32 {
        self.helpers.region()
    }

    /// Numbers the next region. Before its workers start.
    #[inline]
    pub(crate) fn begin_region(&self) {
        self.helpers.begin_region(crate::EPOCH_MASK);
    }

    /// Sends away dock helpers of the last region, and lets none of them come back. Before the team's shape
    /// changes.
    pub(crate) fn quiesce(&self) {
        self.helpers.quiesce(crate::EPOCH_MASK);
    }

    /// Sends dock helpers away after the last task, so that the team may change.
    pub(crate) fn end_region(&self) {
        self.helpers.end_region();
    }

    /// Is a task with a priority queued?
    pub(super) fn has_prioritised(&self) -> bool {
        self.prioritised_len.load(Ordering::Relaxed) != 0
    }

    /// Is a task with a priority queued that `allowed` accepts?
    pub(super) fn has_prioritised_for(&self, allowed: &dyn Fn(&T) -> bool) -> bool {
        let all = || {
            self.with_prioritised(|map, _| {
                // SAFETY: queued tasks are live.
                map.values().flatten().any(|&t| allowed(unsafe { &*t }))
            })
        };
        self.has_prioritised() && all()
    }

    pub(super) fn with_prioritised<R>(
        &self,
        f: impl FnOnce(&mut BTreeMap<core::cmp::Reverse<i32>, VecDeque<*const T>>, &AtomicU32) -> R,
    ) -> R {
        self.prioritised_lock.lock();
        // SAFETY: the lock is held.
        let r = f(
            unsafe { &mut *self.prioritised.get() },
            &self.prioritised_len,
        );
        self.prioritised_lock.unlock();
        r
    }

    pub(super) fn take_prioritised(&self, allowed: &dyn Fn(&T) -> bool) -> Option<*const T> {
        if !self.has_prioritised() {
            return None;
        }
        self.with_prioritised(|map, len| {
            let mut found = None;
            for (&priority, q) in map.iter_mut() {
                // SAFETY: queued tasks are live.
                if let Some(i) = q.iter().position(|&t| allowed(unsafe { &*t })) {
                    found = q.remove(i).map(|t| (t, q.is_empty().then_some(priority)));
                    break;
                }
            }
            let (task, emptied) = found?;
            if let Some(priority) = emptied {
                map.remove(&priority);
            }
            len.fetch_sub(1, Ordering::Relaxed);
            Some(task)
        })
    }
}
