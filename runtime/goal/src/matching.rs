//! Matching: receives that were posted, and messages that came before their receive.
//!
//! A message goes to the oldest posted receive with the same source and [`Label`], and a receive takes the oldest
//! message: both queues are in order. What lies here is bounded by credits (eager messages) and by
//! [`Limits::offers`](crate::rank::Limits::offers) (offers, of which only the header is kept); see [`crate::rank`].

use crate::map::HashMap;
use crate::packet::{Label, Payload};
use crate::rank::RunId;
use std::collections::hash_map::Entry;
use std::collections::VecDeque;

/// Source and label.
pub(crate) type Key = (u32, Label);

/// A receive that waits for its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Posted {
    /// The run.
    pub(crate) run: RunId,
    /// The operation's place.
    pub(crate) place: usize,
}

/// A message that waits for its receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Early {
    /// All of it.
    Whole(Payload),
    /// Its sender keeps it.
    Offered {
        /// Its length.
        bytes: u64,
        /// For the acceptance.
        ticket: u32,
    },
}

/// Things in order. The first one has a place of its own: mostly there is one.
#[derive(Debug)]
struct Queue<T> {
    first: T,
    more: VecDeque<T>,
}

/// The two queues of every key.
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

    /// Drops those that `keep` does not hold of; false if none is left.
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
    /// A receive: takes the oldest message, or is posted.
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

    /// The oldest posted receive for a message that arrives now.
    pub(crate) fn arrive(&mut self, key: &Key) -> Option<Posted> {
        pop(&mut self.posted, key)
    }

    /// Keeps a message for which [`Matching::arrive`] found nothing.
    pub(crate) fn keep(&mut self, key: Key, early: Early) {
        self.early_count += 1;
        if let Early::Whole(payload) = &early {
            self.early_bytes += payload.len() as u64;
        }
        push(&mut self.early, key, early);
    }

    /// Takes back what a run has posted.
    pub(crate) fn forget_run(&mut self, run: RunId) {
        self.posted
            .retain(|_, queue| queue.retain(|p| p.run != run));
    }

    /// Throws away the early messages of one run, which ended without them. Answers how many eager ones came from
    /// each source.
    pub(crate) fn forget_early(&mut self, context: u32, sequence: u64) -> Vec<u32> {
        let mut sources = Vec::new();
        if self.early_count == 0 {
            return sources;
        }
        let (count, bytes) = (&mut self.early_count, &mut self.early_bytes);
        self.early.retain(|(source, label), queue| {
            if (label.context, label.sequence) != (context, sequence) {
                return true;
            }
            for early in queue.iter() {
                *count -= 1;
                if let Early::Whole(payload) = early {
                    *bytes -= payload.len() as u64;
                    sources.push(*source);
                }
            }
            false
        });
        sources
    }

    /// Messages that came early, and their bytes.
    pub(crate) fn early(&self) -> (usize, u64) {
        (self.early_count, self.early_bytes)
    }

    /// Whether a posted receive of `run` waits for `source`.
    pub(crate) fn waits_for(&self, run: RunId, source: u32) -> bool {
        self.posted
            .iter()
            .any(|((from, _), queue)| *from == source && queue.iter().any(|p| p.run == run))
    }
}
