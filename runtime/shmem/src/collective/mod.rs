//! Collective operations of teams (specification 1.5, section 9.11; scans: 1.6).
//!
//! The functions here take the C arguments. `algorithms` and `reduce` move and combine the data, for teams and for
//! [active sets](crate::active).

pub(crate) mod algorithms;
pub(crate) mod combine;
pub(crate) mod group;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod long_double;
pub(crate) mod reduce;
pub(crate) mod rounds;

pub use combine::{Reduction, Type};

use crate::check;
use crate::context;
use crate::fail;
use crate::queue;
use crate::team::handles;
use crate::team::state::{Team, TeamState, WORLD_ID};
use crate::world;
use algorithms::Strides;
use core::ffi::c_int;
use group::Place;
use reduce::{Scan, Work};
use rounds::PHASES;

/// Under `HETMP_CHECK`: ends the job if PEs pass different values to a collective of all PEs.
pub(crate) fn same(f: &'static str, what: &'static str, value: u64) {
    check::agree(handles::predefined(f, WORLD_ID), f, &[(what, value)]);
}

/// Waits until all members of a team have called it.
#[inline(always)]
pub(crate) fn sync(f: &'static str, team: &TeamState) {
    check::agree(team, f, &[]);
    rounds::sync(&team.begin(f, PHASES));
}

/// `shmem_barrier_all`: quiet, then waits until all PEs have called it.
#[inline]
pub fn barrier_all(f: &'static str) {
    let team = handles::predefined(f, WORLD_ID);
    // On the direct way every operation was done when its call returned, and the barrier's flags come after it.
    if !world::is_direct() {
        context::quiet_all(f);
    }
    sync(f, team);
    if !world::is_direct() {
        met(f);
    }
}

/// Called after a barrier of all PEs: the checker of the modelled memory may forget earlier writes.
#[cold]
fn met(f: &'static str) {
    queue::met(world::need(f));
}

/// `shmem_sync_all`: waits until all PEs have called it.
#[inline]
pub fn sync_all(f: &'static str) {
    sync(f, handles::predefined(f, WORLD_ID));
}

/// `shmem_team_sync`: returns 0 when all members have called it; nonzero for `SHMEM_TEAM_INVALID`.
pub fn team_sync(f: &'static str, team: Team) -> c_int {
    let Some(t) = handles::valid(f, team) else {
        return -1;
    };
    sync(f, t);
    0
}

/// The root's rank. Ends the job if there is no such member.
#[inline(always)]
pub(crate) fn root_rank(f: &'static str, root: c_int, size: usize) -> usize {
    if root < 0 || root as usize >= size {
        bad_root(f, root, size);
    }
    root as usize
}

#[cold]
fn bad_root(f: &'static str, root: c_int, size: usize) -> ! {
    let me = world::need(f).me;
    fail::die(
        f,
        format_args!(
            "PE {me}: root {root}: out of range (expected 0 to {})",
            size - 1
        ),
    )
}

/// `bytes` times the `size` of the team. Ends the job if the product is too large.
#[inline(always)]
pub(crate) fn total(f: &'static str, bytes: usize, size: usize) -> usize {
    match bytes.checked_mul(size) {
        Some(total) => total,
        None => {
            let me = world::need(f).me;
            fail::die(
                f,
                format_args!("PE {me}: {bytes} bytes of each of {size} PEs: too much (expected a size that fits into \
                    memory)"),
            )
        }
    }
}

/// The bytes of `n` elements of `elem` bytes. Ends the job if the product is too large.
#[inline(always)]
fn array(f: &'static str, n: usize, elem: usize) -> usize {
    match n.checked_mul(elem) {
        Some(bytes) => bytes,
        None => {
            let me = world::need(f).me;
            fail::die(
                f,
                format_args!("PE {me}: {n} elements of {elem} bytes: too much (expected an array that fits into \
                    memory)"),
            )
        }
    }
}

/// The strides of an alltoalls. Ends the job if they are not accepted.
pub(crate) fn strides(
    f: &'static str,
    dst: isize,
    sst: isize,
    elem: usize,
    nelems: usize,
) -> Strides {
    if dst < 1 || sst < 1 {
        let me = world::need(f).me;
        fail::die(
            f,
            format_args!("PE {me}: strides {dst} and {sst}: below 1 (expected 1 or more)"),
        );
    }
    Strides {
        dest: dst as usize,
        source: sst as usize,
        elem,
        count: nelems,
    }
}

