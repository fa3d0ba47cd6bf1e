//! Which worksharing construct a combined construct consists of, and what that says about how its region ran.

use super::opened::Construct;
use super::plan::off;
use crate::init;
use crate::team::members::Team;
use crate::team::region::Prepare;
use crate::worksharing::kinds::Handing;
use crate::worksharing::work::Work;
use hetmp_sched::ways::{Reason, Way};

impl Construct {
    /// Wraps `prepare`, and notes which construct it prepares.
    pub(super) fn watch<'a>(&'a mut self, prepare: Prepare<'a>) -> impl FnMut(&Team, &Work) + 'a {
        move |team, work| {
            prepare(team, work);
            *self = match work.kind.get() {
                Handing::Sections => Construct::Sections,
                _ if work.ordered.get() => Construct::Ordered,
                _ => Construct::Loop,
            };
        }
    }

    /// The way of a region that ran on `threads` threads and spent `divided_ns` nanoseconds in loops that hetmp's
    /// schedules divide. `way` is the answer if the construct does not tell more.
    pub(super) fn way(self, way: Way, threads: u32, divided_ns: u64) -> Way {
        let reason = match self {
            Construct::None if way == Way::Dispatched && divided_ns == 0 => Reason::Schedule,
            Construct::None => return way,
            // The region consists of the loop.
            Construct::Loop if divided_ns > 0 => return Way::Dispatched,
            _ if !init::globals().icv.run_sched.kind.is_ours() => off(Reason::NoSchedule),
            _ if threads == 1 => Reason::OneThread,
            Construct::Sections => Reason::Sections,
            Construct::Ordered => Reason::Ordered,
            Construct::Loop => Reason::Schedule,
        };
        Way::Ordinary(reason)
    }
}
