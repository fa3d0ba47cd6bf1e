//! A queue pair: a ring of descriptors, a ring of completions, a doorbell. Plain atomics; no lock.
//!
//! One [`Initiator`] posts, one [`Consumer`] (an engine) takes and completes. The memory between them is
//! a [`Rings`]. Three numbers only ever grow: descriptors posted (the doorbell record), descriptors taken
//! (their slots may be used again), descriptors done. A fourth tells of how many operations that are not done the
//! buffers are free already: a socket has their bytes, say, and the peer has not answered yet.
//!
//! **Nothing is lost when the queue is full.** [`Initiator::post`] refuses while `depth` descriptors are
//! posted and not taken, and while operations not yet done plus completions not yet read could
//! overrun the completion ring. The refused descriptor is still the caller's.

use crate::descriptor::{Completion, Descriptor, Words, COMPLETION_WORDS, WORDS};
use crate::template::{Changes, Dynamic, Shape, Slot, Statics, Templates};
use hetmp_core::park::{Flag, Poll};
use hetmp_core::sync::{AtomicU64, CacheLine, Ordering};
use std::collections::VecDeque;
use std::sync::Arc;

/// A slot on a cache line of its own: a descriptor is moved by one line.
#[derive(Debug)]
#[repr(align(64))]
struct Line([AtomicU64; WORDS]);

/// The shared memory of a queue pair.
///
/// # Memory ordering
/// * Words of a slot are relaxed. They are published by the release store of `posted` in
///   [`Initiator::ring`] and read after the consumer's acquire load of it; a consumer that read them
///   unordered would execute half of a descriptor.
/// * `taken` is released after the words were read, and acquired before the slot is written again:
///   else a new descriptor's words could be read as the old one's.
/// * `done` is released after the operation took effect and its completion was written, and acquired by
///   the initiator: `quiet` promises that effect.
/// * `early` counts operations that are not done and whose buffers are free. It is released after the last access to such
///   a buffer, and acquired by the initiator, which then writes there. An operation leaves `early` before it enters
///   `done`, and the initiator loads `done` first: so no operation is counted in both, and the sum of
///   the two reaches what was posted only when every buffer is free.
#[derive(Debug)]
pub struct Rings {
    slots: Box<[Line]>,
    completions: Box<[[AtomicU64; COMPLETION_WORDS]]>,
    posted: CacheLine<AtomicU64>,
    taken: CacheLine<AtomicU64>,
    done: CacheLine<Done>,
    /// Nudged when `done` has grown.
    progress: CacheLine<Flag>,
}

#[derive(Debug)]
struct Done {
    operations: AtomicU64,
    /// Completions written.
    written: AtomicU64,
    /// Operations not done whose buffers are free.
    early: AtomicU64,
}

/// Where the memory of a queue pair lies, for an initiator that is not this library: a device, or the inline
/// functions of a C header. It keeps the rules of [`Initiator::post`]: a slot is written while fewer than `depth`
/// operations are posted and not done plus completions written and not read; then `posted` is stored, with release.
///
/// All words are read and written atomically. The memory lives as long as the [`Initiator`].
#[derive(Clone, Copy, Debug)]
pub struct Raw {
    /// The first slot: `depth` of 64 bytes, each aligned to 64.
    pub slots: *mut u64,
    /// A power of two.
    pub depth: usize,
    /// The doorbell record: descriptors posted so far.
    pub posted: *mut u64,
    /// Descriptors taken so far: their slots may be written again.
    pub taken: *mut u64,
    /// Operations done so far.
    pub done: *mut u64,
    /// Completions written so far.
    pub written: *mut u64,
    /// The first of `depth` completions of [`COMPLETION_WORDS`] words.
    pub completions: *mut u64,
}

