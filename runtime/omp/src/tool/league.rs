//! The events of leagues of teams. Every function here is called only while a tool is attached ([`super::on`]).
//!
//! # What follows what
//! *Parallel begin* with the flag of a league; for each team *implicit task begin* of its initial task, and in it, as
//! libomp does, a region of one thread (*parallel begin*, *implicit task begin*) in which the team's code runs; the
//! ends in the opposite order.
//!
//! # One record for several tasks
//! The engine runs all teams of a league in the task that meets the league. So the tool's words of the initial and the
//! implicit task lie here, and while a team's code runs that task's record and that region's hold the words of the
//! team's implicit task and region. They are exchanged back afterwards.

use super::callbacks;
use super::interface::{
    Data, Frame, Scope, State, BY_RUNTIME, IMPLICIT, INITIAL, LEAGUE, TEAM, UNDEFERRED,
};
use super::record::Around;
use crate::thread::Thread;

/// A league that the tool knows.
#[derive(Debug)]
pub(crate) struct League {
    region: Data,
    caller: usize,
    teams: u32,
}

/// Exchanges the tool's words of two tasks or regions.
fn exchange(a: &Data, b: &Data) {
    a.0.swap(&b.0);
}

impl League {
    /// The current task meets a league of `teams` teams. `None`: there is no tool.
    #[inline]
    pub(crate) fn begin(th: &Thread, teams: u32) -> Option<League> {
        super::on().then(|| League::tell_begin(th, teams))
    }

    #[cold]
    fn tell_begin(th: &Thread, teams: u32) -> League {
        let league = League {
            region: Data::new(),
            caller: th.called_from(),
            teams,
        };
        let task = th.task_record();
        task.frame.enter.set(th.tool.frame.get());
        th.goes(State::Overhead);
        callbacks::parallel_begin(
            &task.data,
            &task.frame,
            &league.region,
            teams,
            LEAGUE | BY_RUNTIME,
            league.caller,
        );
        league
    }

    /// Runs `body`, the code of team `number`.
    #[cold]
    pub(crate) fn team(&self, th: &Thread, number: u32, body: impl FnOnce()) {
        let (region, task) = (&th.team().shared.tool.data, th.task_record());
        let (league, initial, caller) = (&self.region, Data::new(), self.caller);
        let by_runtime = TEAM | BY_RUNTIME;
        callbacks::implicit_task(Scope::Begin, league, &initial, self.teams, number, INITIAL);
        let around = Around {
            league,
            initial,
            opens: Frame::new(),
            region: Data::new(),
            task: Data::new(),
            frame: Frame::new(),
            flags: task.flags.replace(IMPLICIT | UNDEFERRED),
            number,
        };
        around.opens.enter.set(task.frame.enter.get());
        let (inner, implicit) = (&around.region, &around.task);
        callbacks::parallel_begin(&around.initial, &around.opens, inner, 1, by_runtime, caller);
        exchange(region, inner);
        exchange(&task.data, implicit);
        task.frame.exchange(&around.frame);
        let here = core::ptr::from_ref(&around);
        task.frame.exit.set(here.addr());
        let outer = th.tool.league.replace(here);
        th.goes(State::WorkParallel);
        callbacks::implicit_task(Scope::Begin, region, &task.data, 1, 0, IMPLICIT);
        body();
        th.goes(State::Overhead);
        th.tool.league.set(outer);
        task.frame.exchange(&around.frame);
        task.flags.set(around.flags);
        let none = core::ptr::null();
        callbacks::implicit_task(Scope::End, none, &task.data, 1, 0, IMPLICIT);
        exchange(&task.data, implicit);
        exchange(region, inner);
        callbacks::parallel_end(inner, &around.initial, by_runtime, caller);
        callbacks::implicit_task(Scope::End, none, &around.initial, 0, number, INITIAL);
    }

    /// All teams have ended.
    #[cold]
    pub(crate) fn end(self, th: &Thread) {
        let task = th.task_record();
        task.frame.enter.set(0);
        callbacks::parallel_end(&self.region, &task.data, LEAGUE | BY_RUNTIME, self.caller);
        th.goes(State::WorkSerial);
    }
}
