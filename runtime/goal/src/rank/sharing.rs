//! Long messages between ranks that reach each other's memory: both copy.
//!
//! The receiver reads the message where it lies, piece by piece. First it says so ([`Packet::Share`]), and a sender
//! that waits anyway writes pieces into the receiver's memory meanwhile. A sender that computes takes no part, and the
//! receiver reads all of it. Who copies which piece is decided by the [`Reach`].
//!
//! When all pieces are there the receiver accepts the message as one that it has read alone. If a piece could not be
//! copied, it tries to read the whole message, and otherwise has it sent.
//!
//! A run that fails while the sender may be writing into its memory is closed for further pieces at once. It has
//! [ended](Rank::ended) when no piece is being written.

use super::{Rank, RunId, State};
use crate::graph::Work;
use crate::packet::Packet;
use core::fmt;

/// Reads and writes the memory of other ranks' processes. What a peer has said about its own addresses is not trusted.
pub trait Reach: fmt::Debug + Send {
    /// Copies `bytes` bytes at `from`, an address in the process of `peer`, to `to`, an address in this process that is
    /// valid for that. False if that is not possible; then some may have been copied.
    fn read(&mut self, peer: u32, from: u64, to: u64, bytes: u64) -> bool;
    /// Whether a message of `peer` of this length has several pieces, and can be read.
    fn has_pieces(&mut self, peer: u32, bytes: u64) -> bool;
    /// From now on, pieces of message `number` of `peer` may be copied. No other message of that peer is open. False if
    /// that is not possible.
    fn open(&mut self, peer: u32, number: u32) -> bool;
    /// The receiver reads the next piece of an open message.
    fn pull(&mut self, peer: u32, number: u32, from: u64, to: u64, bytes: u64) -> Copied;
    /// The sender writes the next piece of a message that `peer` has opened. False if there is none, or it could not
    /// be written; then the message is closed.
    fn push(&mut self, peer: u32, number: u32, from: u64, to: u64, bytes: u64) -> bool;
    /// No further piece of the open message of `peer` is copied.
    fn close(&mut self, peer: u32);
}

/// What became of a message that is read piece by piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// A piece was copied. There may be more.
    Piece,
    /// The sender is writing the last piece.
    Waits,
    /// All pieces are there.
    All,
    /// The message is closed. Nobody writes pieces of it any more.
    Closed,
}

/// A message that this rank reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pull {
    run: RunId,
    ticket: u32,
    promise: u32,
    bytes: u64,
    at: u64,
    into: u64,
    open: bool,
}

impl Pull {
    pub(super) fn new(
        run: RunId,
        (ticket, promise): (u32, u32),
        bytes: u64,
        (at, into): (u64, u64),
    ) -> Pull {
        Pull {
            run,
            ticket,
            promise,
            bytes,
            at,
            into,
            open: false,
        }
    }
}

/// A message of this rank that its receiver reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Help {
    pub(super) to: u32,
    pub(super) ticket: u32,
    promise: u32,
    into: u64,
}

impl Rank {
    /// A receive has matched an offer: has the message copied.
    pub(super) fn begin_pull(&mut self, from: u32, pull: Pull) {
        let is_there = pull.at != 0 && pull.into != 0;
        let reach = self.reach.as_mut().filter(|_| is_there);
        if reach.is_some_and(|r| r.has_pieces(from, pull.bytes)) {
            self.pulls.entry(from).or_default().push_back(pull);
        } else {
            self.end_pull(from, pull, false);
        }
    }

    /// A message is not read piece by piece any more. `whole`: it is there.
    fn end_pull(&mut self, from: u32, pull: Pull, whole: bool) {
        let Pull {
            ticket, promise, ..
        } = pull;
        if !self.is_running(pull.run) {
            self.promised.remove(&promise);
            self.out.push_back((from, Packet::Refuse { ticket }));
            return;
        }
        let is_there = pull.at != 0 && pull.into != 0;
        let mut read = |reach: &mut Box<dyn Reach>| {
            is_there && reach.read(from, pull.at, pull.into, pull.bytes)
        };
        let taken = whole || self.reach.as_mut().is_some_and(&mut read);
        self.counts.taken += u64::from(taken);
        if let Some(promised) = self.promised.get_mut(&promise).filter(|_| taken) {
            promised.have = pull.bytes;
        }
        let accept = Packet::Accept {
            ticket,
            promise,
            taken,
        };
        self.out.push_back((from, accept));
    }

