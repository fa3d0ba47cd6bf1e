//! What a tool may ask about the calling thread (OpenMP 5.2, section 19.6). All functions may be called from the
//! callbacks, and from signal handlers that interrupt a thread of the runtime: they take no lock and allocate nothing.

use super::events::flags_at;
use super::interface::{Data, Frame, State, INITIAL};
use super::record::Around;
use crate::task::record::Task;
use crate::thread::Thread;
use core::sync::atomic::{AtomicU64, Ordering};

/// The tool's word of the calling thread; `None` for a thread that has never used the runtime.
#[must_use]
pub fn thread_data() -> Option<*const Data> {
    known().map(|th| &raw const th.tool.data)
}

/// Does the runtime know the calling thread?
#[must_use]
pub fn is_known() -> bool {
    known().is_some()
}

fn known() -> Option<&'static Thread> {
    if super::on() {
        Thread::try_current()
    } else {
        None
    }
}

/// What the calling thread does, and what it waits for. A thread that the runtime does not know runs the program's
/// code.
#[must_use]
pub fn state() -> (State, u64) {
    known().map_or((State::WorkSerial, 0), |th| {
        (th.tool.state.get(), th.tool.awaited.get())
    })
}

/// The tool's word of the region at `level` (0: the innermost one), and the number of its threads.
#[must_use]
pub fn region(level: u32) -> Option<(*const Data, u32)> {
    let th = known()?;
    let mut team = th.team();
    for i in 0..level {
        let Some((parent, _)) = team.parent() else {
            return Some((around(th)?.region(level - i)?, 1));
        };
        team = parent;
    }
    Some((&raw const team.shared.tool.data, team.nthreads()))
}

/// What is around the team of a league that the thread runs.
fn around(th: &Thread) -> Option<&Around> {
    // SAFETY: null, or on the stack of this thread, which sets the pointer back before the team ends.
    unsafe { th.tool.league.get().as_ref() }
}

/// A task, as a tool sees it.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// Its flags (`ompt_task_flag_t`).
    pub flags: u32,
    /// The tool's word.
    pub data: *const Data,
    /// Where on the stack the task's code and the runtime meet.
    pub frame: *const Frame,
    /// The word of the task's region.
    pub region: *const Data,
    /// The number of the task's thread in the region.
    pub number: u32,
}

/// The task at `level`: 0 is the task that the thread runs, 1 the one that it suspended for that task or, above an
/// implicit task, the one that opened the region; and so on.
#[must_use]
pub fn task(level: u32) -> Option<Told> {
    let th = known()?;
    let (mut team, mut number) = (th.team(), th.number());
    let mut task: *const Task = th.task();
    for i in 0..level {
        // SAFETY: the current task, or one that is suspended below it: it lives until the tasks above it have ended.
        let this = unsafe { task.as_ref() }?;
        if this.is_implicit() {
            task = team.shared.saved.get().task();
            let Some(parent) = team.parent() else {
                return around(th)?.task(level - i);
            };
            (team, number) = parent;
        } else {
            let beneath: *const Task = this.tool().beneath.get().cast();
            task = if beneath.is_null() {
                this.parent.get()
            } else {
                beneath
            };
        }
    }
    // SAFETY: the current task, or one that is suspended below it: it lives until the tasks above it have ended.
    let this = unsafe { task.as_ref() }?;
    let record = this.tool();
    Some(Told {
        flags: flags_at(team.level(), record),
        data: &raw const record.data,
        frame: &raw const record.frame,
        region: &raw const team.shared.tool.data,
        number,
    })
}

impl Around {
    /// The task `level` levels around the team's implicit task: 1 is the team's initial task.
    fn task(&self, level: u32) -> Option<Told> {
        match level {
            1 => Some(Told {
                flags: INITIAL,
                data: &raw const self.initial,
                frame: &raw const self.opens,
                region: self.league,
                number: self.number,
            }),
            2 => Some(Told {
                flags: self.flags,
                data: &raw const self.task,
                frame: &raw const self.frame,
                region: &raw const self.region,
                number: 0,
            }),
            _ => None,
        }
    }

    /// The word of the region `level` levels around the team's own: 1 is the league.
    fn region(&self, level: u32) -> Option<*const Data> {
        match level {
            1 => Some(self.league),
            2 => Some(&raw const self.region),
            _ => None,
        }
    }
}

/// The memory of the task that the thread runs: its address and size in bytes; `None` for implicit tasks.
#[must_use]
pub fn task_memory() -> Option<(*const libc::c_void, usize)> {
    let task = known()?.task();
    (!task.is_implicit()).then(|| (core::ptr::from_ref(task).cast(), task.bytes()))
}

/// A number that the process has not used before, and not 0.
#[must_use]
pub fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
