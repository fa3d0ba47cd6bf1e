//! Templates: descriptors that lie in the send queue before anybody posts.
//!
//! Most of a descriptor is known when the queue pair is made: opcode, flags, queue number and the keys of
//! the symmetric heap. [`Templates`] remembers which shape each slot holds; posting then stores the
//! words that change and leaves the rest. Seed paper: Hamidouche and LeBeane, "GPU Initiated OpenSHMEM",
//! section 5.3.
//!
//! What changes is a type of its own for each kind of operation ([`Dynamic`], [`AtomicWords`],
//! [`SignalWords`]): each is a [`Changes`], which stores its words into a slot that is prepared, and
//! knows the whole descriptor for a slot that is not.

use crate::descriptor::{
    high, low, pair, Atomic, AtomicOp, Descriptor, Fetch, Inline, Key, Local, Remote, Signal,
    SignalOp, Source, Width, Words, Work,
};

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
    /// An atomic of this operation, width and way back.
    Atomic(AtomicOp, Width, Answer),
    /// A put from memory and its signal.
    PutSignal(SignalOp),
    /// A put from memory and its signal, with a completion.
    PutSignalSignalled(SignalOp),
    /// A put of bytes that travel in the descriptor, their number, and the put's signal.
    InlineSignal(SignalOp, u8),
}

impl Shape {
    /// Whether a completion is written on success, too.
    pub fn is_signalled(self) -> bool {
        matches!(
            self,
            Shape::PutSignalled
                | Shape::GetSignalled
                | Shape::Atomic(_, _, Answer::Completion)
                | Shape::PutSignalSignalled(_)
        )
    }
}

/// What becomes of the old value of an atomic that is posted from a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nobody wants it.
    Nowhere,
    /// It comes with a completion.
    Completion,
    /// It is stored in the local region.
    Memory,
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

/// What changes from one atomic to the next.
#[derive(Clone, Copy, Debug)]
pub struct AtomicWords {
    /// Target.
    pub peer: u32,
    /// Address of the word at the target.
    pub remote: u64,
    /// Where the old value goes, with [`Answer::Memory`]; else 0.
    pub local: u64,
    /// Operand.
    pub operand: u64,
    /// Comparand of [`AtomicOp::CompareSwap`]; 0 otherwise.
    pub comparand: u64,
}

/// What changes from one put with a signal to the next.
#[derive(Clone, Copy, Debug)]
pub struct SignalWords {
    /// Target.
    pub peer: u32,
    /// Address at the target.
    pub remote: u64,
    /// Address here; of [`Shape::InlineSignal`] the bytes themselves, with zeros behind them.
    pub local: u64,
    /// Bytes; of [`Shape::InlineSignal`] as many as the shape says.
    pub length: u32,
    /// Address of the signal at the target, in the region of the templates.
    pub signal: u64,
    /// What it is set to, or what is added.
    pub value: u64,
}

/// The words that posting stores into the descriptors of some shapes.
pub trait Changes: Copy {
    /// Stores them into a slot that is prepared for `shape`.
    fn change<S: Slot>(self, shape: Shape, statics: &Statics, slot: &mut S);

    /// What the whole descriptor of `shape` asks for, and of which peer; `None` for shapes of other operations.
    fn work(self, shape: Shape, statics: &Statics) -> Option<(u32, Work)>;

    /// All of it in words. A call that takes these keeps them in registers, where a structure would be stored
    /// before anybody knows whether the call is made.
    fn parts(self) -> [u64; 5];

    /// The changes that [`Changes::parts`] has taken apart.
    fn of_parts(parts: [u64; 5]) -> Self;
}

impl Statics {
    fn at(&self, address: u64) -> Remote {
        Remote {
            address,
            key: self.remote,
        }
    }

    fn here(&self, address: u64) -> Local {
        Local {
            address,
            key: self.local,
        }
    }
}

impl Changes for Dynamic {
    #[inline(always)]
    fn change<S: Slot>(self, _: Shape, statics: &Statics, slot: &mut S) {
        slot.set(1, pair(self.peer, 0));
        slot.set(2, self.remote);
        slot.set(4, pair(self.length, statics.local.0));
        slot.set(5, self.local);
    }

    fn work(self, shape: Shape, statics: &Statics) -> Option<(u32, Work)> {
        let (local, remote) = (statics.here(self.local), statics.at(self.remote));
        let work = match shape {
            Shape::Put | Shape::PutSignalled => Work::Put {
                source: Source::Memory(local, self.length),
                remote,
                signal: None,
            },
            Shape::Get | Shape::GetSignalled => Work::Get {
                local,
                length: self.length,
                remote,
            },
            _ => return None,
        };
        Some((self.peer, work))
    }

    #[inline(always)]
    fn parts(self) -> [u64; 5] {
        let sizes = pair(self.peer, self.length);
        [sizes, self.remote, self.local, 0, 0]
    }

    fn of_parts([sizes, remote, local, ..]: [u64; 5]) -> Self {
        Dynamic {
            peer: low(sizes),
            remote,
            local,
            length: high(sizes),
        }
    }
}

