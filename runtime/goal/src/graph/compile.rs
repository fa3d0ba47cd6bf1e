//! Compiles a graph to a schedule. Checks that each operation stays within its memory, that the edges form no circle,
//! and that operations on the same memory are ordered.

use super::{overlaps, Error, Graph, Work};
use crate::memory::{total, Space};
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
        overlaps::find(self, &order)?;
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
}
