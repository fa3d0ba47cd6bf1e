//! An endpoint with its memory, slots and lanes: messages, and the provider's completions. Puts and gets begin in
//! [`begin`].
//!
//! Only the job's memory of a peer is reached this way: all ranks know its key and bounds, it is never deregistered,
//! and it has no counter. Every other operation is a request, which the peer's software checks and executes.

use super::abi::{
    CqEntry, FI_MR_LOCAL, FI_MR_VIRT_ADDR, FI_RECV, FI_REMOTE_CQ_DATA, FI_REMOTE_WRITE,
};
use super::ahead::Ahead;
use super::endpoint::{Endpoint, Posted, Region, Tell};
use super::lane::Lane;
use super::slots::{Silence, Slot, Slots, Use};
use crate::descriptor::{Failure, Status};
use crate::engine::TemplateKeys;
use core::ffi::c_void;
use core::ptr::null_mut;
use std::os::fd::RawFd;

mod begin;

/// Bytes of a message, which carries a part of the stream of requests and replies. Providers send messages of this
/// length at once; before longer ones they first exchange a word with the target.
pub(super) const MESSAGE: usize = 8 * 1024;
/// Puts of up to this many bytes go as messages, several in one, while the provider has its only write under way.
const SHORT: u32 = 512;
/// The most completions taken by one call.
const BATCH: usize = 32;

/// Memory of a rank that peers access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The peer's number in the address vector.
    pub(super) peer: u64,
    /// The address of its first byte in descriptors.
    pub(super) origin: u64,
    /// The address of its first byte for the provider.
    pub(super) base: u64,
    /// The memory's key.
    pub(super) key: u64,
}

impl Target {
    /// Translates an address of descriptors to the provider's.
    fn of(&self, address: u64) -> u64 {
        self.base.wrapping_add(address.wrapping_sub(self.origin))
    }
}

/// A result of the completion queue.
pub(super) enum Event {
    /// The bytes of a message.
    Message(Vec<u8>),
    /// The number of a direct operation, and how it ended.
    Landed(u64, Result<(), Failure>),
    /// The number of a put whose source may be written again.
    Freed(u64),
    /// A peer has written to this rank's memory: the first address, and the number of bytes.
    Written(u64, usize),
    /// This peer cannot be reached any more.
    Lost(usize),
}

/// The endpoint, with its operations under way.
pub(super) struct Rma {
    endpoint: Endpoint,
    slots: Slots,
    /// The registration of this rank's memory.
    own: Option<Region>,
    memory: (usize, usize),
    keys: TemplateKeys,
    targets: Vec<Target>,
    /// By rank. Empty if the provider does not keep write after write: then every put speaks for itself.
    lanes: Vec<Lane>,
    /// Puts for which there was no room, where there are no lanes.
    ahead: Ahead,
    /// What happened outside of [`Rma::poll`].
    ended: Vec<Event>,
    entries: Box<[CqEntry]>,
    /// Receives that the provider had no room for when they were to be posted again.
    unposted: Vec<*mut Slot>,
    /// How many messages and direct operations the provider has.
    under_way: usize,
    /// The provider had no room for something since this was last reset. It may be making a connection, of which no
    /// completion will tell.
    pub(super) busy: bool,
    /// The ranks that the provider got something for, or had no room for, since this list was last emptied. `None` if
    /// nobody asks.
    touched: Option<Vec<usize>>,
    /// The ranks from which something was read since the last look. Most reads are over by then without any work of the
    /// target, which need not be woken for them.
    read_from: Vec<usize>,
}

// SAFETY: this object owns its slots, and the provider uses them only through calls of this object.
unsafe impl Send for Rma {}

impl Rma {
    pub(super) fn new(endpoint: Endpoint) -> Rma {
        // SAFETY: plain numbers and pointers, for which zero is a value.
        let entry: CqEntry = unsafe { core::mem::zeroed() };
        Rma {
            endpoint,
            slots: Slots::default(),
            own: None,
            memory: (0, 0),
            keys: TemplateKeys::default(),
            targets: Vec::new(),
            lanes: Vec::new(),
            ahead: Ahead::default(),
            ended: Vec::new(),
            entries: vec![entry; BATCH].into(),
            unposted: Vec::new(),
            under_way: 0,
            busy: false,
            touched: None,
            read_from: Vec::new(),
        }
    }

    /// From now on, notes the ranks for which the provider gets something.
    pub(super) fn note_touched(&mut self) {
        self.touched = Some(Vec::new());
    }

