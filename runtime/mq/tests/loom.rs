//! The state machines of sender and receiver, and their sleep, under all interleavings with few preemptions.
//! `scripts/model mq` runs it.
#![cfg(loom)]

#[path = "loom/header.rs"]
mod header;

use hetmp_core::sleep::Sleep;
use hetmp_core::sync::{AtomicU32, AtomicU64, AtomicUsize};
use hetmp_mq::ring::{End, Memory, Shape};
use hetmp_mq::staged::{Direction, MasterSide, Mover, SlaveSide};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

fn bounded(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(f);
}

/// Addresses of the modelled ring: slots of 8 bytes from here.
const FIRST: usize = 0x1000;
const STRIDE: u32 = 8;

/// A ring's memory: the words of both sides, and messages that loom watches for unordered access.
struct Model {
    messages: Vec<UnsafeCell<u64>>,
    sent: AtomicUsize,
    released: AtomicUsize,
    varied: AtomicU32,
    missing: Vec<AtomicU32>,
    sleeps: [Sleep; 2],
}
// SAFETY: loom's cells find unordered accesses; that is what is tested.
unsafe impl Sync for Model {}
// SAFETY: loom's cells may change threads; accesses that are not ordered are what it finds.
unsafe impl Send for Model {}

impl Memory for Model {
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

impl Model {
    fn new(slots: usize) -> Model {
        Model {
            messages: (0..slots).map(|_| UnsafeCell::new(0)).collect(),
            sent: AtomicUsize::new(FIRST),
            varied: AtomicU32::new(0),
            missing: (0..slots).map(|_| AtomicU32::new(0)).collect(),
            released: AtomicUsize::new(FIRST),
            sleeps: [Sleep::new(), Sleep::new()],
        }
    }
    fn at(&self, message: usize) -> &UnsafeCell<u64> {
        &self.messages[(message - FIRST) / STRIDE as usize]
    }
}

fn shape(slots: u32) -> Shape {
    Shape {
        first: FIRST,
        stride: STRIDE,
        slots,
        msg_bytes: 8,
    }
}

/// A program may take the number of queued messages for a signal, and use what its sender wrote before.
#[test]
fn the_number_of_messages_orders_what_was_written_before() {
    bounded(3, || {
        let model = Arc::new(Model::new(3));
        let asker = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                if End::new(shape(3)).queued(&*model) == 1 {
                    // SAFETY: loom checks that nobody writes the cell.
                    model.messages[2].with(|p| assert_eq!(unsafe { *p }, 9));
                }
            })
        };
        // The program's own data, which is no message.
        // SAFETY: loom checks that nobody else accesses the cell.
        model.messages[2].with_mut(|p| unsafe { *p = 9 });
        let end = End::new(shape(3));
        assert!(end.try_allocate(&*model).is_some());
        end.send(1, 8, &*model);
        asker.join().unwrap();
    });
}

/// Sends `n` messages through a ring of `slots` usable slots. Each side sleeps if it cannot go on. Message i has
/// `length(i)` bytes.
fn through_ring(slots: u32, n: u64, length: fn(u64) -> u32) {
    let model = Arc::new(Model::new(slots as usize + 1));
    let receiver = {
        let model = Arc::clone(&model);
        thread::spawn(move || {
            let end = End::new(shape(slots + 1));
            for i in 0..n {
                let at = loop {
                    match end.try_receive(&*model) {
                        Some(got) => break got,
                        None => model.sleeps[1].sleep(&mut || end.has_message(&*model), 100),
                    }
                };
                assert_eq!(end.length(at, &*model), length(i));
                // SAFETY: loom checks that nobody writes the cell.
                model.at(at).with(|p| assert_eq!(unsafe { *p }, i * 7));
                assert!(end.holds_some() && end.held() == 1);
                end.release(1, &*model);
                model.sleeps[0].notify();
            }
            assert!(end.try_receive(&*model).is_none());
        })
    };
    let end = End::new(shape(slots + 1));
    for i in 0..n {
        let at = loop {
            match end.try_allocate(&*model) {
                Some(at) => break at,
                None => model.sleeps[0].sleep(&mut || end.has_room(&*model), 100),
            }
        };
        // SAFETY: loom checks that nobody else accesses the cell.
        model.at(at).with_mut(|p| unsafe { *p = i * 7 });
        end.send(1, length(i), &*model);
        model.sleeps[1].notify();
    }
    receiver.join().unwrap();
}

#[test]
fn a_ring_of_one_slot_passes_messages_and_nobody_oversleeps() {
    bounded(3, || through_ring(1, 3, |_| 8));
}

#[test]
fn a_ring_of_two_slots_goes_round() {
    bounded(2, || through_ring(2, 4, |_| 8));
}

#[test]
fn lengths_come_with_their_messages() {
    bounded(2, || through_ring(1, 3, |i| 8 - i as u32 % 3));
    bounded(2, || through_ring(2, 4, |i| if i == 1 { 3 } else { 8 }));
}

