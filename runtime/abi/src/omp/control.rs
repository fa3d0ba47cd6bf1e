//! Internal control variables: setting and reading them. Pausing, and `omp_display_env`.

use super::{alias, to_int};
use crate::entry::entries;
use hetmp_omp::icv::SUPPORTED_ACTIVE_LEVELS;
use hetmp_omp::{device, query};

/// The bit of `omp_sched_t` that means `monotonic`. Fortran programs do not get this bit, because programs of
/// OpenMP 4.5 compare the kind with the four kinds that they know.
const MONOTONIC: u32 = 0x8000_0000;

entries! {
    "OMP_1.0" default:
    /// Sets the number of threads of the next regions.
    fn omp_set_num_threads(n: i32) {
        query::change_icv(|icv| icv.set_num_threads(n));
    }

    /// Fortran form of `omp_set_num_threads`.
    fn omp_set_num_threads_(n: &i32) {
        let n = *n;
        query::change_icv(|icv| icv.set_num_threads(n));
    }

    /// Fortran form of `omp_set_num_threads` for 8-byte integers.
    fn omp_set_num_threads_8_(n: &i64) {
        let n = to_int(*n);
        query::change_icv(|icv| icv.set_num_threads(n));
    }

    /// The number of threads that the next region asks for.
    fn omp_get_max_threads() -> i32 {
        query::max_threads()
    }

    /// Sets whether a region may get fewer threads than it asks for.
    fn omp_set_dynamic(yes: i32) {
        query::change_icv(|icv| icv.dynamic = yes != 0);
    }

    /// Fortran form of `omp_set_dynamic`.
    fn omp_set_dynamic_(yes: *const i32) {
        // SAFETY: the program passes a logical.
        let yes = unsafe { *yes } != 0;
        query::change_icv(|icv| icv.dynamic = yes);
    }

    /// Fortran form of `omp_set_dynamic` for 8-byte logicals.
    fn omp_set_dynamic_8_(yes: *const i64) {
        // SAFETY: the program passes a logical.
        let yes = unsafe { *yes } != 0;
        query::change_icv(|icv| icv.dynamic = yes);
    }

    /// The value that `omp_set_dynamic` sets.
    fn omp_get_dynamic() -> i32 {
        i32::from(query::icv().dynamic)
    }

    /// Sets whether regions inside regions may have more than one thread.
    fn omp_set_nested(yes: i32) {
        query::change_icv(|icv| icv.set_nested(yes != 0));
    }

    /// Fortran form of `omp_set_nested`.
    fn omp_set_nested_(yes: *const i32) {
        // SAFETY: the program passes a logical.
        let yes = unsafe { *yes } != 0;
        query::change_icv(|icv| icv.set_nested(yes));
    }

    /// Fortran form of `omp_set_nested` for 8-byte logicals.
    fn omp_set_nested_8_(yes: *const i64) {
        // SAFETY: the program passes a logical.
        let yes = unsafe { *yes } != 0;
        query::change_icv(|icv| icv.set_nested(yes));
    }

    /// The value that `omp_set_nested` sets.
    fn omp_get_nested() -> i32 {
        i32::from(query::icv().nested(query::active_level().unsigned_abs()))
    }

    "OMP_3.0" default:
    /// Sets the schedule of loops with `schedule(runtime)`.
    fn omp_set_schedule(kind: u32, chunk: i32) {
        query::change_icv(|icv| icv.set_schedule(kind, chunk));
    }

    /// Fortran form of `omp_set_schedule`.
    fn omp_set_schedule_(kind: *const u32, chunk: *const i32) {
        // SAFETY: the program passes integers.
        let (kind, chunk) = unsafe { (*kind, *chunk) };
        query::change_icv(|icv| icv.set_schedule(kind, chunk));
    }

    /// Fortran form of `omp_set_schedule` for 8-byte integers.
    fn omp_set_schedule_8_(kind: *const u32, chunk: *const i64) {
        // SAFETY: the program passes integers.
        let (kind, chunk) = unsafe { (*kind, to_int(*chunk)) };
        query::change_icv(|icv| icv.set_schedule(kind, chunk));
    }

    /// The value that `omp_set_schedule` sets.
    fn omp_get_schedule(kind: *mut u32, chunk: *mut i32) {
        // SAFETY: the program passes the addresses of its variables.
        unsafe { (*kind, *chunk) = query::icv().schedule() };
    }

    /// Fortran form of `omp_get_schedule`.
    fn omp_get_schedule_(kind: *mut u32, chunk: *mut i32) {
        let (k, c) = query::icv().schedule();
        // SAFETY: the program passes the addresses of its variables.
        unsafe { (*kind, *chunk) = (k & !MONOTONIC, c) };
    }

    /// Fortran form of `omp_get_schedule` for 8-byte integers.
    fn omp_get_schedule_8_(kind: *mut u32, chunk: *mut i64) {
        let (k, c) = query::icv().schedule();
        // SAFETY: the program passes the addresses of its variables.
        unsafe { (*kind, *chunk) = (k & !MONOTONIC, i64::from(c)) };
    }

    /// The largest number of threads in a contention group.
    fn omp_get_thread_limit() -> i32 {
        query::icv().thread_limit_as_int()
    }

    /// Sets how many nested regions may have more than one thread.
    fn omp_set_max_active_levels(levels: i32) {
        query::change_icv(|icv| icv.set_max_active_levels(levels));
    }

    /// Fortran form of `omp_set_max_active_levels`.
    fn omp_set_max_active_levels_(levels: &i32) {
        let levels = *levels;
        query::change_icv(|icv| icv.set_max_active_levels(levels));
    }

    /// Fortran form of `omp_set_max_active_levels` for 8-byte integers.
    fn omp_set_max_active_levels_8_(levels: &i64) {
        let levels = to_int(*levels);
        query::change_icv(|icv| icv.set_max_active_levels(levels));
    }

    /// The value that `omp_set_max_active_levels` sets.
    fn omp_get_max_active_levels() -> i32 {
        i32::from(query::icv().max_active_levels)
    }

    "OMP_4.0" default:
    /// Sets the device of constructs without a `device` clause; negative numbers count as 0.
    fn omp_set_default_device(device: i32) {
        query::change_icv(|icv| icv.default_device = device.max(0));
    }

    /// Fortran form of `omp_set_default_device`.
    fn omp_set_default_device_(device: &i32) {
        let device = *device;
        query::change_icv(|icv| icv.default_device = device.max(0));
    }

    /// Fortran form of `omp_set_default_device` for 8-byte integers.
    fn omp_set_default_device_8_(device: &i64) {
        let device = to_int(*device);
        query::change_icv(|icv| icv.default_device = device.max(0));
    }

    /// The value that `omp_set_default_device` sets.
    fn omp_get_default_device() -> i32 {
        query::icv().default_device
    }

    "OMP_5.0" default:
    /// Releases resources that device `device` does not need for a while. The host releases its worker
    /// threads. Returns 0 on success.
    fn omp_pause_resource(_kind: i32, device: i32) -> i32 {
        pause_device(device)
    }

    /// Fortran form of `omp_pause_resource`.
    fn omp_pause_resource_(_kind: *const i32, device: &i32) -> i32 {
        pause_device(*device)
    }

    /// `omp_pause_resource` for all devices.
    fn omp_pause_resource_all(_kind: i32) -> i32 {
        pause_device(device::num_devices())
    }

    /// Fortran form of `omp_pause_resource_all`.
    fn omp_pause_resource_all_(_kind: *const i32) -> i32 {
        pause_device(device::num_devices())
    }

    "OMP_5.0.1" default:
    /// The largest value for `omp_set_max_active_levels`.
    fn omp_get_supported_active_levels() -> i32 {
        i32::from(SUPPORTED_ACTIVE_LEVELS)
    }

    "OMP_5.1" default:
    /// Sets the number of teams in leagues without a `num_teams` clause.
    fn omp_set_num_teams(n: i32) {
        query::set_num_teams(n);
    }

    /// Fortran form of `omp_set_num_teams`.
    fn omp_set_num_teams_(n: &i32) {
        query::set_num_teams(*n);
    }

    /// Fortran form of `omp_set_num_teams` for 8-byte integers.
    fn omp_set_num_teams_8_(n: &i64) {
        query::set_num_teams(to_int(*n));
    }

    /// The value that `omp_set_num_teams` sets.
    fn omp_get_max_teams() -> i32 {
        query::max_teams()
    }

    /// Sets the largest number of threads in each team of a league.
    fn omp_set_teams_thread_limit(n: i32) {
        query::set_teams_thread_limit(n);
    }

    /// Fortran form of `omp_set_teams_thread_limit`.
    fn omp_set_teams_thread_limit_(n: &i32) {
        query::set_teams_thread_limit(*n);
    }

    /// Fortran form of `omp_set_teams_thread_limit` for 8-byte integers.
    fn omp_set_teams_thread_limit_8_(n: &i64) {
        query::set_teams_thread_limit(to_int(*n));
    }

    /// The value that `omp_set_teams_thread_limit` sets.
    fn omp_get_teams_thread_limit() -> i32 {
        query::teams_thread_limit()
    }

    /// Shows the control variables; with `verbose`, those of libgomp and hetmp, too.
    fn omp_display_env(verbose: i32) {
        query::display_env(verbose != 0);
    }

    /// Fortran form of `omp_display_env`.
    fn omp_display_env_(verbose: *const i32) {
        // SAFETY: the program passes a logical.
        query::display_env(unsafe { *verbose } != 0);
    }

    /// Fortran form of `omp_display_env` for 8-byte logicals.
    fn omp_display_env_8_(verbose: *const i64) {
        // SAFETY: the program passes a logical.
        query::display_env(unsafe { *verbose } != 0);
    }
}

