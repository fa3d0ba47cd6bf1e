//! One queue pair of a context, owned by one thread at a time.
//!
//! **Sources.** A blocking put may return once its source can be written again. Up to [`INLINE_BYTES`] bytes travel
//! in the descriptor. Up to [`COPIED`] bytes are copied into the lane's own memory. For more, the put waits until the
//! operation is done. All operations but puts with inline bytes are posted from templates.

use super::{failed, site, Net};
use crate::world;
use core::sync::atomic::Ordering;
use hetmp_nic::descriptor::{
    AtomicOp, Inline, SignalOp, Source, Status, Width, Work, INLINE_BYTES, INLINE_BYTES_WITH_SIGNAL,
};
use hetmp_nic::engine::QueuePair;
use hetmp_nic::template::{Answer, AtomicWords, Changes, Dynamic, Shape, SignalWords};

/// The longest source that a blocking put copies instead of waiting, bytes.
const COPIED: usize = 8 << 10;
/// Memory for such copies, bytes.
const COPIES: usize = 128 << 10;
/// The longest operation in one descriptor, bytes: the length field has 32 bits.
const PIECE: usize = 1 << 30;

/// The PEs that a lane has written to since its last fence.
#[derive(Debug, Default)]
struct Targets {
    list: Vec<u32>,
    bits: Vec<u64>,
}

impl Targets {
    #[inline]
    fn add(&mut self, pe: u32) {
        let (word, bit) = ((pe / 64) as usize, 1u64 << (pe % 64));
        match self.bits.get_mut(word) {
            Some(w) if *w & bit != 0 => {}
            Some(w) => {
                *w |= bit;
                self.list.push(pe);
            }
            None => {
                self.bits.resize(word + 1, 0);
                self.bits[word] |= bit;
                self.list.push(pe);
            }
        }
    }

    fn remove(&mut self, pe: u32) -> bool {
        let at = self.list.iter().position(|p| *p == pe);
        if let Some(i) = at {
            self.list.swap_remove(i);
            self.bits[(pe / 64) as usize] &= !(1 << (pe % 64));
        }
        at.is_some()
    }

    fn clear(&mut self) {
        for pe in self.list.drain(..) {
            self.bits[(pe / 64) as usize] = 0;
        }
    }
}

/// An atomic without its place, and without what becomes of the old value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub(crate) op: AtomicOp,
    pub(crate) width: Width,
    pub(crate) operand: u64,
    /// For compare and swap; else 0.
    pub(crate) comparand: u64,
}

/// What a lane has done since its work was last added to the counts.
#[derive(Debug, Default)]
struct Done {
    puts: u64,
    gets: u64,
    atomics: u64,
    fences: u64,
    bytes: u64,
}

/// A queue pair, and what has to be completed on it.
pub(crate) struct Lane {
    qp: QueuePair,
    /// The PEs written to since the last fence. Only these need the next fence.
    targets: Targets,
    /// Something was posted since the last quiet.
    owed: bool,
    /// Some of what was posted uses the program's own memory.
    borrowed: bool,
    copies: Box<[u8]>,
    copied: usize,
    /// A session of the program: doorbells are rung at the next fence, quiet or wait only.
    batching: bool,
    /// The place in the program that posts, for a checker; 0: the library itself.
    site: u64,
    done: Done,
}

impl core::fmt::Debug for Lane {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Lane")
            .field("qp", &self.qp)
            .finish_non_exhaustive()
    }
}

impl Lane {
    pub(crate) fn new(net: &Net, depth: usize) -> Lane {
        Lane {
            qp: net.queue_pair(depth),
            targets: Targets::default(),
            owed: false,
            borrowed: false,
            copies: Box::new([]),
            copied: 0,
            batching: false,
            site: 0,
            done: Done::default(),
        }
    }

    /// Turns the batching of doorbells on or off.
    pub(crate) fn batch(&mut self, on: bool) {
        self.batching = on;
        self.qp.ring();
    }

    /// Called before a write to `pe`. Notes the target; and for a checker, the place in the program.
    #[inline]
    fn write_to(&mut self, pe: u32, bytes: usize) {
        self.owed = true;
        self.targets.add(pe);
        self.done.bytes += bytes as u64;
    }

    #[inline]
    fn ring(&mut self) {
        if !self.batching {
            self.qp.ring();
        }
    }

    /// Tells the checker which place in the program has called.
    pub(crate) fn mark(&mut self, own: bool) {
        if self.qp.is_checked() {
            self.site = if own { 0 } else { site::caller() };
            self.qp.at_site(self.site);
            self.turn();
        }
    }

    /// Lets a checker say what it has noticed.
    #[cold]
    fn turn(&self) {
        if let (true, Some(world)) = (self.site != 0, world::get()) {
            if let Some(checker) = super::checker() {
                checker.turn(world);
            }
        }
    }

