//! What each thread did, and when: one track of fixed size for each thread.
//!
//! While tracing is off, a hook costs one relaxed load ([`on`], a bit of [`crate::observers`]). While it is on, a
//! thread writes into its own track only: no lock, no shared cache line. Where a track is full, `log` says what becomes
//! of it. Regions and decisions have a log of their own, so that no number of chunks pushes them out. Events that have
//! begun and not ended stand on a small stack next to the logs, so that a program which ends or crashes inside a region
//! shows where each thread was.
//!
//! **Data in**: [`open`], [`close`], [`chunk`], [`note`] from the engines, and the monotonic clock.
//! **Data out**: [`read`], at any time and from any thread. Nothing here knows a file format.
//!
//! # Memory ordering
//! One writer, any number of readers, no waiting. The stack has a [sequence lock](sequence): a reader that sees it
//! change tries again. For the ended events, see `log`.

mod log;

use self::log::Log;
use crate::observers::{self, TRACE};
use crate::sequence;
use crate::sync;
use crate::sys::{gettid, monotonic_ns};
use crate::whole::Mutex;
use core::array;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

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
    /// Iterations of a loop. `what`: the loop; from `a` to before `b`, counted from 0. Of several chunks in one event:
    /// the range that holds them.
    Chunk = 4,
    /// Like `Chunk`, but measured for a decision.
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
    /// Chunks in the event: 1, or more that follow each other without a pause.
    pub chunks: u64,
    /// The event had not ended when it was read; `end_ns` is the time of reading.
    pub unfinished: bool,
}

/// The events of one thread, sorted by their begin; of events that begin together, the outer one comes first.
#[derive(Clone, Debug)]
pub struct Thread {
    /// The kernel's id of the thread.
    pub tid: i32,
    /// Its events.
    pub events: Vec<Event>,
    /// Events that are not among them, because there was no room.
    pub dropped: u64,
}

/// Words in an event: the head, what, begin, end, a, b.
const WORDS: usize = 6;
/// The head holds the kind in 8 bits, the node in 16, and from this bit on how many more chunks were joined to the
/// first.
const MORE: u64 = 1 << 24;
/// The most threads that are traced. Events of further threads are counted as lost.
const MOST_THREADS: usize = 1024;
/// The most events that a thread can have open at a time.
const DEPTH: usize = 32;
/// The most texts that are kept.
const MOST_TEXTS: usize = 4096;

/// Events in each log.
static CAPACITY: AtomicU64 = AtomicU64::new(0);
static TRACKS: [AtomicPtr<Track>; MOST_THREADS] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; MOST_THREADS];
static THREADS: AtomicUsize = AtomicUsize::new(0);
/// Events of threads without a track, and events nested too deeply for a stack.
static LOST: AtomicU64 = AtomicU64::new(0);
static TEXTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// One more than the key under which each thread keeps its track; 0: no key yet. Not `thread_local!`: static
/// thread-local storage is scarce for libraries that are opened late, and most runs have no trace.
static KEY: AtomicU64 = AtomicU64::new(0);

/// True while tracing is on. One relaxed load: the runtime turns tracing on at its start, before the first region.
#[inline(always)]
#[must_use]
pub fn on() -> bool {
    observers::has(TRACE)
}

/// Turns tracing on, with room for `events` events (at least one) of each thread, and as many regions. A thread's track
/// is allocated at its first event, and its pages are touched as it fills.
pub fn start(events: u64) {
    if KEY.load(Ordering::Relaxed) == 0 {
        let mut key = 0;
        // SAFETY: the place for the key is live. No destructor: tracks outlive their threads.
        if unsafe { libc::pthread_key_create(&mut key, None) } != 0 {
            LOST.fetch_add(1, Ordering::Relaxed);
            return;
        }
        KEY.store(u64::from(key) + 1, Ordering::Relaxed);
    }
    CAPACITY.store(events.max(1), Ordering::Relaxed);
    observers::begin(TRACE);
}

/// Turns tracing off: in the child of a `fork`, whose tracks are copies of the parent's.
pub fn stop() {
    observers::end(TRACE);
}

/// The calling thread begins an event of this kind.
#[inline(always)]
pub fn open(kind: Kind, what: u64, a: u64, b: u64) {
    if on() {
        open_slow(kind, what, a, b, 0);
    }
}

