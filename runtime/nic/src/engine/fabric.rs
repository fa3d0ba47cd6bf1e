//! Execution by load and store, where the memory of both ends is mapped here. `shm` and the emulated adapter execute
//! all their descriptors so, and `tcp` those of a rank to itself.

use super::{Arrival, Domain};
use crate::descriptor::{
    AtomicOp, Completion, Descriptor, Failure, Fetch, PlainPut, Source, Status, Words, Work,
    MESSAGE_BYTES,
};
use crate::execute::{self, LocalPart, RemotePart};
use crate::inbox::Message;
use crate::keys::{Rights, Side};
use crate::memory;
use core::sync::atomic::{fence, Ordering};
use std::sync::Arc;

/// How an operation ended, and which counters of which rank it moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) status: Status,
    pub(crate) bytes: u32,
    pub(crate) value: u64,
    /// Whether counters may have changed, so that triggers must be looked at.
    pub(crate) counted: bool,
}

impl Outcome {
    pub(crate) fn failed(f: Failure) -> Outcome {
        Outcome {
            status: f.status,
            bytes: 0,
            value: f.value,
            counted: false,
        }
    }

    /// The completion to write. An error always has one; a success has one if it was signalled.
    pub(crate) fn completion(&self, ticket: u64, signalled: bool) -> Option<Completion> {
        (signalled || self.status != Status::Ok).then_some(Completion {
            ticket,
            status: self.status,
            bytes: self.bytes,
            value: self.value,
        })
    }
}

/// Parses the words that a queue pair posted.
pub(crate) fn parse(words: &Words) -> Result<Descriptor, Failure> {
    Descriptor::parse(words).map_err(|m| Failure {
        status: Status::Malformed,
        value: m as u64,
    })
}

/// Calls `use_bytes` with the bytes of a source.
pub(crate) fn with_source<R>(
    part: &LocalPart<'_>,
    use_bytes: impl FnOnce(*const u8, usize) -> R,
) -> R {
    match part {
        LocalPart::Inline(i) => {
            let (bytes, n) = i.bytes();
            use_bytes(bytes.as_ptr(), n)
        }
        LocalPart::Read(span) => use_bytes(span.start(), span.len()),
        LocalPart::Nothing | LocalPart::Write(_) | LocalPart::Update(..) => {
            use_bytes([].as_ptr(), 0)
        }
    }
}

/// Makes a message of source bytes; `None` if they are too many.
///
/// # Safety
/// `from` is valid for `n` bytes.
pub(crate) unsafe fn message(source: u32, tag: u32, from: *const u8, n: usize) -> Option<Message> {
    let mut bytes = [0u8; MESSAGE_BYTES];
    let bytes = bytes.get_mut(..n)?;
    // SAFETY: who calls has `n` valid bytes at `from`. The buffer was cut to `n` bytes.
    unsafe { memory::copy(from, bytes.as_mut_ptr(), n) };
    Message::new(source, tag, bytes)
}

/// The domains of a job that this process reaches by load and store.
#[derive(Clone, Debug)]
pub(crate) struct Fabric {
    pub(crate) domains: Arc<[Arc<Domain>]>,
}

impl Fabric {
    /// Executes one operation of `rank`. `None` if the target's inbox is full; then nothing was done.
    #[inline]
    pub(crate) fn run(&self, rank: u32, d: &Descriptor) -> Option<Outcome> {
        match self.domains.get(d.peer as usize) {
            Some(peer) => transfer(&self.domains[rank as usize], peer, rank, d),
            None => Some(Outcome::failed(Failure {
                status: Status::Peer,
                value: u64::from(d.peer),
            })),
        }
    }
}

impl Fabric {
    /// Executes a plain put of `rank` like [`Fabric::run`], in a third of the instructions. True if a counter moved.
    #[inline]
    pub(crate) fn put(&self, rank: u32, put: &PlainPut) -> Result<bool, Failure> {
        let (Some(me), Some(peer)) = (
            self.domains.get(rank as usize),
            self.domains.get(put.peer as usize),
        ) else {
            return Err(Failure {
                status: Status::Peer,
                value: u64::from(put.peer),
            });
        };
        let n = put.source.len() as usize;
        // As in every engine, the initiator's side is checked first.
        let local = match &put.source {
            Source::Memory(from, _) => {
                Some(
                    me.keys()
                        .find(Side::Local, from.key, from.address, n, Rights::LOCAL_READ)?,
                )
            }
            Source::Inline(_) => None,
        };
        let to = put.remote;
        let remote = peer
            .keys()
            .find(Side::Remote, to.key, to.address, n, Rights::REMOTE_WRITE)?;
        match (&put.source, &local) {
            (Source::Inline(i), _) => {
                let (bytes, n) = i.bytes();
                // SAFETY: the span has as many bytes as the source, and is registered while it lives.
                unsafe { memory::copy(bytes.as_ptr(), remote.start(), n) };
            }
            // SAFETY: both spans are in bounds, of the same length, and registered while they live.
            (_, Some(from)) => unsafe { memory::copy(from.start(), remote.start(), n) },
            (_, None) => {}
        }
        peer.arrived(|| Arrival::Memory {
            at: to,
            len: n as u32,
            signal: None,
        });
        let Some(counter) = remote.counter() else {
            return Ok(false);
        };
        // Releases the data before the count: who sees the count must see what was counted.
        fence(Ordering::Release);
        peer.counters().add(counter, 1);
        peer.counted();
        Ok(true)
    }
}

