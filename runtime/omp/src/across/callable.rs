//! What a region on all nodes may call, by name: functions of the OpenMP runtime, and of other libraries.

use hetmp_scan::Entry;

/// Functions of libraries that a region on all nodes may call: they only compute, work on memory that the
/// caller gives them, or allocate. (Functions of mathematics are missing here, because the scan knows them.)
/// A function does not belong here if it keeps something for the next call, if it looks at what is set at the
/// origin only (locale, environment, open files), or if it waits for another thread.
const HARMLESS: &[&str] = &[
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "memchr",
    "memrchr",
    "bcmp",
    "bzero",
    "strlen",
    "strnlen",
    "strcmp",
    "strncmp",
    "strcpy",
    "strncpy",
    "stpcpy",
    "strcat",
    "strncat",
    "strchr",
    "strrchr",
    "strstr",
    "strspn",
    "strcspn",
    "strpbrk",
    "abs",
    "labs",
    "llabs",
    "div",
    "ldiv",
    "qsort",
    "bsearch",
    "rand_r",
    "sincos",
    "sincosf",
    "frexp",
    "frexpf",
    "ldexp",
    "ldexpf",
    "scalbn",
    "scalbnf",
    "modf",
    "modff",
    "gettimeofday",
    "clock_gettime",
    "time",
    "abort",
    "__assert_fail",
    "__memcpy_chk",
    "__memset_chk",
    "__memmove_chk",
    "__strcpy_chk",
    "__strcat_chk",
    "__stack_chk_fail",
    "__errno_location",
    "__tls_get_addr",
    "__popcountdi2",
    "__powidf2",
    "__powisf2",
    "malloc",
    "calloc",
    "realloc",
    "free",
    "aligned_alloc",
    "posix_memalign",
    "memalign",
    "malloc_usable_size",
    // C++: memory, and exceptions, which stay in the thread that throws.
    "_Znwm",
    "_Znam",
    "_ZdlPv",
    "_ZdlPvm",
    "_ZdaPv",
    "_ZdaPvm",
    "_ZnwmSt11align_val_t",
    "_ZnamSt11align_val_t",
    "_ZdlPvSt11align_val_t",
    "_ZdlPvmSt11align_val_t",
    "_ZdaPvSt11align_val_t",
    "_ZnwmRKSt9nothrow_t",
    "_ZnamRKSt9nothrow_t",
    "__cxa_allocate_exception",
    "__cxa_free_exception",
    "__cxa_throw",
    "__cxa_rethrow",
    "__cxa_begin_catch",
    "__cxa_end_catch",
    "_Unwind_Resume",
    "__gxx_personality_v0",
    // Containers: they link and count what is in memory.
    "_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base",
    "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base",
    "_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base",
    "_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base",
    "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_",
    "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_",
    "_ZSt11_Hash_bytesPKvmm",
    "_ZSt9terminatev",
];

/// Beginnings of names of further such functions: powers and products of Fortran, errors of Fortran and C++.
const HARMLESS_BEGINNINGS: &[&str] = &[
    "_gfortran_pow_",
    "_gfortran_matmul_",
    "_gfortran_internal_pack",
    "_gfortran_internal_unpack",
    "_gfortran_runtime_error",
    "_gfortran_os_error",
    "_ZSt17__throw_",
    "_ZSt19__throw_",
    "_ZSt20__throw_",
    "_ZSt24__throw_",
    "_ZSt25__throw_",
    "_ZSt28__throw_",
    "_ZNSt7__cxx1112basic_stringI",
    "_ZNKSt7__cxx1112basic_stringI",
    "_ZNSt8__detail15_List_node_base",
    "_ZNKSt8__detail20_Prime_rehash_policy",
    // The classes of exceptions of the standard library, which have nothing but constructors, destructors and texts.
    "_ZNSt11logic_error",
    "_ZNSt11range_error",
    "_ZNSt12domain_error",
    "_ZNSt12length_error",
    "_ZNSt12out_of_range",
    "_ZNSt13runtime_error",
    "_ZNSt14overflow_error",
    "_ZNSt15underflow_error",
    "_ZNSt16invalid_argument",
];

