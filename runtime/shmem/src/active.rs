//! The deprecated collectives of active sets (specification 1.5, section 9.11 and its deprecated forms).
//!
//! The library keeps no state of such a set. Its members count in the `pSync` array that the program gives: a member
//! adds 1 to a word of a peer's array; the peer waits until the word has reached the number that it expects, and
//! subtracts that number. When all members have returned, the array is zero again. A barrier may even use the array
//! again at once: a count from a peer that is one call ahead stays in the word for the next call.
//!
//! The set of all PEs, which is the usual one, does not use `pSync`. It has a [team](crate::team) of its own, and
//! uses its cells.

use crate::check;
use crate::collective::algorithms;
use crate::collective::combine::{Reduction, Type};
use crate::collective::group::{Group, Place};
use crate::collective::reduce as reductions;
use crate::collective::rounds::{self, Tell, PHASES};
use crate::collective::{root_rank, strides, total, work};
use crate::context;
use crate::fail;
use crate::link;
use crate::team::handles;
use crate::team::state::{TeamState, ACTIVE_ID};
use crate::team::steps::await_flag;
use crate::world::{self, World};
use core::ffi::{c_int, c_long};
use core::sync::atomic::{AtomicU64, Ordering};

/// An active set, as the program gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set {
    /// `PE_start`.
    pub start: c_int,
    /// `logPE_stride`.
    pub log_stride: c_int,
    /// `PE_size`.
    pub size: c_int,
}

/// Words of a `pSync` array: `SHMEM_*_SYNC_SIZE`. The first [`PHASES`] are counts of phases.
const WORDS: usize = 64;
/// The word in which a member tells the next one the sum of all contributions before it, plus 1.
const CHAIN: usize = 40;

const _: () = assert!((PHASES as usize) < CHAIN && CHAIN < WORDS);

/// The members that take part in a call.
enum Members {
    /// All PEs.
    All(&'static TeamState),
    /// A part of the PEs, with the program's array.
    Some(Active),
}

/// A set that is not all PEs, during one call.
struct Active {
    /// The function that the program called.
    f: &'static str,
    world: &'static World,
    start: u32,
    stride: u32,
    size: u32,
    rank: u32,
    psync: Place,
    direct: bool,
}

/// The rank in the set of PE `me`; `None` if `me` is not a member, an error if the set does not fit into a world of
/// `n` PEs.
fn rank_in(set: Set, me: u32, n: u32) -> Option<Result<u32, &'static str>> {
    let (start, size) = (
        u32::try_from(set.start).ok()?,
        u32::try_from(set.size).ok()?,
    );
    let stride = 1u32.checked_shl(u32::try_from(set.log_stride).ok()?)?;
    let last = u64::from(start) + u64::from(size.checked_sub(1)?) * u64::from(stride);
    if last >= u64::from(n) {
        return None;
    }
    let Some(distance) = me.checked_sub(start) else {
        return Some(Err("before"));
    };
    let rank = distance / stride;
    Some(if distance % stride == 0 && rank < size {
        Ok(rank)
    } else {
        Err("between or behind")
    })
}

#[cold]
fn bad_set(f: &'static str, world: &World, set: Set, what: &str) -> ! {
    fail::die(
        f,
        format_args!(
            "PE {}: active set of {} PEs from {} with log stride {}: not in the job (expected {what})",
            world.me, set.size, set.start, set.log_stride
        ),
    )
}

fn members(f: &'static str, set: Set, psync: *mut c_long) -> Members {
    let world = world::need(f);
    if world.settings.check {
        check_psync(f, world, psync);
    }
    if set.start == 0 && set.size as u32 == world.n && (set.log_stride == 0 || set.size == 1) {
        return Members::All(handles::predefined(f, ACTIVE_ID));
    }
    let rank = match rank_in(set, world.me, world.n) {
        Some(Ok(rank)) => rank,
        Some(Err(_)) => bad_set(f, world, set, "a set that has the calling PE as a member"),
        None => bad_set(
            f,
            world,
            set,
            &format!("a set of at least one PE within 0 to {}", world.n - 1),
        ),
    };
    let mut active = Active {
        f,
        world,
        start: set.start as u32,
        stride: 1 << set.log_stride,
        size: set.size as u32,
        rank,
        psync: Place::new(f, world, psync.cast(), WORDS * size_of::<c_long>()),
        direct: false,
    };
    active.direct = (0..active.size()).all(|rank| !active.base(rank).is_null());
    Members::Some(active)
}

