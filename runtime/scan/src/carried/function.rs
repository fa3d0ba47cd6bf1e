//! A function as the analysis of its loops sees it, and what values are told apart.

use std::collections::{BTreeMap, BTreeSet};

use super::effect::Effect;
use crate::findings::Frame;
use crate::graph::Graph;
use crate::state::{GENERAL, VECTOR};
use crate::Form;

/// Number of a register, of the flags, or of a word of the frame.
pub(super) type Location = usize;

pub(super) const FLAGS: Location = GENERAL;
pub(super) const VECTORS: Location = FLAGS + 1;
pub(super) const MASKS: Location = VECTORS + VECTOR;
/// x87 and MMX registers.
pub(super) const FLOATS: Location = MASKS + 1;
/// What lies in the frame and is reached through pointers.
pub(super) const POINTED: Location = FLOATS + 1;
/// Memory that the thread has taken from the heap; see [`super::taken`].
pub(super) const HEAP: Location = POINTED + 1;
pub(super) const WORDS: Location = HEAP + 1;

/// What a value has to do with the division, as a set.
pub(super) type Mark = u32;
/// Computed from the split: bounds of the chunk.
pub(super) const BOUND: Mark = 1;
/// An index that grows by one.
pub(super) const INDEX: Mark = 2;
/// An index that grows by another constant: an address, for instance.
pub(super) const STRIDE: Mark = 4;
pub(super) const COUNTER: Mark = 8;
pub(super) const SUM: Mark = 16;
/// What the last iteration of a chunk left.
pub(super) const LAST: Mark = 32;
/// Not known to be zero.
pub(super) const SOME: Mark = 64;
/// Not (only) loaded from a place that an index or a bound names.
pub(super) const OWN: Mark = 128;
/// The function has put something there. What it has not is no value that a
/// program could rely on, and so none that lives from one iteration to the next.
pub(super) const SET: Mark = 256;
/// Computed from the split, and not known to be the end of the chunk plus a constant.
pub(super) const ODD: Mark = 512;
/// By what a sum was collected; see [`super::sums`].
pub(super) const ADDED: Mark = 1 << 10;
pub(super) const ORED: Mark = 1 << 11;
pub(super) const XORED: Mark = 1 << 12;
pub(super) const MOST: Mark = 1 << 13;
pub(super) const LEAST: Mark = 1 << 14;
/// Made of a sum by something that collects nothing.
pub(super) const SPOILT: Mark = 1 << 15;
/// No sum, as far as the function's own code made it.
pub(super) const PLAIN: Mark = 1 << 16;
/// All that is remembered of how a sum was made.
pub(super) const COLLECTED: Mark = ADDED | ORED | XORED | MOST | LEAST | SPOILT;

pub(super) struct Function<'a> {
    pub(super) graph: &'a Graph,
    pub(super) frame: &'a Frame,
    pub(super) at: Vec<u64>,
    pub(super) effects: Vec<Effect>,
    pub(super) successors: Vec<Vec<usize>>,
    pub(super) predecessors: Vec<Vec<usize>>,
    pub(super) words: BTreeMap<(u8, i64), Location>,
    pub(super) locations: usize,
    pub(super) inner: bool,
    /// Where the end of a chunk is computed, if all are of the same loop.
    pub(super) ends: BTreeSet<usize>,
    pub(super) form: Form,
    /// The calls outside of loops by which the thread takes memory for itself and gives it back. How often that is done
    /// only the allocator notices.
    pub(super) own_calls: BTreeSet<usize>,
}