/// Executes an operation of `rank` between two domains that are mapped here. `None` if the target's inbox is full;
/// then nothing was done.
pub(crate) fn transfer(me: &Domain, peer: &Domain, rank: u32, d: &Descriptor) -> Option<Outcome> {
    match attempt(me, peer, rank, d) {
        Ok(outcome) => outcome,
        Err(f) => Some(Outcome::failed(f)),
    }
}

fn attempt(
    me: &Domain,
    peer: &Domain,
    rank: u32,
    d: &Descriptor,
) -> Result<Option<Outcome>, Failure> {
    if d.peer != rank && matches!(d.work, Work::Compute { .. }) {
        return Err(Failure {
            status: Status::Peer,
            value: u64::from(d.peer),
        });
    }
    let local = execute::local(d, me.keys(), me.counters())?;
    // The inbox and counters of a view are in another process and not mapped here.
    if peer.inbox().is_none() && matches!(d.work, Work::Send { .. } | Work::Count { .. }) {
        return Err(Failure {
            status: Status::Unsupported,
            value: u64::from(d.peer),
        });
    }
    let remote = execute::remote(d, peer.keys(), peer.counters())?;
    let mut value = 0;
    let mut counted = d.count.is_some();
    match &remote {
        RemotePart::Nothing => {
            if let (LocalPart::Update(target, operand), Work::Compute { op, element, .. }) =
                (&local, &d.work)
            {
                memory::compute(*op, *element, target, operand).map_err(|e| Failure {
                    status: Status::Divisor,
                    value: e.element as u64,
                })?;
            }
        }
        RemotePart::Write(to, signal) => {
            with_source(&local, |from, n| {
                // SAFETY: both spans are in bounds, of the same length, and registered while they live.
                unsafe { memory::copy(from, to.start(), n.min(to.len())) }
            });
            if let Some(s) = signal {
                memory::signal(&s.word, s.op, s.value);
            }
            // Releases the data before the count: who sees the count must see what was counted.
            fence(Ordering::Release);
            for span in core::iter::once(to).chain(signal.iter().map(|s| &s.word)) {
                if let Some(c) = span.counter() {
                    peer.counters().add(c, 1);
                    peer.counted();
                    counted = true;
                }
            }
            if let Work::Put { remote, signal, .. } = &d.work {
                peer.arrived(|| Arrival::Memory {
                    at: *remote,
                    len: to.len() as u32,
                    signal: signal.map(|s| s.remote),
                });
            }
        }
        RemotePart::Read(from) => {
            if let LocalPart::Write(to) = &local {
                // SAFETY: both spans are in bounds and registered while they live; as much is copied as the
                // shorter one has.
                unsafe { memory::copy(from.start(), to.start(), from.len().min(to.len())) }
            }
        }
        RemotePart::Atomic(word, a) => {
            let old = memory::atomic(word, a);
            if a.fetch != Fetch::No {
                value = old;
            }
            if let LocalPart::Write(to) = &local {
                let bytes = old.to_le_bytes();
                // SAFETY: the span has the length of the word, at most 8.
                unsafe { memory::copy(bytes.as_ptr(), to.start(), to.len().min(8)) }
            }
            if let Some(c) = word.counter() {
                peer.counters().add(c, 1);
                peer.counted();
                counted = true;
            }
            if a.op != AtomicOp::Read {
                peer.arrived(|| Arrival::Memory {
                    at: a.remote,
                    len: a.width.bytes(),
                    signal: None,
                });
            }
        }
        RemotePart::Message(port, tag) => {
            let Some(inbox) = peer.port(*port).and_then(|p| p.inbox()) else {
                return Err(Failure {
                    status: Status::Port,
                    value: u64::from(*port),
                });
            };
            // SAFETY: the span is in bounds.
            let m = with_source(&local, |from, n| unsafe { message(rank, *tag, from, n) });
            match m {
                Some(m) if inbox.deliver(&m) => {}
                // Parsing has bounded the length, so the inbox has no room.
                _ => return Ok(None),
            }
            peer.arrived(|| Arrival::Message {
                port: *port,
                tag: *tag,
            });
        }
        RemotePart::Count(c, n) => {
            peer.counters().add(*c, *n);
            peer.counted();
            peer.arrived(|| Arrival::Count(*c));
            counted = true;
        }
    }
    if let Some(c) = d.count {
        me.counters().add(c, 1);
    }
    Ok(Some(Outcome {
        status: Status::Ok,
        bytes: execute::bytes(d),
        value,
        counted,
    }))
}
