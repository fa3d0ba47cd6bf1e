//! Regions whose threads are in several processes: nodes of a software distributed shared memory.
//!
//! `libhetmp_dsm.so` makes the nodes and shares the program's memory; it hands over a [`Table`]. A region crosses nodes if
//! its code calls nothing but what is known to work there ([`admit`]), and its data is in shared memory. Otherwise it
//! runs at the origin like any other. Thread numbers are global: node `k` of `n` has the `k`th part of them.
//!
//! # What a thread of such a region may touch
//! It runs on a shared stack, pages of which come and go. So it holds no lock that the threads which serve pages take: all
//! that it does with other nodes is [`Table::ask`], and with threads of its own node, atomics in this library's own memory.

use crate::boundary::Reason;
use crate::team::members::{Outlined, Team};
use crate::team::region::Region;
use crate::thread::Thread;
use core::cell::RefCell;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use hetmp_core::{report, sys};
use hetmp_scan::loaded::Loaded;
use hetmp_scan::{scan, Callee, Entry, Image, Unwind, Why};
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

/// What `libhetmp_dsm.so` offers; the same structure is in its `start`.
#[repr(C)]
#[derive(Debug)]
pub struct Table {
    /// 1.
    pub version: u32,
    /// This node.
    pub me: u32,
    /// All of them.
    pub nodes: u32,
    /// Runs one request: its number, and three words, which become the answer.
    pub ask: extern "C" fn(u32, *mut u64),
    /// Is the address in memory that all nodes share?
    pub is_shared: extern "C" fn(usize) -> bool,
    /// Three words: faults that asked other nodes, to read and to write, and pages sent, of this node.
    pub counts: extern "C" fn(*mut u64),
}

const VERSION: u32 = 1;

// Requests, by the numbers of `hetmp_dsm::together::Op`.
const FORK: u32 = 1;
const JOIN: u32 = 2;
const NEXT: u32 = 3;
const DONE: u32 = 4;
const BARRIER: u32 = 5;
const LOCK: u32 = 6;
const UNLOCK: u32 = 7;
const COUNTS: u32 = 8;

/// Keys of locks that have no address in the program.
pub(crate) const UNNAMED: u64 = 1;
/// See [`UNNAMED`].
pub(crate) const ATOMIC: u64 = 2;

static TABLE: AtomicPtr<Table> = AtomicPtr::new(core::ptr::null_mut());

#[inline(always)]
fn table() -> Option<&'static Table> {
    // SAFETY: null, or what `install` was given, which lives as long as the process.
    unsafe { TABLE.load(Ordering::Acquire).as_ref() }
}

/// Is this process a node?
#[inline(always)]
pub(crate) fn is_on() -> bool {
    !TABLE.load(Ordering::Relaxed).is_null()
}

fn ask(table: &Table, op: u32, words: [u64; 3]) -> [u64; 3] {
    let mut words = words;
    (table.ask)(op, words.as_mut_ptr());
    words
}

/// Makes this process a node. False: the table is of another version.
pub fn install(new: &'static Table) -> bool {
    if new.version != VERSION {
        return false;
    }
    TABLE.store(core::ptr::from_ref(new).cast_mut(), Ordering::Release);
    if new.me == 0 {
        // SAFETY: a function that lives as long as the library, which is never unloaded.
        unsafe { libc::atexit(say_counts) };
    }
    true
}

extern "C" fn say_counts() {
    let Some(t) = table().filter(|_| crate::init::globals().ours.verbose) else {
        return;
    };
    let regions = REGIONS.load(Ordering::Relaxed);
    for node in 0..t.nodes {
        let mut n = [u64::from(node), 0, 0];
        if node == 0 {
            (t.counts)(n.as_mut_ptr());
        } else {
            n = ask(t, COUNTS, n);
        }
        let [reads, writes, sent] = n;
        report::warn(format_args!(
            "dsm: node {node}: {regions} regions, {reads} read faults, {writes} write faults, {sent} pages sent"
        ));
    }
}

/// Regions that crossed nodes.
static REGIONS: AtomicU64 = AtomicU64::new(0);

