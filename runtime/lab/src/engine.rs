//! One execution of one loop as a discrete-event simulation: the thread whose clock is earliest makes the
//! next call into the schedule, and the model says how long its chunk takes.
//!
//! A chunk first has its remote faults, one after the other. A memory that serves a fault first serves the
//! faults that came earlier. Then the thread computes: at its core's speed, or, if the threads at work on its
//! node want more than the memory's bandwidth, at the speed that an even part of the bandwidth allows.

use super::caches::LastRun;
use super::cost::{unit, Costs};
use super::driver::{Answer, Driver};
use super::pages::{Faults, Pages, Toucher};
use super::platform::Platform;
use super::questions::Measured;
use super::workload::{Access, LoopModel};
use hetmp_sched::crossing::early::Seen;
use hetmp_sched::placement::Placement;
use hetmp_sched::probe::{Counters, Measurement};
use hetmp_sched::ranges::Range;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Bytes of a cache line.
const LINE: f64 = 64.0;

/// A kind of iterations on one node.
#[derive(Clone, Copy, Debug)]
struct KindOnNode {
    /// Nanoseconds of an iteration that never waits for bandwidth.
    ns: f64,
    /// Nanoseconds of an iteration for each thread at work, if the node's bandwidth is the limit.
    traffic_ns: f64,
    instructions: f64,
    misses: f64,
}

/// A loop, ready to run on a platform.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The loop's number in its program.
    pub(super) at: usize,
    pub(super) costs: Costs,
    /// By node, then by kind.
    kinds: Vec<[KindOnNode; 2]>,
}

impl Prepared {
    pub(super) fn new(l: &LoopModel, platform: &Platform, seed: u64) -> Prepared {
        let kinds = platform
            .nodes
            .iter()
            .map(|node| {
                let kind = |kernel: &str, ns: f64, instructions: f64, misses_per_kilo: f64| {
                    let k = node.kernel(kernel);
                    let misses =
                        instructions * k.misses_per_kilo.unwrap_or(misses_per_kilo) / 1000.0;
                    KindOnNode {
                        ns: ns / k.speed,
                        traffic_ns: misses * LINE / node.bandwidth,
                        instructions,
                        misses,
                    }
                };
                let first = kind(&l.kernel, l.ns, l.instructions, l.misses_per_kilo);
                let second = l.mix.as_ref().map_or(first, |m| {
                    kind(&m.kernel, m.ns, m.instructions, m.misses_per_kilo)
                });
                [first, second]
            })
            .collect();
        Prepared {
            at: 0,
            costs: Costs::new(l, seed),
            kinds,
        }
    }

    /// Nanoseconds that a core of `node` computes at `range` while `active` threads of the node compute.
    pub(super) fn compute_ns(&self, node: usize, range: Range, active: u32) -> f64 {
        let weights = self.costs.weights(range);
        self.kinds[node]
            .iter()
            .zip(weights)
            .map(|(k, w)| w * k.ns.max(k.traffic_ns * f64::from(active)))
            .sum()
    }

    fn counters(&self, node: usize, range: Range) -> Counters {
        let counts = self.costs.weights(range);
        let sum = |of: fn(&KindOnNode) -> f64| -> u64 {
            self.kinds[node]
                .iter()
                .zip(counts)
                .map(|(k, w)| w * of(k))
                .sum::<f64>()
                .round() as u64
        };
        Counters {
            instructions: sum(|k| k.instructions),
            cache_misses: sum(|k| k.misses),
        }
    }
}

/// The results of one execution.
#[derive(Clone, Debug, Default)]
pub(super) struct Execution {
    /// Elapsed nanoseconds, without opening and closing the region.
    pub(super) ns: u64,
    /// Nanoseconds that cores of each node computed.
    pub(super) busy_ns: Vec<u64>,
    /// Remote faults of each node's threads.
    pub(super) faults: Vec<u64>,
    /// Last-level cache misses of all threads.
    pub(super) misses: u64,
    /// Nodes that ran iterations.
    pub(super) took_part: Vec<bool>,
    /// What the threads of each node did, added up.
    pub(super) work: Vec<Work>,
}

/// Work of a node's threads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    pub(super) iterations: u64,
    /// Nanoseconds, with waiting for pages.
    pub(super) ns: u64,
    /// Nanoseconds of waiting for pages, and how often there was any.
    pub(super) waited_ns: u64,
    pub(super) waits: u64,
}

