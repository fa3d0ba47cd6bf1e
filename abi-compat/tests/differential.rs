//! Runs every program of `c-tests/` and every form of the kernels in `c-tests/kernels/` under libgomp and under
//! libhetmp.so. The system's compiler compiles each program once. Standard output and exit status must be equal.
//!
//! There is one test for each program, named after its file: `cargo test --test differential
//! task_` runs the task programs. With each setting (threads, nesting, wait policy) a program
//! runs once under libgomp and once under libhetmp.so. `LD_PRELOAD`, and `LD_LIBRARY_PATH`
//! with a hard link named `libgomp.so.1`, take turns in bringing the library in.
//!
//! Programs in C and C++ are also compiled by clang (`clang/NAME`) and run under libomp and under libhetmp.so: a
//! sample of `c-tests/` (all with `HETMP_COMPILERS=all`), and the programs in `c-tests/openmp/clang/`, which only clang
//! compiles. `c-tests/openmp/not-clang.txt` lists the programs that are left out, and why. A smaller sample is compiled
//! by gcc and linked with libomp (`libomp/NAME`), which has gcc's entries at a version node of its own;
//! `c-tests/openmp/not-libomp.txt` lists what is left out of these.
//!
//! `HETMP_TEST_MACHINE=aarch64` compares programs of 64-bit Arm, which gcc cross-compiles and QEMU emulates; HETMP_LIB
//! names that machine's libhetmp.so.
//!
//! `HETMP_DIFFERENTIAL=self` compares libgomp with itself, which shows whether a
//! program's output is deterministic. libhetmp.so is not needed then.

use hetmp_abi_compat::arm;
use hetmp_abi_compat::case::{self, Case, Setting};
use hetmp_abi_compat::clang;
use hetmp_abi_compat::compare::{check_ending, difference, reference, tail};
use hetmp_abi_compat::library;
use hetmp_abi_compat::sample;
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The two ways to bring libhetmp.so into a process.
struct Ours {
    preload: PathBuf,
    prefix: PathBuf,
}

impl Ours {
    /// The variables that bring the library in, and their values.
    fn ways(&self) -> [(&'static str, &Path); 2] {
        [
            ("LD_PRELOAD", &self.preload),
            ("LD_LIBRARY_PATH", &self.prefix),
        ]
    }
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // A test may run 8 threads. Many such tests at once would take very long on a small machine.
    arguments.test_threads = arguments
        .test_threads
        .or_else(|| Some(std::thread::available_parallelism().map_or(1, |n| n.get())));
    let mut cases = case::all(&case::folder()).unwrap_or_else(|why| panic!("hetmp: {why}"));
    assert!(
        !cases.is_empty(),
        "hetmp: folder c-tests/openmp: no programs"
    );
    let emulated = arm::emulated();
    if emulated {
        cases = case::for_arm(cases).unwrap_or_else(|why| panic!("hetmp: {why}"));
    } else {
        let clang = with_clang(&cases).unwrap_or_else(|why| panic!("hetmp: {why}"));
        cases.extend(clang);
    }
    cases.extend(case::kernels().unwrap_or_else(|why| panic!("hetmp: {why}")));
    sample::thin(&mut cases, arguments.filter.is_some(), |c| &c.name)
        .unwrap_or_else(|why| panic!("hetmp: {why}"));
    let cache = library::target_dir().join(if emulated {
        "differential-aarch64"
    } else {
        "differential"
    });

    let to_itself = std::env::var("HETMP_DIFFERENTIAL").is_ok_and(|v| v == "self");
    let ours: Option<&'static Ours> = if to_itself || arguments.list {
        None
    } else {
        let preload = library::fresh().to_owned();
        let prefix =
            case::prefix_lib(&preload, &cache).unwrap_or_else(|why| panic!("hetmp: {why}"));
        let ours = Ours { preload, prefix };
        check_loaded(&cases[0], &cache, &ours).unwrap_or_else(|why| panic!("hetmp: {why}"));
        Some(Box::leak(Box::new(ours)))
    };
    let trials = cases
        .into_iter()
        .map(|case| {
            let cache = cache.clone();
            Trial::test(case.name.clone(), move || {
                compare(&case, &cache, ours).map_err(Failed::from)
            })
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The cases that clang compiles, or that gcc compiles for clang's runtime.
fn with_clang(cases: &[Case]) -> Result<Vec<Case>, String> {
    if !clang::installed() {
        return Ok(Vec::new());
    }
    let mut both = case::by_clang(cases)?;
    both.extend(case::for_libomp(cases)?);
    let own = case::all(&case::folder().join("clang"))?;
    both.extend(own.iter().filter_map(Case::by_clang));
    Ok(both)
}

/// Checks that the loader loads libhetmp.so. If it cannot preload a library, it only
/// prints a warning: every test would then compare libgomp with itself.
fn check_loaded(case: &Case, cache: &Path, ours: &Ours) -> Result<(), String> {
    let binary = case.build(cache)?;
    let none = Setting { env: vec![] };
    for (how, value) in ours.ways() {
        let extra = [
            (how.to_owned(), value.display().to_string()),
            ("LD_TRACE_LOADED_OBJECTS".to_owned(), "1".to_owned()),
        ];
        let out = case.run(&binary, &none, &extra)?;
        let loaded = String::from_utf8_lossy(&out.stdout);
        let is_ours = |l: &&str| l.contains(&*value.to_string_lossy());
        // A line begins with the name that the loader looked for. Only this name counts: the folders
        // after it may have any name.
        let other_gomp = |l: &&str| l.trim_start().starts_with("libgomp.so") && !is_ours(l);
        if loaded.lines().filter(is_ours).count() != 1 || loaded.lines().any(|l| other_gomp(&l)) {
            return Err(format!(
                "library {}: not what {how} loads:\n{loaded}{}",
                value.display(),
                tail(&out.stderr)
            ));
        }
    }
    Ok(())
}

fn compare(case: &Case, cache: &Path, ours: Option<&Ours>) -> Result<(), String> {
    if case.only_hetmp && ours.is_none() {
        return Ok(());
    }
    let binary = case.build(cache)?;
    let settings = case.settings().into_iter().enumerate().collect();
    for (index, setting) in &sample::settings(&case.name, settings) {
        let expected = if case.only_hetmp {
            case.expected()?
        } else {
            reference(case, &binary, setting, ours.is_some())?
        };
        let (how, extra) = match ours {
            None => ("libgomp again", vec![]),
            Some(ours) => {
                let (how, value) = ours.ways()[index % 2];
                (how, vec![(how.to_owned(), value.display().to_string())])
            }
        };
        let out = case.run(&binary, setting, &extra)?;
        check_ending(case, setting, how, &out)?;
        if out.stdout != expected {
            return Err(format!(
                "{} with {setting} through {how}: {}\n{}",
                binary.path.display(),
                difference(&expected, &out.stdout),
                tail(&out.stderr)
            ));
        }
    }
    Ok(())
}
