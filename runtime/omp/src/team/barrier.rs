//! Team barriers: everybody arrives, then everybody goes on.
//!
//! Two shapes, chosen for a region when its team is formed:
//!
//! * **spread**, for teams whose threads have a core each: a *dissemination barrier* (Hensgen,
//!   Finkel, Manber 1988). In round `r` thread `t` signals thread `t + 2^r` and waits for
//!   thread `t - 2^r` (modulo the team size); after `ceil(log2 n)` rounds everybody has heard of
//!   everybody. Two threads exchange one flag each: one cache-line hop after the last arrival.
//! * **central**, for oversubscribed or cancellable teams: a counter and one flag. The last to
//!   arrive wakes all others with one system call; `log2 n` rounds of sleeping and waking would
//!   cost a context switch each. It can also be abandoned, which cancellation needs.
//!
//! The *join* at the end of a region is only half a barrier: workers report to the primary
//! thread and are free to go. Spread: a binomial tree of flags; central: a counter.
//!
//! # Epochs
//! Barriers of a team are numbered. Every member counts them itself ([`Member::epoch`]), which
//! works because all members pass the same barriers in the same order; forks set all counts to
//! the primary thread's. A flag holds the number of the last barrier it was signalled for. A fast
//! thread may signal number `e + 1` to a thread that has not yet looked at `e`; therefore flags are
//! compared by "reached". It cannot get further ahead, since `e + 1` does not complete without the
//! slow thread. Joins are numbered apart, by region: cancellation may let some members skip barriers,
//! but nobody skips the join.
//!
//! [`Member::epoch`]: crate::team::region::Member

use hetmp_core::park::{Flag, Poll};
use hetmp_core::sync::{AtomicU32, CacheLine, Ordering};

/// Largest number of dissemination rounds: teams of up to 2^16 threads.
pub(crate) const MAX_ROUNDS: usize = 16;

/// What one thread owns of the team's barriers: the flags others signal to it.
#[derive(Debug)]
pub(crate) struct Seat {
    /// One flag for each dissemination round, signalled by the partner of that round.
    rounds: Box<[CacheLine<Flag>]>,
    /// Signalled by this thread at the join, once its subtree has arrived.
    done: CacheLine<Flag>,
}

impl Seat {
    /// A seat for teams of up to `threads`.
    pub(crate) fn new(threads: u32) -> Seat {
        Seat {
            rounds: (0..rounds(threads))
                .map(|_| CacheLine(Flag::new()))
                .collect(),
            done: CacheLine(Flag::new()),
        }
    }

    fn reset(&self, epoch: u32, join: u32) {
        for r in &self.rounds {
            r.reset(epoch);
        }
        self.done.reset(join);
    }
}

/// `ceil(log2 n)`.
fn rounds(n: u32) -> u32 {
    n.max(1).next_power_of_two().trailing_zeros()
}

/// The team-wide part of the barriers.
#[derive(Debug)]
pub(crate) struct Barrier {
    /// Central: threads that have arrived at the current barrier.
    arrived: CacheLine<AtomicU32>,
    /// Central: number of the last completed barrier.
    gone: CacheLine<Flag>,
    /// Central join: workers that have not reported yet.
    missing: CacheLine<AtomicU32>,
    /// Central join: number of the last completed join.
    joined: CacheLine<Flag>,
}

impl Default for Barrier {
    fn default() -> Self {
        Self::new()
    }
}

/// How a thread passes the time in a wait. `poll` is called at every turn of the wait;
/// `asleep(flag, true)` before the thread sleeps on `flag`, so that others know whom to nudge.
pub(crate) trait Pastime {
    /// Does something useful if there is something to do.
    fn poll(&mut self) -> Poll;
    /// Announces a sleep on `flag`, or its end.
    fn asleep(&mut self, flag: &Flag, yes: bool);
}

/// Waits for a flag, passing the time.
#[inline]
pub(crate) fn wait_on(flag: &Flag, epoch: u32, with: &mut dyn Pastime) {
    if flag.reached(epoch) {
        return;
    }
    // `poll` and `asleep` both need the pastime, one at a time.
    let with = core::cell::RefCell::new(with);
    flag.wait_polling(epoch, &mut || with.borrow_mut().poll(), &mut |yes| {
        with.borrow_mut().asleep(flag, yes)
    });
}

