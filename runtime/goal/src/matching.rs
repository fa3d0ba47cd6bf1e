//! Matching: keeps receives that were posted, and messages that came before their receives.
//!
//! A message goes to the oldest posted receive with the same source and [`Label`], and a receive takes the oldest
//! such message: both queues keep their order. The queues are bounded by credits (eager messages) and by
//! [`Limits::offers`](crate::rank::Limits::offers) (offers, of which only the header is kept); see [`crate::rank`].

use crate::map::HashMap;
use crate::packet::{Label, Payload};
use crate::rank::RunId;
use std::collections::hash_map::Entry;
use std::collections::VecDeque;

/// The source of a message, and its label.
pub(crate) type Key = (u32, Label);

/// A receive that waits for its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Posted {
    /// The run.
    pub(crate) run: RunId,
    /// The operation's index in the schedule.
    pub(crate) place: usize,
}

/// A message that waits for its receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Early {
    /// The whole message is here.
    Whole(Payload),
    /// The message is still at its sender.
    Offered {
        /// Its length.
        bytes: u64,
        /// The sender's number for the message, which the acceptance repeats.
        ticket: u32,
        /// Where the message lies in its sender's process; 0 if that is not known.
        at: u64,
    },
}

/// A queue. Its first value has a place of its own, because most queues have one value.
#[derive(Debug)]
struct Queue<T> {
    first: T,
    more: VecDeque<T>,
}

/// The two queues of each key.
#[derive(Debug, Default)]
pub(crate) struct Matching {
    posted: HashMap<Key, Queue<Posted>>,
    early: HashMap<Key, Queue<Early>>,
    early_count: usize,
    early_bytes: u64,
}

fn push<T>(queues: &mut HashMap<Key, Queue<T>>, key: Key, value: T) {
    match queues.entry(key) {
        Entry::Occupied(mut queue) => queue.get_mut().more.push_back(value),
        Entry::Vacant(place) => {
            place.insert(Queue {
                first: value,
                more: VecDeque::new(),
            });
        }
    }
}

fn pop<T>(queues: &mut HashMap<Key, Queue<T>>, key: &Key) -> Option<T> {
    let mut queue = queues.remove(key)?;
    if let Some(next) = queue.more.pop_front() {
        let first = core::mem::replace(&mut queue.first, next);
        queues.insert(*key, queue);
        return Some(first);
    }
    Some(queue.first)
}

impl<T> Queue<T> {
    fn iter(&self) -> impl Iterator<Item = &T> {
        core::iter::once(&self.first).chain(&self.more)
    }

    /// Drops the values for which `keep` says false. Returns false if none is left.
    fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) -> bool {
        self.more.retain(&mut keep);
        if keep(&self.first) {
            return true;
        }
        match self.more.pop_front() {
            Some(next) => {
                self.first = next;
                true
            }
            None => false,
        }
    }
}

impl Matching {
    /// A receive: returns the oldest message, or posts the receive.
    pub(crate) fn receive(&mut self, key: Key, posted: Posted) -> Option<Early> {
        if let Some(early) = pop(&mut self.early, &key) {
            self.early_count -= 1;
            if let Early::Whole(payload) = &early {
                self.early_bytes -= payload.len() as u64;
            }
            return Some(early);
        }
        push(&mut self.posted, key, posted);
        None
    }

    /// A message arrives: takes the oldest posted receive for it.
    pub(crate) fn arrive(&mut self, key: &Key) -> Option<Posted> {
        pop(&mut self.posted, key)
    }

    /// Keeps a message for which [`Matching::arrive`] has found no receive.
    pub(crate) fn keep(&mut self, key: Key, early: Early) {
        self.early_count += 1;
        if let Early::Whole(payload) = &early {
            self.early_bytes += payload.len() as u64;
        }
        push(&mut self.early, key, early);
    }

    /// Removes the receives that a run has posted.
    pub(crate) fn forget_run(&mut self, run: RunId) {
        self.posted
            .retain(|_, queue| queue.retain(|p| p.run != run));
    }

    /// Drops the early messages of a run that has ended without them. Returns the source of each, and for an offer the
    /// sender's number.
    pub(crate) fn forget_early(&mut self, context: u32, sequence: u64) -> Vec<(u32, Option<u32>)> {
        let mut dropped = Vec::new();
        if self.early_count == 0 {
            return dropped;
        }
        let (count, bytes) = (&mut self.early_count, &mut self.early_bytes);
        self.early.retain(|(source, label), queue| {
            if (label.context, label.sequence) != (context, sequence) {
                return true;
            }
            for early in queue.iter() {
                *count -= 1;
                dropped.push(match early {
                    Early::Whole(payload) => {
                        *bytes -= payload.len() as u64;
                        (*source, None)
                    }
                    Early::Offered { ticket, .. } => (*source, Some(*ticket)),
                });
            }
            false
        });
        dropped
    }

    /// The receives that wait for their messages.
    pub(crate) fn posted(&self) -> impl Iterator<Item = (&Key, &Posted)> {
        let queues = self.posted.iter();
        queues.flat_map(|(key, queue)| queue.iter().map(move |posted| (key, posted)))
    }

    /// The number of messages that came early, and their bytes.
    pub(crate) fn early(&self) -> (usize, u64) {
        (self.early_count, self.early_bytes)
    }

    /// True if a posted receive of `run` waits for a message of `source`.
    pub(crate) fn waits_for(&self, run: RunId, source: u32) -> bool {
        self.posted
            .iter()
            .any(|((from, _), queue)| *from == source && queue.iter().any(|p| p.run == run))
    }
}
