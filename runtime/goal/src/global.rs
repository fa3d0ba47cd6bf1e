//! Checks all ranks' graphs together: finds messages without a receive, receives without a message, messages that are
//! too long, and ranks that wait for each other in a circle.
//!
//! Operations with the same source, target and tag are matched in the order in which they stand in the graphs. If a
//! graph does not fix this order, a run may match them differently; but a partner that is missing here is missing
//! then too.

use crate::graph::{After, Graph, Work};
use crate::map::HashMap;
use crate::memory::total;
use crate::rank::Failure;
use crate::schedule::Schedule;
use core::fmt;

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

impl Finding {
    /// The operations that the message names.
    #[must_use]
    pub fn places(&self) -> Vec<Place> {
        match self {
            Finding::Job(_) => Vec::new(),
            Finding::NotReceived(p) | Finding::NotSent(p) => vec![*p],
            Finding::TooLong { send, receive, .. } => vec![*send, *receive],
            Finding::Circle(places) | Finding::Buffered(places) => {
                places.iter().take(SHOWN).copied().collect()
            }
        }
    }
}

/// How many operations of a circle a message names.
const SHOWN: usize = 8;

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
                for (i, p) in places.iter().take(SHOWN).enumerate() {
                    write!(f, "{}{p}", if i == 0 { "" } else { ", waits for " })?;
                }
                if let Some(more) = places.len().checked_sub(SHOWN).filter(|n| *n > 0) {
                    write!(f, ", and so on through {more} more")?;
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

/// A receive of these ranks' schedules that none of their messages serves: its rank, and the failure that it would be.
#[must_use]
pub fn not_sent(schedules: &[Schedule]) -> Option<(u32, Failure)> {
    let mut more = HashMap::default();
    for s in schedules {
        for work in s.works() {
            match work {
                Work::Send { to, tag, .. } => *more.entry((s.rank(), *to, *tag)).or_insert(0) += 1,
                Work::Recv { from, tag, .. } => {
                    *more.entry((*from, s.rank(), *tag)).or_insert(0) -= 1
                }
                _ => {}
            }
        }
    }
    let missing = more.iter().filter(|(_, n)| **n < 0).map(|(key, _)| *key);
    let (from, rank, tag) = missing.min()?;
    Some((rank, Failure::NotSent { from, tag }))
}

/// The messages of a job: each receive with its send.
#[must_use]
pub fn messages(graphs: &[Graph]) -> Vec<(Place, Place)> {
    matches(graphs, &mut Vec::new())
}

/// Each receive with its send, in the order of the receives.
fn matches(graphs: &[Graph], found: &mut Vec<Finding>) -> Vec<(Place, Place)> {
    let places = || {
        graphs.iter().flat_map(|g| {
            let place = |(operation, work)| {
                let rank = g.rank;
                (Place { rank, operation }, work)
            };
            g.ops.iter().enumerate().map(place)
        })
    };
    let send = |(place, work): (Place, _)| match work {
        &Work::Send { to, tag, ref from } => Some(((place.rank, to, tag), place, total(from))),
        _ => None,
    };
    let mut sends: Vec<_> = places().filter_map(send).collect();
    // Stable: messages with one source, target and tag stay in their order.
    sends.sort_by_key(|s| s.0);
    // By the first message of a source, target and tag: how many are received.
    let mut received = vec![0; sends.len()];
    let mut served_by = Vec::new();
    for (receive, work) in places() {
        let Work::Recv { from, tag, into } = work else {
            continue;
        };
        let key = (*from, receive.rank, *tag);
        let first = sends.partition_point(|s| s.0 < key);
        let next = first + received.get(first).copied().unwrap_or(0);
        let Some((_, send, bytes)) = sends.get(next).filter(|s| s.0 == key) else {
            found.push(Finding::NotSent(receive));
            continue;
        };
        received[first] += 1;
        let (bytes, room) = (bytes.unwrap_or(u64::MAX), total(into).unwrap_or(u64::MAX));
        if bytes > room {
            found.push(Finding::TooLong {
                send: *send,
                receive,
                bytes: (bytes, room),
            });
        }
        served_by.push((receive, *send));
    }
    let mut first = 0;
    for (i, (key, place, _)) in sends.iter().enumerate() {
        if sends[first].0 != *key {
            first = i;
        }
        if i - first >= received[first] {
            found.push(Finding::NotReceived(*place));
        }
    }
    served_by
}

const BEGUN: bool = false;
const COMPLETE: bool = true;

/// The beginnings and completions of all operations of a job, by number.
struct Events {
    /// By rank: the number of its first event. Behind them: how many there are.
    first: Vec<usize>,
}

impl Events {
    fn of(graphs: &[Graph]) -> Events {
        let mut first = vec![0];
        for g in graphs {
            first.push(first[first.len() - 1] + 2 * g.ops.len());
        }
        Events { first }
    }

    fn number(&self, place: Place, complete: bool) -> usize {
        self.first[place.rank as usize] + 2 * place.operation + usize::from(complete)
    }

    fn place(&self, event: usize) -> Place {
        let rank = self.first.partition_point(|f| *f <= event) - 1;
        Place {
            rank: rank as u32,
            operation: (event - self.first[rank]) / 2,
        }
    }

    fn count(&self) -> usize {
        self.first[self.first.len() - 1]
    }
}

/// Runs the graphs without time, and returns a circle of events in which each comes after the next one, if there is
/// any. A receive completes after its send has begun. If sends are `awaited`, a send completes after its receive has
/// begun. Receives of messages that nobody sends are left out.
fn circle(graphs: &[Graph], served_by: &[(Place, Place)], awaited: bool) -> Option<Vec<Place>> {
    let events = Events::of(graphs);
    // Each edge: the later event, the earlier one. The beginning of an operation comes before its completion, too.
    let mut edges: Vec<(usize, usize)> = Vec::new();
    for g in graphs {
        let place = |operation| Place {
            rank: g.rank,
            operation,
        };
        for (l, after, e) in g.edges() {
            let earlier = events.number(place(e), after == After::Complete);
            edges.push((events.number(place(l), BEGUN), earlier));
        }
    }
    for (receive, send) in served_by {
        let mut edge = |later, earlier| {
            edges.push((
                events.number(later, COMPLETE),
                events.number(earlier, BEGUN),
            ));
        };
        edge(*receive, *send);
        if awaited {
            edge(*send, *receive);
        }
    }
    edges.sort_unstable_by_key(|(_, earlier)| *earlier);
    // By event: how many earlier ones it misses.
    let n = events.count();
    let mut missing: Vec<u32> = (0..n).map(|e| (e % 2) as u32).collect();
    for (later, _) in &edges {
        missing[*later] += 1;
    }
    let mut ready: Vec<usize> = (0..n).filter(|e| missing[*e] == 0).collect();
    while let Some(event) = ready.pop() {
        let from = edges.partition_point(|(_, earlier)| *earlier < event);
        let of_event = edges[from..]
            .iter()
            .take_while(|(_, earlier)| *earlier == event)
            .map(|(later, _)| *later);
        let completion = (event % 2 == 0).then_some(event + 1);
        for later in of_event.chain(completion) {
            missing[later] -= 1;
            if missing[later] == 0 {
                ready.push(later);
            }
        }
    }
    // Every event that misses something misses another one that does: going back must end in a circle.
    let mut before: Vec<Option<usize>> = (0..n)
        .map(|e| (e % 2 == 1 && missing[e - 1] > 0).then(|| e - 1))
        .collect();
    for (later, earlier) in &edges {
        if missing[*earlier] > 0 {
            before[*later].get_or_insert(*earlier);
        }
    }
    let mut at = (0..n).find(|e| missing[*e] > 0)?;
    let mut path = Vec::new();
    let mut position = vec![None; n];
    while position[at].is_none() {
        position[at] = Some(path.len());
        path.push(at);
        at = before[at]?;
    }
    let circle = path[position[at]?..].iter();
    let mut places: Vec<Place> = circle.map(|e| events.place(*e)).collect();
    // The beginning and the completion of one operation are the same place.
    places.dedup();
    if places.len() > 1 && places.first() == places.last() {
        places.pop();
    }
    Some(places)
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
        // However long a circle is, its message is not.
        let place = |operation| Place { rank: 0, operation };
        let long = Finding::Circle((0..1000).map(place).collect()).to_string();
        assert!(long.len() < 400 && long.contains("992 more"), "{long}");
    }

    #[test]
    fn a_receive_that_no_schedule_serves_is_found() {
        let schedules = |extra: bool| {
            let mut a = Graph::new(0, 2).unwrap();
            send(&mut a, 1, 8);
            let mut b = Graph::new(1, 2).unwrap();
            recv(&mut b, 0, 8);
            if extra {
                recv(&mut b, 0, 8);
            }
            [a, b].map(|g| g.compile().unwrap())
        };
        let missing = (1, Failure::NotSent { from: 0, tag: 1 });
        assert_eq!(not_sent(&schedules(false)), None);
        assert_eq!(not_sent(&schedules(true)), Some(missing));
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
