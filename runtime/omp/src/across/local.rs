//! This node's part of a region that crosses nodes: its threads, and the place where they meet.
//!
//! # What a thread of such a region may touch
//! The thread runs on a stack that all nodes share, so a page of its stack may go to another node at any
//! time, and the thread's next access waits until the page is back. Hence the thread must never hold a lock
//! that the threads which serve pages take. With other nodes the thread deals only by [`Table::ask`]; with
//! threads of its own node by atomics and locks in this library's own memory.

use super::blocks::Blocks;
use super::crew::{Begun, Crew};
use super::early::{Looks, Probe};
use super::meter::{cpus, spun, Meter, Watch};
use super::opening::{Bounds, Construct, On, Opening};
use super::shares::{Shape, Shares};
use super::table::{ask, table, Table, AWAIT, BARRIER, DONE, PASS, POST, TURN};
use super::{uneven, weigh};
use crate::affinity::shown;
use crate::boundary::Reason;
use crate::icv::UNLIMITED_THREADS;
use crate::init;
use crate::task::wait;
use crate::team::members::{Outlined, Team};
use crate::team::region::{self, Region};
use crate::team::seat::Seat;
use crate::thread::Thread;
use crate::unlike::{nodes, place};
use crate::worksharing::kinds::{NodeSchedule, SchedKind};
use crate::worksharing::singles::Singles;
use crate::worksharing::work::{Work, WorkPos};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use hetmp_core::whole::OnceLock;
use hetmp_core::{float, report, sys, thread};
use hetmp_sched::crossing::blocks::WHOLE;
use hetmp_sched::crossing::early::{Seen, Trial};

/// How a region runs in one process: [`crate::team::placement::at_home`].
///
/// # Safety
/// The same as for that function.
pub(crate) type Home = unsafe fn(&Thread, &Region, Option<region::Prepare<'_>>) -> u32;

/// Prepares the region's first construct on this node.
pub(crate) type Prepare = fn(&Thread, &Team, &Work, u32, &Construct);

/// What lies above, and is handed in ([`crate::node`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Above {
    /// For regions that this node runs whole.
    pub(crate) home: Home,
    pub(crate) loops: Prepare,
    pub(crate) sections: Prepare,
}

pub(super) static ABOVE: OnceLock<Above> = OnceLock::new();

fn above() -> &'static Above {
    let Some(above) = ABOVE.get() else {
        unreachable!("a node has been told what lies above")
    };
    above
}

fn preparing(construct: &Construct) -> Prepare {
    match construct {
        Construct::Loop(_) => above().loops,
        Construct::Sections(_) => above().sections,
    }
}

/// What this node's threads need to know to run their part of the region.
#[derive(Clone, Copy)]
struct Part {
    entry: usize,
    data: usize,
    total: u32,
    /// Of the region's static loops, in units of [`WHOLE`].
    share: u32,
    /// The number of this node's first thread.
    first: u32,
    work: *const Work,
    pos: WorkPos,
    blocks: Option<(SchedKind, Bounds)>,
    trial: Option<Trial>,
    /// This node runs the whole region.
    alone: Option<Opening>,
    /// Each thread is to print where it runs (`OMP_DISPLAY_AFFINITY`).
    show: bool,
}

/// This node's threads, what they run, and the place where they meet.
pub(super) struct Local {
    /// Written by the thread that opens the region, while the other threads wait in `crew`.
    part: UnsafeCell<Part>,
    /// How threads begin and leave the region.
    crew: Crew,
    /// Threads that have come to the barrier (`arrived`), and barriers that are over (`passed`). Threads wait there on
    /// the bell of the team's tasks.
    arrived: AtomicU32,
    passed: AtomicU32,
    /// The word that a thread of this node hands in at the next barrier (`given`), and the word that the last
    /// barrier returned (`received`).
    given: AtomicU64,
    received: AtomicU64,
    /// Loops begun so far in this region.
    loops: AtomicU64,
    /// The origin has given up the region's trial, and runs what is left of its loops.
    gave_up: AtomicBool,
    looks: Looks,
    /// What threads did in the trial.
    probe: Probe,
    /// At the origin: when its threads were done with the region.
    pub(super) done: AtomicU64,
    /// The team of this node's threads.
    team: AtomicPtr<Team>,
    /// Threads started on this node, the one that opens regions at the origin included.
    made: AtomicU32,
    /// The number of threads in the last region whose threads have shown where they run.
    shown: AtomicU32,
    meter: Meter,
}

