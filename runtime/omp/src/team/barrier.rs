//! Team barriers: all threads arrive, then all threads go on.
//!
//! There are two kinds here, and a third in [`super::levels`]. A region's kind is chosen when its team is formed:
//!
//! * **spread**, for teams whose threads have a core each: a *dissemination barrier* (Hensgen, Finkel, Manber
//!   1988). In round `r` the thread on seat `t` signals seat `t + 2^r` and waits for seat `t - 2^r` (modulo the team
//!   size). After `ceil(log2 n)` rounds every thread knows that every other thread has arrived. Each flag has
//!   one thread that signals and one that waits, so a signal costs one transfer of a cache line.
//! * **central**, for teams with more threads than cores, and for teams that may be cancelled: a counter and
//!   one flag. The last thread to arrive wakes all others with one system call. (A spread barrier whose
//!   threads sleep would cost a context switch in each round.) Threads can also leave a central barrier
//!   before it is complete, which cancellation needs.
//! * in **levels**, for teams whose threads have a core each, on nodes that are far apart.
//!
//! The *join* at the end of a region is only half a barrier: each worker reports that it has finished, and
//! need not wait; only the primary thread waits. In a spread team the reports go up a binomial tree of flags;
//! in a central team they count down a counter.
//!
//! # Epochs
//! The barriers of a team are numbered; the number is the *epoch*. Every member counts the barriers itself
//! ([`Member::epoch`]). The counts agree, because all members pass the same barriers in the same order, and
//! because each fork sets all counts to the primary thread's. A flag holds the number of the last barrier for
//! which it was signalled. A fast thread may signal number `e + 1` to a thread that has not yet looked for
//! `e`, so a waiter asks whether a flag has *reached* its number. No thread gets further ahead, because
//! barrier `e + 1` does not complete without the slow thread. Joins have numbers of their own, the numbers of
//! the regions: members may skip barriers of a cancelled region, but no member skips a join.
//!
//! [`Member::epoch`]: crate::team::region::Member

use super::seat::Seat;
use crossbeam_utils::CachePadded;
use hetmp_core::park::{Flag, Poll};
use hetmp_core::sync::{AtomicU32, Ordering};

/// The largest number of rounds of a spread barrier. It is enough for teams of 2^16 threads.
pub(crate) const MAX_ROUNDS: usize = 16;

/// The flags of one member, which other threads signal or wait for.
#[derive(Debug)]
pub(crate) struct Signals {
    /// One flag for each round of the spread barrier. The partner of that round signals it.
    rounds: Box<[CachePadded<Flag>]>,
    /// The thread signals this flag at the join, when all threads below it in the tree have reported.
    done: CachePadded<Flag>,
}

impl Signals {
    /// Flags for teams of up to `threads`.
    pub(crate) fn new(threads: u32) -> Signals {
        Signals {
            rounds: (0..rounds(threads))
                .map(|_| CachePadded::new(Flag::new()))
                .collect(),
            done: CachePadded::new(Flag::new()),
        }
    }

    fn reset(&self, epoch: u32, join: u32) {
        self.reset_rounds(epoch);
        self.done.reset(join);
    }

    /// Forgets all signals of barriers: the last one was number `epoch`. May be called only while no other thread uses
    /// the team.
    pub(crate) fn reset_rounds(&self, epoch: u32) {
        for r in &self.rounds {
            r.reset(epoch);
        }
    }
}

/// `ceil(log2 n)`.
fn rounds(n: u32) -> u32 {
    n.max(1).next_power_of_two().trailing_zeros()
}

/// The part of the barriers that all members share.
#[derive(Debug)]
pub(crate) struct Barrier {
    /// Central barrier: threads that have arrived at the current barrier.
    arrived: CachePadded<AtomicU32>,
    /// Central barrier: number of the last complete barrier.
    gone: CachePadded<Flag>,
    /// Central join: workers that have not reported yet.
    missing: CachePadded<AtomicU32>,
    /// Central join: number of the last complete join.
    joined: CachePadded<Flag>,
}

impl Default for Barrier {
    fn default() -> Self {
        Self::new()
    }
}

/// What a thread does while it waits. `poll` is called at every turn of the wait. `asleep(flag, true)` is
/// called before the thread sleeps on `flag`, so that other threads know which flag to nudge.
pub(crate) trait Pastime {
    /// Does useful work, if there is any.
    fn poll(&mut self) -> Poll;
    /// Announces that a sleep on `flag` begins (`yes`) or has ended.
    fn asleep(&mut self, flag: &Flag, yes: bool);
    /// Is, or was, there work that the thread may be nudged for? Once true, it is true until the wait is over.
    fn may_work(&self) -> bool {
        false
    }
}

/// Waits on the flag that all share, until there may be work.
struct Together<'a>(&'a mut dyn Pastime);

impl Pastime for Together<'_> {
    fn poll(&mut self) -> Poll {
        if self.0.may_work() {
            Poll::Leave
        } else {
            self.0.poll()
        }
    }
    fn asleep(&mut self, flag: &Flag, yes: bool) {
        self.0.asleep(flag, yes);
    }
}

/// Waits on a flag of the thread's own until `gone` has reached the epoch.
struct Alone<'a> {
    gone: &'a Flag,
    epoch: u32,
    with: &'a mut dyn Pastime,
}

impl Pastime for Alone<'_> {
    fn poll(&mut self) -> Poll {
        if self.gone.reached(self.epoch) {
            Poll::Leave
        } else {
            self.with.poll()
        }
    }
    fn asleep(&mut self, flag: &Flag, yes: bool) {
        self.with.asleep(flag, yes);
    }
}