/// What the threads of this node run, and where they meet. Written by one thread while the others wait for `start`.
struct Local {
    entry: AtomicUsize,
    data: AtomicUsize,
    /// Threads of the region, on all nodes.
    total: AtomicU32,
    /// Number of this node's first thread, and how many it has.
    first: AtomicU32,
    threads: AtomicU32,
    /// Grows with each region.
    start: AtomicU32,
    /// Threads that came to the barrier, and barriers that are over.
    arrived: AtomicU32,
    passed: AtomicU32,
    /// The team that the threads are in.
    team: AtomicPtr<Team>,
    /// A region is under way.
    busy: AtomicBool,
    /// Threads made.
    made: AtomicU32,
}

static LOCAL: Local = Local {
    entry: AtomicUsize::new(0),
    data: AtomicUsize::new(0),
    total: AtomicU32::new(0),
    first: AtomicU32::new(0),
    threads: AtomicU32::new(0),
    start: AtomicU32::new(0),
    arrived: AtomicU32::new(0),
    passed: AtomicU32::new(0),
    team: AtomicPtr::new(core::ptr::null_mut()),
    busy: AtomicBool::new(false),
    made: AtomicU32::new(0),
};

/// How often a thread looks before it sleeps.
const LOOKS: u32 = 2000;

fn wait_while(word: &AtomicU32, seen: u32) {
    for _ in 0..LOOKS {
        if word.load(Ordering::Acquire) != seen {
            return;
        }
        hetmp_core::sync::pause();
    }
    while word.load(Ordering::Acquire) == seen {
        sys::futex_wait(word, seen);
    }
}

fn advance(word: &AtomicU32) {
    word.fetch_add(1, Ordering::AcqRel);
    sys::futex_wake(word.as_ptr(), i32::MAX);
}

impl Local {
    /// All threads of this node come here; the last one runs `last` before any goes on. True in that thread.
    fn meet(&self, last: impl FnOnce()) -> bool {
        let passed = self.passed.load(Ordering::Acquire);
        let threads = self.threads.load(Ordering::Relaxed);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == threads {
            self.arrived.store(0, Ordering::Relaxed);
            last();
            advance(&self.passed);
            return true;
        }
        wait_while(&self.passed, passed);
        false
    }

    /// Prepares this node's part of a region, and starts its threads but for the first `own`.
    fn open(&self, t: &Table, words: [u64; 3], own: u32) {
        let [entry, data, total] = words;
        let part = |node: u32| (u64::from(node) * total / u64::from(t.nodes)) as u32;
        let (first, end) = (part(t.me), part(t.me + 1));
        let threads = end - first;
        let mut team = self.team.load(Ordering::Relaxed);
        // SAFETY: null, or leaked below; nobody else is in the team between regions.
        if unsafe { team.as_ref() }.is_none_or(|t| t.capacity() < threads) {
            team = Box::into_raw(Box::new(Team::new(threads)));
            self.team.store(team, Ordering::Relaxed);
        }
        // SAFETY: as above.
        let team = unsafe { &*team };
        // The origin executes every `single`: elsewhere the count never fits.
        team.cross(total as u32, if t.me == 0 { 0 } else { u32::MAX / 2 });
        self.entry.store(entry as usize, Ordering::Relaxed);
        self.data.store(data as usize, Ordering::Relaxed);
        self.total.store(total as u32, Ordering::Relaxed);
        self.first.store(first, Ordering::Relaxed);
        self.threads.store(threads, Ordering::Relaxed);
        let made = self.made.load(Ordering::Relaxed);
        for worker in made.max(own)..threads {
            let seen = self.start.load(Ordering::Relaxed);
            let body = move || LOCAL.work(worker, seen);
            if let Err(e) = hetmp_core::thread::start(c"hetmp-across", body) {
                report::warn(format_args!("node {}: thread of a region: {e}", t.me));
                // SAFETY: _exit has no preconditions. The other nodes wait for this thread, and end, too.
                unsafe { libc::_exit(1) }
            }
            self.made.store(worker + 1, Ordering::Relaxed);
        }
        advance(&self.start);
    }

    fn work(&self, worker: u32, mut seen: u32) {
        loop {
            wait_while(&self.start, seen);
            seen = self.start.load(Ordering::Acquire);
            if worker < self.threads.load(Ordering::Relaxed) {
                self.run(worker);
                let Some(t) = table() else { return };
                // The origin starts the next region when every node has said that its part is over: after this.
                if self.meet(|| ()) && t.me != 0 {
                    self.close(t);
                }
            }
        }
    }

