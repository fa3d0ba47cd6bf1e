//! What one execution keeps, and who holds the lock of what: a node's share, what a thread holds, and the center.

use super::jumps::Jumps;
use super::map::CostMap;
use crate::decide::Decision;
use crate::primitive::{AtomicBool, AtomicU64, Mutex, MutexGuard, Padded};
use crate::probe::{Measurement, NodeTotal};
use crate::ranges::Range;
use crate::record::Learning;
use crate::watch::NodeWatch;
use std::collections::VecDeque;
use std::sync::Arc;

/// The last chunks are not smaller than this part of the others' least size.
const LAST: u64 = 4;

/// Why a period begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Jump,
    Change,
    TooManyFaults,
    FewFaults,
}

/// A node's share.
#[derive(Debug, Default)]
pub(super) struct Share {
    pub(super) ranges: Jumps,
    /// The period this share belongs to; measurements of others say nothing.
    pub(super) period: u64,
    /// What the division rests on, where iterations differ.
    pub(super) map: Option<Arc<CostMap>>,
    pub(super) parts: u64,
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) watch: NodeWatch,
    /// This node runs the loop alone because of its faults.
    pub(super) alone: bool,
    /// It had many faults while alone, for long: that they end means something.
    pub(super) armed: bool,
    /// Other nodes' threads may sleep until this share is empty.
    pub(super) watched: bool,
    pub(super) fault_threshold_us: f64,
    /// Windows in a row that showed a change, and how many are needed.
    pub(super) strikes: u32,
    /// Windows with many faults while alone.
    pub(super) bad: u32,
    pub(super) patience: u32,
    pub(super) fault_patience: u32,
}

impl Share {
    /// A chunk; `rest` gets what lies behind jumps.
    #[inline]
    pub(super) fn take(&mut self, rest: &mut VecDeque<Range>) -> Option<Range> {
        let left = self.ranges.len();
        if left == 0 {
            return None;
        }
        // The last chunks are smaller than is good for the others: the node's
        // threads shall end together.
        let least = (left / (self.parts / 2).max(1))
            .clamp(self.least / LAST, self.least)
            .max(1);
        let size = (left / self.parts).clamp(least, self.most);
        self.ranges.take(size, rest)
    }
}

/// One node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) share: Padded<Mutex<Share>>,
    /// A thread of it is or was in the loop.
    pub(super) arrived: AtomicBool,
    /// Bits of its last window's factor; a NaN where there is none.
    pub(super) factor: Padded<AtomicU64>,
}

/// What a thread holds. Touched by that thread only.
#[derive(Debug, Default)]
pub(super) struct Hands {
    /// The pieces of the allotment that it has not got yet.
    pub(super) rest: VecDeque<Range>,
    /// Empty; keeps its memory.
    pub(super) more: VecDeque<Range>,
    /// What it has measured of the allotment.
    pub(super) sum: Measurement,
    /// The measurements of a probe by piece: the piece's first iteration, and the measurement.
    pub(super) samples: Vec<(u64, Measurement)>,
    /// First iteration of the piece, and of the allotment.
    pub(super) piece: u64,
    pub(super) start: u64,
    /// The allotment is a probe.
    pub(super) probing: bool,
    /// Period of the allotment.
    pub(super) period: u64,
    /// The last period it probed in.
    pub(super) probed: u64,
    pub(super) waiting: bool,
    /// How often the driver lost patience with this thread's wait.
    pub(super) waits: u32,
    pub(super) impatient: bool,
}

/// What only the rare calls touch.
#[derive(Debug, Default)]
pub(super) struct Center {
    /// What is to be divided.
    pub(super) queue: Jumps,
    pub(super) loose: Vec<Range>,
    /// Probes that wait for their threads, by thread, where each has a place
    /// of its own.
    pub(super) own: Vec<Range>,
    /// While probing: all that was not handed out, in the parts that are probed
    /// one by one, and where these begin.
    pub(super) strata: Vec<Jumps>,
    pub(super) starts: Vec<u64>,
    /// What was measured there, by node.
    pub(super) samples: Vec<Vec<NodeTotal>>,
    /// What the first probing of this execution found.
    pub(super) map: Option<Arc<CostMap>>,
    pub(super) probing: bool,
    /// Counts probing periods and splits.
    pub(super) period: u64,
    pub(super) periods: u32,
    pub(super) totals: Vec<NodeTotal>,
    pub(super) returned: Vec<u32>,
    pub(super) outstanding: u32,
    pub(super) chunk: u64,
    pub(super) meanwhile: u64,
    pub(super) alone: Option<usize>,
    /// Because of remote faults.
    pub(super) confined: bool,
    /// This is an early execution, in which pages are on their way for the first
    /// time: what was probed holds for long before faults overrule it.
    pub(super) patient: bool,
    /// This period begins because one node alone has few faults now.
    pub(super) expanding: bool,
    pub(super) decision: Option<Arc<Decision>>,
    pub(super) learning: Learning,
    /// Periods in a row that changed nothing.
    pub(super) wasted: u32,
    /// How often faults sent the loop back to one node, in earlier executions
    /// too.
    pub(super) contracted: u32,
}

/// The crate is built with `panic = "abort"`, and no user code runs under the
/// locks, so that they cannot be poisoned.
pub(super) fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().expect("no panic under this lock")
}