/// Waits until `flag` has reached `epoch`. Uses the time as `with` says.
#[inline]
pub(crate) fn wait_on(flag: &Flag, epoch: u32, with: &mut dyn Pastime) {
    if flag.reached(epoch) {
        return;
    }
    // `poll` and `asleep` both borrow `with`, but never at the same time.
    let with = core::cell::RefCell::new(with);
    flag.wait_polling(epoch, &mut || with.borrow_mut().poll(), &mut |yes| {
        with.borrow_mut().asleep(flag, yes)
    });
}

impl Barrier {
    /// A barrier whose epoch is 0.
    pub(crate) fn new() -> Barrier {
        Barrier {
            arrived: CachePadded::new(AtomicU32::new(0)),
            gone: CachePadded::new(Flag::new()),
            missing: CachePadded::new(AtomicU32::new(0)),
            joined: CachePadded::new(Flag::new()),
        }
    }

    /// Forgets all arrivals and signals: the last barrier was number `epoch`, the last join was number
    /// `join`. May be called only while no other thread uses the team.
    pub(crate) fn reset<'a>(
        &self,
        epoch: u32,
        join: u32,
        signals: impl Iterator<Item = &'a Signals>,
    ) {
        self.arrived.store(0, Ordering::Relaxed);
        self.gone.reset(epoch);
        self.joined.reset(join);
        for s in signals {
            s.reset(epoch, join);
        }
    }

    /// Sets how many workers will report at the next central join. Called before the workers are started.
    #[inline]
    pub(crate) fn expect(&self, workers: u32) {
        self.missing.store(workers, Ordering::Relaxed);
    }

    /// Spread barrier number `epoch`, for the thread on `seat` of `n`.
    #[inline]
    pub(crate) fn spread<'a>(
        &self,
        epoch: u32,
        seat: Seat,
        n: u32,
        signals: impl Fn(Seat) -> &'a Signals,
        with: &mut dyn Pastime,
    ) {
        let mine = signals(seat);
        let mut distance = 1;
        let mut round = 0;
        while distance < n {
            signals(seat.after(distance, n)).rounds[round].signal(epoch);
            wait_on(&mine.rounds[round], epoch, with);
            distance <<= 1;
            round += 1;
        }
    }

    /// Central barrier number `epoch` of `n` threads. `with` may end the wait early ([`Poll::Leave`]). Then
    /// the barrier is incomplete, and must be reset before its next use.
    ///
    /// Once there may be work the thread sleeps on the flag `own`, which it shares with nobody: the caller who came
    /// last nudges those that are announced. For a nudge means one thread, and wakes all that sleep on the flag.
    /// Suppose that they shared it, one of them has looked for work and is about to sleep, and is nudged. Another one
    /// wakes up, finds nothing to do, and marks the flag anew: the first falls asleep, and everybody relies on it.
    #[inline]
    pub(crate) fn central(&self, epoch: u32, n: u32, own: &Flag, with: &mut dyn Pastime) {
        self.central_batch(epoch, 1, n, own, with);
    }

    /// Central barrier for a thread that arrives on behalf of `count` members at once.
    #[inline]
    pub(crate) fn central_batch(
        &self,
        epoch: u32,
        count: u32,
        n: u32,
        own: &Flag,
        with: &mut dyn Pastime,
    ) {
        // AcqRel: the last thread to arrive sees what all others wrote before they arrived, and its signal
        // passes this on to them.
        if self.arrived.fetch_add(count, Ordering::AcqRel) + count == n {
            // The counter is cleared before the signal, because a released thread may arrive at the next
            // barrier at once.
            self.arrived.store(0, Ordering::Relaxed);
            self.gone.signal(epoch);
        } else {
            wait_on(&self.gone, epoch, &mut Together(with));
            if with.may_work() && !self.gone.reached(epoch) {
                let (gone, never) = (&*self.gone, own.epoch().wrapping_add(1));
                wait_on(own, never, &mut Alone { gone, epoch, with });
            }
        }
    }

    /// Spread join number `number`, for the thread on `seat` of `n`: waits for the threads below it in the tree. A
    /// worker then reports to the thread above it.
    ///
    /// The worker must not touch its member after this call: the primary thread may make all members anew for a larger
    /// team. So `with`, which refers to the member, ends before the report.
    #[inline]
    pub(crate) fn join_spread<'a>(
        &self,
        number: u32,
        seat: Seat,
        n: u32,
        signals: impl Fn(Seat) -> &'a Signals,
        mut with: impl Pastime,
    ) {
        let mut distance = 1;
        let me = seat.get();
        while distance < n && me & distance == 0 {
            let child = me + distance;
            if child < n {
                wait_on(&signals(Seat::new(child)).done, number, &mut with);
            }
            distance <<= 1;
        }
        drop(with);
        if seat != Seat::FIRST {
            let done: *const Flag = &*signals(seat).done;
            // SAFETY: the member with this flag lives until all workers have reported.
            unsafe { Flag::signal_ptr(done, number) };
        }
    }

    /// A worker's part of central join number `number`. The worker must not touch the team after this call.
    #[inline]
    pub(crate) fn report(&self, number: u32) {
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.joined.signal(number);
        }
    }

    /// The primary thread's part of central join number `number`.
    #[inline]
    pub(crate) fn collect(&self, number: u32, n: u32, with: &mut dyn Pastime) {
        if n > 1 {
            wait_on(&self.joined, number, with);
        }
    }

    /// The flag on which threads sleep in the central barrier. Cancellation nudges it.
    pub(crate) fn gone_flag(&self) -> &Flag {
        &self.gone
    }
}

const _: () = assert!(MAX_ROUNDS < 30);
