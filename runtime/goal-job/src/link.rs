//! Packets between two ranks: a [ring](crate::ring) in the receiver's segment for each sender.
//!
//! Every rank's segment has the same [`Layout`]: a bell, for each sender a word that says how much it has written (its
//! *tail*), for each receiver a word that says how much of this rank's ring there was read (*consumed*), and the rings. A
//! sender whose peer is mapped stores there itself; another one posts puts to its queue pair, each with the tail as its
//! signal. So a receiver only polls words of its own memory, whichever engine carries the bytes.
//!
//! # Memory ordering
//! The tail is stored with release behind the record (a signal stays behind its put's data), and loaded with acquire:
//! without the pair a receiver could read a record's place before its bytes. `consumed` likewise: without the pair a sender
//! could overwrite a record that is still being copied out. Then the receiver's bell rings, whose fences see to it that a
//! receiver which goes to sleep sees the tail or is woken.

use crate::direct;
use crate::ring::{self, Found, HEAD, RING};
use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_core::bell::Bell;
use hetmp_core::segment::PAGE;
use hetmp_goal::packet::{Packet, HEADER_BYTES};
use hetmp_nic::descriptor::{Inline, Key, Local, Remote, Signal, SignalOp, Source, Work};
use hetmp_nic::engine::QueuePair;
use std::collections::VecDeque;

/// In a tail: the sender has left the job; what it wrote before stands.
const LEFT: u64 = 1 << 63;
/// Bytes between two words of different peers, which write them at the same time.
const LINE: usize = 64;
/// A receiver reports after it has read this much.
const REPORT: u64 = RING / 4;

/// Where a rank says which process it is.
const PROCESS: usize = LINE;

/// Where things lie in the segment of each of `ranks` ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    ranks: usize,
}

impl Layout {
    pub(crate) fn new(ranks: u32) -> Layout {
        Layout {
            ranks: ranks as usize,
        }
    }

    fn tail(sender: u32) -> usize {
        PAGE + LINE * sender as usize
    }

    fn consumed(self, receiver: u32) -> usize {
        PAGE + LINE * (self.ranks + receiver as usize)
    }

    fn ring(self, sender: u32) -> usize {
        (PAGE + 2 * LINE * self.ranks).next_multiple_of(PAGE) + RING as usize * sender as usize
    }

    /// What blocking collectives expose.
    pub(crate) fn direct(self) -> usize {
        self.ring(self.ranks as u32)
    }

    /// Bytes of a segment.
    pub(crate) fn bytes(self) -> usize {
        self.direct() + direct::BYTES
    }
}

/// The bell of the rank whose segment is mapped at `base`.
///
/// # Safety
/// `base` is the start of a mapped segment of a [`Layout`] that stays mapped.
pub(crate) unsafe fn bell(base: *mut u8) -> &'static Bell {
    // SAFETY: a segment begins with a bell, for which zero is a value. `world` maps segments of this layout and never unmaps
    // them.
    unsafe { &*base.cast() }
}

/// The process of the rank whose segment is mapped at `base`; 0 until it has said so.
///
/// # Safety
/// As [`bell`].
pub(crate) unsafe fn process(base: *mut u8) -> u32 {
    // SAFETY: a word of the first page, which is only accessed as an atomic.
    unsafe { AtomicU64::from_ptr(base.wrapping_add(PROCESS).cast()) }.load(Ordering::Relaxed) as u32
}

/// This rank's own end of every link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here {
    pub(crate) rank: u32,
    /// This rank's segment.
    pub(crate) base: *mut u8,
    pub(crate) layout: Layout,
}

// SAFETY: a segment stays mapped, and what lies there is accessed as the module says.
unsafe impl Send for Here {}
// SAFETY: no method of a shared `Here` writes to it, and the segment is accessed as the module says.
unsafe impl Sync for Here {}

