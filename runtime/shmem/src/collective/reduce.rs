//! Reductions and scans.
//!
//! Contributions are combined in the order of ranks, whatever their size and the way they travel. So floating-point
//! results are the same in every member and in every run, bit for bit.

use super::combine::Combine;
use super::group::{Group, Place};
use super::rounds::{Tell as _, PHASES};
use crate::control::PAGE_BYTES;
use crate::team::state::TeamState;
use crate::team::steps::Step;
use core::mem::MaybeUninit;

/// Bytes combined at a time: two such blocks fit into the first-level cache.
const BLOCK: usize = 8192;
/// Bytes combined at a time when contributions come through an engine: larger blocks save round trips.
const FAR_BLOCK: usize = 64 << 10;

/// A reduction of `n` elements of `elem` bytes.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    pub(crate) combine: Combine,
    pub(crate) elem: usize,
    pub(crate) n: usize,
}

impl Work {
    pub(crate) fn bytes(&self) -> usize {
        self.elem * self.n
    }
}

/// Room for contributions of a page.
#[repr(align(64))]
struct Page(MaybeUninit<[u8; PAGE_BYTES]>);

/// Combines all members' `source` into `dest` of every member. `dest` may be `source`.
///
/// # Safety
/// Both hold the elements, and the program orders its accesses.
#[inline]
pub(crate) unsafe fn reduce(
    f: &'static str,
    team: &TeamState,
    w: Work,
    dest: Place,
    source: Place,
) {
    // SAFETY: this function's contract: both hold the elements, and the program orders its accesses.
    unsafe {
        if w.bytes() <= PAGE_BYTES {
            small(f, team, w, dest.at, source.at, None);
        } else {
            sliced(&team.begin(f, PHASES), w, dest, source);
        }
    }
}

/// Which members contribute to a scan's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scan {
    /// The members up to this one.
    Inclusive,
    /// The members before this one. The first has none, and gets zeros.
    Exclusive,
}

/// One exchange: every member gets all contributions and combines them itself.
#[inline]
unsafe fn small(
    f: &'static str,
    team: &TeamState,
    w: Work,
    dest: *mut u8,
    source: *const u8,
    scan: Option<Scan>,
) {
    let (me, n, bytes) = (team.rank as usize, team.size(), w.bytes());
    let count = counted(me, n, scan);
    let mut page = Page(MaybeUninit::uninit());
    let sum = page.0.as_mut_ptr().cast::<u8>();
    // SAFETY: the source is readable; the page holds the bytes, and those that are read were written.
    unsafe {
        let exchange = team.exchange(f, source, bytes);
        if count == 0 {
            sum.write_bytes(0, bytes);
        }
        for rank in 0..n {
            let theirs = if rank == me {
                source
            } else {
                exchange.from(rank)
            };
            if rank == 0 && count > 0 {
                core::ptr::copy_nonoverlapping(theirs, sum, bytes);
            } else if rank < count {
                (w.combine)(sum, theirs, w.n);
            }
        }
        core::ptr::copy_nonoverlapping(sum, dest, bytes);
    }
}

/// How many members contribute, beginning with the first.
fn counted(me: usize, n: usize, scan: Option<Scan>) -> usize {
    match scan {
        None => n,
        Some(Scan::Inclusive) => me + 1,
        Some(Scan::Exclusive) => me,
    }
}

/// The elements of `n` that member `rank` of `size` combines.
fn slice(n: usize, rank: usize, size: usize) -> core::ops::Range<usize> {
    let at = |r: usize| (n as u128 * r as u128 / size as u128) as usize;
    at(rank)..at(rank + 1)
}

/// Every member combines one slice, which it reads from all members and writes to all. A slice of `dest` is written
/// only after all its contributions were read, so that `dest` may be `source`.
///
/// # Safety
/// As [`reduce`].
pub(crate) unsafe fn sliced<G: Group>(g: &G, w: Work, dest: Place, source: Place) {
    g.meet(0);
    let mine = slice(w.n, g.rank(), g.size());
    let mut blocks = Blocks::new(g, w.elem);
    let mut at = mine.start;
    while at < mine.end {
        let n = (mine.end - at).min(blocks.elements);
        let (offset, bytes) = (at * w.elem, n * w.elem);
        // SAFETY: the slice lies within both arrays, no other member writes it, and every member's source is ready.
        unsafe {
            let sum = blocks.combine(g, w, source, offset, n, g.size());
            for rank in g.others() {
                g.put(rank, dest.offset + offset as u64, sum, bytes);
            }
            core::ptr::copy_nonoverlapping(sum, dest.at.add(offset), bytes);
        }
        at += n;
    }
    g.meet(1);
}