// SAFETY: `part` is written in `open`, while no thread is in a region, and read by threads after they have
// seen the region begun. The other fields are atomic.
unsafe impl Sync for Local {}

pub(super) static LOCAL: Local = Local::new();

impl Local {
    const fn new() -> Local {
        Local {
            part: UnsafeCell::new(Part {
                entry: 0,
                data: 0,
                total: 0,
                share: 0,
                first: 0,
                work: core::ptr::null(),
                pos: WorkPos::NOWHERE,
                blocks: None,
                trial: None,
                alone: None,
                show: false,
            }),
            crew: Crew::new(),
            arrived: AtomicU32::new(0),
            passed: AtomicU32::new(0),
            given: AtomicU64::new(0),
            received: AtomicU64::new(0),
            loops: AtomicU64::new(0),
            gave_up: AtomicBool::new(false),
            looks: Looks::new(),
            probe: Probe::new(),
            done: AtomicU64::new(0),
            team: AtomicPtr::new(core::ptr::null_mut()),
            made: AtomicU32::new(0),
            shown: AtomicU32::new(0),
            meter: Meter::new(),
        }
    }

    /// Waits until all threads of this node have called this function and all tasks of this node are complete; runs
    /// tasks meanwhile. The last thread to come then runs `last` before any thread goes on. Returns true in that
    /// thread.
    fn meet(&self, th: &Thread, last: impl FnOnce()) -> bool {
        let tasks = &th.team().tasks;
        let passed = self.passed.load(Ordering::Acquire);
        let over = || self.passed.load(Ordering::Acquire) != passed;
        let threads = self.crew.threads();
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == threads {
            self.arrived.store(0, Ordering::Relaxed);
            // A thread that made a task has arrived after that, so this thread sees the task.
            let had_tasks = tasks.active();
            if had_tasks {
                self.meter.ran_tasks();
                th.leave_program(Reason::Tasks);
                // The members' epochs stay what they are: no thread makes tasks of the next barrier before this one is
                // over.
                wait::drain(th, th.member().epoch.get());
                th.enter_program(Reason::Tasks);
            }
            last();
            self.passed.fetch_add(1, Ordering::SeqCst);
            tasks.begun.ring_after_swap();
            if had_tasks {
                wait::drained(th.team());
            }
            return true;
        }
        let active = || over() || tasks.active();
        self.crew.wait_until(&tasks.begun, active);
        if !over() {
            wait::at_barrier(th, over);
        }
        false
    }

    /// A barrier of all threads on all nodes. If one thread hands in a word other than 0, every thread gets
    /// this word.
    fn barrier(&self, word: u64) -> u64 {
        if word != 0 {
            self.given.store(word, Ordering::Relaxed);
        }
        let th = Thread::current();
        th.leave_program(Reason::Barrier);
        let began = sys::ticks();
        self.meet(th, || {
            if let Some(t) = table() {
                let given = self.given.swap(0, Ordering::Relaxed);
                let [received, ..] = ask(t, BARRIER, [given, 0, 0]);
                self.received.store(received, Ordering::Relaxed);
            }
        });
        // `received` is still this barrier's word: the next barrier cannot end before this thread has come to
        // it.
        let received = self.received.load(Ordering::Relaxed);
        let waited = spun(sys::ticks().wrapping_sub(began));
        th.spun.set(th.spun.get().wrapping_add(waited));
        th.enter_program(Reason::Barrier);
        received
    }

