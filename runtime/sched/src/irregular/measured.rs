//! How measurements change a loop: a chunk's goes to its node's watch, a probe's is collected until all are
//! in.

use super::state::{lock, Cause, Hands, Share};
use super::{map, Irregular, Step, Trigger, NO_TRIGGER};
use crate::decide::decide;
use crate::primitive::Ordering;
use crate::probe::Measurement;
use crate::record::Learning;
use crate::watch;
use std::sync::Arc;

impl Irregular {
    /// Adds the measurement of a chunk of the running period to its node's watch. Returns the reason for a
    /// new period, if there is one now.
    #[inline]
    pub(super) fn count(
        &self,
        node: usize,
        share: &mut Share,
        m: &Measurement,
        start: u64,
    ) -> Option<Cause> {
        let expected = share
            .map
            .as_ref()
            .map(|map| map.ns_per_iteration(node, start));
        let window = share.watch.add(m, expected, &self.settings.sensitivity);
        if let Trigger::Jump(_) = self.settings.trigger {
            let jump_at = self.jump_at.load(Ordering::Relaxed);
            if jump_at != NO_TRIGGER {
                let before = self.completed.fetch_add(m.iterations, Ordering::Relaxed);
                if before.saturating_add(m.iterations) >= jump_at {
                    return Some(Cause::Jump);
                }
            }
        }
        self.judge(node, share, window?)
    }

    /// Judges a full window of a node, which was slower than expected by this factor.
    #[cold]
    fn judge(&self, node: usize, share: &mut Share, factor: f64) -> Option<Cause> {
        self.nodes[node]
            .factor
            .store(factor.to_bits(), Ordering::Relaxed);
        let factors = self
            .nodes
            .iter()
            .map(|n| f64::from_bits(n.factor.load(Ordering::Relaxed)))
            .filter(|f| !f.is_nan());
        let changed = self.settings.trigger == Trigger::Change
            && watch::spread(factors) > self.settings.sensitivity.spread;
        share.strikes = if changed { share.strikes + 1 } else { 0 };
        (share.strikes >= share.patience).then_some(Cause::Change)
    }

    /// Takes the measurement of a probe. The last one that was missing leads to the decision.
    #[cold]
    pub(super) fn report(&self, tid: usize, hands: &mut Hands, m: &Measurement) -> Step {
        let mut guard = lock(&self.center);
        let c = &mut *guard;
        if c.probing && c.period == hands.period {
            let node = self.team.node_of(tid);
            c.outstanding -= 1;
            c.returned[node] += 1;
            c.totals[node].add(m);
            for (start, m) in hands.samples.drain(..) {
                c.samples[node][map::stratum(&c.starts, start)].add(&m);
            }
            let complete = c.outstanding == 0
                && (0..self.nodes.len()).all(|i| c.returned[i] > 0 || !self.expected(c, i));
            if complete {
                let inputs = self.inputs(c);
                c.learning = Learning::Probed;
                let map = self.costs(c).map(Arc::new);
                if c.decision.is_none() {
                    c.map.clone_from(&map);
                }
                for stratum in &mut c.strata {
                    c.queue.append(stratum);
                }
                let decision = decide(&inputs, self.settings.objective);
                self.carry_out(c, decision.into(), map);
            }
        }
        hands.samples.clear();
        self.take_cold(c, tid, hands)
    }
}
