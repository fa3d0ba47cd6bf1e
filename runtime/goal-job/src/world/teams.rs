//! Collectives without a schedule: which team takes them, and how a rank waits in them ([`direct`](crate::direct)).
//!
//! A program that only tests makes no system call, so the tests themselves have to notice a peer that has left or died;
//! and a wait here moves the runs with schedules on as well, because peers may need those first.

use super::{World, MANY_TESTS, NOBODY};
use crate::choice::Collective;
use crate::direct::{self, Look, Piece};
use crate::link::TEAMS;
use crate::memory::Segment;
use crate::settings::{Engine, Form};
use crate::team::{self, Team};
use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_core::park::Policy;
use hetmp_core::sys;
use hetmp_goal::rank::Failure;
use once_cell::race::OnceRef;

/// How often a collective without a schedule looks at a peer's word before it waits as runs do.
const QUICK: u32 = 64;
/// After how many tests in a row that found a collective going on the peer's memory is looked at for whether it has
/// left.
const TESTS: u32 = 64;
/// How long after one question the program's further [`World::advance`] asks again, nanoseconds.
const ASK_AFTER: u64 = 200_000_000;

impl World {
    /// The team of all ranks, if there is one.
    #[inline]
    pub(crate) fn team(&self) -> Option<&Team> {
        self.team.as_ref()
    }

