//! Exchange with the neighbours of a topology that the user gives (paper, section 1).
//!
//! `sources` are the ranks that this one gets from, `destinations` those that it gives to, in the user's order; one rank
//! may be there several times. If rank `a` names `b` among its destinations n times, `b` names `a` n times among its
//! sources: the first with the first, and so on.

use super::{Builder, GETS, GIVES};
use crate::graph::{Error, Graph};
use crate::map::HashMap;
use crate::memory::Buffer;

/// Block `i` of what is given goes to destination `i`; block `i` of what is got is of source `i`.
///
/// # Errors
/// As [`Graph::new`]; also for a neighbour that is no rank.
pub fn neighbour_alltoall(
    rank: u32,
    ranks: u32,
    sources: &[u32],
    destinations: &[u32],
    bytes: u64,
) -> Result<Graph, Error> {
    exchange(rank, ranks, sources, destinations, bytes, true)
}

/// The one block that is given goes to all destinations.
///
/// # Errors
/// As [`neighbour_alltoall`].
pub fn neighbour_allgather(
    rank: u32,
    ranks: u32,
    sources: &[u32],
    destinations: &[u32],
    bytes: u64,
) -> Result<Graph, Error> {
    exchange(rank, ranks, sources, destinations, bytes, false)
}

fn exchange(
    rank: u32,
    ranks: u32,
    sources: &[u32],
    destinations: &[u32],
    bytes: u64,
    apart: bool,
) -> Result<Graph, Error> {
    let gives = if apart { destinations.len() as u64 } else { 1 };
    let mut b = Builder::new(
        rank,
        ranks,
        bytes.saturating_mul(gives),
        bytes.saturating_mul(sources.len() as u64),
    )?;
    // A neighbour that is named twice gets two tags: the order of equal ones is nobody's.
    let mut named: HashMap<u32, u32> = HashMap::default();
    let mut next = |peer: u32| {
        let n = named.entry(peer).or_default();
        *n += 1;
        *n - 1
    };
    for (i, from) in sources.iter().enumerate() {
        b.recv(
            *from,
            next(*from),
            Buffer::user(GETS, bytes * i as u64, bytes),
            &[],
        )?;
    }
    let mut named: HashMap<u32, u32> = HashMap::default();
    for (i, to) in destinations.iter().enumerate() {
        let n = named.entry(*to).or_default();
        *n += 1;
        let at = if apart { bytes * i as u64 } else { 0 };
        b.send(*to, *n - 1, Buffer::user(GIVES, at, bytes), &[])?;
    }
    Ok(b.done())
}
