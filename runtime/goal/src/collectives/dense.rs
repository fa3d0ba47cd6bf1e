//! Collectives between all ranks: barrier, allgather, all-to-all.

use super::{Builder, GETS, GIVES};
use crate::graph::{Error, Graph, OpId, Work};
use crate::memory::Buffer;

/// A barrier: it is complete on a rank after it has begun on all ranks.
///
/// # Errors
/// Those of [`Graph::new`].
pub fn barrier(rank: u32, ranks: u32) -> Result<Graph, Error> {
    let mut b = Builder::new(rank, ranks, 0, 0)?;
    let mut heard: Vec<OpId> = Vec::new();
    let mut distance = 1;
    while distance < ranks {
        let empty = Buffer::void(0);
        b.send(b.up(distance), distance, empty, &heard)?;
        let from = b.recv(b.down(distance), distance, empty, &[])?;
        heard.push(from);
        distance = distance.saturating_mul(2);
    }
    Ok(b.done())
}

/// Every rank gets the blocks of all ranks, in order. Takes log2 steps, and each step sends twice as many blocks as
/// the one before.
///
/// # Errors
/// Those of [`Graph::new`].
pub fn allgather(rank: u32, ranks: u32, bytes: u64) -> Result<Graph, Error> {
    let all = bytes.saturating_mul(ranks.into());
    let mut b = Builder::new(rank, ranks, bytes, all)?;
    // Block `i` of this area belongs to rank `me + i`, so that what is sent is in one piece. The blocks are put in
    // order at the end.
    let area = b.graph.scratch(all);
    let at = |i: u32, n: u32| Buffer::scratch(area + bytes * u64::from(i), bytes * u64::from(n));
    let mut here = vec![b.copy(at(0, 1), Buffer::user(GIVES, 0, bytes), &[])?];
    let mut have = 1;
    while have < ranks {
        let n = have.min(ranks - have);
        b.send(b.down(have), have, at(0, n), &here)?;
        let got = b.recv(b.up(have), have, at(have, n), &[])?;
        here.push(got);
        have += n;
    }
    let me = b.me();
    b.copy(
        Buffer::user(GETS, bytes * u64::from(me), bytes * u64::from(ranks - me)),
        at(0, ranks - me),
        &here,
    )?;
    b.copy(
        Buffer::user(GETS, 0, bytes * u64::from(me)),
        at(ranks - me, me),
        &here,
    )?;
    Ok(b.done())
}

/// An allgather for long blocks: each rank sends to the next rank only, around a ring.
///
/// # Errors
/// Those of [`Graph::new`].
pub fn allgather_ring(rank: u32, ranks: u32, bytes: u64) -> Result<Graph, Error> {
    let mut b = Builder::new(rank, ranks, bytes, bytes.saturating_mul(ranks.into()))?;
    let of = |r: u32| Buffer::user(GETS, bytes * u64::from(r), bytes);
    let mut last = b.copy(of(rank), Buffer::user(GIVES, 0, bytes), &[])?;
    for step in 0..ranks - 1 {
        b.send(b.up(1), step, of(b.down(step)), &[last])?;
        last = b.recv(b.down(1), step, of(b.down(step + 1)), &[])?;
    }
    Ok(b.done())
}

/// Rank `i` gets block `i` of every rank. One message for each pair of ranks, all at the same time.
///
/// # Errors
/// Those of [`Graph::new`].
pub fn alltoall(rank: u32, ranks: u32, bytes: u64) -> Result<Graph, Error> {
    let all = bytes.saturating_mul(ranks.into());
    let mut b = Builder::new(rank, ranks, all, all)?;
    let part = |segment, r: u32| Buffer::user(segment, bytes * u64::from(r), bytes);
    b.copy(part(GETS, rank), part(GIVES, rank), &[])?;
    for distance in 1..ranks {
        let (to, from) = (b.up(distance), b.down(distance));
        b.recv(from, 0, part(GETS, from), &[])?;
        b.send(to, 0, part(GIVES, to), &[])?;
    }
    Ok(b.done())
}

/// An all-to-all for short blocks, in log2 steps that send half of the blocks each (Bruck et al.).
///
/// # Errors
/// Those of [`Graph::new`].
pub fn alltoall_bruck(rank: u32, ranks: u32, bytes: u64) -> Result<Graph, Error> {
    let all = bytes.saturating_mul(ranks.into());
    let mut b = Builder::new(rank, ranks, all, all)?;
    // In each step a block that comes replaces one that leaves. In one place, the receive would have to wait for the
    // send; and where sends wait for their receives, every rank would wait for the next one. So there are two places,
    // used alternately.
    let areas = [b.graph.scratch(all), b.graph.scratch(all)];
    let at = |area: usize, i: u32| Buffer::scratch(areas[area] + bytes * u64::from(i), bytes);
    // Block `i` has to go `i` ranks up. It does so in steps of the powers of two whose sum is `i`.
    let mut held: Vec<(usize, OpId)> = Vec::new();
    for i in 0..ranks {
        let from = Buffer::user(GIVES, bytes * u64::from(b.up(i)), bytes);
        held.push((0, b.copy(at(0, i), from, &[])?));
    }
    // The operation that used a place last.
    let mut left: [Vec<Option<OpId>>; 2] = [vec![None; ranks as usize], vec![None; ranks as usize]];
    let mut step = 1;
    while step < ranks {
        let moving: Vec<usize> = (0..ranks as usize)
            .filter(|i| i & step as usize != 0)
            .collect();
        let pieces = |turned: usize| -> Vec<Buffer> {
            moving
                .iter()
                .map(|i| at(held[*i].0 ^ turned, *i as u32))
                .collect()
        };
        let (from, into) = (pieces(0), pieces(1));
        let here: Vec<OpId> = moving.iter().map(|i| held[*i].1).collect();
        let free: Vec<OpId> = moving
            .iter()
            .filter_map(|i| left[held[*i].0 ^ 1][*i])
            .collect();
        let to = b.up(step);
        let sent = b.add(
            Work::Send {
                to,
                tag: step,
                from,
            },
            &here,
        )?;
        let source = b.down(step);
        let work = Work::Recv {
            from: source,
            tag: step,
            into,
        };
        let got = b.add(work, &free)?;
        for i in moving {
            let area = held[i].0;
            left[area][i] = Some(sent);
            held[i] = (area ^ 1, got);
        }
        step = step.saturating_mul(2);
    }
    for i in 0..ranks {
        // The block at index `i` has come from the rank `i` below.
        let into = Buffer::user(GETS, bytes * u64::from(b.down(i)), bytes);
        let (area, op) = held[i as usize];
        b.copy(into, at(area, i), &[op])?;
    }
    Ok(b.done())
}
