//! The job as this PE sees it: its number, its memory, and its peers' memory.
//!
//! There is one `World`, which `shmem_init` makes. It is never freed, because the program holds pointers into its
//! memory. Next to it is `FAST`, the few words that a direct operation needs.

use crate::blocks::Heap;
use crate::control::{self, Control, Entry};
use crate::segment::Segment;
use crate::settings::Settings;
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use hetmp_nic::job::Job;
use once_cell::race::OnceRef;
use std::ops::Range;
use std::sync::Mutex;

/// The stages of the library's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum State {
    /// Before `shmem_init`.
    New = 0,
    Running = 1,
    /// After the last `shmem_finalize`.
    Finished = 2,
    /// This process is a forked child, which has no place in the job.
    Forked = 3,
}

static STATE: AtomicU32 = AtomicU32::new(0);
static WORLD: OnceRef<'static, World> = OnceRef::new();

/// A PE, as this one reaches it.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Its segment if it is mapped here; for this PE its own.
    pub(crate) mapped: Option<Segment>,
}

/// Everything that does not change between `shmem_init` and `shmem_finalize`.
pub(crate) struct World {
    pub(crate) me: u32,
    pub(crate) n: u32,
    pub(crate) settings: Settings,
    /// The executable's static data, at their own addresses.
    pub(crate) data: Range<usize>,
    /// This PE's heap, at the addresses that the program gets.
    pub(crate) heap_range: Range<usize>,
    pub(crate) peers: Vec<Peer>,
    pub(crate) heap: Mutex<Heap>,
    /// The job, which other libraries of this process may use too.
    pub(crate) job: &'static Job,
    /// The `SHMEM_THREAD_*` level that was provided.
    pub(crate) threads: AtomicI32,
}

impl core::fmt::Debug for World {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("World")
            .field("me", &self.me)
            .field("n", &self.n)
            .finish_non_exhaustive()
    }
}

impl World {
    /// The PE with this number, which the caller has checked.
    #[inline]
    pub(crate) fn peer(&self, pe: u32) -> &Peer {
        &self.peers[pe as usize]
    }

    /// This PE's own segment.
    pub(crate) fn own(&self) -> &Segment {
        match &self.peers[self.me as usize].mapped {
            Some(segment) => segment,
            None => unreachable!("a PE's own segment is mapped before the world is made"),
        }
    }

    /// This PE's control block.
    #[inline]
    pub(crate) fn control(&self) -> &Control {
        // SAFETY: every segment begins with a control block, which stays mapped and consists of atomics.
        unsafe { &*self.own().base.cast::<Control>() }
    }

    /// Where PE `pe` waits, as it has told this PE.
    pub(crate) fn entry(&self, pe: u32) -> &Entry {
        debug_assert!(pe < self.n);
        let at = control::entry_at(self.n, pe) as usize;
        // SAFETY: the entry lies within the control block, which stays mapped and consists of atomics.
        unsafe { &*self.own().base.wrapping_add(at).cast::<Entry>() }
    }

    /// True if several threads may call at the same time.
    pub(crate) fn is_multithreaded(&self) -> bool {
        // SHMEM_THREAD_MULTIPLE.
        self.threads.load(Ordering::Relaxed) >= 3
    }

    /// True if this PE may access peers' memory by loads and stores: false behind a modelled adapter.
    pub(crate) fn is_coherent(&self) -> bool {
        self.settings.model.is_empty()
    }

    /// The address of this PE's own memory at an offset in its segment. The inverse of [`World::offset`].
    pub(crate) fn address(&self, offset: u64) -> Option<usize> {
        let layout = &self.own().layout;
        [
            (&self.heap_range, layout.heap_at()),
            (&self.data, layout.data_at()),
        ]
        .into_iter()
        .find_map(|(range, at)| {
            let inside = usize::try_from(offset).ok()?.checked_sub(at)?;
            (inside < range.len()).then_some(range.start + inside)
        })
    }

    /// The offset, in this PE's segment, of `bytes` at a symmetric address; `None` if the range is not symmetric.
    pub(crate) fn offset(&self, address: usize, bytes: usize) -> Option<u64> {
        let layout = &self.own().layout;
        for (range, at) in [
            (&self.heap_range, layout.heap_at()),
            (&self.data, layout.data_at()),
        ] {
            if address >= range.start && address <= range.end && bytes <= range.end - address {
                return Some((at + (address - range.start)) as u64);
            }
        }
        None
    }
}

/// What a direct operation needs. [`open`] and [`close`] write it.
///
/// # Memory ordering
/// `n` is stored last (release) when the world opens, and first when it closes. A program may call only after
/// `shmem_init` has returned to a thread and this thread has told the others, so that plain loads are enough.
#[repr(C, align(64))]
pub(crate) struct Fast {
    /// The number of PEs while all operations may go the direct way, else 0.
    n: AtomicU32,
    me: AtomicU32,
    heap: AtomicUsize,
    heap_len: AtomicUsize,
    data: AtomicUsize,
    data_len: AtomicUsize,
    peers: AtomicPtr<Bases>,
}

/// Where the regions of a PE are mapped here.
#[repr(C)]
pub(crate) struct Bases {
    heap: usize,
    data: usize,
}

static FAST: Fast = Fast {
    n: AtomicU32::new(0),
    me: AtomicU32::new(0),
    heap: AtomicUsize::new(0),
    heap_len: AtomicUsize::new(0),
    data: AtomicUsize::new(0),
    data_len: AtomicUsize::new(0),
    peers: AtomicPtr::new(core::ptr::null_mut()),
};

