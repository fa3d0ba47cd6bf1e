//! Teams and contexts, and the routines over active sets that have no type in their name.

use super::shapes::Ctx;
use super::team_shapes::*;
use hetmp_shmem::collective;
use hetmp_shmem::context::{self, SessionConfig};
use hetmp_shmem::heap;
use hetmp_shmem::team::{self, Config};

const _: () = assert!(size_of::<Config>() == 4 && size_of::<SessionConfig>() == 8);

routines! {
    fn shmem_team_ptr(team: Team, dest: *const u8, pe: c_int) -> *mut u8 {
        // SAFETY: the program's team.
        unsafe { heap::team_ptr(F, team, dest, pe) }
    }

    fn shmem_team_my_pe(team: Team) -> c_int {
        // SAFETY: the program's team.
        unsafe { team::my_pe(F, team) }
    }
    fn shmem_team_n_pes(team: Team) -> c_int {
        // SAFETY: the program's team.
        unsafe { team::n_pes(F, team) }
    }
    fn shmem_team_get_config(team: Team, mask: c_long, config: *mut Config) -> c_int {
        // SAFETY: the program's team and variable.
        unsafe { team::get_config(F, team, mask, config) }
    }
    fn shmem_team_translate_pe(source: Team, pe: c_int, dest: Team) -> c_int {
        // SAFETY: the program's teams.
        unsafe { team::translate_pe(F, source, pe, dest) }
    }
    fn shmem_team_split_strided(
        parent: Team, start: c_int, stride: c_int, size: c_int, config: *const Config, mask: c_long,
        new_team: *mut Team,
    ) -> c_int {
        // SAFETY: the program's team and variables.
        unsafe { team::split_strided(F, parent, start, stride, size, config, mask, new_team) }
    }
    fn shmem_team_split_2d(
        parent: Team, xrange: c_int, xconfig: *const Config, xmask: c_long, xteam: *mut Team, yconfig: *const Config,
        ymask: c_long, yteam: *mut Team,
    ) -> c_int {
        // SAFETY: the program's team and variables.
        unsafe { team::split_2d(F, parent, xrange, xconfig, xmask, xteam, yconfig, ymask, yteam) }
    }
    fn shmem_team_destroy(team: Team) {
        // SAFETY: the program's team, which the program no longer uses.
        unsafe { team::destroy(F, team) };
    }
    fn shmem_team_sync(team: Team) -> c_int {
        // SAFETY: the program's team.
        unsafe { collective::team_sync(F, team) }
    }

    fn shmem_ctx_create(options: c_long, ctx: *mut Ctx) -> c_int {
        // SAFETY: the program's variable.
        unsafe { context::create(F, options, ctx) }
    }
    fn shmem_team_create_ctx(team: Team, options: c_long, ctx: *mut Ctx) -> c_int {
        // SAFETY: the program's team and variable.
        unsafe { context::team_create(F, team, options, ctx) }
    }
    fn shmem_ctx_destroy(ctx: Ctx) {
        // SAFETY: the program's context, which the program no longer uses.
        unsafe { context::destroy(F, ctx) };
    }
    fn shmem_ctx_get_team(ctx: Ctx, team: *mut Team) -> c_int {
        // SAFETY: the program's context and variable.
        unsafe { context::get_team(F, ctx, team) }
    }
    fn shmem_ctx_session_start(ctx: Ctx, options: c_long, config: *const SessionConfig, mask: c_long) {
        // SAFETY: the program's context and variable.
        unsafe { context::session_start(F, ctx, options, config, mask) };
    }
    fn shmem_ctx_session_stop(ctx: Ctx) {
        // SAFETY: the program's context.
        unsafe { context::session_stop(F, ctx) };
    }

    fn shmem_barrier(start: c_int, log_stride: c_int, size: c_int, psync: *mut c_long) {
        // SAFETY: the program's work array.
        unsafe { active::barrier(F, Set { start, log_stride, size }, psync) };
    }
    fn shmem_sync(start: c_int, log_stride: c_int, size: c_int, psync: *mut c_long) {
        // SAFETY: the program's work array.
        unsafe { active::sync(F, Set { start, log_stride, size }, psync) };
    }
}