/// The queue is full. Nothing was posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Makes the two ends of a queue pair with `depth` slots (rounded up to a power of two, at least 2).
pub fn queue_pair(depth: usize, statics: Statics) -> (Initiator, Consumer) {
    let depth = depth.clamp(2, 1 << 16).next_power_of_two();
    let rings = Arc::new(Rings {
        slots: (0..depth)
            .map(|_| Line(core::array::from_fn(|_| AtomicU64::new(0))))
            .collect(),
        completions: (0..depth)
            .map(|_| core::array::from_fn(|_| AtomicU64::new(0)))
            .collect(),
        posted: CacheLine(AtomicU64::new(0)),
        taken: CacheLine(AtomicU64::new(0)),
        done: CacheLine(Done {
            operations: AtomicU64::new(0),
            written: AtomicU64::new(0),
            early: AtomicU64::new(0),
        }),
        progress: CacheLine(Flag::new()),
    });
    let initiator = Initiator {
        templates: Templates::new(statics, depth),
        slots: rings.slots.as_ptr(),
        mask: depth as u64 - 1,
        rings: rings.clone(),
        staged: 0,
        rung: 0,
        limit: depth as u64,
        read: 0,
        backlog: VecDeque::new(),
    };
    let consumer = Consumer {
        rings,
        taken: 0,
        done: 0,
        written: 0,
        early: 0,
    };
    (initiator, consumer)
}

struct Shared<'a>(&'a [AtomicU64; WORDS]);

impl Slot for Shared<'_> {
    #[inline]
    fn set(&mut self, word: usize, value: u64) {
        self.0[word].store(value, Ordering::Relaxed);
    }
}

/// The posting end. Owned by one thread (or workgroup) at a time.
#[derive(Debug)]
pub struct Initiator {
    rings: Arc<Rings>,
    templates: Templates,
    /// The slots of `rings`, and their number less one: what every post needs, within reach.
    slots: *const Line,
    mask: u64,
    /// Descriptors written; those from `rung` on are not announced yet.
    staged: u64,
    rung: u64,
    /// Descriptors that may be written before the next look at what the consumer publishes: a post rarely
    /// touches its cache line.
    limit: u64,
    /// Completions read from the ring.
    read: u64,
    /// Completions read to make room, not yet given out.
    backlog: VecDeque<Completion>,
}

// SAFETY: `slots` points into `rings`, which may change threads.
unsafe impl Send for Initiator {}
// SAFETY: a shared initiator only reads, atomics of `rings` among it.
unsafe impl Sync for Initiator {}

impl Initiator {
    /// Slots.
    pub fn depth(&self) -> usize {
        self.rings.slots.len()
    }

    /// The memory of its rings. Who writes there is the initiator instead of this one: from then on nothing is to be
    /// posted or polled here.
    #[cfg(not(loom))]
    pub fn raw(&self) -> Raw {
        let r = &*self.rings;
        Raw {
            slots: r.slots.as_ptr().cast::<u64>().cast_mut(),
            depth: r.slots.len(),
            posted: r.posted.as_ptr(),
            taken: r.taken.as_ptr(),
            done: r.done.operations.as_ptr(),
            written: r.done.written.as_ptr(),
            completions: r.completions.as_ptr().cast::<u64>().cast_mut(),
        }
    }

    /// Operations done so far (acquire).
    #[inline]
    pub fn done(&self) -> u64 {
        self.rings.done.operations.load(Ordering::Acquire)
    }

    /// The keys and the number in its templates.
    pub fn statics(&self) -> Statics {
        *self.templates.statics()
    }

    /// Fills every slot that is not in use with the template of `shape`, a put or a get from memory.
    ///
    /// # Errors
    /// [`Full`] while descriptors are on their way: their slots cannot be written.
    pub fn fill(&mut self, shape: Shape) -> Result<(), Full> {
        if self.rings.taken.load(Ordering::Acquire) != self.staged {
            return Err(Full);
        }
        let nothing = Dynamic {
            peer: 0,
            remote: 0,
            local: 0,
            length: 0,
        };
        for i in 0..self.depth() {
            self.templates
                .prepare(i, shape, nothing, &mut Shared(&self.rings.slots[i].0));
        }
        Ok(())
    }

