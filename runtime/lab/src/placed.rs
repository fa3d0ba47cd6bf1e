//! Executions whose place the OpenMP runtime's rule for whole programs chooses: [`Crossings`].
//!
//! The rule says where an execution runs; this file runs it there and brings the rule its times, as the runtime does
//! (`runtime/omp/src/across/weigh.rs`). Each region is one loop that is handed out.

use super::across::Across;
use super::decided::Decided;
use super::driver::Driver;
use super::engine::{Execution, Machine, Prepared, Work};
use super::platform::{LinkModel, Platform};
use super::workload::{LoopModel, Workload};
use hetmp_sched::crossing::blocks::Blocks;
use hetmp_sched::crossing::division::Part;
use hetmp_sched::crossing::early::Threshold;
use hetmp_sched::crossing::Crossings;
use hetmp_sched::decide::Objective;
use hetmp_sched::limits::allowed_ns;
use hetmp_sched::placement::{NodeShape, Placement};
use hetmp_sched::schedule::Schedule;
use hetmp_sched::ways::Way;
use std::sync::Arc;

/// A program that starts on the first node of a machine whose link is known.
#[derive(Debug)]
pub(super) struct Placed {
    rule: Crossings,
    /// By loop: its division among nodes.
    blocks: Vec<Blocks>,
    /// The team of each node alone.
    alone: Vec<Arc<Placement>>,
    all: Arc<Placement>,
    threshold: Threshold,
    /// What trials have lost.
    lost_ns: f64,
}

/// The result of an execution.
#[derive(Debug)]
pub(super) struct Ran {
    /// What the machine says, without opening and closing the region.
    pub(super) of: Execution,
    pub(super) decided: Decided,
    /// It was a trial.
    pub(super) tried: bool,
    place: Way,
    gave_up: bool,
}

/// One loop, and what runs it.
pub(super) struct Loop<'a, 'm> {
    pub(super) at: usize,
    pub(super) model: &'a LoopModel,
    pub(super) prepared: &'a Prepared,
    pub(super) schedule: &'a Schedule,
    pub(super) machine: &'a mut Machine<'m>,
}

impl Placed {
    pub(super) fn new(platform: &Platform, workload: &Workload, team: &Arc<Placement>) -> Placed {
        let nodes = platform.nodes.len();
        let cores = |i: usize| platform.nodes[i].cores;
        let alone = |only: usize| {
            let shape = |i| NodeShape {
                threads: if i == only { cores(i) } else { 0 },
            };
            Arc::new(Placement::contiguous(
                &(0..nodes).map(shape).collect::<Vec<_>>(),
            ))
        };
        let ns = |of: fn(LinkModel) -> f64| platform.worst(of).unwrap_or(0.0) * 1000.0;
        let one_ns = ns(|l| l.fault_us);
        let mut rule = Crossings::new(nodes as u32);
        rule.overhead(ns(|l| l.barrier_us) + one_ns);
        let pages: u64 = (workload.arrays.iter())
            .map(|a| a.units * a.pages_per_unit)
            .sum();
        // Other nodes' threads wait at once, for one after the other to be served.
        let others: u32 = (1..nodes).map(cores).sum();
        let served = ns(|l| l.occupancy_us);
        rule.data(
            pages,
            served + one_ns,
            served + one_ns / f64::from(others.max(1)),
        );
        Placed {
            rule,
            blocks: vec![Blocks::default(); workload.loops.len()],
            alone: (0..nodes).map(alone).collect(),
            all: Arc::clone(team),
            threshold: Threshold::Calibrated(platform.threshold_us().unwrap_or(0.0)),
            lost_ns: 0.0,
        }
    }

    /// A serial part has waited `waited_ns` for pages.
    pub(super) fn serial(&mut self, waited_ns: u64) {
        if waited_ns > 0 {
            self.lost_ns += self.rule.fetched(waited_ns);
        }
    }

