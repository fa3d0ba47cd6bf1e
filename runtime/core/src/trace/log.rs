//! The ended events of one thread, in room for a fixed number of them.
//!
//! A full log becomes coarser rather than shorter: chunks, of which one begins when the other ends, are joined until
//! the log is about half empty. So a run of millions of chunks is there from its start to its end. Only where that
//! makes too little room are the oldest events dropped.
//!
//! # Memory ordering
//! One writer, any number of readers, no waiting. `state` holds the number of a turn, and how many events were written
//! in it. Turns use two buffers alternately, each from its start. A reader copies the events that `state` names, fences
//! (acquire), and tries again if the turn has changed. The buffer of an earlier turn is overwritten only after a
//! release fence which follows the start of a later turn, so a reader of new words also sees the new turn.

use super::{Kind, MORE, WORDS};
use crate::sync::{fence, AtomicU64, Ordering};
use core::mem::ManuallyDrop;
use memmap2::MmapOptions;

type Words = [u64; WORDS];
type Buffer = &'static [[AtomicU64; WORDS]];

/// `state` is a turn times this, and the number of events.
const TURN: u64 = 1 << 32;

#[derive(Debug)]
pub(super) struct Log {
    buffers: [Buffer; 2],
    state: AtomicU64,
    dropped: AtomicU64,
}

impl Log {
    /// Room for `capacity` events. `None` where there is no memory.
    pub(super) fn new(capacity: u64) -> Option<Log> {
        let capacity = usize::try_from(capacity.clamp(1, TURN - 1)).ok()?;
        Some(Log::of([map(capacity)?, map(capacity)?]))
    }

    pub(super) fn of(buffers: [Buffer; 2]) -> Log {
        Log {
            buffers,
            state: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        }
    }

    fn buffer(&self, state: u64) -> Buffer {
        self.buffers[(state / TURN % 2) as usize]
    }

    /// Adds an event that ended after all others. Only the thread that owns the log calls this.
    pub(super) fn record(&self, words: Words) {
        let mut state = self.state.load(Ordering::Relaxed);
        if (state % TURN) as usize == self.buffer(state).len() {
            state = self.make_room(state);
        }
        store(&self.buffer(state)[(state % TURN) as usize], words);
        self.state.store(state + 1, Ordering::Release);
    }

    /// Begins the next turn with a coarser copy of this turn's events.
    fn make_room(&self, state: u64) -> u64 {
        let (from, to) = (self.buffer(state), self.buffer(state + TURN));
        fence(Ordering::Release);
        // The log spans the time from its first event to its last. Chunks are joined to spans of at most such a length
        // that a quarter of the room would hold them if there were nothing else.
        let ends = |slot: &[AtomicU64; WORDS]| slot[3].load(Ordering::Relaxed);
        let first = from[0][2].load(Ordering::Relaxed);
        let longest = (ends(&from[from.len() - 1]).saturating_sub(first) / from.len() as u64)
            .saturating_mul(4);
        let mut kept = 0usize;
        for slot in from {
            let words = load(slot);
            let before = kept.checked_sub(1).map(|at| load(&to[at]));
            match before.and_then(|before| joined(before, words, longest)) {
                Some(both) => store(&to[kept - 1], both),
                None => {
                    store(&to[kept], words);
                    kept += 1;
                }
            }
        }
        let excess = kept.saturating_sub(from.len() / 2);
        for i in excess..kept {
            store(&to[i - excess], load(&to[i]));
        }
        self.dropped.fetch_add(excess as u64, Ordering::Relaxed);
        let next = (state / TURN + 1).wrapping_mul(TURN) + (kept - excess) as u64;
        self.state.store(next, Ordering::Release);
        next
    }

    /// The events, in the order in which they ended, and how many were dropped.
    pub(super) fn read(&self) -> (Vec<Words>, u64) {
        loop {
            let state = self.state.load(Ordering::Acquire);
            let dropped = self.dropped.load(Ordering::Relaxed);
            let all = &self.buffer(state)[..(state % TURN) as usize];
            let words = all.iter().map(load).collect();
            fence(Ordering::Acquire);
            if self.state.load(Ordering::Relaxed) / TURN == state / TURN {
                return (words, dropped);
            }
        }
    }
}

/// One event instead of two chunks of a loop, if the second begins when the first ends, and both together take at most
/// `longest`. The range of its iterations holds both, and those of other threads between them.
fn joined(first: Words, second: Words, longest: u64) -> Option<Words> {
    let [head, what, start, end, a, b] = first;
    let [head2, what2, start2, end2, a2, b2] = second;
    let chunks = [Kind::Chunk as u64, Kind::Probe as u64].contains(&(head % (1 << 8)));
    let alike = what == what2 && head % MORE == head2 % MORE;
    let next = end == start2 && end2 - start <= longest;
    (chunks && alike && next).then(|| {
        let head = head + head2 / MORE * MORE + MORE;
        [head, what, start, end2, a.min(a2), b.max(b2)]
    })
}

pub(super) fn store(slot: &[AtomicU64; WORDS], words: Words) {
    for (slot, word) in slot.iter().zip(words) {
        slot.store(word, Ordering::Relaxed);
    }
}

pub(super) fn load(slot: &[AtomicU64; WORDS]) -> Words {
    core::array::from_fn(|i| slot[i].load(Ordering::Relaxed))
}

/// Zeroed memory for `count` events, never freed.
fn map(count: usize) -> Option<Buffer> {
    let bytes = count.checked_mul(size_of::<[AtomicU64; WORDS]>())?;
    let mut options = MmapOptions::new();
    let map = options.len(bytes).no_reserve_swap().map_anon().ok()?;
    let at = ManuallyDrop::new(map).as_ptr();
    // SAFETY: zero bytes are valid atomics, aligned to a page, and never unmapped.
    Some(unsafe { core::slice::from_raw_parts(at.cast(), count) })
}
