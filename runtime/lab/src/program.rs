//! A whole program on a whole machine, under one strategy.

use super::cost::hash;
use super::decided::Decided;
use super::driver::Driver;
use super::engine::{Execution, Machine, Prepared};
use super::pages::Pages;
use super::placed::{Loop, Placed};
use super::platform::Platform;
use super::published::Published;
use super::questions::{Rate, Thresholds};
use super::self_scheduling::Technique;
use super::workload::{LoopModel, Serial, Workload};
use hetmp_sched::cache::{Key, ProbeCache};
use hetmp_sched::decide::Objective;
use hetmp_sched::energy::{Part, Power};
use hetmp_sched::placement::{NodeShape, Placement};
use hetmp_sched::probe::NodeRate;
use hetmp_sched::ranges::Range;
use hetmp_sched::record::Learning;
use hetmp_sched::schedule::{Kind, Schedule};
use std::sync::Arc;

/// Which nodes take part, and under which schedule.
#[derive(Clone, Debug, PartialEq)]
pub enum Strategy {
    /// The program stays on this node, where it starts; its loops run `static`.
    Alone(usize),
    /// `static-csr` on all nodes, by the true speeds of the model.
    IdealCsr,
    /// This schedule on all nodes. `cross-dynamic` and the `aid-` schedules
    /// take the workload's chunk where they have none.
    All(Schedule),
    /// This number of executions of each loop first on the first node, `static`; all later ones on this node alone.
    HomeThen(u64, usize),
    /// A published technique on all nodes that only the simulator knows.
    SelfScheduled(Technique),
    /// The paper's schedule as the paper describes it, by its thresholds.
    Published(Published),
}

/// The results of one loop over all its executions.
#[derive(Clone, Debug, Default)]
pub struct LoopOutcome {
    /// The loop's name.
    pub name: String,
    /// Executions.
    pub executions: u64,
    /// Executions that were probed.
    pub probed: u64,
    /// Seconds of all executions together, with opening and closing the regions.
    pub seconds: f64,
    /// Seconds of the first execution.
    pub first_seconds: f64,
    /// Seconds of the last execution.
    pub last_seconds: f64,
    /// Iterations that each node ran, over all executions.
    pub iterations: Vec<u64>,
    /// Remote faults of each node.
    pub faults: Vec<u64>,
    /// Last-level cache misses.
    pub misses: u64,
    /// What was decided for the last execution.
    pub decision: Option<Decided>,
    /// How often the division was renewed while the loop ran.
    pub renewals: u64,
    /// How often a decision differed from the one before in the number of nodes or in the chosen node.
    pub changes: u64,
    /// The rates that the last probing measured, by node.
    pub(crate) probe: Vec<Option<NodeRate>>,
}

impl LoopOutcome {
    fn ran(&mut self, seconds: f64) {
        if self.executions == 0 {
            self.first_seconds = seconds;
        }
        self.last_seconds = seconds;
        self.seconds += seconds;
        self.executions += 1;
    }

    fn decided(&mut self, decision: Option<Decided>) {
        if let Some(decision) = decision {
            if let Some(before) = &self.decision {
                self.changes += u64::from(before.one_node() != decision.one_node());
            }
            self.decision = Some(decision);
        }
    }
}

/// The results of a program.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Elapsed seconds.
    pub seconds: f64,
    /// Seconds of the serial parts, which the origin runs alone.
    pub serial_seconds: f64,
    /// Energy of all nodes of the platform in joules. Modelled.
    pub joules: f64,
    /// Seconds that cores of each node computed.
    pub busy_seconds: Vec<f64>,
    /// The loops.
    pub loops: Vec<LoopOutcome>,
}

impl Outcome {
    /// Energy-delay product in joule seconds.
    #[must_use]
    pub fn edp(&self) -> f64 {
        self.seconds * self.joules
    }
}

/// Runs `workload` on `platform`. Equal arguments give equal outcomes. What decides for nodes without common memory is
/// time, whatever the objective.
#[must_use]
pub fn run(
    platform: &Platform,
    workload: &Workload,
    strategy: &Strategy,
    objective: Objective,
    seed: u64,
) -> Outcome {
    let origin = match strategy {
        Strategy::Alone(node) => (*node).min(platform.nodes.len().saturating_sub(1)),
        _ => 0,
    };
    let mut program = Program::new(platform, workload, strategy, objective, seed, origin);
    program.serial(&workload.start);
    for _ in 0..workload.repeat {
        program.serial(&workload.round);
        for at in 0..workload.loops.len() {
            program.execute(at);
        }
    }
    program.outcome()
}

/// Seconds of one iteration of `l` on one core of each node of `platform`, with all cores at work and all
/// data at hand: what an ideal split would go by.
#[must_use]
pub fn ideal_parts(platform: &Platform, l: &LoopModel, seed: u64) -> Vec<Part> {
    let prepared = Prepared::new(l, platform, seed);
    let all = Range::new(0, l.iterations);
    platform
        .nodes
        .iter()
        .enumerate()
        .map(|(i, node)| Part {
            threads: node.cores,
            ns_per_iteration: prepared.compute_ns(i, all, node.cores) / l.iterations.max(1) as f64,
            power: node.power,
        })
        .collect()
}