    /// The team of a group with this context, whose members are these ranks, with this one as number `me`. `None` if
    /// its collectives go by schedules: the same at all members.
    pub(crate) fn group_team(
        &self,
        context: u32,
        members: &[u32],
        me: u32,
    ) -> Option<&'static Team> {
        if self.team.is_none() || context >= TEAMS || members.len() < 2 {
            return None;
        }
        let place = &self.groups[context as usize];
        if let Some(team) = place.get() {
            // A context is used again for the same ranks only.
            return (team.ranks() == members).then_some(team);
        }
        let bases: Vec<*mut u8> = members
            .iter()
            .map(|r| core::ptr::with_exposed_provenance_mut(self.bases[*r as usize]))
            .collect();
        let team = Team::mapped(members.into(), context, me, self.here.layout, &bases);
        // As long as the process: its side of the area goes on where it was if the context is used again.
        let team: &'static Team = Box::leak(Box::new(team));
        place.set(team).is_ok().then_some(team)
    }

    /// The team with a number.
    #[inline]
    pub(crate) fn team_of(&self, number: u32) -> Option<&Team> {
        match number {
            0 => self.team(),
            _ => self.groups.get(number as usize)?.get(),
        }
    }

    /// The buffers of a collective without a schedule. `None` if it needs one, or has arguments for which a schedule
    /// reports the error.
    ///
    /// # Safety
    /// The buffers are valid for the collective's reads and writes, and nobody else uses them, until it is over.
    #[inline]
    unsafe fn pieces(
        &self,
        team: &Team,
        me: u32,
        what: &Collective,
        give: *const u8,
        get: *mut u8,
    ) -> Option<(Piece, Piece)> {
        let ranks = team.len();
        if !direct::takes(what, ranks, &self.settings) {
            return None;
        }
        let (gives, gets) = direct::lengths(what, me, ranks);
        if gives > 0 && give.is_null() || gets > 0 && get.is_null() {
            return None;
        }
        // SAFETY: who calls keeps the buffers valid for the collective's lengths, which these are.
        unsafe {
            Some((
                Piece::new(give.cast_mut(), gives as usize),
                Piece::new(get, gets as usize),
            ))
        }
    }

    /// Runs a blocking collective of all ranks without a schedule. `None` if it needs one, or has arguments for which a
    /// schedule reports the error.
    ///
    /// # Safety
    /// The buffers are valid for the collective's reads and writes, and nobody else uses them, until the call
    /// returns.
    #[inline]
    pub(crate) unsafe fn direct(
        &self,
        what: &Collective,
        give: *const u8,
        get: *mut u8,
    ) -> Option<Result<(), Failure>> {
        let team = self.team.as_ref()?;
        if self.settings.blocking != Form::Auto || direct::is_copied_once(what) {
            return None;
        }
        // SAFETY: who calls upholds the contract of `direct`, which is that of `pieces`.
        let (give, get) = unsafe { self.pieces(team, self.rank(), what, give, get) }?;
        self.progress.advance_open_runs();
        Some(team.run(what, give, get, self))
    }

    /// Starts a nonblocking collective of a team, in which this rank has the number `me`, without a schedule, and
    /// returns its name. `None` as from [`World::direct`].
    ///
    /// # Errors
    /// A collective before has failed.
    ///
    /// # Safety
    /// The buffers are valid for the collective's reads and writes, and nobody else uses them, until it is over.
    #[inline]
    pub(crate) unsafe fn start_direct(
        &self,
        team: &Team,
        me: u32,
        what: &Collective,
        buffers: &[Segment; 2],
    ) -> Option<Result<u64, Failure>> {
        if self.settings.nonblocking != Form::Auto {
            return None;
        }
        let [give, get] = buffers;
        // SAFETY: who calls upholds the contract of `start_direct`.
        if let Some(step) = unsafe { team.start_again(what, give.start, get.start, self) } {
            return Some(Ok(step));
        }
        // SAFETY: as above; that of `pieces` is the same.
        let (give, get) = unsafe { self.pieces(team, me, what, give.start, get.start) }?;
        team.start(what, give, get, self)
    }

    /// The result of a collective that was begun by [`World::start_direct`]; `None` while it goes on.
    #[inline]
    pub(crate) fn test_direct(&self, team: &Team, step: u64) -> Option<Result<(), Failure>> {
        match team.look_often(step, 1, self) {
            Some((Look::Ended(done), _)) => return Some(done),
            Some((Look::Needs(number), tests)) if tests % TESTS == 0 => {
                let peer = team.rank(number);
                if peer != self.rank() {
                    self.missing.store(peer, Ordering::Relaxed);
                    if tests % MANY_TESTS == 0 {
                        self.progress.ask_whether_died(peer);
                    }
                }
                self.give_up_if_gone(team, step, number);
            }
            _ => {}
        }
        if self.settings.engine != Engine::User {
            // The progress thread may be late, and peers may wait for what this rank has not read in another team.
            self.progress.step_aside();
        } else if self.progress.has_others() {
            self.progress.try_step(0);
        }
        None
    }

    /// Asks the system now and then whether the peer lives that tests find to be missing. A program that tests and
    /// rests in turns, as MPI_Wait does, takes very long for [`MANY_TESTS`].
    #[cold]
    pub(super) fn ask_for_missing(&self, peer: u32) {
        self.missing.store(NOBODY, Ordering::Relaxed);
        let now = sys::monotonic_ns();
        if now.saturating_sub(self.asked.load(Ordering::Relaxed)) >= ASK_AFTER {
            self.asked.store(now, Ordering::Relaxed);
            self.progress.ask_whether_died(peer);
        }
    }

    /// The result of a collective that was begun by [`World::start_direct`], if it ends within a moment.
    #[inline]
    pub(crate) fn look_soon(&self, team: &Team, step: u64) -> Option<Result<(), Failure>> {
        let looks = if Policy::oversubscribed() { 1 } else { QUICK };
        match team.look_often(step, looks, self) {
            Some((Look::Ended(done), _)) => Some(done),
            _ => None,
        }
    }

    /// Waits for the end of a collective that was begun by [`World::start_direct`]. Moves all runs on meanwhile.
    ///
    /// # Errors
    /// Why it has failed.
    pub(crate) fn wait_direct(&self, team: &Team, step: u64) -> Result<(), Failure> {
        let mut found = team.look(step, self);
        loop {
            let number = match found {
                Some(Look::Ended(done)) => return done,
                Some(Look::Needs(number)) => Some(number),
                None => None,
            };
            let peer = number.map(|n| team.rank(n)).filter(|p| *p != self.rank());
            let poll = || {
                let now = team.look(step, self);
                if now != found {
                    return Some(now);
                }
                number
                    .is_some_and(|n| self.give_up_if_gone(team, step, n))
                    .then(|| team.look(step, self))
            };
            found = self.progress.wait_until(&poll, peer);
        }
    }

    /// Whether a rank that a collective waits for takes no further part. Then all collectives of the team that go on
    /// fail.
    fn give_up_if_gone(&self, team: &Team, step: u64, number: u32) -> bool {
        let peer = team.rank(number);
        let why = if peer == self.rank() {
            return false;
        } else if team.is_over(number) {
            Failure::PeerFailed { peer: number }
        } else if self.progress.has_died(peer) || self.here.has_left(peer) {
            Failure::PeerLost { peer: number }
        } else {
            return false;
        };
        // One more look: what the peer has written before it ended counts.
        if team.look(step, self) == Some(Look::Needs(number)) {
            team.give_up(why, self);
            return true;
        }
        false
    }

    /// Moves the collectives of all teams on. True if one went on.
    pub(super) fn advance_teams(&self) -> bool {
        let mut moved = self.team.as_ref().is_some_and(|t| t.advance(self));
        for team in self.groups.iter().filter_map(OnceRef::get) {
            moved |= team.advance(self);
        }
        moved
    }

    /// Waits for a peer's word when a short spin was not enough. See [`direct::Wait`].
    #[cold]
    fn wait_for_word(
        &self,
        word: &AtomicU64,
        least: u64,
        peer: u32,
        over: &AtomicU64,
    ) -> Result<(), Failure> {
        let there = || word.load(Ordering::Acquire) >= least;
        let gone = || self.progress.has_died(peer) || self.here.has_left(peer);
        let poll = || {
            if there() {
                return Some(Ok(()));
            }
            let why = if over.load(Ordering::Acquire) != 0 {
                Failure::PeerFailed { peer }
            } else if gone() {
                Failure::PeerLost { peer }
            } else {
                return None;
            };
            // One more look: what the peer has written before it ended counts.
            Some(if there() { Ok(()) } else { Err(why) })
        };
        self.progress.wait_until(&poll, Some(peer))
    }
}

impl team::Host for World {
    #[inline]
    fn wait_for(
        &self,
        word: &AtomicU64,
        least: u64,
        rank: u32,
        over: &AtomicU64,
    ) -> Result<(), Failure> {
        if !Policy::oversubscribed() {
            for _ in 0..QUICK {
                if word.load(Ordering::Acquire) >= least {
                    return Ok(());
                }
                core::hint::spin_loop();
            }
        }
        self.wait_for_word(word, least, rank, over)
    }

    fn count(&self, from: u32, to: u32) {
        self.progress.count_aside(from, to);
    }

    fn wake(&self) {
        self.progress.wake();
    }
}
