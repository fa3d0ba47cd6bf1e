//! Puts and gets by the provider's remote memory access, and the provider's completions.
//!
//! A peer's job memory is the only memory that is reached so: its key and bounds are known to everybody, it is
//! never taken out, and it has no counter. Whatever else is asked for travels as a request that the peer's software
//! checks and executes.

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

/// Bytes of a message, which carries a part of the stream of requests and replies. Providers send messages of this length at
/// once; for longer ones they first exchange a word with the target.
pub(super) const MESSAGE: usize = 8 * 1024;
/// Completions taken at a time.
const BATCH: usize = 32;

/// Memory of a rank that peers access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Its name in the address vector.
    pub(super) peer: u64,
    /// What descriptors call its first byte.
    pub(super) origin: u64,
    /// What the provider calls its first byte.
    pub(super) base: u64,
    /// Its key.
    pub(super) key: u64,
}

impl Target {
    /// What the provider calls an address of descriptors.
    fn of(&self, address: u64) -> u64 {
        self.base.wrapping_add(address.wrapping_sub(self.origin))
    }
}

/// What a slot is used for.
#[derive(Debug)]
enum Use {
    Free,
    /// Bytes on their way to a rank.
    Send(usize),
    Receive,
    /// An operation of this number, to a rank.
    Direct(u64, usize),
}

/// What belongs to an operation of the provider until it completes. The provider's context comes first, so that its address is
/// the slot's.
#[repr(C)]
struct Slot {
    /// `struct fi_context2`.
    context: [*mut c_void; 8],
    index: usize,
    what: Use,
    /// Of a message.
    bytes: Vec<u8>,
    /// A source or target outside of registered memory, where the provider wants all to be registered.
    region: Option<Region>,
}

/// What came out of the completion queue.
pub(super) enum Event {
    /// The bytes of a message.
    Message(Vec<u8>),
    /// A direct operation's number, and how it ended.
    Landed(u64, Result<(), Failure>),
    /// A peer has written to this rank's memory: from where on, and how many bytes.
    Written(u64, usize),
    /// This peer cannot be reached any more.
    Lost(usize),
}

/// The endpoint with the operations that it has.
pub(super) struct Rma {
    endpoint: Endpoint,
    /// The slots, never moved; by their number.
    slots: Vec<*mut Slot>,
    free: Vec<usize>,
    /// This rank's memory, as registered here.
    own: Option<Region>,
    memory: (usize, usize),
    keys: TemplateKeys,
    targets: Vec<Target>,
    entries: Box<[CqEntry]>,
    /// Messages and direct operations that the provider has.
    under_way: usize,
    /// The provider had no room for something since this was last reset: a connection may be in the making, of which no
    /// completion will tell.
    pub(super) busy: bool,
}

