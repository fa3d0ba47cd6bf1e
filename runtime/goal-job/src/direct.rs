//! Collectives of ranks that map each other's memory, without a schedule.
//!
//! A rank that calls `goal_allreduce`, and has every peer's segment mapped, needs no graph, no matching and no queue.
//! Each rank *exposes* its input in its own segment, and the others read it there. A collective is a row of *steps*.
//! In each step every rank exposes up to [`ROOM`] bytes, or nothing, and then reads from the peers that the
//! collective says. Longer vectors take several steps. Reductions combine in the order of ranks, so that all ranks
//! get the same result.
//!
//! Blocking collectives (`rows`) wait in each step. A nonblocking collective (`started`) has one step: what is started
//! is exposed, and who looks later reads what the others have exposed meanwhile. So it goes on while no rank works on
//! it.
//!
//! # Where things lie
//! Each rank has an *area* in its segment: first a word that is not 0 if the rank takes no further part, and the number
//! of steps of which this rank has *read* all that it needs; then [`LINES`] lines, then [`PLACES`] places of [`ROOM`]
//! bytes. Step `s` uses line `s % LINES`. A line holds the number of the step plus one, a mark of the collective, and
//! the exposed bytes if they are few: the first 48 bytes share a cache line with the number. Longer input lies in one
//! of the places, which are used in turn, and the line says in which. The lines are many, so that a root that only
//! sends can go on while its readers are not scheduled. The places are few, so that they stay in the caches.
//!
//! # Memory ordering
//! The number is stored with release after the exposed bytes, and loaded with acquire before they are read: otherwise
//! a reader could see the bytes of an earlier step. A rank uses a line or place for a new step only after every peer
//! has read the old step there. The count of steps that a peer has read is stored with release after the peer's loads,
//! and loaded here with acquire: otherwise the peer could read bytes of the new step for those of the old.
//!
//! # Errors
//! A wait for a peer that has died or left ends with an error. Ranks would no longer agree on the number of the next
//! step, so this rank takes no further part ([`Direct::fail`]) and says so in its segment: peers that wait for it get
//! an error too. The mark tells a rank that its peer is in another collective, or has passed other arguments. Where
//! only the amounts of a started collective differ, it fails alone: each rank has one step for it all the same.

use crate::choice::Collective;
use crate::settings::{Allgather, Allreduce, Alltoall, Settings};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hetmp_core::sync::{will_read, will_write};
use hetmp_goal::collectives::Vector;
use hetmp_goal::element::{self, Arithmetic};
use hetmp_goal::rank::Failure;

mod rows;
mod started;

pub(crate) use started::Look;
use started::{Latest, Started};
use std::collections::VecDeque;
use std::sync::Arc;

/// How many steps a rank may be ahead of its slowest peer.
const LINES: u64 = 64;
/// How many of these steps may have more bytes than fit into a line.
const PLACES: usize = 4;
/// Bytes of a line.
const LINE: usize = 256;
/// Bytes that a line can expose, after its two words.
const SHORT: usize = LINE - 16;
/// The most bytes that a step exposes.
const ROOM: usize = 64 << 10;
/// Up to this many bytes (per rank), every rank combines all of an allreduce itself; of a longer one each rank
/// combines a part.
const FLAT: u64 = 4 << 10;
/// The most ranks. With more, looking at every peer takes longer than the steps of a tree.
pub(crate) const RANKS: u32 = 64;
/// For how many peers' lines a processor is asked before they are needed.
const HINTS: usize = 4;
/// Bytes of a rank's area.
pub(crate) const BYTES: usize = LINE + LINES as usize * LINE + PLACES * ROOM;
/// Offset in an area of the number of steps that its rank has read: a cache line that peers look at now and then only.
const READ: usize = 64;

