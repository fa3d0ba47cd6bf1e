//! Teams (specification 1.5, section 9.4 and 9.11): ordered sets of PEs that work together.
//!
//! A team has a number that is the same in all its members, and by it [cells](crate::control::Cell) in the segment
//! of each member: one for every other member to write. The numbers of a new team's members are agreed by a
//! collective on its parent; so is the step its counting begins at, above all steps that a member of the parent
//! has seen under any number, so that flags of an earlier team with the same number are old to the new one.

pub(crate) mod handles;
pub(crate) mod split;
pub(crate) mod state;
pub(crate) mod steps;

pub use handles::{get_config, my_pe, n_pes, translate_pe};
pub use split::{destroy, split_2d, split_strided};
pub use state::{Config, Team, TeamState, INVALID, SHARED, WORLD};
