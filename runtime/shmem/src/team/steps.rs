//! How the members of a team tell each other: steps, and exchanges of small contributions.
//!
//! A team counts its steps, and every member takes the same steps. A member tells another by writing the step's
//! number into its own cell in the other's segment. So a flag is never reset, and a member that runs ahead only
//! writes a larger number.
//!
//! An *exchange* is a step at which each member gives bytes to all others. They lie next to their flag, or in a page.
//! There are two of each, used alternately. This is safe: a member writes the same place again two exchanges later.
//! Before that it has finished the exchange in between, so that all members have begun that one, and have finished
//! this one.

use super::state::TeamState;
use crate::control::{self, Line, SMALL};
use crate::link;
use crate::wait;
use crate::world::World;
use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_core::handover::HandOvers;
use hetmp_core::park::{give_core, Policy};
use hetmp_core::sync::pause;

/// How often a PE looks at a flag before it gives its core away, if there is a core for every PE: some 5 us.
const LOOKS: u32 = 200;
/// The first of [`LOOKS`], which have no pause between them.
const QUICK: u32 = 64;
/// How often a PE gives its core away before it waits in the general way. The awaited PE may be queued on this very
/// core: always where PEs outnumber cores, sometimes where the system has put two PEs on one core.
const YIELDS: u32 = 64;

/// Waits until `flag` is at least `value`. `direct`: PEs of this machine write it by stores.
#[inline(always)]
pub(crate) fn await_flag(
    f: &'static str,
    world: &'static World,
    direct: bool,
    flag: &AtomicU64,
    value: u64,
) {
    if flag.load(Ordering::Acquire) < value {
        await_longer(f, world, direct, flag, value);
    }
}

#[inline(never)]
fn await_longer(
    f: &'static str,
    world: &'static World,
    direct: bool,
    flag: &AtomicU64,
    value: u64,
) {
    if direct {
        // Where PEs outnumber cores, the awaited PE can only run after this one has given its core away.
        let crowded = Policy::oversubscribed();
        if !crowded {
            for i in 0..LOOKS {
                if flag.load(Ordering::Acquire) >= value {
                    HAND_OVERS.kept();
                    return;
                }
                if i >= QUICK {
                    pause();
                }
            }
        }
        for _ in 0..YIELDS {
            let gave = give_core();
            if flag.load(Ordering::Acquire) >= value {
                if !crowded {
                    HAND_OVERS.gave(world.me);
                }
                return;
            }
            if !gave {
                break;
            }
        }
    }
    wait::until_true(f, world, &mut || flag.load(Ordering::Acquire) >= value);
}

/// How recent waits have ended, in jobs with a core for every PE.
static HAND_OVERS: HandOvers = HandOvers::new();

/// The steps of one collective of a team.
#[derive(Clone, Copy)]
pub(crate) struct Step<'a> {
    pub(crate) team: &'a TeamState,
    /// The function that the program called.
    pub(crate) f: &'static str,
    first: u64,
}

impl TeamState {
    /// Takes the next `count` steps, for the function `f`.
    #[inline(always)]
    pub(crate) fn begin(&self, f: &'static str, count: u32) -> Step<'_> {
        let first = self.steps.load(Ordering::Relaxed) + 1;
        self.steps
            .store(first - 1 + u64::from(count), Ordering::Relaxed);
        Step {
            team: self,
            f,
            first,
        }
    }

    /// The last step that was taken.
    pub(super) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Gives the `bytes` bytes at `data` (at most a page) to every member.
    ///
    /// # Safety
    /// `data` is readable.
    #[inline]
    pub(crate) unsafe fn exchange(
        &self,
        f: &'static str,
        data: *const u8,
        bytes: usize,
    ) -> Exchange<'_> {
        debug_assert!(bytes <= control::PAGE_BYTES);
        let step = self.begin(f, 1).first;
        let turn = self.turn.load(Ordering::Relaxed) as usize;
        self.turn.store(turn as u64 ^ 1, Ordering::Relaxed);
        let exchange = Exchange {
            team: self,
            f,
            step,
            turn,
            small: bytes <= SMALL,
        };
        for rank in others(self.rank as usize, self.size()) {
            // SAFETY: these cells and pages are this PE's to write. Their readers have read them in the exchange
            // before the last.
            unsafe { exchange.give(rank, data, bytes) };
        }
        exchange
    }
}