/// The calling thread ends its innermost open event of this kind, and with it the events that were opened inside and
/// not ended, such as a cancelled chunk.
#[inline(always)]
pub fn close(kind: Kind) {
    if on() {
        close_slow(kind);
    }
}

/// An event that ends when the value is dropped.
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

/// The calling thread, on node `node`, has asked for its next chunk of the loop `what`. `owner`, not 0, names this
/// execution of the loop. The chunk before is over, and `range` begins; `None` if there is no next chunk.
pub fn chunk(owner: u64, what: u64, node: u32, range: Option<(u64, u64)>, probe: bool) {
    let Some(track) = mine() else { return };
    let now = monotonic_ns();
    let mut depth = track.depth();
    // Events above it on the stack belong to regions inside that chunk, and are over too.
    if let Some(at) = (0..depth).rev().find(|&i| track.owner_at(i) == owner) {
        while depth > at {
            depth -= 1;
            track.pop(depth, now);
        }
    }
    if let Some((from, to)) = range {
        let kind = if probe { Kind::Probe } else { Kind::Chunk };
        track.push(depth, kind, node, now, what, from, to, owner);
    }
}

/// The calling thread, on node `node`, reports an event that began at `start_ns` and ends now.
#[inline(always)]
pub fn done(kind: Kind, node: u32, start_ns: u64, what: u64, a: u64, b: u64) {
    if on() {
        done_slow(kind, node, start_ns, [what, a, b]);
    }
}

/// The calling thread reports an event without duration.
pub fn note(kind: Kind, what: u64, a: u64, b: u64) {
    let Some(track) = mine() else { return };
    let now = monotonic_ns();
    track.record([head(kind, 0), what, now, now, a, b]);
}

/// Keeps a text for the trace and returns its number. After `MOST_TEXTS` texts every further one gets the number of
/// the last, which says so.
pub fn text(line: &str) -> u64 {
    let mut texts = TEXTS.lock();
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
    TEXTS.try_lock()?.get(usize::try_from(id).ok()?).cloned()
}

/// Events that were lost because no track or stack had room.
#[must_use]
pub fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// What all threads have done so far. The threads go on meanwhile; nothing waits.
#[must_use]
pub fn read() -> Vec<Thread> {
    let count = THREADS.load(Ordering::Acquire).min(MOST_THREADS);
    TRACKS[..count]
        .iter()
        .filter_map(|track| {
            // SAFETY: null, or a track that `make` leaked and published with a release store.
            unsafe { track.load(Ordering::Acquire).as_ref() }
        })
        .map(Track::read)
        .collect()
}

#[cold]
#[inline(never)]
fn open_slow(kind: Kind, what: u64, a: u64, b: u64, node: u32) {
    if let Some(track) = mine() {
        track.push(track.depth(), kind, node, monotonic_ns(), what, a, b, 0);
    }
}

#[cold]
#[inline(never)]
fn done_slow(kind: Kind, node: u32, start_ns: u64, [what, a, b]: [u64; 3]) {
    if let Some(track) = mine() {
        track.record([head(kind, node), what, start_ns, monotonic_ns(), a, b]);
    }
}

#[cold]
#[inline(never)]
fn close_slow(kind: Kind) {
    let Some(track) = mine() else { return };
    let mut depth = track.depth();
    let Some(at) = (0..depth).rev().find(|&i| track.kind_at(i) == kind as u64) else {
        return;
    };
    let now = monotonic_ns();
    while depth > at {
        depth -= 1;
        track.pop(depth, now);
    }
}

/// The calling thread's track, made at its first event.
fn mine() -> Option<&'static Track> {
    let key = KEY.load(Ordering::Relaxed).checked_sub(1)? as libc::pthread_key_t;
    // SAFETY: the key exists; its value is null, or a track that `make` leaked for this thread.
    let track = unsafe { libc::pthread_getspecific(key).cast::<Track>().as_ref() };
    track.or_else(|| make(key))
}