    /// A node's part is over: what its threads printed comes before what the origin prints next.
    fn close(&self, t: &Table) {
        // SAFETY: null means all streams.
        unsafe { libc::fflush(core::ptr::null_mut()) };
        let mut counts = [0; 3];
        (t.counts)(counts.as_mut_ptr());
        ask(t, DONE, counts);
    }

    /// Runs the region as this node's thread `worker`.
    fn run(&self, worker: u32) {
        let th = Thread::current();
        let saved = th.save();
        // SAFETY: set by `open`, which happened before the start.
        let team = unsafe { &*self.team.load(Ordering::Relaxed) };
        th.become_member(team, worker, self.total.load(Ordering::Relaxed));
        th.ctx.tid.set(self.first.load(Ordering::Relaxed) + worker);
        let entry = self.entry.load(Ordering::Relaxed);
        let data: *mut libc::c_void =
            core::ptr::with_exposed_provenance_mut(self.data.load(Ordering::Relaxed));
        // SAFETY: an outlined function of the program, from the region that the origin opened.
        unsafe {
            let entry: Outlined = core::mem::transmute(entry);
            below(entry, data);
        }
        th.member().implicit.end_implicit();
        th.restore(&saved);
    }
}

/// Calls the function from at least a page below the caller's frame: otherwise the frames of the origin's first thread
/// would share a page with the region's data, which all nodes read.
///
/// # Safety
/// `entry` may be called with `data`.
#[inline(never)]
unsafe fn below(entry: Outlined, data: *mut libc::c_void) {
    let room = [const { core::mem::MaybeUninit::<u8>::uninit() }; 4096];
    core::hint::black_box(&room);
    // SAFETY: the caller's promise.
    unsafe { entry(data) };
    core::hint::black_box(&room);
}

/// The life of a node that is not the origin: its part of one region after the other. The node ends with the origin.
pub fn serve() -> ! {
    loop {
        let Some(t) = table() else {
            unreachable!("a node has its table")
        };
        let region = ask(t, NEXT, [0; 3]);
        LOCAL.open(t, region, 0);
    }
}

/// Runs the region across nodes; `None` if it does not cross.
///
/// # Safety
/// As [`crate::team::placement::parallel`].
pub(crate) unsafe fn parallel(th: &Thread, region: &Region) -> Option<u32> {
    let t = table()?;
    let plain = region.entry as usize == region.code && region.group.is_null();
    if !plain
        || t.me != 0
        || region.nthreads < t.nodes
        || th.depth.get() != 0
        || th.team().level() != 0
        || !(t.is_shared)(sys_stack())
        || !(region.data.is_null() || (t.is_shared)(region.data.addr()))
        || !admit(region.code)
        || LOCAL.busy.swap(true, Ordering::Acquire)
    {
        return None;
    }
    REGIONS.fetch_add(1, Ordering::Relaxed);
    th.leave_program(Reason::Fork);
    // SAFETY: null means all streams. What was printed before the region comes first.
    unsafe { libc::fflush(core::ptr::null_mut()) };
    let data = region.data.expose_provenance() as u64;
    let words = [region.code as u64, data, region.nthreads.into()];
    ask(t, FORK, words);
    LOCAL.open(t, words, 1);
    LOCAL.run(0);
    LOCAL.meet(|| ());
    ask(t, JOIN, [0; 3]);
    LOCAL.busy.store(false, Ordering::Release);
    th.enter_program(Reason::Fork);
    Some(region.nthreads)
}

/// An address on the calling thread's stack.
#[inline(never)]
fn sys_stack() -> usize {
    let here = 0u8;
    (&raw const here).addr()
}

/// A barrier of a region that crosses nodes.
#[cold]
pub(crate) fn barrier() {
    LOCAL.meet(|| {
        if let Some(t) = table() {
            ask(t, BARRIER, [0; 3]);
        }
    });
}

/// Takes a lock of the whole program: a named critical section's by its address, or [`UNNAMED`], [`ATOMIC`].
#[cold]
pub(crate) fn lock(key: u64) {
    if let Some(t) = table() {
        ask(t, LOCK, [key, 0, 0]);
    }
}

