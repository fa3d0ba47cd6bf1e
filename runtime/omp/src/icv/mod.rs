//! Internal control variables (OpenMP 5.1, section 2.4).
//!
//! The specification gives every variable a scope. Here a variable is in one of two structures:
//!
//! * [`Icv`]: variables of which each *data environment* has a copy (a task inherits it from the task that
//!   generates it). Small and `Copy`, because every implicit task of every region gets one.
//! * [`Globals`]: variables that the device has once. They are read from the environment at the first use and
//!   never change afterwards, so that they are shared without a lock. A program may still change three
//!   device-wide variables (`omp_set_num_teams`, `omp_set_teams_thread_limit`, `omp_set_affinity_format`).
//!   The engine keeps their current values, which start from the values here, and passes them to [`display`]
//!   as [`display::Current`].
//!
//! **Data in**: bytes of environment variables and a [`Machine`] description, both as arguments. **Data
//! out**: plain values, and one line of text for each value that was not understood. Nothing here calls the
//! system. So all of it is tested as pure functions, and against libgomp, which gets the same environments
//! (`tests/libgomp`).

pub mod display;
mod environment;
mod globals;
pub(crate) mod kinds;
pub(crate) mod libomp;
mod parse;
mod schedule;

pub use environment::Machine;
pub use globals::{Globals, Ours, TeamIcv};
pub use hetmp_sched::schedule::SchedKind;
pub use kinds::{Allocator, ProcBind, RunSched, StaticLoops, TargetOffload};
pub(crate) use libomp::Libomp;
pub(crate) use parse::target_offload;

/// The largest number of nested active parallel regions, as `omp_get_supported_active_levels` returns it. It
/// is libgomp's value, and fits a byte.
pub const SUPPORTED_ACTIVE_LEVELS: u8 = u8::MAX;

/// `thread-limit-var` where the number of threads is not limited.
pub(crate) const UNLIMITED_THREADS: u32 = u32::MAX;

/// The internal control variables of one data environment (OpenMP 5.1, table 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Icv {
    /// `nthreads-var`: threads asked for by the next parallel region; at least 1, at most
    /// `i32::MAX` because `omp_get_max_threads` returns an `int`.
    pub nthreads: u32,
    /// The program itself has set [`Icv::nthreads`].
    pub(crate) nthreads_set: bool,
    /// `thread-limit-var`: threads of the contention group, or [`UNLIMITED_THREADS`].
    pub(crate) thread_limit: u32,
    /// `default-device-var`.
    pub default_device: i32,
    /// `def-allocator-var`: an `omp_allocator_handle_t`, or 0 for the device's default
    /// ([`Globals::default_allocator`]).
    pub(crate) allocator: usize,
    /// `run-sched-var`: the schedule of loops with `schedule(runtime)`.
    pub run_sched: RunSched,
    /// `dyn-var`: may a region get fewer threads than it asked for, because of the load?
    pub dynamic: bool,
    /// `max-active-levels-var`.
    pub max_active_levels: u8,
    /// `bind-var`: how the threads of the next parallel region are put on places.
    pub bind: ProcBind,
}

impl Icv {
    /// libgomp's values for an empty environment. `nthreads` is the number of CPUs that this process may use.
    #[must_use]
    pub(crate) const fn initial(nthreads: u32) -> Self {
        Self {
            nthreads,
            nthreads_set: false,
            thread_limit: UNLIMITED_THREADS,
            default_device: 0,
            allocator: 0,
            run_sched: RunSched::DEFAULT,
            dynamic: false,
            max_active_levels: 1,
            bind: ProcBind::False,
        }
    }

    /// `omp_set_num_threads` (section 3.2.1): values below 1 count as 1, as in libgomp.
    pub fn set_num_threads(&mut self, n: i32) {
        self.nthreads = n.max(1).unsigned_abs();
        self.nthreads_set = true;
    }

    /// `omp_set_nested` (section 3.2.9): true allows as many active levels as are supported, false at most
    /// one. A limit of 0 stays 0.
    pub fn set_nested(&mut self, nested: bool) {
        if nested {
            self.max_active_levels = SUPPORTED_ACTIVE_LEVELS;
        } else if self.max_active_levels > 1 {
            self.max_active_levels = 1;
        }
    }

    /// `omp_get_nested` (section 3.2.10) for a thread inside `active_level` active regions.
    #[must_use]
    pub fn nested(&self, active_level: u32) -> bool {
        self.max_active_levels > 1 && u32::from(self.max_active_levels) > active_level
    }

    /// `omp_set_max_active_levels` (section 3.2.15): negative values are ignored, large ones are
    /// cut to [`SUPPORTED_ACTIVE_LEVELS`].
    pub fn set_max_active_levels(&mut self, levels: i32) {
        if levels >= 0 {
            self.max_active_levels = u8::try_from(levels).unwrap_or(SUPPORTED_ACTIVE_LEVELS);
        }
    }

    /// `omp_set_schedule` (section 3.2.11) with the raw `omp_sched_t` value. Unknown kinds change
    /// nothing; `auto` keeps the chunk.
    pub fn set_schedule(&mut self, omp_sched: u32, chunk: i32) {
        if let Some(new) = self.run_sched.replaced_by(omp_sched, chunk) {
            self.run_sched = new;
        }
    }

    /// `omp_get_schedule` (section 3.2.12): the raw `omp_sched_t` value and the chunk.
    #[must_use]
    pub fn schedule(&self) -> (u32, i32) {
        (self.run_sched.omp_sched(), self.run_sched.chunk)
    }

    /// `omp_get_thread_limit` (section 3.2.13): "no limit" reads as `i32::MAX`.
    #[must_use]
    pub fn thread_limit_as_int(&self) -> i32 {
        i32::try_from(self.thread_limit).unwrap_or(i32::MAX)
    }
}
