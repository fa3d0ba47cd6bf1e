//! Mutated packets and schedules, many of them: `HETMP_TEST_MUTATED=N` says how many of each (200000).
//! `scripts/lib/goal_long.sh` runs 10^8.

use hetmp_goal::graph::{Graph, Work};
use hetmp_goal::memory::{Buffer, Owned};
use hetmp_goal::packet::{Label, Packet};
use hetmp_goal::rank::{Limits, Rank};
use hetmp_goal::schedule::Schedule;
use std::sync::Arc;

fn rounds() -> u64 {
    let text = std::env::var("HETMP_TEST_MUTATED").unwrap_or_default();
    text.parse().unwrap_or(200_000)
}

/// Numbers that look random (xorshift, Marsaglia 2003).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

const LIMITS: Limits = Limits {
    eager: 8,
    credits: 4,
    offers: 5,
    fragment: 4,
};

fn waiting() -> Rank {
    let mut rank = Rank::new(0, 3, LIMITS);
    let mut g = Graph::new(0, 3).expect("a graph");
    g.segment(8).expect("a segment");
    let into = vec![Buffer::user(0, 0, 8)];
    g.add(Work::Recv {
        from: 1,
        tag: 0,
        into,
    })
    .expect("a receive");
    let memory = Box::new(Owned::new(vec![vec![0; 8]]));
    let schedule = Arc::new(g.compile().expect("a schedule"));
    rank.start(&schedule, 0, memory, 0).expect("a run");
    rank
}

#[test]
fn mutated_packets_are_refused_or_cost_what_the_limits_say() {
    let label = |sequence| Label {
        context: 0,
        sequence,
        tag: 0,
    };
    let payload = vec![7; 8];
    let whole: Vec<Vec<u8>> = [
        Packet::Eager {
            label: label(0),
            payload: payload.clone(),
        },
        Packet::Eager {
            label: label(3),
            payload: payload[..3].to_vec(),
        },
        Packet::Offer {
            label: label(0),
            bytes: 8,
            ticket: 1,
            at: [0; 8],
        },
        Packet::Offer {
            label: label(0),
            bytes: 8,
            ticket: 1,
            at: [8; 8],
        },
        Packet::Accept {
            ticket: 1,
            promise: 1,
            taken: false,
        },
        Packet::Refuse { ticket: 1 },
        Packet::Data {
            promise: 0,
            offset: 4,
            payload: payload[..4].to_vec(),
        },
        Packet::Abort {
            context: 0,
            sequence: 0,
        },
        Packet::Credits { count: 1 },
    ]
    .iter()
    .map(Packet::to_bytes)
    .collect();
    let (all, mut draw) = (rounds(), Draw(88_172_645_463_325_252));
    let (mut refused, mut taken, mut bytes) = (0u64, 0u64, Vec::new());
    let mut rank = waiting();
    for i in 0..all {
        if i % 64 == 0 {
            rank = waiting();
        }
        bytes.clear();
        bytes.extend_from_slice(&whole[draw.below(whole.len())]);
        for _ in 0..draw.below(4) {
            let at = draw.below(bytes.len());
            bytes[at] = match draw.below(3) {
                0 => draw.next() as u8,
                1 => bytes[at].wrapping_add(1),
                _ => bytes[at] ^ 1 << draw.below(8),
            };
        }
        if draw.below(8) == 0 {
            bytes.truncate(draw.below(bytes.len() + 1));
        }
        match Packet::parse(&bytes) {
            Some(packet) => {
                taken += 1;
                rank.packet(1 + draw.below(2) as u32, packet);
                let (count, kept) = rank.early();
                assert!(
                    count <= 2 * (4 + 5) && kept <= 2 * 4 * 8,
                    "packet {i}: {count} messages, {kept} bytes"
                );
            }
            None => refused += 1,
        }
    }
    assert_eq!(refused + taken, all);
    assert!(
        refused > all / 20 && taken > all / 20,
        "{refused} refused, {taken} taken"
    );
}

#[test]
fn mutated_schedules_are_refused_or_end() {
    let mut g = Graph::new(0, 2).expect("a graph");
    g.segment(16).expect("a segment");
    let piece = |at| vec![Buffer::user(0, at, 8)];
    let got = g
        .add(Work::Recv {
            from: 1,
            tag: 0,
            into: piece(0),
        })
        .expect("a receive");
    let sent = g
        .add(Work::Send {
            to: 1,
            tag: 0,
            from: piece(8),
        })
        .expect("a send");
    g.requires(sent, got).expect("an edge");
    let whole = g.compile().expect("a schedule").words().to_vec();
    let (all, mut draw) = (rounds(), Draw(0x9e37_79b9_7f4a_7c15));
    let (mut refused, mut taken) = (0u64, 0u64);
    for _ in 0..all {
        let mut words = whole.clone();
        for _ in 0..1 + draw.below(3) {
            let at = draw.below(words.len());
            words[at] = match draw.below(4) {
                0 => draw.next() as u32,
                1 => words[at].wrapping_add(1),
                2 => words[at] ^ 1 << draw.below(32),
                _ => draw.below(64) as u32,
            };
        }
        let Ok(schedule) = Schedule::from_words(words.into()) else {
            refused += 1;
            continue;
        };
        taken += 1;
        // Lengths are limited by the memory of who runs a schedule only.
        let segments = schedule.segments().iter().copied();
        let bytes = segments.fold(schedule.scratchpad(), u64::saturating_add);
        let graph = schedule.to_graph();
        let pieces = graph.operations().iter();
        let moved = pieces
            .flat_map(|w| {
                w.writes()
                    .iter()
                    .chain(w.reads())
                    .map(|p| p.bytes)
                    .collect::<Vec<_>>()
            })
            .fold(0, u64::saturating_add);
        if bytes.max(moved) > 1 << 16 {
            continue;
        }
        let memory = schedule.segments().iter().map(|s| vec![1; *s as usize]);
        let memory = Box::new(Owned::new(memory.collect()));
        let mut rank = Rank::new(schedule.rank(), schedule.ranks(), LIMITS);
        let handle = rank
            .start(&Arc::new(schedule), 0, memory, 0)
            .expect("a run");
        while let Some(at) = rank.deadline() {
            rank.tick(at);
        }
        assert!(rank.state(handle).is_some());
    }
    assert_eq!(refused + taken, all);
    assert!(
        refused > all / 20 && taken > 0,
        "{refused} refused, {taken} taken"
    );
}
