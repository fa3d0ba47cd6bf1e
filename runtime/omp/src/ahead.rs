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
    /// What was said with [`say_num_threads_list`].
    list: List,
    /// The numbers for regions inside of the region that the thread opens next.
    pub(crate) nested: Cell<Nested>,
    /// The helper's number that the thread has on loan; 0: none.
    helper: Cell<u32>,
    /// Level, size and policy of the region whose affinity the thread showed last.
    pub(crate) shown: Cell<(u32, u32, u32)>,
    /// The lock that the thread holds for a reduction, or null.
    pub(crate) reducing: Cell<*const Lock>,
    doacross: RefCell<Option<Doacross>>,
}

/// The numbers for inner regions that wait for the region that they were said for.
struct List(Cell<Option<Box<[u32]>>>);

impl core::fmt::Debug for List {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("List")
    }
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
            list: List(Cell::new(None)),
            nested: Cell::new(Nested::NONE),
            helper: Cell::new(0),
            shown: Cell::new((0, 0, 0)),
            reducing: Cell::new(core::ptr::null()),
            doacross: RefCell::new(None),
        }
    }
}

/// The next region is to have `n` threads; 0: no clause.
pub fn say_num_threads(th: &Thread, n: u32) {
    th.ahead.num_threads.set(n);
}

/// Numbers of threads for the regions inside of a region, outermost first; the last one holds for all that
/// are deeper. They lie with whoever opened the region that the list was said for, until that region ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nested {
    first: *const u32,
    count: usize,
}

impl Nested {
    /// Nothing said.
    pub(crate) const NONE: Nested = Nested {
        first: core::ptr::null(),
        count: 0,
    };

    /// What holds one level deeper.
    fn deeper(self) -> Nested {
        if self.count > 1 {
            Nested {
                first: self.first.wrapping_add(1),
                count: self.count - 1,
            }
        } else {
            self
        }
    }

    /// The number for the regions directly inside.
    pub(crate) fn number(self) -> Option<u32> {
        // SAFETY: the list lives until the region that it was said for has ended, and only teams inside
        // that region have it.
        (self.count > 0).then(|| unsafe { *self.first })
    }
}

/// What holds inside of the region that `th` opens now: what was said for this region, or one level
/// deeper of what `outer`, the team around the region, has.
#[inline]
pub(crate) fn nested(th: &Thread, outer: Nested) -> Nested {
    let said = th.ahead.nested.replace(Nested::NONE);
    if said.count > 0 {
        said
    } else if outer.count > 1 {
        outer.deeper()
    } else {
        outer
    }
}

/// The next region is to have `list[0]` threads (0: as without a clause), the regions inside of it `list[1]`, and
/// so on; the last number holds for all deeper ones.
pub fn say_num_threads_list(th: &Thread, list: &[u32]) {
    say_num_threads(th, list.first().copied().unwrap_or(0));
    if list.len() > 1 {
        th.ahead.list.0.set(Some(list[1..].into()));
    }
}

/// Runs `open`, which opens one region and ends it, with the list that was said for that region.
pub fn with_num_threads_list<R>(th: &Thread, open: impl FnOnce() -> R) -> R {
    let list = th.ahead.list.0.take();
    if let Some(list) = &list {
        th.ahead.nested.set(Nested {
            first: list.as_ptr(),
            count: list.len(),
        });
    }
    let result = open();
    drop(list);
    result
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
        let mut taken = numbers_taken();
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

/// How many numbers, from 1 on, libomp keeps for its helper threads, which run tasks for devices: programs that were
/// built for libomp see such numbers in these tasks, and no other thread has them.
fn helper_numbers() -> usize {
    let globals = crate::init::globals();
    if globals.as_libomp {
        globals.libomp.helpers as usize
    } else {
        0
    }
}

/// A helper's number on loan to a thread, while the thread runs a task for a device.
#[derive(Debug)]
pub struct Helper<'a> {
    th: &'a Thread,
    number: u32,
    before: u32,
}

impl<'a> Helper<'a> {
    /// Lends `th` a number; `None` where there are none, or all are taken.
    pub fn lend(th: &'a Thread) -> Option<Helper<'a>> {
        let most = helper_numbers();
        if most == 0 {
            return None;
        }
        let mut taken = numbers_taken();
        if taken.len() <= most {
            taken.resize(most + 1, false);
        }
        let number = 1 + taken[1..=most].iter().position(|&t| !t)?;
        taken[number] = true;
        let number = number as u32;
        let before = th.ahead.helper.replace(number);
        Some(Helper { th, number, before })
    }
}

impl Drop for Helper<'_> {
    fn drop(&mut self) {
        self.th.ahead.helper.set(self.before);
        if let Some(place) = numbers_taken().get_mut(self.number as usize) {
            *place = false;
        }
    }
}

fn numbers_taken() -> std::sync::MutexGuard<'static, Vec<bool>> {
    TAKEN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What compiled code is told when it asks for its thread's number in the process: that of [`index`], or a helper's.
#[inline]
pub fn number(th: &Thread) -> u32 {
    match th.ahead.helper.get() {
        0 => index(th),
        helper => helper,
    }
}

/// The highest number that a thread of the process has or had, less those of helpers.
#[must_use]
pub fn highest_index() -> u32 {
    let helpers = helper_numbers();
    (numbers_taken().len().saturating_sub(1)).saturating_sub(helpers) as u32
}

#[cold]
fn take_index(th: &Thread) -> u32 {
    let first = 1 + helper_numbers();
    let mut taken = numbers_taken();
    if taken.len() < first {
        taken.resize(first, false);
    }
    // SAFETY: neither call has preconditions.
    let initial = unsafe { libc::getpid() } == hetmp_core::sys::gettid();
    let index = if initial && !taken[0] {
        0
    } else {
        match taken.iter().skip(first).position(|&t| !t) {
            Some(i) => i + first,
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