/// The work of a reduction. Ends the job if it is not accepted.
#[inline(always)]
pub(crate) fn work(f: &'static str, op: Reduction, t: Type, n: usize) -> Work {
    match combine::combine(op, t) {
        Some(combine) => Work {
            combine,
            elem: t.size(),
            n,
        },
        None => {
            let me = world::need(f).me;
            fail::die(
                f,
                format_args!(
                    "PE {me}: {op:?} of {t:?}: not defined (expected an operation of C on this machine)"
                ),
            )
        }
    }
}

/// Team form of `shmem_broadcast`. Returns 0.
///
/// # Safety
/// The C function's contract: `dest` and `source` are symmetric, hold `bytes`, and nobody uses them otherwise
/// meanwhile.
pub unsafe fn broadcast(
    f: &'static str,
    team: Team,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    root: c_int,
) -> c_int {
    let team = handles::resolve(f, team);
    let root = root_rank(f, root, team.size());
    check::broadcast(
        team,
        f,
        check::Buffers::apart_or_same(dest, bytes, source, bytes),
        &[("bytes", bytes as u64), ("root", root as u64)],
        root,
    );
    if bytes == 0 {
        return 0;
    }
    let dest = Place::new(f, team.world, dest, bytes);
    let from = Place::new(f, team.world, source, bytes);
    // SAFETY: the C function's contract, which the program keeps: `dest` and `source` are symmetric, hold `bytes`,
    // and nobody uses them otherwise meanwhile.
    unsafe {
        algorithms::broadcast(&team.begin(f, PHASES), dest, from, bytes, root);
        if root == team.rank as usize {
            core::ptr::copy(source, dest.at, bytes);
        }
    }
    0
}

/// Team form of `shmem_collect`. This PE contributes `bytes`. Returns 0.
///
/// # Safety
/// As [`broadcast`]; `dest` has room for all contributions.
pub unsafe fn collect(
    f: &'static str,
    team: Team,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
) -> c_int {
    let team = handles::resolve(f, team);
    check::call(
        team,
        f,
        check::Buffers::apart(dest, bytes, source, bytes),
        &[],
    );
    // SAFETY: the C function's contract, which the program keeps: `dest` and `source` are symmetric, hold `bytes`,
    // and nobody uses them otherwise meanwhile. `dest` holds everybody's.
    unsafe {
        algorithms::collect(
            &team.begin(f, PHASES),
            |all| Place::new(f, team.world, dest, all),
            source,
            bytes,
        );
    }
    0
}

/// Team form of `shmem_fcollect`. Each PE contributes `bytes`. Returns 0.
///
/// # Safety
/// As [`collect`].
pub unsafe fn fcollect(
    f: &'static str,
    team: Team,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
) -> c_int {
    let team = handles::resolve(f, team);
    let all = total(f, bytes, team.size());
    check::call(
        team,
        f,
        check::Buffers::apart(dest, all, source, bytes),
        &[("bytes", bytes as u64)],
    );
    if bytes == 0 {
        return 0;
    }
    let dest = Place::new(f, team.world, dest, all);
    let source = Place::new(f, team.world, source, bytes);
    // SAFETY: the C function's contract, which the program keeps: `dest` and `source` are symmetric, hold `bytes`,
    // and nobody uses them otherwise meanwhile. `dest` holds everybody's.
    unsafe { algorithms::fcollect(&team.begin(f, PHASES), dest, source, bytes) };
    0
}

/// Team form of `shmem_alltoall`. Each PE sends `bytes` to each PE. Returns 0.
///
/// # Safety
/// As [`broadcast`], with `bytes` for each PE.
pub unsafe fn alltoall(
    f: &'static str,
    team: Team,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
) -> c_int {
    let team = handles::resolve(f, team);
    let all = total(f, bytes, team.size());
    check::call(
        team,
        f,
        check::Buffers::apart(dest, all, source, all),
        &[("bytes", bytes as u64)],
    );
    if bytes == 0 {
        return 0;
    }
    let dest = Place::new(f, team.world, dest, all);
    let source = Place::new(f, team.world, source, all);
    // SAFETY: the C function's contract, which the program keeps: `dest` and `source` are symmetric, hold `bytes`,
    // and nobody uses them otherwise meanwhile. Each is of `bytes` for each PE.
    unsafe { algorithms::alltoall(&team.begin(f, PHASES), dest, source, bytes) };
    0
}