/// The address here of `bytes` at the symmetric address `address` of `pe`, if the operation may be done at once by
/// loads and stores. `None` for everything unusual or wrong: the cold way then finds out which.
#[inline(always)]
pub fn direct(address: usize, bytes: usize, pe: c_int) -> Option<*mut u8> {
    if pe as u32 >= FAST.n.load(Ordering::Relaxed) {
        return None;
    }
    // SAFETY: the table has an entry for each of the `n` PEs and is never freed.
    let peer = unsafe { &*FAST.peers.load(Ordering::Relaxed).add(pe as usize) };
    let off = address.wrapping_sub(FAST.heap.load(Ordering::Relaxed));
    let len = FAST.heap_len.load(Ordering::Relaxed);
    if off < len && bytes <= len - off {
        return Some((peer.heap + off) as *mut u8);
    }
    let off = address.wrapping_sub(FAST.data.load(Ordering::Relaxed));
    let len = FAST.data_len.load(Ordering::Relaxed);
    if off < len && bytes <= len - off {
        return Some((peer.data + off) as *mut u8);
    }
    None
}

/// True while all operations may go the direct way.
#[inline(always)]
pub(crate) fn is_direct() -> bool {
    FAST.n.load(Ordering::Relaxed) != 0
}

/// This PE's number and the number of PEs, while all operations may go the direct way.
#[inline(always)]
pub(crate) fn direct_place() -> Option<(u32, u32)> {
    let n = FAST.n.load(Ordering::Relaxed);
    (n != 0).then(|| (FAST.me.load(Ordering::Relaxed), n))
}

pub(crate) fn state() -> State {
    match STATE.load(Ordering::Acquire) {
        1 => State::Running,
        2 => State::Finished,
        3 => State::Forked,
        _ => State::New,
    }
}

pub(crate) fn set_state(state: State) {
    STATE.store(state as u32, Ordering::Release);
}

/// The world; `None` unless the library runs.
#[inline]
pub(crate) fn get() -> Option<&'static World> {
    if STATE.load(Ordering::Acquire) != State::Running as u32 {
        return None;
    }
    WORLD.get()
}

/// The world. Ends the job with a line that names `f` if the library does not run.
#[inline]
pub(crate) fn need(f: &'static str) -> &'static World {
    match get() {
        Some(world) => world,
        None => not_running(f),
    }
}

/// Opens the library to calls. `direct`: every peer is mapped, and nothing asks for the cold way.
pub(crate) fn open(world: &'static World, direct: bool) {
    let bases: Vec<Bases> = world
        .peers
        .iter()
        .map(|p| match &p.mapped {
            // This PE's own memory, under the program's own addresses: a second address for the same memory would
            // take more entries of the TLB.
            Some(s) if core::ptr::eq(s, world.own()) => Bases {
                heap: world.heap_range.start,
                data: world.data.start,
            },
            Some(s) => Bases {
                heap: s.heap().start,
                data: s.data() as usize,
            },
            None => Bases { heap: 0, data: 0 },
        })
        .collect();
    FAST.peers
        .store(Vec::leak(bases).as_mut_ptr(), Ordering::Relaxed);
    FAST.me.store(world.me, Ordering::Relaxed);
    FAST.heap.store(world.heap_range.start, Ordering::Relaxed);
    FAST.heap_len
        .store(world.heap_range.len(), Ordering::Relaxed);
    FAST.data.store(world.data.start, Ordering::Relaxed);
    FAST.data_len.store(world.data.len(), Ordering::Relaxed);
    // A process has one world: a library that opens again does so with the first one.
    let _ = WORLD.set(world);
    set_state(State::Running);
    FAST.n
        .store(if direct { world.n } else { 0 }, Ordering::Release);
}

/// Closes the library to calls. `state` is the reason.
pub(crate) fn close(state: State) {
    FAST.n.store(0, Ordering::Release);
    set_state(state);
}

/// The world of a job that was closed, for `shmem_init` after `shmem_finalize`.
pub(crate) fn earlier() -> Option<&'static World> {
    WORLD.get()
}

/// The symmetric regions, for messages.
pub(crate) fn regions() -> [Range<usize>; 2] {
    match earlier() {
        Some(w) => [w.heap_range.clone(), w.data.clone()],
        None => [0..0, 0..0],
    }
}

/// Ends the process: a function was called before `shmem_init` or after `shmem_finalize`.
#[cold]
#[inline(never)]
pub(crate) fn not_running(f: &'static str) -> ! {
    let when = match state() {
        State::Finished => "after shmem_finalize",
        State::Forked => "in a forked process",
        _ => "before shmem_init",
    };
    abort(
        1,
        &format!("{f} called {when} (expected between shmem_init and shmem_finalize)"),
    )
}

/// Ends every PE of the job with `status`, after a line with `text`.
pub(crate) fn abort(status: i32, text: &str) -> ! {
    hetmp_core::report::flush_output();
    if let Some(world) = earlier() {
        // This returns if another thread holds the exchange (in init or finalize) or aborts already. The launcher
        // then notices the end of this process.
        world.job.abort(status, text);
    }
    hetmp_core::report::warn(format_args!("{text}"));
    // SAFETY: `_exit` has no preconditions. The program's exit handlers must not run: this thread is in the middle of
    // a call.
    unsafe { libc::_exit(status) }
}
