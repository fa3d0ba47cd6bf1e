//! Contexts and threads.

use super::{room, Job, F};
use hetmp_shmem::amo::{self, Op};
use hetmp_shmem::context::{self, Ctx, DEFAULT, INVALID};
use hetmp_shmem::{collective, rma, wait};

/// Many contexts at the same time, of which some are used and some are not.
pub(super) fn contexts(job: &Job) {
    const MANY: usize = 200;
    let words: *mut u64 = room(MANY);
    let mut made: Vec<Ctx> = Vec::new();
    // SAFETY: in bounds; barriers order everything; contexts are used between their creation and destruction.
    unsafe {
        for i in 0..MANY {
            let mut ctx = INVALID;
            assert_eq!(context::create(F, [0, 1, 2, 5][i % 4], &raw mut ctx), 0);
            assert!(!ctx.is_null());
            made.push(ctx);
        }
        for (i, ctx) in made.iter().enumerate() {
            if i % 3 != 0 {
                let value = (job.me as u64) << 32 | i as u64;
                rma::put_nbi(
                    F,
                    *ctx,
                    words.add(i).cast(),
                    (&raw const value).cast(),
                    8,
                    job.next(),
                );
                rma::quiet(F, *ctx);
            }
        }
        let mut none = DEFAULT;
        assert_ne!(context::create(F, 64, &raw mut none), 0);
        assert!(none.is_null());
        rma::fence(F, INVALID);
        rma::quiet(F, INVALID);
        context::destroy(F, INVALID);
        for ctx in made {
            context::destroy(F, ctx);
        }
        collective::barrier_all(F);
        for i in 0..MANY {
            let want = if i % 3 == 0 {
                0
            } else {
                (job.previous() as u64) << 32 | i as u64
            };
            assert_eq!(*words.add(i), want);
        }
    }
}

/// An address that is passed to another thread.
#[derive(Clone, Copy)]
struct Shared(*mut u64);
// SAFETY: symmetric memory, accessed through the library and atomically.
unsafe impl Send for Shared {}

impl Shared {
    fn at(self, i: usize) -> *mut u64 {
        self.0.wrapping_add(i)
    }
}

/// The default context from many threads, and a fence for what another thread wrote.
pub(super) fn threads(job: &Job) {
    const THREADS: usize = 8;
    const ROUNDS: u64 = 200;
    let words = Shared(room(THREADS * 8 + 8));
    let to = job.next();
    std::thread::scope(|scope| {
        for t in 0..THREADS {
            scope.spawn(move || {
                for i in 0..ROUNDS {
                    // SAFETY: in bounds and aligned.
                    unsafe {
                        rma::p(F, DEFAULT, words.at(t * 8), i, to);
                        amo::update(F, DEFAULT, Op::Add, words.at(THREADS * 8), 1, to);
                        // Without this fence, the next value may arrive before this one.
                        rma::fence(F, DEFAULT);
                        if i % 50 == 0 {
                            rma::quiet(F, DEFAULT);
                            assert_eq!(rma::g(F, DEFAULT, words.at(t * 8), to), i);
                        }
                    }
                }
            });
        }
    });
    collective::barrier_all(F);
    // SAFETY: in bounds; after a barrier.
    unsafe {
        for t in 0..THREADS {
            assert_eq!(*words.at(t * 8), ROUNDS - 1);
        }
        assert_eq!(*words.at(THREADS * 8), THREADS as u64 * ROUNDS);
    }
    collective::barrier_all(F);
    // One thread writes, a second fences, a third raises the flag.
    for round in 1..40u64 {
        // SAFETY: symmetric words of this test, in bounds; the fence and the flag order the accesses.
        unsafe {
            if job.me == 0 {
                let run = |work: &(dyn Fn() + Sync)| {
                    std::thread::scope(|s| {
                        s.spawn(work);
                    });
                };
                let words = words.0 as usize;
                run(&|| rma::p(F, DEFAULT, words as *mut u64, round << 8, 1));
                run(&|| rma::fence(F, DEFAULT));
                run(&|| {
                    rma::p(
                        F,
                        DEFAULT,
                        (words as *mut u64).wrapping_add(1),
                        round << 8,
                        1,
                    )
                });
                wait::until(F, (words as *mut u64).wrapping_add(2), 0, round << 8);
            } else if job.me == 1 {
                wait::until(F, words.at(1), 0, round << 8);
                assert_eq!(words.at(0).read_volatile(), round << 8);
                rma::p(F, DEFAULT, words.at(2), round << 8, 0);
                rma::quiet(F, DEFAULT);
            }
        }
    }
}
