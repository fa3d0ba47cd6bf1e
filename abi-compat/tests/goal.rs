//! Programs that use `goal.h`, built and started as users do: `scripts/install` installs the library, its pkg-config
//! file gives the flags, `hetrun` starts the program.
//!
//! Every program of `c-tests/goal` checks itself and prints one line. A test is one program with one engine and one
//! transport between the ranks, on 1, 2, 4 and 7 ranks. A program's head may have lines `goal-test: NAME=VALUE`:
//!
//! | line | meaning |
//! | --- | --- |
//! | `ranks=2 4` | runs with these numbers of ranks only |
//! | `engine=user` | runs with this engine only |
//! | `env=NAME=VALUE` | one more run, with this variable; may be given several times |
//! | `always=NAME=VALUE` | all runs have this variable |
//! | `file` | the argument is the name of a file; rank 0 writes the line there; the job's status does not matter |
//! | `ends=STATUS TEXT` | ends with this status, and with `TEXT` on standard error; prints no line |
//!
//! The engines `kernel` and `nic` have programs of their own, `c-tests/goal-kernel`, and tests of their own
//! ([`kernel`], [`nic`]); `nic` runs the programs of `c-tests/goal` too. Programs of MPI are in `c-tests/mpi`
//! ([`mpi`]).

use hetmp_abi_compat::{exec, library, sample};
use libtest_mimic::{Arguments, Failed, Trial};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

#[path = "goal/kernel.rs"]
mod kernel;
#[path = "goal/mpi.rs"]
mod mpi;
#[path = "goal/nic.rs"]
mod nic;

/// Long enough for a loaded machine. A program that hangs is ended after this time.
const LIMIT: Duration = Duration::from_secs(120);

#[derive(Clone, Debug)]
struct Program {
    name: String,
    source: PathBuf,
    ranks: Vec<u32>,
    engines: Vec<String>,
    env: Vec<(String, String)>,
    always: Vec<(String, String)>,
    ends: Option<(i32, String)>,
    file: bool,
}

fn folder() -> PathBuf {
    library::root().join("c-tests/goal")
}

fn read(source: PathBuf) -> Program {
    let text = fs::read_to_string(&source).expect("a readable program");
    let mut program = Program {
        name: source
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned(),
        source,
        ranks: vec![1, 2, 4, 7],
        engines: vec!["user".to_owned(), "thread".to_owned()],
        env: vec![],
        always: vec![],
        ends: None,
        file: false,
    };
    for line in text.lines().take(12) {
        let Some((_, setting)) = line.split_once("goal-test: ") else {
            continue;
        };
        let setting = setting.trim_end().trim_end_matches("*/").trim_end();
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        match name {
            "ranks" => {
                let numbers = value.split_whitespace().map(|n| n.parse().expect("ranks"));
                program.ranks = numbers.collect();
            }
            "engine" => program.engines = vec![value.to_owned()],
            "env" | "always" => {
                let list = match name {
                    "env" => &mut program.env,
                    _ => &mut program.always,
                };
                let (name, value) = value.split_once('=').expect("NAME=VALUE");
                list.push((name.to_owned(), value.to_owned()));
            }
            "file" => program.file = true,
            "ends" => {
                let (status, text) = value.split_once(' ').expect("ends=STATUS TEXT");
                program.ends = Some((status.parse().expect("a status"), text.to_owned()));
            }
            _ => {
                panic!("hetmp: line {line} (expected ranks, engine, env, always, file and ends)")
            }
        }
    }
    program
}

fn all() -> Vec<Program> {
    let mut programs: Vec<Program> = fs::read_dir(folder())
        .expect("hetmp: folder c-tests/goal: is needed")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .map(read)
        .collect();
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    programs
}

fn scratch() -> PathBuf {
    library::target_dir().join("goal-tests")
}

fn prefix() -> &'static Path {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| library::installed(&scratch().join("prefix")))
}

