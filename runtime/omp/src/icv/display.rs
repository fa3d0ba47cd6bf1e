//! The text of `OMP_DISPLAY_ENV` and `omp_display_env` (OpenMP 5.1, sections 6.12 and 3.15). It has libgomp
//! 12's format byte by byte, because scripts read it.

use super::{Globals, SchedKind, TargetOffload};
use crate::affinity::places;
use crate::icv::ProcBind;
use hetmp_core::env::{self, Family};
use hetmp_core::spins::{Library, WaitPolicy};
use hetmp_sched::schedule::Modifier;

/// Device-wide variables that a program may have changed since the start.
#[derive(Clone, Copy, Debug)]
pub struct Current<'a> {
    /// `nteams-var` (`omp_set_num_teams`).
    pub(crate) num_teams: i32,
    /// `teams-thread-limit-var` (`omp_set_teams_thread_limit`).
    pub(crate) teams_thread_limit: i32,
    /// `affinity-format-var` (`omp_set_affinity_format`).
    pub(crate) affinity_format: &'a [u8],
}

impl<'a> Current<'a> {
    /// The values of the start.
    #[must_use]
    pub fn unchanged(globals: &'a Globals) -> Self {
        Self {
            num_teams: globals.num_teams,
            teams_thread_limit: globals.teams_thread_limit,
            affinity_format: &globals.affinity_format,
        }
    }
}

/// The whole text, for standard error. With `verbose`, libgomp's own variables and then hetmp's follow those
/// of the specification.
#[must_use]
pub fn text(globals: &Globals, current: &Current<'_>, verbose: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(1500);
    out.extend_from_slice(b"\nOPENMP DISPLAY ENVIRONMENT BEGIN\n");
    specified(globals, current, &mut out);
    if verbose {
        libgomps(globals, &mut out);
        ours(globals, &mut out);
        if globals.libomp.given {
            libomps(globals, &mut out);
        }
    }
    out.extend_from_slice(b"OPENMP DISPLAY ENVIRONMENT END\n");
    out
}

/// The text of `KMP_SETTINGS`, in libomp's form: the variables that are `set`, then the values in effect of
/// all variables that OpenMP and libomp name.
pub(crate) fn settings<'a>(
    globals: &Globals,
    current: &Current<'_>,
    set: impl Iterator<Item = (&'a [u8], &'a [u8])>,
) -> Vec<u8> {
    let mut out = b"\nUser settings:\n\n".to_vec();
    for (name, value) in
        set.filter(|(name, _)| name.starts_with(b"OMP_") || name.starts_with(b"KMP_"))
    {
        out.extend_from_slice(b"   ");
        out.extend_from_slice(name);
        out.push(b'=');
        out.extend_from_slice(value);
        out.push(b'\n');
    }
    out.extend_from_slice(b"\nEffective settings:\n\n");
    let mut lines = Vec::new();
    specified(globals, current, &mut lines);
    libomps(globals, &mut lines);
    for line in lines.split(|&b| b == b'\n').filter(|l| !l.is_empty()) {
        let (name, value) = match line.iter().position(|&b| b == b'=') {
            Some(at) => (line[..at].trim_ascii(), line[at + 1..].trim_ascii()),
            None => (line, &[][..]),
        };
        let instead = globals
            .places_instead
            .filter(|_| name == b"OMP_PLACES")
            .map(|kind| format!("'{}'", kind.name()));
        out.extend_from_slice(b"   ");
        out.extend_from_slice(name);
        out.push(b'=');
        out.extend_from_slice(instead.as_ref().map_or(value, |i| i.as_bytes()));
        out.push(b'\n');
    }
    out.push(b'\n');
    out
}

