//! The symmetric heap (specification 1.5, section 9.3).
//!
//! Every PE makes the same calls in the same order, and the allocator is deterministic. So each PE allocates by
//! itself, and all get the same offsets. The bookkeeping lies outside of the heap, where an overrun of the program
//! cannot damage it.

use crate::blocks::{Heap, ALIGN};
use crate::cached;
use crate::collective;
use crate::fail;
use crate::team::handles;
use crate::team::state::{Team, WORLD};
use crate::world;
use core::ffi::{c_int, c_long};

fn with<R>(f: &'static str, use_it: impl FnOnce(&mut Heap) -> R) -> R {
    let mut heap = match world::need(f).heap.lock() {
        Ok(heap) => heap,
        Err(_) => unreachable!("panics abort"),
    };
    use_it(&mut heap)
}

/// A block, or null; without the barrier that collective allocations end with.
pub(crate) fn allocate(f: &'static str, bytes: usize, align: usize) -> *mut u8 {
    let start = world::need(f).heap_range.start;
    match with(f, |h| h.allocate(bytes, align)) {
        Some(at) => core::ptr::with_exposed_provenance_mut(start + at),
        None => {
            say_full(f, bytes);
            core::ptr::null_mut()
        }
    }
}

/// Under `SHMEM_DEBUG`: PE 0 says why the program gets a null pointer. All PEs get one.
#[cold]
fn say_full(f: &'static str, bytes: usize) {
    let world = world::need(f);
    if world.settings.debug && world.me == 0 {
        let (free, longest) = with(f, |h| h.room());
        hetmp_core::report::warn(format_args!(
            "{f} {bytes} bytes: null is returned; of the symmetric heap of {} bytes {free} are free, {longest} in one \
                piece (expected a larger SHMEM_SYMMETRIC_SIZE)",
            world.heap_range.len()
        ));
    }
}

/// The offset of a block from its address. Ends the job for other addresses.
fn offset(f: &'static str, at: *mut u8) -> usize {
    let world = world::need(f);
    let off = (at as usize).wrapping_sub(world.heap_range.start);
    if with(f, |h| h.size_of(off)).is_none() {
        fail::die(
            f,
            format_args!("PE {}: address {at:p}: not allocated (expected what shmem_malloc, shmem_calloc, shmem_align \
                or shmem_realloc returned)", world.me),
        );
    }
    off
}

/// `shmem_malloc`: null for 0 bytes, or if the heap has no room.
pub fn malloc(f: &'static str, bytes: usize) -> *mut u8 {
    collective::same(f, "size", bytes as u64);
    if bytes == 0 {
        return core::ptr::null_mut();
    }
    let at = allocate(f, bytes, ALIGN);
    collective::barrier_all(f);
    at
}

/// `shmem_malloc_with_hints`. The hints ask for memory that suits atomics or signals; all memory here does.
pub fn malloc_with_hints(f: &'static str, bytes: usize, hints: c_long) -> *mut u8 {
    if hints & !3 != 0 {
        fail::die(
            f,
            format_args!(
                "hints {hints:#x}: unknown (expected 0, SHMEM_MALLOC_ATOMICS_REMOTE, \
                SHMEM_MALLOC_SIGNAL_REMOTE or both)"
            ),
        );
    }
    malloc(f, bytes)
}

/// `shmem_calloc`: memory of zeros.
pub fn calloc(f: &'static str, count: usize, size: usize) -> *mut u8 {
    let bytes = count.checked_mul(size);
    collective::same(f, "size", bytes.unwrap_or(usize::MAX) as u64);
    if bytes == Some(0) {
        return core::ptr::null_mut();
    }
    // An overflowing product asks for more than any heap has.
    let at = allocate(f, bytes.unwrap_or(usize::MAX), ALIGN);
    if let (Some(b), false) = (bytes, at.is_null()) {
        // SAFETY: the block was just allocated, and nobody else has it.
        unsafe { core::ptr::write_bytes(at, 0, b) };
    }
    collective::barrier_all(f);
    at
}

/// `shmem_align`: `alignment` is a power of two. The specification asks for a multiple of a pointer's size; other
/// implementations take smaller ones, too, and programs pass them.
pub fn align(f: &'static str, alignment: usize, bytes: usize) -> *mut u8 {
    collective::same(f, "size", bytes as u64);
    if bytes == 0 || !alignment.is_power_of_two() {
        return core::ptr::null_mut();
    }
    // Larger alignments are refused: an aligned offset gives an aligned address only up to the heap's own alignment.
    let at = if alignment <= crate::segment::HEAP_ALIGN {
        allocate(f, bytes, alignment)
    } else {
        core::ptr::null_mut()
    };
    collective::barrier_all(f);
    at
}

/// `shmem_realloc`.
///
/// # Safety
/// `old` is null, or a block that no PE changes meanwhile.
pub unsafe fn realloc(f: &'static str, old: *mut u8, bytes: usize) -> *mut u8 {
    if old.is_null() {
        return malloc(f, bytes);
    }
    if bytes == 0 {
        free(f, old);
        return core::ptr::null_mut();
    }
    collective::same(f, "size", bytes as u64);
    collective::barrier_all(f);
    let from = offset(f, old);
    cached::forget(f, from);
    let had = with(f, |h| h.size_of(from)).unwrap_or(0);
    if with(f, |h| h.resize(from, bytes)) {
        // After this barrier no PE uses the new part while another still has it in another block.
        collective::barrier_all(f);
        return old;
    }
    let at = allocate(f, bytes, ALIGN);
    if !at.is_null() {
        // SAFETY: two different blocks, and both are at least as long as what is copied.
        unsafe { core::ptr::copy_nonoverlapping(old, at, had.min(bytes)) };
        with(f, |h| h.release(from));
    }
    collective::barrier_all(f);
    at
}

/// `shmem_free`. No effect for null.
pub fn free(f: &'static str, at: *mut u8) {
    world::need(f);
    if at.is_null() {
        return;
    }
    // Peers may still use the block; they have finished when they come to this barrier.
    collective::barrier_all(f);
    let off = offset(f, at);
    cached::forget(f, off);
    with(f, |h| h.release(off));
}

/// `shmem_ptr`: the address for loads and stores of `dest` on `pe`; null if there is none.
pub fn ptr(f: &'static str, dest: *const u8, pe: c_int) -> *mut u8 {
    if let Some(at) = world::direct(dest as usize, 1, pe) {
        return at;
    }
    let world = world::need(f);
    if pe < 0 || pe as u32 >= world.n {
        fail::bad_pe(f, pe, world.n);
    }
    if pe as u32 == world.me && world.offset(dest as usize, 1).is_some() {
        return dest.cast_mut();
    }
    match (world.offset(dest as usize, 1), world.is_coherent()) {
        (Some(offset), true) => match &world.peer(pe as u32).mapped {
            Some(s) => s.base.wrapping_add(offset as usize),
            None => core::ptr::null_mut(),
        },
        _ => core::ptr::null_mut(),
    }
}

/// `shmem_team_ptr` (1.6): like [`ptr`], with a PE number of `team`. Null if the team has no such PE.
pub fn team_ptr(f: &'static str, team: Team, dest: *const u8, pe: c_int) -> *mut u8 {
    match handles::translate_pe(f, team, pe, WORLD) {
        -1 => core::ptr::null_mut(),
        pe => ptr(f, dest, pe),
    }
}
