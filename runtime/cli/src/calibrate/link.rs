//! The link between two nodes: how much computation pays for a page that moves.
//!
//! Both nodes work on one set of pages in rounds. Each page is read and written, with so many
//! operations for each byte. With both nodes at work the pages change hands from round to round;
//! with one node alone they stay. As the operations per byte grow, the transfers weigh less, and from
//! some point on two nodes do more than the better one alone: the *threshold*, given as core
//! time per page that moved, which is what the runtime calls the fault period.
//!
//! On nodes that share memory coherently the pages move line by line as the caches fetch them.

use super::crew::{self, median, Member};
use hetmp_core::topo::Node;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes of a page.
const PAGE: usize = 4096;
const WORDS: usize = PAGE / 8;
/// Pages in play: few enough for one node's caches, enough to divide.
const PAGES: usize = 128;
/// Steps for each word of a page...
const STEPS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// ...and the operations of a step: shift, exclusive or, multiplication.
const OPS: u32 = 3;
/// Rounds of which the middle one counts, at least.
const ROUNDS: usize = 9;

/// How often a point is measured.
const TRIES: usize = 3;

/// One point of the sweep.
pub(super) struct Point {
    /// Operations for each byte.
    pub(super) ops_per_byte: f64,
    /// Pages a second with the first node alone, the second one alone, and both.
    pub(super) throughput: [f64; 3],
    /// Core time for each page that moved, with both.
    pub(super) fault_period_us: f64,
}

impl Point {
    /// What both do, over what the better one does alone.
    pub(super) fn gain(&self) -> f64 {
        self.throughput[2] / self.throughput[0].max(self.throughput[1])
    }
}

/// Where two nodes begin to pay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Threshold {
    /// At every point that was measured.
    Always,
    /// From this core time per moved page on.
    From(f64),
    /// At no point up to this core time per moved page.
    Beyond(f64),
}

impl Threshold {
    /// What the runtime is to take, in microseconds.
    pub(super) fn us(self) -> f64 {
        match self {
            Threshold::Always => 0.0,
            Threshold::From(us) | Threshold::Beyond(us) => us,
        }
    }
}

/// The sweep over one pair of nodes.
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
            // What the smaller part is, moves there; and as much moves away.
            let moved = 2 * first.min(PAGES - first);
            let threads: usize = pair.iter().map(|n| n.cpus.count()).sum();
            let round = undisturbed(|| {
                crew::run(&pair, "link", |m| {
                    rounds(m, &pages, steps, each, &|round| {
                        // The border goes round the pages by the smaller part at each turn.
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

/// The seconds of a round, which ends with the slowest thread: the least of several tries, since
/// whatever disturbs makes it longer, never shorter.
fn undisturbed(attempt: impl Fn() -> Vec<f64>) -> f64 {
    (0..TRIES)
        .map(|_| attempt().into_iter().fold(0.0, f64::max))
        .fold(f64::INFINITY, f64::min)
}

/// Which part of the pages a thread works on in a round: its rank among those who share the range,
/// and the range, taken modulo the number of pages.
type Division<'a> = &'a dyn Fn(usize) -> ((usize, usize), std::ops::Range<usize>);

/// The seconds of a round.
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
        // The first one finds the pages anywhere.
        if round > 0 {
            times.push(seconds);
        }
    }
    median(&mut times)
}

/// How many rounds fill the time, from what a step takes at the least: the same for all threads.
fn rounds_for(steps: u32, each: Duration) -> usize {
    let least = (PAGES * WORDS) as f64 * f64::from(steps) * 0.5e-9;
    ((each.as_secs_f64() / least) as usize).clamp(ROUNDS, 64) + 1
}

/// Words that are worked on at once: enough that a step's latency is hidden, so that the operations
/// a second stay the same however many steps there are.
const LANES: usize = 8;

fn visit(page: &[AtomicU64], steps: u32) {
    for words in page.chunks_exact(LANES) {
        // Atomic, since the other node may still hold the line; the meeting orders the rounds.
        let mut x: [u64; LANES] = std::array::from_fn(|i| words[i].load(Ordering::Relaxed));
        for _ in 0..steps {
            for v in &mut x {
                // Not a multiplication and an addition: compilers fold several of those into one.
                *v = (*v ^ (*v >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            }
        }
        for (word, v) in words.iter().zip(x) {
            word.store(v, Ordering::Relaxed);
        }
    }
}

/// Where the gain passes 1 for good, between two points on a logarithmic scale of the period.
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
    fn the_threshold_is_where_both_begin_to_pay() {
        let points = [point(0.5, 1.0), point(0.9, 10.0), point(1.1, 1000.0)];
        match threshold(&points) {
            Threshold::From(us) => assert!((us - 100.0).abs() < 1e-6, "{us}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(threshold(&points[2..]), Threshold::Always);
        assert_eq!(threshold(&points[..2]), Threshold::Beyond(10.0));
        // One good point amid bad ones is chance.
        let points = [point(1.2, 1.0), point(0.8, 2.0), point(1.3, 4.0)];
        assert!(matches!(threshold(&points), Threshold::From(us) if us > 2.0));
        assert_eq!(threshold(&[]), Threshold::Always);
        assert_eq!(Threshold::Always.us(), 0.0);
    }
}
