//! The link between two nodes: how much computation makes moving a page worthwhile.
//!
//! Both nodes work on one set of pages in rounds. Each page is read and written, with a given number of operations
//! for each byte. If both nodes work, the pages move between them from round to round; if one works alone, they stay.
//! The more operations there are per byte, the less the transfers matter, and from some point on two nodes do more
//! than the better one alone. That point is the *threshold*. It is given as core time per moved page, which the
//! runtime calls the fault period.
//!
//! On nodes with coherent shared memory, pages move line by line as the caches fetch them.

use super::crew::{self, median, Member};
use hetmp_core::topo::Node;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes of a page.
pub(super) const PAGE: usize = 4096;
pub(super) const WORDS: usize = PAGE / 8;
/// Pages in use: few enough for the caches of one node, and enough to be divided.
pub(super) const PAGES: usize = 128;
/// The numbers of steps for each word of a page that are measured.
const STEPS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// The operations of one step: a shift, an exclusive or, a multiplication.
pub(super) const OPS: u32 = 3;
/// The least number of rounds of which the median is taken.
const ROUNDS: usize = 9;

/// How often a point is measured.
const TRIES: usize = 3;

/// One point of the sweep.
pub(super) struct Point {
    /// Operations for each byte.
    pub(super) ops_per_byte: f64,
    /// Pages per second: with the first node alone, with the second alone, with both.
    pub(super) throughput: [f64; 3],
    /// Core time per moved page, with both nodes.
    pub(super) fault_period_us: f64,
}

impl Point {
    /// The throughput of both nodes, divided by that of the better one alone.
    pub(super) fn gain(&self) -> f64 {
        self.throughput[2] / self.throughput[0].max(self.throughput[1])
    }
}

impl Point {
    /// Operations a second by both nodes: the paper's first figure, over `ops_per_byte`.
    pub(super) fn operations(&self) -> f64 {
        self.throughput[2] * PAGE as f64 * self.ops_per_byte
    }
}

/// Where the curve of operations a second over operations per byte flattens: the first point from which on both nodes
/// do at least nine tenths of the most that they did at any point. `None` where only the last point does.
pub(super) fn plateau(points: &[Point]) -> Option<&Point> {
    let most = points.iter().map(Point::operations).fold(0.0, f64::max);
    let below = points.iter().rposition(|p| p.operations() < 0.9 * most);
    let first = points.get(below.map_or(0, |at| at + 1))?;
    (!core::ptr::eq(first, points.last()?)).then_some(first)
}

/// The core time per moved page from which on two nodes are faster than one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Threshold {
    /// Two nodes are faster at every point that was measured.
    Always,
    /// Two nodes are faster from this core time per moved page on, microseconds.
    From(f64),
    /// Two nodes are slower at all points, up to this core time per moved page, microseconds.
    Beyond(f64),
}

impl Threshold {
    /// The value for the runtime, in microseconds.
    pub(super) fn us(self) -> f64 {
        match self {
            Threshold::Always => 0.0,
            Threshold::From(us) | Threshold::Beyond(us) => us,
        }
    }
}

/// Measures all points of one pair of nodes.
pub(super) fn sweep(pair: [&Node; 2], each: Duration) -> Vec<Point> {
    let pages: Vec<AtomicU64> = (0..(PAGES * WORDS) as u64).map(AtomicU64::new).collect();
    STEPS
        .iter()
        .map(|&steps| {
            let alone = pair.map(|node| {
                1.0 / undisturbed(|| {
                    crew::run(&[node], "link", |m| {
                        rounds(m, &pages, steps, each, &|_| (m.rank, 0..PAGES))
                    })
                })
            });
            let total = alone[0] + alone[1];
            let first = ((alone[0] / total * PAGES as f64).round() as usize).clamp(1, PAGES - 1);
            // The smaller part of the pages moves to the other node, and as many pages move back.
            let moved = 2 * first.min(PAGES - first);
            let threads: usize = pair.iter().map(|n| n.cpus.count()).sum();
            let round = undisturbed(|| {
                crew::run(&pair, "link", |m| {
                    rounds(m, &pages, steps, each, &|round| {
                        // In each round the border between the two parts moves on by the size of the smaller part.
                        let start = round * first.min(PAGES - first);
                        let part = if m.node == 0 {
                            start..start + first
                        } else {
                            start + first..start + PAGES
                        };
                        (m.rank, part)
                    })
                })
            });
            Point {
                ops_per_byte: f64::from(OPS * steps) / 8.0,
                throughput: [alone[0], alone[1], 1.0 / round].map(|r| r * PAGES as f64),
                fault_period_us: round * 1e6 * threads as f64 / moved as f64,
            }
        })
        .collect()
}

/// The seconds of a round, which ends when its slowest thread does. The least of several tries is taken, since
/// disturbances only make a round longer.
fn undisturbed(attempt: impl Fn() -> Vec<f64>) -> f64 {
    (0..TRIES)
        .map(|_| attempt().into_iter().fold(0.0, f64::max))
        .fold(f64::INFINITY, f64::min)
}

