//! Puts and gets by the provider's remote memory access, and the provider's completions.
//!
//! Only the job's memory of a peer is reached this way: all ranks know its key and bounds, it is never deregistered,
//! and it has no counter. Every other operation is a request, which the peer's software checks and executes.

use super::abi::{
    CqEntry, FI_MR_LOCAL, FI_MR_VIRT_ADDR, FI_RECV, FI_REMOTE_CQ_DATA, FI_REMOTE_WRITE,
};
use super::endpoint::{Endpoint, Posted, Region};
use crate::descriptor::{Descriptor, Failure, Key, Source, Status, Work};
use crate::engine::tcp::direct::{Begun, Direct, Kept};
use crate::engine::{with_source, TemplateKeys};
use crate::execute::LocalPart;
use core::ffi::c_void;
use core::ptr::null_mut;
use std::os::fd::RawFd;

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

/// What a slot is used for.
#[derive(Debug)]
enum Use {
    Free,
    /// A message to this rank, being sent.
    Send(usize),
    Receive,
    /// A put or get with this number, to this rank.
    Direct(u64, usize),
}

/// The state of an operation that the provider has. The provider's context comes first, so that its address is that
/// of the slot.
#[repr(C)]
struct Slot {
    /// `struct fi_context2`.
    context: [*mut c_void; 8],
    index: usize,
    what: Use,
    /// The bytes of a message.
    bytes: Vec<u8>,
    /// A region for a source or target outside of registered memory, if the provider wants all memory registered.
    region: Option<Region>,
}

/// A result of the completion queue.
pub(super) enum Event {
    /// The bytes of a message.
    Message(Vec<u8>),
    /// The number of a direct operation, and how it ended.
    Landed(u64, Result<(), Failure>),
    /// A peer has written to this rank's memory: the first address, and the number of bytes.
    Written(u64, usize),
    /// This peer cannot be reached any more.
    Lost(usize),
}

/// The endpoint, with its operations under way.
pub(super) struct Rma {
    endpoint: Endpoint,
    /// The slots by number. They are never moved.
    slots: Vec<*mut Slot>,
    free: Vec<usize>,
    /// The registration of this rank's memory.
    own: Option<Region>,
    memory: (usize, usize),
    keys: TemplateKeys,
    targets: Vec<Target>,
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
            slots: Vec::new(),
            free: Vec::new(),
            own: None,
            memory: (0, 0),
            keys: TemplateKeys::default(),
            targets: Vec::new(),
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
        self.targets = targets;
        self.keys = keys;
    }

    fn slot(&mut self, what: Use) -> *mut Slot {
        let index = self.free.pop().unwrap_or_else(|| {
            let index = self.slots.len();
            self.slots.push(Box::into_raw(Box::new(Slot {
                context: [null_mut(); 8],
                index,
                what: Use::Free,
                bytes: Vec::new(),
                region: None,
            })));
            index
        });
        let slot = self.slots[index];
        // SAFETY: slots live as long as `self`; a free one is nobody else's.
        unsafe { (*slot).what = what };
        slot
    }

    fn give_back(&mut self, slot: *mut Slot) {
        // SAFETY: this object owns the slot, and the provider does not have it, or not any more.
        let s = unsafe { &mut *slot };
        s.what = Use::Free;
        s.region = None;
        self.free.push(s.index);
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
            let slot = self.slot(Use::Receive);
            // SAFETY: the slot was just taken, and this object owns it.
            unsafe { (*slot).bytes.resize(MESSAGE, 0) };
            match self.post_receive(slot) {
                Posted::Yes => {}
                Posted::Busy => {
                    self.give_back(slot);
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
        let slot = self.slot(Use::Send(rank));
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
            _ => self.give_back(slot),
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
                Use::Direct(id, _) => {
                    self.under_way -= 1;
                    self.give_back(slot);
                    events.push(Event::Landed(id, Ok(())));
                }
                Use::Send(_) => {
                    self.under_way -= 1;
                    self.give_back(slot);
                }
                Use::Receive | Use::Free => {}
            }
        }
        self.entries = entries;
        self.touch_those_read();
        if let Some((context, _)) = failed {
            self.fail(context.cast(), events);
            return n + 1;
        }
        n
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
            Use::Direct(id, rank) => {
                self.under_way -= 1;
                self.give_back(slot);
                let lost = Failure {
                    status: Status::PeerLost,
                    value: rank as u64,
                };
                events.push(Event::Landed(id, Err(lost)));
                events.push(Event::Lost(rank));
            }
            Use::Send(rank) => {
                self.under_way -= 1;
                self.give_back(slot);
                events.push(Event::Lost(rank));
            }
            Use::Receive => self.receive_again(slot),
            Use::Free => {}
        }
    }

    /// True if the bytes lie in the rank's memory, which is equally long in every rank.
    fn holds(&self, rank: u32, key: Key, address: u64, len: u64) -> bool {
        let Some(target) = self.targets.get(rank as usize) else {
            return false;
        };
        let size = self.memory.1 as u64;
        let offset = address.wrapping_sub(target.origin);
        key == self.keys.remote && offset <= size && len <= size - offset
    }

    /// True if a word that the target may poll could arrive in two parts. A stream may split it; the peer's software
    /// would not.
    fn may_tear(&self, address: u64, len: u32) -> bool {
        let word = matches!(len, 2 | 4 | 8) && address % u64::from(len) == 0;
        word && self.endpoint.facts().streams
    }

    /// True if a put would have to wait for one that is under way, which a message has not to.
    fn is_behind(&self, len: u32) -> bool {
        len <= SHORT && self.under_way > 0 && self.endpoint.facts().one_write
    }
}

