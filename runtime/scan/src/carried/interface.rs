//! What a followed function has to do with its caller's registers.

use std::collections::{BTreeMap, BTreeSet};

use super::function::{Function, Location, FLAGS, POINTED};
use crate::findings::Frame;
use crate::graph::Graph;
use crate::state::CALLER_SAVED;

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
    /// It reads and writes whatever a call may.
    pub(crate) fn any() -> Interface {
        Interface {
            takes: caller_saved().collect(),
            changes: caller_saved().collect(),
            keeps: true,
            reads_stack: true,
            hands_back: caller_saved().collect(),
        }
    }

    /// What a function writes, where it has not been followed: it may read anything.
    pub(crate) fn written(graph: &Graph, known: &BTreeMap<u64, Interface>) -> Interface {
        let frame = Frame::default();
        let Some(function) = Function::read(graph, &frame, known, false) else {
            return Interface::any();
        };
        let written: BTreeSet<Location> = function
            .effects
            .iter()
            .flat_map(|effect| effect.writes())
            .collect();
        Interface {
            takes: caller_saved().collect(),
            changes: caller_saved().filter(|l| written.contains(l)).collect(),
            keeps: true,
            reads_stack: true,
            hands_back: caller_saved().collect(),
        }
    }

    pub(crate) fn of(graph: &Graph, frame: &Frame, known: &BTreeMap<u64, Interface>) -> Interface {
        let function = Function::read(graph, frame, known, false);
        let Some((function, first)) = function.and_then(|f| f.entry().map(|first| (f, first)))
        else {
            return Interface::any();
        };
        let live = function.live();
        let written: BTreeSet<Location> = function
            .effects
            .iter()
            .flat_map(|effect| effect.writes())
            .collect();
        let handed_back = function.handed_back(known);
        Interface {
            takes: caller_saved().filter(|l| live.has(first, *l)).collect(),
            changes: caller_saved().filter(|l| written.contains(l)).collect(),
            keeps: handed_back.is_none(),
            reads_stack: function.reads_stack(),
            hands_back: handed_back.unwrap_or_else(|| caller_saved().collect()),
        }
    }
}

pub(super) fn caller_saved() -> impl Iterator<Item = Location> {
    CALLER_SAVED.into_iter().chain(FLAGS..POINTED)
}
