//! Teams: ranks that map each other's memory and have collectives without a schedule ([`direct`](crate::direct)).
//!
//! All ranks of the job are team 0, if there are few and all of them map each other's segments. A group is another
//! team: its number is the group's context, so that members agree on it, and groups that share a rank have different
//! ones. Each rank's segment has an area for each of the [`TEAMS`](link::TEAMS) numbers; groups with larger contexts go
//! by schedules.
//!
//! Ranks have *numbers* in a team. Peers that errors name are ranks of the job.

use crate::choice::Collective;
use crate::direct::{Direct, Look, Piece, Wait};
use crate::link::{self, Layout};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crossbeam_utils::Backoff;
use hetmp_core::bell::Bell;
use hetmp_goal::rank::Failure;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// Ranks that map each other's memory, and this rank's side of their collectives.
#[derive(Debug)]
pub(crate) struct Team {
    number: u32,
    /// The job's ranks, by number.
    ranks: Box<[u32]>,
    /// The bells of the other ranks.
    bells: Box<[&'static Bell]>,
    /// [`Direct::next_areas`].
    next_areas: Box<[usize]>,
    /// How many steps this rank has read, as its area says. Earlier collectives are over, whoever has the side.
    read: &'static AtomicU64,
    /// [`Direct::has_unlike`].
    unlike: Arc<AtomicBool>,
    side: Mutex<Side>,
    /// The thread that has the side runs a blocking collective, and waits for peers.
    blocking: AtomicBool,
    /// Another thread wants to know when that one gives the side back.
    wanted: AtomicBool,
    /// Started collectives of which the program has a handle: name `n` in place `n % OPEN`, as `n + 1`.
    open: Box<[AtomicU64]>,
}

/// How many handles a team notes; others are in a table of the process.
const OPEN: u64 = 256;

#[derive(Debug)]
struct Side {
    direct: Direct,
    /// How many of its collectives are counted as needing somebody who looks after them.
    counted: u32,
    /// How often in a row a collective was found to go on.
    tests: u32,
}

/// What a team needs of the process.
pub(crate) trait Host {
    /// Waits until `word` is at least `least`; as [`Wait::wait`], with the job's rank.
    fn wait_for(
        &self,
        word: &AtomicU64,
        least: u64,
        rank: u32,
        over: &AtomicU64,
    ) -> Result<(), Failure>;
    /// The number of collectives that need somebody who looks after them has changed.
    fn count(&self, from: u32, to: u32);
    /// Wakes this process's threads that sleep in waits.
    fn wake(&self);
}

/// A team's way to wait.
struct Among<'a, H>(&'a Team, &'a H);

impl<H: Host> Wait for Among<'_, H> {
    #[inline]
    fn wait(
        &self,
        word: &AtomicU64,
        least: u64,
        peer: u32,
        over: &AtomicU64,
    ) -> Result<(), Failure> {
        let done = self.1.wait_for(word, least, self.0.rank(peer), over);
        // Inside, peers have their numbers.
        done.map_err(|why| named(why, |_| peer))
    }

    #[inline]
    fn ring(&self) {
        for bell in &self.0.bells {
            // A peer that misses this ring sleeps one shortest nap longer at most.
            bell.ring_unfenced();
        }
    }
}

/// The failure with another name of the peer.
fn named(why: Failure, name: impl Fn(u32) -> u32) -> Failure {
    match why {
        Failure::PeerLost { peer } => Failure::PeerLost { peer: name(peer) },
        Failure::PeerFailed { peer } => Failure::PeerFailed { peer: name(peer) },
        Failure::Differs { peer } => Failure::Differs { peer: name(peer) },
        other => other,
    }
}

