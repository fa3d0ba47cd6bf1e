//! Blocking collectives of ranks that map each other's memory, without a schedule.
//!
//! Who calls `goal_allreduce` and has every peer's segment mapped needs no graph, no matching and no queue: each rank
//! *exposes* what it gives in its own segment, and the others read it there. A collective is a row of *steps*; in each, every
//! rank exposes up to [`ROOM`] bytes, or nothing, and then reads from whichever peers the collective says. Longer vectors take
//! several steps. Reductions combine in the order of ranks, so that all get the same sum.
//!
//! # Where things lie
//! Each rank's segment has, at [`Direct`]'s offset, a word that says that it takes no further part, [`LINES`] lines and behind them [`PLACES`] places of [`ROOM`] bytes. Step
//! `s` uses line `s % LINES`. A line has the number of the step plus one, a mark of the collective, and what is
//! exposed if that is short: a reader gets the first 48 bytes with the number, in one cache line. What is longer lies in one of the places, in turn,
//! and the line says in which. So many lines let a root that only sends go on while its readers have not had the processor;
//! so few places stay in the caches.
//!
//! # Memory ordering
//! The number is stored with release behind the exposed bytes, and loaded with acquire in front of reading them: without the
//! pair a reader could see the bytes of an earlier step. A rank uses a line or a place again when every peer has exposed the
//! step after the one that lay there before: who has, has read all it wanted of that (its loads come before its store with
//! release, and the rank loads with acquire).
//!
//! # Errors
//! A peer that has died or left ends the wait for it. Ranks would not agree on the number of the next step then, so that
//! this rank takes no further part ([`Direct::fail`]), and says so in its segment: peers that wait for it get an error, too.
//! The mark tells a rank that its peer is in another collective, or has other arguments.

use crate::choice::Collective;
use crate::settings::{Allgather, Allreduce, Alltoall, Blocking, Settings};
use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_goal::collectives::Vector;
use hetmp_goal::element::{self, Arithmetic};
use hetmp_goal::rank::Failure;

mod rows;

/// Steps that a rank may be ahead of its slowest peer.
const LINES: u64 = 32;
/// Of these, with more bytes than a line has.
const PLACES: usize = 4;
/// Bytes of a line.
const LINE: usize = 256;
/// Bytes that lie in a line, behind its two words.
const SHORT: usize = LINE - 16;
/// Bytes that a step exposes.
const ROOM: usize = 64 << 10;
/// An allreduce of up to so many bytes is combined by every rank for itself; of a longer one each rank combines a part.
const FLAT: u64 = 4 << 10;
/// With more ranks, a rank that looks at every peer takes longer than steps of a tree.
pub(crate) const RANKS: u32 = 64;
/// Bytes of a rank's lines and places.
pub(crate) const BYTES: usize = LINE + LINES as usize * LINE + PLACES * ROOM;

/// How a rank waits, and tells others that something has changed.
pub(crate) trait Wait {
    /// Returns when `word` is at least `least`, or says why that will not be: `peer`, who would write it, is gone or takes no
    /// further part, which `over` says by not being 0.
    fn wait(
        &self,
        word: &AtomicU64,
        least: u64,
        peer: u32,
        over: &AtomicU64,
    ) -> Result<(), Failure>;
    /// Peers that sleep wake up.
    fn ring(&self);
}

/// Whether a collective goes this way, wherever peers are mapped: all ranks answer alike.
pub(crate) fn takes(what: &Collective, ranks: u32, settings: &Settings) -> bool {
    let fits = |bytes: u64| {
        bytes
            .checked_mul(u64::from(ranks))
            .is_some_and(|n| n < 1 << 62)
    };
    // Of the others, what comes out depends on the order of operands, or an element may have no result.
    let ordered = |v: &Vector| matches!(v.op, Arithmetic::Sub | Arithmetic::Div);
    let vector = |v: &Vector| fits(v.bytes()) && v.op.takes(v.element) && !ordered(v);
    settings.blocking == Blocking::Auto
        && match what {
            Collective::Barrier => true,
            Collective::Broadcast { root, bytes }
            | Collective::Gather { root, bytes }
            | Collective::Scatter { root, bytes } => *root < ranks && fits(*bytes),
            Collective::Reduce { root, vector: v } => *root < ranks && vector(v),
            Collective::Allreduce { vector: v } => {
                settings.allreduce == Allreduce::Auto && vector(v)
            }
            Collective::Allgather { bytes } => {
                settings.allgather == Allgather::Auto && fits(*bytes)
            }
            Collective::Alltoall { bytes } => settings.alltoall == Alltoall::Auto && fits(*bytes),
            Collective::Scan { vector: v } | Collective::ReduceScatter { vector: v } => vector(v),
            // Each rank knows its own neighbours only.
            Collective::NeighbourAllgather { .. } | Collective::NeighbourAlltoall { .. } => false,
        }
}

