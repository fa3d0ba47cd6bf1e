//! Exchange with the neighbours of a topology that the user gives (paper, section 1).
//!
//! `sources` are the ranks from which this rank gets blocks, `destinations` those to which it gives blocks, in the
//! user's order. A rank may be listed several times. If rank `a` lists `b` n times as a destination, then `b` lists
//! `a` n times as a source; the first destination belongs to the first source, and so on. What a rank gives itself is
//! copied.

use super::{Builder, GETS, GIVES};
use crate::graph::{Error, Graph};
use crate::map::HashMap;
use crate::memory::Buffer;

/// Input block `i` goes to destination `i`; output block `i` comes from source `i`.
///
/// # Errors
/// Those of [`Graph::new`], or a neighbour that does not exist.
pub fn neighbour_alltoall(
    rank: u32,
    ranks: u32,
    sources: &[u32],
    destinations: &[u32],
    bytes: u64,
) -> Result<Graph, Error> {
    exchange(rank, ranks, sources, destinations, bytes, true)
}

/// The input is one block, which goes to all destinations.
///
/// # Errors
/// Those of [`neighbour_alltoall`].
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
    let gets = |i: usize| Buffer::user(GETS, bytes * i as u64, bytes);
    let given = |i: usize| Buffer::user(GIVES, if apart { bytes * i as u64 } else { 0 }, bytes);
    let is_me = |peer: &(usize, &u32)| *peer.1 == rank;
    let from_me = sources.iter().enumerate().filter(is_me);
    let to_me = destinations.iter().enumerate().filter(is_me);
    let copies: Vec<(usize, usize)> = from_me.zip(to_me).map(|((i, _), (k, _))| (i, k)).collect();
    // A neighbour that is listed twice gets two tags, because messages with equal tags have no defined order.
    let mut named: HashMap<u32, u32> = HashMap::default();
    for (i, from) in sources.iter().enumerate() {
        let n = named.entry(*from).or_default();
        *n += 1;
        if let Some((_, k)) = copies.iter().find(|c| c.0 == i) {
            b.copy(gets(i), given(*k), &[])?;
        } else {
            b.recv(*from, *n - 1, gets(i), &[])?;
        }
    }
    named.clear();
    for (k, to) in destinations.iter().enumerate() {
        let n = named.entry(*to).or_default();
        *n += 1;
        if copies.iter().all(|c| c.1 != k) {
            b.send(*to, *n - 1, given(k), &[])?;
        }
    }
    Ok(b.done())
}
