//! All ranks of a job in one thread, with links that keep the order within each pair of ranks.
//!
//! A seed decides which link delivers next, so that one seed is one interleaving. The tests use this, and `hetmp
//! goal` does to look at a schedule before it is run for real.

use crate::memory::Memory;
use crate::rank::{Handle, Limits, Rank, StartError};
use crate::schedule::Schedule;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A job in one thread.
#[derive(Debug)]
pub struct Network {
    ranks: Vec<Rank>,
    /// Packets under way, in the form of a link, by source and target. No queue is empty.
    links: BTreeMap<(u32, u32), VecDeque<Vec<u8>>>,
    random: u64,
    now: u64,
}

impl Network {
    /// `ranks` ranks. `seed` decides in which order their links deliver.
    #[must_use]
    pub fn new(ranks: u32, limits: Limits, seed: u64) -> Network {
        Network {
            ranks: (0..ranks).map(|r| Rank::new(r, ranks, limits)).collect(),
            links: BTreeMap::new(),
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            now: 0,
        }
    }

    /// A rank.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn rank(&mut self, rank: u32) -> &mut Rank {
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
        self.collect();
        Ok(handle)
    }

    /// A number below `n`, which must not be 0 (xorshift64*).
    pub fn draw(&mut self, n: usize) -> usize {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }

    fn collect(&mut self) {
        for from in 0..self.ranks.len() {
            loop {
                while let Some((to, packet)) = self.ranks[from].outgoing() {
                    let link = self.links.entry((from as u32, to)).or_default();
                    link.push_back(packet.to_bytes());
                }
                if !self.ranks[from].is_streaming() {
                    break;
                }
                // A link with packets under way may be full. It is tried again after they have arrived.
                let full = self.draw(2) == 0;
                let links = &mut self.links;
                let worked = self.ranks[from].stream(&mut |to, header, n, fill| {
                    let link = links.entry((from as u32, to)).or_default();
                    if full && !link.is_empty() {
                        return false;
                    }
                    let mut bytes = header.to_vec();
                    bytes.resize(header.len() + n, 0);
                    fill(&mut bytes[header.len()..]);
                    link.push_back(bytes);
                    true
                });
                if !worked {
                    break;
                }
            }
        }
    }

    /// Delivers one packet, or lets time pass until a rank has something to do. False if nothing will happen any
    /// more.
    pub fn step(&mut self) -> bool {
        self.collect();
        if !self.links.is_empty() {
            let pick = self.draw(self.links.len());
            if let Some(link) = self.links.keys().nth(pick).copied() {
                self.deliver(link);
            }
            return true;
        }
        let Some(next) = self.ranks.iter().filter_map(Rank::deadline).min() else {
            return false;
        };
        self.now = self.now.max(next);
        for rank in &mut self.ranks {
            rank.tick(self.now);
        }
        true
    }

    fn deliver(&mut self, link: (u32, u32)) {
        let Some(queue) = self.links.get_mut(&link) else {
            return;
        };
        let packet = queue.pop_front();
        if queue.is_empty() {
            self.links.remove(&link);
        }
        if let Some(packet) = packet {
            // The packet goes through its form on a link: a packet that the parser refuses is lost here, and the run
            // does not end.
            self.ranks[link.1 as usize].bytes(link.0, &packet);
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
