//! Barriers of nodes that share a place, requests to a node's agent, and the watchdog of virtual teams.

use crate::meeting::Meeting;
use crate::sight::Sight;
use crate::slot::Slot;
use crate::{bounded, team, Data};
use hetmp_core::bell::LocalBell;
use hetmp_core::sync::{pause, AtomicU32, Ordering};
use loom::sync::Arc;
use loom::thread;

/// To each barrier one node brings a word, and finds there what the others wrote before. That is written anew only
/// after one more barrier.
fn meet(nodes: u32, barriers: u32, preemptions: usize) {
    bounded(preemptions, move || {
        let meeting = Meeting::default();
        let data: Vec<Data> = (0..nodes).map(|_| Data::new(0)).collect();
        team(nodes, move |me| {
            for barrier in 1..=barriers {
                if barrier % 2 == 1 {
                    data[me as usize].set(barrier);
                }
                let word = if barrier % nodes == me { barrier } else { 0 };
                assert_eq!(meeting.barrier(nodes, word.into(), false), barrier.into());
                if barrier % 2 == 1 {
                    for d in &data {
                        assert_eq!(d.get(), barrier);
                    }
                }
            }
        });
    });
}

#[test]
fn two_nodes_meet() {
    meet(2, 3, 3);
}

#[test]
fn three_nodes_meet() {
    meet(3, 2, 1);
}

/// `Together::answer_to` and `Together::serve`, with one slot for two callers.
#[test]
fn requests_through_one_slot_get_their_own_answers() {
    bounded(2, || {
        let slot = Slot::new();
        let asked = AtomicU32::new(0);
        let bell = LocalBell::local();
        team(3, move |me| {
            if me > 0 {
                while !slot.claim() {
                    pause();
                }
                slot.ask(me, [me.into(); 3]);
                asked.fetch_add(1, Ordering::SeqCst);
                bell.ring_after_swap();
                assert_eq!(slot.wait(), [u64::from(me) + 10; 3]);
                return;
            }
            let mut answers = 0;
            loop {
                let seen = asked.load(Ordering::Acquire);
                if let Some((op, words)) = slot.take() {
                    assert_eq!(words, [u64::from(op); 3]);
                    slot.answer([u64::from(op) + 10; 3]);
                    answers += 1;
                }
                if answers == 2 {
                    return;
                }
                bell.sleep_until(&mut || asked.load(Ordering::Acquire) != seen);
            }
        });
    });
}

/// What is prepared for a region is plain data. The watchdog hands it to threads that it makes.
#[test]
fn the_watchdog_finds_regions_prepared() {
    bounded(3, || {
        let shared = Arc::new((Sight::new(), Data::new(0)));
        let watchdog = {
            let s = Arc::clone(&shared);
            thread::spawn(move || {
                for _ in 0..2 {
                    s.0.look(|| assert_ne!(s.1.get(), 0));
                }
            })
        };
        for region in 1..=2 {
            shared.1.set(region);
            shared.0.open();
            shared.0.close();
        }
        watchdog.join().unwrap();
    });
}
