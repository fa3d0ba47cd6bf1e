//! Making and ending teams.
//!
//! Places for results are the program's, written once each; members exchange plain words that every one writes whole. A
//! team is freed by the call that took it out of the table.

use super::handles::{resolve, valid, CHANGING, HIGH, TABLE};
use super::state::{Config, Team, TeamState, FIRST_FREE, INVALID, NUM_CONTEXTS};
use crate::check;
use crate::collective;
use crate::control::TEAMS;
use crate::world::World;
use core::ffi::{c_int, c_long};
use core::sync::atomic::Ordering;

/// Words in a set of team numbers.
const WORDS: usize = TEAMS / 64;

/// What members of the parent tell each other before they make teams.
#[repr(C)]
#[derive(Clone, Copy)]
struct Offer {
    /// 1 if this PE's arguments are good, else 0.
    good: u64,
    /// A step above all steps that were taken under numbers that are free now.
    high: u64,
    /// The numbers that are free on this PE.
    free: [u64; WORDS],
}

/// The ranks, in the parent, of a new team's members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Triplet {
    start: i64,
    stride: i64,
    size: i64,
}

impl Triplet {
    /// `None` if a rank is not in a parent of `n` PEs, or a PE would be named twice.
    fn new(start: c_int, stride: c_int, size: c_int, n: usize) -> Option<Triplet> {
        let t = Triplet {
            start: start.into(),
            stride: stride.into(),
            size: size.into(),
        };
        let within = |rank: i64| rank >= 0 && rank < n as i64;
        (t.size >= 1
            && within(t.start)
            && within(t.start + (t.size - 1) * t.stride)
            && (t.stride != 0 || t.size == 1))
            .then_some(t)
    }

    fn ranks(self) -> impl Iterator<Item = usize> {
        (0..self.size).map(move |i| (self.start + i * self.stride) as usize)
    }

    fn contains(self, rank: usize) -> bool {
        self.ranks().any(|r| r == rank)
    }
}

/// The row and the column of `rank`, if `n` PEs are laid out in rows of `width`.
fn grid(rank: usize, n: usize, width: usize) -> (Triplet, Triplet) {
    let (x, y) = (rank % width, rank / width);
    let row = Triplet {
        start: (y * width) as i64,
        stride: 1,
        size: width.min(n - y * width) as i64,
    };
    let column = Triplet {
        start: x as i64,
        stride: width as i64,
        size: (n - x).div_ceil(width) as i64,
    };
    (row, column)
}

/// The configuration that the program asks for; `None` if the mask or the value is bad.
///
/// # Safety
/// `config` is readable where `mask` is not 0.
unsafe fn wanted(config: *const Config, mask: c_long) -> Option<Config> {
    if mask == 0 {
        return Some(Config::default());
    }
    if mask != NUM_CONTEXTS || config.is_null() {
        return None;
    }
    // SAFETY: this function's contract: `config` is readable where `mask` is not 0.
    let config = unsafe { *config };
    (config.num_contexts >= 0).then_some(config)
}

/// Gives `data` to all members, and calls `with` for what each member gave, this PE's included.
fn tell_all<T: Copy>(f: &'static str, parent: &TeamState, data: &T, mut with: impl FnMut(&T)) {
    // SAFETY: plain words, which every member writes whole: all run the same program. The page is aligned for them.
    unsafe {
        let exchange = parent.exchange(f, core::ptr::from_ref(data).cast(), size_of::<T>());
        with(data);
        for rank in super::steps::others(parent.rank as usize, parent.size()) {
            with(&exchange.from(rank).cast::<T>().read_unaligned());
        }
    }
}

