//! OpenSHMEM programs, built and started as users do: `scripts/install` installs the library, its `oshcc` and `oshc++`
//! compile the programs, its `oshrun`, MPICH's, Open MPI's or Slurm's launcher starts them, also on several hosts.
//!
//! Every program of `c-tests/shmem` checks itself and prints one line. A test is one program in one setting:
//!
//! | group | setting |
//! | --- | --- |
//! | `auto` | 1, 2, 4 and 7 PEs with the default transport of this machine, and each way to build the program |
//! | `emulated`, `tcp` | the engines of `HETMP_NIC`, 2 and 4 PEs |
//! | `ofi` | all programs over the providers of `HETMP_TEST_FABRIC`, with 1 and 3 endpoints (`scripts/fabric`) |
//! | `endpoints` | those with contexts or threads over three endpoints of libfabric |
//! | `check` | `HETMP_CHECK=1`, 3 PEs: the checker must not report anything in a correct program |
//! | `asan` | the program under the address and undefined behaviour sanitizers |
//! | `gpu` | `HETMP_NIC_MODEL=gpu` with seeds, with and without its checker |
//! | `hydra`, `openmpi`, `slurm`, `hosts` | some programs under other launchers, and on two hosts |
//! | `oshmem` | programs that use only 1.4, also on Open MPI's library: the output must be the same |
//! | `races` | a program without a fence: the model shows the wrong result, and its checker reports it |
//! | `waits` | `OMP_WAIT_POLICY` and related variables, with OpenMP in the program and without |
//! | `errors`, `ends` | mistakes, and PEs that die: the lines on standard error, the time to the end, the status |
//!
//! Variables for longer runs: `HETMP_TEST_SEEDS=N` is the number of seeds (2), `HETMP_TEST_COMPUTE=SECONDS` the time in
//! which a PE calls nothing (3), `HETMP_TEST_TIMES=N` multiplies the repetitions in programs, `HETMP_TEST_FULL=1` runs
//! `emulated`, `tcp`, `check`, `asan` with all numbers of PEs. `HETMP_TEST_FABRIC="tcp shm"` runs all programs over
//! these providers of libfabric. `HETMP_TEST_PREFIX=DIR` tests the installation in DIR.

#[path = "shmem/ends.rs"]
mod ends;
#[path = "shmem/errors.rs"]
mod errors;
#[path = "shmem/hosts.rs"]
mod hosts;
#[path = "shmem/launch.rs"]
mod launch;
#[path = "shmem/program.rs"]
mod program;
#[path = "shmem/races.rs"]
mod races;
#[path = "shmem/slurm.rs"]
mod slurm;
#[path = "shmem/waits.rs"]
mod waits;

use hetmp_abi_compat::sample as samples;
use launch::{Ending, Launcher, Outcome};
use libtest_mimic::{Arguments, Failed, Trial};
use program::{Library, Program};
use std::process::ExitCode;

/// The value of a variable as a number, or `otherwise` if the variable is not set.
pub(crate) fn number(name: &str, otherwise: u32) -> u32 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

fn full() -> bool {
    number("HETMP_TEST_FULL", 0) != 0
}

/// The status and the output of a run, for a message.
pub(crate) fn shown(out: &Outcome) -> String {
    let cut = |text: &str| text.chars().take(3000).collect::<String>();
    format!(
        "{} after {:.2} s\n--- output\n{}--- errors\n{}",
        out.ending,
        out.took.as_secs_f64(),
        cut(&out.stdout),
        cut(&out.stderr)
    )
}

/// A setting for runs of a program.
#[derive(Clone, Debug)]
struct Setting {
    build: String,
    pes: u32,
    launcher: Launcher,
    env: Vec<(String, String)>,
}

