//! `hetmp run`: sets the preload and the options' variables, then replaces itself by the program.
//!
//! * [`program`] finds the program as a shell would. If the dynamic loader would not preload anything into it, it
//!   says why.
//! * [`choice`] chooses the schedule if the user has not.
//! * [`watch`] stays next to the program if a table has to be shown at the end.
//!
//! **Data in**: arguments, the environment, the first bytes of the program. **Data out**: an environment for the
//! program. It prints nothing on standard output.

pub(crate) mod choice;
pub(crate) mod program;
pub(crate) mod watch;

use crate::outputs::{self, By};
use crate::Output;
use hetmp_core::topo::nodes::dsm;
use hetmp_core::topo::{Nodes, Topology};
use hetmp_sched::schedule::Schedule;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug, clap::Args)]
#[command(
    args_override_self = true,
    override_usage = "hetmp run [OPTIONS] [--] PROGRAM [ARGUMENTS]..."
)]
pub(crate) struct Arguments {
    /// The schedule of loops, as in HETMP_SCHEDULE [default: hetprobe where nodes are unlike]
    #[arg(long, value_name = "SCHEDULE")]
    schedule: Option<OsString>,
    #[command(flatten)]
    under: Under,
    /// Show at the end, on standard error, what was done with each region and loop; keep it in FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    report: Option<Option<PathBuf>>,
    /// Write the report as a page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write what each thread did when, for --html and for Perfetto
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Show at the end, on standard error, where threads spent their time: each region and construct with its share,
    /// the imbalance between threads, the time of waiting and the source line; keep it in FILE, as JSON
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    profile: Option<Option<PathBuf>>,
    /// Keep in FILE what is learned about loops, for the next run (HETMP_PROFILE)
    #[arg(long, value_name = "FILE")]
    profile_file: Option<PathBuf>,
    /// Say on standard error what is found and decided
    #[arg(long)]
    verbose: bool,
    /// Run the program by this interpreter (python -m hetmp run does)
    #[arg(long, value_name = "FILE", hide = true)]
    interpreter: Option<OsString>,
}

/// The program, and what it is run with. `hetmp compare` has these options as well.
#[derive(Debug, clap::Args)]
pub(crate) struct Under {
    /// The nodes, as in HETMP_NODES [default: as found]
    #[arg(long, value_name = "NODES")]
    nodes: Option<OsString>,
    /// Threads of a parallel region, as in OMP_NUM_THREADS
    #[arg(long, value_name = "N[,N...]")]
    threads: Option<String>,
    /// The library to preload [default: the one installed with this command]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub(crate) program: Vec<OsString>,
}

impl Under {
    /// The same for `hetmp run`: options, the program and its arguments, as a shell takes them.
    pub(crate) fn words(&self) -> String {
        let threads = self.threads.as_deref().map(OsStr::new);
        let library = self.library.as_deref().map(Path::as_os_str);
        let options = [
            ("--nodes", self.nodes.as_deref()),
            ("--threads", threads),
            ("--library", library),
        ];
        let given = options.into_iter().filter_map(|(name, value)| {
            let value = word(value?);
            Some(format!("{name} {value}"))
        });
        let words: Vec<String> = given.chain(self.program.iter().map(|w| word(w))).collect();
        words.join(" ")
    }
}

