//! Worksharing constructs: how the threads of a team divide work among themselves, and in which order.
//!
//! * [`construct`]: how a thread enters a construct. All threads meet the same constructs in the same order,
//!   along a `chain` of nodes. `work` describes a node's content.
//! * [`loops`] with [`pieces`] and [`ordered`], [`doacross`] (whose state is in `posts`), [`sections`],
//!   [`single`] (whose turns are in `singles`): the constructs. `kinds` describes a loop.

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
pub(crate) mod singles;
pub(crate) mod work;
