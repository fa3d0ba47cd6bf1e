//! Cores that are not alike: which threads belong to which node, how slow a node is to be, loops whose
//! iterations follow what was measured, and regions as virtual teams.
//!
//! * `ways`: where regions come in that are looked at; `modes` says whether there are any.
//! * `nodes`: which nodes there are; `place` takes threads there, `slow` and `speeds` slow them down (and
//!   `stopwatch` tells how long they are in the program's code), and
//!   [`kernel`] is told by the program what it runs.
//! * `het`: loops under the schedules that know of nodes.
//! * `virtual_team`: regions as more virtual threads than real ones.

pub(crate) mod het;
pub mod kernel;
pub(crate) mod modes;
pub(crate) mod nodes;
pub(crate) mod place;
pub(crate) mod slow;
pub(crate) mod speeds;
mod stopwatch;
pub(crate) mod virtual_team;
pub(crate) mod ways;
