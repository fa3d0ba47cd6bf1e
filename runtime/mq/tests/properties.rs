//! Random sequences of calls on a queue, compared with a queue of the standard library: the same messages in the same
//! order, and the same calls refused.
#![cfg(not(loom))]

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use hetmp_mq::ring::{End, Memory, Shape};
use hetmp_mq::staged::{at_master, master_at_rest, Direction, MasterSide, Mover, SlaveSide};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::VecDeque;

const FIRST: usize = 64;

struct Ring {
    sent: AtomicUsize,
    released: AtomicUsize,
    varied: AtomicU32,
    missing: Vec<AtomicU32>,
}

impl Memory for Ring {
    fn sent(&self) -> &AtomicUsize {
        &self.sent
    }
    fn varied(&self) -> &AtomicU32 {
        &self.varied
    }
    fn missing(&self, index: usize) -> &AtomicU32 {
        &self.missing[index]
    }
    fn released(&self) -> &AtomicUsize {
        &self.released
    }
}

#[derive(Clone, Copy, Debug)]
enum Call {
    Allocate(u32),
    Send(u32),
    Receive(u32),
    Release(u32),
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let n = 1..6u32;
    prop::collection::vec(
        prop_oneof![
            n.clone().prop_map(Call::Allocate),
            n.clone().prop_map(Call::Send),
            n.clone().prop_map(Call::Receive),
            n.prop_map(Call::Release),
        ],
        0..200,
    )
}

