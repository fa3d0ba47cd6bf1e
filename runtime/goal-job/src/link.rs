//! Packets between two ranks: a [ring](crate::ring) in the receiver's segment for each sender.
//!
//! Every rank's segment has the same [`Layout`]: a bell; for each sender a word that says how much it has written
//! (its *tail*); for each receiver a word that says how much of this rank's ring that receiver has read (*consumed*);
//! for each sender a word of its long messages ([`share`](crate::share)); and the rings. A sender that has its peer's
//! segment mapped stores there itself. Any other sender posts puts to its queue pair, each with the tail as its signal.
//! So a receiver only polls words of its own memory, whichever way the bytes come.
//!
//! # Memory ordering
//! The tail is stored with release after the record (a signal stays behind its put's data), and loaded with acquire:
//! otherwise a receiver could read a record before its bytes are there. The same is true of `consumed`: otherwise a
//! sender could overwrite a record that is still being copied out. After the tail the sender rings the receiver's
//! bell. The bell's fences ensure that a receiver which is going to sleep either sees the tail or is woken.

use crate::direct;
use crate::ring::{self, Found, HEAD, RING};
use crate::share::Cursor;
use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_core::bell::Bell;
use hetmp_goal::packet::{Packet, HEADER_BYTES};
use hetmp_nic::descriptor::{Inline, Key, Local, Remote, Signal, SignalOp, Source, Work};
use hetmp_nic::engine::QueuePair;
use std::collections::VecDeque;

/// Parts of a segment begin at multiples of this.
const PAGE: usize = 4096;

/// How many teams a rank can have. An area takes 273 KiB of addresses.
pub(crate) const TEAMS: u32 = 64;
/// A bit of a tail: the sender has left the job. What it has written before is valid.
const LEFT: u64 = 1 << 63;
/// Distance in bytes between words that different peers write at the same time.
const LINE: usize = 64;
/// A receiver reports what it has read after this many bytes.
const REPORT: u64 = RING / 4;

/// Offset of the words that name the rank's process: its id, where it has mapped this segment, and a random number.
/// Then the core on which it was last seen, plus one.
const PROCESS: usize = LINE;
const CPU: usize = PROCESS + 24;

/// The offsets of everything in a rank's segment, in a job of `ranks` ranks.
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

    /// Offset of the word of a sender's long messages to this rank.
    fn shared(self, sender: u32) -> usize {
        PAGE + LINE * (2 * self.ranks + sender as usize)
    }

    fn ring(self, sender: u32) -> usize {
        (PAGE + 3 * LINE * self.ranks).next_multiple_of(PAGE) + RING as usize * sender as usize
    }

    /// Offset of the area of collectives without a schedule, of a [team](crate::team) by its number. Areas take memory
    /// when they are first used.
    pub(crate) fn direct(self, team: u32) -> usize {
        self.ring(self.ranks as u32) + direct::BYTES.next_multiple_of(PAGE) * team as usize
    }

    /// Bytes of a segment.
    pub(crate) fn bytes(self) -> usize {
        self.direct(TEAMS)
    }
}

/// The bell of the rank whose segment is mapped at `base`.
///
/// # Safety
/// `base` is the start of a mapped segment of a [`Layout`] that stays mapped.
pub(crate) unsafe fn bell(base: *mut u8) -> &'static Bell {
    // SAFETY: who calls has the start of a segment, which begins with a bell, for which zero is a value. `world`
    // never unmaps segments.
    unsafe { &*base.cast() }
}

/// The word of the long messages that `sender` sends to the rank whose segment is mapped at `base`.
///
/// # Safety
/// As [`bell`], and the layout is that of the job, which has this sender.
pub(crate) unsafe fn shared(base: *mut u8, layout: Layout, sender: u32) -> &'static Cursor {
    // SAFETY: a line of the segment of its own, which all processes access as an atomic word; zero is a value of it.
    unsafe { &*base.wrapping_add(layout.shared(sender)).cast() }
}

/// The process id of the rank whose segment is mapped at `base`; 0 until the rank has written it.
///
/// # Safety
/// As [`bell`].
pub(crate) unsafe fn process(base: *mut u8) -> u32 {
    // SAFETY: a word of the first page of a mapped segment, which all processes access as an atomic.
    unsafe { AtomicU64::from_ptr(base.wrapping_add(PROCESS).cast()) }.load(Ordering::Relaxed) as u32
}

