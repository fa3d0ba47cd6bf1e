//! Checks all ranks' graphs together: finds messages without a receive, receives without a message, messages that are
//! too long, and ranks that wait for each other in a circle.
//!
//! Operations with the same source, target and tag are matched in the order in which they stand in the graphs. If a
//! graph does not fix this order, a run may match them differently; but a partner that is missing here is missing
//! then too.

use crate::graph::{After, Graph, Work};
use crate::memory::total;
use core::fmt;
use std::collections::{BTreeMap, VecDeque};

/// An operation: its rank, and its index in the rank's graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The rank.
    pub rank: u32,
    /// The operation's index.
    pub operation: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} operation {}", self.rank, self.operation)
    }
}

/// What is wrong with a job's graphs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The graph at this index is for another number of ranks, or for another rank.
    Job(
        /// The graph's index.
        usize,
    ),
    /// A send that no receive takes.
    NotReceived(Place),
    /// A receive that no send serves.
    NotSent(Place),
    /// A message that is too long for its receive.
    TooLong {
        /// The send.
        send: Place,
        /// The receive.
        receive: Place,
        /// Bytes of the message, and of the receive.
        bytes: (u64, u64),
    },
    /// Operations that wait for each other: each waits for the next one, and the last for the first.
    Circle(
        /// In order.
        Vec<Place>,
    ),
    /// A circle that exists only if a send waits for its receive. A send does so if the message is long or the
    /// receiver has no room.
    Buffered(
        /// In order.
        Vec<Place>,
    ),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Job(n) => write!(
                f,
                "graph {n}: out of place (expected one for each rank, in order)"
            ),
            Finding::NotReceived(p) => write!(f, "{p}: sends a message that nobody receives"),
            Finding::NotSent(p) => write!(f, "{p}: receives a message that nobody sends"),
            Finding::TooLong {
                send,
                receive,
                bytes,
            } => write!(
                f,
                "{send}: sends {} bytes to {receive}, which has room for {}",
                bytes.0, bytes.1
            ),
            Finding::Circle(places) | Finding::Buffered(places) => {
                for (i, p) in places.iter().enumerate() {
                    write!(f, "{}{p}", if i == 0 { "" } else { ", waits for " })?;
                }
                f.write_str(match self {
                    Finding::Circle(_) => ": a circle",
                    _ => ": a circle, unless sends are complete before they are received",
                })
            }
        }
    }
}

/// All findings in the graphs of a job. Graph `i` is that of rank `i`.
#[must_use]
pub fn check(graphs: &[Graph]) -> Vec<Finding> {
    let wrong = |(i, g): (usize, &Graph)| {
        (g.rank as usize != i || g.ranks as usize != graphs.len()).then_some(Finding::Job(i))
    };
    let mut found: Vec<Finding> = graphs.iter().enumerate().filter_map(wrong).collect();
    if !found.is_empty() {
        return found;
    }
    let served_by = matches(graphs, &mut found);
    if let Some(places) = circle(graphs, &served_by, false) {
        found.push(Finding::Circle(places));
    } else if let Some(places) = circle(graphs, &served_by, true) {
        found.push(Finding::Buffered(places));
    }
    found
}

/// The messages of a job: each receive with its send.
#[must_use]
pub fn messages(graphs: &[Graph]) -> Vec<(Place, Place)> {
    matches(graphs, &mut Vec::new()).into_iter().collect()
}

/// The send for each receive.
fn matches(graphs: &[Graph], found: &mut Vec<Finding>) -> BTreeMap<Place, Place> {
    let mut sends: BTreeMap<(u32, u32, u32), VecDeque<(Place, u64)>> = BTreeMap::new();
    for g in graphs {
        for (operation, work) in g.ops.iter().enumerate() {
            if let Work::Send { to, tag, from } = work {
                let place = Place {
                    rank: g.rank,
                    operation,
                };
                sends
                    .entry((g.rank, *to, *tag))
                    .or_default()
                    .push_back((place, total(from).unwrap_or(u64::MAX)));
            }
        }
    }
    let mut served_by = BTreeMap::new();
    for g in graphs {
        for (operation, work) in g.ops.iter().enumerate() {
            let Work::Recv { from, tag, into } = work else {
                continue;
            };
            let receive = Place {
                rank: g.rank,
                operation,
            };
            let send = sends
                .get_mut(&(*from, g.rank, *tag))
                .and_then(VecDeque::pop_front);
            let Some((send, bytes)) = send else {
                found.push(Finding::NotSent(receive));
                continue;
            };
            let room = total(into).unwrap_or(u64::MAX);
            if bytes > room {
                found.push(Finding::TooLong {
                    send,
                    receive,
                    bytes: (bytes, room),
                });
            }
            served_by.insert(receive, send);
        }
    }
    found.extend(
        sends
            .into_values()
            .flatten()
            .map(|(p, _)| Finding::NotReceived(p)),
    );
    served_by
}

/// The beginning of an operation, or its completion.
type Event = (Place, bool);
const BEGUN: bool = false;
const COMPLETE: bool = true;

