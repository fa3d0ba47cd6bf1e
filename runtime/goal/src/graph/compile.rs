//! Compiles a graph to a schedule. Checks that each operation stays within its memory, that the edges form no circle,
//! and that operations on the same memory are ordered.

use super::{After, Error, Graph, Work};
use crate::memory::{total, Buffer, Space};
use crate::schedule::{self, Schedule};

impl Graph {
    /// The binary schedule.
    ///
    /// # Errors
    /// The first mistake of the graph.
    pub fn compile(&self) -> Result<Schedule, Error> {
        for (n, work) in self.ops.iter().enumerate() {
            self.check(n as u32, work)?;
        }
        let order = self.traversal()?;
        self.overlaps(&order)?;
        schedule::encode(self, &order)
    }

    fn check(&self, operation: u32, work: &Work) -> Result<(), Error> {
        for piece in work.writes().iter().chain(work.reads()) {
            let limit = match piece.space {
                Space::User(n) => self.segments.get(usize::from(n)).copied().unwrap_or(0),
                Space::Scratchpad => self.scratchpad,
                Space::Void => u64::MAX,
            };
            let end = piece.offset.checked_add(piece.bytes);
            if end.is_none_or(|end| end > limit) {
                return Err(Error::Bounds {
                    operation,
                    piece: *piece,
                    limit,
                });
            }
        }
        let (write, read) = (total(work.writes()), total(work.reads()));
        let (Some(write), Some(read)) = (write, read) else {
            return Err(Error::TooLarge("bytes of an operation"));
        };
        let lengths = Error::Lengths {
            operation,
            target: write,
            operand: read,
        };
        match work {
            Work::Local { op, element, .. } if !op.takes(*element) => Err(Error::Element {
                operation,
                op: *op,
                element: *element,
            }),
            Work::Local { element, .. } if write != read || write % element.bytes() != 0 => {
                Err(lengths)
            }
            Work::Copy { .. } if write != read => Err(lengths),
            Work::Timestamp { .. } if write != 8 => Err(Error::Lengths {
                operation,
                target: write,
                operand: 8,
            }),
            _ => Ok(()),
        }
    }

    /// The operations in an order in which they can begin: each after all operations that it depends on.
    fn traversal(&self) -> Result<Vec<u32>, Error> {
        let n = self.ops.len();
        let mut missing = vec![0u32; n];
        let mut later: Vec<Vec<u32>> = vec![Vec::new(); n];
        for (l, _, e) in &self.edges {
            missing[*l as usize] += 1;
            later[*e as usize].push(*l);
        }
        let mut order: Vec<u32> = (0..n as u32)
            .filter(|i| missing[*i as usize] == 0)
            .collect();
        let mut next = 0;
        while let Some(&op) = order.get(next) {
            next += 1;
            for l in &later[op as usize] {
                missing[*l as usize] -= 1;
                if missing[*l as usize] == 0 {
                    order.push(*l);
                }
            }
        }
        if order.len() == n {
            return Ok(order);
        }
        // Each operation that still misses something waits for another one that does. Going back from one to the next
        // must therefore end in a circle.
        let stuck = (0..n).find(|i| missing[*i] > 0).unwrap_or(0) as u32;
        let mut path = vec![stuck];
        loop {
            let last = path[path.len() - 1];
            let before = self
                .edges
                .iter()
                .find(|(l, _, e)| *l == last && missing[*e as usize] > 0)
                .map_or(last, |(_, _, e)| *e);
            if let Some(at) = path.iter().position(|p| *p == before) {
                return Err(Error::Cycle(path.split_off(at)));
            }
            path.push(before);
        }
    }

    /// Finds two operations that may run at the same time, of which one writes memory that the other uses.
    fn overlaps(&self, order: &[u32]) -> Result<(), Error> {
        let mut uses: Vec<(Buffer, u32, bool)> = Vec::new();
        for (n, work) in self.ops.iter().enumerate() {
            let mut note = |pieces: &[Buffer], writes| {
                uses.extend(
                    pieces
                        .iter()
                        .filter(|p| p.bytes > 0 && p.space != Space::Void)
                        .map(|p| (*p, n as u32, writes)),
                );
            };
            note(work.writes(), true);
            note(work.reads(), false);
        }
        uses.sort_by_key(|(p, ..)| (p.space, p.offset));
        let mut reach = Reach::new(self, order);
        for (i, (piece, op, writes)) in uses.iter().enumerate() {
            let behind = uses[i + 1..].iter().take_while(|(p, ..)| {
                p.space == piece.space && p.offset < piece.offset + piece.bytes
            });
            for (other_piece, other, other_writes) in behind {
                if !(*writes || *other_writes) || reach.ordered(*op, *other) {
                    continue;
                }
                let (writer, other, piece) = if *writes {
                    (*op, *other, *piece)
                } else {
                    (*other, *op, *other_piece)
                };
                return Err(Error::Overlap {
                    writer,
                    other,
                    piece,
                });
            }
        }
        Ok(())
    }
}

/// Whether one operation is over before another begins. There must be a path of edges between them that waits for the
/// completion of the first, or of an operation that comes after it.
struct Reach<'g> {
    place: Vec<u32>,
    earlier: Vec<Vec<(u32, After)>>,
    graph: &'g Graph,
    seen: Vec<u32>,
    round: u32,
}

impl<'g> Reach<'g> {
    fn new(graph: &'g Graph, order: &[u32]) -> Reach<'g> {
        let n = graph.ops.len();
        let mut place = vec![0; n];
        for (i, op) in order.iter().enumerate() {
            place[*op as usize] = i as u32;
        }
        let mut earlier = vec![Vec::new(); n];
        for (l, after, e) in &graph.edges {
            earlier[*l as usize].push((*e, *after));
        }
        Reach {
            place,
            earlier,
            graph,
            seen: vec![0; n],
            round: 0,
        }
    }

    fn ordered(&mut self, a: u32, b: u32) -> bool {
        if a == b {
            // The pieces of one operation: it reads before it writes, so reads may overlap writes; but two pieces
            // that it writes must not overlap.
            let writes = self.graph.ops[a as usize].writes();
            return !writes
                .iter()
                .enumerate()
                .any(|(i, p)| writes[i + 1..].iter().any(|q| p.overlaps(q)));
        }
        let (first, last) = if self.place[a as usize] < self.place[b as usize] {
            (a, b)
        } else {
            (b, a)
        };
        self.round += 1;
        // Searches backwards from the later operation. The edge that leaves `first` must wait for its completion.
        let mut todo = vec![last];
        while let Some(op) = todo.pop() {
            for (e, after) in &self.earlier[op as usize] {
                if *e == first && *after == After::Complete {
                    return true;
                }
                let e_place = self.place[*e as usize];
                if e_place > self.place[first as usize] && self.seen[*e as usize] != self.round {
                    self.seen[*e as usize] = self.round;
                    todo.push(*e);
                }
            }
        }
        false
    }
}
