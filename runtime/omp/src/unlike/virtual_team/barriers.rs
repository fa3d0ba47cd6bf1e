//! What is known of barriers among the virtual threads of this process ([`hetmp_sched::segments`]).

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hetmp_sched::segments::BarrierCost;

/// A region that takes less than this many nanoseconds is observed as an ordinary team before its trial goes on. Where a longer
/// one loses by its barriers, the trial costs that region a few executions; but to observe it would cost such programs as
/// run each region a few times a third of their gain.
const SHORT_NS: u64 = 1_200_000;
/// Regions that were not tried are expected to be like the last one that was, if that takes less than this.
const VERY_SHORT_NS: u64 = 700_000;

// Relaxed: estimates, which carry no other data.
/// Nanoseconds that a barrier costs; 0: none was measured.
static COST_NS: AtomicU64 = AtomicU64::new(0);
static DOUBTFUL: AtomicBool = AtomicBool::new(false);

/// What a barrier costs, as far as trials of any region have shown.
pub(super) fn cost() -> BarrierCost {
    match COST_NS.load(Ordering::Relaxed) {
        0 => BarrierCost::default(),
        ns => BarrierCost { ns: ns as f64 },
    }
}

/// A barrier has cost so many nanoseconds.
pub(super) fn learn(ns: f64) {
    let learned = cost().learn(ns).ns;
    COST_NS.store(learned.max(1.0) as u64, Ordering::Relaxed);
}

/// May the barriers of a region that takes so many nanoseconds cost more than it gains?
pub(super) fn is_short(ns: u64) -> bool {
    ns < SHORT_NS
}

/// A region with barriers takes at least `ns` nanoseconds as a virtual team.
pub(super) fn note(ns: u64) {
    DOUBTFUL.store(ns < VERY_SHORT_NS, Ordering::Relaxed);
}

/// The same of a region that was not tried.
pub(super) fn are_doubtful() -> bool {
    DOUBTFUL.load(Ordering::Relaxed)
}
