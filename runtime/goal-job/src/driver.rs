//! A rank with its links: takes packets in and sends packets out, one step at a time. It belongs to the thread that
//! makes progress.

use crate::link::{self, Here, Link, Look, Posts};
use crate::memory::Bound;
use crate::reach::Processes;
use core::sync::atomic::{AtomicU32, Ordering};
use hetmp_core::sys;
use hetmp_goal::packet::HEADER_BYTES;
use hetmp_goal::rank::{Event, Failure, Handle, Limits, Rank, StartError, State};
use hetmp_goal::schedule::Schedule;
use std::sync::{Arc, OnceLock};

/// Limits of a job. A packet of data fits into a [ring](crate::ring) twice, so that one can be written while the
/// other is read.
pub(crate) const LIMITS: Limits = Limits {
    eager: 8 << 10,
    credits: 64,
    offers: 1 << 16,
    fragment: 15 << 10,
};
/// The most packets taken from one link before the other links get their turn.
const TURN: usize = 64;
/// Once in this many steps the rank also looks at the links of ranks with which it has no schedule.
const ROUND: u32 = 64;

const RUNNING: u32 = 0;
const DONE: u32 = 1;
const FAILED: u32 = 2;

/// How a run ended, for the thread that waits for it.
///
/// # Memory ordering
/// `word` is stored with release after the run's last write to the program's memory, and Test and Wait load it with
/// acquire. Otherwise the program could read its buffers before the run's bytes are there.
#[derive(Debug, Default)]
pub struct Outcome {
    word: AtomicU32,
    failure: OnceLock<Failure>,
    events: OnceLock<Vec<Event>>,
}

impl Outcome {
    /// `None` while the run goes on, then its result.
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

    /// The events of a traced run that has ended.
    pub fn events(&self) -> &[Event] {
        self.events.get().map_or(&[], Vec::as_slice)
    }

