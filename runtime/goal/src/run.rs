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
    /// A run at its start, with memory of one that is over; the independent operations go to `ready`.
    pub(crate) fn new(
        schedule: Arc<Schedule>,
        mut missing: Vec<u32>,
        ready: &mut Vec<usize>,
    ) -> Counters {
        let n = schedule.operations();
        missing.clear();
        missing.extend((0..n).map(|p| schedule.step(p).dependences));
        ready.extend((0..n).filter(|p| missing[*p] == 0));
        Counters {
            schedule,
            missing,
            incomplete: n,
        }
    }

    #[inline]
    pub(crate) fn schedule(&self) -> &Arc<Schedule> {
        &self.schedule
    }

    /// Its memory, for another run.
    pub(crate) fn into_memory(self) -> Vec<u32> {
        self.missing
    }

    /// The operation has begun; those that waited only for this, and are ready now, go to `ready`.
    #[inline]
    pub(crate) fn begun(&mut self, place: usize, ready: &mut Vec<usize>) {
        self.met(place, After::Begun, ready);
    }

    /// The operation is complete. Once for each.
    #[inline]
    pub(crate) fn complete(&mut self, place: usize, ready: &mut Vec<usize>) {
        self.met(place, After::Complete, ready);
        self.incomplete -= 1;
    }

    fn met(&mut self, place: usize, what: After, ready: &mut Vec<usize>) {
        for (later, after) in self.schedule.dependents(place) {
            if *after == what {
                let missing = &mut self.missing[*later as usize];
                *missing -= 1;
                if *missing == 0 {
                    ready.push(*later as usize);
                }
            }
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.incomplete == 0
    }
}
