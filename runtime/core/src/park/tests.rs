//! Flags and spins: under the policy as it stands, and under one that a loaded machine makes.

use super::spin::{
    core_here, note_here, CONTENDED, CROWDED, FIRST_WINDOW, LONG_YIELD, NAP, NOWHERE, POLICY,
    SIGNALLER, TURNS_YOUNG, YIELDS, YIELDS_YOUNG,
};
use super::*;
use crate::sync::{AtomicUsize, Ordering};
use crate::sys;
use core::sync::atomic::AtomicBool;
use std::sync::Arc;

#[test]
fn epochs_compare_cyclically() {
    let f = Flag::new();
    assert!(f.reached(0));
    assert!(!f.reached(1));
    f.signal(1);
    assert!(f.reached(1) && f.reached(0) && !f.reached(2));
    f.reset((1 << 30) - 1);
    assert!(f.reached((1 << 30) - 1) && !f.reached(0));
    f.signal(0);
    assert!(f.reached(0));
}

#[test]
fn a_wait_for_a_nudge_ends_by_itself() {
    let f = Flag::new();
    assert!(f.wait_nudged(u64::MAX, &mut || true));
    let start = sys::monotonic_ns();
    assert!(!f.wait_nudged(3_000_000, &mut || false));
    assert!(sys::monotonic_ns() - start >= 3_000_000);
    let done = AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            // A nudge says true once the sleeper has marked the flag.
            while !f.nudge() {
                std::thread::yield_now();
            }
            done.store(true, Ordering::Release);
            f.nudge();
        });
        assert!(f.wait_nudged(u64::MAX, &mut || done.load(Ordering::Acquire)));
    });
}

#[test]
fn a_sleeper_is_woken_and_a_nudge_makes_it_poll() {
    let f = Arc::new(Flag::new());
    let polls = Arc::new(AtomicUsize::new(0));
    let (f2, p2) = (f.clone(), polls.clone());
    let t = std::thread::spawn(move || {
        f2.wait_polling(
            1,
            &mut || {
                p2.fetch_add(1, Ordering::Relaxed);
                Poll::Idle
            },
            &mut |_| {},
        );
    });
    while !f.nudge() {
        std::thread::yield_now();
    }
    f.signal(1);
    t.join().expect("waiter");
    assert!(polls.load(Ordering::Relaxed) > 0);
}

/// The policy belongs to the whole process, so that tests which change it take turns.
static POLICY_TESTS: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn beside_other_load_a_waiter_yields_to_the_signaller_on_its_own_core() {
    let _turn = POLICY_TESTS.lock();
    let f = Flag::new();
    // Tests next to this one wait, too, and may see contention at any moment, but not each time.
    let quiet = |now: &dyn Fn() -> bool| {
        (0..1000).any(|_| {
            POLICY.contended_until.store(0, Ordering::Relaxed);
            now()
        })
    };
    assert!(quiet(&|| {
        f.note.store(NOWHERE, Ordering::Relaxed);
        f.signal(1);
        f.note.load(Ordering::Relaxed) == NOWHERE
    }));

    let free = POLICY.free.load(Ordering::Relaxed);
    assert!(quiet(&|| Policy::budget(core_here()) == (free, 0)));
    POLICY.contended_until.store(u64::MAX, Ordering::Relaxed);
    assert_eq!(Policy::budget(NOWHERE), (CONTENDED, 0));
    // The test may be moved to another core at any moment, but not every time.
    let on_core = || {
        f.signal(2);
        Policy::budget(f.note.load(Ordering::Relaxed))
    };
    assert!((0..1000).any(|_| on_core() == (0, YIELDS)));
    // A yield went to another program: sleep from now on.
    POLICY.crowded_until.store(u64::MAX, Ordering::Relaxed);
    assert!((0..1000).any(|_| on_core() == (0, 0)));
    POLICY.crowded_until.store(0, Ordering::Relaxed);
    // More threads than cores, and another program.
    let (cpus, threads) = (&POLICY.cpus, &POLICY.threads);
    let before = (
        cpus.swap(2, Ordering::Relaxed),
        threads.swap(3, Ordering::Relaxed),
    );
    assert_eq!(Policy::budget(NOWHERE), (0, 0));
    assert!((0..1000).all(|_| on_core() == (0, 0)));
    cpus.store(before.0, Ordering::Relaxed);
    threads.store(before.1, Ordering::Relaxed);
    assert!((0..1000).any(|_| Policy::budget(core_here() + 1) == (CONTENDED, 0)));
    POLICY.contended_until.store(0, Ordering::Relaxed);
}

