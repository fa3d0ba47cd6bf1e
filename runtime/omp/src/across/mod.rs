//! Regions whose threads run in several processes: the nodes of a software distributed shared memory.
//!
//! `libhetmp_dsm.so` starts the nodes, shares the program's memory among them, and hands this library a
//! [`Table`] of functions. When the program reaches a parallel region at the origin (the process that the
//! user started), `admit` decides whether the region crosses nodes. It does if its code calls only
//! functions that are known to work across nodes, and if its data is in shared memory. Otherwise the region
//! runs at the origin like any other. Of the regions that may cross, those do that are faster so (`weigh`); or they
//! run whole on one other node, if that is faster. Threads are numbered through all nodes: node 0 has the first
//! threads, node 1 the next.
//!
//! * [`table`]: how to ask other nodes, and how to take locks of all nodes.
//! * `local`: this node's threads, and the place where they meet; `crew`: how they begin and leave a region.
//! * `critical`: critical sections, inside and outside of such regions.
//! * `shares`: loops whose iterations the runtime hands out; `blocks`: those that it divides before they begin.
//! * `admit`: which regions may cross; `bodies`: the tasks that they make; `callees`: the functions of the program's
//!   own libraries that they call.
//! * `early`: the end of a trial that is hopeless; `first`: its bound where the origin cannot take over the work.
//! * `mute`: regions in which nodes may lend each other pages.
//! * `nest`: nestable locks.
//! * `weigh`: which of these do, and how many threads each node has; `divide`: may a region have any number of threads?
//! * `meter`: how long a node's part took.
//! * `said`: what is printed at the program's end.

pub(crate) mod admit;
mod blocks;
mod bodies;
mod callable;
mod callees;
mod counts;
mod crew;
pub(crate) mod critical;
mod divide;
mod early;
mod first;
pub(crate) mod local;
pub(crate) mod meter;
mod mute;
pub mod nest;
pub(crate) mod opening;
pub(crate) mod said;
pub(crate) mod shares;
mod split;
pub mod table;
mod uneven;
mod weigh;

use crate::boundary;
use crate::team::region::Region;
use crate::thread::Thread;
use crate::unlike::{modes, ways};
use crate::worksharing::kinds::{Order, SchedKind};
use admit::Crossing;
use core::sync::atomic::Ordering;
use counts::Counts;
use hetmp_core::{float, report, sys, topo};
use hetmp_scan::Form;
use hetmp_sched::crossing::blocks::parts;
use hetmp_sched::crossing::division::Part;
use hetmp_sched::crossing::early::Trial;
use hetmp_sched::ways::{Reason, Way};
use local::{ABOVE, LOCAL};
use opening::{bounds, Construct, On, Opening, MARK};

pub(crate) use local::Above;
use split::Split;
use table::{ask, DONE, JOIN, NEXT};

pub use table::Table;

/// Makes this process a node.
pub(crate) fn install(new: &'static Table, above: Above) {
    let _ = ABOVE.set(above);
    table::set(new);
    modes::start_clock();
    if new.me == 0 {
        (new.judge)(first::judge);
        extern "C" {
            fn __cxa_atexit(
                body: extern "C" fn(*mut libc::c_void),
                argument: *mut libc::c_void,
                object: *mut libc::c_void,
            ) -> libc::c_int;
        }
        // For no object: so the function runs after the destructors of all libraries, whose variables may be on other
        // nodes. SAFETY: a function that lives as long as the library, which is never unloaded.
        unsafe { __cxa_atexit(at_exit, core::ptr::null_mut(), core::ptr::null_mut()) };
    }
}

extern "C" fn at_exit(_: *mut libc::c_void) {
    if let Some(t) = table::table() {
        float::apart(|| said::say(t));
        (t.leave)();
    }
}

/// What a node other than the origin does all its life: it runs its part of one region after the other, or a whole
/// region. The origin ends the node.
pub(crate) fn serve() -> ! {
    loop {
        let Some(t) = table::table() else {
            unreachable!("a node has its table")
        };
        let [entry, data, opening] = ask(t, NEXT, [0; 3]);
        let opening: *const Opening = core::ptr::with_exposed_provenance(opening as usize);
        // SAFETY: the origin's opener keeps the opening on its shared stack until the join, and does not
        // write to it after the fork.
        let opening = unsafe {
            let mark = opening.cast::<u64>().read();
            if mark != MARK {
                report::warn(format_args!(
                    "node {}: libhetmp.so: its layout of regions is another than on node 0 (expected one made by the \
                     same compiler)",
                    t.me
                ));
                libc::_exit(1)
            }
            opening.read()
        };
        match opening.on {
            On::Nobody => LOCAL.end(0),
            On::Copies => {
                let made = uneven::make((opening.code, opening.total));
                ask(t, DONE, [made.into(), 0, 0]);
                continue;
            }
            On::All(_) | On::One(_) => {}
        }
        if opening.lends {
            (t.lend)(true);
        }
        LOCAL.open(t, entry, data, &opening, 0);
    }
}