/// Where a rank has mapped its own segment, and a number that it has drawn; both 0 until it has written them.
///
/// # Safety
/// As [`bell`].
pub(crate) unsafe fn place(base: *mut u8) -> [u64; 2] {
    [1, 2].map(|i| {
        let word = base.wrapping_add(PROCESS + 8 * i).cast();
        // SAFETY: a word of the first page of a mapped segment, which all processes access as an atomic.
        unsafe { AtomicU64::from_ptr(word) }.load(Ordering::Relaxed)
    })
}

/// The core on which the rank whose segment is mapped at `base` has last begun to wait, plus one; 0 if that is not
/// known.
///
/// # Safety
/// As [`bell`].
pub(crate) unsafe fn cpu(base: *mut u8) -> u64 {
    // SAFETY: a word of the first page of a mapped segment, which all processes access as an atomic.
    unsafe { AtomicU64::from_ptr(base.wrapping_add(CPU).cast()) }.load(Ordering::Relaxed)
}

/// The address, in the process of a rank that has mapped its segment at `base`, of what [`place`] returns.
pub(crate) fn place_in_process(base: u64) -> u64 {
    base.wrapping_add(PROCESS as u64 + 8)
}

/// This rank's own end of every link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here {
    pub(crate) rank: u32,
    /// This rank's segment.
    pub(crate) base: *mut u8,
    pub(crate) layout: Layout,
}

// SAFETY: the segment stays mapped, and is accessed as "Memory ordering" says.
unsafe impl Send for Here {}
// SAFETY: no method of a shared `Here` changes the value, and the segment is accessed as "Memory ordering" says.
unsafe impl Sync for Here {}

impl Here {
    /// A word of this rank's segment.
    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: `Layout` keeps the offset within the segment and aligned to a line, and all processes access the
        // word as an atomic.
        unsafe { AtomicU64::from_ptr(self.base.wrapping_add(offset).cast()) }
    }

    /// Writes into the segment which process this is.
    pub(crate) fn sign(&self) {
        let mut number = [0u8; 8];
        // SAFETY: the call writes at most the eight bytes of `number`.
        let got = unsafe { libc::getrandom(number.as_mut_ptr().cast(), 8, 0) };
        // Without a number nobody reads here.
        if got == 8 {
            let base = self.base.expose_provenance() as u64;
            self.word(PROCESS + 8).store(base, Ordering::Relaxed);
            let number = u64::from_le_bytes(number) | 1;
            self.word(PROCESS + 16).store(number, Ordering::Relaxed);
        }
        self.word(PROCESS)
            .store(std::process::id().into(), Ordering::Relaxed);
    }

    /// Writes into the segment on which core the calling thread runs, if that is another than before. Returns what
    /// [`cpu`] does.
    pub(crate) fn note_cpu(&self) -> u64 {
        // SAFETY: the call has no arguments; -1 if it fails.
        let here = (unsafe { libc::sched_getcpu() } + 1) as u64;
        let word = self.word(CPU);
        if word.load(Ordering::Relaxed) != here {
            word.store(here, Ordering::Relaxed);
        }
        here
    }

    /// True if the peer has left the job.
    pub(crate) fn has_left(&self, peer: u32) -> bool {
        self.word(Layout::tail(peer)).load(Ordering::Acquire) & LEFT != 0
    }

    /// True if the peer has written something that a reader at position `read` has not seen, or has left.
    #[inline]
    pub(crate) fn has_news(&self, peer: u32, read: u64) -> bool {
        self.word(Layout::tail(peer)).load(Ordering::Relaxed) != read
    }
}

/// How bytes get to a peer.
#[derive(Debug)]
enum Way {
    /// The peer's segment is mapped at this address.
    Mapped(*mut u8),
    /// An engine reaches the peer. Bytes under way stay in this copy of the ring until the peer has read them.
    Engine(Box<[u64]>),
}

/// Both directions between this rank and a peer.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) peer: u32,
    way: Way,
    /// How many bytes were written to the peer's ring.
    tail: u64,
    /// How many of them the peer has read, according to its last report.
    consumed: u64,
    /// Packets that found no room yet.
    backlog: VecDeque<Packet>,
    /// How many bytes were read from the ring here.
    pub(crate) read: u64,
    /// How many of them were reported to the peer.
    reported: u64,
    /// Nothing more is sent to the peer, or taken from it.
    pub(crate) gone: bool,
    /// Something was written since the bell was last rung.
    silent: bool,
    /// The driver has this link on its list of links that need attention.
    pub(crate) listed: bool,
}

// SAFETY: the mapped segment stays mapped, and one thread at a time uses a link (`&mut`).
unsafe impl Send for Link {}

/// What a look at a link's ring found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Nothing new.
    Nothing,
    /// A packet.
    Packet {
        /// Its first byte, in this rank's segment.
        at: *const u8,
        /// Its length in bytes.
        len: usize,
        /// The position after it, for [`Link::passed`].
        next: u64,
    },
    /// The peer has left the job.
    Left,
    /// The peer has written something that the protocol does not allow.
    Broken,
}

