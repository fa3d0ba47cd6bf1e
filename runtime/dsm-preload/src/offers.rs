//! What `libhetmp.so` gets from this library: a table of functions.
//!
//! `hetmp-omp` passes addresses of its own words, as many as each function says; both libraries are of one build.

use crate::arena::SHARED;
use crate::{malloc, place};
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use once_cell::race::OnceRef;
use pages::together::{Op, Together};

/// The sources that this library was made of.
pub(crate) const SOURCES: &str = env!("HETMP_SOURCES");

/// The functions that `libhetmp.so` gets. The same structure is declared in `hetmp-omp`'s `across::table`.
#[repr(C)]
pub(crate) struct Table {
    sources: [u8; 16],
    me: u32,
    nodes: u32,
    /// Runs one request. Arguments: the request's number, and a pointer to three words, which the answer
    /// replaces.
    ask: extern "C" fn(u32, *mut u64),
    /// Is the address in memory that all nodes share?
    is_shared: extern "C" fn(usize) -> bool,
    /// Writes eleven words about the node that the first argument names, those of another node as they were when its
    /// part of the last region ended (at the origin only). Five counts: read faults that asked another node, write
    /// faults that asked another node, pages sent, pages taken away, and the nanoseconds from a fault's arrival to the
    /// page's, summed over faults. Then the three words that the node asked with when its part ended. Then the pages of
    /// its own that this node, whatever the argument is, has touched so far. Then two more counts: pages that came
    /// along with others, and copies that were lent to the node.
    counts: extern "C" fn(u32, *mut u64),
    /// Writes two words about the calling thread: its faults that asked another node, and the nanoseconds that it has
    /// waited for their pages.
    waits: extern "C" fn(*mut u64),
    /// Called by the origin when the program ends: the other nodes may end.
    leave: extern "C" fn(),
    /// Binds the calling thread to this node's CPUs, if the nodes have CPUs of their own.
    stay: extern "C" fn(),
    /// Allocates bytes in memory that all nodes share: the size, and the alignment, a power of two. Null if there is no
    /// room.
    allocate: extern "C" fn(usize, usize) -> *mut u8,
    /// Frees what `allocate` gave.
    free: unsafe extern "C" fn(*mut c_void),
    /// The origin keeps all pages that it has from now on for this time, nanoseconds.
    keep: extern "C" fn(u64),
    /// From now on this is called, on a thread with a stack of its own, whenever a thread of this node asks another
    /// node for a page. The first function stays.
    judge: extern "C" fn(extern "C" fn()),
    /// From now on this node may lend pages to several nodes that write them, or may not: threads of the region learn
    /// of what threads on other nodes write only by requests. Returns whether it may.
    lend: extern "C" fn(bool) -> bool,
    /// All nodes have the same libraries at the same addresses: they are of one instruction set.
    alike: bool,
}

/// A launcher started the nodes. It must be told that their end is not an accident.
static LAUNCHED: AtomicBool = AtomicBool::new(false);

static TOGETHER: OnceRef<'static, Together> = OnceRef::new();

fn together() -> &'static Together {
    // Set before another thread or library gets the table.
    TOGETHER.get().expect("the table was made")
}

extern "C" fn ask(op: u32, words: *mut u64) {
    let words: *mut [u64; 3] = words.cast();
    if let Some(op) = Op::of(op) {
        // SAFETY: `hetmp-omp` passes the address of three words of its own.
        let mut given = unsafe { words.read() };
        if op == Op::Done {
            together().hand_in([given, more()]);
            given = packed();
        }
        // SAFETY: `hetmp-omp` passes the address of three words of its own.
        unsafe { words.write(together().ask(op, given)) };
    }
}

/// This node's counts in the three words of a message: reads and writes, pages sent and taken away (each a half
/// of a word), and the time waited.
fn packed() -> [u64; 3] {
    let c = together().driver().counts();
    let n = |a: &AtomicU64| a.load(Ordering::Relaxed);
    let half = |a: &AtomicU64| n(a) & u64::from(u32::MAX);
    [
        half(&c.reads) << 32 | half(&c.writes),
        half(&c.sent) << 32 | half(&c.lost),
        n(&c.waited_ns),
    ]
}

/// This node's counts of pages that came along with others, and of copies that were lent to it.
fn more() -> [u64; 3] {
    let c = together().driver().counts();
    [&c.along, &c.lent, &AtomicU64::new(0)].map(|n| n.load(Ordering::Relaxed))
}

extern "C" fn is_shared(address: usize) -> bool {
    together().driver().space().page_of(address).is_some()
}

extern "C" fn allocate(size: usize, align: usize) -> *mut u8 {
    SHARED.allocate(size, align, false)
}

extern "C" fn counts(node: u32, words: *mut u64) {
    let together = together();
    let [[a, b, c], told] = together.handed_in(node as u8);
    let ([faults, pages, waited], [along, lent, _]) = if node == u32::from(together.driver().me()) {
        (packed(), more())
    } else {
        (together.told(node as u8), told)
    };
    let low = |w: u64| w & u64::from(u32::MAX);
    let n = [
        faults >> 32,
        low(faults),
        pages >> 32,
        low(pages),
        waited,
        a,
        b,
        c,
        (together.driver().counts().touched).load(Ordering::Relaxed),
        along,
        lent,
    ];
    // SAFETY: `hetmp-omp` passes the address of eleven words of its own.
    unsafe { words.cast::<[u64; 11]>().write(n) };
}

extern "C" fn waits(words: *mut u64) {
    let thread = hetmp_core::sys::gettid() as u32;
    let n = together().driver().counts().of_thread(thread);
    // SAFETY: `hetmp-omp` passes the address of two words of its own.
    unsafe { words.cast::<[u64; 2]>().write(n) };
}

/// Tells launched nodes that the program ends. (Forked nodes notice the origin's end without that.)
extern "C" fn leave() {
    if let Some(said) = together().driver().said() {
        hetmp_core::report::warn(format_args!("dsm: {said}"));
    }
    if LAUNCHED.load(Ordering::Relaxed) {
        together().ask(Op::Leave, [0; 3]);
    }
}

extern "C" fn stay() {
    together().driver().stay_on_cpus();
}

extern "C" fn keep(ns: u64) {
    together().driver().keep().keep(ns);
}

extern "C" fn judge(judge: extern "C" fn()) {
    together().driver().keep().judged_by(judge);
}

/// Other threads than a region's may learn of its writes, and it of theirs, in other ways.
extern "C" fn lend(on: bool) -> bool {
    let may = on && !place::has_others();
    together().driver().lend(may);
    may
}

/// The table of this node. `launched`: a launcher started the nodes; `alike`: they are of one instruction set. Called
/// once, before another thread or library gets the table.
pub(crate) fn table(with: &'static Together, launched: bool, alike: bool) -> &'static Table {
    // A process offers one table.
    let _ = TOGETHER.set(with);
    LAUNCHED.store(launched, Ordering::Relaxed);
    let driver = with.driver();
    Box::leak(Box::new(Table {
        sources: *SOURCES.as_bytes().first_chunk().expect("16 digits"),
        me: driver.me().into(),
        nodes: driver.nodes().into(),
        ask,
        is_shared,
        counts,
        waits,
        leave,
        stay,
        allocate,
        free: malloc::free,
        keep,
        judge,
        lend,
        alike,
    }))
}
