//! Regions whose code is not read yet: their threads take equally long, or the program has spent enough on reading.
//!
//! Such regions keep ordinary teams: see [`hetmp_sched::even`] and [`hetmp_sched::budget`]. To see which regions are worth
//! reading, some executions are timed, each thread by itself. A thread that waits at a barrier, for a lock or for
//! tasks is not in the program's code. So even in regions with barriers the times show how long each thread
//! works.
//!
//! A region whose threads wait for each other while its turn does not come reads itself in that time: see [`super::reading`].

use super::reading::Reading;
use super::{barriers, budget, regions};
use crate::boundary::Reason;
use crate::team::members::Outlined;
use crate::team::region::{self as team, Form, Region};
use crate::team::spare_time::SpareTime;
use crate::thread::Thread;
use crate::unlike::{modes, nodes};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use hetmp_core::float;
use hetmp_sched::budget::Length;
use hetmp_sched::even::{Even, Seen};
use hetmp_sched::segments::Segments;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

/// What is known, by address of the outlined function and number of threads.
static KNOWN: Mutex<BTreeMap<(usize, u32), Unread>> = Mutex::new(BTreeMap::new());

/// A region whose code is not read yet.
#[derive(Debug, Default)]
struct Unread {
    seen: Even,
    segments: Segments,
    /// How much there is to read, once somebody wanted to know.
    length: Option<Length>,
    /// It is to be read, and its turn has not come. True: with the question that a number of threads asked for raises.
    waits_for_its_turn: Option<bool>,
    /// What was begun of it in time that its threads waited, and what the region had lost then.
    reading: Option<Arc<Reading>>,
    lost_then_ns: f64,
}

impl Unread {
    /// Would its barriers cost more than a virtual team gains?
    fn is_expected_to_lose(&self) -> bool {
        let cost = barriers::cost();
        self.segments.are_known() && self.segments.expected_loss_ns(cost) > 0.0
    }

    /// What threads may do in the next execution of `region` while they wait.
    fn meanwhile(&mut self, region: &Region) -> Meanwhile {
        let Some(asked) = self.waits_for_its_turn else {
            return Meanwhile::Nothing;
        };
        if self.reading.as_ref().is_some_and(|r| !r.is_good(asked)) {
            self.reading = None;
        }
        let (barriers, prepared) = (self.segments.barriers(), budget::is_prepared());
        let length = || budget::length(region.code, asked);
        let length = *self.length.get_or_insert_with(length);
        let read_ns = budget::so_far().expected_ns(length);
        let seen = &self.seen;
        if seen.waits_long_enough_to_read(barriers, read_ns, prepared) {
            if self.reading.is_none() {
                self.reading = Reading::new(region.code, region.form, asked);
                self.lost_then_ns = seen.lost_ns();
            }
            return match &self.reading {
                Some(reading) => Meanwhile::Reading(Arc::clone(reading)),
                None => Meanwhile::Nothing,
            };
        }
        Meanwhile::AtItsEnd {
            asked,
            // A tick is less than a nanosecond: about half of what reading takes.
            least: if prepared { LONG_PART } else { LONGER_PART }.max(read_ns as u64),
            reading: self
                .reading
                .clone()
                .map_or_else(OnceLock::new, OnceLock::from),
        }
    }
}

/// What threads do while they wait for each other in a timed execution.
enum Meanwhile {
    /// Nothing beside tasks.
    Nothing,
    /// They read the region's code, at its barriers, too.
    Reading(Arc<Reading>),
    /// Whoever comes to the region's end after a part of at least so many ticks most likely waits long, and reads until the others
    /// come.
    AtItsEnd {
        asked: bool,
        least: u64,
        reading: OnceLock<Arc<Reading>>,
    },
}

impl Meanwhile {
    /// What was begun so far.
    fn reading(&self) -> Option<&Arc<Reading>> {
        match self {
            Meanwhile::Nothing => None,
            Meanwhile::Reading(reading) => Some(reading),
            Meanwhile::AtItsEnd { reading, .. } => reading.get(),
        }
    }

    /// What a thread goes on with whose part of the region took `busy` ticks.
    fn at_the_end(&self, timed: &Timed, busy: u64) -> Option<&Reading> {
        match self {
            Meanwhile::AtItsEnd {
                asked,
                least,
                reading,
            } if busy >= *least => {
                if reading.get().is_none() {
                    let new = Reading::new(timed.code, timed.form, *asked)?;
                    // If another thread was faster, its reading stays.
                    let _ = reading.set(new);
                }
                reading.get().map(|r| &**r)
            }
            Meanwhile::Reading(reading) => Some(reading),
            Meanwhile::Nothing | Meanwhile::AtItsEnd { .. } => None,
        }
    }
}

