//! The entries of the OpenMP runtime, by what they mean for a team of virtual
//! threads, and the functions of other libraries that are known to stay within
//! themselves.
//!
//! Names here are those of libgomp's interface (gcc 12 and later); `kmpc.rs` has those of libomp's.

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
            "barrier" => Entry::Barrier,
            "single_start" => Entry::Single,
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
            "atomic_end" => Entry::AtomicEnd,
            _ if rest.starts_with("atomic") => Entry::Atomic,
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

/// Whether the function gives the address of a variable of the calling thread
/// that is not the C library's own.
pub(crate) fn tells_thread_local(name: &str) -> bool {
    let name = base(name);
    // C++ asks for a variable of another object by a function of its own.
    name == "__tls_get_addr" || name.starts_with("_ZTW")
}

fn base(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}

/// Whether a function of this name ends the program, or leaves by an
/// exception.
pub(crate) fn never_returns(name: &str) -> bool {
    let name = base(name);
    const NAMES: &[&str] = &[
        "abort",
        "exit",
        "_exit",
        "_Exit",
        "quick_exit",
        "longjmp",
        "siglongjmp",
        "__longjmp_chk",
        "__stack_chk_fail",
        "__chk_fail",
        "__fortify_fail",
        "__assert_fail",
        "__assert",
        "__cxa_throw",
        "__cxa_rethrow",
        "__cxa_bad_cast",
        "__cxa_bad_typeid",
        "__cxa_throw_bad_array_new_length",
        "__cxa_call_unexpected",
        "__cxa_pure_virtual",
        "_Unwind_Resume",
        "_ZSt9terminatev",
        "_ZSt10unexpectedv",
        "GOMP_error",
        "Py_FatalError",
        "_Py_FatalErrorFunc",
        "err",
        "errx",
    ];
    NAMES.contains(&name)
        || name.starts_with("_ZSt") && name.contains("__throw_")
        || name.starts_with("_gfortran_runtime_error")
        || name.starts_with("_gfortran_os_error")
        || name.starts_with("_gfortran_stop_")
        || name.starts_with("_gfortran_error_stop_")
}

/// Mathematical functions of the C library, without their `f` and `l`.
const MATHEMATICS: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "ilogb",
    "j0",
    "j1",
    "lgamma",
    "llrint",
    "llround",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "lrint",
    "lround",
    "nearbyint",
    "nextafter",
    "pow",
    "remainder",
    "rint",
    "round",
    "roundeven",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
    "y0",
    "y1",
    "cabs",
    "carg",
    "cexp",
    "clog",
    "cpow",
    "csqrt",
    "creal",
    "cimag",
    "conj",
];

/// Whether a function of this name computes on numbers, and does nothing else.
pub fn is_mathematics(name: &str) -> bool {
    takes_no_integers(name)
}

/// Whether a function of this name takes floating-point arguments only.
pub(crate) fn takes_no_integers(name: &str) -> bool {
    let name = base(name);
    let name = name
        .strip_prefix("__")
        .and_then(|name| name.strip_suffix("_finite"))
        .unwrap_or(name);
    if name.starts_with("_ZGV") || name.starts_with("__mul") || name.starts_with("__div") {
        // glibc's vector forms, libgcc's complex arithmetic.
        return true;
    }
    let without_suffix = name.strip_suffix(['f', 'l']).unwrap_or(name);
    MATHEMATICS.contains(&name) || MATHEMATICS.contains(&without_suffix)
}