proptest! {
    #[test]
    fn a_ring_is_a_bounded_queue(
        slots in 1..9u32,
        bytes in 1..200u32,
        calls in calls(),
        lengths in prop::collection::vec(prop_oneof![4 => Just(u32::MAX), 1 => 0..200u32], 1..40),
    ) {
        let stride = Shape::stride(bytes);
        let alignment = Shape::alignment(bytes);
        prop_assert!(stride >= bytes && stride < bytes + alignment);
        prop_assert!(stride % alignment == 0 && alignment >= 8);
        let shape = Shape { first: FIRST, stride, slots: slots + 1, msg_bytes: bytes };
        let ring = Ring {
            sent: AtomicUsize::new(FIRST),
            released: AtomicUsize::new(FIRST),
            varied: AtomicU32::new(0),
            missing: (0..shape.lengths()).map(|_| AtomicU32::new(0)).collect(),
        };
        let (sender, receiver) = (End::new(shape), End::new(shape));
        prop_assert_eq!(sender.slots(), slots as usize);
        let mut lengths = lengths.into_iter().cycle();
        let (mut allocated, mut sent, mut received) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        for call in calls {
            let free = slots as usize - allocated.len() - sent.len() - received.len();
            match call {
                // Single messages use the short paths.
                Call::Allocate(want) => match if want == 1 {
                    sender.try_allocate(&ring).map(|at| (at, 1))
                } else {
                    sender.try_allocate_batch(want, &ring)
                } {
                    Some((at, n)) => {
                        prop_assert!(n >= 1 && n <= want && n as usize <= free);
                        for k in 0..n as usize {
                            allocated.push_back(at + k * stride as usize);
                        }
                    }
                    None => prop_assert_eq!(free, 0),
                },
                Call::Send(n) => {
                    if n as usize <= allocated.len() {
                        prop_assert_eq!(sender.oldest(), allocated[0]);
                        prop_assert!(sender.holds(allocated[n as usize - 1]));
                        let length = lengths.next().expect("a cycle").min(bytes);
                        let only = sender.after_only(allocated[0]);
                        prop_assert!(only.is_none() || allocated.len() == 1);
                        match only {
                            Some(at) if sender.is_usual(length) => sender.send_only(at, &ring),
                            _ => sender.send(n, length, &ring),
                        }
                        for _ in 0..n {
                            sent.push_back((allocated.pop_front().expect("held"), length));
                        }
                    }
                }
                Call::Receive(want) => match if want == 1 {
                    receiver.try_receive(&ring).map(|at| (at, 1))
                } else {
                    receiver.try_receive_batch(want, &ring)
                } {
                    Some((at, n)) => {
                        for k in 0..n as usize {
                            let (message, length) = sent.pop_front().expect("sent");
                            prop_assert_eq!(message, at + k * stride as usize);
                            prop_assert_eq!(receiver.length(message, &ring), length);
                            received.push_back(message);
                        }
                    }
                    None => prop_assert!(sent.is_empty()),
                },
                Call::Release(n) => {
                    if n as usize <= received.len() {
                        prop_assert_eq!(receiver.oldest(), received[0]);
                        let only = receiver.after_only(received[0]);
                        prop_assert!(only.is_none() || received.len() == 1);
                        match only {
                            Some(at) => receiver.release_only(at, &ring),
                            None => receiver.release(n, &ring),
                        }
                        received.drain(..n as usize);
                    }
                }
            }
            prop_assert_eq!(sender.held(), allocated.len());
            prop_assert_eq!(receiver.held(), received.len());
            prop_assert_eq!(sender.holds_some(), !allocated.is_empty());
            prop_assert_eq!(sender.queued(&ring), sent.len() + received.len());
            prop_assert_eq!(receiver.has_message(&ring), !sent.is_empty());
        }
    }

    #[test]
    fn a_staged_queue_is_a_bounded_queue(
        to_slave: bool,
        m_slots in 1..5usize,
        s_slots in 1..5u32,
        late in 0..3u64,
        calls in calls(),
    ) {
        let direction = if to_slave { Direction::MasterToSlave } else { Direction::SlaveToMaster };
        let list: Vec<AtomicU64> = (0..m_slots).map(|_| AtomicU64::new(0)).collect();
        let memory = RefCell::new((vec![0u64; m_slots], vec![0u64; s_slots as usize]));
        let mut mover = Copier { memory: &memory, looks: 0, late };
        let (mut master, mut slave) = (MasterSide::new(direction), SlaveSide::new(direction, s_slots));
        // What the sender and the receiver hold, by slot; and what is between them.
        let (mut allocated, mut between, mut received) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        let mut count = 0u64;
        for call in calls {
            slave.pump(&list, &mut mover);
            let mut m = || master.take(&list);
            let mut s = || slave.take();
            match call {
                Call::Allocate(_) => {
                    let got = if to_slave { m() } else { s() };
                    if let Some((slot, _)) = got {
                        allocated.push_back(slot);
                    }
                }
                Call::Send(_) => {
                    if let Some(slot) = allocated.pop_front() {
                        count += 1;
                        let memory = &mut *memory.borrow_mut();
                        if to_slave {
                            memory.0[slot as usize] = count;
                            prop_assert_eq!(master.oldest(), slot);
                            master.give(count as u32, &list);
                        } else {
                            memory.1[slot as usize] = count;
                            prop_assert_eq!(slave.oldest(), slot);
                            slave.give(count as u32);
                        }
                        between.push_back(count);
                    }
                }
                Call::Receive(_) => {
                    let got = if to_slave { s() } else { m() };
                    if let Some((slot, bytes)) = got {
                        let memory = memory.borrow();
                        let message = if to_slave { memory.1[slot as usize] } else { memory.0[slot as usize] };
                        prop_assert_eq!(Some(message), between.pop_front());
                        prop_assert_eq!(u64::from(bytes), message);
                        received.push_back(slot);
                    }
                }
                Call::Release(_) => {
                    if received.pop_front().is_some() {
                        if to_slave { slave.give(0) } else { master.give(0, &list) }
                    }
                }
            }
            let here = at_master(&list, direction) + slave.messages();
            prop_assert_eq!(here as usize, between.len() + received.len());
        }
        // After the random calls, all messages that were sent can be received, and then the queue is empty.
        for _ in 0..1000 {
            slave.pump(&list, &mut mover);
            if received.pop_front().is_some() {
                if to_slave { slave.give(0) } else { master.give(0, &list) }
            }
            if allocated.pop_front().is_some() {
                count += 1;
                between.push_back(count);
                if to_slave { master.give(9, &list) } else { slave.give(9) }
            }
            let got = if to_slave { slave.take() } else { master.take(&list) };
            if let Some((slot, _)) = got {
                between.pop_front();
                received.push_back(slot);
            }
        }
        prop_assert!(between.is_empty() && received.is_empty());
        prop_assert!(master_at_rest(&list) && slave.used() == 0 && !slave.transferring());
    }
}

struct Copier<'a> {
    memory: &'a RefCell<(Vec<u64>, Vec<u64>)>,
    looks: u64,
    late: u64,
}

impl Mover for Copier<'_> {
    fn start(&mut self, m: u32, s: u32, _: u32, direction: Direction) -> u64 {
        let memory = &mut *self.memory.borrow_mut();
        match direction {
            Direction::MasterToSlave => memory.1[s as usize] = memory.0[m as usize],
            Direction::SlaveToMaster => memory.0[m as usize] = memory.1[s as usize],
        }
        self.looks + self.late
    }
    fn done(&mut self, ticket: u64) -> bool {
        self.looks += 1;
        self.looks > ticket
    }
    fn direct_access(&mut self) {}
}