    fn is_running(&self, run: RunId) -> bool {
        let run = self.runs.get(run);
        run.is_some_and(|r| r.state == State::Running)
    }

    /// Reads messages piece by piece, those that peers know of; [`Rank::outgoing`] tells them of the others. True if
    /// there was something to do; then [`Rank::outgoing`] may have more.
    pub fn pull(&mut self) -> bool {
        let mut worked = false;
        if self.pulls.is_empty() {
            return worked;
        }
        let mut pulls = core::mem::take(&mut self.pulls);
        pulls.retain(|&from, messages| {
            while let (Some(pull), Some(reach)) = (messages.front_mut(), &mut self.reach) {
                let copied = if pull.open {
                    reach.pull(from, pull.promise, pull.at, pull.into, pull.bytes)
                } else {
                    let run = self.runs.get(pull.run);
                    let goes_on = run.is_some_and(|r| r.state == State::Running);
                    pull.open = goes_on && reach.open(from, pull.promise);
                    if pull.open {
                        let share = Packet::Share {
                            ticket: pull.ticket,
                            promise: pull.promise,
                            into: pull.into,
                        };
                        self.out.push_back((from, share));
                        worked = true;
                        break;
                    }
                    Copied::Closed
                };
                match copied {
                    Copied::Piece => {}
                    Copied::Waits => break,
                    Copied::All | Copied::Closed => {
                        let pull = *pull;
                        messages.pop_front();
                        self.end_pull(from, pull, copied == Copied::All);
                    }
                }
                worked = true;
            }
            !messages.is_empty()
        });
        self.pulls = pulls;
        worked
    }

    /// A run has failed: no further pieces of its messages are copied.
    pub(super) fn close_pulls(&mut self, id: RunId) {
        for (from, messages) in &self.pulls {
            let (Some(pull), Some(reach)) = (messages.front(), &mut self.reach) else {
                continue;
            };
            if pull.run == id && pull.open {
                reach.close(*from);
            }
        }
    }

    /// True if messages are being read piece by piece.
    #[must_use]
    pub fn is_pulling(&self) -> bool {
        !self.pulls.is_empty()
    }

    /// True if messages to the run are read piece by piece.
    #[inline]
    pub(super) fn is_pulled(&self, id: RunId) -> bool {
        !self.pulls.is_empty() && self.pulls.values().flatten().any(|p| p.run == id)
    }

    /// The peer reads a message of this rank. False if there is no such message.
    pub(super) fn shared(&mut self, by: u32, ticket: u32, promise: u32, into: u64) -> bool {
        let is_offered = self.offered.get(&ticket).is_some_and(|o| o.to == by);
        let is_new = self.helps.iter().all(|h| h.ticket != ticket);
        if is_offered && is_new {
            self.helps.push(Help {
                to: by,
                ticket,
                promise,
                into,
            });
        }
        is_offered && is_new
    }

    /// Writes a piece of each message that a peer reads. True if there was one.
    pub fn push(&mut self) -> bool {
        let (mut worked, runs, offered) = (false, &self.runs, &self.offered);
        let reach = &mut self.reach;
        self.helps.retain(|help| {
            let (Some(o), Some(reach)) = (offered.get(&help.ticket), &mut *reach) else {
                return false;
            };
            let run = runs.get(o.run).filter(|r| r.state == State::Running);
            let from = run.map_or(0, |run| match run.counters.schedule().work(o.place) {
                Work::Send { from, .. } => match &from[..] {
                    [piece] => run.memory.address(piece),
                    _ => 0,
                },
                _ => 0,
            });
            let wrote = from != 0 && reach.push(help.to, help.promise, from, help.into, o.bytes);
            worked |= wrote;
            wrote
        });
        worked
    }
}