/// A word as a shell takes it.
fn word(text: &OsStr) -> String {
    let text = text.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Why the program does not run: a line, and the exit status that shells use for this.
pub(crate) struct Refusal {
    line: String,
    status: u8,
}

impl Refusal {
    /// An option or a variable that is not accepted.
    pub(crate) fn usage(line: impl ToString) -> Self {
        Refusal {
            line: line.to_string(),
            status: 2,
        }
    }

    /// The program exists, but cannot be run this way.
    fn unfit(line: impl ToString) -> Self {
        Refusal {
            line: line.to_string(),
            status: 126,
        }
    }

    /// The program does not exist.
    fn missing(line: impl ToString) -> Self {
        Refusal {
            line: line.to_string(),
            status: 127,
        }
    }
}

/// Returns only if the program does not run, or if something has to be shown after it.
pub(crate) fn run(arguments: &Arguments) -> Output {
    match start(arguments) {
        Ok(output) => output,
        Err(refusal) => refusal.into(),
    }
}

impl From<Refusal> for Output {
    fn from(refusal: Refusal) -> Self {
        Output {
            errors: vec![refusal.line],
            status: refusal.status,
            ..Output::default()
        }
    }
}

/// A program that is ready to run on the library.
pub(crate) struct Prepared {
    pub(crate) command: Command,
    pub(crate) path: PathBuf,
    pub(crate) library: PathBuf,
    /// Nodes run slower under hetmp than they are.
    pub(crate) slowed: bool,
    nodes: Nodes,
    machine: Topology,
    /// The nodes have memory of their own.
    dsm: bool,
}

/// The program under the library, its nodes and threads, without a schedule.
pub(crate) fn prepare(under: &Under, interpreter: Option<&OsStr>) -> Result<Prepared, Refusal> {
    let machine = Topology::discover();
    let library = library(under.library.as_deref())?;
    let program = under.program.iter().map(OsString::as_os_str);
    let words: Vec<&OsStr> = interpreter.into_iter().chain(program).collect();
    let path = program::find(words[0], std::env::var_os("PATH"))?;
    let first = sanitizers(&program::check(&path)?);
    let mut command = Command::new(&path);
    command.arg0(words[0]).args(&words[1..]);
    let dsm = dsm_nodes(under.nodes.as_deref())?;
    let second = match dsm {
        Some(_) => Some(second_library(&library)?),
        None => None,
    };
    let ours: Vec<&Path> = first
        .iter()
        .map(Path::new)
        .chain(second.as_deref())
        .chain([&*library])
        .collect();
    command.env("LD_PRELOAD", preload(&ours, std::env::var_os("LD_PRELOAD")));
    if let Some(threads) = &under.threads {
        command.env("OMP_NUM_THREADS", numbers(threads)?);
    }
    let nodes = match &under.nodes {
        Some(value) if dsm.is_some() => {
            command.env("HETMP_NODES", value);
            Nodes::discover(&machine)
        }
        Some(value) => {
            command.env("HETMP_NODES", value);
            Nodes::parse(value.as_bytes(), &machine)
                .map_err(|error| Refusal::usage(format_args!("option --nodes: {error}")))?
        }
        // The library will report a bad variable, and go on with the nodes that it finds. So does this command.
        None => Nodes::from_env(
            std::env::var_os("HETMP_NODES")
                .as_deref()
                .map(OsStr::as_bytes),
            &machine,
        )
        .unwrap_or_else(|_| Nodes::discover(&machine)),
    };
    // What is said of single nodes with memory of their own is read by libhetmp_dsm.so.
    let told = under.nodes.clone().or(std::env::var_os("HETMP_NODES"));
    let told = told.unwrap_or_default();
    let slowed = nodes.iter().any(|node| node.is_slowed())
        || dsm.is_some() && told.to_string_lossy().contains("speed");
    Ok(Prepared {
        command,
        path,
        library,
        slowed,
        nodes,
        machine,
        dsm: dsm.is_some(),
    })
}

fn start(arguments: &Arguments) -> Result<Output, Refusal> {
    let Prepared {
        mut command,
        path,
        nodes,
        machine,
        dsm,
        ..
    } = prepare(&arguments.under, arguments.interpreter.as_deref())?;
    outputs::check(&files(arguments)).map_err(Refusal::usage)?;
    if dsm && arguments.profile.is_some() {
        return Err(Refusal::usage(
            "option --profile: nodes with memory of their own (dsm:N) are not measured (expected other nodes)",
        ));
    }
    let said = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match &arguments.schedule {
        Some(schedule) => {
            command.env("HETMP_SCHEDULE", checked(schedule)?);
        }
        // Nodes with memory of their own divide a loop as the program says.
        None if dsm => {}
        None if !said("HETMP_SCHEDULE") && !said("OMP_SCHEDULE") => {
            let choice = choice::schedule(&nodes, &machine);
            if let Some(schedule) = choice.schedule {
                command.env("HETMP_SCHEDULE", schedule);
            }
            if arguments.verbose {
                hetmp_core::report::warn(format_args!("{}", choice.line()));
            }
        }
        None => {}
    }
    if arguments.verbose {
        command.env("HETMP_VERBOSE", "1");
    }
    for (name, file) in [
        ("HETMP_TRACE", &arguments.trace),
        ("HETMP_PROFILE", &arguments.profile_file),
    ] {
        if let Some(file) = file {
            command.env(name, absolute(file)?);
        }
    }
    if arguments.report.is_none() && arguments.html.is_none() && arguments.profile.is_none() {
        let error = command.exec();
        return Err(Refusal::unfit(format_args!(
            "program {}: {error} (expected a program of this machine)",
            path.display()
        )));
    }
    let wanted = watch::Wanted {
        report: arguments.report.is_some() || arguments.html.is_some(),
        file: match &arguments.report {
            Some(Some(file)) => Some(absolute(file)?),
            _ => None,
        },
        table: arguments.report.is_some(),
        html: arguments.html.as_deref(),
        trace: arguments.trace.as_deref(),
        profile: arguments.profile.as_ref().map(Option::as_deref),
    };
    watch::run(command, &path, &wanted)
}

/// The files that options name for output.
fn files(arguments: &Arguments) -> Vec<outputs::Named<'_>> {
    let report = arguments.report.as_ref().and_then(Option::as_deref);
    let profile = arguments.profile.as_ref().and_then(Option::as_deref);
    let html = arguments.html.as_deref();
    let trace = arguments.trace.as_deref();
    let learned = arguments.profile_file.as_deref();
    [
        ("--report", report, By::Program),
        ("--trace", trace, By::Program),
        ("--profile-file", learned, By::Program),
        ("--html", html, By::Command),
        ("--profile", profile, By::Command),
    ]
    .into_iter()
    .filter_map(|(option, file, by)| Some((option, file?, by)))
    .collect()
}

