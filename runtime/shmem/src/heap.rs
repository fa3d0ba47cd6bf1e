//! The symmetric heap (specification 1.5, section 9.3).
//!
//! Every PE makes the same calls in the same order, so that each decides for itself and all decide alike: the
//! allocator is deterministic, and its books lie outside of the heap, where no overrun of the program
//! reaches them.

use crate::blocks::{Heap, ALIGN};
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

fn allocate(f: &'static str, bytes: usize, align: usize) -> *mut u8 {
    let start = world::need(f).heap_range.start;
    match with(f, |h| h.allocate(bytes, align)) {
        Some(at) => core::ptr::with_exposed_provenance_mut(start + at),
        None => {
            say_full(f, bytes);
            core::ptr::null_mut()
        }
    }
}

/// Under `SHMEM_DEBUG`: why the program gets a null pointer. All PEs get one; PE 0 speaks.
#[cold]
fn say_full(f: &'static str, bytes: usize) {
    let world = world::need(f);
    if world.settings.debug && world.me == 0 {
        let (free, longest) = with(f, |h| h.room());
        hetmp_core::report::warn(format_args!(
            "{f} {bytes} bytes: null is returned; of the symmetric heap of {} bytes {free} are free, {longest} in one \
             piece: a larger SHMEM_SYMMETRIC_SIZE is accepted",
            world.heap_range.len()
        ));
    }
}

/// The offset of a block's address, or the job ends.
fn offset(f: &'static str, at: *mut u8) -> usize {
    let world = world::need(f);
    let off = (at as usize).wrapping_sub(world.heap_range.start);
    if with(f, |h| h.size_of(off)).is_none() {
        fail::die(
            f,
            format_args!("PE {}: address {at:p}: what shmem_malloc, shmem_calloc, shmem_align or shmem_realloc returned is accepted", world.me),
        );
    }
    off
}

/// `shmem_malloc`: null for 0 bytes, or if they are not there.
pub fn malloc(f: &'static str, bytes: usize) -> *mut u8 {
    collective::same(f, "size", bytes as u64);
    if bytes == 0 {
        return core::ptr::null_mut();
    }
    let at = allocate(f, bytes, ALIGN);
    collective::barrier_all(f);
    at
}

/// `shmem_malloc_with_hints`: hints are for memory that atomics or signals use; here all memory suits them.
pub fn malloc_with_hints(f: &'static str, bytes: usize, hints: c_long) -> *mut u8 {
    if hints & !3 != 0 {
        fail::die(
            f,
            format_args!("hints {hints:#x}: 0, SHMEM_MALLOC_ATOMICS_REMOTE and SHMEM_MALLOC_SIGNAL_REMOTE are accepted"),
        );
    }
    malloc(f, bytes)
}

/// `shmem_calloc`: zeroed.
pub fn calloc(f: &'static str, count: usize, size: usize) -> *mut u8 {
    let bytes = count.checked_mul(size);
    collective::same(f, "size", bytes.unwrap_or(usize::MAX) as u64);
    if bytes == Some(0) {
        return core::ptr::null_mut();
    }
    // A product that overflows is more than any heap has.
    let at = allocate(f, bytes.unwrap_or(usize::MAX), ALIGN);
    if let (Some(b), false) = (bytes, at.is_null()) {
        // SAFETY: just allocated, so nobody else's.
        unsafe { core::ptr::write_bytes(at, 0, b) };
    }
    collective::barrier_all(f);
    at
}

/// `shmem_align`: `alignment` is a power of two that is a multiple of a pointer's size.
pub fn align(f: &'static str, alignment: usize, bytes: usize) -> *mut u8 {
    collective::same(f, "size", bytes as u64);
    if bytes == 0 || !alignment.is_power_of_two() || alignment < size_of::<usize>() {
        return core::ptr::null_mut();
    }
    // Beyond that, alignment of offsets is not alignment of addresses: PEs have their heaps at different ones.
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
/// `old` is null or a block whose content nobody changes meanwhile.
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
    let had = with(f, |h| h.size_of(from)).unwrap_or(0);
    if with(f, |h| h.resize(from, bytes)) {
        // Nobody goes on into memory that another PE has not given up yet.
        collective::barrier_all(f);
        return old;
    }
    let at = allocate(f, bytes, ALIGN);
    if !at.is_null() {
        // SAFETY: two different blocks, each at least as long.
        unsafe { core::ptr::copy_nonoverlapping(old, at, had.min(bytes)) };
        with(f, |h| h.release(from));
    }
    collective::barrier_all(f);
    at
}

/// `shmem_free`; null is nothing.
pub fn free(f: &'static str, at: *mut u8) {
    world::need(f);
    if at.is_null() {
        return;
    }
    // Peers may still be using it: they are done once they come here, too.
    collective::barrier_all(f);
    let off = offset(f, at);
    with(f, |h| h.release(off));
}

/// `shmem_ptr`: where `dest` of `pe` can be accessed by loads and stores, null if it cannot.
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

/// `shmem_team_ptr` (1.6): as [`ptr`], with the PE's number in `team`; null if it has none.
pub fn team_ptr(f: &'static str, team: Team, dest: *const u8, pe: c_int) -> *mut u8 {
    match handles::translate_pe(f, team, pe, WORLD) {
        -1 => core::ptr::null_mut(),
        pe => ptr(f, dest, pe),
    }
}
