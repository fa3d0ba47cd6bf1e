//! All ranks of a job in one thread, with links that keep the order within each pair of ranks.
//!
//! A seed decides which link delivers next, so that one seed is one interleaving. The tests use this, and `hetmp
//! goal` does to look at a schedule before it is run for real.

use crate::memory::Memory;
use crate::rank::{Handle, Limits, Rank, StartError};
use crate::schedule::Schedule;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// A job in one thread.
#[derive(Debug)]
pub struct Network {
    ranks: Vec<Rank>,
    /// The links with packets under way.
    links: Vec<Link>,
    /// Where in `links` the link from one rank to another is.
    places: HashMap<(u32, u32), usize>,
    random: u64,
    now: u64,
}

/// Packets under way from one rank to another, in the form of a link; at least one.
#[derive(Debug)]
struct Link {
    from: u32,
    to: u32,
    packets: VecDeque<Vec<u8>>,
}

impl Network {
    /// `ranks` ranks. `seed` decides in which order their links deliver.
    #[must_use]
    pub fn new(ranks: u32, limits: Limits, seed: u64) -> Network {
        Network {
            ranks: (0..ranks).map(|r| Rank::new(r, ranks, limits)).collect(),
            links: Vec::new(),
            places: HashMap::new(),
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

    /// Takes what all ranks have to send.
    fn collect(&mut self) {
        for from in 0..self.ranks.len() as u32 {
            self.collect_from(from);
        }
    }

    fn collect_from(&mut self, from: u32) {
        let rank = from as usize;
        loop {
            while let Some((to, packet)) = self.ranks[rank].outgoing() {
                let packet = packet.to_bytes();
                put(&mut self.links, &mut self.places, (from, to), packet);
            }
            if !self.ranks[rank].is_streaming() {
                break;
            }
            // A link with packets under way may be full. It is tried again after they have arrived.
            let full = self.draw(2) == 0;
            let (links, places) = (&mut self.links, &mut self.places);
            let worked = self.ranks[rank].stream(&mut |to, header, n, fill| {
                if full && places.contains_key(&(from, to)) {
                    return false;
                }
                let mut bytes = header.to_vec();
                bytes.resize(header.len() + n, 0);
                fill(&mut bytes[header.len()..]);
                put(links, places, (from, to), bytes);
                true
            });
            if !worked {
                break;
            }
        }
    }

    /// Delivers one packet, or lets time pass until a rank has something to do. False if nothing will happen any
    /// more.
    pub fn step(&mut self) -> bool {
        if self.links.is_empty() {
            self.collect();
        }
        if !self.links.is_empty() {
            let pick = self.draw(self.links.len());
            self.deliver(pick);
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

    /// Delivers the next packet of a link. Then the ranks at its ends may have more to send.
    fn deliver(&mut self, pick: usize) {
        let link = &mut self.links[pick];
        let (from, to, packet) = (link.from, link.to, link.packets.pop_front());
        if link.packets.is_empty() {
            self.places.remove(&(from, to));
            self.links.swap_remove(pick);
            if let Some(moved) = self.links.get(pick) {
                self.places.insert((moved.from, moved.to), pick);
            }
        }
        if let Some(packet) = packet {
            // The packet goes through its form on a link: a packet that the parser refuses is lost here, and the run
            // does not end.
            self.ranks[to as usize].bytes(from, &packet);
        }
        self.collect_from(from);
        self.collect_from(to);
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

/// Appends a packet to the link between two ranks.
fn put(
    links: &mut Vec<Link>,
    places: &mut HashMap<(u32, u32), usize>,
    (from, to): (u32, u32),
    packet: Vec<u8>,
) {
    let place = *places.entry((from, to)).or_insert_with(|| {
        let packets = VecDeque::new();
        links.push(Link { from, to, packets });
        links.len() - 1
    });
    links[place].packets.push_back(packet);
}
