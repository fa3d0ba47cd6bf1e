//! Barriers and collectives that only move data.
//!
//! OpenSHMEM asks the program to have `dest` ready on all PEs before anybody calls (specification 1.5, section
//! 9.11), so that whoever has data writes them to where they belong at once: one hop, data and a flag behind.

use super::group::{Group, Place};
use super::rounds::{children, parent, FLAT};

/// From this size on, members of a mapped group of more than two read a broadcast themselves, all at a time.
const READ: usize = 32 << 10;
/// From this size of a block on, they read what others have for them, too: lines of `dest` then stay with their owner,
/// who had them last and uses them next. That saves a third of the time of copying, and costs a second round of
/// flags, which takes longer than a small copy where PEs share cores.
const TAKE: usize = 256 << 10;

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
    // SAFETY: this function's contract: the places hold `bytes`, and the program orders its accesses; `source` is
    // the root's.
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
        // SAFETY: the places hold `bytes`: the contract of `broadcast`, the only caller. The root has said that
        // its source is ready.
        unsafe { g.get(root, source.offset, dest.at, bytes) };
        g.tell(1, root);
    }
}

/// Everybody's `source` to `dest` of everybody, in order of their numbers.
///
/// # Safety
/// `dest` holds `bytes` for each member, `source` holds `bytes`; the program orders its accesses.
#[inline]
pub(crate) unsafe fn fcollect<G: Group>(g: &G, dest: Place, source: Place, bytes: usize) {
    let at = g.rank() * bytes;
    // SAFETY: this function's contract: `dest` holds `bytes` for each member, `source` holds `bytes`; the program
    // orders its accesses.
    unsafe {
        if g.direct() && bytes >= TAKE {
            take_all(g, dest, source, 0, bytes);
        } else {
            give_all(g, dest, at, source.at, bytes);
        }
    }
}

/// Block `r` of `dest` from `at` in the source of member `r`, of `bytes` each.
///
/// # Safety
/// `dest` holds a block of each member, sources hold one at `at`.
#[inline(never)]
unsafe fn take_all<G: Group>(g: &G, dest: Place, source: Place, at: usize, bytes: usize) {
    g.meet(0);
    // SAFETY: this function's contract: `dest` holds a block of each member, sources hold one at `at`. Everybody's
    // source is ready, and stays so until the second meeting.
    unsafe {
        for rank in g.others() {
            g.get(
                rank,
                source.offset + at as u64,
                dest.at.add(rank * bytes),
                bytes,
            );
        }
        let own = g.rank() * bytes;
        core::ptr::copy(source.at.add(at), dest.at.add(own), bytes);
    }
    g.meet(1);
}

/// As [`fcollect`], with a size of each member's own. `dest` is given the sum of all sizes, and answers with the place that
/// holds as many bytes. A member that gives nothing does not ask: where no member gives anything, the program may pass any
/// address.
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
    if bytes == 0 {
        // The others' bytes are here once they have told.
        g.meet(0);
        return;
    }
    // SAFETY: this function's contract: `dest` holds `bytes` for each member, `source` holds `bytes`; the program
    // orders its accesses.
    unsafe { give_all(g, dest(before + bytes), before, source, bytes) };
}

/// # Safety
/// `dest` holds what all members give, `bytes` of them this one's, at `at`.
#[inline]
unsafe fn give_all<G: Group>(g: &G, dest: Place, at: usize, source: *const u8, bytes: usize) {
    // SAFETY: this function's contract: `dest` holds what all members give, `bytes` of them this one's, at `at`. A
    // source that is its own place in dest is copied onto itself.
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
pub(crate) unsafe fn alltoall<G: Group>(g: &G, dest: Place, source: Place, bytes: usize) {
    let at = g.rank() * bytes;
    // SAFETY: this function's contract: `dest` and `source` hold `bytes` for each member; the program orders its
    // accesses.
    unsafe {
        if g.direct() && bytes >= TAKE {
            return take_all(g, dest, source, at, bytes);
        }
        let source = source.at;
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
    /// Bytes from the first to behind the last element, of `members` blocks; more than memory has where that does
    /// not fit.
    pub(crate) fn span(&self, stride: usize, members: usize) -> usize {
        members
            .checked_mul(self.count)
            .and_then(|n| (n - 1).checked_mul(stride))
            .and_then(|n| n.checked_add(1)?.checked_mul(self.elem))
            .unwrap_or(usize::MAX)
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
    // SAFETY: this function's contract: `dest` and `source` hold `bytes` for each member; the program orders its
    // accesses. That is as many as the strides reach.
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
        assert_eq!(s.span(usize::MAX / 2, 2), usize::MAX);
    }
}
