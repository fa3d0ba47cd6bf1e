//! Did other processes use the cores of this process during a measurement?
//!
//! A thread that loses its core to another process stands still for a time slice, some milliseconds. A
//! measurement with such a pause says nothing about the region. The kernel counts how often the threads of a
//! process lose their cores.

use hetmp_core::float;
use hetmp_core::sys::monotonic_ns;
use hetmp_sched::limits::{SAME, SLICE_NS};

/// The beginning of a measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    /// `None`: the measurement is not to be disturbed by asking the system.
    switches: Option<i64>,
    started: u64,
}

impl Begun {
    /// `asks`: the system is asked whether the measurement was disturbed.
    pub(super) fn now(asks: bool) -> Begun {
        Begun {
            switches: asks.then(involuntary_switches),
            started: monotonic_ns(),
        }
    }

    /// The nanoseconds since then, and whether the measurement was disturbed.
    pub(super) fn ended(self) -> (u64, bool) {
        let ns = monotonic_ns() - self.started;
        let lost = (self.switches).is_some_and(|n| matters(involuntary_switches() - n, ns));
        (ns, lost)
    }
}

/// Does this number of time slices make a difference?
fn matters(switches: i64, ns: u64) -> bool {
    let lost = u64::try_from(switches)
        .unwrap_or(0)
        .saturating_mul(SLICE_NS);
    lost > 0 && float::apart(|| ns as f64 > ns.saturating_sub(lost) as f64 * SAME)
}

/// Involuntary context switches of all threads of the process so far.
fn involuntary_switches() -> i64 {
    // SAFETY: the record is plain numbers, and the call fills it in.
    unsafe {
        let mut usage: libc::rusage = core::mem::zeroed();
        if libc::getrusage(libc::RUSAGE_SELF, &mut usage) != 0 {
            return 0;
        }
        usage.ru_nivcsw
    }
}

#[cfg(test)]
mod tests {
    use super::matters;

    #[test]
    fn a_slice_matters_to_short_runs() {
        assert!(!matters(0, 10));
        assert!(matters(1, 10_000_000));
        assert!(!matters(1, 1_000_000_000));
        assert!(matters(100, 1_000_000_000));
    }
}
