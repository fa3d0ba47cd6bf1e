//! Matching: receives that were posted, and messages that came before their receive.
//!
//! A message goes to the oldest posted receive with the same source and [`Label`], and a receive takes the oldest
//! message: both queues are in order. What lies here is bounded by credits (eager messages) and by
//! [`Limits::offers`] (offers, of which only the header is kept); see [`crate::rank`].

use crate::map::HashMap;
use crate::packet::Label;
use std::collections::VecDeque;

/// Source and label.
pub(crate) type Key = (u32, Label);

/// A receive that waits for its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Posted {
    /// The run.
    pub(crate) run: u32,
    /// The operation's place.
    pub(crate) place: usize,
}

/// A message that waits for its receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Early {
    /// All of it.
    Whole(Vec<u8>),
    /// Its sender keeps it.
    Offered {
        /// Its length.
        bytes: u64,
        /// For the acceptance.
        ticket: u32,
    },
}

/// The two queues of every key.
#[derive(Debug, Default)]
pub(crate) struct Matching {
    posted: HashMap<Key, VecDeque<Posted>>,
    early: HashMap<Key, VecDeque<Early>>,
    early_count: usize,
    early_bytes: u64,
}

fn pop<T>(queues: &mut HashMap<Key, VecDeque<T>>, key: &Key) -> Option<T> {
    let queue = queues.get_mut(key)?;
    let first = queue.pop_front();
    if queue.is_empty() {
        queues.remove(key);
    }
    first
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
        self.posted.entry(key).or_default().push_back(posted);
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
        self.early.entry(key).or_default().push_back(early);
    }

    /// Takes back what a run has posted.
    pub(crate) fn forget_run(&mut self, run: u32) {
        self.posted.retain(|_, queue| {
            queue.retain(|p| p.run != run);
            !queue.is_empty()
        });
    }

    /// Throws away the early messages of one run, which ended without them. Answers how many eager ones came from
    /// each source.
    pub(crate) fn forget_early(&mut self, context: u32, sequence: u64) -> Vec<u32> {
        let mut sources = Vec::new();
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
    pub(crate) fn waits_for(&self, run: u32, source: u32) -> bool {
        self.posted
            .iter()
            .any(|((from, _), queue)| *from == source && queue.iter().any(|p| p.run == run))
    }
}
