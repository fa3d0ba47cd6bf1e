//! Is a short region faster on one thread?
//!
//! Executions by one thread and executions the other way take turns, and their times are added up:
//! regions that are this short often have another size each time (a loop over the elements of one material,
//! of one diagonal), so that single executions do not compare.
//!
//! **The danger** is a region that is short for a while and then long: on one thread it takes as many
//! times as long as there are threads. So each execution by one thread is timed, and [`Watch`] says when
//! to compare anew. A single long one is no reason: a timer's interrupt takes some microseconds.
//!
//! Pure: no clock.

/// Ways that take longer, in nanoseconds, are not compared with one thread.
const SHORT_NS: f64 = 10_000.0;
/// Executions each way before one is believed to be better...
const RUNS: u32 = 22;
/// ...or more, until the other way's together have taken so long, in nanoseconds...
const ENOUGH_NS: f64 = 30_000.0;
/// ...but no more than this.
const MOST_RUNS: u32 = 44;
/// Executions each way after which a team of one is given up if it takes `HOPELESS` times as long.
const FEW: u32 = 3;
const HOPELESS: f64 = 2.0;
/// Executions each way after which a team of one is given up if it takes longer at all.
const SOME: u32 = 8;
/// Nanoseconds. An execution that takes this long was interrupted, or is of another size than the region
/// usually has.
const INTERRUPTED_NS: f64 = 5.0 * SHORT_NS;
/// One thread must be better by this factor.
const MARGIN: f64 = 1.08;
/// An execution is too long if it takes this many times as long as the longest of the comparison, and
/// at least this number of nanoseconds.
const FAR: f64 = 3.0;
const LEAST_LONG_NS: f64 = 1_500.0;
/// Executions. Two that take too long within about this number are a reason to compare anew.
const MEMORY: f64 = 64.0;

/// Times of one way, added up.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    ns: f64,
    runs: u32,
    longest_ns: f64,
}

impl Sum {
    fn add(&mut self, ns: f64) {
        self.ns += ns;
        self.runs += 1;
        self.longest_ns = self.longest_ns.max(ns);
    }
}

/// What a comparison has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It goes on.
    Open,
    /// One thread is faster.
    Alone,
    /// The other way is as fast.
    Rival,
}

/// One thread, and the other way so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Comparison {
    alone: Sum,
    rival: Sum,
}

impl Comparison {
    /// Nothing is known.
    #[must_use]
    pub(crate) const fn new() -> Self {
        const NONE: Sum = Sum {
            ns: 0.0,
            runs: 0,
            longest_ns: 0.0,
        };
        Comparison {
            alone: NONE,
            rival: NONE,
        }
    }

    /// Is a region that usually takes `usual_ns` nanoseconds short enough for a team of one?
    #[must_use]
    pub(crate) fn is_for(usual_ns: f64) -> bool {
        usual_ns <= SHORT_NS
    }

    /// Does an execution of `ns` nanoseconds say something about short regions? To ask the system whether each
    /// execution was disturbed would take longer than the execution.
    #[must_use]
    pub(crate) fn counts(ns: f64) -> bool {
        ns <= INTERRUPTED_NS
    }

    /// Is the next execution for one thread? Otherwise it is the other way's.
    #[must_use]
    pub(crate) fn wants_alone(&self) -> bool {
        self.alone.runs <= self.rival.runs
    }

    /// One thread has taken `ns`.
    pub(crate) fn add_alone(&mut self, ns: f64) {
        self.alone.add(ns);
    }

    /// The other way has taken `ns`.
    pub(crate) fn add_rival(&mut self, ns: f64) {
        self.rival.add(ns);
    }

    /// Mean nanoseconds of one thread.
    #[must_use]
    pub(crate) fn alone_ns(&self) -> f64 {
        self.alone.ns / f64::from(self.alone.runs.max(1))
    }

    /// What the worse way has cost more than the better one, in nanoseconds.
    #[must_use]
    pub(crate) fn lost_ns(&self) -> f64 {
        (self.alone.ns - self.rival.ns).abs()
    }

