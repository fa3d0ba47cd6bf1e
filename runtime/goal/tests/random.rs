//! Random graphs under random interleavings, compared with a topological reference; failures; hostile bytes and
//! packets.

use hetmp_goal::element::{Arithmetic, Type};
use hetmp_goal::graph::{After, Graph, OpId, Work};
use hetmp_goal::memory::{Buffer, Owned};
use hetmp_goal::network::Network;
use hetmp_goal::packet::{Label, Packet, Payload};
use hetmp_goal::rank::{Failure, Limits, Rank, State};
use hetmp_goal::schedule::Schedule;
use hetmp_goal::text;
use proptest::prelude::*;
use std::sync::Arc;

/// A step of a random job: one rank adds to its own cell, or one sends its cell to another one.
#[derive(Clone, Debug)]
enum Step {
    Add(u32, u64),
    Send(u32, u32),
    Calc(u32, u64),
}

fn steps() -> impl Strategy<Value = (u32, Vec<Step>)> {
    (1..6u32).prop_flat_map(|ranks| {
        let step = prop_oneof![
            (0..ranks, 1..100u64).prop_map(|(r, n)| Step::Add(r, n)),
            (0..ranks, 0..ranks).prop_map(|(a, b)| Step::Send(a, b)),
            (0..ranks, 0..50u64).prop_map(|(r, n)| Step::Calc(r, n)),
        ];
        (Just(ranks), prop::collection::vec(step, 0..40))
    })
}

/// The graphs that carry out the steps in order, and the value of each rank's cell at the end. Each graph also stores a
/// timestamp for every step.
fn job(ranks: u32, steps: &[Step]) -> (Vec<Graph>, Vec<u64>) {
    let mut graphs: Vec<Graph> = (0..ranks)
        .map(|r| {
            let mut g = Graph::new(r, ranks).unwrap();
            g.segment(8).unwrap();
            // Operands: what is added, and room for what comes.
            g.segment(16 * steps.len() as u64).unwrap();
            g
        })
        .collect();
    let mut last: Vec<Option<OpId>> = vec![None; ranks as usize];
    let mut cells = vec![0u64; ranks as usize];
    let cell = Buffer::user(0, 0, 8);
    let add = |graphs: &mut [Graph], r: u32, work: Work, last: &mut [Option<OpId>]| {
        let g = &mut graphs[r as usize];
        let op = g.add(work).unwrap();
        if let Some(before) = last[r as usize] {
            g.requires(op, before).unwrap();
        }
        last[r as usize] = Some(op);
        op
    };
    for (i, step) in steps.iter().enumerate() {
        let operand = Buffer::user(1, 16 * i as u64, 8);
        let sum = |operand| Work::Local {
            op: Arithmetic::Add,
            element: Type::Unsigned(64),
            target: vec![cell],
            operand: vec![operand],
        };
        match step {
            Step::Add(r, n) => {
                add(&mut graphs, *r, sum(operand), &mut last);
                cells[*r as usize] += n;
            }
            Step::Send(a, b) => {
                let (from, to) = (*a, *b);
                let room = Buffer::user(1, 16 * i as u64 + 8, 8);
                // The receives depend on nothing. So a send to the same rank, or to a rank that waits, can complete.
                let work = Work::Recv {
                    from,
                    tag: i as u32,
                    into: vec![room],
                };
                let received = graphs[to as usize].add(work).unwrap();
                let work = Work::Send {
                    to,
                    tag: i as u32,
                    from: vec![cell],
                };
                let value = cells[from as usize];
                add(&mut graphs, from, work, &mut last);
                let op = add(&mut graphs, to, sum(room), &mut last);
                graphs[to as usize].requires(op, received).unwrap();
                cells[to as usize] += value;
            }
            Step::Calc(r, n) => {
                add(&mut graphs, *r, Work::Calc { nanoseconds: *n }, &mut last);
            }
        }
    }
    (graphs, cells)
}

