//! Teams and leagues of several dimensions (OpenMP 6.1), of which there is one; and how far devices are.

use crate::entry::entries;
use hetmp_omp::{device, query};
use libc::c_int;

/// `first` in the only dimension, `beyond` in those that there are not.
fn in_dimension(dimension: i32, first: impl FnOnce() -> i32, beyond: i32) -> i32 {
    if dimension == 0 {
        first()
    } else {
        beyond
    }
}

entries! {
    "OMP_6.1" default:
    /// The calling thread's number in its team, in one dimension.
    fn omp_get_thread_num_dim(dimension: c_int) -> c_int {
        in_dimension(dimension, query::thread_num, 0)
    }

    /// The number of threads in the calling thread's team, in one dimension.
    fn omp_get_num_threads_dim(dimension: c_int) -> c_int {
        in_dimension(dimension, query::num_threads, 1)
    }

    /// The number of the calling thread's team in its league, in one dimension.
    fn omp_get_team_num_dim(dimension: c_int) -> c_int {
        in_dimension(dimension, query::team_num, 0)
    }

    /// The number of teams in the calling thread's league, in one dimension.
    fn omp_get_num_teams_dim(dimension: c_int) -> c_int {
        in_dimension(dimension, query::num_teams, 1)
    }

    /// The largest number of threads in a contention group, in one dimension.
    fn omp_get_thread_limit_dim(dimension: c_int) -> c_int {
        in_dimension(dimension, || query::icv().thread_limit_as_int(), 1)
    }

    /// How many dimensions teams can have.
    fn omp_get_supported_active_team_dims(_device: c_int, _native: c_int) -> c_int {
        1
    }

    /// Fortran form of `omp_get_supported_active_team_dims`.
    fn omp_get_supported_active_team_dims_(_device: *const c_int, _native: *const c_int) -> c_int {
        1
    }

    /// How many dimensions leagues can have.
    fn omp_get_supported_active_league_dims(_device: c_int, _native: c_int) -> c_int {
        1
    }

    /// Fortran form of `omp_get_supported_active_league_dims`.
    fn omp_get_supported_active_league_dims_(_device: *const c_int, _native: *const c_int) -> c_int {
        1
    }

    /// The largest number of teams in one dimension.
    fn omp_get_supported_teams_dim(_device: c_int, dimension: c_int) -> c_int {
        in_dimension(dimension, || c_int::MAX, 1)
    }

    /// The largest number of threads of a team in one dimension.
    fn omp_get_supported_threads_dim(_device: c_int, dimension: c_int) -> c_int {
        in_dimension(dimension, || query::icv().thread_limit_as_int(), 1)
    }

    /// How far devices are from the calling thread: 0 for the host, which is the only one; -1 for what is no device.
    fn omp_get_device_distances(count: c_int, devices: *const c_int, distances: *mut c_int) {
        for i in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: the program passes arrays with `count` numbers.
            unsafe {
                let device = *devices.add(i);
                let host = device == INITIAL || device == DEFAULT || device == device::num_devices();
                *distances.add(i) = if host { 0 } else { -1 };
            }
        }
    }
}

/// `omp_initial_device` of `omp.h`.
const INITIAL: c_int = -1;
/// `omp_default_device` of libgomp's `omp.h`.
const DEFAULT: c_int = -5;
