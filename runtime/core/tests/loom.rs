//! Waiting and locks under all interleavings that loom finds with few preemptions. `scripts/model`
//! runs it.
#![cfg(loom)]

#[path = "../src/trace/log.rs"]
#[allow(dead_code, reason = "the model has no memory of the system's")]
mod log;

use hetmp_core::bell::{Bell, LocalBell, Naps};
use hetmp_core::lock::{Brief, Lock, OwnedLock};
use hetmp_core::park::{Flag, Poll, SharedFlag};
use hetmp_core::sequence;
use hetmp_core::sync::{self, AtomicU32, AtomicU64, Ordering};
use hetmp_core::trace::Kind;
use loom::sync::Arc;
use loom::{cell::UnsafeCell, thread};

fn bounded(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(f);
}

/// Something that only an acquired epoch makes safe to read.
struct Data(UnsafeCell<u32>);
// SAFETY: loom's cell finds unordered accesses; that is what is tested.
unsafe impl Sync for Data {}

impl Data {
    fn new() -> Data {
        Data(UnsafeCell::new(0))
    }
    fn set(&self, v: u32) {
        // SAFETY: loom checks that nobody else accesses the cell.
        self.0.with_mut(|p| unsafe { *p = v });
    }
    fn get(&self) -> u32 {
        // SAFETY: loom checks that nobody writes the cell.
        self.0.with(|p| unsafe { *p })
    }
}

#[test]
fn a_signal_reaches_two_waiters_and_orders_data() {
    bounded(3, || {
        let shared = Arc::new((Flag::new(), Data::new()));
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let s = Arc::clone(&shared);
                thread::spawn(move || {
                    s.0.wait(1);
                    assert_eq!(s.1.get(), 7);
                })
            })
            .collect();
        shared.1.set(7);
        shared.0.signal(1);
        for w in waiters {
            w.join().unwrap();
        }
    });
}

#[test]
fn a_signal_is_not_lost_beside_a_nudge() {
    bounded(3, || {
        let flag = Arc::new(Flag::new());
        let waiter = {
            let flag = Arc::clone(&flag);
            thread::spawn(move || flag.wait(1))
        };
        let nudger = {
            let flag = Arc::clone(&flag);
            thread::spawn(move || {
                flag.nudge();
            })
        };
        flag.signal(1);
        waiter.join().unwrap();
        nudger.join().unwrap();
    });
}

#[test]
fn a_nudge_after_a_relaxed_store_makes_the_sleeper_see_it() {
    // Nobody signals: the store must end the wait, whether it or the mark of the sleeper is first.
    bounded(3, || {
        let shared = Arc::new((Flag::new(), AtomicU32::new(0)));
        let waiter = {
            let s = Arc::clone(&shared);
            thread::spawn(move || {
                s.0.wait_polling(
                    1,
                    &mut || match s.1.load(Ordering::Relaxed) {
                        0 => Poll::Idle,
                        _ => Poll::Leave,
                    },
                    &mut |_| {},
                );
            })
        };
        shared.1.store(1, Ordering::Relaxed);
        shared.0.nudge();
        waiter.join().unwrap();
    });
}

/// A sleeper that comes late marks the flag anew. Another one, which polled before the reason for
/// the nudge was there and has not fallen asleep yet, must not take that mark for its own.
#[test]
fn a_nudge_reaches_all_sleepers() {
    bounded(3, || {
        let shared = Arc::new((Flag::new(), AtomicU32::new(0)));
        let sleepers: Vec<_> = (0..2)
            .map(|_| {
                let s = Arc::clone(&shared);
                thread::spawn(move || {
                    s.0.wait_polling(
                        1,
                        &mut || {
                            if s.1.load(Ordering::Acquire) == 1 {
                                Poll::Leave
                            } else {
                                Poll::Idle
                            }
                        },
                        &mut |_| {},
                    );
                })
            })
            .collect();
        shared.1.store(1, Ordering::Release);
        shared.0.nudge();
        for s in sleepers {
            s.join().unwrap();
        }
    });
}

#[test]
fn epochs_follow_each_other() {
    bounded(3, || {
        let pair = Arc::new((Flag::new(), Flag::new()));
        let other = {
            let p = Arc::clone(&pair);
            thread::spawn(move || {
                for e in 1..=2 {
                    p.0.wait(e);
                    p.1.signal(e);
                }
            })
        };
        for e in 1..=2 {
            pair.0.signal(e);
            pair.1.wait(e);
        }
        other.join().unwrap();
    });
}

#[test]
fn a_lock_excludes_and_wakes() {
    bounded(2, || {
        let shared = Arc::new((Lock::new(), Data::new()));
        let others: Vec<_> = (0..2)
            .map(|_| {
                let s = Arc::clone(&shared);
                thread::spawn(move || {
                    s.0.lock();
                    s.1.set(s.1.get() + 1);
                    s.0.unlock();
                })
            })
            .collect();
        shared.0.lock();
        shared.1.set(shared.1.get() + 1);
        shared.0.unlock();
        for o in others {
            o.join().unwrap();
        }
        assert_eq!(shared.1.get(), 3);
    });
}

#[test]
fn a_brief_lock_excludes() {
    bounded(3, || {
        let shared = Arc::new((Brief::new(), Data::new()));
        let other = {
            let s = Arc::clone(&shared);
            thread::spawn(move || {
                s.0.lock();
                s.1.set(s.1.get() + 1);
                s.0.unlock();
            })
        };
        if shared.0.try_lock() {
            shared.1.set(shared.1.get() + 1);
            shared.0.unlock();
        }
        other.join().unwrap();
    });
}

