//! The entries of libomp's interface that clang and flang call (`__kmpc_*`), by what they mean for a team of
//! virtual threads.
//!
//! Most take a place in the source and the thread's number in the process first, and what is said about
//! their arguments ([`Entry::arguments`]) counts from there: compiled code has the number from the runtime
//! (see [`crate::Form::Numbers`]), for no other use than this.

use crate::entry::Entry;

/// The kind of the entry `__kmpc_` + `rest`.
pub(crate) fn entry(rest: &str) -> Entry {
    match rest {
        "for_static_init_4" | "for_static_init_4u" | "for_static_init_8" | "for_static_init_8u" => {
            Entry::StaticLoop
        }
        // These wait for nobody: barriers are calls of their own.
        "for_static_fini" | "end_single" | "end_master" | "end_masked" | "end_sections"
        | "flush" | "scope" | "end_scope" | "dispatch_deinit" => Entry::Mark,
        _ if rest.starts_with("dispatch_fini") => Entry::Mark,
        _ if rest.starts_with("dispatch_") => Entry::LoopDispatch,
        "global_thread_num" => Entry::ProcessNumber,
        "bound_thread_num" => Entry::ThreadNumber,
        // Of the team's size only `omp_get_num_threads` answers by where it is called ([`crate::Told`]).
        "in_parallel" | "bound_num_threads" | "global_num_threads" | "masked" => Entry::Query,
        // The end of a reduction with a barrier.
        "barrier" | "end_reduce" => Entry::Barrier,
        // One thread of the team is told to go on, the others are not.
        "single" | "master" => Entry::Single,
        "copyprivate" | "copyprivate_light" => Entry::CopyPrivate,
        "sections_init" | "next_section" => Entry::Sections,
        "reduce" | "reduce_nowait" => Entry::Atomic,
        "end_reduce_nowait" => Entry::AtomicEnd,
        "ordered" | "end_ordered" => Entry::Ordered,
        "omp_taskwait" | "omp_taskyield" => Entry::Taskwait,
        "alloc" | "aligned_alloc" | "calloc" | "realloc" | "free" => Entry::Allocate,
        "push_num_teams" | "push_num_teams_51" | "fork_teams" => Entry::Target,
        "fork_call" | "fork_call_if" => Entry::NestedParallel,
        _ if rest.contains("serialized_parallel")
            || rest.starts_with("push_num_threads")
            || rest.starts_with("pop_num_threads")
            || rest.starts_with("push_proc_bind") =>
        {
            Entry::NestedParallel
        }
        _ if rest.contains("critical") => Entry::Critical,
        _ if rest.contains("doacross") => Entry::Doacross,
        _ if rest.contains("cancel") => Entry::Cancel,
        _ if rest.contains("task") => Entry::Task,
        _ if rest.starts_with("dist_") || rest.starts_with("team_") => Entry::Target,
        _ => Entry::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        for (name, kind) in [
            ("__kmpc_for_static_init_8u", Entry::StaticLoop),
            ("__kmpc_for_static_fini", Entry::Mark),
            ("__kmpc_dispatch_next_4", Entry::LoopDispatch),
            ("__kmpc_dispatch_fini_4", Entry::Mark),
            ("__kmpc_end_reduce", Entry::Barrier),
            ("__kmpc_end_reduce_nowait", Entry::AtomicEnd),
            ("__kmpc_cancel_barrier", Entry::Cancel),
            ("__kmpc_critical_with_hint", Entry::Critical),
            ("__kmpc_omp_task_alloc", Entry::Task),
            ("__kmpc_taskloop", Entry::Task),
            ("__kmpc_omp_taskwait", Entry::Taskwait),
            ("__kmpc_fork_call", Entry::NestedParallel),
            ("__kmpc_end_serialized_parallel", Entry::NestedParallel),
            ("__kmpc_fork_teams", Entry::Target),
            // What they add is an argument, and what was there may number threads.
            ("__kmpc_atomic_fixed4_add_cpt", Entry::Other),
            ("__kmpc_threadprivate_cached", Entry::Other),
            ("__kmpc_not_made_yet", Entry::Other),
            ("__tgt_target_kernel", Entry::Target),
        ] {
            assert_eq!(Entry::of_name(name), Some(kind), "{name}");
        }
    }
}
