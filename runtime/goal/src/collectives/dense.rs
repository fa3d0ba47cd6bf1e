//! Everybody with everybody: barrier, allgather, all-to-all.

use super::{Builder, GETS, GIVES};
use crate::graph::{Error, Graph, OpId, Work};
use crate::memory::Buffer;

/// A barrier: complete on a rank once it has begun on all.
///
/// # Errors
/// As [`Graph::new`].
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

/// Every rank gets the blocks of all, in order of their ranks. Blocks go round in log2 steps, each twice as many.
///
/// # Errors
/// As [`Graph::new`].
pub fn allgather(rank: u32, ranks: u32, bytes: u64) -> Result<Graph, Error> {
    let all = bytes.saturating_mul(ranks.into());
    let mut b = Builder::new(rank, ranks, bytes, all)?;
    // Block `i` here is of rank `me + i`, so that what goes on is in one piece; it is turned at the end.
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

/// An allgather around a ring, for long blocks: each rank sends to the next rank only.
///
/// # Errors
/// As [`Graph::new`].
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

/// Rank `i` gets block `i` of every rank: one message for each pair, all at once.
///
/// # Errors
/// As [`Graph::new`].
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

/// An all-to-all in log2 steps of half the blocks each (Bruck et al.), for short blocks.
///
/// # Errors
/// As [`Graph::new`].
pub fn alltoall_bruck(rank: u32, ranks: u32, bytes: u64) -> Result<Graph, Error> {
    let all = bytes.saturating_mul(ranks.into());
    let mut b = Builder::new(rank, ranks, all, all)?;
    // A block that leaves is replaced by one that comes. Both at one place would make the receive wait for the send,
    // and with messages that wait for their receives every rank for the next one: so there are two places, by turns.
    let areas = [b.graph.scratch(all), b.graph.scratch(all)];
    let at = |area: usize, i: u32| Buffer::scratch(areas[area] + bytes * u64::from(i), bytes);
    // Block `i` is to go `i` ranks up. It does so in steps of the powers of two that `i` consists of.
    let mut held: Vec<(usize, OpId)> = Vec::new();
    for i in 0..ranks {
        let from = Buffer::user(GIVES, bytes * u64::from(b.up(i)), bytes);
        held.push((0, b.copy(at(0, i), from, &[])?));
    }
    // Who used a place last.
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
        // What is at `i` now has gone up by `i`.
        let into = Buffer::user(GETS, bytes * u64::from(b.down(i)), bytes);
        let (area, op) = held[i as usize];
        b.copy(into, at(area, i), &[op])?;
    }
    Ok(b.done())
}