fn libomps(g: &Globals, out: &mut Vec<u8>) {
    let k = &g.libomp;
    let blocktime = match k.blocktime_us {
        None => String::new(),
        Some(u64::MAX) => "infinite".to_owned(),
        Some(us) => format!("{us}us"),
    };
    line(out, "KMP_BLOCKTIME", blocktime);
    line(
        out,
        "KMP_LIBRARY",
        k.library.map_or("throughput", Library::name),
    );
    line(out, "KMP_STACKSIZE", g.stack_size.to_string());
    line(
        out,
        "KMP_DEVICE_THREAD_LIMIT",
        g.icv.thread_limit.to_string(),
    );
    line(out, "KMP_ENABLE_TASK_THROTTLING", truth(k.throttles_tasks));
    let mut places = Vec::new();
    if k.affinity.as_ref().is_some_and(|a| a.order.is_some()) {
        places::write_list(&g.places, &mut places);
    }
    line(out, "KMP_AFFINITY", places);
    line(out, "KMP_TEAMS_PROC_BIND", bind(k.teams_bind));
    line(
        out,
        "KMP_TEAMS_THREAD_LIMIT",
        k.teams_limit.unwrap_or(0).to_string(),
    );
}

fn line(out: &mut Vec<u8>, name: &str, value: impl AsRef<[u8]>) {
    out.extend_from_slice(b"  ");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b" = '");
    out.extend_from_slice(value.as_ref());
    out.extend_from_slice(b"'\n");
}

fn truth(value: bool) -> &'static str {
    if value {
        "TRUE"
    } else {
        "FALSE"
    }
}

fn specified(g: &Globals, current: &Current<'_>, out: &mut Vec<u8>) {
    // gcc 12 declares OpenMP 4.5, and compiled programs have that date.
    line(out, "_OPENMP", "201511");
    line(out, "OMP_DYNAMIC", truth(g.icv.dynamic));
    line(out, "OMP_NESTED", truth(g.icv.max_active_levels > 1));
    let threads: Vec<String> = g.nthreads.iter().map(u64::to_string).collect();
    line(out, "OMP_NUM_THREADS", threads.join(","));
    line(out, "OMP_SCHEDULE", schedule(g));
    let binds: Vec<&str> = std::iter::once(g.icv.bind)
        .chain(g.binds.iter().skip(1).copied())
        .map(bind)
        .collect();
    line(out, "OMP_PROC_BIND", binds.join(","));
    let mut list = Vec::new();
    places::write_list(&g.places, &mut list);
    line(out, "OMP_PLACES", list);
    line(out, "OMP_STACKSIZE", g.stack_size.to_string());
    line(
        out,
        "OMP_WAIT_POLICY",
        match g.waits.policy() {
            WaitPolicy::Active => "ACTIVE",
            WaitPolicy::Passive | WaitPolicy::Unset => "PASSIVE",
        },
    );
    line(out, "OMP_THREAD_LIMIT", g.icv.thread_limit.to_string());
    line(
        out,
        "OMP_MAX_ACTIVE_LEVELS",
        g.icv.max_active_levels.to_string(),
    );
    line(out, "OMP_NUM_TEAMS", current.num_teams.to_string());
    line(
        out,
        "OMP_TEAMS_THREAD_LIMIT",
        current.teams_thread_limit.to_string(),
    );
    line(out, "OMP_CANCELLATION", truth(g.cancellation));
    line(out, "OMP_DEFAULT_DEVICE", g.icv.default_device.to_string());
    line(
        out,
        "OMP_MAX_TASK_PRIORITY",
        g.max_task_priority.to_string(),
    );
    line(out, "OMP_DISPLAY_AFFINITY", truth(g.display_affinity));
    line(out, "OMP_AFFINITY_FORMAT", current.affinity_format);
    line(out, "OMP_ALLOCATOR", g.default_allocator.name());
    line(
        out,
        "OMP_TARGET_OFFLOAD",
        match g.target_offload {
            TargetOffload::Default => "DEFAULT",
            TargetOffload::Mandatory => "MANDATORY",
            TargetOffload::Disabled => "DISABLED",
        },
    );
}

