//! Engines: who executes descriptors. One trait for OpenSHMEM, the DSM and GOAL.
//!
//! * [`shm`]: the memory of every peer is mapped here; the initiator executes its own descriptors as it
//!   rings the doorbell. Queue pairs with triggered operations are served by an adapter's thread.
//! * [`emulated`]: a software adapter: a thread that takes descriptors from the queues of all its ranks,
//!   models latency and bandwidth, and runs triggered operations.
//! * [`tcp`]: a thread in each process, a stream to every peer; each side checks its own half.
//! * [`ofi`]: what has a provider in libfabric: remote memory access by the adapter, and the requests of `tcp` as messages.
//!
//! Every engine works on a [`Domain`] per rank, and gives out [`QueuePair`]s, each owned by one initiator.

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
    /// Runs [`Work::Wait`]. Where it does not (a thread could not be started), that and what it holds back complete
    /// as [`Status::Unsupported`].
    pub triggered: bool,
    /// All operations make progress while the initiator computes. Elsewhere those do that a wait held back.
    pub asynchronous: bool,
}

/// The keys that a queue pair's templates carry.
#[derive(Clone, Copy, Debug, Default)]
pub struct TemplateKeys {
    /// Region of local buffers.
    pub local: Key,
    /// Region of the targets.
    pub remote: Key,
}

/// An engine as one rank sees it.
pub trait Engine: Send + Sync {
    /// Name, as users give it: `shm`, `emulated`, `tcp`, `ofi`.
    fn name(&self) -> &'static str;
    /// The rank this is.
    fn rank(&self) -> u32;
    /// How many ranks there are.
    fn ranks(&self) -> u32;
    /// What it can do.
    fn abilities(&self) -> Abilities;
    /// This rank's regions, messages and counters.
    fn domain(&self) -> &Domain;
    /// A new queue pair with `depth` slots (rounded up to a power of two), filled with put templates.
    fn queue_pair(&self, depth: usize, keys: TemplateKeys) -> QueuePair;

    /// Works on what arrives and leaves, where the engine can do that in its callers; true if there was
    /// something. A rank that waits for memory which a peer will write calls this in its loop: the
    /// bytes then need no other thread to get there.
    fn progress(&self) -> bool {
        false
    }

    /// Registers memory of this rank at port 0; for other ports see [`Domain::register`].
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
        // SAFETY: this function's contract is that of the function called.
        unsafe { self.domain().register(0, memory, rights, counter) }
    }
}

/// How a queue pair reaches its engine.
pub trait Bell: Send {
    /// Called after new descriptors were announced: the engine may sleep, and has to be woken then.
    fn rung(&mut self);
    /// Called while the initiator waits. An engine that runs in its callers works here; true if it did
    /// something.
    fn drive(&mut self) -> bool;
    /// Waits until `until` holds; not asked again once it did. An engine that sleeps somewhere else than where completions wake the
    /// initiator has a way of its own.
    fn wait(&mut self, initiator: &mut Initiator, until: &mut dyn FnMut(&mut Initiator) -> bool) {
        initiator.wait(&mut || self.drive(), until);
    }
    /// Sources must be read afresh: see [`QueuePair::invalidate`].
    fn invalidate(&mut self) {}
}

/// Operations that failed since the last look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed(pub Vec<Completion>);

/// A queue pair with its engine: what an initiator holds.
pub struct QueuePair {
    initiator: Initiator,
    bell: Box<dyn Bell>,
    /// Quiet has to flush the writes held at this many ranks; 0: none holds any.
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

    /// Quiet flushes what `ranks` ranks hold.
    pub(crate) fn flushing(&mut self, ranks: u32) {
        self.holding = ranks;
    }

    /// At how many ranks quiet has to flush held writes, by a fence to each: 0 where none holds any.
    pub fn holding(&self) -> u32 {
        self.holding
    }

    pub(crate) fn tracked(&mut self, tracker: Tracker) {
        self.tracker = Some(Box::new(tracker));
    }

    /// Says where in the program the operations that follow come from: what the checker calls them
    /// ([`crate::device_memory::board`]). 0: they are nobody's, and not looked at. Without a checker this
    /// does nothing.
    #[inline]
    pub fn at_site(&mut self, site: u64) -> &mut QueuePair {
        if let Some(t) = &mut self.tracker {
            t.site = site;
        }
        self
    }

    /// True where [`QueuePair::at_site`] means something.
    #[inline]
    pub fn is_checked(&self) -> bool {
        self.tracker.is_some()
    }

    /// Makes the adapter read sources afresh that it may have read before. Posting does that by itself,
    /// except under [`DeviceMemory`](crate::device_memory::DeviceMemory) without `invalidate`; on other
    /// engines there is nothing to do.
    pub fn invalidate(&mut self) {
        self.bell.invalidate();
    }