/// A file's name for the program, which may change its folder before it writes.
fn absolute(file: &Path) -> Result<PathBuf, Refusal> {
    std::path::absolute(file).map_err(|error| {
        Refusal::usage(format_args!(
            "'{}': {error} (expected a file's name)",
            file.display()
        ))
    })
}

/// How many nodes with memory of their own the option or else the variable asks for. The library refuses bad numbers
/// too, but only after the program has started.
fn dsm_nodes(option: Option<&OsStr>) -> Result<Option<u8>, Refusal> {
    let variable = std::env::var_os("HETMP_NODES");
    let (name, value) = match option {
        Some(value) => ("option --nodes", value),
        None => ("HETMP_NODES", variable.as_deref().unwrap_or_default()),
    };
    let text = value.to_string_lossy();
    let Some(rest) = text.trim().strip_prefix("dsm:") else {
        return Ok(None);
    };
    // Behind the number, single nodes may be described: libhetmp_dsm.so reads that.
    let count = rest.split(';').next().unwrap_or_default();
    match count.parse() {
        Ok(n) if (2..=dsm::MOST).contains(&usize::from(n)) => Ok(Some(n)),
        _ => Err(Refusal::usage(format_args!(
            "{name}: '{text}': not a number of nodes in range (expected dsm:2 to dsm:{})",
            dsm::MOST
        ))),
    }
}

/// The path of `libhetmp_dsm.so`, which lies next to the library that is preloaded.
fn second_library(library: &Path) -> Result<PathBuf, Refusal> {
    let beside = library.with_file_name("libhetmp_dsm.so");
    if beside.is_file() {
        return Ok(beside);
    }
    Err(Refusal::usage(format_args!(
        "library {}: not there: it is needed for nodes with memory of their own, dsm:N",
        beside.display()
    )))
}

/// Checks a schedule, as [`numbers`] checks threads.
pub(crate) fn checked(schedule: &OsStr) -> Result<&OsStr, Refusal> {
    let text = schedule.to_string_lossy();
    match Schedule::parse(&text) {
        Ok(_) => Ok(schedule),
        Err(bad) => Err(Refusal::usage(format_args!(
            "option --schedule: '{text}': not understood (expected {bad})"
        ))),
    }
}

/// Checks `OMP_NUM_THREADS`. An option with a bad value is refused; the library would go on with its default.
fn numbers(text: &str) -> Result<&str, Refusal> {
    let fits = |n: &str| {
        n.trim()
            .parse::<u32>()
            .is_ok_and(|n| n > 0 && i32::try_from(n).is_ok())
    };
    if text.split(',').all(fits) {
        Ok(text)
    } else {
        Err(Refusal::usage(format_args!(
            "option --threads: '{text}': not a list of positive integers (expected such as 4 or 4,2)"
        )))
    }
}

