//! What threads of several nodes do together: start a region, meet at a barrier, take locks, take iterations.
//! All by messages, but for barriers and blocks of loops of nodes that one process forked ([`crate::meeting`]).
//!
//! The callers run on shared stacks. A peer may take a page of such a stack away at any moment, and the page
//! comes back only while the threads that serve faults and messages run. So callers take no lock that those
//! threads ever take. A caller writes its request by atomics to a slot in memory that is private to the
//! process, and sleeps on the slot's bell. An agent, a thread with a private stack, does the rest. `state` makes
//! the decisions, without threads or messages.
//!
//! Of requests by message neither side spins before it sleeps: an answer takes a message to another process and back,
//! and both processes may share the core.

mod slot;
mod state;

use crate::driver::Driver;
use crate::meeting;
use crate::pool::Point;
use crate::{NodeId, MAX_NODES};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crossbeam_utils::Backoff;
use hetmp_core::bell::LocalBell;
use hetmp_core::report;
pub use slot::Words;
use slot::{load, store, Slot};
use state::{Effect, State, Tag, Unexpected, SLOTS};
pub use state::{Op, ONE};
use std::sync::{Mutex, PoisonError};

/// The first tag of the messages in which a node hands in [`Together::hand_in`]'s words, before its [`Op::Done`].
const HANDED_IN: u32 = 100;
/// The tags of messages in which a node asks the server at the origin to settle its loans, and of the answer.
const SETTLE: u32 = 200;
const SETTLED: u32 = 201;
/// The number of [`HANDED_IN`]'s messages.
const MORE: usize = 2;

/// The way from the program's threads to the other nodes.
#[derive(Debug)]
pub struct Together {
    driver: &'static Driver,
    slots: [Slot; SLOTS],
    /// Requests made so far.
    asked: AtomicU32,
    /// The agent sleeps on this bell until there is another request.
    bell: LocalBell,
    state: Mutex<State>,
    /// How often the origin has settled this node's loans.
    settled: AtomicU32,
    /// The agent sleeps on this bell until it has.
    settling: LocalBell,
    /// What each node told with its last [`Op::Done`]. Program threads read this without a lock: the effect of the
    /// message, the answer to `Join`, publishes the words.
    told: [[AtomicU64; 3]; MAX_NODES],
    /// What each node handed in before that; for this node, what it is to hand in.
    handed_in: [[[AtomicU64; 3]; MAX_NODES]; MORE],
}

/// Starts the agent of this node. Called once.
///
/// # Errors
/// One line: there is no thread left.
pub fn start(driver: &'static Driver) -> Result<&'static Together, String> {
    let together: &'static Together = Box::leak(Box::new(Together {
        driver,
        slots: core::array::from_fn(|_| Slot::new()),
        asked: AtomicU32::new(0),
        bell: LocalBell::local(),
        state: Mutex::new(State::new(driver.me(), driver.nodes())),
        settled: AtomicU32::new(0),
        settling: LocalBell::local(),
        told: [const { [const { AtomicU64::new(0) }; 3] }; MAX_NODES],
        handed_in: [const { [const { [const { AtomicU64::new(0) }; 3] }; MAX_NODES] }; MORE],
    }));
    driver.on_message(Box::new(|from, tag, bytes| {
        let mut words = [0; 3];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = bytes.iter().rev().fold(0, |w, b| w << 8 | u64::from(*b));
        }
        let more = tag.checked_sub(HANDED_IN).map(|i| i as usize);
        if let Some(all) = more.and_then(|i| together.handed_in.get(i)) {
            if let Some(to) = all.get(usize::from(from)) {
                store(to, words);
            }
            return;
        }
        if tag == SETTLE {
            together.driver.settle(from);
            return together.send(from, SETTLED, words);
        }
        if tag == SETTLED {
            together.settled.fetch_add(1, Ordering::SeqCst);
            return together.settling.ring_after_swap();
        }
        if tag == Tag::Done as u32 {
            if let Some(to) = together.told.get(usize::from(from)) {
                store(to, words);
            }
        }
        let run = |s: &mut State, out: &mut Vec<Effect>| match Tag::of(tag) {
            Some(tag) => s.message(from, tag, words, out),
            None => Err(Unexpected),
        };
        together.run(run, &|| format!("message {tag} of node {from}"));
    }));
    std::thread::Builder::new()
        .name("hetmp-dsm-agent".to_owned())
        .stack_size(crate::driver::STACK)
        .spawn(|| together.serve())
        .map_err(|e| format!("thread of node {}: {e}", driver.me()))?;
    Ok(together)
}

/// Where a request stands in the program's run, as a pool needs to know; `None` if the request orders nothing.
fn point_of(op: Op) -> Option<Point> {
    match op {
        Op::Fork => Some(Point::RegionBegins),
        Op::Next => Some(Point::PartBegins),
        Op::Done => Some(Point::PartEnds),
        Op::Join => Some(Point::RegionEnds),
        Op::Barrier => Some(Point::Barrier),
        Op::Lock | Op::TryLock => Some(Point::Lock),
        Op::Unlock => Some(Point::Unlock),
        Op::Turn | Op::Pass | Op::Post | Op::Await => Some(Point::Order),
        Op::Take | Op::Claim | Op::Hot | Op::Leave | Op::Settle => None,
    }
}

