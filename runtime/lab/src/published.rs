//! HetProbe and HetProbe-I as their paper describes them, for comparison in the simulator: `hetprobe-paper` and
//! `hetprobe-i-paper`.
//!
//! A part of the loop is probed in equal shares for each thread, and all threads meet. The thresholds decide. Each node
//! gets its share by core speed ratio, and its threads take chunks of that share; a node that has finished takes
//! nothing from the others. HetProbe-I gives out smaller chunks to slower nodes. When a part of the distributed
//! iterations is done, it lets all chunks end, gathers the rest, and probes again; a node that has finished early, or
//! has no share, waits for that. Later executions of a loop begin with the averages of earlier probes.
//!
//! What this crate's schedules do beyond that is what the difference shows: they lend work between nodes, probe again
//! only when something has changed, and probe iterations of different kinds apart.

use super::questions::{answer, Answers, Measured, Rate, Thresholds, Total};
use hetmp_sched::cache::NEW_WEIGHT;
use hetmp_sched::irregular::Jumps;
use hetmp_sched::placement::Placement;
use hetmp_sched::probe;
use hetmp_sched::ranges::Range;
use std::collections::VecDeque;
use std::sync::Arc;

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Next {
    Run(Range),
    Wait(u64),
    Done,
}

/// One of the paper's two schedules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// The part of the loop that is probed, and later of the rest.
    pub probe: f64,
    /// The part of the distributed iterations after which HetProbe-I probes again; `None`: HetProbe.
    pub jump: Option<f64>,
}

impl Published {
    /// Both of them, with the paper's percentages.
    pub const ALL: [Published; 2] = [
        Published {
            probe: 0.1,
            jump: None,
        },
        Published {
            probe: 0.1,
            jump: Some(0.1),
        },
    ];

    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        if self.jump.is_some() {
            "hetprobe-i-paper"
        } else {
            "hetprobe-paper"
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Threads take their probes from the queue, and meet.
    Probing,
    /// Threads take chunks of their nodes' shares.
    Running,
    /// Threads meet before the rest is gathered.
    Ending,
}

/// One execution of one loop.
#[derive(Debug)]
pub(super) struct Execution {
    of: Published,
    team: Arc<Placement>,
    thresholds: Thresholds,
    /// The workload's chunk, for the fastest node.
    chunk: u64,
    phase: Phase,
    queue: Jumps,
    shares: Vec<Jumps>,
    /// Chunk by node.
    sizes: Vec<u64>,
    /// Iterations of each thread's probe.
    probe: u64,
    probed: Vec<bool>,
    totals: Vec<Total>,
    hands: Vec<Hands>,
    /// Threads that run a chunk.
    out: usize,
    /// Iterations that the last decision distributed, and those of them that are done.
    distributed: u64,
    done: u64,
    ticket: u64,
    ring: bool,
    /// Averages of all probes so far, by node.
    rates: Vec<Option<Rate>>,
    answers: Option<Arc<Answers>>,
    probings: u32,
    may_jump: bool,
}

#[derive(Clone, Debug, Default)]
struct Hands {
    rest: VecDeque<Range>,
    sum: Measured,
    busy: bool,
    probing: bool,
}

impl Execution {
    /// For `n` iterations on `team`, after probes of earlier executions with these averages.
    pub(super) fn new(
        of: Published,
        n: u64,
        team: &Arc<Placement>,
        thresholds: Thresholds,
        chunk: u64,
        known: &[Option<Rate>],
    ) -> Execution {
        let nodes = team.nodes().len();
        let mut queue = Jumps::default();
        queue.push(Range::new(0, n));
        let mut this = Execution {
            of,
            team: Arc::clone(team),
            thresholds,
            chunk: chunk.max(1),
            phase: Phase::Running,
            queue,
            shares: (0..nodes).map(|_| Jumps::default()).collect(),
            sizes: vec![1; nodes],
            probe: 0,
            probed: vec![false; team.threads()],
            totals: vec![Total::default(); nodes],
            hands: vec![Hands::default(); team.threads()],
            out: 0,
            distributed: 0,
            done: 0,
            ticket: 0,
            ring: false,
            rates: known.to_vec(),
            answers: None,
            probings: 0,
            may_jump: false,
        };
        if known.iter().any(Option::is_some) || team.inhabited() < 2 {
            this.divide(known);
        } else {
            this.begin_probing();
        }
        this
    }

