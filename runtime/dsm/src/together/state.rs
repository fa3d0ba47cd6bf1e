//! The decisions of [`Together`](super::Together): what requests and messages lead to. No threads, no
//! messages.
//!
//! A node hands in requests of its own threads ([`State::request`]) and messages of other nodes ([`State::message`]).
//! Both answer with [`Effect`]s: answers to slots here, and messages to be sent. Node 0, the origin, keeps the barrier,
//! the locks, the loops and their turns; the other nodes ask it.

use super::slot::Words;
use crate::{NodeId, NodeSet};
use std::collections::{BTreeMap, VecDeque};

/// A bit of a loop's number in [`Op::Take`]: one part, as small as may be. For ordered loops: otherwise a node's
/// threads would wait for the turns of all iterations that another node has taken.
pub const ONE: u64 = 1 << 31;
/// A bit of a loop's number in [`Op::Take`]: all iterations that are left.
pub(super) const REST: u64 = 1 << 30;

/// Requests that can be under way at once in a process.
pub(super) const SLOTS: usize = 256;

/// A caller's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Op {
    /// Origin: start a region on all other nodes. The three words go there and answer their [`Op::Next`].
    /// Answered at once.
    Fork = 1,
    /// Origin: answered when all nodes have said [`Op::Done`].
    Join,
    /// Node: answered with the words of the next region.
    Next,
    /// Node: its part of the region is over; the words are its counts. Answered at once.
    Done,
    /// Answered when every node has asked, with the bitwise or of their first words. At most one node brings
    /// a word that is not 0.
    Barrier,
    /// Answered when this caller has the lock that the first word names.
    Lock,
    /// Gives the lock back. Answered at once.
    Unlock,
    /// Origin: the address of the page of its part of memory for which nodes asked most often but for as many
    /// other pages as the first word says, and the number of requests; 0 if there is none.
    Hot,
    /// Takes iterations of a loop for this node. Words: the loop's number in the region (with [`ONE`] or [`REST`]),
    /// its trip count, and the number of iterations of which each part is a multiple. Answered with the first iteration
    /// and the one behind the last; equal if none are left.
    Take,
    /// Takes the lock if it is free. Answered at once: 1 if the caller has it now, otherwise 0.
    TryLock,
    /// Origin: the program ends. Answered when all nodes have been told.
    Leave,
    /// Waits for a turn of an ordered loop. Words: the loop's number in the region, and an iteration. Answered when
    /// all iterations before it have had their turn.
    Turn,
    /// Passes the turn of an ordered loop on. Words: the loop's number in the region, and the iteration whose turn it
    /// is now. Only the thread whose turn it was asks this. Answered at once.
    Pass,
    /// An iteration of a doacross loop has posted. Words: the loop's number in the region, one of its sequences of
    /// iterations, and the iteration's number, from 1. Those of a sequence post in ascending order. Answered at once.
    Post,
    /// Waits until an iteration of a doacross loop, or a later one of its sequence, has posted. Words as for
    /// [`Op::Post`].
    Await,
    /// Takes a block of a loop whose iterations were divided before, one block for each node. Words: the loop's number
    /// in the region, and the block; a block that no node has only looks. Answered at once: 1 if nobody had taken the
    /// block before, and the blocks that are taken now, as bits.
    Claim,
    /// Gives back what this node has borrowed, or does what a point demands of a pool, if the first word is the point's
    /// number plus 1. Answered when that is done, which is before this is handed in here.
    Settle,
}

impl Op {
    /// The request with this number.
    pub fn of(number: u32) -> Option<Op> {
        [
            Op::Fork,
            Op::Join,
            Op::Next,
            Op::Done,
            Op::Barrier,
            Op::Lock,
            Op::Unlock,
            Op::Hot,
            Op::Take,
            Op::TryLock,
            Op::Leave,
            Op::Turn,
            Op::Pass,
            Op::Post,
            Op::Await,
            Op::Claim,
            Op::Settle,
        ]
        .into_iter()
        .find(|o| *o as u32 == number)
    }
}

