//! Fixed pieces: how a settled loop that is short is handed out.
//!
//! A split into ranges from which threads take chunks evens out what the plan
//! did not know, at the price of a cache line that moves between cores for each
//! chunk, of a chunk's length at the end, and of a clock and a lock for each
//! execution. In a loop of some 10 us that price is larger than what it evens
//! out. Such a loop is cut by the plan into one piece a thread, as a static
//! schedule would, and only some of its executions are measured.
//!
//! [`pieces`] makes the cut. [`Form`] decides between the two forms by what
//! both have measured: the executions of a loop are tried in fixed pieces once
//! its time is known, and stay so while that is not slower.
//!
//! Pure, like all of this crate: the driver skips measurements, and brings the
//! others.

use crate::csr;
use crate::decide::Decision;
use crate::placement::Placement;
use crate::plain::static_piece;
use crate::ranges::Range;

/// One piece for each thread, in the order of their numbers: a node's share is
/// one contiguous range, of which its threads get equal parts. Empty pieces for
/// those that get nothing. `out` is overwritten.
pub fn pieces(n: u64, decision: &Decision, team: &Placement, out: &mut Vec<Range>) {
    out.clear();
    out.resize(team.threads(), Range::default());
    let all = Range { start: 0, end: n };
    let of_nodes = || csr::split(all, decision.shares());
    let known = decision.shares().count() == team.nodes().len()
        && (of_nodes().zip(team.nodes())).all(|(r, s)| r.is_empty() || s.threads > 0);
    if !known {
        // A plan for other nodes, or with a share for one without threads.
        for (tid, piece) in out.iter_mut().enumerate() {
            *piece = static_piece(n, team.threads() as u64, tid as u64);
        }
        return;
    }
    for (node, share) in of_nodes().enumerate() {
        if share.is_empty() {
            continue;
        }
        let threads = u64::from(team.nodes()[node].threads);
        for (tid, piece) in out.iter_mut().enumerate() {
            if team.node_of(tid) == node {
                let inner = static_piece(share.len(), threads, team.rank(tid) as u64);
                *piece = Range {
                    start: share.start + inner.start,
                    end: share.start + inner.end,
                };
            }
        }
    }
}

/// Loops that take longer than this, in nanoseconds, are always handed out in
/// chunks: there measuring costs nothing, and evening out may gain much.
const SHORT_NS: f64 = 200_000.0;
/// Executions in a form before it is judged.
const TRIAL: u32 = 6;
/// Weight of a new time in a form's average.
const WEIGHT: f64 = 0.2;
/// A time counts as this many times the average at most: a lost time slice says
/// nothing about a form.
const BOUND: f64 = 1.5;
/// Measured executions after which the other form is tried again; twice as many
/// each time that form has lost, up to `RARELY`.
const AGAIN: u32 = 64;
const RARELY: u32 = 4096;
/// Fixed pieces are kept while they are not slower than by this factor...
const TOLERANCE: f64 = 1.02;
/// ...or by this number of nanoseconds an execution: what fixed pieces save is for the greater
/// part outside of what is measured, the locks before and after it.
const OUTSIDE_NS: f64 = 500.0;

/// Which form suits one settled loop, by measured times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Form {
    /// Average nanoseconds per iteration in chunks, and in fixed pieces.
    ns: [Option<f64>; 2],
    /// Measured executions left of the running trial.
    left: u32,
    /// In which form the next execution runs.
    fixed: bool,
    /// The form that won the last time both were known.
    winner: Option<bool>,
    /// How long the winner keeps the field.
    rest: u32,
}

impl Form {
    /// Learns from a settled execution of `iterations` that took `span_ns` from
    /// its first thread's arrival to its last one's leaving, `fixed` or not.
    /// Returns whether the next one runs in fixed pieces.
    pub(crate) fn update(&mut self, fixed: bool, span_ns: u64, iterations: u64) -> bool {
        let span = span_ns as f64;
        let now = span / iterations.max(1) as f64;
        let of = &mut self.ns[usize::from(fixed)];
        *of = Some(match *of {
            Some(old) => old + WEIGHT * (now.min(BOUND * old) - old),
            None => now,
        });
        if span > SHORT_NS && !fixed && self.winner.is_none() {
            // Not a short one, as far as is known.
            self.left = 0;
            return self.fixed;
        }
        if fixed != self.fixed {
            // Began before the form changed.
            return self.fixed;
        }
        self.left += 1;
        match self.winner {
            // Chunks first, then pieces, then the judgement.
            None if self.left >= TRIAL && !fixed => self.turn(true),
            None if self.left >= TRIAL => self.judge(iterations),
            Some(winner) if fixed != winner && self.left >= TRIAL => self.judge(iterations),
            Some(winner) if fixed == winner && self.left >= self.rest => self.turn(!fixed),
            _ => {}
        }
        self.fixed
    }

