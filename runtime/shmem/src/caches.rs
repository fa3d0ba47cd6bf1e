//! The blocks of cached memory that there are ([`crate::cached`] makes them), and the boundaries of kernels.

use crate::world;
use core::sync::atomic::{AtomicBool, Ordering};
use hetmp_nic::device_memory::cached::Cached;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A cached block: where it lies in the heap, bytes, and its two views.
pub(crate) struct Block {
    pub(crate) at: usize,
    pub(crate) len: usize,
    pub(crate) memory: Cached,
}

/// A kernel runs: between [`begin`] and [`end`].
static IN_KERNEL: AtomicBool = AtomicBool::new(false);

static BLOCKS: Mutex<Vec<Block>> = Mutex::new(Vec::new());

pub(crate) fn blocks() -> MutexGuard<'static, Vec<Block>> {
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `hetmp_device_flush`: the cached blocks that the bytes touch are written back.
pub fn flush(f: &'static str, address: *const u8, bytes: usize) {
    let world = world::need(f);
    let from = (address as usize).wrapping_sub(world.heap_range.start);
    for block in blocks().iter_mut() {
        if from < block.at + block.len && block.at < from.saturating_add(bytes) {
            block.memory.flush();
        }
    }
}

/// A byte of cached memory that the program has written, and no adapter sees.
pub(crate) struct Dirty {
    pub(crate) at: usize,
    pub(crate) in_kernel: bool,
}

/// The first of `bytes` at `address` that is dirty.
pub(crate) fn unflushed(address: usize, bytes: usize) -> Option<Dirty> {
    let from = address.wrapping_sub(world::get()?.heap_range.start);
    let at = blocks().iter().find_map(|block| {
        let within = from.checked_sub(block.at).filter(|w| *w < block.len)?;
        block.memory.dirty(within, bytes.min(block.len - within))
    })?;
    Some(Dirty {
        at,
        in_kernel: IN_KERNEL.load(Ordering::Relaxed),
    })
}

/// True if one of these bytes of the program's heap lies in a cached block.
pub(crate) fn touches(address: usize, bytes: usize) -> bool {
    let Some(world) = world::get() else {
        return false;
    };
    let from = address.wrapping_sub(world.heap_range.start);
    blocks()
        .iter()
        .any(|b| from < b.at + b.len && b.at < from.saturating_add(bytes))
}

/// `hetmp_device_kernel_begin`: the program sees what has arrived in cached memory.
pub fn begin(f: &'static str) {
    world::need(f);
    IN_KERNEL.store(true, Ordering::Relaxed);
    for block in blocks().iter_mut() {
        block.memory.invalidate();
    }
}

/// `hetmp_device_kernel_end`: cached memory is written back.
pub fn end(f: &'static str) {
    world::need(f);
    IN_KERNEL.store(false, Ordering::Relaxed);
    for block in blocks().iter_mut() {
        block.memory.flush();
    }
}