impl Changes for AtomicWords {
    #[inline(always)]
    fn change<S: Slot>(self, shape: Shape, _: &Statics, slot: &mut S) {
        slot.set(1, pair(self.peer, 0));
        slot.set(2, self.remote);
        if matches!(shape, Shape::Atomic(_, _, Answer::Memory)) {
            slot.set(5, self.local);
        }
        slot.set(6, self.operand);
        slot.set(7, self.comparand);
    }

    fn work(self, shape: Shape, statics: &Statics) -> Option<(u32, Work)> {
        let Shape::Atomic(op, width, answer) = shape else {
            return None;
        };
        let atomic = Atomic {
            op,
            width,
            fetch: match answer {
                Answer::Nowhere => Fetch::No,
                Answer::Completion => Fetch::Completion,
                Answer::Memory => Fetch::Memory(statics.here(self.local)),
            },
            remote: statics.at(self.remote),
            operand: self.operand,
            comparand: self.comparand,
        };
        Some((self.peer, Work::Atomic(atomic)))
    }

    #[inline(always)]
    fn parts(self) -> [u64; 5] {
        let peer = u64::from(self.peer);
        [peer, self.remote, self.local, self.operand, self.comparand]
    }

    fn of_parts([peer, remote, local, operand, comparand]: [u64; 5]) -> Self {
        AtomicWords {
            peer: low(peer),
            remote,
            local,
            operand,
            comparand,
        }
    }
}

impl Changes for SignalWords {
    #[inline(always)]
    fn change<S: Slot>(self, shape: Shape, statics: &Statics, slot: &mut S) {
        slot.set(1, pair(self.peer, 0));
        slot.set(2, self.remote);
        if !matches!(shape, Shape::InlineSignal(..)) {
            slot.set(4, pair(self.length, statics.local.0));
        }
        slot.set(5, self.local);
        slot.set(6, self.signal);
        slot.set(7, self.value);
    }

    fn work(self, shape: Shape, statics: &Statics) -> Option<(u32, Work)> {
        let (op, source) = match shape {
            Shape::PutSignal(op) | Shape::PutSignalSignalled(op) => {
                (op, Source::Memory(statics.here(self.local), self.length))
            }
            Shape::InlineSignal(op, bytes) => {
                (op, Source::Inline(inline_word(self.local, bytes.into())?))
            }
            _ => return None,
        };
        let work = Work::Put {
            source,
            remote: statics.at(self.remote),
            signal: Some(Signal {
                remote: statics.at(self.signal),
                op,
                value: self.value,
            }),
        };
        Some((self.peer, work))
    }

    #[inline(always)]
    fn parts(self) -> [u64; 5] {
        let sizes = pair(self.peer, self.length);
        [sizes, self.remote, self.local, self.signal, self.value]
    }

    fn of_parts([sizes, remote, local, signal, value]: [u64; 5]) -> Self {
        SignalWords {
            peer: low(sizes),
            remote,
            local,
            length: high(sizes),
            signal,
            value,
        }
    }
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
    #[inline]
    pub fn statics(&self) -> &Statics {
        &self.statics
    }

    /// The whole descriptor of a shape: patching a template has to give the same words. `None` where `d` is of another
    /// kind of operation.
    pub fn full(&self, shape: Shape, d: impl Changes) -> Option<Descriptor> {
        let (peer, work) = d.work(shape, &self.statics)?;
        Some(Descriptor {
            queue_pair: self.statics.queue_pair,
            peer,
            signalled: shape.is_signalled(),
            count: None,
            count_source: false,
            work,
        })
    }

    /// Stores the whole descriptor into a slot, which is prepared for `shape` then.
    ///
    /// Out of line: it happens when a queue pair is made, and where shapes alternate.
    ///
    /// # Panics
    /// Where `d` is not of the kind of operation that `shape` is: a mistake of the caller.
    #[cold]
    #[inline(never)]
    pub fn prepare(&mut self, index: usize, shape: Shape, d: impl Changes, slot: &mut dyn Slot) {
        let whole = self.full(shape, d).expect("the words are of this shape");
        for (i, w) in whole.encode().into_iter().enumerate() {
            slot.set(i, w);
        }
        self.shapes[index] = shape;
    }

    /// What a slot is prepared for.
    #[inline]
    pub fn shape(&self, index: usize) -> Shape {
        self.shapes.get(index).copied().unwrap_or(Shape::Other)
    }

    /// The shape of a slot, without a look at how many slots there are.
    ///
    /// # Safety
    /// `index` is below the depth that the templates were made with.
    #[inline(always)]
    pub(crate) unsafe fn shape_unchecked(&self, index: usize) -> Shape {
        // SAFETY: this function's contract: the index is below the depth.
        unsafe { *self.shapes.get_unchecked(index) }
    }

    /// Makes the slot the descriptor of `shape` and `d`: the words that change where it is prepared for that, all of
    /// them where another shape was posted into it last.
    #[inline]
    pub fn patch<S: Slot>(&mut self, index: usize, shape: Shape, d: impl Changes, slot: &mut S) {
        if self.shape(index) == shape {
            d.change(shape, &self.statics, slot);
        } else {
            self.prepare(index, shape, d, slot);
        }
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
pub(crate) fn inline_word(value: u64, bytes: usize) -> Option<Inline> {
    value.to_le_bytes().get(..bytes).and_then(Inline::new)
}
