//! The coverage matrix of LLVM's libomp: the functions and variables that libhetmp.so exports of it, by family.

use super::matches;
use crate::elf::SharedLibrary;
use crate::symbols;

/// A family of names.
struct Family {
    title: &'static str,
    /// How libhetmp.so carries out calls of the family.
    how: &'static str,
    /// Names, or patterns with one `*`, without the underscore of Fortran's forms.
    names: &'static [&'static str],
}

const ENGINE: &str = "engine";

/// The families in order. A name belongs to the first family with a matching pattern.
const FAMILIES: &[Family] = &[
    Family {
        title: "atomic operations",
        how: "compare and exchange; `long double` and complex numbers under a lock",
        names: &["__kmpc_atomic_*"],
    },
    Family {
        title: "regions",
        how: ENGINE,
        names: &[
            "__kmpc_fork_call*",
            "__kmpc_serialized_parallel",
            "__kmpc_end_serialized_parallel",
            "__kmpc_push_num_threads*",
            "__kmpc_pop_num_threads",
            "__kmpc_push_proc_bind",
            "__kmpc_in_parallel",
            "__kmpc_ok_to_fork",
            "__kmpc_begin",
            "__kmpc_end",
            "__kmpc_global_*",
            "__kmpc_bound_*",
        ],
    },
    Family {
        title: "leagues of teams",
        how: "engine, one team after the other",
        names: &[
            "__kmpc_fork_teams",
            "__kmpc_push_num_teams*",
            "__kmpc_set_thread_limit",
        ],
    },
    Family {
        title: "static loops",
        how: ENGINE,
        names: &[
            "__kmpc_for_static_*",
            "__kmpc_dist_for_static_*",
            "__kmpc_team_static_*",
        ],
    },
    Family {
        title: "dispatched loops",
        how: "engine, with its schedules",
        names: &["__kmpc_dispatch_*", "__kmpc_dist_dispatch_*"],
    },
    Family {
        title: "nests of loops",
        how: ENGINE,
        names: &[
            "__kmpc_for_collapsed_init",
            "__kmpc_calc_original_ivs_rectang",
            "__kmpc_process_loop_nest_rectang",
        ],
    },
    Family {
        title: "doacross loops",
        how: ENGINE,
        names: &["__kmpc_doacross_*"],
    },
    Family {
        title: "reductions",
        how: ENGINE,
        names: &["__kmpc_reduce*", "__kmpc_end_reduce*"],
    },
    Family {
        title: "task reductions",
        how: ENGINE,
        names: &["__kmpc_task_reduction_*", "__kmpc_taskred_*"],
    },
    Family {
        title: "tasks",
        how: "engine; untied tasks stay with their thread",
        names: &[
            "__kmpc_omp_task*",
            "__kmpc_taskloop*",
            "__kmpc_taskgroup",
            "__kmpc_end_taskgroup",
            "__kmpc_task_*",
            "__kmpc_proxy_*",
            "__kmpc_omp_*",
            "__kmpc_get_taskid",
            "__kmpc_get_parent_taskid",
            "__kmpc_invoke_task_func",
        ],
    },
    Family {
        title: "barrier, single, master, masked, ordered, critical, sections, scope",
        how: ENGINE,
        names: &[
            "__kmpc_barrier*",
            "__kmpc_end_barrier_master",
            "__kmpc_flush",
            "__kmpc_single",
            "__kmpc_end_single",
            "__kmpc_copyprivate*",
            "__kmpc_master",
            "__kmpc_end_master",
            "__kmpc_masked",
            "__kmpc_end_masked",
            "__kmpc_ordered",
            "__kmpc_end_ordered",
            "__kmpc_critical*",
            "__kmpc_end_critical",
            "__kmpc_sections_init",
            "__kmpc_next_section",
            "__kmpc_end_sections",
            "__kmpc_scope",
            "__kmpc_end_scope",
        ],
    },
    Family {
        title: "cancellation",
        how: ENGINE,
        names: &[
            "__kmpc_cancel*",
            "kmp_get_cancellation_status",
            "omp_get_cancellation",
        ],
    },
    Family {
        title: "error directive",
        how: ENGINE,
        names: &["__kmpc_error"],
    },
    Family {
        title: "threadprivate variables",
        how: ENGINE,
        names: &[
            "__kmpc_threadprivate*",
            "__kmpc_copyin*",
            "kmp_threadprivate_*",
        ],
    },
    Family {
        title: "locks",
        how: "engine; hints change nothing",
        names: &[
            "__kmpc_*_lock*",
            "omp_*_lock*",
            "omp_*_nest_lock*",
            "__kmpc_*_nest_lock*",
        ],
    },
    Family {
        title: "allocators",
        how: ENGINE,
        names: &[
            "__kmpc_alloc",
            "__kmpc_aligned_alloc",
            "__kmpc_calloc",
            "__kmpc_realloc",
            "__kmpc_free",
            "__kmpc_*_allocator",
            "omp_*alloc",
            "omp_*_allocator",
            "omp_free",
            "omp_*_mem_space",
            "omp_null_allocator",
        ],
    },
    Family {
        title: "memory of libomp's own routines",
        how: "the C library's",
        names: &[
            "kmp*_malloc",
            "kmp*_calloc",
            "kmp*_realloc",
            "kmp*_free",
            "kmp_max_mem_alloc",
        ],
    },
    Family {
        title: "affinity masks, places, affinity formats",
        how: ENGINE,
        names: &[
            "kmp*_affinity*",
            "omp_*_place*",
            "omp_get_partition_*",
            "omp*_affinity*",
            "omp_get_proc_bind",
        ],
    },
    Family {
        title: "settings of libomp's own",
        how: ENGINE,
        names: &["kmp*_set_*", "kmp_get_*"],
    },
    Family {
        title: "debug output",
        how: "variables: levels of libomp's trace of itself; hetmp has no such trace, and does not read them",
        names: &["kmp_*_debug", "kmp_diag", "kmp_mutex_impl_info"],
    },
    Family {
        title: "interoperability objects",
        how: "there are no devices: every object is `omp_interop_none`",
        names: &["omp_get_interop_*", "omp_get_num_interop_properties"],
    },
    Family {
        title: "tool interface",
        how: "passed on to the tool that is attached ([tools.md](tools.md))",
        names: &["omp_control_tool"],
    },
    Family {
        title: "what gcc calls",
        how: "the entries of libgomp's interface ([coverage.md](coverage.md))",
        names: &["GOMP_*"],
    },
    Family {
        title: "what libomptarget asks",
        how: "host",
        names: &["__kmpc_get_target_offload", "__kmpc_pause_resource"],
    },
    Family {
        title: "other OpenMP routines",
        how: ENGINE,
        names: &["omp*"],
    },
];

