//! The target's half of a request: what arrives on a stream takes effect in the memory of this rank.
//!
//! Bytes go only into a [`Span`] that a lookup of key, bounds and rights gave out, and which keeps its region
//! registered meanwhile.

use crate::descriptor::{Descriptor, Failure, Fetch, Source, Status, Work};
use crate::engine::{message, Arrival, Domain};
use crate::execute::RemotePart;
use crate::keys::Span;
use crate::memory;

/// The peer broke the protocol: nothing that it says can be believed any more.
pub(super) struct Violation;

/// What executing a request gave.
pub(super) enum Done<'a> {
    /// This value, and perhaps bytes for the reply: the part of a span from an offset on.
    Value(u64, Option<(Span<'a>, usize)>),
    /// The target's inbox is full: to be tried again.
    Full,
    /// Nothing was done, and the initiator has to hear why.
    Refused(Failure),
}

/// Executes the target's half of a request from rank `from`: `part` was found for it, and `bytes` are its piece, at
/// `offset` of the operation's. `counted` becomes true if a counter moved.
pub(super) fn execute<'a>(
    domain: &'a Domain,
    from: u32,
    d: &Descriptor,
    part: RemotePart<'a>,
    offset: usize,
    bytes: &[u8],
    counted: &mut bool,
) -> Result<Done<'a>, Violation> {
    let mut count = |span: &Span<'_>| {
        if let Some(c) = span.counter() {
            domain.counters().add(c, 1);
            *counted = true;
        }
    };
    match part {
        RemotePart::Write(to, signal) => {
            if bytes.len() > to.len() || offset > to.len() - bytes.len() {
                return Err(Violation);
            }
            // SAFETY: just checked to lie within the span, which was found in bounds.
            unsafe { memory::copy(bytes.as_ptr(), to.start().add(offset), bytes.len()) }
            if offset + bytes.len() < to.len() {
                return Ok(Done::Value(0, None));
            }
            // The pieces come in order: with the last one all of it is there.
            if let Some(s) = &signal {
                memory::signal(&s.word, s.op, s.value);
            }
            count(&to);
            if let Some(s) = &signal {
                count(&s.word);
            }
            if let Work::Put { remote, signal, .. } = &d.work {
                domain.arrived(|| Arrival::Memory {
                    at: *remote,
                    len: to.len() as u32,
                    signal: signal.map(|s| s.remote),
                });
            }
            Ok(Done::Value(0, None))
        }
        RemotePart::Read(span) if offset <= span.len() => Ok(Done::Value(0, Some((span, offset)))),
        RemotePart::Atomic(word, a) => {
            let old = memory::atomic(&word, &a);
            count(&word);
            domain.arrived(|| Arrival::Memory {
                at: a.remote,
                len: a.width.bytes(),
                signal: None,
            });
            let fetched = if a.fetch == Fetch::No { 0 } else { old };
            Ok(Done::Value(fetched, None))
        }
        RemotePart::Message(port, tag) => {
            let Work::Send { source, .. } = &d.work else {
                return Err(Violation);
            };
            if bytes.len() != Source::len(source) as usize {
                return Err(Violation);
            }
            let Some(inbox) = domain.port(port).and_then(|p| p.inbox()) else {
                return Ok(Done::Refused(Failure {
                    status: Status::Port,
                    value: u64::from(port),
                }));
            };
            // SAFETY: a slice is valid for its length.
            let m = unsafe { message(from, tag, bytes.as_ptr(), bytes.len()) };
            if !inbox.deliver(&m.ok_or(Violation)?) {
                return Ok(Done::Full);
            }
            domain.arrived(|| Arrival::Message { port, tag });
            Ok(Done::Value(0, None))
        }
        RemotePart::Count(c, add) => {
            domain.counters().add(c, add);
            domain.arrived(|| Arrival::Count(c));
            *counted = true;
            Ok(Done::Value(0, None))
        }
        // A read that begins behind its end. Nops, fences and waits never leave their rank.
        RemotePart::Read(_) | RemotePart::Nothing => Err(Violation),
    }
}
