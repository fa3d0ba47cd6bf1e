//! Engines execute descriptors. OpenSHMEM, the DSM and GOAL use them through one trait.
//!
//! * [`shm`]: the memory of every peer is mapped here. The initiator executes its own descriptors when it rings the
//!   doorbell. Queue pairs with triggered operations are served by an adapter's thread.
//! * [`emulated`]: a software adapter, which is a thread that takes descriptors from the queues of all its ranks. It
//!   models latency and bandwidth, and runs triggered operations.
//! * [`tcp`]: a thread in each process, and a stream to every peer. Each side checks its own half of an operation.
//! * [`ofi`]: for adapters with a provider in libfabric. Puts and gets are remote memory access of the adapter;
//!   everything else is a request as in `tcp`, carried by the adapter's messages.
//!
//! Every engine works on a [`Domain`] for each rank, and gives out [`QueuePair`]s, each owned by one initiator.

pub mod emulated;
mod fabric;
mod front;
pub mod ofi;
pub mod shm;
pub mod tcp;

use crate::descriptor::{
    Atomic, Completion, CounterId, Descriptor, Fetch, Inline, Key, Local, PlainPut, Remote, Signal,
    Source, Status, Work,
};
use crate::device_memory::board::{Kind, Tracker};
pub use crate::domain::{Arrival, Domain, Domains, Port, Sizes};
use crate::keys::{Memory, RegisterError, Rights};
use crate::queue_pair::{Full, Initiator};
use crate::template::{Dynamic, Shape, Statics};
pub(crate) use fabric::{message, parse, transfer, with_source, Fabric, Outcome};

/// What an engine can do beyond puts, gets, atomics and fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Runs [`Work::Wait`]. If false (its thread could not be started), a wait and the descriptors that it holds back
    /// complete with [`Status::Unsupported`].
    pub triggered: bool,
    /// All operations make progress while the initiator computes. If false, only operations after a wait do.
    pub asynchronous: bool,
}

/// The keys that a queue pair's templates carry.
#[derive(Clone, Copy, Debug, Default)]
pub struct TemplateKeys {
    /// Region of the initiator's buffers.
    pub local: Key,
    /// Region of the targets' memory.
    pub remote: Key,
}

/// An engine as one rank sees it.
pub trait Engine: Send + Sync {
    /// The engine's name, as users write it: `shm`, `emulated`, `tcp`, `ofi`.
    fn name(&self) -> &'static str;
    /// This process's rank.
    fn rank(&self) -> u32;
    /// How many ranks there are.
    fn ranks(&self) -> u32;
    /// What the engine can do.
    fn abilities(&self) -> Abilities;
    /// This rank's regions, messages and counters.
    fn domain(&self) -> &Domain;
    /// A new queue pair with `depth` slots (rounded up to a power of two), filled with put templates.
    fn queue_pair(&self, depth: usize, keys: TemplateKeys) -> QueuePair;

    /// Does what can be done now, if the engine can work in its callers. True if there was something to do. A rank
    /// that waits for memory which a peer will write calls this in its loop, so that no other thread is needed to
    /// bring the bytes.
    fn progress(&self) -> bool {
        false
    }

    /// Whether operations to a rank whose process has ended end in error. If not, a rank may wait for ever for a reply
    /// that the other one had no time to send, so that ranks have to end together.
    fn notices_ends(&self) -> bool {
        true
    }

    /// Registers memory of this rank at port 0. [`Domain::register`] does it for other ports.
    ///
    /// # Errors
    /// See [`KeyTable::register`](crate::keys::KeyTable::register).
    ///
    /// # Safety
    /// See [`KeyTable::register`](crate::keys::KeyTable::register).
    unsafe fn register(
        &self,
        memory: Memory,
        rights: Rights,
        counter: Option<CounterId>,
    ) -> Result<Key, RegisterError> {
        // SAFETY: who calls upholds the contract of `KeyTable::register`, which `Domain::register` has too.
        unsafe { self.domain().register(0, memory, rights, counter) }
    }
}