/// The flags of `pkg-config PACKAGE`: those to compile with, and those to link with.
fn flags(package: &str) -> (Vec<String>, Vec<String>) {
    let shown = prefix().display().to_string();
    let file = prefix().join(format!("lib/pkgconfig/{package}.pc"));
    let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let field = |name: &str| -> Vec<String> {
        let line = text.lines().find_map(|l| l.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{}: no line {name}", file.display()))
            .replace("${libdir}", &format!("{shown}/lib"))
            .replace("${includedir}", &format!("{shown}/include"))
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    };
    (field("Cflags:"), field("Libs:"))
}

fn start(path: &Path, args: &[String], env: &[(String, String)]) -> exec::Outcome {
    exec::run(&exec::Program {
        path,
        args,
        env,
        dir: &library::root(),
        limit: LIMIT,
        merge: false,
    })
    .expect("a program that starts")
}

fn compile(compiler: &str, args: &[String]) -> Result<(), Failed> {
    let path = hetmp_abi_compat::suite::find_in_path(compiler).map_err(|e| e.to_string())?;
    let out = start(&path, args, &[]);
    if out.ending != exec::Ending::Exit(0) || !out.stderr.is_empty() {
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        return Err(format!("{compiler} {}: {said}", args.join(" ")).into());
    }
    Ok(())
}

fn build(program: &Program) -> Result<PathBuf, Failed> {
    let (cflags, mut libs) = flags("hetmp-goal");
    let text = fs::read_to_string(&program.source).map_err(|e| e.to_string())?;
    if text.contains("#include <shmem.h>") {
        libs.extend(flags("hetmp-shmem").1);
    }
    let bin = scratch().join("bin");
    fs::create_dir_all(&bin).map_err(|e| e.to_string())?;
    let out = bin.join(&program.name);
    let mut args: Vec<String> = [
        "-std=gnu11",
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Wshadow",
        "-pthread",
    ]
    .map(str::to_owned)
    .to_vec();
    args.extend(cflags);
    args.push(program.source.display().to_string());
    args.extend(["-o".to_owned(), out.display().to_string()]);
    args.extend(libs);
    compile("gcc", &args)?;
    Ok(out)
}

/// Checks that a program ended well and printed its line.
fn verdict(program: &Program, ranks: u32, out: &exec::Outcome) -> Result<(), Failed> {
    let text = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes)
            .chars()
            .take(3000)
            .collect::<String>()
    };
    let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
    let shown = format!("{}\n--- output\n{stdout}--- errors\n{stderr}", out.ending);
    if let Some((status, words)) = &program.ends {
        if out.ending != exec::Ending::Exit(*status) || !stderr.contains(words) {
            return Err(format!("status {status} and {words:?} were to come: {shown}").into());
        }
        return Ok(());
    }
    if out.ending != exec::Ending::Exit(0) || !stderr.is_empty() {
        return Err(shown.into());
    }
    let begins = format!("{}: passed, ", program.name);
    let ends = format!(" checks on rank 0 of {ranks}\n");
    let checks = stdout
        .strip_prefix(&begins)
        .and_then(|rest| rest.strip_suffix(&ends))
        .and_then(|n| n.parse::<u64>().ok());
    if checks.is_none_or(|n| n == 0) {
        return Err(format!("not `{begins}N{}`: {shown}", ends.trim_end()).into());
    }
    Ok(())
}