    /// Posts by changing the slot's template.
    #[inline]
    fn template(&mut self, shape: Shape, d: impl Changes) -> u64 {
        // The checker needs whole descriptors.
        if !self.qp.is_checked() {
            if let Ok(ticket) = self.qp.initiator().post_template(shape, d) {
                return ticket;
            }
        }
        self.whole(shape, d)
    }

    /// Posts a whole descriptor: when the queue is full, or a checker looks at it.
    #[cold]
    #[inline(never)]
    fn whole(&mut self, shape: Shape, d: impl Changes) -> u64 {
        let statics = self.qp.initiator().statics();
        let (peer, work) = d
            .work(shape, &statics)
            .expect("each shape is posted with its own words");
        if self.site != 0 {
            if let (Some(world), Some(checker)) = (world::get(), super::checker()) {
                checker.departs(world, peer, self.site, &work);
            }
        }
        self.qp.post(peer, shape.is_signalled(), work)
    }

    /// Posts a put or get by changing the slot's template.
    #[inline]
    fn copying(&mut self, shape: Shape, peer: u32, remote: u64, local: u64, length: u32) -> u64 {
        self.template(
            shape,
            Dynamic {
                peer,
                remote,
                local,
                length,
            },
        )
    }

    /// Waits for one operation, which writes a completion.
    fn wait(&mut self, f: &'static str, ticket: u64) -> u64 {
        match self.qp.wait_for(ticket) {
            Some(done) if done.status == Status::Ok => done.value,
            Some(done) => failed(f, &done),
            None => {
                unreachable!("a signalled operation writes a completion, which nobody else reads")
            }
        }
    }

    /// Waits until everything posted is done. It need not be visible at the targets yet.
    fn settle(&mut self, f: &'static str) {
        if let Err(errors) = self.qp.quiet() {
            if let Some(first) = errors.0.first() {
                failed(f, first);
            }
        }
        self.borrowed = false;
        self.copied = 0;
        if self.qp.is_checked() {
            self.turn();
        }
    }

    /// Copies a source to memory that is left alone until the operation is done.
    ///
    /// # Safety
    /// `source` is readable for `bytes`, at most [`COPIED`].
    unsafe fn copy(&mut self, f: &'static str, source: *const u8, bytes: usize) -> u64 {
        if self.copies.is_empty() {
            self.copies = vec![0; COPIES].into();
        }
        if self.copied + bytes > COPIES {
            self.settle(f);
        }
        let at = self.copies[self.copied..].as_mut_ptr();
        // SAFETY: this function's contract: `source` is readable for `bytes`. The room was made above, and is not
        // in use: `settle` starts over only when all is done.
        unsafe { core::ptr::copy_nonoverlapping(source, at, bytes) };
        // Each copy begins a line of its own: copies of one value each must not share what the adapter reads at once.
        self.copied += bytes.next_multiple_of(64);
        at as u64
    }

    /// Blocking put.
    ///
    /// # Safety
    /// `source` is readable for `bytes`.
    pub(crate) unsafe fn put(
        &mut self,
        f: &'static str,
        pe: u32,
        remote: u64,
        source: *const u8,
        bytes: usize,
    ) {
        self.write_to(pe, bytes);
        self.done.puts += 1;
        if bytes <= INLINE_BYTES {
            // SAFETY: this function's contract: `source` is readable for `bytes`.
            let source = unsafe { inline(source, bytes) };
            let remote = self.qp.remote(remote);
            self.qp.post(
                pe,
                false,
                Work::Put {
                    source,
                    remote,
                    signal: None,
                },
            );
            self.ring();
        } else if bytes <= COPIED {
            // SAFETY: this function's contract: `source` is readable for `bytes`.
            let local = unsafe { self.copy(f, source, bytes) };
            self.copying(Shape::Put, pe, remote, local, bytes as u32);
            self.ring();
        } else {
            let mut last = 0;
            for (at, n) in pieces(bytes) {
                last = self.copying(
                    Shape::PutSignalled,
                    pe,
                    remote + at as u64,
                    source as u64 + at as u64,
                    n,
                );
                if at + (n as usize) < bytes {
                    self.wait(f, last);
                }
            }
            self.wait(f, last);
        }
    }

    /// Nonblocking put.
    ///
    /// # Safety
    /// `source` is readable for `bytes`, and stays as it is until quiet.
    pub(crate) unsafe fn put_nbi(&mut self, pe: u32, remote: u64, source: *const u8, bytes: usize) {
        self.write_to(pe, bytes);
        self.done.puts += 1;
        self.borrowed = true;
        for (at, n) in pieces(bytes) {
            let at = at as u64;
            self.copying(Shape::Put, pe, remote + at, source as u64 + at, n);
            self.ring();
        }
    }

