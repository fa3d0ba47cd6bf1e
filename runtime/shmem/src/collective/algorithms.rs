//! Barriers and collectives that only move data.
//!
//! OpenSHMEM asks the program to have `dest` ready on all PEs before anybody calls (specification 1.5, section
//! 9.11), so that whoever has data writes them to where they belong at once: one hop, data and a flag behind.

use super::group::{Group, Place};

/// Up to so many members, everybody tells everybody: one round, so that PEs that share cores are switched as
/// rarely as can be, and flags travel at the same time. Beyond, rounds of doubling distance and trees.
const FLAT: usize = 16;
/// From this size on, members of a mapped group of more than two read a broadcast themselves, all at a time.
const READ: usize = 32 << 10;

/// Waits until everybody is here.
///
/// Dissemination beyond [`FLAT`]: in round `r`, member `i` tells `i + 2^r` and hears from `i - 2^r`; after all
/// rounds it has heard, directly or not, from everybody.
#[inline(always)]
pub(crate) fn sync<G: Group>(g: &G) {
    if g.size() <= FLAT {
        g.meet(0);
    } else {
        disseminate(g);
    }
}

#[inline(never)]
fn disseminate<G: Group>(g: &G) {
    let (me, n) = (g.rank(), g.size());
    for (round, distance) in rounds(n) {
        g.tell(round, (me + distance) % n);
        g.await_from(round, (me + n - distance) % n);
    }
}

/// Rounds of a dissemination among `n`, and their distances.
fn rounds(n: usize) -> impl Iterator<Item = (u32, usize)> {
    (0..)
        .map(|r| (r, 1 << r))
        .take_while(move |&(_, distance)| distance < n)
}

/// The member that `v` hears from in a binomial tree with root 0.
fn parent(v: usize) -> usize {
    v & (v - 1)
}

/// The members that `v` tells, those with the most to pass on first.
fn children(v: usize, n: usize) -> impl Iterator<Item = usize> {
    let low = if v == 0 {
        n.next_power_of_two()
    } else {
        1 << v.trailing_zeros()
    };
    (0..low.trailing_zeros())
        .rev()
        .map(move |k| v + (1 << k))
        .filter(move |&c| c < n)
}

/// The root's `source` to `dest` of everybody else.
///
/// # Safety
/// The places hold `bytes`, and the program orders its accesses; `source` is the root's.
#[inline]
pub(crate) unsafe fn broadcast<G: Group>(
    g: &G,
    dest: Place,
    source: Place,
    bytes: usize,
    root: usize,
) {
    let (me, n) = (g.rank(), g.size());
    // SAFETY: passed on.
    unsafe {
        if g.direct() && n > 2 && bytes >= READ {
            return broadcast_read(g, dest, source, bytes, root);
        }
        if n > FLAT {
            let v = (me + n - root) % n;
            let mut from = source.at;
            if v != 0 {
                g.await_from(0, (parent(v) + root) % n);
                from = dest.at;
            }
            for child in children(v, n) {
                let rank = (child + root) % n;
                g.put(rank, dest.offset, from, bytes);
                g.tell(0, rank);
            }
        } else if me == root {
            for rank in g.others() {
                g.put(rank, dest.offset, source.at, bytes);
                g.tell(0, rank);
            }
        } else {
            g.await_from(0, root);
        }
    }
}

/// As [`broadcast`]: the members copy, and tell the root once it may reuse its source.
#[inline(never)]
unsafe fn broadcast_read<G: Group>(g: &G, dest: Place, source: Place, bytes: usize, root: usize) {
    if g.rank() == root {
        for rank in g.others() {
            g.tell(0, rank);
        }
        g.await_all(1);
    } else {
        g.await_from(0, root);
        // SAFETY: passed on.
        unsafe { g.get(root, source.offset, dest.at, bytes) };
        g.tell(1, root);
    }
}

/// Everybody's `source` to `dest` of everybody, in order of their numbers.
///
/// # Safety
/// `dest` holds `bytes` for each member, `source` holds `bytes`; the program orders its accesses.
#[inline]
pub(crate) unsafe fn fcollect<G: Group>(g: &G, dest: Place, source: *const u8, bytes: usize) {
    let at = g.rank() * bytes;
    // SAFETY: passed on.
    unsafe { give_all(g, dest, at, source, bytes) };
}

/// As [`fcollect`], with a size of each member's own. `dest` is asked for the place that holds so many bytes.
///
/// # Safety
/// As [`fcollect`].
pub(crate) unsafe fn collect<G: Group>(
    g: &G,
    dest: impl FnOnce(usize) -> Place,
    source: *const u8,
    bytes: usize,
) {
    let before = g.prefix(bytes as u64) as usize;
    // SAFETY: passed on.
    unsafe { give_all(g, dest(before + bytes), before, source, bytes) };
}

