//! The cost of iterations along a loop, by node. Two kinds of loops need it: those with kinds of iterations
//! that prefer different nodes, and those whose iterations get longer or shorter.
//!
//! A probe of the loop's first iterations says nothing about its last ones. So every node probes in several
//! places, the *strata*. If that shows iterations that are alike, it was as good as a probe in one place. If
//! not, each node gets the iterations for which it is best compared with the others, in such amounts that all
//! nodes end together.

use super::jumps::Jumps;
use crate::limits::{ALIKE, SAME, SHORT_NS};
use crate::probe::NodeTotal;

/// Costs of iterations, by node and stratum.
#[derive(Clone, Debug, PartialEq)]
pub struct CostMap {
    /// Trip count of the loop that the map was made from.
    n: u64,
    /// First iteration of each stratum, the first one 0.
    starts: Box<[u64]>,
    /// Nanoseconds per iteration and core, node by node.
    ns: Box<[f64]>,
}

/// Costs are alike if they are so in all strata but one of this many: one sample may have been disturbed.
const ODD_ONES: usize = 5;
/// A sample that is this many times as long as both neighbours was disturbed: no place of a loop is like
/// that.
const DISTURBED: f64 = 6.0;
/// Strata are sorted by how much each node prefers them, in steps of this factor.
const STEP: f64 = 1.5;
/// With more nodes than this no map is tried: making the map would take longer than it gains.
const MOST_NODES: usize = 16;
const ROUNDS: usize = 2;

impl CostMap {
    /// A map from samples of nanoseconds per iteration, by node and stratum. A missing sample is estimated
    /// from the others. `None` where iterations are all alike, or some node has no sample at all.
    pub(crate) fn new(n: u64, starts: &[u64], samples: &[Vec<Option<f64>>]) -> Option<CostMap> {
        let strata = starts.len();
        if strata < 2 {
            return None;
        }
        let samples: Vec<Vec<Option<f64>>> = samples.iter().map(|row| undisturbed(row)).collect();
        let middles: Vec<f64> = samples
            .iter()
            .map(|row| middle(row.iter().filter_map(|&s| s)))
            .collect::<Option<_>>()?;
        let flat = samples.iter().zip(&middles).all(|(row, &m)| {
            let odd = row
                .iter()
                .filter_map(|&s| s)
                .filter(|&s| s > m * ALIKE || s * ALIKE < m)
                .count();
            odd <= strata / ODD_ONES
        });
        if flat {
            return None;
        }
        // How many times as long as usual the stratum's iterations take, by the nodes that have run some.
        let usual = |s: usize| {
            middle(
                samples
                    .iter()
                    .zip(&middles)
                    .filter_map(|(row, m)| Some(row[s]? / m)),
            )
            .unwrap_or(1.0)
        };
        let mut ns = Vec::with_capacity(samples.len() * strata);
        for (row, m) in samples.iter().zip(&middles) {
            for (s, sample) in row.iter().enumerate() {
                ns.push(sample.unwrap_or_else(|| m * usual(s)).max(1e-3));
            }
        }
        let mut starts: Box<[u64]> = starts.into();
        starts[0] = 0;
        Some(CostMap {
            n,
            starts,
            ns: ns.into(),
        })
    }

    /// This map, stretched or compressed to a loop of `n` iterations.
    pub(crate) fn scaled(&self, n: u64) -> CostMap {
        let factor = n as f64 / self.n.max(1) as f64;
        CostMap {
            n,
            starts: self
                .starts
                .iter()
                .map(|&s| ((s as f64 * factor) as u64).min(n))
                .collect(),
            ns: self.ns.clone(),
        }
    }

    /// Number of nodes.
    #[must_use]
    pub(crate) fn nodes(&self) -> usize {
        self.ns.len() / self.starts.len()
    }

    /// Nanoseconds that a core of `node` needs for an iteration like `iteration`.
    #[inline]
    #[must_use]
    pub(crate) fn ns_per_iteration(&self, node: usize, iteration: u64) -> f64 {
        self.at(node, stratum(&self.starts, iteration))
    }

    fn at(&self, node: usize, stratum: usize) -> f64 {
        self.ns[node * self.starts.len() + stratum]
    }

