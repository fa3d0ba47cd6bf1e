//! The symmetric heap (specification 1.5, section 9.3).
//!
//! Every PE makes the same calls in the same order, so that each decides for itself and all decide alike: the
//! allocator is deterministic, and its books lie outside of the heap, where no overrun of the program
//! reaches them.

use crate::collective;
use crate::fail;
use crate::world::{self, World};
use core::ffi::{c_int, c_long};
use std::collections::BTreeMap;

/// What every block is aligned to: a cache line, so that blocks of two calls share none.
const ALIGN: usize = 64;

/// The books of one heap: offsets from its start.
#[derive(Debug)]
pub struct Heap {
    /// Free ranges: start to length; never two that touch.
    free: BTreeMap<usize, usize>,
    /// Blocks given out: start to length taken, and length asked for.
    taken: BTreeMap<usize, (usize, usize)>,
}

impl Heap {
    /// All of `len` bytes free.
    pub fn new(len: usize) -> Heap {
        let free = if len == 0 {
            BTreeMap::new()
        } else {
            BTreeMap::from([(0, len)])
        };
        Heap {
            free,
            taken: BTreeMap::new(),
        }
    }

    /// The first place of `bytes` bytes aligned to `align` (a power of two).
    pub fn allocate(&mut self, bytes: usize, align: usize) -> Option<usize> {
        let len = bytes.max(1).checked_next_multiple_of(ALIGN)?;
        let align = align.max(ALIGN);
        let (start, room, at) = self.free.iter().find_map(|(&start, &room)| {
            let at = start.checked_next_multiple_of(align)?;
            (at.checked_add(len)? <= start + room).then_some((start, room, at))
        })?;
        self.free.remove(&start);
        if at > start {
            self.free.insert(start, at - start);
        }
        let end = at + len;
        if end < start + room {
            self.free.insert(end, start + room - end);
        }
        self.taken.insert(at, (len, bytes));
        Some(at)
    }

    /// Gives a block back; false if none begins at `at`.
    pub fn release(&mut self, at: usize) -> bool {
        let Some((len, _)) = self.taken.remove(&at) else {
            return false;
        };
        let (mut start, mut end) = (at, at + len);
        if let Some(after) = self.free.remove(&end) {
            end += after;
        }
        if let Some((&before, &room)) = self.free.range(..start).next_back() {
            if before + room == start {
                self.free.remove(&before);
                start = before;
            }
        }
        self.free.insert(start, end - start);
        true
    }

    /// Makes the block that begins at `at` hold `bytes` without moving it; false if it cannot.
    pub fn resize(&mut self, at: usize, bytes: usize) -> bool {
        let (Some(&(had, _)), Some(len)) = (
            self.taken.get(&at),
            bytes.max(1).checked_next_multiple_of(ALIGN),
        ) else {
            return false;
        };
        if len > had {
            let room = self.free.get(&(at + had)).copied().unwrap_or(0);
            if had + room < len {
                return false;
            }
            self.free.remove(&(at + had));
            if had + room > len {
                self.free.insert(at + len, had + room - len);
            }
        } else if len < had {
            // What is cut off joins the free range behind it.
            let after = self.free.remove(&(at + had)).unwrap_or(0);
            self.free.insert(at + len, had - len + after);
        }
        self.taken.insert(at, (len, bytes));
        true
    }

    /// Bytes asked for of the block that begins at `at`.
    pub fn size_of(&self, at: usize) -> Option<usize> {
        self.taken.get(&at).map(|&(_, asked)| asked)
    }

    /// Bytes free, and the longest range of them.
    pub fn room(&self) -> (usize, usize) {
        (
            self.free.values().sum(),
            self.free.values().copied().max().unwrap_or(0),
        )
    }

    /// The block that holds `at`: its start and the bytes asked for.
    pub fn block(&self, at: usize) -> Option<(usize, usize)> {
        let (&start, &(len, asked)) = self.taken.range(..=at).next_back()?;
        (at < start + len).then_some((start, asked))
    }
}

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
        None => core::ptr::null_mut(),
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

/// Under `HETMP_CHECK`: an access to the heap that does not lie within one block ends the job. Books are this PE's, and
/// every PE's are alike.
#[cold]
pub(crate) fn check(f: &'static str, world: &World, address: usize, bytes: usize, pe: u32) {
    if !world.heap_range.contains(&address) {
        return;
    }
    let at = address - world.heap_range.start;
    let wrong = |what: core::fmt::Arguments<'_>| -> ! {
        fail::die(
            f,
            format_args!("PE {pe}: address {address:#x} of {bytes} bytes: {what}"),
        )
    };
    match with(f, |h| h.block(at)) {
        None => wrong(format_args!(
            "it is in no block: memory of the symmetric heap that was allocated and not freed is accepted"
        )),
        Some((start, len)) if at - start + bytes > len => wrong(format_args!(
            "its block of {len} bytes ends before: a range within a block is accepted"
        )),
        Some(_) => {}
    }
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
    let at = bytes.map_or(core::ptr::null_mut(), |b| allocate(f, b, ALIGN));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_do_not_overlap_and_come_back_whole() {
        let mut h = Heap::new(1 << 16);
        let a = h.allocate(1, 1).expect("room");
        let b = h.allocate(100, 4096).expect("room");
        let c = h.allocate(64, 1).expect("room");
        assert_eq!((a, b), (0, 4096));
        // First fit: the gap before the aligned block is used.
        assert_eq!(c, 64);
        assert_eq!(h.size_of(b), Some(100));
        assert_eq!(h.block(b + 99), Some((b, 100)));
        assert_eq!(h.block(b + 128), None);
        assert!(!h.release(1));
        assert!(h.release(a) && h.release(c) && h.release(b));
        assert_eq!(h.room(), (1 << 16, 1 << 16));
        let a = h.allocate(128, 1).expect("room");
        let b = h.allocate(64, 1).expect("room");
        assert!(h.resize(a, 10) && h.size_of(a) == Some(10));
        // Back into what was cut off, but not over the next block.
        assert!(h.resize(a, 128) && !h.resize(a, 129));
        assert!(h.release(b) && h.resize(a, 1 << 16) && h.room() == (0, 0));
        assert!(h.resize(a, 1) && h.release(a));
        assert_eq!(h.room(), (1 << 16, 1 << 16));
        assert_eq!(h.allocate((1 << 16) + 1, 1), None);
        assert_eq!(h.allocate(usize::MAX, 1), None);
    }
}
