//! Offered messages that are read where they lie.

use hetmp_goal::graph::{Graph, Work};
use hetmp_goal::memory::{Buffer, Memory, Owned};
use hetmp_goal::packet::Packet;
use hetmp_goal::rank::{Copied, Handle, Limits, Rank, Reach, State};
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

/// How many pieces messages have, and what the two ranks share: how many of them are claimed, whether the sender writes
/// one, whether the message is closed; and how many were read and written.
#[derive(Debug, Default)]
struct Shared {
    pieces: u32,
    claimed: u32,
    writes: bool,
    closed: bool,
    pulled: u32,
    pushed: u32,
}

/// Notes what is to be read, and says whether it was.
#[derive(Debug)]
struct Noted(Seen, bool, Arc<Mutex<Shared>>);

impl Reach for Noted {
    fn read(&mut self, peer: u32, from: u64, to: u64, bytes: u64) -> bool {
        self.0.lock().unwrap().push((peer, from, to, bytes));
        self.1
    }
    fn has_pieces(&mut self, _: u32, _: u64) -> bool {
        self.2.lock().unwrap().pieces > 1
    }
    fn open(&mut self, _: u32, _: u32) -> bool {
        let mut shared = self.2.lock().unwrap();
        (shared.claimed, shared.closed) = (0, false);
        !shared.writes
    }
    fn pull(&mut self, peer: u32, _: u32, from: u64, to: u64, bytes: u64) -> Copied {
        assert_eq!((peer, from, to, bytes), (0, 1000, 2000, BYTES));
        let mut shared = self.2.lock().unwrap();
        if !shared.closed && shared.claimed < shared.pieces {
            shared.claimed += 1;
            shared.pulled += 1;
            return Copied::Piece;
        }
        match (shared.writes, shared.closed) {
            (true, _) => Copied::Waits,
            (_, true) => Copied::Closed,
            _ => Copied::All,
        }
    }
    fn push(&mut self, peer: u32, _: u32, from: u64, to: u64, bytes: u64) -> bool {
        assert_eq!((peer, from, to, bytes), (1, 1000, 2000, BYTES));
        let mut shared = self.2.lock().unwrap();
        let free = !shared.closed && shared.claimed < shared.pieces;
        shared.claimed += u32::from(free);
        shared.pushed += u32::from(free);
        free
    }
    fn close(&mut self, _: u32) {
        self.2.lock().unwrap().closed = true;
    }
}

/// Rank 0 sends rank 1 a message. Both have begun, and rank 1 has answered the offer: the ranks, and rank 1's answer.
fn offered(readable: bool) -> ([(Rank, Handle); 2], Packet, Seen) {
    let (mut both, seen) = begun(readable, &Arc::default());
    let (_, offer) = both[0].0.outgoing().unwrap();
    both[1].0.bytes(0, &offer.to_bytes());
    let (_, answer) = both[1].0.outgoing().unwrap();
    (both, answer, seen)
}

/// As [`offered`], before the offer, with messages in pieces.
fn begun(readable: bool, shared: &Arc<Mutex<Shared>>) -> ([(Rank, Handle); 2], Seen) {
    let seen = Seen::default();
    let both = [0, 1].map(|me| {
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
        rank.set_reach(Box::new(Noted(
            Arc::clone(&seen),
            readable,
            Arc::clone(shared),
        )));
        let byte = 7 * (1 - me as u8);
        let owned = Owned::new(vec![vec![byte; BYTES as usize]]);
        let memory = Box::new(At(owned, 1000 * (1 + u64::from(me))));
        let run = rank
            .start(&Arc::new(g.compile().unwrap()), 0, memory, 0)
            .unwrap();
        (rank, run)
    });
    (both, seen)
}

/// Packets of each rank to the other, until there are none.
fn exchange([(a, _), (b, _)]: &mut [(Rank, Handle); 2]) {
    loop {
        let (to, from) = (a.outgoing(), b.outgoing());
        if to.is_none() && from.is_none() {
            break;
        }
        if let Some((_, packet)) = to {
            b.bytes(0, &packet.to_bytes());
        }
        if let Some((_, packet)) = from {
            a.bytes(1, &packet.to_bytes());
        }
    }
    assert_eq!(a.counts().bad_packets + b.counts().bad_packets, 0);
}

