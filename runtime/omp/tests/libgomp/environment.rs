//! `OMP_DISPLAY_ENV=verbose` in many environments: hetmp must print the same text as libgomp, and must
//! complain about the same values.

use hetmp_core::topo::Topology;
use hetmp_omp::icv::display::{self, Current};
use hetmp_omp::icv::{Globals, Machine};

use super::{Dice, Program};

const SHOW: &str = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n";

/// Values of each variable, good and bad, plain and odd.
const VALUES: &[(&str, &[&str])] = &[
    (
        "OMP_NUM_THREADS",
        &[
            "4",
            " 3 ",
            "4,3,2",
            "1 , 2",
            "0",
            "-1",
            "",
            "x",
            "3x",
            "4,",
            "4,,2",
            ",4",
            "4,0",
            "+5",
            "5000000000",
            "99999999999999999999",
            "0x4",
            "\t2\n",
            "2,3 x",
        ],
    ),
    (
        "OMP_SCHEDULE",
        &[
            "static",
            "STATIC,4",
            "dynamic",
            "dynamic,1",
            "dynamic , 7",
            "guided",
            "guided,0",
            "auto",
            "auto,3",
            "monotonic:dynamic",
            "nonmonotonic:static",
            "nonmonotonic : guided,2",
            "monotonic:auto",
            "static,0",
            "static,x",
            "dynamic,",
            "guided foo",
            "monotonic guided",
            "",
            "stati",
            "static;4",
            "dynamic,2147483647",
            "dynamic,2147483648",
            "dynamic,4x",
            "monotonic:guided,-",
            "Monotonic:Static,9",
            "staticx",
        ],
    ),
    (
        "OMP_DYNAMIC",
        &[
            "true", "FALSE", " True ", "1", "", "truex", "true x", "yes", "false,",
        ],
    ),
    ("OMP_NESTED", &["true", "false", "true x", "2", ""]),
    (
        "OMP_MAX_ACTIVE_LEVELS",
        &[
            "0", "1", "3", "255", "256", "70000", "-1", "x", "", "4 4", " 7 ",
        ],
    ),
    (
        "OMP_THREAD_LIMIT",
        &[
            "5",
            "0",
            "-3",
            "2147483647",
            "2147483648",
            "99999999999",
            "x",
            " 12 ",
            "1,2",
        ],
    ),
    (
        "OMP_WAIT_POLICY",
        &[
            "active",
            "PASSIVE",
            " Active ",
            "activex",
            "",
            "idle",
            "passive 1",
        ],
    ),
    (
        "OMP_STACKSIZE",
        &[
            "4096",
            "2M",
            " 1 g ",
            "300000B",
            "64k ",
            "1kb",
            "",
            "x",
            "-1",
            "1T",
            "0",
            "15k",
            "17179869184g",
            "17179869183G",
            "16K",
            "16383b",
        ],
    ),
    ("GOMP_STACKSIZE", &["8M", "1", "abc", "512k", ""]),
    (
        "OMP_PROC_BIND",
        &[
            "true",
            "false",
            "close",
            "spread",
            "master",
            "PRIMARY",
            "spread,close",
            "close,master,spread",
            "true,close",
            "close,false",
            "close,",
            "",
            "closer",
            "no",
            " Spread , Primary ",
            "close spread",
        ],
    ),
    (
        "OMP_PLACES",
        &[
            "threads",
            "cores",
            "sockets",
            "threads(1)",
            "Cores ( 1 )",
            "threads(9)",
            "threads(0)",
            "threads(-1)",
            "threads(",
            "threads()",
            "threads(1) x",
            "corex",
            "{0}",
            "{0,1}",
            "{0},{1}",
            "{1},{0}",
            "{0}:2",
            "{0}:2:1",
            "{0:2}",
            "{0:2:1}",
            "{1:2:-1}",
            "{0},{1},{0}",
            "0,1",
            "1",
            "0:2",
            "{0:2},!{0:2}",
            "{0},{1},!{0}",
            "!{0}",
            "{0:2,!0}",
            "{0:2,!5}",
            "{!0,0:2}",
            "{0, !0}",
            "{5}",
            "{0},{5}",
            "{0}:5",
            "{64}",
            "{0}:65",
            "{0}:65536",
            "{0:0}",
            "{0}:0",
            "{",
            "{}",
            "{0",
            "{0}}",
            "{0},",
            ",{0}",
            "",
            " {0} , {1} ",
            "!{0}:2",
            "{0:99999:0}",
            "{0}:1:-1",
            "{0}:2:-1",
            "{1}:2:-1",
            "{0:-1}",
            "{-1}",
            "{ 1 , 0 }",
            "ll_caches",
            "ll_cachesx",
            "numa_domains",
            "numa_domains(2)",
            "{0}:3,!{2}",
            "{0 1}",
            "{0:2}:2:0",
        ],
    ),
    (
        "GOMP_CPU_AFFINITY",
        &[
            "0", "1 0", "0-1", "0,1", "0-1:2", "0-7", "5", "70", "0x1", "01", "08", "0,", "", "a",
            "1-0", "0-", "0-1:0", "0-1:", "65536", "0 0 1", "3-1 0", " 1 ", "0-1x",
        ],
    ),
    (
        "GOMP_SPINCOUNT",
        &[
            "0",
            "100",
            "5k",
            "3M",
            "2g",
            "1T",
            "infinite",
            "INFINITY",
            "infinity x",
            "-1",
            "",
            "99999999t",
            "99999999999999999999",
            "x",
            "5 k ",
            "5kk",
            "18446744073709551615",
        ],
    ),
    ("OMP_CANCELLATION", &["true", "false", "on", "", "TRUE "]),
    ("OMP_DISPLAY_AFFINITY", &["true", "false", "verbose", ""]),
    (
        "OMP_AFFINITY_FORMAT",
        &[
            "",
            "host=%H",
            "%",
            " thread %0.3n ",
            "quote ' and \"",
            "caf\u{e9}",
        ],
    ),
    (
        "OMP_DEFAULT_DEVICE",
        &["0", "3", "-1", "x", "2147483648", "", "1 "],
    ),
    (
        "OMP_MAX_TASK_PRIORITY",
        &["0", "10", "-1", "x", "2147483647", "2147483648"],
    ),
    (
        "OMP_TARGET_OFFLOAD",
        &[
            "default",
            "MANDATORY",
            "disabled",
            " Disabled ",
            "disabledx",
            "none",
            "",
        ],
    ),
    (
        "OMP_ALLOCATOR",
        &[
            "omp_default_mem_alloc",
            "OMP_LARGE_CAP_MEM_ALLOC",
            "omp_const_mem_alloc",
            "omp_high_bw_mem_alloc",
            "omp_low_lat_mem_alloc ",
            " omp_cgroup_mem_alloc",
            "omp_pteam_mem_alloc",
            "omp_thread_mem_alloc",
            "omp_thread_mem_allocx",
            "5",
            "",
        ],
    ),
    ("OMP_NUM_TEAMS", &["4", "0", "-1", "x", "2147483648", ""]),
    ("OMP_TEAMS_THREAD_LIMIT", &["4", "0", "-1", "x", " 9", ""]),
    ("ACC_DEVICE_NUM", &["0", "1", "-1", "x", ""]),
    ("GOMP_DEBUG", &["0", "x", ""]),
];