fn operands(steps: &[Step]) -> Vec<u8> {
    steps
        .iter()
        .flat_map(|s| {
            let n = if let Step::Add(_, n) = s { *n } else { 0 };
            [n.to_le_bytes(), [0; 8]].concat()
        })
        .collect()
}

proptest! {
    #[test]
    fn random_jobs_end_with_what_they_say(
        (ranks, steps) in steps(),
        seed in any::<u64>(),
        eager in prop_oneof![Just(0u64), Just(8), Just(100)],
        credits in 1..4u32,
    ) {
        let (graphs, cells) = job(ranks, &steps);
        let limits = Limits { eager, credits, fragment: 3, ..Limits::default() };
        let mut net = Network::new(ranks, limits, seed);
        let mut handles = Vec::new();
        for g in &graphs {
            let schedule = g.compile().unwrap();
            prop_assert_eq!(&schedule.to_graph().compile().unwrap(), &schedule);
            let memory = Owned::new(vec![vec![0; 8], operands(&steps)]);
            // The end of the run returns the memory.
            handles.push(net.start(&Arc::new(schedule), 1, Box::new(memory)).unwrap());
        }
        net.run();
        for (rank, handle) in handles.into_iter().enumerate() {
            let (state, memory) = net.rank(rank as u32).take(handle).expect("the run is over");
            prop_assert_eq!(state, State::Done);
            let mut cell = [0; 8];
            memory.read(&Buffer::user(0, 0, 8), &mut cell);
            prop_assert_eq!(u64::from_le_bytes(cell), cells[rank]);
        }
    }

    /// Whatever edges there are, each operation begins after those that it depends on.
    #[test]
    fn operations_begin_in_an_order_that_their_edges_allow(
        n in 1..30usize,
        edges in prop::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>()),
            0..60),
        costs in prop::collection::vec(0..9u64, 30),
    ) {
        // Each operation is a timestamp, a calc, and a timestamp.
        let mut g = Graph::new(0, 1).unwrap();
        g.segment(16 * n as u64).unwrap();
        let mut ends = Vec::new();
        for (i, nanoseconds) in costs.iter().copied().enumerate().take(n) {
            let stamp = |at| Work::Timestamp { into: Buffer::user(0, 16 * i as u64 + at, 8) };
            let first = g.add(stamp(0)).unwrap();
            let middle = g.add(Work::Calc { nanoseconds }).unwrap();
            let last = g.add(stamp(8)).unwrap();
            g.requires(middle, first).unwrap();
            g.requires(last, middle).unwrap();
            ends.push((first, last));
        }
        let mut kept = Vec::new();
        for (a, b, complete) in edges {
            let (a, b) = (a.index(n), b.index(n));
            let (earlier, later) = (a.min(b), a.max(b));
            if earlier == later {
                continue;
            }
            if complete {
                g.requires(ends[later].0, ends[earlier].1).unwrap();
            } else {
                g.order(ends[later].0, After::Begun, ends[earlier].0).unwrap();
            }
            kept.push((earlier, later, complete));
        }
        let mut net = Network::new(1, Limits::default(), 1);
        let memory = Box::new(Owned::new(vec![vec![0; 16 * n]]));
        let handle = net.start(&Arc::new(g.compile().unwrap()), 0, memory).unwrap();
        net.run();
        let (state, memory) = net.rank(0).take(handle).unwrap();
        prop_assert_eq!(state, State::Done);
        let time = |i: usize, at: u64| {
            let mut t = [0; 8];
            memory.read(&Buffer::user(0, 16 * i as u64 + at, 8), &mut t);
            u64::from_le_bytes(t)
        };
        // The reference: an operation begins as soon as possible, which is at the end of its longest chain of
        // dependences.
        let mut begins = vec![0u64; n];
        for later in 0..n {
            for (e, l, complete) in &kept {
                if *l == later {
                    begins[later] = begins[later].max(begins[*e] + if *complete { costs[*e] } else { 0 });
                }
            }
            prop_assert_eq!(time(later, 0), begins[later]);
            prop_assert_eq!(time(later, 8), begins[later] + costs[later]);
        }
    }

    #[test]
    fn any_bytes_are_a_schedule_that_runs_or_are_refused(
        (ranks, steps) in steps(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u32>(), 0..4u8), 0..4),
        cut in any::<prop::sample::Index>(),
        whole in any::<bool>(),
    ) {
        let (graphs, _) = job(ranks, &steps);
        let mut words = graphs[0].compile().unwrap().words().to_vec();
        for (at, value, how) in changes {
            let at = at.index(words.len());
            words[at] = match how {
                0 => value,
                1 => words[at].wrapping_add(1),
                2 => words[at] ^ 1 << (value % 32),
                _ => value % 64,
            };
        }
        if !whole {
            words.truncate(cut.index(words.len() + 1));
        }
        if let Ok(schedule) = Schedule::from_words(words.into()) {
            // A schedule that was accepted can be run, without a panic and without a step that never ends.
            let bytes: u64 = schedule.segments().iter().sum::<u64>() + schedule.scratchpad();
            let most = (0..).take(schedule.operations()).count();
            prop_assume!(bytes < 1 << 20 && most < 1000);
            let void: u64 = schedule.to_graph().operations().iter()
                .flat_map(|w| w.writes().iter().chain(w.reads()).map(|p| p.bytes).collect::<Vec<_>>())
                .fold(0, u64::saturating_add);
            prop_assume!(void < 1 << 20);
            let memory = schedule.segments().iter().map(|s| vec![1; *s as usize]).collect();
            let mut rank = Rank::new(schedule.rank(), schedule.ranks(), Limits::default());
            let handle = rank.start(&Arc::new(schedule), 0, Box::new(Owned::new(memory)), 0).unwrap();
            while let Some(at) = rank.deadline() {
                rank.tick(at);
            }
            prop_assert!(rank.state(handle).is_some());
        }
    }

    #[test]
    fn any_bytes_are_one_packet_or_none(bytes in prop::collection::vec(any::<u8>(), 0..80), kind in 0..11u8) {
        let mut bytes = bytes;
        if bytes.len() >= 32 {
            bytes[..4].copy_from_slice(&[kind, 0, 0, 0]);
            let payload = (bytes.len() - 32) as u64;
            bytes[24..32].copy_from_slice(&payload.to_le_bytes());
        }
        if let Some(packet) = Packet::parse(&bytes) {
            prop_assert_eq!(packet.to_bytes(), bytes);
        }
    }

    /// Random packets arrive at a rank that waits: there is no panic, each packet is counted or has no effect, and the
    /// memory that the rank keeps for packets stays within its limits.
    #[test]
    fn hostile_packets_cost_what_the_limits_say(
        packets in prop::collection::vec((1..3u32, 0..8u8, 0..3u32, 0..3u64, 0..12usize), 0..200),
    ) {
        let limits = Limits { eager: 8, credits: 4, offers: 5, fragment: 4 };
        let mut rank = Rank::new(0, 3, limits);
        let mut g = Graph::new(0, 3).unwrap();
        g.segment(8).unwrap();
        g.add(Work::Recv { from: 1, tag: 0, into: vec![Buffer::user(0, 0, 8)] }).unwrap();
        let memory = Box::new(Owned::new(vec![vec![0; 8]]));
        let handle = rank.start(&Arc::new(g.compile().unwrap()), 0, memory, 0).unwrap();
        for (from, kind, number, sequence, bytes) in packets {
            let label = Label { context: number, sequence, tag: number };
            let payload = vec![7; bytes];
            rank.packet(from, match kind {
                0 => Packet::Eager { label, payload },
                1 => Packet::Offer { label, bytes: bytes as u64, ticket: number, at: [bytes as u8; 8] },
                2 => Packet::Accept { ticket: number, promise: number, taken: sequence % 2 == 1 },
                3 => Packet::Refuse { ticket: number },
                4 => Packet::Data { promise: number, offset: sequence, payload },
                5 => Packet::Abort { context: number, sequence },
                6 => Packet::Credits { count: number },
                _ => Packet::Eager { label: Label { context: 0, sequence: 0, tag: 0 }, payload },
            });
            let (count, bytes) = rank.early();
            prop_assert!(count <= 2 * (4 + 5) && bytes <= 2 * 4 * 8, "{} messages, {} bytes", count, bytes);
        }
        prop_assert!(rank.state(handle).is_some());
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(num_ranks \
        [0-9]{1,2}\n)?(rank|send|recv|calc|to|from|tag|requires|[a-z]:|[{}]|[0-9]{1,3}b?|\\s|/\\*|\\*/|//|é){0,60}") {
        if let Ok(graphs) = text::read(&text) {
            prop_assert_eq!(text::read(&text::write(&graphs)).unwrap(), graphs);
        }
    }
}

