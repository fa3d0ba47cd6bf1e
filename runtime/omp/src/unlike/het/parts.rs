//! What an execution of a loop consists of: its schedule, and each thread's watch.

use super::schedule::{Measure, Method, Schedule};
use super::source;
use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_core::park::Flag;
use hetmp_core::sync::CacheLine;
use hetmp_core::sys::monotonic_ns;
use hetmp_sched::cache::{Key, Known};
use hetmp_sched::placement::Placement;
use hetmp_sched::probe::Measurement;
use hetmp_sched::ranges::Range;
use hetmp_sched::record::LoopRecord;
use std::sync::Arc;

/// One thread's watch. Only that thread touches it, hence relaxed atomics and a line of its own.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// When the thread came, in ns; 0: not yet.
    pub(super) started: AtomicU64,
    /// When it left, in ns; 0: not yet.
    pub(super) ended: AtomicU64,
    /// When it got the chunk that is measured.
    probe_started: AtomicU64,
    /// Iterations of that chunk; 0: none.
    probing: AtomicU64,
    /// Counters were read when it got it; 0: they were not.
    counted: AtomicU64,
    /// How long it has slept, in ns.
    pub(super) waited: AtomicU64,
    /// The counters when it got its probe chunk.
    counters: source::Started,
}

impl Slot {
    pub(super) fn clear(&self) {
        for a in [
            &self.started,
            &self.ended,
            &self.probe_started,
            &self.probing,
            &self.waited,
        ] {
            a.store(0, Ordering::Relaxed);
        }
    }

    /// The measurement of the chunk that the thread has just run, if it is one that is measured.
    pub(super) fn measured(&self, node: usize) -> Option<Measurement> {
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
        Some(self.counters.measured(node, iterations, elapsed_ns))
    }

    /// Begins a chunk of which `measure` is measured.
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

    /// Is the chunk in hand one that is measured?
    pub(super) fn is_measured(&self) -> bool {
        self.probing.load(Ordering::Relaxed) != 0
    }
}

/// What an execution consists of; recycled by [`super::known`], so that a loop that is executed again
/// finds its memory.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) schedule: Schedule,
    pub(super) slots: Box<[CacheLine<Slot>]>,
    /// Threads that the schedule tells to wait sleep here.
    pub(super) bell: CacheLine<Flag>,
}

impl Parts {
    /// As [`Schedule::new`].
    pub(super) fn new(
        key: Key,
        method: (&Method, bool),
        n: u64,
        team: &Arc<Placement>,
        known: Option<Arc<Known>>,
    ) -> Box<Parts> {
        Box::new(Parts {
            schedule: Schedule::new(key, method, n, team, known),
            slots: (0..team.threads()).map(|_| CacheLine::default()).collect(),
            bell: CacheLine(Flag::new()),
        })
    }

    /// As [`Schedule::restart`].
    pub(super) fn restart(&mut self, key: Key, n: u64, known: Option<Arc<Known>>) {
        for slot in &*self.slots {
            slot.clear();
        }
        self.schedule.restart(key, n, known);
    }

    /// When the first thread came, in ns; 0: nobody did.
    pub(super) fn first_ns(&self) -> u64 {
        let started = self.slots.iter().map(|s| s.started.load(Ordering::Relaxed));
        started.filter(|&ns| ns > 0).min().unwrap_or(0)
    }

    /// The record of an execution that every thread has left.
    pub(super) fn record(&self) -> LoopRecord {
        let mut record = self.schedule.record();
        let ended = self.slots.iter().map(|s| s.ended.load(Ordering::Relaxed));
        record.span_ns = ended.max().unwrap_or(0).saturating_sub(self.first_ns());
        record
    }
}
