//! The table of environment variables.

use super::variable::Family::{Gomp, Hetmp, OpenAcc, OpenMp, OpenShmem};
use super::variable::{Kind, Variable};

/// The entry named `name` (without suffix).
#[must_use]
pub fn lookup(name: &str) -> Option<&'static Variable> {
    TABLE.iter().find(|v| v.name == name)
}

const fn omp(name: &'static str, kind: Kind) -> Variable {
    Variable::new(OpenMp, name, kind)
}
const fn gomp(name: &'static str, kind: Kind) -> Variable {
    Variable::new(Gomp, name, kind)
}
const fn acc(name: &'static str, kind: Kind) -> Variable {
    Variable::new(OpenAcc, name, kind)
}
const fn shmem(name: &'static str, kind: Kind) -> Variable {
    Variable::new(OpenShmem, name, kind)
}
const fn hetmp(name: &'static str, kind: Kind) -> Variable {
    Variable::new(Hetmp, name, kind)
}

/// What `OMP_SCHEDULE` and `HETMP_SCHEDULE` take. A test of `hetmp-sched` writes the file from the table of schedules.
const SCHEDULES: &str = include_str!("schedules.txt").trim_ascii();

/// The values of OpenSHMEM's switches.
const SWITCH: &str = "any value; 0, no, false and off are as if it were not set";

/// Every environment variable that hetmp reads, in the order of the documentation.
pub static TABLE: &[Variable] =
    &joined::<{ OTHERS.len() + super::libomp::ROWS.len() }>(OTHERS, super::libomp::ROWS);

/// Joins two lists. `N` is the sum of their lengths.
const fn joined<const N: usize>(first: &[Variable], second: &[Variable]) -> [Variable; N] {
    let mut all = [first[0]; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < first.len() {
            first[i]
        } else {
            second[i - first.len()]
        };
        i += 1;
    }
    all
}