/// Gives it back.
#[cold]
pub(crate) fn unlock(key: u64) {
    if let Some(t) = table() {
        ask(t, UNLOCK, [key, 0, 0]);
    }
}

/// An object whose callees are noted by name.
struct Noting<'a> {
    object: &'a Loaded,
    names: RefCell<Vec<String>>,
}

impl Noting<'_> {
    fn note(&self, callee: Callee) -> Callee {
        if let Callee::Named(name) = &callee {
            self.names.borrow_mut().push(name.clone());
        }
        callee
    }
}

impl Image for Noting<'_> {
    fn code(&self, address: u64) -> Option<&[u8]> {
        self.object.code(address)
    }

    fn callee(&self, target: u64) -> Callee {
        self.note(self.object.callee(target))
    }

    fn slot(&self, slot: u64) -> Callee {
        self.note(self.object.slot(slot))
    }

    fn unwind(&self, address: u64) -> Result<Option<Unwind>, Why> {
        self.object.unwind(address)
    }
}

/// Functions of libraries that only compute, or work on memory they are given. Mathematics is known to the scan.
const HARMLESS: &[&str] = &[
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "memchr",
    "strlen",
    "strcmp",
    "strncmp",
    "strcpy",
    "strncpy",
    "strchr",
    "abs",
    "labs",
    "llabs",
    "div",
    "ldiv",
    "qsort",
    "bsearch",
    "__memcpy_chk",
    "__memset_chk",
    "__memmove_chk",
    "__stack_chk_fail",
    "__tls_get_addr",
    "malloc",
    "calloc",
    "free",
];

/// Does a region of this code cross nodes? Said under `HETMP_VERBOSE` when it is first met.
fn admit(code: usize) -> bool {
    static KNOWN: Mutex<BTreeMap<usize, bool>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry(code).or_insert_with(|| {
        let judged = hetmp_core::aside::run(|| judge(code));
        if crate::init::globals().ours.verbose {
            match &judged {
                Ok(()) => report::warn(format_args!("dsm: region {code:#x}: on all nodes")),
                Err(why) => {
                    report::warn(format_args!("dsm: region {code:#x}: at the origin: {why}"))
                }
            }
        }
        judged.is_ok()
    })
}

fn trusted() -> bool {
    static TRUSTED: OnceLock<bool> = OnceLock::new();
    *TRUSTED.get_or_init(|| {
        hetmp_core::env::snapshot()
            .get("HETMP_DSM_TRUST")
            .is_some_and(|v| v == b"1" || v == b"true")
    })
}

/// Why a region cannot cross, as far as its code tells.
fn judge(code: usize) -> Result<(), String> {
    let Some(object) = Loaded::at(code as u64) else {
        return Err("its code is in no object".to_owned());
    };
    let noting = Noting {
        object: &object,
        names: RefCell::new(Vec::new()),
    };
    let found = scan(&noting, code as u64);
    // What would wait for threads of other nodes in ways that do not reach them, whoever vouches for the rest.
    let works = |e: &Entry| {
        matches!(
            e,
            Entry::ThreadNumber
                | Entry::TeamSize
                | Entry::Barrier
                | Entry::Single
                | Entry::Critical
                | Entry::Atomic
                | Entry::Time
        )
    };
    if let Some(entry) = found.calls.entries().find(|e| !works(e)) {
        return Err(format!("{entry:?} is not done across nodes"));
    }
    if trusted() {
        return Ok(());
    }
    if let Some(why) = found.limit {
        return Err(format!("{} at {:#x}", why.text(), found.limit_address));
    }
    let names = noting.names.into_inner();
    let unknown = names.iter().find(|n| {
        let base = n.split('@').next().unwrap_or(n);
        Entry::of_name(base).is_none()
            && !hetmp_scan::entry::is_mathematics(base)
            && !HARMLESS.contains(&base)
    });
    if let Some(name) = unknown {
        return Err(format!("it may call {name}"));
    }
    if found.calls.unknown {
        return Err(format!(
            "an unknown call at {:#x}",
            found.calls.unknown_address
        ));
    }
    Ok(())
}
