//! Reductions: to one rank, to all ranks, of one block to each rank, and of the ranks up to each rank.

use super::tree::Place;
use super::{block, Builder, Vector, GETS, GIVES};
use crate::graph::{Error, Graph, OpId};
use crate::memory::Buffer;

/// The root gets the combination of all ranks' vectors.
///
/// # Errors
/// Those of [`super::broadcast`].
pub fn reduce(rank: u32, ranks: u32, root: u32, v: Vector) -> Result<Graph, Error> {
    let place = Place::new(rank, ranks, root)?;
    let bytes = v.bytes();
    let at_root = place.parent().is_none();
    let mut b = Builder::new(rank, ranks, bytes, if at_root { bytes } else { 0 })?;
    let sum = if at_root {
        Buffer::user(GETS, 0, bytes)
    } else {
        Buffer::scratch(b.graph.scratch(bytes), bytes)
    };
    let mut last = b.copy(sum, Buffer::user(GIVES, 0, bytes), &[])?;
    // The nearest child first, so that ranks are combined in the order of their distance from the root.
    for (child, _) in place.children().into_iter().rev() {
        let operand = Buffer::scratch(b.graph.scratch(bytes), bytes);
        let got = b.recv(place.real(child), 0, operand, &[])?;
        last = b.combine(v, sum, operand, &[last, got])?;
    }
    if let Some(parent) = place.parent() {
        b.send(place.real(parent), 0, sum, &[last])?;
    }
    Ok(b.done())
}

/// All ranks get the combination of all vectors. Recursive doubling, for short vectors.
///
/// # Errors
/// Those of [`Graph::new`].
pub fn allreduce(rank: u32, ranks: u32, v: Vector) -> Result<Graph, Error> {
    let bytes = v.bytes();
    let mut b = Builder::new(rank, ranks, bytes, bytes)?;
    let sum = Buffer::user(GETS, 0, bytes);
    let start = b.copy(sum, Buffer::user(GIVES, 0, bytes), &[])?;
    // The first `2 * rest` ranks form pairs: the odd rank gives its vector to the even one, which takes part for
    // both.
    let power = 1 << ranks.ilog2();
    let rest = ranks - power;
    let in_pair = rank < 2 * rest;
    let fold = u32::MAX;
    if in_pair && rank % 2 == 1 {
        let gone = b.send(rank - 1, fold, sum, &[start])?;
        b.recv(rank - 1, fold, sum, &[gone])?;
        return Ok(b.done());
    }
    let mut last = start;
    if in_pair {
        let operand = Buffer::scratch(b.graph.scratch(bytes), bytes);
        let got = b.recv(rank + 1, fold, operand, &[])?;
        last = b.combine(v, sum, operand, &[last, got])?;
    }
    let player = if in_pair { rank / 2 } else { rank - rest };
    let real = |p: u32| if p < rest { 2 * p } else { p + rest };
    let mut bit = 1;
    while bit < power {
        let other = real(player ^ bit);
        let gone = b.send(other, bit, sum, &[last])?;
        let operand = Buffer::scratch(b.graph.scratch(bytes), bytes);
        let got = b.recv(other, bit, operand, &[])?;
        // The sum may change only after it was sent.
        last = b.combine(v, sum, operand, &[last, gone, got])?;
        bit *= 2;
    }
    if in_pair {
        b.send(rank + 1, fold, sum, &[last])?;
    }
    Ok(b.done())
}

/// An allreduce for long vectors, in two turns around a ring: in the first each rank combines one block, in the
/// second the combined blocks go round.
///
/// # Errors
/// Those of [`Graph::new`].
pub fn allreduce_ring(rank: u32, ranks: u32, v: Vector) -> Result<Graph, Error> {
    let (bytes, size) = (v.bytes(), v.element.bytes());
    let mut b = Builder::new(rank, ranks, bytes, bytes)?;
    let start = b.copy(
        Buffer::user(GETS, 0, bytes),
        Buffer::user(GIVES, 0, bytes),
        &[],
    )?;
    let part = |r: u32| {
        let (from, n) = block(v.count, ranks, r);
        Buffer::user(GETS, from * size, n * size)
    };
    let mut last = start;
    for step in 0..ranks - 1 {
        b.send(b.up(1), step, part(b.down(step)), &[last])?;
        let mine = part(b.down(step + 1));
        let operand = Buffer::scratch(b.graph.scratch(mine.bytes), mine.bytes);
        let got = b.recv(b.down(1), step, operand, &[])?;
        last = b.combine(v, mine, operand, &[start, got])?;
    }
    // The block after this rank's own is complete now.
    for step in 0..ranks - 1 {
        let tag = ranks + step;
        b.send(
            b.up(1),
            tag,
            part((b.up(1) + ranks - step) % ranks),
            &[last],
        )?;
        let place = part((b.me() + ranks - step) % ranks);
        // The receive overwrites a block that was sent in the first turn, and was combined before that.
        let after: Vec<OpId> = b
            .graph
            .ops
            .iter()
            .enumerate()
            .filter(|(_, w)| {
                w.reads()
                    .iter()
                    .chain(w.writes())
                    .any(|p| p.overlaps(&place))
            })
            .map(|(i, _)| OpId(i as u32))
            .collect();
        last = b.recv(b.down(1), tag, place, &after)?;
    }
    Ok(b.done())
}

