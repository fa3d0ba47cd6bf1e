//! Unusual ends of a job: operations that nobody waits for, mistakes of the program, and a PE that is killed.

use super::{room, Job, F};
use hetmp_shmem::context::{self, DEFAULT, INVALID};
use hetmp_shmem::{collective, rma, wait};

static SEVEN: [u64; 1] = [7];

/// Ends without finalize, with contexts that are not destroyed and operations that are not complete.
pub(super) fn abandoned(job: &Job) {
    let word: *mut u64 = room(1);
    let mut ctx = INVALID;
    // SAFETY: in bounds.
    unsafe {
        context::create(F, 0, &raw mut ctx);
        rma::put_nbi(F, ctx, word.cast(), SEVEN.as_ptr().cast(), 8, job.next());
    }
}

/// Data and flag without a fence between them.
pub(super) fn race(job: &Job) {
    let words: *mut u64 = room(100);
    // SAFETY: in bounds and aligned.
    unsafe {
        if job.me == 0 {
            rma::p(F, DEFAULT, words, 1, 1);
            rma::p(F, DEFAULT, words.add(64), 1, 1);
            rma::quiet(F, DEFAULT);
        } else {
            wait::until(F, words.add(64), 0, 1);
        }
    }
}

/// Arguments that are refused.
pub(super) fn bad(job: &Job, role: &str) {
    let word: *mut u64 = room(1);
    collective::barrier_all(F);
    if job.me == 0 {
        let mut elsewhere = Box::new(0u64);
        // SAFETY: the library refuses the arguments before it accesses any memory.
        unsafe {
            match role {
                "bad-pe" => rma::p(F, DEFAULT, word, 1, job.n),
                "bad-address" => rma::p(F, DEFAULT, &raw mut *elsewhere, 1, 1),
                _ => rma::p(F, INVALID, word, 1, 1),
            }
        }
    }
}

/// One PE is killed in the middle of the job. The PEs that wait for it must not wait for ever.
pub(super) fn gone(job: &Job) {
    let word: *mut u64 = room(1);
    collective::barrier_all(F);
    if job.me == 1 {
        // SAFETY: ends this very process.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    // SAFETY: in bounds.
    unsafe {
        for i in 0..1_000_000u64 {
            rma::p(F, DEFAULT, word, i, 1);
            rma::quiet(F, DEFAULT);
        }
    }
}

/// Writes a file once all PEs run, and never ends by itself. With `busy`, all PEs meet at barriers again and again;
/// without, all wait for a value that never comes.
pub(super) fn vanish(busy: bool) {
    let flag: *mut u64 = room(1);
    collective::barrier_all(F);
    let file = std::env::var_os("HETMP_TEST_FILE").expect("a file to make");
    std::fs::write(file, b"").expect("written");
    if !busy {
        // SAFETY: a word of the heap, that nobody writes.
        unsafe { wait::until(F, flag, 0, 1) };
    }
    loop {
        collective::barrier_all(F);
    }
}