/// All iterations on one of `nodes` nodes.
fn one_node(nodes: usize, node: usize) -> Schedule {
    let ratios = (0..nodes).map(|i| f64::from(u8::from(i == node)));
    Schedule::plain(Kind::StaticCsr {
        ratios: ratios.collect(),
    })
}

struct Program<'a> {
    platform: &'a Platform,
    workload: &'a Workload,
    origin: usize,
    team: Arc<Placement>,
    schedules: Vec<Schedule>,
    /// After how many executions loops run where, under [`Strategy::HomeThen`].
    then: Option<(u64, usize)>,
    /// A technique that replaces the schedules.
    technique: Option<Technique>,
    /// The paper's schedule, and what it remembers of each loop.
    published: Option<Published>,
    remembered: Vec<Vec<Option<Rate>>>,
    prepared: Vec<Prepared>,
    machine: Machine<'a>,
    objective: Objective,
    cache: ProbeCache,
    /// Where the rule for whole programs decides.
    placed: Option<Placed>,
    now: u64,
    serial_ns: u64,
    busy_ns: Vec<u64>,
    loops: Vec<LoopOutcome>,
}

impl<'a> Program<'a> {
    fn new(
        platform: &'a Platform,
        workload: &'a Workload,
        strategy: &Strategy,
        objective: Objective,
        seed: u64,
        origin: usize,
    ) -> Self {
        let shapes: Vec<NodeShape> = platform
            .nodes
            .iter()
            .enumerate()
            .map(|(i, node)| NodeShape {
                threads: match strategy {
                    Strategy::Alone(only) if *only != i => 0,
                    _ => node.cores,
                },
            })
            .collect();
        let power: Vec<Option<Power>> = platform.nodes.iter().map(|n| Some(n.power)).collect();
        let loop_seed = |i: usize| seed ^ hash(i as u64);
        let schedules = workload
            .loops
            .iter()
            .enumerate()
            .map(|(i, l)| match strategy {
                Strategy::Alone(_) => Schedule::plain(Kind::Static),
                Strategy::IdealCsr => Schedule::plain(Kind::StaticCsr {
                    ratios: ideal_parts(platform, l, loop_seed(i))
                        .iter()
                        .map(|p| p.ns_per_iteration.max(1e-9).recip())
                        .collect(),
                }),
                Strategy::All(s) => {
                    let mut s = s.clone();
                    if s.kind.deals_chunks() && s.chunk.is_none() {
                        s.chunk = Some(workload.chunk.max(1));
                    }
                    s
                }
                Strategy::HomeThen(..) => one_node(platform.nodes.len(), 0),
                // Not asked.
                Strategy::SelfScheduled(_) | Strategy::Published(_) => Schedule::default(),
            })
            .collect();
        let team = Arc::new(Placement::contiguous(&shapes).with_power(&power));
        let by_rule = matches!(strategy, Strategy::All(s) if s.kind.name().learns());
        let placed =
            (by_rule && platform.memories > 1).then(|| Placed::new(platform, workload, &team));
        let memory = platform.nodes[origin].memory;
        let pages = Pages::new(&workload.arrays, platform.memories.max(1), memory);
        let nodes = platform.nodes.len();
        Program {
            platform,
            workload,
            origin,
            team,
            schedules,
            then: match strategy {
                Strategy::HomeThen(executions, node) => Some((*executions, *node)),
                _ => None,
            },
            technique: match strategy {
                Strategy::SelfScheduled(t) => Some(*t),
                _ => None,
            },
            published: match strategy {
                Strategy::Published(p) => Some(*p),
                _ => None,
            },
            remembered: vec![vec![None; nodes]; workload.loops.len()],
            prepared: workload
                .loops
                .iter()
                .enumerate()
                .map(|(at, l)| {
                    let mut prepared = Prepared::new(l, platform, loop_seed(at));
                    prepared.at = at;
                    prepared
                })
                .collect(),
            machine: Machine::new(platform, (pages, &workload.loops), memory, seed),
            objective,
            cache: ProbeCache::new(),
            placed,
            now: 0,
            serial_ns: 0,
            busy_ns: vec![0; nodes],
            loops: workload
                .loops
                .iter()
                .map(|l| LoopOutcome {
                    name: l.name.clone(),
                    iterations: vec![0; nodes],
                    faults: vec![0; nodes],
                    probe: vec![None; nodes],
                    ..Default::default()
                })
                .collect(),
        }
    }

    fn serial(&mut self, serial: &Serial) {
        let one = Range::new(0, 1);
        let at_hand = self
            .machine
            .touch(&serial.accesses, one, 1, self.origin, self.now)
            .at;
        let k = self.platform.nodes[self.origin].kernel(&self.workload.name);
        let ns = (serial.ms * 1e6 / k.serial_speed.unwrap_or(k.speed)).round() as u64;
        self.busy_ns[self.origin] += ns;
        self.serial_ns += at_hand - self.now + ns;
        if let Some(placed) = &mut self.placed {
            placed.serial(at_hand - self.now);
        }
        self.now = at_hand + ns;
    }

