//! A rank with its links: packets in and out, one step at a time. Whoever makes progress owns it meanwhile.

use crate::link::{Here, Link, Look, Posts};
use crate::memory::Bound;
use core::sync::atomic::{AtomicU32, Ordering};
use hetmp_core::sys;
use hetmp_goal::rank::{Event, Failure, Handle, Limits, Rank, StartError, State};
use hetmp_goal::schedule::Schedule;
use std::sync::{Arc, OnceLock};

/// Bounds of a job. A packet of data fits twice into a [ring](crate::ring), so that one is written while one is read.
pub(crate) const LIMITS: Limits = Limits {
    eager: 8 << 10,
    credits: 64,
    offers: 1 << 16,
    fragment: 15 << 10,
};
/// Packets taken from one link before the others get their turn.
const TURN: usize = 64;
/// Every so many steps this rank looks at the links of ranks that it has no schedule with, too.
const ROUND: u32 = 64;

const RUNNING: u32 = 0;
const DONE: u32 = 1;
const FAILED: u32 = 2;

/// How a run ended, for whoever waits for it.
///
/// # Memory ordering
/// `word` is stored with release after the run's last write to the program's memory, and loaded with acquire by Test and
/// Wait: without the pair the program could read its buffers before the run's bytes are there.
#[derive(Debug, Default)]
pub struct Outcome {
    word: AtomicU32,
    failure: OnceLock<Failure>,
    events: OnceLock<Vec<Event>>,
}

impl Outcome {
    /// `None` while the run goes on; then how it ended.
    #[inline]
    pub fn poll(&self) -> Option<Result<(), Failure>> {
        match self.word.load(Ordering::Acquire) {
            RUNNING => None,
            DONE => Some(Ok(())),
            _ => Some(Err(self
                .failure
                .get()
                .copied()
                .unwrap_or(Failure::Abandoned))),
        }
    }

    /// What happened to the operations of a traced run that has ended.
    pub fn events(&self) -> &[Event] {
        self.events.get().map_or(&[], Vec::as_slice)
    }

    fn set(&self, state: State) {
        match state {
            State::Running => {}
            State::Done => self.word.store(DONE, Ordering::Release),
            State::Failed(why) => {
                // Set once: a run ends once.
                let _ = self.failure.set(why);
                self.word.store(FAILED, Ordering::Release);
            }
        }
    }
}

/// A run that has not ended.
#[derive(Debug)]
struct Open {
    run: Handle,
    outcome: Arc<Outcome>,
    /// It has operations that need the time.
    clocked: bool,
}

/// What one process does for its rank.
#[derive(Debug)]
pub(crate) struct Driver {
    here: Here,
    rank: Rank,
    links: Box<[Option<Box<Link>>]>,
    /// Ranks that schedules of this one have as peers: their links are looked at in every step.
    known: Vec<u32>,
    /// Where peers' segments are mapped, null where an engine reaches them.
    bases: Box<[*mut u8]>,
    post: Posts,
    open: Vec<Open>,
    clocked: usize,
    buffer: Vec<u8>,
    steps: u32,
}

// SAFETY: mapped segments, which stay; one thread at a time owns a driver.
unsafe impl Send for Driver {}

impl Driver {
    /// The driver of a rank whose peers' segments are mapped at `bases`, null for those that `post` reaches.
    pub(crate) fn new(here: Here, bases: Box<[*mut u8]>, post: Posts) -> Driver {
        let ranks = bases.len() as u32;
        Driver {
            here,
            rank: Rank::new(here.rank, ranks, LIMITS),
            links: (0..ranks).map(|_| None).collect(),
            known: Vec::new(),
            bases,
            post,
            open: Vec::new(),
            clocked: 0,
            buffer: Vec::new(),
            steps: 0,
        }
    }

    fn link(&mut self, peer: u32) -> &mut Link {
        let base = self.bases[peer as usize];
        self.links[peer as usize].get_or_insert_with(|| Box::new(Link::new(peer, base)))
    }

    /// Begins a run, and sends what can be sent at once.
    pub(crate) fn start(
        &mut self,
        schedule: &Arc<Schedule>,
        context: u32,
        memory: Bound,
        traced: bool,
    ) -> Result<Arc<Outcome>, StartError> {
        for peer in schedule.peers() {
            if *peer != self.here.rank && !self.known.contains(peer) {
                self.known.push(*peer);
                self.link(*peer);
            }
        }
        let clocked = traced || schedule.is_timed();
        self.rank.trace(traced);
        let now = if clocked { sys::monotonic_ns() } else { 0 };
        let run = self.rank.start(schedule, context, Box::new(memory), now)?;
        let outcome = Arc::new(Outcome::default());
        self.clocked += usize::from(clocked);
        self.open.push(Open {
            run,
            outcome: Arc::clone(&outcome),
            clocked,
        });
        self.send();
        Ok(outcome)
    }

