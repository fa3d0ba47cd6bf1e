//! The cold way of an operation: checks, and the choice of the transport.

use crate::context::{self, Ctx};
use crate::fail;
use crate::world::{self, World};
use core::ffi::c_int;

/// How a place of a peer is reached.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// It is mapped here.
    Here(*mut u8),
}

/// An operation that was found to be right: where it goes.
pub(crate) struct Found {
    pub(crate) world: &'static World,
    /// The PE in the world.
    pub(crate) pe: u32,
    pub(crate) way: Way,
}

/// Finds the peer and the place of an operation, or ends the job with a line.
pub(crate) fn find(f: &'static str, ctx: Ctx, address: usize, bytes: usize, pe: c_int) -> Found {
    let world = world::need(f);
    let pe = context::world_pe(f, world, ctx, pe);
    if bytes == 0 {
        // Moves nothing, so that its address does not matter (specification 1.5, section 9.5).
        return Found {
            world,
            pe,
            way: Way::Here(core::ptr::NonNull::<u64>::dangling().as_ptr().cast()),
        };
    }
    let Some(offset) = world.offset(address, bytes) else {
        fail::bad_address(f, address, bytes, pe as c_int)
    };
    Found {
        world,
        pe,
        way: to(world, pe, offset),
    }
}

/// The way to `offset` in the segment of `pe`.
pub(crate) fn to(world: &'static World, pe: u32, offset: u64) -> Way {
    match &world.peer(pe).mapped {
        Some(segment) => Way::Here(segment.base.wrapping_add(offset as usize)),
        None => unreachable!("peers that are not mapped are refused by init"),
    }
}
