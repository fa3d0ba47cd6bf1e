//! The engine for mapped peers: the initiator executes its own descriptors when it rings.
//!
//! When the ring returns, everything announced is done, with one exception: a message whose target has a full inbox
//! waits, with everything after it, for the next call into that queue pair. Counts are added at once.
//!
//! **Waits for a counter** cannot be executed by an initiator that has gone on to compute. So the first
//! [`Work::Wait`] of a rank starts an adapter's thread (that of [`super::emulated`], without modelled costs). A queue
//! pair that meets a wait is handed over to this thread for good, with everything that follows in its order. Queue
//! pairs without waits stay with their initiators.

use super::emulated::{Card, Doorbell};
use super::{
    ends, parse, Abilities, Bell, Domain, Engine, Fabric, Outcome, QueuePair, TemplateKeys,
};
use crate::descriptor::{Failure, PlainPut, Status, Work};
use crate::queue_pair::Consumer;
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// The engine of one rank.
#[derive(Debug)]
pub struct Shm {
    rank: u32,
    fabric: Fabric,
    queue_pairs: AtomicU32,
    helper: Arc<Helper>,
}

/// The adapter for queue pairs with waits, once it was asked for; `None` inside if its thread could not be started.
struct Helper(OnceLock<Option<Arc<Card>>>);

impl core::fmt::Debug for Helper {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Helper")
            .field(&self.0.get().map(Option::is_some))
            .finish()
    }
}

impl Shm {
    /// The engine of `rank` among `domains`: its own, those of ranks in this process, and [views](Domain::view) of
    /// ranks in other processes. `None` if the rank has no domain.
    pub fn new(rank: u32, domains: Arc<[Arc<Domain>]>) -> Option<Shm> {
        ((rank as usize) < domains.len()).then(|| Shm {
            rank,
            fabric: Fabric { domains },
            queue_pairs: AtomicU32::new(0),
            helper: Arc::new(Helper(OnceLock::new())),
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
            triggered: true,
            asynchronous: false,
        }
    }

    fn domain(&self) -> &Domain {
        &self.fabric.domains[self.rank as usize]
    }

    fn queue_pair(&self, depth: usize, keys: TemplateKeys) -> QueuePair {
        let number = self.queue_pairs.fetch_add(1, Ordering::Relaxed);
        let (initiator, consumer) = ends(depth, number, keys);
        let bell = Ringer::Here(Direct {
            rank: self.rank,
            fabric: self.fabric.clone(),
            helper: self.helper.clone(),
            consumer,
            refused: 0,
        });
        QueuePair::new(initiator, Box::new(bell))
    }
}

/// Who executes a queue pair's descriptors.
enum Ringer {
    /// The initiator.
    Here(Direct),
    /// The adapter's thread, since the queue pair has met a wait.
    There(Doorbell),
    /// Neither: the queue pair is being handed over.
    Moving,
}

/// The executing end of a queue pair, in the initiator's hands.
struct Direct {
    rank: u32,
    fabric: Fabric,
    helper: Arc<Helper>,
    consumer: Consumer,
    /// How many descriptors are still to be refused: they follow a wait that nobody can run.
    refused: u32,
}

/// How a turn of [`Direct::drive`] ended.
enum Turn {
    /// Nothing is left, or the next descriptor cannot be executed now. True if something was done.
    Over(bool),
    /// A wait is next, and this adapter can run it.
    Wait(Arc<Card>),
}

impl Bell for Ringer {
    #[inline]
    fn rung(&mut self) {
        match self {
            Ringer::There(bell) => bell.rung(),
            _ => {
                self.drive();
            }
        }
    }

    #[inline]
    fn drive(&mut self) -> bool {
        match self {
            Ringer::Here(direct) => match direct.drive() {
                Turn::Over(worked) => worked,
                Turn::Wait(card) => {
                    self.hand_over(&card);
                    true
                }
            },
            Ringer::There(bell) => bell.drive(),
            Ringer::Moving => false,
        }
    }
}

impl Ringer {
    #[cold]
    fn hand_over(&mut self, card: &Arc<Card>) {
        if let Ringer::Here(direct) = core::mem::replace(self, Ringer::Moving) {
            *self = Ringer::There(card.take_over(direct.rank, direct.consumer));
        }
    }
}

impl Direct {
    fn drive(&mut self) -> Turn {
        let mut worked = false;
        while let Some((ticket, words)) = self.consumer.peek() {
            if let (Some(put), 0) = (PlainPut::of(&words), self.refused) {
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
                _ if self.refused > 0 => {
                    self.refused -= 1;
                    self.unsupported()
                }
                Err(f) => Outcome::failed(f),
                Ok(d) => {
                    if let Work::Wait { span, .. } = d.work {
                        match self.helper() {
                            Some(card) => return Turn::Wait(card),
                            None => {
                                self.refused = span;
                                self.unsupported()
                            }
                        }
                    } else if let Some(outcome) = self.fabric.run(self.rank, &d) {
                        if d.count.is_some() {
                            self.fabric.domains[self.rank as usize].counted();
                        }
                        outcome
                    } else {
                        // No message tells this initiator that the receiver has made room, so it must not sleep. It
                        // gives its core to the receiver instead.
                        if !worked {
                            hetmp_core::park::rest();
                        }
                        return Turn::Over(true);
                    }
                }
            };
            self.consumer.advance();
            self.consumer
                .complete(outcome.completion(ticket, signalled));
            worked = true;
        }
        Turn::Over(worked)
    }

    fn unsupported(&self) -> Outcome {
        Outcome::failed(Failure {
            status: Status::Unsupported,
            value: u64::from(self.rank),
        })
    }

    /// The adapter of this rank; starts it at the first call.
    #[cold]
    fn helper(&self) -> Option<Arc<Card>> {
        let start = || {
            let domains = self.fabric.domains.clone();
            Card::beside(self.rank, domains).ok().map(Arc::new)
        };
        self.helper.0.get_or_init(start).clone()
    }
}