/// How a queue pair reaches its engine.
pub trait Bell: Send {
    /// Called after new descriptors were announced. Wakes the engine if it sleeps.
    fn rung(&mut self);
    /// Called while the initiator waits. An engine that runs in its callers works here. True if it did something.
    fn drive(&mut self) -> bool;
    /// Waits until `until` says true; it is not called again after that. Overridden by engines that sleep in another
    /// place than the one where completions wake the initiator.
    fn wait(&mut self, initiator: &mut Initiator, until: &mut dyn FnMut(&mut Initiator) -> bool) {
        initiator.wait(&mut || self.drive(), until);
    }
    /// Sources must be read anew: see [`QueuePair::invalidate`].
    fn invalidate(&mut self) {}
}

/// Operations that failed since the last report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed(pub Vec<Completion>);

/// What an initiator holds: the posting end of a queue pair, and the way to its engine.
pub struct QueuePair {
    initiator: Initiator,
    bell: Box<dyn Bell>,
    /// How many ranks hold writes back, which quiet has to flush; 0 if none does.
    holding: u32,
    tracker: Option<Box<Tracker>>,
}

impl core::fmt::Debug for QueuePair {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("QueuePair")
            .field("statics", &self.initiator.statics())
            .finish_non_exhaustive()
    }
}

impl QueuePair {
    pub(crate) fn new(mut initiator: Initiator, bell: Box<dyn Bell>) -> QueuePair {
        let filled = initiator.fill(Shape::Put);
        debug_assert_eq!(filled, Ok(()));
        QueuePair {
            initiator,
            bell,
            holding: 0,
            tracker: None,
        }
    }

    /// Tells quiet to flush the writes that `ranks` ranks hold.
    pub(crate) fn flushing(&mut self, ranks: u32) {
        self.holding = ranks;
    }

    /// How many ranks quiet has to flush, by a fence to each; 0 if none holds writes back.
    pub fn holding(&self) -> u32 {
        self.holding
    }

    pub(crate) fn tracked(&mut self, tracker: Tracker) {
        self.tracker = Some(Box::new(tracker));
    }

    /// Names the place in the program from which the next operations come. The checker reports it
    /// ([`crate::device_memory::board`]); operations at place 0 are not checked. Without a checker this has no
    /// effect.
    #[inline]
    pub fn at_site(&mut self, site: u64) -> &mut QueuePair {
        if let Some(t) = &mut self.tracker {
            t.site = site;
        }
        self
    }

    /// True if a checker uses [`QueuePair::at_site`].
    #[inline]
    pub fn is_checked(&self) -> bool {
        self.tracker.is_some()
    }

    /// Makes the adapter read sources anew that it may have cached. Posting does so by itself, except under
    /// [`DeviceMemory`](crate::device_memory::DeviceMemory) without `invalidate`. Other engines have nothing to do.
    pub fn invalidate(&mut self) {
        self.bell.invalidate();
    }

    /// The posting end itself: posting without ringing, templates, polling.
    pub fn initiator(&mut self) -> &mut Initiator {
        &mut self.initiator
    }

    /// Rings the doorbell for what was posted.
    #[inline]
    pub fn ring(&mut self) {
        if self.initiator.ring() {
            self.bell.rung();
        }
    }

    /// Tells the engine that the doorbell record has grown. For an initiator that writes the [rings'
    /// memory](Initiator::raw) itself.
    #[inline]
    pub fn doorbell(&mut self) {
        self.bell.rung();
    }

    /// Waits until `operations` operations of this queue pair are done in all. For an initiator that writes the
    /// rings' memory itself. An engine that runs in its callers runs here; if the wait takes long, the thread sleeps.
    pub fn wait_done(&mut self, operations: u64) {
        let bell = &mut self.bell;
        self.initiator
            .wait(&mut || bell.drive(), &mut |i| i.done() >= operations);
    }

    fn wait(&mut self, until: &mut dyn FnMut(&mut Initiator) -> bool) {
        self.ring();
        if until(&mut self.initiator) {
            return;
        }
        self.bell.wait(&mut self.initiator, until);
    }

    /// Calls `post` until the queue has room. Announces what was posted before: otherwise no room would come.
    fn insist(&mut self, mut post: impl FnMut(&mut Initiator) -> Result<u64, Full>) -> u64 {
        loop {
            match post(&mut self.initiator) {
                Ok(ticket) => return ticket,
                Err(Full) => {
                    let depth = self.initiator.depth() as u64;
                    self.wait(&mut |i| i.under_way() < depth);
                }
            }
        }
    }

