//! What the PEs of the jobs do.

use hetmp_shmem::amo::{self, Op};
use hetmp_shmem::context::{self, Ctx, DEFAULT, INVALID};
use hetmp_shmem::wait::{self, Values};
use hetmp_shmem::{collective, heap, lock, rma, setup, signal};
use std::time::{Duration, Instant};

const EVERY: &str = "direct check emulated tcp gpu gpu-check";
/// For those that look at memory of a peer before a fence or quiet says that they may.
const COHERENT: &str = "direct check emulated tcp";

/// Roles, PEs, and the engines that they are for.
pub(crate) const ALL: &[(&str, u32, &str)] = &[
    ("transfers", 1, EVERY),
    ("transfers", 3, EVERY),
    ("atomics", 4, EVERY),
    ("signals", 2, EVERY),
    ("ordering", 2, EVERY),
    ("flags", 2, EVERY),
    ("contexts", 2, EVERY),
    ("threads", 2, EVERY),
    ("progress", 2, COHERENT),
    ("locks", 3, EVERY),
    ("flood", 3, EVERY),
    ("abandoned", 2, COHERENT),
];

/// Roles that must end the job, PEs, the engine, and what the line about it says.
pub(crate) const WRONG: &[(&str, u32, &str, &str)] = &[
    ("race", 2, "gpu-check", "test PE 1: the flag at 0x"),
    ("bad-pe", 2, "tcp", "test PE 2: 0 to 1 is accepted"),
    ("bad-address", 2, "emulated", "test PE 1: address 0x"),
    (
        "bad-context",
        2,
        "tcp",
        "test PE 0: context SHMEM_CTX_INVALID: ",
    ),
    ("gone", 3, "tcp", "rank 1: ended by signal 9"),
];

/// Roles for two machines.
pub(crate) const ACROSS: &[&str] = &[
    "transfers",
    "atomics",
    "signals",
    "ordering",
    "threads",
    "locks",
    "flood",
];

const F: &str = "test";

struct Job {
    me: i32,
    n: i32,
}

impl Job {
    fn next(&self) -> i32 {
        (self.me + 1) % self.n
    }

    /// The other one where two play.
    fn last(&self) -> i32 {
        self.n - 1
    }

    fn previous(&self) -> i32 {
        (self.me + self.n - 1) % self.n
    }
}

pub(crate) fn play(role: &str) {
    let level = if role == "threads" { 3 } else { 0 };
    assert_eq!(setup::init_thread(F, level), level);
    let job = Job {
        me: setup::my_pe(F),
        n: setup::n_pes(F),
    };
    match role {
        "transfers" => transfers(&job),
        "atomics" => atomics(&job),
        "signals" => signals(&job),
        "ordering" => ordering(&job),
        "flags" => flags(&job),
        "contexts" => contexts(&job),
        "threads" => threads(&job),
        "progress" => progress(&job),
        "locks" => locks(&job),
        "flood" => flood(&job),
        "abandoned" => return abandoned(&job),
        "race" => race(&job),
        "times" => times(&job),
        "gone" => gone(&job),
        "bad-pe" | "bad-address" | "bad-context" => bad(&job, role),
        other => panic!("no role {other}"),
    }
    collective::barrier_all(F);
    setup::finalize(F);
}

fn room<T>(n: usize) -> *mut T {
    let at: *mut T = heap::calloc(F, n, size_of::<T>()).cast();
    assert!(!at.is_null());
    at
}

fn byte(pe: i32, i: usize, round: usize) -> u8 {
    (pe as usize * 31 + i * 7 + round * 3 + 1) as u8
}

/// Puts and gets of many lengths, blocking and not, at odd places.
fn transfers(job: &Job) {
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
                    // A blocking put has taken it along.
                    source[..n].fill(0xee);
                }
                collective::barrier_all(F);
                for i in 0..n {
                    let want = byte(job.previous(), i, round + usize::from(nbi));
                    assert_eq!(*target.add(at + i), want, "{n} bytes, at {i}, nbi {nbi}");
                }
                // What the next PE got from here is at its place.
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

/// Every operation, and sums that only atomics get right.
fn atomics(job: &Job) {
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
        // The neighbour in the same 64 bits is left alone.
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

/// A signal is never seen before its data, whatever the length.
fn signals(job: &Job) {
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
    // A bare signal beside one with data.
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
fn ordering(job: &Job) {
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

/// Flags without fences between them: each is waited for, so that their order is nobody's business.
fn flags(job: &Job) {
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

/// Many contexts, each on its own; some used, some not.
fn contexts(job: &Job) {
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

/// An address that goes to another thread.
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
fn threads(job: &Job) {
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
                        // Without it, the next value may arrive before this one.
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

/// A PE that computes serves its peers.
fn progress(job: &Job) {
    let words: *mut u64 = room(4);
    collective::barrier_all(F);
    // SAFETY: in bounds and aligned.
    unsafe {
        if job.me == 0 {
            let until = Instant::now() + Duration::from_secs(2);
            let mut x = 1u64;
            while Instant::now() < until {
                for _ in 0..10_000 {
                    x = core::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005) + 1);
                }
            }
        } else {
            let began = Instant::now();
            for i in 0..20 {
                rma::p(F, DEFAULT, words, i, 0);
                rma::quiet(F, DEFAULT);
                assert_eq!(rma::g(F, DEFAULT, words, 0), i);
                assert_eq!(amo::fetching(F, DEFAULT, Op::Add, words.add(1), 1, 0, 0), i);
            }
            let took = began.elapsed();
            assert!(took < Duration::from_millis(1500), "{took:?}");
        }
    }
}

fn locks(job: &Job) {
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

/// Far more operations than a queue holds, without a wait, to everybody.
fn flood(job: &Job) {
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

static SEVEN: [u64; 1] = [7];

/// Ends without finalize, contexts and operations left as they are.
fn abandoned(job: &Job) {
    let word: *mut u64 = room(1);
    let mut ctx = INVALID;
    // SAFETY: in bounds.
    unsafe {
        context::create(F, 0, &raw mut ctx);
        rma::put_nbi(F, ctx, word.cast(), SEVEN.as_ptr().cast(), 8, job.next());
    }
}

/// Data and flag without a fence between them.
fn race(job: &Job) {
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

/// Arguments that cannot be.
fn bad(job: &Job, role: &str) {
    let word: *mut u64 = room(1);
    collective::barrier_all(F);
    if job.me == 0 {
        let mut elsewhere = Box::new(0u64);
        // SAFETY: found out before anything is touched.
        unsafe {
            match role {
                "bad-pe" => rma::p(F, DEFAULT, word, 1, job.n),
                "bad-address" => rma::p(F, DEFAULT, &raw mut *elsewhere, 1, 1),
                _ => rma::p(F, INVALID, word, 1, 1),
            }
        }
    }
}

/// One ends in the middle; who waits for it does not wait for ever.
fn gone(job: &Job) {
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

/// Not a test: prints what small operations take, in nanoseconds (`jobs --times ENGINE`).
fn times(job: &Job) {
    let words: *mut u64 = room(64);
    let mut private = INVALID;
    // SAFETY: as in the other roles.
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
