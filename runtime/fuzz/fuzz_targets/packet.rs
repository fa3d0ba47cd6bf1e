//! Packets of GOAL's ranks, each with the rank that it comes from and its length before it.
#![no_main]

use hetmp_goal::graph::{Graph, Work};
use hetmp_goal::memory::{Buffer, Owned};
use hetmp_goal::packet::Packet;
use hetmp_goal::rank::{Limits, Rank};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

const LIMITS: Limits = Limits {
    eager: 8,
    credits: 4,
    offers: 5,
    fragment: 4,
};

/// One that waits for a message.
fn waiting() -> Rank {
    let mut rank = Rank::new(0, 3, LIMITS);
    let mut graph = Graph::new(0, 3).expect("a graph");
    graph.segment(8).expect("a segment");
    let into = vec![Buffer::user(0, 0, 8)];
    let receive = Work::Recv {
        from: 1,
        tag: 0,
        into,
    };
    graph.add(receive).expect("a receive");
    let memory = Box::new(Owned::new(vec![vec![0; 8]]));
    let schedule = Arc::new(graph.compile().expect("a schedule"));
    rank.start(&schedule, 0, memory, 0).expect("a run");
    rank
}

fuzz_target!(|bytes: &[u8]| {
    let (mut rank, mut rest) = (waiting(), bytes);
    while let Some((&[from, length], tail)) = rest.split_first_chunk() {
        let (packet, after) = tail.split_at(tail.len().min(length.into()));
        if Packet::parse(packet).is_some() {
            rank.bytes(1 + u32::from(from & 1), packet);
        }
        // What peers may make it keep.
        let (count, kept) = rank.early();
        assert!(count <= 2 * (4 + 5) && kept <= 2 * 4 * 8);
        rest = after;
    }
});
