//! Data must arrive: bytes, values, strides, atomics, and more operations than a queue holds.

use super::{byte, room, Job, F};
use hetmp_shmem::amo::{self, Op};
use hetmp_shmem::context::DEFAULT;
use hetmp_shmem::{collective, rma};

/// Puts and gets of many lengths, blocking and not, at odd places.
pub(super) fn transfers(job: &Job) {
    const ROOM: usize = (1 << 20) + 64;
    let target: *mut u8 = room(ROOM);
    let mut source = vec![0u8; ROOM];
    let mut back = vec![0u8; ROOM];
    let lengths = [
        0,
        1,
        2,
        7,
        8,
        23,
        24,
        25,
        100,
        4096,
        8191,
        8192,
        8193,
        70_001,
        (1 << 20) + 3,
    ];
    for (round, &n) in lengths.iter().enumerate() {
        for nbi in [false, true] {
            let at = round % 3;
            for (i, b) in source[..n].iter_mut().enumerate() {
                *b = byte(job.me, i, round + usize::from(nbi));
            }
            // SAFETY: in bounds; barriers order everything.
            unsafe {
                if nbi {
                    rma::put_nbi(F, DEFAULT, target.add(at), source.as_ptr(), n, job.next());
                } else {
                    rma::put(F, DEFAULT, target.add(at), source.as_ptr(), n, job.next());
                    // A blocking put has returned, so its source may be written again.
                    source[..n].fill(0xee);
                }
                collective::barrier_all(F);
                for i in 0..n {
                    let want = byte(job.previous(), i, round + usize::from(nbi));
                    assert_eq!(*target.add(at + i), want, "{n} bytes, at {i}, nbi {nbi}");
                }
                // Get the data back from the next PE.
                back[..n].fill(0);
                if nbi {
                    rma::get_nbi(F, DEFAULT, back.as_mut_ptr(), target.add(at), n, job.next());
                    rma::quiet(F, DEFAULT);
                } else {
                    rma::get(F, DEFAULT, back.as_mut_ptr(), target.add(at), n, job.next());
                }
                for (i, b) in back[..n].iter().enumerate() {
                    assert_eq!(*b, byte(job.me, i, round + usize::from(nbi)));
                }
            }
            collective::barrier_all(F);
        }
    }
    values_and_strides(job);
}

fn values_and_strides(job: &Job) {
    let longs: *mut u64 = room(64);
    let shorts: *mut u16 = room(64);
    // SAFETY: in bounds and aligned; barriers order everything.
    unsafe {
        for i in 0..64 {
            rma::p(
                F,
                DEFAULT,
                longs.add(i),
                (job.me as u64) << 32 | i as u64,
                job.next(),
            );
            rma::p(
                F,
                DEFAULT,
                shorts.add(i),
                (job.me * 64 + i as i32) as u16,
                job.next(),
            );
        }
        collective::barrier_all(F);
        for i in 0..64 {
            assert_eq!(*longs.add(i), (job.previous() as u64) << 32 | i as u64);
            assert_eq!(
                rma::g(F, DEFAULT, longs.add(i), job.next()),
                (job.me as u64) << 32 | i as u64
            );
            assert_eq!(
                rma::g(F, DEFAULT, shorts.add(i), job.next()),
                (job.me * 64 + i as i32) as u16
            );
        }
        collective::barrier_all(F);
        let source: Vec<u64> = (0..64).map(|i| job.me as u64 * 1000 + i).collect();
        rma::iput(
            F,
            DEFAULT,
            longs.cast(),
            source.as_ptr().cast(),
            3,
            2,
            8,
            20,
            job.next(),
        );
        collective::barrier_all(F);
        for i in 0..20 {
            assert_eq!(
                *longs.add(3 * i),
                job.previous() as u64 * 1000 + 2 * i as u64
            );
        }
        let mut back = [0u64; 40];
        rma::iget(
            F,
            DEFAULT,
            back.as_mut_ptr().cast(),
            longs.cast(),
            2,
            3,
            8,
            20,
            job.next(),
        );
        for i in 0..20 {
            assert_eq!(
                (back[2 * i], back[2 * i + 1]),
                (job.me as u64 * 1000 + 2 * i as u64, 0)
            );
        }
    }
    collective::barrier_all(F);
}

