//! What PEs tell each other below the program's operations: bytes and flags in a peer's segment.
//!
//! Collectives are written against these few functions, so that the same algorithm runs over mapped memory and
//! through an engine. Places are offsets in a peer's [segment](crate::segment), the same for every PE.
//!
//! # Memory ordering
//! Whoever sees a flag (an acquire load that finds what [`tell`] or [`add`] wrote) sees everything that the same
//! PE [put](put) to it before, and what that PE had seen itself. On the direct way these are a release store
//! and plain copies; through an engine the flag is posted so that it stays behind the data.
//!
//! No fence lies between a flag and the look at the peer's sleepers: a full fence would wait for the flag's line
//! to travel, on every hop. The look may so miss a peer that goes to sleep within the time a store needs to become
//! visible (some 0.1 us). It then naps once, 50 us, and looks again by itself: see [`crate::wait`]; and it counts
//! itself as a sleeper until its wait ends, so that only the first nap can be affected ([`hetmp_core::bell`]).

use crate::control::Control;
use crate::way::{self, Way};
use crate::word::Op;
use crate::world::World;
use core::sync::atomic::{AtomicU64, Ordering};

/// From this size on, memcpy may use stores that bypass the cache; it orders them itself at its end, but this
/// does not depend on that.
pub(crate) const STREAMING: usize = 1 << 16;

/// The start of a peer's segment where its memory may be accessed by loads and stores of this PE, else null.
pub(crate) fn reach(world: &'static World, pe: u32) -> *mut u8 {
    match way::to(world, pe, 0) {
        Way::Here(at) => at,
        Way::Queue(_) => core::ptr::null_mut(),
    }
}

/// Copies `bytes` at `source` to `offset` in the segment of `pe`; the source can be used again on return.
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

/// Copies `bytes` at `offset` in the segment of `pe` to `dest`; they are here on return.
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

/// Writes the flag at `offset` in the segment of `pe`, behind what was put there before, and wakes it.
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

/// Adds to the flag at `offset` in the segment of `pe`, behind what was put there before, and wakes it.
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

/// Copies within mapped memory; what is written after it is seen after it.
///
/// # Safety
/// As [`put`].
#[inline(always)]
pub(crate) unsafe fn copy(source: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: this function's contract: `source` is readable; the place is in bounds, and the algorithm or the
    // program orders accesses to it.
    unsafe { core::ptr::copy(source, to, bytes) };
    // Large copies may use stores that bypass the cache, which a release store does not order on this machine. A
    // full fence would also hold up the loads of the next copy.
    #[cfg(target_arch = "x86_64")]
    if bytes >= STREAMING {
        // SAFETY: every x86-64 has it.
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
