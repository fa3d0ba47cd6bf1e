//! The type behind a team handle: its members and its cells.
//!
//! It points into segments, which stay mapped; what peers change there are atomics, or is ordered by atomics.

use crate::control::Cell;
use crate::world::World;
use core::ffi::{c_int, c_long};
use core::sync::atomic::AtomicU64;

/// `shmem_team_config_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// How many contexts the program expects to make from the team.
    pub num_contexts: c_int,
}

/// `SHMEM_TEAM_NUM_CONTEXTS`.
pub(crate) const NUM_CONTEXTS: c_long = 1;

/// What a `shmem_team_t` points to. The predefined handles are numbers, not pointers.
pub struct TeamState {
    pub(crate) world: &'static World,
    pub(crate) id: u32,
    pub(crate) rank: u32,
    pub(crate) members: Box<[Member]>,
    /// All members are mapped. This is the same in all members, which are then on one machine.
    pub(crate) direct: bool,
    pub(super) config: Config,
    /// This PE's cells of the team, by the rank of their writer.
    pub(super) cells: *mut Cell,
    /// Steps taken so far. One thread at a time is in a collective of a team.
    pub(super) steps: AtomicU64,
    /// Which line of the cells the next exchange uses.
    pub(super) turn: AtomicU64,
}

// SAFETY: the pointers are into segments, which stay mapped; the memory behind them is atomic, or ordered by atomics.
unsafe impl Send for TeamState {}
// SAFETY: the pointers are into segments, which stay mapped; the memory behind them is atomic, or ordered by atomics.
unsafe impl Sync for TeamState {}

/// A member as this PE reaches it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// The member's number in the world.
    pub(crate) pe: u32,
    /// The member's segment as mapped here; null if it is not mapped.
    pub(crate) base: *mut u8,
    /// The member's cell that this PE writes; null if the segment is not mapped.
    pub(super) cell: *mut Cell,
}

/// `shmem_team_t`.
pub type Team = *mut TeamState;

/// `SHMEM_TEAM_INVALID`.
pub const INVALID: Team = core::ptr::null_mut();
/// `SHMEM_TEAM_WORLD`.
pub const WORLD: Team = core::ptr::without_provenance_mut(1);
/// `SHMEM_TEAM_SHARED`.
pub const SHARED: Team = core::ptr::without_provenance_mut(2);

/// Numbers of the teams that are always there.
pub(crate) const WORLD_ID: u32 = 0;
pub(super) const SHARED_ID: u32 = 1;
/// A team of all PEs for active sets: one thread may call such a collective while another is in one of the world's.
pub(crate) const ACTIVE_ID: u32 = 2;
pub(super) const FIRST_FREE: u32 = 3;

impl TeamState {
    /// Number of members.
    #[inline(always)]
    pub(crate) fn size(&self) -> usize {
        self.members.len()
    }
}