/// Under `HETMP_CHECK`: ends the job if the array is not symmetric, or cannot have been zero before the call.
#[cold]
fn check_psync(f: &'static str, world: &World, psync: *mut c_long) {
    let bytes = WORDS * size_of::<c_long>();
    if psync as usize % align_of::<c_long>() != 0 || world.offset(psync as usize, bytes).is_none() {
        fail::bad_address(f, psync as usize, bytes, world.me as c_int);
    }
    for i in 0..WORDS {
        // SAFETY: within symmetric memory; peers may be counting in it.
        let value = unsafe { AtomicU64::from_ptr(psync.add(i).cast()) }.load(Ordering::Relaxed);
        let most = if i == CHAIN {
            i64::MAX as u64
        } else {
            2 * u64::from(world.n)
        };
        if value > most {
            fail::die(
                f,
                format_args!(
                    "PE {}: pSync[{i}] {}: not initialised (expected SHMEM_SYNC_VALUE, 0)",
                    world.me, value as i64
                ),
            );
        }
    }
}

impl Active {
    /// This PE's word.
    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: the word lies within the array and is aligned, and during the call all PEs access it as an atomic.
        unsafe { AtomicU64::from_ptr(self.psync.at.cast::<u64>().add(index)) }
    }

    fn await_count(&self, phase: u32, count: u64) {
        let word = self.word(phase as usize);
        await_flag(self.f, self.world, self.direct, word, count);
        word.fetch_sub(count, Ordering::Relaxed);
    }
}

impl Tell for Active {
    fn rank(&self) -> usize {
        self.rank as usize
    }
    fn size(&self) -> usize {
        self.size as usize
    }
    fn tell(&self, phase: u32, rank: usize) {
        let offset = self.psync.offset + u64::from(phase) * size_of::<u64>() as u64;
        // SAFETY: a word of the peer's array, which has the same offset in every segment.
        unsafe { link::add(self.world, self.pe(rank), offset, 1) };
    }
    fn await_from(&self, phase: u32, _rank: usize) {
        self.await_count(phase, 1);
    }
    fn await_all(&self, phase: u32) {
        if self.size > 1 {
            self.await_count(phase, u64::from(self.size) - 1);
        }
    }
    fn by_stores(&self) -> bool {
        self.direct
    }
}

impl Group for Active {
    fn world(&self) -> &'static World {
        self.world
    }
    fn pe(&self, rank: usize) -> u32 {
        self.start + rank as u32 * self.stride
    }
    fn base(&self, rank: usize) -> *mut u8 {
        link::reach(self.world, self.pe(rank))
    }
    fn direct(&self) -> bool {
        self.direct
    }
    fn prefix(&self, mine: u64) -> u64 {
        let mut before = 0;
        if self.rank > 0 {
            let word = self.word(CHAIN);
            await_flag(self.f, self.world, self.direct, word, 1);
            before = word.swap(0, Ordering::AcqRel) - 1;
        }
        if self.rank + 1 < self.size {
            let offset = self.psync.offset + (CHAIN * size_of::<u64>()) as u64;
            let next = self.pe(self.rank() + 1);
            // SAFETY: a word of the peer's array, which has the same offset in every segment.
            unsafe { link::tell(self.world, next, offset, before + mine + 1) };
        }
        before
    }
}

/// Runs an algorithm for the members of either kind.
macro_rules! among {
    ($f:expr, $members:expr, $g:ident => $run:expr) => {
        match $members {
            Members::All(team) => {
                let $g = &team.begin($f, PHASES);
                $run
            }
            Members::Some(active) => {
                let $g = active;
                $run
            }
        }
    };
}

impl Members {
    fn world(&self) -> &'static World {
        match self {
            Members::All(team) => team.world,
            Members::Some(active) => active.world,
        }
    }

    fn size(&self) -> usize {
        match self {
            Members::All(team) => team.size(),
            Members::Some(active) => active.size(),
        }
    }

    /// Makes the checks of `HETMP_CHECK`. For a set that is not all PEs they see this PE's arguments only.
    fn check(&self, f: &'static str, buffers: check::Buffers, items: &[(&'static str, u64)]) {
        if !self.world().settings.check {
            return;
        }
        match self {
            Members::All(team) => check::call(team, f, buffers, items),
            Members::Some(_) => check::arrays(f, buffers),
        }
    }
}

