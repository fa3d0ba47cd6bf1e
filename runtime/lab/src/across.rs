//! A loop in a region that crosses nodes, as the OpenMP runtime hands it out there: in one block for each node, or on
//! demand in shares for nodes, of which their threads take chunks. In a trial on demand the origin may give up and run
//! what is left.

use hetmp_sched::crossing::blocks::WHOLE;
use hetmp_sched::crossing::early::{begun, chunk, Pace, Seen, Trial};
use hetmp_sched::placement::Placement;
use hetmp_sched::ranges::Range;

/// What a node has taken.
#[derive(Clone, Copy, Debug, Default)]
struct Pool {
    rest: Range,
    taken: u64,
    pace: Pace,
}

/// One execution of a loop of `n` iterations.
#[derive(Debug)]
pub(super) struct Across {
    n: u64,
    /// By node.
    threads: Vec<u32>,
    pools: Vec<Pool>,
    trial: Option<Trial>,
    /// Iterations that nodes have taken.
    handed: u64,
    /// The same when the origin last took some.
    seen: u64,
    gave_up: bool,
    on_demand: bool,
}

impl Across {
    /// Divided by `bounds`, as parts of [`WHOLE`]; `None`: on demand.
    pub(super) fn new(
        n: u64,
        team: &Placement,
        bounds: Option<&[u32]>,
        trial: Option<Trial>,
    ) -> Across {
        let threads: Vec<u32> = team.nodes().iter().map(|s| s.threads).collect();
        let mut pools = vec![Pool::default(); threads.len()];
        let at = |bound: u32| (u128::from(n) * u128::from(bound) / u128::from(WHOLE)) as u64;
        for (pool, bounds) in pools.iter_mut().zip(bounds.unwrap_or_default().windows(2)) {
            pool.rest = Range::new(at(bounds[0]), at(bounds[1]));
        }
        Across {
            n,
            threads,
            pools,
            trial,
            handed: 0,
            seen: 0,
            gave_up: false,
            on_demand: bounds.is_none(),
        }
    }

    /// Do nodes ask the origin for iterations?
    pub(super) fn is_on_demand(&self) -> bool {
        self.on_demand
    }

    /// The next chunk of a thread of this node, at this time.
    pub(super) fn next(&mut self, node: usize, now: u64) -> Option<Range> {
        let threads = self.threads[node].max(1);
        let trial = self.trial.filter(|_| self.on_demand && !self.gave_up);
        let most = trial.map_or(u64::MAX, |trial| {
            let pool = &mut self.pools[node];
            let begun = pool.taken - pool.rest.len();
            pool.pace
                .most(begun, threads, now.saturating_sub(trial.began))
        });
        if self.pools[node].rest.is_empty() {
            if !self.on_demand || self.gave_up && node != 0 {
                return None;
            }
            self.take(node);
        }
        let rest = &mut self.pools[node].rest;
        let length = chunk(rest.len(), 1, true, threads, most);
        let range = Range::new(rest.start, rest.start + length);
        rest.start = range.end;
        (length > 0).then_some(range)
    }

    fn take(&mut self, node: usize) {
        let nodes = self.threads.len() as u32;
        let (rest, pool) = (self.n - self.handed, &mut self.pools[node]);
        let part = self.trial.filter(|t| node != 0 && t.part < 1.0);
        let most = part.map(|t| {
            let most = t.part / f64::from(nodes - 1) * self.n as f64;
            (most as u64).max(1)
        });
        let length = match self.trial {
            _ if self.gave_up => rest,
            Some(trial) if trial.in_shares => {
                let most = most.unwrap_or(self.n / u64::from(nodes));
                (pool.pace).share(&trial, (rest, most), nodes, self.threads[node], 1)
            }
            _ => (rest / (2 * u64::from(nodes))).max(1),
        };
        let left = most.map_or(rest, |most| most.saturating_sub(pool.taken));
        let length = length.min(left).min(rest);
        pool.rest = Range::new(self.handed, self.handed + length);
        pool.taken += length;
        self.handed += length;
        if node == 0 {
            self.seen = self.handed;
        }
    }

    /// The origin's threads have done this in `ns`: must it give up the trial?
    pub(super) fn look(&mut self, ns: u64, seen: Seen) {
        if let (Some(trial), true) = (self.trial, self.on_demand) {
            let Pool { rest, taken, .. } = self.pools[0];
            let begun = begun(self.n, taken, rest.len(), self.seen);
            let nodes = self.threads.len() as u32;
            self.gave_up |= trial.is_hopeless(ns, seen, begun, self.threads[0], nodes);
        }
    }

    pub(super) fn gave_up(&self) -> bool {
        self.gave_up
    }
}
