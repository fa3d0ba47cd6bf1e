//! A change of how a region is divided among nodes is on trial, as any other way is.
//!
//! What each node's part took says what another division would save, but not what it costs: pages at its borders move,
//! and if the program's other regions have other borders, they do so in each execution. So the executions after a
//! change are compared with those before it, and a change that loses is taken back. The next one may come after a
//! number of executions that doubles with each that was taken back.
//!
//! Pure.

use crate::gain::Ratio;
use crate::limits::{FIRST_PERIOD, MEMORY};

/// The changes of one region's division, which is a `T`.
#[derive(Clone, Debug)]
pub(super) struct Change<T> {
    /// The division before the change that is on trial.
    old: Option<T>,
    /// The times before it to those after it.
    ratio: Ratio,
    /// What an execution takes with the division that is not on trial; 0: not known.
    usual_ns: f64,
    /// The last execution.
    last_ns: f64,
    /// Executions since the division last changed.
    runs: u32,
    /// Executions before the next change.
    period: u32,
}

impl<T> Default for Change<T> {
    fn default() -> Change<T> {
        Change {
            old: None,
            ratio: Ratio::NONE,
            usual_ns: 0.0,
            last_ns: 0.0,
            runs: 0,
            period: 0,
        }
    }
}

impl<T> Change<T> {
    pub(super) fn may_begin(&self) -> bool {
        self.old.is_none() && self.runs >= self.period
    }

    /// The division is another one from now on; `old`: the one that it replaces.
    pub(super) fn begin(&mut self, old: T) {
        if self.usual_ns > 0.0 {
            self.old = Some(old);
            // The work itself may have changed of late, which is why there is a change.
            self.usual_ns = self.usual_ns.max(self.last_ns);
        }
        self.ratio = Ratio::NONE;
        self.runs = 0;
    }

    /// An execution took `ns`. Returns the division to go back to, if the change has lost.
    pub(super) fn ran(&mut self, ns: f64) -> Option<T> {
        self.runs = self.runs.saturating_add(1);
        self.last_ns = ns;
        if self.runs == 1 {
            // It moved pages.
            return None;
        }
        if self.old.is_none() {
            self.usual_ns += weight(self.runs - 1) * (ns - self.usual_ns);
            return None;
        }
        self.ratio.add(ns, self.usual_ns, 1.0);
        let estimate = self.ratio.estimate()?;
        if !estimate.is_clear() && self.runs <= FIRST_PERIOD / 2 {
            return None;
        }
        self.runs = 0;
        let old = self.old.take();
        if estimate.mean >= 0.0 {
            return None;
        }
        self.period = self.period.saturating_mul(2).max(FIRST_PERIOD);
        old
    }
}

/// The weight of the last of this many executions in the average of recent ones.
pub(super) fn weight(runs: u32) -> f64 {
    (1.0 / f64::from(runs)).max(1.0 - MEMORY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Executions until the change is decided, and whether it is taken back.
    fn trial(before: &[f64], after: f64) -> (u32, bool) {
        let mut change = Change::default();
        before
            .iter()
            .for_each(|&ns| assert_eq!(change.ran(ns), None));
        assert!(change.may_begin());
        change.begin(7);
        for run in 1..100 {
            let back = change.ran(if run == 1 { 50.0 * after } else { after });
            if back.is_some() || change.old.is_none() {
                assert!(matches!(back, None | Some(7)));
                return (run, back.is_some());
            }
        }
        unreachable!("a trial without an end")
    }

    #[test]
    fn a_change_that_loses_is_taken_back() {
        assert_eq!(trial(&[9e6, 2e6, 2e6], 6e6), (2, true));
        assert_eq!(trial(&[9e6, 2e6, 2e6], 1e6), (2, false));
        let (runs, back) = trial(&[9e6, 2e6, 2e6], 2.4e6);
        assert!(back && runs <= FIRST_PERIOD / 2 + 1, "{runs}");
        // Nothing is known of the time before.
        assert_eq!(trial(&[9e6], 6e6), (1, false));
    }

    #[test]
    fn changes_that_lose_come_ever_more_rarely() {
        let (mut change, mut changes) = (Change::default(), 0);
        for run in 0..10_000 {
            if run > 2 && change.may_begin() {
                change.begin(());
                changes += 1;
            }
            let ns = if change.old.is_some() { 6e6 } else { 2e6 };
            change.ran(ns);
        }
        assert!((5..10).contains(&changes), "{changes}");
    }
}
