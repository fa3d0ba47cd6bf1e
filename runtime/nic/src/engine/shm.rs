//! Peer memory is mapped here: the initiator executes its own descriptors when it rings.
//!
//! Everything announced is done when the ring returns, unless a message finds its target's inbox full; it
//! and what follows it in its queue pair then wait for the next call into that queue pair. Counts are added at once;
//! nobody here holds operations back for a counter.

use super::{
    ends, parse, Abilities, Bell, Domain, Engine, Fabric, Outcome, QueuePair, TemplateKeys,
};
use crate::descriptor::{Failure, PlainPut, Status, Work};
use crate::queue_pair::Consumer;
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

/// The engine of one rank.
#[derive(Debug)]
pub struct Shm {
    rank: u32,
    fabric: Fabric,
    queue_pairs: AtomicU32,
}

impl Shm {
    /// The engine of `rank` among `domains`: its own, those of ranks in this process, and
    /// [views](Domain::view) of ranks in others. `None` if the rank has no domain.
    pub fn new(rank: u32, domains: Arc<[Arc<Domain>]>) -> Option<Shm> {
        ((rank as usize) < domains.len()).then(|| Shm {
            rank,
            fabric: Fabric { domains },
            queue_pairs: AtomicU32::new(0),
        })
    }
}

impl Engine for Shm {
    fn name(&self) -> &'static str {
        "shm"
    }

    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.fabric.domains.len() as u32
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            triggered: false,
            asynchronous: false,
        }
    }

    fn domain(&self) -> &Domain {
        &self.fabric.domains[self.rank as usize]
    }

    fn queue_pair(&self, depth: usize, keys: TemplateKeys) -> QueuePair {
        let number = self.queue_pairs.fetch_add(1, Ordering::Relaxed);
        let (initiator, consumer) = ends(depth, number, keys);
        let bell = Direct {
            rank: self.rank,
            fabric: self.fabric.clone(),
            consumer,
        };
        QueuePair::new(initiator, Box::new(bell))
    }
}

struct Direct {
    rank: u32,
    fabric: Fabric,
    consumer: Consumer,
}

impl Bell for Direct {
    #[inline]
    fn rung(&mut self) {
        self.drive();
    }

    fn drive(&mut self) -> bool {
        let mut worked = false;
        while let Some((ticket, words)) = self.consumer.peek() {
            if let Some(put) = PlainPut::of(&words) {
                let failed = self
                    .fabric
                    .put(self.rank, &put)
                    .map_err(Outcome::failed)
                    .err();
                self.consumer.advance();
                self.consumer
                    .complete(failed.and_then(|f| f.completion(ticket, false)));
                worked = true;
                continue;
            }
            let parsed = parse(&words);
            let signalled = parsed.is_ok_and(|d| d.signalled);
            let outcome = match parsed {
                Err(f) => Outcome::failed(f),
                Ok(d) if matches!(d.work, Work::Wait { .. }) => Outcome::failed(Failure {
                    status: Status::Unsupported,
                    value: u64::from(d.peer),
                }),
                Ok(d) => match self.fabric.run(self.rank, &d) {
                    Some(outcome) => outcome,
                    None => {
                        // Nobody nudges this queue pair when the receiver makes room, so the
                        // initiator must not sleep; it gives the receiver its core.
                        if !worked {
                            hetmp_core::sys::yield_now();
                        }
                        return true;
                    }
                },
            };
            self.consumer.advance();
            self.consumer
                .complete(outcome.completion(ticket, signalled));
            worked = true;
        }
        worked
    }
}
