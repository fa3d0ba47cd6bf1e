//! Where a loop runs when its nodes are coupled by page traffic: which places were tried, how long each took,
//! and when another place is tried.
//!
//! **Cold faults are not steady faults.** The first execution on a node moves the loop's input there, once. A
//! decision that counts this traffic keeps profitable loops at home (on the origin) for ever; a decision that
//! ignores it may divide a loop that runs only once. So there are two probings:
//!
//! 1. The first execution counts all faults that it sees. This is right for that execution.
//! 2. If the first execution decided for one node, and the loop is executed again, it is probed a second time,
//!    with every thread in the same place as before ([`crate::irregular`]). The pages are in their places now,
//!    unless other code has touched them meanwhile. So the faults of the second probing are those that every
//!    execution will have.
//!
//! After that, places compete by the measured times of whole executions. The first execution in a new place
//! is not counted, because it moves the data.
//!
//! **What trying may cost.** The second probing waits until the excess cost of the first is less than
//! [`BUDGET`] of all the time spent in the loop so far. A loop that is not worth dividing therefore loses at
//! most this part after its first execution, on any link and in any program.
//!
//! Pure: records go in, a decision comes out.

use crate::decide::{decide_seen, Choice, Decision, NodeInput, Rules, Seen, Why};
use crate::probe::NodeRate;
use crate::record::{Learning, LoopRecord};

/// Part of the time spent in a loop that looking for a better place may cost.
const BUDGET: f64 = 0.04;
/// Probings of a loop. A third would see what the second has seen.
const PROBINGS: u32 = 2;
/// If the first execution expects that dividing the loop takes at most this part of the time at home, with
/// all first traffic included, the next executions are divided at once.
const FAR_BETTER: f64 = 0.7;
/// A loop at home is harmed when this part of its time goes into faults...
const HARMED: f64 = 0.2;
/// ...in this number of executions in a row. A single one may only be bringing the loop's pages back.
const HARMED_IN_A_ROW: u32 = 2;
/// A loop that runs away from home does not rest when this part of its time goes into faults.
const RESTLESS: f64 = 0.3;
/// Weight of a new time in the average of a place.
const WEIGHT: f64 = 0.5;

/// Where an execution ran: divided over the nodes, or on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Split,
    Node(usize),
}

impl Place {
    fn of(decision: &Decision) -> Place {
        decision.one_node().map_or(Place::Split, Place::Node)
    }
}

/// What is remembered of one loop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arms {
    probings: u32,
    /// Place of the last execution.
    last: Option<Place>,
    /// Nanoseconds per iteration of the loop when divided, steady.
    split_ns: Option<f64>,
    /// Places that were tried and left for good. What a place costs depends on where the program's other
    /// loops run; if loops could return to such places, they would follow each other around without end.
    left: Vec<Place>,
    /// Executions at home in a row that lost a large part of their time to faults.
    harmed: u32,
    /// Time spent so far, in nanoseconds.
    spent_ns: f64,
    /// Nanoseconds that the last probing took more than an execution at home.
    debt_ns: f64,
}

/// How the next execution runs.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "made once for an execution and taken apart at once"
)]
pub(crate) enum Next {
    /// Run by this decision.
    Plan(Decision),
    /// Probe.
    Probe,
}

impl Arms {
    /// Do the rules of this module hold for the execution `record`? They do where remote faults were counted
    /// over a calibrated link. Elsewhere the rules of [`crate::cache`] hold.
    pub(crate) fn apply(record: &LoopRecord, rules: &Rules) -> bool {
        record.decision.as_ref().is_some_and(|d| d.linked) && rules.knows_link()
    }

    /// Is an execution by `plan` the first in its place?
    pub(crate) fn moves(&self, plan: &Decision) -> bool {
        self.last != Some(Place::of(plan))
    }

    /// Has this loop, which runs at home, lost time to faults again and again? Then loops that run away from
    /// home take its pages each time.
    pub(crate) fn is_harmed(&self) -> bool {
        self.harmed >= HARMED_IN_A_ROW
    }

    /// Sends this loop home if it runs elsewhere and its own pages do not rest there, because then it takes
    /// pages from other loops. Returns the plan that sends it home.
    pub(crate) fn recall(
        &mut self,
        plan: &Decision,
        rates: &[Option<NodeRate>],
        rules: &Rules,
    ) -> Option<Decision> {
        let place = Place::of(plan);
        let restless = rates.iter().flatten().any(|r| faulty(r, rules, RESTLESS));
        if place == Place::Node(rules.origin) || !plan.linked || !restless {
            return None;
        }
        self.left.push(place);
        let mut back = plan.clone();
        back.choice = Choice::OneNode {
            node: rules.origin,
            why: Why::LeastTime,
        };
        Some(back)
    }

