//! How the pieces of a region are dealt to its runners, and the record of its execution.
//!
//! To the scheduler, a region that runs as virtual threads is a loop whose iterations are its pieces
//! ([`crate::virtual_team`]). Its runners are the loop's threads. [`Deal`] gives each runner a share by what
//! is known of that loop; [`record`] turns the runners' times into a record, from which the cache learns by
//! the same rules as for any loop.

use crate::cache::Known;
use crate::decide::{decide, NodeInput, Objective};
use crate::placement::Placement;
use crate::record::{Learning, LoopRecord, Tally};
use crate::schedule::{Ahead, Kind};
use std::sync::Arc;

/// How pieces are dealt to runners.
#[derive(Clone, Debug, PartialEq)]
pub struct Deal {
    /// Each runner's share of the pieces, in any unit.
    pub weights: Vec<f64>,
    /// Runners keep to their own blocks of pieces: none is stolen.
    pub keep: bool,
    /// Nanoseconds that each runner needs for a piece; 0: not known.
    pub paces: Vec<f64>,
}

impl Deal {
    /// The deal for the runners of `team` under `schedule`, by what is `known` of the region. `suspends`: the
    /// region's virtual threads wait for each other. Then shares were learned for stretches in which nobody
    /// can steal.
    #[must_use]
    pub fn new(schedule: &Kind, team: &Placement, known: Option<&Known>, suspends: bool) -> Deal {
        let threads = team.threads();
        let rate = |t: usize| {
            let rate = known?.rates.get(team.node_of(t)).copied()?;
            rate.map(|r| r.ns_per_iteration)
        };
        let each = |weight: &dyn Fn(usize) -> f64| (0..threads).map(weight).collect();
        let plan = known.and_then(|k| k.plan.as_deref());
        let (weights, keep) = match (schedule.name().row().ahead, plan) {
            (Ahead::Given, _) => {
                let ratios = schedule.ratios();
                let ratio = |t| ratios.get(team.node_of(t)).copied().unwrap_or(0.0);
                (each(&ratio), true)
            }
            (Ahead::Learned, Some(plan)) => {
                let shares: Vec<f64> = plan.shares().collect();
                let share = |t| {
                    let node = team.node_of(t);
                    let here = team.nodes()[node].threads;
                    shares.get(node).copied().unwrap_or(0.0) / f64::from(here.max(1))
                };
                // One node alone was chosen: the others would not help it by stealing.
                (each(&share), suspends || plan.one_node().is_some())
            }
            (Ahead::Learned, None) => {
                // No plan yet: in proportion to the rates that earlier executions measured, if all were
                // measured.
                let all = (0..threads).all(|t| rate(t).is_some());
                let speed = |t| rate(t).filter(|_| all).map_or(1.0, |ns| 1.0 / ns);
                (each(&speed), false)
            }
            (Ahead::No, _) => (vec![1.0; threads], false),
        };
        Deal {
            weights,
            keep,
            paces: each(&|t| rate(t).unwrap_or(0.0)),
        }
    }
}

/// The record of one execution of a region in `pieces` pieces on `team`, which took `elapsed_ns` nanoseconds.
/// `runners`: for each, nanoseconds in the program's code, and pieces begun. `known`: what the execution's
/// [`Deal::new`] was given.
#[must_use]
pub fn record(
    schedule: &Kind,
    pieces: u32,
    team: &Placement,
    runners: &[(u64, u32)],
    elapsed_ns: u64,
    known: Option<&Known>,
    objective: Objective,
) -> LoopRecord {
    let tally = Tally::new(team.threads());
    for (t, &(busy_ns, begun)) in runners.iter().enumerate() {
        tally.arrive(t);
        tally.add(t, u64::from(begun));
        tally.leave(t, busy_ns);
    }
    let mut record = LoopRecord::new(schedule.clone(), u64::from(pieces), team, &tally);
    record.elapsed_ns = elapsed_ns;
    let plan = known.and_then(|k| k.plan.as_ref());
    let all_worked = record
        .nodes
        .iter()
        .all(|n| n.threads == 0 || n.iterations > 0);
    record.learning = match plan {
        Some(_) => Learning::Settled,
        None if all_worked => Learning::Probed,
        None => Learning::Undecided,
    };
    record.decision = plan.map(Arc::clone).or_else(|| {
        let inputs: Vec<NodeInput> = record
            .nodes
            .iter()
            .map(|n| NodeInput {
                threads: n.threads,
                rate: n.rate(),
                power: n.power,
            })
            .collect();
        Some(Arc::new(decide(&inputs, objective)))
    });
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::Power;

    const HETPROBE: Kind = Kind::HetProbe { probe: 0.1 };

    /// A fast core that draws 30 W and one of a third of its speed that draws 2 W.
    fn unlike() -> Placement {
        let draws = |core_watts| {
            Some(Power {
                idle_watts: 0.0,
                core_watts,
            })
        };
        Placement::placed(&[0, 1], 2).with_power(&[draws(30.0), draws(2.0)])
    }

    #[test]
    fn the_first_execution_decides_by_the_objective_that_was_asked_for() {
        let decided = |objective| {
            let runners = [(1_200_000, 12), (1_200_000, 4)];
            let team = unlike();
            let r = record(&HETPROBE, 16, &team, &runners, 1_200_000, None, objective);
            assert_eq!(r.learning, Learning::Probed);
            let d = r.decision.expect("there is always one");
            (d.one_node(), d.objective)
        };
        assert_eq!(decided(Objective::Time), (None, Objective::Time));
        assert_eq!(decided(Objective::Energy), (Some(1), Objective::Energy));
    }

    #[test]
    fn who_is_faster_gets_more_and_who_is_unknown_the_same() {
        let team = unlike();
        let fresh = Deal::new(&HETPROBE, &team, None, true);
        assert_eq!((fresh.weights, fresh.keep), (vec![1.0, 1.0], false));
        let ratios = Kind::StaticCsr {
            ratios: [3.0, 1.0].into(),
        };
        let told = Deal::new(&ratios, &team, None, false);
        assert_eq!((told.weights, told.keep), (vec![3.0, 1.0], true));
        assert_eq!(told.paces, [0.0, 0.0]);
    }

    #[test]
    fn a_node_that_began_nothing_is_not_known() {
        let runners = [(1000, 16), (0, 0)];
        let (team, time) = (unlike(), Objective::Time);
        let r = record(&HETPROBE, 16, &team, &runners, 1000, None, time);
        assert_eq!(r.learning, Learning::Undecided);
    }
}
