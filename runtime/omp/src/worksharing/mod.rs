//! Worksharing constructs: what the threads of a team divide among themselves, and in which order.

pub(crate) mod chain;
pub mod doacross;
pub mod loops;
pub mod ordered;
pub mod pieces;
pub mod sections;
pub mod single;
pub mod work;