    /// The next slot, and its number.
    #[inline(always)]
    fn next(&self) -> (usize, &'static [AtomicU64; WORDS]) {
        let index = (self.staged & self.mask) as usize;
        // SAFETY: the mask keeps the number within the slots, which `rings` keeps alive and in place; the
        // reference is used by the caller's post only, which borrows `self`.
        (index, unsafe { &(*self.slots.add(index)).0 })
    }

    /// The same, once there is room.
    #[inline]
    fn slot(&mut self) -> Result<(usize, &'static [AtomicU64; WORDS]), Full> {
        if self.staged == self.limit {
            self.refill()?;
        }
        Ok(self.next())
    }

    /// Looks how many descriptors may be posted before the next look.
    ///
    /// An operation turns from under way into at most one unread completion, so that the sum of both only
    /// grows by posting: as long as it stays below the depth, neither ring can overrun (what is done was
    /// taken before).
    #[cold]
    fn refill(&mut self) -> Result<(), Full> {
        let depth = self.depth() as u64;
        let under_way = self.under_way();
        if under_way >= depth {
            return Err(Full);
        }
        // Operations that were seen done have written their completions: the load of `done` acquired them.
        let mut unread = self.rings.done.written.load(Ordering::Acquire) - self.read;
        if under_way + unread >= depth {
            self.drain();
            // What was drained is out of the ring. What may have been written since belongs to
            // operations that count as under way here.
            unread = 0;
        }
        self.limit = self.staged + depth - under_way - unread;
        Ok(())
    }

    /// Writes a descriptor into the next slot; the engine sees it at the next [`Initiator::ring`].
    /// Gives its ticket.
    ///
    /// # Errors
    /// [`Full`], and nothing was written.
    pub fn post(&mut self, descriptor: &Descriptor) -> Result<u64, Full> {
        let (index, slot) = self.slot()?;
        self.templates.overwritten(index);
        for (word, value) in slot.iter().zip(descriptor.encode()) {
            word.store(value, Ordering::Relaxed);
        }
        self.staged += 1;
        Ok(self.staged - 1)
    }

    /// As [`Initiator::post`], for any words.
    ///
    /// # Errors
    /// [`Full`], and nothing was written.
    #[inline]
    pub fn post_words(&mut self, words: &Words) -> Result<u64, Full> {
        self.post_with(|| *words)
    }

    /// The same, with the words built once there is room: straight into the slot, where the compiler can.
    ///
    /// # Errors
    /// [`Full`], and nothing was written.
    #[inline(always)]
    pub fn post_with(&mut self, build: impl Fn() -> Words) -> Result<u64, Full> {
        if self.staged == self.limit {
            return self.post_slowly(&build());
        }
        let (index, slot) = self.next();
        self.templates.overwritten(index);
        for (word, value) in slot.iter().zip(build()) {
            word.store(value, Ordering::Relaxed);
        }
        self.staged += 1;
        Ok(self.staged - 1)
    }

    #[cold]
    #[inline(never)]
    fn post_slowly(&mut self, words: &Words) -> Result<u64, Full> {
        self.refill()?;
        self.post_with(|| *words)
    }

    /// As [`Initiator::post`], from the slot's template: only the changing words are stored.
    ///
    /// # Errors
    /// [`Full`], and nothing was written.
    #[inline(always)]
    pub fn post_template<C: Changes>(&mut self, shape: Shape, d: C) -> Result<u64, Full> {
        let (index, slot) = self.next();
        // SAFETY: the templates have as many slots as the queue, and `next` keeps within them.
        let prepared = unsafe { self.templates.shape_unchecked(index) };
        // One way out for all that is rare, so that the usual way keeps no registers for it.
        if self.staged == self.limit || prepared != shape {
            let [a, b, c, e, f] = d.parts();
            return self.post_template_slowly::<C>(shape, a, b, c, e, f);
        }
        d.change(shape, self.templates.statics(), &mut Shared(slot));
        self.staged += 1;
        Ok(self.staged - 1)
    }

