//! The cold way of an operation: checks, and the choice of the transport.

use crate::context::{self, Ctx};
use crate::fail;
use crate::heap;
use crate::queue::{Reach, Remote};
use crate::world::{self, World};
use core::ffi::c_int;

/// How a place of a peer is reached.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// It is mapped here.
    Here(*mut u8),
    /// Through a queue pair.
    Queue(Remote),
}

/// An operation that was found to be right: where it goes.
pub(crate) struct Found {
    pub(crate) way: Way,
}

/// Finds the peer and the place of an operation, or ends the job with a line.
pub(crate) fn find(f: &'static str, ctx: Ctx, address: usize, bytes: usize, pe: c_int) -> Found {
    let world = world::need(f);
    let pe = context::world_pe(f, world, ctx, pe);
    if bytes == 0 {
        // Moves nothing, so that its address does not matter (specification 1.5, section 9.5).
        return Found {
            way: Way::Here(core::ptr::NonNull::<u64>::dangling().as_ptr().cast()),
        };
    }
    let Some(offset) = world.offset(address, bytes) else {
        fail::bad_address(f, address, bytes, pe as c_int)
    };
    if world.settings.check {
        heap::check(f, world, address, bytes, pe);
    }
    Found {
        way: to(world, pe, offset),
    }
}

/// The way to `offset` in the segment of `pe`.
pub(crate) fn to(world: &'static World, pe: u32, offset: u64) -> Way {
    let mapped = world.peer(pe).mapped.as_ref();
    let queued = world.net.as_ref().filter(|net| match net.reach {
        Reach::All => true,
        Reach::Others => pe != world.me,
        Reach::Unmapped => mapped.is_none(),
    });
    match (queued, mapped) {
        (Some(net), _) => Way::Queue(Remote {
            world,
            net,
            pe,
            offset,
        }),
        (None, Some(segment)) => Way::Here(segment.base.wrapping_add(offset as usize)),
        (None, None) => unreachable!("without an engine, all peers are mapped"),
    }
}