    /// Divides `queue` among nodes with `threads` threads. Returns the parts, and for each node the mean
    /// nanoseconds that a core needs for an iteration of its part. Returns `None` and leaves the queue as it
    /// was, unless this division ends clearly before contiguous parts of the sizes `shares`.
    pub(crate) fn assign(
        &self,
        queue: &mut Jumps,
        threads: &[u32],
        shares: impl Iterator<Item = f64> + Clone,
    ) -> Option<(Vec<Jumps>, Vec<Option<f64>>)> {
        let mut strata = queue.cut(&self.starts);
        let lengths: Vec<f64> = strata.iter().map(|s| s.len() as f64).collect();
        let amounts = self.amounts(&lengths, threads);
        let plain = self.time(&by_size(&lengths, shares), threads);
        if self.time(&amounts, threads) * SAME > plain {
            for stratum in &mut strata {
                queue.append(stratum);
            }
            return None;
        }
        let mut parts: Vec<Jumps> = threads.iter().map(|_| Jumps::default()).collect();
        for (s, stratum) in strata.iter_mut().enumerate() {
            let pieces = stratum.split(amounts.iter().map(|row| row[s]));
            for (part, mut piece) in parts.iter_mut().zip(pieces) {
                part.append(&mut piece);
            }
        }
        let average = |(i, row): (usize, &Vec<f64>)| {
            let all: f64 = row.iter().sum();
            let time: f64 = row.iter().enumerate().map(|(s, x)| x * self.at(i, s)).sum();
            (all > 0.0).then(|| time / all)
        };
        let averages = amounts.iter().enumerate().map(average).collect();
        Some((parts, averages))
    }

    /// The time at which the last node ends.
    fn time(&self, amounts: &[Vec<f64>], threads: &[u32]) -> f64 {
        amounts
            .iter()
            .zip(threads)
            .enumerate()
            .filter(|(_, (_, &threads))| threads > 0)
            .map(|(i, (row, &threads))| {
                let work: f64 = row.iter().enumerate().map(|(s, x)| x * self.at(i, s)).sum();
                work / f64::from(threads)
            })
            .fold(0.0, f64::max)
    }

    /// The number of iterations of each stratum that each node gets: all nodes end together, as early as this
    /// search can find.
    fn amounts(&self, lengths: &[f64], threads: &[u32]) -> Vec<Vec<f64>> {
        // Time that a whole node needs for one iteration.
        let cost = |i: usize, s: usize| self.at(i, s) / f64::from(threads[i]);
        let busy: Vec<usize> = (0..threads.len()).filter(|&i| threads[i] > 0).collect();
        let mut amounts = contiguous(lengths, &busy, threads.len(), &cost);
        if busy.len() > MOST_NODES {
            return amounts;
        }
        for _ in 0..ROUNDS {
            for (a, &i) in busy.iter().enumerate() {
                for &j in &busy[a + 1..] {
                    exchange(&mut amounts, (i, j), &cost);
                }
            }
        }
        amounts
    }
}

/// Merges neighbouring strata until most samples of each node are long enough to be trusted.
pub(crate) fn merge(starts: &mut Vec<u64>, samples: &mut [Vec<NodeTotal>]) {
    let most = samples
        .iter()
        .filter_map(|row| {
            middle(
                row.iter()
                    .filter(|t| t.reports() > 0)
                    .map(|t| t.elapsed_ns() as f64),
            )
        })
        .map(|ns| (SHORT_NS / ns.max(1.0)).ceil() as usize)
        .max()
        .unwrap_or(1);
    if most < 2 {
        return;
    }
    let mut k = 0;
    starts.retain(|_| {
        k += 1;
        (k - 1) % most == 0
    });
    for row in samples {
        *row = row
            .chunks(most)
            .map(|few| {
                let mut sum = NodeTotal::default();
                for t in few {
                    sum.merge(t);
                }
                sum
            })
            .collect();
    }
}

/// The samples of a node. Samples during which another program had the core stand out from both neighbours,
/// and become missing.
fn undisturbed(row: &[Option<f64>]) -> Vec<Option<f64>> {
    let near = |s: usize| {
        [s.checked_sub(1), Some(s + 1)]
            .into_iter()
            .filter_map(|k| *row.get(k?)?)
            .fold(None, |most: Option<f64>, x| {
                Some(most.map_or(x, |m| m.max(x)))
            })
    };
    (0..row.len())
        .map(|s| row[s].filter(|&x| near(s).is_none_or(|n| x < n * DISTURBED)))
        .collect()
}

