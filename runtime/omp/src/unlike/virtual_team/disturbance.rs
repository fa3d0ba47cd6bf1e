//! Did other processes use the cores of this process during a measurement?
//!
//! A thread that loses its core to another process stands still for a time slice, some milliseconds. A
//! measurement with such a pause says nothing about the region. The kernel counts how often the threads of a
//! process lose their cores.

use hetmp_sched::limits::SLICE_NS;

/// A measurement is disturbed if it may have lost this part of its time.
const PART: u64 = 16;

/// The beginning of a measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    switches: i64,
}

impl Begun {
    pub(super) fn now() -> Begun {
        Begun {
            switches: involuntary_switches(),
        }
    }

    /// Was a measurement that began then and took `ns` nanoseconds disturbed?
    pub(super) fn is_disturbed(self, ns: u64) -> bool {
        matters(involuntary_switches() - self.switches, ns)
    }
}

fn matters(switches: i64, ns: u64) -> bool {
    u64::try_from(switches).is_ok_and(|n| n.saturating_mul(SLICE_NS) > ns / PART)
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