/// Ticks of a part of a region after which a thread most likely waits as long as one portion of reading may take at worst: some
/// hundred microseconds, and a millisecond where no code was read yet.
const LONG_PART: u64 = 1 << 21;
const LONGER_PART: u64 = 1 << 22;

/// May the code of `region` be read now? `asked`: the program asked for its number of threads.
pub(super) fn may_be_read(region: &Region, asked: bool) -> bool {
    let (code, threads) = (region.code, region.nthreads);
    let budget = budget::so_far();
    let unlike = nodes::told_apart();
    let ran_ns = modes::ran_ns() as f64;
    // No code that can panic runs under this lock.
    let begun = {
        let Ok(mut known) = KNOWN.lock() else {
            return false;
        };
        let region = known.entry((code, threads)).or_default();
        if !unlike && !region.seen.is_to_be_looked_at() {
            return false;
        }
        let length = || budget::length(code, asked);
        let length = *region.length.get_or_insert_with(length);
        if region.is_expected_to_lose() && !budget.may_read_loser(length, ran_ns) {
            region.waits_for_its_turn = None;
            return false;
        }
        let goes_on = region.reading.as_ref().filter(|r| r.is_good(asked));
        let begun = goes_on.map(|_| region.lost_then_ns);
        if !budget.may_read(Some(&region.seen), length, ran_ns, begun, unlike) {
            region.waits_for_its_turn = Some(asked);
            return false;
        }
        region.reading.take().filter(|r| r.is_good(asked))
    };
    // What was begun is brought to its end: the rest takes less time than all of it.
    if let Some(reading) = begun {
        let limit_ns = budget::most_ns(code, asked);
        budget::spend_on_rest(|| reading.finish(limit_ns));
        let Some(fit) = reading.result() else {
            // The region calls very much. It goes on when it has lost as much again.
            if let Ok(mut known) = KNOWN.lock() {
                let region = known.entry((code, threads)).or_default();
                region.lost_then_ns = region.seen.lost_ns();
                region.waits_for_its_turn = Some(asked);
                region.reading = Some(reading);
            }
            return false;
        };
        regions::put(region, fit);
    }
    true
}

/// Learns from an execution with so many barriers. Returns how many executions may pass unobserved, 0 unless any `may_pass`.
pub(super) fn learn(
    (code, threads): (usize, u32),
    seen: &Seen,
    barriers: u32,
    may_pass: bool,
) -> u32 {
    KNOWN.lock().map_or(0, |mut known| {
        let region = known.entry((code, threads)).or_default();
        region.segments.see(seen, barriers);
        region.seen.see(seen, barriers, may_pass)
    })
}

/// What the observed executions of a region have shown about its barriers.
pub(super) fn segments(code: usize, threads: u32) -> Segments {
    KNOWN.lock().map_or(Segments::default(), |known| {
        let region = known.get(&(code, threads));
        region.map_or(Segments::default(), |region| region.segments)
    })
}

/// Called in the child of a fork. False: a thread that does not exist here held the lock.
pub(super) fn after_fork() -> bool {
    KNOWN.try_lock().is_ok()
}

/// Ticks in which a thread's speed is expressed: far more than a region takes.
const LONG: u64 = 1 << 56;

/// An execution whose threads are timed.
struct Timed {
    entry: Outlined,
    data: *mut libc::c_void,
    code: usize,
    form: Form,
    /// Ticks that the threads spent in the program's code: the largest, and the sum.
    most: AtomicU64,
    sum: AtomicU64,
    /// Sum of the threads' speeds, in executions of their parts in [`LONG`] ticks.
    speeds: AtomicU64,
    meanwhile: Meanwhile,
    /// Threads that have ended their parts.
    ended: AtomicU32,
    /// Barriers that the threads have passed.
    barriers: AtomicU32,
}

