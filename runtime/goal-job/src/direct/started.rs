//! Nonblocking collectives of one [step](super).
//!
//! Who starts such a collective exposes its input at once, and whoever looks later takes what the others have exposed
//! meanwhile. Nobody has to work on it in between. So a rank that computes, or is stopped, holds up no other rank.
//!
//! One that finds no room for its input yet, because a peer has not read what is there, needs somebody who looks after
//! it ([`Direct::unattended`]). So does that peer: its program may wait for something else meanwhile, such as a
//! collective of another team, that the hidden collective's rank only gives later.

use super::rows::{block, Part};
use super::{mark, Direct, Piece, Wait, FLAT, KIND, LINES, PLACES, ROOM, SHORT, UNLIKE};
use crate::choice::Collective;
use core::sync::atomic::Ordering;
use hetmp_goal::rank::Failure;

/// A collective that was started and is not over.
#[derive(Debug)]
pub(super) struct Started {
    what: Collective,
    give: Piece,
    get: Piece,
    /// Its step, which is also its name.
    pub(super) step: u64,
    /// This rank has exposed its input.
    shown: bool,
    /// A rank exposes more for it than fits into a line.
    is_long: bool,
    /// The first rank whose input was not seen yet.
    seen: u32,
}

/// The short collective that was started last: most programs repeat it.
#[derive(Debug)]
pub(super) struct Latest {
    what: Collective,
    /// The bytes that this rank gives, exposes and gets.
    gives: usize,
    exposes: usize,
    gets: usize,
    mark: u64,
    /// This rank reads what others expose.
    reads: bool,
}

/// What a look at a started collective finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// It is over, or has failed.
    Ended(Result<(), Failure>),
    /// It waits for this rank.
    Needs(u32),
}

impl Direct {
    /// Whether a collective that [`takes`](super::takes) accepts can be started here: the same at all ranks.
    pub(crate) fn starts(&self, what: &Collective) -> bool {
        let (bytes, most) = (block(what), self.most(what, ROOM) as u64);
        match what {
            // With two ranks, shares would save nothing.
            Collective::Allreduce { .. } => bytes <= FLAT || self.ranks() == 2 && bytes <= most,
            _ => bytes <= most,
        }
    }

    /// Starts a collective for which [`starts`](Direct::starts) says yes, and returns its name. The buffers stay valid
    /// until it is over.
    pub(crate) fn start(
        &mut self,
        what: &Collective,
        give: Piece,
        get: Piece,
        wait: &impl Wait,
    ) -> Result<u64, Failure> {
        if let Some(why) = self.broken {
            return Err(why);
        }
        let step = self.next;
        self.next = step + 1;
        let is_long = self.is_long(what);
        if is_long {
            self.long_ones.rotate_left(1);
            self.long_ones[PLACES - 1] = Some(step);
        } else {
            self.latest = Some(Latest {
                what: what.clone(),
                gives: give.n,
                exposes: self.exposed(what, block(what) as usize),
                gets: get.n,
                mark: mark(what),
                reads: self.others().any(|rank| self.reads(what, rank)),
            });
        }
        self.started.push_back(Started {
            what: what.clone(),
            give,
            get,
            step,
            shown: false,
            is_long,
            seen: 0,
        });
        self.advance(wait);
        Ok(step)
    }

    /// Starts the short collective again that was started last, and returns its name. `None` if it is another one, or
    /// if somebody or something else has to be looked at first: [`Direct::start`] does.
    ///
    /// # Safety
    /// The buffers have the collective's [`lengths`](super::lengths), or are null, and stay valid until it is over.
    #[inline]
    pub(crate) unsafe fn start_again(
        &mut self,
        what: &Collective,
        give: *mut u8,
        get: *mut u8,
        wait: &impl Wait,
    ) -> Option<u64> {
        let latest = self.latest.as_ref().filter(|l| l.what == *what)?;
        let has_buffers =
            (latest.gives == 0 || !give.is_null()) && (latest.gets == 0 || !get.is_null());
        // No other is started, and the line is known to be free.
        let is_free = self.started.is_empty() && self.known + LINES > self.next;
        if !has_buffers || !is_free || self.broken.is_some() {
            return None;
        }
        let (step, mark, reads) = (self.next, latest.mark, latest.reads);
        // SAFETY: who calls keeps the buffers valid for the collective's lengths, which these are.
        let (give, get) = unsafe { (Piece::new(give, latest.gives), Piece::new(get, latest.gets)) };
        let to = self.piece(self.rank, step, latest.exposes);
        self.next = step + 1;
        self.put(what, give, whole(what), to);
        self.show(step, mark, wait);
        self.started.push_back(Started {
            what: what.clone(),
            give,
            get,
            step,
            shown: true,
            is_long: false,
            seen: 0,
        });
        // Peers are not looked at yet: one that comes later would find its line shared, and wait for it when it writes.
        if !reads && self.look_at_last(step, wait).is_none() {
            self.advance(wait);
        }
        Some(step)
    }