impl Here {
    /// A word of this rank's segment.
    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: within the segment by `Layout`, aligned to a line, and only accessed as an atomic by any process.
        unsafe { AtomicU64::from_ptr(self.base.wrapping_add(offset).cast()) }
    }

    /// Says which process this rank is.
    pub(crate) fn sign(&self) {
        self.word(PROCESS)
            .store(std::process::id().into(), Ordering::Relaxed);
    }

    /// True if the peer has left the job.
    pub(crate) fn has_left(&self, peer: u32) -> bool {
        self.word(Layout::tail(peer)).load(Ordering::Acquire) & LEFT != 0
    }

    /// True if the peer has written something that a reader at `read` has not seen, or has left.
    #[inline]
    pub(crate) fn has_news(&self, peer: u32, read: u64) -> bool {
        self.word(Layout::tail(peer)).load(Ordering::Relaxed) != read
    }
}

/// How bytes get to a peer.
#[derive(Debug)]
enum Way {
    /// Its segment is mapped at this address.
    Mapped(*mut u8),
    /// By an engine: what is under way lies in this copy of the ring until the peer has read it.
    Engine(Box<[u64]>),
}

/// Both directions between this rank and a peer.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) peer: u32,
    way: Way,
    /// Bytes written to the peer's ring.
    tail: u64,
    /// Bytes that the peer has read, as far as known.
    consumed: u64,
    /// Packets that found no room.
    backlog: VecDeque<Packet>,
    /// Bytes read of the ring here.
    pub(crate) read: u64,
    /// Bytes read that the peer was told of.
    reported: u64,
    /// Nothing is sent to or taken from the peer any more.
    pub(crate) gone: bool,
    /// Something was written since the bell was rung last.
    silent: bool,
    /// Its driver has it on the list of links to look after.
    pub(crate) listed: bool,
}

// SAFETY: the mapped segment stays; a link is used by one thread at a time (`&mut`).
unsafe impl Send for Link {}

/// What a look at a link's ring found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Nothing new.
    Nothing,
    /// A packet: where it begins in this rank's segment, its length, and the position behind it, for [`Link::passed`].
    Packet {
        /// Its first byte.
        at: *const u8,
        /// Bytes.
        len: usize,
        /// Position.
        next: u64,
    },
    /// The peer has left the job.
    Left,
    /// The peer has written what no peer writes.
    Broken,
}

impl Link {
    /// A link to `peer`, whose segment is mapped at `base`, or reached by an engine if that is null.
    pub(crate) fn new(peer: u32, base: *mut u8) -> Link {
        let way = if base.is_null() {
            Way::Engine(vec![0; RING as usize / 8].into())
        } else {
            Way::Mapped(base)
        };
        Link {
            peer,
            way,
            tail: 0,
            consumed: 0,
            backlog: VecDeque::new(),
            read: 0,
            reported: 0,
            gone: false,
            silent: false,
            listed: false,
        }
    }

    /// The next packet. Its writer leaves it alone until [`Link::passed`].
    #[inline]
    pub(crate) fn look(&mut self, here: &Here) -> Look {
        let said = here.word(Layout::tail(self.peer)).load(Ordering::Acquire);
        let ring = here.base.wrapping_add(here.layout.ring(self.peer));
        let word = |at: usize| {
            // SAFETY: within the ring, aligned to 8; the writer does not touch what lies between `read` and the tail.
            unsafe { ring.wrapping_add(at).cast::<u64>().read_volatile() }
        };
        match ring::find(self.read, said & !LEFT, word) {
            Found::Nothing if said & LEFT != 0 => Look::Left,
            Found::Nothing => Look::Nothing,
            Found::Broken => Look::Broken,
            Found::Record { at, len, next } => Look::Packet {
                at: ring.wrapping_add(at),
                len,
                next,
            },
        }
    }

    /// The packet before position `next` was worked on; its place is the writer's again.
    #[inline]
    pub(crate) fn passed(&mut self, here: &Here, post: &mut Posts, next: u64) {
        self.read = next;
        if next - self.reported >= REPORT {
            self.reported = next;
            self.write_word(post, here.layout.consumed(here.rank), next);
        }
    }

    /// Sends a packet, behind those that wait already.
    #[inline]
    pub(crate) fn send(&mut self, here: &Here, post: &mut Posts, packet: Packet) {
        if self.gone {
            return;
        }
        if !self.backlog.is_empty() || !self.write_packet(here, post, &packet) {
            self.backlog.push_back(packet);
        }
    }

