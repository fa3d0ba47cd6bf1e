//! Finds two operations of a graph that may run at the same time, of which one writes memory that the other uses.
//!
//! The operations are taken in an order in which they can begin, as in the search for data races: each stretch of
//! memory remembers its last writer and those who have read it since. Who comes after them comes after all earlier
//! ones, so that a chain of operations on one buffer costs one comparison each.

use super::{After, Error, Graph};
use crate::memory::{Buffer, Space};
use std::collections::BTreeMap;

/// No operation, no entry of a list, no parent in the tree.
const NONE: u32 = u32::MAX;

/// The first two operations that are found; `order` has each operation behind those that it depends on.
///
/// # Errors
/// [`Error::Overlap`].
pub(super) fn find(graph: &Graph, order: &[u32]) -> Result<(), Error> {
    let mut stretches = Stretches {
        graph,
        before: Before::new(graph, order),
        all: BTreeMap::new(),
        lists: Vec::new(),
    };
    let used = |p: &&Buffer| p.bytes > 0 && p.space != Space::Void;
    for op in order {
        let work = &graph.ops[*op as usize];
        // An operation reads before it writes, so that it may write what it reads.
        for piece in work.reads().iter().filter(used) {
            stretches.read(*op, piece)?;
        }
        for piece in work.writes().iter().filter(used) {
            stretches.write(*op, piece)?;
        }
    }
    Ok(())
}

/// Bytes that the same operations have used.
#[derive(Clone, Copy)]
struct Stretch {
    end: u64,
    writer: u32,
    /// The first entry of a list: who has read since.
    readers: u32,
}

struct Stretches<'g> {
    graph: &'g Graph,
    before: Before,
    /// By where they begin.
    all: BTreeMap<(Space, u64), Stretch>,
    /// Lists of readers: an operation and the next entry. Parts of a stretch that is divided share them.
    lists: Vec<(u32, u32)>,
}

impl Stretches<'_> {
    /// Divides the stretch that goes on across `at`.
    fn divide(&mut self, space: Space, at: u64) {
        let around = self.all.range_mut((space, 0)..(space, at)).next_back();
        if let Some((_, stretch)) = around.filter(|(_, s)| s.end > at) {
            let behind = *stretch;
            stretch.end = at;
            self.all.insert((space, at), behind);
        }
    }

    fn read(&mut self, op: u32, piece: &Buffer) -> Result<(), Error> {
        let (space, end) = (piece.space, piece.offset + piece.bytes);
        self.divide(space, piece.offset);
        self.divide(space, end);
        let mut free = piece.offset;
        let mut gaps = Vec::new();
        for ((_, start), stretch) in self.all.range_mut((space, piece.offset)..(space, end)) {
            if free < *start {
                gaps.push((free, *start));
            }
            free = stretch.end;
            let mut rest = stretch.readers;
            let last = self.lists.get(rest as usize).copied();
            // A reader that comes before this one has been compared with the writer, and need not be remembered.
            let follows =
                last.filter(|(reader, _)| *reader == op || self.before.is_near(*reader, op));
            if let Some((_, next)) = follows {
                rest = next;
            } else if stretch.writer != NONE && !self.before.is(stretch.writer, op) {
                return Err(conflict(self.graph, stretch.writer, op, piece));
            }
            stretch.readers = self.lists.len() as u32;
            self.lists.push((op, rest));
        }
        if free < end {
            gaps.push((free, end));
        }
        for (start, end) in gaps {
            let readers = self.lists.len() as u32;
            self.lists.push((op, NONE));
            let writer = NONE;
            self.all.insert(
                (space, start),
                Stretch {
                    end,
                    writer,
                    readers,
                },
            );
        }
        Ok(())
    }

    fn write(&mut self, op: u32, piece: &Buffer) -> Result<(), Error> {
        let (space, end) = (piece.space, piece.offset + piece.bytes);
        self.divide(space, piece.offset);
        self.divide(space, end);
        while let Some((at, stretch)) = self.all.range((space, piece.offset)..(space, end)).next() {
            let (at, stretch) = (*at, *stretch);
            // Readers come after the writer. One that is the writer again has two pieces that overlap.
            let mut entry = stretch.readers;
            if entry == NONE && stretch.writer != NONE && !self.before.is(stretch.writer, op) {
                return Err(conflict(self.graph, stretch.writer, op, piece));
            }
            while let Some((reader, next)) = self.lists.get(entry as usize).copied() {
                if reader != op && !self.before.is(reader, op) {
                    return Err(conflict(self.graph, op, reader, piece));
                }
                entry = next;
            }
            self.all.remove(&at);
        }
        let (writer, readers) = (op, NONE);
        let at = (space, piece.offset);
        self.all.insert(
            at,
            Stretch {
                end,
                writer,
                readers,
            },
        );
        Ok(())
    }
}