/// A run is given up while its message is under way. The receiver's part of the run ends, the sender reads no more of
/// the program's memory, and the link serves later runs.
#[test]
fn a_message_that_breaks_off_ends_its_receive() {
    let limits = Limits {
        eager: 8,
        credits: 4,
        offers: 5,
        fragment: 16,
    };
    let part = |rank, work| {
        let mut g = Graph::new(rank, 2).unwrap();
        g.add(work).unwrap();
        Arc::new(g.compile().unwrap())
    };
    let (from, into) = (vec![Buffer::void(100)], vec![Buffer::void(100)]);
    let (to, tag) = (1, 0);
    let a = part(0, Work::Send { to, tag, from });
    let b = part(1, Work::Recv { from: 0, tag, into });
    let mut ranks = [Rank::new(0, 2, limits), Rank::new(1, 2, limits)];
    let memory = || Box::new(Owned::new(Vec::new()));
    let sends = ranks[0].start(&a, 0, memory(), 0).unwrap();
    let receives = ranks[1].start(&b, 0, memory(), 0).unwrap();
    let pass = |ranks: &mut [Rank; 2], from: usize| {
        while let Some((to, packet)) = ranks[from].outgoing() {
            ranks[to as usize].bytes(from as u32, &packet.to_bytes());
        }
    };
    let part = |ranks: &mut [Rank; 2]| {
        let mut bytes = Vec::new();
        let went = ranks[0].stream(&mut |_, header, n, fill| {
            bytes = header.to_vec();
            bytes.resize(header.len() + n, 0);
            fill(&mut bytes[header.len()..]);
            true
        });
        if !bytes.is_empty() {
            ranks[1].bytes(0, &bytes);
        }
        went
    };
    // The offer, its acceptance, two parts of seven.
    pass(&mut ranks, 0);
    pass(&mut ranks, 1);
    assert!(part(&mut ranks) && part(&mut ranks));
    assert_eq!(ranks[1].state(receives), Some(State::Running));
    ranks[0].abandon(sends);
    // Two packets may come in any order: that the run has failed, and that no more of the message comes.
    while part(&mut ranks) {}
    pass(&mut ranks, 0);
    assert_eq!(
        ranks[1].state(receives),
        Some(State::Failed(Failure::PeerFailed { peer: 0 }))
    );
    assert!(!ranks[0].is_streaming());
    let sends = ranks[0].start(&a, 0, memory(), 0).unwrap();
    let receives = ranks[1].start(&b, 0, memory(), 0).unwrap();
    pass(&mut ranks, 0);
    pass(&mut ranks, 1);
    while part(&mut ranks) {}
    assert_eq!(ranks[0].state(sends), Some(State::Done));
    assert_eq!(ranks[1].state(receives), Some(State::Done));
    assert_eq!(
        ranks[0].counts().bad_packets + ranks[1].counts().bad_packets,
        0
    );
}