    /// Sends a packet whose payload `fill` writes to where it goes; false if it has no room now, or waits behind others.
    pub(crate) fn part(
        &mut self,
        here: &Here,
        post: &mut Posts,
        header: &[u8; HEADER_BYTES],
        n: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> bool {
        self.backlog.is_empty() && self.write(here, post, header, n, fill)
    }

    /// Writes what found no room before; true if something went.
    #[inline]
    pub(crate) fn flush(&mut self, here: &Here, post: &mut Posts) -> bool {
        let mut went = false;
        while let Some(packet) = self.backlog.pop_front() {
            if !self.write_packet(here, post, &packet) {
                self.backlog.push_front(packet);
                break;
            }
            went = true;
        }
        went
    }

    /// True if nothing waits for room.
    #[inline]
    pub(crate) fn is_flushed(&self) -> bool {
        self.backlog.is_empty()
    }

    /// Forgets what waits; nothing more is sent.
    pub(crate) fn cut(&mut self) {
        self.gone = true;
        self.backlog.clear();
    }

    /// Says that this rank leaves.
    pub(crate) fn leave(&mut self, here: &Here, post: &mut Posts) {
        self.write_word(post, Layout::tail(here.rank), self.tail | LEFT);
        self.ring_bell();
    }

    /// Wakes the peer, if something was written since the last time.
    #[inline]
    pub(crate) fn ring_bell(&mut self) {
        if core::mem::take(&mut self.silent) {
            if let Way::Mapped(base) = self.way {
                // SAFETY: a peer's segment, which stays mapped.
                unsafe { bell(base) }.ring();
            }
        }
    }

    fn write_packet(&mut self, here: &Here, post: &mut Posts, packet: &Packet) -> bool {
        let (header, payload) = packet.parts();
        let mut fill = |into: &mut [u8]| into.copy_from_slice(payload);
        self.write(here, post, &header, payload.len(), &mut fill)
    }

    fn write(
        &mut self,
        here: &Here,
        post: &mut Posts,
        header: &[u8; HEADER_BYTES],
        payload: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> bool {
        let n = (header.len() + payload) as u64;
        let place = ring::place(self.tail, self.consumed, n).or_else(|| {
            let word = here.word(here.layout.consumed(self.peer));
            self.consumed = word.load(Ordering::Acquire);
            ring::place(self.tail, self.consumed, n)
        });
        let Some(place) = place else {
            return false;
        };
        let ring = here.layout.ring(here.rank);
        let base = match &mut self.way {
            Way::Mapped(base) => base.wrapping_add(ring),
            Way::Engine(copy) => copy.as_mut_ptr().cast::<u8>(),
        };
        // SAFETY: `place` keeps both records within the ring, and apart from what the peer (or the engine on the way to
        // it) may still read; this rank is the only one that writes there. A segment is zero at first, so that all of it
        // holds values.
        unsafe {
            if let Some(skip) = place.skip {
                base.wrapping_add(skip).cast::<u64>().write(ring::SKIP);
            }
            let at = base.wrapping_add(place.at);
            at.cast::<u64>().write(n);
            let at = at.wrapping_add(HEAD as usize);
            core::ptr::copy_nonoverlapping(header.as_ptr(), at, header.len());
            let at = at.wrapping_add(header.len());
            fill(core::slice::from_raw_parts_mut(at, payload));
        }
        self.tail = place.tail;
        self.silent = true;
        match self.way {
            Way::Mapped(to) => {
                let word = to.wrapping_add(Layout::tail(here.rank)).cast();
                // SAFETY: in the peer's segment, aligned, accessed as an atomic.
                unsafe { AtomicU64::from_ptr(word) }.store(place.tail, Ordering::Release);
            }
            Way::Engine(_) => {
                let at = |offset: usize| (ring + offset) as u64;
                if let Some(skip) = place.skip {
                    post.put_inline(self.peer, at(skip), &ring::SKIP.to_le_bytes());
                }
                let from = base.wrapping_add(place.at);
                let signal = (Layout::tail(here.rank) as u64, place.tail);
                post.put(self.peer, at(place.at), from, HEAD + n, signal);
            }
        }
        true
    }

    /// Sets a word in the peer's segment, behind everything before.
    fn write_word(&mut self, post: &mut Posts, offset: usize, value: u64) {
        self.silent = true;
        match self.way {
            Way::Mapped(base) => {
                let word = base.wrapping_add(offset).cast();
                // SAFETY: in the peer's segment, aligned, accessed as an atomic.
                unsafe { AtomicU64::from_ptr(word) }.store(value, Ordering::Release);
            }
            Way::Engine(_) => post.set(self.peer, offset as u64, value),
        }
    }
}

/// What goes by an engine; nothing where every peer is mapped.
#[derive(Debug)]
pub(crate) struct Posts {
    queue: Option<QueuePair>,
    local: Key,
    /// Of the segment of every rank, whose addresses begin at 0.
    remote: Key,
    posted: bool,
    /// To whom the latest operations went, by ticket: a completion in error says what was wrong, not always with whom.
    recent: Box<[(u64, u32)]>,
}

/// Operations whose targets are known: more than the queue holds.
const RECENT: usize = 1024;

impl Posts {
    pub(crate) fn new(queue: Option<QueuePair>, local: Key, remote: Key) -> Posts {
        let recent = if queue.is_some() { RECENT } else { 0 };
        Posts {
            queue,
            local,
            remote,
            posted: false,
            recent: vec![(u64::MAX, 0); recent].into(),
        }
    }

    fn remote(&self, address: u64) -> Remote {
        Remote {
            address,
            key: self.remote,
        }
    }

    fn post(&mut self, peer: u32, work: Work) {
        if let Some(queue) = &mut self.queue {
            let ticket = queue.post(peer, false, work);
            self.recent[ticket as usize % RECENT] = (ticket, peer);
            self.posted = true;
        }
    }

    fn put(&mut self, peer: u32, to: u64, from: *const u8, n: u64, (word, value): (u64, u64)) {
        let local = Local {
            address: from.expose_provenance() as u64,
            key: self.local,
        };
        let work = Work::Put {
            source: Source::Memory(local, n as u32),
            remote: self.remote(to),
            signal: Some(Signal {
                remote: self.remote(word),
                op: SignalOp::Set,
                value,
            }),
        };
        self.post(peer, work);
        // The next signal must not overtake this one.
        self.post(peer, Work::Fence);
    }

    fn put_inline(&mut self, peer: u32, to: u64, bytes: &[u8]) {
        if let Some(inline) = Inline::new(bytes) {
            let work = Work::Put {
                source: Source::Inline(inline),
                remote: self.remote(to),
                signal: None,
            };
            self.post(peer, work);
            self.post(peer, Work::Fence);
        }
    }

    fn set(&mut self, peer: u32, word: u64, value: u64) {
        if let Some(inline) = Inline::new(&[]) {
            let work = Work::Put {
                source: Source::Inline(inline),
                remote: self.remote(word),
                signal: Some(Signal {
                    remote: self.remote(word),
                    op: SignalOp::Set,
                    value,
                }),
            };
            self.post(peer, work);
            self.post(peer, Work::Fence);
        }
    }

    /// Asks an engine whether a peer is still there: what fails shows in [`Posts::lost`].
    pub(crate) fn probe(&mut self, peer: u32) {
        self.put_inline(peer, 0, &[]);
        self.ring();
    }

    /// Tells the engine of what was posted.
    #[inline]
    pub(crate) fn ring(&mut self) {
        if core::mem::take(&mut self.posted) {
            if let Some(queue) = &mut self.queue {
                queue.ring();
            }
        }
    }

    /// The targets of operations that have failed since the last look: nothing reaches them any more. All that were sent to
    /// lately, where an operation is too long ago to know its own.
    pub(crate) fn lost(&mut self) -> Vec<u32> {
        let Some(queue) = &mut self.queue else {
            return Vec::new();
        };
        let mut peers = Vec::new();
        for error in queue.initiator().take_errors() {
            match self.recent[error.ticket as usize % RECENT] {
                (ticket, peer) if ticket == error.ticket => peers.push(peer),
                _ => peers.extend(self.recent.iter().filter(|r| r.0 != u64::MAX).map(|r| r.1)),
            }
        }
        peers
    }

    /// Waits until everything posted has arrived, or failed.
    pub(crate) fn quiet(&mut self) {
        if let Some(queue) = &mut self.queue {
            // What failed went to a peer that is gone.
            let _ = queue.quiet();
        }
    }
}
