//! Leagues of teams on the host.

use super::parallel::{run, with_fork, Microtask};
use super::Loc;
use crate::entry::entries;
use crate::variadic::{note, variadic, VaList};
use hetmp_omp::{ahead, device, query, Thread};

/// `__kmpc_fork_teams(loc, count, microtask, ...)`: runs a whole league.
unsafe extern "C" fn fork_teams(named: *const u64, rest: *mut VaList) {
    // SAFETY: the entry stored the named arguments and the list. The compiled code passes a function that may
    // run once for each team, and `count` words.
    unsafe {
        note(named);
        let microtask: Microtask = core::mem::transmute(*named.add(2) as usize);
        let count = *named.add(1) as u32 as usize;
        with_fork(microtask, count, &mut *rest, |fork| {
            let th = Thread::current();
            let (teams, limit) = ahead::take_teams(th);
            // A league has one team in libomp if neither the clause nor `OMP_NUM_TEAMS` tells a number.
            let teams = if teams == 0 && query::max_teams() == 0 {
                1
            } else {
                teams
            };
            device::teams(
                th,
                run,
                core::ptr::from_ref(fork).cast_mut().cast(),
                teams,
                limit,
            );
        });
    }
}

variadic!(fork_teams, "__kmpc_fork_teams", "VERSION", 3);

entries! {
    "VERSION" default:
    /// `num_teams` and `thread_limit`, passed before the league is opened; 0 without a clause.
    fn __kmpc_push_num_teams(_loc: Loc, _gtid: i32, teams: i32, limit: i32) {
        ahead::say_teams(Thread::current(), teams.max(0) as u32, limit.max(0) as u32);
    }

    /// `__kmpc_push_num_teams` with a lower bound. The league gets the number of teams that the upper bound
    /// tells.
    fn __kmpc_push_num_teams_51(_loc: Loc, _gtid: i32, lower: i32, upper: i32, limit: i32) {
        let teams = if upper > 0 { upper } else { lower.max(0) };
        ahead::say_teams(Thread::current(), teams as u32, limit.max(0) as u32);
    }

    /// `thread_limit` of a target region.
    fn __kmpc_set_thread_limit(_loc: Loc, _gtid: i32, limit: i32) {
        if limit > 0 {
            device::limit_team(Thread::current(), limit as u32);
        }
    }
}