/// Bytes that `rank` gives and gets.
pub(crate) fn lengths(what: &Collective, rank: u32, ranks: u32) -> (u64, u64) {
    let (all, at) = (u64::from(ranks), |root: &u32| *root == rank);
    match what {
        Collective::Broadcast { root, bytes } => (if at(root) { *bytes } else { 0 }, *bytes),
        Collective::Reduce { root, vector } => {
            let n = vector.bytes();
            (n, if at(root) { n } else { 0 })
        }
        Collective::Gather { root, bytes } => (*bytes, if at(root) { all * bytes } else { 0 }),
        Collective::Scatter { root, bytes } => (if at(root) { all * bytes } else { 0 }, *bytes),
        Collective::Allreduce { vector } | Collective::Scan { vector } => {
            (vector.bytes(), vector.bytes())
        }
        Collective::Allgather { bytes } => (*bytes, all * bytes),
        Collective::Alltoall { bytes } => (all * bytes, all * bytes),
        Collective::ReduceScatter { vector } => (all * vector.bytes(), vector.bytes()),
        Collective::Barrier
        | Collective::NeighbourAllgather { .. }
        | Collective::NeighbourAlltoall { .. } => (0, 0),
    }
}

/// What all ranks of a collective have in common, as a number.
fn mark(what: &Collective) -> u64 {
    let of = |kind: u64, root: u32, bytes: u64| {
        kind | u64::from(root) << 8 | bytes.wrapping_mul(0x9e37_79b9_7f4a_7c15) << 16
    };
    let combined = |kind: u64, root: u32, v: &Vector| {
        let how = (v.op as u64) << 8 | u64::from(v.element.to_raw());
        of(kind, root, v.count << 16 | how)
    };
    match what {
        Collective::Barrier
        | Collective::NeighbourAllgather { .. }
        | Collective::NeighbourAlltoall { .. } => 1,
        Collective::Broadcast { root, bytes } => of(2, *root, *bytes),
        Collective::Reduce { root, vector } => combined(3, *root, vector),
        Collective::Allreduce { vector } => combined(4, 0, vector),
        Collective::Gather { root, bytes } => of(5, *root, *bytes),
        Collective::Scatter { root, bytes } => of(6, *root, *bytes),
        Collective::Allgather { bytes } => of(7, 0, *bytes),
        Collective::Alltoall { bytes } => of(8, 0, *bytes),
        Collective::Scan { vector } => combined(9, 0, vector),
        Collective::ReduceScatter { vector } => combined(10, 0, vector),
    }
}

/// This rank's part in all steps.
#[derive(Debug)]
pub(crate) struct Direct {
    rank: u32,
    /// Where each rank's lines begin.
    areas: Box<[*mut u8]>,
    /// The number of the next step.
    next: u64,
    /// Every peer has exposed all steps below this one.
    known: u64,
    /// The step that used each place last, and how often a place was used.
    used: [u64; PLACES],
    turns: usize,
    /// Of the collective that goes on.
    mark: u64,
    /// Why this rank takes no further part.
    broken: Option<Failure>,
}

// SAFETY: the areas stay mapped, and what lies there is accessed as the module says.
unsafe impl Send for Direct {}

/// Memory of this library's places or of the caller's buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    at: *mut u8,
    n: usize,
}

