//! Communication contexts (specification 1.5, section 9.4): independent streams of operations.
//!
//! A context names the team in which its PE numbers count, and the operations that are ordered and completed
//! together. On the direct way operations are done at once, so that contexts differ by their team only. With an
//! engine, each context has queue pairs of its own, made when it first needs them.

pub(crate) mod handle;

pub(crate) use handle::is_default;
pub use handle::{Context, Ctx, DEFAULT, INVALID, PRIVATE};

use crate::fail;
use crate::queue;
use crate::queue::lanes::Lanes;
use crate::team::handles;
use crate::team::state::{self as team, Team};
use crate::world::{self, World};
use core::ffi::{c_int, c_long};
use core::sync::atomic::{fence as cpu_fence, Ordering};
use handle::{all, make, need};

/// `shmem_ctx_create`: returns 0; or another value, with `SHMEM_CTX_INVALID` in `*ctx`.
///
/// # Safety
/// `ctx` is writable.
pub unsafe fn create(f: &'static str, options: c_long, ctx: *mut Ctx) -> c_int {
    world::need(f);
    let made = make(None, options, team::WORLD);
    // SAFETY: this function's contract: `ctx` is writable.
    unsafe { *ctx = made.unwrap_or(INVALID) };
    c_int::from(made.is_none())
}

/// `shmem_team_create_ctx`: like [`create`], for PE numbers of a team. Fails for `SHMEM_TEAM_INVALID`. A team's
/// `num_contexts` is only a hint: no limit follows from it.
///
/// # Safety
/// `ctx` is writable; `team` is a team of the program.
pub unsafe fn team_create(f: &'static str, team: Team, options: c_long, ctx: *mut Ctx) -> c_int {
    world::need(f);
    let made = if team.is_null() {
        None
    } else {
        make(handles::members(f, team), options, team)
    };
    // SAFETY: this function's contract: `ctx` is writable; `team` is a team of the program.
    unsafe { *ctx = made.unwrap_or(INVALID) };
    c_int::from(made.is_none())
}

/// `shmem_ctx_get_team`: returns 0, with the context's team in `*team`. For `SHMEM_CTX_INVALID` it returns another
/// value, with `SHMEM_TEAM_INVALID` in `*team`.
///
/// # Safety
/// `team` is writable; `ctx` is a context of the program.
pub unsafe fn get_team(f: &'static str, ctx: Ctx, team: *mut Team) -> c_int {
    let world = world::need(f);
    let found = if ctx.is_null() {
        team::INVALID
    } else if is_default(ctx) {
        team::WORLD
    } else {
        need(f, world, ctx).team
    };
    // SAFETY: this function's contract: `team` is writable; `ctx` is a context of the program.
    unsafe { *team = found };
    c_int::from(found.is_null())
}

/// `shmem_ctx_destroy`: quiet, then frees the context and its queue pairs. No effect for `SHMEM_CTX_INVALID`.
///
/// # Safety
/// Nobody uses the context any more.
pub unsafe fn destroy(f: &'static str, ctx: Ctx) {
    let world = world::need(f);
    if ctx.is_null() {
        return;
    }
    if is_default(ctx) {
        fail::die(
            f,
            format_args!(
                "PE {}: context SHMEM_CTX_DEFAULT: cannot be destroyed (expected one that shmem_ctx_create or \
                    shmem_team_create_ctx made)",
                world.me
            ),
        );
    }
    need(f, world, ctx);
    quiet(f, ctx);
    let known = {
        let mut all = all();
        let at = all.iter().position(|c| *c == ctx as usize);
        at.map(|i| all.swap_remove(i)).is_some()
    };
    if known {
        // SAFETY: `make` made the context, and it was just taken out of the list, so it is freed once.
        drop(unsafe { Box::from_raw(ctx) });
    }
}

/// Ends the contexts of a team that is being destroyed. Contexts that belong to one thread are left to that thread
/// (specification 1.5, section 9.4.5).
pub(crate) fn destroy_of_team(f: &'static str, team: Team) {
    let of_team: Vec<usize> = all()
        .iter()
        .copied()
        .filter(|c| {
            // SAFETY: contexts in the list have not been destroyed.
            let context = unsafe { &*(*c as Ctx) };
            context.team == team && context.options & PRIVATE == 0
        })
        .collect();
    for ctx in of_team {
        // SAFETY: the program has given up the team and thereby its contexts.
        unsafe { destroy(f, ctx as Ctx) };
    }
}

