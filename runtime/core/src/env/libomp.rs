//! libomp's own variables, which programs and their scripts set.
//!
//! Variables that have a meaning here have a row with their meaning. The others tune libomp's internals (the trees of
//! its barriers, its pools, its debug output). They may be set and have no effect, so that no script has to be changed.

use super::variable::{Family, Kind, Variable};

const fn kmp(name: &'static str, kind: Kind) -> Variable {
    Variable::new(Family::Libomp, name, kind).spec("libomp")
}

/// What a variable without effect takes.
pub(super) const UNUSED: &str = "any text; it has no effect here";

/// A variable without effect here. `what` says what it tunes in libomp.
const fn unused(name: &'static str, what: &'static str) -> Variable {
    kmp(name, Kind::Text)
        .default("not set")
        .accepts(UNUSED)
        .help(what)
}

/// What a boolean takes.
const BOOLEAN: &str = "true or false";

/// The rows of the table.
pub(super) const ROWS: &[Variable] = &[
    kmp("KMP_AFFINITY", Kind::Notation)
        .default("not set")
        .accepts("[modifier,...]none, compact, scatter, balanced or explicit[,permute][,offset]; modifiers: \
            granularity=fine, thread, core, socket, ll_cache or numa_domain, proclist=[...], duplicates, \
            noduplicates, verbose, noverbose, reset, noreset, respect, norespect, warnings, nowarnings")
        .help("Binds threads, and wins over OMP_PLACES and OMP_PROC_BIND. norespect is taken as respect."),
    kmp("KMP_ALL_THREADS", Kind::Integer)
        .default("not set")
        .accepts("a positive integer")
        .help("Older name of KMP_DEVICE_THREAD_LIMIT, which wins over it."),
    kmp("KMP_BLOCKTIME", Kind::Notation)
        .default("not set: spin shortly, then sleep")
        .accepts("milliseconds from 0, with ms or us behind them if wanted, or infinite")
        .help("How long a waiting thread spins before it sleeps, about. Wins over OMP_WAIT_POLICY, GOMP_SPINCOUNT \
            over it."),
    kmp("KMP_DEVICE_THREAD_LIMIT", Kind::Integer)
        .default("not set")
        .accepts("a positive integer")
        .help("Most threads of a contention group; the smaller of this and OMP_THREAD_LIMIT applies."),
    kmp("KMP_DUPLICATE_LIB_OK", Kind::Boolean)
        .default("true")
        .accepts(BOOLEAN)
        .help("Whether two OpenMP runtimes may be in a process. No effect: there is one for all."),
    kmp("KMP_ENABLE_TASK_THROTTLING", Kind::Boolean)
        .default("true")
        .accepts(BOOLEAN)
        .help("Whether a thread that has made many tasks nobody has begun runs further ones at once."),
    kmp("KMP_HW_SUBSET", Kind::Notation)
        .default("all CPUs that the process may use")
        .accepts("[:]COUNT or * and s (sockets), n (numa_domains), l (ll_caches), c (cores) or t (threads), then \
            @OFFSET if wanted, such as 1s,4c@2,1t; a colon in front counts in the machine, not within the part above")
        .help("The process uses these CPUs only."),
    kmp("KMP_INIT_AT_FORK", Kind::Boolean)
        .default("true")
        .accepts(BOOLEAN)
        .help("Whether a child of fork may use OpenMP. No effect: it may."),
    kmp("KMP_LIBRARY", Kind::Word)
        .default("throughput")
        .accepts("serial, turnaround (dedicated) or throughput (multiuser)")
        .help("serial: regions have one thread; turnaround: waiting threads spin; throughput: they sleep at once, \
            unless KMP_BLOCKTIME says otherwise. Wins over OMP_WAIT_POLICY."),
    kmp("KMP_PLACE_THREADS", Kind::Notation)
        .default("not set")
        .accepts("as KMP_HW_SUBSET")
        .help("Older name of KMP_HW_SUBSET, which wins over it."),
    kmp("KMP_SETTINGS", Kind::Boolean)
        .default("false")
        .accepts(BOOLEAN)
        .help("Shows the variables that are set, and the values in effect, at the start."),
    kmp("KMP_STACKSIZE", Kind::Size)
        .default("not set")
        .accepts("an integer with an optional unit B, K, M, G or T (without unit: bytes)")
        .help("Stack size of the threads that hetmp creates. Wins over OMP_STACKSIZE."),
    kmp("KMP_TEAMS_PROC_BIND", Kind::Word)
        .default("spread")
        .accepts("spread, close or primary (master)")
        .help("Which part of the places each team of a league gets."),
    kmp("KMP_TEAMS_THREAD_LIMIT", Kind::Integer)
        .default("not set")
        .accepts("a positive integer")
        .help("Most teams of a league; and with it, most threads of all of them where no clause says."),
    kmp("KMP_VERSION", Kind::Boolean)
        .default("false")
        .accepts(BOOLEAN)
        .help("Says at the start which library this is."),
    kmp("KMP_WARNINGS", Kind::Boolean)
        .default("true")
        .accepts(BOOLEAN)
        .help("Whether hetmp writes its warnings."),
    kmp("KMP_DISP_NUM_BUFFERS", Kind::Integer)
        .default("not set")
        .accepts("an integer from 1 to 4096")
        .help("How many loops may be in flight. Checked, without effect: any number may."),
    kmp("LIBOMP_NUM_HIDDEN_HELPER_THREADS", Kind::Integer)
        .default("8")
        .accepts("an integer from 0 to 65536")
        .help("How many thread numbers are kept for target nowait in programs built for libomp. There are no helper \
            threads."),
    kmp("LIBOMP_USE_HIDDEN_HELPER_TASK", Kind::Boolean)
        .default("true")
        .accepts(BOOLEAN)
        .help("Whether such numbers are kept."),
    unused("KMP_ABORT_DELAY", "libomp: how long an abort waits."),
    unused("KMP_ADAPTIVE_LOCK_PROPS", "libomp: adaptive locks."),
    unused("KMP_ALIGN_ALLOC", "libomp: alignment of its own allocations."),
    unused("KMP_ALL_THREADPRIVATE", "libomp: room for threadprivate data."),
    unused("KMP_ATOMIC_MODE", "libomp: how GNU atomics are emulated."),
    unused("KMP_CONSISTENCY_CHECK", "libomp: checks of nesting."),
    unused("KMP_CPUINFO_FILE", "libomp: where it reads the topology."),
    unused("KMP_DETERMINISTIC_REDUCTION", "libomp: the order of reductions; ours is fixed for a team size but for \
        atomic ones."),
    unused("KMP_DISP_HAND_THREAD", "libomp: the dispatch of loops."),
    unused("KMP_DYNAMIC_MODE", "libomp: how OMP_DYNAMIC adjusts."),
    unused("KMP_FORCE_MONOTONIC_DYNAMIC_SCHEDULE", "libomp: the order of dynamic chunks, which rises here in any \
        case."),
    unused("KMP_FORCE_REDUCTION", "libomp: the method of reductions."),
    unused("KMP_FOREIGN_THREADS_THREADPRIVATE", "libomp: threadprivate data of the program's own threads; here they \
        have it."),
    unused("KMP_FORKJOIN_BARRIER", "libomp: the shape of its barriers."),
    unused("KMP_FORKJOIN_BARRIER_PATTERN", "libomp: the shape of its barriers."),
    unused("KMP_FORKJOIN_FRAMES", "libomp: frames for a profiler."),
    unused("KMP_FORKJOIN_FRAMES_MODE", "libomp: frames for a profiler."),
    unused("KMP_GTID_MODE", "libomp: how a thread finds its number."),
    unused("KMP_HANDLE_SIGNALS", "libomp: signal handlers; hetmp sets none for this."),
    unused("KMP_HIDDEN_HELPER_AFFINITY", "libomp: binding of helper threads; there are none here."),
    unused("KMP_HOT_TEAMS_MAX_LEVEL", "libomp: how deep teams are kept; here at any depth."),
    unused("KMP_HOT_TEAMS_MODE", "libomp: which threads of a team that shrinks are kept; here all."),
    unused("KMP_INHERIT_FP_CONTROL", "libomp: floating-point modes of workers; here they have what threads begin \
        with."),
    unused("KMP_ITT_PREPARE_DELAY", "libomp: a profiler's interface."),
    unused("KMP_LOAD_BALANCE_INTERVAL", "libomp: how OMP_DYNAMIC looks at the load."),
    unused("KMP_LOCK_KIND", "libomp: the kind of locks."),
    unused("KMP_MALLOC_POOL_INCR", "libomp: its pools."),
    unused("KMP_MAX_TDGS", "libomp: recorded task graphs."),
    unused("KMP_MONITOR_STACKSIZE", "libomp: a monitor thread; there is none here."),
    unused("KMP_MWAIT_HINTS", "libomp: waiting by mwait."),
    unused("KMP_NESTING_MODE", "libomp: the shape of nested regions."),
    unused("KMP_NUM_LOCKS_IN_BLOCK", "libomp: its lock tables."),
    unused("KMP_PAR_RANGE", "libomp: which regions are parallel, in debug builds."),
    unused("KMP_PLAIN_BARRIER", "libomp: the shape of its barriers."),
    unused("KMP_PLAIN_BARRIER_PATTERN", "libomp: the shape of its barriers."),
    unused("KMP_REDUCTION_BARRIER", "libomp: the shape of its barriers."),
    unused("KMP_REDUCTION_BARRIER_PATTERN", "libomp: the shape of its barriers."),
    unused("KMP_SCHEDULE", "libomp: how static and guided loops are cut."),
    unused("KMP_SPECULATIVE_STATSFILE", "libomp: statistics of speculative locks."),
    unused("KMP_SPIN_BACKOFF_PARAMS", "libomp: how locks back off."),
    unused("KMP_STACKOFFSET", "libomp: distances between stacks."),
    unused("KMP_STACKPAD", "libomp: distances between stacks."),
    unused("KMP_STORAGE_MAP", "libomp: a listing of its memory."),
    unused("KMP_TASKING", "libomp: whether tasks are deferred."),
    unused("KMP_TASKLOOP_MIN_TASKS", "libomp: how taskloops make their tasks."),
    unused("KMP_TASK_STEALING_CONSTRAINT", "libomp: which tasks a waiting one lets in."),
    unused("KMP_TDG_DOT", "libomp: recorded task graphs."),
    unused("KMP_TOPOLOGY_METHOD", "libomp: where it reads the topology."),
    unused("KMP_TPAUSE", "libomp: waiting by tpause."),
    unused("KMP_USER_LEVEL_MWAIT", "libomp: waiting by mwait."),
    unused("KMP_USE_YIELD", "libomp: whether waiting threads yield; here by themselves."),
    unused("KMP_DEBUG", "libomp: debug output."),
    unused("KMP_DEBUG_BUF", "libomp: debug output."),
    unused("KMP_DEBUG_BUF_ATOMIC", "libomp: debug output."),
    unused("KMP_DEBUG_BUF_CHARS", "libomp: debug output."),
    unused("KMP_DEBUG_BUF_LINES", "libomp: debug output."),
    unused("KMP_A_DEBUG", "libomp: debug output."),
    unused("KMP_B_DEBUG", "libomp: debug output."),
    unused("KMP_C_DEBUG", "libomp: debug output."),
    unused("KMP_D_DEBUG", "libomp: debug output."),
    unused("KMP_E_DEBUG", "libomp: debug output."),
    unused("KMP_F_DEBUG", "libomp: debug output."),
    unused("KMP_DIAG", "libomp: debug output."),
];
