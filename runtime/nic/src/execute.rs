//! Which memory a descriptor may touch: the pure half of execution.
//!
//! [`local`] and [`remote`] take a parsed descriptor and the table of one side. They return the memory that the
//! operation will touch there, or the failure. Nothing is read or written here. A driver moves bytes only if both
//! sides have agreed, so an operation that fails has touched nothing.

use crate::descriptor::{
    Atomic, AtomicOp, CounterId, Descriptor, Failure, Fetch, Inline, Local, Remote, Signal,
    SignalOp, Source, Status, Work,
};
use crate::keys::{KeyTable, Rights, Side, Span};
use crate::trigger::Counters;

/// The initiator's part of an operation.
#[derive(Debug)]
pub enum LocalPart<'a> {
    /// No memory of the initiator.
    Nothing,
    /// Bytes from the descriptor.
    Inline(Inline),
    /// Bytes to be read.
    Read(Span<'a>),
    /// Where bytes will be written.
    Write(Span<'a>),
    /// Elements to be read and written, and the elements to combine them with.
    Update(Span<'a>, Span<'a>),
}

/// The target's part of an operation.
#[derive(Debug)]
pub enum RemotePart<'a> {
    /// No memory of the target.
    Nothing,
    /// Bytes are written here; after them the signal.
    Write(Span<'a>, Option<SignalPart<'a>>),
    /// Bytes are read here.
    Read(Span<'a>),
    /// One word.
    Atomic(Span<'a>, Atomic),
    /// A message to this port, with this tag.
    Message(u8, u32),
    /// This much is added to a counter.
    Count(CounterId, u64),
}

/// The signal of a put.
#[derive(Debug)]
pub struct SignalPart<'a> {
    /// Its word.
    pub word: Span<'a>,
    /// Set or add.
    pub op: SignalOp,
    /// Operand.
    pub value: u64,
}

/// Checks the initiator's part of an operation.
///
/// # Errors
/// The key, bounds, rights, alignment or counter are wrong.
pub fn local<'a>(
    d: &Descriptor,
    keys: &'a KeyTable,
    counters: &Counters,
) -> Result<LocalPart<'a>, Failure> {
    if let Some(c) = d.count {
        counter(c, counters)?;
    }
    let from = |source: &Source| match source {
        Source::Inline(i) => Ok(LocalPart::Inline(*i)),
        Source::Memory(l, n) => keys
            .find(
                Side::Local,
                l.key,
                l.address,
                *n as usize,
                Rights::LOCAL_READ,
            )
            .map(LocalPart::Read),
    };
    let to = |l: &Local, n: u32| {
        keys.find(
            Side::Local,
            l.key,
            l.address,
            n as usize,
            Rights::LOCAL_WRITE,
        )
        .map(LocalPart::Write)
    };
    match &d.work {
        Work::Put { source, .. } | Work::Send { source, .. } => from(source),
        Work::Get { local, length, .. } => to(local, *length),
        Work::Atomic(Atomic {
            fetch: Fetch::Memory(l),
            width,
            ..
        }) => to(l, width.bytes()),
        Work::Wait { counter: c, .. } => counter(*c, counters).map(|()| LocalPart::Nothing),
        Work::Compute {
            target,
            operand,
            length,
            ..
        } => {
            let find = |l: &Local, rights| {
                keys.find(Side::Local, l.key, l.address, *length as usize, rights)
            };
            let target = find(target, Rights::LOCAL_READ | Rights::LOCAL_WRITE)?;
            find(operand, Rights::LOCAL_READ).map(|operand| LocalPart::Update(target, operand))
        }
        Work::Atomic(_) | Work::Nop | Work::Fence | Work::Count { .. } => Ok(LocalPart::Nothing),
    }
}

/// Checks the target's part of an operation.
///
/// # Errors
/// The key, bounds, rights, alignment or counter are wrong.
pub fn remote<'a>(
    d: &Descriptor,
    keys: &'a KeyTable,
    counters: &Counters,
) -> Result<RemotePart<'a>, Failure> {
    let find =
        |r: &Remote, n: u32, rights| keys.find(Side::Remote, r.key, r.address, n as usize, rights);
    let word = |r: &Remote, n: u32, rights| {
        let span = find(r, n, rights)?;
        // The alignment of this process's address counts: that is the address that the atomic instruction uses.
        if span.start() as usize % n as usize != 0 {
            return Err(Failure {
                status: Status::Misaligned,
                value: r.address,
            });
        }
        Ok(span)
    };
    match &d.work {
        Work::Put {
            source,
            remote,
            signal,
        } => {
            let to = find(remote, source.len(), Rights::REMOTE_WRITE)?;
            let signal = match signal {
                None => None,
                Some(Signal { remote, op, value }) => Some(SignalPart {
                    word: word(remote, 8, Rights::REMOTE_ATOMIC)?,
                    op: *op,
                    value: *value,
                }),
            };
            Ok(RemotePart::Write(to, signal))
        }
        Work::Get { remote, length, .. } => {
            find(remote, *length, Rights::REMOTE_READ).map(RemotePart::Read)
        }
        Work::Atomic(a) => {
            let mut rights = Rights::REMOTE_ATOMIC;
            if a.op == AtomicOp::Read {
                rights = rights | Rights::REMOTE_READ;
            }
            word(&a.remote, a.width.bytes(), rights).map(|s| RemotePart::Atomic(s, *a))
        }
        Work::Send { port, tag, .. } => Ok(RemotePart::Message(*port, *tag)),
        Work::Count { counter: c, add } => {
            counter(*c, counters).map(|()| RemotePart::Count(*c, *add))
        }
        Work::Nop | Work::Fence | Work::Wait { .. } | Work::Compute { .. } => {
            Ok(RemotePart::Nothing)
        }
    }
}

fn counter(c: CounterId, counters: &Counters) -> Result<(), Failure> {
    if counters.has(c) {
        Ok(())
    } else {
        Err(Failure {
            status: Status::Counter,
            value: u64::from(c.0),
        })
    }
}

/// The bytes that an operation moves, for its completion and for the model of a link.
pub fn bytes(d: &Descriptor) -> u32 {
    match &d.work {
        Work::Put { source, .. } | Work::Send { source, .. } => source.len(),
        Work::Get { length, .. } | Work::Compute { length, .. } => *length,
        Work::Atomic(a) => a.width.bytes(),
        Work::Nop | Work::Fence | Work::Wait { .. } | Work::Count { .. } => 0,
    }
}
