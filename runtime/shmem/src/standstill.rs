//! Detects a job that stands still because a PE has left it.
//!
//! A PE that ends by `exit(0)` or returns from `main` is finalized at its exit ([`crate::setup`]), so that its peers
//! can end too. A peer that still expects something of it, such as a barrier, would wait for ever. The launcher sees
//! nothing: every process is alive, or has ended well. So a PE that has slept in a wait for [`IDLE`], and has
//! computed nothing meanwhile, tells its peers where it waits. Once every PE waits like that or has left, and at
//! least one has left or is leaving, nothing can change any more. Then the first waiting PE says who waits where, and
//! ends the job.
//!
//! If the launcher is gone (a killed step daemon, for example), nobody would end the remaining PEs. A PE that waits
//! says so, and ends.
//!
//! Every PE has an [`Entry`] for each PE in its own segment, which that PE writes. So looking costs no message, and a
//! PE that waits shorter than [`IDLE`] pays nothing.

use crate::control::{self, Entry};
use crate::fail;
use crate::link;
use crate::world::World;
use core::fmt::Write as _;
use core::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a PE waits without computing before it tells its peers.
const IDLE: Duration = Duration::from_secs(3);
/// Time between two looks at what the others have told.
const LOOK: Duration = Duration::from_secs(1);
/// How many looks in a row must find no PE running: a PE that was just woken may not have run yet.
const LOOKS: u32 = 2;
/// The most PEs that a message names.
const NAMED: usize = 6;

/// A PE's state, as it tells its peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
enum State {
    /// The PE computes, or has not waited for long.
    Runs = 0,
    /// The PE waits, and only another PE can end the wait.
    Waits = 1,
    /// The PE waits, but other threads of the same process may end the wait.
    WaitsAmongThreads = 2,
    /// The PE waits in `shmem_finalize`, or at its exit.
    Leaves = 3,
    /// The PE has left.
    Left = 4,
}

impl State {
    fn of(word: u64) -> State {
        match word {
            1 => State::Waits,
            2 => State::WaitsAmongThreads,
            3 => State::Leaves,
            4 => State::Left,
            _ => State::Runs,
        }
    }
}

/// What one PE does in view of all states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// A PE may still change something, or another PE is the one to report.
    Nothing,
    /// Report who waits where.
    Say,
    /// Report who waits where, and end the job.
    End,
}

fn judge(states: &[State], me: usize) -> Verdict {
    let left = states
        .iter()
        .any(|s| matches!(s, State::Leaves | State::Left));
    // If all are in shmem_finalize, finalize will end. If one has left before, it will not.
    let moves = states.contains(&State::Runs) || states.iter().all(|s| *s == State::Leaves);
    let first = states.iter().position(|s| *s != State::Left);
    if !left || moves || first != Some(me) {
        Verdict::Nothing
    } else if states.contains(&State::WaitsAmongThreads) {
        Verdict::Say
    } else {
        Verdict::End
    }
}

/// This PE is in `shmem_finalize`, or at its exit.
static LEAVING: AtomicBool = AtomicBool::new(false);
/// Waits are watched. Not so during `shmem_init`: a PE that has finalized before may take any time until it
/// initialises again.
static COUNTS: AtomicBool = AtomicBool::new(false);

/// `shmem_init` has returned on this PE.
pub(crate) fn begin() {
    LEAVING.store(false, Ordering::Relaxed);
    COUNTS.store(true, Ordering::Relaxed);
}

/// `shmem_finalize` begins, or the exit that replaces it.
pub(crate) fn leaving() {
    LEAVING.store(true, Ordering::Relaxed);
}

/// This PE has left the job, in the function `f`.
pub(crate) fn left(f: &'static str, world: &'static World) {
    COUNTS.store(false, Ordering::Relaxed);
    tell(f, world, State::Left);
}

/// `shmem_init` was called again: this PE is back.
pub(crate) fn back(f: &'static str, world: &'static World) {
    tell(f, world, State::Runs);
}

/// Tells all PEs that have not left.
fn tell(f: &'static str, world: &'static World, state: State) {
    let name = Entry::name(f);
    let at = control::entry_at(world.n, world.me);
    let own = read(world, world.me);
    for pe in 0..world.n {
        if pe != world.me && read(world, pe).0 == State::Left {
            continue;
        }
        // SAFETY: only this PE writes its entry in a peer's segment. The peer reads the name after the state.
        unsafe {
            if state != State::Runs || own.0 != State::Runs {
                link::put(world, pe, at + Entry::NAME_AT, name.as_ptr(), name.len());
                link::tell(world, pe, at, state as u64);
            }
        }
    }
}

/// What a PE has told this one.
fn read(world: &World, pe: u32) -> (State, String) {
    let entry = world.entry(pe);
    let state = State::of(entry.state.load(Ordering::Acquire));
    (state, entry.text())
}

/// The processor time that this process has used so far.
fn computed() -> Duration {
    // SAFETY: plain data, filled in by the call.
    unsafe {
        let mut t: libc::timespec = core::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut t);
        Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
    }
}

/// A wait that has begun to sleep.
pub(crate) struct Watch {
    f: &'static str,
    world: &'static World,
    next: Instant,
    computed: Duration,
    told: bool,
    /// How many looks in a row found no PE running.
    still: u32,
}

