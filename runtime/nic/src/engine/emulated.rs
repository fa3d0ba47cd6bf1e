//! The software adapter: one thread that serves the queue pairs of ranks in this process. [`start`] serves all ranks
//! of a job. [`start_one`] serves one rank, whose peers are reached through [views](Domain::view).
//!
//! [`adapter`] is a state machine that is stepped with the current time; this module is the thread around it. After a
//! doorbell the thread keeps looking for a while and then sleeps, as [`hetmp_core::park`] says. A doorbell that finds
//! it asleep costs its initiator a wake-up.

pub mod adapter;
mod device;
#[cfg(test)]
mod device_tests;
mod place;

use super::{ends, Abilities, Bell, Domain, Domains, Engine, Fabric, QueuePair, TemplateKeys};
use crate::device_memory::board::{Board, Tracker};
use crate::device_memory::sources::Sources;
use crate::domain::Door;
use crate::queue_pair::Consumer;
use adapter::Adapter;
pub use adapter::Model;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use crossbeam_utils::CachePadded;
use device::Invalidations;
use hetmp_core::lock::Lock;
use hetmp_core::park::give_core;
use hetmp_core::{sys, thread};
use place::{cpu, Place};
use std::cell::UnsafeCell;
use std::sync::Arc;

/// Instead of a processor's number.
const NOWHERE: i32 = -2;
/// How often an initiator that had to wake the thread gives its core away.
const YIELDS: u32 = 4;

/// New queue pairs that the thread has not taken over yet.
struct Joining {
    lock: Lock,
    list: UnsafeCell<Vec<(u32, Consumer)>>,
}

// SAFETY: the list is only touched while the lock is held.
unsafe impl Sync for Joining {}
// SAFETY: ranks and consumers may be moved to another thread.
unsafe impl Send for Joining {}

impl Joining {
    fn with<R>(&self, f: impl FnOnce(&mut Vec<(u32, Consumer)>) -> R) -> R {
        self.lock.lock();
        // SAFETY: the lock is held, and this is the only place that looks at the list.
        let result = f(unsafe { &mut *self.list.get() });
        self.lock.unlock();
        result
    }
}

/// What the thread and its ranks share. The thread's doorbell is the [door](Door) of `home`; peers in other processes
/// knock there too.
struct Shared {
    fabric: Fabric,
    joining: Joining,
    /// The rank that the adapter serves, or the first one of several.
    home: Arc<Domain>,
    /// The processor of the last initiator that had to wake the thread. The thread writes this word at every turn, so
    /// it has a cache line of its own: otherwise each doorbell would miss the cache on the words next to it.
    waker: CachePadded<AtomicI32>,
    stop: AtomicBool,
    queue_pairs: AtomicU32,
    /// How many queue pairs were put into the list; raised after each.
    joined: AtomicU32,
    /// Targets hold writes back ([`Model::device`]).
    combining: bool,
    invalidations: Arc<Invalidations>,
    sources: Arc<Sources>,
}

impl Shared {
    #[inline]
    fn door(&self) -> &Door {
        self.home.door()
    }

    /// Rings. True if the thread slept, and so has to be scheduled before it can work.
    #[inline]
    fn bell(&self) -> bool {
        let slept = self.door().knock();
        if slept {
            self.waker.store(cpu(), Ordering::Relaxed);
        }
        slept
    }
}

/// The adapter. It stops when the last rank and the last queue pair are dropped.
pub(super) struct Card {
    shared: Arc<Shared>,
    thread: Option<thread::Thread>,
}

