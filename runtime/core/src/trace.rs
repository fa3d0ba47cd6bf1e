//! What each thread did, and when: ring buffers of fixed size, one a thread.
//!
//! Off, a hook costs one relaxed load ([`on`]). On, a thread writes into its own ring only: no lock,
//! no shared cache line. A ring that is full loses its oldest events and counts them. What a
//! thread is in the middle of stands on a small stack beside its ring, so that a program that ends
//! (or crashes) inside a region shows where each thread was.
//!
//! **Data in**: [`open`], [`close`], [`chunk`], [`note`] from the engines, and the monotonic clock.
//! **Data out**: [`read`], at any time and from any thread. Nothing here knows a file format.
//!
//! # Memory ordering
//! One writer, any number of readers, no waiting: both parts are sequence locks.
//! * *Ring.* The writer raises `begun` before it overwrites a slot and `written` after. Its release
//!   fence between the two keeps a reader that sees a new word from missing the raised `begun`: the
//!   reader copies, fences (acquire), and then drops what `begun` says may have been overwritten
//!   meanwhile. Words are atomics, so a torn event is only wrong, and dropped.
//! * *Stack.* `version` is odd while it changes. A reader that saw it odd, or changed, tries again.

use crate::sys::{gettid, monotonic_ns};
use core::sync::atomic::{fence, AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::Mutex;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A thread's part of a parallel region. `what`: the outlined function; `a`: threads of the
    /// team; `b`: the thread's number in it.
    Region = 1,
    /// Waiting in a barrier.
    Barrier = 2,
    /// Waiting for the end of a region, or on the way out of it.
    Join = 3,
    /// Iterations of a loop. `what`: the loop; from `a` to before `b`, counted from 0.
    Chunk = 4,
    /// As `Chunk`, and measured for a decision.
    Probe = 5,
    /// A virtual thread's part of a region. `what`: the outlined function; `a`: its number; `b`: how
    /// many there are.
    Piece = 6,
    /// A decision, with no duration. `what`: the loop; `a`: its [`text`].
    Decision = 7,
}

impl Kind {
    fn from_raw(raw: u64) -> Option<Kind> {
        Some(match raw {
            1 => Kind::Region,
            2 => Kind::Barrier,
            3 => Kind::Join,
            4 => Kind::Chunk,
            5 => Kind::Probe,
            6 => Kind::Piece,
            7 => Kind::Decision,
            _ => return None,
        })
    }
}

/// One thing that a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it was, and with it the meaning of the other fields.
    pub kind: Kind,
    /// The node of the thread, for chunks, probes and pieces.
    pub node: u32,
    /// Begin, in nanoseconds of the monotonic clock.
    pub start_ns: u64,
    /// End; the same as the begin for what has no duration.
    pub end_ns: u64,
    /// An address in the program.
    pub what: u64,
    /// See [`Kind`].
    pub a: u64,
    /// See [`Kind`].
    pub b: u64,
    /// It had not ended when it was read: `end_ns` is that moment.
    pub unfinished: bool,
}

/// The events of one thread, in the order of their begins; where two begin together, the outer
/// one first.
#[derive(Clone, Debug)]
pub struct Thread {
    /// The kernel's id of the thread.
    pub tid: i32,
    /// Its events.
    pub events: Vec<Event>,
    /// Events that were overwritten.
    pub dropped: u64,
}

/// Words of an event.
const WORDS: usize = 6;
/// Threads that are traced. Those after them only count as lost.
const MOST_THREADS: usize = 1024;
/// Things that a thread can be in the middle of.
const DEPTH: usize = 32;
/// Texts that are kept.
const MOST_TEXTS: usize = 4096;

static ON: AtomicBool = AtomicBool::new(false);
/// Events of a ring.
static CAPACITY: AtomicU64 = AtomicU64::new(0);
static RINGS: [AtomicPtr<Ring>; MOST_THREADS] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; MOST_THREADS];
static THREADS: AtomicUsize = AtomicUsize::new(0);
/// Events of threads without a ring, and things too deep for a stack.
static LOST: AtomicU64 = AtomicU64::new(0);
static TEXTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The key of each thread's own ring, plus one; 0: none. Not `thread_local!`, because static
/// thread storage is scarce for libraries that are opened late, and most runs have no trace.
static KEY: AtomicU64 = AtomicU64::new(0);

