//! Receives whose messages nobody sends.

use hetmp_goal::graph::{Graph, Work};
use hetmp_goal::memory::{Buffer, Owned};
use hetmp_goal::packet::Packet;
use hetmp_goal::rank::{Failure, Handle, Limits, Rank, State};
use std::sync::Arc;

/// Rank `me`, which sends its peer messages with some tags, and receives others of it. Its run has begun.
fn begun(me: u32, sends: &[u32], receives: &[u32]) -> (Rank, Handle) {
    let mut g = Graph::new(me, 2).unwrap();
    let peer = 1 - me;
    for tag in sends {
        let (to, tag, from) = (peer, *tag, vec![Buffer::void(8)]);
        g.add(Work::Send { to, tag, from }).unwrap();
    }
    for tag in receives {
        let (from, tag, into) = (peer, *tag, vec![Buffer::void(8)]);
        g.add(Work::Recv { from, tag, into }).unwrap();
    }
    let mut rank = Rank::new(me, 2, Limits::default());
    let schedule = Arc::new(g.compile().unwrap());
    let memory = Box::new(Owned::new(Vec::new()));
    let run = rank.start(&schedule, 0, memory, 0).unwrap();
    (rank, run)
}

/// Carries all packets. Returns the questions and answers among them.
fn carry(a: &mut Rank, b: &mut Rank) -> Vec<Packet> {
    let mut asked = Vec::new();
    loop {
        let (from, packet) = match (a.outgoing(), b.outgoing()) {
            (Some((_, packet)), None) => (0, packet),
            (None, Some((_, packet))) => (1, packet),
            (None, None) => return asked,
            (Some((_, first)), Some((_, second))) => {
                b.bytes(0, &first.to_bytes());
                (1, second)
            }
        };
        if matches!(packet, Packet::Ask { .. } | Packet::Answer { .. }) {
            asked.push(packet.clone());
        }
        match from {
            0 => b.bytes(0, &packet.to_bytes()),
            _ => a.bytes(1, &packet.to_bytes()),
        }
    }
}

/// Lets both ranks ask about all that they wait for.
fn wait(a: &mut Rank, b: &mut Rank) {
    carry(a, b);
    for _ in 0..8 {
        a.ask();
        b.ask();
        carry(a, b);
    }
}

#[test]
fn a_receive_without_a_message_fails_whether_its_source_is_done_or_waits_too() {
    for receives_of_0 in [&[][..], &[4]] {
        let (mut a, run_a) = begun(0, &[1], receives_of_0);
        let (mut b, run_b) = begun(1, &[], &[1, 2]);
        wait(&mut a, &mut b);
        let why = Failure::NotSent { from: 0, tag: 2 };
        let failed = State::Failed(why);
        let of_a = a.state(run_a).unwrap();
        let of_b = b.state(run_b).unwrap();
        if receives_of_0.is_empty() {
            assert_eq!((of_a, of_b), (State::Done, failed));
        } else {
            // Either one finds its own, and tells the other.
            let own = State::Failed(Failure::NotSent { from: 1, tag: 4 });
            assert!(of_a == own || of_b == failed, "{of_a:?} {of_b:?}");
            assert!(of_a != State::Running && of_b != State::Running);
        }
        assert_eq!((a.counts().bad_packets, b.counts().bad_packets), (0, 0));
    }
}

#[test]
fn one_whose_source_is_late_waits() {
    let (mut b, run) = begun(1, &[], &[1]);
    assert_eq!(b.awaited(), 8);
    // The source has not begun the run.
    let mut a = Rank::new(0, 2, Limits::default());
    b.ask();
    let asked = carry(&mut a, &mut b);
    assert!(
        matches!(
            asked[..],
            [Packet::Ask { .. }, Packet::Answer { missing: false, .. }]
        ),
        "{asked:?}"
    );
    assert_eq!(b.state(run), Some(State::Running));
    let (mut a, _) = begun(0, &[1], &[]);
    wait(&mut a, &mut b);
    assert_eq!((b.state(run), b.awaited()), (Some(State::Done), 0));
}

#[test]
fn a_receive_of_a_message_to_itself_is_asked_about_here() {
    let mut g = Graph::new(0, 1).unwrap();
    let into = vec![Buffer::void(8)];
    g.add(Work::Recv {
        from: 0,
        tag: 3,
        into,
    })
    .unwrap();
    let mut rank = Rank::new(0, 1, Limits::default());
    let memory = Box::new(Owned::new(Vec::new()));
    let run = rank
        .start(&Arc::new(g.compile().unwrap()), 0, memory, 0)
        .unwrap();
    assert_eq!(rank.state(run), Some(State::Running));
    rank.ask();
    let why = Failure::NotSent { from: 0, tag: 3 };
    assert_eq!(rank.state(run), Some(State::Failed(why)));
}

#[test]
fn an_answer_that_was_not_asked_for_is_none() {
    let (mut b, run) = begun(1, &[], &[1]);
    b.ask();
    let Some((_, Packet::Ask { mut label, .. })) = b.outgoing() else {
        panic!("a question")
    };
    label.tag = 7;
    let answer: Packet = Packet::Answer {
        label,
        missing: true,
    };
    b.bytes(0, &answer.to_bytes());
    assert_eq!(b.counts().bad_packets, 1);
    assert_eq!(
        b.state(run),
        Some(State::Failed(Failure::PeerLost { peer: 0 }))
    );
}
