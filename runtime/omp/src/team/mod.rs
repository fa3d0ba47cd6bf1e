//! Teams: the threads of a parallel region, where its workers come from, and where they meet.
//!
//! * [`placement`]: where every region comes in, and how it is to run.
//! * [`region`]: an ordinary team's start, barriers and end; `worker` the other threads' side of it.
//! * `members`: what a team is; `pool` the workers it is made of.
//! * [`barrier`]: the protocol of barriers. `suspend`: what virtual threads do there instead.

pub(crate) mod barrier;
pub(crate) mod members;
pub(crate) mod placement;
pub(crate) mod pool;
pub(crate) mod region;
pub(crate) mod suspend;
mod worker;

pub use members::{Member, Outlined, Team};
pub use placement::{close, close_alone, open, open_alone, parallel};
pub use region::{barrier, resolve_num_threads, Form, Prepare, Region};
