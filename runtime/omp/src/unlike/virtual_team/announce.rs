//! The announced team size: what a program sees as its number of threads, and what a virtual team then has.
//!
//! A virtual team fits any region if the program was told the team's size before it could rely on another
//! size: then arrays with an element for each thread are large enough, and loops that the program divides
//! itself are divided by the right number. So if nobody else decides, the first query for the number of
//! threads (`omp_get_max_threads`) answers with the number of virtual threads. From then on every outermost
//! region without a `num_threads` clause has exactly that number of threads: virtual where possible, real
//! otherwise.
//!
//! **Never more real threads than cores.** A program that was told 16 on 2 cores, because hetmp prefers it,
//! must not pay for 16 real threads. So a region of the announced size always runs by virtual threads,
//! whether that gains or not, unless a smaller team is right for it, too. If a program uses constructs that
//! virtual teams do not run (tasks, ordered, devices), no size is announced. There remain regions whose
//! threads were found to wait for each other unseen: they get real threads, because nothing else works.
//!
//! **Nobody else decides** if all of this is true: `OMP_NUM_THREADS` is not set; `omp_set_num_threads` was not
//! called; no limit is set; `omp_get_num_procs` was not called before (programs size arrays by it, too); no
//! region ran before the query (the program may have kept its size); and all objects that open regions take part: the
//! program and small libraries that the program is linked with. An object that takes part has no thread-local
//! variables, and does not call the bodies of its regions itself, as code of gcc before 4.9 does: such regions keep
//! ordinary teams.
//!
//! **Libraries that wait.** A library may have its own way of making threads wait for each other (OpenBLAS: flags and
//! `sched_yield`). Virtual threads would stand still there, and 16 real ones on 2 cores take turns. So a library takes
//! part only if it asks for no function by which threads wait or yield, and is small: large libraries of that kind do
//! without such functions. (Examples that take part: libimagequant, and FFTW's libfftw3_omp, whose program opens no
//! region itself.) A library that was opened while the program ran does not take part: others may be opened later,
//! after the number was told.

use super::object;
use crate::icv::{Icv, UNLIMITED_THREADS};
use crate::init;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use hetmp_scan::loaded::Loaded;
use hetmp_scan::Entry;
use hetmp_sched::virtual_team::pieces;

/// The program has not asked yet.
const OPEN: u32 = 0;
/// The program is told the number of real threads.
const REAL: u32 = 1;

/// `OPEN`, `REAL`, or the announced number.
static TOLD: AtomicU32 = AtomicU32::new(OPEN);
/// The program's addresses, once it was told a number.
static PROGRAM_START: AtomicUsize = AtomicUsize::new(0);
static PROGRAM_END: AtomicUsize = AtomicUsize::new(0);

/// From now on it is too late to announce a number.
#[inline]
pub(super) fn bound() {
    if TOLD.load(Ordering::Relaxed) != OPEN {
        return;
    }
    let _ = TOLD.compare_exchange(OPEN, REAL, Ordering::Relaxed, Ordering::Relaxed);
}

/// The number to tell a program that has `threads` real threads by default.
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

/// May an announced number stand in for that of a task's variables? Whoever answers `omp_get_max_threads` and whoever
/// sizes a team ask here, so that the two agree. A team of one stays one: there is nobody to share with, as under a
/// quota of one CPU.
pub(super) fn is_for(icv: &Icv) -> bool {
    icv.nthreads > 1 && !icv.nthreads_set && !icv.dynamic && icv.thread_limit == UNLIMITED_THREADS
}

/// The announced number of virtual threads, if one was announced.
pub(super) fn told() -> Option<u32> {
    Some(TOLD.load(Ordering::Relaxed)).filter(|&n| n > REAL)
}

/// Entries that a program must not use if its regions are to run as virtual teams whatever they do.
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
    // Acquire: who sees the end sees the start, too.
    let end = PROGRAM_END.load(Ordering::Acquire);
    if end == 0 {
        return find_program() && is_in_program(address);
    }
    (PROGRAM_START.load(Ordering::Relaxed)..end).contains(&address)
}

/// Looks for the program's addresses. True if they are known now.
#[cold]
fn find_program() -> bool {
    let first = object::starts().into_iter().next();
    let Some(program) = first.and_then(object::at) else {
        return false;
    };
    note_program(&program);
    true
}

fn note_program(program: &Loaded) {
    PROGRAM_START.store(program.object().start as usize, Ordering::Relaxed);
    PROGRAM_END.store((program.object().end as usize).max(1), Ordering::Release);
}

/// Functions by which threads wait for each other, or leave their core to others.
const WAITING: [&str; 19] = [
    "sched_yield",
    "pthread_yield",
    "thrd_yield",
    "nanosleep",
    "clock_nanosleep",
    "usleep",
    "thrd_sleep",
    "poll",
    "select",
    "syscall",
    "sem_wait",
    "sem_timedwait",
    "pthread_barrier_wait",
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_clockwait",
    "cnd_wait",
    "cnd_timedwait",
    "pthread_create",
];

/// The largest library that takes part, in bytes of code.
const SMALL: u64 = 256 << 10;

#[cold]
fn is_open_to_us() -> bool {
    let globals = init::globals();
    if globals.nthreads_given
        || !is_for(&globals.icv)
        || globals.icv.max_active_levels == 0
        || globals.cancellation
    {
        return false;
    }
    let mut starts = object::starts();
    let Some(program) = starts.first().copied().and_then(object::at) else {
        return false;
    };
    note_program(&program);
    if !takes_part(&program) {
        return false;
    }
    // This library has more symbols than most others, and opens no region.
    let here = is_open_to_us as *const () as u64;
    let own = starts.iter().copied().filter(|&start| start <= here).max();
    starts.remove(0);
    starts.retain(|&start| Some(start) != own);
    let libraries: Vec<Loaded> = starts.into_iter().filter_map(object::at).collect();
    let (opening, others): (Vec<&Loaded>, Vec<&Loaded>) =
        libraries.iter().partition(|library| opens_regions(library));
    if opening.is_empty() && !opens_regions(&program) {
        return false;
    }
    opening.is_empty()
        || opening.iter().all(|library| {
            takes_part(library)
                && library.code_bytes() <= SMALL
                && !WAITING.iter().any(|name| library.asks_for_name(name))
        }) && are_linked(&program, &opening, &others)
}

fn opens_regions(object: &Loaded) -> bool {
    object.asks_for(Entry::NestedParallel)
}

/// Can all regions of the object run as virtual teams, as far as its tables tell?
fn takes_part(object: &Loaded) -> bool {
    !object.object().has_tls
        && !object.asks_for_any(&UNFIT)
        // All of gcc's ways to open a region whose body the program calls itself end with this entry.
        && !object.asks_for_name("GOMP_parallel_end")
}

/// Is the program linked with all of `wanted`, directly or by way of other libraries?
fn are_linked(program: &Loaded, wanted: &[&Loaded], others: &[&Loaded]) -> bool {
    let mut open = program.needed();
    let all: Vec<(String, &Loaded)> = wanted
        .iter()
        .chain(others)
        .map(|l| (l.name(), *l))
        .collect();
    let mut linked: Vec<String> = Vec::new();
    while let Some(name) = open.pop() {
        if linked.contains(&name) {
            continue;
        }
        if let Some((_, library)) = all.iter().find(|(known, _)| *known == name) {
            open.extend(library.needed());
        }
        linked.push(name);
    }
    wanted
        .iter()
        .all(|library| linked.contains(&library.name()))
}
