//! The size of team that the program is told.
//!
//! A virtual team fits any region if the program was told its size before it could rely on another
//! one: then arrays with a place for each thread are large enough, and loops that the program divides
//! itself are divided by the right number. So where nobody else decides, the first query that tells
//! a number of threads (`omp_get_max_threads`) tells the number of virtual ones, and from then
//! on every outermost region without a `num_threads` clause has exactly that number of threads: virtual where
//! possible, real ones otherwise.
//!
//! **Never more real threads than cores.** Who was told 16 on 2 cores, because we prefer it so, must not
//! pay for 16 threads. So a region of the size that was told is always run by virtual threads, whether
//! that gains or not, unless a smaller team is right for it too. Where a program asks for constructs that virtual
//! teams do not run (tasks, orders, devices), nothing is announced. What remains are regions whose
//! threads were found to wait for each other unseen: they get real threads, because nothing else is right.
//!
//! **Where nobody else decides**: `OMP_NUM_THREADS` is not set, `omp_set_num_threads` was not called, no
//! limit is set, `omp_get_num_procs` was not asked before (programs size arrays by it, too), no region
//! was run before the query (its size may have been kept), and the program itself is the only
//! object that opens regions, without thread-local variables: a library's regions would have to be
//! of that size as well, and run as virtual teams less often. Nor does it call the bodies of its regions
//! itself, as gcc before 4.9 has it: these keep ordinary teams.

use crate::icv::UNLIMITED_THREADS;
use crate::init;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use hetmp_scan::loaded::Loaded;
use hetmp_scan::Entry;
use hetmp_sched::virtual_team::pieces;

/// Nobody asked yet.
const OPEN: u32 = 0;
/// The number of real threads is what programs are told.
const REAL: u32 = 1;

/// `OPEN`, `REAL`, or the number that was told.
static TOLD: AtomicU32 = AtomicU32::new(OPEN);
/// Where the program is, once it was told something.
static PROGRAM_START: AtomicUsize = AtomicUsize::new(0);
static PROGRAM_END: AtomicUsize = AtomicUsize::new(0);

/// From now on it is too late to tell another number than that of the real threads.
#[inline]
pub(super) fn bound() {
    if TOLD.load(Ordering::Relaxed) != OPEN {
        return;
    }
    let _ = TOLD.compare_exchange(OPEN, REAL, Ordering::Relaxed, Ordering::Relaxed);
}

/// The number of threads to tell a program that has `threads` real ones by default.
pub(super) fn tell(threads: u32) -> u32 {
    let mut told = TOLD.load(Ordering::Relaxed);
    if told == OPEN {
        let number = if is_open_to_us() {
            pieces(threads, super::job::MOST_PIECES)
        } else {
            REAL
        };
        told = match TOLD.compare_exchange(OPEN, number, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => number,
            Err(theirs) => theirs,
        };
    }
    if told <= REAL {
        threads
    } else {
        told
    }
}

/// The number of virtual threads that the program was told, if it was.
pub(super) fn told() -> Option<u32> {
    Some(TOLD.load(Ordering::Relaxed)).filter(|&n| n > REAL)
}

/// What a program may not ask for if its regions are to be virtual teams whatever they do.
const UNFIT: [Entry; 6] = [
    Entry::Task,
    Entry::Scope,
    Entry::Ordered,
    Entry::Doacross,
    Entry::Target,
    Entry::Other,
];

/// Is `address` in the program itself, which cannot be unloaded?
pub(super) fn is_in_program(address: usize) -> bool {
    let end = PROGRAM_END.load(Ordering::Relaxed);
    if end == 0 {
        return find_program() && is_in_program(address);
    }
    (PROGRAM_START.load(Ordering::Relaxed)..end).contains(&address)
}

/// Looks for the program. True: it was found, and where it is is known from now on.
#[cold]
fn find_program() -> bool {
    let first = Loaded::starts().into_iter().next();
    let Some(program) = first.and_then(Loaded::at) else {
        return false;
    };
    note_program(&program);
    true
}

fn note_program(program: &Loaded) {
    PROGRAM_START.store(program.object().start as usize, Ordering::Relaxed);
    PROGRAM_END.store((program.object().end as usize).max(1), Ordering::Relaxed);
}

#[cold]
fn is_open_to_us() -> bool {
    let globals = init::globals();
    if globals.nthreads_given
        || globals.icv.dynamic
        || globals.icv.thread_limit != UNLIMITED_THREADS
        || globals.icv.max_active_levels == 0
        || globals.cancellation
    {
        return false;
    }
    let mut objects = Loaded::starts().into_iter().filter_map(Loaded::at);
    let Some(program) = objects.next() else {
        return false;
    };
    note_program(&program);
    !program.object().has_tls
        && !UNFIT.iter().any(|&entry| program.asks_for(entry))
        && program.asks_for(Entry::NestedParallel)
        // Each of gcc's ways to open a region whose body the program calls itself ends by this.
        && !program.asks_for_name("GOMP_parallel_end")
        && objects.all(|library| !library.asks_for(Entry::NestedParallel))
}
