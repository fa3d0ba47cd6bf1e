//! All ranks of a job in one thread, with links that keep the order within each pair of ranks.
//!
//! A seed decides which link delivers next, so that one seed is one interleaving. The tests use this, and `hetmp
//! goal` does to look at a schedule before it is run for real.

use crate::map::HashMap;
use crate::memory::Memory;
use crate::rank::{Handle, Limits, Rank, StartError};
use crate::schedule::Schedule;
use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// A job in one thread.
#[derive(Debug)]
pub struct Network {
    ranks: Vec<Rank>,
    /// Packets under way, in the form of a link, by source and target. No queue is empty.
    links: HashMap<(u32, u32), VecDeque<Vec<u8>>>,
    /// The keys of `links`, in any order: a step draws one of them.
    busy: Vec<(u32, u32)>,
    /// Ranks that something was done with, so that they may have packets to send.
    touched: Vec<u32>,
    /// When ranks have something to do by themselves. A time that is no longer a rank's is passed over.
    deadlines: BinaryHeap<Reverse<(u64, u32)>>,
    /// By rank: the time in `deadlines` that was put there last.
    due: Vec<Option<u64>>,
    random: u64,
    now: u64,
}

impl Network {
    /// `ranks` ranks. `seed` decides in which order their links deliver.
    #[must_use]
    pub fn new(ranks: u32, limits: Limits, seed: u64) -> Network {
        Network {
            ranks: (0..ranks).map(|r| Rank::new(r, ranks, limits)).collect(),
            links: HashMap::default(),
            busy: Vec::new(),
            touched: Vec::new(),
            deadlines: BinaryHeap::new(),
            due: vec![None; ranks as usize],
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            now: 0,
        }
    }

    /// A rank.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn rank(&mut self, rank: u32) -> &mut Rank {
        self.touched.push(rank);
        &mut self.ranks[rank as usize]
    }

    /// Begins a run at the schedule's rank.
    ///
    /// # Errors
    /// Those of [`Rank::start`].
    pub fn start(
        &mut self,
        schedule: &Arc<Schedule>,
        context: u32,
        memory: Box<dyn Memory + Send>,
    ) -> Result<Handle, StartError> {
        let now = self.now;
        let handle = self.ranks[schedule.rank() as usize].start(schedule, context, memory, now)?;
        self.collect(schedule.rank());
        Ok(handle)
    }

    /// A number below `n`, which must not be 0 (xorshift64*).
    pub fn draw(&mut self, n: usize) -> usize {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }

    /// Puts what a rank sends on its links.
    fn collect(&mut self, from: u32) {
        let at = from as usize;
        loop {
            while let Some((to, packet)) = self.ranks[at].outgoing() {
                put(
                    &mut self.links,
                    &mut self.busy,
                    (from, to),
                    packet.to_bytes(),
                );
            }
            if !self.ranks[at].is_streaming() {
                break;
            }
            // A link with packets under way may be full. It is tried again after they have arrived.
            let full = self.draw(2) == 0;
            let (links, busy) = (&mut self.links, &mut self.busy);
            let worked = self.ranks[at].stream(&mut |to, header, n, fill| {
                if full && links.contains_key(&(from, to)) {
                    return false;
                }
                let mut bytes = header.to_vec();
                bytes.resize(header.len() + n, 0);
                fill(&mut bytes[header.len()..]);
                put(links, busy, (from, to), bytes);
                true
            });
            if !worked {
                break;
            }
        }
        let next = self.ranks[at].deadline();
        if let Some(time) = next.filter(|_| next != self.due[at]) {
            self.due[at] = next;
            self.deadlines.push(Reverse((time, from)));
        }
    }

    /// Delivers one packet, or lets time pass until a rank has something to do. False if nothing will happen any
    /// more.
    pub fn step(&mut self) -> bool {
        while let Some(rank) = self.touched.pop() {
            self.collect(rank);
        }
        if !self.busy.is_empty() {
            let pick = self.draw(self.busy.len());
            self.deliver(pick);
            return true;
        }
        let mut worked = false;
        while let Some(Reverse((time, rank))) = self.deadlines.peek().copied() {
            let is_due = self.ranks[rank as usize].deadline() == Some(time);
            if is_due && worked && time > self.now {
                break;
            }
            self.deadlines.pop();
            if is_due {
                worked = true;
                self.now = self.now.max(time);
                self.due[rank as usize] = None;
                self.rank(rank).tick(time);
            }
        }
        worked
    }

    /// Delivers the next packet of a link in `busy`.
    fn deliver(&mut self, pick: usize) {
        let (from, to) = self.busy[pick];
        let Some(queue) = self.links.get_mut(&(from, to)) else {
            return;
        };
        let packet = queue.pop_front();
        if queue.is_empty() {
            self.links.remove(&(from, to));
            self.busy.swap_remove(pick);
        }
        let now = self.now;
        // The link has room again.
        self.touched.push(from);
        let rank = self.rank(to);
        rank.tick(now);
        if let Some(packet) = packet {
            // The packet goes through its form on a link: a packet that the parser refuses is lost here, and the run
            // does not end.
            rank.bytes(from, &packet);
        }
    }

    /// Steps until nothing will happen any more.
    pub fn run(&mut self) {
        while self.step() {}
    }

    /// The time, nanoseconds.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }
}

/// Puts a packet on a link.
fn put(
    links: &mut HashMap<(u32, u32), VecDeque<Vec<u8>>>,
    busy: &mut Vec<(u32, u32)>,
    link: (u32, u32),
    packet: Vec<u8>,
) {
    let queue = links.entry(link).or_default();
    if queue.is_empty() {
        busy.push(link);
    }
    queue.push_back(packet);
}