    fn turn(&mut self, fixed: bool) {
        self.fixed = fixed;
        self.left = 0;
        // What it took long ago says little; it is measured anew.
        self.ns[usize::from(fixed)] = None;
    }

    /// Decides between the two forms, for executions of about `iterations` iterations.
    fn judge(&mut self, iterations: u64) {
        let [Some(chunks), Some(pieces)] = self.ns else {
            return;
        };
        let outside = OUTSIDE_NS / iterations.max(1) as f64;
        let fixed = pieces <= (chunks * TOLERANCE).max(chunks + outside);
        self.rest = match self.winner {
            Some(before) if before == fixed => (self.rest * 2).min(RARELY),
            _ => AGAIN,
        };
        self.winner = Some(fixed);
        self.fixed = fixed;
        self.left = 0;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::decide::{decide, NodeInput, Rules};
    use crate::probe::NodeRate;
    use proptest::prelude::*;

    fn plan(ns: &[f64], team: &Placement) -> Decision {
        let inputs: Vec<NodeInput> = ns
            .iter()
            .zip(team.nodes())
            .map(|(&ns_per_iteration, shape)| NodeInput {
                threads: shape.threads,
                rate: Some(NodeRate {
                    ns_per_iteration,
                    faults: None,
                    instructions: None,
                    cache_misses: None,
                }),
                ..NodeInput::default()
            })
            .collect();
        decide(&inputs, &Rules::default())
    }

    #[test]
    fn pieces_by_speed() {
        let team = Placement::placed(&[1, 0, 1], 2);
        let mut out = Vec::new();
        pieces(600, &plan(&[10.0, 20.0], &team), &team, &mut out);
        assert_eq!(
            out,
            [(300, 450), (0, 300), (450, 600)].map(|(s, e)| Range::new(s, e))
        );
    }

    /// Times of the two forms; how many of the first `executions` ran in pieces.
    fn run(chunks: u64, pieces: u64, executions: u32) -> u32 {
        let mut form = Form::default();
        let mut fixed = false;
        let mut count = 0;
        for _ in 0..executions {
            count += u32::from(fixed);
            fixed = form.update(fixed, if fixed { pieces } else { chunks }, 100);
        }
        count
    }

    #[test]
    fn the_faster_form_wins() {
        assert!(run(50_000, 45_000, 1000) > 900);
        assert!(run(50_000, 50_500, 1000) > 900, "a tie is for pieces");
        assert!(run(50_000, 60_000, 1000) < 100);
        assert_eq!(run(300_000, 200_000, 1000), 0, "long loops keep chunks");
        assert!(run(900, 1200, 1000) > 900, "what is not measured counts");
    }

    /// What was slower once is tried again, ever more rarely.
    #[test]
    fn both_are_tried_again() {
        let mut form = Form::default();
        let mut fixed = false;
        let mut trials = Vec::new();
        for i in 0..3000 {
            let before = fixed;
            fixed = form.update(fixed, if fixed { 60_000 } else { 50_000 }, 100);
            if fixed && !before {
                trials.push(i);
            }
        }
        let apart: Vec<i32> = trials.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(
            apart.len() >= 3 && apart.windows(2).all(|w| w[1] > w[0]),
            "{apart:?}"
        );
        // Once it is the faster one it wins.
        let won = (0..20_000).any(|_| {
            fixed = form.update(fixed, if fixed { 40_000 } else { 50_000 }, 100);
            form.winner == Some(true)
        });
        assert!(won && fixed);
    }

    proptest! {
        #[test]
        fn pieces_tile(n in prop_oneof![0u64..500, Just(u64::MAX)],
                       on in prop::collection::vec(0u32..4, 1..12),
                       ns in prop::collection::vec(0.1f64..1e4, 4),
                       other in prop::bool::ANY) {
            let team = Placement::placed(&on, 4);
            // Now and then a plan of another team.
            let planned = if other { Placement::placed(&[0, 1, 2, 3], 4) } else { team.clone() };
            let mut out = vec![Range::new(7, 9)];
            pieces(n, &plan(&ns, &planned), &team, &mut out);
            prop_assert_eq!(out.len(), team.threads());
            out.retain(|r| !r.is_empty());
            out.sort_by_key(|r| r.start);
            let mut at = 0;
            for r in out {
                prop_assert_eq!(r.start, at);
                at = r.end;
            }
            prop_assert_eq!(at, n);
        }
    }
}