/// The queue pairs of a context; `None` without an engine.
fn lanes(f: &'static str, world: &'static World, ctx: Ctx) -> Option<&'static Lanes> {
    let net = queue::net()?;
    Some(if is_default(ctx) {
        &net.default
    } else {
        &need(f, world, ctx).lanes
    })
}

/// Waits until the program may use the sources and destinations of posted operations again.
#[inline(always)]
pub(crate) fn local_completion(f: &'static str, ctx: Ctx) {
    if !world::is_direct() {
        give_back(f, ctx);
    }
}

#[cold]
#[inline(never)]
fn give_back(f: &'static str, ctx: Ctx) {
    if let Some(lanes) = lanes(f, world::need(f), ctx) {
        lanes.give_back(f);
    }
}

/// `shmem_fence` on the cold way.
#[cold]
#[inline(never)]
pub(crate) fn fence(f: &'static str, ctx: Ctx) {
    let world = world::need(f);
    if ctx.is_null() {
        // A fence of an invalid context orders nothing (specification 1.5, section 9.10.1).
        return;
    }
    cpu_fence(Ordering::Release);
    if let (Some(net), Some(lanes)) = (queue::net(), lanes(f, world, ctx)) {
        lanes.fence(f, net);
    }
}

/// `shmem_quiet` on the cold way.
#[cold]
#[inline(never)]
pub(crate) fn quiet(f: &'static str, ctx: Ctx) {
    let world = world::need(f);
    if ctx.is_null() {
        return;
    }
    if let (Some(net), Some(lanes)) = (queue::net(), lanes(f, world, ctx)) {
        lanes.quiet(f, net);
    }
    cpu_fence(Ordering::SeqCst);
}

/// Completes what was posted on the default context. Barriers and locks do this (specification 1.5, sections 9.11.3
/// and 9.12).
#[inline]
pub(crate) fn quiet_all(f: &'static str) {
    if world::is_direct() {
        cpu_fence(Ordering::SeqCst);
    } else {
        quiet(f, DEFAULT);
    }
}

/// Completes what was posted on all contexts; used by finalize.
pub(crate) fn quiet_every(f: &'static str) {
    quiet(f, DEFAULT);
    if let Some(net) = queue::net() {
        for ctx in all().iter() {
            // SAFETY: contexts in the list have not been destroyed, and at the end no thread uses its context any
            // more.
            unsafe { &*(*ctx as Ctx) }.lanes.quiet(f, net);
        }
    }
}

/// `shmem_ctx_session_config_t` (1.6).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SessionConfig {
    /// How many operations to expect. Not used.
    pub total_ops: usize,
}

/// `SHMEM_CTX_SESSION_BATCH`.
pub(crate) const SESSION_BATCH: c_long = 1;

/// `shmem_ctx_session_start` (1.6), a hint. With `SESSION_BATCH`, the doorbells of the context's queue pairs are rung
/// only at the end of the session, at a fence, or before a wait. The direct way has no doorbells.
///
/// # Safety
/// `config` is null or readable.
pub unsafe fn session_start(
    f: &'static str,
    ctx: Ctx,
    options: c_long,
    _config: *const SessionConfig,
    _mask: c_long,
) {
    let world = world::need(f);
    if ctx.is_null() {
        return;
    }
    if let Some(lanes) = lanes(f, world, ctx) {
        lanes.batch(options & SESSION_BATCH != 0);
    }
}

/// `shmem_ctx_session_stop` (1.6).
///
/// # Safety
/// `ctx` is a context of the program, or `SHMEM_CTX_INVALID`.
pub unsafe fn session_stop(f: &'static str, ctx: Ctx) {
    let world = world::need(f);
    if ctx.is_null() {
        return;
    }
    if let Some(lanes) = lanes(f, world, ctx) {
        lanes.batch(false);
    }
}
