//! Fixed pieces: how a settled loop that is short is handed out.
//!
//! A split into ranges from which threads take chunks evens out what the plan did not know. Three costs
//! come with it: a cache line moves between cores for each chunk, threads end up to one chunk apart, and each
//! execution reads clocks and takes a lock. In a loop of some 10 us these costs are larger than the gain.
//! Such a loop is cut by the plan into one piece per thread, as a static schedule would do, and only some of
//! its executions are measured.
//!
//! [`pieces`] makes the cut. `Form` chooses between chunks and fixed pieces by pairs of executions, one of each.
//!
//! Pure, like the whole crate: the driver decides which executions are measured, and brings the measurements.

use crate::csr;
use crate::decide::Decision;
use crate::gain::{Gain, Kept, Run, Turn, ORDINARY};
use crate::limits::AROUND_NS;
use crate::placement::Placement;
use crate::plain::static_piece;
use crate::ranges::Range;
use crate::ways::Way;

/// One piece for each thread, by thread number: a node's share is one contiguous range, of which its threads
/// get equal parts. A thread of a node without a share gets an empty piece. `out` is overwritten.
pub fn pieces(n: u64, decision: &Decision, team: &Placement, out: &mut Vec<Range>) {
    out.clear();
    out.resize(team.threads(), Range::default());
    let all = Range { start: 0, end: n };
    let of_nodes = || csr::split(all, decision.shares());
    let known = decision.shares().count() == team.nodes().len()
        && (of_nodes().zip(team.nodes())).all(|(r, s)| r.is_empty() || s.threads > 0);
    if !known {
        // The plan is for other nodes, or gives a share to a node without threads: use equal pieces.
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

/// Expected nanoseconds of the longest of `pieces`, one for each thread of `team`, by the rates that `decision` rests
/// on; 0 where none was measured.
#[must_use]
pub fn expected_ns(pieces: &[Range], decision: &Decision, team: &Placement) -> f64 {
    let ns = |(tid, piece): (usize, &Range)| {
        let rate = decision.nodes.get(team.node_of(tid))?.rate?;
        Some(piece.len() as f64 * rate.ns_per_iteration)
    };
    pieces.iter().enumerate().filter_map(ns).fold(0.0, f64::max)
}

/// Loops that take longer than this, in nanoseconds, are always handed out in chunks: there the clocks and
/// the lock cost next to nothing, and evening out may gain much.
const SHORT_NS: f64 = 200_000.0;

/// Which form suits one settled loop: by a trial as any two ways have ([`crate::gain`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    gain: Gain,
    /// In which form the next execution runs.
    fixed: bool,
}

/// To the trial, these are a virtual team and an ordinary one: where both take equally long, the second one is kept.
const CHUNKS: Way = Way::Virtual;
const PIECES: Way = ORDINARY;

impl Default for Form {
    fn default() -> Form {
        let gain = Gain::restored(Kept {
            way: CHUNKS,
            ns: 0.0,
            confirmed: false,
        });
        Form { gain, fixed: false }
    }
}

impl Form {
    /// Learns from a settled execution of `iterations` iterations, `fixed` or in chunks, that took `span_ns`
    /// nanoseconds from the first thread's arrival to the last thread's leaving. Returns whether the next
    /// execution runs in fixed pieces.
    pub(crate) fn update(&mut self, fixed: bool, span_ns: u64, iterations: u64) -> bool {
        let span = span_ns as f64;
        let is_long = span > SHORT_NS && !fixed;
        // Another form: this execution began before the form changed.
        if fixed == self.fixed && !is_long {
            // Most of what fixed pieces save lies outside of the measured span: the locks before and after the loop.
            let (way, outside) = if fixed {
                (PIECES, 0.0)
            } else {
                (CHUNKS, AROUND_NS)
            };
            // Trip counts differ.
            let each = (span + outside) / iterations.max(1) as f64;
            let run = Run {
                elapsed_ns: 1000.0 * each,
                ..Run::default()
            };
            self.gain.learn(way, &run);
            // What a trial of so short a loop loses is not felt.
            let turn = Turn {
                may_be_alone: false,
                left_ns: f64::INFINITY,
            };
            self.fixed = self.gain.turn(turn) == PIECES;
        }
        self.fixed
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::decide::{decide, NodeInput, Objective};
    use crate::probe::NodeRate;
    use proptest::prelude::*;

    fn plan(ns: &[f64], team: &Placement) -> Decision {
        let inputs: Vec<NodeInput> = ns
            .iter()
            .zip(team.nodes())
            .map(|(&ns, shape)| NodeInput {
                threads: shape.threads,
                rate: Some(NodeRate::of(ns)),
                ..NodeInput::default()
            })
            .collect();
        decide(&inputs, Objective::Time)
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
            let in_trial = form.gain.is_in_trial();
            fixed = form.update(fixed, if fixed { 60_000 } else { 50_000 }, 100);
            if in_trial && !form.gain.is_in_trial() {
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
            form.fixed && !form.gain.is_in_trial()
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