// SAFETY: the slots are this object's own, and the provider's while it has them.
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
            under_way: 0,
            busy: false,
        }
    }

    /// See [`Endpoint::wait_on`].
    pub(super) fn wait_on(&self) -> Option<Result<RawFd, ()>> {
        self.endpoint.wait_on()
    }

    pub(super) fn endpoint(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// Registers this rank's memory, for peers by `key` if the provider lets that be chosen; gives what they have to
    /// know: base and key.
    ///
    /// # Safety
    /// The memory stays valid as long as the process, and its user expects the accesses of peers.
    pub(super) unsafe fn own(
        &mut self,
        start: *mut u8,
        len: usize,
        key: u64,
    ) -> Result<(u64, u64), String> {
        // SAFETY: this function's contract.
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

    /// Whom there is to reach, and by which keys operations name this rank's memory.
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
        // SAFETY: a slot of ours that the provider does not have (any more).
        let s = unsafe { &mut *slot };
        s.what = Use::Free;
        s.region = None;
        self.free.push(s.index);
    }

    /// The descriptor of registered memory that holds these bytes, or of a region made for them, which the slot keeps; null where
    /// the provider wants none.
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
        // SAFETY: own operations alone access it, whose initiator keeps it valid until they are done.
        let region = unsafe {
            self.endpoint
                .register(start.cast_mut(), len, 0, false)
                .map_err(|_| libc::ENOMEM)?
        };
        let descriptor = region.descriptor();
        // SAFETY: a slot of ours that the provider does not have yet.
        unsafe { (*slot).region = Some(region) };
        Ok(descriptor)
    }

    /// Posts receives: four for each rank of the job, within the provider's limits.
    pub(super) fn listen(&mut self, ranks: usize) -> Result<(), String> {
        let wanted = (4 * ranks).clamp(16, 256);
        let most = self.endpoint.facts().receives.max(2) - 1;
        for _ in 0..wanted.min(most) {
            let slot = self.slot(Use::Receive);
            // SAFETY: just made free, and ours.
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
        // SAFETY: a slot of ours that the provider does not have; its bytes stay where they are while it does.
        unsafe {
            let (at, len) = ((*slot).bytes.as_mut_ptr(), (*slot).bytes.len());
            let descriptor = match self.describe(slot, at, len) {
                Ok(d) => d,
                Err(e) => return Posted::Failed(e),
            };
            self.endpoint.receive(at, len, descriptor, slot.cast())
        }
    }

    /// Sends a message to a rank. `Busy`: nothing was done.
    pub(super) fn send(&mut self, rank: usize, bytes: &[u8]) -> Posted {
        let to = self.targets[rank].peer;
        if bytes.len() <= self.endpoint.facts().inject {
            let posted = self.endpoint.inject(bytes, to);
            self.busy |= posted == Posted::Busy;
            return posted;
        }
        let slot = self.slot(Use::Send(rank));
        // SAFETY: a slot of ours that the provider does not have; its bytes stay where they are while it does.
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

    /// Messages and direct operations that the provider still has.
    pub(super) fn under_way(&self) -> usize {
        self.under_way
    }

    /// Lets the provider work, and gives out what has happened. How much that was.
    pub(super) fn poll(&mut self, events: &mut Vec<Event>) -> usize {
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
            // SAFETY: contexts are slots of ours, which the provider has given back by this entry.
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
        if let Some((context, _)) = failed {
            self.fail(context.cast(), events);
            return n + 1;
        }
        n
    }

    fn receive_again(&mut self, slot: *mut Slot) {
        if self.post_receive(slot) != Posted::Yes {
            // The other receives go on; this one is made again with the next that completes.
            self.give_back(slot);
        }
    }

    /// An operation ended in error: what it was going to is out of reach.
    fn fail(&mut self, slot: *mut Slot, events: &mut Vec<Event>) {
        if slot.is_null() {
            return;
        }
        // SAFETY: contexts are slots of ours, which the provider has given back by its error.
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

    /// Whether an address and a length lie in a rank's memory, which is as long everywhere.
    fn holds(&self, rank: u32, key: Key, address: u64, len: u64) -> bool {
        let Some(target) = self.targets.get(rank as usize) else {
            return false;
        };
        let size = self.memory.1 as u64;
        let offset = address.wrapping_sub(target.origin);
        key == self.keys.remote && offset <= size && len <= size - offset
    }

    /// A word that the target may poll has to come in one piece. A stream promises no such thing, and the peer's software
    /// does.
    fn may_tear(&self, address: u64, len: u32) -> bool {
        let word = matches!(len, 2 | 4 | 8) && address % u64::from(len) == 0;
        word && self.endpoint.facts().streams
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
        // What stays registered as long as the engine runs, and whose addresses are those of this process.
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
                    // SAFETY: the source was found in bounds, and its initiator leaves it alone until it is free: when
                    // it is injected, or when the completion comes. Slots live as long as the endpoint.
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
                return Begun::UnderWay { freed };
            }
            Posted::Busy => self.give_back(slot),
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
            // SAFETY: ours until the endpoint is closed; regions are closed before the domain that they belong to.
            unsafe { (**slot).region = None };
        }
        // The provider may use slots until its endpoint is closed, which is after this: they are left to the process, of
        // which an engine lives as long as its job.
    }
}
