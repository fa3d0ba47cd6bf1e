//! Is a short region faster on one thread?
//!
//! Executions by one thread alternate with executions the other way, and the times of each are added up.
//! Single executions do not compare: regions as short as these often have another size each time (a loop over
//! the elements of one material, or of one diagonal).
//!
//! **The danger** is a region that is short for a while and then long: one thread needs many times as long
//! for it as a team. So each execution by one thread is timed, and [`Watch`] says when to compare anew. A
//! single long execution is no reason: a timer interrupt takes some microseconds.
//!
//! Pure: no clock.

/// Regions that take longer than this, in nanoseconds, are not compared with one thread.
const SHORT_NS: f64 = 10_000.0;
/// Executions of each way before one of the two is believed to be better...
const RUNS: u32 = 22;
/// ...continued until the executions the other way add up to this many nanoseconds...
const ENOUGH_NS: f64 = 30_000.0;
/// ...but no further than this number of executions.
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
/// Executions. Two overlong executions within about this number are a reason to compare anew.
const MEMORY: f64 = 64.0;

/// Times of one way, added up: nanoseconds, number of executions, longest execution.
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

/// The result of a comparison so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// More executions are needed.
    Open,
    /// One thread is faster.
    Alone,
    /// One thread is not clearly faster: the other way is kept.
    Rival,
}

/// The executions of one thread and of the other way (the rival) so far.
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

    /// Is a region that usually takes `usual_ns` nanoseconds short enough to be compared with one thread?
    #[must_use]
    pub(crate) fn is_for(usual_ns: f64) -> bool {
        usual_ns <= SHORT_NS
    }

    /// Does an execution of `ns` nanoseconds count for a short region? Length is the only test for a
    /// disturbance here: asking the system each time would take longer than the execution.
    #[must_use]
    pub(crate) fn counts(ns: f64) -> bool {
        ns <= INTERRUPTED_NS
    }

    /// Does the next execution run on one thread? Otherwise it runs the other way.
    #[must_use]
    pub(crate) fn wants_alone(&self) -> bool {
        self.alone.runs <= self.rival.runs
    }

    /// An execution by one thread took `ns` nanoseconds.
    pub(crate) fn add_alone(&mut self, ns: f64) {
        self.alone.add(ns);
    }

    /// An execution the other way took `ns` nanoseconds.
    pub(crate) fn add_rival(&mut self, ns: f64) {
        self.rival.add(ns);
    }

    /// Executions so far, of both ways.
    #[must_use]
    pub(crate) fn runs(&self) -> u32 {
        self.alone.runs + self.rival.runs
    }

    /// Mean nanoseconds of an execution by one thread.
    #[must_use]
    pub(crate) fn alone_ns(&self) -> f64 {
        self.alone.ns / f64::from(self.alone.runs.max(1))
    }

    /// Nanoseconds that the executions of the worse way took more than the executions of the better way.
    #[must_use]
    pub(crate) fn lost_ns(&self) -> f64 {
        (self.alone.ns - self.rival.ns).abs()
    }

    /// The verdict; open unless both ways have run equally often.
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

/// Watches the executions of a region that one thread runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch {
    longest_ns: f64,
    /// Number of overlong executions, where old ones count less and less.
    recent: f64,
    /// Executions until the next trial, at the time of the last overlong execution.
    left: u32,
}

impl Watch {
    /// The watch of a region that is not run by one thread.
    #[must_use]
    pub(crate) const fn new() -> Self {
        Watch {
            longest_ns: 0.0,
            recent: 0.0,
            left: 0,
        }
    }

    /// The watch of a region for which one thread has won.
    #[must_use]
    pub(crate) fn over(compared: &Comparison) -> Self {
        Watch {
            longest_ns: (compared.alone.longest_ns * FAR).max(LEAST_LONG_NS),
            ..Watch::new()
        }
    }

    /// Nanoseconds above which an execution is overlong.
    #[must_use]
    pub(crate) fn longest_ns(&self) -> f64 {
        self.longest_ns
    }

    /// An execution took `ns` nanoseconds, and `left` executions are left until the next trial: should the
    /// ways be compared anew now?
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
        // Much work: one thread is given up at once.
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