impl Piece {
    /// `n` bytes at `at`.
    ///
    /// # Safety
    /// They are valid for what is done with the piece and its parts: reads where they are copied from, writes where they
    /// are copied or combined to. Nobody else writes there meanwhile, but for [`Piece::copy_to`] of one piece to itself.
    pub(crate) unsafe fn new(at: *mut u8, n: usize) -> Piece {
        Piece { at, n }
    }

    /// `n` bytes from `from` on.
    ///
    /// # Panics
    /// If there are not as many.
    #[inline]
    fn part(self, from: usize, n: usize) -> Piece {
        assert!(from <= self.n && n <= self.n - from, "a part of a piece");
        Piece {
            at: self.at.wrapping_add(from),
            n,
        }
    }

    /// Copies as many bytes as this piece has to the beginning of the other one, which may overlap it.
    ///
    /// # Panics
    /// If that is shorter.
    #[inline]
    fn copy_to(self, to: Piece) {
        assert!(self.n <= to.n, "room for a piece");
        if self.n == 8 {
            // SAFETY: both are valid by the contract of `new`. The usual length of a short collective, without a call.
            unsafe {
                to.at
                    .cast::<u64>()
                    .write_unaligned(self.at.cast::<u64>().read_unaligned())
            };
        } else if self.n > 0 && self.at != to.at {
            // SAFETY: both are valid by the contract of `new`.
            unsafe { core::ptr::copy(self.at, to.at, self.n) };
        }
    }

    /// Combines with as many bytes of `operand`, which lies elsewhere.
    #[inline]
    fn combine(self, vector: &Vector, operand: Piece) {
        assert!(self.n == operand.n, "operands of one length");
        if self.n == 0 {
            return;
        }
        // SAFETY: both are valid by the contract of `new`, and not of one memory: one is a place of a segment, the other
        // another rank's, or a buffer.
        let (sum, operand) = unsafe {
            (
                core::slice::from_raw_parts_mut(self.at, self.n),
                core::slice::from_raw_parts(operand.at, operand.n),
            )
        };
        // The only error is a division's, which `takes` leaves to schedules.
        let _ = element::apply(vector.op, vector.element, sum, operand);
    }
}

impl Direct {
    /// The part of `rank`, with every rank's lines and places at `areas`.
    ///
    /// # Safety
    /// Each area has [`BYTES`], aligned to a line and zero at first, and stays mapped. Its rank alone writes there.
    pub(crate) unsafe fn new(rank: u32, areas: Box<[*mut u8]>) -> Direct {
        Direct {
            rank,
            areas,
            next: 0,
            known: 0,
            used: [0; PLACES],
            turns: 0,
            mark: 0,
            broken: None,
        }
    }

    fn ranks(&self) -> u32 {
        self.areas.len() as u32
    }

    /// Bytes of a step of a long vector. Where two ranks have a core each, one exposes while the other reads; where more ranks
    /// share cores, each step costs a change of processes.
    fn room(&self) -> usize {
        if self.ranks() == 2 {
            ROOM / 2
        } else {
            ROOM
        }
    }

    fn line(&self, rank: u32, step: u64) -> *mut u8 {
        self.areas[rank as usize].wrapping_add(LINE + (step % LINES) as usize * LINE)
    }

    /// Not 0: the rank takes no further part.
    fn over(&self, rank: u32) -> &AtomicU64 {
        // SAFETY: the first word of an area, which is valid by the contract of `new`, and only accessed as an atomic.
        unsafe { AtomicU64::from_ptr(self.areas[rank as usize].cast()) }
    }

    /// Waits until a peer has exposed a step.
    #[inline]
    fn wait_for(&self, peer: u32, step: u64, wait: &impl Wait) -> Result<(), Failure> {
        let word = self.word(peer, step, 0);
        if word.load(Ordering::Acquire) > step {
            return Ok(());
        }
        wait.wait(word, step + 1, peer, self.over(peer))
    }

    /// Word 0 of a line, the step, word 1, the mark, or word 2, the place of what is not short.
    #[inline]
    fn word(&self, rank: u32, step: u64, n: usize) -> &AtomicU64 {
        // SAFETY: an aligned word of an area, which is valid by the contract of `new`, and only accessed as an atomic.
        unsafe { AtomicU64::from_ptr(self.line(rank, step).wrapping_add(8 * n).cast()) }
    }

