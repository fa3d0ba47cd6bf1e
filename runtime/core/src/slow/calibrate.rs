//! What one tick costs, and how fast the tick counter runs.
//!
//! A timer signal keeps a thread from its user code for longer than the handler runs. Before the handler come the
//! interrupt (under a hypervisor an exit and an injection) and the signal frame, after it the return. A thread that
//! polls the clock sees the whole gap, and the handler notes when it ran inside that gap.

use super::{timer, Account, SLICE_US};
use crate::sys::{monotonic_ns, ticks};
use crate::whole::OnceLock;
use core::sync::atomic::{compiler_fence, Ordering::Relaxed, Ordering::SeqCst};

/// Constants of this process, in ticks of [`ticks`].
#[derive(Debug)]
pub(super) struct Calibration {
    /// [`SLICE_US`].
    pub(super) slice: u64,
    /// Differences between elapsed and CPU time from here on are taken for a pause.
    pub(super) gap: u64,
    /// The most ticks that may count as burned in advance. A thread that was descheduled in the runtime, between two
    /// looks at the clock, has not burned anything.
    pub(super) advance: u64,
    /// From the last user instruction to the handler's first.
    pub(super) pre: u64,
    /// From the handler's last instruction to the next one of user code.
    pub(super) post: u64,
    ticks_per_ns: f64,
}

impl Calibration {
    pub(super) fn to_ticks(&self, ns: u64) -> u64 {
        (ns as f64 * self.ticks_per_ns) as u64
    }

    pub(super) fn to_ns(&self, ticks: u64) -> u64 {
        (ticks as f64 / self.ticks_per_ns) as u64
    }
}

/// How many ticks are measured. The lower quartile is taken: a tick that coincides with a pause (another process or
/// interrupt) costs more, never less.
const PROBES: usize = 15;
/// Time between two of these ticks.
const PROBE_NS: u64 = 100_000;
/// The most CPU time that measuring may take, in case signals are blocked. (CPU time, because on a busy machine the
/// same elapsed time could pass before the first good tick.)
const LIMIT_NS: u64 = 40 * PROBE_NS;

/// The constants. The first call measures them, in about 2 ms; later calls are a load, which a signal handler may do.
pub(super) fn get() -> &'static Calibration {
    static ONCE: OnceLock<Calibration> = OnceLock::new();
    ONCE.get_or_init(|| {
        let caller = crate::sys::gettid();
        crate::aside::run(|| {
            if crate::sys::gettid() != caller {
                timer::let_ticks_in();
            }
            measure()
        })
    })
}

/// The handler of the calibration's ticks. It stores its first moment in `mark` and its last in `mark_cpu`, and
/// counts in `debt`.
pub(super) fn note(account: &Account, start: u64) {
    account.mark.store(start, Relaxed);
    // A real tick sets the timer too, so that its cost must lie within the handler here.
    timer::set(account, PROBE_NS);
    account.debt.store(account.debt.load(Relaxed) + 1, Relaxed);
    account.mark_cpu.store(ticks(), Relaxed);
}

fn measure() -> Calibration {
    let account = Account::new(0.0, true);
    let (mut pre, mut post) = (Vec::with_capacity(PROBES), Vec::with_capacity(PROBES));
    // The first reading of a clock may fault its page in.
    monotonic_ns();
    let start_cpu = timer::cpu_ns();
    let (start, start_ns) = both_clocks();
    let works = timer::arm(&account);
    // Read at once, before other calls set errno.
    let why = if works || timer::signal().is_some() {
        format!(
            "no timer could be made ({})",
            std::io::Error::last_os_error()
        )
    } else {
        timer::NO_SIGNAL.to_owned()
    };
    let mut seen = account.debt.load(Relaxed);
    let mut before = ticks();
    let mut rounds = 0u32;
    loop {
        let now = ticks();
        compiler_fence(SeqCst);
        let count = account.debt.load(Relaxed);
        if count != seen {
            // The handler ran between the readings of `before` and `count`. If it ran after `now`, the gap shows in
            // the next reading, so read once more.
            let after = if account.mark.load(Relaxed) > now {
                pre.push(account.mark.load(Relaxed) - now);
                ticks()
            } else {
                pre.push(account.mark.load(Relaxed).saturating_sub(before));
                now
            };
            post.push(after.saturating_sub(account.mark_cpu.load(Relaxed)));
            seen = count;
            if pre.len() == PROBES {
                break;
            }
        }
        before = now;
        rounds += 1;
        // The CPU clock is read rarely, because the call would blur the gaps.
        if rounds % 256 == 0 {
            if timer::cpu_ns() - start_cpu > LIMIT_NS {
                break;
            }
            before = ticks();
        }
    }
    timer::delete(&account);
    let (end, end_ns) = both_clocks();
    // Where the processor has no counter, `ticks` is the monotonic clock, and the ratio is 1.
    let ticks_per_ns = (end - start) as f64 / (end_ns - start_ns).max(1) as f64;
    let us = |us: u64| (us as f64 * 1000.0 * ticks_per_ns) as u64;
    let usual = |values: &mut Vec<u64>| {
        values.sort_unstable();
        values.get(values.len() / 4).copied().unwrap_or(0)
    };
    if !works {
        crate::report::warn(format_args!(
            "emulated speed: {why}: threads are slowed at the end of a region only"
        ));
    }
    Calibration {
        slice: us(SLICE_US),
        gap: us(50),
        advance: us(25),
        pre: usual(&mut pre).min(us(SLICE_US / 10)),
        post: usual(&mut post).min(us(SLICE_US / 10)),
        ticks_per_ns,
    }
}

/// One moment on the tick counter and the clock in ns. A pause between the two readings would falsify the rate, so both
/// are read several times, and the shortest reading counts.
fn both_clocks() -> (u64, u64) {
    let mut best = (u64::MAX, 0, 0);
    for _ in 0..9 {
        let before = ticks();
        let ns = monotonic_ns();
        let width = ticks().saturating_sub(before);
        if width < best.0 {
            best = (width, before + width / 2, ns);
        }
    }
    (best.1, best.2)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_rate_is_that_of_the_clock() {
        let c = super::get();
        let (t, ns) = (crate::sys::ticks(), crate::sys::monotonic_ns());
        std::thread::sleep(std::time::Duration::from_millis(20));
        let (t, ns) = (crate::sys::ticks() - t, crate::sys::monotonic_ns() - ns);
        let error = c.to_ns(t) as f64 / ns as f64 - 1.0;
        assert!(error.abs() < 0.002, "{error} {c:?}");
        assert_eq!(c.to_ns(c.to_ticks(1_000_000)).div_ceil(1000), 1000);
    }
}