    /// Prepares this node's part of a region and starts its threads. `own`: how many threads of the part the
    /// caller runs itself with `run`.
    pub(super) fn open(&self, t: &Table, entry: u64, data: u64, opening: &Opening, own: u32) {
        let total = opening.total;
        let (first, threads) = opening.on.threads(t.me);
        if threads == 0 {
            return close(t);
        }
        self.crew.expect(threads, cpus());
        let mut team = self.team.load(Ordering::Relaxed);
        // SAFETY: null, or made with `Box::into_raw` below and never freed. Between regions no thread is in
        // the team.
        if unsafe { team.as_ref() }.is_none_or(|t| t.capacity() < threads) {
            team = Box::into_raw(Box::new(Team::new(threads)));
            self.team.store(team, Ordering::Relaxed);
        }
        // SAFETY: not null after the lines above, and never freed.
        let team = unsafe { &*team };
        // Only the origin's threads execute a `single`. On other nodes the count starts so high that no
        // thread finds its turn.
        let singles = if t.me == 0 { 0 } else { Singles::NEVER };
        team.cross(total, total - threads, singles, opening.icv);
        team.shared.code.set(opening.code);
        self.meter.reset();
        self.probe.reset();
        self.loops.store(0, Ordering::Relaxed);
        self.gave_up.store(false, Ordering::Relaxed);
        let (entry, share) = match &opening.uneven {
            // SAFETY: the origin asks for uneven parts where all nodes have copies, and no thread is in a region.
            Some(bounds) => match unsafe { uneven::entry(t, opening, bounds) } {
                Some(copy) => (
                    copy as usize,
                    bounds[t.me as usize + 1] - bounds[t.me as usize],
                ),
                None => unreachable!("this node has said that it has a copy"),
            },
            None => (
                entry as usize,
                (u64::from(WHOLE) * u64::from(threads) / u64::from(total)) as u32,
            ),
        };
        let mut part = Part {
            entry,
            data: data as usize,
            total,
            share,
            first,
            work: core::ptr::null(),
            // SAFETY: no thread of this node is in a region.
            pos: unsafe { team.works.position() },
            blocks: opening.blocks,
            trial: opening.trial,
            alone: match opening.on {
                On::One(_) => Some(*opening),
                On::All(_) | On::Nobody | On::Copies => None,
            },
            // A node that runs a region whole shows that as the origin would.
            show: init::globals().display_affinity
                && matches!(opening.on, On::All(_))
                && self.shown.swap(total, Ordering::Relaxed) != total,
        };
        // The region's first loop may be prepared below. SAFETY: no thread of this node is in a region.
        unsafe { (*self.part.get()).blocks = opening.blocks };
        if let (Some(construct), None) = (&opening.first, &part.alone) {
            let prepare = preparing(construct);
            // SAFETY: as above; all threads get the node and the place.
            unsafe {
                let (work, next) = team.works.at(part.pos);
                work.open_first(&mut |w| prepare(Thread::current(), team, w, total, construct));
                (part.work, part.pos) = (work, next);
            }
        }
        // SAFETY: no thread of this node reads `part` before the region has begun.
        unsafe { self.part.get().write(part) };
        let made = self.made.load(Ordering::Relaxed);
        for worker in made.max(own)..threads {
            let begun = self.crew.begun();
            let body = move || LOCAL.work(worker, begun);
            let started = thread::start_for_program(c"hetmp-across", init::stack_size(), body);
            if let Err(e) = started {
                report::warn(format_args!("node {}: thread of a region: {e}", t.me));
                // SAFETY: _exit has no preconditions. The other nodes notice that this node is gone, and end,
                // too.
                unsafe { libc::_exit(1) }
            }
            self.made.store(worker + 1, Ordering::Relaxed);
        }
        self.crew.begin();
    }

    /// Ends the threads that wait for the next region, and waits until they are about to go. `own`: as for `open`. No
    /// region is under way.
    pub(super) fn end(&self, own: u32) {
        let made = self.made.swap(0, Ordering::Relaxed);
        self.crew.end(made.saturating_sub(own));
    }

    fn work(&self, worker: u32, mut begun: Begun) {
        loop {
            begun = self.crew.wait_past(begun);
            if begun.threads() == 0 {
                return self.crew.leave();
            }
            if worker < begun.threads() && self.run(worker) {
                let Some(t) = table() else { return };
                // The origin opens the next region only after each other node has reported that its part is over.
                if t.me != 0 {
                    close(t);
                }
            }
        }
    }

    /// Runs the region as this node's thread `worker`, and waits for the node's other threads and tasks. Returns true
    /// in one thread. Others may still be about to leave the region when this thread returns.
    pub(super) fn run(&self, worker: u32) -> bool {
        let th = Thread::current();
        // SAFETY: `open` set both before the region began, and this thread runs after that.
        let (team, part) = unsafe { (&*self.team.load(Ordering::Relaxed), *self.part.get()) };
        if let Some(opening) = &part.alone {
            // SAFETY: the program's outlined function, with the data that the origin's opener passed for this region,
            // and no other node runs it.
            unsafe { run_alone(th, &part, opening) };
            self.crew.leave();
            return true;
        }
        let saved = th.save();
        th.become_member(team, Seat::new(worker), part.total);
        th.ctx.number.set(part.first + worker);
        th.ctx.work.set(part.work);
        th.ctx.pos.set(part.pos);
        if nodes::active() {
            place::settle(th, nodes::of_thread(worker as usize) + 1);
        }
        if part.show {
            shown::display_affinity(b"");
        }
        let tried = part.trial.is_some();
        if tried {
            float::apart(|| self.probe.begin(th));
        }
        let watch = Watch::start(th.spun.get());
        th.enter_program(Reason::Fork);
        let data: *mut libc::c_void = core::ptr::with_exposed_provenance_mut(part.data);
        // SAFETY: the program's outlined function, with the data that the origin's opener passed for this
        // region.
        unsafe {
            let entry: Outlined = core::mem::transmute(part.entry);
            entry(data);
        }
        th.leave_program(Reason::Fork);
        self.meter.ran(watch, th.spun.get());
        if tried {
            float::apart(|| self.probe.add(th));
        }
        let last = self.meet(th, || ());
        th.member().implicit.end_implicit();
        th.restore(&saved);
        self.crew.leave();
        last
    }

