//! How many of a region's threads run on each node, where nodes are unlike.
//!
//! Every execution across nodes tells how long the whole region would keep one core of each node busy. A node gets
//! threads in proportion to that. Where the region may have any number of threads, it gets more threads than cores,
//! so that the numbers can be in proportion: of 4 threads on two nodes with a core each, a node that is three times as
//! fast runs 3, one after the other on its core.
//!
//! **Another division costs.** The pages at its borders move, and those of the program's other regions that have other
//! borders. So a new division replaces the old one only where the slowest node would be done much earlier, and a
//! difference that one execution shows must be larger than one that many do: what else runs on the machine makes like
//! nodes look unlike. Then it is on trial ([`super::change`]).
//!
//! **Waiting for pages does not count.** It is not in proportion to a node's part: a node with a small part waits about
//! as long as before for the pages that every thread reads, and would look ever slower, the smaller its part is. For
//! the same reason times of small parts say little.
//!
//! **A cold execution does not count either.** The first one moves the region's pages. Each fault also takes the
//! processor's time in the kernel, and what arrives is in no cache: a node to which a quarter of a megabyte for each
//! millisecond of work had to move took 2.5 times as much time as one that had its pages already. So a first execution
//! in which a node waited long for pages says nothing about speeds.
//!
//! Pure: times come in, numbers of threads go out.

use super::change::{weight, Change};
use crate::limits::{ALIKE, ONE_PAIR, SAME};
use crate::virtual_team::PIECES_PER_RUNNER;

/// A first execution in which a node waited for pages longer than this part of its work's time is a cold one.
const COLD: f64 = 0.25;
/// A node that took less time than this for its part, in nanoseconds, tells nothing: faults and the region's start are
/// a large part of that.
const TELLS_NS: f64 = 500_000.0;
/// What an execution across nodes has shown about one node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// The node's cores.
    pub cores: u32,
    /// Threads of the region that ran there.
    pub threads: u32,
    /// The part of the region's work that these threads did.
    pub work: f64,
    /// Nanoseconds of the processor's time that these threads took in the region's code, summed over threads.
    pub ran_ns: f64,
    /// Nanoseconds that they waited for pages besides that.
    pub waited_ns: f64,
    /// At home: nanoseconds by the clock until all of them were done.
    pub done_ns: f64,
}

impl Part {
    /// Nanoseconds that the node's part took at least.
    pub(super) fn least_ns(&self) -> f64 {
        self.ran_ns / f64::from(self.threads.min(self.cores).max(1))
    }

    /// Nanoseconds for which the whole region would keep one core of the node busy. `None` if the node did too little
    /// to tell.
    pub fn whole_ns(&self) -> Option<f64> {
        let tells = self.threads > 0 && self.work > 0.0 && self.ran_ns >= TELLS_NS;
        tells.then(|| self.ran_ns / self.work)
    }

    /// What the whole region takes in `threads` threads on this node alone, if its pages are there.
    pub fn alone_ns(&self, threads: u32) -> Option<f64> {
        let cores = f64::from(threads.min(self.cores.max(1)).max(1));
        self.whole_ns().map(|ns| ns / cores)
    }
}

/// The division of one region among nodes.
#[derive(Clone, Debug, Default)]
pub struct Division {
    /// By node: threads. Empty: equal parts.
    threads: Vec<u32>,
    /// By node: cores, and nanoseconds of the whole region on one core. Empty before the first execution.
    known: Vec<(u32, f64)>,
    /// There was an execution that could tell something.
    has_run: bool,
    /// Executions behind `known`.
    runs: u32,
    change: Change<Vec<u32>>,
}

impl Division {
    /// The threads on each node of a region of `total` threads; `None`: equal parts. May the region have more threads
    /// than `total`? That is asked where `any` number would be better.
    pub fn threads(&mut self, total: u32, any: impl Fn() -> bool) -> Option<Vec<u32>> {
        let nodes = self.known.len();
        if nodes == 0 || (total as usize) < nodes {
            return None;
        }
        let equal: Vec<u32> = equal_parts(total, nodes as u32).collect();
        let now: u32 = self.threads.iter().sum();
        // The program may ask for another number of threads each time.
        let fits = now == total || (total..=PIECES_PER_RUNNER * total).contains(&now) && any();
        if !fits {
            self.threads = equal.clone();
            self.change = Change::default();
        }
        let is_worse =
            |threads: &[u32], than: f64| is_clear(self.longest(threads) / than, ALIKE, self.runs);
        if self.change.may_begin() && is_worse(&self.threads, self.least()) {
            let mut new = self.fixed(total);
            if is_worse(&new, self.least()) && any() {
                new = self.free(new);
            }
            if is_worse(&self.threads, self.longest(&new)) {
                let old = core::mem::replace(&mut self.threads, new);
                self.change.begin(old);
            }
        }
        (self.threads != equal).then(|| self.threads.clone())
    }