/// Runs the region, on all nodes if it may cross them and is faster so, and otherwise by `home`, which runs it at
/// the origin and returns its number of threads. `first`: the construct that starts together with the region.
///
/// # Safety
/// The region's function may be called with the region's data, once for each of its threads, as
/// [`crate::team::placement::parallel`] demands.
#[cold]
pub(crate) unsafe fn parallel(
    th: &Thread,
    region: &Region,
    first: Option<Construct>,
    home: &mut dyn FnMut() -> u32,
) -> u32 {
    let Some(t) = table::table() else {
        return home();
    };
    // What stays here may be a region inside of thousands of others, which lie on this stack. So all else has frames of
    // its own.
    match crossing(t, th, region) {
        Crossing::Stays => home(),
        // SAFETY: the function may be called with the data: this function's contract.
        Crossing::MayCross => unsafe { admitted(t, th, region, first, home, true) },
        // SAFETY: the function may be called with the data: this function's contract.
        Crossing::Crosses => unsafe { admitted(t, th, region, first, home, false) },
    }
}

/// May `region` cross nodes?
#[cold]
#[inline(never)]
fn crossing(t: &Table, th: &Thread, region: &Region) -> Crossing {
    admit::admit(region.code, region.form, unfit(t, th, region))
}

/// Runs a region that may cross nodes, where it is fastest if it is `weighed`, and returns its number of threads.
///
/// # Safety
/// As for [`parallel`].
#[cold]
#[inline(never)]
unsafe fn admitted(
    t: &Table,
    th: &Thread,
    region: &Region,
    first: Option<Construct>,
    home: &mut dyn FnMut() -> u32,
    weighed: bool,
) -> u32 {
    let code = region.code;
    let mut place = if weighed {
        let divides = || split::is_possible(t, th, region, false);
        float::apart(|| weigh::place(t, region, is_dealt(th, &first), &divides))
    } else {
        Way::Across
    };
    if leaves_origin(place) && !critical::begin_crossing() {
        place = Way::HOME;
    }
    let began = weigh::now();
    let (n, crossed, gave_up) = match place {
        Way::Across => {
            // Thread-local variables are those of the threads of an equal division.
            let split = weighed
                .then(|| float::apart(|| split::now(t, th, region)))
                .flatten();
            let trial = weighed
                .then(|| float::apart(|| weigh::trial(t, code)))
                .flatten();
            // SAFETY: the function may be called with the data: this function's contract.
            unsafe { cross(t, th, region, first, split, trial) }
        }
        // SAFETY: the function may be called with the data: this function's contract.
        Way::Elsewhere(node) => unsafe { elsewhere(t, th, region, first, node as u32) },
        _ => (home(), None, false),
    };
    let ns = weigh::now() - began;
    if leaves_origin(place) {
        // At the origin the end of the region's team does this.
        th.return_to_limit(region.nthreads, th.task().icv().thread_limit);
    }
    if weighed {
        let shown = (crossed.as_deref(), gave_up);
        let ended = float::apart(|| weigh::ran(t, th, code, place, ns, region.nthreads, shown));
        // A trial of a part has had a thread for each such part, and each would wake for every region.
        if ended && critical::begin_crossing() {
            LOCAL.end(1);
            critical::end_crossing();
        }
    }
    if leaves_origin(place) {
        ways::crossed(code, n, ns, place);
    } else {
        said::stayed(code, ns);
    }
    n
}

/// May the calling thread load a library of the program's own now? If so, [`library_came`] must follow. On other nodes,
/// and in regions while one crosses, it may not: the library's variables would be on one node only.
pub fn may_library_come() -> bool {
    let Some(t) = table::table() else {
        return true;
    };
    let th = Thread::current();
    let may_wait = t.me == 0 && th.depth.get() == 0 && th.team().level() == 0;
    loop {
        if t.me == 0 && critical::begin_loading() {
            return true;
        }
        if !may_wait {
            return false;
        }
        // Another thread of the program has opened the region that crosses.
        sys::yield_now();
    }
}