/// Rank `i` gets the combination of all ranks' blocks `i`; each block has `v.count` elements.
///
/// # Errors
/// Those of [`Graph::new`].
pub fn reduce_scatter_block(rank: u32, ranks: u32, v: Vector) -> Result<Graph, Error> {
    let bytes = v.bytes();
    let mut b = Builder::new(rank, ranks, bytes.saturating_mul(ranks.into()), bytes)?;
    let part = |r: u32| Buffer::user(GIVES, bytes * u64::from(r), bytes);
    let sum = Buffer::user(GETS, 0, bytes);
    let mut last = b.copy(sum, part(rank), &[])?;
    for distance in 1..ranks {
        b.send(b.up(distance), 0, part(b.up(distance)), &[])?;
        let operand = Buffer::scratch(b.graph.scratch(bytes), bytes);
        let got = b.recv(b.down(distance), 0, operand, &[])?;
        last = b.combine(v, sum, operand, &[last, got])?;
    }
    Ok(b.done())
}

/// Rank `i` gets the combination of the vectors of ranks 0 to `i`: recursive doubling.
///
/// # Errors
/// Those of [`Graph::new`].
pub fn scan(rank: u32, ranks: u32, v: Vector) -> Result<Graph, Error> {
    let bytes = v.bytes();
    let mut b = Builder::new(rank, ranks, bytes, bytes)?;
    let sum = Buffer::user(GETS, 0, bytes);
    let mut last = b.copy(sum, Buffer::user(GIVES, 0, bytes), &[])?;
    let mut distance = 1;
    while distance < ranks {
        // Here `sum` combines the `distance` ranks up to this one.
        let mut before = vec![last];
        if rank + distance < ranks {
            before.push(b.send(rank + distance, distance, sum, &[last])?);
        }
        if rank >= distance {
            let operand = Buffer::scratch(b.graph.scratch(bytes), bytes);
            before.push(b.recv(rank - distance, distance, operand, &[])?);
            last = b.combine(v, sum, operand, &before)?;
        }
        distance = distance.saturating_mul(2);
    }
    Ok(b.done())
}

/// Rank `i` gets the combination of the vectors of ranks 0 to `i - 1`, rank 0 nothing: recursive doubling.
///
/// # Errors
/// Those of [`Graph::new`].
pub fn exclusive_scan(rank: u32, ranks: u32, v: Vector) -> Result<Graph, Error> {
    let bytes = v.bytes();
    let mut b = Builder::new(rank, ranks, bytes, if rank == 0 { 0 } else { bytes })?;
    let result = Buffer::user(GETS, 0, bytes);
    // What combines the `distance` ranks up to this one, and who has written it.
    let mut sum = Buffer::user(GIVES, 0, bytes);
    let (mut summed, mut last): (Vec<OpId>, Option<OpId>) = (Vec::new(), None);
    let mut distance = 1;
    while distance < ranks {
        let sent = match rank + distance {
            to if to < ranks => Some(b.send(to, distance, sum, &summed)?),
            _ => None,
        };
        if rank >= distance {
            let operand = Buffer::scratch(b.graph.scratch(bytes), bytes);
            let got = b.recv(rank - distance, distance, operand, &[])?;
            last = Some(match last {
                None => b.copy(result, operand, &[got])?,
                Some(last) => b.combine(v, result, operand, &[last, got])?,
            });
            if rank + 2 * distance < ranks {
                if distance == 1 {
                    sum = Buffer::scratch(b.graph.scratch(bytes), bytes);
                    summed = vec![b.copy(sum, Buffer::user(GIVES, 0, bytes), &[])?];
                }
                let before: Vec<OpId> = summed.iter().copied().chain(sent).chain([got]).collect();
                summed = vec![b.combine(v, sum, operand, &before)?];
            }
        }
        distance = distance.saturating_mul(2);
    }
    Ok(b.done())
}