    /// By its parts: they stay in registers.
    #[cold]
    #[inline(never)]
    #[allow(clippy::too_many_arguments, reason = "see `Changes::parts`")]
    fn post_template_slowly<C: Changes>(
        &mut self,
        shape: Shape,
        a: u64,
        b: u64,
        c: u64,
        e: u64,
        f: u64,
    ) -> Result<u64, Full> {
        let (index, slot) = self.slot()?;
        let d = C::of_parts([a, b, c, e, f]);
        self.templates.patch(index, shape, d, &mut Shared(slot));
        self.staged += 1;
        Ok(self.staged - 1)
    }

    /// Announces everything posted. True if there was anything.
    #[inline]
    pub fn ring(&mut self) -> bool {
        let new = self.rung != self.staged;
        if new {
            self.rung = self.staged;
            self.rings.posted.store(self.staged, Ordering::Release);
        }
        new
    }

    /// True when everything posted is done (acquire).
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.rings.done.operations.load(Ordering::Acquire) == self.staged
    }

    /// True when the buffers of everything posted may be used again (acquire): sources were read, and what was fetched
    /// has come. Whether it can be seen at its target is another question, which [`Initiator::is_quiet`] answers.
    #[inline]
    pub fn is_flushed(&self) -> bool {
        let done = &self.rings.done;
        // In this order: see "Memory ordering".
        let operations = done.operations.load(Ordering::Acquire);
        operations == self.staged || operations + done.early.load(Ordering::Acquire) == self.staged
    }

    /// Operations posted and not done.
    pub fn under_way(&self) -> u64 {
        self.staged - self.rings.done.operations.load(Ordering::Acquire)
    }

    /// The oldest completion not yet given out.
    pub fn poll(&mut self) -> Option<Completion> {
        if self.backlog.is_empty() {
            self.drain();
        }
        self.backlog.pop_front()
    }

    /// Takes the completion of one operation out, leaving the others.
    pub fn take(&mut self, ticket: u64) -> Option<Completion> {
        self.drain();
        let at = self.backlog.iter().position(|c| c.ticket == ticket)?;
        self.backlog.remove(at)
    }

    /// Takes all completions in error out.
    pub fn take_errors(&mut self) -> Vec<Completion> {
        use crate::descriptor::Status;
        self.drain();
        if self.backlog.is_empty() {
            return Vec::new();
        }
        let (good, bad) = core::mem::take(&mut self.backlog)
            .into_iter()
            .partition(|c: &Completion| c.status == Status::Ok);
        self.backlog = good;
        Vec::from(bad)
    }

    /// Moves what the ring holds to the backlog, so that the ring never overruns.
    fn drain(&mut self) {
        let written = self.rings.done.written.load(Ordering::Acquire);
        let mask = self.depth() as u64 - 1;
        while self.read != written {
            let entry = &self.rings.completions[(self.read & mask) as usize];
            let words = core::array::from_fn(|i| entry[i].load(Ordering::Relaxed));
            self.read += 1;
            match Completion::parse(&words) {
                Some(c) => self.backlog.push_back(c),
                None => unreachable!("the consumer writes completions by encoding them"),
            }
        }
    }

    /// Waits until `until` holds, looking again after every completion; `drive` is called at each turn,
    /// for engines that run in the caller, and says whether it did something.
    pub fn wait(
        &mut self,
        drive: &mut dyn FnMut() -> bool,
        until: &mut dyn FnMut(&mut Initiator) -> bool,
    ) {
        let rings = self.rings.clone();
        // The flag is only ever nudged: epoch 1 is never reached, the poll leaves.
        rings.progress.wait_polling(
            1,
            &mut || {
                if until(self) {
                    Poll::Leave
                } else if drive() {
                    Poll::Worked
                } else {
                    Poll::Idle
                }
            },
            &mut |_| {},
        );
    }
}

#[cfg(not(loom))]
impl Initiator {
    /// Waits as [`Initiator::wait`] does, for some `ns` nanoseconds at most. False: the time is over.
    pub(crate) fn wait_within(
        &mut self,
        ns: u64,
        until: &mut dyn FnMut(&mut Initiator) -> bool,
    ) -> bool {
        let rings = self.rings.clone();
        rings.progress.wait_nudged(ns, &mut || until(self))
    }
}

