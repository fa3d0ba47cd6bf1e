//! The coverage matrix of libgomp: the functions that libhetmp.so exports of it, by family.

pub mod libomp;

use crate::elf::SharedLibrary;
use crate::symbols::{self, Export};
use std::fmt::Write as _;

/// A family of entry points.
struct Family {
    title: &'static str,
    /// How libhetmp.so carries out calls of the family.
    how: &'static str,
    /// Names, or beginnings that end in `*`, without the Fortran suffixes.
    names: &'static [&'static str],
}

const NATIVE: &str = "engine";
const HOST: &str = "host fallback";
const HOST_TEAM: &str = "host fallback: the region's body runs on the calling thread";
const NO_PLUGIN: &str = "for offload plugins; none is ever loaded";

/// The families in order. A name belongs to the first family with a matching pattern.
const FAMILIES: &[Family] = &[
    Family {
        title: "parallel regions",
        how: NATIVE,
        names: &[
            "GOMP_parallel",
            "GOMP_parallel_start",
            "GOMP_parallel_end",
            "GOMP_parallel_reductions",
        ],
    },
    Family {
        title: "parallel loops and sections",
        how: NATIVE,
        names: &["GOMP_parallel_loop_*", "GOMP_parallel_sections*"],
    },
    Family {
        title: "doacross loops",
        how: NATIVE,
        names: &[
            "GOMP_doacross_*",
            "GOMP_loop_doacross_*",
            "GOMP_loop_ull_doacross_*",
        ],
    },
    Family {
        title: "ordered",
        how: NATIVE,
        names: &[
            "GOMP_ordered_*",
            "GOMP_loop_ordered_*",
            "GOMP_loop_ull_ordered_*",
        ],
    },
    Family {
        title: "loops, unsigned long long",
        how: NATIVE,
        names: &["GOMP_loop_ull_*"],
    },
    Family {
        title: "loops",
        how: NATIVE,
        names: &["GOMP_loop_*"],
    },
    Family {
        title: "sections, single, masked, scope",
        how: NATIVE,
        names: &[
            "GOMP_sections*",
            "GOMP_single_*",
            "GOMP_scope_*",
            "GOMP_masked_*",
            "GOMP_has_masked_*",
        ],
    },
    Family {
        title: "barrier, critical, atomic",
        how: NATIVE,
        names: &[
            "GOMP_barrier",
            "GOMP_barrier_ext",
            "GOMP_critical_*",
            "GOMP_atomic_*",
            "GOMP_reduction_*",
        ],
    },
    Family {
        title: "cancellation",
        how: NATIVE,
        names: &[
            "GOMP_cancel",
            "GOMP_cancellation_point",
            "GOMP_barrier_cancel*",
            "omp_get_cancellation",
        ],
    },
    Family {
        title: "tasks",
        how: NATIVE,
        names: &[
            "GOMP_task",
            "GOMP_taskwait*",
            "GOMP_taskyield",
            "GOMP_taskgroup_start",
            "GOMP_taskgroup_end",
            "GOMP_taskloop*",
            "omp_fulfill_event",
            "omp_in_final",
            "omp_in_explicit_task",
            "omp_get_max_task_priority",
        ],
    },
    Family {
        title: "task reductions",
        how: NATIVE,
        names: &[
            "GOMP_taskgroup_reduction_*",
            "GOMP_task_reduction_remap",
            "GOMP_workshare_task_reduction_unregister",
        ],
    },
    Family {
        title: "teams on the host",
        how: NATIVE,
        names: &[
            "GOMP_teams_reg",
            "GOMP_distribute_*",
            "omp_get_num_teams",
            "omp_get_team_num",
            "omp_set_num_teams",
            "omp_get_max_teams",
            "omp_set_teams_thread_limit",
            "omp_get_teams_thread_limit",
        ],
    },
    Family {
        title: "error directive",
        how: NATIVE,
        names: &["GOMP_error", "GOMP_warning"],
    },
    Family {
        title: "target constructs",
        how: HOST_TEAM,
        names: &["GOMP_target*", "GOMP_teams", "GOMP_teams4"],
    },
    Family {
        title: "offload images",
        how: "accepted and not used: there is no device to load them on",
        names: &["GOMP_offload_*"],
    },
    Family {
        title: "device and target API",
        how: HOST,
        names: &[
            "omp_target_*",
            "omp_get_mapped_ptr",
            "omp_is_initial_device",
            "omp_*_device",
            "omp_get_num_devices",
            "omp_get_device_num",
            "omp_pause_resource*",
            "omp_get_device_from_uid",
        ],
    },
    Family {
        title: "interop",
        how: HOST,
        names: &[
            "GOMP_interop",
            "omp_get_interop_*",
            "omp_get_num_interop_properties",
        ],
    },
    Family {
        title: "locks",
        how: NATIVE,
        names: &["omp_*_lock", "omp_*_nest_lock"],
    },
    Family {
        title: "places and affinity",
        how: NATIVE,
        names: &[
            "omp_*_place*",
            "omp_get_partition_*",
            "omp_*_affinity*",
            "omp_get_proc_bind",
        ],
    },
    Family {
        title: "allocators",
        how: NATIVE,
        names: &[
            "GOMP_alloc",
            "GOMP_free",
            "GOMP_add_alloc",
            "GOMP_is_alloc",
            "omp_*alloc",
            "omp_free",
            "omp_*_allocator",
        ],
    },
    Family {
        title: "other OpenMP API",
        how: NATIVE,
        names: &["omp_*"],
    },
    Family {
        title: "OpenACC API",
        how: HOST,
        names: &["acc_*"],
    },
    Family {
        title: "OpenACC constructs",
        how: HOST,
        names: &["GOACC_*"],
    },
    Family {
        title: "plugin interface",
        how: NO_PLUGIN,
        names: &["GOMP_PLUGIN_*"],
    },
];