    /// Learns from `record` and answers how the next execution runs. `alone` holds the nanoseconds per
    /// iteration of the whole loop on each node alone, and is updated; `inputs` makes the nodes' inputs from
    /// such times.
    pub(crate) fn learn(
        &mut self,
        record: &LoopRecord,
        rules: &Rules,
        alone: &mut [Option<f64>],
        inputs: impl Fn(&[Option<f64>]) -> Vec<NodeInput>,
    ) -> Next {
        let n = record.iterations.max(1) as f64;
        let elapsed = record.span_ns as f64;
        let now = elapsed / n;
        self.spent_ns += elapsed;
        let Some(ran) = record.decision.as_deref() else {
            return Next::Probe;
        };
        let place = Place::of(ran);
        let home = Place::Node(rules.origin);
        let settled = record.learning == Learning::Settled;
        if settled && self.last == Some(place) {
            let of = match place {
                Place::Split => &mut self.split_ns,
                Place::Node(i) => &mut alone[i],
            };
            // At home the least time counts: anything above it is caused by loops that run elsewhere.
            *of = Some(match *of {
                None => now,
                Some(old) if place == home => old.min(now),
                Some(old) => old + WEIGHT * (now - old),
            });
        } else if settled && place == home {
            alone[rules.origin] = Some(alone[rules.origin].map_or(now, |old| old.min(now)));
        } else if settled && record.renewals > 0 {
            // The division was given up while the loop ran. A division takes at least as long as this
            // execution did.
            let known = self.split_ns.unwrap_or(now);
            self.split_ns = Some(known.max(now));
        }
        let at_rest = settled && place == home && self.last == Some(home);
        let harm = record.nodes[rules.origin].rate_with_faults();
        self.harmed = match harm {
            Some(rate) if at_rest && faulty(&rate, rules, HARMED) => self.harmed + 1,
            _ => 0,
        };
        self.last = Some(place);
        let mut times = alone.to_vec();
        for place in &self.left {
            if let Place::Node(i) = *place {
                times[i] = Some(f64::INFINITY);
            }
        }
        let inputs = inputs(&times);
        let seen = Seen {
            iterations: record.iterations,
            split_ns: match self.left.contains(&Place::Split) {
                true => Some(f64::INFINITY),
                false => self.split_ns,
            },
            split: place == Place::Split,
        };
        let mut decision = decide_seen(&inputs, rules, &seen);
        if settled && Place::of(&decision) != place && place != home {
            self.left.push(place);
        }
        if !settled {
            self.probings += 1;
            let at_home = decision.expected_ns(rules.origin).unwrap_or(now);
            self.debt_ns = (elapsed - at_home * n).max(0.0);
            // Measure the time at home first, unless a division is far better even with all first traffic.
            let far_better = decision
                .expected
                .as_ref()
                .is_some_and(|e| e.split < FAR_BETTER * e.alone[rules.origin]);
            if alone[rules.origin].is_none() && !far_better {
                decision.choice = Choice::OneNode {
                    node: rules.origin,
                    why: Why::LeastTime,
                };
            }
        }
        let again = self.probings < PROBINGS
            && alone[rules.origin].is_some()
            && decision.one_node().is_some()
            && self.debt_ns <= BUDGET * self.spent_ns
            && hopeful(&inputs, rules, &seen, &decision);
        if again {
            Next::Probe
        } else {
            Next::Plan(decision)
        }
    }
}

/// Does at least `part` of the rate's time go into faults?
fn faulty(rate: &NodeRate, rules: &Rules, part: f64) -> bool {
    let fault_us = rules.link.and_then(|l| l.fault_us).unwrap_or(0.0);
    rate.faults.unwrap_or(0.0) * fault_us * 1000.0 > part * rate.ns_per_iteration
}

/// Could a division be worth it if no faults remained?
fn hopeful(inputs: &[NodeInput], rules: &Rules, seen: &Seen, now: &Decision) -> bool {
    let fault_ns = rules
        .link
        .and_then(|l| l.fault_us)
        .map_or(0.0, |us| us * 1000.0);
    let without: Vec<NodeInput> = inputs
        .iter()
        .map(|x| {
            let mut x = *x;
            if let Some(r) = &mut x.rate {
                r.ns_per_iteration = r.without_faults(fault_ns);
                r.faults = Some(0.0);
            }
            x
        })
        .collect();
    let best = decide_seen(&without, rules, seen);
    best.choice != now.choice
}
