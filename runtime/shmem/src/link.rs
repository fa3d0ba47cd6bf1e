//! What PEs send each other on behalf of the library: bytes and flags in a peer's segment.
//!
//! Collectives use only these functions, so that the same algorithm works over mapped memory and through an engine.
//! Places are offsets in a peer's [segment](crate::segment), the same for every PE.
//!
//! # Memory ordering
//! A PE that sees a flag (by an acquire load of what [`tell`] or [`add`] wrote) also sees everything that the writer
//! has [put](put) to it before, and everything that the writer had seen itself. On the direct way the flag is a
//! release store after plain copies. Through an engine the flag is posted so that it stays behind the data.
//!
//! There is no fence between a flag and the look whether the peer sleeps: at every hop a full fence would wait until
//! the flag's cache line has travelled. Without the fence the look can miss a peer that goes to sleep within the time
//! that a store needs to become visible (some 0.1 us). Such a peer naps for 50 us and then looks again by itself
//! ([`crate::wait`]). It stays counted as a sleeper until its wait ends, so that only its first nap can be affected
//! ([`hetmp_core::bell`]).

use crate::control::Control;
use crate::way::{self, Way};
use crate::word::Op;
use crate::world::World;
use core::sync::atomic::{AtomicU64, Ordering};

/// From this size on (bytes), memcpy may use stores that bypass the cache. It orders them itself at its end, but we
/// do not rely on that.
pub(crate) const STREAMING: usize = 1 << 16;

/// The start of a peer's segment, if this PE may access it by loads and stores; else null.
pub(crate) fn reach(world: &'static World, pe: u32) -> *mut u8 {
    match way::to(world, pe, 0) {
        Way::Here(at) => at,
        Way::Queue(_) => core::ptr::null_mut(),
    }
}

/// Copies `bytes` from `source` to `offset` in the segment of `pe`. The source may be written again on return.
///
/// # Safety
/// `source` is readable; the place is in bounds, and the algorithm or the program orders accesses to it.
#[inline]
pub(crate) unsafe fn put(
    world: &'static World,
    pe: u32,
    offset: u64,
    source: *const u8,
    bytes: usize,
) {
    match way::to(world, pe, offset) {
        // SAFETY: this function's contract: `source` is readable; the place is in bounds, and the algorithm or the
        // program orders accesses to it.
        Way::Here(to) => unsafe { copy(source, to, bytes) },
        // SAFETY: this function's contract: `source` is readable; the place is in bounds, and the algorithm or the
        // program orders accesses to it.
        Way::Queue(to) => unsafe { to.send(source, bytes) },
    }
}

/// Copies `bytes` from `offset` in the segment of `pe` to `dest`. They have arrived on return.
///
/// # Safety
/// `dest` is writable; the place is in bounds, and the algorithm or the program orders accesses to it.
#[inline]
pub(crate) unsafe fn get(world: &'static World, pe: u32, offset: u64, dest: *mut u8, bytes: usize) {
    match way::to(world, pe, offset) {
        // SAFETY: this function's contract: `dest` is writable; the place is in bounds, and the algorithm or the
        // program orders accesses to it.
        Way::Here(from) => unsafe { copy(from, dest, bytes) },
        // SAFETY: this function's contract: `dest` is writable; the place is in bounds, and the algorithm or the
        // program orders accesses to it.
        Way::Queue(from) => unsafe { from.fetch(dest, bytes) },
    }
}

/// Writes the flag at `offset` in the segment of `pe`, after everything that was put there before, and wakes `pe`.
///
/// # Safety
/// An aligned word in bounds that is accessed only as a flag.
#[inline]
pub(crate) unsafe fn tell(world: &'static World, pe: u32, offset: u64, value: u64) {
    match way::to(world, pe, offset) {
        Way::Here(at) => {
            // SAFETY: this function's contract: an aligned word in bounds that is accessed only as a flag.
            unsafe { AtomicU64::from_ptr(at.cast()) }.store(value, Ordering::Release);
            wake_here(reach(world, pe));
        }
        Way::Queue(to) => to.flag(Op::Set, value),
    }
}

/// Adds to the flag at `offset` in the segment of `pe`, after everything that was put there before, and wakes `pe`.
///
/// # Safety
/// As [`tell`].
#[inline]
pub(crate) unsafe fn add(world: &'static World, pe: u32, offset: u64, value: u64) {
    match way::to(world, pe, offset) {
        Way::Here(at) => {
            // SAFETY: this function's contract: an aligned word in bounds that is accessed only as a flag.
            unsafe { AtomicU64::from_ptr(at.cast()) }.fetch_add(value, Ordering::Release);
            wake_here(reach(world, pe));
        }
        Way::Queue(to) => to.flag(Op::Add, value),
    }
}

/// Copies within mapped memory. Who sees a flag that is stored afterwards also sees the copied bytes.
///
/// # Safety
/// As [`put`].
#[inline(always)]
pub(crate) unsafe fn copy(source: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: this function's contract: `source` is readable; the place is in bounds, and the algorithm or the
    // program orders accesses to it.
    unsafe { core::ptr::copy(source, to, bytes) };
    // A large copy may use stores that bypass the cache, and on x86-64 a release store does not order those. A full
    // fence would also hold up the loads of the next copy.
    #[cfg(target_arch = "x86_64")]
    if bytes >= STREAMING {
        // SAFETY: every x86-64 processor has this instruction.
        unsafe { core::arch::x86_64::_mm_sfence() };
    }
}

/// Wakes the PE whose segment is mapped at `base`, if it sleeps.
#[inline(always)]
pub(crate) fn wake_here(base: *mut u8) {
    // SAFETY: every segment begins with a control block of atomics and stays mapped.
    let control = unsafe { &*base.cast::<Control>() };
    control.bell.ring_unfenced();
}