/// Is there a trace? One relaxed load: turned on when the runtime starts, before its first region.
#[inline(always)]
#[must_use]
pub fn on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Turns tracing on, with rings of `events` events (at least one), 48 bytes each. Memory is taken
/// when a thread has its first event, and touched as it fills.
pub fn start(events: u64) {
    if KEY.load(Ordering::Relaxed) == 0 {
        let mut key = 0;
        // SAFETY: the place for the key is live. No destructor: rings outlive their threads.
        if unsafe { libc::pthread_key_create(&mut key, None) } != 0 {
            LOST.fetch_add(1, Ordering::Relaxed);
            return;
        }
        KEY.store(u64::from(key) + 1, Ordering::Relaxed);
    }
    CAPACITY.store(events.max(1), Ordering::Relaxed);
    ON.store(true, Ordering::Relaxed);
}

/// Turns tracing off: in the child of a `fork`, whose rings are copies of the parent's.
pub fn stop() {
    ON.store(false, Ordering::Relaxed);
}

/// The calling thread begins something.
#[inline(always)]
pub fn open(kind: Kind, what: u64, a: u64, b: u64) {
    if on() {
        open_slow(kind, what, a, b, 0);
    }
}

/// The calling thread ends the innermost thing of this kind, and with it what it began since and
/// did not end (a chunk that was cancelled).
#[inline(always)]
pub fn close(kind: Kind) {
    if on() {
        close_slow(kind);
    }
}

/// Something that lasts until the value is dropped.
#[derive(Debug)]
#[must_use]
pub struct Scope(Option<Kind>);

/// [`open`], and [`close`] when the result is dropped.
#[inline(always)]
pub fn scope(kind: Kind, what: u64, a: u64, b: u64) -> Scope {
    if on() {
        open_slow(kind, what, a, b, 0);
        Scope(Some(kind))
    } else {
        Scope(None)
    }
}

impl Drop for Scope {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(kind) = self.0 {
            close_slow(kind);
        }
    }
}

/// The calling thread, of node `node`, has asked the execution `owner` of the loop `what` for its
/// next chunk: the one before is over, and `range` begins. `owner` is not 0.
pub fn chunk(owner: u64, what: u64, node: u32, range: Option<(u64, u64)>, probe: bool) {
    let Some(ring) = mine() else { return };
    let now = monotonic_ns();
    let mut depth = ring.depth();
    // What lies above belongs to regions inside the chunk, and is over too.
    if let Some(at) = (0..depth).rev().find(|&i| ring.owner_at(i) == owner) {
        while depth > at {
            depth -= 1;
            ring.pop(depth, now);
        }
    }
    if let Some((from, to)) = range {
        let kind = if probe { Kind::Probe } else { Kind::Chunk };
        ring.push(depth, kind, node, now, what, from, to, owner);
    }
}

/// The calling thread, of node `node`, has done something since `start_ns` and is done with it.
#[inline(always)]
pub fn done(kind: Kind, node: u32, start_ns: u64, what: u64, a: u64, b: u64) {
    if on() {
        done_slow(kind, node, start_ns, [what, a, b]);
    }
}

/// Something without duration that the calling thread did just now.
pub fn note(kind: Kind, what: u64, a: u64, b: u64) {
    let Some(ring) = mine() else { return };
    let now = monotonic_ns();
    ring.record([kind as u64, what, now, now, a, b]);
}

/// Keeps a text for the trace and returns its number. Past some thousands they are all the last
/// one, which says so.
pub fn text(line: &str) -> u64 {
    let Ok(mut texts) = TEXTS.lock() else {
        return 0;
    };
    if texts.len() + 1 == MOST_TEXTS {
        texts.push("(more decisions than the trace keeps texts)".to_owned());
    } else if texts.len() < MOST_TEXTS {
        texts.push(line.to_owned());
    }
    texts.len() as u64 - 1
}

/// The text with the number `id`.
#[must_use]
pub fn text_of(id: u64) -> Option<String> {
    TEXTS
        .try_lock()
        .ok()?
        .get(usize::try_from(id).ok()?)
        .cloned()
}