/// The messages between nodes; the number is the message's tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Tag {
    Fork = 1,
    Done,
    Arrived,
    Released,
    Lock,
    Granted,
    Unlock,
    Take,
    TryLock,
    /// The answer to a request that is answered at once: the slot, then two words.
    Answer,
    Leave,
    Turn,
    Pass,
    Post,
    Await,
    Claim,
}

impl Tag {
    pub(super) fn of(number: u32) -> Option<Tag> {
        [
            Tag::Fork,
            Tag::Done,
            Tag::Arrived,
            Tag::Released,
            Tag::Lock,
            Tag::Granted,
            Tag::Unlock,
            Tag::Take,
            Tag::TryLock,
            Tag::Answer,
            Tag::Leave,
            Tag::Turn,
            Tag::Pass,
            Tag::Post,
            Tag::Await,
            Tag::Claim,
        ]
        .into_iter()
        .find(|t| *t as u32 == number)
    }
}

/// A consequence of a request or a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Answer(usize, Words),
    Send(NodeId, Tag, Words),
    /// Answer to the slot with a page that was asked for often: see [`Op::Hot`].
    Hot(usize, u64),
    /// All messages are to arrive, and the launcher is to hear that this process ends.
    Leave,
    /// The program has ended.
    End,
}

/// A request or message that cannot come in this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unexpected;

/// One node's view of regions, barriers, locks and loops. The origin's view decides.
#[derive(Debug)]
pub(super) struct State {
    me: NodeId,
    nodes: NodeId,
    regions: VecDeque<Words>,
    waits_for_region: Option<usize>,
    done: NodeSet,
    waits_for_join: Option<usize>,
    arrived: NodeSet,
    waits_at_barrier: Option<usize>,
    /// The bitwise or of the words that nodes brought to the barrier.
    carried: u64,
    /// For each loop of the region that was asked for: its iterations that are gone.
    loops: BTreeMap<u64, u64>,
    /// For each loop of the region that is divided in blocks: those that are taken, as bits.
    claims: BTreeMap<u64, u64>,
    /// The ordered loops of the region.
    turns: BTreeMap<u64, Turns>,
    /// By loop and sequence: what of the region's doacross loops has posted.
    posts: BTreeMap<(u64, u64), Posts>,
    /// Locks that are taken. For each, who waits for it, in the order of asking: the node, and its slot
    /// there.
    locks: BTreeMap<u64, VecDeque<(NodeId, u64)>>,
}

/// An ordered loop's turns.
#[derive(Debug, Default)]
struct Turns {
    /// The iteration whose turn it is.
    now: u64,
    /// Who waits for the turn of which iteration: the node, and its slot there.
    waiting: BTreeMap<u64, (NodeId, u64)>,
}

/// A sequence of iterations of a doacross loop.
#[derive(Debug, Default)]
struct Posts {
    /// The last iteration that has posted, 0 before the first.
    last: u64,
    /// Who waits for which iteration: the node, and its slot there.
    waiting: Vec<(u64, NodeId, u64)>,
}

impl State {
    pub(super) fn new(me: NodeId, nodes: NodeId) -> State {
        State {
            me,
            nodes,
            regions: VecDeque::new(),
            waits_for_region: None,
            done: NodeSet::default(),
            waits_for_join: None,
            arrived: NodeSet::default(),
            waits_at_barrier: None,
            carried: 0,
            loops: BTreeMap::new(),
            claims: BTreeMap::new(),
            turns: BTreeMap::new(),
            posts: BTreeMap::new(),
            locks: BTreeMap::new(),
        }
    }