#[cold]
fn make(key: libc::pthread_key_t) -> Option<&'static Track> {
    let lost = || {
        LOST.fetch_add(1, Ordering::Relaxed);
        None
    };
    // Checked before the count is raised, so that the count cannot overflow.
    if THREADS.load(Ordering::Relaxed) >= MOST_THREADS {
        return lost();
    }
    let Some(track) = Track::new(gettid(), CAPACITY.load(Ordering::Relaxed)) else {
        return lost();
    };
    let at = THREADS.fetch_add(1, Ordering::AcqRel);
    if at >= MOST_THREADS {
        return lost();
    }
    let track: &'static Track = Box::leak(Box::new(track));
    TRACKS[at].store(core::ptr::from_ref(track).cast_mut(), Ordering::Release);
    // SAFETY: the key exists. If there is no memory for the value, the thread gets another track at its next event,
    // until no track is left.
    unsafe { libc::pthread_setspecific(key, core::ptr::from_ref(track).cast()) };
    Some(track)
}

/// One thread's events. Only that thread writes them.
///
/// For an open chunk on the stack, the word of the end holds the chunk's owner.
#[derive(Debug)]
struct Track {
    tid: i32,
    /// Regions and decisions.
    outer: Log,
    /// What happens inside of regions.
    inner: Log,
    /// The stack's.
    version: sync::AtomicU64,
    depth: AtomicUsize,
    stack: [[sync::AtomicU64; WORDS]; DEPTH],
}

impl Track {
    fn new(tid: i32, capacity: u64) -> Option<Track> {
        Some(Track {
            tid,
            outer: Log::new(capacity)?,
            inner: Log::new(capacity)?,
            version: sync::AtomicU64::new(0),
            depth: AtomicUsize::new(0),
            stack: array::from_fn(|_| array::from_fn(|_| sync::AtomicU64::new(0))),
        })
    }

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
        sequence::write(&self.version, || {
            let words = [head(kind, node), what, now, owner, a, b];
            log::store(&self.stack[at], words);
            self.depth.store(at + 1, Ordering::Relaxed);
        });
    }

    /// Ends the topmost open event, number `at` on the stack.
    fn pop(&self, at: usize, now: u64) {
        let mut words = log::load(&self.stack[at]);
        words[3] = now;
        self.record(words);
        sequence::write(&self.version, || self.depth.store(at, Ordering::Relaxed));
    }

    fn record(&self, words: [u64; WORDS]) {
        match Kind::from_raw(words[0] & 0xff) {
            Some(Kind::Region | Kind::Decision) => self.outer.record(words),
            _ => self.inner.record(words),
        }
    }

    fn read(&self) -> Thread {
        // Reads the stack first. In the other order an event that ends in between would be seen in its log and on the
        // stack.
        let (now, open) = self.read_stack();
        let (outer, regions) = self.outer.read();
        let (inner, others) = self.inner.read();
        let mut events: Vec<Event> = outer
            .into_iter()
            .chain(inner)
            .filter_map(|w| event(w, false))
            // Events that ended after the stack was read were on the stack, and are in `open` already.
            .filter(|e| e.end_ns <= now)
            .collect();
        events.extend(open);
        events.sort_by_key(|e| (e.start_ns, core::cmp::Reverse(e.end_ns)));
        Thread {
            tid: self.tid,
            events,
            dropped: regions + others,
        }
    }

    /// The thread's open events, and the time at which they were read.
    fn read_stack(&self) -> (u64, Vec<Event>) {
        for _ in 0..100 {
            let now = monotonic_ns();
            let raw = sequence::read(&self.version, |_| {
                let depth = self.depth().min(DEPTH);
                Vec::from_iter(self.stack[..depth].iter().map(log::load))
            });
            if let Some(raw) = raw {
                let open = raw
                    .into_iter()
                    .filter_map(|mut w| {
                        // The event may have begun after the clock was read.
                        w[3] = now.max(w[2]);
                        event(w, true)
                    })
                    .collect();
                return (now, open);
            }
        }
        // The thread opens and closes events without a pause: an open event would be over at once.
        (u64::MAX, Vec::new())
    }
}

fn head(kind: Kind, node: u32) -> u64 {
    kind as u64 | u64::from(node & 0xffff) << 8
}

fn event(w: [u64; WORDS], unfinished: bool) -> Option<Event> {
    Some(Event {
        kind: Kind::from_raw(w[0] & 0xff)?,
        node: (w[0] >> 8) as u32 & 0xffff,
        what: w[1],
        start_ns: w[2],
        end_ns: w[3],
        a: w[4],
        b: w[5],
        chunks: w[0] / MORE + 1,
        unfinished,
    })
}

#[cfg(all(test, not(loom)))]
mod tests;
