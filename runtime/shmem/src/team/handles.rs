//! This PE's teams: how handles are resolved, and the queries about a team.
//!
//! Predefined teams are never freed; of others the program promises that a handle was made by a split and is not
//! destroyed (`HETMP_CHECK=1` looks).

use super::state::{
    Config, Member, Team, TeamState, FIRST_FREE, NUM_CONTEXTS, SHARED_ID, WORLD_ID,
};
use crate::control::{self, TEAMS};
use crate::fail;
use crate::link;
use crate::world::{self, World};
use core::ffi::{c_int, c_long};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::Mutex;

/// This PE's teams, by their numbers.
pub(super) static TABLE: [AtomicPtr<TeamState>; TEAMS] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; TEAMS];
/// Held while the table changes.
pub(super) static CHANGING: Mutex<()> = Mutex::new(());
/// A step above all steps of teams that were destroyed.
pub(super) static HIGH: AtomicU64 = AtomicU64::new(0);

impl TeamState {
    pub(super) fn new(
        world: &'static World,
        id: u32,
        members: &[u32],
        config: Config,
        steps: u64,
    ) -> Self {
        let rank = members.iter().position(|&pe| pe == world.me).unwrap_or(0) as u32;
        let cell = control::cell_at(world.n, id, rank) as usize;
        let members: Box<[Member]> = members
            .iter()
            .map(|&pe| {
                let base = link::reach(world, pe);
                Member {
                    pe,
                    base,
                    cell: if base.is_null() {
                        core::ptr::null_mut()
                    } else {
                        base.wrapping_add(cell).cast()
                    },
                }
            })
            .collect();
        let own = control::cell_at(world.n, id, 0) as usize;
        TeamState {
            world,
            id,
            rank,
            direct: members.iter().all(|m| !m.base.is_null()),
            members,
            config,
            cells: world.own().base.wrapping_add(own).cast(),
            steps: AtomicU64::new(steps),
            turn: AtomicU64::new(0),
        }
    }
}

/// One of the predefined teams.
#[inline(always)]
pub(crate) fn predefined(f: &'static str, id: u32) -> &'static TeamState {
    let world = world::need(f);
    // SAFETY: null, or a predefined team, which is never freed.
    match unsafe { TABLE[id as usize].load(Ordering::Acquire).as_ref() } {
        Some(team) => team,
        None => make_predefined(world, id),
    }
}

#[cold]
fn make_predefined(world: &'static World, id: u32) -> &'static TeamState {
    let _one = CHANGING.lock();
    let place = &TABLE[id as usize];
    // SAFETY: null, or a predefined team, which is never freed.
    if let Some(team) = unsafe { place.load(Ordering::Acquire).as_ref() } {
        return team;
    }
    let members: Vec<u32> = (0..world.n)
        .filter(|&pe| {
            id != SHARED_ID
                || pe == world.me
                || (world.is_coherent() && world.peer(pe).mapped.is_some())
        })
        .collect();
    let config = Config::default();
    let team = Box::leak(Box::new(TeamState::new(world, id, &members, config, 0)));
    place.store(team, Ordering::Release);
    team
}

/// The team of a handle. Ends the job for a bad one.
#[inline]
pub(crate) fn resolve(f: &'static str, team: Team) -> &'static TeamState {
    match team as usize {
        1 => predefined(f, WORLD_ID),
        2 => predefined(f, SHARED_ID),
        _ => made(f, team),
    }
}

fn made(f: &'static str, team: Team) -> &'static TeamState {
    let world = world::need(f);
    let alive = || {
        TABLE[FIRST_FREE as usize..]
            .iter()
            .any(|t| t.load(Ordering::Acquire) == team)
    };
    if team.is_null() || (world.settings.check && !alive()) {
        let what = if team.is_null() {
            "SHMEM_TEAM_INVALID".to_owned()
        } else {
            format!("{team:p}")
        };
        fail::die(
            f,
            format_args!(
                "PE {}: team {what}: unknown (expected one that was made and not destroyed)",
                world.me
            ),
        );
    }
    // SAFETY: the program passes a team that a split made and that is not destroyed.
    unsafe { &*team }
}

/// The team of a handle; `None` for `SHMEM_TEAM_INVALID`.
pub(crate) fn valid(f: &'static str, team: Team) -> Option<&'static TeamState> {
    if team.is_null() {
        world::need(f);
        return None;
    }
    Some(resolve(f, team))
}

/// The world's numbers of a team's members; `None` for the world itself. Ends the job for `SHMEM_TEAM_INVALID`.
pub(crate) fn members(f: &'static str, team: Team) -> Option<Box<[u32]>> {
    let t = resolve(f, team);
    (t.id != WORLD_ID).then(|| t.members.iter().map(|m| m.pe).collect())
}

/// `shmem_team_my_pe`: -1 for `SHMEM_TEAM_INVALID`.
pub fn my_pe(f: &'static str, team: Team) -> c_int {
    valid(f, team).map_or(-1, |t| t.rank as c_int)
}

/// `shmem_team_n_pes`: -1 for `SHMEM_TEAM_INVALID`.
pub fn n_pes(f: &'static str, team: Team) -> c_int {
    valid(f, team).map_or(-1, |t| t.size() as c_int)
}

/// `shmem_team_get_config`: 0, or nonzero for `SHMEM_TEAM_INVALID` or an unknown bit in `mask`.
///
/// # Safety
/// `config` is writable where `mask` is not 0.
pub unsafe fn get_config(f: &'static str, team: Team, mask: c_long, config: *mut Config) -> c_int {
    let Some(t) = valid(f, team) else { return -1 };
    if mask & !NUM_CONTEXTS != 0 || (mask != 0 && config.is_null()) {
        return -1;
    }
    if mask & NUM_CONTEXTS != 0 {
        // SAFETY: this function's contract: `config` is writable where `mask` is not 0.
        unsafe { (*config).num_contexts = t.config.num_contexts };
    }
    0
}

/// `shmem_team_translate_pe`: the number in `dest` of PE `pe` of `src`; -1 if that PE is not in `dest`.
pub fn translate_pe(f: &'static str, src: Team, pe: c_int, dest: Team) -> c_int {
    let (Some(src), Some(dest)) = (valid(f, src), valid(f, dest)) else {
        return -1;
    };
    let Some(member) = usize::try_from(pe).ok().and_then(|i| src.members.get(i)) else {
        return -1;
    };
    if dest.id == WORLD_ID {
        return member.pe as c_int;
    }
    let found = dest.members.iter().position(|m| m.pe == member.pe);
    found.map_or(-1, |rank| rank as c_int)
}
