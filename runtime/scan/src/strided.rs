//! What is known about a loop whose iterations threads take in turn. [`crate::carried`] finds such loops.

use crate::state::State;
use crate::value::{Place, Value};

/// A loop whose chunks are single iterations, dealt out in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Strided {
    /// The first instruction of its body.
    pub(crate) header: u64,
    /// The branches that compare the index: at the loop's end (compilers may make several of it), and before the loop.
    pub(crate) branches: Vec<u64>,
    /// What names an iteration at the header.
    pub(crate) indexes: Vec<Index>,
    /// Functions that its body calls.
    pub(crate) callees: Vec<u64>,
}

/// Where an index lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Index {
    Register(usize),
    /// This many bytes of the frame.
    Slot(Place, i64),
}

impl Strided {
    /// At the header the indexes are numbers as good as any other.
    pub(crate) fn enter(&self, state: &mut State) {
        for index in &self.indexes {
            match *index {
                Index::Register(n) => state.general[n] = Value::Plain,
                Index::Slot(place, size) => state.store(place, size, Value::Plain),
            }
        }
    }
}
