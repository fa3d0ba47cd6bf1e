//! Which regions cross nodes: judged by their code, before they first run.

use core::cell::RefCell;
use hetmp_core::report;
use hetmp_scan::loaded::Loaded;
use hetmp_scan::{scan, Callee, Entry, Form, Image, Scan, Unwind, Why};
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

/// An entry of the runtime that is reached in a way that has no name: one that does not work.
const NAMELESS: &str = "GOMP_?";

/// An object whose callees are noted by name.
struct Noting<'a> {
    object: &'a Loaded,
    names: RefCell<Vec<String>>,
}

impl Noting<'_> {
    /// `name`: what the callee is called, which the scan forgets of the runtime's entries.
    fn note(&self, callee: Callee, name: impl FnOnce() -> Option<String>) -> Callee {
        match &callee {
            Callee::Named(name) => self.names.borrow_mut().push(name.clone()),
            Callee::Runtime(_) => {
                let name = name().unwrap_or_else(|| NAMELESS.to_owned());
                self.names.borrow_mut().push(name);
            }
            Callee::Inside(_) | Callee::Unknown => {}
        }
        callee
    }
}

impl Image for Noting<'_> {
    fn code(&self, address: u64) -> Option<&[u8]> {
        self.object.code(address)
    }

    fn callee(&self, target: u64) -> Callee {
        self.note(self.object.callee(target), || {
            self.object.callee_name(target)
        })
    }

    fn slot(&self, slot: u64) -> Callee {
        self.note(self.object.slot(slot), || self.object.slot_name(slot))
    }

    fn unwind(&self, address: u64) -> Result<Option<Unwind>, Why> {
        self.object.unwind(address)
    }
}

/// Functions of libraries that only compute, work on memory they are given, or allocate. Mathematics is known to the
/// scan. Not those that keep something for the next call, look at what is set at the origin (locale, environment,
/// open files), or wait for another thread.
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
    "_ZSt9terminatev",
];

/// Beginnings of such names: powers and products of Fortran, texts and errors of C++.
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
];

