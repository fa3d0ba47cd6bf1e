//! Cores that are not alike: which threads belong to which node, how slow a node is to be, loops whose
//! iterations follow what was measured, and regions as virtual teams.

pub(crate) mod het;
pub mod nodes;
pub mod speeds;
pub(crate) mod virtual_team;