#[test]
fn batches_are_whole() {
    bounded(3, || {
        let model = Arc::new(Model::new(4));
        let receiver = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                let end = End::new(shape(4));
                let mut next = 0;
                while next < 5 {
                    let Some((at, n)) = end.try_receive_batch(3, &*model) else {
                        model.sleeps[1].sleep(&mut || end.has_message(&*model), 100);
                        continue;
                    };
                    for k in 0..n as usize {
                        // SAFETY: loom checks it.
                        model
                            .at(at + k * STRIDE as usize)
                            .with(|p| assert_eq!(unsafe { *p }, next));
                        next += 1;
                    }
                    end.release(n, &*model);
                    model.sleeps[0].notify();
                }
            })
        };
        let end = End::new(shape(4));
        let mut next = 0;
        while next < 5 {
            let Some((at, n)) = end.try_allocate_batch((5 - next as u32).min(2), &*model) else {
                model.sleeps[0].sleep(&mut || end.has_room(&*model), 100);
                continue;
            };
            for k in 0..n as usize {
                // SAFETY: loom checks it.
                model
                    .at(at + k * STRIDE as usize)
                    .with_mut(|p| unsafe { *p = next });
                next += 1;
            }
            end.send(n, 8, &*model);
            model.sleeps[1].notify();
        }
        receiver.join().unwrap();
    });
}

/// The memory of a staged queue.
struct Stages {
    list: Vec<AtomicU64>,
    master: Vec<UnsafeCell<u64>>,
    sleeps: [Sleep; 2],
}
// SAFETY: loom's cells find unordered accesses; that is what is tested.
unsafe impl Sync for Stages {}
// SAFETY: loom's cells may change threads; accesses that are not ordered are what it finds.
unsafe impl Send for Stages {}

/// A transfer that copies at its start, but is reported as done one look later, as if it overlapped with computation.
struct Late<'a> {
    stages: &'a Stages,
    store: &'a mut Vec<u64>,
    looks: u64,
}

impl Mover for Late<'_> {
    fn start(&mut self, m: u32, s: u32, _: u32, direction: Direction) -> u64 {
        let (m, s) = (m as usize, s as usize);
        match direction {
            // SAFETY: loom checks that the slot is not touched meanwhile.
            Direction::MasterToSlave => {
                self.store[s] = self.stages.master[m].with(|p| unsafe { *p })
            }
            // SAFETY: loom checks that nobody else accesses the slot.
            Direction::SlaveToMaster => {
                self.stages.master[m].with_mut(|p| unsafe { *p = self.store[s] })
            }
        }
        self.looks + 1
    }
    fn done(&mut self, ticket: u64) -> bool {
        self.looks += 1;
        self.looks > ticket
    }
    fn direct_access(&mut self) {}
}

fn through_stages(direction: Direction, m_slots: usize, s_slots: u32, n: u64) {
    let stages = Arc::new(Stages {
        list: (0..m_slots).map(|_| AtomicU64::new(0)).collect(),
        master: (0..m_slots).map(|_| UnsafeCell::new(0)).collect(),
        sleeps: [Sleep::new(), Sleep::new()],
    });
    let slave = {
        let stages = Arc::clone(&stages);
        thread::spawn(move || {
            let mut store = vec![0; s_slots as usize];
            let mut side = SlaveSide::new(direction, s_slots);
            let mut looks = 0;
            let mut pump = |side: &mut SlaveSide, store: &mut Vec<u64>| {
                let mut mover = Late {
                    stages: &stages,
                    store,
                    looks,
                };
                if side.pump(&stages.list, &mut mover) {
                    stages.sleeps[0].notify();
                }
                looks = mover.looks;
                side.transferring()
            };
            for i in 0..n {
                let slot = loop {
                    let under_way = pump(&mut side, &mut store);
                    if let Some((slot, _)) = side.take() {
                        break slot as usize;
                    }
                    if !under_way {
                        stages.sleeps[1].sleep(
                            &mut || {
                                let under_way = pump(&mut side, &mut store);
                                under_way || side.ready()
                            },
                            100,
                        );
                    }
                };
                if direction == Direction::MasterToSlave {
                    assert_eq!(store[slot], i * 7);
                } else {
                    store[slot] = i * 7;
                }
                side.give(8);
                pump(&mut side, &mut store);
            }
            // Move the remaining messages as soon as the master has room.
            while side.used() != 0 {
                if !pump(&mut side, &mut store) && side.used() != 0 {
                    stages.sleeps[1]
                        .sleep(&mut || pump(&mut side, &mut store) || side.used() == 0, 100);
                }
            }
        })
    };
    let mut side = MasterSide::new(direction);
    for i in 0..n {
        let slot = loop {
            match side.take(&stages.list) {
                Some((slot, _)) => break slot as usize,
                None => stages.sleeps[0].sleep(&mut || side.ready(&stages.list), 100),
            }
        };
        if direction == Direction::MasterToSlave {
            // SAFETY: loom checks it.
            stages.master[slot].with_mut(|p| unsafe { *p = i * 7 });
        } else {
            // SAFETY: loom checks it.
            stages.master[slot].with(|p| assert_eq!(unsafe { *p }, i * 7));
        }
        side.give(8, &stages.list);
        stages.sleeps[1].notify();
    }
    slave.join().unwrap();
}

#[test]
fn master_to_slave_through_one_slot_each() {
    bounded(2, || through_stages(Direction::MasterToSlave, 1, 1, 2));
}

#[test]
fn master_to_slave_with_double_buffering() {
    bounded(2, || through_stages(Direction::MasterToSlave, 2, 2, 3));
}

#[test]
fn slave_to_master_through_one_slot_each() {
    bounded(2, || through_stages(Direction::SlaveToMaster, 1, 1, 2));
}

#[test]
fn slave_to_master_with_more_slots_than_the_master_has() {
    bounded(2, || through_stages(Direction::SlaveToMaster, 1, 2, 3));
}
