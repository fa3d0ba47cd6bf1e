//! Worksharing constructs: what the threads of a team divide among themselves, and in which order.
//!
//! * [`construct`]: how a thread enters one. All threads meet the same constructs in the same order, along a
//!   `chain` of nodes; `work` says what a node holds.
//! * [`loops`] with [`pieces`] and [`ordered`], [`doacross`] (its state is in `posts`), [`sections`],
//!   [`single`]: the constructs. `kinds`: what a loop is.

pub(crate) mod chain;
pub mod construct;
pub mod doacross;
pub(crate) mod kinds;
pub mod loops;
pub mod ordered;
pub mod pieces;
pub(crate) mod posts;
pub mod sections;
pub mod single;
pub(crate) mod work;