/// What libgomp would show: a passive policy is no turn there.
fn spin_count(g: &Globals) -> u64 {
    match (g.waits.number(), g.waits.policy()) {
        (None, WaitPolicy::Passive) => 0,
        _ => g.waits.spins().free,
    }
}

fn libgomps(g: &Globals, out: &mut Vec<u8>) {
    // Always empty: the CPUs have become OMP_PLACES.
    line(out, "GOMP_CPU_AFFINITY", "");
    line(out, "GOMP_STACKSIZE", g.stack_size.to_string());
    line(out, "GOMP_SPINCOUNT", spin_count(g).to_string());
}

fn ours(g: &Globals, out: &mut Vec<u8>) {
    line(out, "HETMP_NODES", g.ours.nodes.as_deref().unwrap_or(b""));
    let schedule = if g.ours.schedule_given {
        schedule(g)
    } else {
        String::new()
    };
    line(out, "HETMP_SCHEDULE", schedule);
    line(out, "HETMP_OBJECTIVE", g.ours.objective.name());
    line(out, "HETMP_FAULT_PERIOD", number(g.ours.fault_period_us));
    line(
        out,
        "HETMP_COUNTER",
        g.ours.counter.as_deref().unwrap_or(b""),
    );
    line(
        out,
        "HETMP_PROFILE",
        g.ours.profile.as_deref().unwrap_or(b""),
    );
    line(out, "HETMP_CACHE", g.ours.cache.as_deref().unwrap_or(b""));
    line(
        out,
        "HETMP_CALIBRATION",
        g.ours.calibration.as_deref().unwrap_or(b""),
    );
    line(out, "HETMP_VERBOSE", truth(g.ours.verbose));
    line(out, "HETMP_REPORT", g.ours.report.as_deref().unwrap_or(b""));
    line(out, "HETMP_TRACE", g.ours.trace.as_deref().unwrap_or(b""));
    line(out, "HETMP_TRACE_EVENTS", g.ours.trace_events.to_string());
    // What only the parts that read them know is shown as it was set.
    for row in env::TABLE.iter().filter(|row| row.family == Family::Hetmp) {
        let shown = format!("\n  {} = '", row.name);
        if !out.windows(shown.len()).any(|at| at == shown.as_bytes()) {
            line(
                out,
                row.name,
                env::snapshot().get(row.name).unwrap_or_default(),
            );
        }
    }
}

/// The number, or nothing if none was given.
fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |v| v.to_string())
}

fn bind(policy: ProcBind) -> &'static str {
    match policy {
        ProcBind::False => "FALSE",
        ProcBind::True => "TRUE",
        // Not PRIMARY: gcc 12 still shows the name of OpenMP 5.0.
        ProcBind::Primary => "MASTER",
        ProcBind::Close => "CLOSE",
        ProcBind::Spread => "SPREAD",
    }
}

fn schedule(g: &Globals) -> String {
    let sched = g.icv.run_sched;
    let (name, usual_chunk) = match sched.kind {
        SchedKind::Static => ("STATIC", 0),
        SchedKind::Dynamic => ("DYNAMIC", 1),
        SchedKind::Guided => ("GUIDED", 1),
        SchedKind::Trapezoidal => ("TRAPEZOIDAL", 1),
        SchedKind::Auto => ("AUTO", sched.chunk),
        // libgomp has no format for hetmp's own schedules: show the text that the variable accepts.
        _ => return g.schedule.to_string().to_uppercase(),
    };
    let modifier = match (sched.modifier == Modifier::Monotonic, sched.kind) {
        (true, SchedKind::Static) => "",
        (true, _) => "MONOTONIC:",
        (false, SchedKind::Static) => "NONMONOTONIC:",
        (false, _) => "",
    };
    if sched.chunk == usual_chunk {
        format!("{modifier}{name}")
    } else {
        format!("{modifier}{name},{}", sched.chunk)
    }
}