    /// Blocking get.
    ///
    /// # Safety
    /// `dest` is writable for `bytes`.
    pub(crate) unsafe fn get(
        &mut self,
        f: &'static str,
        pe: u32,
        remote: u64,
        dest: *mut u8,
        bytes: usize,
    ) {
        self.done.gets += 1;
        self.done.bytes += bytes as u64;
        for (at, n) in pieces(bytes) {
            let at = at as u64;
            let ticket = self.copying(Shape::GetSignalled, pe, remote + at, dest as u64 + at, n);
            self.wait(f, ticket);
        }
    }

    /// Nonblocking get.
    ///
    /// # Safety
    /// `dest` is writable for `bytes` until quiet.
    pub(crate) unsafe fn get_nbi(&mut self, pe: u32, remote: u64, dest: *mut u8, bytes: usize) {
        self.owed = true;
        self.borrowed = true;
        self.done.gets += 1;
        self.done.bytes += bytes as u64;
        for (at, n) in pieces(bytes) {
            let at = at as u64;
            self.copying(Shape::Get, pe, remote + at, dest as u64 + at, n);
            self.ring();
        }
    }

    /// Posts an atomic, in whatever form `answer` asks for.
    #[inline]
    fn atomic(&mut self, pe: u32, remote: u64, a: Atomic, answer: Answer, local: u64) -> u64 {
        self.done.atomics += 1;
        self.template(
            Shape::Atomic(a.op, a.width, answer),
            AtomicWords {
                peer: pe,
                remote,
                local,
                operand: a.operand,
                comparand: a.comparand,
            },
        )
    }

    /// Runs an atomic and waits for the old value.
    pub(crate) fn fetch(&mut self, f: &'static str, pe: u32, remote: u64, atomic: Atomic) -> u64 {
        let ticket = self.atomic(pe, remote, atomic, Answer::Completion, 0);
        self.wait(f, ticket)
    }

    /// Starts an atomic that fetches nothing.
    pub(crate) fn update(&mut self, pe: u32, remote: u64, atomic: Atomic) {
        self.write_to(pe, 0);
        self.atomic(pe, remote, atomic, Answer::Nowhere, 0);
        self.ring();
    }

    /// Starts an atomic that delivers the old value.
    ///
    /// # Safety
    /// `fetch` is writable until quiet.
    pub(crate) unsafe fn fetch_to(&mut self, pe: u32, remote: u64, atomic: Atomic, fetch: *mut u8) {
        self.write_to(pe, 0);
        self.borrowed = true;
        self.atomic(pe, remote, atomic, Answer::Memory, fetch as u64);
        self.ring();
    }

    /// A put and its signal, which is an offset, an operation and a value.
    ///
    /// # Safety
    /// `source` is readable for `bytes`, until quiet if `nbi`.
    #[allow(clippy::too_many_arguments, reason = "a put and a signal")]
    pub(crate) unsafe fn put_signal(
        &mut self,
        f: &'static str,
        pe: u32,
        mut remote: u64,
        mut source: *const u8,
        mut bytes: usize,
        (signal, op, value): (u64, SignalOp, u64),
        nbi: bool,
    ) {
        self.write_to(pe, bytes);
        self.done.puts += 1;
        if bytes > PIECE {
            // All pieces but the last are put before; the signal goes with the last one.
            let head = (bytes - 1) / PIECE * PIECE;
            // SAFETY: this function's contract: `source` is readable for `bytes`, until quiet if `nbi`.
            unsafe { self.put_nbi(pe, remote, source, head) };
            self.qp.fence(pe);
            remote += head as u64;
            source = source.wrapping_add(head);
            bytes -= head;
        }
        let waits = !nbi && bytes > COPIED;
        let (shape, local) = if bytes <= INLINE_BYTES_WITH_SIGNAL {
            // SAFETY: this function's contract: `source` is readable for `bytes`, until quiet if `nbi`.
            let word = unsafe { word(source, bytes) };
            (Shape::InlineSignal(op, bytes as u8), word)
        } else if waits {
            (Shape::PutSignalSignalled(op), source as u64)
        } else if nbi {
            self.borrowed = true;
            (Shape::PutSignal(op), source as u64)
        } else {
            // SAFETY: this function's contract: `source` is readable for `bytes`, until quiet if `nbi`.
            let local = unsafe { self.copy(f, source, bytes) };
            (Shape::PutSignal(op), local)
        };
        let ticket = self.template(
            shape,
            SignalWords {
                peer: pe,
                remote,
                local,
                length: bytes as u32,
                signal,
                value,
            },
        );
        if waits {
            self.wait(f, ticket);
        } else {
            self.ring();
        }
    }

