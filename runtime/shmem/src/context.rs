//! Communication contexts (specification 1.5, section 9.4): independent streams of operations.
//!
//! A context names the team that its PE numbers count in, and what is to be ordered and completed together. On the
//! direct way there is nothing to hold back, so that contexts differ by their team alone.

use crate::fail;
use crate::world::{self, World};
use core::ffi::{c_int, c_long};
use core::sync::atomic::{fence as cpu_fence, Ordering};

/// What a `shmem_ctx_t` points to.
#[derive(Debug)]
pub struct Context {
    /// World number of each of its team's PEs; `None`: the world's own numbers.
    pub(crate) members: Option<Box<[u32]>>,
    /// `SHMEM_CTX_*`.
    pub(crate) options: c_long,
}

/// `shmem_ctx_t`.
pub type Ctx = *mut Context;

/// `SHMEM_CTX_DEFAULT`.
pub const DEFAULT: Ctx = core::ptr::without_provenance_mut(1);
/// `SHMEM_CTX_INVALID`.
pub const INVALID: Ctx = core::ptr::null_mut();

/// True for the default context.
#[inline(always)]
pub fn is_default(ctx: Ctx) -> bool {
    ctx as usize == 1
}

/// The number in the world of a context's PE `pe`, or the job ends.
pub(crate) fn world_pe(f: &'static str, world: &World, ctx: Ctx, pe: c_int) -> u32 {
    let bad = |n: usize| -> ! { fail::bad_pe(f, pe, n as u32) };
    if is_default(ctx) {
        if pe < 0 || pe as u32 >= world.n {
            bad(world.n as usize);
        }
        return pe as u32;
    }
    if ctx.is_null() {
        fail::die(
            f,
            format_args!("PE {pe}: context SHMEM_CTX_INVALID: a context that was made is accepted"),
        );
    }
    // SAFETY: the program passes what `create` made and `destroy` has not ended.
    let context = unsafe { &*ctx };
    match &context.members {
        None if pe >= 0 && (pe as u32) < world.n => pe as u32,
        None => bad(world.n as usize),
        Some(members) => match usize::try_from(pe).ok().and_then(|i| members.get(i)) {
            Some(pe) => *pe,
            None => bad(members.len()),
        },
    }
}

/// Waits until the sources of what was posted may be used again.
#[inline(always)]
pub(crate) fn local_completion(_f: &'static str, _ctx: Ctx) {}

/// `shmem_fence` the cold way.
#[cold]
#[inline(never)]
pub(crate) fn fence(f: &'static str, ctx: Ctx) {
    let _running = world::need(f);
    if ctx.is_null() {
        // A fence of no context orders nothing (specification 1.5, section 9.10.1).
        return;
    }
    cpu_fence(Ordering::Release);
}

/// `shmem_quiet` the cold way.
#[cold]
#[inline(never)]
pub(crate) fn quiet(f: &'static str, ctx: Ctx) {
    let _running = world::need(f);
    if ctx.is_null() {
        return;
    }
    cpu_fence(Ordering::SeqCst);
}

/// Completes what every context posted: for barriers and locks.
#[inline]
pub(crate) fn quiet_all(f: &'static str) {
    quiet(f, DEFAULT);
}
