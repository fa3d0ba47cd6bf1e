//! Device-side posting (`hetmp/device.h`) and the programs that compare who initiates communication, as users build and
//! start them: an installation's `oshcc` and `oshrun`.
//!
//! `HETMP_TEST_PREFIX=DIR` tests what is installed there.

#[path = "gio/apps.rs"]
mod apps;
#[path = "gio/gpu.rs"]
mod gpu;

use hetmp_abi_compat::{exec, library, sample, suite};
use hetmp_nic::descriptor::{
    Atomic, AtomicOp, Descriptor, Fetch, Inline, Key, Local, Remote, Signal, SignalOp, Source,
    Width, Words, Work,
};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

fn strings(args: &[&str]) -> Vec<String> {
    args.iter().map(|a| (*a).to_owned()).collect()
}

/// How a program ended, its output, and its errors.
struct Ran {
    ending: exec::Ending,
    out: String,
    err: String,
}

fn run(path: &Path, args: &[String], env: &[(&str, &str)], limit: u64) -> Ran {
    // Tests limit the size of files to 64 MiB, and symmetric memory is a file.
    let env: Vec<(String, String)> = [("SHMEM_SYMMETRIC_SIZE", "24M")]
        .iter()
        .chain(env)
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
        .collect();
    let out = exec::run(&exec::Program {
        path,
        args,
        env: &env,
        dir: &library::root(),
        limit: Duration::from_secs(limit),
        merge: false,
    })
    .unwrap();
    Ran {
        ending: out.ending,
        out: String::from_utf8_lossy(&out.stdout).into_owned(),
        err: String::from_utf8_lossy(&out.stderr).into_owned(),
    }
}

fn folder() -> PathBuf {
    let folder = library::target_dir().join("gio-tests");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The folder of an installation of the library under test.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| library::installed(&folder().join("prefix")))
}

/// A program, compiled once.
fn program(source: &str) -> PathBuf {
    static DONE: OnceLock<BTreeMap<&'static str, PathBuf>> = OnceLock::new();
    let all = DONE.get_or_init(|| {
        [
            "c-tests/device/device.c",
            "c-tests/device/group.c",
            "c-tests/device/faults.c",
            "c-tests/apps/jacobi2d.c",
            "c-tests/apps/spts.c",
            "c-tests/apps/experts.c",
            "c-tests/apps/search.c",
            "c-tests/bench/gio_put.c",
        ]
        .into_iter()
        .map(|source| {
            let name = Path::new(source).file_stem().unwrap();
            let out = folder().join(name);
            let shown = out.display().to_string();
            let args = strings(&[
                "-std=gnu11",
                "-O2",
                "-g",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-fopenmp",
                source,
                "-o",
                &shown,
                "-lm",
            ]);
            let ran = run(&prefix().join("bin/oshcc"), &args, &[], 120);
            assert_eq!(ran.ending, exec::Ending::Exit(0), "{source}: {}", ran.err);
            (source, out)
        })
        .collect()
    });
    all[source].clone()
}

/// A job of some PEs with two threads each.
fn job(source: &str, pes: u32, args: &[&str], env: &[(&str, &str)]) -> Ran {
    let program = program(source).display().to_string();
    let mut all = strings(&["-n", &pes.to_string(), &program]);
    all.extend(strings(args));
    let mut env = env.to_vec();
    env.push(("OMP_NUM_THREADS", "2"));
    run(&prefix().join("bin/oshrun"), &all, &env, 120)
}

fn passes(source: &str, pes: u32, args: &[&str], env: &[(&str, &str)]) -> String {
    let ran = job(source, pes, args, env);
    assert_eq!(
        ran.ending,
        exec::Ending::Exit(0),
        "{source} {pes} {args:?} {env:?}: {}{}",
        ran.out,
        ran.err
    );
    ran.out
}

/// Every way to reach a peer that this machine has.
const SETTINGS: [&[(&str, &str)]; 5] = [
    &[],
    &[("HETMP_NIC", "emulated")],
    &[("HETMP_NIC", "tcp")],
    &[("HETMP_NIC_MODEL", "gpu,seed=7")],
    &[("HETMP_CHECK", "1")],
];

const CASES: usize = 15;

