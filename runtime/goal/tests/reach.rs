//! Offered messages that are read where they lie.

use hetmp_goal::graph::{Graph, Work};
use hetmp_goal::memory::{Buffer, Memory, Owned};
use hetmp_goal::packet::Packet;
use hetmp_goal::rank::{Handle, Limits, Rank, Reach, State};
use std::sync::{Arc, Mutex};

const BYTES: u64 = 64;
const LIMITS: Limits = Limits {
    eager: 8,
    credits: 4,
    offers: 5,
    fragment: 16,
};

/// Memory whose piece at offset 0 lies at this address.
struct At(Owned, u64);

impl Memory for At {
    fn segment_bytes(&self, segment: u16) -> u64 {
        self.0.segment_bytes(segment)
    }
    fn make_scratchpad(&mut self, bytes: u64) {
        self.0.make_scratchpad(bytes);
    }
    fn address(&self, piece: &Buffer) -> u64 {
        self.1 + piece.offset
    }
    fn read(&self, piece: &Buffer, into: &mut [u8]) {
        self.0.read(piece, into);
    }
    fn write(&mut self, piece: &Buffer, from: &[u8]) {
        self.0.write(piece, from);
    }
}

type Seen = Arc<Mutex<Vec<(u32, u64, u64, u64)>>>;

/// Notes what is to be read, and says whether it was.
#[derive(Debug)]
struct Noted(Seen, bool);

impl Reach for Noted {
    fn read(&mut self, peer: u32, from: u64, to: u64, bytes: u64) -> bool {
        self.0.lock().unwrap().push((peer, from, to, bytes));
        self.1
    }
}

/// Rank 0 sends rank 1 a message. Both have begun, and rank 1 has answered the offer: the ranks, and rank 1's answer.
fn offered(readable: bool) -> ([(Rank, Handle); 2], Packet, Seen) {
    let seen = Seen::default();
    let mut both = [0, 1].map(|me| {
        let mut g = Graph::new(me, 2).unwrap();
        g.segment(BYTES).unwrap();
        let piece = vec![Buffer::user(0, 0, BYTES)];
        let (to, from, tag) = (1, 0, 0);
        g.add(match me {
            0 => Work::Send {
                to,
                tag,
                from: piece,
            },
            _ => Work::Recv {
                from,
                tag,
                into: piece,
            },
        })
        .unwrap();
        let mut rank = Rank::new(me, 2, LIMITS);
        rank.set_reach(Box::new(Noted(Arc::clone(&seen), readable)));
        let byte = 7 * (1 - me as u8);
        let owned = Owned::new(vec![vec![byte; BYTES as usize]]);
        let memory = Box::new(At(owned, 1000 * (1 + u64::from(me))));
        let run = rank
            .start(&Arc::new(g.compile().unwrap()), 0, memory, 0)
            .unwrap();
        (rank, run)
    });
    let (_, offer) = both[0].0.outgoing().unwrap();
    both[1].0.bytes(0, &offer.to_bytes());
    let (_, answer) = both[1].0.outgoing().unwrap();
    (both, answer, seen)
}

#[test]
fn a_message_that_was_read_is_complete_when_its_sender_says_so() {
    let ([(mut sender, sent), (mut receiver, got)], answer, seen) = offered(true);
    assert!(matches!(answer, Packet::Accept { taken: true, .. }));
    assert_eq!(*seen.lock().unwrap(), [(0, 1000, 2000, BYTES)]);
    assert_eq!(receiver.state(got), Some(State::Running));
    sender.bytes(1, &answer.to_bytes());
    assert_eq!(sender.state(sent), Some(State::Done));
    let (_, end) = sender.outgoing().unwrap();
    receiver.bytes(0, &end.to_bytes());
    assert_eq!(receiver.state(got), Some(State::Done));
    assert_eq!((receiver.counts().taken, sender.is_streaming()), (1, false));
    assert_eq!(
        receiver.counts().bad_packets + sender.counts().bad_packets,
        0
    );
}

/// What was read may be what the program has put there since.
#[test]
fn a_message_whose_sender_has_given_up_is_never_complete() {
    let ([(mut sender, sent), (mut receiver, got)], answer, _) = offered(true);
    sender.abandon(sent);
    sender.bytes(1, &answer.to_bytes());
    while let Some((_, packet)) = sender.outgoing() {
        receiver.bytes(0, &packet.to_bytes());
    }
    assert!(matches!(receiver.state(got), Some(State::Failed(_))));
}

#[test]
fn a_message_that_cannot_be_read_is_sent() {
    let ([(mut sender, sent), (mut receiver, got)], answer, seen) = offered(false);
    assert!(matches!(answer, Packet::Accept { taken: false, .. }));
    assert_eq!(seen.lock().unwrap().len(), 1);
    sender.bytes(1, &answer.to_bytes());
    while sender.is_streaming() {
        sender.stream(&mut |_, header, n, fill| {
            let mut part = vec![0; n];
            fill(&mut part);
            receiver.parts(0, header, &part);
            true
        });
    }
    assert_eq!(sender.state(sent), Some(State::Done));
    let (state, memory) = receiver.take(got).unwrap();
    assert_eq!(state, State::Done);
    let mut bytes = [0; BYTES as usize];
    memory.read(&Buffer::user(0, 0, BYTES), &mut bytes);
    assert_eq!(bytes, [7; BYTES as usize]);
}
