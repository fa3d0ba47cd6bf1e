//! The roles: functions that the PEs of the jobs run.

mod contexts;
mod data;
mod ends;
mod order;
mod times;

use contexts::{contexts, threads};
use data::{atomics, flood, transfers};
use ends::{abandoned, bad, gone, race};
use hetmp_shmem::{collective, heap, setup};
use order::{flags, locks, ordering, progress, signals};
use times::times;

const EVERY: &str = "direct check emulated tcp ofi gpu gpu-check";
/// The engines for roles that read a peer's memory before a fence or quiet allows that.
const COHERENT: &str = "direct check emulated tcp ofi";

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

/// Roles that must end the job: name, PEs, engine, and a part of the line about it.
pub(crate) const WRONG: &[(&str, u32, &str, &str)] = &[
    (
        "bad-pe",
        2,
        "tcp",
        "test PE 2: no such PE (expected 0 to 1)",
    ),
    ("bad-address", 2, "emulated", "test PE 1: address 0x"),
    (
        "bad-context",
        2,
        "tcp",
        "test PE 0: context SHMEM_CTX_INVALID (expected ",
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

    /// The last PE: the other one in a job of two.
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
        "vanish-busy" | "vanish-idle" => ends::vanish(role == "vanish-busy"),
        "barriers" => times::barriers(&job),
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
