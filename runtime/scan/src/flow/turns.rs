//! Loops of single iterations in a function that is being followed, and what must be known of its callees for them.

use std::collections::{BTreeMap, BTreeSet};

use super::settle::States;
use super::{Analysis, DEPTH};
use crate::carried::{self, Interface};
use crate::findings::Frame;
use crate::graph::Graph;
use crate::nodes::Next;
use crate::state::State;
use crate::strided::Strided;
use crate::Callee;

impl Analysis<'_> {
    /// Whether a function whose numbers escape may have loops of single iterations in which they do not.
    pub(super) fn may_be_strided(&self) -> bool {
        // The bounds of chunks pass for plain numbers, and yet each thread has its own: where a loop of single
        // iterations began or ended there, its iterations would be no longer the same in a team of any size.
        let divides = !self.findings.splits.is_empty();
        self.findings.id.is_some() && self.asked == (true, true) && !divides
    }

    /// Looks for loops of single iterations, which threads take in turn, and remembers them in the graph.
    pub(super) fn finds_strided(
        &mut self,
        graph: &mut Graph,
        states: &States,
        frame: &Frame,
    ) -> bool {
        let mut known = BTreeMap::new();
        self.written_by_callees(graph, &mut known, 0);
        let findings = self.findings.clone();
        let mut before = |header: u64, from: u64| {
            let (leader, state) = states.of_block(graph, from)?;
            let mut reached = None;
            let mut send = |to: u64, state: &State| {
                if to == header {
                    reached = Some(state.clone());
                }
            };
            let mut frame = frame.clone();
            self.block(
                graph,
                leader,
                state.clone(),
                &mut frame,
                &mut send,
                &mut None,
            )
            .ok()?;
            reached
        };
        let mut found = carried::strided(graph, frame, &known, &mut before);
        self.findings = findings;
        found.retain(|strided: &Strided| {
            strided
                .callees
                .iter()
                .all(|&callee| self.waits_for_no_team(callee, &mut BTreeSet::new()))
        });
        graph.strided = found;
        !graph.strided.is_empty()
    }

    /// Finds out which registers the functions of the object that a function calls change: compilers know that, too.
    fn written_by_callees(
        &mut self,
        graph: &Graph,
        known: &mut BTreeMap<u64, Interface>,
        depth: usize,
    ) {
        let callees = graph.nodes.values().filter_map(|node| match &node.next {
            Next::Call { callee, .. } | Next::TailCall(callee) => match callee {
                Callee::Inside(target) => Some(*target),
                _ => None,
            },
            _ => None,
        });
        for target in callees {
            if depth >= DEPTH || known.contains_key(&target) {
                continue;
            }
            // A function that calls itself may change anything there.
            known.insert(target, Interface::any(graph.machine.roles()));
            let Ok(graph) = Graph::read(self.image, target, &mut self.decoded) else {
                continue;
            };
            self.written_by_callees(&graph, known, depth + 1);
            let written = Interface::written(&graph, known);
            known.insert(target, written);
        }
    }

    /// Whether neither the function at `entry` nor those of the object that it calls call what all threads of a team
    /// must call equally often.
    fn waits_for_no_team(&mut self, entry: u64, seen: &mut BTreeSet<u64>) -> bool {
        if !seen.insert(entry) {
            return true;
        }
        let Ok(graph) = Graph::read(self.image, entry, &mut self.decoded) else {
            return false;
        };
        graph.nodes.values().all(|node| match &node.next {
            Next::Call { callee, .. } | Next::TailCall(callee) => match callee {
                Callee::Runtime(entry) => carried::is_alone(*entry),
                Callee::Inside(target) => self.waits_for_no_team(*target, seen),
                Callee::Named(_) | Callee::Unknown => true,
            },
            _ => true,
        })
    }
}