/// Nanoseconds that one core of a node needs for an iteration, by samples from places at equal distances;
/// `None` where there are few samples.
pub(crate) fn typical(row: &[Option<f64>]) -> Option<f64> {
    let good: Vec<f64> = undisturbed(row).into_iter().flatten().collect();
    (good.len() >= ODD_ONES).then(|| good.iter().sum::<f64>() / good.len() as f64)
}

/// The index of the stratum that holds `iteration`.
#[inline]
pub(crate) fn stratum(starts: &[u64], iteration: u64) -> usize {
    starts.partition_point(|&s| s <= iteration).max(1) - 1
}

/// One contiguous part for each node, in order, of the given sizes.
fn by_size(lengths: &[f64], shares: impl Iterator<Item = f64>) -> Vec<Vec<f64>> {
    let all: f64 = lengths.iter().sum();
    let mut from = 0.0;
    shares
        .map(|share| {
            let to = from + share * all;
            let mut begin = 0.0;
            let row = lengths
                .iter()
                .map(|&length| {
                    let end = begin + length;
                    let inside = (end.min(to) - f64::max(begin, from)).max(0.0);
                    begin = end;
                    inside
                })
                .collect();
            from = to;
            row
        })
        .collect()
}

/// One contiguous part for each busy node, in order, such that all take the
/// same time.
fn contiguous(
    lengths: &[f64],
    busy: &[usize],
    nodes: usize,
    cost: &impl Fn(usize, usize) -> f64,
) -> Vec<Vec<f64>> {
    let fill = |time: f64| {
        let mut amounts = vec![vec![0.0; lengths.len()]; nodes];
        let mut s = 0;
        let mut left = lengths.first().copied().unwrap_or(0.0);
        for &i in busy {
            let mut budget = time;
            while s < lengths.len() {
                let whole = left * cost(i, s);
                if whole > budget {
                    let some = budget / cost(i, s);
                    amounts[i][s] += some;
                    left -= some;
                    break;
                }
                amounts[i][s] += left;
                budget -= whole;
                s += 1;
                left = lengths.get(s).copied().unwrap_or(0.0);
            }
        }
        (amounts, s < lengths.len())
    };
    // Upper bound: the time that the first node would need for everything.
    let mut high: f64 = busy.first().map_or(0.0, |&i| {
        (0..lengths.len()).map(|s| lengths[s] * cost(i, s)).sum()
    });
    high *= 1.0 + 1e-9;
    let mut low = 0.0;
    for _ in 0..50 {
        let time = 0.5 * (low + high);
        if fill(time).1 {
            low = time;
        } else {
            high = time;
        }
    }
    fill(high).0
}

/// Two nodes exchange the iterations that each runs better than the other, if both together gain.
fn exchange(amounts: &mut [Vec<f64>], (i, j): (usize, usize), cost: &impl Fn(usize, usize) -> f64) {
    let strata = amounts[i].len();
    let time = |amounts: &[Vec<f64>], i: usize| -> f64 {
        (0..strata).map(|s| amounts[i][s] * cost(i, s)).sum()
    };
    let before = time(amounts, i).max(time(amounts, j));
    let pooled: Vec<f64> = (0..strata).map(|s| amounts[i][s] + amounts[j][s]).collect();
    let ratio = |s: usize| cost(i, s) / cost(j, s);
    let Some(usual) = middle((0..strata).map(ratio)) else {
        return;
    };
    let mut order: Vec<(i64, usize)> = (0..strata)
        .filter(|&s| pooled[s] > 0.0)
        .map(|s| (((ratio(s) / usual).ln() / STEP.ln()).round() as i64, s))
        .collect();
    order.sort_unstable();
    // Node i gets the iterations that it is best at, one stratum after the other, until both nodes take
    // equally long.
    let mut mine = vec![0.0; strata];
    let mut my_time = 0.0;
    let mut their_time: f64 = (0..strata).map(|s| pooled[s] * cost(j, s)).sum();
    for (_, s) in order {
        let (a, b) = (pooled[s] * cost(i, s), pooled[s] * cost(j, s));
        let part = ((their_time - my_time) / (a + b)).clamp(0.0, 1.0);
        mine[s] = pooled[s] * part;
        my_time += a * part;
        their_time -= b * part;
        if part < 1.0 {
            break;
        }
    }
    if my_time.max(their_time) * SAME < before {
        for s in 0..strata {
            amounts[i][s] = mine[s];
            amounts[j][s] = pooled[s] - mine[s];
        }
    }
}

