//! A trial of two ways: a few times of each, and the verdict.

use super::Way;

/// A difference below this factor counts as none, and the ordinary team is kept.
const MARGIN: f64 = 1.02;
/// One sample of each way is enough where the times differ by this factor and the estimate says the same.
const CLEAR: f64 = 1.25;
/// Two samples of each way are enough where all virtual teams took this many times as long as any ordinary team, if the region is known to
/// have one size. The estimate knows nothing of what virtual threads cost at barriers.
const FAR: f64 = 1.6;
/// Samples of each way that a trial wants before it believes a difference...
pub(super) const SAMPLES: usize = 3;
/// ...and before it believes that there is none.
pub(super) const MOST_SAMPLES: usize = 6;
/// If the samples of one way differ by this factor, the executions had different sizes.
const UNLIKE: f64 = 1.6;

/// Times of a few executions, in order of size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Samples {
    sorted: [f64; MOST_SAMPLES],
    pub(super) len: usize,
}

impl Samples {
    pub(super) const fn new() -> Self {
        Samples {
            sorted: [0.0; MOST_SAMPLES],
            len: 0,
        }
    }

    pub(super) fn add(&mut self, ns: f64) {
        if self.len == MOST_SAMPLES {
            // Drop the longest sample, which says least: every disturbance makes a time longer.
            self.len -= 1;
        }
        let at = self.sorted[..self.len].partition_point(|&s| s < ns);
        self.sorted.copy_within(at..self.len, at + 1);
        self.sorted[at] = ns;
        self.len += 1;
    }

    pub(super) fn least(&self) -> f64 {
        self.sorted[0]
    }

    /// The median; with an even number of samples the lower of the middle two.
    pub(super) fn middle(&self) -> f64 {
        self.sorted[(self.len.max(1) - 1) / 2]
    }

    /// The second longest sample, which a single disturbance does not touch.
    pub(super) fn upper(&self) -> f64 {
        self.sorted[self.len.max(2) - 2]
    }

    /// Whether all samples are of about one size. Two outliers are allowed: they may have been disturbed.
    pub(super) fn are_alike(&self) -> bool {
        self.sorted[self.len.max(3) - 3] <= self.least() * UNLIKE
    }
}

/// What the estimate of the virtual teams says about equal shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// Equal shares would have taken less time.
    None,
    /// Equal shares would have taken as long, or a little longer.
    Some,
    /// Equal shares would have taken clearly longer.
    Evident,
}

/// The better way, given the samples `v` of virtual teams and `o` of ordinary teams; `None` while more
/// samples are wanted. `one_size`: the executions before the trial had one size.
pub(super) fn better(v: &Samples, o: &Samples, promise: Promise, one_size: bool) -> Option<Way> {
    let clear = |better: &Samples, worse: &Samples| worse.least() > better.least() * CLEAR;
    let apart = |better: &Samples, worse: &Samples| {
        better.upper() < worse.least() && better.middle() * MARGIN < worse.middle()
    };
    let far = || v.len.min(o.len) >= 2 && v.least() > o.upper() * FAR;
    let evident = promise == Promise::Evident;
    let promised = promise != Promise::None;
    let way = if evident && clear(v, o) {
        Way::Virtual
    } else if !promised && clear(o, v) || one_size && far() {
        Way::Ordinary
    } else if v.len.min(o.len) < SAMPLES {
        return None;
    } else if promised && apart(v, o) {
        Way::Virtual
    } else if !evident && apart(o, v) {
        Way::Ordinary
    } else if v.len.min(o.len) < MOST_SAMPLES {
        return None;
    } else if v.are_alike() && o.are_alike() {
        // All executions had one size: measured times outweigh the estimate.
        if v.middle() * MARGIN < o.middle() {
            Way::Virtual
        } else {
            Way::Ordinary
        }
    } else if evident {
        Way::Virtual
    } else {
        Way::Ordinary
    };
    Some(way)
}