    /// A call of thread `tid`, with the measurement of its last range.
    pub(super) fn call(&mut self, tid: usize, m: Option<&Measured>) -> Next {
        let node = self.team.node_of(tid);
        let hands = &mut self.hands[tid];
        if let Some(m) = m {
            hands.sum.merge(m);
        }
        if let Some(range) = hands.rest.pop_front() {
            return Next::Run(range);
        }
        if core::mem::take(&mut hands.busy) {
            let sum = core::mem::take(&mut hands.sum);
            if hands.probing {
                self.totals[node].add(&sum);
            } else {
                self.done += sum.of.iterations;
            }
            self.out -= 1;
        }
        loop {
            match self.phase {
                Phase::Probing => {
                    if !core::mem::replace(&mut self.probed[tid], true) {
                        let mut rest = VecDeque::new();
                        if let Some(range) = self.queue.take(self.probe, &mut rest) {
                            return self.run(tid, range, rest, true);
                        }
                    }
                    if self.out > 0 || self.probed.iter().any(|p| !p) {
                        return Next::Wait(self.ticket);
                    }
                    self.decide();
                }
                Phase::Running => {
                    let left: u64 = self.shares.iter().map(Jumps::len).sum();
                    if left == 0 && self.out == 0 {
                        self.tell();
                        return Next::Done;
                    }
                    let jump = self.of.jump.filter(|_| self.may_jump && left > 0);
                    if jump.is_some_and(|j| self.done as f64 >= j * self.distributed as f64) {
                        self.phase = Phase::Ending;
                        self.tell();
                        continue;
                    }
                    let mut rest = VecDeque::new();
                    return match self.shares[node].take(self.sizes[node], &mut rest) {
                        Some(range) => self.run(tid, range, rest, false),
                        None if self.of.jump.is_some() => Next::Wait(self.ticket),
                        None => Next::Done,
                    };
                }
                Phase::Ending => {
                    if self.out > 0 {
                        return Next::Wait(self.ticket);
                    }
                    let mut loose = Vec::new();
                    for share in &mut self.shares {
                        share.drain_to(&mut loose);
                    }
                    self.queue.gather(&mut loose);
                    self.begin_probing();
                }
            }
        }
    }

    fn run(&mut self, tid: usize, range: Range, rest: VecDeque<Range>, probing: bool) -> Next {
        self.out += 1;
        self.hands[tid] = Hands {
            rest,
            sum: Measured::default(),
            busy: true,
            probing,
        };
        Next::Run(range)
    }

    fn begin_probing(&mut self) {
        self.phase = Phase::Probing;
        self.probings += 1;
        self.probe = probe::chunk(self.queue.len(), self.team.threads(), self.of.probe);
        self.probed.fill(false);
        self.totals.fill(Total::default());
        self.tell();
    }

    fn decide(&mut self) {
        let fresh: Vec<Option<Rate>> = self.totals.iter().map(Total::rate).collect();
        for (old, new) in self.rates.iter_mut().zip(&fresh) {
            *old = match (*old, *new) {
                (Some(o), Some(n)) => Some(o.blend(&n, NEW_WEIGHT)),
                (one, other) => other.or(one),
            };
        }
        // Where the loop's end left a node without a probe, its average counts.
        let now: Vec<_> = (fresh.iter().zip(&self.rates))
            .map(|(f, r)| f.or(*r))
            .collect();
        self.divide(&now);
    }

