//! Does a settled region still take as long as usual?

use crate::limits::{MEMORY, STRAYS, UNUSUAL};

/// Mean and variance of the logarithm of an execution's time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Band {
    mean: f64,
    variance: f64,
    /// Executions in a row on the same side of the band: longer ones count as positive.
    strays: i32,
}

impl Default for Band {
    fn default() -> Band {
        Band::NONE
    }
}

impl Band {
    pub(crate) const NONE: Band = Band {
        mean: f64::NAN,
        variance: 0.0,
        strays: 0,
    };

    /// The region has settled, and its executions usually take `ns`; 0: not known. How much they differ is known from
    /// before.
    pub(crate) fn settle(&mut self, ns: f64) {
        self.mean = if ns > 0.0 { ns.max(1.0).ln() } else { f64::NAN };
        self.strays = 0;
    }

    pub(crate) fn usual_ns(&self) -> Option<f64> {
        (!self.mean.is_nan()).then(|| self.mean.exp())
    }

    fn half_width(&self) -> f64 {
        UNUSUAL.ln().max(2.0 * self.variance.sqrt())
    }

    /// Nanoseconds above which an execution is a stray.
    pub(crate) fn upper_ns(&self) -> f64 {
        (self.mean + self.half_width()).exp()
    }

    /// Was the last execution a stray?
    pub(crate) fn strays(&self) -> bool {
        self.strays != 0
    }

    /// An execution took `ns`. Has the region changed?
    pub(crate) fn leaves(&mut self, ns: f64) -> bool {
        if self.mean.is_nan() {
            self.settle(ns);
        }
        let off = ns.max(1.0).ln() - self.mean;
        let side = off.signum() as i32;
        self.strays = if off.abs() <= self.half_width() {
            0
        } else if self.strays.signum() == side {
            self.strays + side
        } else {
            side
        };
        self.mean += off * (1.0 - MEMORY);
        self.variance = MEMORY * (self.variance + (1.0 - MEMORY) * off * off);
        self.strays.unsigned_abs() >= STRAYS
    }
}