    /// The raw posting end: posting without ringing, templates, polling.
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

    /// Tells the engine that the doorbell record has grown: for an initiator that writes the
    /// [rings' memory](Initiator::raw) itself.
    #[inline]
    pub fn doorbell(&mut self) {
        self.bell.rung();
    }

    /// Waits until that many operations are done in all, for such an initiator: the engine runs here if it runs in its
    /// callers, and the thread sleeps if it takes long.
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

    /// Calls `post` until there is room; what was posted before is announced, or room would never come.
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

    /// Posts any work, announced at the next [`QueuePair::ring`]; waits while the queue is full.
    pub fn post(&mut self, peer: u32, signalled: bool, work: Work) -> u64 {
        self.track(peer, &work);
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

    #[inline]
    fn track(&mut self, peer: u32, work: &Work) {
        if let Some(t) = &mut self.tracker {
            t.posted(peer, work);
        }
    }

    /// As [`QueuePair::post`], with a counter of this rank that counts once the operation's source may be written again:
    /// with sockets, that is before the operation is done. See [`Descriptor::count_source`].
    pub fn post_counting_source(&mut self, peer: u32, counter: CounterId, work: Work) -> u64 {
        self.track(peer, &work);
        let mut d = self.descriptor(peer, false, work);
        d.count = Some(counter);
        d.count_source = true;
        self.insist(|i| i.post(&d))
    }

    /// As [`QueuePair::post`], with a counter of this rank that counts the operation when it is done.
    pub fn post_counted(&mut self, peer: u32, counter: CounterId, work: Work) -> u64 {
        self.track(peer, &work);
        let mut d = self.descriptor(peer, false, work);
        d.count = Some(counter);
        self.insist(|i| i.post(&d))
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

    /// Starts a put of `length` bytes from `local` to `remote`, in the regions of the templates.
    #[inline]
    pub fn put(&mut self, peer: u32, remote: u64, local: u64, length: u32) -> u64 {
        self.post_shape(Shape::Put, peer, remote, local, length)
    }

    /// Starts a get of `length` bytes from `remote` to `local`, in the regions of the templates.
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
        if let (Some(t), Shape::Put) = (&mut self.tracker, shape) {
            t.wrote(peer, (Kind::Put, remote, length), true);
        }
        let ticket = match self.initiator.post_template(shape, d) {
            Ok(ticket) => ticket,
            Err(Full) => self.insist(|i| i.post_template(shape, d)),
        };
        self.ring();
        ticket
    }

    /// Starts a put of bytes that travel in the descriptor (at most
    /// [`crate::descriptor::INLINE_BYTES`]): the source may be used again at once. `None` if they do not
    /// fit.
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

    /// Starts a put followed by a signal at the same target.
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

    /// Sends a small message to a port of `peer`; `None` if it is longer than fits inline. Longer ones are posted from
    /// registered memory as [`Work::Send`].
    pub fn send_inline(&mut self, peer: u32, port: u8, tag: u32, bytes: &[u8]) -> Option<u64> {
        let source = Source::Inline(Inline::new(bytes)?);
        let ticket = self.post(peer, false, Work::Send { source, port, tag });
        self.ring();
        Some(ticket)
    }

    /// Runs an atomic and waits for the old value.
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

    /// Orders what follows to `peer` after what went before to `peer`.
    pub fn fence(&mut self, peer: u32) {
        self.post(peer, false, Work::Fence);
    }

    /// Rings, and waits for the completion of one operation. `None`: it is done and has none (it was not
    /// signalled and succeeded), or its completion was given out before. For an operation that is not
    /// signalled this waits for all the others, too.
    pub fn wait_for(&mut self, ticket: u64) -> Option<Completion> {
        let mut found = None;
        self.wait(&mut |i| {
            // Quiet first: what was done by then has its completion written.
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
            // What is done may still be held there.
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

    /// Rings, and waits until the buffers of everything posted may be used again: sources were read, and what gets and
    /// fetching atomics brought has come. Nothing is said about when the targets see it: that is
    /// [`QueuePair::quiet`], which also reports what failed. What a [wait](Work::Wait) holds back is waited for, too.
    ///
    /// For the buffer of a single operation, let a counter tell: [`QueuePair::post_counting_source`].
    pub fn flush(&mut self) {
        self.wait(&mut |i| i.is_flushed());
    }

    /// Memory of the templates' local region.
    pub fn local(&self, address: u64) -> Local {
        Local {
            address,
            key: self.initiator.statics().local,
        }
    }

    /// Memory of the templates' remote region.
    pub fn remote(&self, address: u64) -> Remote {
        Remote {
            address,
            key: self.initiator.statics().remote,
        }
    }
}

/// Makes the two ends of a queue pair with its number and keys.
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
