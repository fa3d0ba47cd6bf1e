//! Leagues of teams.

use crate::entry::entries;
use hetmp_omp::device;
use hetmp_omp::team::Outlined;
use hetmp_omp::Thread;
use libc::{c_uint, c_void};

entries! {
    "GOMP_4.0" default:
    /// `teams` inside `target`; gcc before 12 calls this function.
    fn GOMP_teams(_num_teams: c_uint, thread_limit: c_uint) {
        device::limit_team(Thread::current(), thread_limit);
    }

    "GOMP_5.0" default:
    /// `teams` outside `target`: runs the whole league.
    watched fn GOMP_teams_reg(
        f: Outlined, data: *mut c_void, num_teams: c_uint, thread_limit: c_uint, _flags: c_uint,
    ) {
        // SAFETY: the compiled code passes a function that may run once for each team.
        unsafe { device::teams(Thread::current(), f, data, num_teams, thread_limit) };
    }

    "GOMP_5.1" default:
    /// `teams` inside `target`, called in a loop that runs the body while this returns true.
    fn GOMP_teams4(
        lowest: c_uint, _highest: c_uint, thread_limit: c_uint, first: bool,
    ) -> bool {
        let th = Thread::current();
        if !first {
            return device::next_team(th);
        }
        device::limit_team(th, thread_limit);
        device::begin_league(th, lowest);
        true
    }
}
