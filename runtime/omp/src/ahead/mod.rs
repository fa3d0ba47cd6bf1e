//! What a thread keeps between two calls of compiled code that belong to one construct, and the number
//! that it has in the process.
//!
//! Some compilers say clauses in calls of their own, ahead of the construct (`num_threads`, `proc_bind`,
//! `num_teams`); the next construct takes what was said. Only the thread itself looks here.

use crate::icv::ProcBind;
use crate::thread::Thread;

pub(crate) mod said;

use said::{helper_numbers, numbers_taken, Nested};
pub use said::{highest_index, Doacross, Strict};

/// The next region is to have `n` threads; 0: no clause.
pub fn say_num_threads(th: &Thread, n: u32) {
    th.ahead.num_threads.set(n);
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

/// The number of threads of the next region is `strict`.
pub fn say_strict(th: &Thread, strict: Strict) {
    th.ahead.strict.set(Some(strict));
}

/// Takes what was said with [`say_strict`].
#[inline]
pub fn take_strict(th: &Thread) -> Option<Strict> {
    th.ahead.strict.take()
}

/// The next region is to bind its threads; `None`: no clause.
pub fn say_proc_bind(th: &Thread, bind: Option<ProcBind>) {
    th.ahead.proc_bind.set(bind);
}

/// The next league is to have `teams` teams of at most `limit` threads; 0: no clause.
pub fn say_teams(th: &Thread, teams: u32, limit: u32) {
    th.ahead.teams.set((teams, limit));
}

/// Takes what was said for a region: `num_threads` and `proc_bind`.
#[inline]
pub fn take_region(th: &Thread) -> (u32, Option<ProcBind>) {
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

/// The number of the thread among those of the process.
#[inline]
pub(crate) fn index(th: &Thread) -> u32 {
    th.index.get()
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

/// What compiled code is told when it asks for its thread's number in the process: that of [`index`], or a helper's.
#[inline]
pub fn number(th: &Thread) -> u32 {
    match th.ahead.helper.get() {
        0 => index(th),
        helper => helper,
    }
}