/// Runs the graphs without time, and returns a circle of events in which each comes after the next one, if there is
/// any. A receive completes after its send has begun. If sends are `awaited`, a send completes after its receive has
/// begun. Receives of messages that nobody sends are left out.
fn circle(
    graphs: &[Graph],
    served_by: &BTreeMap<Place, Place>,
    awaited: bool,
) -> Option<Vec<Place>> {
    let mut before: BTreeMap<Event, Vec<Event>> = BTreeMap::new();
    let mut later: BTreeMap<Event, Vec<Event>> = BTreeMap::new();
    let mut edge = |l: Event, e: Event| {
        before.entry(l).or_default().push(e);
        later.entry(e).or_default().push(l);
    };
    let mut all = Vec::new();
    for g in graphs {
        let place = |operation| Place {
            rank: g.rank,
            operation,
        };
        for p in (0..g.ops.len()).map(place) {
            edge((p, COMPLETE), (p, BEGUN));
            all.extend([(p, BEGUN), (p, COMPLETE)]);
        }
        for (l, after, e) in g.edges() {
            edge((place(l), BEGUN), (place(e), after == After::Complete));
        }
    }
    for (receive, send) in served_by {
        edge((*receive, COMPLETE), (*send, BEGUN));
        if awaited {
            edge((*send, COMPLETE), (*receive, BEGUN));
        }
    }
    let mut missing: BTreeMap<Event, usize> = before.iter().map(|(e, b)| (*e, b.len())).collect();
    let mut ready: Vec<Event> = all
        .into_iter()
        .filter(|e| !missing.contains_key(e))
        .collect();
    while let Some(event) = ready.pop() {
        for l in later.get(&event).into_iter().flatten() {
            if let Some(n) = missing.get_mut(l) {
                *n -= 1;
                if *n == 0 {
                    missing.remove(l);
                    ready.push(*l);
                }
            }
        }
    }
    let mut path = vec![*missing.keys().next()?];
    loop {
        let last = path[path.len() - 1];
        let next = before
            .get(&last)?
            .iter()
            .find(|e| missing.contains_key(e))?;
        if let Some(at) = path.iter().position(|e| e == next) {
            let mut places: Vec<Place> = path[at..].iter().map(|(p, _)| *p).collect();
            // The beginning and the completion of one operation are the same place.
            places.dedup();
            if places.len() > 1 && places.first() == places.last() {
                places.pop();
            }
            return Some(places);
        }
        path.push(*next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Buffer;

    fn send(g: &mut Graph, to: u32, bytes: u64) -> crate::graph::OpId {
        let from = vec![Buffer::void(bytes)];
        g.add(Work::Send { to, tag: 1, from }).unwrap()
    }

    fn recv(g: &mut Graph, from: u32, bytes: u64) -> crate::graph::OpId {
        let into = vec![Buffer::void(bytes)];
        g.add(Work::Recv { from, tag: 1, into }).unwrap()
    }

    #[test]
    fn a_circle_over_ranks_is_found() {
        let mut graphs = Vec::new();
        for me in 0..3 {
            let mut g = Graph::new(me, 3).unwrap();
            let r = recv(&mut g, (me + 2) % 3, 8);
            let s = send(&mut g, (me + 1) % 3, 8);
            g.requires(s, r).unwrap();
            graphs.push(g);
        }
        let found = check(&graphs);
        assert!(
            matches!(&found[..], [Finding::Circle(c)] if c.len() == 6),
            "{found:?}"
        );
        // One rank that sends first breaks the circle.
        let mut g = Graph::new(0, 3).unwrap();
        let s = send(&mut g, 1, 8);
        let r = recv(&mut g, 2, 8);
        g.requires(r, s).unwrap();
        graphs[0] = g;
        assert_eq!(check(&graphs), []);
    }

    #[test]
    fn sends_that_need_room_at_their_receivers_are_found() {
        let graphs: Vec<Graph> = (0..2)
            .map(|me| {
                let mut g = Graph::new(me, 2).unwrap();
                let s = send(&mut g, 1 - me, 8);
                let r = recv(&mut g, 1 - me, 8);
                g.requires(r, s).unwrap();
                g
            })
            .collect();
        let found = check(&graphs);
        assert!(
            matches!(&found[..], [Finding::Buffered(c)] if c.len() == 4),
            "{found:?}"
        );
    }

    #[test]
    fn what_has_no_partner_is_found() {
        let mut a = Graph::new(0, 2).unwrap();
        send(&mut a, 1, 8);
        send(&mut a, 1, 16);
        let mut b = Graph::new(1, 2).unwrap();
        recv(&mut b, 0, 4);
        recv(&mut b, 1, 4);
        let found = check(&[a, b]);
        let place = |rank, operation| Place { rank, operation };
        assert_eq!(
            found,
            [
                Finding::TooLong {
                    send: place(0, 0),
                    receive: place(1, 0),
                    bytes: (8, 4)
                },
                Finding::NotSent(place(1, 1)),
                Finding::NotReceived(place(0, 1)),
            ]
        );
    }
}