    /// Which is better? While both have run as often as each other.
    #[must_use]
    pub(crate) fn verdict(&self) -> Verdict {
        let (alone, rival) = (&self.alone, &self.rival);
        if alone.runs != rival.runs || alone.runs < FEW {
            return Verdict::Open;
        }
        let limit = if alone.runs < SOME { HOPELESS } else { 1.0 };
        if alone.ns > rival.ns * limit {
            return Verdict::Rival;
        }
        let enough = alone.runs >= RUNS && rival.ns >= ENOUGH_NS;
        if !enough && alone.runs < MOST_RUNS {
            return Verdict::Open;
        }
        if alone.ns * MARGIN < rival.ns {
            Verdict::Alone
        } else {
            Verdict::Rival
        }
    }
}

/// Looks at the executions of a region that is run by one thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch {
    longest_ns: f64,
    /// Executions too long of late; old ones count less.
    recent: f64,
    /// Executions until the next trial when that was last looked at.
    left: u32,
}

impl Watch {
    /// Of a region that is not run by one thread.
    #[must_use]
    pub(crate) const fn new() -> Self {
        Watch {
            longest_ns: 0.0,
            recent: 0.0,
            left: 0,
        }
    }

    /// Of a region for which one thread won.
    #[must_use]
    pub(crate) fn over(compared: &Comparison) -> Self {
        Watch {
            longest_ns: (compared.alone.longest_ns * FAR).max(LEAST_LONG_NS),
            ..Watch::new()
        }
    }

    /// Longer than this, in nanoseconds, is too long.
    #[must_use]
    pub(crate) fn longest_ns(&self) -> f64 {
        self.longest_ns
    }

    /// An execution took `ns`, and `left` are left until the next trial: is it to be tried anew?
    pub(crate) fn is_too_long(&mut self, ns: f64, left: u32) -> bool {
        if ns <= self.longest_ns {
            return false;
        }
        let since = f64::from(self.left.saturating_sub(left));
        self.left = left;
        self.recent = self.recent * (-since / MEMORY).exp() + 1.0;
        self.recent > 1.5
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn compare(alone: impl Fn(u32) -> f64, rival: impl Fn(u32) -> f64) -> (Verdict, u32) {
        let mut c = Comparison::new();
        for i in 0..1000 {
            if c.wants_alone() {
                c.add_alone(alone(i));
            } else {
                c.add_rival(rival(i));
            }
            if c.verdict() != Verdict::Open {
                return (c.verdict(), i + 1);
            }
        }
        (c.verdict(), 1000)
    }

    #[test]
    fn little_work_is_for_one_thread() {
        assert_eq!(compare(|_| 60.0, |_| 280.0).0, Verdict::Alone);
        // Within the margin.
        assert_eq!(compare(|_| 270.0, |_| 280.0).0, Verdict::Rival);
        // Much work: given up at once.
        assert_eq!(compare(|_| 8000.0, |_| 3900.0), (Verdict::Rival, 6));
    }

    #[test]
    fn sizes_that_differ_are_added_up() {
        // Eleven materials; all of the work is in the last ones.
        let work = |i: u32| f64::from((i % 11).pow(3));
        let verdict = |each: f64| compare(|i| work(i) * each, |i| work(i) * each / 2.0 + 250.0).0;
        assert_eq!(verdict(0.3), Verdict::Alone);
        assert_eq!(verdict(4.0), Verdict::Rival);
    }

    #[test]
    fn two_long_ones_close_together_are_a_reason_and_one_is_not() {
        let mut c = Comparison::new();
        c.add_alone(100.0);
        let mut w = Watch::over(&c);
        assert!(!w.is_too_long(400.0, 10_000));
        assert!(!w.is_too_long(5_000.0, 10_000));
        assert!(!w.is_too_long(5_000.0, 9_000));
        assert!(!w.is_too_long(5_000.0, 8_000));
        assert!(w.is_too_long(5_000.0, 7_990));
    }
}