/// The executing end.
#[derive(Debug)]
pub struct Consumer {
    rings: Arc<Rings>,
    taken: u64,
    done: u64,
    written: u64,
    early: u64,
}

impl Consumer {
    /// The next descriptor's ticket and words, left in its slot.
    #[inline]
    pub fn peek(&self) -> Option<(u64, Words)> {
        if self.rings.posted.load(Ordering::Acquire) == self.taken {
            return None;
        }
        let mask = self.rings.slots.len() as u64 - 1;
        let slot = &self.rings.slots[(self.taken & mask) as usize];
        Some((
            self.taken,
            core::array::from_fn(|i| slot.0[i].load(Ordering::Relaxed)),
        ))
    }

    /// Frees the slot of what was [peeked](Consumer::peek) at.
    #[inline]
    pub fn advance(&mut self) {
        self.taken += 1;
        self.rings.taken.store(self.taken, Ordering::Release);
    }

    /// Reports an operation, with a completion if there is one to be written. An initiator that sleeps is not
    /// woken: see [`Consumer::notify`].
    #[inline]
    pub fn complete(&mut self, completion: Option<Completion>) {
        if let Some(c) = completion {
            let mask = self.rings.completions.len() as u64 - 1;
            let entry = &self.rings.completions[(self.written & mask) as usize];
            for (word, value) in entry.iter().zip(c.encode()) {
                word.store(value, Ordering::Relaxed);
            }
            self.written += 1;
            self.rings
                .done
                .written
                .store(self.written, Ordering::Release);
        }
        self.done += 1;
        self.rings
            .done
            .operations
            .store(self.done, Ordering::Release);
    }

    /// Reports that the buffers of one operation are free, which is not done yet. It is reported by
    /// [`Consumer::complete_freed`] later, and not by [`Consumer::complete`]. An initiator that sleeps is not woken.
    pub fn free(&mut self) {
        self.early += 1;
        self.rings.done.early.store(self.early, Ordering::Release);
    }

    /// As [`Consumer::complete`], for an operation whose buffers were reported as [free](Consumer::free).
    pub fn complete_freed(&mut self, completion: Option<Completion>) {
        debug_assert!(self.early > 0);
        self.early -= 1;
        // Before `done`: see "Memory ordering".
        self.rings.done.early.store(self.early, Ordering::Release);
        self.complete(completion);
    }

    /// Wakes the initiator if it sleeps, after [`Consumer::complete`]. Not needed where the initiator itself
    /// executes.
    #[inline]
    pub fn notify(&self) {
        self.rings.progress.nudge();
    }

    /// Taken and not yet completed.
    pub fn under_way(&self) -> u64 {
        self.taken - self.done
    }

