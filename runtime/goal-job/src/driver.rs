//! A rank with its links: packets in and out, one step at a time. Whoever makes progress owns it meanwhile.

use crate::link::{Here, Link, Look, Posts};
use crate::memory::Bound;
use core::sync::atomic::{AtomicU32, Ordering};
use hetmp_core::sys;
use hetmp_goal::packet::HEADER_BYTES;
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
    steps: u32,
    /// Peers that were told something since their bell was rung, or whose link has packets that found no room
    /// ([`Link::listed`]).
    busy: Vec<u32>,
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
            steps: 0,
            busy: Vec::new(),
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
            match self.link(peer).look(&here) {
                Look::Packet { at, len, next } => {
                    if self.clocked > 0 {
                        self.rank.tick(sys::monotonic_ns());
                    }
                    // SAFETY: `look` keeps the packet within this rank's segment, and its writer leaves it alone until
                    // `passed`. A process of the job that writes there all the same spoils the payload's bytes, which are
                    // copied and never looked at; what is decided by is the copy of the header.
                    unsafe {
                        if len < HEADER_BYTES {
                            self.rank.bytes(peer, &[]);
                        } else {
                            let header = at.cast::<[u8; HEADER_BYTES]>().read();
                            let rest = at.wrapping_add(HEADER_BYTES);
                            let payload = core::slice::from_raw_parts(rest, len - HEADER_BYTES);
                            self.rank.parts(peer, &header, payload);
                        }
                    }
                    if let Some(link) = &mut self.links[peer as usize] {
                        link.passed(&here, &mut self.post, next);
                    }
                }
                Look::Nothing => break,
                Look::Left => {
                    self.link(peer).cut();
                    self.rank.leave(peer);
                    break;
                }
                Look::Broken => {
                    self.lose(peer);
                    break;
                }
            }
        }
        self.list(peer);
        true
    }

    /// Remembers to look after a peer's link.
    fn list(&mut self, peer: u32) {
        let link = self.link(peer);
        if !core::mem::replace(&mut link.listed, true) {
            self.busy.push(peer);
        }
    }

    /// Sends what the rank has to say, and tells the runs' owners of their ends.
    fn send(&mut self) -> bool {
        let here = self.here;
        let mut worked = false;
        loop {
            while let Some((to, packet)) = self.rank.outgoing() {
                self.list(to);
                if let Some(link) = &mut self.links[to as usize] {
                    link.send(&here, &mut self.post, packet);
                }
                worked = true;
            }
            worked |= self.tend();
            if !self.rank.is_streaming() || !self.stream() {
                break;
            }
            worked = true;
        }
        self.post.ring();
        for peer in self.post.lost() {
            if (peer as usize) < self.links.len() && peer != here.rank {
                self.miss(peer);
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

    /// Sends what found no room before, and wakes those who were told something.
    fn tend(&mut self) -> bool {
        let (here, mut worked, mut i) = (self.here, false, 0);
        while let Some(peer) = self.busy.get(i) {
            let Some(link) = &mut self.links[*peer as usize] else {
                self.busy.swap_remove(i);
                continue;
            };
            worked |= link.flush(&here, &mut self.post);
            link.ring_bell();
            if link.is_flushed() {
                link.listed = false;
                self.busy.swap_remove(i);
            } else {
                i += 1;
            }
        }
        worked
    }

    /// Sends parts of long messages, as many as have room. True if there were some.
    fn stream(&mut self) -> bool {
        let (here, links, post) = (self.here, &mut self.links, &mut self.post);
        self.rank.stream(&mut |to, header, n, fill| {
            let Some(link) = &mut links[to as usize] else {
                return false;
            };
            let went = link.part(&here, post, header, n, fill);
            link.ring_bell();
            went
        })
    }

    /// The peer cannot be reached any more. What it has written before stands; if that does not end with its leave, runs
    /// that need it fail.
    pub(crate) fn miss(&mut self, peer: u32) {
        while self.take(peer) {}
        if !self.link(peer).gone {
            self.lose(peer);
        }
    }

    /// The peer is gone: runs that need it fail.
    fn lose(&mut self, peer: u32) {
        self.link(peer).cut();
        self.rank.lose(peer);
    }

    /// Peers that runs still need.
    pub(crate) fn needed(&self) -> Vec<u32> {
        let here = |p: &u32| self.links[*p as usize].as_ref().is_some_and(|l| !l.gone);
        let needed = |p: &u32| here(p) && self.rank.needs(*p);
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
        !self.rank.is_streaming() && self.links.iter().flatten().all(|l| l.is_flushed())
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
