//! Leagues of teams, and static loops over the threads of a team and the teams of a league.

use crate::entry::entries;
use hetmp_omp::team::Outlined;
use hetmp_omp::Thread;
use hetmp_omp::{device, query};
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

    "GOMP_6.0.2" default:
    /// For loops with `schedule(static)`, which the compiled code divides: the number of threads, and the caller's.
    fn GOMP_loop_static_worksharing() -> Complex {
        Complex::new(query::num_threads(), query::thread_num())
    }

    /// `GOMP_loop_static_worksharing` in code that also says where pieces begin and where the loop ends.
    fn GOMP_loop_static_worksharing_start() -> Complex {
        Complex::new(query::num_threads(), query::thread_num())
    }

    /// A piece of such a loop begins.
    fn GOMP_loop_static_worksharing_dispatch() {}

    /// Such a loop ends.
    fn GOMP_loop_static_worksharing_end() {}

    /// The same for `distribute`: the number of teams, and the caller's.
    fn GOMP_distribute_static_worksharing() -> Complex {
        Complex::new(query::num_teams(), query::team_num())
    }

    /// `GOMP_distribute_static_worksharing` in code that also says where pieces begin and where the loop ends.
    fn GOMP_distribute_static_worksharing_start() -> Complex {
        Complex::new(query::num_teams(), query::team_num())
    }

    /// A piece of such a loop begins.
    fn GOMP_distribute_static_worksharing_dispatch() {}

    /// Such a loop ends.
    fn GOMP_distribute_static_worksharing_end() {}
}

/// C's `_Complex int`: the real part is the lower half of the word.
#[repr(transparent)]
pub(crate) struct Complex(u64);

impl Complex {
    fn new(real: i32, imaginary: i32) -> Complex {
        Complex(u64::from(real as u32) | u64::from(imaginary as u32) << 32)
    }
}