#[test]
fn posting_from_threads_on_every_engine() {
    for env in SETTINGS {
        for pes in sample::one(&format!("posting{env:?}"), vec![1, 2, 4]) {
            let out = passes("c-tests/device/device.c", pes, &[], env);
            assert_eq!(out.lines().count(), CASES, "{out}");
        }
    }
}

#[test]
fn waits_contexts_and_collectives_inside_of_kernels_on_every_engine() {
    for env in SETTINGS {
        for pes in sample::one(&format!("group{env:?}"), vec![1, 2, 3, 5]) {
            let out = passes("c-tests/device/group.c", pes, &[], env);
            assert_eq!(out.lines().count(), 8, "{out}");
        }
    }
}

/// The checker has nothing to say about the header's own signals.
#[test]
fn collectives_inside_of_kernels_pass_the_checker_with_any_seed() {
    for seed in sample::settings("checked", (1..4).collect::<Vec<u32>>()) {
        let model = format!("gpu,seed={seed},check");
        for case in ["several_words", "barriers", "collectives", "reductions"] {
            let env = [("HETMP_NIC_MODEL", model.as_str())];
            passes("c-tests/device/group.c", 3, &[case], &env);
        }
    }
}

#[test]
fn programs_that_fence_pass_on_device_memory_with_any_seed() {
    for seed in sample::settings("fenced", (1..6).collect::<Vec<u32>>()) {
        let model = format!("gpu,seed={seed},check");
        for case in ["fences", "signals", "atomics", "full_queue"] {
            let env = [("HETMP_NIC_MODEL", model.as_str())];
            let ran = job("c-tests/device/device.c", 2, &[case], &env);
            assert_eq!(
                ran.ending,
                exec::Ending::Exit(0),
                "{case} {seed}: {}",
                ran.err
            );
        }
    }
}

/// The header writes descriptors in the format that the engine reads, field by field.
#[test]
fn the_header_writes_what_the_engine_reads() {
    let out = passes("c-tests/device/device.c", 1, &["words"], &[]);
    let mut lines = out.lines();
    let head: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    let number = |at: usize| head[at].parse::<u64>().unwrap();
    let (queue, remote_key, local_key) = (number(1), number(3), number(5));
    let (place, source) = (number(7), number(9));
    let remote = Remote {
        address: place,
        key: Key(remote_key as u32),
    };
    let memory = |length| {
        Source::Memory(
            Local {
                address: source,
                key: Key(local_key as u32),
            },
            length,
        )
    };
    let inline = |value: u64, bytes: usize| {
        Source::Inline(Inline::new(&value.to_le_bytes()[..bytes]).unwrap())
    };
    let put = |source, signal| Work::Put {
        source,
        remote,
        signal,
    };
    let signal = |value, op| Some(Signal { remote, op, value });
    let atomic = |op, width, fetch, operand, comparand| {
        Work::Atomic(Atomic {
            op,
            width,
            fetch,
            remote,
            operand,
            comparand,
        })
    };
    let (narrow, wide, nothing) = (Width::W4, Width::W8, Fetch::No);
    let expected = [
        ("put", put(memory(40), None)),
        ("put-built", put(memory(40), None)),
        (
            "get",
            Work::Get {
                local: Local {
                    address: source,
                    key: Key(local_key as u32),
                },
                length: 48,
                remote,
            },
        ),
        ("p64", put(inline(77, 8), None)),
        ("p32", put(inline(78, 4), None)),
        ("put-signal", put(memory(56), signal(79, SignalOp::Set))),
        ("signal-add", put(memory(56), signal(80, SignalOp::Add))),
        ("p64-signal", put(inline(81, 8), signal(82, SignalOp::Set))),
        ("add", atomic(AtomicOp::Add, wide, nothing, 83, 0)),
        ("add32", atomic(AtomicOp::Add, narrow, nothing, 84, 0)),
        ("set", atomic(AtomicOp::Write, wide, nothing, 85, 0)),
        (
            "compare-swap",
            atomic(AtomicOp::CompareSwap, wide, Fetch::Completion, 86, 87),
        ),
        (
            "fetch",
            atomic(AtomicOp::Read, wide, Fetch::Completion, 0, 0),
        ),
        ("fence", Work::Fence),
    ];
    let lines: Vec<&str> = lines.collect();
    assert_eq!(lines.len(), expected.len(), "{out}");
    for (line, (name, work)) in lines.iter().zip(expected) {
        let mut parts = line.split_whitespace();
        assert_eq!(parts.next(), Some(name));
        let list: Vec<u64> = parts.map(|w| w.parse().unwrap()).collect();
        let words: Words = list.try_into().unwrap();
        let parsed = Descriptor::parse(&words).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert_eq!(u64::from(parsed.queue_pair), queue, "{name}");
        assert_eq!((parsed.peer, parsed.count), (0, None), "{name}");
        assert_eq!(parsed.work, work, "{name}");
        let fetches = matches!(name, "compare-swap" | "fetch");
        assert_eq!(parsed.signalled, fetches, "{name}");
    }
}