impl Setting {
    fn new(build: &str, pes: u32) -> Self {
        Self {
            build: build.to_owned(),
            pes,
            launcher: Launcher::Oshrun,
            env: vec![],
        }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// The variables of the test that are passed on to the programs.
fn passed_on() -> Vec<(String, String)> {
    ["HETMP_TEST_TIMES", "HETMP_TEST_COMPUTE"]
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
        .collect()
}

/// Checks that a program ended well and printed its one line.
fn verdict(
    program: &Program,
    pes: u32,
    out: &Outcome,
    others_may_talk: bool,
) -> Result<(), String> {
    if out.ending != Ending::Exit(0) {
        return Err(shown(out));
    }
    let lines: Vec<&str> = out.stdout.lines().collect();
    let begins = format!("{}: passed, ", program.name);
    let ends = format!(" checks on PE 0 of {pes}");
    let [line] = lines[..] else {
        return Err(format!("one line was to come: {}", shown(out)));
    };
    let checks = line
        .strip_prefix(&begins)
        .and_then(|rest| rest.strip_suffix(&ends))
        .and_then(|count| count.parse::<u64>().ok());
    if checks.is_none_or(|n| n == 0) {
        return Err(format!("not `{begins}N{ends}`: {}", shown(out)));
    }
    if !out.stderr.is_empty() && !others_may_talk {
        return Err(format!("something was said: {}", shown(out)));
    }
    if !out.left.is_empty() {
        return Err(format!("left running: {:?}", out.left));
    }
    Ok(())
}

fn run(program: &Program, setting: &Setting) -> Result<(), Failed> {
    let path = program.build(&setting.build, Library::Ours)?;
    for args in &program.args {
        let args: Vec<String> = args
            .iter()
            .map(|a| a.replace("@pes", &setting.pes.to_string()))
            .collect();
        let out = setting
            .launcher
            .start(setting.pes, &path)
            .args(&args)
            .envs(&program.env)
            .envs(&passed_on())
            .envs(&setting.env)
            .run();
        let talk = setting.launcher == Launcher::OpenMpi;
        verdict(program, setting.pes, &out, talk).map_err(|why| {
            format!(
                "{} {args:?} with {setting:?}\n{}: {why}",
                program.name,
                path.display()
            )
        })?;
    }
    Ok(())
}

/// A test that runs a program in some settings.
fn trial(
    group: &str,
    program: &Program,
    settings: impl Fn(&Program) -> Vec<Setting> + Send + 'static,
) -> Trial {
    let program = program.clone();
    let name = format!("{group}/{}", program.name);
    // Every program runs in the first group, so that in a short run the others need not try all numbers of PEs.
    let few = group != "auto" || program.slow;
    Trial::test(name.clone(), move || {
        let all = settings(&program);
        let settings = match few {
            true => samples::one(&name, all),
            false => samples::settings(&name, all),
        };
        for setting in settings {
            run(&program, &setting)?;
        }
        Ok(())
    })
}

/// Numbers of PEs: those of the program's header, else these.
fn pes(program: &Program, otherwise: &[u32]) -> Vec<u32> {
    if program.pes.is_empty() {
        otherwise.to_vec()
    } else {
        program.pes.clone()
    }
}

const ALL: &[u32] = &[1, 2, 4, 7];

fn auto(program: &Program) -> Vec<Setting> {
    let mut all: Vec<Setting> = pes(program, ALL)
        .into_iter()
        .map(|n| Setting::new(&program.builds[0], n).with("HETMP_TEST_PTR", "1"))
        .collect();
    all.extend(program.builds[1..].iter().map(|b| Setting::new(b, 3)));
    all
}

fn engine(program: &Program, name: &str) -> Vec<Setting> {
    let numbers = if full() { ALL } else { &[2, 4] };
    pes(program, numbers)
        .into_iter()
        .map(|n| Setting::new(&program.builds[0], n).with("HETMP_NIC", name))
        .collect()
}

/// The providers of libfabric that all programs are to run over, if any.
fn fabrics() -> Option<Vec<String>> {
    let text = std::env::var("HETMP_TEST_FABRIC").ok()?;
    Some(text.split_whitespace().map(str::to_owned).collect())
}

/// True if libfabric can be loaded.
fn has_libfabric() -> bool {
    // SAFETY: loads a library whose name is fixed, as the programs under test do. It is never unloaded.
    let handle = unsafe { libc::dlopen(c"libfabric.so.1".as_ptr(), libc::RTLD_LAZY) };
    !handle.is_null()
}

fn fabric(program: &Program) -> Vec<Setting> {
    let providers = fabrics().unwrap_or_default();
    let mut settings = Vec::new();
    for provider in providers {
        settings.extend(engine(program, &format!("ofi:{provider}")));
        settings.extend(endpoints(program, &provider));
    }
    settings
}

/// With several endpoints in each process, to which the contexts are dealt.
fn endpoints(program: &Program, provider: &str) -> Option<Setting> {
    let setting = engine(program, &format!("ofi:{provider}")).pop()?;
    Some(setting.with("HETMP_NIC_ENDPOINTS", "3"))
}

/// Programs whose contexts or threads use several queue pairs at a time.
const SEVERAL_QUEUE_PAIRS: [&str; 3] = ["contexts", "threads_pthread", "threads_openmp"];

fn check(program: &Program) -> Vec<Setting> {
    let numbers: &[u32] = if full() { ALL } else { &[3] };
    pes(program, numbers)
        .into_iter()
        .map(|n| Setting::new(&program.builds[0], n).with("HETMP_CHECK", "1"))
        .collect()
}

fn asan(program: &Program) -> Vec<Setting> {
    let numbers: &[u32] = if full() { ALL } else { &[2] };
    pes(program, numbers)
        .into_iter()
        .take(1)
        .map(|n| {
            Setting::new("asan", n)
                .with("ASAN_OPTIONS", "detect_leaks=0:exitcode=66")
                .with("UBSAN_OPTIONS", "halt_on_error=1:exitcode=66")
        })
        .collect()
}

fn gpu(program: &Program) -> Vec<Setting> {
    (1..=number("HETMP_TEST_SEEDS", 2))
        .flat_map(|seed| {
            let numbers = if seed % 2 == 0 { &[3_u32] } else { &[2_u32] };
            let check = if seed % 2 == 0 { ",check" } else { "" };
            let model = format!("gpu,seed={seed}{check}");
            pes(program, numbers)
                .into_iter()
                .take(1)
                .map(|n| {
                    Setting::new(&program.builds[0], n)
                        .with("HETMP_NIC_MODEL", &model)
                        .with("HETMP_TEST_PTR", "0")
                })
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Programs that are also run under the launchers of others.
const SAMPLE: &[&str] = &[
    "setup",
    "put_get",
    "contended",
    "collectives",
    "signals",
    "statics",
    "locks",
];

fn sample(group: &'static str, launcher: Launcher, programs: &[Program]) -> Vec<Trial> {
    programs
        .iter()
        .filter(|p| SAMPLE.contains(&p.name.as_str()))
        .map(|program| {
            trial(group, program, move |program| {
                [2, 4]
                    .into_iter()
                    .map(|n| {
                        let mut setting = Setting::new(&program.builds[0], n);
                        setting.launcher = launcher;
                        setting
                    })
                    .collect()
            })
            .with_ignored_flag(launcher.path().is_none())
        })
        .collect()
}

/// Checks that a program prints the same lines under Open MPI's library and under ours. On Debian 12, Open MPI's
/// crashes in `shmem_finalize`, after the program's output. So its status does not count.
fn peer(program: &Program) -> Result<(), Failed> {
    let theirs = program.build(&program.builds[0], Library::OpenMpi)?;
    let ours = program.build(&program.builds[0], Library::Ours)?;
    for pes in [2, 3] {
        let of = |launcher: Launcher, path: &std::path::Path| -> Vec<String> {
            let args = program.args[0]
                .iter()
                .map(|a| a.replace("@pes", &pes.to_string()));
            let out = launcher
                .start(pes, path)
                .args(args)
                .envs(&program.env)
                .run();
            let mut lines: Vec<String> = out.stdout.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let expected = of(Launcher::OpenMpi, &theirs);
        let found = of(Launcher::Oshrun, &ours);
        if expected.is_empty() || expected != found {
            let text = format!("{pes} PEs: Open MPI's {expected:?}, ours {found:?}");
            return Err(text.into());
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Each job has several processes. More jobs at once would take very long on a small machine.
    arguments.test_threads = arguments
        .test_threads
        .or_else(|| Some(std::thread::available_parallelism().map_or(1, |n| n.get())));
    let programs: Vec<Program> = program::all().into_iter().filter(|p| !p.manual).collect();
    if !arguments.list {
        program::prefix();
    }
    let libfabric = has_libfabric();
    let named = arguments.filter.is_some();
    let mut trials = Vec::new();
    for program in &programs {
        trials.push(trial("auto", program, auto));
        let mut others = Vec::new();
        for name in ["emulated", "tcp"] {
            others.push(trial(name, program, move |p| engine(p, name)));
        }
        if fabrics().is_some() {
            others.push(trial("ofi", program, fabric).with_ignored_flag(!libfabric));
        }
        if SEVERAL_QUEUE_PAIRS.contains(&program.name.as_str()) {
            let several = |p: &Program| endpoints(p, "tcp").into_iter().collect();
            let several = trial("endpoints", program, several);
            others.push(several.with_ignored_flag(!libfabric));
        }
        others.push(trial("check", program, check));
        if !program.slow {
            others.push(trial("asan", program, asan));
            others.push(trial("gpu", program, gpu));
        }
        if program.peer {
            let oshcc = std::path::Path::new("/usr/bin/oshcc").is_file();
            let tested = program.clone();
            others.push(
                Trial::test(format!("oshmem/{}", program.name), move || peer(&tested))
                    .with_ignored_flag(!oshcc || Launcher::OpenMpi.path().is_none()),
            );
        }
        trials.extend(match named {
            true => others,
            false => samples::at_least(2, &program.name, others),
        });
    }
    let mut closes = program::named("closes");
    trials.push(trial("auto", &closes, auto));
    // Where sockets join the PEs, these are descriptors of the process, with numbers that few programs take.
    closes.args = vec![vec!["1023".to_owned()]];
    trials.push(trial("tcp", &closes, |p| engine(p, "tcp")));
    trials.extend(sample("hydra", Launcher::Hydra, &programs));
    trials.extend(sample("openmpi", Launcher::OpenMpi, &programs));
    trials.extend(slurm::trials());
    trials.extend(hosts::trials());
    trials.extend(races::trials());
    trials.extend(errors::trials());
    trials.extend(ends::trials());
    trials.extend(waits::trials());
    samples::thin(&mut trials, named, Trial::name).unwrap_or_else(|why| panic!("hetmp: {why}"));
    let conclusion = libtest_mimic::run(&arguments, trials);
    slurm::stop();
    conclusion.exit_code()
}
