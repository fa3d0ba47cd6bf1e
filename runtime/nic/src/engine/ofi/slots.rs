//! What is remembered of the operations that the provider has, one slot for each.
//!
//! A slot's address is the context of its operation: a completion leads back to the slot. Slots are never moved or
//! freed, since the provider may use their contexts until the endpoint is closed.

use super::endpoint::Region;
use core::ffi::c_void;
use core::ptr::null_mut;

/// What a slot is used for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Use {
    Free,
    /// A message to this rank, being sent.
    Send(usize),
    Receive,
    /// A put or get with this number, to this rank. The last number is the put's in its lane, and 0 for a get.
    Direct(u64, usize, u64),
    /// A silent put with this number, to this rank.
    Silent(u64, usize, Silence),
}

/// How far a silent put has come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Silence {
    /// The provider has it.
    Going,
    /// Its source may be written again. No later put has vouched for it yet.
    Sent,
    /// It has arrived, but the provider has not said yet that its source may be written again.
    Arrived,
}

/// The state of an operation that the provider has. The provider's context comes first, so that its address is that
/// of the slot.
#[repr(C)]
pub(super) struct Slot {
    /// `struct fi_context2`.
    pub(super) context: [*mut c_void; 8],
    index: usize,
    pub(super) what: Use,
    /// The bytes of a message.
    pub(super) bytes: Vec<u8>,
    /// A region for a source or target outside of registered memory, if the provider wants all memory registered.
    pub(super) region: Option<Region>,
}

/// The slots of an endpoint.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// By number.
    all: Vec<*mut Slot>,
    free: Vec<usize>,
}

impl Slots {
    /// A free slot, for this use.
    pub(super) fn take(&mut self, what: Use) -> *mut Slot {
        let index = self.free.pop().unwrap_or_else(|| {
            let index = self.all.len();
            self.all.push(Box::into_raw(Box::new(Slot {
                context: [null_mut(); 8],
                index,
                what: Use::Free,
                bytes: Vec::new(),
                region: None,
            })));
            index
        });
        let slot = self.all[index];
        // SAFETY: slots live as long as `self`; a free one is nobody else's.
        unsafe { (*slot).what = what };
        slot
    }

    /// Makes a slot free.
    pub(super) fn give_back(&mut self, slot: *mut Slot) {
        // SAFETY: this object owns the slot, and the provider does not have it, or not any more.
        let s = unsafe { &mut *slot };
        s.what = Use::Free;
        s.region = None;
        self.free.push(s.index);
    }

    /// Closes the regions that slots keep.
    pub(super) fn close_regions(&mut self) {
        for slot in &self.all {
            // SAFETY: this object owns its slots. The provider uses the context in front, not this field.
            unsafe { (**slot).region = None };
        }
    }
}