/// Checks the output of a run of all modes: every mode verified its result, and all results are equal.
fn all_right(out: &str) {
    let right = out.lines().filter(|l| *l == "right").count();
    assert_eq!(right, 4, "{out}");
}

#[test]
fn jacobi_is_equal_to_the_last_bit_in_every_mode_on_every_engine() {
    let mut residuals = Vec::new();
    for env in SETTINGS {
        for pes in sample::one(&format!("jacobi{env:?}"), vec![1, 2, 4]) {
            let pes_text = pes.to_string();
            // 60 rows in all, however many PEs: the result must not depend on their number either.
            let args = ["--strong", "--size", "60", "--iterations", "45"];
            let out = passes("c-tests/apps/jacobi2d.c", pes, &args, env);
            all_right(&out);
            assert!(out.contains(&format!("on {pes_text} PEs")), "{out}");
            residuals.push(out.lines().last().unwrap().to_owned());
        }
    }
    assert!(residuals.windows(2).all(|w| w[0] == w[1]), "{residuals:?}");
}

#[test]
fn jacobi_of_unusual_shapes() {
    for args in [
        "--strong --size 3 --iterations 20 --threads 3",
        "--size 1 --iterations 7",
        "--size 33 --iterations 31 --residual 7 --threads 4",
        "--size 40 --iterations 100000 --tolerance 0.001 --launch 5",
        "--size 129 --iterations 1 --residual 1000",
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        all_right(&passes("c-tests/apps/jacobi2d.c", 3, &args, &[]));
    }
}

#[test]
fn the_solver_is_right_in_every_mode_on_every_engine() {
    for env in SETTINGS {
        for pes in sample::one(&format!("solver{env:?}"), vec![1, 2, 4]) {
            for args in [
                "--road 3000 --block 64",
                "--road 2000 --seed 5",
                "--banded 700 --band 40 --each 3 --block 50 --solves 2",
            ] {
                let args: Vec<&str> = args.split(' ').collect();
                all_right(&passes("c-tests/apps/spts.c", pes, &args, env));
            }
        }
    }
}

