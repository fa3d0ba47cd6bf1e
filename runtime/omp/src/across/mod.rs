//! Regions whose threads are in several processes: nodes of a software distributed shared memory.
//!
//! `libhetmp_dsm.so` makes the nodes and shares the program's memory; it hands over a [`Table`]. A region crosses nodes if
//! its code calls nothing but what is known to work there ([`admit`]), and its data is in shared memory. Otherwise it
//! runs at the origin like any other. Thread numbers are global: node `k` of `n` has the `k`th part of them.
//!
//! * [`table`]: how to ask other nodes, and locks. [`local`]: this node's threads and where they meet. [`shares`]: loops
//!   that the runtime hands out. [`admit`]: which regions cross. [`said`]: what is told at the end.

pub(crate) mod admit;
pub(crate) mod local;
mod said;
pub(crate) mod shares;
pub mod table;

use crate::boundary::Reason;
use crate::team::region::Region;
use crate::thread::Thread;
use core::sync::atomic::{AtomicBool, Ordering};
use local::{Construct, Opening, Prepare, LOCAL};
use table::{ask, FORK, JOIN, NEXT, VERSION};

pub use table::Table;

/// A region is under way.
static BUSY: AtomicBool = AtomicBool::new(false);

/// Makes this process a node. False: the table is of another version.
pub fn install(new: &'static Table) -> bool {
    if new.version != VERSION {
        return false;
    }
    table::set(new);
    if new.me == 0 {
        // SAFETY: a function that lives as long as the library, which is never unloaded.
        unsafe { libc::atexit(at_exit) };
    }
    true
}

extern "C" fn at_exit() {
    if let Some(t) = table::table() {
        said::say(t);
        (t.leave)();
    }
}

/// The life of a node that is not the origin: its part of one region after the other. The node ends with the origin.
pub fn serve() -> ! {
    loop {
        let Some(t) = table::table() else {
            unreachable!("a node has its table")
        };
        let [entry, data, opening] = ask(t, NEXT, [0; 3]);
        let opening: *const Opening = core::ptr::with_exposed_provenance(opening as usize);
        // SAFETY: the origin's opener keeps it on its shared stack until the join, and writes it no more.
        let opening = unsafe { opening.read() };
        LOCAL.open(t, entry, data, &opening, 0);
    }
}

/// Runs the region across nodes, its threads starting in `first`; `None` if it does not cross.
///
/// # Safety
/// As [`crate::team::placement::parallel`].
pub(crate) unsafe fn parallel(
    th: &Thread,
    region: &Region,
    first: Option<(Prepare, Construct)>,
) -> Option<u32> {
    let t = table::table()?;
    let why_not = unfit(t, th, region);
    if !admit::admit(region.code, why_not) || BUSY.swap(true, Ordering::Acquire) {
        return None;
    }
    th.leave_program(Reason::Fork);
    // SAFETY: null means all streams. What was printed before the region comes first.
    unsafe { libc::fflush(core::ptr::null_mut()) };
    let before = said::begin(t);
    let data = region.data.expose_provenance() as u64;
    let opening = Opening {
        total: region.nthreads,
        icv: *th.task().icv(),
        first,
    };
    let code = region.code as u64;
    let at = core::ptr::from_ref(&opening).expose_provenance() as u64;
    ask(t, FORK, [code, data, at]);
    LOCAL.open(t, code, data, &opening, 1);
    LOCAL.run(0);
    LOCAL.meet(|| ());
    let others = ask(t, JOIN, [0; 3]);
    said::end(t, region.code, before, others);
    BUSY.store(false, Ordering::Release);
    th.enter_program(Reason::Fork);
    Some(region.nthreads)
}

/// What keeps this execution of a region at the origin, whatever its code is.
fn unfit(t: &Table, th: &Thread, region: &Region) -> Option<&'static str> {
    let is_plain = region.entry as usize == region.code && region.group.is_null();
    let is_shared = |address: usize| (t.is_shared)(address);
    if !is_plain {
        Some("it is not of gcc's plain kind")
    } else if t.me != 0 || th.depth.get() != 0 || th.team().level() != 0 {
        Some("it is inside another region")
    } else if region.nthreads < t.nodes {
        Some("it has fewer threads than there are nodes")
    } else if !is_shared(here()) {
        Some("its opener's stack is not shared")
    } else if !(region.data.is_null() || is_shared(region.data.addr())) {
        Some("its data is not in shared memory")
    } else {
        None
    }
}

/// An address on the calling thread's stack.
#[inline(never)]
fn here() -> usize {
    let here = 0u8;
    (&raw const here).addr()
}