/// How many integer arguments a function of this name takes at most.
pub(crate) fn integers(name: &str) -> usize {
    let name = base(name);
    if takes_no_integers(name) {
        return 0;
    }
    match name {
        "abort"
        | "__errno_location"
        | "__stack_chk_fail"
        | "_ZSt9terminatev"
        | "__cxa_rethrow"
        | "__cxa_end_catch"
        | "__cxa_bad_cast"
        | "__cxa_throw_bad_array_new_length"
        | "__cxa_pure_virtual" => 0,
        "exit"
        | "_exit"
        | "malloc"
        | "free"
        | "_Znwm"
        | "_Znam"
        | "_ZdlPv"
        | "_ZdaPv"
        | "strlen"
        | "_Unwind_Resume"
        | "__cxa_begin_catch"
        | "__cxa_allocate_exception"
        | "__cxa_free_exception"
        | "__cxa_guard_acquire"
        | "__cxa_guard_release"
        | "__tls_get_addr" => 1,
        "atof"
        | "atoi"
        | "atol"
        | "atoll"
        | "abs"
        | "labs"
        | "llabs"
        | "rand_r"
        | "toupper"
        | "tolower"
        | "isalpha"
        | "isdigit"
        | "isalnum"
        | "isspace"
        | "isupper"
        | "islower"
        | "ispunct"
        | "isxdigit"
        | "getenv"
        | "time"
        | "puts"
        | "putchar"
        | "fflush"
        | "strdup"
        | "_ZnwmRKSt9nothrow_t" => 1,
        "strtod" | "strtof" | "strtold" | "strcat" | "strstr" | "strcasecmp" | "stpcpy"
        | "fputs" | "fputc" | "putc" | "strnlen" | "clock_gettime" | "gettimeofday" => 2,
        "strtol" | "strtoul" | "strtoll" | "strtoull" | "strtok_r" | "strncat" | "strncasecmp" => 3,
        "rand"
        | "random"
        | "drand48"
        | "lrand48"
        | "mrand48"
        | "clock"
        | "__ctype_b_loc"
        | "__ctype_tolower_loc"
        | "__ctype_toupper_loc" => 0,
        "fwrite" => 4,
        "calloc" | "realloc" | "_ZdlPvm" | "_ZdaPvm" | "strcmp" | "strcpy" | "strchr"
        | "strrchr" | "aligned_alloc" => 2,
        "memcpy" | "memmove" | "memset" | "memcmp" | "memchr" | "strncmp" | "strncpy"
        | "posix_memalign" | "__cxa_throw" => 3,
        "__popcountdi2" | "__ctzdi2" | "__clzdi2" | "__bswapdi2" => 1,
        // Functions that throw: a text, or nothing.
        _ if name.starts_with("_ZSt") && name.contains("__throw_") && name.ends_with("PKc") => 1,
        _ if name.starts_with("_ZSt") && name.contains("__throw_") && name.ends_with('v') => 0,
        // A member without parameters: its object, where it puts its result,
        // and for constructors a table.
        _ if name.starts_with("_ZN") && name.ends_with("Ev") => 3,
        _ => 6,
    }
}

/// How many vector registers a function of this name takes at most.
pub(crate) fn vectors(name: &str) -> usize {
    let name = base(name);
    if !takes_no_integers(name) {
        return if integers(name) < 6 { 0 } else { 8 };
    }
    let stem = name.strip_suffix(['f', 'l']).unwrap_or(name);
    match stem {
        _ if !MATHEMATICS.contains(&name) && !MATHEMATICS.contains(&stem) => 8,
        "atan2" | "copysign" | "fdim" | "fmax" | "fmin" | "fmod" | "hypot" | "nextafter"
        | "pow" | "remainder" => 2,
        "fma" => 3,
        _ if stem.starts_with('c')
            && stem != "cos"
            && stem != "cosh"
            && stem != "cbrt"
            && stem != "ceil" =>
        {
            4
        }
        _ => 1,
    }
}

/// Whether a function of this name neither calls the OpenMP runtime nor runs
/// code of the program.
pub(crate) fn stays_within_itself(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "memcpy",
        "memmove",
        "memset",
        "memcmp",
        "memchr",
        "__memcpy_chk",
        "__memmove_chk",
        "__memset_chk",
        "strlen",
        "strcmp",
        "strncmp",
        "strcpy",
        "strncpy",
        "strchr",
        "strrchr",
        "malloc",
        "calloc",
        "realloc",
        "free",
        "posix_memalign",
        "aligned_alloc",
        "_Znwm",
        "_Znam",
        "_ZdlPv",
        "_ZdlPvm",
        "_ZdaPv",
        "_ZdaPvm",
        "_ZnwmSt11align_val_t",
        "_ZdlPvmSt11align_val_t",
        "__cxa_allocate_exception",
        "__cxa_free_exception",
        "__cxa_guard_acquire",
        "__cxa_guard_release",
        "__tls_get_addr",
        "__errno_location",
        "__popcountdi2",
        "__ctzdi2",
        "__clzdi2",
        "__bswapdi2",
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
        "abs",
        "labs",
        "rand_r",
        "erand48",
        "nrand48",
        "jrand48",
        "lgamma_r",
        "clock_gettime",
        "gettimeofday",
        "_gfortran_pow_c8_i4",
        "_gfortran_pow_c4_i4",
        "_gfortran_pow_i4_i4",
        "_gfortran_pow_i8_i8",
        "_gfortran_pow_r8_i8",
        "_gfortran_pow_r4_i8",
        "__powidf2",
        "__powisf2",
    ];
    let name = base(name);
    takes_no_integers(name)
        || NAMES.contains(&name)
        || TEXT.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Functions of the C library for text, its conversion and its output, and
