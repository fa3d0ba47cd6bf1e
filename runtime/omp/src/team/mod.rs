//! Teams: the threads of a parallel region, the pools that provide the workers, and the barriers.
//!
//! * `placement`: every region begins here; decides how a region runs.
//! * `region`: start, barriers and end of an ordinary team, as its primary thread does them. `worker` has
//!   the other threads' side.
//! * `members`: the data of a team. `pool`: the worker threads. `spare`: pools of threads that have ended; `inherited`:
//!   whom these fit.
//! * [`barrier`]: how threads wait for each other in a barrier; `levels` and `routes` for teams over nodes that are far
//!   apart. `suspend`: what virtual threads do instead.

pub(crate) mod barrier;
mod inherited;
pub(crate) mod levels;
pub(crate) mod members;
pub(crate) mod placement;
pub(crate) mod pool;
pub(crate) mod region;
pub(crate) mod routes;
pub(crate) mod seat;
pub(crate) mod spare;
pub(crate) mod suspend;
#[cfg(test)]
mod tests;
mod worker;

pub use members::{Member, Outlined, Team};
pub use placement::{close, open, parallel};
pub use region::{barrier, barrier_of, resolve_num_threads, Form, Prepare, Region};