    /// True when the initiating end is gone and everything it announced was taken.
    pub(crate) fn is_abandoned(&self) -> bool {
        Arc::strong_count(&self.rings) == 1 && self.peek().is_none()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::descriptor::{Key, Status, Work};

    const STATICS: Statics = Statics {
        queue_pair: 3,
        local: Key(7),
        remote: Key(9),
    };

    fn nop(peer: u32) -> Descriptor {
        Descriptor {
            queue_pair: 3,
            peer,
            signalled: true,
            count: None,
            count_source: false,
            work: Work::Nop,
        }
    }

    fn ok(ticket: u64) -> Completion {
        Completion {
            ticket,
            status: Status::Ok,
            bytes: 0,
            value: 0,
        }
    }

    #[test]
    fn a_full_queue_refuses_and_loses_nothing() {
        let (mut i, mut c) = queue_pair(4, STATICS);
        for n in 0..4 {
            assert_eq!(i.post(&nop(n)), Ok(u64::from(n)));
        }
        assert_eq!(i.post(&nop(99)), Err(Full));
        i.ring();
        for n in 0..4 {
            let (ticket, words) = c.peek().expect("posted");
            assert_eq!(Descriptor::parse(&words), Ok(nop(n)));
            c.advance();
            // Its slot is free, but its completion may still come: the ring has room for four.
            assert_eq!(i.post(&nop(99)), Err(Full));
            assert_eq!(ticket, u64::from(n));
        }
        assert!(c.peek().is_none());
        for n in 0..4 {
            c.complete(Some(ok(n)));
        }
        // Nobody polled: posting moves the completions aside rather than overrun them.
        for n in 4..8 {
            assert_eq!(i.post(&nop(0)), Ok(n));
        }
        let got: Vec<_> = core::iter::from_fn(|| i.poll()).map(|c| c.ticket).collect();
        assert_eq!(got, [0, 1, 2, 3]);
    }

    #[test]
    fn a_descriptor_is_not_seen_before_the_doorbell() {
        let (mut i, c) = queue_pair(2, STATICS);
        i.post(&nop(0)).expect("room");
        assert!(c.peek().is_none());
        assert!(i.ring());
        assert!(!i.ring());
        assert!(c.peek().is_some());
    }

    #[test]
    fn the_completion_of_one_operation_can_be_taken_from_among_others() {
        let (mut i, mut c) = queue_pair(4, STATICS);
        for n in 0..3 {
            i.post(&nop(n)).expect("room");
        }
        i.ring();
        for n in [2, 0, 1] {
            c.advance();
            let mut done = ok(n);
            if n == 0 {
                done.status = Status::RemoteKey;
            }
            c.complete(Some(done));
        }
        assert!(i.is_quiet());
        assert_eq!(i.take(1), Some(ok(1)));
        assert_eq!(i.take(1), None);
        assert_eq!(i.take_errors().len(), 1);
        assert_eq!(i.poll(), Some(ok(2)));
        assert_eq!(i.poll(), None);
    }

    /// Any order of posting, taking, completing (out of order) and polling: every descriptor arrives whole and
    /// in order, every completion comes back once, and a refusal only comes when the queue is full.
    fn play(depth: usize, moves: &[u8]) {
        let (mut i, mut c) = queue_pair(depth, STATICS);
        let depth = i.depth() as u64;
        let (mut posted, mut done) = (0u64, 0u64);
        let mut under_way = Vec::new();
        let mut back = Vec::new();
        for m in moves {
            match m % 4 {
                0 => match i.post(&nop(posted as u32)) {
                    Ok(ticket) => {
                        assert_eq!(ticket, posted);
                        posted += 1;
                        i.ring();
                        assert!(posted - done <= depth);
                    }
                    Err(Full) => assert_eq!(posted - done, depth),
                },
                1 => {
                    if let Some((ticket, words)) = c.peek() {
                        assert_eq!(Descriptor::parse(&words), Ok(nop(ticket as u32)));
                        c.advance();
                        under_way.push(ticket);
                    }
                }
                2 if !under_way.is_empty() => {
                    let at = usize::from(*m) / 4 % under_way.len();
                    let ticket = under_way.remove(at);
                    c.complete((ticket % 3 != 0).then(|| ok(ticket)));
                    done += 1;
                }
                _ if m / 4 % 8 == 0 => back.extend(i.poll().map(|c| c.ticket)),
                _ => {}
            }
        }
        while let Some((ticket, _)) = c.peek() {
            c.advance();
            under_way.push(ticket);
        }
        for ticket in under_way {
            c.complete((ticket % 3 != 0).then(|| ok(ticket)));
        }
        assert!(i.is_quiet());
        back.extend(core::iter::from_fn(|| i.poll()).map(|c| c.ticket));
        back.sort_unstable();
        let all: Vec<u64> = (0..posted).filter(|t| t % 3 != 0).collect();
        assert_eq!(back, all);
    }

    proptest::proptest! {
        #[test]
        fn rings_never_overrun(
            depth in 2..9usize, moves in proptest::collection::vec(proptest::num::u8::ANY, 0..400)
        ) {
            play(depth, &moves);
        }
    }
}
