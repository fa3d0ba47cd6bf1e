//! Not a test: what small operations take.

use super::{room, Job, F};
use hetmp_shmem::amo::{self, Op};
use hetmp_shmem::context::{self, Ctx, DEFAULT, INVALID};
use hetmp_shmem::{collective, rma, wait};
use std::time::{Duration, Instant};

/// Not a test: prints what small operations take, in nanoseconds (`jobs --times ENGINE`).
pub(super) fn times(job: &Job) {
    let words: *mut u64 = room(64);
    let mut private = INVALID;
    // SAFETY: the job has begun, and `private` is a live variable for the handle.
    unsafe { context::create(F, 1, &raw mut private) };
    let print = |what: &str, n: u32, took: Duration| {
        if job.me == 0 {
            println!("{what}: {} ns", took.as_nanos() / u128::from(n));
        }
    };
    // SAFETY: in bounds and aligned; flags order.
    unsafe {
        for parked in [true, false] {
            for round in 0..2 {
                let n = 5000;
                collective::barrier_all(F);
                if parked && job.me != 0 {
                    std::thread::sleep(Duration::from_millis(700));
                } else {
                    let measure = |what: &str, ctx: Ctx, op: &dyn Fn(u64)| {
                        let began = Instant::now();
                        for i in 0..n {
                            op(i);
                        }
                        rma::quiet(F, ctx);
                        if round > 0 {
                            let target = if parked { "target asleep" } else { "both" };
                            print(&format!("{what}, {target}"), n as u32, began.elapsed());
                        }
                    };
                    for (name, ctx) in [
                        ("private", private),
                        ("default", DEFAULT),
                        ("private", private),
                        ("default", DEFAULT),
                    ] {
                        measure(&format!("put 8 B + quiet, {name}"), ctx, &|i| {
                            rma::p(F, ctx, words, i, job.next());
                            rma::quiet(F, ctx);
                        });
                        measure(&format!("put 8 B, {name}"), ctx, &|i| {
                            rma::p(F, ctx, words, i, job.next());
                        });
                        measure(&format!("put nbi 8 B, {name}"), ctx, &|_| {
                            rma::put_nbi(F, ctx, words.cast(), words.add(1).cast(), 8, job.next());
                        });
                    }
                    measure("get 8 B", DEFAULT, &|_| {
                        rma::g(F, DEFAULT, words, job.next());
                    });
                    measure("fetch-add", DEFAULT, &|_| {
                        amo::fetching(F, DEFAULT, Op::Add, words.add(2), 1, 0, job.next());
                    });
                }
                collective::barrier_all(F);
            }
        }
        let n = 2000;
        collective::barrier_all(F);
        let began = Instant::now();
        for i in 1..=n {
            if job.me == 0 {
                rma::p(F, DEFAULT, words.add(8), i, 1);
                wait::until(F, words.add(8), 0, i);
            } else if job.me == 1 {
                wait::until(F, words.add(8), 0, i);
                rma::p(F, DEFAULT, words.add(8), i, 0);
            }
        }
        print("flag there and back", n as u32, began.elapsed());
        collective::barrier_all(F);
        let began = Instant::now();
        for _ in 0..n {
            collective::barrier_all(F);
        }
        print("barrier", n as u32, began.elapsed());
        context::destroy(F, private);
    }
}

/// Not a test: what a barrier of all takes.
pub(super) fn barriers(job: &Job) {
    for round in 0..3 {
        let began = Instant::now();
        for _ in 0..20 {
            collective::barrier_all(F);
        }
        if job.me == 0 {
            let us = began.elapsed().as_micros() / 20;
            println!("round {round}: barrier of {} PEs {us} us", job.n);
        }
    }
}
