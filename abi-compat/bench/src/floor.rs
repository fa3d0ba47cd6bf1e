//! Lower bounds that the hardware sets: the time of a cache line from core to core, and
//! of a wake-up. Measured again during every run: the host of a virtual machine may give
//! it other cores meanwhile.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::process;
use super::programs::Programs;

/// The line that `floor.c` prints.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Floor {
    /// A cache line from one core to the other, one way, in ns; `None` on a
    /// machine with one core.
    pub(crate) hop_ns: Option<f64>,
    pub(crate) hop_min_ns: Option<f64>,
    pub(crate) hop_max_ns: Option<f64>,
    /// Waking a sleeping thread on the other core, one way, in us.
    pub(crate) wake_us: Option<f64>,
    /// Loop turns of one delay of 0.1 us.
    pub(crate) delay_turns: u64,
}

impl Floor {
    /// Whether a construct of two threads takes at least two hops: in a barrier each
    /// thread must see the other's arrival; in a region the primary thread sends the
    /// work and waits for the answer.
    pub(crate) fn bounds(row: &str) -> bool {
        ["BARRIER", "PARALLEL", "FOR", "PARALLEL FOR", "REDUCTION"].contains(&row)
    }

    /// Time of two hops in us, between two measurements.
    pub(crate) fn two_hops_us(&self, later: &Floor) -> Option<f64> {
        Some(1e-3 * (self.hop_ns? + later.hop_ns?))
    }
}

/// Runs `floor.c`.
pub(crate) fn measure(programs: &Programs) -> Result<Floor> {
    process::lines(process::bare(&programs.path("floor")))?
        .pop()
        .context("program floor: one line of JSON")
}
