//! The target's half: requests of peers are executed here and answered.

use super::{Direct, Port, Violation};
use crate::descriptor::{Descriptor, Failure, Status, Words};
use crate::engine::tcp::frame::{split, Header};
use crate::engine::tcp::target::{self, Done};
use crate::engine::{parse, Domain};
use crate::execute::{self, RemotePart};

impl<D: Direct> Port<D> {
    /// Takes a request of a peer: answers it, or puts it behind the requests that wait for room in the inbox.
    pub(super) fn request(
        &mut self,
        p: usize,
        header: Header,
        content: &[u8],
    ) -> Result<(), Violation> {
        if self.peers[p].blocked.is_empty() && self.answer(p, &header, content)? {
            return Ok(());
        }
        self.peers[p].block(header, content)
    }

    /// Answers requests that found the inbox full, until one finds it full again. True if something happened.
    pub(super) fn answer_blocked(&mut self, p: usize) -> bool {
        let mut worked = false;
        while let Some((header, content)) = self.peers[p].blocked.pop_front() {
            match self.answer(p, &header, &content) {
                Ok(true) => {
                    self.peers[p].unblocked(&content);
                    worked = true;
                }
                Ok(false) => {
                    self.peers[p].blocked.push_front((header, content));
                    break;
                }
                Err(Violation) => {
                    self.lose(p);
                    return true;
                }
            }
        }
        worked
    }

    /// Executes a request of a peer and appends the reply. False: a message that finds the inbox full.
    fn answer(&mut self, p: usize, header: &Header, content: &[u8]) -> Result<bool, Violation> {
        let (words, bytes) = split(content).ok_or(Violation)?;
        let domain = self.domain.clone();
        let mut counted = false;
        let done = match check(&domain, self.rank, &words) {
            Err(f) => Done::Refused(f),
            Ok((d, part)) => {
                let offset = header.offset as usize;
                target::execute(&domain, p as u32, &d, part, offset, bytes, &mut counted)?
            }
        };
        let peer = &mut self.peers[p];
        match done {
            Done::Full => return Ok(false),
            Done::Refused(f) => peer.push_reply(header.id, f.status, f.value, None)?,
            Done::Value(value, read) => {
                let read = read.as_ref().map(|(span, offset)| (span, *offset));
                peer.push_reply(header.id, Status::Ok, value, read)?;
            }
        }
        if counted {
            self.moved = true;
            self.release();
        }
        Ok(true)
    }
}

/// The target's half of a descriptor: is it for this rank, and may a peer use the memory that it names here?
fn check<'a>(
    domain: &'a Domain,
    rank: u32,
    words: &Words,
) -> Result<(Descriptor, RemotePart<'a>), Failure> {
    let d = parse(words)?;
    if d.peer != rank {
        return Err(Failure {
            status: Status::Peer,
            value: u64::from(d.peer),
        });
    }
    let part = execute::remote(&d, domain.keys(), domain.counters())?;
    Ok((d, part))
}