/// Events that had no ring to go to.
#[must_use]
pub fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// What all threads have done so far. Threads may go on meanwhile; nothing waits.
#[must_use]
pub fn read() -> Vec<Thread> {
    let count = THREADS.load(Ordering::Acquire).min(MOST_THREADS);
    RINGS[..count]
        .iter()
        .filter_map(|ring| {
            // SAFETY: null, or a ring that `make` leaked and published with a release store.
            unsafe { ring.load(Ordering::Acquire).as_ref() }
        })
        .map(Ring::read)
        .collect()
}

#[cold]
#[inline(never)]
fn open_slow(kind: Kind, what: u64, a: u64, b: u64, node: u32) {
    if let Some(ring) = mine() {
        ring.push(ring.depth(), kind, node, monotonic_ns(), what, a, b, 0);
    }
}

#[cold]
#[inline(never)]
fn done_slow(kind: Kind, node: u32, start_ns: u64, [what, a, b]: [u64; 3]) {
    if let Some(ring) = mine() {
        let head = kind as u64 | u64::from(node) << 8;
        ring.record([head, what, start_ns, monotonic_ns(), a, b]);
    }
}

#[cold]
#[inline(never)]
fn close_slow(kind: Kind) {
    let Some(ring) = mine() else { return };
    let mut depth = ring.depth();
    let Some(at) = (0..depth).rev().find(|&i| ring.kind_at(i) == kind as u64) else {
        return;
    };
    let now = monotonic_ns();
    while depth > at {
        depth -= 1;
        ring.pop(depth, now);
    }
}

/// The calling thread's ring; made at its first event.
fn mine() -> Option<&'static Ring> {
    let key = KEY.load(Ordering::Relaxed).checked_sub(1)? as libc::pthread_key_t;
    // SAFETY: the key exists; its value is null, or a ring that `make` leaked for this thread.
    let ring = unsafe { libc::pthread_getspecific(key).cast::<Ring>().as_ref() };
    ring.or_else(|| make(key))
}

#[cold]
fn make(key: libc::pthread_key_t) -> Option<&'static Ring> {
    let lost = || {
        LOST.fetch_add(1, Ordering::Relaxed);
        None
    };
    // Asked before counting up, so that the count does not run away.
    if THREADS.load(Ordering::Relaxed) >= MOST_THREADS {
        return lost();
    }
    let capacity = CAPACITY.load(Ordering::Relaxed).max(1);
    let Some(words) = map(capacity) else {
        return lost();
    };
    let at = THREADS.fetch_add(1, Ordering::AcqRel);
    if at >= MOST_THREADS {
        return lost();
    }
    let ring: &'static Ring = Box::leak(Box::new(Ring {
        tid: gettid(),
        capacity,
        words,
        begun: AtomicU64::new(0),
        written: AtomicU64::new(0),
        version: AtomicU64::new(0),
        depth: AtomicUsize::new(0),
        stack: [const { [const { AtomicU64::new(0) }; WORDS] }; DEPTH],
    }));
    RINGS[at].store(core::ptr::from_ref(ring).cast_mut(), Ordering::Release);
    // SAFETY: the key exists. Without memory for the value the thread would get another ring at
    // its next event, until there are no more.
    unsafe { libc::pthread_setspecific(key, core::ptr::from_ref(ring).cast()) };
    Some(ring)
}

/// Zeroed memory for `capacity` events, for ever.
fn map(capacity: u64) -> Option<&'static [[AtomicU64; WORDS]]> {
    let count = usize::try_from(capacity).ok()?;
    let bytes = count.checked_mul(size_of::<[AtomicU64; WORDS]>())?;
    // SAFETY: a fresh private mapping; zero bytes are valid atomics, it is aligned to a page, and
    // never unmapped.
    unsafe {
        let p = libc::mmap(
            core::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        );
        (p != libc::MAP_FAILED).then(|| core::slice::from_raw_parts(p.cast(), count))
    }
}

/// One thread's events. Written by that thread only.
///
/// The words of an event are: kind and node, what, begin, end, a, b. On the stack the owner of a
/// chunk stands where the end will be.
#[derive(Debug)]
struct Ring {
    tid: i32,
    capacity: u64,
    words: &'static [[AtomicU64; WORDS]],
    /// Events whose writing has begun.
    begun: AtomicU64,
    /// Events that are written.
    written: AtomicU64,
    /// Odd while the stack changes.
    version: AtomicU64,
    depth: AtomicUsize,
    stack: [[AtomicU64; WORDS]; DEPTH],
}