/// Returns the text that libgomp displays, and whether libgomp complained about any value.
fn libgomp(program: &Program, env: &[(String, String)]) -> (Vec<u8>, bool) {
    let out = program.run(&[], env);
    assert!(out.status.success(), "{env:?}");
    let find = |what: &[u8]| out.stderr.windows(what.len()).position(|w| w == what);
    let complained = find(b"\nlibgomp: ").is_some();
    let (begin, end) = (
        find(b"\nOPENMP DISPLAY ENVIRONMENT BEGIN\n"),
        find(b"OPENMP DISPLAY ENVIRONMENT END\n"),
    );
    let block = match (begin, end) {
        (Some(from), Some(to)) => {
            let to = to + b"OPENMP DISPLAY ENVIRONMENT END\n".len();
            out.stderr[from..to].to_vec()
        }
        _ => Vec::new(),
    };
    (block, complained)
}

fn ours(topology: &Topology, env: &[(String, String)]) -> (Vec<u8>, Vec<String>) {
    let mut warnings = Vec::new();
    let reader = |name: &str| {
        let found = env.iter().find(|(n, _)| n == name);
        found.map(|(_, v)| v.clone().into_bytes())
    };
    let machine = Machine {
        default_threads: topology.allowed().count() as u32,
        allowed: topology.allowed(),
        places: &|kind, count| topology.places(kind, Some(count)),
        min_stack: 16384,
        as_libomp: false,
    };
    let globals = Globals::from_env(&reader, &machine, &mut |line| {
        assert!(!line.contains('\n'), "{line}");
        warnings.push(line.to_owned());
    });
    if !globals.display_env {
        return (Vec::new(), warnings);
    }
    let text = display::text(
        &globals,
        &Current::unchanged(&globals),
        globals.display_verbose,
    );
    // hetmp's own lines are the only difference.
    let text = text
        .split_inclusive(|&b| b == b'\n')
        .filter(|line| !line.starts_with(b"  HETMP_"))
        .collect::<Vec<_>>()
        .concat();
    (text, warnings)
}