/// An exchange that has begun.
pub(crate) struct Exchange<'a> {
    team: &'a TeamState,
    f: &'static str,
    step: u64,
    turn: usize,
    small: bool,
}

impl Exchange<'_> {
    #[inline(always)]
    unsafe fn give(&self, rank: usize, data: *const u8, bytes: usize) {
        let (team, turn) = (self.team, self.turn);
        let (n, id, me) = (team.world.n, team.id, team.rank);
        let to = &team.members[rank];
        // SAFETY: `data` holds `bytes`, at most a page (`exchange`'s contract). The member's cell of this turn is this
        // PE's to write: the member read it before it took part in the exchange before the last.
        unsafe {
            if to.base.is_null() {
                let line = control::cell_at(n, id, me)
                    + (core::mem::offset_of!(control::Cell, lines) + turn * size_of::<Line>())
                        as u64;
                let place = if self.small {
                    line + core::mem::offset_of!(Line, data) as u64
                } else {
                    control::page_at(n, id, me, turn)
                };
                link::put(team.world, to.pe, place, data, bytes);
                link::tell(team.world, to.pe, line, self.step);
                return;
            }
            let line = &raw mut (*to.cell).lines[turn];
            let place = if self.small {
                (&raw mut (*line).data).cast()
            } else {
                to.base
                    .wrapping_add(control::page_at(n, id, me, turn) as usize)
            };
            if bytes == 8 {
                place
                    .cast::<u64>()
                    .write(data.cast::<u64>().read_unaligned());
            } else {
                core::ptr::copy_nonoverlapping(data, place, bytes);
            }
            (*line).step.store(self.step, Ordering::Release);
            link::wake_here(to.base);
        }
    }

    /// Waits for another member's contribution, and returns its address. It lies there until the exchange after the
    /// next one begins.
    #[inline(always)]
    pub(crate) fn from(&self, rank: usize) -> *const u8 {
        let team = self.team;
        // SAFETY: this PE's own cells, of which there is one for each rank.
        unsafe {
            let line = &raw mut (*team.cells.add(rank)).lines[self.turn];
            await_flag(self.f, team.world, team.direct, &(*line).step, self.step);
            if self.small {
                (&raw const (*line).data).cast()
            } else {
                let page = control::page_at(team.world.n, team.id, rank as u32, self.turn);
                team.world.own().base.wrapping_add(page as usize)
            }
        }
    }
}

impl Step<'_> {
    /// Tells a member that this PE has done phase `phase` of the collective.
    #[inline(always)]
    pub(crate) fn tell(&self, phase: u32, rank: usize) {
        let (team, step) = (self.team, self.first + u64::from(phase));
        let to = &team.members[rank];
        // SAFETY: a cell in a mapped segment, or an offset within a segment. This PE is the cell's only writer.
        unsafe {
            if to.base.is_null() {
                let at = control::cell_at(team.world.n, team.id, team.rank);
                link::tell(team.world, to.pe, at, step);
                return;
            }
            (*to.cell).told.store(step, Ordering::Release);
            link::wake_here(to.base);
        }
    }

    /// Waits until a member has told that it has done `phase`.
    #[inline(always)]
    pub(crate) fn await_from(&self, phase: u32, rank: usize) {
        let team = self.team;
        // SAFETY: this PE's own cells, of which there is one for each rank.
        let told = unsafe { &(*team.cells.add(rank)).told };
        await_flag(
            self.f,
            team.world,
            team.direct,
            told,
            self.first + u64::from(phase),
        );
    }
}

/// All ranks but `me`, beginning with the one after it, so that members do not all turn to the same one first.
#[inline(always)]
pub(crate) fn others(me: usize, n: usize) -> impl Iterator<Item = usize> {
    (me + 1..n).chain(0..me)
}