impl Direct for Rma {
    fn keeps_order(&self) -> Kept {
        let f = self.endpoint.facts();
        Kept {
            put: f.waw,
            get: f.raw,
            request: f.saw,
        }
    }

    fn takes(&self, d: &Descriptor) -> bool {
        let fits = |n: u32| n > 0 && n as usize <= self.endpoint.facts().longest;
        // Memory that stays registered as long as the engine runs, under this process's addresses.
        let stays = |key: Key| key == self.keys.local;
        match &d.work {
            Work::Put {
                source,
                remote,
                signal: None,
            } => {
                let n = source.len();
                let here = match source {
                    Source::Memory(local, _) => stays(local.key),
                    Source::Inline(_) => n as usize <= self.endpoint.facts().inject,
                };
                here && fits(n)
                    && self.holds(d.peer, remote.key, remote.address, u64::from(n))
                    && !self.may_tear(remote.address, n)
                    && !self.is_behind(n)
            }
            Work::Get {
                local,
                length,
                remote,
            } => {
                stays(local.key)
                    && fits(*length)
                    && self.holds(d.peer, remote.key, remote.address, u64::from(*length))
            }
            _ => false,
        }
    }

    fn begin(&mut self, id: u64, d: &Descriptor, local: &LocalPart<'_>) -> Begun {
        let rank = d.peer as usize;
        let target = self.targets[rank];
        let reads = matches!(d.work, Work::Get { .. });
        if !reads {
            self.touch(rank);
        }
        let (cq_data, inject) = {
            let f = self.endpoint.facts();
            (f.cq_data, f.inject)
        };
        let slot = self.slot(Use::Direct(id, rank));
        let (posted, freed) = match (&d.work, local) {
            (Work::Put { remote, .. }, _) => with_source(local, |from, n| {
                let inject = n <= inject;
                let descriptor = match inject {
                    true => Ok(null_mut()),
                    false => self.describe(slot, from, n),
                };
                let at = (target.of(remote.address), target.key);
                let data = cq_data.then_some(remote.address);
                let posted = match descriptor {
                    // SAFETY: the source was found in bounds. Its initiator leaves it alone until it hears that the
                    // source is free: after an injection at once, else at the completion. Slots live as long as the
                    // endpoint.
                    Ok(descriptor) => unsafe {
                        self.endpoint.write(
                            from,
                            n,
                            descriptor,
                            target.peer,
                            at,
                            data,
                            inject,
                            slot.cast(),
                        )
                    },
                    Err(e) => Posted::Failed(e),
                };
                (posted, inject)
            }),
            (Work::Get { remote, .. }, LocalPart::Write(to)) => {
                let at = (target.of(remote.address), target.key);
                let posted = match self.describe(slot, to.start(), to.len()) {
                    // SAFETY: the target was found in bounds, and its initiator leaves it alone until the completion
                    // comes. Slots live as long as the endpoint.
                    Ok(descriptor) => unsafe {
                        self.endpoint.read(
                            to.start(),
                            to.len(),
                            descriptor,
                            target.peer,
                            at,
                            slot.cast(),
                        )
                    },
                    Err(e) => Posted::Failed(e),
                };
                (posted, false)
            }
            _ => (Posted::Failed(libc::EINVAL), false),
        };
        match posted {
            Posted::Yes => {
                self.under_way += 1;
                if reads && self.touched.is_some() {
                    self.read_from.push(rank);
                }
                return Begun::UnderWay { freed };
            }
            Posted::Busy => {
                self.give_back(slot);
                self.touch(rank);
            }
            Posted::Failed(_) => {
                self.give_back(slot);
                return Begun::Refused(Failure {
                    status: Status::PeerLost,
                    value: rank as u64,
                });
            }
        }
        self.busy = true;
        Begun::Busy
    }
}

impl Drop for Rma {
    fn drop(&mut self) {
        self.own = None;
        for slot in &self.slots {
            // SAFETY: the slots are this object's until the endpoint is closed. Regions are closed before their
            // domain.
            unsafe { (**slot).region = None };
        }
        // The slots are not freed: the endpoint is closed after this, and the provider may use them until then. An
        // engine lives as long as its job, and a process has one job.
    }
}

#[cfg(test)]
#[path = "rma_tests.rs"]
mod tests;