impl Together {
    /// This node's driver.
    pub fn driver(&self) -> &'static Driver {
        self.driver
    }

    /// What the node told with its last [`Op::Done`]; zeros before the first one.
    pub fn told(&self, node: NodeId) -> Words {
        self.told.get(usize::from(node)).map_or([0; 3], load)
    }

    /// Words that this node's next [`Op::Done`] takes to the origin besides its own.
    pub fn hand_in(&self, words: [Words; MORE]) {
        for (all, words) in self.handed_in.iter().zip(words) {
            store(&all[usize::from(self.driver.me())], words);
        }
    }

    /// What the node handed in before its last [`Op::Done`]; zeros before the first one.
    pub fn handed_in(&self, node: NodeId) -> [Words; MORE] {
        let of =
            |all: &[[AtomicU64; 3]; MAX_NODES]| all.get(usize::from(node)).map_or([0; 3], load);
        [of(&self.handed_in[0]), of(&self.handed_in[1])]
    }

    /// Makes a request and waits for its answer. May be called on a shared stack.
    pub fn ask(&self, op: Op, words: Words) -> Words {
        let orders = !matches!(op, Op::Take | Op::Claim | Op::Hot);
        let pool = self.driver.pool();
        let point = pool.and_then(|p| point_of(op).filter(|at| p.minds(*at)));
        if orders {
            self.settle();
        }
        if let Some(at) = point.filter(|at| at.releases()) {
            self.answer_to(Op::Settle, [at as u64 + 1, 1, words[0]]);
        }
        let answer = self.answer_to(op, words);
        if let Some(at) = point.filter(|at| at.acquires()) {
            self.answer_to(Op::Settle, [at as u64 + 1, 0, answer[0]]);
        }
        if orders {
            self.driver.counts().orders.fetch_add(1, Ordering::SeqCst);
            self.settle();
        }
        if matches!(op, Op::Fork | Op::Join | Op::Next | Op::Barrier) {
            // Nodes have met here: what they want from now on is another set of pages.
            self.driver.counts().phase.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }

    /// Gives back what this node has borrowed: what its threads wrote is to be seen by others, and what others wrote by
    /// them.
    fn settle(&self) {
        if self.driver.counts().loans.load(Ordering::SeqCst) > 0 {
            self.answer_to(Op::Settle, [0; 3]);
        }
    }

    fn answer_to(&self, op: Op, words: Words) -> Words {
        if let Some((place, looks)) = self.driver.meeting() {
            match op {
                Op::Barrier => {
                    let nodes = self.driver.nodes().into();
                    return [place.barrier(nodes, words[0], looks), 0, 0];
                }
                Op::Claim if u32::from(self.driver.nodes()) <= meeting::BLOCKS => {
                    let (mine, taken) = place.claim(words[0], words[1]);
                    return [mine.into(), taken, 0];
                }
                Op::Fork => place.forget_claims(),
                _ => {}
            }
        }
        let backoff = Backoff::new();
        let slot = loop {
            match self.slots.iter().find(|slot| slot.claim()) {
                Some(slot) => break slot,
                None => backoff.snooze(),
            }
        };
        slot.ask(op as u32, words);
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.bell.ring_after_swap();
        slot.wait()
    }

    fn serve(&self) {
        crate::prompt::be_prompt();
        loop {
            let seen = self.asked.load(Ordering::Acquire);
            for (i, slot) in self.slots.iter().enumerate() {
                let Some((op, words)) = slot.take() else {
                    continue;
                };
                if op == Op::Done as u32 {
                    let own = self.handed_in(self.driver.me());
                    for (tag, words) in (HANDED_IN..).zip(own) {
                        self.send(0, tag, words);
                    }
                }
                if op == Op::Settle as u32 {
                    match (self.driver.pool(), words[0].checked_sub(1)) {
                        (Some(pool), Some(at)) => pool.order(at as u8, words[1] != 0, words[2]),
                        _ => self.settle_here(),
                    }
                }
                let run = |s: &mut State, out: &mut Vec<Effect>| match Op::of(op) {
                    Some(op) => s.request(i, op, words, out),
                    None => Err(Unexpected),
                };
                self.run(run, &|| format!("request {op}"));
            }
            self.bell
                .sleep_until(&mut || self.asked.load(Ordering::Acquire) != seen);
        }
    }

    /// Called by the agent.
    fn settle_here(&self) {
        let me = self.driver.me();
        let before = self.settled.load(Ordering::SeqCst);
        if !self.driver.settle(me) {
            self.send(0, SETTLE, [0; 3]);
            let over = || self.settled.load(Ordering::SeqCst) != before;
            self.settling.sleep_until(&mut || over());
        }
    }

    fn send(&self, to: NodeId, tag: u32, words: Words) {
        let mut bytes = [0; 24];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        self.driver.send(to, tag, &bytes);
    }

    fn run(
        &self,
        step: impl FnOnce(&mut State, &mut Vec<Effect>) -> Result<(), Unexpected>,
        what: &dyn Fn() -> String,
    ) {
        let mut out = Vec::new();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if step(&mut state, &mut out).is_err() {
            report::warn(format_args!(
                "node {}: {} (expected what the other nodes do)",
                self.driver.me(),
                what()
            ));
            // SAFETY: _exit has no preconditions; the other nodes follow.
            unsafe { libc::_exit(1) }
        }
        // Send under the lock, so that messages leave in the order of their causes.
        for effect in out {
            match effect {
                Effect::Answer(slot, words) => self.slots[slot].answer(words),
                Effect::Send(to, tag, words) => self.send(to, tag as u32, words),
                Effect::Hot(slot, rank) => {
                    let (address, requests) = self.driver.hot(rank as usize).unwrap_or_default();
                    self.slots[slot].answer([address as u64, requests, 0]);
                }
                Effect::Leave => {
                    self.driver.flush();
                    self.driver.take_leave();
                }
                Effect::End => self.driver.end(),
            }
        }
    }
}