/// Combines the contributions of the members up to this one, or before this one. `dest` may be `source`.
///
/// # Safety
/// As [`reduce`].
pub(crate) unsafe fn scan(
    f: &'static str,
    team: &TeamState,
    w: Work,
    dest: Place,
    source: Place,
    kind: Scan,
) {
    if w.bytes() <= PAGE_BYTES {
        // SAFETY: this function's contract: both hold the elements, and the program orders its accesses.
        return unsafe { small(f, team, w, dest.at, source.at, Some(kind)) };
    }
    let g: Step<'_> = team.begin(f, PHASES);
    g.meet(0);
    let count = counted(g.rank(), g.size(), Some(kind));
    // Other members read this PE's source until the second meeting, so the result is kept in another place until
    // then.
    let mut result = vec![0u128; w.bytes().div_ceil(size_of::<u128>())];
    let result = result.as_mut_ptr().cast::<u8>();
    let mut blocks = Blocks::new(&g, w.elem);
    let mut at = 0;
    while at < w.n && count > 0 {
        let n = (w.n - at).min(blocks.elements);
        let offset = at * w.elem;
        // SAFETY: the slice lies within both arrays, and every member's source is ready.
        unsafe {
            let sum = blocks.combine(&g, w, source, offset, n, count);
            core::ptr::copy_nonoverlapping(sum, result.add(offset), n * w.elem);
        }
        at += n;
    }
    g.meet(1);
    // SAFETY: both hold the elements, and no member reads this PE's source any more.
    unsafe { core::ptr::copy_nonoverlapping(result, dest.at, w.bytes()) };
}

/// Memory to combine in.
struct Blocks {
    room: Vec<u128>,
    /// How many elements are combined at a time.
    elements: usize,
    bytes: usize,
}

impl Blocks {
    fn new<G: Group>(g: &G, elem: usize) -> Blocks {
        let bytes = if g.direct() { BLOCK } else { FAR_BLOCK };
        Blocks {
            // The second block is for contributions that are not mapped here.
            room: vec![0; 2 * bytes / size_of::<u128>()],
            elements: bytes / elem,
            bytes,
        }
    }

    /// Combines `n` elements at `offset`, of the first `count` members.
    ///
    /// # Safety
    /// The contributions are ready and lie within `source`; `n` is at most [`Blocks::elements`]; `count` is not 0.
    unsafe fn combine<G: Group>(
        &mut self,
        g: &G,
        w: Work,
        source: Place,
        offset: usize,
        n: usize,
        count: usize,
    ) -> *const u8 {
        let sum = self.room.as_mut_ptr().cast::<u8>();
        let bytes = n * w.elem;
        // SAFETY: this function's contract: the sources are ready and within `source`; `n` is at most
        // [`Blocks::elements`], `count` is not 0. The room holds two blocks.
        unsafe {
            let spare = sum.add(self.bytes);
            for rank in 0..count {
                let base = g.base(rank);
                let theirs = if rank == g.rank() {
                    source.at.add(offset).cast_const()
                } else if base.is_null() {
                    g.get(rank, source.offset + offset as u64, spare, bytes);
                    spare
                } else {
                    base.wrapping_add(source.offset as usize + offset)
                };
                if rank == 0 {
                    core::ptr::copy_nonoverlapping(theirs, sum, bytes);
                } else {
                    (w.combine)(sum, theirs, n);
                }
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_cover_everything_once() {
        for size in 1..9 {
            for n in [0, 1, 2, 5, 8, 100, 1001] {
                let mut next = 0;
                for rank in 0..size {
                    let s = slice(n, rank, size);
                    assert_eq!(s.start, next);
                    assert!(s.len() <= n.div_ceil(size));
                    next = s.end;
                }
                assert_eq!(next, n);
            }
        }
    }
}
