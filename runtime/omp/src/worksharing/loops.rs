//! Worksharing loops (OpenMP 5.1, section 2.11.4): from clauses to a schedule, and from a schedule
//! to chunks.
//!
//! `hetmp-sched` decides which iterations a chunk has, in normalised iterations. This module takes chunks
//! from the state in the construct's node, and converts them to values of the program's loop variable. Signed
//! and unsigned loops differ only in how the ABI makes [`LoopBounds`].

use crate::across::local as across;
use crate::across::opening::Construct;
use crate::across::table::is_on;
use crate::boundary::Reason;
use crate::icv::RunSched;
use crate::team::members::Team;
use crate::team::placement;
use crate::team::region::{self as team, Region};
use crate::thread::Thread;
use crate::tool;
use crate::tool::interface::{Dispatch, Sync};
use crate::unlike::het::choose::{self, Settled};
use crate::worksharing::construct::{self, Extras};
pub use crate::worksharing::kinds::{Clause, Loop, LoopBounds, Order, SchedKind, RUNTIME};
use crate::worksharing::kinds::{Handing, Next};
use crate::worksharing::work::Work;
use hetmp_core::sync::Ordering;
use hetmp_sched::plain::{static_chunk, static_piece};
use hetmp_sched::ranges::Range;

/// Prepares the node of a loop of the calling thread's team. No other thread may use the node yet.
pub(crate) fn prepare(work: &Work, th: &Thread, nthreads: u32, l: &Loop) {
    let run = th.task().icv().run_sched;
    prepare_in(work, th, (th.team(), nthreads), l, run);
}

/// Prepares the node of a loop of `team`, which has `nthreads` threads. The calling thread need not be in this team
/// yet. `run`: the schedule of `schedule(runtime)`.
fn prepare_in(work: &Work, th: &Thread, (team, nthreads): (&Team, u32), l: &Loop, run: RunSched) {
    let n = l.bounds.trip_count();
    work.bounds.set(l.bounds);
    work.ordered.set(l.order == Order::Ordered);
    // hetmp's own schedules may leave earlier iterations for later.
    let in_order = matches!(l.order, Order::Ordered | Order::Global);
    if l.order == Order::Ordered {
        // Across nodes the origin keeps the turn, and this word names the loop: see `ordered`.
        let turn = if team.is_across() {
            !across::number()
        } else {
            0
        };
        work.turn.store(turn, Ordering::Relaxed);
    }
    let plain = match l.clause {
        Some(kind) => (kind, l.chunk),
        None if !run.kind.is_ours() => (run.kind, run.chunk as u64),
        // The threads of a virtual team run one after the other, so the first ones must leave some
        // iterations for the others.
        None if team.is_virtual() && !in_order => (SchedKind::Guided, 1),
        // One of hetmp's own schedules, but the loop's order forbids it: then `schedule(runtime)`'s
        // default.
        None => (SchedKind::Dynamic, 1),
    };
    let (kind, chunk) = match plain {
        // `auto` runs as `static`. The control variable's chunk size is none of it.
        (SchedKind::Auto, _) => (SchedKind::Static, 0),
        (SchedKind::Trapezoidal, chunk) => (SchedKind::Guided, chunk),
        plain => plain,
    };
    if nthreads == 1 && !(kind == SchedKind::Dynamic && tool::on()) {
        // The team has one thread, which gets the whole loop at once. A tool that looks for the chunks of a dynamic
        // loop finds them nevertheless, as under libomp.
        work.kind.set(Handing::Static);
        work.chunk.set(0);
        return;
    }
    if !in_order
        && n > 0
        && nthreads > 1
        && !team.is_virtual()
        && !team.is_across()
        && choose::may_replace(l.clause, run)
    {
        // SAFETY: only this thread touches the node before it is published.
        let pieces = unsafe { &mut *work.pieces.get() };
        match choose::settled(th, team, nthreads, l, run, pieces) {
            Some(Settled::Pieces) => {
                work.kind.set(Handing::Fixed);
                return;
            }
            Some(Settled::Static) => {
                work.chunk.set(0);
                work.kind.set(Handing::Static);
                return;
            }
            Some(Settled::Cursor { chunk }) => {
                work.chunk.set(chunk);
                work.kind.set(Handing::Dynamic);
                work.dynamic.reset(n, chunk);
                return;
            }
            None => {}
        }
        if let Some(schedule) = choose::schedule(th, team, nthreads, l, run, (kind, chunk)) {
            // SAFETY: only this thread touches the node before it is published.
            unsafe { *work.ours.get() = Some(schedule) };
            team.works.note_heavy();
            work.kind.set(Handing::Ours);
            return;
        }
    }
    if team.is_across() && kind != SchedKind::Static {
        let guided = kind == SchedKind::Guided;
        // A node may take an earlier block after its own, if that block's node does not come.
        let ours = choose::unordered(l.clause, run).filter(|_| l.order != Order::Monotonic);
        let shares = across::share(n, chunk, guided, in_order, ours, l.key);
        // SAFETY: only this thread touches the node before it is published.
        unsafe { *work.ours.get() = Some(shares) };
        team.works.note_heavy();
        work.kind.set(Handing::Ours);
        return;
    }
    work.chunk.set(chunk);
    match kind {
        SchedKind::Dynamic => {
            work.kind.set(Handing::Dynamic);
            work.dynamic.reset(n, chunk);
        }
        SchedKind::Guided => {
            work.kind.set(Handing::Guided);
            if l.whole {
                work.guided.reset_whole(n, chunk, u64::from(nthreads));
            } else {
                work.guided.reset(n, chunk, u64::from(nthreads));
            }
        }
        _ => work.kind.set(Handing::Static),
    }
}