fn pause_device(device: i32) -> i32 {
    if device == device::num_devices() && query::pause() {
        0
    } else {
        -1
    }
}

// Routines without arguments have the same form in Fortran.
alias! {
    "OMP_1.0": omp_get_max_threads = "omp_get_max_threads_",
        omp_get_dynamic = "omp_get_dynamic_",
        omp_get_nested = "omp_get_nested_";
    "OMP_3.0": omp_get_thread_limit = "omp_get_thread_limit_",
        omp_get_max_active_levels = "omp_get_max_active_levels_";
    "OMP_4.0": omp_get_default_device = "omp_get_default_device_";
    "OMP_5.0.1": omp_get_supported_active_levels = "omp_get_supported_active_levels_";
    "OMP_5.1": omp_get_max_teams = "omp_get_max_teams_",
        omp_get_teams_thread_limit = "omp_get_teams_thread_limit_";
}

// Second names of these routines that libomp has.
crate::entry::export!(omp_set_dynamic, "ompc_set_dynamic", "VERSION", "@@");
crate::entry::export!(
    omp_set_max_active_levels,
    "ompc_set_max_active_levels",
    "VERSION",
    "@@"
);
crate::entry::export!(omp_set_nested, "ompc_set_nested", "VERSION", "@@");
crate::entry::export!(omp_set_num_threads, "ompc_set_num_threads", "VERSION", "@@");
crate::entry::export!(omp_set_schedule, "ompc_set_schedule", "VERSION", "@@");