/// All but libomp's.
const OTHERS: &[Variable] = &[
    omp("OMP_NUM_THREADS", Kind::IntegerList)
        .default("the CPUs this process may use (affinity mask and cgroup quota)")
        .accepts("a list of positive integers, such as 4 or 4,2")
        .help("Threads of a parallel region, one number per nesting level.")
        .spec("OpenMP 5.1, 6.2")
        .with_device_forms(),
    omp("OMP_SCHEDULE", Kind::Notation)
        .default("dynamic,1")
        .accepts(SCHEDULES)
        .help("Schedule of loops with schedule(runtime). One of hetmp's own also replaces the loops' dynamic and \
            guided clauses.")
        .spec("OpenMP 5.1, 6.1")
        .with_device_forms(),
    omp("OMP_DYNAMIC", Kind::Boolean)
        .default("false")
        .accepts("true or false")
        .help("Lets a region have fewer threads than it asked for on a loaded machine.")
        .spec("OpenMP 5.1, 6.3")
        .with_device_forms(),
    omp("OMP_PROC_BIND", Kind::WordList)
        .default("true where OMP_PLACES or GOMP_CPU_AFFINITY gives places, else false")
        .accepts("true, false, or a list of primary (master), close and spread")
        .help("Binds threads to places; one policy per nesting level.")
        .spec("OpenMP 5.1, 6.4")
        .with_device_forms(),
    omp("OMP_PLACES", Kind::Notation)
        .default("not set; one place per CPU where OMP_PROC_BIND asks for binding")
        .accepts(
            "threads, cores, sockets, ll_caches or numa_domains, optionally with (count), or a \
             list such as {0:4},{4:4} or {0:2}:4:2",
        )
        .help("The places that threads are bound to.")
        .spec("OpenMP 5.1, 6.5"),
    omp("OMP_STACKSIZE", Kind::Size)
        .default("the system's (ulimit -s); for libomp's programs at most 64M")
        .accepts("an integer with an optional unit B, K, M or G (without unit: K)")
        .help("Stack size of the threads that hetmp creates.")
        .spec("OpenMP 5.1, 6.6")
        .with_device_forms(),
    omp("OMP_WAIT_POLICY", Kind::Word)
        .default("not set: spin shortly, then sleep")
        .accepts("active or passive")
        .help("Whether waiting threads spin or sleep.")
        .spec("OpenMP 5.1, 6.7")
        .with_device_forms(),
    omp("OMP_MAX_ACTIVE_LEVELS", Kind::Integer)
        .default("1; 255 where OMP_NUM_THREADS or OMP_PROC_BIND is a list")
        .accepts("an integer from 0 (larger than 255 counts as 255)")
        .help("How many nested parallel regions may have more than one thread.")
        .spec("OpenMP 5.1, 6.8")
        .with_device_forms(),
    omp("OMP_NESTED", Kind::Boolean)
        .default("false")
        .accepts("true or false")
        .help("Deprecated since OpenMP 5.0: true is OMP_MAX_ACTIVE_LEVELS=255, false is 1.")
        .spec("OpenMP 5.1, 6.9"),
    omp("OMP_THREAD_LIMIT", Kind::Integer)
        .default("no limit")
        .accepts("a positive integer")
        .help("Threads of one contention group at most.")
        .spec("OpenMP 5.1, 6.10")
        .with_device_forms(),
    omp("OMP_CANCELLATION", Kind::Boolean)
        .default("false")
        .accepts("true or false")
        .help("Enables cancel constructs and cancellation points.")
        .spec("OpenMP 5.1, 6.11"),
    omp("OMP_DISPLAY_ENV", Kind::Word)
        .default("false")
        .accepts("true, false or verbose")
        .help("Shows the values of all these variables on standard error at the start.")
        .spec("OpenMP 5.1, 6.12"),
    omp("OMP_DISPLAY_AFFINITY", Kind::Boolean)
        .default("false")
        .accepts("true or false")
        .help("Shows where each thread is bound, at the first region and after changes.")
        .spec("OpenMP 5.1, 6.13"),
    omp("OMP_AFFINITY_FORMAT", Kind::Text)
        .default("level %L thread %i affinity %A")
        .accepts("a text with the fields %t %T %L %n %N %a %A %H %P %i or their long names")
        .help("How a thread's affinity is written.")
        .spec("OpenMP 5.1, 6.14"),
    omp("OMP_TOOL", Kind::Word)
        .default("enabled")
        .accepts("enabled or disabled")
        .help("Whether a tool (profiler, race detector) is looked for at the first use of OpenMP.")
        .spec("OpenMP 5.1, 6.18")
        .not_when_privileged(),
    omp("OMP_TOOL_LIBRARIES", Kind::Text)
        .default("none")
        .accepts("libraries separated by colons")
        .help("Libraries in which a tool is looked for, if neither the program nor its libraries have one.")
        .spec("OpenMP 5.1, 6.19"),
    omp("OMP_TOOL_VERBOSE_INIT", Kind::Text)
        .default("disabled")
        .accepts("disabled, stdout, stderr or the name of a file")
        .help("Where the search for a tool is logged.")
        .spec("OpenMP 5.1, 6.20"),
    omp("OMP_DEFAULT_DEVICE", Kind::Integer)
        .default("0")
        .accepts("an integer from 0")
        .help("The device of target constructs without a device clause.")
        .spec("OpenMP 5.1, 6.15")
        .with_device_forms(),
    omp("OMP_MAX_TASK_PRIORITY", Kind::Integer)
        .default("0")
        .accepts("an integer from 0")
        .help("The largest task priority that has an effect; 0 means priorities are ignored.")
        .spec("OpenMP 5.1, 6.16"),
    omp("OMP_TARGET_OFFLOAD", Kind::Word)
        .default("default")
        .accepts("default, mandatory or disabled")
        .help("Whether target constructs must, may or must not run on a device.")
        .spec("OpenMP 5.1, 6.17"),
    omp("OMP_ALLOCATOR", Kind::Word)
        .default("omp_default_mem_alloc")
        .accepts(
            "omp_default_mem_alloc, omp_large_cap_mem_alloc, omp_const_mem_alloc, \
             omp_high_bw_mem_alloc, omp_low_lat_mem_alloc, omp_cgroup_mem_alloc, \
             omp_pteam_mem_alloc or omp_thread_mem_alloc",
        )
        .help("The allocator of allocations that name none.")
        .spec("OpenMP 5.1, 6.22"),
    omp("OMP_NUM_TEAMS", Kind::Integer)
        .default("0: the implementation chooses")
        .accepts("a positive integer")
        .help("Teams of a teams construct without a num_teams clause.")
        .spec("OpenMP 5.1, 6.23")
        .with_device_forms(),
    omp("OMP_TEAMS_THREAD_LIMIT", Kind::Integer)
        .default("0: no limit")
        .accepts("a positive integer")
        .help("Threads of each team of a teams construct without a thread_limit clause.")
        .spec("OpenMP 5.1, 6.24")
        .with_device_forms(),
    gomp("GOMP_CPU_AFFINITY", Kind::Notation)
        .default("not set")
        .accepts("CPU numbers and ranges first-last[:stride], separated by blanks or commas")
        .help("One place for each CPU, in this order; OMP_PLACES wins over it.")
        .spec("libgomp manual"),
    gomp("GOMP_STACKSIZE", Kind::Size)
        .default("the system's (ulimit -s)")
        .accepts("an integer with an optional unit B, K, M or G (without unit: K)")
        .help("Older name of OMP_STACKSIZE, which wins over it.")
        .spec("libgomp manual"),
    gomp("GOMP_SPINCOUNT", Kind::Size)
        .default("300000; 30000000000 with OMP_WAIT_POLICY=active, 0 with passive")
        .accepts("an integer with an optional unit k, M, G or T, or infinite (infinity)")
        .help("How many turns a waiting thread spins before it sleeps.")
        .spec("libgomp manual"),
    gomp("GOMP_DEBUG", Kind::Integer)
        .default("0")
        .accepts("an integer from 0")
        .help("libgomp's debug output for offloading; there is none here.")
        .spec("libgomp manual")
        .not_when_privileged(),
    acc("ACC_DEVICE_TYPE", Kind::Text)
        .default("not set")
        .accepts("the name of a device type")
        .help("The OpenACC device type: host is the only one here.")
        .spec("OpenACC 2.6, 4.1"),
    acc("ACC_DEVICE_NUM", Kind::Integer)
        .default("0")
        .accepts("an integer from 0")
        .help("The OpenACC device number.")
        .spec("OpenACC 2.6, 4.2"),
    acc("ACC_PROFLIB", Kind::Text)
        .default("not set")
        .accepts("shared libraries with acc_register_library, separated by ;")
        .help("Tools that receive OpenACC events.")
        .spec("OpenACC 2.6, 5.4"),
    acc("GOMP_OPENACC_DIM", Kind::Notation)
        .default("not set")
        .accepts("gang:worker:vector, each an integer from 0 or empty")
        .help("Default dimensions of OpenACC compute constructs; without effect on the host.")
        .spec("libgomp manual"),
    shmem("SHMEM_SYMMETRIC_SIZE", Kind::Size)
        .default("256M")
        .accepts(
            "a number from 0, with a point if need be, and an optional unit K, M, G or T (without \
             unit: bytes)",
        )
        .help("Bytes of each PE's symmetric heap; memory is taken when it is touched. An invalid value ends the \
            program.")
        .spec("OpenSHMEM 1.5, 8"),
    shmem("SHMEM_DEBUG", Kind::Text)
        .default("not set")
        .accepts(SWITCH)
        .help("Says on standard error what the library found and chose.")
        .spec("OpenSHMEM 1.5, 8"),
    shmem("SHMEM_INFO", Kind::Text)
        .default("not set")
        .accepts(SWITCH)
        .help("PE 0 shows these variables and their values when the program starts.")
        .spec("OpenSHMEM 1.5, 8"),
    shmem("SHMEM_VERSION", Kind::Text)
        .default("not set")
        .accepts(SWITCH)
        .help("PE 0 shows the library's version when the program starts.")
        .spec("OpenSHMEM 1.5, 8"),
    shmem("SMA_SYMMETRIC_SIZE", Kind::Size)
        .default("not set")
        .accepts("as SHMEM_SYMMETRIC_SIZE")
        .help("Older name of SHMEM_SYMMETRIC_SIZE, which wins over it.")
        .spec("OpenSHMEM 1.5, 8"),
    shmem("SHMEM_SYMMETRIC_HEAP_SIZE", Kind::Size)
        .default("not set")
        .accepts("as SHMEM_SYMMETRIC_SIZE")
        .help("Open MPI's older name of SHMEM_SYMMETRIC_SIZE, which wins over it.")
        .spec("Open MPI"),
    shmem("SMA_SYMMETRIC_HEAP_SIZE", Kind::Size)
        .default("not set")
        .accepts("as SHMEM_SYMMETRIC_SIZE")
        .help("Open MPI's older name of SMA_SYMMETRIC_SIZE, which wins over it.")
        .spec("Open MPI"),
    shmem("SMA_DEBUG", Kind::Text)
        .default("not set")
        .accepts(SWITCH)
        .help("Older name of SHMEM_DEBUG, which wins over it.")
        .spec("OpenSHMEM 1.5, 8"),
    shmem("SMA_INFO", Kind::Text)
        .default("not set")
        .accepts(SWITCH)
        .help("Older name of SHMEM_INFO, which wins over it.")
        .spec("OpenSHMEM 1.5, 8"),
    shmem("SMA_VERSION", Kind::Text)
        .default("not set")
        .accepts(SWITCH)
        .help("Older name of SHMEM_VERSION, which wins over it.")
        .spec("OpenSHMEM 1.5, 8"),
    hetmp("HETMP_NODES", Kind::Notation)
        .default("discovered")
        .accepts("a number of nodes, cores=LIST[,speed=S][;cores=...], @file.toml, or dsm:2 to dsm:16, [;speed=S or \
            ;cores=...[+cores=...] for each]")
        .help("The nodes of unlike cores that loops are split over; dsm:N: N processes that share memory page by page.")
        .spec("hetmp"),
    hetmp("HETMP_FAR", Kind::Notation)
        .default("not emulated")
        .accepts("NEAR,FAR or NEAR,FAR,flat, in microseconds up to 1000000, FAR at least NEAR")
        .help("For experiments: the time of a barrier's signal within a node and to another one. flat: barriers \
            ignore nodes.")
        .spec("hetmp"),
    hetmp("HETMP_DSM", Kind::Word)
        .default("uffd; sigsegv where that is forbidden")
        .accepts("uffd, sigsegv, or pool[:FILE][,check]")
        .help("How page faults are caught on nodes dsm:N: userfaultfd, or signals and mprotect. pool: nodes share a \
            memory without coherence, and move no pages; check names stale lines.")
        .spec("hetmp")
        .not_when_privileged(),
    hetmp("HETMP_DSM_CROSS", Kind::Word)
        .default("auto")
        .accepts("auto, always, never or node:K")
        .help("Which regions cross nodes dsm:N. auto: regions measured to be faster; always; never; node:K: all run \
            whole on node K.")
        .spec("hetmp"),
    hetmp("HETMP_DSM_CPUS", Kind::Word)
        .default("all")
        .accepts("all or own")
        .help("The CPUs of regions that stay at the origin of dsm:N: all, or its own, as if the nodes were machines.")
        .spec("hetmp"),
    hetmp("HETMP_DSM_AHEAD", Kind::Word)
        .default("on")
        .accepts("on or off")
        .help("Pages that a node of dsm:N will want next come along with one that it wants.")
        .spec("hetmp"),
    hetmp("HETMP_DSM_TRUST", Kind::Boolean)
        .default("false")
        .accepts("true (1) or false (0)")
        .help("Lets regions with unknown calls cross nodes dsm:N.")
        .spec("hetmp"),
    hetmp("HETMP_SCHEDULE", Kind::Notation)
        .default("not set")
        .accepts(SCHEDULES)
        .help("Wins over OMP_SCHEDULE, and is not seen by other OpenMP runtimes, which complain about schedules they \
            do not know.")
        .spec("hetmp"),
    hetmp("HETMP_STATIC", Kind::Word)
        .default("auto")
        .accepts("off, auto, uneven, wide, force or force-uneven")
        .help("Which loops without a call to the runtime hetmp's schedules divide. auto: where virtual threads are \
            safe and may gain; uneven: also in uneven parts, for programs that do not rely on equal ones; wide: also \
            where the program set a number of threads; force: wherever safe; see static-loops.md.")
        .spec("hetmp"),
    hetmp("HETMP_OBJECTIVE", Kind::Word)
        .default("time")
        .accepts("time, energy or edp")
        .help("What the division of a loop minimises: time, modelled energy, or energy times time.")
        .spec("hetmp"),
    hetmp("HETMP_FAULT_PERIOD", Kind::Number)
        .default("what HETMP_CALIBRATION says")
        .accepts("microseconds, a number above 0")
        .help("Core time per remote page fault from which a loop runs on several nodes.")
        .spec("hetmp"),
    hetmp("HETMP_COUNTER", Kind::Notation)
        .default("none")
        .accepts(
            "none, cache-misses, llc-misses, cycles, branch-misses, stalled-cycles, or rHEX (a raw event)",
        )
        .help("The hardware counter that a report shows for each node's probes.")
        .spec("hetmp"),
    hetmp("HETMP_PROFILE", Kind::Text)
        .default("not set")
        .accepts("the name of a file")
        .help("What is learned about loops is read from this file at the start and written at exit.")
        .spec("hetmp"),
    hetmp("HETMP_CACHE", Kind::Text)
        .default("$XDG_CACHE_HOME/hetmp, or ~/.cache/hetmp")
        .accepts("off, or a folder's name from the root on")
        .help("Keeps what was read in programs' code and learned from executions, for later runs.")
        .spec("hetmp"),
    hetmp("HETMP_CALIBRATION", Kind::Text)
        .default("not set")
        .accepts("the name of a file written by hetmp calibrate")
        .help("Thresholds of the links between nodes, and watts.")
        .spec("hetmp"),
    hetmp("HETMP_VERBOSE", Kind::Boolean)
        .default("false")
        .accepts("true (1) or false (0)")
        .help("Logs what hetmp found and decided, on standard error.")
        .spec("hetmp"),
    hetmp("HETMP_REPORT", Kind::Text)
        .default("not set")
        .accepts("the name of a file; %p in it becomes the process number")
        .help("Writes every region, loop and scheduling decision to this file at exit, as JSON for hetmp report.")
        .spec("hetmp"),
    hetmp("HETMP_TIMES", Kind::Text)
        .default("not set")
        .accepts("a folder")
        .help("Measures time and waits of threads in regions and constructs, into this folder; set by hetmp run \
            --profile.")
        .spec("hetmp"),
    hetmp("HETMP_TRACE", Kind::Text)
        .default("not set")
        .accepts("the name of a file; %p in it becomes the process number")
        .help("Writes a timeline of all threads to this file at exit, as JSON for Perfetto.")
        .spec("hetmp"),
    hetmp("HETMP_TRACE_EVENTS", Kind::Integer)
        .default("65536")
        .accepts("an integer from 16 to 16777216")
        .help("Events, and regions, that the trace keeps for a thread, up to 96 bytes each; then neighbours are \
            joined and the oldest dropped.")
        .spec("hetmp"),
    hetmp("HETMP_BOOTSTRAP", Kind::Word)
        .default("found by what launchers set")
        .accepts("alone, hetrun, pmi1, pmi2 or pmix")
        .help("The launcher by which a process finds the others of its job.")
        .spec("hetmp"),
    hetmp("HETMP_PLATFORM", Kind::Notation)
        .default("x86")
        .accepts(
            "x86, sw26010, mt3000 or a file name with a dot or slash, then ,strict and ,scale=1 \
             to 1000000 if wanted",
        )
        .help("The platform that message queues (hetmp/mq.h) model. strict keeps the master's slots from the slaves; \
            scale lengthens modelled times. An invalid value ends the program.")
        .spec("hetmp"),
    hetmp("HETMP_MQ_TIMEOUT", Kind::Number)
        .default("0: never")
        .accepts("seconds from 0 (never) to 1e9")
        .help("How long a call of hetmp/mq.h waits before it returns MQ_TIMED_OUT.")
        .spec("hetmp"),
    hetmp("HETMP_CHECK", Kind::Boolean)
        .default("false")
        .accepts("true (1) or false (0)")
        .help("Checks the arguments of every OpenSHMEM call, and compares collective calls between PEs; a wrong one \
            ends the job with function, PE and value.")
        .spec("hetmp"),
    hetmp("HETMP_NIC", Kind::Word)
        .default("auto")
        .accepts("auto, shm, emulated, tcp, ofi or ofi:PROVIDER")
        .help("How OpenSHMEM and GOAL reach other processes. auto: shared memory here, sockets or an adapter's \
            libfabric elsewhere; shm, tcp: one of these; emulated: a software adapter; ofi: libfabric.")
        .spec("hetmp"),
    hetmp("HETMP_NIC_ENDPOINTS", Kind::Integer)
        .default("1")
        .accepts("a number from 1 to 64")
        .help("Endpoints of libfabric in a process, each with a thread; queue pairs and contexts are dealt to them in \
            turn.")
        .spec("hetmp"),
    hetmp("HETMP_NIC_TIMEOUT", Kind::Integer)
        .default("10")
        .accepts("seconds from 0 (never) to 86400")
        .help("How long another host may not answer before the job ends with a line that names it.")
        .spec("hetmp"),
    hetmp("HETMP_NIC_MODEL", Kind::Notation)
        .default("not set")
        .accepts("gpu, then ,seed=N, ,hold=NANOSECONDS, ,check and ,noinval if wanted")
        .help("Models a device's memory: gpu delays and reorders writes as the fabric may, differently with each \
            seed; check names mistakes.")
        .spec("hetmp"),
    hetmp("HETMP_GOAL_ENGINE", Kind::Word)
        .default("thread")
        .accepts("thread, user, kernel, nic or nic-thread")
        .help("Who moves nonblocking collectives on: a thread, only the program's own calls (user), an eBPF program \
            in the kernel (needs rights, see goal.md), or an emulated adapter that is a process or a thread.")
        .spec("hetmp"),
    hetmp("HETMP_GOAL_INTERFACE", Kind::Text)
        .default("lo")
        .accepts("the name of a network interface")
        .help("The network interface of HETMP_GOAL_ENGINE=kernel.")
        .spec("hetmp"),
    hetmp("HETMP_GOAL_COUNTERS", Kind::Boolean)
        .default("false")
        .accepts("true or false")
        .help("Prints at the end what the engine kernel or nic has counted.")
        .spec("hetmp"),
    hetmp("HETMP_GOAL_BLOCKING", Kind::Word)
        .default("auto")
        .accepts("auto or schedule")
        .help("Blocking collectives: by shared memory where all ranks map it (auto), or always by a schedule.")
        .spec("hetmp"),
    hetmp("HETMP_GOAL_NONBLOCKING", Kind::Word)
        .default("auto")
        .accepts("auto or schedule")
        .help("The same for nonblocking collectives under the engines user and thread.")
        .spec("hetmp"),
    hetmp("HETMP_GOAL_ALLREDUCE", Kind::Word)
        .default("auto")
        .accepts("auto, doubling or ring")
        .help("The algorithm of goal_allreduce; auto: by size and ranks.")
        .spec("hetmp"),
    hetmp("HETMP_GOAL_ALLGATHER", Kind::Word)
        .default("auto")
        .accepts("auto, log or ring")
        .help("The algorithm of goal_allgather; auto: by size and ranks.")
        .spec("hetmp"),
    hetmp("HETMP_GOAL_CHOICE", Kind::Notation)
        .default("allreduce=32768,allgather=1048576,alltoall=0")
        .accepts("NAME=BYTES, separated by commas")
        .help("Bytes from which an allreduce or allgather uses a ring, and up to which an all-to-all uses log2 steps; \
            hetmp calibrate goal prints a machine's.")
        .spec("hetmp"),
    hetmp("HETMP_GOAL_ALLTOALL", Kind::Word)
        .default("auto")
        .accepts("auto, direct or bruck")
        .help("The algorithm of goal_alltoall (bruck: log2 steps); auto: by size and ranks.")
        .spec("hetmp"),
];