    pub(super) fn request(
        &mut self,
        slot: usize,
        op: Op,
        words: Words,
        out: &mut Vec<Effect>,
    ) -> Result<(), Unexpected> {
        let at_origin = self.me == 0;
        match op {
            Op::Fork if at_origin => {
                self.loops.clear();
                self.claims.clear();
                self.turns.clear();
                self.posts.clear();
                out.extend((1..self.nodes).map(|n| Effect::Send(n, Tag::Fork, words)));
                out.push(Effect::Answer(slot, words));
            }
            Op::Join if at_origin && self.waits_for_join.is_none() => {
                self.waits_for_join = Some(slot);
                self.joined(out);
            }
            Op::Next if !at_origin && self.waits_for_region.is_none() => {
                self.waits_for_region = Some(slot);
                self.next(out);
            }
            Op::Done if !at_origin => {
                out.push(Effect::Send(0, Tag::Done, words));
                out.push(Effect::Answer(slot, words));
            }
            Op::Barrier if self.waits_at_barrier.is_none() => {
                self.waits_at_barrier = Some(slot);
                if at_origin {
                    self.arrive(0, words[0], out)?;
                } else {
                    out.push(Effect::Send(0, Tag::Arrived, words));
                }
            }
            Op::Lock if at_origin => self.lock(0, words[0], slot as u64, out),
            Op::Lock => out.push(Effect::Send(0, Tag::Lock, [words[0], slot as u64, 0])),
            Op::Unlock => {
                if at_origin {
                    self.unlock(words[0], out)?;
                } else {
                    out.push(Effect::Send(0, Tag::Unlock, words));
                }
                out.push(Effect::Answer(slot, words));
            }
            Op::Settle => out.push(Effect::Answer(slot, words)),
            Op::Hot if at_origin => out.push(Effect::Hot(slot, words[0])),
            Op::Take if at_origin => {
                let (first, end) = self.take(words);
                out.push(Effect::Answer(slot, [first, end, 0]));
            }
            Op::Take => {
                let [number, iterations, grain] = words;
                let number = number & u64::from(u32::MAX) | (slot as u64) << 32;
                out.push(Effect::Send(0, Tag::Take, [number, iterations, grain]));
            }
            Op::TryLock if at_origin => {
                let got = self.try_lock(words[0]);
                out.push(Effect::Answer(slot, [got, 0, 0]));
            }
            Op::TryLock => out.push(Effect::Send(0, Tag::TryLock, [words[0], slot as u64, 0])),
            Op::Turn if at_origin => self.turn(0, words, slot as u64, out)?,
            Op::Turn => {
                let [number, k, _] = words;
                let number = number & u64::from(u32::MAX) | (slot as u64) << 32;
                out.push(Effect::Send(0, Tag::Turn, [number, k, 0]));
            }
            Op::Pass => {
                if at_origin {
                    self.pass(words, out)?;
                } else {
                    out.push(Effect::Send(0, Tag::Pass, words));
                }
                out.push(Effect::Answer(slot, words));
            }
            Op::Post => {
                if at_origin {
                    self.post(words, out);
                } else {
                    out.push(Effect::Send(0, Tag::Post, words));
                }
                out.push(Effect::Answer(slot, words));
            }
            Op::Await if at_origin => self.await_post(0, words, slot as u64, out),
            Op::Await => {
                let [number, sequence, iteration] = words;
                let number = number & u64::from(u32::MAX) | (slot as u64) << 32;
                out.push(Effect::Send(0, Tag::Await, [number, sequence, iteration]));
            }
            Op::Claim if at_origin => {
                let (mine, taken) = self.claim(words);
                out.push(Effect::Answer(slot, [mine, taken, 0]));
            }
            Op::Claim => {
                let [number, block, _] = words;
                let number = number & u64::from(u32::MAX) | (slot as u64) << 32;
                out.push(Effect::Send(0, Tag::Claim, [number, block, 0]));
            }
            Op::Leave if at_origin => {
                out.extend((1..self.nodes).map(|n| Effect::Send(n, Tag::Leave, words)));
                out.extend([Effect::Leave, Effect::Answer(slot, words)]);
            }
            _ => return Err(Unexpected),
        }
        Ok(())
    }