#[test]
fn after_a_long_yield_nobody_yields() {
    let _turn = POLICY_TESTS.lock();
    let (cpus, threads) = (&POLICY.cpus, &POLICY.threads);
    let before = (
        cpus.swap(2, Ordering::Relaxed),
        threads.swap(3, Ordering::Relaxed),
    );
    POLICY.crowded_until.store(0, Ordering::Relaxed);
    assert!(Policy::yielded(LONG_YIELD, sys::ticks()));
    // Late enough for a test that is kept from running.
    let now = sys::ticks() + (1 << 40);
    // Each of the threads that share the core may have had its turn.
    threads.store(33, Ordering::Relaxed);
    assert!(Policy::yielded(15 * LONG_YIELD, now));
    assert!(!Policy::yielded(16 * LONG_YIELD, now));
    threads.store(3, Ordering::Relaxed);
    // The first time is short; the next ones are longer, while yields stay long.
    let until = || POLICY.crowded_until.load(Ordering::Relaxed);
    assert_eq!(until() - now, FIRST_WINDOW);
    let lengths = [(); 9].map(|()| {
        let now = until() + 2 * LONG_YIELD;
        assert!(!Policy::yielded(2 * LONG_YIELD, now));
        until() - now
    });
    assert_eq!((lengths[0], lengths[8]), (2 * FIRST_WINDOW, CROWDED));
    let later = until() + CROWDED + 2 * LONG_YIELD;
    assert!(!Policy::yielded(LONG_YIELD + 1, later));
    assert_eq!(until() - later, FIRST_WINDOW);
    assert!((0..1000).any(|_| {
        POLICY.contended_until.store(0, Ordering::Relaxed);
        Policy::budget(NOWHERE) == (POLICY.throttled.load(Ordering::Relaxed), 0)
    }));
    let began = sys::monotonic_ns();
    assert!(!give_core());
    rest();
    assert!(sys::monotonic_ns() - began >= NAP);
    POLICY.crowded_until.store(0, Ordering::Relaxed);
    cpus.store(before.0, Ordering::Relaxed);
    threads.store(before.1, Ordering::Relaxed);
}

#[test]
fn contention_windows_grow_and_close() {
    let _turn = POLICY_TESTS.lock();
    let now = sys::ticks();
    Policy::saw_contention(now);
    assert!(Policy::contended());
    let first = POLICY.contended_until.load(Ordering::Relaxed);
    Policy::saw_contention(first + 1);
    let second = POLICY.contended_until.load(Ordering::Relaxed);
    assert!(second - first > first - now);
    POLICY.contended_until.store(0, Ordering::Relaxed);
    assert!(!Policy::contended());
}

#[test]
fn while_threads_are_young_waits_leave_the_core_to_others() {
    let _turn = POLICY_TESTS.lock();
    POLICY.contended_until.store(0, Ordering::Relaxed);
    let f = Flag::new();
    Policy::creates(2);
    // A slow machine could take longer than the threads are young.
    POLICY.young_until.store(u64::MAX, Ordering::Relaxed);
    assert_eq!(Policy::budget(NOWHERE), (0, YIELDS_YOUNG));
    Policy::runs();
    assert_eq!(Policy::budget(NOWHERE), (0, YIELDS_YOUNG));
    Policy::creates_not(1);
    // Another thread has signalled on this core. The test may be moved to another core at any moment, but not every
    // time.
    let another = SIGNALLER & !note_here();
    assert!((0..1000).any(|_| Policy::budget(core_here() | another) == (0, 0)));
    // This thread itself was the last to come to a barrier, before it waits at the next one.
    let mut own = (1..1000).map(|n| {
        f.signal(n);
        Policy::budget(f.note.load(Ordering::Relaxed))
    });
    assert!(own.all(|budget| budget != (0, 0)));
    // A thread on another core may come to this one; nothing is left once the threads are old.
    let elsewhere = || Policy::budget(core_here() + 1);
    let quiet = |now: &dyn Fn() -> bool| {
        (0..1000).any(|_| {
            POLICY.contended_until.store(0, Ordering::Relaxed);
            now()
        })
    };
    let free = POLICY.free.load(Ordering::Relaxed);
    assert!(quiet(
        &|| elsewhere() == (free.min(TURNS_YOUNG), YIELDS_YOUNG)
    ));
    POLICY.young_until.store(1, Ordering::Relaxed);
    assert!(quiet(&|| Policy::budget(core_here()) == (free, 0)));
    assert_eq!(POLICY.young_until.load(Ordering::Relaxed), 0);
    assert!(quiet(&|| {
        f.note.store(NOWHERE, Ordering::Relaxed);
        f.signal(1000);
        f.note.load(Ordering::Relaxed) == NOWHERE
    }));
}