/// The library that the user has named, or else the one that is installed with this command.
fn library(named: Option<&Path>) -> Result<PathBuf, Refusal> {
    let found = match named {
        Some(path) => std::fs::canonicalize(path)
            .map_err(|error| error.to_string())
            .and_then(|whole| crate::elf::check_library(&whole).map(|()| whole))
            .map_err(|why| {
                Refusal::usage(format_args!(
                    "option --library: '{}': {why} (expected a libhetmp.so of this machine)",
                    path.display()
                ))
            })?,
        None => beside_this_command().ok_or_else(|| {
            Refusal::usage(
                "library libhetmp.so: not next to this command (expected it there, or --library FILE)",
            )
        })?,
    };
    // The dynamic loader splits LD_PRELOAD at these characters, and cannot quote them.
    if found
        .as_os_str()
        .as_bytes()
        .iter()
        .any(|byte| matches!(byte, b':' | b' ' | b'\t' | b'\n'))
    {
        return Err(Refusal::usage(format_args!(
            "library {}: LD_PRELOAD cannot hold blanks and colons (expected a path without)",
            found.display()
        )));
    }
    Ok(found)
}

/// In an installed tree the library is `../lib/libhetmp.so`; in a build folder it lies next to the command. An
/// installed tree has the same file as `libgomp.so.1`, the name for which threadpoolctl and joblib look.
fn beside_this_command() -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    let library = crate::library::beside_this_command("libhetmp.so")?;
    let inode = |path: &Path| path.metadata().ok().map(|m| (m.dev(), m.ino()));
    let known = library.with_file_name("libgomp.so.1");
    if inode(&known).is_some() && inode(&known) == inode(&library) {
        Some(known)
    } else {
        Some(library)
    }
}

/// The libraries of sanitizers that the program needs. They replace the allocator or follow every access, and end the
/// program where another library comes before them.
fn sanitizers(program: &Path) -> Vec<String> {
    let is_one = |name: &String| {
        let name = name.strip_prefix("libclang_rt.").unwrap_or(name);
        let name = name.strip_prefix("lib").unwrap_or(name);
        ["asan", "hwasan", "lsan", "tsan"]
            .iter()
            .any(|kind| name.starts_with(kind))
    };
    let mut names = crate::elf::needed(program);
    names.retain(is_one);
    names
}

/// The value of LD_PRELOAD: our library first, and only once, then what is preloaded already.
fn preload(ours: &[&Path], before: Option<OsString>) -> OsString {
    let mut value = OsString::new();
    for library in ours {
        if !value.is_empty() {
            value.push(":");
        }
        value.push(library);
    }
    let others = before.unwrap_or_default();
    for other in others.as_bytes().split(|byte| matches!(byte, b':' | b' ')) {
        let is_ours = |library: &&Path| library.as_os_str().as_bytes() == other;
        if !other.is_empty() && !ours.iter().any(is_ours) {
            value.push(":");
            value.push(OsStr::from_bytes(other));
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_comes_first_and_once() {
        let ours = Path::new("/l/libhetmp.so");
        let with = |before: &str| preload(&[ours], Some(before.into()));
        assert_eq!(preload(&[ours], None), "/l/libhetmp.so");
        let both = [Path::new("/l/libhetmp_dsm.so"), ours];
        let other = "/l/libhetmp.so:/a.so:/l/libhetmp_dsm.so";
        assert_eq!(
            preload(&both, Some(other.into())),
            "/l/libhetmp_dsm.so:/l/libhetmp.so:/a.so"
        );
        assert_eq!(with(""), "/l/libhetmp.so");
        assert_eq!(with("/a.so /b.so"), "/l/libhetmp.so:/a.so:/b.so");
        assert_eq!(with("/a.so:/l/libhetmp.so"), "/l/libhetmp.so:/a.so");
    }

    #[test]
    fn numbers_of_threads_are_positive() {
        for good in ["1", "4,2", " 3 , 4", "2147483647"] {
            assert!(numbers(good).is_ok(), "{good}");
        }
        for bad in ["", "0", "4,", "-1", "two", "2147483648", "4;2"] {
            assert!(numbers(bad).is_err_and(|r| r.status == 2), "{bad}");
        }
    }
}