/// `writer` writes memory of the piece, which `other` uses.
fn conflict(graph: &Graph, writer: u32, other: u32, piece: &Buffer) -> Error {
    let mut written = graph.ops[writer as usize].writes().iter();
    Error::Overlap {
        writer,
        other,
        piece: *written.find(|p| p.overlaps(piece)).unwrap_or(piece),
    }
}

/// Whether one operation is over before another begins: there is a path of edges between them, whose first edge waits
/// for the completion of the first.
///
/// Each operation is a beginning and an end, and each of these, but where nothing comes before, hangs in a tree below
/// the one before it that is farthest from the start. Paths in the tree are known by the places of a walk through it;
/// others are searched for.
struct Before {
    /// Of each operation.
    nodes: Vec<Node>,
    /// Edges in the order of their later operations: what is waited for, and the earlier operation.
    edges: Vec<(After, u32)>,
    seen: Vec<u32>,
    round: u32,
}

#[derive(Clone, Copy, Default)]
struct Node {
    /// Length of the longest path to the beginning.
    depth: u32,
    /// Where the walk meets the beginning, and between which places what hangs below the end.
    begins: u32,
    ends: [u32; 2],
    /// Where the edges to earlier operations are.
    edges: [u32; 2],
}

impl Before {
    fn new(graph: &Graph, order: &[u32]) -> Before {
        let n = graph.ops.len();
        let mut nodes = vec![Node::default(); n];
        for (later, ..) in &graph.edges {
            nodes[*later as usize].edges[1] += 1;
        }
        let mut at = 0;
        for node in &mut nodes {
            let many = node.edges[1];
            node.edges = [at, at];
            at += many;
        }
        let mut edges = vec![(After::Complete, 0); graph.edges.len()];
        for (later, after, earlier) in &graph.edges {
            let end = &mut nodes[*later as usize].edges[1];
            edges[*end as usize] = (*after, *earlier);
            *end += 1;
        }
        let mut before = Before {
            nodes,
            edges,
            seen: vec![0; n],
            round: 0,
        };
        before.walk(order);
        before
    }

    fn edges(&self, op: u32) -> &[(After, u32)] {
        let [first, behind] = self.nodes[op as usize].edges;
        &self.edges[first as usize..behind as usize]
    }

    /// Makes the tree and numbers it.
    fn walk(&mut self, order: &[u32]) {
        let mut parents = vec![(After::Complete, NONE); order.len()];
        for op in order {
            let depth = |(after, earlier): &(After, u32)| {
                let end = u32::from(*after == After::Complete);
                self.nodes[*earlier as usize].depth + 1 + end
            };
            let deepest = self.edges(*op).iter().max_by_key(|e| depth(e)).copied();
            if let Some(parent) = deepest {
                self.nodes[*op as usize].depth = depth(&parent);
                parents[*op as usize] = parent;
            }
        }
        // How many places the beginning and the end take, with what hangs below them. An end hangs below its beginning.
        let mut sizes = vec![[2u32, 1]; order.len()];
        for op in order.iter().rev() {
            let (after, parent) = parents[*op as usize];
            let size = sizes[*op as usize][0];
            if let Some(above) = sizes.get_mut(parent as usize) {
                above[0] += size;
                if after == After::Complete {
                    above[1] += size;
                }
            }
        }
        // The next free place below each.
        let mut free = vec![[0u32; 2]; order.len()];
        let mut top = 0;
        for op in order {
            let (after, parent) = parents[*op as usize];
            let [size, below_end] = sizes[*op as usize];
            let place = match free.get_mut(parent as usize) {
                Some(below) => &mut below[usize::from(after == After::Complete)],
                None => &mut top,
            };
            let begins = *place;
            *place += size;
            let node = &mut self.nodes[*op as usize];
            node.begins = begins;
            node.ends = [begins + 1, begins + 1 + below_end];
            free[*op as usize] = [begins + 1 + below_end, begins + 2];
        }
    }

    /// Whether the tree says so.
    fn is_near(&self, first: u32, last: u32) -> bool {
        let [from, behind] = self.nodes[first as usize].ends;
        (from..behind).contains(&self.nodes[last as usize].begins)
    }

