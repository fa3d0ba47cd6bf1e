//! Chance, for tests that try every order of steps, and what it may bring.

use hetmp_sched::cache::Known;
use hetmp_sched::decide::{decide, NodeInput, Objective};
use hetmp_sched::energy::Power;
use hetmp_sched::placement::Placement;
use hetmp_sched::probe::NodeRate;
use std::sync::Arc;

/// A small random generator: a failing case is described by one number, the seed.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        // Knuth's MMIX constants.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// What an earlier execution may have left: averages, and often a plan.
pub(crate) fn known(
    team: &Placement,
    objective: Objective,
    chance: &mut Chance,
) -> Option<Arc<Known>> {
    let inputs: Vec<NodeInput> = team
        .nodes()
        .iter()
        .map(|s| NodeInput {
            threads: s.threads,
            rate: (chance.below(8) > 0).then(|| NodeRate {
                ns_per_iteration: 1.0 + chance.below(1000) as f64,
                instructions: (chance.below(2) == 0).then_some(50.0),
                cache_misses: (chance.below(2) == 0).then(|| chance.below(9) as f64 / 30.0),
            }),
            power: (chance.below(8) > 0).then(|| Power {
                idle_watts: chance.below(9) as f64,
                core_watts: chance.below(30) as f64,
            }),
        })
        .collect();
    (chance.below(3) > 0).then(|| {
        Arc::new(Known {
            rates: inputs.iter().map(|i| i.rate).collect(),
            plan: (chance.below(3) > 0).then(|| Arc::new(decide(&inputs, objective))),
            map: None,
            fixed: false,
            brief: false,
        })
    })
}