/// How a rank waits for a peer, and how it wakes peers.
pub(crate) trait Wait {
    /// Returns when `word` is at least `least`. Fails if `peer`, which writes the word, has died or left, or takes no
    /// further part: then `over` is not 0.
    fn wait(
        &self,
        word: &AtomicU64,
        least: u64,
        peer: u32,
        over: &AtomicU64,
    ) -> Result<(), Failure>;
    /// Wakes peers that sleep.
    fn ring(&self);
}

/// True if a collective goes this way, provided that peers are mapped. All ranks get the same answer.
pub(crate) fn takes(what: &Collective, ranks: u32, settings: &Settings) -> bool {
    let fits = |bytes: u64| {
        bytes
            .checked_mul(u64::from(ranks))
            .is_some_and(|n| n < 1 << 62)
    };
    // The result of a subtraction or division depends on the order of operands, and a division may fail for an
    // element.
    let ordered = |v: &Vector| matches!(v.op, Arithmetic::Sub | Arithmetic::Div);
    let vector = |v: &Vector| fits(v.bytes()) && v.op.takes(v.element) && !ordered(v);
    match what {
        Collective::Barrier => true,
        Collective::Broadcast { root, bytes }
        | Collective::Gather { root, bytes }
        | Collective::Scatter { root, bytes } => *root < ranks && fits(*bytes),
        Collective::Reduce { root, vector: v } => *root < ranks && vector(v),
        Collective::Allreduce { vector: v } => settings.allreduce == Allreduce::Auto && vector(v),
        Collective::Allgather { bytes } => settings.allgather == Allgather::Auto && fits(*bytes),
        Collective::Alltoall { bytes } => settings.alltoall == Alltoall::Auto && fits(*bytes),
        Collective::Scan { vector: v, .. } | Collective::ReduceScatter { vector: v } => vector(v),
        // A rank knows its own neighbours only.
        Collective::NeighbourAllgather { .. } | Collective::NeighbourAlltoall { .. } => false,
    }
}

/// Up to this length of a block a blocking collective that only moves data goes this way, with two copies at once by
/// two ranks. A longer one is copied once, by its schedule: at 1 MiB both take as long, and next to other programs the
/// many turns of two copies wait for a processor each.
const TWICE: u64 = 512 << 10;

/// Whether a blocking collective is better copied once. All ranks get the same answer.
pub(crate) fn is_copied_once(what: &Collective) -> bool {
    let computes = matches!(
        what,
        Collective::Reduce { .. }
            | Collective::Allreduce { .. }
            | Collective::Scan { .. }
            | Collective::ReduceScatter { .. }
    );
    !computes && rows::block(what) > TWICE
}

/// The bytes that `rank` gives and gets.
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
        Collective::Scan {
            vector,
            inclusive: false,
        } if rank == 0 => (vector.bytes(), 0),
        Collective::Allreduce { vector } | Collective::Scan { vector, .. } => {
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

/// The bits of a [`mark`] that say which collective it is, and of which root.
const KIND: u64 = 0xffff;
/// How many ends of collectives with unlike amounts are remembered. As many in a row say that ranks are in different
/// collectives.
const UNLIKE: usize = 64;

/// A number that tells collectives apart: equal on all ranks that pass the same arguments.
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
        Collective::Scan { vector, inclusive } => combined(9, u32::from(!*inclusive), vector),
        Collective::ReduceScatter { vector } => combined(10, 0, vector),
    }
}

/// This rank's side of all steps.
#[derive(Debug)]
pub(crate) struct Direct {
    rank: u32,
    /// By rank: where its area begins.
    areas: Box<[*mut u8]>,
    /// The number of the next step.
    next: u64,
    /// All peers have read every step below this one.
    known: u64,
    /// For each place the step that used it last. `turns` counts how often a place was used.
    used: [u64; PLACES],
    turns: usize,
    /// The mark of the current collective.
    mark: u64,
    /// The last started collectives whose input does not fit into a line, oldest first.
    long_ones: [Option<u64>; PLACES],
    latest: Option<Latest>,
    /// Nonblocking collectives that are not over, in the order of their steps.
    started: VecDeque<Started>,
    /// The last started collectives that have failed alone, by step.
    unlike: VecDeque<(u64, Failure)>,
    /// Whether there were any, for threads that do not have this side. Stored before the step counts as read.
    has_unlike: Arc<AtomicBool>,
    /// Why this rank takes no further part.
    broken: Option<Failure>,
    /// The first step that fails for that reason. Collectives that were started before still end as the peers come.
    sound: u64,
}