impl Link {
    /// A link to `peer`. `base` is where its segment is mapped; null if an engine reaches it.
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

    /// The next packet. Its writer does not change it before [`Link::passed`].
    #[inline]
    pub(crate) fn look(&mut self, here: &Here) -> Look {
        let said = here.word(Layout::tail(self.peer)).load(Ordering::Acquire);
        let ring = here.base.wrapping_add(here.layout.ring(self.peer));
        let word = |at: usize| {
            // SAFETY: within the ring and aligned to 8; the writer changes nothing between `read` and the tail.
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

    /// The packet before position `next` was handled. The writer may use its place again.
    #[inline]
    pub(crate) fn passed(&mut self, here: &Here, post: &mut Posts, next: u64) {
        self.read = next;
        if next - self.reported >= REPORT {
            self.reported = next;
            self.write_word(post, here.layout.consumed(here.rank), next);
        }
    }

    /// Sends a packet, after those that wait already.
    #[inline]
    pub(crate) fn send(&mut self, here: &Here, post: &mut Posts, packet: Packet) {
        if self.gone {
            return;
        }
        if !self.backlog.is_empty() || !self.write_packet(here, post, &packet) {
            self.backlog.push_back(packet);
        }
    }

    /// Sends a packet whose payload `fill` writes directly into the ring. False if there is no room now, or other
    /// packets wait.
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

    /// Writes packets that found no room before. True if one was written.
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

    /// True if no packet waits for room.
    #[inline]
    pub(crate) fn is_flushed(&self) -> bool {
        self.backlog.is_empty()
    }

    /// Drops the packets that wait. Nothing more is sent.
    pub(crate) fn cut(&mut self) {
        self.gone = true;
        self.backlog.clear();
    }

    /// Tells the peer that this rank leaves.
    pub(crate) fn leave(&mut self, here: &Here, post: &mut Posts) {
        self.write_word(post, Layout::tail(here.rank), self.tail | LEFT);
        self.ring_bell();
    }

    /// Rings the peer's bell if something was written since the last ring.
    #[inline]
    pub(crate) fn ring_bell(&mut self) {
        if core::mem::take(&mut self.silent) {
            if let Way::Mapped(base) = self.way {
                // SAFETY: the peer's segment stays mapped.
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
        // SAFETY: `place` keeps both records within the ring, and away from bytes that the peer, or the engine on the
        // way to it, may still read. Only this rank writes there. A segment is zero at first, so that all of it holds
        // values.
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
                // SAFETY: an aligned word in the peer's segment, which all processes access as an atomic.
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

    /// Sets a word in the peer's segment, after everything written before.
    fn write_word(&mut self, post: &mut Posts, offset: usize, value: u64) {
        self.silent = true;
        match self.way {
            Way::Mapped(base) => {
                let word = base.wrapping_add(offset).cast();
                // SAFETY: an aligned word in the peer's segment, which all processes access as an atomic.
                unsafe { AtomicU64::from_ptr(word) }.store(value, Ordering::Release);
            }
            Way::Engine(_) => post.set(self.peer, offset as u64, value),
        }
    }
}

/// The operations that an engine carries. Unused if every peer is mapped.
#[derive(Debug)]
pub(crate) struct Posts {
    queue: Option<QueuePair>,
    local: Key,
    /// The key of every rank's segment, whose addresses begin at 0.
    remote: Key,
    posted: bool,
    /// Ticket and target of the latest operations. A completion in error tells what was wrong, and not always at
    /// which peer.
    recent: Box<[(u64, u32)]>,
}

/// How many targets are remembered: more than the queue has slots.
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

    /// Asks the engine whether a peer is there. The answer is in [`Posts::lost`].
    pub(crate) fn probe(&mut self, peer: u32) {
        self.put_inline(peer, 0, &[]);
        self.ring();
    }

    /// Rings the engine for what was posted.
    #[inline]
    pub(crate) fn ring(&mut self) {
        if core::mem::take(&mut self.posted) {
            if let Some(queue) = &mut self.queue {
                queue.ring();
            }
        }
    }

    /// The targets of operations that have failed since the last call: they cannot be reached any more. If an
    /// operation is too old for its target to be known, all recent targets.
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

    /// Waits until everything posted has arrived or failed.
    pub(crate) fn quiet(&mut self) {
        if let Some(queue) = &mut self.queue {
            // Failed operations went to a peer that is gone.
            let _ = queue.quiet();
        }
    }
}
