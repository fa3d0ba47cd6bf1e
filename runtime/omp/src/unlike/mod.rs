//! Cores that are not alike: which threads belong to which node, how much a node is slowed, loops whose
//! iterations follow measurements, and regions as virtual teams.
//!
//! * `ways`: the entrance for regions that are looked at; `modes` says whether there are any.
//! * `nodes`: which nodes there are. `place` binds threads to them. `slow` and `speeds` slow threads down,
//!   `stopwatch` measures how long they are in the program's code, and through [`kernel`] the program tells
//!   what it runs.
//! * `kept`: what earlier runs have read and learned.
//! * `het`: loops under schedules that know of nodes.
//! * `virtual_team`: regions as more virtual threads than real ones.

pub(crate) mod calibrated;
pub(crate) mod het;
mod kept;
pub mod kernel;
pub(crate) mod modes;
pub(crate) mod nodes;
pub(crate) mod place;
pub(crate) mod slow;
pub(crate) mod speeds;
mod stopwatch;
mod unloads;
pub(crate) mod virtual_team;
pub(crate) mod ways;