// SAFETY: the areas stay mapped, and their bytes are accessed as "Memory ordering" says.
unsafe impl Send for Direct {}

/// Memory of an area, or of the caller's buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    at: *mut u8,
    n: usize,
}

impl Piece {
    /// `n` bytes at `at`.
    ///
    /// # Safety
    /// The bytes are valid for what is done with the piece and its parts: reads if they are copied from, writes if
    /// they are copied or combined to. Nobody else writes there meanwhile, except [`Piece::copy_to`] of a piece to
    /// itself.
    pub(crate) unsafe fn new(at: *mut u8, n: usize) -> Piece {
        Piece { at, n }
    }

    /// The `n` bytes from offset `from` on.
    ///
    /// # Panics
    /// If the piece is shorter.
    #[inline]
    fn part(self, from: usize, n: usize) -> Piece {
        assert!(from <= self.n && n <= self.n - from, "a part of a piece");
        Piece {
            at: self.at.wrapping_add(from),
            n,
        }
    }

    /// Copies this piece to the start of the other one. The two may overlap.
    ///
    /// # Panics
    /// If the other piece is shorter.
    #[inline]
    fn copy_to(self, to: Piece) {
        assert!(self.n <= to.n, "room for a piece");
        if self.n == 8 {
            // SAFETY: who called `new` for both keeps them valid. This is the usual length of a short collective,
            // done without a call.
            unsafe {
                to.at
                    .cast::<u64>()
                    .write_unaligned(self.at.cast::<u64>().read_unaligned())
            };
        } else if self.n > 0 && self.at != to.at {
            // SAFETY: who called `new` for both keeps them valid.
            unsafe { core::ptr::copy(self.at, to.at, self.n) };
        }
    }

    /// Combines this piece with the first bytes of `operand`, which is other memory.
    #[inline]
    fn combine(self, vector: &Vector, operand: Piece) {
        assert!(self.n == operand.n, "operands of one length");
        if self.n == 0 {
            return;
        }
        // SAFETY: who called `new` for both keeps them valid. They are different memory: one is a place in a segment,
        // the other a place in another rank's segment, or a buffer.
        let (sum, operand) = unsafe {
            (
                core::slice::from_raw_parts_mut(self.at, self.n),
                core::slice::from_raw_parts(operand.at, operand.n),
            )
        };
        // The only possible error is a division by zero, and `takes` leaves divisions to schedules.
        let _ = element::apply(vector.op, vector.element, sum, operand);
    }
}

impl Direct {
    /// The side of `rank`. `areas` has every rank's area, by rank.
    ///
    /// # Safety
    /// Each area has [`BYTES`] bytes, is aligned to a line, was zero at first, and stays mapped. Only its rank writes
    /// there.
    pub(crate) unsafe fn new(rank: u32, areas: Box<[*mut u8]>) -> Direct {
        Direct {
            rank,
            areas,
            next: 0,
            known: 0,
            used: [0; PLACES],
            turns: 0,
            mark: 0,
            long_ones: [None; PLACES],
            latest: None,
            started: VecDeque::new(),
            unlike: VecDeque::new(),
            has_unlike: Arc::default(),
            broken: None,
            sound: u64::MAX,
        }
    }