    /// An execution across all nodes took `ns` and showed this, by node.
    pub fn ran(&mut self, parts: &[Part], ns: f64) {
        if let Some(old) = self.change.ran(ns) {
            self.threads = old;
        }
        let shown: Option<Vec<f64>> = parts.iter().map(Part::whole_ns).collect();
        let Some(shown) = shown else { return };
        let working = parts.iter().zip(shown);
        if self.known.len() != parts.len() {
            let was_cold = |p: &Part| p.waited_ns > COLD * p.ran_ns;
            if !core::mem::replace(&mut self.has_run, true) && parts.iter().any(was_cold) {
                return;
            }
            self.known = working.map(|(p, ns)| (p.cores, ns)).collect();
            self.runs = 1;
            return;
        }
        self.runs = self.runs.saturating_add(1);
        for (known, (part, ns)) in self.known.iter_mut().zip(working) {
            // A small part tells less.
            let usual = part.work * parts.len() as f64;
            known.1 += weight(self.runs) * usual.min(1.0) * (ns - known.1);
        }
    }

    /// No division takes less time than this.
    fn least(&self) -> f64 {
        let rates = (self.known.iter()).map(|&(cores, ns)| f64::from(cores.max(1)) / ns.max(1.0));
        1.0 / rates.sum::<f64>()
    }

    /// The time of the slowest node, as far as times are known.
    fn longest(&self, threads: &[u32]) -> f64 {
        let total: u32 = threads.iter().sum();
        (threads.iter().zip(&self.known))
            .map(|(&t, &(cores, ns))| time(t, cores, ns) / f64::from(total))
            .fold(0.0, f64::max)
    }

    /// The best division into `total` threads: gives one after the other to the node that would be done first with it;
    /// each node gets one.
    fn fixed(&self, total: u32) -> Vec<u32> {
        let mut threads = vec![1; self.known.len()];
        for _ in self.known.len()..total as usize {
            self.add(&mut threads);
        }
        threads
    }

    /// The best division into at least as many threads as `fixed` has. Fewer are better than more that gain next to
    /// nothing.
    fn free(&self, fixed: Vec<u32>) -> Vec<u32> {
        let total: u32 = fixed.iter().sum();
        let (mut threads, mut best) = (fixed.clone(), fixed);
        for _ in total..PIECES_PER_RUNNER * total {
            self.add(&mut threads);
            if SAME * self.longest(&threads) < self.longest(&best) {
                best.clone_from(&threads);
            }
        }
        best
    }

    fn add(&self, threads: &mut [u32]) {
        let after = |i: usize| {
            let (cores, ns) = self.known[i];
            (time(threads[i] + 1, cores, ns), threads[i])
        };
        let least = (0..threads.len()).min_by(|&a, &b| {
            let (a, b) = (after(a), after(b));
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
        });
        threads[least.unwrap_or(0)] += 1;
    }
}

/// Is it sure after this many executions that a time gets shorter by this `factor`, and is it at least `least`?
pub(super) fn is_clear(factor: f64, least: f64, runs: u32) -> bool {
    factor.ln() > least.ln().max(2.0 * ONE_PAIR / f64::from(runs))
}

/// Time of a node for `threads` threads, each of which does as much as all of the region's would do in `ns`.
fn time(threads: u32, cores: u32, ns: f64) -> f64 {
    ns * f64::from(threads) / f64::from(threads.min(cores.max(1)).max(1))
}