/// The state of the machine that outlives an execution.
#[derive(Debug)]
pub(super) struct Machine<'a> {
    pub(super) platform: &'a Platform,
    pub(super) pages: Pages,
    /// By loop.
    last_run: Vec<LastRun>,
    /// The time at which each memory has served all earlier faults.
    free_at: Vec<u64>,
    /// The memory that used the schedule's shared state last.
    cursors_in: usize,
    /// The memory where the program started.
    origin: usize,
    draws: u64,
    seed: u64,
}

/// The result of touching pages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Touched {
    /// The time when all of the pages are there.
    pub(super) at: u64,
    /// Pages that came.
    pub(super) moved: u64,
    /// Faults of the thread, including those for pages that another thread was fetching.
    pub(super) felt: u64,
}

/// A thread of the team.
#[derive(Clone, Copy, Debug, Default)]
struct Actor {
    /// What it brings to its next call.
    measured: Option<Measured>,
    /// Its ticket while it sleeps, and since when it does.
    waiting: Option<(u64, u64)>,
    /// Nanoseconds that it has waited so far.
    waited: u64,
    /// The number of the thread's current event; events with earlier numbers no longer count.
    event: u64,
}

/// What is to happen, by time.
#[derive(Debug, Default)]
struct Agenda(BinaryHeap<Reverse<(u64, usize, u64)>>);

impl Agenda {
    /// Thread `tid` continues at the time `at` instead of at an earlier planned one.
    fn set(&mut self, at: u64, tid: usize, actor: &mut Actor) {
        actor.event += 1;
        self.0.push(Reverse((at, tid, actor.event)));
    }

    /// The next thread, and its time.
    fn next(&mut self, actors: &[Actor]) -> Option<(u64, usize)> {
        while let Some(Reverse((at, tid, event))) = self.0.pop() {
            if actors[tid].event == event {
                return Some((at, tid));
            }
        }
        None
    }
}

/// What waking a sleeping thread takes, in ns: a futex round trip's half.
const WAKE_NS: u64 = 20_000;

impl<'a> Machine<'a> {
    pub(super) fn new(
        platform: &'a Platform,
        (pages, loops): (Pages, &[LoopModel]),
        origin: usize,
        seed: u64,
    ) -> Self {
        let last_run = |l: &LoopModel| LastRun::new(l.iterations, l.cold_misses > 0.0);
        Machine {
            platform,
            pages,
            last_run: loops.iter().map(last_run).collect(),
            free_at: vec![0; platform.memories.max(1)],
            cursors_in: origin,
            origin,
            draws: 0,
            seed,
        }
    }

    fn jitter(&mut self) -> f64 {
        if self.platform.jitter == 0.0 {
            return 1.0;
        }
        self.draws += 1;
        1.0 + self.platform.jitter * (2.0 * unit(self.seed ^ (self.draws << 20)) - 1.0)
    }

    /// How late a thread of `node` comes to a loop, up to the cost of opening a region, so that no thread is
    /// always the first. Threads of another memory than the origin's learn of the loop through a page.
    fn late_ns(&mut self, node: usize) -> u64 {
        let m = self.platform.nodes[node].memory;
        let far = self.platform.link(self.origin, m).fault_us;
        let near = if self.platform.fork_us == 0.0 {
            0.0
        } else {
            self.draws += 1;
            self.platform.fork_us * unit(self.seed ^ (self.draws << 20))
        };
        ((near + far) * 1000.0) as u64
    }

    /// A thread of memory `m` asks for pages at the time `now`. Returns the time when it has them.
    fn serve(&mut self, m: usize, faults: &[u64], now: u64) -> u64 {
        let mut done = now;
        let mut queued = now;
        for (server, &count) in faults.iter().enumerate().filter(|&(_, &c)| c > 0) {
            let link = self.platform.link(m, server);
            let free = &mut self.free_at[server];
            *free = (*free).max(now) + (count as f64 * link.occupancy_us * 1000.0) as u64;
            queued = queued.max(*free);
            done += (count as f64 * link.fault_us * 1000.0) as u64;
        }
        done.max(queued)
    }

    /// A thread of node `node` touches the pages of `accesses` for `range` of `n` at the time `now`.
    pub(super) fn touch(
        &mut self,
        accesses: &[Access],
        range: Range,
        n: u64,
        node: usize,
        now: u64,
    ) -> Touched {
        let mut out = Touched {
            at: now,
            ..Default::default()
        };
        if self.platform.memories <= 1 {
            return out;
        }
        let m = self.platform.nodes[node].memory;
        let mut faults = Faults::none(self.platform.memories);
        let by = Toucher { memory: m, now };
        for access in accesses {
            self.pages.touch(access, range, n, by, &mut faults);
        }
        out.moved = faults.moved();
        out.felt = out.moved + faults.coming;
        if out.moved > 0 {
            out.at = self.serve(m, &faults.from, now);
            self.pages.fetch(&faults, m, now, out.at);
        }
        out.at = out.at.max(faults.until);
        out
    }