/// Enters a loop and takes the thread's first chunk. Returns the first value of the loop variable, and the
/// value at which the program's comparison ends the chunk. `None`: there is no iteration (left) for this
/// thread.
#[inline]
pub fn start(th: &Thread, l: &Loop) -> Option<(u64, u64)> {
    let (work, _) = construct::enter(th, |w| prepare(w, th, th.nthreads(), l));
    take(th, construct::tell(th, work))
}

/// Enters a loop that has further clauses, without taking a chunk.
///
/// # Safety
/// `extras.memory` is null, or the address of a word of compiled code that holds a size and may be
/// overwritten.
pub unsafe fn enter_with(th: &Thread, l: &Loop, extras: &Extras<'_>) {
    // SAFETY: `extras.memory` is as `construct::enter_with` demands: this function's contract.
    let work = unsafe { construct::enter_with(th, extras, |w| prepare(w, th, th.nthreads(), l)) };
    construct::tell(th, work);
}

/// Takes the calling thread's next chunk of its current loop, and stores the chunk's two ends. Returns false
/// if there was no chunk; then nothing is stored.
///
/// A dynamic chunk may be as small as one iteration, so the path for it must be short. This path makes calls
/// only in tail position and so saves no registers: stores in front of the counter's atomic addition would
/// delay the addition.
///
/// # Safety
/// Both pointers are the addresses of 64-bit variables of the caller.
#[inline(always)]
pub unsafe fn next_into(istart: *mut u64, iend: *mut u64) -> bool {
    let th = Thread::try_current().filter(|_| !tool::on());
    if let Some((th, work)) = th.and_then(|th| Some((th, construct::current(th)?))) {
        if work.kind.get() == Handing::Static && work.chunk.get() != 0 {
            // SAFETY: both pointers are to the caller's variables: this function's contract.
            return unsafe { next_static_into(th, work, istart, iend) };
        }
        if work.kind.get() == Handing::Dynamic {
            match work.dynamic.next_fast() {
                Ok(Some(range)) => {
                    let (s, e) = work.bounds.get().to_user(range);
                    // SAFETY: both pointers are to the caller's variables: this function's contract.
                    unsafe {
                        *istart = s;
                        *iend = e;
                    }
                    return true;
                }
                Ok(None) => return false,
                Err(_) => {}
            }
        }
    }
    // SAFETY: both pointers are to the caller's variables: this function's contract.
    unsafe { next_into_slow(istart, iend) }
}

