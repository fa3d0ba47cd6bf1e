//! Cached memory of a device, under `HETMP_NIC_MODEL=gpu` (`hetmp_device_malloc_cached`).
//!
//! Without the model a cached block is ordinary symmetric memory, and the functions here do nothing.
//!
//! **Two views.** Under the model the heap is mapped twice ([`second_view`]). The program works on one mapping; the
//! adapters of all PEs work on the other one, the device's memory. The pages of a cached block are replaced in the
//! program's mapping by private ones, the cache. [`Cached`] copies between the two at kernel boundaries and flushes,
//! and nothing else does: a put without a flush sends old data, and what arrives is not seen before the next kernel
//! begins (Hamidouche and LeBeane, "GPU Initiated OpenSHMEM", section 4.2).

use crate::caches::{blocks, Block};
use crate::collective;
use crate::fail;
use crate::heap;
use crate::segment::HEAP_ALIGN;
use crate::world::{self, World};
use hetmp_core::page;
use hetmp_nic::device_memory::cached::Cached;
use std::io;
use std::ops::Range;

/// Maps the heap, which is mapped at `heap`, a second time: the program's view.
///
/// # Errors
/// The system has no room for the mapping.
pub(crate) fn second_view(heap: &Range<usize>) -> io::Result<Range<usize>> {
    let room = heap.len() + HEAP_ALIGN;
    // SAFETY: a fresh reservation, which nothing else uses, at an address of the system's choice.
    let start = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            room,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let start = (start as usize).next_multiple_of(HEAP_ALIGN);
    // SAFETY: the range lies in the reservation above.
    unsafe { map_again(heap.start, start, heap.len())? };
    Ok(start..start + heap.len())
}

/// Maps the shared memory that is mapped at `from` also at `to`, instead of what is there.
///
/// # Safety
/// `from` is mapped shared for `len` bytes. The pages at `to` are this module's, and nobody uses them.
unsafe fn map_again(from: usize, to: usize, len: usize) -> io::Result<()> {
    // SAFETY: this function's contract. An old length of 0 leaves the old mapping and makes a second one.
    let at = unsafe {
        libc::mremap(
            from as *mut libc::c_void,
            0,
            len,
            libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
            to as *mut libc::c_void,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The address at which adapters reach the byte of the heap at this offset.
fn image(world: &World, at: usize) -> *mut u8 {
    let place = world.own();
    place.base.wrapping_add(place.layout.heap_at() + at)
}

/// `hetmp_device_malloc_cached`: like `shmem_malloc`, whole pages.
pub fn malloc(f: &'static str, bytes: usize) -> *mut u8 {
    collective::same(f, "size", bytes as u64);
    let Some(whole) = bytes
        .checked_next_multiple_of(page::size())
        .filter(|b| *b > 0)
    else {
        return core::ptr::null_mut();
    };
    let world = world::need(f);
    let address = heap::allocate(f, whole, page::size());
    if !address.is_null() && !world.is_coherent() {
        let at = address as usize - world.heap_range.start;
        let image = image(world, at);
        // SAFETY: the block was just allocated, so that nobody uses its pages. The fresh pages are as long as the
        // image, and both stay until `forget` drops the block.
        let memory = unsafe {
            let pages = libc::mmap(
                address.cast(),
                whole,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            );
            if pages == libc::MAP_FAILED {
                let e = io::Error::last_os_error();
                fail::die(f, format_args!("PE {}: {whole} bytes: {e}", world.me));
            }
            core::ptr::copy_nonoverlapping(image, address, whole);
            Cached::new(address, image, whole)
        };
        blocks().push(Block {
            at,
            len: whole,
            memory,
        });
    }
    collective::barrier_all(f);
    address
}

/// The block at this offset of the heap is freed or moved: its pages are ordinary ones again, with what the program
/// saw there. No effect for other blocks.
pub(crate) fn forget(f: &'static str, at: usize) {
    let world = world::need(f);
    if world.is_coherent() {
        return;
    }
    let mut blocks = blocks();
    let Some(i) = blocks.iter().position(|b| b.at == at) else {
        return;
    };
    let mut block = blocks.swap_remove(i);
    block.memory.flush();
    let address = world.heap_range.start + at;
    // SAFETY: the adapter's mapping of the heap is shared and stays. The pages at the address are the block's private
    // ones, whose content was just written to the image; the program has given the block up.
    if let Err(e) = unsafe { map_again(image(world, at) as usize, address, block.len) } {
        fail::die(f, format_args!("PE {}: {} bytes: {e}", world.me, block.len));
    }
}