fn file(name: &str, text: impl AsRef<[u8]>) -> String {
    let path = folder().join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

const HEAD: &str = "%%MatrixMarket matrix coordinate real general\n";

#[test]
fn matrix_market_files_are_read() {
    for (name, text) in [
        (
            "general.mtx",
            format!("{HEAD}% comment\n\n3 3 5\n1 1 2.5\n2 1 -1e-1\n3 3 4\n1 3 9\n3 2 1\n"),
        ),
        (
            "symmetric.mtx",
            "%%MatrixMarket MATRIX Coordinate pattern SYMMETRIC\n4 4 4\n2 1\n3 2\n4 1\n4 4\n"
                .to_owned(),
        ),
        (
            "integer.mtx",
            "%%MatrixMarket matrix coordinate integer general\r\n2 2 3\r\n1 1 3\r\n2 1 1\r\n2 2 \
            2\r\n"
                .to_owned(),
        ),
        (
            "duplicates.mtx",
            format!("{HEAD}2 2 4\n1 1 1\n1 1 1\n2 1 .5\n2 1 .5\n"),
        ),
        ("empty.mtx", format!("{HEAD}5 5 0\n")),
    ] {
        let path = file(name, text);
        all_right(&passes("c-tests/apps/spts.c", 2, &["--matrix", &path], &[]));
    }
}

#[test]
fn bad_matrix_market_files_are_one_line() {
    let long = format!("{HEAD}{}\n", "1".repeat(5000));
    let huge = format!("{HEAD}3000000000 3000000000 1\n1 1 1\n");
    let promise = format!("{HEAD}3 3 4000000000000\n1 1 1\n");
    let empty = format!("{HEAD}2000000000 2000000000 1\n1 1 1\n");
    for (text, said) in [
        ("", "no lines"),
        ("hello\n", "line 1: "),
        ("%%MatrixMarket matrix array real general\n", "array"),
        (
            "%%MatrixMarket matrix coordinate complex general\n",
            "field complex",
        ),
        (
            "%%MatrixMarket matrix coordinate real hermitian\n",
            "symmetry hermitian",
        ),
        (HEAD, "no size line"),
        (&format!("{HEAD}3 4 1\n"), "square"),
        (&format!("{HEAD}0 0 0\n"), "rows (1 to"),
        (&format!("{HEAD}3 3\n"), "line 2: not usable (expected rows"),
        (
            &format!("{HEAD}3 3 1 7\n"),
            "line 2: not usable (expected rows",
        ),
        (
            &format!("{HEAD}3 3 -1\n"),
            "line 2: not usable (expected rows",
        ),
        (&huge, "line 2: not usable (expected rows"),
        (&format!("{HEAD}3 3 1\n4 1 1\n"), "place 4 1"),
        (&format!("{HEAD}3 3 1\n0 1 1\n"), "place 0 1"),
        (&format!("{HEAD}3 3 1\n1 1\n"), "ROW COLUMN VALUE"),
        (&format!("{HEAD}3 3 1\n1 1 x\n"), "ROW COLUMN VALUE"),
        (&format!("{HEAD}3 3 1\n1 1 nan\n"), "finite"),
        (&format!("{HEAD}3 3 1\n1 1 1e999\n"), "ROW COLUMN VALUE"),
        (&format!("{HEAD}3 3 2\n1 1 1\n"), "promises 2"),
        (&format!("{HEAD}3 3 1\n1 1 1\n2 2 2\n"), "promises 1"),
        (&promise, "promises 4000000000000"),
        (&empty, "2000000000 rows and 1 entries"),
        (
            "%%MatrixMarket matrix coordinate real symmetric\n3 3 1\n1 2 1\n",
            "lower triangle",
        ),
        (&long, "characters"),
    ] {
        refused(&["--matrix", &file("bad.mtx", text)], said);
    }
    refused(&["--matrix", "/nonexistent"], "No such file");
}

/// With random bytes in its file, the solver gives a result or one line, and never crashes.
#[test]
fn random_matrix_market_files_never_crash() {
    let good =
        format!("{HEAD}9 9 8\n1 1 2\n2 1 1\n3 2 1.5\n4 1 -2\n5 5 1e3\n7 6 2\n8 8 1\n9 1 4\n");
    let mut state = 88172645463325252u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let spts = program("c-tests/apps/spts.c");
    let path = folder().join("fuzz.mtx");
    let (mut solved, mut said) = (0, 0);
    for _ in 0..150 {
        let mut bytes = good.clone().into_bytes();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            match random(4) {
                0 => bytes[at] = random(256) as u8,
                1 => bytes.insert(at, b"0123456789 -.e\n%"[random(16)]),
                2 => drop(bytes.remove(at)),
                _ => bytes.truncate(at.max(1)),
            }
        }
        fs::write(&path, &bytes).unwrap();
        let args = strings(&["--matrix", &path.display().to_string(), "--mode", "gio"]);
        let ran = run(&spts, &args, &[("OMP_NUM_THREADS", "1")], 30);
        let shown = String::from_utf8_lossy(&bytes);
        match ran.ending {
            exec::Ending::Exit(0) => solved += 1,
            exec::Ending::Exit(2) => {
                assert_eq!(ran.err.lines().count(), 1, "{shown}: {}", ran.err);
                assert!(ran.err.starts_with("hetmp: --matrix "), "{}", ran.err);
                said += 1;
            }
            other => panic!("{other:?}: {shown}: {}", ran.err),
        }
    }
    assert!(solved > 5 && said > 5, "{solved} solved, {said} refused");
}