fn pair(bytes: u64, room: u64) -> [Arc<Schedule>; 2] {
    let mut a = Graph::new(0, 2).unwrap();
    let mut b = Graph::new(1, 2).unwrap();
    let (from, into) = (vec![Buffer::void(bytes)], vec![Buffer::void(room)]);
    a.add(Work::Send {
        to: 1,
        tag: 0,
        from,
    })
    .unwrap();
    b.add(Work::Recv {
        from: 0,
        tag: 0,
        into,
    })
    .unwrap();
    // Both also wait for the other one.
    for (g, peer) in [(&mut a, 1), (&mut b, 0)] {
        let into = vec![Buffer::void(1)];
        g.add(Work::Recv {
            from: peer,
            tag: 9,
            into,
        })
        .unwrap();
    }
    [
        Arc::new(a.compile().unwrap()),
        Arc::new(b.compile().unwrap()),
    ]
}

#[test]
fn a_message_that_is_too_long_ends_both_runs() {
    for eager in [0, 100] {
        let limits = Limits {
            eager,
            ..Limits::default()
        };
        let mut net = Network::new(2, limits, 4);
        let schedules = pair(9, 8);
        let handles = schedules
            .each_ref()
            .map(|s| net.start(s, 0, Box::new(Owned::default())).unwrap());
        net.run();
        let truncated = Failure::Truncated {
            from: 0,
            bytes: 9,
            room: 8,
        };
        assert_eq!(
            net.rank(1).state(handles[1]),
            Some(State::Failed(truncated))
        );
        let first = net.rank(0).state(handles[0]);
        assert!(
            matches!(
                first,
                Some(State::Failed(
                    Failure::Refused { by: 1 } | Failure::PeerFailed { peer: 1 }
                ))
            ),
            "{first:?}"
        );
    }
}

