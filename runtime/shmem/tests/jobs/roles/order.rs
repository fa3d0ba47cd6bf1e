//! The order in which data arrive: signals, fences, flags, locks. Also: a PE that computes serves its peers.

use super::{room, Job, F};
use hetmp_shmem::amo::{self, Op};
use hetmp_shmem::context::DEFAULT;
use hetmp_shmem::wait::{self, Values};
use hetmp_shmem::{collective, lock, rma, signal};

/// A signal is never seen before its data, whatever the length.
pub(super) fn signals(job: &Job) {
    const ROOM: usize = 100_000;
    let data: *mut u8 = room(ROOM);
    let flag: *mut u64 = room(2);
    let back: *mut u64 = room(1);
    let mut source = vec![0u8; ROOM];
    for round in 1..120u64 {
        let n = [0, 1, 8, 9, 100, 8192, 8193, ROOM][round as usize % 8];
        let nbi = round % 3 == 0;
        // SAFETY: in bounds; the flags order everything.
        unsafe {
            if job.me == 0 {
                source[..n].fill(round as u8);
                let add = round % 2 == 0;
                let (value, op) = if add {
                    (1, signal::ADD)
                } else {
                    (round, signal::SET)
                };
                signal::put(
                    F,
                    DEFAULT,
                    data,
                    source.as_ptr(),
                    n,
                    flag,
                    value,
                    op,
                    job.last(),
                    nbi,
                );
                wait::until(F, back, 0, round);
            } else if job.me == job.last() {
                assert_eq!(signal::wait_until(F, flag, 0, round), round);
                for i in 0..n {
                    assert_eq!(*data.add(i), round as u8, "byte {i} of {n}");
                }
                rma::p(F, DEFAULT, back, round, 0);
                rma::quiet(F, DEFAULT);
            }
        }
    }
    // A bare signal next to one with data.
    // SAFETY: symmetric words and arrays of this test, in bounds; the signal orders the accesses.
    unsafe {
        if job.me == 0 {
            for _ in 0..50 {
                signal::put(
                    F,
                    DEFAULT,
                    data,
                    source.as_ptr(),
                    64,
                    flag.add(1),
                    1,
                    signal::ADD,
                    job.last(),
                    true,
                );
                signal::add(F, DEFAULT, flag.add(1), 1, job.last());
            }
            rma::quiet(F, DEFAULT);
        } else if job.me == job.last() {
            assert_eq!(signal::wait_until(F, flag.add(1), 3, 100), 100);
        }
    }
}

/// Data, fence, flag.
pub(super) fn ordering(job: &Job) {
    const WORDS: usize = 64;
    let data: *mut u64 = room(WORDS);
    let flag: *mut u64 = room(1);
    let back: *mut u64 = room(1);
    for round in 1..150u64 {
        // SAFETY: in bounds; the flags order everything.
        unsafe {
            if job.me == 0 {
                for i in 0..WORDS {
                    rma::p(F, DEFAULT, data.add(i), round, job.last());
                }
                rma::fence(F, DEFAULT);
                if round % 2 == 0 {
                    rma::p(F, DEFAULT, flag, round, job.last());
                } else {
                    amo::update(F, DEFAULT, Op::Set, flag, round, job.last());
                }
                wait::until(F, back, 0, round);
            } else if job.me == job.last() {
                let mut one = [0usize];
                if round % 5 == 0 {
                    let found = wait::until_some(
                        F,
                        flag,
                        1,
                        one.as_mut_ptr(),
                        core::ptr::null(),
                        0,
                        Values::One(round),
                    );
                    assert_eq!((found, one), (1, [0]));
                } else if round % 7 == 0 {
                    while wait::test(F, flag, 0, round) == 0 {}
                } else {
                    wait::until(F, flag, 0, round);
                }
                for i in 0..WORDS {
                    assert_eq!(data.add(i).read_volatile(), round, "word {i}");
                }
                rma::p(F, DEFAULT, back, round, 0);
                rma::quiet(F, DEFAULT);
            }
        }
    }
}

/// Flags without fences between them. The PE waits for each flag, so their order does not matter.
pub(super) fn flags(job: &Job) {
    let there: *mut u64 = room(8);
    let back: *mut u64 = room(1);
    for round in 1..60u64 {
        // SAFETY: in bounds and aligned.
        unsafe {
            if job.me == 0 {
                for i in 0..8 {
                    amo::update(F, DEFAULT, Op::Set, there.add(i), round, job.last());
                }
                wait::until(F, back, 0, round);
            } else if job.me == job.last() {
                wait::until_all(F, there, 8, core::ptr::null(), 0, Values::One(round));
                rma::p(F, DEFAULT, back, round, 0);
            }
        }
    }
}

/// A PE that computes serves its peers: it calls nothing until they have what they asked for.
pub(super) fn progress(job: &Job) {
    let words: *mut u64 = room(4);
    collective::barrier_all(F);
    // SAFETY: in bounds and aligned.
    unsafe {
        if job.me == 0 {
            let mut x = 1u64;
            while words.add(2).read_volatile() == 0 {
                for _ in 0..10_000 {
                    x = core::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005) + 1);
                }
            }
        } else {
            for i in 0..20 {
                rma::p(F, DEFAULT, words, i, 0);
                rma::quiet(F, DEFAULT);
                assert_eq!(rma::g(F, DEFAULT, words, 0), i);
                assert_eq!(amo::fetching(F, DEFAULT, Op::Add, words.add(1), 1, 0, 0), i);
            }
            rma::p(F, DEFAULT, words.add(2), 1, 0);
        }
    }
}

pub(super) fn locks(job: &Job) {
    let word: *mut core::ffi::c_long = room(1);
    let sum: *mut u64 = room(1);
    for _ in 0..30 {
        // SAFETY: the lock orders accesses to the sum.
        unsafe {
            lock::set(F, word);
            let v = rma::g(F, DEFAULT, sum, 0);
            rma::p(F, DEFAULT, sum, v + 1, 0);
            lock::clear(F, word);
        }
    }
    collective::barrier_all(F);
    if job.me == 0 {
        // SAFETY: after a barrier.
        assert_eq!(unsafe { *sum }, 30 * job.n as u64);
    }
}
