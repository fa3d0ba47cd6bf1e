//! The members of a collective, and how they tell each other: a [team](crate::team) by steps in its cells, an [active
//! set](crate::active) by counts in the program's `pSync`.

use crate::fail;
use crate::link;
use crate::team::steps::Step;

use super::rounds::Tell;
use crate::world::World;
use core::ffi::c_int;

/// The members of one collective operation.
pub(crate) trait Group: Tell {
    fn world(&self) -> &'static World;
    /// A member's number in the world, from its rank.
    fn pe(&self, rank: usize) -> u32;
    /// A member's segment, as mapped here; null if it is not mapped.
    fn base(&self, rank: usize) -> *mut u8;
    /// True if all members are mapped. All members get the same answer.
    fn direct(&self) -> bool;
    /// The sum of `mine` over all members before this one. Every member calls it once.
    fn prefix(&self, mine: u64) -> u64;

    /// Copies `bytes` to `offset` in a member's segment.
    ///
    /// # Safety
    /// As [`link::put`].
    #[inline(always)]
    unsafe fn put(&self, rank: usize, offset: u64, source: *const u8, bytes: usize) {
        let base = self.base(rank);
        // SAFETY: this function's contract: `source` is readable, the place is in bounds of the member's memory,
        // and the algorithm orders accesses to it.
        unsafe {
            if base.is_null() {
                link::put(self.world(), self.pe(rank), offset, source, bytes);
            } else {
                link::copy(source, base.wrapping_add(offset as usize), bytes);
            }
        }
    }

    /// Copies `bytes` from `offset` in a member's segment.
    ///
    /// # Safety
    /// As [`link::get`].
    #[inline(always)]
    unsafe fn get(&self, rank: usize, offset: u64, dest: *mut u8, bytes: usize) {
        let base = self.base(rank);
        // SAFETY: this function's contract: `dest` is writable, the place is in bounds of the member's memory, and
        // the algorithm orders accesses to it.
        unsafe {
            if base.is_null() {
                link::get(self.world(), self.pe(rank), offset, dest, bytes);
            } else {
                link::copy(base.wrapping_add(offset as usize), dest, bytes);
            }
        }
    }
}

impl Tell for Step<'_> {
    #[inline(always)]
    fn rank(&self) -> usize {
        self.team.rank as usize
    }
    #[inline(always)]
    fn size(&self) -> usize {
        self.team.size()
    }
    #[inline(always)]
    fn tell(&self, phase: u32, rank: usize) {
        Step::tell(self, phase, rank);
    }
    #[inline(always)]
    fn await_from(&self, phase: u32, rank: usize) {
        Step::await_from(self, phase, rank);
    }
    #[inline(always)]
    fn await_all(&self, phase: u32) {
        for rank in self.others() {
            Step::await_from(self, phase, rank);
        }
    }
    #[inline(always)]
    fn by_stores(&self) -> bool {
        self.team.direct
    }
}

impl Group for Step<'_> {
    fn world(&self) -> &'static World {
        self.team.world
    }
    fn pe(&self, rank: usize) -> u32 {
        self.team.members[rank].pe
    }
    #[inline(always)]
    fn base(&self, rank: usize) -> *mut u8 {
        self.team.members[rank].base
    }
    fn direct(&self) -> bool {
        self.team.direct
    }
    fn prefix(&self, mine: u64) -> u64 {
        let team = self.team;
        // SAFETY: a word of this stack; contributions are words.
        unsafe {
            let exchange = team.exchange(self.f, (&raw const mine).cast(), size_of::<u64>());
            let mut before = 0;
            // An exchange waits for all members, also for those whose contributions are not added.
            for rank in self.others() {
                let theirs = exchange.from(rank).cast::<u64>().read();
                if rank < self.rank() {
                    before += theirs;
                }
            }
            before
        }
    }
}

/// A symmetric object: its address here, and its offset in every segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) at: *mut u8,
    pub(crate) offset: u64,
}

impl Place {
    /// Ends the job if the object is not symmetric.
    #[inline]
    pub(crate) fn new(f: &'static str, world: &World, at: *const u8, bytes: usize) -> Place {
        match world.offset(at as usize, bytes) {
            Some(offset) => Place {
                at: at.cast_mut(),
                offset,
            },
            None => fail::bad_address(f, at as usize, bytes, world.me as c_int),
        }
    }
}
