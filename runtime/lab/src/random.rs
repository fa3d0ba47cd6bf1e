//! Random machines and programs, to test a rule that must not be fitted to any single one.
//!
//! Everything is drawn from wide ranges, most of them evenly by order of magnitude: two or three nodes of
//! unlike cores, each with its own memory, links from a fast adapter's to a slow network's, programs of one
//! to three loops over one to three arrays, walked along or across, shared or not, once or hundreds of times.

use super::cost::{hash, unit};
use super::platform::{KernelOnNode, LinkModel, Node, Platform};
use super::program::{run, Outcome, Strategy};
use super::workload::{Access, Array, LoopModel, Pattern, Serial, Spread, Workload};
use hetmp_sched::decide::Objective;
use hetmp_sched::energy::Power;
use hetmp_sched::schedule::{Kind, Schedule, DEFAULT_FRACTION};
use std::collections::BTreeMap;

/// The most that a program's time may be over that of the best single node, or of staying at home.
pub const ALLOWED: f64 = 1.06;

/// Draws numbers, one after the other.
struct Draw(u64);

impl Draw {
    fn unit(&mut self) -> f64 {
        self.0 = hash(self.0);
        unit(self.0)
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.unit() * n as f64) as u64
    }

    /// Evenly by order of magnitude.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A machine and a program for `seed`.
#[must_use]
pub fn random(seed: u64) -> (Platform, Workload) {
    let mut draw = Draw(hash(seed ^ 0x5eed));
    let platform = machine(&mut draw, seed);
    let cores = f64::from(platform.nodes[0].cores);
    (platform, program(&mut draw, seed, cores))
}

fn machine(draw: &mut Draw, seed: u64) -> Platform {
    let memories = if draw.below(4) == 0 { 3 } else { 2 };
    let nodes = (0..memories)
        .map(|memory| Node {
            name: format!("node{memory}"),
            cores: draw.one_of(&[2, 4, 8, 16, 32, 64, 96]),
            memory,
            bandwidth: draw.between(20.0, 200.0),
            miss_ns: 0.0,
            default: KernelOnNode {
                speed: if memory == 0 {
                    1.0
                } else {
                    draw.between(0.1, 2.0)
                },
                ..KernelOnNode::default()
            },
            kernels: BTreeMap::new(),
            power: Power::default(),
        })
        .collect();
    let fault_us = draw.between(5.0, 200.0);
    let link = LinkModel {
        fault_us,
        occupancy_us: draw.between(0.3, 4.0),
        barrier_us: fault_us * draw.between(5.0, 30.0),
        threshold_us: fault_us * draw.between(1.5, 3.0),
    };
    Platform {
        name: format!("random {seed}"),
        nodes,
        memories,
        links: vec![link; memories * memories],
        counters: draw.below(2) == 0,
        call_ns: 100.0,
        fork_us: 10.0,
        jitter: 0.02,
    }
}

fn program(draw: &mut Draw, seed: u64, cores: f64) -> Workload {
    let arrays: Vec<Array> = (0..1 + draw.below(3))
        .map(|i| {
            let pages = draw.between(64.0, 60_000.0);
            let pages_per_unit = (pages / 800.0).ceil();
            Array {
                name: format!("a{i}"),
                units: (pages / pages_per_unit) as u64,
                pages_per_unit: pages_per_unit as u64,
            }
        })
        .collect();
    let loops = (0..1 + draw.below(3))
        .map(|i| {
            let iterations = draw.between(500.0, 50_000.0) as u64;
            let alone_ns = draw.between(0.2e6, 100e6);
            let ns = alone_ns * cores / iterations as f64;
            LoopModel {
                name: format!("l{i}"),
                kernel: String::new(),
                iterations,
                ns,
                instructions: ns * 1.2,
                misses_per_kilo: draw.between(0.05, 10.0),
                cold_misses: 0.0,
                spread: draw.one_of(&[
                    Spread::Even,
                    Spread::Uniform(0.3),
                    Spread::Exponential(0.5),
                    Spread::Ramp(0.5),
                ]),
                mix: None,
                accesses: accesses(draw, &arrays, ns),
            }
        })
        .collect();
    let writes = draw.below(3) == 0;
    Workload {
        name: format!("random {seed}"),
        round: Serial {
            ms: draw.between(0.001, 1.0),
            accesses: (writes.then_some(Access {
                array: draw.below(arrays.len() as u64) as usize,
                pattern: Pattern::All,
                writes: true,
            }))
            .into_iter()
            .collect(),
        },
        arrays,
        start: Serial {
            ms: draw.between(0.1, 10.0),
            accesses: Vec::new(),
        },
        repeat: draw.between(1.0, 150.0) as u64,
        loops,
        chunk: 16,
    }
}