    /// Posts any operation, which is announced at the next [`QueuePair::ring`]. Waits while the queue is full.
    pub fn post(&mut self, peer: u32, signalled: bool, work: Work) -> u64 {
        let ticket = self.post_untold(peer, signalled, work);
        self.track(ticket, peer, &work);
        ticket
    }

    fn post_untold(&mut self, peer: u32, signalled: bool, work: Work) -> u64 {
        if let (
            false,
            Work::Put {
                source,
                remote,
                signal: None,
            },
        ) = (signalled, &work)
        {
            let put = PlainPut {
                peer,
                source: *source,
                remote: *remote,
            };
            let queue_pair = self.initiator.statics().queue_pair;
            return self.insist(|i| i.post_with(|| put.encode(queue_pair)));
        }
        let d = self.descriptor(peer, signalled, work);
        self.insist(|i| i.post(&d))
    }

    /// Tells the checker about an operation that an initiator outside of this library has written into the rings'
    /// memory, before the engine is told.
    pub fn posted_outside(&mut self, ticket: u64, peer: u32, work: &Work) {
        self.track(ticket, peer, work);
    }

    /// Tells the checker what was posted; the next ring announces it.
    #[inline]
    fn track(&mut self, ticket: u64, peer: u32, work: &Work) {
        if let Some(t) = &mut self.tracker {
            t.posted(ticket, peer, work);
        }
    }

    /// Like [`QueuePair::post`]. `counter`, of this rank, counts when the operation's source may be written again;
    /// with sockets that is before the operation is done. See [`Descriptor::count_source`].
    pub fn post_counting_source(&mut self, peer: u32, counter: CounterId, work: Work) -> u64 {
        let mut d = self.descriptor(peer, false, work);
        d.count = Some(counter);
        d.count_source = true;
        let ticket = self.insist(|i| i.post(&d));
        self.track(ticket, peer, &work);
        ticket
    }

    /// Like [`QueuePair::post`]. `counter`, of this rank, counts the operation when it is done.
    pub fn post_counted(&mut self, peer: u32, counter: CounterId, work: Work) -> u64 {
        let mut d = self.descriptor(peer, false, work);
        d.count = Some(counter);
        let ticket = self.insist(|i| i.post(&d));
        self.track(ticket, peer, &work);
        ticket
    }

    fn descriptor(&self, peer: u32, signalled: bool, work: Work) -> Descriptor {
        Descriptor {
            queue_pair: self.initiator.statics().queue_pair,
            peer,
            signalled,
            count: None,
            count_source: false,
            work,
        }
    }

    /// Posts a put of `length` bytes from `local` to `remote`, in the regions of the templates.
    #[inline]
    pub fn put(&mut self, peer: u32, remote: u64, local: u64, length: u32) -> u64 {
        self.post_shape(Shape::Put, peer, remote, local, length)
    }

    /// Posts a get of `length` bytes from `remote` to `local`, in the regions of the templates.
    #[inline]
    pub fn get(&mut self, peer: u32, remote: u64, local: u64, length: u32) -> u64 {
        self.post_shape(Shape::Get, peer, remote, local, length)
    }

    #[inline]
    fn post_shape(&mut self, shape: Shape, peer: u32, remote: u64, local: u64, length: u32) -> u64 {
        let d = Dynamic {
            peer,
            remote,
            local,
            length,
        };
        let ticket = match self.initiator.post_template(shape, d) {
            Ok(ticket) => ticket,
            Err(Full) => self.insist(|i| i.post_template(shape, d)),
        };
        let source = Source::Memory(self.local(local), length);
        if let (Some(t), Shape::Put) = (&mut self.tracker, shape) {
            t.departs(ticket, peer, &source, remote);
            t.wrote(peer, (Kind::Put, remote, length), true);
        }
        self.ring();
        ticket
    }

    /// Posts a put of bytes that travel in the descriptor, so that the source may be written again at once. `None` if
    /// there are more than [`crate::descriptor::INLINE_BYTES`].
    pub fn put_inline(&mut self, peer: u32, remote: u64, bytes: &[u8]) -> Option<u64> {
        let work = Work::Put {
            source: Source::Inline(Inline::new(bytes)?),
            remote: self.remote(remote),
            signal: None,
        };
        let ticket = self.post(peer, false, work);
        self.ring();
        Some(ticket)
    }

