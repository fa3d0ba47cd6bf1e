//! Teams: the threads of a parallel region, where its workers come from, and where they meet.

pub mod barrier;
pub(crate) mod pool;
pub mod region;

pub use region::*;