/// Which pages a thread works on in a round: its rank among the threads that share a range, and the range, modulo the
/// number of pages.
type Division<'a> = &'a dyn Fn(usize) -> ((usize, usize), std::ops::Range<usize>);

/// The seconds of one round.
fn rounds(
    m: &Member<'_>,
    pages: &[AtomicU64],
    steps: u32,
    each: Duration,
    division: Division<'_>,
) -> f64 {
    let mut times = Vec::new();
    for round in 0..rounds_for(steps, each) {
        let ((rank, sharing), range) = division(round);
        let length = range.len();
        let (from, to) = (length * rank / sharing, length * (rank + 1) / sharing);
        m.meet();
        let seconds = m.run(|| {
            for page in range.start + from..range.start + to {
                visit(&pages[page % PAGES * WORDS..][..WORDS], steps);
            }
        });
        // The first round does not count: it finds the pages on any node.
        if round > 0 {
            times.push(seconds);
        }
    }
    median(&mut times)
}

/// How many rounds fill the time, computed from the least time of a step, so that all threads get the same number.
fn rounds_for(steps: u32, each: Duration) -> usize {
    let least = (PAGES * WORDS) as f64 * f64::from(steps) * 0.5e-9;
    ((each.as_secs_f64() / least) as usize).clamp(ROUNDS, 64) + 1
}

/// How many words are worked on at the same time: enough to hide the latency of a step, so that the operations per
/// second do not depend on the number of steps.
const LANES: usize = 8;

/// The operations of `steps` steps on each word of a page.
pub(super) fn visit(page: &[AtomicU64], steps: u32) {
    for words in page.chunks_exact(LANES) {
        // Atomic, because the other node may still have the line. The barrier orders the rounds.
        let mut x: [u64; LANES] = std::array::from_fn(|i| words[i].load(Ordering::Relaxed));
        for _ in 0..steps {
            for v in &mut x {
                // No multiplication followed by an addition: compilers combine several of those into one.
                *v = (*v ^ (*v >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            }
        }
        for (word, v) in words.iter().zip(x) {
            word.store(v, Ordering::Relaxed);
        }
    }
}

/// The point from which on the gain stays above 1, interpolated between two points on a logarithmic scale of the
/// period.
pub(super) fn threshold(points: &[Point]) -> Threshold {
    let Some(last) = points.iter().rposition(|p| p.gain() <= 1.0) else {
        return Threshold::Always;
    };
    let below = &points[last];
    let Some(above) = points.get(last + 1) else {
        return Threshold::Beyond(below.fault_period_us);
    };
    let part = (1.0 - below.gain()) / (above.gain() - below.gain());
    let (a, b) = (below.fault_period_us.ln(), above.fault_period_us.ln());
    Threshold::From((a + part * (b - a)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(gain: f64, fault_period_us: f64) -> Point {
        Point {
            ops_per_byte: 1.0,
            throughput: [10.0, 5.0, 10.0 * gain],
            fault_period_us,
        }
    }

    #[test]
    fn the_curve_flattens_where_it_stays_near_its_most() {
        let at = |ops_per_byte: f64, operations: f64| Point {
            ops_per_byte,
            throughput: [1.0, 1.0, operations / ops_per_byte / PAGE as f64],
            fault_period_us: 1.0,
        };
        let points = [
            at(1.0, 10.0),
            at(2.0, 95.0),
            at(4.0, 80.0),
            at(8.0, 92.0),
            at(16.0, 100.0),
        ];
        let found = plateau(&points).map(|p| p.ops_per_byte);
        assert_eq!(found, Some(8.0), "95 at 2 is chance: 80 follows");
        // Still rising: nobody knows where it ends.
        assert!(plateau(&points[..1]).is_none());
        assert!(plateau(&[at(1.0, 10.0), at(2.0, 20.0), at(4.0, 40.0)]).is_none());
        assert!(plateau(&[]).is_none());
        assert_eq!(
            plateau(&[at(1.0, 10.0), at(2.0, 10.5)]).map(|p| p.ops_per_byte),
            Some(1.0)
        );
    }

    #[test]
    fn the_threshold_is_where_both_begin_to_pay() {
        let points = [point(0.5, 1.0), point(0.9, 10.0), point(1.1, 1000.0)];
        match threshold(&points) {
            Threshold::From(us) => assert!((us - 100.0).abs() < 1e-6, "{us}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(threshold(&points[2..]), Threshold::Always);
        assert_eq!(threshold(&points[..2]), Threshold::Beyond(10.0));
        // A single good point between bad ones is chance.
        let points = [point(1.2, 1.0), point(0.8, 2.0), point(1.3, 4.0)];
        assert!(matches!(threshold(&points), Threshold::From(us) if us > 2.0));
        assert_eq!(threshold(&[]), Threshold::Always);
        assert_eq!(Threshold::Always.us(), 0.0);
    }
}