    /// Distributes the queue by these rates.
    fn divide(&mut self, rates: &[Option<Rate>]) {
        let threads: Vec<u32> = self.team.nodes().iter().map(|n| n.threads).collect();
        let answers = answer(&threads, rates, self.thresholds);
        self.distributed = self.queue.len();
        self.done = 0;
        self.shares = self.queue.split(answers.shares.iter().copied());
        let threads = self.team.threads() as u64;
        self.may_jump = self.team.inhabited() > 1 && self.distributed >= 2 * threads;
        let most = answers
            .csr
            .iter()
            .flatten()
            .fold(1.0, |m: f64, &c| m.max(c));
        for (i, size) in self.sizes.iter_mut().enumerate() {
            let shape = u64::from(self.team.nodes()[i].threads.max(1));
            *size = match self.of.jump {
                // What OpenMP does on one node: a piece for each thread.
                None if answers.node == Some(i) => self.shares[i].len().div_ceil(shape),
                None => self.chunk,
                Some(_) => {
                    (self.chunk as f64 * answers.csr[i].unwrap_or(most) / most).round() as u64
                }
            }
            .max(1);
        }
        self.answers = Some(Arc::new(answers));
        self.phase = Phase::Running;
        self.tell();
    }

    fn tell(&mut self) {
        self.ticket += 1;
        self.ring = true;
    }

    pub(super) fn must_wake(&mut self) -> bool {
        core::mem::take(&mut self.ring)
    }

    pub(super) fn changed(&self, ticket: u64) -> bool {
        self.ticket != ticket
    }

    /// How often the loop was probed.
    pub(super) fn probings(&self) -> u32 {
        self.probings
    }

    pub(super) fn rates(&self) -> &[Option<Rate>] {
        &self.rates
    }

    pub(super) fn answers(&self) -> Option<Arc<Answers>> {
        self.answers.clone()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use hetmp_sched::placement::NodeShape;
    use hetmp_sched::probe::Measurement;

    /// All iterations once, whatever the order in which threads come back, and nobody waits for ever.
    #[test]
    fn every_iteration_runs_once() {
        let shapes = [3, 5].map(|threads| NodeShape { threads });
        let team = Arc::new(Placement::contiguous(&shapes));
        for of in Published::ALL {
            for n in [0, 1, 7, 40, 1000, 12_345] {
                for seed in 0..20u64 {
                    let mut e =
                        Execution::new(of, n, &team, Thresholds::default(), 8, &[None, None]);
                    let mut seen = vec![0u32; n as usize];
                    let mut threads: Vec<(usize, Option<Measured>)> =
                        (0..8).map(|t| (t, None)).collect();
                    let (mut state, mut idle) = (seed + 1, 0);
                    while !threads.is_empty() {
                        state = crate::cost::hash(state);
                        let (tid, m) = threads.swap_remove(state as usize % threads.len());
                        idle += 1;
                        match e.call(tid, m.as_ref()) {
                            Next::Done => {}
                            Next::Wait(_) => threads.push((tid, None)),
                            Next::Run(r) => {
                                idle = 0;
                                (r.start..r.end).for_each(|i| seen[i as usize] += 1);
                                let of = Measurement {
                                    elapsed_ns: r.len() * (100 + state % 900),
                                    iterations: r.len(),
                                    counters: None,
                                };
                                let m = Measured { of, faults: 0 };
                                threads.push((tid, Some(m)));
                            }
                        }
                        assert!(idle < 10_000, "{of:?}, {n} iterations, seed {seed}");
                    }
                    assert!(seen.iter().all(|&s| s == 1), "{of:?}, {n}, seed {seed}");
                    let again = e.probings() > 2;
                    assert_eq!(again, of.jump.is_some() && n >= 1000, "{of:?}, {n}");
                }
            }
        }
    }
}
