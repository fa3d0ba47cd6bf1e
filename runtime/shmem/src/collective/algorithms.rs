//! Barriers and collectives that only move data.
//!
//! OpenSHMEM asks the program to have `dest` ready on all PEs before any PE calls (specification 1.5, section 9.11).
//! So a member that has data writes it at once to its final place: one hop, with a flag after the data.

use super::group::{Group, Place};
use super::rounds::{children, parent, FLAT};

/// From this size on (bytes), the members of a mapped group of more than two read a broadcast themselves, all at the
/// same time.
const READ: usize = 32 << 10;
/// From this block size on (bytes), members also read what others have for them. The cache lines of `dest` then stay
/// with their owner, who had them last and will use them next. This saves a third of the time of copying, and costs a
/// second round of flags, which takes longer than a small copy if PEs share cores.
const TAKE: usize = 256 << 10;

/// Copies the root's `source` to `dest` of all other members.
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

/// [`broadcast`] in which the members copy, and tell the root when it may reuse its source.
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

/// Copies every member's `source` to every member's `dest`, in the order of ranks.
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

/// Reads block `r` of `dest` from the source of member `r`, at offset `at`; blocks have `bytes` bytes.
///
/// # Safety
/// `dest` has room for a block of each member, and each source holds a block at `at`.
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

/// Like [`fcollect`], but each member has its own size. `dest` is called with the sum of all sizes so far, and
/// returns a place of that many bytes. A member that contributes nothing does not call it: if no member contributes
/// anything, the program may pass any address.
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
        // The other members' bytes are here once they have told so.
        g.meet(0);
        return;
    }
    // SAFETY: this function's contract: `dest` holds `bytes` for each member, `source` holds `bytes`; the program
    // orders its accesses.
    unsafe { give_all(g, dest(before + bytes), before, source, bytes) };
}

/// # Safety
/// `dest` has room for what all members give; this member's `bytes` go to offset `at`.
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

/// Copies block `j` of every member's `source` to `j`'s `dest`, in the order of ranks.
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
    /// Bytes from the first element to the end of the last one, for `members` blocks. A number that does not fit
    /// becomes one that is larger than any memory.
    pub(crate) fn span(&self, stride: usize, members: usize) -> usize {
        members
            .checked_mul(self.count)
            .and_then(|n| (n - 1).checked_mul(stride))
            .and_then(|n| n.checked_add(1)?.checked_mul(self.elem))
            .unwrap_or(usize::MAX)
    }
}

/// Like [`alltoall`], for elements that do not lie next to each other.
///
/// # Safety
/// As [`alltoall`], for all elements that the strides reach.
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
        // The elements of two members lie at 0, 3, 6 and 9.
        assert_eq!(s.span(s.dest, 2), 40);
        assert_eq!(s.span(s.source, 2), 16);
        assert_eq!(s.span(usize::MAX / 2, 2), usize::MAX);
    }
}