/// What the iterations of a loop touch, of which each takes `ns`: no more than a core can in that time.
fn accesses(draw: &mut Draw, arrays: &[Array], ns: f64) -> Vec<Access> {
    /// A core reads a page in this time, or a line of one.
    const PAGE_NS: f64 = 250.0;
    const LINE_NS: f64 = 50.0;
    (0..1 + draw.below(3))
        .map(|_| {
            let pattern = match draw.below(8) {
                0 => Pattern::All,
                1 => Pattern::Across { rows: 20 },
                2 => Pattern::Scattered {
                    per_iteration: draw.between(0.01, 0.5),
                },
                _ => Pattern::Block {
                    halo: draw.below(2),
                },
            };
            let array = draw.below(arrays.len() as u64) as usize;
            let Array {
                units,
                pages_per_unit,
                ..
            } = arrays[array];
            let least_ns = match pattern {
                Pattern::All => PAGE_NS * (units * pages_per_unit) as f64,
                Pattern::Across { rows } => LINE_NS * (rows * pages_per_unit) as f64,
                _ => 0.0,
            };
            let pattern = match least_ns <= ns {
                true => pattern,
                false => Pattern::Block { halo: 1 },
            };
            Access {
                array,
                pattern,
                writes: pattern != Pattern::All && draw.below(2) == 0,
            }
        })
        .collect()
}

/// HetProbe's time against choices made by hand: each value is that choice's time over HetProbe's, so 1 is as
/// good and less is slower.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgainstBest {
    /// The best of all: each node alone, the ideal split, `cross-dynamic`.
    pub best: f64,
    /// The best node alone, without the first execution of each loop.
    pub single_later: f64,
    /// As `single_later`, for somebody who knows everything but whose loops run at home the first time: from the second
    /// execution on, all run on the node that is then best.
    pub oracle_later: f64,
    /// As `oracle_later`, for somebody who does not know how long the program goes on, and who must not be more than 6
    /// % behind the first node if the program ends now: all loops move as soon as that is kept whatever follows
    /// ([`earliest`]).
    pub careful_later: f64,
    /// As `single_later`, in each loop's last execution alone.
    pub last: f64,
    /// Executions of each loop.
    pub executions: u64,
    /// The best node alone, after the first executions, over all of those on the first node.
    pub gains: f64,
}

/// Runs `workload` on `platform` by every choice and under HetProbe. It starts at the first
/// node in any case; a node alone runs all loops from their first execution on.
#[must_use]
pub fn against_best(platform: &Platform, workload: &Workload, seed: u64) -> AgainstBest {
    let go = |kind: Kind| {
        let strategy = Strategy::All(Schedule::plain(kind));
        run(platform, workload, &strategy, Objective::Time, seed)
    };
    let later = |o: &Outcome| o.seconds - o.loops.iter().map(|l| l.first_seconds).sum::<f64>();
    let last = |o: &Outcome| o.loops.iter().map(|l| l.last_seconds).sum::<f64>();
    let nodes = platform.nodes.len();
    let singles: Vec<Outcome> = (0..nodes)
        .map(|node| {
            let ratios = (0..nodes).map(|i| f64::from(u8::from(i == node))).collect();
            go(Kind::StaticCsr { ratios })
        })
        .collect();
    let hetprobe = go(Kind::HetProbe {
        probe: DEFAULT_FRACTION,
    });
    let ideal = run(
        platform,
        workload,
        &Strategy::IdealCsr,
        Objective::Time,
        seed,
    );
    let least = |times: &mut dyn Iterator<Item = f64>| times.fold(f64::INFINITY, f64::min);
    let single_later = least(&mut singles.iter().map(later));
    let moving = |executions: u64, node: usize| {
        later(&run(
            platform,
            workload,
            &Strategy::HomeThen(executions, node),
            Objective::Time,
            seed,
        ))
    };
    let oracle = (0..nodes).map(|node| moving(1, node));
    let careful = (0..nodes).map(|node| {
        let executions = match node {
            0 => workload.repeat,
            _ => earliest(platform, workload, seed, node),
        };
        moving(executions, node)
    });
    let oracle_later = least(&mut { oracle });
    let careful_later = least(&mut { careful });
    let all = singles.iter().chain([&ideal]).map(|o| o.seconds);
    let best = least(&mut all.chain([go(Kind::CrossDynamic).seconds]));
    AgainstBest {
        best: best / hetprobe.seconds,
        single_later: single_later / later(&hetprobe),
        oracle_later: single_later / oracle_later,
        careful_later: single_later / careful_later,
        last: least(&mut singles.iter().map(last)) / last(&hetprobe),
        executions: workload.repeat,
        gains: later(&singles[0]) / single_later,
    }
}

/// After how many executions at home all loops can move to `node`, where the program must not be more than 6 % behind
/// home if the executions after the move are the last: what moving costs is then a sixteenth of the time so far. All
/// executions, if never.
fn earliest(platform: &Platform, workload: &Workload, seed: u64, node: usize) -> u64 {
    let kept = |executions: u64| {
        let program = Workload {
            repeat: executions + 1,
            ..workload.clone()
        };
        let seconds = |node| {
            let strategy = Strategy::HomeThen(executions, node);
            run(platform, &program, &strategy, Objective::Time, seed).seconds
        };
        seconds(node) <= ALLOWED * seconds(0)
    };
    // The move costs the same whenever it comes, so that what is kept once is kept from there on.
    let (mut low, mut high) = (1, workload.repeat);
    while low < high {
        let middle = low + (high - low) / 2;
        if kept(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
