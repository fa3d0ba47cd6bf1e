//! The posting end of a queue pair.
//!
//! It points into rings that it keeps alive itself, a mask keeps numbers within the slots, and one thread at a time
//! posts; what it shares with the consumer are atomics.

use super::{Full, Line, Numbers, Raw, Rings};
use crate::descriptor::{Completion, Descriptor, Words, WORDS};
use crate::template::{Changes, Dynamic, Shape, Slot, Statics, Templates};
use hetmp_core::park::Poll;
use hetmp_core::sync::{AtomicU64, Ordering};
use std::collections::VecDeque;
use std::sync::Arc;

struct Shared<'a>(&'a [AtomicU64; WORDS]);

impl Slot for Shared<'_> {
    #[inline]
    fn set(&mut self, word: usize, value: u64) {
        self.0[word].store(value, Ordering::Relaxed);
    }
}

/// The posting end. One thread (or workgroup) at a time owns it.
#[derive(Debug)]
pub struct Initiator {
    rings: Arc<Rings>,
    templates: Templates,
    /// The slots of `rings`, and their number minus one: kept here because every post needs them.
    slots: *const Line,
    /// The numbers of `rings`.
    numbers: *const Numbers,
    mask: u64,
    /// Descriptors written. Those from `rung` on are not announced yet.
    staged: u64,
    rung: u64,
    /// How many descriptors may be written before the next look at the consumer's numbers. So a post rarely touches
    /// the consumer's cache line.
    limit: u64,
    /// Completions read from the ring.
    read: u64,
    /// Completions that were read to make room, and not given out yet.
    backlog: VecDeque<Completion>,
}

// SAFETY: `slots` and `numbers` point into `rings`, which this value holds and which may be moved to another thread.
unsafe impl Send for Initiator {}
// SAFETY: a shared initiator is only read, and what it shares with the consumer are atomics.
unsafe impl Sync for Initiator {}

impl Initiator {
    pub(super) fn new(rings: Arc<Rings>, statics: Statics) -> Initiator {
        let depth = rings.slots.len();
        Initiator {
            templates: Templates::new(statics, depth),
            slots: rings.slots.as_ptr(),
            numbers: rings.numbers.as_ptr(),
            mask: depth as u64 - 1,
            rings,
            staged: 0,
            rung: 0,
            limit: depth as u64,
            read: 0,
            backlog: VecDeque::new(),
        }
    }

    #[inline(always)]
    fn numbers(&self) -> &Numbers {
        // SAFETY: `numbers` points into memory that `rings` keeps in place as long as this value lives.
        unsafe { &*self.numbers }
    }

    /// The number of slots.
    pub fn depth(&self) -> usize {
        self.rings.slots.len()
    }

    /// The memory of its rings. Who writes there is the initiator instead of this one: from then on nothing is to be
    /// posted or polled here.
    #[cfg(not(loom))]
    pub fn raw(&self) -> Raw {
        let (r, n) = (&*self.rings, self.numbers());
        Raw {
            slots: r.slots.as_ptr().cast::<u64>().cast_mut(),
            depth: r.slots.len(),
            posted: n.posted.as_ptr(),
            taken: n.taken.as_ptr(),
            done: n.done.operations.as_ptr(),
            written: n.done.written.as_ptr(),
            completions: r.completions.as_ptr().cast::<u64>().cast_mut(),
        }
    }

    /// Operations done so far (acquire).
    #[inline]
    pub fn done(&self) -> u64 {
        self.numbers().done.operations.load(Ordering::Acquire)
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
        if self.numbers().taken.load(Ordering::Acquire) != self.staged {
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

    /// The next slot, once there is room.
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
        let mut unread = self.numbers().done.written.load(Ordering::Acquire) - self.read;
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

    /// As [`Initiator::post_words`], with words that are built once there is room: straight into the slot, where the
    /// compiler can.
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
            self.numbers().posted.store(self.staged, Ordering::Release);
        }
        new
    }

    /// True when everything posted is done (acquire).
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.numbers().done.operations.load(Ordering::Acquire) == self.staged
    }

    /// True when the buffers of everything posted may be used again (acquire): sources were read, and what was fetched
    /// has come. Whether it can be seen at its target is another question, which [`Initiator::is_quiet`] answers.
    #[inline]
    pub fn is_flushed(&self) -> bool {
        let done = &self.numbers().done;
        // In this order: see "Memory ordering".
        let operations = done.operations.load(Ordering::Acquire);
        operations == self.staged || operations + done.early.load(Ordering::Acquire) == self.staged
    }

    /// Operations posted and not done.
    pub fn under_way(&self) -> u64 {
        self.staged - self.numbers().done.operations.load(Ordering::Acquire)
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
        let written = self.numbers().done.written.load(Ordering::Acquire);
        let mask = self.depth() as u64 - 1;
        while self.read != written {
            let entry = &self.rings.completions[(self.read & mask) as usize];
            let words = core::array::from_fn(|i| entry.0[i].load(Ordering::Relaxed));
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
        rings.numbers[0].progress.wait_polling(
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
        rings.numbers[0]
            .progress
            .wait_nudged(ns, &mut || until(self))
    }
}