impl Barrier {
    /// A barrier whose epoch is 0.
    pub(crate) fn new() -> Barrier {
        Barrier {
            arrived: CacheLine(AtomicU32::new(0)),
            gone: CacheLine(Flag::new()),
            missing: CacheLine(AtomicU32::new(0)),
            joined: CacheLine(Flag::new()),
        }
    }

    /// Forgets everything: the last barrier was number `epoch`, the last join `join`. Only while no other thread uses the team.
    pub(crate) fn reset<'a>(&self, epoch: u32, join: u32, seats: impl Iterator<Item = &'a Seat>) {
        self.arrived.store(0, Ordering::Relaxed);
        self.gone.reset(epoch);
        self.joined.reset(join);
        for s in seats {
            s.reset(epoch, join);
        }
    }

    /// Expects `workers` reports at the next central join. Before the workers are started.
    #[inline]
    pub(crate) fn expect(&self, workers: u32) {
        self.missing.store(workers, Ordering::Relaxed);
    }

    /// Dissemination barrier number `epoch` for thread `tid` of `n`.
    #[inline]
    pub(crate) fn spread<'a>(
        &self,
        epoch: u32,
        tid: u32,
        n: u32,
        seat: impl Fn(u32) -> &'a Seat,
        with: &mut dyn Pastime,
    ) {
        let mine = seat(tid);
        let mut distance = 1;
        let mut round = 0;
        while distance < n {
            let to = tid + distance;
            let to = if to >= n { to - n } else { to };
            seat(to).rounds[round].signal(epoch);
            wait_on(&mine.rounds[round], epoch, with);
            distance <<= 1;
            round += 1;
        }
    }

    /// Central barrier number `epoch` of `n` threads. The pastime may end the wait
    /// ([`Poll::Leave`]); then the barrier is abandoned and must be reset before its next use.
    #[inline]
    pub(crate) fn central(&self, epoch: u32, n: u32, with: &mut dyn Pastime) {
        self.central_batch(epoch, 1, n, with);
    }

    /// The same for a thread that arrives on behalf of `count` members at once.
    #[inline]
    pub(crate) fn central_batch(&self, epoch: u32, count: u32, n: u32, with: &mut dyn Pastime) {
        // AcqRel: the last arrival sees what everybody wrote before, and passes it on by `signal`.
        if self.arrived.fetch_add(count, Ordering::AcqRel) + count == n {
            // Before the signal: a released thread may arrive at the next barrier at once.
            self.arrived.store(0, Ordering::Relaxed);
            self.gone.signal(epoch);
        } else {
            wait_on(&self.gone, epoch, with);
        }
    }

    /// Spread join number `number`: collects the subtree of `tid`; a worker then reports upwards.
    #[inline]
    pub(crate) fn join_spread<'a>(
        &self,
        number: u32,
        tid: u32,
        n: u32,
        seat: impl Fn(u32) -> &'a Seat,
        with: &mut dyn Pastime,
    ) {
        let mut distance = 1;
        while distance < n && tid & distance == 0 {
            let child = tid + distance;
            if child < n {
                wait_on(&seat(child).done, number, with);
            }
            distance <<= 1;
        }
        if tid != 0 {
            seat(tid).done.signal(number);
        }
    }

    /// Central join number `number`, a worker's part. The worker does not touch the team after.
    #[inline]
    pub(crate) fn report(&self, number: u32) {
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.joined.signal(number);
        }
    }

    /// Central join number `number`, the primary thread's part.
    #[inline]
    pub(crate) fn collect(&self, number: u32, n: u32, with: &mut dyn Pastime) {
        if n > 1 {
            wait_on(&self.joined, number, with);
        }
    }

    /// The flag that waiters of the central barrier sleep on, for cancellation to nudge.
    pub(crate) fn gone_flag(&self) -> &Flag {
        &self.gone
    }
}

const _: () = assert!(MAX_ROUNDS < 30);