/// The threads on each node if each has as many as the others.
pub fn equal_parts(total: u32, nodes: u32) -> impl Iterator<Item = u32> {
    let first = move |node: u32| u64::from(node) * u64::from(total) / u64::from(nodes);
    (0..nodes).map(move |node| (first(node + 1) - first(node)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes with these cores, of which one core takes this long for the whole region, run `threads` threads each.
    fn parts(nodes: &[(u32, f64)], threads: &[u32]) -> Vec<Part> {
        let total: u32 = threads.iter().sum();
        (nodes.iter().zip(threads))
            .map(|(&(cores, ns), &threads)| {
                let work = f64::from(threads) / f64::from(total);
                Part {
                    cores,
                    threads,
                    work,
                    ran_ns: work * ns,
                    waited_ns: 0.0,
                    done_ns: 0.0,
                }
            })
            .collect()
    }

    /// An execution that took as long as the slowest part.
    fn run(division: &mut Division, parts: &[Part]) {
        let ns = |p: &Part| (p.ran_ns + p.waited_ns) / f64::from(p.threads.min(p.cores).max(1));
        division.ran(parts, parts.iter().map(ns).fold(0.0, f64::max));
    }

    fn settled(nodes: &[(u32, f64)], total: u32, any: bool) -> Vec<u32> {
        let mut division = Division::default();
        let mut threads: Vec<u32> = equal_parts(total, nodes.len() as u32).collect();
        for _ in 0..6 {
            run(&mut division, &parts(nodes, &threads));
            if let Some(new) = division.threads(total, || any) {
                threads = new;
            }
        }
        threads
    }

    #[test]
    fn like_nodes_have_equal_parts() {
        assert_eq!(settled(&[(1, 90e6), (1, 90e6)], 2, true), [1, 1]);
        assert_eq!(settled(&[(1, 90e6), (1, 86e6)], 2, true), [1, 1]);
        assert_eq!(settled(&[(2, 90e6), (2, 95e6)], 4, false), [2, 2]);
        assert_eq!(settled(&[(4, 90e6); 3], 12, true), [4, 4, 4]);
    }

    #[test]
    fn a_slow_node_has_a_smaller_part() {
        assert_eq!(settled(&[(1, 10e6), (1, 30e6)], 2, true), [3, 1]);
        assert_eq!(settled(&[(1, 30e6), (1, 10e6)], 4, false), [1, 3]);
        // With a thread for each core, nothing can be divided in another way.
        assert_eq!(settled(&[(1, 10e6), (1, 30e6)], 2, false), [1, 1]);
    }

    #[test]
    fn a_large_node_has_a_larger_part() {
        let threads = settled(&[(2, 10e6), (6, 10e6)], 8, true);
        assert_eq!(threads[1], 3 * threads[0], "{threads:?}");
    }

    #[test]
    fn a_program_may_change_its_number_of_threads() {
        let nodes = [(1, 10e6), (1, 30e6)];
        let mut division = Division::default();
        run(&mut division, &parts(&nodes, &[1, 1]));
        assert_eq!(division.threads(2, || true), Some(vec![3, 1]));
        assert_eq!(division.threads(8, || false), Some(vec![6, 2]));
        assert_eq!(division.threads(1, || false), None);
    }

    /// A node that waits for pages in each execution, however small its part is, keeps its part.
    #[test]
    fn waiting_for_pages_does_not_decide() {
        for (slow, expected) in [(10e6, [1, 1]), (30e6, [3, 1])] {
            let nodes = [(1, 10e6), (1, slow)];
            let (mut division, mut threads) = (Division::default(), vec![1, 1]);
            for _ in 0..20 {
                let mut shown = parts(&nodes, &threads);
                shown[1].waited_ns = 4e6;
                // And what is neither work nor waiting for pages.
                shown[1].ran_ns += 0.5e6;
                run(&mut division, &shown);
                threads = division.threads(2, || true).unwrap_or(vec![1, 1]);
            }
            assert_eq!(threads, expected, "{slow}");
        }
    }

    /// The pages of one node move to it in the first execution, which makes its part take longer, too.
    #[test]
    fn a_cold_execution_does_not_decide() {
        let nodes = [(1, 5e6), (1, 5e6)];
        let mut division = Division::default();
        let mut cold = parts(&nodes, &[1, 1]);
        (cold[1].ran_ns, cold[1].waited_ns) = (2.5 * cold[1].ran_ns, 9e6);
        run(&mut division, &cold);
        assert_eq!(division.threads(2, || true), None);
        run(&mut division, &parts(&nodes, &[1, 1]));
        assert_eq!(division.threads(2, || true), None);
        // A node that always waits is judged by the second execution: it may be slow.
        let mut slow = Division::default();
        let mut shown = parts(&[(1, 10e6), (1, 30e6)], &[1, 1]);
        shown[1].waited_ns = 9e6;
        run(&mut slow, &shown);
        assert_eq!(slow.threads(2, || true), None);
        run(&mut slow, &shown);
        assert_eq!(slow.threads(2, || true), Some(vec![3, 1]));
    }

    /// What cannot be told from an execution changes nothing.
    #[test]
    fn a_node_that_did_nothing_tells_nothing() {
        let mut division = Division::default();
        run(&mut division, &[Part::default(), Part::default()]);
        assert_eq!(division.threads(2, || true), None);
    }
}
