//! How much of the processor's time a node's threads took in the code of the region that they ran last, and which part
//! of the region's work they did: the origin learns from that how fast each node is.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hetmp_core::whole::OnceLock;
use hetmp_core::{float, sys, topo};
use hetmp_sched::crossing::division::Part;

/// In [`Meter::words`], a region's whole work.
const WHOLE: f64 = (1u64 << 32) as f64;

/// What this node's threads did in one region. Relaxed: the threads meet before the words are read.
#[derive(Debug)]
pub(super) struct Meter {
    /// Nanoseconds of the processor's time in the region's code, without barriers, summed over threads.
    ran_ns: AtomicU64,
    /// Iterations of the loops that the runtime hands out: all, and those that this node took.
    offered: AtomicU64,
    taken: AtomicU64,
    /// Threads ran tasks while they waited, and it is not known for how long.
    tasks: AtomicBool,
}

/// A thread that waits at a barrier spins for at most this many ticks, and then sleeps (`local::LOOKS`).
const SPINS: u64 = 150_000;

/// The processor's time that a thread had taken when its part of a region began, and the ticks that it had spun at
/// barriers. (Not the time by the clock: with more threads than cores, a thread's time is also that of the others.)
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch {
    ns: u64,
    spun: u64,
}

/// The ticks that a thread has spun which has waited at a barrier for this many.
pub(super) fn spun(waited: u64) -> u64 {
    waited.min(SPINS)
}

impl Watch {
    /// `spun`: ticks that the thread has spun at barriers so far, here and below.
    pub(super) fn start(spun: u64) -> Watch {
        Watch {
            ns: sys::thread_cpu_ns(),
            spun,
        }
    }

    pub(super) fn ran_ns(self, spun: u64) -> u64 {
        let ns = sys::thread_cpu_ns().saturating_sub(self.ns);
        let spun = spun.wrapping_sub(self.spun) as f64 / ticks_per_ns();
        ns.saturating_sub(spun as u64)
    }
}

/// Ticks in a nanosecond, measured since the first call, which takes a microsecond.
fn ticks_per_ns() -> f64 {
    static BEGAN: OnceLock<(u64, u64)> = OnceLock::new();
    let now = || (sys::ticks(), sys::monotonic_ns());
    let began = BEGAN.get_or_init(now);
    loop {
        let (ticks, ns) = now();
        if ns > began.1 + 1000 {
            return ticks.wrapping_sub(began.0) as f64 / (ns - began.1) as f64;
        }
    }
}

impl Meter {
    pub(super) const fn new() -> Meter {
        Meter {
            ran_ns: AtomicU64::new(0),
            offered: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            tasks: AtomicBool::new(false),
        }
    }

    /// A region begins.
    pub(super) fn reset(&self) {
        self.ran_ns.store(0, Ordering::Relaxed);
        self.offered.store(0, Ordering::Relaxed);
        self.taken.store(0, Ordering::Relaxed);
        self.tasks.store(false, Ordering::Relaxed);
    }

    /// A thread's part is over.
    pub(super) fn ran(&self, watch: Watch, spun: u64) {
        let ns = float::apart(|| watch.ran_ns(spun));
        self.ran_ns.fetch_add(ns, Ordering::Relaxed);
    }

    pub(super) fn ran_tasks(&self) {
        self.tasks.store(true, Ordering::Relaxed);
    }

    /// A loop of the region has this many iterations.
    pub(super) fn offered(&self, iterations: u64) {
        self.offered.fetch_add(iterations, Ordering::Relaxed);
    }

    /// This node has taken that many of a loop's iterations.
    pub(super) fn took(&self, iterations: u64) {
        self.taken.fetch_add(iterations, Ordering::Relaxed);
    }

    /// What the origin is told: nanoseconds, the node's CPUs, and the part of the region's work. `part`: of loops that
    /// nobody hands out.
    pub(super) fn words(&self, part: f64) -> [u64; 3] {
        let ran = match self.tasks.load(Ordering::Relaxed) {
            true => 0,
            false => self.ran_ns.load(Ordering::Relaxed),
        };
        let of = |atomic: &AtomicU64| atomic.load(Ordering::Relaxed) as f64;
        let work = float::apart(|| {
            let work = match of(&self.offered) {
                0.0 => part,
                offered => of(&self.taken) / offered,
            };
            (work * WHOLE) as u64
        });
        [ran, cpus().into(), work]
    }
}

/// The number of CPUs on which this node's threads run while a region crosses.
pub(super) fn cpus() -> u32 {
    static CPUS: OnceLock<u32> = OnceLock::new();
    // Asked by a thread that stays on the node's CPUs.
    *CPUS.get_or_init(|| topo::affinity().count().max(1) as u32)
}

/// What a node's words say. `waited_ns`: how long its threads waited for pages meanwhile.
pub(super) fn part(words: [u64; 3], threads: u32, waited_ns: u64) -> Part {
    let [ran_ns, cores, work] = words;
    Part {
        cores: cores as u32,
        threads,
        work: work as f64 / WHOLE,
        ran_ns: ran_ns as f64,
        waited_ns: waited_ns as f64,
        done_ns: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_was_done() {
        let meter = Meter::new();
        let watch = Watch::start(0);
        while watch.ran_ns(0) < 1_000_000 {
            core::hint::spin_loop();
        }
        meter.ran(watch, 0);
        let p = part(meter.words(0.75), 3, 7);
        assert!(p.ran_ns >= 1e6 && p.cores > 0, "{p:?}");
        assert_eq!((p.threads, p.work, p.waited_ns), (3, 0.75, 7.0));
        // Handed-out iterations count, not threads.
        meter.offered(100);
        meter.took(25);
        assert_eq!(part(meter.words(0.75), 3, 0).work, 0.25);
        // All of a thread's time was spinning at barriers.
        meter.reset();
        meter.ran(watch, u64::MAX / 2);
        assert_eq!(part(meter.words(0.5), 1, 0).ran_ns, 0.0);
        meter.ran(Watch::start(0), 0);
        meter.ran_tasks();
        assert_eq!(meter.words(0.5)[0], 0);
    }
}