    /// Posts a put followed by a signal at the same target.
    pub fn put_signal(
        &mut self,
        peer: u32,
        remote: u64,
        local: u64,
        length: u32,
        signal: Signal,
    ) -> u64 {
        let work = Work::Put {
            source: Source::Memory(self.local(local), length),
            remote: self.remote(remote),
            signal: Some(signal),
        };
        let ticket = self.post(peer, false, work);
        self.ring();
        ticket
    }

    /// Sends a small message to a port of `peer`. `None` if the bytes do not fit into the descriptor; post longer
    /// messages from registered memory as [`Work::Send`].
    pub fn send_inline(&mut self, peer: u32, port: u8, tag: u32, bytes: &[u8]) -> Option<u64> {
        let source = Source::Inline(Inline::new(bytes)?);
        let ticket = self.post(peer, false, Work::Send { source, port, tag });
        self.ring();
        Some(ticket)
    }

    /// Runs an atomic, waits, and returns the old value.
    ///
    /// # Errors
    /// The completion in error.
    pub fn fetch(&mut self, peer: u32, mut atomic: Atomic) -> Result<u64, Completion> {
        atomic.fetch = Fetch::Completion;
        let ticket = self.post(peer, true, Work::Atomic(atomic));
        match self.wait_for(ticket) {
            Some(done) if done.status == Status::Ok => Ok(done.value),
            Some(done) => Err(done),
            None => {
                unreachable!("a signalled operation writes a completion, and nobody else reads")
            }
        }
    }

    /// Operations to `peer` that are posted later take effect after those posted before.
    pub fn fence(&mut self, peer: u32) {
        self.post(peer, false, Work::Fence);
    }

    /// Rings, and waits for the completion of one operation. `None` if the operation is done and has no completion
    /// (it was not signalled, and succeeded), or its completion was given out before. For an operation that is not
    /// signalled this waits for all other operations too.
    pub fn wait_for(&mut self, ticket: u64) -> Option<Completion> {
        let mut found = None;
        self.wait(&mut |i| {
            // The look at quiet comes first: whatever is done by then has written its completion.
            let quiet = i.is_quiet();
            found = i.take(ticket);
            found.is_some() || quiet
        });
        found
    }

    /// Rings, and waits until everything posted is done, and visible at its target.
    ///
    /// # Errors
    /// The operations that failed since the last such report. The others took effect all the same.
    pub fn quiet(&mut self) -> Result<(), Failed> {
        if self.holding != 0 {
            // An operation that is done may still be held at its target.
            for peer in 0..self.holding {
                self.post(peer, false, Work::Fence);
            }
        }
        if let Some(t) = &mut self.tracker {
            t.quiet();
        }
        self.wait(&mut |i| i.is_quiet());
        let errors = self.initiator.take_errors();
        if errors.is_empty() {
            Ok(())
        } else {
            Err(Failed(errors))
        }
    }

    /// Rings, and waits until the buffers of all posted operations may be used again: sources were read, and the
    /// results of gets and fetching atomics have come. The targets need not see the data yet; [`QueuePair::quiet`]
    /// waits for that, and reports failures. Operations that a [wait](Work::Wait) holds back are waited for too.
    ///
    /// For the buffer of a single operation use a counter: [`QueuePair::post_counting_source`].
    pub fn flush(&mut self) {
        self.wait(&mut |i| i.is_flushed());
    }

    /// Memory in the templates' local region.
    pub fn local(&self, address: u64) -> Local {
        Local {
            address,
            key: self.initiator.statics().local,
        }
    }

    /// Memory in the templates' remote region.
    pub fn remote(&self, address: u64) -> Remote {
        Remote {
            address,
            key: self.initiator.statics().remote,
        }
    }
}

/// Makes the two ends of a queue pair.
pub(crate) fn ends(
    depth: usize,
    number: u32,
    keys: TemplateKeys,
) -> (Initiator, crate::queue_pair::Consumer) {
    crate::queue_pair::queue_pair(
        depth,
        Statics {
            queue_pair: number,
            local: keys.local,
            remote: keys.remote,
        },
    )
}
