//! The hand-off between the program's threads and the progress thread, and between two ranks that copy one message,
//! under all interleavings with few preemptions.
#![cfg(loom)]

use hetmp_goal_job::duty::Duty;
use hetmp_goal_job::share::{Cursor, Found};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::sync::{Arc, Mutex};

fn bounded(f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(f);
}

/// One run is begun without a wait: the progress thread, wherever it is, ends it; then the thread is stopped, and
/// ends. A missed wake-up shows as a deadlock.
#[test]
fn a_run_without_a_waiter_is_moved_on() {
    bounded(|| {
        let duty = Arc::new(Duty::new());
        let open = Arc::new(Mutex::new(0u32));
        let done = Arc::new(AtomicU32::new(0));
        let (d, o, e) = (duty.clone(), open.clone(), done.clone());
        let thread = loom::thread::spawn(move || loop {
            d.sleep_until_on();
            if d.is_stopped() {
                return;
            }
            let mut open = o.lock().unwrap();
            if *open > 0 {
                *open -= 1;
                d.runs(*open);
                e.store(1, Ordering::Release);
            }
        });
        {
            let mut open = open.lock().unwrap();
            *open += 1;
            duty.runs(*open);
        }
        duty.call();
        while done.load(Ordering::Acquire) == 0 {
            loom::thread::yield_now();
        }
        duty.stop();
        thread.join().unwrap();
    });
}

/// Two runs; the program waits for the first one itself, then leaves the second to the thread.
#[test]
fn what_a_waiter_leaves_the_thread_takes() {
    bounded(|| {
        let duty = Arc::new(Duty::new());
        let open = Arc::new(Mutex::new(2u32));
        duty.runs(2);
        duty.wait_begins();
        let (d, o) = (duty.clone(), open.clone());
        let thread = loom::thread::spawn(move || {
            d.sleep_until_on();
            let mut open = o.lock().unwrap();
            assert!(*open == 1, "on duty while the program waits");
            *open -= 1;
            d.runs(*open);
        });
        {
            let mut open = open.lock().unwrap();
            *open -= 1;
            duty.runs(*open);
        }
        duty.wait_ends();
        thread.join().unwrap();
    });
}

/// The process leaves while the thread counts runs: the thread must end. (If stop and count shared a word, storing the
/// count could undo the stop, and GOAL_Finalize would wait for ever.)
#[test]
fn a_count_does_not_take_a_stop_back() {
    bounded(|| {
        let duty = Arc::new(Duty::new());
        let open = Arc::new(Mutex::new(1u32));
        duty.runs(1);
        let (d, o) = (duty.clone(), open.clone());
        let thread = loom::thread::spawn(move || loop {
            d.sleep_until_on();
            if d.is_stopped() {
                return;
            }
            let mut open = o.lock().unwrap();
            *open = 0;
            d.runs(*open);
        });
        duty.stop();
        thread.join().unwrap();
    });
}

/// A second run begins while the thread is still awake from the first run, or falls asleep again. The thread that
/// begins the run does not wake a dozing progress thread, and the progress thread must not go on sleeping.
#[test]
fn a_run_begun_during_a_doze_is_not_missed() {
    bounded(|| {
        let duty = Arc::new(Duty::new());
        let open = Arc::new(Mutex::new(0u32));
        let (d, o) = (duty.clone(), open.clone());
        let thread = loom::thread::spawn(move || {
            let mut ended = 0;
            while ended < 2 {
                d.sleep_until_on();
                let mut open = o.lock().unwrap();
                ended += *open;
                *open = 0;
                d.runs(0);
            }
        });
        for _ in 0..2 {
            {
                let mut open = open.lock().unwrap();
                *open += 1;
                duty.runs(*open);
            }
            duty.call();
        }
        thread.join().unwrap();
    });
}

/// The pieces of a message, which loom watches: two accesses at once, or one that does not know of the other, fail.
type Pieces = Arc<(Cursor, Vec<UnsafeCell<u32>>)>;

fn copy(pieces: &Pieces, i: u64, add: u32) {
    pieces.1[i as usize].with_mut(|at| unsafe { *at += add });
}

/// The receiver, until nothing is written any more. True if the message is whole.
fn receive(pieces: &Pieces, number: u32, n: u64) -> bool {
    loop {
        match pieces.0.read(number, n) {
            Found::Piece(i) => copy(pieces, i, 1),
            Found::Written => loom::thread::yield_now(),
            Found::Whole => return true,
            Found::Closed => return false,
        }
    }
}

/// Each piece is copied once, by one of the two, and is there when the receiver finds the message whole. A sender that
/// is late, with the number of the first message, leaves the second one alone.
#[test]
fn two_ranks_copy_each_piece_once() {
    bounded(|| {
        let pieces: Pieces =
            Arc::new((Cursor::new(), (0..3).map(|_| UnsafeCell::new(0)).collect()));
        assert!(pieces.0.open(1));
        let theirs = pieces.clone();
        let sender = loom::thread::spawn(move || {
            while let Some(i) = theirs.0.write(1, 2) {
                copy(&theirs, i, 1);
                theirs.0.written(true);
            }
        });
        assert!(receive(&pieces, 1, 2));
        for i in 0..2 {
            pieces.1[i].with(|at| assert_eq!(unsafe { *at }, 1));
        }
        assert!(pieces.0.open(2));
        assert!(receive(&pieces, 2, 3));
        for (i, times) in [2, 2, 1].into_iter().enumerate() {
            pieces.1[i].with(|at| assert_eq!(unsafe { *at }, times));
        }
        sender.join().unwrap();
    });
}

/// The receiver's run fails, or the sender cannot write: when the receiver finds the message closed, its memory is the
/// program's again.
#[test]
fn nothing_is_written_after_the_end() {
    for refused in [false, true] {
        bounded(move || {
            let pieces: Pieces =
                Arc::new((Cursor::new(), (0..2).map(|_| UnsafeCell::new(0)).collect()));
            assert!(pieces.0.open(1));
            let theirs = pieces.clone();
            let sender = loom::thread::spawn(move || {
                while let Some(i) = theirs.0.write(1, 2) {
                    copy(&theirs, i, 1);
                    theirs.0.written(!refused);
                }
            });
            if !refused {
                pieces.0.close();
            }
            let whole = receive(&pieces, 1, 2);
            assert!(refused || !whole);
            for i in 0..2 {
                copy(&pieces, i, 1);
            }
            assert!(pieces.0.open(2));
            sender.join().unwrap();
        });
    }
}