/// Agrees with the parent's members on the `K` lowest numbers that are free on all of them, and takes these numbers.
/// `None` if a member's arguments are bad, or there are fewer free numbers.
fn reserve<const K: usize>(
    f: &'static str,
    parent: &TeamState,
    good: bool,
) -> Option<([u32; K], u64)> {
    loop {
        let mut offer = Offer {
            good: u64::from(good),
            high: HIGH.load(Ordering::Relaxed),
            free: [0; WORDS],
        };
        for (id, place) in TABLE.iter().enumerate().skip(FIRST_FREE as usize) {
            if place.load(Ordering::Acquire).is_null() {
                offer.free[id / 64] |= 1 << (id % 64);
            }
        }
        let mut all = offer;
        tell_all(f, parent, &offer, |o| {
            all.good &= o.good;
            all.high = all.high.max(o.high);
            for (a, b) in all.free.iter_mut().zip(&o.free) {
                *a &= b;
            }
        });
        if all.good == 0 {
            return None;
        }
        let mut free =
            (0..TEAMS as u32).filter(|&id| all.free[id as usize / 64] >> (id % 64) & 1 != 0);
        let mut ids = [0; K];
        for id in &mut ids {
            *id = free.next()?;
        }
        // Meanwhile another thread may have taken the same number together with members of another team.
        let taken = take(&ids);
        let mut everywhere = true;
        tell_all(f, parent, &u64::from(taken), |&t| everywhere &= t != 0);
        if everywhere {
            return Some((ids, all.high));
        }
        if taken {
            ids.iter().for_each(|&id| give_back(id));
        }
    }
}

/// In the table: the number is taken, and there is no team yet.
const TAKEN: Team = core::ptr::without_provenance_mut(1);

fn take(ids: &[u32]) -> bool {
    let _one = CHANGING.lock();
    let places = || ids.iter().map(|&id| &TABLE[id as usize]);
    if places().any(|p| !p.load(Ordering::Relaxed).is_null()) {
        return false;
    }
    places().for_each(|p| p.store(TAKEN, Ordering::Relaxed));
    true
}

fn give_back(id: u32) {
    TABLE[id as usize].store(core::ptr::null_mut(), Ordering::Release);
}

/// Makes the team of these ranks of the parent, under a number that was reserved. Frees the number if this PE is not
/// a member.
fn make(parent: &TeamState, id: u32, ranks: Triplet, config: Config, steps: u64) -> Team {
    if !ranks.contains(parent.rank as usize) {
        give_back(id);
        return INVALID;
    }
    let world: &'static World = parent.world;
    let members: Vec<u32> = ranks.ranks().map(|r| parent.members[r].pe).collect();
    let team = Box::into_raw(Box::new(TeamState::new(world, id, &members, config, steps)));
    TABLE[id as usize].store(team, Ordering::Release);
    team
}

/// `shmem_team_split_strided`: 0 if the team was made, nonzero if no PE made one.
///
/// # Safety
/// `new` is writable, `config` readable where `mask` is not 0.
#[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
pub unsafe fn split_strided(
    f: &'static str,
    parent: Team,
    start: c_int,
    stride: c_int,
    size: c_int,
    config: *const Config,
    mask: c_long,
    new: *mut Team,
) -> c_int {
    // SAFETY: this function's contract: `new` is writable, `config` readable where `mask` is not 0.
    unsafe { *new = INVALID };
    let Some(parent) = valid(f, parent) else {
        return -1;
    };
    check::agree(
        parent,
        f,
        &[
            ("start", start as u64),
            ("stride", stride as u64),
            ("size", size as u64),
            ("configuration mask", mask as u64),
        ],
    );
    let ranks = Triplet::new(start, stride, size, parent.size());
    // SAFETY: this function's contract: `new` is writable, `config` readable where `mask` is not 0.
    let wanted = unsafe { wanted(config, mask) };
    let agreed = reserve::<1>(f, parent, ranks.is_some() && wanted.is_some());
    let (Some(([id], high)), Some(ranks), Some(config)) = (agreed, ranks, wanted) else {
        return -1;
    };
    // SAFETY: this function's contract: `new` is writable, `config` readable where `mask` is not 0.
    unsafe { *new = make(parent, id, ranks, config, high) };
    0
}

