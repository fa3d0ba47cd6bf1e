//! A schedule whose pieces are addresses of the program, as one of segments that hold just these pieces. So an executor
//! without pointers into the program has something to copy, and other ranks can tell where everything lies in its
//! [arena](crate::arena).

use crate::graph::{Error, Graph, Work};
use crate::memory::{Buffer, Space};
use crate::schedule::Schedule;
use std::collections::BTreeMap;

/// A schedule without addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compact {
    /// Its first segments hold the [ranges](Compact::ranges). The others are those that are bound when a run starts.
    pub schedule: Schedule,
    /// Address and length of each range. No two overlap.
    pub ranges: Vec<(u64, u64)>,
}

/// Makes copies of the messages of the rank to itself whose tag no other one has, for executors that know messages
/// between ranks only. They go through the scratchpad: the receive may wait for the end of the send.
fn keep_at_home(graph: &mut Graph) -> Result<(), Error> {
    let me = graph.rank();
    let length = |pieces: &[Buffer]| pieces.iter().map(|p| p.bytes).sum::<u64>();
    // By tag: the sends, and the receives.
    let mut own = BTreeMap::<u32, [Vec<usize>; 2]>::new();
    for (place, work) in graph.ops.iter().enumerate() {
        match work {
            Work::Send { to, tag, .. } if *to == me => own.entry(*tag).or_default()[0].push(place),
            Work::Recv { from, tag, .. } if *from == me => {
                own.entry(*tag).or_default()[1].push(place)
            }
            _ => {}
        }
    }
    for ends in own.into_values() {
        let ([send], [recv]) = (&ends[0][..], &ends[1][..]) else {
            continue;
        };
        let (Work::Send { from, .. }, Work::Recv { into, .. }) =
            (&graph.ops[*send], &graph.ops[*recv])
        else {
            continue;
        };
        if length(from) != length(into) {
            continue;
        }
        let (from, into, bytes) = (from.clone(), into.clone(), length(from));
        let between = vec![Buffer {
            space: Space::Scratchpad,
            offset: graph.scratch(bytes),
            bytes,
        }];
        graph.ops[*send] = Work::Copy {
            into: between.clone(),
            from,
        };
        graph.ops[*recv] = Work::Copy {
            into,
            from: between,
        };
        if let (Some(later), Some(earlier)) = (graph.id(*recv), graph.id(*send)) {
            graph.requires(later, earlier)?;
        }
    }
    Ok(())
}

/// The compact form of a schedule whose segment 0 is the address space. It has at least one operation.
///
/// # Errors
/// [`Error::TooLarge`]: more pieces of memory than a schedule can have segments.
pub fn compact(schedule: &Schedule) -> Result<Compact, Error> {
    let mut graph = schedule.to_graph();
    keep_at_home(&mut graph)?;
    let pieces = |w: &Work| [w.writes(), w.reads()].concat();
    let here = |p: &Buffer| p.space == Space::User(0) && p.bytes > 0;
    let mut used: Vec<(u64, u64)> = (graph.ops.iter().flat_map(pieces))
        .filter(here)
        .map(|p| (p.offset, p.bytes))
        .collect();
    used.sort_unstable();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for (start, bytes) in used {
        match ranges.last_mut() {
            Some((first, n)) if start < *first + *n => *n = (*n).max(start - *first + bytes),
            _ => ranges.push((start, bytes)),
        }
    }
    let bound = graph.segments.iter().skip(1);
    graph.segments = ranges
        .iter()
        .map(|(_, n)| n)
        .chain(bound)
        .copied()
        .collect();
    if graph.segments.len() > usize::from(u16::MAX) {
        return Err(Error::TooLarge("pieces of memory"));
    }
    let mut place = |piece: &mut Buffer| match piece.space {
        Space::User(0) if piece.bytes == 0 => *piece = Buffer::void(0),
        Space::User(0) => {
            let at = ranges.partition_point(|(start, _)| *start <= piece.offset) - 1;
            piece.space = Space::User(at as u16);
            piece.offset -= ranges[at].0;
        }
        Space::User(n) => piece.space = Space::User(n - 1 + ranges.len() as u16),
        Space::Scratchpad | Space::Void => {}
    };
    for work in &mut graph.ops {
        work.each_piece(&mut place);
    }
    if graph.ops.is_empty() {
        graph.add(Work::Copy {
            into: Vec::new(),
            from: Vec::new(),
        })?;
    }
    Ok(Compact {
        schedule: graph.compile()?,
        ranges,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;

    #[test]
    fn ranges_hold_the_pieces_and_keep_what_overlaps_together() {
        let mut g = Graph::new(0, 2).unwrap();
        g.segment(u64::MAX).unwrap();
        g.segment(32).unwrap();
        let piece = |offset, bytes| Buffer::user(0, offset, bytes);
        let got = g
            .add(Work::Recv {
                from: 1,
                tag: 0,
                into: vec![piece(1000, 8), Buffer::user(1, 16, 8)],
            })
            .unwrap();
        let send = g
            .add(Work::Send {
                to: 1,
                tag: 0,
                from: vec![piece(1004, 12), piece(500, 0), piece(992, 8)],
            })
            .unwrap();
        g.requires(send, got).unwrap();
        let c = compact(&g.compile().unwrap()).unwrap();
        assert_eq!(c.ranges, [(992, 8), (1000, 16)]);
        assert_eq!(c.schedule.segments(), [8, 16, 32]);
        assert_eq!(
            c.schedule.work(0).writes(),
            [Buffer::user(1, 0, 8), Buffer::user(2, 16, 8)]
        );
        assert_eq!(
            c.schedule.work(1).reads(),
            [
                Buffer::user(1, 4, 12),
                Buffer::void(0),
                Buffer::user(0, 0, 8)
            ]
        );
    }

    #[test]
    fn a_message_to_itself_becomes_two_copies_unless_its_tag_is_there_twice() {
        let mut g = Graph::new(0, 2).unwrap();
        g.segment(u64::MAX).unwrap();
        let piece = |offset, bytes| vec![Buffer::user(0, offset, bytes)];
        for (tag, at) in [(0, 0), (1, 100), (1, 200)] {
            let from = piece(at, 8);
            g.add(Work::Send { to: 0, tag, from }).unwrap();
            let into = piece(at + 50, 8);
            g.add(Work::Recv { from: 0, tag, into }).unwrap();
        }
        let c = compact(&g.compile().unwrap()).unwrap();
        let graph = c.schedule.to_graph();
        let is_copy = |w: &&Work| matches!(w, Work::Copy { .. });
        assert_eq!(graph.operations().iter().filter(is_copy).count(), 2);
        let (later, _, earlier) = graph.edges().next().unwrap();
        let [first, second] = [earlier, later].map(|n| &graph.operations()[n]);
        assert_eq!(first.writes(), second.reads());
        assert_eq!(second.writes(), [Buffer::user(1, 0, 8)]);
        assert_eq!(c.schedule.scratchpad(), 8);
    }

    #[test]
    fn a_rank_without_a_part_has_an_operation_all_the_same() {
        let mut g = Graph::new(0, 2).unwrap();
        g.segment(u64::MAX).unwrap();
        let c = compact(&g.compile().unwrap()).unwrap();
        assert_eq!((c.schedule.operations(), c.ranges.len()), (1, 0));
    }
}