/// The library `was_loaded`, or could not be. Returns whether it is the first one.
pub fn library_came(was_loaded: bool) -> bool {
    critical::end_loading(was_loaded)
}

/// Ends the threads of all nodes that wait for regions which cross. The calling thread is in no region. (If another
/// thread of the program has such a region under way, its threads stay.)
pub(crate) fn pause(th: &Thread) {
    let Some(t) = table::table().filter(|t| t.me == 0) else {
        return;
    };
    if !critical::begin_crossing() {
        return;
    }
    let opening = Opening::new(On::Nobody, *th.task().icv());
    opening.fork(t, 0, 0);
    LOCAL.end(1);
    ask(t, JOIN, [0; 3]);
    critical::end_crossing();
}

/// Is the region one loop whose iterations the runtime hands out, in any order?
fn is_dealt(th: &Thread, first: &Option<Construct>) -> bool {
    let Some(Construct::Loop(l)) = first else {
        return false;
    };
    let kind = l.clause.unwrap_or(th.task().icv().run_sched.kind);
    !matches!(kind, SchedKind::Static | SchedKind::Auto)
        && !matches!(l.order, Order::Global | Order::Ordered)
}

/// Whether a region that runs at `place` has threads on other nodes.
fn leaves_origin(place: Way) -> bool {
    matches!(place, Way::Across | Way::Elsewhere(_))
}

/// What each node's threads did in a region that crossed; `None` if that says nothing of them.
type Shown = Option<Box<[Part]>>;

/// How `region` is opened on other nodes: `total` threads, which run `on` these. `blocks`: how its loops under this
/// schedule are divided.
fn opening(
    th: &Thread,
    region: &Region,
    first: Option<Construct>,
    total: u32,
    on: On,
    blocks: Option<(SchedKind, Vec<u32>)>,
    trial: Option<Trial>,
) -> Opening {
    Opening {
        blocks: blocks.map(|(kind, given)| (kind, bounds(&given))),
        trial,
        total,
        code: region.code,
        form: region.form,
        asked: region.asked,
        first,
        ..Opening::new(on, *th.task().icv())
    }
}

/// Runs the region on all nodes; `split`: which parts they have, if not equal ones. Returns the number of threads, what
/// each node showed, and whether the origin gave up the trial. `critical::begin_crossing` was called, and this function
/// ends what that began.
///
/// # Safety
/// The same as for [`parallel`].
unsafe fn cross(
    t: &Table,
    th: &Thread,
    region: &Region,
    first: Option<Construct>,
    split: Option<Split>,
    trial: Option<Trial>,
) -> (u32, Shown, bool) {
    th.leave_program(boundary::Reason::Fork);
    let began = weigh::now();
    let before = Counts::own(t);
    // What the program printed before the region must come out first. SAFETY: null means all streams.
    unsafe { libc::fflush(core::ptr::null_mut()) };
    let data = region.data.expose_provenance() as u64;
    let Split { threads, uneven } = split.unwrap_or_else(|| Split::equal(region.nthreads, t.nodes));
    let total = threads.iter().sum();
    let blocks = float::apart(|| weigh::blocks(t, th, region.code, &threads));
    let divided = blocks.as_ref().map(|(_, bounds)| bounds);
    let parts = divided.or(uneven.as_ref()).map_or(Vec::new(), |b| parts(b));
    let on = On::all(threads.iter().copied());
    let opening = Opening {
        lends: mute::tells_nothing(region.code, region.form) && (t.lend)(true),
        uneven: uneven.as_deref().map(bounds),
        ..opening(th, region, first, total, on, blocks, trial)
    };
    let entry = region.entry as usize as u64;
    // While the region crosses, each node keeps to its own CPUs, where the thread that serves its page faults runs. The
    // threads that `open` starts inherit the opener's. Other regions use all CPUs.
    let cpus = topo::affinity();
    (t.stay)();
    if let Some(trial) = trial {
        first::begin(trial, before, threads[0]);
    }
    below(with_others, t, entry, data, &opening);
    if trial.is_some() {
        first::end(t);
    }
    let own = LOCAL.words();
    // A refusal costs nothing but time: the thread may run where it may run.
    let _ = topo::set_affinity(&cpus);
    let gave_up = local::gave_up();
    let tried = trial.map(|tried| said::Tried {
        seen: local::seen(),
        threshold_us: tried.threshold_us(local::seen(), t.nodes),
        ended_early: gave_up,
    });
    let during = said::crossed(
        t,
        region.code,
        weigh::now() - began,
        before,
        &threads,
        &parts,
        tried,
    );
    critical::end_crossing();
    th.enter_program(boundary::Reason::Fork);
    let part = |node: usize| {
        let words = if node == 0 {
            own
        } else {
            table::words(t, node as u32)
        };
        let waited_ns = during.get(node).map_or(0, |c| c.waited_ns());
        let done_ns = match node {
            0 => LOCAL.done.load(Ordering::Relaxed).saturating_sub(began) as f64,
            _ => 0.0,
        };
        Part {
            done_ns,
            ..meter::part(words, threads[node], waited_ns)
        }
    };
    // Nodes that waited until the origin had done its part show nothing.
    let shows = !gave_up || trial.is_some_and(|trial| trial.home_ns == 0.0);
    let shown = shows.then(|| float::apart(|| (0..threads.len()).map(part).collect()));
    (total, shown, gave_up)
}