/// # Safety
/// `dest` holds what all members give, `bytes` of them this one's, at `at`.
#[inline]
unsafe fn give_all<G: Group>(g: &G, dest: Place, at: usize, source: *const u8, bytes: usize) {
    // SAFETY: passed on; a source that is its own place in dest is copied onto itself.
    unsafe {
        for rank in g.others() {
            g.put(rank, dest.offset + at as u64, source, bytes);
            g.tell(0, rank);
        }
        core::ptr::copy(source, dest.at.add(at), bytes);
    }
    g.await_all(0);
}

/// Block `j` of everybody's `source` to `j`'s `dest`, in order of their numbers.
///
/// # Safety
/// `dest` and `source` hold `bytes` for each member; the program orders its accesses.
#[inline]
pub(crate) unsafe fn alltoall<G: Group>(g: &G, dest: Place, source: *const u8, bytes: usize) {
    let at = g.rank() * bytes;
    // SAFETY: passed on.
    unsafe {
        for rank in g.others() {
            g.put(
                rank,
                dest.offset + at as u64,
                source.add(rank * bytes),
                bytes,
            );
            g.tell(0, rank);
        }
        core::ptr::copy(source.add(at), dest.at.add(at), bytes);
    }
    g.await_all(0);
}

/// Strides of an [`alltoalls`], in elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strides {
    pub(crate) dest: usize,
    pub(crate) source: usize,
    /// Bytes of an element.
    pub(crate) elem: usize,
    /// Elements for each member.
    pub(crate) count: usize,
}

impl Strides {
    /// Bytes from the first to behind the last element, of `members` blocks.
    pub(crate) fn span(&self, stride: usize, members: usize) -> usize {
        ((members * self.count - 1) * stride + 1) * self.elem
    }
}

/// As [`alltoall`], of elements that lie apart.
///
/// # Safety
/// As [`alltoall`], for the strides.
pub(crate) unsafe fn alltoalls<G: Group>(g: &G, dest: Place, source: *const u8, s: Strides) {
    let me = g.rank();
    let to = |i: usize| (me * s.count + i) * s.dest * s.elem;
    let from = |rank: usize, i: usize| (rank * s.count + i) * s.source * s.elem;
    // SAFETY: passed on.
    unsafe {
        for rank in g.others() {
            let base = g.base(rank);
            if base.is_null() {
                for i in 0..s.count {
                    g.put(
                        rank,
                        dest.offset + to(i) as u64,
                        source.add(from(rank, i)),
                        s.elem,
                    );
                }
            } else {
                let dest = base.wrapping_add(dest.offset as usize);
                for i in 0..s.count {
                    core::ptr::copy_nonoverlapping(
                        source.add(from(rank, i)),
                        dest.wrapping_add(to(i)),
                        s.elem,
                    );
                }
            }
            g.tell(0, rank);
        }
        for i in 0..s.count {
            core::ptr::copy(source.add(from(me, i)), dest.at.add(to(i)), s.elem);
        }
    }
    g.await_all(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dissemination_reaches_everybody() {
        for n in 1..70usize {
            // Who knows of whom, as bits.
            let mut knows: Vec<u128> = (0..n).map(|i| 1 << i).collect();
            let mut last = 0;
            for (round, distance) in rounds(n) {
                let before = knows.clone();
                for (i, k) in knows.iter_mut().enumerate() {
                    *k |= before[(i + n - distance) % n];
                }
                last = round + 1;
            }
            assert!(knows.iter().all(|k| k.count_ones() as usize == n), "{n}");
            assert!(last < super::super::group::PHASES);
        }
    }

    #[test]
    fn trees_reach_everybody_once_and_parents_tell_their_children() {
        for n in 1..70 {
            let mut heard = vec![0; n];
            for v in 0..n {
                for c in children(v, n) {
                    assert_eq!(parent(c), v);
                    heard[c] += 1;
                }
            }
            assert_eq!(heard[0], 0);
            assert!(heard[1..].iter().all(|&h| h == 1), "{n}: {heard:?}");
        }
    }

    #[test]
    fn spans_of_strided_blocks() {
        let s = Strides {
            dest: 3,
            source: 1,
            elem: 4,
            count: 2,
        };
        // Two members' elements at 0, 3, 6 and 9.
        assert_eq!(s.span(s.dest, 2), 40);
        assert_eq!(s.span(s.source, 2), 16);
    }
}