    /// What the origin is told of this node's part of the region that is over.
    pub(super) fn words(&self) -> [u64; 3] {
        // SAFETY: `open` wrote the part, and writes it again only after this node's part has been reported.
        let share = unsafe { (*self.part.get()).share };
        self.meter.words(f64::from(share) / f64::from(WHOLE))
    }

    /// A loop of the region has this many iterations, which the origin hands out.
    pub(super) fn offered(&self, iterations: u64) {
        self.meter.offered(iterations);
    }

    /// This node has taken that many iterations of a loop.
    pub(super) fn took(&self, iterations: u64) {
        self.meter.took(iterations);
    }
}

/// Runs the whole region on this node, as the origin would run one that stays: the calling thread opens it. No other
/// node runs anything of it, so all constructs are those of one process; locks and critical sections are still the
/// origin's, where other threads of the program may run.
///
/// # Safety
/// All threads of the region may call its function with its data until this function returns.
unsafe fn run_alone(th: &Thread, part: &Part, opening: &Opening) {
    // SAFETY: the program's outlined function, by this function's contract.
    let entry: Outlined = unsafe { core::mem::transmute(part.entry) };
    let whole = Region {
        entry,
        data: core::ptr::with_exposed_provenance_mut(part.data),
        code: opening.code,
        form: opening.form,
        nthreads: opening.total,
        asked: opening.asked,
        bind: None,
        group: core::ptr::null(),
    };
    // SAFETY: the thread's own team of one, which lives as long as the thread.
    let solo = unsafe { &*th.solo.get() };
    solo.shared.icv.set(opening.icv);
    th.become_member(solo, Seat::FIRST, 1);
    let n = opening.total;
    if opening.icv.thread_limit != UNLIMITED_THREADS {
        // The end of the region's team takes this away again: the origin's thread counted the threads there.
        th.busy().fetch_add(n - 1, Ordering::Relaxed);
    }
    let mut prepare = opening.first.map(|construct| {
        let prepare = preparing(&construct);
        move |team: &Team, work: &Work| prepare(Thread::current(), team, work, n, &construct)
    });
    let first = prepare.as_mut().map(|p| p as region::Prepare<'_>);
    // SAFETY: all threads of the region may call its function until this function returns: its contract.
    unsafe { (above().home)(th, &whole, first) };
}

/// Reports to the origin that this node's part is over. First writes out what this node's threads printed, so
/// that it stands before what the origin prints next.
fn close(t: &Table) {
    // SAFETY: null means all streams.
    unsafe { libc::fflush(core::ptr::null_mut()) };
    (t.lend)(false);
    ask(t, DONE, LOCAL.words());
}

/// A barrier of a region that crosses nodes. If one thread hands in a pointer that is not null, every thread
/// on every node gets this pointer.
#[cold]
pub(crate) fn barrier(word: *mut libc::c_void) -> *mut libc::c_void {
    let word = LOCAL.barrier(word.expose_provenance() as u64);
    core::ptr::with_exposed_provenance_mut(word as usize)
}

/// Prepares the next loop of this region, whose iterations all nodes share. The first thread of each node
/// that comes to the loop calls this function. All threads meet the region's loops in the same order, so a
/// loop has the same number on all nodes. `ours`: the loop has this schedule of hetmp's own.
pub(crate) fn share(
    iterations: u64,
    chunk: u64,
    guided: bool,
    ordered: bool,
    ours: Option<SchedKind>,
    key: usize,
) -> Box<dyn NodeSchedule> {
    // SAFETY: `open`, or a thread of the region, calls this function: `open` has written the field, and writes it again
    // only after the region.
    let blocks = unsafe { (*LOCAL.part.get()).blocks };
    let threads = LOCAL.crew.threads();
    let shape = Shape {
        iterations,
        chunk,
        // Until it is known how to divide the loop, its chunks are large nevertheless.
        guided: guided || ours.is_some_and(weigh::divides),
        ordered,
        threads,
    };
    LOCAL.offered(iterations);
    let blocks = blocks.filter(|&(kind, _)| ours == Some(kind));
    if let (Some((_, bounds)), Some(t)) = (blocks, table()) {
        let nodes = (t.me as usize, t.nodes as usize);
        return Box::new(Blocks::new(
            number(),
            (iterations, chunk),
            bounds,
            nodes,
            threads,
            key,
        ));
    }
    Box::new(Shares::new(number(), shape, key))
}

/// The trial that runs now.
pub(super) fn trial() -> Option<Trial> {
    // SAFETY: `open` wrote the part before this node's threads began the region, and writes it again only after the
    // region.
    unsafe { (*LOCAL.part.get()).trial }
}

/// Before a thread takes iterations of a loop of which these have `begun`: has the origin, if this node is that, given
/// up the trial? Then it runs what is left.
pub(super) fn gives_up(t: &Table, trial: &Trial, begun: impl FnOnce() -> (f64, f64)) -> bool {
    if t.me == 0 && !gave_up() && LOCAL.looks.is_due() {
        let hopeless = float::apart(|| {
            LOCAL.probe.add(Thread::current());
            let ns = weigh::now().saturating_sub(trial.began);
            trial.is_hopeless(ns, seen(), begun(), LOCAL.crew.threads(), t.nodes)
        });
        LOCAL.gave_up.store(hopeless, Ordering::Relaxed);
    }
    t.me == 0 && gave_up()
}

/// The iterations of a loop with this many that this node takes at most on demand, in a trial of a part of them.
pub(super) fn most(t: &Table, iterations: u64) -> Option<u64> {
    match trial() {
        Some(trial) if t.me != 0 && trial.part < 1.0 => {
            let part = trial.part / f64::from(t.nodes - 1);
            Some(float::apart(|| (part * iterations as f64) as u64).max(1))
        }
        _ => None,
    }
}

/// What this node's threads did in the trial that was opened last.
pub(super) fn seen() -> Seen {
    LOCAL.probe.seen()
}

/// Has the origin given up the trial of the region that was opened last?
pub(super) fn gave_up() -> bool {
    LOCAL.gave_up.load(Ordering::Relaxed)
}

/// The origin gives up the trial that runs.
pub(super) fn give_up() {
    LOCAL.gave_up.store(true, Ordering::Relaxed);
}

/// The number of the next loop of this region. The first thread of each node that comes to the loop calls this
/// function, so the loop has the same number on all nodes.
pub(crate) fn number() -> u64 {
    LOCAL.loops.fetch_add(1, Ordering::Relaxed)
}

/// Waits until it is the turn of iteration `k` of the ordered loop with this number.
#[cold]
pub(crate) fn wait_for_turn(number: u64, k: u64) {
    if let Some(t) = table() {
        ask(t, TURN, [number, k, 0]);
    }
}

/// Makes it the turn of iteration `k` of the ordered loop with this number.
#[cold]
pub(crate) fn pass_turn(number: u64, k: u64) {
    if let Some(t) = table() {
        ask(t, PASS, [number, k, 0]);
    }
}

/// Is the region's thread with this number one of this node's?
pub(crate) fn is_here(thread: u64) -> bool {
    // SAFETY: `open` wrote the part before this node's threads began the region, and writes it again only after the
    // region.
    let first = u64::from(unsafe { (*LOCAL.part.get()).first });
    let threads = u64::from(LOCAL.crew.threads());
    (first..first + threads).contains(&thread)
}

/// Tells all nodes that an iteration of the doacross loop with this number, the `iteration`th from 1, has posted.
/// `sequence`: which of the loop's sequences of iterations it belongs to.
#[cold]
pub(crate) fn post(number: u64, sequence: u64, iteration: u64) {
    if let Some(t) = table() {
        ask(t, POST, [number, sequence, iteration]);
    }
}

/// Waits until that iteration, or a later one of its sequence, has posted on any node.
#[cold]
pub(crate) fn await_post(number: u64, sequence: u64, iteration: u64) {
    if let Some(t) = table() {
        ask(t, AWAIT, [number, sequence, iteration]);
    }
}