    pub(super) fn message(
        &mut self,
        from: NodeId,
        tag: Tag,
        words: Words,
        out: &mut Vec<Effect>,
    ) -> Result<(), Unexpected> {
        let to_origin = matches!(
            tag,
            Tag::Done
                | Tag::Arrived
                | Tag::Lock
                | Tag::Unlock
                | Tag::Take
                | Tag::TryLock
                | Tag::Turn
                | Tag::Pass
                | Tag::Post
                | Tag::Await
                | Tag::Claim
        );
        if to_origin != (self.me == 0) || (!to_origin && from != 0) || from >= self.nodes {
            return Err(Unexpected);
        }
        match tag {
            Tag::Fork => {
                self.regions.push_back(words);
                self.next(out);
            }
            Tag::Done => {
                if self.done.has(from) {
                    return Err(Unexpected);
                }
                self.done = self.done.with(from);
                self.joined(out);
            }
            Tag::Arrived => self.arrive(from, words[0], out)?,
            Tag::Released => {
                let slot = self.waits_at_barrier.take().ok_or(Unexpected)?;
                out.push(Effect::Answer(slot, words));
            }
            Tag::Lock => self.lock(from, words[0], words[1], out),
            Tag::Granted => {
                let slot = usize::try_from(words[1]).map_err(|_| Unexpected)?;
                if slot >= SLOTS {
                    return Err(Unexpected);
                }
                out.push(Effect::Answer(slot, words));
            }
            Tag::Unlock => self.unlock(words[0], out)?,
            Tag::Take => {
                let (first, end) = self.take(words);
                let answer = [words[0] >> 32, first, end];
                out.push(Effect::Send(from, Tag::Answer, answer));
            }
            Tag::TryLock => {
                let answer = [words[1], self.try_lock(words[0]), 0];
                out.push(Effect::Send(from, Tag::Answer, answer));
            }
            Tag::Answer => {
                let slot = usize::try_from(words[0]).map_err(|_| Unexpected)?;
                if slot >= SLOTS {
                    return Err(Unexpected);
                }
                out.push(Effect::Answer(slot, [words[1], words[2], 0]));
            }
            Tag::Leave => out.push(Effect::End),
            Tag::Turn => self.turn(from, words, words[0] >> 32, out)?,
            Tag::Pass => self.pass(words, out)?,
            Tag::Post => self.post(words, out),
            Tag::Await => self.await_post(from, words, words[0] >> 32, out),
            Tag::Claim => {
                let (mine, taken) = self.claim(words);
                let answer = [words[0] >> 32, mine, taken];
                out.push(Effect::Send(from, Tag::Answer, answer));
            }
        }
        Ok(())
    }

    /// Takes iterations of a loop for a node: half of an even part of the rest, rounded down to whole grains,
    /// at least one grain, unless the caller wants [`ONE`] or the [`REST`]. Nodes that are slower than expected then
    /// leave the end to others.
    fn take(&mut self, words: Words) -> (u64, u64) {
        let [number, iterations, grain] = words;
        let number = number & u64::from(u32::MAX);
        let gone = (self.loops).entry(number & !(ONE | REST)).or_insert(0);
        let rest = iterations.saturating_sub(*gone);
        let grain = grain.max(1);
        let part = match number {
            n if n & REST != 0 => rest,
            n if n & ONE != 0 => grain,
            _ => rest / (2 * u64::from(self.nodes)) / grain * grain,
        };
        let first = *gone;
        *gone += part.max(grain).min(rest);
        (first, *gone)
    }

    /// Takes a block of a loop for a node: 1 if it was free, and the blocks that are taken now.
    fn claim(&mut self, [number, block, _]: Words) -> (u64, u64) {
        let taken = (self.claims)
            .entry(number & u64::from(u32::MAX))
            .or_default();
        let bit = if block < u64::from(self.nodes) {
            1 << block
        } else {
            0
        };
        let mine = u64::from(bit & !*taken != 0);
        *taken |= bit;
        (mine, *taken)
    }

    fn turn(
        &mut self,
        node: NodeId,
        [number, k, _]: Words,
        slot: u64,
        out: &mut Vec<Effect>,
    ) -> Result<(), Unexpected> {
        let turns = self.turns.entry(number & u64::from(u32::MAX)).or_default();
        if k < turns.now {
            return Err(Unexpected);
        }
        if k == turns.now {
            out.push(State::your_turn(node, slot));
        } else if turns.waiting.insert(k, (node, slot)).is_some() {
            return Err(Unexpected);
        }
        Ok(())
    }