/// Every atomic operation, and sums that are right only if the operations are atomic.
pub(super) fn atomics(job: &Job) {
    let words: *mut u64 = room(4);
    let halves: *mut u32 = room(4);
    let rounds = 200u64;
    // SAFETY: in bounds and aligned; shared words are only touched by atomics.
    unsafe {
        for i in 0..rounds {
            amo::update(F, DEFAULT, Op::Add, words, i, 0);
            amo::update(F, DEFAULT, Op::Inc, halves, 0, 0);
            amo::fetching(F, DEFAULT, Op::Add, words.add(1), 1, 0, job.n - 1);
            amo::fetching(F, DEFAULT, Op::Inc, halves.add(1), 0, 0, job.n - 1);
        }
        rma::quiet(F, DEFAULT);
        collective::barrier_all(F);
        let pes = job.n as u64;
        if job.me == 0 {
            assert_eq!(*words, pes * rounds * (rounds - 1) / 2);
            assert_eq!(u64::from(*halves), pes * rounds);
        }
        if job.me == job.n - 1 {
            assert_eq!(*words.add(1), pes * rounds);
            assert_eq!(u64::from(*halves.add(1)), pes * rounds);
        }
        collective::barrier_all(F);
        let (w, h, to) = (words.add(2), halves.add(2), job.next());
        assert_eq!(amo::fetching(F, DEFAULT, Op::Swap, w, 0xf0f0, 0, to), 0);
        assert_eq!(amo::fetching(F, DEFAULT, Op::And, w, 0xff00, 0, to), 0xf0f0);
        assert_eq!(amo::fetching(F, DEFAULT, Op::Or, w, 0x000f, 0, to), 0xf000);
        assert_eq!(amo::fetching(F, DEFAULT, Op::Xor, w, 0x0101, 0, to), 0xf00f);
        assert_eq!(
            amo::fetching(F, DEFAULT, Op::CompareSwap, w, 5, 1, to),
            0xf10e
        );
        assert_eq!(
            amo::fetching(F, DEFAULT, Op::CompareSwap, w, 5, 0xf10e, to),
            0xf10e
        );
        assert_eq!(amo::fetching(F, DEFAULT, Op::Fetch, w, 0, 0, to), 5);
        amo::update(F, DEFAULT, Op::Set, h, u32::MAX, to);
        rma::fence(F, DEFAULT);
        assert_eq!(amo::fetching(F, DEFAULT, Op::Inc, h, 0, 0, to), u32::MAX);
        assert_eq!(amo::fetching(F, DEFAULT, Op::Fetch, h, 0, 0, to), 0);
        // A 32-bit atomic does not change the other half of the 64-bit word.
        assert_eq!(amo::fetching(F, DEFAULT, Op::Fetch, h.add(1), 0, 0, to), 0);
        let mut old = [77u64; 2];
        amo::fetching_nbi(F, DEFAULT, &raw mut old[0], Op::Add, w, 7, 0, to);
        rma::quiet(F, DEFAULT);
        assert_eq!(old, [5, 77]);
        let mut half = [9u32; 2];
        amo::fetching_nbi(F, DEFAULT, &raw mut half[0], Op::CompareSwap, h, 4, 0, to);
        rma::quiet(F, DEFAULT);
        assert_eq!(half, [0, 9]);
        assert_eq!(amo::fetching(F, DEFAULT, Op::Fetch, w, 0, 0, to), 12);
    }
}

/// Far more operations than a queue holds, without a wait, to everybody.
pub(super) fn flood(job: &Job) {
    const EACH: usize = 3000;
    let words: *mut u64 = room(EACH * job.n as usize);
    let source: Vec<u64> = (0..EACH as u64)
        .map(|i| (job.me as u64) << 32 | i)
        .collect();
    // SAFETY: in bounds; a barrier orders.
    unsafe {
        for (i, value) in source.iter().enumerate() {
            for pe in 0..job.n {
                let at = words.add(job.me as usize * EACH + i);
                rma::put_nbi(
                    F,
                    DEFAULT,
                    at.cast(),
                    core::ptr::from_ref(value).cast(),
                    8,
                    pe,
                );
            }
        }
        collective::barrier_all(F);
        for pe in 0..job.n as usize {
            for i in 0..EACH {
                assert_eq!(*words.add(pe * EACH + i), (pe as u64) << 32 | i as u64);
            }
        }
    }
}