impl Team {
    /// A team of these ranks, with a number. `direct` is this rank's side and `read` its count of steps, `bells` are
    /// those of the others.
    pub(crate) fn new(
        number: u32,
        ranks: Box<[u32]>,
        bells: Box<[&'static Bell]>,
        direct: Direct,
        read: &'static AtomicU64,
    ) -> Team {
        Team {
            number,
            ranks,
            bells,
            read,
            next_areas: direct.next_areas(),
            unlike: direct.has_unlike(),
            side: Mutex::new(Side {
                direct,
                counted: 0,
                tests: 0,
            }),
            blocking: AtomicBool::new(false),
            wanted: AtomicBool::new(false),
            open: (0..OPEN).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// The team with a number, of ranks whose segments are mapped at `bases`; `me` is this rank's place among them.
    pub(crate) fn mapped(
        ranks: Box<[u32]>,
        number: u32,
        me: u32,
        layout: Layout,
        bases: &[*mut u8],
    ) -> Team {
        let areas: Box<[*mut u8]> = bases
            .iter()
            .map(|base| base.wrapping_add(layout.direct(number)))
            .collect();
        // SAFETY: an aligned word of this rank's area, which stays mapped as long as the process, and which is accessed
        // as an atomic only.
        let read = unsafe { AtomicU64::from_ptr(Direct::reads_of(areas[me as usize])) };
        // SAFETY: the areas lie within segments of this `Layout`, which stay mapped, are aligned to pages, and were
        // zero at first.
        let direct = unsafe { Direct::new(me, areas) };
        let peers = bases.iter().enumerate().filter(|(r, _)| *r != me as usize);
        // SAFETY: these are starts of segments of this `Layout`, which stay mapped.
        let bells = peers.map(|(_, base)| unsafe { link::bell(*base) });
        Team::new(number, ranks, bells.collect(), direct, read)
    }

    /// Its number.
    #[inline]
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// A look at a collective follows.
    #[inline]
    pub(crate) fn will_look(&self, step: u64) {
        Direct::will_look(&self.next_areas, step);
    }

    /// Where the handle of a collective is noted.
    #[inline]
    fn noted(&self, step: u64) -> &AtomicU64 {
        &self.open[(step % OPEN) as usize]
    }

    /// The program gets a handle of a collective, which is noted if there is room. Called by the thread that has the
    /// side.
    #[inline]
    fn note(&self, step: u64) {
        let noted = self.noted(step);
        if noted.load(Ordering::Relaxed) == 0 {
            noted.store(step + 1, Ordering::Relaxed);
        }
    }

    /// Whether the program has a handle of a collective that is noted here. The program hands handles from thread to
    /// thread.
    #[inline]
    pub(crate) fn is_open(&self, step: u64) -> bool {
        self.noted(step).load(Ordering::Relaxed) == step + 1
    }

    /// The program's handle is freed. Another thread may have done so before, and the place may be another one's.
    #[inline]
    pub(crate) fn close(&self, step: u64) {
        let (ours, free) = (step + 1, 0);
        let _ = self
            .noted(step)
            .compare_exchange(ours, free, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// How many ranks it has.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// The job's ranks, by number.
    pub(crate) fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    /// The job's rank of a number.
    #[inline]
    pub(crate) fn rank(&self, number: u32) -> u32 {
        self.ranks[number as usize]
    }

    fn lock(&self) -> MutexGuard<'_, Side> {
        self.side.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The side, unless a thread has it that runs a blocking collective. Any other gives it back soon.
    ///
    /// Nobody may wait for the side of a blocking collective: the peers may call that one only after a message that
    /// this process sends when an earlier collective is over.
    fn try_lock(&self) -> Option<MutexGuard<'_, Side>> {
        let backoff = Backoff::new();
        loop {
            match self.side.try_lock() {
                Ok(side) => return Some(side),
                Err(TryLockError::Poisoned(side)) => return Some(side.into_inner()),
                Err(TryLockError::WouldBlock) if self.blocking.load(Ordering::Relaxed) => {
                    self.wanted.store(true, Ordering::Relaxed);
                    return None;
                }
                Err(TryLockError::WouldBlock) => backoff.snooze(),
            }
        }
    }

    fn in_job(&self, why: Failure) -> Failure {
        named(why, |number| self.rank(number))
    }

    /// Runs a collective to its end.
    ///
    /// # Errors
    /// A peer has died or left, or calls something else.
    #[inline]
    pub(crate) fn run(
        &self,
        what: &Collective,
        give: Piece,
        get: Piece,
        host: &impl Host,
    ) -> Result<(), Failure> {
        let mut side = self.lock();
        self.blocking.store(true, Ordering::Relaxed);
        let done = side.direct.run(what, give, get, &Among(self, host));
        if side.counted != 0 {
            side.count(host);
        }
        self.blocking.store(false, Ordering::Relaxed);
        drop(side);
        // A thread that misses this sleeps one shortest nap longer at most.
        if self.wanted.load(Ordering::Relaxed) {
            self.wanted.store(false, Ordering::Relaxed);
            host.wake();
        }
        done.map_err(|why| self.in_job(why))
    }

    /// Starts a collective, notes its handle if there is room, and returns its name. `None` if it does not go this way.
    ///
    /// # Errors
    /// A collective before has failed.
    pub(crate) fn start(
        &self,
        what: &Collective,
        give: Piece,
        get: Piece,
        host: &impl Host,
    ) -> Option<Result<u64, Failure>> {
        let mut side = self.lock();
        if !side.direct.starts(what) {
            return None;
        }
        let started = side.direct.start(what, give, get, &Among(self, host));
        side.count(host);
        if let Ok(step) = started {
            self.note(step);
        }
        drop(side);
        Some(started.map_err(|why| self.in_job(why)))
    }

    /// Starts the collective again that was started last, if it is this one and short: as [`Team::start`].
    ///
    /// # Safety
    /// The buffers have the collective's lengths, or are null, and stay valid until it is over.
    #[inline]
    pub(crate) unsafe fn start_again(
        &self,
        what: &Collective,
        give: *mut u8,
        get: *mut u8,
        host: &impl Host,
    ) -> Option<u64> {
        let mut side = self.lock();
        // SAFETY: who calls upholds the contract, which is the same.
        let step = unsafe { side.direct.start_again(what, give, get, &Among(self, host)) }?;
        self.note(step);
        Some(step)
    }

    /// Whether a collective is known to be over, and to have ended well.
    #[inline]
    pub(crate) fn has_ended(&self, step: u64) -> bool {
        let is_over = self.read.load(Ordering::Acquire) > step;
        is_over && !self.unlike.load(Ordering::Relaxed)
    }

    /// Looks at a collective by its name. `None` if it goes on as far as is known: another thread runs a blocking
    /// collective of the team, and moves this one on.
    #[inline]
    pub(crate) fn look(&self, step: u64, host: &impl Host) -> Option<Look> {
        self.look_often(step, 1, host).map(|(found, _)| found)
    }

    /// [Looks](Team::look) at a collective up to `n` times in a row. Also returns how often in a row one was found to
    /// go on.
    pub(crate) fn look_often(&self, step: u64, n: u32, host: &impl Host) -> Option<(Look, u32)> {
        let Some(mut side) = self.try_lock() else {
            let has_ended = self.has_ended(step);
            return has_ended.then_some((Look::Ended(Ok(())), 0));
        };
        let mut found = side.direct.look(step, &Among(self, host));
        for _ in 1..n {
            if matches!(found, Look::Ended(_)) {
                break;
            }
            core::hint::spin_loop();
            found = side.direct.look(step, &Among(self, host));
        }
        side.count(host);
        Some(match found {
            Look::Ended(done) => {
                side.tests = 0;
                (Look::Ended(done.map_err(|why| self.in_job(why))), 0)
            }
            needs => {
                side.tests = side.tests.wrapping_add(1);
                (needs, side.tests)
            }
        })
    }

    /// Moves all started collectives on. True if one went on.
    pub(crate) fn advance(&self, host: &impl Host) -> bool {
        // Whoever has the side moves them on.
        let Some(mut side) = self.try_lock() else {
            return false;
        };
        let moved = side.direct.advance(&Among(self, host));
        side.count(host);
        moved
    }

    /// Whether a rank takes no further part, by its number.
    pub(crate) fn is_over(&self, number: u32) -> bool {
        self.try_lock()
            .is_some_and(|side| side.direct.is_over(number))
    }

    /// A rank was found to be gone: all collectives that go on fail.
    pub(crate) fn give_up(&self, why: Failure, host: &impl Host) {
        if let Some(mut side) = self.try_lock() {
            side.direct.give_up(why, &Among(self, host));
        }
    }

    /// Gives up all collectives that go on, when this process leaves: their buffers may no longer be there.
    pub(crate) fn abandon(&self, host: &impl Host) {
        if let Some(mut side) = self.try_lock() {
            side.direct.abandon();
            side.count(host);
        }
    }
}

impl Side {
    #[inline]
    fn count(&mut self, host: &impl Host) {
        let now = self.direct.unattended() as u32;
        if now != self.counted {
            host.count(self.counted, now);
            self.counted = now;
        }
    }
}

#[cfg(test)]
#[path = "team_tests.rs"]
mod tests;
