//! `taskloop` (OpenMP 5.1, section 2.12.2): a loop cut into tasks.
//!
//! Functions and data are what compiled code passed, as in [`super::run`].

use super::group;
use super::run::{create, CopyData, NewTask};
use crate::team::members::Outlined;
use crate::thread::Thread;
use crate::tool::{self, tasks};
use hetmp_core::sync::Ordering;
use libc::c_void;

/// How many iterations each task gets.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// `num_tasks`; 0: one for each thread.
    Tasks(u64),
    /// `grainsize`: at least this many for each task, and less than twice as many.
    Grain(u64),
    /// `grainsize(strict:)`: exactly this many for each task, except for the last.
    StrictGrain(u64),
}

/// A taskloop as the program describes it. Bounds are words: both `long` and `unsigned long long`
/// loops step through them by wrapping addition.
#[derive(Debug)]
pub struct Taskloop {
    /// The body; its data begins with two words for the range.
    pub f: Outlined,
    /// The body's argument.
    pub data: *mut c_void,
    /// How to copy it.
    pub copy: Option<CopyData>,
    /// Bytes of the argument.
    pub size: usize,
    /// Its alignment.
    pub align: usize,
    /// Number of iterations.
    pub trips: u64,
    /// First value of the loop variable.
    pub start: u64,
    /// Step, in two's complement.
    pub step: u64,
    /// How to cut.
    pub cut: Cut,
    /// `if` clause.
    pub deferrable: bool,
    /// `final` clause.
    pub is_final: bool,
    /// No implicit taskgroup.
    pub nogroup: bool,
    /// The `priority` clause.
    pub priority: i32,
}

/// Cuts a loop of `trips` iterations: the number of tasks, and a function that gives the iterations of task
/// `i`.
pub fn shares(trips: u64, cut: Cut, nthreads: u32) -> (u64, impl Fn(u64) -> u64) {
    let (tasks, exact) = match cut {
        Cut::Tasks(0) => (u64::from(nthreads).min(trips), None),
        Cut::Tasks(n) => (n.min(trips), None),
        Cut::Grain(g) => ((trips / g.max(1)).max(1), None),
        Cut::StrictGrain(g) => (trips.div_ceil(g.max(1)), Some(g.max(1))),
    };
    let (each, extra) = (trips / tasks.max(1), trips % tasks.max(1));
    (tasks, move |i| match exact {
        Some(g) if i + 1 == tasks => trips - g * i,
        Some(g) => g,
        None => each + u64::from(i < extra),
    })
}

/// A taskloop that a tool is told of.
#[derive(Debug)]
pub struct Told {
    trips: u64,
    caller: usize,
}

impl Told {
    /// The current task begins to make the tasks of a loop of `trips` iterations. `None`: there is no tool.
    #[inline]
    pub fn begin(th: &Thread, trips: u64) -> Option<Told> {
        tool::on().then(|| Told {
            trips,
            caller: tasks::work_of_taskloop(th, true, trips, 0),
        })
    }

    /// The next task executes `count` iterations, from the loop variable's value `from` on.
    pub fn chunk(&self, th: &Thread, from: u64, count: u64) {
        tasks::makes_chunk(th, from, count, self.caller);
    }

    /// All tasks are made.
    pub fn end(self, th: &Thread) {
        tasks::work_of_taskloop(th, false, self.trips, self.caller);
    }
}

/// Makes the tasks of a taskloop, and waits for them unless `nogroup`.
///
/// # Safety
/// The fields of `t` are valid as [`NewTask`] says of its own: `abi` passes what compiled code made for this
/// loop.
pub unsafe fn taskloop(th: &Thread, t: &Taskloop) {
    let cancelled = th.team().cancelled.load(Ordering::Relaxed);
    if cancelled || t.trips == 0 {
        return;
    }
    let (tasks, share) = shares(t.trips, t.cut, th.nthreads());
    if !t.nogroup {
        group::start(th);
    }
    let told = Told::begin(th, t.trips);
    let mut from = t.start;
    for i in 0..tasks {
        if let Some(told) = &told {
            told.chunk(th, from, share(i));
        }
        let to = from.wrapping_add(share(i).wrapping_mul(t.step));
        // SAFETY: this function's contract: `abi` passes the body, data and copy function that compiled code made for
        // each task of the loop.
        unsafe {
            create(
                th,
                &NewTask {
                    f: t.f,
                    data: t.data,
                    copy: t.copy,
                    size: t.size,
                    align: t.align,
                    deferrable: t.deferrable,
                    outside: false,
                    is_final: t.is_final,
                    depends: None,
                    priority: t.priority,
                    event: None,
                    range: Some([from, to]),
                },
            );
        }
        from = to;
    }
    if let Some(told) = told {
        told.end(th);
    }
    if !t.nogroup {
        group::end(th);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_the_loop() {
        for trips in 1..60u64 {
            for k in 0..20u64 {
                for cut in [Cut::Tasks(k), Cut::Grain(k + 1), Cut::StrictGrain(k + 1)] {
                    let (n, share) = shares(trips, cut, 3);
                    let all: Vec<u64> = (0..n).map(&share).collect();
                    assert_eq!(all.iter().sum::<u64>(), trips, "{trips} {cut:?}");
                    assert!(all.iter().all(|&s| s > 0));
                    if let Cut::Grain(g) = cut {
                        assert!(
                            n == 1 || all.iter().all(|&s| s >= g && s < 2 * g),
                            "{trips} {cut:?} {all:?}"
                        );
                    }
                }
            }
        }
    }
}
