//! The entries of the OpenMP runtime, by what they mean for a team of virtual
//! threads.
//!
//! Names here are those of libgomp's interface (gcc 12 to 17); `kmpc.rs` has those of libomp's.

use crate::kmpc;

/// What a called entry of the runtime does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Entry {
    /// `omp_get_thread_num`.
    ThreadNumber,
    /// `omp_get_num_threads`.
    TeamSize,
    /// A barrier, alone or at the end of a construct (`GOMP_barrier`,
    /// `GOMP_loop_end`, `GOMP_sections_end`, ...).
    Barrier,
    /// `GOMP_single_start`.
    Single,
    /// `GOMP_single_copy_start`, `GOMP_single_copy_end`.
    CopyPrivate,
    /// Sections.
    Sections,
    /// A loop whose pieces the runtime hands out.
    LoopDispatch,
    /// `ordered`.
    Ordered,
    /// `ordered` with dependences.
    Doacross,
    /// Critical sections, named or not.
    Critical,
    /// `GOMP_atomic_start`, and where the threads' parts of a reduction are put together.
    Atomic,
    /// Its end.
    AtomicEnd,
    /// The `omp_*lock*` functions.
    Lock,
    /// Tasks, taskloops, taskgroups and their reductions.
    Task,
    /// `taskwait`, `taskyield`.
    Taskwait,
    /// Cancellation.
    Cancel,
    /// A parallel region inside of this one.
    NestedParallel,
    /// `teams` and devices.
    Target,
    /// Work-sharing reductions and scans (`GOMP_workshare_task_reduction*`,
    /// `GOMP_scope_start`).
    Scope,
    /// The allocators of OpenMP 5.
    Allocate,
    /// `omp_get_wtime`, `omp_get_wtick`.
    Time,
    /// Queries whose answer depends on the team or the thread (levels,
    /// ancestors, places, `omp_in_parallel`, `omp_get_team_size`).
    Query,
    /// Calls that change a setting, or ask for one (`omp_set_*`,
    /// `omp_get_max_threads`, `omp_get_num_procs`).
    Setting,
    /// A static loop whose bounds the runtime divides (`__kmpc_for_static_init_*`).
    StaticLoop,
    /// The number of the calling thread in the process, for other entries (`__kmpc_global_thread_num`).
    ProcessNumber,
    /// Marks the end of something, and does nothing that another thread could notice.
    Mark,
    /// An entry of the runtime that is none of the above.
    Other,
}

impl Entry {
    /// All kinds, in order.
    pub(crate) const ALL: [Entry; 27] = [
        Entry::ThreadNumber,
        Entry::TeamSize,
        Entry::Barrier,
        Entry::Single,
        Entry::CopyPrivate,
        Entry::Sections,
        Entry::LoopDispatch,
        Entry::Ordered,
        Entry::Doacross,
        Entry::Critical,
        Entry::Atomic,
        Entry::AtomicEnd,
        Entry::Lock,
        Entry::Task,
        Entry::Taskwait,
        Entry::Cancel,
        Entry::NestedParallel,
        Entry::Target,
        Entry::Scope,
        Entry::Allocate,
        Entry::Time,
        Entry::Query,
        Entry::Setting,
        Entry::StaticLoop,
        Entry::ProcessNumber,
        Entry::Mark,
        Entry::Other,
    ];

    pub(crate) fn bit(self) -> u32 {
        1 << self as u32
    }

    /// How many integer arguments its functions take at most.
    pub(crate) fn arguments(self) -> usize {
        match self {
            Entry::ThreadNumber
            | Entry::TeamSize
            | Entry::Barrier
            | Entry::Single
            | Entry::Atomic
            | Entry::AtomicEnd
            | Entry::Ordered
            | Entry::Time
            | Entry::ProcessNumber
            | Entry::Mark => 0,
            Entry::Critical | Entry::Query => 1,
            _ => 6,
        }
    }

