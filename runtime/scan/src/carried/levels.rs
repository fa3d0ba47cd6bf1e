//! The static loops of a function: the outermost ones that end at a bound of the
//! split.

use std::collections::{BTreeMap, BTreeSet};

use super::dense::{Rows, Sets};
use super::function::{Function, Location, Mark, BOUND, FLAGS};
use super::same::Same;
use super::steps::Kind;
use crate::nodes::Next;

/// A static loop.
pub(super) struct Level {
    pub(super) header: usize,
    pub(super) nodes: BTreeSet<usize>,
    /// What lives from one iteration to the next.
    pub(super) carried: BTreeMap<Location, Kind>,
    pub(super) written: BTreeSet<Location>,
    /// Of what it writes, where iterations put something.
    pub(super) leaves: BTreeSet<Location>,
}

/// What is known about each instruction before loops are looked for.
pub(super) struct Facts {
    /// The marks, without loops.
    pub(super) bounds: Rows<Mark>,
    /// What is still needed.
    pub(super) live: Sets,
    pub(super) same: Same,
}

impl Function<'_> {
    /// Finds the outermost loops among `nodes` that end at a bound of a chunk.
    pub(super) fn levels(
        &self,
        nodes: &BTreeSet<usize>,
        splits: &BTreeSet<usize>,
        facts: &mut Facts,
        found: &mut Vec<Level>,
        depth: u32,
    ) -> Result<(), u64> {
        for cycle in cycles(nodes, &self.successors, &self.predecessors) {
            let at = cycle.first().map_or(0, |&n| self.at[n]);
            if depth > 24 {
                return Err(at);
            }
            let inner: BTreeSet<usize> = cycle.difference(splits).copied().collect();
            if inner.len() < cycle.len() {
                self.levels(&inner, splits, facts, found, depth + 1)?;
                continue;
            }
            let marked = |node: usize, l: Location| {
                let state = facts.bounds.get(node);
                state.is_some_and(|state| state[l] & BOUND != 0)
            };
            let uses = cycle.iter().any(|&node| {
                let effect = &self.effects[node];
                effect
                    .reads
                    .iter()
                    .chain(&effect.address)
                    .any(|&l| marked(node, l))
            });
            if !uses {
                continue;
            }
            let headers: Vec<usize> = cycle
                .iter()
                .copied()
                .filter(|&n| self.predecessors[n].iter().any(|p| !cycle.contains(p)))
                .collect();
            let [header] = headers[..] else {
                return Err(at);
            };
            let ends_at_bound = cycle.iter().any(|&node| {
                matches!(self.next(node), Next::Branch(_))
                    && self.successors[node].iter().any(|to| !cycle.contains(to))
                    && self.effects[node].reads.iter().any(|&l| marked(node, l))
            });
            if !ends_at_bound {
                let inner: BTreeSet<usize> =
                    cycle.iter().copied().filter(|&n| n != header).collect();
                self.levels(&inner, splits, facts, found, depth + 1)?;
                continue;
            }
            let written: BTreeSet<Location> = cycle
                .iter()
                .flat_map(|&n| self.effects[n].writes())
                .collect();
            let leaves = cycle
                .iter()
                .flat_map(|&n| self.effects[n].kills.iter().chain(&self.effects[n].may))
                .copied()
                .collect();
            let live = &facts.live;
            let is_needed = |l: Location| live.has(header, l) && l != FLAGS;
            let steps = self.steps(header, &cycle, &written, &is_needed, &mut facts.same);
            let carried = written
                .iter()
                .filter(|&&l| is_needed(l))
                .map(|&l| (l, steps.get(&l).copied().unwrap_or(Kind::Other)))
                .filter(|(_, kind)| *kind != Kind::Stays)
                .collect();
            found.push(Level {
                header,
                nodes: cycle,
                carried,
                written,
                leaves,
            });
        }
        Ok(())
    }
}

/// The maximal sets of nodes in which each can reach each other.
pub(super) fn cycles(
    nodes: &BTreeSet<usize>,
    successors: &[Vec<usize>],
    predecessors: &[Vec<usize>],
) -> Vec<BTreeSet<usize>> {
    // Flags for all instructions are much cheaper to ask than sets.
    let mut is_open = vec![false; successors.len()];
    nodes.iter().for_each(|&node| is_open[node] = true);
    let mut is_left = is_open.clone();
    let mut order = Vec::with_capacity(nodes.len());
    let mut stack = Vec::new();
    for &root in nodes {
        if !std::mem::replace(&mut is_open[root], false) {
            continue;
        }
        stack.push((root, 0));
        while let Some((node, next)) = stack.pop() {
            match successors[node].get(next) {
                Some(&to) => {
                    stack.push((node, next + 1));
                    if std::mem::replace(&mut is_open[to], false) {
                        stack.push((to, 0));
                    }
                }
                None => order.push(node),
            }
        }
    }
    let mut found = Vec::new();
    let mut open = Vec::new();
    for &root in order.iter().rev() {
        if !std::mem::replace(&mut is_left[root], false) {
            continue;
        }
        let mut all = vec![root];
        open.push(root);
        while let Some(node) = open.pop() {
            for &from in &predecessors[node] {
                if std::mem::replace(&mut is_left[from], false) {
                    all.push(from);
                    open.push(from);
                }
            }
        }
        if all.len() > 1 || successors[root].contains(&root) {
            found.push(all.into_iter().collect());
        }
    }
    found
}