    /// The ranks that were noted, some perhaps several times. Takes them off the list.
    pub(super) fn touched(&mut self) -> impl Iterator<Item = usize> + '_ {
        self.touched.iter_mut().flat_map(|t| t.drain(..))
    }

    pub(super) fn has_touched(&self) -> bool {
        self.touched.as_ref().is_some_and(|t| !t.is_empty())
    }

    #[inline]
    fn touch(&mut self, rank: usize) {
        if let Some(touched) = &mut self.touched {
            if touched.last() != Some(&rank) {
                touched.push(rank);
            }
        }
    }

    /// After a look at the completions: if something is still under way, reads may need the target's process.
    fn touch_those_read(&mut self) {
        if self.read_from.is_empty() {
            return;
        }
        let mut read_from = core::mem::take(&mut self.read_from);
        if self.under_way > 0 {
            read_from.iter().for_each(|rank| self.touch(*rank));
        }
        read_from.clear();
        self.read_from = read_from;
    }

    /// See [`Endpoint::wait_on`].
    pub(super) fn wait_on(&self) -> Option<Result<RawFd, ()>> {
        self.endpoint.wait_on()
    }

    pub(super) fn endpoint(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// Registers this rank's memory. Peers use it by `key`, if the provider lets the key be chosen. Returns what
    /// peers have to know: the base address and the key.
    ///
    /// # Safety
    /// The memory stays valid as long as the process, and its user expects the accesses of peers.
    pub(super) unsafe fn own(
        &mut self,
        start: *mut u8,
        len: usize,
        key: u64,
    ) -> Result<(u64, u64), String> {
        // SAFETY: who calls keeps the memory valid as long as the process, and expects peers' accesses.
        let region = unsafe { self.endpoint.register(start, len, key, true) }?;
        let base = if self.endpoint.facts().has_mode(FI_MR_VIRT_ADDR) {
            start as u64
        } else {
            0
        };
        let key = region.key();
        self.own = Some(region);
        self.memory = (start as usize, len);
        Ok((base, key))
    }

    /// Sets the peers, and the keys by which operations name this rank's memory.
    pub(super) fn reach(&mut self, targets: Vec<Target>, keys: TemplateKeys) {
        if self.endpoint.facts().waw {
            self.lanes.resize_with(targets.len(), Lane::default);
        } else {
            self.ahead.reach(targets.len());
        }
        self.targets = targets;
        self.keys = keys;
    }

    /// The provider's descriptor of memory that holds these bytes: of registered memory, or of a region made for
    /// them, which the slot keeps. Null if the provider wants none.
    fn describe(
        &mut self,
        slot: *mut Slot,
        start: *const u8,
        len: usize,
    ) -> Result<*mut c_void, i32> {
        if !self.endpoint.facts().has_mode(FI_MR_LOCAL) {
            return Ok(null_mut());
        }
        let offset = (start as usize).wrapping_sub(self.memory.0);
        if let Some(own) = &self.own {
            if offset <= self.memory.1 && len <= self.memory.1 - offset {
                return Ok(own.descriptor());
            }
        }
        // SAFETY: only own operations access the region, and their initiator keeps it valid until they are done.
        let region = unsafe {
            self.endpoint
                .register(start.cast_mut(), len, 0, false)
                .map_err(|_| libc::ENOMEM)?
        };
        let descriptor = region.descriptor();
        // SAFETY: this object owns the slot, and the provider does not have it yet.
        unsafe { (*slot).region = Some(region) };
        Ok(descriptor)
    }

    /// Posts receives: four for each rank of the job, within the provider's limits.
    pub(super) fn listen(&mut self, ranks: usize) -> Result<(), String> {
        let wanted = (4 * ranks).clamp(16, 256);
        let most = self.endpoint.facts().receives.max(2) - 1;
        for _ in 0..wanted.min(most) {
            let slot = self.slots.take(Use::Receive);
            // SAFETY: the slot was just taken, and this object owns it.
            unsafe { (*slot).bytes.resize(MESSAGE, 0) };
            match self.post_receive(slot) {
                Posted::Yes => {}
                Posted::Busy => {
                    self.slots.give_back(slot);
                    break;
                }
                Posted::Failed(e) => return Err(format!("fi_recv: {}", self.endpoint.text(e))),
            }
        }
        Ok(())
    }

    fn post_receive(&mut self, slot: *mut Slot) -> Posted {
        // SAFETY: this object owns the slot, and the provider does not have it. Its bytes are not moved while the
        // provider has it.
        unsafe {
            let (at, len) = ((*slot).bytes.as_mut_ptr(), (*slot).bytes.len());
            let descriptor = match self.describe(slot, at, len) {
                Ok(d) => d,
                Err(e) => return Posted::Failed(e),
            };
            self.endpoint.receive(at, len, descriptor, slot.cast())
        }
    }

    /// Sends a message to a rank. If the result is `Busy`, nothing was done.
    pub(super) fn send(&mut self, rank: usize, bytes: &[u8]) -> Posted {
        let to = self.targets[rank].peer;
        self.touch(rank);
        if bytes.len() <= self.endpoint.facts().inject {
            let posted = self.endpoint.inject(bytes, to);
            self.busy |= posted == Posted::Busy;
            return posted;
        }
        let slot = self.slots.take(Use::Send(rank));
        // SAFETY: this object owns the slot, and the provider does not have it. Its bytes are not moved while the
        // provider has it.
        let posted = unsafe {
            (*slot).bytes.clear();
            (*slot).bytes.extend_from_slice(bytes);
            let (at, len) = ((*slot).bytes.as_ptr(), (*slot).bytes.len());
            match self.describe(slot, at, len) {
                Ok(descriptor) => self.endpoint.send(at, len, descriptor, to, slot.cast()),
                Err(e) => Posted::Failed(e),
            }
        };
        match posted {
            Posted::Yes => self.under_way += 1,
            _ => self.slots.give_back(slot),
        }
        self.busy |= posted == Posted::Busy;
        posted
    }

    /// How many messages and direct operations the provider still has.
    pub(super) fn under_way(&self) -> usize {
        self.under_way
    }

    /// Lets the provider work, and appends what has happened. Returns the number of completions.
    pub(super) fn poll(&mut self, events: &mut Vec<Event>) -> usize {
        self.post_the_unposted();
        events.append(&mut self.ended);
        let mut entries = core::mem::take(&mut self.entries);
        let mut failed = None;
        let n = self
            .endpoint
            .completions(&mut entries, &mut |context, error| {
                failed = Some((context, error))
            });
        for entry in &entries[..n] {
            if entry.flags & FI_REMOTE_CQ_DATA != 0 && entry.flags & FI_REMOTE_WRITE != 0 {
                events.push(Event::Written(entry.data, entry.len));
                continue;
            }
            let slot = entry.op_context.cast::<Slot>();
            if slot.is_null() {
                continue;
            }
            // SAFETY: contexts are slots of this object, and the provider has given this one back by its completion.
            let s = unsafe { &mut *slot };
            match s.what {
                Use::Receive if entry.flags & FI_RECV != 0 => {
                    let len = entry.len.min(s.bytes.len());
                    events.push(Event::Message(s.bytes[..len].to_vec()));
                    self.receive_again(slot);
                }
                Use::Direct(id, rank, number) => {
                    self.ahead.came_back(rank);
                    self.refill(rank);
                    self.vouched(rank, number, events);
                    self.landed(slot, id, events);
                }
                Use::Silent(id, rank, Silence::Going) => {
                    s.what = Use::Silent(id, rank, Silence::Sent);
                    events.push(Event::Freed(id));
                }
                Use::Silent(id, _, Silence::Arrived) => self.landed(slot, id, events),
                Use::Send(_) => {
                    self.under_way -= 1;
                    self.slots.give_back(slot);
                }
                Use::Silent(_, _, Silence::Sent) | Use::Receive | Use::Free => {}
            }
        }
        self.entries = entries;
        self.touch_those_read();
        if let Some((context, _)) = failed {
            self.fail(context.cast(), events);
        }
        for rank in self.ahead.forsaken() {
            self.refill(rank);
        }
        events.append(&mut self.ended);
        n + usize::from(failed.is_some())
    }

    /// Hands over the put that waited for room at this rank. It goes on waiting if there is none yet.
    #[inline]
    fn refill(&mut self, rank: usize) {
        let Some(put) = self.ahead.take(rank) else {
            return;
        };
        let peer = self.targets[rank].peer;
        // SAFETY: `begin` found the source in bounds. Its initiator leaves it alone until it hears that the source is
        // free. Slots live as long as the endpoint.
        let posted = unsafe {
            self.endpoint.write(
                put.from,
                put.len,
                put.descriptor,
                peer,
                put.at,
                put.data,
                Tell::Arrived,
                put.slot.cast(),
            )
        };
        self.touch(rank);
        match posted {
            Posted::Yes => self.ahead.went(rank),
            Posted::Busy => self.ahead.keep(rank, put),
            Posted::Failed(_) => {
                self.under_way -= 1;
                self.slots.give_back(put.slot);
                self.ended.push(Event::Landed(put.id, Err(lost(rank))));
                self.ended.push(Event::Lost(rank));
            }
        }
    }

    /// True if somebody has to ask the provider again although no completion may come.
    pub(super) fn is_held_up(&self) -> bool {
        self.busy || !self.ahead.is_empty()
    }

    fn landed(&mut self, slot: *mut Slot, id: u64, events: &mut Vec<Event>) {
        self.under_way -= 1;
        self.slots.give_back(slot);
        events.push(Event::Landed(id, Ok(())));
    }

    /// The put with this number of a rank's lane is over, and with it the silent ones before it.
    fn vouched(&mut self, rank: usize, number: u64, events: &mut Vec<Event>) {
        while let Some(slot) = self.lanes.get_mut(rank).and_then(|l| l.vouched(number)) {
            // SAFETY: this object owns its slots. The provider uses the context in front, not this field.
            match unsafe { (*slot).what } {
                Use::Silent(id, _, Silence::Sent) => self.landed(slot, id, events),
                Use::Silent(id, rank, Silence::Going) => {
                    // SAFETY: as before.
                    unsafe { (*slot).what = Use::Silent(id, rank, Silence::Arrived) };
                }
                _ => {}
            }
        }
    }

    /// Hands the put that was held for a rank to the provider. `follows`: another put to this rank will be handed over
    /// next, which can vouch for this one. If the result is `Busy`, the put is still held.
    fn let_go(&mut self, rank: usize, follows: bool) -> Posted {
        let Some(put) = self.lanes.get_mut(rank).and_then(|l| l.held.take()) else {
            return Posted::Yes;
        };
        let silent = follows && self.lanes[rank].may_be_silent(put.len);
        let peer = self.targets[rank].peer;
        // SAFETY: `begin` found the source in bounds. Its initiator leaves it alone until it hears that the source is
        // free. Slots live as long as the endpoint.
        let posted = unsafe {
            self.endpoint.write(
                put.from,
                put.len,
                put.descriptor,
                peer,
                put.at,
                put.data,
                if silent { Tell::Sent } else { Tell::Arrived },
                put.slot.cast(),
            )
        };
        match posted {
            Posted::Yes => {
                let lane = &mut self.lanes[rank];
                let what = if silent {
                    lane.went_silently(put.slot, put.len);
                    Use::Silent(put.id, rank, Silence::Going)
                } else {
                    Use::Direct(put.id, rank, lane.went())
                };
                // SAFETY: this object owns its slots. The provider uses the context in front, not this field.
                unsafe { (*put.slot).what = what };
            }
            Posted::Busy => {
                self.busy = true;
                self.lanes[rank].held = Some(put);
            }
            Posted::Failed(_) => {
                self.under_way -= 1;
                self.slots.give_back(put.slot);
                self.ended.push(Event::Landed(put.id, Err(lost(rank))));
                self.ended.push(Event::Lost(rank));
            }
        }
        posted
    }

    /// True if a put to this rank is held. Nothing else may be sent to that rank before: fences rely on the provider's
    /// order.
    pub(super) fn holds_back(&self, rank: usize) -> bool {
        self.lanes.get(rank).is_some_and(|l| l.held.is_some())
    }

    fn receive_again(&mut self, slot: *mut Slot) {
        if self.post_receive(slot) != Posted::Yes {
            self.unposted.push(slot);
            self.busy = true;
        }
    }

    /// Posts the receives for which there was no room, as far as there is some now.
    fn post_the_unposted(&mut self) {
        while let Some(slot) = self.unposted.pop() {
            if self.post_receive(slot) != Posted::Yes {
                self.unposted.push(slot);
                self.busy = true;
                break;
            }
        }
    }

    /// An operation ended in error: its peer is out of reach.
    fn fail(&mut self, slot: *mut Slot, events: &mut Vec<Event>) {
        if slot.is_null() {
            return;
        }
        // SAFETY: contexts are slots of this object, and the provider has given this one back by its error.
        let s = unsafe { &mut *slot };
        match s.what {
            Use::Direct(id, rank, number) => {
                self.ahead.came_back(rank);
                self.under_way -= 1;
                self.slots.give_back(slot);
                events.push(Event::Landed(id, Err(lost(rank))));
                events.push(Event::Lost(rank));
                // Their operations have failed with the peer. What is left of them are slots.
                self.vouched(rank, number, events);
            }
            Use::Silent(id, rank, _) => {
                self.under_way -= 1;
                self.slots.give_back(slot);
                if let Some(lane) = self.lanes.get_mut(rank) {
                    lane.forget(slot);
                }
                events.push(Event::Landed(id, Err(lost(rank))));
                events.push(Event::Lost(rank));
            }
            Use::Send(rank) => {
                self.under_way -= 1;
                self.slots.give_back(slot);
                events.push(Event::Lost(rank));
            }
            Use::Receive => self.receive_again(slot),
            Use::Free => {}
        }
    }
}

/// What becomes of operations whose peer is out of reach.
fn lost(rank: usize) -> Failure {
    Failure {
        status: Status::PeerLost,
        value: rank as u64,
    }
}

impl Drop for Rma {
    fn drop(&mut self) {
        self.own = None;
        // Regions are closed before their domain.
        self.slots.close_regions();
        // The slots are not freed: the endpoint is closed after this, and the provider may use them until then. An
        // engine lives as long as its job, and a process has one job.
    }
}

#[cfg(test)]
#[path = "rma_tests.rs"]
mod tests;