/// The outlined function of a timed execution.
///
/// # Safety
/// `timed` is the [`Timed`] of a region whose `entry` compiled code made for every thread of the team.
unsafe extern "C" fn run(timed: *mut libc::c_void) {
    // SAFETY: `ordinary` passes a `Timed` that outlives the region, and threads only share it.
    let timed = unsafe { &*timed.cast::<Timed>() };
    let th = Thread::current();
    // Threads that share cores have no time to spare: who waits sleeps, and others compute.
    let has_time = !th.team().shared.central.get();
    if let (Meanwhile::Reading(reading), true) = (&timed.meanwhile, has_time) {
        let reading: &Reading = reading;
        th.spare_time
            .set(Some(NonNull::from(reading as &dyn SpareTime)));
    }
    let slow = &th.slow;
    let epoch = th.member().epoch.get();
    slow.start_watch();
    // SAFETY: `ordinary` took function and data from a region that compiled code made for every thread of a
    // team.
    unsafe { (timed.entry)(timed.data) };
    // An emulated slow core pays for its last stretch here. Otherwise its thread would seem to be as fast as the others in each
    // region that is shorter than the emulation's period.
    th.leave_program(Reason::Switch);
    let busy = slow.stop_watch();
    th.spare_time.set(None);
    let barriers = th.member().epoch.get().wrapping_sub(epoch) & crate::EPOCH_MASK;
    // Relaxed: the join orders these writes before the primary thread's reads.
    timed.barriers.store(barriers, Ordering::Relaxed);
    timed.most.fetch_max(busy, Ordering::Relaxed);
    timed.sum.fetch_add(busy, Ordering::Relaxed);
    // Not more than a 256th of what fits, each: a thread without work counts as very fast, not as infinitely fast.
    let speed = LONG / busy.max(256);
    timed.speeds.fetch_add(speed, Ordering::Relaxed);
    let all = th.nthreads();
    if timed.ended.fetch_add(1, Ordering::Relaxed) + 1 < all && has_time {
        if let Some(reading) = timed.meanwhile.at_the_end(timed, busy) {
            // Until the last thread comes. (A team with tasks has something better to do.)
            while timed.ended.load(Ordering::Relaxed) < all
                && !th.team().tasks.active()
                && reading.portion()
            {}
        }
    }
}

/// What an ordinary team's execution has shown.
pub(super) struct Observed {
    /// The team's size.
    pub(super) threads: u32,
    /// Ticks that threads spent in the program's code: the largest, and the mean.
    pub(super) most: u64,
    pub(super) mean: u64,
    /// Ticks that the best shares would have taken.
    pub(super) best: u64,
    /// Barriers that each thread has passed.
    pub(super) barriers: u32,
    /// The region's code is being read in the time that its threads wait: its next execution is to be observed, too.
    pub(super) goes_on: bool,
}

/// Runs `region` as an ordinary team.
///
/// # Safety
/// The same as for [`team::ordinary`].
pub(super) unsafe fn ordinary(th: &Thread, region: &Region) -> Observed {
    let key = (region.code, region.nthreads);
    // Expected times are computed here, on a thread of the program's.
    let meanwhile = float::apart(|| {
        let mut known = KNOWN.lock().ok()?;
        Some(known.get_mut(&key)?.meanwhile(region))
    });
    let timed = Timed {
        entry: region.entry,
        data: region.data,
        code: region.code,
        form: region.form,
        most: AtomicU64::new(0),
        sum: AtomicU64::new(0),
        speeds: AtomicU64::new(0),
        meanwhile: meanwhile.unwrap_or(Meanwhile::Nothing),
        ended: AtomicU32::new(0),
        barriers: AtomicU32::new(0),
    };
    let watched = Region {
        entry: run,
        data: (&raw const timed).cast_mut().cast(),
        ..*region
    };
    // SAFETY: by this function's contract compiled code made `region`'s function for all threads, and `run`
    // calls it once in each. `timed` lives until the region has ended.
    let threads = unsafe { team::ordinary(th, &watched, None) };
    let reading = timed.meanwhile.reading();
    let result = reading.and_then(|reading| reading.result());
    if let Some(fit) = result {
        regions::put(region, fit);
    }
    if let (Some(reading), Ok(mut known)) = (reading, KNOWN.lock()) {
        let region = known.entry(key).or_default();
        if region.reading.is_none() {
            region.lost_then_ns = region.seen.lost_ns();
        }
        region.reading = result.is_none().then(|| Arc::clone(reading));
    }
    let count = u64::from(threads.max(1));
    Observed {
        threads,
        most: timed.most.load(Ordering::Relaxed),
        mean: timed.sum.load(Ordering::Relaxed) / count,
        best: LONG / (timed.speeds.load(Ordering::Relaxed) / count).max(1),
        barriers: timed.barriers.load(Ordering::Relaxed),
        goes_on: reading.is_some() && result.is_none(),
    }
}
