//! Communication contexts (specification 1.5, section 9.4): independent streams of operations.
//!
//! A context names the team that its PE numbers count in, and what is to be ordered and completed together: on the
//! direct way nothing is held back, so that contexts differ by their team alone; through an engine each has
//! [queue pairs](crate::queue::lanes) of its own, made when it first needs one.

use crate::fail;
use crate::queue::lanes::Lanes;
use crate::queue::{self, CONTEXT_DEPTH};
use crate::team::{self, Team};
use crate::world::{self, World};
use core::ffi::{c_int, c_long};
use core::sync::atomic::{fence as cpu_fence, Ordering};
use std::sync::{Mutex, PoisonError};

/// `SHMEM_CTX_PRIVATE`: one thread uses it, the one that made it.
pub const PRIVATE: c_long = 1;
/// `SHMEM_CTX_SERIALIZED`: one thread at a time uses it.
pub const SERIALIZED: c_long = 2;
/// `SHMEM_CTX_NOSTORE`: quiet and fence need not order memory stores.
pub const NOSTORE: c_long = 4;

/// What a `shmem_ctx_t` points to.
#[derive(Debug)]
#[repr(C)]
pub struct Context {
    /// Its PE numbers are the world's own: direct operations need to know no more.
    plain: bool,
    /// World number of each of its team's PEs; `None`: the world's own numbers.
    pub(crate) members: Option<Box<[u32]>>,
    /// `SHMEM_CTX_*`.
    pub(crate) options: c_long,
    /// The thread that made it, as `pthread_self` has it.
    owner: u64,
    /// What it was made from, as the program has it.
    pub(crate) team: Team,
    /// Where engines are used.
    pub(crate) lanes: Lanes,
}

/// `shmem_ctx_t`.
pub type Ctx = *mut Context;

/// `SHMEM_CTX_DEFAULT`.
pub const DEFAULT: Ctx = core::ptr::without_provenance_mut(1);
/// `SHMEM_CTX_INVALID`.
pub const INVALID: Ctx = core::ptr::null_mut();

/// Contexts that were made and not destroyed, by address.
static ALL: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn all() -> std::sync::MutexGuard<'static, Vec<usize>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True for the default context.
#[inline(always)]
pub fn is_default(ctx: Ctx) -> bool {
    ctx as usize == 1
}

/// [`world::direct`] for a context whose PE numbers are the world's.
#[inline(always)]
pub(crate) fn direct(ctx: Ctx, address: usize, bytes: usize, pe: c_int) -> Option<*mut u8> {
    // SAFETY: while operations go the direct way, the program passes what was made and not destroyed.
    if is_default(ctx) || (world::is_direct() && !ctx.is_null() && unsafe { (*ctx).plain }) {
        world::direct(address, bytes, pe)
    } else {
        None
    }
}

/// Makes a context. `members`: world numbers of the PEs of its team, `None` for the world; `team`: its handle.
/// `None` for options that do not exist.
fn make(members: Option<Box<[u32]>>, options: c_long, team: Team) -> Option<Ctx> {
    if options & !(PRIVATE | SERIALIZED | NOSTORE) != 0 {
        return None;
    }
    let ctx = Box::into_raw(Box::new(Context {
        plain: members.is_none(),
        members,
        options,
        // SAFETY: no preconditions.
        owner: unsafe { libc::pthread_self() } as u64,
        team,
        lanes: Lanes::new(CONTEXT_DEPTH, options & (PRIVATE | SERIALIZED) != 0),
    }));
    all().push(ctx as usize);
    Some(ctx)
}

/// The context, or the job ends with a line. Under `HETMP_CHECK` one that was destroyed is found out.
fn need(f: &'static str, world: &World, ctx: Ctx) -> &'static Context {
    if ctx.is_null() {
        fail::die(
            f,
            format_args!(
                "PE {}: context SHMEM_CTX_INVALID: a context that was made is accepted",
                world.me
            ),
        );
    }
    if world.settings.check && !all().contains(&(ctx as usize)) {
        fail::die(
            f,
            format_args!(
                "PE {}: context {ctx:p}: one that was made and not destroyed is accepted",
                world.me
            ),
        );
    }
    // SAFETY: the program passes what `make` made and `destroy` has not ended; no reference outlives its call.
    let context = unsafe { &*ctx };
    // SAFETY: no preconditions.
    let own = context.owner == unsafe { libc::pthread_self() } as u64;
    if world.settings.check && context.options & PRIVATE != 0 && !own {
        fail::die(
            f,
            format_args!(
                "PE {}: context {ctx:p}: made with SHMEM_CTX_PRIVATE by another thread: that thread is accepted",
                world.me
            ),
        );
    }
    context
}

/// The number in the world of a context's PE `pe`, or the job ends.
pub(crate) fn world_pe(f: &'static str, world: &World, ctx: Ctx, pe: c_int) -> u32 {
    let bad = |n: usize| -> ! { fail::bad_pe(f, pe, n as u32) };
    let members = if is_default(ctx) {
        &None
    } else {
        &need(f, world, ctx).members
    };
    match members {
        None if pe >= 0 && (pe as u32) < world.n => pe as u32,
        None => bad(world.n as usize),
        Some(members) => match usize::try_from(pe).ok().and_then(|i| members.get(i)) {
            Some(pe) => *pe,
            None => bad(members.len()),
        },
    }
}

/// `shmem_ctx_create`: 0, or another value and `SHMEM_CTX_INVALID`.
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

/// `shmem_team_create_ctx`: as [`create`], for PE numbers of a team; for `SHMEM_TEAM_INVALID` it fails. A team's
/// `num_contexts` is a promise of the program; there are as many as are asked for.
///
/// # Safety
/// `ctx` is writable; `team` is a team of the program.
pub unsafe fn team_create(f: &'static str, team: Team, options: c_long, ctx: *mut Ctx) -> c_int {
    world::need(f);
    let made = if team.is_null() {
        None
    } else {
        make(team::members(f, team), options, team)
    };
    // SAFETY: this function's contract: `ctx` is writable; `team` is a team of the program.
    unsafe { *ctx = made.unwrap_or(INVALID) };
    c_int::from(made.is_none())
}

/// `shmem_ctx_get_team`: 0 and the team that the context was made from; for `SHMEM_CTX_INVALID` another value and
/// `SHMEM_TEAM_INVALID`.
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

/// `shmem_ctx_destroy`: quiet, then its queue pairs are given back. Nothing for `SHMEM_CTX_INVALID`.
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
                "PE {}: context SHMEM_CTX_DEFAULT: a context that shmem_ctx_create or shmem_team_create_ctx made is accepted",
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
        // SAFETY: made by `make`, found in the list and taken out of it: freed once.
        drop(unsafe { Box::from_raw(ctx) });
    }
}