/// The median.
fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut all: Vec<f64> = values.collect();
    all.sort_unstable_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

/// Cuts a queue into `strata` parts of equal length. Returns the parts and the first iteration of each.
pub(crate) fn stratify(queue: &mut Jumps, strata: usize) -> (Vec<Jumps>, Vec<u64>) {
    let mut parts = queue.split(core::iter::repeat_n(1.0, strata.max(1)));
    parts.retain(|p| !p.is_empty());
    let starts = parts.iter().filter_map(Jumps::start).collect();
    (parts, starts)
}

/// The parts' lengths as fractions of the whole.
pub(crate) fn shares(parts: &[Jumps]) -> Box<[f64]> {
    let all = parts.iter().map(Jumps::len).sum::<u64>().max(1) as f64;
    parts.iter().map(|p| p.len() as f64 / all).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::probe::Measurement;
    use crate::ranges::Range;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const N: u64 = 1600;

    fn map(rows: &[&[f64]]) -> Option<CostMap> {
        let strata = rows[0].len() as u64;
        let starts: Vec<u64> = (0..strata).map(|s| s * N / strata).collect();
        let samples: Vec<Vec<Option<f64>>> = rows
            .iter()
            .map(|r| r.iter().map(|&x| (x > 0.0).then_some(x)).collect())
            .collect();
        CostMap::new(N, &starts, &samples)
    }

    fn assign(map: &CostMap, n: u64, threads: &[u32]) -> Vec<Vec<(u64, u64)>> {
        let mut queue = Jumps::default();
        queue.push(Range::new(0, n));
        // Compared with one thread's share for everybody: always worth it.
        let worst = (0..threads.len()).map(|i| f64::from(u8::from(i == 0)));
        let (parts, _) = map
            .assign(&mut queue, threads, worst)
            .unwrap_or_else(|| (vec![queue], Vec::new()));
        let ranges = |mut p: Jumps| {
            let mut rest = VecDeque::new();
            let first = p.take(u64::MAX, &mut rest);
            first
                .into_iter()
                .chain(rest)
                .map(|r| (r.start, r.end))
                .collect()
        };
        parts.into_iter().map(ranges).collect()
    }

    #[test]
    fn alike_is_no_map() {
        assert!(map(&[&[10.0; 8], &[30.0; 8]]).is_none());
        let mut disturbed = [10.0; 8];
        disturbed[3] = 900.0;
        assert!(map(&[&disturbed, &[30.0; 8]]).is_none());
        assert!(map(&[&[1.0, 2.0]]).is_some());
        assert!(map(&[&[1.0]]).is_none());
        assert!(map(&[&[1.0, 2.0], &[0.0, 0.0]]).is_none(), "a silent node");
    }

    /// Two kinds in turns, each of which prefers another node.
    #[test]
    fn each_node_gets_what_it_is_good_at() {
        let m = map(&[&[10.0, 30.0, 10.0, 30.0], &[30.0, 10.0, 30.0, 10.0]]).unwrap();
        let parts = assign(&m, N, &[1, 1]);
        assert_eq!(parts[0], [(0, 400), (800, 1200)]);
        assert_eq!(parts[1], [(400, 800), (1200, 1600)]);
        // The same for a loop of another length.
        let parts = assign(&m.scaled(160), 160, &[1, 1]);
        assert_eq!(parts[0], [(0, 40), (80, 120)]);
        assert_eq!(m.ns_per_iteration(1, 500), 10.0);
        assert_eq!(m.ns_per_iteration(1, N + 5), 10.0);
    }

    /// Iterations get longer, alike on both nodes: contiguous, at the place
    /// that makes both end together.
    #[test]
    fn longer_iterations_move_the_cut() {
        let m = map(&[&[10.0, 20.0, 30.0, 40.0], &[10.0, 20.0, 30.0, 40.0]]).unwrap();
        let parts = assign(&m, N, &[1, 1]);
        // 400 * (10 + 20 + 30 + 40) / 2 = 20000 = 4000 + 8000 + 8000
        assert_eq!(parts[0], [(0, 1067)]);
        assert_eq!(parts[1], [(1067, 1600)]);
    }

    #[test]
    fn a_lost_time_slice_is_not_believed() {
        let mut a = [10.0, 30.0, 10.0, 30.0, 10.0, 30.0];
        let b = [30.0, 10.0, 30.0, 10.0, 30.0, 10.0];
        let good = map(&[&a, &b]).unwrap();
        a[2] = 4000.0;
        let m = map(&[&a, &b]).unwrap();
        assert!(m.ns_per_iteration(0, 600) < 100.0, "{m:?}");
        assert_eq!(m.at(0, 1), good.at(0, 1));
        let row: Vec<Option<f64>> = a.iter().map(|&x| Some(x)).collect();
        assert_eq!(typical(&row), Some(22.0));
    }

    #[test]
    fn what_gains_nothing_is_left() {
        // Iterations of every other stratum are longer, for both nodes alike.
        let m = map(&[&[10.0, 20.0, 10.0, 20.0], &[10.0, 20.0, 10.0, 20.0]]).unwrap();
        let mut queue = Jumps::default();
        queue.push(Range::new(0, N));
        let even = [0.5, 0.5].into_iter();
        assert!(m.assign(&mut queue, &[1, 1], even.clone()).is_none());
        assert_eq!((queue.len(), queue.start()), (N, Some(0)));
        let m = map(&[&[10.0, 10.0, 10.0, 20.0], &[10.0, 10.0, 10.0, 20.0]]).unwrap();
        assert!(m.assign(&mut queue, &[1, 1], even).is_some());
    }

    /// Short samples are taken together.
    #[test]
    fn short_samples_are_merged() {
        let total = |ns: u64| {
            let mut t = NodeTotal::default();
            t.add(&Measurement {
                elapsed_ns: ns,
                iterations: 1,
                ..Measurement::default()
            });
            t
        };
        let mut starts: Vec<u64> = (0..8).collect();
        let least = SHORT_NS as u64;
        let mut samples = vec![vec![total(least * 2 / 5); 8], vec![total(least); 8]];
        merge(&mut starts, &mut samples);
        assert_eq!(starts, [0, 3, 6]);
        assert_eq!(samples[0].len(), 3);
        assert_eq!(samples[1][2].reports(), 2);
        samples[0][2] = total(1);
        merge(&mut starts, &mut samples);
        assert_eq!(starts, [0, 3, 6], "most are long enough");
    }

    #[test]
    fn missing_samples_follow_the_others() {
        let m = map(&[&[10.0, 30.0, 10.0], &[20.0, 0.0, 20.0]]).unwrap();
        assert_eq!(m.ns_per_iteration(1, 800), 60.0);
    }

    #[test]
    fn three_kinds_on_three_nodes() {
        let m = map(&[
            &[10.0, 90.0, 90.0, 90.0, 90.0, 10.0],
            &[90.0, 10.0, 90.0, 90.0, 10.0, 90.0],
            &[90.0, 90.0, 10.0, 10.0, 90.0, 90.0],
        ])
        .unwrap();
        let parts = assign(&m, 1600, &[2, 2, 2]);
        let time = |i: usize| -> f64 {
            parts[i]
                .iter()
                .flat_map(|&(s, e)| s..e)
                .map(|k| m.ns_per_iteration(i, k) / 2.0)
                .sum()
        };
        let longest = (0..3).map(time).fold(0.0, f64::max);
        // Ideal: 2 * 267 * 10 / 2.
        assert!(longest < 2667.0 * 1.1, "{longest} {parts:?}");
    }

    proptest! {
        #[test]
        fn nothing_is_lost(rows in prop::collection::vec(prop::collection::vec(0.1f64..1000.0, 8), 1..7),
                           threads in prop::collection::vec(0u32..4, 7), n in prop_oneof![0u64..5000, Just(u64::MAX)]) {
            let rows: Vec<&[f64]> = rows.iter().map(|r| &r[..]).collect();
            let Some(m) = map(&rows) else { return Ok(()) };
            let mut threads = threads[..rows.len()].to_vec();
            threads[0] += 1;
            let parts = assign(&m.scaled(n), n, &threads);
            let mut all: Vec<(u64, u64)> = parts.into_iter().flatten().collect();
            all.sort_unstable();
            let mut at = 0;
            for (s, e) in all {
                prop_assert_eq!(s, at);
                at = e;
            }
            prop_assert_eq!(at, n);
        }
    }
}