    /// Looks at a short collective that is the only one started, and the last. `None` for others, and where something
    /// went wrong: [`Direct::advance`] sees to that.
    #[inline(always)]
    fn look_at_last(&mut self, step: u64, wait: &impl Wait) -> Option<Look> {
        let first = self.started.front()?;
        let is_last = first.step == step && self.next == step + 1;
        if !is_last || !first.shown || first.is_long || self.broken.is_some() {
            return None;
        }
        if let Some(rank) = self.unseen(0) {
            return Some(Look::Needs(rank));
        }
        let s = &self.started[0];
        let taken = self.take(&s.what, (s.give, s.get), whole(&s.what), step, wait);
        taken.ok()?;
        self.started.pop_front();
        self.has_read(step + 1);
        Some(Look::Ended(Ok(())))
    }

    /// Looks at a collective by its name, after moving all on.
    #[inline]
    pub(crate) fn look(&mut self, step: u64, wait: &impl Wait) -> Look {
        match self.look_at_last(step, wait) {
            Some(found) => found,
            None => self.look_at_all(step, wait),
        }
    }

    fn look_at_all(&mut self, step: u64, wait: &impl Wait) -> Look {
        self.advance(wait);
        let Some(at) = self.started.iter().position(|s| s.step == step) else {
            let unlike = self.unlike.iter().find(|(s, _)| *s == step);
            return Look::Ended(unlike.map_or(Ok(()), |(_, why)| Err(*why)));
        };
        // Not removed, so that further looks find the same.
        if let Some(why) = self.broken.filter(|_| step >= self.sound) {
            return Look::Ended(Err(why));
        }
        // Without one, what was missing has come since `advance` looked.
        Look::Needs(self.needed(at).unwrap_or(self.rank))
    }

    /// The peer that a collective waits for was found to be gone, or takes no further part.
    pub(crate) fn give_up(&mut self, why: Failure, wait: &impl Wait) {
        self.fail(0, why, wait);
    }

    /// Moves no collective on any more.
    pub(crate) fn abandon(&mut self) {
        self.broken.get_or_insert(Failure::Abandoned);
        self.sound = 0;
    }

    /// How many started collectives would stand still, or hold up peers, if nobody looked at them.
    pub(crate) fn unattended(&self) -> usize {
        if self.broken.is_some() {
            return 0;
        }
        // Later ones have to wait for their turn.
        let hidden = self.started.iter().rev().take_while(|s| !s.shown);
        hidden.count() + usize::from(self.holds_up_peers())
    }

    /// Whether a peer may find no room for a collective that this rank has started too, because this rank has not read
    /// an earlier one.
    ///
    /// A peer that exposes step `s` needs the line of step `s - LINES`, and waits for half of the lines at once; a long
    /// input also needs the place of the long input [`PLACES`] before. All this lies behind the first step that is not
    /// read.
    fn holds_up_peers(&self) -> bool {
        let Some(first) = self.started.front() else {
            return false;
        };
        let oldest_long = self.long_ones[0];
        self.next - first.step > LINES / 2 || oldest_long.is_some_and(|long| long >= first.step)
    }

    /// Whether a peer takes no further part.
    pub(crate) fn is_over(&self, rank: u32) -> bool {
        self.over(rank).load(Ordering::Acquire) != 0
    }

    /// Ends all started collectives, for a blocking one that follows.
    #[cold]
    pub(super) fn end_started(&mut self, wait: &impl Wait) -> Result<(), Failure> {
        loop {
            self.advance(wait);
            if let Some(why) = self.broken {
                return Err(why);
            }
            let Some(first) = self.started.front() else {
                return Ok(());
            };
            let (step, shown) = (first.step, first.shown);
            if !shown {
                let (step, n) = self.wants(0);
                if let Some((peer, least)) = self.hindered(step, n) {
                    wait.wait(self.read_by(peer), least, peer, self.over(peer))?;
                }
            } else if let Some(peer) = self.unseen(0) {
                self.wait_for(peer, step, wait)?;
            }
        }
    }