/// The newer name in the help of an older one: `Older name of NEWER, which wins over it.`
#[cfg(test)]
fn newer(help: &str) -> &str {
    let (_, rest) = help.split_once("lder name of ").unwrap_or(("", help));
    rest.split([',', '.']).next().unwrap_or(rest)
}

/// The table as a Markdown document (`docs/environment.md`).
#[cfg(test)]
fn markdown() -> String {
    use super::variable::{Family, Suffixes};
    let mut out = String::from(
        "# Environment variables\n\n\
         <!-- Generated from the table in runtime/core/src/env/table.rs; do not edit. -->\n\n\
         Case does not matter, and blanks \
         around a value are ignored; true is also 1, yes or on, and false 0, no or off. An invalid value costs one \
         line on standard error, and the default \
         applies, unless its row says otherwise. Values are read at the first call of the library. Names \
         marked with * also exist as `NAME_ALL`, which the host takes where `NAME` is unset; `NAME_DEV` \
         and `NAME_DEV_n` are for devices and have no effect here.\n",
    );
    // A bar would end the cell.
    let cell = |text: &str| text.replace('|', "\\|");
    for (family, title) in [
        (OpenMp, "OpenMP"),
        (Gomp, "libgomp"),
        (Family::Libomp, "libomp"),
        (OpenAcc, "OpenACC"),
        (OpenShmem, "OpenSHMEM"),
        (Hetmp, "hetmp"),
    ] {
        let (unused, rows): (Vec<&Variable>, Vec<_>) = TABLE
            .iter()
            .filter(|v| v.family == family)
            .partition(|v| v.accepts == super::libomp::UNUSED);
        let (older, rows): (Vec<&Variable>, Vec<_>) = rows
            .into_iter()
            .partition(|v| v.help.contains("lder name of"));
        // What all rows are specified in stands in the head, or nowhere if it is the same place.
        let document = rows[0].spec.split_inclusive(", ").next().unwrap_or("");
        let (document, in_document) = if rows.iter().all(|v| v.spec.starts_with(document)) {
            (
                document,
                format!("section of {}", document.trim_end_matches(", ")),
            )
        } else {
            ("", "specified in".to_owned())
        };
        let specs = rows.iter().any(|v| v.spec != rows[0].spec);
        let (head, line) = if specs {
            (format!(" {in_document} |"), " --- |")
        } else {
            (String::new(), "")
        };
        out.push_str(&format!(
            "\n## {title}\n\n| name | default | values | meaning |{head}\n| --- | --- | --- | --- |{line}\n"
        ));
        for v in &rows {
            let star = match v.suffixes {
                Suffixes::None => "",
                Suffixes::AllAndDevices => " \\*",
            };
            let spec = if specs {
                format!(" {} |", &v.spec[document.len()..])
            } else {
                String::new()
            };
            out.push_str(&format!(
                "| `{}`{star} | {} | {} | {} |{spec}\n",
                v.name,
                cell(v.default),
                cell(v.accepts),
                cell(v.help)
            ));
        }
        if !older.is_empty() {
            let names: Vec<String> = older
                .iter()
                .map(|v| format!("`{}` ({})", v.name, newer(v.help)))
                .collect();
            out.push_str(&format!(
                "\nOlder names, which count where the newer one in brackets is not set: {}.\n",
                names.join(", ")
            ));
        }
        if !unused.is_empty() {
            let names: Vec<String> = unused.iter().map(|v| format!("`{}`", v.name)).collect();
            out.push_str(&format!(
                "\nAccepted without effect, since they tune what only libomp has: {}.\n",
                names.join(", ")
            ));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{lookup, markdown, TABLE};

    #[test]
    fn entries_are_complete_and_names_unique() {
        for (i, v) in TABLE.iter().enumerate() {
            for text in [v.default, v.accepts, v.help, v.spec] {
                assert!(!text.is_empty() && !text.contains('\n'), "{}", v.name);
                assert!(!text.contains("  "), "{}: {text}", v.name);
            }
            assert!(TABLE[..i].iter().all(|w| w.name != v.name), "{}", v.name);
            assert!(std::ptr::eq(lookup(v.name).expect("itself"), v));
        }
        assert!(lookup("OMP_NUM").is_none());
    }

    /// `HETMP_BLESS=1 cargo test -p hetmp-core` writes the document anew.
    #[test]
    fn the_document_is_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/environment.md");
        if std::env::var_os("HETMP_BLESS").is_some() {
            std::fs::write(path, markdown()).expect("write the document");
        }
        let text = std::fs::read_to_string(path).expect("docs/environment.md");
        assert_eq!(
            text,
            markdown(),
            "run HETMP_BLESS=1 cargo test -p hetmp-core"
        );
    }
}