/// `shmem_barrier`: quiet, then waits until all members have called it.
///
/// # Safety
/// The C function's contract: `psync` is zero before the first call, and used for nothing else meanwhile.
pub unsafe fn barrier(f: &'static str, set: Set, psync: *mut c_long) {
    if !world::is_direct() {
        context::quiet_all(f);
    }
    // SAFETY: the C function's contract, which the program keeps: `psync` is zero before the first call and used
    // for nothing else meanwhile.
    unsafe { sync(f, set, psync) };
}

/// `shmem_sync` of an active set: waits until all members have called it.
///
/// # Safety
/// As [`barrier`].
pub unsafe fn sync(f: &'static str, set: Set, psync: *mut c_long) {
    let members = members(f, set, psync);
    if let Members::All(team) = &members {
        check::agree(team, f, &[]);
    }
    among!(f, &members, g => rounds::sync(g));
}

/// `shmem_broadcast32` and `64`: copies to `dest` of every member but the root. `root` is a rank in the set.
///
/// # Safety
/// As [`barrier`]; `dest` and `source` hold `bytes`, and the program orders its accesses.
#[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
pub unsafe fn broadcast(
    f: &'static str,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    root: c_int,
    set: Set,
    psync: *mut c_long,
) {
    let members = members(f, set, psync);
    let root = root_rank(f, root, members.size());
    let buffers = check::Buffers::apart_or_same(dest, bytes, source, bytes);
    let items = [("bytes", bytes as u64), ("root", root as u64)];
    match &members {
        Members::All(team) => check::broadcast(team, f, buffers, &items, root),
        Members::Some(_) => members.check(f, buffers, &items),
    }
    if bytes == 0 {
        return;
    }
    let dest = Place::new(f, members.world(), dest, bytes);
    let source = Place::new(f, members.world(), source, bytes);
    // SAFETY: the C function's contract, which the program keeps: `psync` is zero before the first call and used
    // for nothing else meanwhile. `dest` and `source` hold `bytes`, and the program orders its accesses.
    unsafe { among!(f, &members, g => algorithms::broadcast(g, dest, source, bytes, root)) };
}

/// `shmem_collect32` and `64`; this PE contributes `bytes`.
///
/// # Safety
/// As [`broadcast`]; `dest` has room for all contributions.
pub unsafe fn collect(
    f: &'static str,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    set: Set,
    psync: *mut c_long,
) {
    let members = members(f, set, psync);
    members.check(f, check::Buffers::apart(dest, bytes, source, bytes), &[]);
    let world = members.world();
    let place = |all| Place::new(f, world, dest, all);
    // SAFETY: the C function's contract, which the program keeps: `psync` is zero before the first call and used
    // for nothing else meanwhile. `dest` and `source` hold `bytes`, and the program orders its accesses. `dest`
    // holds everybody's.
    unsafe { among!(f, &members, g => algorithms::collect(g, place, source, bytes)) };
}

/// `shmem_fcollect32` and `64`; each PE contributes `bytes`.
///
/// # Safety
/// As [`collect`].
pub unsafe fn fcollect(
    f: &'static str,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    set: Set,
    psync: *mut c_long,
) {
    let members = members(f, set, psync);
    let all = total(f, bytes, members.size());
    members.check(
        f,
        check::Buffers::apart(dest, all, source, bytes),
        &[("bytes", bytes as u64)],
    );
    if bytes == 0 {
        return;
    }
    let dest = Place::new(f, members.world(), dest, all);
    let source = Place::new(f, members.world(), source, bytes);
    // SAFETY: the C function's contract, which the program keeps: `psync` is zero before the first call and used
    // for nothing else meanwhile. `dest` and `source` hold `bytes`, and the program orders its accesses. `dest`
    // holds everybody's.
    unsafe { among!(f, &members, g => algorithms::fcollect(g, dest, source, bytes)) };
}