    /// Runs `driver` on `team` from the time `start` on.
    pub(super) fn run(
        &mut self,
        l: &LoopModel,
        prepared: &Prepared,
        driver: &mut Driver,
        team: &Placement,
        start: u64,
    ) -> Execution {
        let nodes = self.platform.nodes.len();
        let mut out = Execution {
            busy_ns: vec![0; nodes],
            faults: vec![0; nodes],
            took_part: vec![false; nodes],
            work: vec![Work::default(); nodes],
            ..Default::default()
        };
        let mut active: Vec<u32> = team.nodes().iter().map(|s| s.threads).collect();
        let mut actors = vec![Actor::default(); team.threads()];
        let mut sleepers: BTreeSet<usize> = BTreeSet::new();
        // By node: the end of the last piece that it took of the shared state.
        let mut continues = vec![None; nodes];
        let mut agenda = Agenda::default();
        for (tid, actor) in actors.iter_mut().enumerate() {
            agenda.set(start + self.late_ns(team.node_of(tid)), tid, actor);
        }
        let mut end = start;
        while let Some((now, tid)) = agenda.next(&actors) {
            let node = team.node_of(tid);
            let actor = &mut actors[tid];
            if let Some((_, since)) = actor.waiting.take() {
                actor.waited += now - since;
                sleepers.remove(&tid);
                active[node] += 1;
            }
            if node == 0 && driver.looks() {
                let own = &out.work[node];
                let seen = Seen {
                    ran_ns: own.ns - own.waited_ns,
                    faults: own.waits,
                    waited_ns: own.waited_ns,
                };
                driver.look(now - start, seen);
            }
            let answer = driver.call(tid, actor.measured.take(), now);
            let mut clock = now + self.platform.call_ns as u64;
            if driver.must_wake() {
                for &t in &sleepers {
                    let changed = actors[t].waiting.is_some_and(|w| driver.changed(w.0));
                    if changed {
                        agenda.set(clock + WAKE_NS, t, &mut actors[t]);
                    }
                }
            }
            match answer {
                Answer::Done => {
                    driver.finish(tid, clock.saturating_sub(start + actors[tid].waited));
                    active[node] -= 1;
                    if out.took_part[node] {
                        end = end.max(clock);
                    }
                }
                Answer::Wait(ticket) => {
                    active[node] -= 1;
                    actors[tid].waiting = Some((ticket, clock));
                    sleepers.insert(tid);
                }
                Answer::Run { range, measure } => {
                    if driver.shares_cursors() && continues[node] != Some(range.start) {
                        clock = self.fetch_cursors(node, clock);
                    }
                    continues[node] = Some(range.end);
                    out.took_part[node] = true;
                    let began = clock;
                    let touched = self.touch(&l.accesses, range, l.iterations, node, clock);
                    let cold = self.last_run[prepared.at].run(node, range) as f64;
                    let cold = cold * l.cold_misses;
                    let ns = prepared.compute_ns(node, range, active[node]) * self.jitter()
                        + cold * self.platform.nodes[node].miss_ns;
                    out.work[node].waited_ns += touched.at - clock;
                    out.work[node].waits += touched.felt;
                    clock = touched.at + ns.round() as u64;
                    out.busy_ns[node] += ns.round() as u64;
                    out.faults[node] += touched.moved;
                    let mut counted = prepared.counters(node, range);
                    counted.cache_misses += cold.round() as u64;
                    out.misses += counted.cache_misses;
                    out.work[node].iterations += range.len();
                    out.work[node].ns += clock - began;
                    if measure {
                        actors[tid].measured = Some(Measured {
                            of: Measurement {
                                elapsed_ns: clock - began,
                                iterations: range.len(),
                                counters: self.platform.counters.then_some(counted),
                            },
                            faults: touched.felt,
                        });
                    }
                    agenda.set(clock, tid, &mut actors[tid]);
                }
            }
        }
        out.ns = end - start;
        out
    }

    /// The page with the schedule's shared state moves to the memory of
    /// `node`, if another one used it last.
    fn fetch_cursors(&mut self, node: usize, now: u64) -> u64 {
        let m = self.platform.nodes[node].memory;
        let from = core::mem::replace(&mut self.cursors_in, m);
        if from == m {
            return now;
        }
        let mut faults = vec![0; self.platform.memories];
        faults[from] = 1;
        self.serve(m, &faults, now)
    }
}
