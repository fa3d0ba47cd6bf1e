//! How many times as long one way takes as another: a mean of log ratios, and its error.
//!
//! The two executions of a pair are neighbours, so that what changes slowly (a region's size, a clock's rate, another
//! process) is the same for both. A ratio counts by the shorter time of its pair. So the long executions of a region
//! decide, where the time is; and one that was disturbed unnoticed does not count for more than another. Nothing is
//! known of the spread before there are many pairs, hence the error that a single one has.

use crate::limits::{DISTURBED, ONE_PAIR, SYSTEMATIC};

/// An estimate of the natural logarithm of a ratio, with its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) mean: f64,
    pub(crate) error: f64,
    /// How many pairs of equal weight would say as much.
    pairs: f64,
}

impl Estimate {
    /// Is the ratio another one than 1, beyond two errors?
    pub(crate) fn is_clear(&self) -> bool {
        self.least() > 0.0
    }

    /// How far the ratio is from 1 at least, beyond two errors.
    pub(crate) fn least(&self) -> f64 {
        (self.mean.abs() - 2.0 * self.error).max(0.0)
    }

    /// The estimate of a ratio that has a known factor besides, whose logarithm is `by`.
    pub(crate) fn shifted(self, by: f64) -> Estimate {
        Estimate {
            mean: self.mean + by,
            ..self
        }
    }

    /// What was measured from outside (`self`) and what was concluded from inside say together. They may contradict
    /// each other: a pair may have had two sizes, then a few pairs may be wrong by as much; and conclusions miss
    /// things, then they are wrong by what the error of the pairs does not explain.
    pub(crate) fn and(self, concluded: Estimate) -> Estimate {
        let apart = (self.mean - concluded.mean).abs();
        let error = self.error.max(apart / self.pairs);
        let unexplained = (apart * apart - error * error).max(0.0).sqrt();
        let a = error.powi(-2);
        let b = concluded.error.max(unexplained).powi(-2);
        Estimate {
            mean: (self.mean * a + concluded.mean * b) / (a + b),
            // Both have the virtual team's time in common, so that together they are not surer than the better one.
            error: a.max(b).powf(-0.5),
            pairs: self.pairs,
        }
    }
}

/// Sums over pairs: weights, their squares, and weighted log ratios with their squares.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ratio {
    weights: f64,
    squares: f64,
    logs: f64,
    log_squares: f64,
}

impl Ratio {
    pub(crate) const NONE: Ratio = Ratio {
        weights: 0.0,
        squares: 0.0,
        logs: 0.0,
        log_squares: 0.0,
    };

    /// Adds a pair, which counts for `part` of one: the ratio is `other_ns` to `ns`.
    pub(crate) fn add(&mut self, ns: f64, other_ns: f64, part: f64) {
        let (ns, other_ns) = (ns.max(1.0), other_ns.max(1.0));
        // An execution that lost its core unnoticed may take any time. Of a pair that is known to be disturbed two
        // errors are more than this, so that a single one never decides.
        let most = 2.0 * ONE_PAIR / DISTURBED - ONE_PAIR;
        let log = (other_ns / ns).ln().clamp(-most, most);
        let weight = ns.min(other_ns);
        self.weights += weight * part;
        self.squares += weight * weight * part;
        self.logs += weight * log * part;
        self.log_squares += weight * log * log * part;
    }

    /// Adds the pairs of another region.
    pub(crate) fn join(&mut self, other: &Ratio) {
        self.weights += other.weights;
        self.squares += other.squares;
        self.logs += other.logs;
        self.log_squares += other.log_squares;
    }

    /// From now on what was added counts for this part.
    pub(crate) fn fade(&mut self, part: f64) {
        self.weights *= part;
        self.squares *= part;
        self.logs *= part;
        self.log_squares *= part;
    }

    /// `None`: no pair was added.
    pub(crate) fn estimate(&self) -> Option<Estimate> {
        if self.weights <= 0.0 {
            return None;
        }
        let pairs = self.weights * self.weights / self.squares;
        let mean = self.logs / self.weights;
        let variance = (self.log_squares / self.weights - mean * mean).max(0.0);
        Some(Estimate {
            mean,
            error: (ONE_PAIR / pairs).hypot((variance / pairs).sqrt()),
            pairs,
        })
    }

    /// The estimate of pairs in which the other time was not measured but concluded from the paces of the same
    /// execution's threads. This cancels its size, but misses what the other way costs or saves besides. Where threads
    /// are `suspended` at barriers that may be anything: of NPB SP, class S, 1.4 was concluded where 0.25 was measured.
    pub(crate) fn concluded(&self, suspended: bool) -> Option<Estimate> {
        let systematic = if suspended { f64::INFINITY } else { SYSTEMATIC };
        self.estimate().map(|e| Estimate {
            error: e.error.hypot(systematic),
            ..e
        })
    }
}
