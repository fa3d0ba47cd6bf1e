//! Which worksharing construct a combined construct consists of, and what that says about how its region ran.

use super::lever::{Construct, Guard, Lever};
use crate::init;
use crate::team::members::Team;
use crate::team::region::Prepare;
use crate::worksharing::kinds::Handing;
use crate::worksharing::work::Work;

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

    /// The lever of a region that ran on `threads` threads and spent `divided_ns` nanoseconds in loops that
    /// hetmp's schedules divide. `lever` is the answer if the construct does not tell more.
    pub(super) fn lever(self, lever: Lever, threads: u32, divided_ns: u64) -> Lever {
        let guard = match self {
            Construct::None if lever == Lever::Dispatched && divided_ns == 0 => Guard::Schedule,
            Construct::None => return lever,
            // The region consists of the loop.
            Construct::Loop if divided_ns > 0 => return Lever::Dispatched,
            _ if !init::globals().icv.run_sched.kind.is_ours() => Guard::off(),
            _ if threads == 1 => Guard::OneThread,
            Construct::Sections => Guard::Sections,
            Construct::Ordered => Guard::Ordered,
            Construct::Loop => Guard::Schedule,
        };
        Lever::Plain(guard)
    }
}
