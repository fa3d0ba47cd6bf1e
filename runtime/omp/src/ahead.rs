//! What a thread keeps between two calls of compiled code that belong to one construct, and the number
//! that it has in the process.
//!
//! Some compilers say clauses in calls of their own, ahead of the construct (`num_threads`, `proc_bind`,
//! `num_teams`); the next construct takes what was said. Only the thread itself looks here.

use crate::thread::Thread;
use crate::worksharing::doacross::Announced;
use core::cell::{Cell, RefCell};
use hetmp_core::lock::Lock;
use std::sync::Mutex;

/// What was said, and by what the current construct is to be ended.
#[derive(Debug)]
pub struct Ahead {
    num_threads: Cell<u32>,
    proc_bind: Cell<u32>,
    strict: Cell<Option<Strict>>,
    teams: Cell<(u32, u32)>,
    /// The lock that the thread holds for a reduction, or null.
    pub(crate) reducing: Cell<*const Lock>,
    doacross: RefCell<Option<Doacross>>,
}

/// A loop with posts and waits: its state, and first value and step of each nested loop.
#[derive(Debug)]
pub struct Doacross {
    /// The state.
    pub state: Announced,
    /// First value and step.
    pub dimensions: Box<[(i64, i64)]>,
}

impl Ahead {
    pub(crate) fn new() -> Ahead {
        Ahead {
            num_threads: Cell::new(0),
            proc_bind: Cell::new(0),
            strict: Cell::new(None),
            teams: Cell::new((0, 0)),
            reducing: Cell::new(core::ptr::null()),
            doacross: RefCell::new(None),
        }
    }
}

/// The next region is to have `n` threads; 0: no clause.
pub fn say_num_threads(th: &Thread, n: u32) {
    th.ahead.num_threads.set(n);
}

/// What is to happen where a region gets fewer threads than its clause asks for (`strict`).
#[derive(Clone, Copy, Debug)]
pub struct Strict {
    /// The program is to end, rather than to go on with a warning.
    pub fatal: bool,
    /// What to say; null: nothing of the program's own.
    pub message: *const libc::c_char,
}

/// The number of threads of the next region is `strict`.
pub fn say_strict(th: &Thread, strict: Strict) {
    th.ahead.strict.set(Some(strict));
}

/// Takes what was said with [`say_strict`].
#[inline]
pub fn take_strict(th: &Thread) -> Option<Strict> {
    th.ahead.strict.take()
}

/// The next region is to bind its threads; a value of the clause, 0: no clause.
pub fn say_proc_bind(th: &Thread, bind: u32) {
    th.ahead.proc_bind.set(bind);
}

/// The next league is to have `teams` teams of at most `limit` threads; 0: no clause.
pub fn say_teams(th: &Thread, teams: u32, limit: u32) {
    th.ahead.teams.set((teams, limit));
}

/// Takes what was said for a region: `num_threads` and `proc_bind`.
#[inline]
pub fn take_region(th: &Thread) -> (u32, u32) {
    (th.ahead.num_threads.take(), th.ahead.proc_bind.take())
}

/// Takes what was said for a league: number of teams, limit of threads.
pub fn take_teams(th: &Thread) -> (u32, u32) {
    th.ahead.teams.take()
}

/// Keeps a loop with posts and waits until its end; `None` ends it.
pub fn keep_doacross(th: &Thread, doacross: Option<Doacross>) {
    *th.ahead.doacross.borrow_mut() = doacross;
}

/// Whether the loop that the thread enters, or is in, was announced as one whose iterations wait for earlier ones.
#[inline]
pub fn has_doacross(th: &Thread) -> bool {
    th.ahead.doacross.borrow().is_some()
}

/// Runs `f` on the loop that was kept.
pub fn with_doacross(th: &Thread, f: impl FnOnce(&Doacross)) {
    // A virtual thread may be suspended in the wait, and another one of this thread keep its own loop:
    // each needs a reference of its own.
    let kept = th.ahead.doacross.borrow().as_ref().map(|d| Doacross {
        state: d.state.clone(),
        dimensions: d.dimensions.clone(),
    });
    if let Some(d) = kept {
        f(&d);
    }
}

/// The numbers in use; the process's initial thread has 0.
static TAKEN: Mutex<Vec<bool>> = Mutex::new(Vec::new());

/// A thread's number among those of the process, from its first question to its end. Small, since
/// numbers of threads that have ended are given out again.
#[derive(Debug)]
pub(crate) struct Index(Cell<u32>);

impl Index {
    /// Not asked for yet.
    const NONE: u32 = u32::MAX;

    pub(crate) const fn new() -> Index {
        Index(Cell::new(Index::NONE))
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        let mut taken = TAKEN
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(place) = taken.get_mut(self.0.get() as usize) {
            *place = false;
        }
    }
}

/// The number of the thread among those of the process.
#[inline]
pub fn index(th: &Thread) -> u32 {
    match th.index.0.get() {
        Index::NONE => take_index(th),
        index => index,
    }
}

/// The highest number that a thread of the process has or had.
#[must_use]
pub fn highest_index() -> u32 {
    let taken = TAKEN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    taken.len().saturating_sub(1) as u32
}

#[cold]
fn take_index(th: &Thread) -> u32 {
    let mut taken = TAKEN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if taken.is_empty() {
        taken.push(false);
    }
    // SAFETY: neither call has preconditions.
    let initial = unsafe { libc::getpid() } == hetmp_core::sys::gettid();
    let index = if initial && !taken[0] {
        0
    } else {
        match taken.iter().skip(1).position(|&t| !t) {
            Some(i) => i + 1,
            None => {
                taken.push(false);
                taken.len() - 1
            }
        }
    };
    taken[index] = true;
    th.index.0.set(index as u32);
    index as u32
}