impl Ring {
    fn depth(&self) -> usize {
        self.depth.load(Ordering::Relaxed)
    }

    fn kind_at(&self, i: usize) -> u64 {
        self.stack[i][0].load(Ordering::Relaxed) & 0xff
    }

    fn owner_at(&self, i: usize) -> u64 {
        self.stack[i][3].load(Ordering::Relaxed)
    }

    #[allow(clippy::too_many_arguments, reason = "the words of an event")]
    fn push(
        &self,
        at: usize,
        kind: Kind,
        node: u32,
        now: u64,
        what: u64,
        a: u64,
        b: u64,
        owner: u64,
    ) {
        if at == DEPTH {
            LOST.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.change(|| {
            let words = [kind as u64 | u64::from(node) << 8, what, now, owner, a, b];
            for (slot, word) in self.stack[at].iter().zip(words) {
                slot.store(word, Ordering::Relaxed);
            }
            self.depth.store(at + 1, Ordering::Relaxed);
        });
    }

    /// Ends what stands at the top, `at`.
    fn pop(&self, at: usize, now: u64) {
        let mut words: [u64; WORDS] = self.load(&self.stack[at]);
        words[3] = now;
        self.record(words);
        self.change(|| self.depth.store(at, Ordering::Relaxed));
    }

    fn change(&self, change: impl FnOnce()) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        change();
        self.version.store(version + 2, Ordering::Release);
    }

    fn record(&self, words: [u64; WORDS]) {
        let number = self.written.load(Ordering::Relaxed);
        self.begun.store(number + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        let slot = &self.words[(number % self.capacity) as usize];
        for (slot, word) in slot.iter().zip(words) {
            slot.store(word, Ordering::Relaxed);
        }
        self.written.store(number + 1, Ordering::Release);
    }

    fn load(&self, slot: &[AtomicU64; WORDS]) -> [u64; WORDS] {
        core::array::from_fn(|i| slot[i].load(Ordering::Relaxed))
    }

    fn read(&self) -> Thread {
        // The stack first: what ends meanwhile would be seen twice the other way round.
        let (now, open) = self.read_stack();
        let written = self.written.load(Ordering::Acquire);
        let oldest = written.saturating_sub(self.capacity);
        let raw: Vec<[u64; WORDS]> = (oldest..written)
            .map(|i| self.load(&self.words[(i % self.capacity) as usize]))
            .collect();
        fence(Ordering::Acquire);
        // Event i shares its slot with i + capacity.
        let begun = self.begun.load(Ordering::Relaxed);
        let first = oldest.max(begun.saturating_sub(self.capacity));
        let mut events: Vec<Event> = raw
            .into_iter()
            .skip((first - oldest) as usize)
            .filter_map(|w| event(w, false))
            // What was open above is there already.
            .filter(|e| e.end_ns <= now)
            .collect();
        events.extend(open);
        events.sort_by_key(|e| (e.start_ns, core::cmp::Reverse(e.end_ns)));
        Thread {
            tid: self.tid,
            events,
            dropped: first,
        }
    }

    /// What the thread is in the middle of, and when that was.
    fn read_stack(&self) -> (u64, Vec<Event>) {
        for _ in 0..100 {
            let now = monotonic_ns();
            let version = self.version.load(Ordering::Acquire);
            let depth = self.depth().min(DEPTH);
            let raw: Vec<[u64; WORDS]> = self.stack[..depth].iter().map(|s| self.load(s)).collect();
            fence(Ordering::Acquire);
            if version % 2 == 0 && self.version.load(Ordering::Relaxed) == version {
                let open = raw
                    .into_iter()
                    .filter_map(|mut w| {
                        // It may have begun after the clock was read.
                        w[3] = now.max(w[2]);
                        event(w, true)
                    })
                    .collect();
                return (now, open);
            }
        }
        // A thread that opens and closes without pause: what it is in now is over at once.
        (u64::MAX, Vec::new())
    }
}

fn event(w: [u64; WORDS], unfinished: bool) -> Option<Event> {
    Some(Event {
        kind: Kind::from_raw(w[0] & 0xff)?,
        node: (w[0] >> 8) as u32,
        what: w[1],
        start_ns: w[2],
        end_ns: w[3],
        a: w[4],
        b: w[5],
        unfinished,
    })
}

#[cfg(all(test, not(loom)))]
mod tests;
