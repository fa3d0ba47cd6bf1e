//! The device-wide variables, and the values that a new team takes from them. [`super::environment`] reads
//! the environment.

use super::{schedule, Allocator, Icv, Libomp, ProcBind, RunSched, StaticLoops, TargetOffload};
use crate::affinity::{CpuSet, PlaceKind};
use crate::team::levels::Emulated;
use hetmp_core::spins::Asked;
use hetmp_sched::decide::Objective;
use hetmp_sched::schedule::Schedule;
use std::borrow::Cow;

/// hetmp's own variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ours {
    /// `HETMP_NODES` as it was given; the code for nodes reads it.
    pub(crate) nodes: Option<Box<[u8]>>,
    /// `HETMP_FAR`: emulated distances between nodes.
    pub(crate) far: Option<Emulated>,
    /// `HETMP_REPORT`: a file name.
    pub(crate) report: Option<Box<[u8]>>,
    /// `HETMP_TRACE`: a file name.
    pub(crate) trace: Option<Box<[u8]>>,
    /// `HETMP_TRACE_EVENTS`.
    pub(crate) trace_events: u64,
    /// `HETMP_STATIC`.
    pub(crate) static_loops: StaticLoops,
    /// `HETMP_OBJECTIVE`.
    pub(crate) objective: Objective,
    /// `HETMP_FAULT_PERIOD`, in microseconds.
    pub(crate) fault_period_us: Option<f64>,
    /// `HETMP_COUNTER` as it was given; the code for counters reads it.
    pub(crate) counter: Option<Box<[u8]>>,
    /// `HETMP_PROFILE`: a file name.
    pub(crate) profile: Option<Box<[u8]>>,
    /// `HETMP_CACHE` as it was given; `hetmp_core::file` reads it.
    pub(crate) cache: Option<Box<[u8]>>,
    /// `HETMP_CALIBRATION`: a file name.
    pub(crate) calibration: Option<Box<[u8]>>,
    /// `HETMP_VERBOSE`.
    pub(crate) verbose: bool,
    /// Did the schedule come from `HETMP_SCHEDULE`?
    pub(crate) schedule_given: bool,
    /// What applies where [`Globals::schedule`] turns out not to fit the nodes: what `OMP_SCHEDULE` says if the
    /// schedule came from `HETMP_SCHEDULE`, else what applies without either.
    pub(crate) schedule_instead: Schedule,
}

/// The device-wide variables as read from the environment. They never change afterwards.
#[derive(Clone, Debug, PartialEq)]
pub struct Globals {
    /// The data environment of the initial task of every thread that the program itself made.
    pub icv: Icv,
    /// The schedule of the environment, exactly. [`Icv::run_sched`] holds it as integers.
    pub schedule: Schedule,
    /// `nthreads-var` by nesting level, as given; at least one element. Wider than [`Icv::nthreads`], because
    /// `OMP_DISPLAY_ENV` shows the values as given.
    pub(crate) nthreads: Box<[u64]>,
    /// `OMP_NUM_THREADS` is set, to a good or a bad value.
    pub(crate) nthreads_given: bool,
    /// `bind-var` by nesting level, as given; at least one element. The first may differ from `icv.bind`,
    /// which is `True` where only places were given.
    pub(crate) binds: Box<[ProcBind]>,
    /// `place-partition-var` of the initial thread: all places. Empty: threads are not bound.
    pub(crate) places: Box<[CpuSet]>,
    /// The kind of place used instead of a bad `OMP_PLACES`.
    pub(crate) places_instead: Option<PlaceKind>,
    /// The default number of threads. With more threads than this, waiting threads spin for
    /// `throttled_spin_count` turns.
    pub(crate) available_cpus: u32,
    /// The affinity mask at the start: the CPUs that a thread without a place may run on.
    pub allowed: CpuSet,
    /// `wait-policy-var`, and what else the environment says about waits.
    pub(crate) waits: Asked,
    /// `stacksize-var` as displayed, in bytes; 0 where it was not given.
    pub(crate) stack_size: u64,
    /// The stack size that threads really get, in bytes; `None`: the system's default.
    pub(crate) thread_stack: Option<u64>,
    /// `cancel-var`.
    pub cancellation: bool,
    /// `max-task-priority-var`.
    pub max_task_priority: i32,
    /// `target-offload-var`.
    pub(crate) target_offload: TargetOffload,
    /// `def-allocator-var`.
    pub(crate) default_allocator: Allocator,
    /// `display-affinity-var`.
    pub(crate) display_affinity: bool,
    /// `affinity-format-var` at the start.
    pub(crate) affinity_format: Box<[u8]>,
    /// `nteams-var` at the start; 0: the implementation chooses.
    pub(crate) num_teams: i32,
    /// `teams-thread-limit-var` at the start; 0: no limit.
    pub(crate) teams_thread_limit: i32,
    /// Display the variables at the start?
    pub display_env: bool,
    /// Display the implementation's own variables, too?
    pub display_verbose: bool,
    /// `GOMP_DEBUG`.
    pub debug: i32,
    /// `ACC_DEVICE_TYPE`; empty counts as unset.
    pub(crate) acc_device_type: Option<Box<[u8]>>,
    /// `ACC_DEVICE_NUM`.
    pub(crate) acc_device_num: i32,
    /// `GOMP_OPENACC_DIM`.
    pub acc_dimensions: [i32; 3],
    /// hetmp's own variables.
    pub(crate) ours: Ours,
    /// libomp's variables.
    pub(crate) libomp: Libomp,
    /// Where the habits of libgomp and libomp differ, follow libomp's.
    pub(crate) as_libomp: bool,
}

