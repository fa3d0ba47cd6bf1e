//! The interpreter's counters: which operations of one run may begin (paper, section 2.1).

use crate::graph::After;
use crate::schedule::Schedule;
use std::sync::Arc;

/// The dependences that one run still misses.
#[derive(Debug)]
pub(crate) struct Counters {
    schedule: Arc<Schedule>,
    missing: Vec<u32>,
    incomplete: usize,
}

impl Counters {
    /// A run at its start; the independent operations go to `ready`.
    pub(crate) fn new(schedule: Arc<Schedule>, ready: &mut Vec<usize>) -> Counters {
        let n = schedule.operations();
        let missing: Vec<u32> = (0..n).map(|p| schedule.op(p).dependences()).collect();
        ready.extend((0..n).filter(|p| missing[*p] == 0));
        Counters {
            schedule,
            missing,
            incomplete: n,
        }
    }

    pub(crate) fn schedule(&self) -> &Arc<Schedule> {
        &self.schedule
    }

    /// The operation has begun; those that waited only for this, and are ready now, go to `ready`.
    pub(crate) fn begun(&mut self, place: usize, ready: &mut Vec<usize>) {
        self.met(place, After::Begun, ready);
    }

    /// The operation is complete. Once for each.
    pub(crate) fn complete(&mut self, place: usize, ready: &mut Vec<usize>) {
        self.met(place, After::Complete, ready);
        self.incomplete -= 1;
    }

    fn met(&mut self, place: usize, what: After, ready: &mut Vec<usize>) {
        for (later, after) in self.schedule.op(place).dependents() {
            if after == what {
                self.missing[later] -= 1;
                if self.missing[later] == 0 {
                    ready.push(later);
                }
            }
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.incomplete == 0
    }
}