/// Ends the contexts of a team that is destroyed, but for those that belong to one thread (specification 1.5,
/// section 9.4.5: the thread itself has to).
pub(crate) fn destroy_of_team(f: &'static str, team: Team) {
    let of_team: Vec<usize> = all()
        .iter()
        .copied()
        .filter(|c| {
            // SAFETY: what is in the list has not been destroyed.
            let context = unsafe { &*(*c as Ctx) };
            context.team == team && context.options & PRIVATE == 0
        })
        .collect();
    for ctx in of_team {
        // SAFETY: the program has given the team up, and with it its contexts.
        unsafe { destroy(f, ctx as Ctx) };
    }
}

/// The queue pairs of a context that the program made, which [`world_pe`] has accepted; none for the default one.
#[inline]
pub(crate) fn own_lanes(ctx: Ctx) -> Option<&'static Lanes> {
    if is_default(ctx) {
        return None;
    }
    // SAFETY: `world_pe` accepted the context: the program passes what was made and not destroyed. What the reference is
    // used for ends before the call of the program does.
    Some(unsafe { &(*ctx).lanes })
}

/// The queue pairs of a context, where there is an engine.
fn lanes(f: &'static str, world: &'static World, ctx: Ctx) -> Option<&'static Lanes> {
    let net = queue::net()?;
    Some(if is_default(ctx) {
        &net.default
    } else {
        &need(f, world, ctx).lanes
    })
}

/// Waits until the sources and destinations of what was posted are the program's again.
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

/// `shmem_fence` the cold way.
#[cold]
#[inline(never)]
pub(crate) fn fence(f: &'static str, ctx: Ctx) {
    let world = world::need(f);
    if ctx.is_null() {
        // A fence of no context orders nothing (specification 1.5, section 9.10.1).
        return;
    }
    cpu_fence(Ordering::Release);
    if let (Some(net), Some(lanes)) = (queue::net(), lanes(f, world, ctx)) {
        lanes.fence(f, net);
    }
}

/// `shmem_quiet` the cold way.
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

/// Completes what was posted on the default context: for barriers and locks, which the specification has do so.
#[inline]
pub(crate) fn quiet_all(f: &'static str) {
    if world::is_direct() {
        cpu_fence(Ordering::SeqCst);
    } else {
        quiet(f, DEFAULT);
    }
}

/// Completes what was posted on any context: for the end.
pub(crate) fn quiet_every(f: &'static str) {
    quiet(f, DEFAULT);
    if let Some(net) = queue::net() {
        for ctx in all().iter() {
            // SAFETY: what is in the list has not been destroyed; at the end no thread uses its context any more.
            unsafe { &*(*ctx as Ctx) }.lanes.quiet(f, net);
        }
    }
}

/// `shmem_ctx_session_config_t` (1.6).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SessionConfig {
    /// Operations to expect; says nothing that is made use of.
    pub total_ops: usize,
}

/// `SHMEM_CTX_SESSION_BATCH`.
pub const SESSION_BATCH: c_long = 1;

/// `shmem_ctx_session_start` (1.6): a hint. With [`SESSION_BATCH`], doorbells of the context's queue pairs are not rung
/// before the session ends, a fence, or a wait for something. The direct way has no doorbells.
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
/// A context of the program, or `SHMEM_CTX_INVALID`.
pub unsafe fn session_stop(f: &'static str, ctx: Ctx) {
    let world = world::need(f);
    if ctx.is_null() {
        return;
    }
    if let Some(lanes) = lanes(f, world, ctx) {
        lanes.batch(false);
    }
}