    /// Runs that have not ended.
    pub(crate) fn running(&self) -> usize {
        self.open.len()
    }

    /// Takes what came, starts what became ready, sends. True if there was something.
    pub(crate) fn step(&mut self) -> bool {
        let mut worked = false;
        if self.clocked > 0 {
            self.rank.tick(sys::monotonic_ns());
        }
        self.steps = self.steps.wrapping_add(1);
        if self.steps % ROUND == 0 {
            for peer in 0..self.links.len() as u32 {
                worked |= peer != self.here.rank && self.take(peer);
            }
        } else {
            for i in 0..self.known.len() {
                worked |= self.take(self.known[i]);
            }
        }
        worked | self.send()
    }

    /// Takes packets of a peer.
    fn take(&mut self, peer: u32) -> bool {
        let (read, gone) = match &self.links[peer as usize] {
            Some(link) => (link.read, link.gone),
            None => (0, false),
        };
        if gone || !self.here.has_news(peer, read) {
            return false;
        }
        let here = self.here;
        for _ in 0..TURN {
            let mut buffer = core::mem::take(&mut self.buffer);
            self.link(peer);
            let look = match &mut self.links[peer as usize] {
                Some(link) => link.look(&here, &mut self.post, &mut buffer),
                None => Look::Nothing,
            };
            if look == Look::Packet {
                if self.clocked > 0 {
                    self.rank.tick(sys::monotonic_ns());
                }
                self.rank.bytes(peer, &buffer);
            }
            self.buffer = buffer;
            match look {
                Look::Packet => {}
                Look::Nothing => break,
                Look::Gone => {
                    self.lose(peer);
                    break;
                }
            }
        }
        true
    }

    /// Sends what the rank has to say, and tells the runs' owners of their ends.
    fn send(&mut self) -> bool {
        let here = self.here;
        let mut worked = false;
        while let Some((to, packet)) = self.rank.outgoing() {
            self.link(to);
            if let Some(link) = &mut self.links[to as usize] {
                link.send(&here, &mut self.post, packet);
            }
            worked = true;
        }
        for link in self.links.iter_mut().flatten() {
            if !link.is_flushed() {
                worked |= link.flush(&here, &mut self.post);
            }
            link.ring_bell();
        }
        self.post.ring();
        for peer in self.post.lost() {
            if (peer as usize) < self.links.len() && peer != here.rank {
                self.lose(peer);
                worked = true;
            }
        }
        while let Some(run) = self.rank.ended() {
            worked = true;
            let Some(at) = self.open.iter().position(|o| o.run == run) else {
                continue;
            };
            let open = self.open.swap_remove(at);
            self.clocked -= usize::from(open.clocked);
            let events = self.rank.events(run);
            if !events.is_empty() {
                // Set once: a run ends once.
                let _ = open.outcome.events.set(events.to_vec());
            }
            if let Some((state, memory)) = self.rank.take(run) {
                drop(memory);
                open.outcome.set(state);
            }
        }
        worked
    }

    /// The peer is gone: runs that need it fail.
    pub(crate) fn lose(&mut self, peer: u32) {
        self.link(peer).cut();
        self.rank.lose(peer);
    }

    /// Peers that runs still need.
    pub(crate) fn needed(&self) -> Vec<u32> {
        let needed = |p: &u32| self.rank.needs(*p);
        self.known.iter().copied().filter(needed).collect()
    }

    /// Has an engine look whether a peer is there; what it finds shows in a later step.
    pub(crate) fn probe(&mut self, peer: u32) {
        self.post.probe(peer);
    }

    /// When a step is to come although nothing arrives, nanoseconds of the monotonic clock.
    pub(crate) fn deadline(&self) -> Option<u64> {
        self.rank.deadline()
    }

    /// Ends every run that is not over.
    pub(crate) fn abandon_all(&mut self) {
        for open in &self.open {
            self.rank.abandon(open.run);
        }
        self.send();
    }

    /// True if nothing waits for room in a ring of a peer that is still there.
    pub(crate) fn is_flushed(&self) -> bool {
        self.links.iter().flatten().all(|l| l.is_flushed())
    }

    /// Tells every peer that this rank leaves, behind everything sent before.
    pub(crate) fn leave(&mut self) {
        let here = self.here;
        for peer in (0..self.links.len() as u32).filter(|p| *p != here.rank) {
            self.link(peer);
            if let Some(link) = &mut self.links[peer as usize] {
                link.leave(&here, &mut self.post);
            }
        }
        self.post.ring();
        self.post.quiet();
    }
}
