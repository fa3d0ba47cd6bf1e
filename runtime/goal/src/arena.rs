//! The memory of a run that is executed away from its process.
//!
//! Such an executor (the program in the kernel, a network adapter) has no pointers into the process. A run has an
//! *arena*: the segments, the scratchpad, and what else the executor needs. The process copies what the
//! schedule reads into the arena before the run, and what the schedule wrote out of it afterwards.

use crate::graph::Work;
use crate::memory::{Buffer, Space};
use crate::schedule::Schedule;

/// Where one of the user's segments lies in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Offset in the arena.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// The process copies the segment into the arena before the run.
    pub goes_in: bool,
    /// The process copies the segment out of the arena after the run.
    pub comes_out: bool,
}

/// A set of bytes of one memory, as pieces `(start, end)`.
#[derive(Debug, Default)]
struct Covered(Vec<(u64, u64)>);

impl Covered {
    fn add(&mut self, from: u64, to: u64) {
        self.0.push((from, to));
        self.0.sort_unstable();
    }

    fn has(&self, from: u64, to: u64) -> bool {
        let mut at = from;
        for (start, end) in &self.0 {
            if *start <= at && *end > at {
                at = *end;
            }
        }
        at >= to
    }
}

/// The arena of one schedule.
#[derive(Clone, Debug)]
pub(crate) struct Arena {
    /// The user's segments.
    pub(crate) segments: Vec<Placed>,
    /// Offset and length of the part that has to be zero before the run: scratchpad that is read before it is
    /// written.
    pub(crate) zero: (u64, u64),
    scratchpad: u64,
    used: u64,
}

impl Arena {
    /// Places the segments and the scratchpad of a schedule, one after the other.
    pub(crate) fn of(schedule: &Schedule) -> Arena {
        let mut arena = Arena {
            segments: Vec::new(),
            zero: (0, 0),
            scratchpad: 0,
            used: 0,
        };
        for bytes in schedule.segments() {
            let offset = arena.take(*bytes);
            arena.segments.push(Placed {
                offset,
                bytes: *bytes,
                goes_in: false,
                comes_out: false,
            });
        }
        arena.scratchpad = arena.take(schedule.scratchpad());
        arena.find_traffic(schedule);
        arena
    }

    /// Takes `bytes` more, and returns their offset, a multiple of 8. There is no end here: who places looks at
    /// [`Arena::used`].
    pub(crate) fn take(&mut self, bytes: u64) -> u64 {
        let offset = self.used;
        self.used = offset.saturating_add(bytes).saturating_add(7) & !7;
        offset
    }

    /// How many bytes are taken.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// Offset in the arena of a piece of the schedule; `None` for a piece without memory.
    pub(crate) fn offset(&self, piece: &Buffer) -> Option<u64> {
        let base = match piece.space {
            Space::User(n) => self.segments[usize::from(n)].offset,
            Space::Scratchpad => self.scratchpad,
            Space::Void => return None,
        };
        Some(base + piece.offset)
    }

    /// Finds out which segments the process has to copy in and out, and what has to be zero.
    fn find_traffic(&mut self, schedule: &Schedule) {
        let mut written: Vec<Covered> = self.segments.iter().map(|_| Covered::default()).collect();
        let mut pad = Covered::default();
        let mut pad_is_read = false;
        for place in 0..schedule.operations() {
            let work = schedule.work(place);
            // The target of arithmetic is read too.
            let target: &[Buffer] = match work {
                Work::Local { target, .. } => target,
                _ => &[],
            };
            for piece in work.reads().iter().chain(target) {
                let end = piece.offset + piece.bytes;
                match piece.space {
                    Space::User(n) if !written[usize::from(n)].has(piece.offset, end) => {
                        self.segments[usize::from(n)].goes_in = true;
                    }
                    Space::Scratchpad => pad_is_read |= !pad.has(piece.offset, end),
                    _ => {}
                }
            }
            for piece in work.writes().iter().filter(|p| p.bytes > 0) {
                let end = piece.offset + piece.bytes;
                match piece.space {
                    Space::User(n) => written[usize::from(n)].add(piece.offset, end),
                    Space::Scratchpad => pad.add(piece.offset, end),
                    Space::Void => {}
                }
            }
        }
        for (segment, written) in self.segments.iter_mut().zip(&written) {
            segment.comes_out = !written.0.is_empty();
            // Bytes between those that the run writes go through the arena, and have to come out as they were.
            segment.goes_in |= segment.comes_out && !written.has(0, segment.bytes);
        }
        let bytes = if pad_is_read {
            schedule.scratchpad()
        } else {
            0
        };
        self.zero = (self.scratchpad, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_that_is_written_in_part_goes_in() {
        let mut covered = Covered::default();
        covered.add(8, 16);
        covered.add(0, 4);
        assert!(covered.has(8, 16) && covered.has(9, 12) && !covered.has(0, 16));
        covered.add(4, 9);
        assert!(covered.has(0, 16));
        assert!(covered.has(3, 3));
    }
}