/// The values that a new team starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeamIcv {
    /// The data environment of each implicit task.
    pub(crate) icv: Icv,
    /// The policy by which this team's threads are put on places; [`ProcBind::False`] if there are no places.
    pub(crate) bind: ProcBind,
}

impl Globals {
    /// `nthreads-var` of the implicit tasks at nesting level `level` (1: inside one region), if
    /// `OMP_NUM_THREADS` gives a list.
    #[must_use]
    pub(crate) fn nthreads_at(&self, level: usize) -> Option<u32> {
        if self.nthreads.len() < 2 {
            return None;
        }
        self.nthreads.get(level).copied().map(int_range)
    }

    /// `bind-var` of the implicit tasks at nesting level `level`, if `OMP_PROC_BIND` gives a list.
    #[must_use]
    pub(crate) fn bind_at(&self, level: usize) -> Option<ProcBind> {
        if self.binds.len() < 2 {
            return None;
        }
        self.binds.get(level).copied()
    }

    /// The schedule that `run` stands for: the environment's own, or one that the program made with
    /// `omp_set_schedule`. `static-csr` takes its ratios from the environment; if that has none, `static` is
    /// used instead.
    #[must_use]
    pub fn schedule_of(&self, run: RunSched) -> Cow<'_, Schedule> {
        if run == self.icv.run_sched {
            Cow::Borrowed(&self.schedule)
        } else {
            Cow::Owned(schedule::from_run(run, &self.schedule))
        }
    }

    /// The values that the implicit tasks of a new team start with (OpenMP 5.1, section 2.4.3). `parent` is
    /// the data environment that meets the parallel construct, `level` the nesting level of the new region (1
    /// for the outermost), `clause` its `proc_bind` clause.
    #[must_use]
    pub(crate) fn team_icv(&self, parent: &Icv, level: usize, clause: Option<ProcBind>) -> TeamIcv {
        let mut icv = *parent;
        if icv.bind != ProcBind::False {
            if let Some(bind) = clause {
                icv.bind = bind;
            }
        }
        let bind = if self.places.is_empty() {
            ProcBind::False
        } else {
            icv.bind
        };
        if let Some(n) = self.nthreads_at(level) {
            icv.nthreads = n;
        }
        if let Some(b) = self.bind_at(level) {
            icv.bind = b;
        }
        TeamIcv { icv, bind }
    }
}

/// A count, cut to the range of a positive C `int`.
pub(super) fn int_range(n: u64) -> u32 {
    n.clamp(1, i32::MAX as u64) as u32
}