/// The part of [`next_into`] for a chunk of a static loop, which needs more registers.
///
/// # Safety
/// Both pointers are the addresses of 64-bit variables.
#[inline(never)]
unsafe fn next_static_into(th: &Thread, work: &Work, istart: *mut u64, iend: *mut u64) -> bool {
    let Some(range) = take_static(th, work) else {
        return false;
    };
    let (s, e) = work.bounds.get().to_user(range);
    // SAFETY: both pointers are to 64-bit variables: this function's contract.
    unsafe {
        *istart = s;
        *iend = e;
    }
    true
}

#[inline(never)]
unsafe fn next_into_slow(istart: *mut u64, iend: *mut u64) -> bool {
    let Some((s, e)) = next(Thread::current()) else {
        return false;
    };
    // SAFETY: both pointers are to 64-bit variables, because `next_into` passes on its own arguments.
    unsafe {
        *istart = s;
        *iend = e;
    }
    true
}

/// The thread's next chunk of its current loop, in values of the loop variable.
#[inline]
pub fn next(th: &Thread) -> Option<(u64, u64)> {
    take(th, construct::current(th)?)
}

#[inline]
fn take(th: &Thread, work: &Work) -> Option<(u64, u64)> {
    Some(work.bounds.get().to_user(take_range(th, work)?))
}

/// The thread's next chunk, in normalised iterations.
#[inline]
pub(crate) fn take_range(th: &Thread, work: &Work) -> Option<Range> {
    if tool::on() {
        return take_told(th, work);
    }
    take_quietly(th, work)
}

/// Takes the thread's next chunk, and tells the tool.
#[cold]
fn take_told(th: &Thread, work: &Work) -> Option<Range> {
    let range = take_quietly(th, work)?;
    if work.kind.get() == Handing::Sections {
        tool::events::begins_section(th);
    } else {
        let start = work.bounds.get().value(range.start);
        tool::events::begins_chunk(th, Dispatch::LoopChunk, start, range.len());
    }
    Some(range)
}

#[inline(always)]
fn take_quietly(th: &Thread, work: &Work) -> Option<Range> {
    match work.kind.get() {
        Handing::Dynamic | Handing::Sections => work.dynamic.next(),
        Handing::Guided => work.guided.next(),
        Handing::Static => take_static(th, work),
        Handing::Ours => take_ours(th, work),
        Handing::Fixed => take_fixed(th, work),
    }
}

#[inline(always)]
fn take_static(th: &Thread, work: &Work) -> Option<Range> {
    let mut cursor = th.ctx.cursor.get();
    let trip = cursor.trip;
    cursor.trip = trip + 1;
    th.ctx.cursor.set(cursor);
    let n = work.bounds.get().trip_count();
    // By the number, as compiled code divides loops of its own: two such loops have the same iterations in a thread.
    let (nthreads, number) = (u64::from(th.nthreads()), u64::from(th.number()));
    match work.chunk.get() {
        0 if trip > 0 => None,
        0 => Some(static_piece(n, nthreads, number)).filter(|r| !r.is_empty()),
        chunk => static_chunk(n, chunk, nthreads, number, trip),
    }
}

/// Takes a chunk from a schedule that knows of nodes. If this thread emulates a slow core, it first waits for
/// the time that its last chunk would have taken there. So the schedule's measurement contains this time, and
/// the next chunk is taken when a slow core would take it.
#[inline(never)]
fn take_ours(th: &Thread, work: &Work) -> Option<Range> {
    // SAFETY: the first thread wrote the field before it published the node, and no thread has written it
    // since.
    let ours = unsafe { (*work.ours.get()).as_deref() }?;
    th.leave_program(Reason::Pieces);
    let range = match ours.next(th.seat()) {
        Next::Range(range) => Some(range),
        Next::Done => None,
        Next::Last(ns) => {
            // Loops of nested regions may run at the same time, so their times must not be added.
            if ns > 0 && th.team().level() == 1 {
                // Relaxed, because the value is read after the join.
                th.team().divided_ns.fetch_add(ns, Ordering::Relaxed);
            }
            None
        }
    };
    th.is_in_loop(range.map_or(0, |_| ours.key()));
    th.enter_program(Reason::Pieces);
    range
}

