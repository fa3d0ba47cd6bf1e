//! What a followed function has to do with its caller's registers.

use std::collections::{BTreeMap, BTreeSet};

use super::function::{Function, Location, FLAGS, POINTED, VECTORS};
use crate::code::Roles;
use crate::findings::Frame;
use crate::graph::Graph;

/// What a followed function has to do with its caller's registers, of those
/// that calls may change.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    /// It reads them before it writes them.
    pub(super) takes: Vec<Location>,
    /// It writes them.
    pub(super) changes: Vec<Location>,
    /// It may keep an address that it is given beyond its return, elsewhere than in what it returns.
    pub(super) keeps: bool,
    /// It may read arguments that are passed in memory.
    pub(super) reads_stack: bool,
    /// What it changes may be made of an address that it is given there.
    pub(super) hands_back: Vec<Location>,
}

impl Interface {
    /// It reads and writes what a call may.
    pub(crate) fn any(roles: &Roles) -> Interface {
        Interface {
            takes: caller_saved(roles).collect(),
            changes: caller_saved(roles).collect(),
            keeps: true,
            reads_stack: true,
            hands_back: caller_saved(roles).collect(),
        }
    }

    /// What a function writes, where it has not been followed: it may read anything.
    pub(crate) fn written(graph: &Graph, known: &BTreeMap<u64, Interface>) -> Interface {
        let frame = Frame::default();
        let roles = graph.machine.roles();
        let Some(function) = Function::read(graph, &frame, known, false) else {
            return Interface::any(roles);
        };
        let written: BTreeSet<Location> = function
            .effects
            .iter()
            .flat_map(|effect| effect.writes())
            .collect();
        Interface {
            takes: caller_saved(roles).collect(),
            changes: caller_saved(roles)
                .filter(|l| written.contains(l))
                .collect(),
            keeps: true,
            reads_stack: true,
            hands_back: caller_saved(roles).collect(),
        }
    }

    pub(crate) fn of(graph: &Graph, frame: &Frame, known: &BTreeMap<u64, Interface>) -> Interface {
        let roles = graph.machine.roles();
        let function = Function::read(graph, frame, known, false);
        let Some((function, first)) = function.and_then(|f| f.entry().map(|first| (f, first)))
        else {
            return Interface::any(roles);
        };
        let live = function.live();
        let written: BTreeSet<Location> = function
            .effects
            .iter()
            .flat_map(|effect| effect.writes())
            .collect();
        let handed_back = function.handed_back(known);
        Interface {
            takes: caller_saved(roles)
                .filter(|l| live.has(first, *l))
                .collect(),
            changes: caller_saved(roles)
                .filter(|l| written.contains(l))
                .collect(),
            keeps: handed_back.is_none(),
            reads_stack: function.reads_stack(),
            hands_back: handed_back.unwrap_or_else(|| caller_saved(roles).collect()),
        }
    }
}

pub(super) fn caller_saved(roles: &Roles) -> impl Iterator<Item = Location> + use<'_> {
    let kept = roles.kept_vectors.start + VECTORS..roles.kept_vectors.end + VECTORS;
    let others = (FLAGS..POINTED).filter(move |l| !kept.contains(l));
    roles.caller_saved.iter().copied().chain(others)
}
