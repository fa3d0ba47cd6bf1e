//! Queries: numbers of threads, teams, levels, processors and devices; the time.

use super::{alias, to_int};
use crate::entry::entries;
use hetmp_omp::{device, init, query};

entries! {
    "OMP_1.0" default:
    /// The calling thread's number in its team.
    fn omp_get_thread_num() -> i32 {
        query::thread_num()
    }

    /// The number of threads in the calling thread's team.
    placed(num_threads_at) fn omp_get_num_threads() -> i32 {
        query::num_threads()
    }

    /// Is the caller inside a region of more than one thread?
    fn omp_in_parallel() -> i32 {
        i32::from(query::active_level() > 0)
    }

    /// The number of CPUs that the calling thread may use.
    fn omp_get_num_procs() -> i32 {
        query::num_procs()
    }

    "OMP_2.0" default:
    /// Seconds since a fixed time in the past.
    fn omp_get_wtime() -> f64 {
        query::wtime()
    }

    /// The resolution of `omp_get_wtime`, in seconds.
    fn omp_get_wtick() -> f64 {
        query::wtick()
    }

    "OMP_3.0" default:
    /// The number of enclosing parallel regions.
    fn omp_get_level() -> i32 {
        query::level()
    }

    /// The number of enclosing parallel regions that have more than one thread.
    fn omp_get_active_level() -> i32 {
        query::active_level()
    }

    /// The number of the calling thread's ancestor in the team at an enclosing level; -1 if there is no such
    /// level.
    fn omp_get_ancestor_thread_num(level: i32) -> i32 {
        query::ancestor_thread_num(level)
    }

    /// Fortran form of `omp_get_ancestor_thread_num`.
    fn omp_get_ancestor_thread_num_(level: &i32) -> i32 {
        query::ancestor_thread_num(*level)
    }

    /// Fortran form of `omp_get_ancestor_thread_num` for 8-byte integers.
    fn omp_get_ancestor_thread_num_8_(level: &i64) -> i32 {
        query::ancestor_thread_num(to_int(*level))
    }

    /// The size of the team at an enclosing level; -1 if there is no such level.
    fn omp_get_team_size(level: i32) -> i32 {
        query::team_size(level)
    }

    /// Fortran form of `omp_get_team_size`.
    fn omp_get_team_size_(level: &i32) -> i32 {
        query::team_size(*level)
    }

    /// Fortran form of `omp_get_team_size` for 8-byte integers.
    fn omp_get_team_size_8_(level: &i64) -> i32 {
        query::team_size(to_int(*level))
    }

    "OMP_3.1" default:
    /// Is the caller inside a final task?
    fn omp_in_final() -> i32 {
        i32::from(query::in_final())
    }

    "OMP_4.0" default:
    /// Can constructs be cancelled (`OMP_CANCELLATION`)?
    fn omp_get_cancellation() -> i32 {
        i32::from(init::globals().cancellation)
    }

    /// The number of teams in the current league.
    fn omp_get_num_teams() -> i32 {
        query::num_teams()
    }

    /// The number of the current team in its league.
    fn omp_get_team_num() -> i32 {
        query::team_num()
    }

    /// Does the caller run on the host? Always yes.
    fn omp_is_initial_device() -> i32 {
        1
    }

    /// The number of devices other than the host.
    fn omp_get_num_devices() -> i32 {
        device::num_devices()
    }

    "OMP_4.5" default:
    /// The host's device number.
    fn omp_get_initial_device() -> i32 {
        device::num_devices()
    }

    /// The largest task priority (`OMP_MAX_TASK_PRIORITY`).
    fn omp_get_max_task_priority() -> i32 {
        init::globals().max_task_priority
    }

    "OMP_5.0.2" default:
    /// The number of the device on which the caller runs.
    fn omp_get_device_num() -> i32 {
        device::num_devices()
    }

    "OMP_5.2" default:
    /// Is the caller inside an explicit task?
    fn omp_in_explicit_task() -> i32 {
        i32::from(query::in_explicit_task())
    }
}

/// `omp_get_num_threads` where some region prints its number of threads.
unsafe extern "C" fn num_threads_at(return_address: usize) -> i32 {
    query::num_threads_at(return_address)
}

crate::entry::export_placed!(
    omp_get_num_threads,
    num_threads_at,
    "omp_get_num_threads_",
    "OMP_1.0",
    "@@"
);

// Routines without arguments have the same form in Fortran.
alias! {
    "OMP_1.0": omp_get_thread_num = "omp_get_thread_num_",
        omp_in_parallel = "omp_in_parallel_",
        omp_get_num_procs = "omp_get_num_procs_";
    "OMP_2.0": omp_get_wtime = "omp_get_wtime_",
        omp_get_wtick = "omp_get_wtick_";
    "OMP_3.0": omp_get_level = "omp_get_level_",
        omp_get_active_level = "omp_get_active_level_";
    "OMP_3.1": omp_in_final = "omp_in_final_";
    "OMP_4.0": omp_get_cancellation = "omp_get_cancellation_",
        omp_get_num_teams = "omp_get_num_teams_",
        omp_get_team_num = "omp_get_team_num_",
        omp_is_initial_device = "omp_is_initial_device_",
        omp_get_num_devices = "omp_get_num_devices_";
    "OMP_4.5": omp_get_initial_device = "omp_get_initial_device_",
        omp_get_max_task_priority = "omp_get_max_task_priority_";
    "OMP_5.0.2": omp_get_device_num = "omp_get_device_num_";
    "OMP_5.2": omp_in_explicit_task = "omp_in_explicit_task_";
}

// Second names of these routines that libomp has.
crate::entry::export!(
    omp_get_ancestor_thread_num,
    "ompc_get_ancestor_thread_num",
    "VERSION",
    "@@"
);
crate::entry::export!(omp_get_team_size, "ompc_get_team_size", "VERSION", "@@");