/// Takes the thread's only piece of a settled loop. As with all of hetmp's own schedules, the thread's speed
/// may be emulated.
#[inline(never)]
fn take_fixed(th: &Thread, work: &Work) -> Option<Range> {
    th.leave_program(Reason::Pieces);
    let mut cursor = th.ctx.cursor.get();
    let first = cursor.trip == 0;
    cursor.trip += 1;
    th.ctx.cursor.set(cursor);
    // SAFETY: the first thread wrote the field before it published the node, and no thread has written it
    // since.
    let pieces = unsafe { &*work.pieces.get() };
    let range = pieces
        .get(th.seat().index())
        .copied()
        .filter(|r| first && !r.is_empty());
    th.enter_program(Reason::Pieces);
    range
}

/// Ends a loop with a barrier.
#[inline]
pub fn end(th: &Thread) {
    team::barrier_of(th, Sync::Workshare);
}

/// Ends a construct without a barrier.
#[inline]
pub fn end_nowait() {
    if tool::on() {
        tool::events::work_ends(Thread::current());
    }
}

/// Ends a loop that can be cancelled, with a barrier. Returns true if the region was cancelled.
#[inline]
pub fn end_cancel(th: &Thread) -> bool {
    team::barrier_of(th, Sync::Workshare)
}

/// Prepares the first construct of a region that crosses nodes, on this node, if it is a loop.
pub(crate) fn prepare_first(
    th: &Thread,
    team: &Team,
    work: &Work,
    nthreads: u32,
    first: &Construct,
) {
    if let Construct::Loop(l) = first {
        // The thread that opens another node's part has control variables of its own. Those of the region are the
        // origin's.
        let icv = if team.is_across() {
            team.shared.icv.get()
        } else {
            *th.task().icv()
        };
        let run = icv.run_sched;
        prepare_in(work, th, (team, nthreads), l, run);
    }
}

/// Opens a region whose threads start in the loop `l`. The caller runs the primary thread's part itself, and
/// then calls `placement::close`.
///
/// # Safety
/// All threads of the region may call its function with its data until `placement::close`, which the same
/// thread calls.
pub unsafe fn fork(th: &Thread, region: &Region, l: &Loop) {
    let (n, run) = (region.nthreads, th.task().icv().run_sched);
    // SAFETY: all threads may call the region's function until it is closed: this function's contract.
    unsafe {
        placement::open(
            th,
            region,
            Some(&mut |t: &Team, w: &Work| prepare_in(w, th, (t, n), l, run)),
        )
    };
}

/// Runs a region whose threads start in the loop `l`.
///
/// # Safety
/// All threads of the region may call its function with its data until this function returns.
pub unsafe fn parallel(th: &Thread, region: &Region, l: &Loop) {
    let (n, run) = (region.nthreads, th.task().icv().run_sched);
    if is_on() && !matches!(l.order, Order::Global | Order::Ordered) {
        let first = Construct::Loop(*l);
        let mut prepare = |t: &Team, w: &Work| prepare_in(w, th, (t, n), l, run);
        // SAFETY: all threads of the region may call its function until the join: this function's contract.
        unsafe {
            crate::across::parallel(th, region, Some(first), &mut || {
                placement::at_home(th, region, Some(&mut prepare))
            });
        }
        return;
    }
    // SAFETY: all threads of the region may call its function until the join: this function's contract.
    unsafe {
        placement::parallel(
            th,
            region,
            Some(&mut |t: &Team, w: &Work| prepare_in(w, th, (t, n), l, run)),
        )
    };
}