#[test]
fn a_run_that_begins_after_its_peers_failed_fails() {
    let mut net = Network::new(2, Limits::default(), 4);
    let [a, b] = pair(9, 8);
    let first = net.start(&b, 0, Box::new(Owned::default())).unwrap();
    net.rank(1).lose(0);
    assert_eq!(
        net.rank(1).state(first),
        Some(State::Failed(Failure::PeerLost { peer: 0 }))
    );
    // Another run of the job that needs the lost rank fails at once.
    let second = net.start(&b, 0, Box::new(Owned::default())).unwrap();
    assert_eq!(
        net.rank(1).state(second),
        Some(State::Failed(Failure::PeerLost { peer: 0 }))
    );
    // A rank hears of a failure before it begins its part of the run.
    net.rank(0).packet(
        1,
        Packet::<Payload>::Abort {
            context: 0,
            sequence: 0,
        },
    );
    let late = net.start(&a, 0, Box::new(Owned::default())).unwrap();
    assert_eq!(
        net.rank(0).state(late),
        Some(State::Failed(Failure::PeerFailed { peer: 1 }))
    );
}

#[test]
fn a_division_by_zero_names_its_operation() {
    let mut g = Graph::new(0, 1).unwrap();
    g.segment(16).unwrap();
    g.add(Work::Local {
        op: Arithmetic::Div,
        element: Type::Signed(64),
        target: vec![Buffer::user(0, 0, 8)],
        operand: vec![Buffer::user(0, 8, 8)],
    })
    .unwrap();
    let mut rank = Rank::new(0, 1, Limits::default());
    let memory = Box::new(Owned::new(vec![vec![0; 16]]));
    let handle = rank
        .start(&Arc::new(g.compile().unwrap()), 0, memory, 0)
        .unwrap();
    let Some(State::Failed(why)) = rank.state(handle) else {
        panic!("it did not fail")
    };
    assert_eq!(
        why.to_string(),
        "operation 0 of the schedule: division by zero"
    );
}