/// `shmem_team_split_2d`: 0 if both teams were made, nonzero if no PE made any.
///
/// # Safety
/// `x` and `y` are writable, configurations readable where their masks are not 0.
#[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
pub unsafe fn split_2d(
    f: &'static str,
    parent: Team,
    xrange: c_int,
    x_config: *const Config,
    x_mask: c_long,
    x: *mut Team,
    y_config: *const Config,
    y_mask: c_long,
    y: *mut Team,
) -> c_int {
    // SAFETY: this function's contract: `x` and `y` are writable, configurations readable where their masks are
    // not 0.
    unsafe {
        *x = INVALID;
        *y = INVALID;
    }
    let Some(parent) = valid(f, parent) else {
        return -1;
    };
    check::agree(
        parent,
        f,
        &[
            ("xrange", xrange as u64),
            ("x-axis configuration mask", x_mask as u64),
            ("y-axis configuration mask", y_mask as u64),
        ],
    );
    // SAFETY: this function's contract: `x` and `y` are writable, configurations readable where their masks are
    // not 0.
    let (wanted_x, wanted_y) = unsafe { (wanted(x_config, x_mask), wanted(y_config, y_mask)) };
    let good = xrange >= 1 && wanted_x.is_some() && wanted_y.is_some();
    let agreed = reserve::<2>(f, parent, good);
    let (Some(([a, b], high)), Some(x_config), Some(y_config)) = (agreed, wanted_x, wanted_y)
    else {
        return -1;
    };
    let width = (xrange as usize).min(parent.size());
    let (row, column) = grid(parent.rank as usize, parent.size(), width);
    // SAFETY: this function's contract: `x` and `y` are writable, configurations readable where their masks are
    // not 0.
    unsafe {
        *x = make(parent, a, row, x_config, high);
        *y = make(parent, b, column, y_config, high);
    }
    0
}

/// `shmem_team_destroy`: a collective of the team. No effect for `SHMEM_TEAM_INVALID`.
pub fn destroy(f: &'static str, team: Team) {
    if valid(f, team).is_none() {
        return;
    }
    let t = resolve(f, team);
    if t.id < FIRST_FREE {
        crate::fail::die(
            f,
            format_args!(
                "PE {}: team {}: cannot be destroyed (expected one that a split made)",
                t.world.me,
                if t.id == 0 {
                    "SHMEM_TEAM_WORLD"
                } else {
                    "SHMEM_TEAM_SHARED"
                }
            ),
        );
    }
    crate::context::destroy_of_team(f, team);
    // After this sync no member writes to cells of this team any more: everything told before was waited for.
    collective::sync(f, t);
    end(t.id);
}

/// Ends all teams but the predefined ones. Comes after a barrier of all PEs.
pub(crate) fn end_all() {
    for id in FIRST_FREE..TEAMS as u32 {
        end(id);
    }
}

fn end(id: u32) {
    let _one = CHANGING.lock();
    let team = TABLE[id as usize].load(Ordering::Acquire);
    if team.is_null() || team == TAKEN {
        return;
    }
    // SAFETY: `make` made it, and it was taken out of the table once, under the lock.
    let team = unsafe { Box::from_raw(team) };
    HIGH.fetch_max(team.steps(), Ordering::Relaxed);
    give_back(id);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triplets_stay_within_the_parent() {
        let t = |a, b, c| Triplet::new(a, b, c, 6).map(|t| t.ranks().collect::<Vec<_>>());
        assert_eq!(t(0, 1, 6), Some(vec![0, 1, 2, 3, 4, 5]));
        assert_eq!(t(1, 2, 3), Some(vec![1, 3, 5]));
        assert_eq!(t(5, -2, 3), Some(vec![5, 3, 1]));
        assert_eq!(t(4, 0, 1), Some(vec![4]));
        for bad in [
            (1, 2, 4),
            (-1, 1, 2),
            (6, 1, 1),
            (0, 0, 2),
            (0, 1, 0),
            (0, 1, -1),
            (1, -1, 3),
            (0, c_int::MAX, c_int::MAX),
        ] {
            assert_eq!(t(bad.0, bad.1, bad.2), None, "{bad:?}");
        }
    }

    #[test]
    fn rows_and_columns_cover_everybody_once() {
        for n in 1..20 {
            for width in 1..=n {
                for rank in 0..n {
                    let (row, column) = grid(rank, n, width);
                    assert!(row.contains(rank) && column.contains(rank));
                    let common: Vec<_> = row.ranks().filter(|&r| column.contains(r)).collect();
                    assert_eq!(common, [rank]);
                    assert!(row.ranks().chain(column.ranks()).all(|r| r < n));
                    for peer in row.ranks() {
                        assert_eq!(grid(peer, n, width).0, row);
                    }
                    for peer in column.ranks() {
                        assert_eq!(grid(peer, n, width).1, column);
                    }
                }
            }
        }
    }
}