    fn is(&mut self, first: u32, last: u32) -> bool {
        if self.is_near(first, last) {
            return true;
        }
        self.round += 1;
        let depth = self.nodes[first as usize].depth;
        let mut todo = vec![last];
        while let Some(op) = todo.pop() {
            let [from, behind] = self.nodes[op as usize].edges;
            for i in from as usize..behind as usize {
                let (after, earlier) = self.edges[i];
                if (earlier == first && after == After::Complete) || self.is_near(first, earlier) {
                    return true;
                }
                let is_new = self.seen[earlier as usize] != self.round;
                if is_new && self.nodes[earlier as usize].depth > depth {
                    self.seen[earlier as usize] = self.round;
                    todo.push(earlier);
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{OpId, Work};
    use proptest::prelude::*;

    /// What two pieces of an operation do, in 16 bytes; and which earlier operations it waits for.
    type Op = (Vec<(u64, u64)>, Vec<(u64, u64)>, Vec<(usize, bool)>);

    fn graph(ops: &[Op]) -> Graph {
        let mut g = Graph::new(0, 1).unwrap();
        g.segment(24).unwrap();
        let pieces = |list: &[(u64, u64)]| {
            list.iter()
                .map(|(at, n)| Buffer::user(0, *at, *n))
                .collect()
        };
        for (n, (into, from, edges)) in ops.iter().enumerate() {
            let (into, from) = (pieces(into), pieces(from));
            let op = g.add(Work::Copy { into, from }).unwrap();
            for (earlier, complete) in edges.iter().filter(|_| n > 0) {
                let after = if *complete {
                    After::Complete
                } else {
                    After::Begun
                };
                g.order(op, after, OpId((earlier % n) as u32)).unwrap();
            }
        }
        g
    }

    /// All pairs, by paths of any length between beginnings (even) and ends (odd).
    fn is_ordered(g: &Graph) -> bool {
        let n = g.ops.len();
        let mut paths = vec![vec![false; 2 * n]; 2 * n];
        for i in 0..n {
            paths[2 * i][2 * i + 1] = true;
        }
        for (later, after, earlier) in &g.edges {
            let from = 2 * *earlier as usize + usize::from(*after == After::Complete);
            paths[from][2 * *later as usize] = true;
        }
        for via in 0..2 * n {
            for from in 0..2 * n {
                for to in 0..2 * n {
                    paths[from][to] |= paths[from][via] && paths[via][to];
                }
            }
        }
        let meet = |a: &[Buffer], b: &[Buffer]| a.iter().any(|p| b.iter().any(|q| p.overlaps(q)));
        let fine = |i: usize, k: usize| {
            let (a, b) = (&g.ops[i], &g.ops[k]);
            let conflict = meet(a.writes(), b.writes())
                || meet(a.writes(), b.reads())
                || meet(a.reads(), b.writes());
            !conflict || paths[2 * i + 1][2 * k] || paths[2 * k + 1][2 * i]
        };
        let alone = |i: usize| {
            let writes = g.ops[i].writes();
            (0..writes.len()).all(|p| (0..p).all(|q| !writes[p].overlaps(&writes[q])))
        };
        (0..n).all(|k| alone(k) && (0..k).all(|i| fine(i, k)))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]
        #[test]
        fn the_same_graphs_are_refused_as_by_comparing_all_pairs(
            ops in prop::collection::vec(
                (
                    prop::collection::vec((0u64..16, 0u64..7), 0..3),
                    prop::collection::vec((0u64..16, 0u64..7), 0..3),
                    prop::collection::vec((0usize..12, prop::bool::weighted(0.8)), 0..4),
                ),
                1..12,
            ),
        ) {
            let g = graph(&ops);
            let order: Vec<u32> = (0..ops.len() as u32).collect();
            let found = find(&g, &order);
            prop_assert_eq!(found.is_ok(), is_ordered(&g), "{:?}", found);
        }
    }

    #[test]
    fn a_chain_on_one_buffer_needs_no_search() {
        const OPS: u32 = 50_000;
        let mut g = Graph::new(0, 2).unwrap();
        g.segment(8).unwrap();
        g.segment(8 * u64::from(OPS)).unwrap();
        let whole = vec![Buffer::user(1, 0, 8 * u64::from(OPS))];
        let all = g
            .add(Work::Recv {
                from: 1,
                tag: 0,
                into: whole,
            })
            .unwrap();
        let mut before = all;
        for i in 0..u64::from(OPS) {
            // Now and then a message that another one has to wait for.
            let side = g.add(Work::Calc { nanoseconds: 0 }).unwrap();
            let (into, from) = (vec![Buffer::user(0, 0, 8)], vec![Buffer::user(1, 8 * i, 8)]);
            let next = g.add(Work::Copy { into, from }).unwrap();
            g.requires(next, side).unwrap();
            g.requires(next, before).unwrap();
            before = next;
        }
        let order: Vec<u32> = (0..g.ops.len() as u32).collect();
        let mut b = Before::new(&g, &order);
        let last = before.0;
        assert!(b.is(all.0, last) && b.is(last - 2, last) && !b.is_near(last, last));
        assert_eq!(b.round, 0);
        assert!(g.compile().is_ok());
    }
}