struct Comparison {
    program: Program,
    topology: Topology,
    runs: usize,
}

impl Comparison {
    fn check(&mut self, env: &[(&str, &str)]) {
        let env: Vec<(String, String)> = env
            .iter()
            .map(|&(n, v)| (n.to_owned(), v.to_owned()))
            .collect();
        let (want, complained) = libgomp(&self.program, &env);
        let (got, warnings) = ours(&self.topology, &env);
        assert_eq!(
            String::from_utf8_lossy(&got),
            String::from_utf8_lossy(&want),
            "{env:?}"
        );
        // libgomp accepts CPUs that cannot be used without a complaint, and ends the program at the first
        // region.
        let ours_alone = |w: &String| w.contains("stay where they may run");
        let refused = warnings.iter().any(|w| !ours_alone(w));
        assert_eq!(refused, complained, "{env:?}: {warnings:?}");
        self.runs += 1;
    }
}

#[test]
fn the_same_environment_shows_the_same() {
    let Some(program) = Program::compile("show-env", SHOW) else {
        return;
    };
    let mut all = Comparison {
        program,
        topology: Topology::discover(),
        runs: 0,
    };
    const VERBOSE: (&str, &str) = ("OMP_DISPLAY_ENV", "verbose");
    all.check(&[VERBOSE]);
    for value in [
        "true",
        " TRUE ",
        "false",
        "Verbose",
        "verbose x",
        "1",
        "",
        "truex",
    ] {
        all.check(&[("OMP_DISPLAY_ENV", value), ("OMP_NUM_THREADS", "3")]);
    }
    for &(name, values) in VALUES {
        for value in values {
            all.check(&[VERBOSE, (name, value)]);
        }
    }
    // Variables that depend on each other, in all combinations, together with other variables at random.
    let pairs = [
        ("OMP_PLACES", "OMP_PROC_BIND"),
        ("GOMP_CPU_AFFINITY", "OMP_PROC_BIND"),
        ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"),
        ("OMP_STACKSIZE", "GOMP_STACKSIZE"),
        ("OMP_NESTED", "OMP_MAX_ACTIVE_LEVELS"),
        ("OMP_NESTED", "OMP_NUM_THREADS"),
        ("OMP_NESTED", "OMP_PROC_BIND"),
    ];
    let values_of = |name: &str| VALUES.iter().find(|v| v.0 == name).expect("listed").1;
    for (a, b) in pairs {
        for x in values_of(a).iter().step_by(2) {
            for y in values_of(b).iter().step_by(2) {
                all.check(&[VERBOSE, (a, x), (b, y)]);
            }
        }
    }
    let mut dice = Dice(20_221_115);
    for _ in 0..400 {
        let mut env = vec![VERBOSE];
        for &(name, values) in VALUES {
            if dice.below(3) == 0 {
                env.push((name, values[dice.below(values.len())]));
            }
        }
        all.check(&env);
    }
    println!("{} environments compared with libgomp", all.runs);
}