/// Naps have no end of their own in the model: a ring that is missed is a deadlock, which loom finds.
const NAPS: Naps = Naps {
    shortest: 0,
    longest: 0,
};

#[test]
fn a_ring_after_a_relaxed_store_wakes_who_sleeps_on_a_bell() {
    bounded(3, || {
        let shared = Arc::new((Bell::new(), AtomicU32::new(0)));
        let sleepers: Vec<_> = (0..2)
            .map(|_| {
                let s = Arc::clone(&shared);
                thread::spawn(move || {
                    let held =
                        s.0.sleep(NAPS, &mut || s.1.load(Ordering::Relaxed) == 1, &mut || true);
                    assert!(held);
                })
            })
            .collect();
        shared.1.store(1, Ordering::Relaxed);
        shared.0.ring();
        for s in sleepers {
            s.join().unwrap();
        }
    });
}

/// Two changes by exchanges, each with a ring that has no fence of its own, and a sleeper that needs the second one.
#[test]
fn a_ring_after_a_swap_wakes_who_sleeps_without_naps() {
    bounded(3, || {
        let shared = Arc::new((LocalBell::local(), AtomicU32::new(0), Data::new()));
        let sleeper = {
            let s = Arc::clone(&shared);
            thread::spawn(move || {
                s.0.sleep_until(&mut || s.1.load(Ordering::Acquire) == 2);
                assert_eq!(s.2.get(), 7);
            })
        };
        shared.1.swap(1, Ordering::SeqCst);
        shared.0.ring_after_swap();
        shared.2.set(7);
        shared.1.swap(2, Ordering::SeqCst);
        shared.0.ring_after_swap();
        sleeper.join().unwrap();
    });
}

/// A ring for something else, and one for what is waited for.
#[test]
fn two_peers_ring_one_bell() {
    bounded(2, || {
        let shared = Arc::new((Bell::new(), AtomicU32::new(0)));
        let peer = {
            let s = Arc::clone(&shared);
            thread::spawn(move || {
                s.1.fetch_add(1, Ordering::Relaxed);
                s.0.ring();
            })
        };
        let other = {
            let s = Arc::clone(&shared);
            thread::spawn(move || {
                s.1.fetch_add(1, Ordering::Relaxed);
                s.0.ring();
            })
        };
        assert!(shared.0.sleep(
            NAPS,
            &mut || shared.1.load(Ordering::Relaxed) == 2,
            &mut || true
        ));
        peer.join().unwrap();
        other.join().unwrap();
    });
}

#[test]
fn a_shared_flag_keeps_the_rules_of_a_flag() {
    bounded(3, || {
        let shared = Arc::new((SharedFlag::shared(), Data::new()));
        let waiter = {
            let s = Arc::clone(&shared);
            thread::spawn(move || {
                s.0.wait(1);
                assert_eq!(s.1.get(), 7);
            })
        };
        shared.1.set(7);
        shared.0.signal(1);
        waiter.join().unwrap();
    });
}

/// Three holders, of whom two may sleep: none is left asleep, and each finds what the one before it wrote.
#[test]
fn an_owned_lock_wakes_all_who_sleep_for_it() {
    bounded(2, || {
        let shared = Arc::new((OwnedLock::new(), AtomicU32::new(0)));
        let hold = |s: &(OwnedLock, AtomicU32), me: u32| {
            if s.0.try_take(me).is_err() {
                s.0.take(me);
            }
            s.1.store(s.1.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            s.0.release();
        };
        let others: Vec<_> = (1..3)
            .map(|me| {
                let s = Arc::clone(&shared);
                thread::spawn(move || hold(&s, me))
            })
            .collect();
        hold(&shared, 3);
        for t in others {
            t.join().unwrap();
        }
        assert_eq!(shared.1.load(Ordering::Relaxed), 3);
    });
}

/// A reader gets words that belong together, or none.
#[test]
fn words_under_a_sequence_lock_never_mix() {
    bounded(3, || {
        let words = Arc::new([0; 3].map(AtomicU64::new));
        let of_writer = Arc::clone(&words);
        let writer = thread::spawn(move || {
            let [version, a, b] = &*of_writer;
            for i in 1..=2 {
                sequence::write(version, || {
                    a.store(i, Ordering::Relaxed);
                    b.store(i, Ordering::Relaxed);
                });
            }
        });
        let [version, a, b] = &*words;
        let look = |version| {
            [
                version / 2,
                a.load(Ordering::Relaxed),
                b.load(Ordering::Relaxed),
            ]
        };
        if let Some(found) = sequence::read(version, look) {
            assert_eq!(found, [found[0]; 3]);
        }
        writer.join().unwrap();
    });
}

// For `log`, which is a module of `hetmp_core::trace`: the words of an event, and the bit from which on its first word
// counts chunks.
const WORDS: usize = 6;
const MORE: u64 = 1 << 24;

/// A log of one event begins a new turn for each, and the third event comes where the first one was.
#[test]
fn events_of_a_log_never_mix() {
    bounded(2, || {
        let buffer = || &*Box::leak(Box::new([[0; WORDS].map(AtomicU64::new)]));
        let log = Arc::new(log::Log::of([buffer(), buffer()]));
        let of_writer = Arc::clone(&log);
        let writer = thread::spawn(move || {
            for i in 1..=3 {
                of_writer.record([Kind::Decision as u64, i, i, i, i, i]);
            }
        });
        for event in log.read().0 {
            assert_eq!(event[1..], [event[1]; 5]);
            assert_ne!(event[1], 0);
        }
        writer.join().unwrap();
    });
}
