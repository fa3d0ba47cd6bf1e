//! Teams (specification 1.5, section 9.4 and 9.11): ordered sets of PEs that work together.
//!
//! A team has a number, the same in all its members, and under this number cells in the segment of each member: one
//! for every other member to write. A collective of the parent team agrees on a new team's number. It also agrees on
//! the step at which the team begins to count: above all steps that a member of the parent has seen under any number.
//! So flags of an earlier team with the same number are in the past for the new team.

pub(crate) mod handles;
pub(crate) mod split;
pub(crate) mod state;
pub(crate) mod steps;

pub use handles::{get_config, my_pe, n_pes, translate_pe};
pub use split::{destroy, split_2d, split_strided};
pub use state::{Config, Team, TeamState, INVALID, SHARED, WORLD};