impl Watch {
    pub(crate) fn new(f: &'static str, world: &'static World) -> Watch {
        Watch {
            f,
            world,
            next: Instant::now() + IDLE,
            computed: computed(),
            told: false,
            still: 0,
        }
    }

    /// Called after each nap at whose end the wait is not over.
    pub(crate) fn napped(&mut self) {
        let now = Instant::now();
        if now >= self.next {
            self.look(now);
        }
    }

    #[cold]
    fn look(&mut self, now: Instant) {
        if self.world.n == 1 || !COUNTS.load(Ordering::Relaxed) {
            self.next = now + IDLE;
            return;
        }
        if self.world.job.launcher_is_gone() {
            fail::launcher_gone(self.f, self.world.me);
        }
        if !self.told {
            let computed = computed();
            // Naps and looks take some percent of a core.
            let busy = computed - self.computed > IDLE / 4;
            self.computed = computed;
            self.next = now + IDLE;
            if busy {
                return;
            }
            let state = if LEAVING.load(Ordering::Relaxed) {
                State::Leaves
            } else if self.world.is_multithreaded() {
                State::WaitsAmongThreads
            } else {
                State::Waits
            };
            tell(self.f, self.world, state);
            self.told = true;
        }
        self.next = now + LOOK;
        let all: Vec<(State, String)> = (0..self.world.n).map(|pe| read(self.world, pe)).collect();
        let states: Vec<State> = all.iter().map(|(state, _)| *state).collect();
        let verdict = judge(&states, self.world.me as usize);
        if verdict == Verdict::Nothing {
            self.still = 0;
            return;
        }
        self.still += 1;
        if self.still < LOOKS {
            return;
        }
        let text = describe(&all, self.world.me as usize);
        let me = self.world.me;
        if verdict == Verdict::End {
            fail::die(self.f, format_args!("PE {me}: {text}"));
        }
        if self.still == LOOKS {
            hetmp_core::report::warn(format_args!("{} PE {me}: {text}", self.f));
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.told {
            tell(self.f, self.world, State::Runs);
        }
    }
}

/// A text about who waits where. It begins with the place of PE `me`.
fn describe(all: &[(State, String)], me: usize) -> String {
    let mut text = "waits without end".to_owned();
    // A PE that has left is named first: it explains most.
    let mut order: Vec<usize> = (0..all.len()).filter(|pe| *pe != me).collect();
    order.sort_by_key(|pe| core::cmp::Reverse(all[*pe].0 as u64));
    for (i, pe) in order.iter().enumerate() {
        let (state, f) = &all[*pe];
        let _ = match (i, state, f.as_str()) {
            (NAMED, ..) => write!(text, ", and {} more PEs wait or have left", order.len() - i),
            (NAMED.., ..) => Ok(()),
            (_, State::Left, "exit") => write!(text, ", PE {pe} has ended without shmem_finalize"),
            (_, State::Left, _) => write!(text, ", PE {pe} has left by {f}"),
            (_, State::Leaves, "exit") => write!(text, ", PE {pe} ends without shmem_finalize"),
            _ => write!(text, ", PE {pe} waits in {f}"),
        };
    }
    text.replacen(',', ":", 1)
        + " (expected the same collective calls on every PE, or shmem_global_exit)"
}

#[cfg(test)]
mod tests {
    use super::*;
    use State::{Leaves, Left, Runs, Waits, WaitsAmongThreads};

    #[test]
    fn the_first_who_waits_speaks_once_nobody_can_move() {
        assert_eq!(judge(&[Left, Waits, Waits], 1), Verdict::End);
        assert_eq!(judge(&[Left, Waits, Waits], 2), Verdict::Nothing);
        assert_eq!(judge(&[Leaves, Waits], 0), Verdict::End);
        assert_eq!(judge(&[Left, Leaves, Waits], 1), Verdict::End);
        assert_eq!(judge(&[Leaves, Leaves, Left], 0), Verdict::End);
        assert_eq!(judge(&[Left, WaitsAmongThreads], 1), Verdict::Say);
    }

    #[test]
    fn who_may_still_move_is_waited_for() {
        assert_eq!(judge(&[Left, Waits, Runs], 1), Verdict::Nothing);
        // No PE has left: their waiting is the program's own matter.
        assert_eq!(judge(&[Waits, Waits], 0), Verdict::Nothing);
        assert_eq!(judge(&[Leaves, Leaves], 0), Verdict::Nothing);
    }

    #[test]
    fn a_message_names_who_left_first() {
        let pe = |state, f: &str| (state, f.to_owned());
        let text = describe(
            &[
                pe(Waits, "shmem_barrier_all"),
                pe(Waits, "shmem_set_lock"),
                pe(Left, "exit"),
            ],
            0,
        );
        assert!(text.starts_with(
            "waits without end: PE 2 has ended without shmem_finalize, PE 1 waits in shmem_set_lock (expected "
        ));
        let many: Vec<_> = (0..20).map(|_| pe(Left, "shmem_finalize")).collect();
        assert!(describe(&many, 0).contains("and 13 more"));
    }
}