/// Team form of `shmem_alltoalls`. Strides count elements of `elem` bytes; each PE sends `nelems` to each PE. Returns
/// 0.
///
/// # Safety
/// As [`alltoall`], for all elements that the strides reach.
#[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
pub unsafe fn alltoalls(
    f: &'static str,
    team: Team,
    dest: *mut u8,
    source: *const u8,
    dst: isize,
    sst: isize,
    elem: usize,
    nelems: usize,
) -> c_int {
    let team = handles::resolve(f, team);
    let s = strides(f, dst, sst, elem, nelems);
    let items = [
        ("elements", nelems as u64),
        ("dst", dst as u64),
        ("sst", sst as u64),
    ];
    if nelems == 0 {
        check::agree(team, f, &items);
        return 0;
    }
    let span = s.span(s.dest, team.size());
    check::call(
        team,
        f,
        check::Buffers::apart(dest, span, source, s.span(s.source, team.size())),
        &items,
    );
    let dest = Place::new(f, team.world, dest, span);
    // SAFETY: the C function's contract, which the program keeps: `dest` and `source` are symmetric, hold `bytes`,
    // and nobody uses them otherwise meanwhile. Each is of `bytes` for each PE. That is as many as the strides
    // reach.
    unsafe { algorithms::alltoalls(&team.begin(f, PHASES), dest, source, s) };
    0
}

/// Team form of a reduction. `dest` may be `source`. Returns 0.
///
/// # Safety
/// As [`broadcast`], for `nelems` elements.
pub unsafe fn reduce(
    f: &'static str,
    team: Team,
    op: Reduction,
    t: Type,
    dest: *mut u8,
    source: *const u8,
    nelems: usize,
) -> c_int {
    let team = handles::resolve(f, team);
    let w = work(f, op, t, nelems);
    let bytes = array(f, nelems, w.elem);
    check::call(
        team,
        f,
        check::Buffers::apart_or_same(dest, bytes, source, bytes),
        &[("elements", nelems as u64)],
    );
    if nelems == 0 {
        return 0;
    }
    let dest = Place::new(f, team.world, dest, bytes);
    let source = Place::new(f, team.world, source, bytes);
    // SAFETY: the C function's contract, which the program keeps: `dest` and `source` are symmetric, hold `bytes`,
    // and nobody uses them otherwise meanwhile. That is `nelems` elements.
    unsafe { reduce::reduce(f, team, w, dest, source) };
    0
}

#[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
unsafe fn scan(
    f: &'static str,
    team: Team,
    op: Reduction,
    t: Type,
    dest: *mut u8,
    source: *const u8,
    nelems: usize,
    kind: Scan,
) -> c_int {
    let team = handles::resolve(f, team);
    let w = work(f, op, t, nelems);
    let bytes = array(f, nelems, w.elem);
    check::call(
        team,
        f,
        check::Buffers::apart_or_same(dest, bytes, source, bytes),
        &[("elements", nelems as u64)],
    );
    if nelems == 0 {
        return 0;
    }
    let dest = Place::new(f, team.world, dest, bytes);
    let source = Place::new(f, team.world, source, bytes);
    // SAFETY: the C function's contract, which the program keeps: `dest` and `source` are symmetric, hold `nelems`
    // elements, and nobody uses them otherwise meanwhile.
    unsafe { reduce::scan(f, team, w, dest, source, kind) };
    0
}

/// Inclusive scan (1.6): a [`reduce`] over the members up to this one. Returns 0.
///
/// # Safety
/// As [`reduce`].
pub unsafe fn inscan(
    f: &'static str,
    team: Team,
    op: Reduction,
    t: Type,
    dest: *mut u8,
    source: *const u8,
    nelems: usize,
) -> c_int {
    // SAFETY: the C function's contract, which the program keeps: `dest` and `source` are symmetric, hold `bytes`,
    // and nobody uses them otherwise meanwhile. That is `nelems` elements.
    unsafe { scan(f, team, op, t, dest, source, nelems, Scan::Inclusive) }
}

/// Exclusive scan (1.6): a [`reduce`] over the members before this one; the first member gets zeros. Returns 0.
///
/// # Safety
/// As [`reduce`].
pub unsafe fn exscan(
    f: &'static str,
    team: Team,
    op: Reduction,
    t: Type,
    dest: *mut u8,
    source: *const u8,
    nelems: usize,
) -> c_int {
    // SAFETY: the C function's contract, which the program keeps: `dest` and `source` are symmetric, hold `bytes`,
    // and nobody uses them otherwise meanwhile. That is `nelems` elements.
    unsafe { scan(f, team, op, t, dest, source, nelems, Scan::Exclusive) }
}