/// others that keep what they share under a lock of their own. Not those that
/// wait for somebody else's doing (reading, sleeping), nor those that call the
/// program back (`qsort`, `bsearch`), nor those whose answer depends on the
/// thread.
const TEXT: &[&str] = &[
    "printf",
    "fprintf",
    "sprintf",
    "snprintf",
    "vprintf",
    "vfprintf",
    "vsprintf",
    "vsnprintf",
    "__printf_chk",
    "__fprintf_chk",
    "__sprintf_chk",
    "__snprintf_chk",
    "__vfprintf_chk",
    "__vsprintf_chk",
    "__vsnprintf_chk",
    "puts",
    "putchar",
    "putc",
    "fputs",
    "fputc",
    "fwrite",
    "fflush",
    "perror",
    "sscanf",
    "__isoc99_sscanf",
    "__isoc23_sscanf",
    "atoi",
    "atol",
    "atoll",
    "atof",
    "strtol",
    "strtoll",
    "strtoul",
    "strtoull",
    "strtof",
    "strtod",
    "strtold",
    "__isoc23_strtol",
    "__isoc23_strtoll",
    "__isoc23_strtoul",
    "__isoc23_strtoull",
    "strcat",
    "strncat",
    "stpcpy",
    "strcasecmp",
    "strncasecmp",
    "strcoll",
    "strdup",
    "strndup",
    "strstr",
    "strspn",
    "strcspn",
    "strpbrk",
    "strnlen",
    "strchrnul",
    "strtok_r",
    "memrchr",
    "memmem",
    "bcmp",
    "bzero",
    "__strcpy_chk",
    "__strncpy_chk",
    "__strcat_chk",
    "__strncat_chk",
    "toupper",
    "tolower",
    "isalpha",
    "isdigit",
    "isalnum",
    "isspace",
    "isupper",
    "islower",
    "ispunct",
    "isxdigit",
    "__ctype_b_loc",
    "__ctype_tolower_loc",
    "__ctype_toupper_loc",
    "getenv",
    "time",
    "clock",
    "rand",
    "random",
    "drand48",
    "lrand48",
    "mrand48",
    "div",
    "ldiv",
    "llabs",
    "memalign",
    "valloc",
    "malloc_usable_size",
    "_ZnwmRKSt9nothrow_t",
    "_ZnamRKSt9nothrow_t",
    "_ZnamSt11align_val_t",
    "_ZdlPvSt11align_val_t",
    "_ZdaPvSt11align_val_t",
    "_ZdaPvmSt11align_val_t",
    "_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base",
    "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base",
    "_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base",
    "_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base",
    "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_",
    "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_",
    "_ZSt11_Hash_bytesPKvmm",
    "_gfortran_string_len_trim",
    "_gfortran_string_trim",
    "_gfortran_string_index",
    "_gfortran_string_scan",
    "_gfortran_string_verify",
    "_gfortran_compare_string",
    "_gfortran_concat_string",
    "_gfortran_internal_pack",
    "_gfortran_internal_unpack",
    "_gfortran_adjustl",
    "_gfortran_adjustr",
    // Python's, where code without its lock takes it for a moment.
    "PyGILState_Ensure",
    "PyGILState_Release",
    "_gfortran_st_write",
    "_gfortran_st_write_done",
];

/// Beginnings of names of the same kind: members of `std::string`, of lists'
/// nodes and hash tables' policies in libstdc++; what Fortran writes.
const PREFIXES: &[&str] = &[
    "_ZNSt7__cxx1112basic_stringI",
    "_ZNKSt7__cxx1112basic_stringI",
    "_ZNSt8__detail15_List_node_base",
    "_ZNKSt8__detail20_Prime_rehash_policy",
    "_gfortran_pow_",
    "_gfortran_transfer_integer_write",
    "_gfortran_transfer_real_write",
    "_gfortran_transfer_character_write",
    "_gfortran_transfer_logical_write",
    "_gfortran_transfer_complex_write",
];