/// Does a function of the OpenMP runtime do across nodes what it says?
fn works(name: &str) -> bool {
    // What clang's regions are called with lies in the origin's runtime.
    if name.starts_with("__kmpc_") {
        return false;
    }
    let name = name.strip_suffix("_8_").unwrap_or(name);
    let name = name.strip_suffix('_').unwrap_or(name);
    match Entry::of_name(name) {
        Some(
            Entry::ThreadNumber
            | Entry::TeamSize
            | Entry::Barrier
            | Entry::Single
            | Entry::CopyPrivate
            | Entry::Critical
            | Entry::Atomic
            | Entry::AtomicEnd
            | Entry::Time,
        ) => true,
        // Nestable locks belong to a task, whose address is another node's, too.
        Some(Entry::Lock) => !name.contains("nest"),
        // These may have reductions of tasks, or memory for all threads.
        Some(Entry::LoopDispatch) => !matches!(
            name,
            "GOMP_loop_start" | "GOMP_loop_ull_start" | "GOMP_loop_end_cancel"
        ),
        Some(Entry::Sections) => name != "GOMP_sections2_start",
        Some(Entry::Query) => matches!(
            name,
            "omp_get_level" | "omp_get_active_level" | "omp_in_parallel" | "omp_in_final"
        ),
        // Of the calling task.
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

/// The kinds of entries some of which [`works`] names.
fn may_work(entry: Entry) -> bool {
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
            | Entry::Lock
            | Entry::LoopDispatch
            | Entry::Sections
            | Entry::Query
            | Entry::Setting
    )
}

fn is_harmless(name: &str) -> bool {
    hetmp_scan::library::is_mathematics(name)
        || HARMLESS.contains(&name)
        || HARMLESS_BEGINNINGS.iter().any(|b| name.starts_with(b))
}

/// What is known of a region's code.
#[derive(Clone, Copy)]
struct Known {
    crosses: bool,
    /// It reaches thread-local variables of the program, as far as can be told.
    keeps: bool,
    /// What kept it at the origin when that was last said.
    said: Option<&'static str>,
}

/// Where regions ran that may have left something in thread-local variables.
///
/// OpenMP promises that threadprivate variables keep their values from one region to the next of the same size (5.1,
/// section 2.21.2). The thread of a number is another one in a region that crosses and in one that does not. So once
/// a region with such variables has stayed, others stay, too; and where some have crossed before, that is said.
#[derive(Default)]
struct Kept {
    at_origin: bool,
    on_nodes: bool,
    said: bool,
}

/// Does a region of this code cross nodes, which `unfit` keeps at the origin this time? What was found of a region is said
/// under `HETMP_VERBOSE` when it is first met, and where it changes.
pub(super) fn admit(code: usize, unfit: Option<&'static str>) -> bool {
    static KNOWN: Mutex<(BTreeMap<usize, Known>, Kept)> = Mutex::new((
        BTreeMap::new(),
        Kept {
            at_origin: false,
            on_nodes: false,
            said: false,
        },
    ));
    let mut guard = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let (all, kept) = &mut *guard;
    let say = |why: &dyn core::fmt::Display| {
        if crate::init::globals().ours.verbose {
            report::warn(format_args!("dsm: region {code:#x}: {why}"));
        }
    };
    let mut news = false;
    let mut known = *all.entry(code).or_insert_with(|| {
        news = true;
        let (judged, keeps) = hetmp_core::aside::run(|| judge(code));
        if let Err(why) = &judged {
            say(&format_args!("at the origin: {why}"));
        }
        Known {
            crosses: judged.is_ok(),
            keeps,
            said: None,
        }
    });
    let unfit = unfit.or((known.keeps && kept.at_origin)
        .then_some("its thread-local variables have values of a region that stayed there"));
    let crosses = known.crosses && unfit.is_none();
    if known.crosses && (news || known.said != unfit) {
        match unfit {
            Some(why) => say(&format_args!("at the origin: {why}")),
            None => say(&"on all nodes"),
        }
    }
    known.said = unfit;
    all.insert(code, known);
    if known.keeps {
        kept.at_origin |= !crosses;
        kept.on_nodes |= crosses;
        if !crosses && kept.on_nodes && !kept.said {
            kept.said = true;
            report::warn(format_args!(
                "dsm: region {code:#x} stays at the origin, where thread-local variables have not the values that regions on all nodes gave them (HETMP_VERBOSE=1 says why)"
            ));
        }
    }
    crosses
}

fn trusted() -> bool {
    static TRUSTED: OnceLock<bool> = OnceLock::new();
    *TRUSTED.get_or_init(|| {
        hetmp_core::env::snapshot()
            .get("HETMP_DSM_TRUST")
            .is_some_and(|v| v == b"1" || v == b"true")
    })
}

/// Why a region cannot cross, as far as its code tells; and whether it may reach thread-local variables.
fn judge(code: usize) -> (Result<(), String>, bool) {
    let Some(object) = Loaded::at(code as u64) else {
        return (Err("its code is in no object".to_owned()), true);
    };
    let noting = Noting {
        object: &object,
        names: RefCell::new(Vec::new()),
    };
    let found = scan(&noting, code as u64, Form::Data);
    // A counter that all threads share counts across nodes, too.
    let limit = found.limit.filter(|why| *why != Why::Counter);
    let keeps = object.object().has_tls
        && (found.calls.thread_local || limit.is_some() || found.calls.unknown);
    (decide(&found, limit, noting.names.into_inner()), keeps)
}

/// Why the region cannot cross, by what was found in its code and whom it calls.
fn decide(found: &Scan, limit: Option<Why>, names: Vec<String>) -> Result<(), String> {
    let base = |n: &str| n.split('@').next().unwrap_or_default().to_owned();
    // What would wait for threads of other nodes in ways that do not reach them, whoever vouches for the rest.
    let refused = names
        .iter()
        .map(|n| base(n))
        .find(|n| Entry::of_name(n).is_some() && !works(n));
    if let Some(name) = refused {
        return Err(format!("{name} is not done across nodes"));
    }
    if let Some(entry) = found.calls.entries().find(|e| !may_work(*e)) {
        return Err(format!("{entry:?} is not done across nodes"));
    }
    if trusted() {
        return Ok(());
    }
    if let Some(why) = limit {
        return Err(format!("{} at {:#x}", why.text(), found.limit_address));
    }
    let unknown = names
        .iter()
        .map(|n| base(n))
        .find(|n| Entry::of_name(n).is_none() && !is_harmless(n));
    if let Some(name) = unknown {
        return Err(format!("it may call {name}"));
    }
    if found.calls.unknown {
        return Err(format!(
            "an unknown call at {:#x}",
            found.calls.unknown_address
        ));
    }
    Ok(())
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
        ] {
            assert!(works(name), "{name}");
        }
        for name in [
            "GOMP_loop_start",
            "GOMP_task",
            "omp_set_nest_lock",
            "omp_get_place_num",
            "GOMP_loop_ordered_static_start",
            "GOMP_parallel",
            "omp_get_ancestor_thread_num_",
            "GOMP_cancel",
        ] {
            assert!(!works(name), "{name}");
        }
        assert!(is_harmless("log") && is_harmless("_gfortran_pow_i4_i4"));
        assert!(!is_harmless("rand") && !is_harmless("printf") && !is_harmless("getpid"));
    }
}
