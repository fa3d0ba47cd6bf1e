//! The type behind a context handle, and how handles are resolved.
//!
//! A handle is believed as the specification lets us: made, not destroyed, and used by its owner if private
//! (`HETMP_CHECK=1` looks). No reference outlives the program's call.

use crate::fail;
use crate::queue::lanes::Lanes;
use crate::queue::CONTEXT_DEPTH;
use crate::team::state::Team;
use crate::world::{self, World};
use core::ffi::{c_int, c_long};
use std::sync::{Mutex, PoisonError};

/// `SHMEM_CTX_PRIVATE`: only the thread that made the context uses it.
pub const PRIVATE: c_long = 1;
/// `SHMEM_CTX_SERIALIZED`: one thread at a time uses the context.
pub(crate) const SERIALIZED: c_long = 2;
/// `SHMEM_CTX_NOSTORE`: quiet and fence need not order memory stores.
pub(crate) const NOSTORE: c_long = 4;

/// What a `shmem_ctx_t` points to.
#[derive(Debug)]
#[repr(C)]
pub struct Context {
    /// PE numbers of this context are the world's. Direct operations check nothing else.
    plain: bool,
    /// The world's number of each PE of the team; `None` if the team is the world.
    pub(crate) members: Option<Box<[u32]>>,
    /// `SHMEM_CTX_*`.
    pub(crate) options: c_long,
    /// The `pthread_self` of the thread that made the context.
    owner: u64,
    /// The team from which the program made the context.
    pub(crate) team: Team,
    /// The context's queue pairs, if the job has an engine.
    pub(crate) lanes: Lanes,
}

/// `shmem_ctx_t`.
pub type Ctx = *mut Context;

/// `SHMEM_CTX_DEFAULT`.
pub const DEFAULT: Ctx = core::ptr::without_provenance_mut(1);
/// `SHMEM_CTX_INVALID`.
pub const INVALID: Ctx = core::ptr::null_mut();

/// Addresses of all contexts that were made and not destroyed.
static ALL: Mutex<Vec<usize>> = Mutex::new(Vec::new());

pub(super) fn all() -> std::sync::MutexGuard<'static, Vec<usize>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True for the default context.
#[inline(always)]
pub(crate) fn is_default(ctx: Ctx) -> bool {
    ctx as usize == 1
}

/// [`world::direct`], for contexts whose PE numbers are the world's.
#[inline(always)]
pub(crate) fn direct(ctx: Ctx, address: usize, bytes: usize, pe: c_int) -> Option<*mut u8> {
    // SAFETY: on the direct way handles are not checked: the program passes a context that was made and not
    // destroyed.
    if is_default(ctx) || (world::is_direct() && !ctx.is_null() && unsafe { (*ctx).plain }) {
        world::direct(address, bytes, pe)
    } else {
        None
    }
}

/// Makes a context. `members` are the world's numbers of its team's PEs, `None` for the world; `team` is the
/// program's handle. Returns `None` for options that do not exist.
pub(super) fn make(members: Option<Box<[u32]>>, options: c_long, team: Team) -> Option<Ctx> {
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

/// The context of a handle. Ends the job with a line for a bad one; a destroyed context is only noticed under
/// `HETMP_CHECK`.
pub(super) fn need(f: &'static str, world: &World, ctx: Ctx) -> &'static Context {
    if ctx.is_null() {
        fail::die(
            f,
            format_args!(
                "PE {}: context SHMEM_CTX_INVALID (expected a context that was made)",
                world.me
            ),
        );
    }
    if world.settings.check && !all().contains(&(ctx as usize)) {
        fail::die(
            f,
            format_args!(
                "PE {}: context {ctx:p}: unknown (expected one that was made and not destroyed)",
                world.me
            ),
        );
    }
    // SAFETY: the program passes a context that `make` made and that is not destroyed; no reference outlives the
    // program's call.
    let context = unsafe { &*ctx };
    // SAFETY: no preconditions.
    let own = context.owner == unsafe { libc::pthread_self() } as u64;
    if world.settings.check && context.options & PRIVATE != 0 && !own {
        fail::die(
            f,
            format_args!(
                "PE {}: context {ctx:p}: made with SHMEM_CTX_PRIVATE by another thread (expected that thread)",
                world.me
            ),
        );
    }
    context
}

/// The world's number of PE `pe` of a context. Ends the job if there is no such PE.
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

/// The queue pairs of a context that the program made and that [`world_pe`] has accepted; `None` for the default
/// context.
#[inline]
pub(crate) fn own_lanes(ctx: Ctx) -> Option<&'static Lanes> {
    if is_default(ctx) {
        return None;
    }
    // SAFETY: `world_pe` accepted the context, and the program passes contexts that were made and not destroyed. The
    // reference is not used after the program's call.
    Some(unsafe { &(*ctx).lanes })
}