/// The C name of a Fortran entry: the row of `omp_get_level` also counts `omp_get_level_`, and that of `acc_copyin`
/// counts `acc_copyin_64_h_`.
fn c_name(name: &str) -> &str {
    ["_32_h_", "_64_h_", "_array_h_", "_h_", "_8_", "_"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name)
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => {
            name.len() >= start.len() + end.trim_end_matches('*').len()
                && name.starts_with(start)
                && match end.strip_suffix('*') {
                    Some(middle) => name[start.len()..].contains(middle),
                    None => name.ends_with(end),
                }
        }
    }
}

fn family(name: &str) -> usize {
    let name = c_name(name);
    FAMILIES
        .iter()
        .position(|f| f.names.iter().any(|p| matches(p, name)))
        .unwrap_or_else(|| panic!("symbol {name} is in no family of the coverage matrix"))
}

/// Whether `library` exports `wanted` at its node and in its form.
pub fn exports(library: &SharedLibrary, wanted: &Export) -> bool {
    library.symbols.iter().any(|s| {
        s.function
            && s.name == wanted.name
            && s.node.as_deref() == Some(&wanted.node)
            && s.default == wanted.default
    })
}

/// The text of `docs/coverage.md` for `library`.
pub fn matrix(library: &SharedLibrary) -> String {
    let (old, new, nodes) = (symbols::gcc12(), symbols::later(), symbols::nodes());
    let since = |e: &Export| {
        nodes
            .iter()
            .find(|n| n.name == e.node)
            .map_or(0, |n| n.since)
    };
    let mut out = String::from(
        "# Coverage of libgomp's interface\n\n\
         <!-- Generated by HETMP_BLESS=1 cargo test -p hetmp-abi-compat --test exports; do not edit. -->\n\n\
         An entry counts as exported when it has libgomp's name, version node and default or hidden form. \
         What the entries *do* is checked by the differential tests and by gcc's own test suite \
         (`scripts/conformance gomp`).\n\n\
         | family | libgomp of gcc 12 | exported | how |\n| --- | ---: | ---: | --- |\n",
    );
    let mut totals = (0, 0);
    for (index, f) in FAMILIES.iter().enumerate() {
        let members: Vec<&Export> = old.iter().filter(|e| family(&e.name) == index).collect();
        let ours = members.iter().filter(|e| exports(library, e)).count();
        totals.0 += members.len();
        totals.1 += ours;
        if !members.is_empty() {
            out += &format!("| {} | {} | {ours} | {} |\n", f.title, members.len(), f.how);
        }
    }
    out += &format!("| **all** | {} | {} | |\n", totals.0, totals.1);
    let missing: Vec<String> = old
        .iter()
        .filter(|e| !exports(library, e))
        .map(|e| format!("`{}@{}`", e.name, e.node))
        .collect();
    if !missing.is_empty() {
        out += &format!("\nMissing: {}.\n", missing.join(", "));
    }

    out += "\n## Since gcc 12\n\n\
            Every version node of gcc 13 to 17 exists, so that a newer program that asks for a node, but for \
            no new function, starts. gcc 17 is not released: its names are those of `libgomp/libgomp.map` as of \
            July 2026 (github.com/rust-lang/gcc, commit ab0dd7d5e16f). The functions:\n\n\
            | node | first gcc | functions |\n| --- | ---: | --- |\n";
    for e in new
        .iter()
        .enumerate()
        .filter(|(i, e)| !new[..*i].iter().any(|f| f.node == e.node))
        .map(|(_, e)| e)
    {
        let names: Vec<String> = new
            .iter()
            .filter(|f| f.node == e.node)
            .map(|f| format!("`{}`", f.name))
            .collect();
        out += &format!("| {} | {} | {} |\n", e.node, since(e), names.join(" "));
    }
    let missing: Vec<String> = new
        .iter()
        .filter(|e| !exports(library, e))
        .map(|e| format!("`{}`", e.name))
        .collect();
    out += &format!("\nNot exported: {}.\n", missing.join(", "));

    out += "\n## Our own\n\nDeclared in `include/`, at version nodes for which only programs ask that were linked \
        with them\n\
            ([names.md](dev/names.md)). Those of OpenSHMEM are in [shmem-coverage.md](shmem-coverage.md).\n";
    for node in ["HETMP_MQ", "HETMP_GOAL", "HETMP_SHMEM"] {
        let own = (library.symbols.iter())
            .filter(|s| s.node.as_deref() == Some(node))
            .filter(|s| node != "HETMP_SHMEM" || s.name.starts_with("hetmp_"));
        let _ = writeln!(out, "\n{node}: {} names.", own.count());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_has_a_family() {
        for e in symbols::gcc12().iter().chain(&symbols::later()) {
            family(&e.name);
        }
        assert_eq!(FAMILIES[family("omp_unset_nest_lock_")].title, "locks");
        assert_eq!(
            FAMILIES[family("GOMP_loop_ull_ordered_start")].title,
            "ordered"
        );
        assert_eq!(
            FAMILIES[family("omp_get_place_num_procs_8_")].title,
            "places and affinity"
        );
        assert_eq!(FAMILIES[family("omp_aligned_calloc")].title, "allocators");
        assert_eq!(
            FAMILIES[family("omp_set_default_device_8_")].title,
            "device and target API"
        );
    }

    #[test]
    fn a_library_without_entries_covers_nothing() {
        let empty = SharedLibrary {
            soname: None,
            needed: vec![],
            nodelete: false,
            symbols: vec![],
            nodes: Default::default(),
            tls_size: 0,
        };
        let text = matrix(&empty);
        assert!(text.contains("| **all** | 475 | 0 | |"));
        assert!(text.contains("`omp_get_thread_num@OMP_1.0`"));
    }
}