    /// Runs the loop once, from the time `start` on. [`Placed::report`] must follow.
    pub(super) fn run(&mut self, l: Loop<'_, '_>, start: u64) -> Ran {
        let (at, n) = (l.at, l.model.iterations);
        let left_ns = allowed_ns(start) as f64 - self.lost_ns;
        let place = match self.rule.starts(at, left_ns) {
            true => Way::Across,
            false => self.rule.next(at, left_ns),
        };
        let trial = match place {
            Way::Across => self.rule.trial(at, start, self.threshold),
            _ => None,
        };
        // Where a part is tried, the origin must be able to take back what others have not begun.
        let bounds = match trial.is_some_and(|t| t.part < 1.0) {
            true => None,
            false => self.blocks[at].bounds().or_else(|| {
                let speeds = self.rule.speeds(at)?;
                Blocks::given(speeds.into_iter())?.bounds()
            }),
        };
        let node = match place {
            Way::Elsewhere(node) => node,
            _ => 0,
        };
        let team = match place {
            Way::Across => &self.all,
            _ => &self.alone[node],
        };
        let mut driver = match place {
            Way::Across => {
                let loop_of = Across::new(n, team, bounds.as_deref(), trial);
                Driver::across(loop_of, n, team)
            }
            _ => Driver::new(l.schedule, n, team, Objective::Time, None),
        };
        let of = (l.machine).run(l.model, l.prepared, &mut driver, team, start);
        let share = |w: &Work| w.iterations as f64 / n.max(1) as f64;
        let decided = match place {
            Way::Across => Decided::Rule {
                shares: of.work.iter().map(share).collect(),
                why: None,
            },
            _ => Decided::Rule {
                shares: (0..self.alone.len())
                    .map(|i| f64::from(u8::from(i == node)))
                    .collect(),
                why: Some(self.rule.why(at)),
            },
        };
        Ran {
            of,
            decided,
            tried: trial.is_some(),
            place,
            gave_up: driver.gave_up(),
        }
    }

    /// Tells the rule that the execution took `ns` in all.
    pub(super) fn report(&mut self, at: usize, ran: &Ran, ns: u64) {
        let work = &ran.of.work;
        let threads = |i: usize| self.all.nodes()[i].threads;
        if ran.place == Way::Across {
            let all: u64 = work.iter().map(|w| w.iterations).sum();
            let part = |(i, w): (usize, &Work)| Part {
                cores: threads(i),
                threads: threads(i),
                work: w.iterations as f64 / all.max(1) as f64,
                ran_ns: (w.ns - w.waited_ns) as f64,
                waited_ns: w.waited_ns as f64,
                done_ns: w.ns as f64 / f64::from(threads(i).max(1)),
            };
            let parts: Vec<Part> = work.iter().enumerate().map(part).collect();
            // What small parts show is not how large ones should be.
            if !ran.gave_up && self.rule.part().is_none() {
                self.blocks[at].ran(&parts, ns as f64);
            }
            let total = self.all.threads() as u32;
            self.rule.crossed(at, &parts, total, ns as f64);
        }
        let waited = match ran.place {
            Way::Ordinary(_) => work[0].waited_ns / u64::from(threads(0).max(1)),
            _ => 0,
        };
        self.lost_ns += self.rule.ran(at, ran.place, ns, waited);
        if ran.gave_up {
            self.rule.gave_up(at);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::{random, run, Strategy};
    use hetmp_sched::decide::Objective;
    use hetmp_sched::schedule::Schedule;

    /// Trials, blocks, shares, early ends: each iteration runs once in each execution, whatever the rule chooses, and
    /// the times of loops and serial parts are the program's.
    #[test]
    fn every_execution_runs_the_whole_loop() {
        let mut tried = 0;
        for seed in 1..40 {
            let (platform, workload) = random(seed);
            for name in ["hetprobe", "hetprobe-i"] {
                let strategy = Strategy::All(Schedule::parse(name).expect("a schedule"));
                let o = run(&platform, &workload, &strategy, Objective::Time, seed);
                let mut seconds = o.serial_seconds;
                for (l, model) in o.loops.iter().zip(&workload.loops) {
                    let ran: u64 = l.iterations.iter().sum();
                    assert_eq!(ran, model.iterations * workload.repeat, "{name}, {seed}");
                    assert_eq!(l.executions, workload.repeat);
                    seconds += l.seconds;
                    tried += l.probed;
                }
                assert!((seconds / o.seconds - 1.0).abs() < 1e-6, "{name}, {seed}");
            }
        }
        assert!(tried > 20, "{tried} trials: nothing was tested");
    }
}
