//! Collectives between one rank and all others, along binomial trees: broadcast, gather, scatter.
//!
//! Ranks are counted from the root. The children of rank `r` are `r + 2^k` for all `2^k` below the lowest bit that is
//! set in `r` (for the root: below the number of ranks). The subtree of `r + 2^k` has up to `2^k` ranks, beginning
//! with `r + 2^k`.

use super::{Builder, GETS, GIVES};
use crate::graph::{Error, Graph, Work};
use crate::memory::Buffer;

/// A rank's place in the tree.
pub(super) struct Place {
    /// This rank, counted from the root.
    pub(super) me: u32,
    ranks: u32,
    root: u32,
}

impl Place {
    pub(super) fn new(rank: u32, ranks: u32, root: u32) -> Result<Place, Error> {
        if root >= ranks || rank >= ranks {
            let rank = root.max(rank);
            return Err(Error::Rank { rank, ranks });
        }
        Ok(Place {
            me: ((u64::from(rank) + u64::from(ranks - root)) % u64::from(ranks)) as u32,
            ranks,
            root,
        })
    }

    /// The job's rank that has number `r` counted from the root.
    pub(super) fn real(&self, r: u32) -> u32 {
        ((u64::from(r) + u64::from(self.root)) % u64::from(self.ranks)) as u32
    }

    /// The parent; `None` for the root.
    pub(super) fn parent(&self) -> Option<u32> {
        (self.me != 0).then(|| self.me & (self.me - 1))
    }

    /// The children with the size of each one's subtree. The largest subtree comes first.
    pub(super) fn children(&self) -> Vec<(u32, u32)> {
        let most = if self.me == 0 {
            self.ranks.next_power_of_two()
        } else {
            self.me & self.me.wrapping_neg()
        };
        let mut found = Vec::new();
        let mut bit = most / 2;
        while bit > 0 {
            let child = self.me + bit;
            if child < self.ranks {
                found.push((child, bit.min(self.ranks - child)));
            }
            bit /= 2;
        }
        found
    }

    /// The number of ranks in this rank's subtree, itself included.
    fn size(&self) -> u32 {
        1 + self.children().iter().map(|(_, n)| n).sum::<u32>()
    }
}

/// All ranks get the root's input.
///
/// # Errors
/// Those of [`Graph::new`], or a root that does not exist.
pub fn broadcast(rank: u32, ranks: u32, root: u32, bytes: u64) -> Result<Graph, Error> {
    let place = Place::new(rank, ranks, root)?;
    let mut b = Builder::new(rank, ranks, if rank == root { bytes } else { 0 }, bytes)?;
    let whole = Buffer::user(GETS, 0, bytes);
    let here = match place.parent() {
        Some(parent) => b.recv(place.real(parent), 0, whole, &[])?,
        None => b.copy(whole, Buffer::user(GIVES, 0, bytes), &[])?,
    };
    for (child, _) in place.children() {
        b.send(place.real(child), 0, whole, &[here])?;
    }
    Ok(b.done())
}

/// Where the blocks of `n` ranks lie in a user's segment, beginning with rank `first` counted from the root: one
/// piece or two.
fn blocks(place: &Place, segment: u16, first: u32, n: u32, bytes: u64) -> Vec<Buffer> {
    let start = place.real(first);
    let before_end = n.min(place.ranks - start);
    let mut pieces = vec![Buffer::user(
        segment,
        bytes * u64::from(start),
        bytes * u64::from(before_end),
    )];
    if before_end < n {
        pieces.push(Buffer::user(segment, 0, bytes * u64::from(n - before_end)));
    }
    pieces
}

/// The root gets the blocks of all ranks, in order.
///
/// # Errors
/// Those of [`broadcast`].
pub fn gather(rank: u32, ranks: u32, root: u32, bytes: u64) -> Result<Graph, Error> {
    let place = Place::new(rank, ranks, root)?;
    let at_root = place.parent().is_none();
    let all = bytes.saturating_mul(ranks.into());
    let mut b = Builder::new(rank, ranks, bytes, if at_root { all } else { 0 })?;
    let own = Buffer::user(GIVES, 0, bytes);
    // A rank other than the root collects blocks in the scratchpad, its own first.
    let area = if at_root {
        0
    } else {
        b.graph.scratch(bytes * u64::from(place.size()))
    };
    let (first, me) = (place.me, place.me);
    let into = |from: u32, n: u32| {
        if at_root {
            blocks(&place, GETS, from, n, bytes)
        } else {
            vec![Buffer::scratch(
                area + bytes * u64::from(from - first),
                bytes * u64::from(n),
            )]
        }
    };
    let mut here = vec![b.add(
        Work::Copy {
            into: into(me, 1),
            from: vec![own],
        },
        &[],
    )?];
    for (child, n) in place.children() {
        let got = b.add(
            Work::Recv {
                from: place.real(child),
                tag: 0,
                into: into(child, n),
            },
            &[],
        )?;
        here.push(got);
    }
    if let Some(parent) = place.parent() {
        b.send(
            place.real(parent),
            0,
            Buffer::scratch(area, bytes * u64::from(place.size())),
            &here,
        )?;
    }
    Ok(b.done())
}

/// Each rank gets its block of the root's input.
///
/// # Errors
/// Those of [`broadcast`].
pub fn scatter(rank: u32, ranks: u32, root: u32, bytes: u64) -> Result<Graph, Error> {
    let place = Place::new(rank, ranks, root)?;
    let all = bytes.saturating_mul(ranks.into());
    let at_root = place.parent().is_none();
    let mut b = Builder::new(rank, ranks, if at_root { all } else { 0 }, bytes)?;
    let own = Buffer::user(GETS, 0, bytes);
    let Some(parent) = place.parent() else {
        b.copy(
            own,
            Buffer::user(GIVES, bytes * u64::from(root), bytes),
            &[],
        )?;
        for (child, n) in place.children() {
            let work = Work::Send {
                to: place.real(child),
                tag: 0,
                from: blocks(&place, GIVES, child, n, bytes),
            };
            b.add(work, &[])?;
        }
        return Ok(b.done());
    };
    let area = b.graph.scratch(bytes * u64::from(place.size()));
    let at = |r: u32, n: u32| {
        Buffer::scratch(area + bytes * u64::from(r - place.me), bytes * u64::from(n))
    };
    let got = b.recv(place.real(parent), 0, at(place.me, place.size()), &[])?;
    b.copy(own, at(place.me, 1), &[got])?;
    for (child, n) in place.children() {
        b.send(place.real(child), 0, at(child, n), &[got])?;
    }
    Ok(b.done())
}
