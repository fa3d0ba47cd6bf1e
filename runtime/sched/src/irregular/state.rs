//! The state of one execution, by lock: a node's share, a thread's hands, and the center.

use super::jumps::Jumps;
use super::map::CostMap;
use crate::decide::Decision;
use crate::primitive::{AtomicBool, AtomicU64, Mutex, MutexGuard};
use crate::probe::{Measurement, NodeTotal};
use crate::ranges::Range;
use crate::record::Learning;
use crate::watch::NodeWatch;
use crossbeam_utils::CachePadded;
use std::collections::VecDeque;
use std::sync::Arc;

/// The last chunks of a share may shrink to this part of the least size.
const LAST: u64 = 4;

/// Why a period begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Jump,
    Change,
}

/// A node's share.
#[derive(Debug, Default)]
pub(super) struct Share {
    pub(super) ranges: Jumps,
    /// The period of this share; measurements of other periods say nothing about it.
    pub(super) period: u64,
    /// The costs by which the loop was divided, where iterations differ.
    pub(super) map: Option<Arc<CostMap>>,
    pub(super) parts: u64,
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) watch: NodeWatch,
    /// Windows in a row that showed a change. `patience` says how many are needed.
    pub(super) strikes: u32,
    pub(super) patience: u32,
}

impl Share {
    /// Takes a chunk. Returns its first range; ranges after jumps go to `rest`.
    #[inline]
    pub(super) fn take(&mut self, rest: &mut VecDeque<Range>) -> Option<Range> {
        let left = self.ranges.len();
        if left == 0 {
            return None;
        }
        // The last chunks may be smaller than is efficient, so that the node's threads end together.
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
    pub(super) share: CachePadded<Mutex<Share>>,
    /// A thread of this node is or was in the loop.
    pub(super) arrived: AtomicBool,
    /// The last window's factor, as the bits of an `f64`; NaN where there is none.
    pub(super) factor: CachePadded<AtomicU64>,
}

/// The state of one thread. Only that thread touches it.
#[derive(Debug, Default)]
pub(super) struct Hands {
    /// Pieces of the allotment that the thread has not been given yet.
    pub(super) rest: VecDeque<Range>,
    /// Always empty between calls; keeps its memory.
    pub(super) more: VecDeque<Range>,
    /// Sum of the measurements of this allotment's pieces.
    pub(super) sum: Measurement,
    /// The measurements of a probe by piece: the piece's first iteration, and the measurement.
    pub(super) samples: Vec<(u64, Measurement)>,
    /// First iteration of the current piece (`piece`), and of the allotment (`start`).
    pub(super) piece: u64,
    pub(super) start: u64,
    /// The allotment is a probe.
    pub(super) probing: bool,
    /// The period of the allotment.
    pub(super) period: u64,
    /// The last period in which the thread probed.
    pub(super) probed: u64,
}

/// State that only rare calls touch.
#[derive(Debug, Default)]
pub(super) struct Center {
    /// Iterations that are to be divided.
    pub(super) queue: Jumps,
    pub(super) loose: Vec<Range>,
    /// While probing: all iterations that were not handed out, cut into the parts that are probed one by one;
    /// and the first iteration of each part.
    pub(super) strata: Vec<Jumps>,
    pub(super) starts: Vec<u64>,
    /// The probes' measurements, by node and part.
    pub(super) samples: Vec<Vec<NodeTotal>>,
    /// The map of costs that the first probing of this execution found.
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
    /// One node runs the loop.
    pub(super) alone: Option<usize>,
    pub(super) decision: Option<Arc<Decision>>,
    pub(super) learning: Learning,
    /// Periods in a row that changed nothing.
    pub(super) wasted: u32,
}

/// No code that can panic runs under the crate's locks, so they are never poisoned.
pub(super) fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().expect("no panic under this lock")
}