impl Card {
    fn start(domains: Domains, home: usize, model: Model) -> std::io::Result<Card> {
        let home = domains[home].clone();
        let invalidations = Arc::new(Invalidations::new(domains.len()));
        let fabric = Fabric { domains };
        let shared = Arc::new(Shared {
            fabric: fabric.clone(),
            joining: Joining {
                lock: Lock::new(),
                list: UnsafeCell::new(Vec::new()),
            },
            home,
            waker: CachePadded::new(AtomicI32::new(NOWHERE)),
            stop: AtomicBool::new(false),
            queue_pairs: AtomicU32::new(0),
            joined: AtomicU32::new(0),
            combining: model.device.is_some(),
            invalidations: invalidations.clone(),
            sources: Arc::default(),
        });
        let mut adapter = Adapter::new(fabric, model, invalidations);
        if model.device.is_some_and(|d| d.check) {
            adapter.check(shared.sources.clone());
        }
        let of_thread = shared.clone();
        let thread = thread::start(c"hetmp-nic", move || {
            serve(&of_thread, adapter);
        })?;
        Ok(Card {
            shared,
            thread: Some(thread),
        })
    }

    /// An adapter without modelled costs, for one rank of a job that has another engine. It serves the queue pairs
    /// that are [handed over](Card::take_over) to it, and looks at its triggers when counters of the rank move.
    pub(super) fn beside(rank: u32, domains: Domains) -> std::io::Result<Card> {
        let card = Card::start(domains.clone(), rank as usize, Model::default())?;
        domains[rank as usize].serve();
        Ok(card)
    }

    /// From now on the thread executes what is posted to this queue.
    pub(super) fn take_over(self: &Arc<Card>, rank: u32, consumer: Consumer) -> Doorbell {
        let shared = &self.shared;
        shared.joining.with(|list| list.push((rank, consumer)));
        shared.joined.fetch_add(1, Ordering::Release);
        shared.bell();
        Doorbell {
            rank,
            card: self.clone(),
            yields: 0,
        }
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.door().wake.nudge();
        if let Some(t) = self.thread.take() {
            // The thread ends on `stop`. It cannot end by a panic, because `panic` is "abort".
            t.join();
        }
    }
}

/// The adapter as one rank sees it.
pub struct Emulated {
    rank: u32,
    card: Arc<Card>,
    boards: Option<Arc<[Board]>>,
}

impl Emulated {
    /// Makes queue pairs check their order: from now on they pin unordered writes to the
    /// [boards](crate::device_memory::board) of all ranks, where they are told [sites](QueuePair::at_site).
    #[must_use]
    pub fn checking(self, boards: Arc<[Board]>) -> Emulated {
        // The boards of a job are the same for every rank.
        let _ = self.card.shared.sources.boards.set(boards.clone());
        Emulated {
            boards: Some(boards),
            ..self
        }
    }
}

impl Emulated {
    /// What a checker has noticed about sources.
    pub fn sources(&self) -> Arc<Sources> {
        self.card.shared.sources.clone()
    }

    /// From now on the adapter executes what the initiator of this queue posts, in another process.
    pub(crate) fn take_over(&self, consumer: Consumer) -> impl Bell {
        self.card.take_over(self.rank, consumer)
    }
}

impl core::fmt::Debug for Emulated {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Emulated")
            .field("rank", &self.rank)
            .finish_non_exhaustive()
    }
}

/// Starts an adapter for all of `domains`, and returns an engine for each rank.
///
/// # Errors
/// The thread cannot be started.
pub fn start(domains: Domains, model: Model) -> std::io::Result<Vec<Emulated>> {
    let ranks = domains.len() as u32;
    let card = Arc::new(Card::start(domains, 0, model)?);
    Ok((0..ranks)
        .map(|rank| Emulated {
            rank,
            card: card.clone(),
            boards: None,
        })
        .collect())
}

