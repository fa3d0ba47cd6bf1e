//! The interpreter's counters: they tell which operations of a run may begin (paper, section 2.1).

use crate::graph::After;
use crate::schedule::Schedule;
use std::sync::Arc;

/// How many dependences each operation of one run still misses.
#[derive(Debug)]
pub(crate) struct Counters {
    schedule: Arc<Schedule>,
    missing: Vec<u32>,
    incomplete: usize,
}

impl Counters {
    /// The counters at the start of a run. They use the memory of an earlier run. Operations without dependences go
    /// to `ready`.
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

    /// The counters' memory, for another run.
    pub(crate) fn into_memory(self) -> Vec<u32> {
        self.missing
    }

    /// The operation has begun. Operations that become ready by this go to `ready`.
    #[inline]
    pub(crate) fn begun(&mut self, place: usize, ready: &mut Vec<usize>) {
        self.met(place, After::Begun, ready);
    }

    /// The operation is complete. Called once for each operation.
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