/// A run of the solver without a launcher ends with one line that contains `said`.
fn refused(args: &[&str], said: &str) {
    one_line("c-tests/apps/spts.c", args, said);
}

fn one_line(source: &str, args: &[&str], said: &str) {
    let ran = run(&program(source), &strings(args), &[], 30);
    assert_eq!(ran.ending, exec::Ending::Exit(2), "{args:?}: {}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{args:?}: {}", ran.err);
    assert!(
        ran.err.starts_with("hetmp: ") && ran.err.contains(said),
        "{args:?}: {}",
        ran.err
    );
}

#[test]
fn bad_arguments_are_one_line() {
    for app in ["spts", "jacobi2d", "experts", "search"] {
        let source = &*format!("c-tests/apps/{app}.c");
        one_line(
            source,
            &["--mode", "fast"],
            "--mode fast: not usable (expected gio, ikn",
        );
        one_line(source, &["--mode"], "--mode");
        one_line(
            source,
            &["--threads", "0"],
            "--threads 0: not usable (expected a number from 1",
        );
        one_line(source, &["--threads", "2x"], "--threads 2x");
        one_line(source, &["--launch", "nan"], "--launch nan");
        one_line(source, &["--nothing", "1"], "argument --nothing 1");
    }
    refused(&["--road", "10", "--banded", "10"], "one of --matrix");
    one_line("c-tests/apps/jacobi2d.c", &["--size", "99999999"], "--size");
    one_line(
        "c-tests/apps/experts.c",
        &["--top", "4", "--experts", "3"],
        "--top 4",
    );
    one_line(
        "c-tests/apps/search.c",
        &["--vertices", "0"],
        "--vertices 0",
    );
    one_line("c-tests/device/faults.c", &["late"], "case late");
    one_line("c-tests/bench/gio_put.c", &["--ms", "0"], "--ms 0");
    one_line("c-tests/bench/gio_put.c", &["--sizes", ""], "--sizes");
    one_line(
        "c-tests/bench/gio_put.c",
        &["--ms", "1"],
        "PEs 1: not usable (expected 2",
    );
    let ran = job("c-tests/device/device.c", 1, &["nothing"], &[]);
    assert_eq!(ran.ending, exec::Ending::Exit(2), "{}", ran.err);
}

/// Compiles `source` and throws the result away: only the compiler's success counts.
fn compiles(compiler: &str, flags: &[&str], source: &str) {
    let Ok(path) = suite::find_in_path(compiler) else {
        eprintln!("skipped: {compiler} is not installed");
        return;
    };
    let include = prefix().join("include").display().to_string();
    let out = folder().join(format!("compiled-{}.o", std::process::id()));
    let mut args = strings(flags);
    let out = out.display().to_string();
    if !flags.contains(&"-S") {
        args.push("-c".to_owned());
    }
    args.extend(strings(&["-I", &include, source, "-o", &out]));
    let ran = run(&path, &args, &[], 120);
    assert_eq!(
        ran.ending,
        exec::Ending::Exit(0),
        "{compiler} {flags:?}: {}",
        ran.err
    );
    assert!(
        !ran.err.contains("warning"),
        "{compiler} {flags:?}: {}",
        ran.err
    );
}

#[test]
fn the_header_compiles_as_c_and_cxx() {
    const STRICT: [&str; 5] = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-O2"];
    let c = file(
        "only_the_header.c",
        "#include <hetmp/device.h>\nint unused(void) { return 0; }\n",
    );
    let cxx = file(
        "only_the_header.cc",
        "#include <hetmp/device.h>\nint use(hetmp_device_queue *q, uint64_t *d) { return hetmp_p64(q, 0, d, 1) + \
            hetmp_quiet(q); }\n",
    );
    for compiler in ["gcc", "clang"] {
        for standard in ["-std=c99", "-std=c11", "-std=c17", "-std=gnu2x"] {
            compiles(compiler, &[&STRICT[..], &[standard]].concat(), &c);
        }
    }
    for compiler in ["g++", "clang++"] {
        for standard in ["-std=c++11", "-std=c++14", "-std=c++17", "-std=c++20"] {
            compiles(compiler, &[&STRICT[..], &[standard]].concat(), &cxx);
        }
    }
}