/// `shmem_alltoall32` and `64`; each PE sends `bytes` to each PE.
///
/// # Safety
/// As [`broadcast`], with `bytes` for each PE.
pub unsafe fn alltoall(
    f: &'static str,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    set: Set,
    psync: *mut c_long,
) {
    let members = members(f, set, psync);
    let all = total(f, bytes, members.size());
    members.check(
        f,
        check::Buffers::apart(dest, all, source, all),
        &[("bytes", bytes as u64)],
    );
    if bytes == 0 {
        return;
    }
    let dest = Place::new(f, members.world(), dest, all);
    let source = Place::new(f, members.world(), source, all);
    // SAFETY: the C function's contract, which the program keeps: `psync` is zero before the first call and used
    // for nothing else meanwhile. `dest` and `source` hold `bytes`, and the program orders its accesses. Each is
    // of `bytes` for each PE.
    unsafe { among!(f, &members, g => algorithms::alltoall(g, dest, source, bytes)) };
}

/// `shmem_alltoalls32` and `64`. Strides count elements of `elem` bytes; each PE sends `nelems` elements to each PE.
///
/// # Safety
/// As [`alltoall`], for all elements that the strides reach.
#[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
pub unsafe fn alltoalls(
    f: &'static str,
    dest: *mut u8,
    source: *const u8,
    dst: isize,
    sst: isize,
    elem: usize,
    nelems: usize,
    set: Set,
    psync: *mut c_long,
) {
    let members = members(f, set, psync);
    let s = strides(f, dst, sst, elem, nelems);
    if nelems == 0 {
        return;
    }
    let span = s.span(s.dest, members.size());
    members.check(
        f,
        check::Buffers::apart(dest, span, source, s.span(s.source, members.size())),
        &[
            ("elements", nelems as u64),
            ("dst", dst as u64),
            ("sst", sst as u64),
        ],
    );
    let dest = Place::new(f, members.world(), dest, span);
    // SAFETY: the C function's contract, which the program keeps: `psync` is zero before the first call and used
    // for nothing else meanwhile. `dest` and `source` hold `bytes`, and the program orders its accesses. Each is
    // of `bytes` for each PE. That is as many as the strides reach.
    unsafe { among!(f, &members, g => algorithms::alltoalls(g, dest, source, s)) };
}

/// The `shmem_*_to_all` reductions. `dest` may be `source`. `pWrk` is not used.
///
/// # Safety
/// As [`broadcast`], for `nelems` elements.
#[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
pub unsafe fn reduce(
    f: &'static str,
    op: Reduction,
    t: Type,
    dest: *mut u8,
    source: *const u8,
    nelems: c_int,
    set: Set,
    _pwrk: *mut u8,
    psync: *mut c_long,
) {
    let members = members(f, set, psync);
    let Ok(n) = usize::try_from(nelems) else {
        fail::die(
            f,
            format_args!(
                "PE {}: {nelems} elements: below 0 (expected 0 or more)",
                members.world().me
            ),
        )
    };
    let w = work(f, op, t, n);
    let bytes = w.bytes();
    members.check(
        f,
        check::Buffers::apart_or_same(dest, bytes, source, bytes),
        &[("elements", n as u64)],
    );
    if n == 0 {
        return;
    }
    let dest = Place::new(f, members.world(), dest, bytes);
    let source = Place::new(f, members.world(), source, bytes);
    // SAFETY: the C function's contract, which the program keeps: `psync` is zero before the first call and used
    // for nothing else meanwhile. `dest` and `source` hold `bytes`, and the program orders its accesses. That is
    // `nelems` elements.
    unsafe {
        match &members {
            Members::All(team) => reductions::reduce(f, team, w, dest, source),
            Members::Some(active) => reductions::sliced(active, w, dest, source),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_name_their_members() {
        let set = |start, log_stride, size| Set {
            start,
            log_stride,
            size,
        };
        assert_eq!(rank_in(set(0, 0, 4), 3, 4), Some(Ok(3)));
        assert_eq!(rank_in(set(1, 1, 3), 5, 6), Some(Ok(2)));
        assert_eq!(rank_in(set(1, 1, 2), 5, 6), Some(Err("between or behind")));
        assert_eq!(rank_in(set(1, 1, 2), 2, 6), Some(Err("between or behind")));
        assert_eq!(rank_in(set(1, 1, 2), 0, 6), Some(Err("before")));
        for bad in [
            set(0, 0, 7),
            set(-1, 0, 1),
            set(0, -1, 1),
            set(0, 32, 1),
            set(0, 0, 0),
            set(0, 0, -2),
            set(3, 1, 3),
            set(1, 31, c_int::MAX),
        ] {
            assert_eq!(rank_in(bad, 0, 6), None, "{bad:?}");
        }
    }
}