    /// The kind of the function with this name, or `None` where it is not one
    /// of the runtime's.
    pub fn of_name(name: &str) -> Option<Entry> {
        let base = name.split('@').next().unwrap_or(name);
        if let Some(rest) = base.strip_prefix("GOMP_") {
            return Some(Entry::of_gomp(rest));
        }
        if base.starts_with("GOACC_") {
            return Some(Entry::Target);
        }
        if let Some(rest) = base.strip_prefix("__kmpc_") {
            return Some(kmpc::entry(rest));
        }
        if base.starts_with("kmp_") {
            return Some(Entry::Other);
        }
        // How clang-built programs find devices.
        if base.starts_with("__tgt_") {
            return Some(Entry::Target);
        }
        let rest = base.strip_prefix("omp_")?;
        // Fortran forms: a trailing underscore, and `_8_` for 64-bit kinds.
        let rest = rest.strip_suffix("_8_").unwrap_or(rest);
        let rest = rest.strip_suffix('_').unwrap_or(rest);
        Some(match rest {
            // By dimension, of which there is one.
            _ if rest.ends_with("_dim") => Entry::Other,
            "get_thread_num" => Entry::ThreadNumber,
            "get_num_threads" => Entry::TeamSize,
            "get_wtime" | "get_wtick" => Entry::Time,
            "get_level"
            | "get_active_level"
            | "get_ancestor_thread_num"
            | "get_team_size"
            | "in_parallel"
            | "in_final"
            | "get_place_num"
            | "get_partition_num_places"
            | "get_partition_place_nums"
            | "get_team_num"
            | "get_num_teams"
            | "capture_affinity"
            | "display_affinity"
            | "get_cancellation" => Entry::Query,
            _ if rest.contains("lock") => Entry::Lock,
            "alloc"
            | "free"
            | "calloc"
            | "realloc"
            | "aligned_alloc"
            | "aligned_calloc"
            | "init_allocator"
            | "destroy_allocator"
            | "get_default_allocator"
            | "set_default_allocator" => Entry::Allocate,
            _ if rest.starts_with("target_") => Entry::Target,
            _ if rest.starts_with("get_") || rest.starts_with("set_") => Entry::Setting,
            _ => Entry::Other,
        })
    }

    fn of_gomp(rest: &str) -> Entry {
        match rest {
            "barrier" | "barrier_ext" => Entry::Barrier,
            "single_start" | "single_start_with_end" => Entry::Single,
            "single_end" | "masked_end" => Entry::Mark,
            // The thread's number and the team's size in one word, which is not followed.
            _ if rest.contains("static_worksharing") => Entry::Other,
            "taskwait" | "taskwait_depend" | "taskwait_depend_nowait" | "taskyield" => {
                Entry::Taskwait
            }
            // These wait at their end for the whole team.
            "loop_end" | "sections_end" => Entry::Barrier,
            "loop_end_nowait" => Entry::LoopDispatch,
            "sections_end_nowait" => Entry::Sections,
            "ordered_start" | "ordered_end" => Entry::Ordered,
            _ if rest.starts_with("single_copy") => Entry::CopyPrivate,
            _ if rest.starts_with("critical") => Entry::Critical,
            "atomic_end" | "reduction_end" => Entry::AtomicEnd,
            "atomic_start" | "reduction_start" => Entry::Atomic,
            _ if rest.contains("cancel") => Entry::Cancel,
            _ if rest.starts_with("parallel") => Entry::NestedParallel,
            _ if rest.contains("doacross") => Entry::Doacross,
            _ if rest.contains("ordered") => Entry::Ordered,
            _ if rest.starts_with("loop") => Entry::LoopDispatch,
            _ if rest.starts_with("sections") => Entry::Sections,
            _ if rest.starts_with("workshare") || rest.starts_with("scope") => Entry::Scope,
            _ if rest.starts_with("task") => Entry::Task,
            _ if rest.starts_with("target") || rest.starts_with("teams") => Entry::Target,
            "alloc" | "free" => Entry::Allocate,
            _ => Entry::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What names of gcc 17 look like and are not.
    #[test]
    fn kinds() {
        for (name, kind) in [
            ("GOMP_barrier_ext@GOMP_6.0.2", Entry::Barrier),
            ("GOMP_barrier_cancel_ext", Entry::Cancel),
            ("GOMP_reduction_start", Entry::Atomic),
            ("GOMP_reduction_end", Entry::AtomicEnd),
            ("GOMP_single_start_with_end", Entry::Single),
            ("GOMP_single_end", Entry::Mark),
            // They answer with the thread's number.
            ("GOMP_loop_static_worksharing", Entry::Other),
            ("GOMP_distribute_static_worksharing", Entry::Other),
            ("GOMP_has_masked_thread_num", Entry::Other),
            ("omp_get_thread_num_dim", Entry::Other),
            ("GOMP_not_made_yet", Entry::Other),
        ] {
            assert_eq!(Entry::of_name(name), Some(kind), "{name}");
        }
    }
}