/// Beginnings of names of functions by which threads wait for each other within one process. They sleep and wake by the
/// address in the process, so a thread of another node would wait for ever, or not at all.
const OF_ONE_NODE: &[&str] = &[
    "pthread_mutex_",
    "pthread_cond_",
    "pthread_rwlock_",
    "pthread_barrier_",
    "pthread_once",
    "sem_",
    "mtx_",
    "cnd_",
    "call_once",
    "__cxa_guard_",
    "_ZNSt18condition_variable",
];

/// Does this function of the OpenMP runtime work in a region that crosses nodes?
pub(super) fn works(name: &str) -> bool {
    if let Some(rest) = name.strip_prefix("__kmpc_") {
        return works_for_clang(rest);
    }
    let name = name.strip_suffix("_8_").unwrap_or(name);
    let name = name.strip_suffix('_').unwrap_or(name);
    match Entry::of_name(name) {
        Some(entry) if always_works(entry) => true,
        Some(Entry::Lock) => true,
        // These entries may have to make reductions of tasks, or memory for all threads of the team.
        Some(Entry::LoopDispatch) => !matches!(
            name,
            "GOMP_loop_start" | "GOMP_loop_ull_start" | "GOMP_loop_end_cancel"
        ),
        Some(Entry::Sections) => name != "GOMP_sections2_start",
        // The same.
        Some(Entry::Ordered) => !matches!(
            name,
            "GOMP_loop_ordered_start" | "GOMP_loop_ull_ordered_start"
        ),
        // The same.
        Some(Entry::Doacross) => !matches!(
            name,
            "GOMP_loop_doacross_start" | "GOMP_loop_ull_doacross_start"
        ),
        // Tasks stay on their node. Missing: reductions of tasks, and events, which another node's thread may fulfill.
        Some(Entry::Task | Entry::Taskwait) => matches!(
            name,
            "GOMP_task"
                | "GOMP_taskloop"
                | "GOMP_taskloop_ull"
                | "GOMP_taskgroup_start"
                | "GOMP_taskgroup_end"
                | "GOMP_taskwait"
                | "GOMP_taskwait_depend"
                | "GOMP_taskyield"
        ),
        // They do nothing unless the program runs with `OMP_CANCELLATION=true`: see `decide`.
        Some(Entry::Cancel) => matches!(
            name,
            "GOMP_cancel"
                | "GOMP_cancellation_point"
                | "GOMP_barrier_cancel"
                | "GOMP_barrier_cancel_ext"
                | "GOMP_loop_end_cancel"
                | "GOMP_sections_end_cancel"
        ),
        Some(Entry::Query) => matches!(
            name,
            "omp_get_level" | "omp_get_active_level" | "omp_in_parallel" | "omp_in_final"
        ),
        // These settings belong to the calling task, which is on the calling thread's node.
        Some(Entry::Setting) => matches!(
            name,
            "omp_get_max_threads"
                | "omp_get_dynamic"
                | "omp_get_nested"
                | "omp_get_thread_limit"
                | "omp_get_max_active_levels"
                | "omp_get_schedule"
                | "omp_set_num_threads"
                | "omp_set_schedule"
                | "omp_set_dynamic"
        ),
        _ => false,
    }
}

/// Does the entry `__kmpc_` + `rest` work in a region that crosses nodes? Entries with places in the source,
/// names of critical sections and lists of variables get addresses in the program's shared memory.
fn works_for_clang(rest: &str) -> bool {
    matches!(
        rest,
        "global_thread_num"
            | "bound_thread_num"
            | "bound_num_threads"
            | "in_parallel"
            | "barrier"
            | "flush"
            | "for_static_init_4"
            | "for_static_init_4u"
            | "for_static_init_8"
            | "for_static_init_8u"
            | "for_static_fini"
            | "dispatch_init_4"
            | "dispatch_init_4u"
            | "dispatch_init_8"
            | "dispatch_init_8u"
            | "dispatch_next_4"
            | "dispatch_next_4u"
            | "dispatch_next_8"
            | "dispatch_next_8u"
            | "dispatch_fini_4"
            | "dispatch_fini_4u"
            | "dispatch_fini_8"
            | "dispatch_fini_8u"
            | "dispatch_deinit"
            | "single"
            | "end_single"
            | "copyprivate"
            | "copyprivate_light"
            | "master"
            | "end_master"
            | "masked"
            | "end_masked"
            | "critical"
            | "critical_with_hint"
            | "end_critical"
            | "reduce"
            | "reduce_nowait"
            | "end_reduce"
            | "end_reduce_nowait"
            | "ordered"
            | "end_ordered"
            | "scope"
            | "end_scope"
            | "doacross_init"
            | "doacross_post"
            | "doacross_wait"
            | "doacross_fini"
            | "omp_task_alloc"
            | "omp_task"
            | "omp_task_with_deps"
            | "omp_task_begin_if0"
            | "omp_task_complete_if0"
            | "omp_wait_deps"
            | "omp_taskwait"
            | "omp_taskwait_deps_51"
            | "omp_taskyield"
            | "taskgroup"
            | "end_taskgroup"
            | "taskloop"
            | "taskloop_5"
            | "cancel"
            | "cancel_barrier"
            | "cancellationpoint"
    )
}

