//! Runs every program of `c-tests/openmp/`, and every kernel without a schedule clause, with virtual teams forced
//! wherever that is safe. The output must be the same as under libgomp. There is one test for each program.
//!
//! `HETMP_STATIC=force` makes virtual teams even if nothing can be gained. So this test checks the rules: if
//! they let a region through that does not work as a virtual team, the program prints another output, crashes,
//! or hangs. A program whose header names a `way` must report that way.
//!
//! On a machine with one CPU, both nodes have the same CPU, and teams are virtual too.

use hetmp_abi_compat::arm;
use hetmp_abi_compat::case::{self, Case, Setting};
use hetmp_abi_compat::clang;
use hetmp_abi_compat::compare::{check_ending, difference, reference, tail};
use hetmp_abi_compat::library;
use hetmp_abi_compat::sample;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// True for programs about settings that this test itself changes: the schedule, and messages about schedules.
fn is_about_settings(case: &Case) -> bool {
    const ABOUT_SCHEDULES: [&str; 5] = [
        "api_schedule.c",
        "api_display_env.c",
        "f_runtime_env.f90",
        "loop_dynamic_chunks_whole.c",
        "loop_runtime_default.c",
    ];
    let name = case.name.trim_start_matches("clang/");
    name.starts_with("env_")
        || name.starts_with("loop_runtime_env_")
        || ABOUT_SCHEDULES.contains(&name)
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments
        .test_threads
        .or_else(|| Some(std::thread::available_parallelism().map_or(1, |n| n.get())));
    let mut cases = case::all(&case::folder()).unwrap_or_else(|why| panic!("hetmp: {why}"));
    let emulated = arm::emulated();
    let mut clang = Vec::new();
    if emulated {
        cases = case::for_arm(cases).unwrap_or_else(|why| panic!("hetmp: {why}"));
        // No copies of functions are made there, and of some the code is not followed as far as x86-64's.
        for case in &mut cases {
            case.way = case.way.take().filter(|way| way == "virtual-team");
        }
    } else {
        clang = with_clang(&cases).unwrap_or_else(|why| panic!("hetmp: {why}"));
    }
    cases.extend(case::kernels().unwrap_or_else(|why| panic!("hetmp: {why}")));
    cases.extend(clang);
    cases.retain(|c| !is_about_settings(c) && !c.only_hetmp);
    // Only loops without a schedule clause are divided by compiled code. The other forms of the kernels have one.
    cases.retain(|c| !c.name.ends_with(".runtime") && !c.name.ends_with(".dynamic"));
    assert!(
        !cases.is_empty(),
        "hetmp: folder c-tests/openmp: no programs"
    );
    // A short run takes what is about static loops, and half of the rest, which the differential tests run as well.
    if sample::is_short() && arguments.filter.is_none() {
        let about = |name: &str| name.trim_start_matches("clang/").starts_with("static_");
        cases.retain(|c| about(&c.name) || sample::keeps(&c.name, 2));
    }
    sample::thin(&mut cases, arguments.filter.is_some(), |c| &c.name)
        .unwrap_or_else(|why| panic!("hetmp: {why}"));
    let cache = library::target_dir().join(if emulated {
        "differential-aarch64"
    } else {
        "differential"
    });
    let trials = cases
        .into_iter()
        .map(|case| {
            let cache = cache.clone();
            Trial::test(case.name.clone(), move || {
                compare(&case, &cache).map_err(Failed::from)
            })
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The programs that clang compiles too: the kernels, the programs about static loops, and a sample of the others.
fn with_clang(cases: &[Case]) -> Result<Vec<Case>, String> {
    if !clang::installed() {
        return Ok(Vec::new());
    }
    let mut both: Vec<Case> = case::kernels()?.iter().filter_map(Case::by_clang).collect();
    let about = cases.iter().filter(|c| c.name.starts_with("static_"));
    both.extend(
        about
            .filter(|c| c.fits_other_runtimes())
            .filter_map(Case::by_clang),
    );
    for case in case::by_clang(cases)? {
        if !both.iter().any(|known| known.name == case.name) {
            both.push(case);
        }
    }
    Ok(both)
}

fn nodes() -> String {
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
    if cpus > 1 {
        "2".to_owned()
    } else {
        String::new()
    }
}

fn compare(case: &Case, cache: &Path) -> Result<(), String> {
    let binary = case.build(cache)?;
    let report = binary.dir.join(format!("ways-{}.json", std::process::id()));
    let settings: Vec<(Setting, &str)> = case
        .settings()
        .into_iter()
        .filter(|s| s.env.iter().all(|(n, _)| n != "OMP_WAIT_POLICY"))
        .filter(|s| {
            let threads = s.env.iter().find(|(n, _)| n == "OMP_NUM_THREADS");
            threads.is_none_or(|(_, n)| n == "2" || n == "3")
        })
        .take(2)
        .flat_map(|s| ["hetprobe", "cross-dynamic"].map(|schedule| (s.clone(), schedule)))
        .collect();
    for (setting, schedule) in &sample::settings(&case.name, settings) {
        let expected = reference(case, &binary, setting, true)?;
        let extra = [
            ("LD_PRELOAD", library::fresh().display().to_string()),
            ("HETMP_SCHEDULE", (*schedule).to_owned()),
            ("HETMP_STATIC", forced(&case.name).to_owned()),
            ("HETMP_NODES", nodes()),
            ("HETMP_REPORT", report.display().to_string()),
        ]
        .map(|(n, v)| (n.to_owned(), v));
        let out = case.run(&binary, setting, &extra)?;
        let how = format!("virtual teams and {schedule}");
        check_ending(case, setting, &how, &out)?;
        if out.stdout != expected {
            return Err(format!(
                "{} with {setting}, {how}: {}\n{}",
                binary.path.display(),
                difference(&expected, &out.stdout),
                tail(&out.stderr)
            ));
        }
        if let Some(way) = &case.way {
            let told = ways(&report)?;
            if !told.iter().any(|t| t == way) && !is_another_matter(setting) {
                return Err(format!(
                    "{} with {setting}, {how}: way {way} expected, told: {}",
                    binary.path.display(),
                    told.join(", ")
                ));
            }
        }
        let _ = fs::remove_file(&report);
    }
    Ok(())
}

/// What forces virtual teams in the program of this name: in programs about uneven parts these, too.
fn forced(name: &str) -> &'static str {
    if name.contains("static_uneven") || name.contains("static_even_") {
        "force-uneven"
    } else {
        "force"
    }
}

/// True for settings in which the library makes no virtual team of its own size: with one thread there is no team,
/// and with more threads than cores, exactly these threads become virtual ones.
fn is_another_matter(setting: &Setting) -> bool {
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
    setting.env.iter().any(|(n, v)| {
        n == "OMP_NUM_THREADS" && v.parse::<usize>().is_ok_and(|n| n == 1 || n > cpus)
    })
}

/// The ways and reasons that the report names, over all regions.
fn ways(report: &Path) -> Result<Vec<String>, String> {
    let text =
        fs::read_to_string(report).map_err(|e| format!("report {}: {e}", report.display()))?;
    let json: Value =
        serde_json::from_str(&text).map_err(|e| format!("report {}: {e}", report.display()))?;
    let mut ways: Vec<String> = json["regions"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|region| region["ways"].as_array().cloned().unwrap_or_default())
        .filter_map(|way| way["way"].as_str().map(str::to_owned))
        .collect();
    ways.sort();
    ways.dedup();
    Ok(ways)
}