/// Opens the region on all nodes, runs the origin's part, and waits for the others'.
fn with_others(t: &Table, entry: u64, data: u64, opening: &Opening) {
    opening.fork(t, entry, data);
    LOCAL.open(t, entry, data, opening, 1);
    LOCAL.run(0);
    LOCAL.done.store(weigh::now(), Ordering::Relaxed);
    ask(t, JOIN, [0; 3]);
    if opening.lends {
        (t.lend)(false);
    }
}

/// Opens the region on another node, and waits for its end.
fn while_others(t: &Table, entry: u64, data: u64, opening: &Opening) {
    opening.fork(t, entry, data);
    ask(t, JOIN, [0; 3]);
}

/// Calls the function from at least a page below the caller's frame. The page of that frame also has the region's data
/// and `opening`, which all nodes read: a thread that opens the region, runs its part, or waits for other threads in
/// frames that lie there would take the page from nodes that still read it, each time. The arguments travel in
/// registers.
#[inline(never)]
fn below(
    open: fn(&Table, u64, u64, &Opening),
    t: &Table,
    entry: u64,
    data: u64,
    opening: &Opening,
) {
    let room = [const { core::mem::MaybeUninit::<u8>::uninit() }; 4096];
    core::hint::black_box(&room);
    open(t, entry, data, opening);
    core::hint::black_box(&room);
}

/// Runs the region whole on another node, and waits for its end. `critical::begin_crossing` was called, and this
/// function ends what that began.
///
/// # Safety
/// The same as for [`parallel`].
unsafe fn elsewhere(
    t: &Table,
    th: &Thread,
    region: &Region,
    first: Option<Construct>,
    node: u32,
) -> (u32, Shown, bool) {
    th.leave_program(boundary::Reason::Fork);
    let began = weigh::now();
    let before = Counts::own(t);
    // What the program printed before the region must come out first. SAFETY: null means all streams.
    unsafe { libc::fflush(core::ptr::null_mut()) };
    let opening = opening(
        th,
        region,
        first,
        region.nthreads,
        On::One(node),
        None,
        None,
    );
    let entry = region.entry as usize as u64;
    let data = region.data.expose_provenance() as u64;
    below(while_others, t, entry, data, &opening);
    said::elsewhere(t, region.code, weigh::now() - began, before, node);
    critical::end_crossing();
    th.enter_program(boundary::Reason::Fork);
    (region.nthreads, None, false)
}

/// Why this execution of the region must stay at the origin, whatever its code is; `None` if there is no
/// reason.
fn unfit(t: &Table, th: &Thread, region: &Region) -> Option<Reason> {
    // Code by clang is called by a function of this library, which passes the arguments on. It has no such address in
    // a library for another instruction set.
    let is_called_as_made =
        region.entry as usize == region.code || region.form == Form::Numbers && t.alike;
    let is_plain = is_called_as_made && region.group.is_null() && th.league.get() == (0, 0);
    let is_shared = |address: usize| (t.is_shared)(address);
    if !is_plain {
        Some(Reason::OtherKind)
    } else if t.me != 0 || th.depth.get() != 0 || th.team().level() != 0 {
        Some(Reason::Nested)
    } else if region.nthreads < t.nodes {
        Some(Reason::FewThreads)
    } else if critical::has_loaded() {
        Some(Reason::Library)
    } else if weigh::mode() == weigh::Mode::Never {
        Some(Reason::Never)
    } else if !is_shared(here()) {
        Some(Reason::OwnStack)
    } else if !(region.data.is_null() || is_shared(region.data.addr())) {
        Some(Reason::OwnData)
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
