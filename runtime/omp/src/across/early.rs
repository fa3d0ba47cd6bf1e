//! What the origin looks at in a trial, to end it early ([`hetmp_sched::crossing::early`]): what its threads did.

use super::meter::Watch;
use super::table::table;
use crate::thread::Thread;
use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_core::counters::{Pages, Source as _};
use hetmp_core::sys;
use hetmp_sched::crossing::early::Seen;

/// Where threads add what they did. Relaxed: the sums are estimates while the region runs, and its threads meet at its
/// end.
#[derive(Debug, Default)]
pub(super) struct Probe([AtomicU64; 3]);

/// When the origin last looked. A look costs as much as a short iteration or two, so it is not due at each.
#[derive(Debug)]
pub(super) struct Looks(AtomicU64);

/// The calling thread's faults.
const PAGES: Pages = Pages(|| {
    let mut words = [0; 2];
    if let Some(t) = table() {
        (t.waits)(words.as_mut_ptr());
    }
    words
});

impl Probe {
    pub(super) const fn new() -> Probe {
        Probe([const { AtomicU64::new(0) }; 3])
    }

    pub(super) fn reset(&self) {
        self.0.iter().for_each(|n| n.store(0, Ordering::Relaxed));
    }

    /// The calling thread begins its part.
    pub(super) fn begin(&self, th: &Thread) {
        th.probed.set((Watch::start(th.spun.get()), PAGES.start()));
    }

    /// Adds what the calling thread did since it last came here.
    pub(super) fn add(&self, th: &Thread) {
        let (watch, reading) = th.probed.get();
        let sample = PAGES.since(&reading);
        let ran_ns = watch.ran_ns(th.spun.get());
        self.begin(th);
        let new = [Some(ran_ns), sample.faults, sample.waited_ns];
        for (sum, new) in self.0.iter().zip(new) {
            sum.fetch_add(new.unwrap_or(0), Ordering::Relaxed);
        }
    }

    pub(super) fn seen(&self) -> Seen {
        let [ran_ns, faults, waited_ns] = [0, 1, 2].map(|i| self.0[i].load(Ordering::Relaxed));
        Seen {
            ran_ns,
            faults,
            waited_ns,
        }
    }
}

impl Looks {
    /// Ticks between looks.
    const EVERY: u64 = 100_000;

    pub(super) const fn new() -> Looks {
        Looks(AtomicU64::new(0))
    }

    /// Is a look due? If so, the caller looks.
    pub(super) fn is_due(&self) -> bool {
        let now = sys::ticks();
        let due = now.wrapping_sub(self.0.load(Ordering::Relaxed)) >= Looks::EVERY;
        if due {
            self.0.store(now, Ordering::Relaxed);
        }
        due
    }
}