#[test]
fn long_chains_to_oneself_need_no_stack() {
    let mut g = Graph::new(0, 1).unwrap();
    let mut last = None;
    for tag in 0..100_000 {
        let recv = g
            .add(Work::Recv {
                from: 0,
                tag,
                into: Vec::new(),
            })
            .unwrap();
        let send = g
            .add(Work::Send {
                to: 0,
                tag,
                from: Vec::new(),
            })
            .unwrap();
        if let Some(last) = last {
            g.requires(send, last).unwrap();
        }
        last = Some(recv);
    }
    let mut rank = Rank::new(0, 1, Limits::default());
    let schedule = Arc::new(g.compile().unwrap());
    let handle = rank
        .start(&schedule, 0, Box::new(Owned::default()), 0)
        .unwrap();
    assert_eq!(rank.state(handle), Some(State::Done));
}

/// A send of eight bytes to rank 1, and the receive there behind `nanoseconds` of computing.
fn one_message(nanoseconds: u64) -> [Arc<Schedule>; 2] {
    let mut a = Graph::new(0, 2).unwrap();
    let mut b = Graph::new(1, 2).unwrap();
    let (from, into) = (vec![Buffer::void(8)], vec![Buffer::void(8)]);
    let (to, tag) = (1, 0);
    a.add(Work::Send { to, tag, from }).unwrap();
    let busy = b.add(Work::Calc { nanoseconds }).unwrap();
    let from = 0;
    let received = b.add(Work::Recv { from, tag, into }).unwrap();
    b.requires(received, busy).unwrap();
    [a, b].map(|g| Arc::new(g.compile().unwrap()))
}

/// A rank may do its part of a run, and leave the job, before another rank begins its part.
#[test]
fn what_a_peer_sent_before_it_left_stands() {
    for (nanoseconds, begins_before) in [(0, false), (0, true), (50, false), (50, true)] {
        let mut net = Network::new(2, Limits::default(), 4);
        let [a, b] = one_message(nanoseconds);
        let done = net.start(&a, 0, Box::new(Owned::default())).unwrap();
        assert_eq!(net.rank(0).state(done), Some(State::Done));
        let begin = |net: &mut Network| net.start(&b, 0, Box::new(Owned::default())).unwrap();
        let before = begins_before.then(|| begin(&mut net));
        // One step delivers the message; the time of the computing comes after the peer's leave.
        assert!(net.step());
        net.rank(1).leave(0);
        let run = before.unwrap_or_else(|| begin(&mut net));
        net.run();
        assert_eq!(net.rank(1).state(run), Some(State::Done));
    }
}

#[test]
fn what_a_peer_did_not_send_before_it_left_fails() {
    let lost = |peer| Some(State::Failed(Failure::PeerLost { peer }));
    for (nanoseconds, begins_before) in [(0, false), (0, true), (50, false), (50, true)] {
        let mut net = Network::new(2, Limits::default(), 4);
        let [a, b] = one_message(nanoseconds);
        let begin = |net: &mut Network| net.start(&b, 0, Box::new(Owned::default())).unwrap();
        let before = begins_before.then(|| begin(&mut net));
        net.rank(1).leave(0);
        let run = before.unwrap_or_else(|| begin(&mut net));
        net.run();
        assert_eq!(net.rank(1).state(run), lost(0));
        // A send to one that has left, short or long.
        net.rank(0).leave(1);
        let send = net.start(&a, 0, Box::new(Owned::default())).unwrap();
        assert_eq!(net.rank(0).state(send), lost(1));
    }
    // After its sender has left, an offer cannot be accepted; and the offer to a rank that has left is never accepted.
    let eager = 0;
    let limits = Limits {
        eager,
        ..Limits::default()
    };
    let mut net = Network::new(2, limits, 4);
    let [a, b] = one_message(0);
    let offered = net.start(&a, 0, Box::new(Owned::default())).unwrap();
    assert!(net.step());
    net.rank(1).leave(0);
    let run = net.start(&b, 0, Box::new(Owned::default())).unwrap();
    assert_eq!(net.rank(1).state(run), lost(0));
    net.rank(0).leave(1);
    assert_eq!(net.rank(0).state(offered), lost(1));
}