    /// Later operations to each target take effect after what was posted to it so far. Does not wait, and orders
    /// nothing between different targets.
    pub(crate) fn fence(&mut self) {
        for i in 0..self.targets.list.len() {
            self.qp.fence(self.targets.list[i]);
            self.done.fences += 1;
        }
        if !self.targets.list.is_empty() {
            self.qp.ring();
            self.targets.clear();
        }
    }

    /// Like [`Lane::fence`], for one target. The next ring announces it.
    pub(crate) fn fence_to(&mut self, pe: u32) {
        if self.targets.remove(pe) {
            self.qp.fence(pe);
            self.done.fences += 1;
        }
    }

    /// True if there are writes that a fence would order.
    pub(crate) fn has_written(&self) -> bool {
        !self.targets.list.is_empty()
    }

    /// Waits until everything is done and visible.
    pub(crate) fn quiet(&mut self, f: &'static str, net: &Net) {
        if !self.owed {
            return;
        }
        self.settle(f);
        self.owed = false;
        self.targets.clear();
        self.count(net);
    }

    /// Like [`Lane::quiet`], when peers may have ended already.
    pub(crate) fn drain(&mut self, net: &Net) {
        if core::mem::take(&mut self.owed) {
            // Failures are ignored: a peer that has ended did not need the data.
            let _ = self.qp.quiet();
            self.targets.clear();
            self.copied = 0;
            self.count(net);
        }
    }

    /// Waits until the program may use the sources and destinations of nonblocking operations again.
    pub(crate) fn give_back(&mut self, f: &'static str) {
        if self.borrowed {
            self.settle(f);
        }
    }

    fn count(&mut self, net: &Net) {
        let d = core::mem::take(&mut self.done);
        let c = &net.counts;
        for (sum, n) in [
            (&c.puts, d.puts),
            (&c.gets, d.gets),
            (&c.atomics, d.atomics),
            (&c.fences, d.fences),
            (&c.bytes, d.bytes),
        ] {
            sum.fetch_add(n, Ordering::Relaxed);
        }
    }
}

/// The bytes of a short source, for a descriptor.
///
/// # Safety
/// `source` is readable for `bytes`.
unsafe fn inline(source: *const u8, bytes: usize) -> Source {
    // SAFETY: this function's contract: `source` is readable for `bytes`. A slice of no bytes needs an address all
    // the same.
    let bytes = unsafe {
        if bytes == 0 {
            &[]
        } else {
            core::slice::from_raw_parts(source, bytes)
        }
    };
    match Inline::new(bytes) {
        Some(inline) => Source::Inline(inline),
        None => unreachable!("callers pass no more than fits"),
    }
}

/// The bytes of a source of at most one word, followed by zeros.
///
/// # Safety
/// `source` is readable for `bytes`, at most [`INLINE_BYTES_WITH_SIGNAL`].
unsafe fn word(source: *const u8, bytes: usize) -> u64 {
    debug_assert!(bytes <= INLINE_BYTES_WITH_SIGNAL);
    let mut raw = [0; INLINE_BYTES_WITH_SIGNAL];
    if bytes != 0 {
        // SAFETY: this function's contract: `source` is readable for `bytes`, which fit.
        unsafe { core::ptr::copy_nonoverlapping(source, raw.as_mut_ptr(), bytes) };
    }
    u64::from_le_bytes(raw)
}

/// Start and length of each descriptor of an operation.
fn pieces(bytes: usize) -> impl Iterator<Item = (usize, u32)> {
    (0..bytes)
        .step_by(PIECE)
        .map(move |at| (at, (bytes - at).min(PIECE) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_everything_once() {
        assert_eq!(pieces(0).count(), 0);
        assert_eq!(pieces(7).collect::<Vec<_>>(), [(0, 7)]);
        let long = 5usize << 30 | 3;
        let mut end = 0;
        for (at, n) in pieces(long) {
            assert_eq!(at, end);
            end = at + n as usize;
        }
        assert_eq!(end, long);
    }

    #[test]
    fn short_sources_are_words() {
        let bytes = [1u8, 2, 3, 4, 5, 6, 7, 8, 9];
        // SAFETY: the array has nine bytes; no byte is read of the null pointer.
        unsafe {
            assert_eq!(word(bytes.as_ptr(), 8), 0x0807_0605_0403_0201);
            assert_eq!(word(bytes.as_ptr(), 3), 0x03_0201);
            assert_eq!(word(core::ptr::null(), 0), 0);
        }
    }

    #[test]
    fn targets_are_listed_once_until_they_are_cleared() {
        let mut t = Targets::default();
        for pe in [3, 200, 3, 64, 200] {
            t.add(pe);
        }
        assert_eq!(t.list, [3, 200, 64]);
        t.clear();
        t.add(200);
        assert_eq!(t.list, [200]);
    }
}