/// Kinds of entries in which [`works`] accepts at least one name.
pub(super) fn may_work(entry: Entry) -> bool {
    let by_name = matches!(
        entry,
        Entry::Lock
            | Entry::LoopDispatch
            | Entry::Sections
            | Entry::Ordered
            | Entry::Query
            | Entry::Setting
            | Entry::StaticLoop
            | Entry::ProcessNumber
            | Entry::Mark
            | Entry::Doacross
            | Entry::Task
            | Entry::Taskwait
            | Entry::Cancel
    );
    by_name || always_works(entry)
}

/// Kinds of entries in which [`works`] accepts all names.
fn always_works(entry: Entry) -> bool {
    matches!(
        entry,
        Entry::ThreadNumber
            | Entry::TeamSize
            | Entry::Barrier
            | Entry::Single
            | Entry::CopyPrivate
            | Entry::Critical
            | Entry::Atomic
            | Entry::AtomicEnd
            | Entry::Time
    )
}

pub(super) fn is_harmless(name: &str) -> bool {
    hetmp_scan::library::is_mathematics(name)
        || HARMLESS.contains(&name)
        || HARMLESS_BEGINNINGS.iter().any(|b| name.starts_with(b))
}

/// Does a function of this name make threads of one process wait for each other?
pub(super) fn is_of_one_node(name: &str) -> bool {
    OF_ONE_NODE.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_known_by_name() {
        for name in [
            "GOMP_loop_nonmonotonic_dynamic_next",
            "GOMP_loop_end_nowait",
            "omp_get_wtime_",
            "omp_set_lock",
            "GOMP_single_copy_start",
            "omp_get_thread_num_",
            "__kmpc_for_static_init_8u",
            "__kmpc_dispatch_next_4",
            "__kmpc_end_reduce_nowait",
            "__kmpc_copyprivate",
            "__kmpc_ordered",
            "GOMP_ordered_start",
            "GOMP_loop_ordered_static_start",
            "GOMP_loop_ull_ordered_dynamic_next",
            "GOMP_task",
            "GOMP_taskloop_ull",
            "GOMP_taskwait_depend",
            "GOMP_doacross_wait",
            "GOMP_loop_doacross_guided_start",
            "GOMP_cancel",
            "omp_set_nest_lock",
            "__kmpc_omp_task_alloc",
            "__kmpc_doacross_init",
            "__kmpc_cancel_barrier",
        ] {
            assert!(works(name), "{name}");
        }
        for name in [
            "GOMP_loop_start",
            "GOMP_taskgroup_reduction_register",
            "GOMP_loop_doacross_start",
            "GOMP_taskwait_depend_nowait",
            "omp_fulfill_event",
            "omp_get_place_num",
            "GOMP_loop_ordered_start",
            "GOMP_parallel",
            "omp_get_ancestor_thread_num_",
            "__kmpc_task_allow_completion_event",
            "__kmpc_omp_target_task_alloc",
            "__kmpc_taskred_init",
            "__kmpc_threadprivate_cached",
            "__kmpc_fork_call",
            "__kmpc_sections_init",
            "__kmpc_dist_for_static_init_4",
            "__kmpc_not_made_yet",
        ] {
            assert!(!works(name), "{name}");
        }
        assert!(is_harmless("log") && is_harmless("_gfortran_pow_i4_i4"));
        assert!(!is_harmless("rand") && !is_harmless("printf") && !is_harmless("getpid"));
    }
}