/// Starts an adapter for the queue pairs of `rank` alone: every process of a job has one. `domains` are the rank's
/// own and those of its peers, whose memory is mapped here. A peer whose domain is mapped too (`Domain::peer_at`) is
/// reached by every operation. A [view](Domain::view) is reached by puts, gets, atomics, signals and fences; messages
/// and counts to it end with [`Status::Unsupported`](crate::descriptor::Status::Unsupported).
///
/// # Errors
/// `rank` has no domain, or the thread cannot be started.
pub fn start_one(rank: u32, domains: Domains, model: Model) -> std::io::Result<Emulated> {
    if rank as usize >= domains.len() {
        return Err(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            format!("rank {rank} of {}", domains.len()),
        ));
    }
    let mut model = model;
    if let Some(device) = &mut model.device {
        // The processes of a job share this setting. With the same seed, all would hold alike.
        device.seed ^= u64::from(rank) << 32;
    }
    let card = Arc::new(Card::start(domains, rank as usize, model)?);
    Ok(Emulated {
        rank,
        card,
        boards: None,
    })
}

fn serve(shared: &Shared, mut adapter: Adapter) {
    let mut joined = 0;
    let mut place = Place::new();
    let door = shared.door();
    loop {
        let seen = door.knocks.load(Ordering::Acquire);
        let known = shared.joined.load(Ordering::Acquire);
        if known != joined {
            joined = known;
            shared.joining.with(|list| {
                for (rank, consumer) in list.drain(..) {
                    adapter.join(rank, consumer);
                }
            });
        }
        loop {
            let now = if adapter.is_immediate() {
                0
            } else {
                sys::monotonic_ns()
            };
            adapter.recount(now);
            if !adapter.step(now) {
                break;
            }
        }
        if shared.stop.load(Ordering::Acquire) {
            adapter.stop();
            return;
        }
        let due = adapter.next_due();
        let ns = due.map_or(u64::MAX, |d| d.saturating_sub(sys::monotonic_ns()));
        let mut done = || {
            door.knocks.load(Ordering::Acquire) != seen
                || shared.stop.load(Ordering::Acquire)
                || due.is_some_and(|d| sys::monotonic_ns() >= d)
        };
        // The initiator runs on this core, and spinning here would keep it from ringing again. Hand the core over.
        let waker = shared.waker.swap(NOWHERE, Ordering::Relaxed);
        if waker != NOWHERE && place.shares(waker) {
            door.wake.sleep_nudged(ns, &mut done);
        } else {
            door.wake.wait_nudged(ns, &mut done);
        }
    }
}

impl Engine for Emulated {
    fn name(&self) -> &'static str {
        "emulated"
    }

    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.card.shared.fabric.domains.len() as u32
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            triggered: true,
            asynchronous: true,
        }
    }

    fn domain(&self) -> &Domain {
        &self.card.shared.fabric.domains[self.rank as usize]
    }

    fn queue_pair(&self, depth: usize, keys: TemplateKeys) -> QueuePair {
        let shared = &self.card.shared;
        let number = shared.queue_pairs.fetch_add(1, Ordering::Relaxed);
        let (initiator, consumer) = ends(depth, number, keys);
        let bell = self.card.take_over(self.rank, consumer);
        let mut qp = QueuePair::new(initiator, Box::new(bell));
        if shared.combining {
            qp.flushing(self.ranks());
        }
        if let Some(boards) = &self.boards {
            let domain = shared.fabric.domains[self.rank as usize].clone();
            let tracker = Tracker::new(self.rank, boards.clone());
            qp.tracked(tracker.watching(number, shared.sources.clone(), domain));
        }
        qp
    }
}

pub(super) struct Doorbell {
    rank: u32,
    card: Arc<Card>,
    /// How many turns of the next wait give the core away: the thread may run on this core.
    yields: u32,
}

impl Bell for Doorbell {
    #[inline]
    fn rung(&mut self) {
        if self.card.shared.bell() {
            self.yields = YIELDS;
        }
    }

    fn invalidate(&mut self) {
        self.card.shared.invalidations.add(self.rank);
    }

    fn drive(&mut self) -> bool {
        if self.yields != 0 {
            self.yields = match give_core() {
                true => self.yields - 1,
                false => 0,
            };
        }
        false
    }
}