    /// Moves all started collectives on, as far as the peers have come. True if one of them went on.
    pub(crate) fn advance(&mut self, wait: &impl Wait) -> bool {
        let (mut moved, mut at) = (false, 0);
        while at < self.started.len() && self.started[at].step < self.sound {
            if !self.started[at].shown {
                // Later ones have to wait for their turn.
                if !self.try_show(at, wait) {
                    break;
                }
                moved = true;
            }
            if self.unseen(at).is_some() {
                at += 1;
                continue;
            }
            moved = true;
            let s = &self.started[at];
            let taken = self.take(&s.what, (s.give, s.get), whole(&s.what), s.step, wait);
            let step = s.step;
            match taken {
                Ok(()) => {}
                Err(why) if self.fails_alone(step, why) => {
                    self.unlike.push_back((step, why));
                    self.has_unlike.store(true, Ordering::Relaxed);
                }
                Err(why) => {
                    self.fail(step, why, wait);
                    // A peer may have come to an earlier one, and then to this one, after the look at the earlier one.
                    at = 0;
                    continue;
                }
            }
            let held_up = self.holds_up_peers();
            let is_long = self.started.remove(at).is_some_and(|s| s.is_long);
            self.has_read(self.started.front().map_or(self.next, |s| s.step));
            // Peers may wait for a place or a line. With short blocks, and few collectives at once, nobody does: then a
            // look makes no system call.
            if held_up || is_long {
                wait.ring();
            }
        }
        moved
    }

    /// Whether a failure concerns the collective of one step only: the peer is in the same one, with another amount.
    fn fails_alone(&mut self, step: u64, why: Failure) -> bool {
        let Failure::Differs { peer } = why else {
            return false;
        };
        let mark = |rank| self.word(rank, step, 1).load(Ordering::Relaxed);
        let same = (mark(peer) ^ mark(self.rank)) & KIND == 0;
        if self.unlike.len() < UNLIKE {
            return same;
        }
        let oldest = self.unlike.pop_front();
        same && oldest.is_none_or(|(first, _)| first + (UNLIKE as u64) < step)
    }

    /// A rank that the collective at a place waits for.
    fn needed(&mut self, at: usize) -> Option<u32> {
        if self.started[at].shown {
            return self.unseen(at);
        }
        let first = self.started.iter().position(|s| !s.shown).unwrap_or(at);
        let (step, n) = self.wants(first);
        match self.hindered(step, n) {
            // Until the first is read here.
            Some((rank, _)) if rank == self.rank => self.unseen(0),
            hindered => hindered.map(|(peer, _)| peer),
        }
    }

    /// The step of a collective, and the room that its input takes.
    fn wants(&self, at: usize) -> (u64, usize) {
        let s = &self.started[at];
        let n = block(&s.what) as usize;
        (s.step, self.exposed(&s.what, n))
    }

    /// Whether a rank exposes more for a collective than fits into a line.
    fn is_long(&self, what: &Collective) -> bool {
        let blocks = match what {
            Collective::Alltoall { .. }
            | Collective::Scatter { .. }
            | Collective::ReduceScatter { .. } => self.areas.len(),
            _ => 1,
        };
        block(what) as usize * blocks > SHORT
    }

    /// Exposes the input of a collective, unless there is no room yet.
    fn try_show(&mut self, at: usize, wait: &impl Wait) -> bool {
        let (step, n) = self.wants(at);
        if self.hindered(step, n).is_some() {
            return false;
        }
        let to = self.claim(step, n);
        let s = &self.started[at];
        self.put(&s.what, s.give, whole(&s.what), to);
        self.show(step, mark(&s.what), wait);
        self.started[at].shown = true;
        true
    }

    /// The first rank whose input a collective waits for.
    #[inline(always)]
    fn unseen(&mut self, at: usize) -> Option<u32> {
        let s = &self.started[at];
        let there = |rank: u32| {
            rank == self.rank
                || !self.reads(&s.what, rank)
                || self.word(rank, s.step, 0).load(Ordering::Acquire) > s.step
        };
        let first = (s.seen..self.ranks()).find(|rank| !there(*rank));
        self.started[at].seen = first.unwrap_or(self.ranks());
        first
    }
}

/// Whole blocks.
fn whole(what: &Collective) -> Part {
    Part {
        from: 0,
        n: block(what) as usize,
    }
}
