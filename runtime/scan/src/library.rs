//! What is known about functions of other libraries by their names: how many arguments they take, whether they
//! return, and whether they stay within themselves.
//!
//! A name that is not listed here is taken for a function that may do anything.

/// Whether the function gives the address of a variable of the calling thread
/// that is not the C library's own.
pub(crate) fn tells_thread_local(name: &str) -> bool {
    let name = base(name);
    // C++ asks for a variable of another object by a function of its own.
    name == "__tls_get_addr" || name.starts_with("_ZTW")
}

/// The name without its version.
pub(crate) fn base(name: &str) -> &str {
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

/// Whether a function of this name gives the thread that calls it memory which nobody else knows, with nothing in it
/// that a program could rely on.
pub(crate) fn takes_memory(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "malloc",
        "aligned_alloc",
        "memalign",
        "valloc",
        "_Znwm",
        "_Znam",
        "_ZnwmRKSt9nothrow_t",
        "_ZnamRKSt9nothrow_t",
        "_ZnwmSt11align_val_t",
        "_ZnamSt11align_val_t",
    ];
    NAMES.contains(&base(name))
}

/// Whether a function of this name gives such memory back.
pub(crate) fn gives_memory_back(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "free",
        "_ZdlPv",
        "_ZdaPv",
        "_ZdlPvm",
        "_ZdaPvm",
        "_ZdlPvSt11align_val_t",
        "_ZdaPvSt11align_val_t",
        "_ZdlPvmSt11align_val_t",
        "_ZdaPvmSt11align_val_t",
    ];
    NAMES.contains(&base(name))
}

/// Whether a function of this name keeps no address that it is given, in whatever way, beyond its return; it may return
/// one.
pub(crate) fn keeps_no_address(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "memcpy", "memmove", "memset", "memcmp", "memchr", "bcmp", "strlen", "strcmp", "strncmp",
        "strcpy", "strncpy", "frexp", "modf", "sincos", "sincosf",
    ];
    takes_no_integers(name) || NAMES.contains(&base(name))
}

/// Which argument of a function of this name, counted from 0, is a function of the program that it calls. It does
/// nothing else that could be noticed.
pub(crate) fn calls_argument(name: &str) -> Option<usize> {
    match base(name) {
        "qsort" => Some(3),
        "bsearch" => Some(4),
        _ => None,
    }
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
        | "fileno"
        | "ferror"
        | "feof"
        | "clearerr"
        | "isatty"
        | "strerror"
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
        "fwrite" | "qsort" => 4,
        "bsearch" => 5,
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
        || OUTPUT.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a function of this name writes where others read, so that they see how often it was called.
pub(crate) fn puts_out(name: &str) -> bool {
    OUTPUT.contains(&base(name))
}

/// The first argument of a function of this name that is written to a stream in digits, counted from 0, if it has such:
/// what lies in that and in later ones is written, and goes nowhere else.
pub(crate) fn prints_from(name: &str) -> Option<usize> {
    match base(name) {
        "printf" => Some(1),
        "fprintf" | "__printf_chk" => Some(2),
        "__fprintf_chk" => Some(3),
        _ => None,
    }
}

/// Functions of the C library that write to a stream.
const OUTPUT: &[&str] = &[
    "printf",
    "fprintf",
    "vprintf",
    "vfprintf",
    "__printf_chk",
    "__fprintf_chk",
    "__vfprintf_chk",
    "puts",
    "putchar",
    "putc",
    "fputs",
    "fputc",
    "fwrite",
    "perror",
];

/// Functions of the C library for text and its conversion, and
/// others that keep what they share under a lock of their own. Not those that
/// wait for somebody else's doing (reading, sleeping), nor those that call the
/// program back (`qsort`, `bsearch`), nor those whose answer depends on the
/// thread.
const TEXT: &[&str] = &[
    "sprintf",
    "snprintf",
    "vsprintf",
    "vsnprintf",
    "__sprintf_chk",
    "__snprintf_chk",
    "__vsprintf_chk",
    "__vsnprintf_chk",
    "fflush",
    "fileno",
    "ferror",
    "feof",
    "clearerr",
    "isatty",
    "strerror",
    "strerror_r",
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
