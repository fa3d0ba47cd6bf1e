//! State that a thread keeps between calls of compiled code that belong to one construct, and the thread's
//! number in the process.
//!
//! Some compilers pass clauses in calls of their own, ahead of the construct (`num_threads`, `proc_bind`,
//! `num_teams`); the next construct takes them. Only the thread itself uses this state.

use crate::icv::ProcBind;
use crate::thread::Thread;

pub(crate) mod said;

use said::{helper_numbers, numbers_taken, Nested};
pub use said::{highest_index, Doacross, Strict};

/// Sets the number of threads of the next region; 0: no clause.
pub fn say_num_threads(th: &Thread, n: u32) {
    th.ahead.num_threads.set(n);
}

/// Sets the numbers of threads: `list[0]` for the next region (0: no clause), `list[1]` for regions inside of
/// it, and so on; the last number is for all deeper regions.
pub fn say_num_threads_list(th: &Thread, list: &[u32]) {
    say_num_threads(th, list.first().copied().unwrap_or(0));
    if list.len() > 1 {
        th.ahead.list.0.set(Some(list[1..].into()));
    }
}

/// Runs `open`, which opens one region and ends it, with the list that was set for that region.
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

/// Makes the number of threads of the next region `strict`.
pub fn say_strict(th: &Thread, strict: Strict) {
    th.ahead.strict.set(Some(strict));
}

/// Takes the value of [`say_strict`].
#[inline]
pub fn take_strict(th: &Thread) -> Option<Strict> {
    th.ahead.strict.take()
}

/// Sets how the next region binds its threads; `None`: no clause.
pub fn say_proc_bind(th: &Thread, bind: Option<ProcBind>) {
    th.ahead.proc_bind.set(bind);
}

/// Sets the number of teams of the next league, and the most threads of each; 0: no clause.
pub fn say_teams(th: &Thread, teams: u32, limit: u32) {
    th.ahead.teams.set((teams, limit));
}

/// Takes the clauses for a region: `num_threads` and `proc_bind`.
#[inline]
pub fn take_region(th: &Thread) -> (u32, Option<ProcBind>) {
    (th.ahead.num_threads.take(), th.ahead.proc_bind.take())
}

/// Takes the clauses for a league: number of teams, limit of threads.
pub fn take_teams(th: &Thread) -> (u32, u32) {
    th.ahead.teams.take()
}

/// Keeps the state of a doacross loop (with posts and waits); `None` at the loop's end.
pub fn keep_doacross(th: &Thread, doacross: Option<Doacross>) {
    *th.ahead.doacross.borrow_mut() = doacross;
}

/// Whether the loop that the thread enters, or is in, was announced as a doacross loop.
#[inline]
pub fn has_doacross(th: &Thread) -> bool {
    th.ahead.doacross.borrow().is_some()
}

/// Runs `f` on the doacross loop that is kept.
pub fn with_doacross(th: &Thread, f: impl FnOnce(&Doacross)) {
    // A virtual thread may be suspended in the wait, while another virtual thread of this real thread keeps
    // its own loop. Each needs its own reference.
    let kept = th.ahead.doacross.borrow().as_ref().map(|d| Doacross {
        state: d.state.clone(),
        dimensions: d.dimensions.clone(),
    });
    if let Some(d) = kept {
        f(&d);
    }
}

/// The number of the thread in the process.
#[inline]
pub(crate) fn index(th: &Thread) -> u32 {
    th.index.get()
}

/// The number of one of libomp's helper threads, lent to a thread while it runs a task for a device.
#[derive(Debug)]
pub struct Helper<'a> {
    th: &'a Thread,
    number: u32,
    before: u32,
}

impl<'a> Helper<'a> {
    /// Lends `th` a number; `None` if there are no such numbers, or all are lent.
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

/// The number that compiled code gets for its thread in the process: `index`, or a helper's number.
#[inline]
pub fn number(th: &Thread) -> u32 {
    match th.ahead.helper.get() {
        0 => index(th),
        helper => helper,
    }
}
