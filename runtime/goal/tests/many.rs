//! Many messages to one peer: what each costs, and what the peer has to keep. Steps are counted, not seconds.

use hetmp_goal::graph::{Graph, Work};
use hetmp_goal::memory::{Buffer, Owned};
use hetmp_goal::network::Network;
use hetmp_goal::rank::{Handle, Limits, Rank, State};
use hetmp_goal::schedule::Schedule;
use std::sync::Arc;

const LIMITS: Limits = Limits {
    eager: 8,
    credits: 4,
    offers: 1 << 16,
    fragment: 16,
};

/// Rank 0 sends `n` messages of `bytes` bytes, all at once. Rank 1 receives them, all at once or one after the other.
fn job(n: usize, bytes: u64, one_by_one: bool) -> [Arc<Schedule>; 2] {
    [0, 1].map(|rank| {
        let mut g = Graph::new(rank, 2).unwrap();
        let mut before = None;
        for tag in 0..n as u32 {
            let piece = vec![Buffer::void(bytes)];
            let (to, from) = (1, 0);
            let op = match rank {
                0 => g.add(Work::Send {
                    to,
                    tag,
                    from: piece,
                }),
                _ => g.add(Work::Recv {
                    from,
                    tag,
                    into: piece,
                }),
            };
            let op = op.unwrap();
            if let Some(before) = before.filter(|_| rank == 1 && one_by_one) {
                g.requires(op, before).unwrap();
            }
            before = Some(op);
        }
        Arc::new(g.compile().unwrap())
    })
}

fn memory() -> Box<Owned> {
    Box::new(Owned::new(Vec::new()))
}

fn pass(ranks: &mut [Rank; 2], from: usize) {
    while let Some((to, packet)) = ranks[from].outgoing() {
        ranks[to as usize].bytes(from as u32, &packet.to_bytes());
    }
}

#[test]
fn a_full_link_costs_one_look_however_many_messages_wait() {
    const MESSAGES: usize = 1000;
    const PARTS: usize = 4;
    const ROOM: usize = 3;
    let mut ranks = [0, 1].map(|me| Rank::new(me, 2, LIMITS));
    let job = job(MESSAGES, 16 * PARTS as u64, false);
    let runs: [Handle; 2] = [0, 1].map(|i| ranks[i].start(&job[i], 0, memory(), 0).unwrap());
    pass(&mut ranks, 0);
    pass(&mut ranks, 1);
    let (mut looks, mut turns) = (0, 0);
    while ranks[0].is_streaming() {
        turns += 1;
        let mut parts = Vec::new();
        ranks[0].stream(&mut |_, header, n, fill| {
            looks += 1;
            if parts.len() == ROOM {
                return false;
            }
            let mut payload = vec![0; n];
            fill(&mut payload);
            parts.push((*header, payload));
            true
        });
        for (header, payload) in parts {
            ranks[1].parts(0, &header, &payload);
        }
    }
    assert_eq!(
        [0, 1].map(|i| ranks[i].state(runs[i])),
        [Some(State::Done); 2]
    );
    assert!(turns >= MESSAGES * PARTS / ROOM, "{turns} turns");
    assert!(
        looks <= MESSAGES * PARTS + turns,
        "{looks} looks in {turns} turns"
    );
}

#[test]
fn messages_for_which_the_peer_keeps_no_offers_wait_at_their_sender() {
    let limits = Limits {
        offers: 5,
        ..LIMITS
    };
    for (bytes, seed) in [(1, 1), (1, 2), (100, 3), (100, 4)] {
        let mut net = Network::new(2, limits, seed);
        let runs = job(200, bytes, true).map(|s| net.start(&s, 0, memory()).unwrap());
        let mut most = 0;
        while net.step() {
            most = most.max(net.rank(1).early().0);
        }
        for (rank, run) in (0..).zip(runs) {
            assert_eq!(
                net.rank(rank).state(run),
                Some(State::Done),
                "{bytes} bytes"
            );
            assert_eq!(net.rank(rank).counts().bad_packets, 0);
        }
        assert!(
            most <= (limits.offers + limits.credits) as usize,
            "{most} messages"
        );
    }
}

#[test]
fn offers_to_runs_that_failed_are_answered() {
    let limits = Limits {
        offers: 5,
        ..LIMITS
    };
    let mut ranks = [0, 1].map(|me| Rank::new(me, 2, limits));
    let mut offering = Graph::new(0, 2).unwrap();
    let mut waiting = Graph::new(1, 2).unwrap();
    let from = vec![Buffer::void(100)];
    offering
        .add(Work::Send {
            to: 1,
            tag: 0,
            from,
        })
        .unwrap();
    let into = vec![Buffer::void(100)];
    waiting
        .add(Work::Recv {
            from: 0,
            tag: 7,
            into,
        })
        .unwrap();
    let mismatched = [offering, waiting].map(|g| Arc::new(g.compile().unwrap()));
    // More often than the peer keeps offers.
    for _ in 0..2 * limits.offers {
        let runs = [0, 1].map(|i| ranks[i].start(&mismatched[i], 0, memory(), 0).unwrap());
        pass(&mut ranks, 0);
        assert_eq!(ranks[1].early().0, 1);
        ranks[1].abandon(runs[1]);
        pass(&mut ranks, 1);
        assert!(matches!(ranks[0].state(runs[0]), Some(State::Failed(_))));
    }
    let matched = job(1, 100, false);
    let runs = [0, 1].map(|i| ranks[i].start(&matched[i], 0, memory(), 0).unwrap());
    pass(&mut ranks, 0);
    pass(&mut ranks, 1);
    let mut part = None;
    ranks[0].stream(&mut |_, header, n, fill| {
        let mut payload = vec![0; n];
        fill(&mut payload);
        part = Some((*header, payload));
        true
    });
    assert!(part.is_some(), "the message goes");
    assert_eq!(
        ranks[0].counts().bad_packets + ranks[1].counts().bad_packets,
        0
    );
    assert_eq!(ranks[1].state(runs[1]), Some(State::Running));
}