/// The sentence for the second word of a line of `libomp-missing.txt`.
fn reason(why: &str) -> &'static str {
    match why {
        "collapse" => {
            "divides a nest whose inner bounds depend on outer loops. Code of Microsoft's compiler calls it; clang \
                and flang \
             number such nests in the code itself. How the parts are cut is libomp's own affair, which a caller \
             cannot see"
        }
        "copies" => {
            "puts a copy of a threadprivate variable into a hash table of libomp's, and answers with a pointer to the \
                table's \
             record, whose layout no header has; libomp's own `__kmpc_threadprivate` calls it"
        }
        "locks" => {
            "an array without a length, with the numbers of libomp's kinds of locks; tools ask by \
             `ompt_enumerate_mutex_impls`, which is there"
        }
        "team" => {
            "runs the function that a team's record holds, as the thread with the given number; libomp's own loop of \
             waiting workers calls it, and a program that does runs its region a second time"
        }
        _ => panic!("symbols/libomp-missing.txt: reason {why}: not explained"),
    }
}

fn family(name: &str) -> usize {
    let c_name = name.strip_suffix('_').unwrap_or(name);
    FAMILIES
        .iter()
        .position(|f| f.names.iter().any(|p| matches(p, c_name)))
        .unwrap_or_else(|| panic!("symbol {name} is in no family of libomp's coverage matrix"))
}

/// The text of `docs/coverage-clang.md` for `library`.
pub fn matrix(library: &SharedLibrary) -> String {
    let known = symbols::libomp19();
    let has = |name: &str| {
        library
            .symbols
            .iter()
            .any(|s| s.name == name && s.node.as_deref() == Some("VERSION"))
    };
    let mut out = String::from(
        "# Coverage of libomp's interface\n\n\
         <!-- Generated by HETMP_BLESS=1 cargo test -p hetmp-abi-compat --test exports; do not edit. -->\n\n\
         The names are those that LLVM 19.1.7's libomp exports for programs, at its node `VERSION`. What they *do* is\n\
         checked by LLVM's own tests (`scripts/conformance llvm`) and by programs that clang built, or that gcc built \
         and\n\
         that were linked with libomp ([openmp-clang.md](openmp-clang.md)).\n\n\
         | family | libomp 19 | exported | how |\n| --- | ---: | ---: | --- |\n",
    );
    for (i, f) in FAMILIES.iter().enumerate() {
        let names: Vec<&&str> = known.iter().filter(|n| family(n) == i).collect();
        let exported = names.iter().filter(|n| has(n)).count();
        out += &format!(
            "| {} | {} | {exported} | {} |\n",
            f.title,
            names.len(),
            f.how
        );
    }
    let exported = known.iter().filter(|n| has(n)).count();
    out += &format!("| **all** | {} | {exported} | |\n", known.len());
    out += "\n## Not exported\n\n\
        A program that calls one of these says so when it is loaded (through `LD_LIBRARY_PATH`), or at its first use \
        of OpenMP\n\
        (under a preload): it would get libomp's own, which does not know of the threads.\n\n\
        | name | why |\n| --- | --- |\n";
    for (name, why) in symbols::libomp_missing_why() {
        out += &format!("| `{name}` | {} |\n", reason(why));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_family_and_no_family_is_empty() {
        let known = symbols::libomp19();
        let mut counts = vec![0; FAMILIES.len()];
        for name in &known {
            counts[family(name)] += 1;
        }
        for (f, count) in FAMILIES.iter().zip(counts) {
            assert!(count > 0, "{}", f.title);
        }
    }
}
