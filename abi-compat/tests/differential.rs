//! Every program of `c-tests/` and every form of the kernels in `c-tests/kernels/`, compiled once by the plain system compiler, under
//! libgomp and under libhetmp.so: standard output and exit status must be equal.
//!
//! One test a program, named after its file, so `cargo test --test differential
//! task_` runs the task programs. Each setting (threads, nesting, waiting) is run
//! under libgomp once and under us once, in turns through `LD_PRELOAD` and through
//! `LD_LIBRARY_PATH` with a hard link named `libgomp.so.1`.
//!
//! Those in C and C++ are also compiled by clang (`clang/NAME`), and run under libomp and under us: a
//! sample of `c-tests/`, all with `HETMP_COMPILERS=all`, and those in `c-tests/clang/`, which only clang
//! compiles. `c-tests/not-clang.txt` says which programs are left out, and why.
//!
//! `HETMP_DIFFERENTIAL=self` runs libgomp against itself, which shows whether a
//! program's output is deterministic; then no library of ours is needed.

use hetmp_abi_compat::case::{self, Case, Setting};
use hetmp_abi_compat::compare::{check_ending, difference, reference, tail};
use hetmp_abi_compat::library;
use hetmp_abi_compat::sample;
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How our library gets into the process.
struct Ours {
    preload: PathBuf,
    prefix: PathBuf,
}

impl Ours {
    /// The variables that bring it in, and their values.
    fn ways(&self) -> [(&'static str, &Path); 2] {
        [
            ("LD_PRELOAD", &self.preload),
            ("LD_LIBRARY_PATH", &self.prefix),
        ]
    }
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // More at once would turn "8 threads" into a test of the machine's patience.
    arguments.test_threads = arguments
        .test_threads
        .or_else(|| Some(std::thread::available_parallelism().map_or(1, |n| n.get())));
    let mut cases = case::all(&case::folder()).unwrap_or_else(|why| panic!("hetmp: {why}"));
    assert!(!cases.is_empty(), "hetmp: folder c-tests: no programs");
    let clang = with_clang(&cases).unwrap_or_else(|why| panic!("hetmp: {why}"));
    cases.extend(case::kernels().unwrap_or_else(|why| panic!("hetmp: {why}")));
    cases.extend(clang);
    sample::thin(&mut cases, arguments.filter.is_some(), |c| &c.name)
        .unwrap_or_else(|why| panic!("hetmp: {why}"));
    let cache = library::target_dir().join("differential");

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

/// The cases of clang's side.
fn with_clang(cases: &[Case]) -> Result<Vec<Case>, String> {
    if !case::has_clang() {
        return Ok(Vec::new());
    }
    let mut both = case::by_clang(cases)?;
    let own = case::all(&case::folder().join("clang"))?;
    both.extend(own.iter().filter_map(Case::by_clang));
    Ok(both)
}

/// The dynamic loader goes on without a library that it cannot load, and every
/// test would then compare libgomp with itself.
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
        // The loader's own word for the library comes first; folders behind it may have any name.
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
    for (index, setting) in case.settings().iter().enumerate() {
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
