//! The parts of an execution of a loop: its schedule, and a watch for each thread.

use super::schedule::{Chosen, Measure, Schedule};
use super::source;
use core::sync::atomic::{AtomicU64, Ordering};
use crossbeam_utils::CachePadded;
use hetmp_core::sys::monotonic_ns;
use hetmp_sched::blocks::Blocks;
use hetmp_sched::cache::{Key, Known};
use hetmp_sched::placement::Placement;
use hetmp_sched::probe::Measurement;
use hetmp_sched::ranges::Range;
use hetmp_sched::record::LoopRecord;
use std::sync::Arc;

/// One thread's watch. Only that thread touches it: hence relaxed atomics and a cache line of its own.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// When the thread arrived, in nanoseconds; 0: not yet.
    pub(super) started: AtomicU64,
    /// When the thread left, in nanoseconds; 0: not yet.
    pub(super) ended: AtomicU64,
    /// When the thread got its measured chunk, in nanoseconds.
    probe_started: AtomicU64,
    /// Iterations of the measured chunk; 0: the thread has none.
    probing: AtomicU64,
    /// 1 if counters were read when the chunk began, else 0.
    counted: AtomicU64,
    /// The counters when the chunk began.
    counters: source::Started,
}

impl Slot {
    pub(super) fn clear(&self) {
        for a in [
            &self.started,
            &self.ended,
            &self.probe_started,
            &self.probing,
        ] {
            a.store(0, Ordering::Relaxed);
        }
    }

    /// The measurement of the chunk that the thread has just run, if that was a measured one.
    pub(super) fn measured(&self) -> Option<Measurement> {
        let iterations = self.probing.load(Ordering::Relaxed);
        if iterations == 0 {
            return None;
        }
        self.probing.store(0, Ordering::Relaxed);
        let elapsed_ns = monotonic_ns() - self.probe_started.load(Ordering::Relaxed);
        if self.counted.load(Ordering::Relaxed) == 0 {
            return Some(Measurement {
                elapsed_ns,
                iterations,
                ..Measurement::default()
            });
        }
        Some(self.counters.measured(iterations, elapsed_ns))
    }

    /// Begins a chunk; `measure` says what is measured of it.
    pub(super) fn begin(&self, range: Range, measure: Measure) {
        if measure == Measure::Nothing {
            return;
        }
        let counted = measure == Measure::Counters;
        self.probing.store(range.len(), Ordering::Relaxed);
        self.counted.store(u64::from(counted), Ordering::Relaxed);
        if counted {
            self.counters.now();
        }
        self.probe_started.store(monotonic_ns(), Ordering::Relaxed);
    }

    /// Is the thread's current chunk a measured one?
    pub(super) fn is_measured(&self) -> bool {
        self.probing.load(Ordering::Relaxed) != 0
    }
}

/// The parts of an execution. [`super::known`] reuses them, so that a loop that runs again finds its memory.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) schedule: Schedule,
    /// What the schedule takes for iterations.
    pub(super) blocks: Blocks,
    pub(super) slots: Box<[CachePadded<Slot>]>,
}

impl Parts {
    /// The parts for a new execution; see [`Schedule::new`].
    pub(super) fn new(
        key: Key,
        chosen: &Chosen,
        blocks: Blocks,
        team: &Arc<Placement>,
        known: Option<Arc<Known>>,
    ) -> Box<Parts> {
        Box::new(Parts {
            schedule: Schedule::new(key, chosen, blocks.count(), team, known),
            blocks,
            slots: (0..team.threads())
                .map(|_| CachePadded::default())
                .collect(),
        })
    }

    /// Prepares the parts for another execution; see [`Schedule::restart`].
    pub(super) fn restart(&mut self, key: Key, blocks: Blocks, known: Option<Arc<Known>>) {
        for slot in &*self.slots {
            slot.clear();
        }
        self.blocks = blocks;
        self.schedule.restart(key, blocks.count(), known);
    }

    /// When the first thread arrived, in nanoseconds; 0: none did.
    pub(super) fn first_ns(&self) -> u64 {
        let started = self.slots.iter().map(|s| s.started.load(Ordering::Relaxed));
        started.filter(|&ns| ns > 0).min().unwrap_or(0)
    }

    /// The record of the execution, after every thread has left.
    pub(super) fn record(&self) -> LoopRecord {
        let mut record = self.schedule.record();
        let ended = self.slots.iter().map(|s| s.ended.load(Ordering::Relaxed));
        record.span_ns = ended.max().unwrap_or(0).saturating_sub(self.first_ns());
        record
    }
}