/// Values that hetmp accepts and libgomp 12 does not.
#[test]
fn our_own_variables() {
    let topology = Topology::discover();
    let show = |env: &[(&str, &str)]| {
        let mut warnings = Vec::new();
        let reader = |name: &str| {
            let found = env.iter().find(|(n, _)| *n == name);
            found.map(|(_, v)| v.as_bytes().to_vec())
        };
        let machine = Machine {
            default_threads: 2,
            allowed: topology.allowed(),
            places: &|kind, count| topology.places(kind, Some(count)),
            min_stack: 16384,
            as_libomp: false,
        };
        let g = Globals::from_env(&reader, &machine, &mut |line| {
            warnings.push(line.to_owned())
        });
        let text = display::text(&g, &Current::unchanged(&g), true);
        (String::from_utf8(text).expect("UTF-8"), warnings, g)
    };

    let (text, warnings, _) = show(&[]);
    assert!(warnings.is_empty());
    assert!(text.contains(
        "  GOMP_SPINCOUNT = '300000'\n  HETMP_NODES = ''\n  HETMP_SCHEDULE = ''\n  \
         HETMP_OBJECTIVE = 'time'\n  HETMP_FAULT_PERIOD = ''\n  HETMP_COUNTER = ''\n  \
         HETMP_PROFILE = ''\n  HETMP_CACHE = ''\n  HETMP_CALIBRATION = ''\n  \
         HETMP_VERBOSE = 'FALSE'\n  HETMP_REPORT = ''\n  \
         HETMP_TRACE = ''\n  HETMP_TRACE_EVENTS = '65536'\n"
    ));
    assert!(text.contains("\n  HETMP_STATIC = '"));
    assert!(text.ends_with("'\nOPENMP DISPLAY ENVIRONMENT END\n"));

    // The alias wins, unless its value is bad.
    let (text, warnings, g) = show(&[
        ("OMP_SCHEDULE", "guided,4"),
        ("HETMP_SCHEDULE", "hetprobe,7.5"),
        ("HETMP_NODES", "2"),
        ("HETMP_VERBOSE", "1"),
    ]);
    assert!(warnings.is_empty());
    assert!(text.contains("  OMP_SCHEDULE = 'HETPROBE,7.5%'\n"));
    assert!(text.contains("  HETMP_SCHEDULE = 'HETPROBE,7.5%'\n"));
    assert!(text.contains("  HETMP_NODES = '2'\n"));
    assert!(text.contains("  HETMP_VERBOSE = 'TRUE'\n"));
    assert_eq!(*g.schedule_of(g.icv.run_sched), g.schedule);
    let (text, warnings, _) = show(&[("OMP_SCHEDULE", "guided,4"), ("HETMP_SCHEDULE", "fast\n")]);
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].starts_with("HETMP_SCHEDULE: 'fast\\n': "),
        "{}",
        warnings[0]
    );
    assert!(text.contains("  OMP_SCHEDULE = 'GUIDED,4'\n"));

    // NAME_ALL stands for NAME, and a complaint about its value names NAME_ALL.
    let (_, warnings, g) = show(&[
        ("OMP_NUM_THREADS_ALL", "7"),
        ("OMP_DYNAMIC_ALL", "true"),
        ("OMP_DYNAMIC", "false"),
        ("OMP_THREAD_LIMIT_ALL", "x"),
    ]);
    assert_eq!((g.icv.nthreads, g.icv.dynamic), (7, false));
    assert_eq!(
        warnings,
        ["OMP_THREAD_LIMIT_ALL: 'x': not a whole number in range (expected a positive integer)"]
    );
}