/// As [`begun`], with a message of four pieces that the sender knows to be read.
fn announced(readable: bool) -> ([(Rank, Handle); 2], Arc<Mutex<Shared>>, Seen) {
    let shared = Arc::new(Mutex::new(Shared {
        pieces: 4,
        ..Shared::default()
    }));
    let (mut both, seen) = begun(readable, &shared);
    exchange(&mut both);
    assert!(both[1].0.pull() && both[1].0.is_pulling());
    let (_, share) = both[1].0.outgoing().unwrap();
    assert!(matches!(share, Packet::Share { into: 2000, .. }));
    both[0].0.bytes(1, &share.to_bytes());
    (both, shared, seen)
}

#[test]
fn both_ranks_copy_pieces_and_a_receiver_alone_copies_all() {
    for pushed in 0..=4 {
        let (mut both, shared, seen) = announced(true);
        for _ in 0..pushed {
            assert!(both[0].0.push());
        }
        // While the last piece is written, the message is not there.
        shared.lock().unwrap().writes = pushed > 0;
        while both[1].0.pull() {}
        if pushed > 0 {
            exchange(&mut both);
            assert!(both[1].0.is_pulling());
            shared.lock().unwrap().writes = false;
            assert!(both[1].0.pull());
        }
        assert!(!both[0].0.push() && !both[1].0.is_pulling());
        exchange(&mut both);
        for (rank, run) in &mut both {
            assert_eq!(rank.ended(), Some(*run));
            assert_eq!(rank.state(*run), Some(State::Done));
        }
        let shared = shared.lock().unwrap();
        assert_eq!((shared.pulled, shared.pushed), (4 - pushed, pushed));
        assert_eq!(
            (both[1].0.counts().taken, seen.lock().unwrap().len()),
            (1, 0)
        );
    }
}

/// The program may use the memory of a failed run again: not while the sender writes there.
#[test]
fn a_run_that_fails_has_ended_when_nothing_is_written_there() {
    let (mut both, shared, _) = announced(true);
    assert!(both[0].0.push());
    shared.lock().unwrap().writes = true;
    let run = both[1].1;
    both[1].0.abandon(run);
    assert!(shared.lock().unwrap().closed && both[1].0.needs(0));
    assert!(!both[1].0.pull() && !both[0].0.push());
    assert_eq!(both[1].0.ended(), None);
    assert!(both[1].0.take(run).is_none());
    shared.lock().unwrap().writes = false;
    assert!(both[1].0.pull());
    assert_eq!(both[1].0.ended(), Some(run));
    exchange(&mut both);
    assert!(matches!(both[0].0.state(both[0].1), Some(State::Failed(_))));
    assert!(!both[1].0.needs(0));
}

#[test]
fn a_sender_that_has_given_up_or_is_lost_is_not_waited_for() {
    let (mut both, shared, _) = announced(true);
    let sent = both[0].1;
    both[0].0.abandon(sent);
    assert!(!both[0].0.push());
    shared.lock().unwrap().writes = true;
    both[1].0.lose(0);
    assert!(!both[1].0.pull());
    assert_eq!(both[1].0.ended(), Some(both[1].1));
}

/// A piece could not be copied: the receiver reads the whole message, or has it sent.
#[test]
fn a_message_with_a_piece_that_cannot_be_copied_is_read_or_sent() {
    for readable in [true, false] {
        let (mut both, shared, seen) = announced(readable);
        assert!(both[0].0.push());
        shared.lock().unwrap().closed = true;
        while both[1].0.pull() {}
        assert_eq!(*seen.lock().unwrap(), [(0, 1000, 2000, BYTES)]);
        exchange(&mut both);
        assert_eq!(both[0].0.is_streaming(), !readable);
        assert_eq!(both[1].0.counts().taken, u64::from(readable));
    }
}

#[test]
fn a_message_that_was_not_offered_is_not_written() {
    let ([(mut sender, _), _], _, _) = offered(true);
    let strange = Packet::<&[u8]>::Share {
        ticket: 77,
        promise: 1,
        into: 8,
    };
    sender.bytes(1, &strange.to_bytes());
    assert_eq!(sender.counts().bad_packets, 1);
    assert!(!sender.push());
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
