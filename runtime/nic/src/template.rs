//! Templates: descriptors that lie in the send queue before anybody posts.
//!
//! Most of a descriptor is known when the queue pair is made: opcode, flags, queue number and the keys of
//! the symmetric heap. [`Templates`] remembers which shape each slot holds; posting then stores the
//! words that change and leaves the rest. Seed paper: Hamidouche and LeBeane, "GPU Initiated OpenSHMEM",
//! section 5.3.

use crate::descriptor::{pair, Descriptor, Inline, Key, Local, Remote, Source, Words, Work};

/// The words of a slot, however they are stored.
pub trait Slot {
    /// Stores one word.
    fn set(&mut self, word: usize, value: u64);
}

impl Slot for Words {
    fn set(&mut self, word: usize, value: u64) {
        self[word] = value;
    }
}

/// What a slot is prepared for. Two descriptors of one shape differ only in the words that posting stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Anything; every word must be stored.
    Other,
    /// A put from memory.
    Put,
    /// A put from memory that writes a completion.
    PutSignalled,
    /// A get.
    Get,
    /// A get that writes a completion.
    GetSignalled,
}

/// The static half of a queue pair's descriptors.
#[derive(Clone, Copy, Debug)]
pub struct Statics {
    /// Number of the queue pair.
    pub queue_pair: u32,
    /// Region that operations take from and deliver to.
    pub local: Key,
    /// Region of the targets (the same key at every peer, as in a symmetric heap).
    pub remote: Key,
}

/// What changes from one put or get to the next.
#[derive(Clone, Copy, Debug)]
pub struct Dynamic {
    /// Target.
    pub peer: u32,
    /// Address at the target.
    pub remote: u64,
    /// Address here.
    pub local: u64,
    /// Bytes.
    pub length: u32,
}

/// Shapes of the slots of one queue pair, and what they have in common.
#[derive(Debug)]
pub struct Templates {
    statics: Statics,
    shapes: Vec<Shape>,
}

impl Templates {
    /// For `depth` slots, none of them prepared.
    pub fn new(statics: Statics, depth: usize) -> Templates {
        Templates {
            statics,
            shapes: vec![Shape::Other; depth],
        }
    }

    /// The static half.
    pub fn statics(&self) -> Statics {
        self.statics
    }

    /// The whole descriptor of a shape, the one that patching must be equal to.
    pub fn full(&self, shape: Shape, d: Dynamic) -> Option<Descriptor> {
        let local = Local {
            address: d.local,
            key: self.statics.local,
        };
        let remote = Remote {
            address: d.remote,
            key: self.statics.remote,
        };
        let work = match shape {
            Shape::Other => return None,
            Shape::Put | Shape::PutSignalled => Work::Put {
                source: Source::Memory(local, d.length),
                remote,
                signal: None,
            },
            Shape::Get | Shape::GetSignalled => Work::Get {
                local,
                length: d.length,
                remote,
            },
        };
        Some(Descriptor {
            queue_pair: self.statics.queue_pair,
            peer: d.peer,
            signalled: matches!(shape, Shape::PutSignalled | Shape::GetSignalled),
            count: None,
            count_source: false,
            work,
        })
    }

    /// Stores the template of `shape` into a slot, before or after its use.
    ///
    /// Out of line: it happens when a queue pair is made, and where shapes alternate.
    #[cold]
    #[inline(never)]
    pub fn prepare(&mut self, index: usize, shape: Shape, slot: &mut dyn Slot) {
        let nothing = Dynamic {
            peer: 0,
            remote: 0,
            local: 0,
            length: 0,
        };
        if let Some(d) = self.full(shape, nothing) {
            for (i, w) in d.encode().into_iter().enumerate() {
                slot.set(i, w);
            }
        }
        self.shapes[index] = shape;
    }

    /// What a slot is prepared for.
    #[inline]
    pub fn shape(&self, index: usize) -> Shape {
        self.shapes.get(index).copied().unwrap_or(Shape::Other)
    }

    /// The same, without a look at how many slots there are.
    ///
    /// # Safety
    /// `index` is below the depth that the templates were made with.
    #[inline(always)]
    pub unsafe fn shape_unchecked(&self, index: usize) -> Shape {
        // SAFETY: this function's contract: the index is below the depth.
        unsafe { *self.shapes.get_unchecked(index) }
    }

    /// Makes the slot the descriptor of `shape` and `d`: four words where it is prepared for that, all of
    /// them where another shape was posted into it last.
    #[inline]
    pub fn patch<S: Slot>(&mut self, index: usize, shape: Shape, d: Dynamic, slot: &mut S) {
        if self.shape(index) != shape {
            self.prepare(index, shape, slot);
        }
        self.change(d, slot);
    }

    /// Stores the four words that change into a slot that is prepared.
    #[inline(always)]
    pub fn change<S: Slot>(&self, d: Dynamic, slot: &mut S) {
        slot.set(1, pair(d.peer, 0));
        slot.set(2, d.remote);
        slot.set(4, pair(d.length, self.statics.local.0));
        slot.set(5, d.local);
    }

    /// Says that a descriptor of another kind was stored into the slot.
    #[inline(always)]
    pub fn overwritten(&mut self, index: usize) {
        if let Some(shape) = self.shapes.get_mut(index) {
            *shape = Shape::Other;
        }
    }
}

/// An inline value of 1 to 8 bytes, as the `p` routines of OpenSHMEM post it.
pub fn inline_word(value: u64, bytes: usize) -> Option<Inline> {
    value.to_le_bytes().get(..bytes).and_then(Inline::new)
}