/// Waits for the line in a file.
fn written(file: &Path) -> Result<String, Failed> {
    let end = Instant::now() + LIMIT;
    loop {
        match fs::read_to_string(file) {
            Ok(text) if text.ends_with('\n') => return Ok(text),
            _ if Instant::now() > end => return Err("nothing in the file".into()),
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// A program, built once: a trial may run what another one would be writing.
fn built(program: &Program) -> Result<PathBuf, Failed> {
    static BUILT: std::sync::Mutex<Vec<(String, PathBuf)>> = std::sync::Mutex::new(Vec::new());
    let mut built = BUILT.lock().map_err(|e| e.to_string())?;
    if let Some((_, path)) = built.iter().find(|(name, _)| *name == program.name) {
        return Ok(path.clone());
    }
    let path = build(program)?;
    built.push((program.name.clone(), path.clone()));
    Ok(path)
}

fn run(program: &Program, engine: &str, way: &str) -> Result<(), Failed> {
    let path = built(program)?;
    let hetrun = prefix().join("bin/hetrun");
    let mut variables = vec![None];
    variables.extend(program.env.iter().map(Some));
    let variables = &variables;
    let settings = program
        .ranks
        .iter()
        .flat_map(|ranks| variables.iter().map(move |variable| (ranks, variable)))
        .collect();
    let name = format!("{way}::{engine}::{}", program.name);
    for (ranks, variable) in sample::settings(&name, settings) {
        let mut env = vec![
            ("HETMP_GOAL_ENGINE".to_owned(), engine.to_owned()),
            ("HETMP_NIC".to_owned(), way.to_owned()),
        ];
        env.extend(program.always.iter().chain(*variable).cloned());
        let args = [
            "-n".to_owned(),
            ranks.to_string(),
            path.display().to_string(),
        ];
        if program.file {
            let file = scratch().join(format!("{}-{engine}-{way}-{ranks}", program.name));
            let _ = fs::remove_file(&file);
            let args = [&args[..], &[file.display().to_string()]].concat();
            let said = start(&hetrun, &args, &env);
            let text = written(&file).map_err(|e| {
                let errors = String::from_utf8_lossy(&said.stderr).into_owned();
                format!("{ranks} ranks: {}: {errors}", e.message().unwrap_or(""))
            })?;
            let ends = format!(" checks on rank 0 of {ranks}\n");
            if !text.ends_with(&ends) {
                return Err(format!("{ranks} ranks: {text}").into());
            }
            continue;
        }
        let mut out = start(&hetrun, &args, &env);
        if engine.starts_with("nic") {
            nic::drop_reasons(&mut out);
        }
        verdict(program, *ranks, &out)
            .map_err(|e| format!("{ranks} ranks, {env:?}: {}", e.message().unwrap_or("")))?;
    }
    Ok(())
}

/// The header alone, in every dialect of both compilers.
fn dialects(compiler: &str, cxx: bool) -> Result<(), Failed> {
    let folder = scratch();
    fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let source = folder.join(format!(
        "dialect-{compiler}.{}",
        if cxx { "cc" } else { "c" }
    ));
    let text = "#include <goal.h>\nint main(void) { GOAL_Handle h = GOAL_HANDLE_NULL; int done; \
                long v = GOAL_LONG; (void)v; return GOAL_Test(&h, &done); }\n";
    fs::write(&source, text).map_err(|e| e.to_string())?;
    let standards: &[&str] = if cxx {
        &["c++98", "c++11", "c++14", "c++17", "c++20"]
    } else {
        &["c89", "c99", "c11", "c17", "c2x"]
    };
    for standard in standards {
        let args = [
            format!("-std={standard}"),
            "-pedantic".to_owned(),
            "-Wall".to_owned(),
            "-Wextra".to_owned(),
            "-Werror".to_owned(),
            "-fsyntax-only".to_owned(),
            format!("-I{}", library::root().join("include").display()),
            source.display().to_string(),
        ];
        compile(compiler, &args)?;
    }
    Ok(())
}

/// The program of `goal.h`'s head is what `c-tests/goal-kernel/header.c` runs, line by line.
fn example() -> Result<(), Failed> {
    let read =
        |path: &str| fs::read_to_string(library::root().join(path)).map_err(|e| e.to_string());
    let (header, program) = (
        read("include/goal.h")?,
        read("c-tests/goal-kernel/header.c")?,
    );
    let mut rest = program.lines().map(str::trim);
    let (_, from) = header.split_once("A sum over a tree").unwrap_or_default();
    let (shown, _) = from.split_once("`hetrun").unwrap_or_default();
    let shown = shown.lines().filter_map(|l| l.strip_prefix(" *     "));
    let lines: Vec<&str> = shown.map(str::trim).collect();
    match lines.iter().find(|l| !rest.any(|have| have == **l)) {
        Some(line) => Err(format!("not in header.c, or not in this order: {line}").into()),
        None if lines.len() < 10 => {
            Err(format!("only {} lines found in goal.h", lines.len()).into())
        }
        None => Ok(()),
    }
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Each job already has several busy processes.
    arguments.test_threads.get_or_insert(2);
    let mut trials = Vec::new();
    for (compiler, cxx) in [
        ("gcc", false),
        ("g++", true),
        ("clang", false),
        ("clang++", true),
    ] {
        if hetmp_abi_compat::suite::find_in_path(compiler).is_err() {
            trials.push(
                Trial::test(
                    format!("header::{compiler}, which is not installed"),
                    || Ok(()),
                )
                .with_ignored_flag(true),
            );
            continue;
        }
        trials.push(Trial::test(format!("header::{compiler}"), move || {
            dialects(compiler, cxx)
        }));
    }
    trials.push(Trial::test("header::example", example));
    for program in all() {
        for engine in program.engines.clone() {
            for way in ["auto", "emulated", "tcp"] {
                let (program, engine) = (program.clone(), engine.clone());
                trials.push(Trial::test(
                    format!("{way}::{engine}::{}", program.name),
                    move || run(&program, &engine, way),
                ));
            }
        }
    }
    trials.extend(kernel::trials());
    trials.extend(mpi::trials());
    trials.extend(nic::trials());
    let named = arguments.filter.is_some();
    if let Err(line) = sample::thin(&mut trials, named, Trial::name) {
        eprintln!("hetmp: {line}");
        return ExitCode::FAILURE;
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