    fn execute(&mut self, at: usize) {
        if let Some(placed) = self.placed.take() {
            self.placed = Some(self.execute_placed(placed, at));
            return;
        }
        let l = &self.workload.loops[at];
        let key = Key::new(at as u64, l.iterations, &self.team);
        let known = self.cache.known(&key);
        let mut driver = match (self.technique, self.published) {
            (_, Some(published)) => Driver::published(
                published,
                l.iterations,
                &self.team,
                self.thresholds(),
                self.workload.chunk,
                &self.remembered[at],
            ),
            (Some(t), None) => {
                let variation = self.prepared[at].costs.variation();
                Driver::technique(t, l.iterations, &self.team, variation)
            }
            (None, None) => Driver::new(
                &self.schedules[at],
                l.iterations,
                &self.team,
                self.objective,
                known,
            ),
        };
        let Execution {
            ns,
            busy_ns,
            faults,
            misses,
            took_part,
            ..
        } = self
            .machine
            .run(l, &self.prepared[at], &mut driver, &self.team, self.now);
        let region_us = self.platform.fork_us / 2.0 + self.barrier_us(&took_part);
        let elapsed = ns + (region_us * 1000.0) as u64;
        self.now += elapsed;

        let record = driver.record();
        if driver.learns() {
            self.cache.update(key, &record, self.objective);
        }
        if let Some(rates) = driver.remembers() {
            self.remembered[at] = rates.to_vec();
        }
        let out = &mut self.loops[at];
        out.ran(elapsed as f64 * 1e-9);
        if let Some((_, node)) = self.then.filter(|t| out.executions >= t.0) {
            self.schedules[at] = one_node(self.platform.nodes.len(), node);
        }
        out.misses += misses;
        out.renewals += u64::from(driver.renewals());
        out.probed += u64::from(matches!(
            record.learning,
            Learning::Probed | Learning::Undecided
        ));
        for (i, node) in record.nodes.iter().enumerate() {
            out.iterations[i] += node.iterations;
            out.faults[i] += faults[i];
            self.busy_ns[i] += busy_ns[i];
            if node.probe.is_some() {
                out.probe[i] = node.probe;
            }
        }
        out.decided(driver.decided(&record));
    }

    fn execute_placed(&mut self, mut placed: Placed, at: usize) -> Placed {
        let l = Loop {
            at,
            model: &self.workload.loops[at],
            prepared: &self.prepared[at],
            schedule: &self.schedules[at],
            machine: &mut self.machine,
        };
        let ran = placed.run(l, self.now);
        let region_us = self.platform.fork_us / 2.0 + self.barrier_us(&ran.of.took_part);
        let elapsed = ran.of.ns + (region_us * 1000.0) as u64;
        self.now += elapsed;
        placed.report(at, &ran, elapsed);
        let out = &mut self.loops[at];
        out.ran(elapsed as f64 * 1e-9);
        out.misses += ran.of.misses;
        out.probed += u64::from(ran.tried);
        for (i, work) in ran.of.work.iter().enumerate() {
            out.iterations[i] += work.iterations;
            out.faults[i] += ran.of.faults[i];
            self.busy_ns[i] += ran.of.busy_ns[i];
        }
        out.decided(Some(ran.decided));
        placed
    }

    /// By which the paper's schedules decide here.
    fn thresholds(&self) -> Thresholds {
        let paper = Thresholds::default();
        Thresholds {
            fault_period_us: self
                .platform
                .threshold_us()
                .unwrap_or(paper.fault_period_us),
            ..paper
        }
    }

    /// What the region costs more because nodes of other memories than the origin's took part.
    fn barrier_us(&self, took_part: &[bool]) -> f64 {
        let nodes = &self.platform.nodes;
        let home = nodes[self.origin].memory;
        took_part
            .iter()
            .zip(nodes)
            .filter(|&(&t, node)| t && node.memory != home)
            .map(|(_, node)| self.platform.link(home, node.memory).barrier_us)
            .fold(0.0, f64::max)
    }

    fn outcome(self) -> Outcome {
        let seconds = self.now as f64 * 1e-9;
        let busy_seconds: Vec<f64> = self.busy_ns.iter().map(|&b| b as f64 * 1e-9).collect();
        let joules = self
            .platform
            .nodes
            .iter()
            .zip(&busy_seconds)
            .map(|(node, busy)| {
                let Power {
                    idle_watts,
                    core_watts,
                } = node.power;
                idle_watts * seconds + core_watts * busy
            })
            .sum();
        Outcome {
            seconds,
            serial_seconds: self.serial_ns as f64 * 1e-9,
            joules,
            busy_seconds,
            loops: self.loops,
        }
    }
}