    /// Whether collectives have failed alone. Whoever finds a step read looks here afterwards: only who has the side
    /// knows how that step ended.
    pub(crate) fn has_unlike(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.has_unlike)
    }

    fn ranks(&self) -> u32 {
        self.areas.len() as u32
    }

    /// The addresses of the peers' areas, of the next ones after this rank's.
    pub(crate) fn next_areas(&self) -> Box<[usize]> {
        let areas = self.others().map(|rank| self.areas[rank as usize].addr());
        areas.take(HINTS).collect()
    }

    /// Whoever will look at a step looks at these lines of the [`Direct::next_areas`]: the processor fetches them.
    #[inline]
    pub(crate) fn will_look(areas: &[usize], step: u64) {
        for area in areas {
            will_read(area.wrapping_add(LINE + (step % LINES) as usize * LINE));
        }
    }

    /// The bytes of a step of a long vector. Two ranks with a core each take turns: one exposes while the other
    /// reads. If more ranks share cores, each step costs a change of processes, so that steps are longer.
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

    /// The word that is not 0 if the rank takes no further part.
    fn over(&self, rank: u32) -> &AtomicU64 {
        // SAFETY: the first word of an area, which who called `new` keeps valid, and which is accessed as an atomic
        // only.
        unsafe { AtomicU64::from_ptr(self.areas[rank as usize].cast()) }
    }

    /// Waits until a peer has exposed a step.
    #[inline(always)]
    fn wait_for(&self, peer: u32, step: u64, wait: &impl Wait) -> Result<(), Failure> {
        let word = self.word(peer, step, 0);
        if word.load(Ordering::Acquire) > step {
            return Ok(());
        }
        wait.wait(word, step + 1, peer, self.over(peer))
    }

    /// A word of a line: 0 the number of the step, 1 the mark, 2 the place of exposed bytes that do not fit into the
    /// line.
    #[inline]
    fn word(&self, rank: u32, step: u64, n: usize) -> &AtomicU64 {
        // SAFETY: an aligned word of an area, which who called `new` keeps valid, and which is accessed as an atomic
        // only.
        unsafe { AtomicU64::from_ptr(self.line(rank, step).wrapping_add(8 * n).cast()) }
    }

    /// The `n` bytes that a rank exposes in a step; the line says where they are.
    #[inline(always)]
    fn piece(&self, rank: u32, step: u64, n: usize) -> Piece {
        assert!(n <= ROOM, "what a step exposes");
        let at = if n <= SHORT {
            self.line(rank, step).wrapping_add(16)
        } else {
            let place = self.word(rank, step, 2).load(Ordering::Relaxed) as usize % PLACES;
            let places = self.areas[rank as usize].wrapping_add(LINE + LINES as usize * LINE);
            places.wrapping_add(place * ROOM)
        };
        // SAFETY: the piece lies within the area, which who called `Direct::new` keeps valid. The area's rank writes
        // there before it exposes the step, and not again before all ranks have read the piece.
        unsafe { Piece::new(at, n) }
    }

    /// How many steps a rank has read.
    fn read_by(&self, rank: u32) -> &AtomicU64 {
        // SAFETY: an aligned word of an area, which who called `new` keeps valid, and which is accessed as an atomic
        // only.
        unsafe { AtomicU64::from_ptr(Direct::reads_of(self.areas[rank as usize])) }
    }

    /// Where the area that begins at `area` counts the steps that its rank has read. At that rank the collectives of
    /// the steps below are over.
    pub(crate) fn reads_of(area: *mut u8) -> *mut u64 {
        area.wrapping_add(READ).cast()
    }

    /// Tells the peers that this rank has read all steps below `step`.
    #[inline]
    fn has_read(&self, step: u64) {
        self.read_by(self.rank).store(step, Ordering::Release);
    }

    /// A rank that may still read what exposing `n` bytes in a step would overwrite, and how many steps that rank has
    /// to have read before. This rank, which combines its own input too, only where it has started collectives.
    #[inline]
    fn hindered(&mut self, step: u64, n: usize) -> Option<(u32, u64)> {
        let mut least = (step + 1).saturating_sub(LINES);
        if n > SHORT && self.turns >= PLACES {
            least = least.max(self.used[self.turns % PLACES] + 1);
        }
        // Not by `known`: peers may have read what this rank has not, when their inputs came after its look at them.
        if self.started.front().is_some_and(|s| s.step < least) {
            return Some((self.rank, least));
        }
        if self.known >= least {
            return None;
        }
        self.learn(step, least)
    }

    /// Looks at what the peers have read. Peers that only read, as in a broadcast, are then waited for until they have
    /// read many lines: each look at a word that they have just written fetches it from their cache.
    fn learn(&mut self, step: u64, least: u64) -> Option<(u32, u64)> {
        let mut known = step;
        for peer in (0..self.ranks()).filter(|p| *p != self.rank) {
            let read = self.read_by(peer).load(Ordering::Acquire);
            if read < least {
                return Some((peer, least.max(step.saturating_sub(LINES / 2))));
            }
            known = known.min(read);
        }
        self.known = known;
        None
    }

    /// The memory for `n` bytes of a step, when nobody [hinders](Direct::hindered) it.
    #[inline]
    fn claim(&mut self, step: u64, n: usize) -> Piece {
        if n > SHORT {
            let place = self.turns % PLACES;
            self.turns += 1;
            self.used[place] = step;
            self.word(self.rank, step, 2)
                .store(place as u64, Ordering::Relaxed);
        }
        self.piece(self.rank, step, n)
    }

    /// Memory for what this rank will expose in the next step.
    #[inline]
    fn reserve(&mut self, n: usize, wait: &impl Wait) -> Result<Piece, Failure> {
        let step = self.next;
        while let Some((peer, least)) = self.hindered(step, n) {
            wait.wait(self.read_by(peer), least, peer, self.over(peer))?;
        }
        Ok(self.claim(step, n))
    }

    /// Exposes a step, whose bytes are in their memory already.
    #[inline]
    fn show(&self, step: u64, mark: u64, wait: &impl Wait) {
        self.word(self.rank, step, 1).store(mark, Ordering::Relaxed);
        self.word(self.rank, step, 0)
            .store(step + 1, Ordering::Release);
        wait.ring();
        // Peers have read the next line when it was used last. Without this hint the next store to it, and every atomic
        // change after that store, would wait for the line.
        will_write(self.line(self.rank, step + 1).addr());
    }

    /// Exposes the next step of a blocking collective. All steps before have been read.
    #[inline]
    fn post(&mut self, wait: &impl Wait) -> u64 {
        let step = self.next;
        self.has_read(step);
        self.next = step + 1;
        self.show(step, self.mark, wait);
        step
    }

    /// Exposes `n` bytes, which `fill` writes, as the next step.
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

    /// Waits for the `n` bytes that a rank exposes in a step.
    #[inline(always)]
    fn of(&self, rank: u32, step: u64, n: usize, wait: &impl Wait) -> Result<Piece, Failure> {
        if rank != self.rank {
            self.wait_for(rank, step, wait)?;
            // This rank's own line has the mark of the step's collective.
            let mark = |rank| self.word(rank, step, 1).load(Ordering::Relaxed);
            if mark(rank) != mark(self.rank) {
                return Err(Failure::Differs { peer: rank });
            }
        }
        Ok(self.piece(rank, step, n))
    }

    /// Waits until every rank has exposed a step.
    fn all(&self, step: u64, wait: &impl Wait) -> Result<(), Failure> {
        for rank in 0..self.ranks() {
            self.of(rank, step, 0, wait)?;
        }
        Ok(())
    }

    /// All other ranks, beginning with the one after this.
    fn others(&self) -> impl Iterator<Item = u32> {
        let (rank, ranks) = (self.rank, self.ranks());
        (1..ranks).map(move |d| (rank + d) % ranks)
    }

    /// Takes no part in a step and all later ones, and says so in this rank's segment.
    #[cold]
    fn fail(&mut self, step: u64, why: Failure, wait: &impl Wait) {
        self.broken.get_or_insert(why);
        self.sound = self.sound.min(step);
        // What was exposed before stays valid.
        self.over(self.rank).store(1, Ordering::Release);
        wait.ring();
    }
}

#[cfg(test)]
#[path = "direct_tests.rs"]
mod tests;
