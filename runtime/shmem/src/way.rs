//! The cold way of an operation: checks it, and chooses the transport.

use crate::context::handle::{own_lanes, world_pe, Ctx};
use crate::fail;
use crate::queue::lanes::Lanes;
use crate::queue::{self, Net, Remote};
use crate::world::{self, World};
use core::ffi::c_int;
use hetmp_nic::job::Reach;

/// How a place in a peer's segment is reached.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// It is mapped here, at this address.
    Here(*mut u8),
    /// Through a queue pair.
    Queue(Remote),
}

/// An operation that has passed the checks, and where it goes.
pub(crate) struct Found {
    pub(crate) way: Way,
}

/// Finds the peer and the place of an operation. Ends the job with a line if one of them is wrong.
pub(crate) fn find(f: &'static str, ctx: Ctx, address: usize, bytes: usize, pe: c_int) -> Found {
    let world = world::need(f);
    let pe = world_pe(f, world, ctx, pe);
    if bytes == 0 {
        // Nothing is moved, so that the address does not matter (specification 1.5, section 9.5).
        return Found {
            way: Way::Here(core::ptr::NonNull::<u64>::dangling().as_ptr().cast()),
        };
    }
    let Some(offset) = world.offset(address, bytes) else {
        fail::bad_address(f, address, bytes, pe as c_int)
    };
    if world.settings.check {
        check_block(f, world, address, bytes, pe);
    }
    Found {
        way: through(world, pe, offset, |net| match own_lanes(ctx) {
            Some(lanes) => lanes,
            None => &net.default,
        }),
    }
}

/// The way to `offset` in the segment of `pe`, for the library's own operations.
pub(crate) fn to(world: &'static World, pe: u32, offset: u64) -> Way {
    through(world, pe, offset, |net| &net.internal)
}

/// The way to a peer's memory, through the queue pairs that `lanes` chooses.
#[inline]
fn through(
    world: &'static World,
    pe: u32,
    offset: u64,
    lanes: impl FnOnce(&'static Net) -> &'static Lanes,
) -> Way {
    let mapped = world.peer(pe).mapped.as_ref();
    let queued = queue::net().filter(|net| match net.reach {
        Reach::Nobody => false,
        Reach::All => true,
        Reach::Others => pe != world.me,
        Reach::Unmapped => mapped.is_none(),
    });
    match (queued, mapped) {
        (Some(net), _) => Way::Queue(Remote {
            world,
            net,
            lanes: lanes(net),
            pe,
            offset,
        }),
        (None, Some(segment)) => Way::Here(segment.base.wrapping_add(offset as usize)),
        (None, None) => unreachable!("without an engine, all peers are mapped"),
    }
}

/// Under `HETMP_CHECK`: ends the job for an access to the heap that does not lie within one block. This looks into
/// this PE's own bookkeeping, which is the same on every PE.
#[cold]
fn check_block(f: &'static str, world: &World, address: usize, bytes: usize, pe: u32) {
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
    let block = match world.heap.lock() {
        Ok(heap) => heap.block(at),
        Err(_) => unreachable!("panics abort"),
    };
    match block {
        None => wrong(format_args!(
            "it is in no block (expected memory of the symmetric heap that was allocated and not freed)"
        )),
        Some((start, len)) if at - start + bytes > len => wrong(format_args!(
            "its block of {len} bytes ends before (expected a range within a block)"
        )),
        Some(_) => {}
    }
}