    /// Where `n` bytes of a step lie, whose line says so.
    #[inline]
    fn piece(&self, rank: u32, step: u64, n: usize) -> Piece {
        assert!(n <= ROOM, "what a step exposes");
        let at = if n <= SHORT {
            self.line(rank, step).wrapping_add(16)
        } else {
            let place = self.word(rank, step, 2).load(Ordering::Relaxed) as usize % PLACES;
            let places = self.areas[rank as usize].wrapping_add(LINE + LINES as usize * LINE);
            places.wrapping_add(place * ROOM)
        };
        // SAFETY: within the area, which is valid by the contract of `Direct::new`. Its rank writes there before it exposes
        // the step, and not again before all have read it.
        unsafe { Piece::new(at, n) }
    }

    /// Every peer has exposed a step, and so read all of the one before.
    fn know(&mut self, step: u64, wait: &impl Wait) -> Result<(), Failure> {
        if self.known <= step {
            for peer in (0..self.ranks()).filter(|p| *p != self.rank) {
                self.wait_for(peer, step, wait)?;
            }
            self.known = step + 1;
        }
        Ok(())
    }

    /// Room for what this rank exposes in the next step.
    #[inline]
    fn reserve(&mut self, n: usize, wait: &impl Wait) -> Result<Piece, Failure> {
        let step = self.next;
        if step >= LINES {
            self.know(step + 1 - LINES, wait)?;
        }
        if n > SHORT {
            let place = self.turns % PLACES;
            if self.turns >= PLACES {
                self.know(self.used[place] + 1, wait)?;
            }
            self.turns += 1;
            self.used[place] = step;
            self.word(self.rank, step, 2)
                .store(place as u64, Ordering::Relaxed);
        }
        Ok(self.piece(self.rank, step, n))
    }

    /// The next step, whose bytes are in their room.
    #[inline]
    fn post(&mut self, wait: &impl Wait) -> u64 {
        let step = self.next;
        self.word(self.rank, step, 1)
            .store(self.mark, Ordering::Relaxed);
        self.word(self.rank, step, 0)
            .store(step + 1, Ordering::Release);
        self.next = step + 1;
        wait.ring();
        step
    }

    /// The next step: exposes `n` bytes, which `fill` writes.
    #[inline]
    fn expose(
        &mut self,
        n: usize,
        wait: &impl Wait,
        fill: impl FnOnce(Piece),
    ) -> Result<u64, Failure> {
        let to = self.reserve(n, wait)?;
        fill(to);
        Ok(self.post(wait))
    }

    /// What a rank exposes in a step, `n` bytes; waits until they are there.
    #[inline]
    fn of(&self, rank: u32, step: u64, n: usize, wait: &impl Wait) -> Result<Piece, Failure> {
        if rank != self.rank {
            self.wait_for(rank, step, wait)?;
            if self.word(rank, step, 1).load(Ordering::Relaxed) != self.mark {
                return Err(Failure::Differs { peer: rank });
            }
        }
        Ok(self.piece(rank, step, n))
    }

    /// Every rank has exposed a step.
    fn all(&mut self, step: u64, wait: &impl Wait) -> Result<(), Failure> {
        for rank in 0..self.ranks() {
            self.of(rank, step, 0, wait)?;
        }
        self.known = step + 1;
        Ok(())
    }

    /// The ranks behind this one, around.
    fn others(&self) -> impl Iterator<Item = u32> {
        let (rank, ranks) = (self.rank, self.ranks());
        (1..ranks).map(move |d| (rank + d) % ranks)
    }

    /// Takes no further part, and says so.
    #[cold]
    fn fail(&mut self, why: Failure, wait: &impl Wait) {
        self.broken = Some(why);
        // What was exposed before stands.
        self.over(self.rank).store(1, Ordering::Release);
        wait.ring();
    }
}

#[cfg(test)]
#[path = "direct_tests.rs"]
mod tests;