    fn set(&self, state: State) {
        match state {
            State::Running => {}
            State::Done => self.word.store(DONE, Ordering::Release),
            State::Failed(why) => {
                // Cannot fail: a run ends once.
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
    /// The run has operations that need the time.
    clocked: bool,
}

/// This process's side of all links, and its rank.
#[derive(Debug)]
pub(crate) struct Driver {
    here: Here,
    rank: Rank,
    links: Box<[Option<Box<Link>>]>,
    /// Peers of this rank's schedules. Their links are looked at in every step.
    known: Vec<u32>,
    /// By rank: where its segment is mapped; null if an engine reaches it.
    bases: Box<[*mut u8]>,
    post: Posts,
    open: Vec<Open>,
    clocked: usize,
    steps: u32,
    /// Peers to which something was written since their bell was rung, or whose link has packets that found no room
    /// ([`Link::listed`]).
    busy: Vec<u32>,
}

// SAFETY: the pointers are into mapped segments, which stay mapped; one thread at a time uses a driver.
unsafe impl Send for Driver {}

impl Driver {
    /// The driver of a rank. `bases` has where peers' segments are mapped, null for peers that `post` reaches.
    pub(crate) fn new(here: Here, bases: Box<[*mut u8]>, post: Posts) -> Driver {
        let ranks = bases.len() as u32;
        let mut rank = Rank::new(here.rank, ranks, LIMITS);
        // SAFETY: peers' segments stay mapped, as for the links.
        rank.set_reach(Box::new(unsafe { Processes::new(here, bases.clone()) }));
        Driver {
            here,
            rank,
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
        self.here.note_cpu();
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

    /// How many runs have not ended; and one more while packets wait for room on a link. A run ends as soon as its last
    /// message is copied, and if nobody worked on, that message would stay here: its receiver would wait until this
    /// process happens to call again.
    pub(crate) fn running(&self) -> usize {
        self.open.len() + usize::from(!self.busy.is_empty())
    }

    /// Takes packets, begins operations that became ready, and sends packets. If `waited`, also copies a piece of each
    /// long message that a peer reads here: a program that computes keeps its core, and the peer copies alone. True if
    /// there was something to do.
    pub(crate) fn step(&mut self, waited: bool) -> bool {
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
        worked | self.send() | (waited && self.rank.push())
    }

    /// Takes the packets that a peer has sent.
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
                    // SAFETY: `look` keeps the packet within this rank's segment, and its writer leaves it alone
                    // until `passed`. A process of the job that breaks this rule can spoil the payload, which is only
                    // copied. All decisions are made by a copy of the header.
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

    /// Notes that a peer's link needs attention.
    fn list(&mut self, peer: u32) {
        let link = self.link(peer);
        if !core::mem::replace(&mut link.listed, true) {
            self.busy.push(peer);
        }
    }

    /// Sends the rank's packets, and sets the outcome of runs that have ended.
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
            // What is to be read was announced, so that its sender may take part.
            let pulled = self.rank.pull();
            if !(pulled || self.rank.is_streaming() && self.stream()) {
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
                // Cannot fail: a run ends once.
                let _ = open.outcome.events.set(events.to_vec());
            }
            if let Some((state, memory)) = self.rank.take(run) {
                drop(memory);
                open.outcome.set(state);
            }
        }
        worked
    }

    /// Sends packets that found no room before, and wakes peers that something was written to.
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

    /// Sends parts of long messages, as many as find room. True if one was sent.
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

    /// The peer cannot be reached any more. Takes what it has written before. Unless the last of it is that the peer
    /// leaves, runs that need the peer fail.
    pub(crate) fn miss(&mut self, peer: u32) {
        while self.take(peer) {}
        if !self.link(peer).gone {
            self.lose(peer);
        }
    }

    /// The peer is lost: runs that need it fail.
    fn lose(&mut self, peer: u32) {
        self.link(peer).cut();
        self.rank.lose(peer);
    }

    /// The peers that runs still need.
    pub(crate) fn needed(&self) -> Vec<u32> {
        let here = |p: &u32| self.links[*p as usize].as_ref().is_some_and(|l| !l.gone);
        let needed = |p: &u32| here(p) && self.rank.needs(*p);
        self.known.iter().copied().filter(needed).collect()
    }

    /// Lets an engine find out whether a peer is there. A later step gets the answer.
    pub(crate) fn probe(&mut self, peer: u32) {
        self.post.probe(peer);
    }

    /// [`Rank::ask`]; the next step sends the question.
    pub(crate) fn ask(&mut self) {
        self.rank.ask();
    }

    /// The bytes that this rank [waits for](Rank::awaited), if peers may copy or send them meanwhile: none if one of
    /// them was last seen on the calling thread's core, and waits for that core.
    pub(crate) fn awaited(&self) -> u64 {
        let cpu = self.here.note_cpu();
        let is_here = |peer: &u32| {
            let base = self.bases[*peer as usize];
            // SAFETY: peers' segments stay mapped, as for the links.
            !base.is_null() && unsafe { link::cpu(base) } == cpu
        };
        match self.needed().iter().any(is_here) {
            true => 0,
            false => self.rank.awaited(),
        }
    }

    /// The time of the next step even if nothing arrives, in nanoseconds of the monotonic clock.
    pub(crate) fn deadline(&self) -> Option<u64> {
        self.rank.deadline()
    }

    /// Ends all runs that are not done.
    pub(crate) fn abandon_all(&mut self) {
        for open in &self.open {
            self.rank.abandon(open.run);
        }
        self.send();
    }

    /// True if no packet waits for room in the ring of a peer that is still there, and none writes into memory here.
    pub(crate) fn is_flushed(&self) -> bool {
        !self.rank.is_streaming()
            && !self.rank.is_pulling()
            && self.links.iter().flatten().all(|l| l.is_flushed())
    }

    /// Tells every peer that this rank leaves, after everything sent before.
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