    fn pass(&mut self, [number, next, _]: Words, out: &mut Vec<Effect>) -> Result<(), Unexpected> {
        let turns = self.turns.entry(number & u64::from(u32::MAX)).or_default();
        if next <= turns.now {
            return Err(Unexpected);
        }
        turns.now = next;
        if let Some((node, slot)) = turns.waiting.remove(&next) {
            out.push(State::your_turn(node, slot));
        }
        Ok(())
    }

    fn post(&mut self, [number, sequence, iteration]: Words, out: &mut Vec<Effect>) {
        let posts = self.posts_of(number, sequence);
        posts.last = posts.last.max(iteration);
        let last = posts.last;
        posts.waiting.retain(|&(wanted, node, slot)| {
            let posted = wanted <= last;
            if posted {
                out.push(State::your_turn(node, slot));
            }
            !posted
        });
    }

    fn await_post(
        &mut self,
        node: NodeId,
        [number, sequence, iteration]: Words,
        slot: u64,
        out: &mut Vec<Effect>,
    ) {
        let posts = self.posts_of(number, sequence);
        if iteration <= posts.last {
            out.push(State::your_turn(node, slot));
        } else {
            posts.waiting.push((iteration, node, slot));
        }
    }

    fn posts_of(&mut self, number: u64, sequence: u64) -> &mut Posts {
        let number = number & u64::from(u32::MAX);
        self.posts.entry((number, sequence)).or_default()
    }

    fn your_turn(node: NodeId, slot: u64) -> Effect {
        match node {
            0 => Effect::Answer(slot as usize, [0; 3]),
            _ => Effect::Send(node, Tag::Answer, [slot, 0, 0]),
        }
    }

    fn try_lock(&mut self, key: u64) -> u64 {
        let free = !self.locks.contains_key(&key);
        if free {
            self.locks.insert(key, VecDeque::new());
        }
        u64::from(free)
    }

    fn next(&mut self, out: &mut Vec<Effect>) {
        if self.waits_for_region.is_some() {
            if let Some(words) = self.regions.pop_front() {
                let slot = self.waits_for_region.take();
                out.extend(slot.map(|s| Effect::Answer(s, words)));
            }
        }
    }

    fn joined(&mut self, out: &mut Vec<Effect>) {
        if self.done.len() + 1 == u32::from(self.nodes) {
            if let Some(slot) = self.waits_for_join.take() {
                self.done = NodeSet::default();
                out.push(Effect::Answer(slot, [0; 3]));
            }
        }
    }

    fn arrive(
        &mut self,
        node: NodeId,
        carried: u64,
        out: &mut Vec<Effect>,
    ) -> Result<(), Unexpected> {
        if self.arrived.has(node) {
            return Err(Unexpected);
        }
        self.carried |= carried;
        self.arrived = self.arrived.with(node);
        if self.arrived.len() == u32::from(self.nodes) {
            self.arrived = NodeSet::default();
            let words = [core::mem::take(&mut self.carried), 0, 0];
            out.extend((1..self.nodes).map(|n| Effect::Send(n, Tag::Released, words)));
            let slot = self.waits_at_barrier.take().ok_or(Unexpected)?;
            out.push(Effect::Answer(slot, words));
        }
        Ok(())
    }

    fn grant(node: NodeId, key: u64, slot: u64) -> Effect {
        match node {
            0 => Effect::Answer(slot as usize, [key, 0, 0]),
            _ => Effect::Send(node, Tag::Granted, [key, slot, 0]),
        }
    }

    fn lock(&mut self, node: NodeId, key: u64, slot: u64, out: &mut Vec<Effect>) {
        match self.locks.get_mut(&key) {
            Some(queue) => queue.push_back((node, slot)),
            None => {
                self.locks.insert(key, VecDeque::new());
                out.push(State::grant(node, key, slot));
            }
        }
    }

    fn unlock(&mut self, key: u64, out: &mut Vec<Effect>) -> Result<(), Unexpected> {
        let queue = self.locks.get_mut(&key).ok_or(Unexpected)?;
        match queue.pop_front() {
            Some((node, slot)) => out.push(State::grant(node, key, slot)),
            None => {
                self.locks.remove(&key);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
