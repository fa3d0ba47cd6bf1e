//! The command line: for each program its options, its name and its arguments, up to a ':' or the end.

#[path = "arguments/given.rs"] // Also where the fuzz targets have this file.
mod given;

use super::hosts::{self, Host};
use super::options::Means;
use super::places::Bind;
use given::Given;
use hetmp_core::topo::nodes::dsm;
use hetmp_core::topo::PlaceKind;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// What hetrun has to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Version,
    Who,
    /// Serve a hetrun through standard input and output.
    Agent,
    Run(Box<Run>),
}

/// Variables for processes: names, and values if they were given.
pub(crate) type Variables = Vec<(OsString, Option<OsString>)>;

/// A program of a job.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) processes: Option<u32>,
    pub(crate) variables: Variables,
    pub(crate) folder: Option<PathBuf>,
    /// The hosts that it runs on. If there are none, it runs where the program before it runs.
    pub(crate) hosts: Vec<Host>,
    /// Its name and its arguments.
    pub(crate) words: Vec<OsString>,
}

/// A job, as the command line describes it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// At least one.
    pub(crate) programs: Vec<Program>,
    /// Variables for all programs.
    pub(crate) variables: Variables,
    pub(crate) hosts: Option<PathBuf>,
    pub(crate) sharing: hosts::Sharing,
    pub(crate) bind: Option<Bind>,
    /// How many cores each process is bound to; until all options are read.
    cores_each: Option<u32>,
    pub(crate) nodes: Option<String>,
    pub(crate) prefix: bool,
    /// The processes are the nodes of one program (`dsm`).
    pub(crate) dsm: bool,
    pub(crate) ssh: Option<String>,
    pub(crate) remote: Option<PathBuf>,
    /// Seconds; 0 means for ever.
    pub(crate) host_timeout: Option<u32>,
    /// Options that have no meaning here, as they were written.
    pub(crate) unheeded: Vec<String>,
}

/// After this many seconds without a sign of life another host is given up, by default.
pub(crate) const HOST_TIMEOUT: u32 = 10;

/// The most processes that hetrun starts. Each costs hetrun threads and descriptors.
pub(crate) const MOST: u32 = 4096;

pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut arguments = arguments.into_iter();
    let mut run = Run::default();
    let mut program = Program::default();
    let mut awaited = true;
    while let Some(argument) = arguments.next() {
        let dashed = argument.as_bytes().starts_with(b"-") && argument != "-";
        if dashed && argument != "--" {
            let given = Given::new(&argument, &mut arguments)?;
            if let Some(command) = take(&given, &mut run, &mut program)? {
                return Ok(command);
            }
            continue;
        }
        awaited = false;
        let mut next = Some(argument).filter(|word| word != "--");
        while let Some(word) = next.take().or_else(|| arguments.next()) {
            if word == ":" {
                awaited = true;
                break;
            }
            program.words.push(word);
        }
        if program.words.is_empty() {
            awaited = true;
            break;
        }
        run.programs.push(std::mem::take(&mut program));
    }
    if awaited {
        return Err("program: none is named (expected PROGRAM [ARGUMENTS])".to_owned());
    }
    Ok(Command::Run(Box::new(checked(run)?)))
}

/// What can be said of a job without a look at this machine.
fn checked(mut run: Run) -> Result<Run, String> {
    let cores_each = run.cores_each.take();
    if cores_each.is_some() {
        run.bind.get_or_insert(Bind::to(PlaceKind::Cores));
    }
    if let Some(Bind::To { each, strict, .. }) = &mut run.bind {
        *each = cores_each.unwrap_or(*each);
        *strict &= !run.sharing.oversubscribe;
    }
    let counted = |program: &Program| program.processes.is_some();
    let placed = |program: &Program| {
        run.hosts.is_some() || run.sharing.per_host.is_some() || !program.hosts.is_empty()
    };
    let several = run.programs.len() > 1;
    if let Some(program) = (run.programs.iter()).find(|p| !counted(p) && (several || !placed(p))) {
        return Err(format!(
            "option -n: missing for program {} (expected a number of processes)",
            quoted(&program.words[0])
        ));
    }
    if let (Some(file), true) = (&run.hosts, run.programs.iter().any(|p| !p.hosts.is_empty())) {
        return Err(format!(
            "option --hosts: {}: given with --host (expected one of the two)",
            quoted(file)
        ));
    }
    if let (Some(nodes), true) = (&run.nodes, run.bind.is_some()) {
        return Err(format!(
            "option --nodes: {}: given with --bind-to (expected one of the two)",
            quoted(nodes)
        ));
    }
    let other = run.nodes.as_deref().filter(|n| dsm::split(n).is_none());
    if let (true, Some(nodes)) = (run.dsm, other) {
        return Err(format!(
            "option --nodes: {}: with --dsm each process is a node (expected dsm:N;speed=S;... with a speed for each)",
            quoted(nodes)
        ));
    }
    Ok(run)
}

/// Does what an option says. Some say what to do instead of running a job.
fn take(given: &Given, run: &mut Run, program: &mut Program) -> Result<Option<Command>, String> {
    match given.row.means {
        Means::Processes => program.processes = Some(given.count()?),
        Means::Variable => program.variables.push(given.variable()?),
        Means::Assignment => program.variables.push(given.assignment()?),
        Means::Folder => program.folder = Some(given.values[0].clone().into()),
        Means::HostList => {
            let hosts = hosts::list(&given.values[0].to_string_lossy());
            let hosts = hosts.map_err(|what| given.refuse(&what, hosts::ACCEPTED))?;
            hosts::add(&mut program.hosts, hosts);
        }
        Means::HostsFile => run.hosts = Some(given.values[0].clone().into()),
        Means::PerHost => run.sharing.per_host = Some(given.count()?),
        Means::Oversubscribe => run.sharing.oversubscribe = true,
        Means::MapBy => given.map(run)?,
        Means::BindTo => run.bind = Some(given.bind()?),
        Means::CpusEach => run.cores_each = Some(given.count()?),
        Means::Everywhere => run.variables.push(given.assignment()?),
        Means::Prefix => run.prefix = true,
        Means::Dsm => run.dsm = true,
        Means::Nodes => run.nodes = Some(given.text()?),
        Means::Ssh => run.ssh = Some(given.text()?),
        Means::Remote => run.remote = Some(given.values[0].clone().into()),
        Means::HostTimeout => {
            let seconds = given.number(0..=86_400, "seconds from 0, for ever, to 86400")?;
            run.host_timeout = Some(seconds);
        }
        Means::Who => return Ok(Some(Command::Who)),
        Means::Agent => return Ok(Some(Command::Agent)),
        Means::Version => return Ok(Some(Command::Version)),
        Means::Help => return Ok(Some(Command::Help)),
        Means::Already => {}
        Means::Nothing => run.unheeded.push(given.whole()),
    }
    Ok(None)
}

/// Text as a part of a line.
pub(crate) fn printable(text: &(impl AsRef<OsStr> + ?Sized)) -> String {
    let mut line = String::new();
    for c in text.as_ref().to_string_lossy().chars() {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

/// A value, for a message of one line.
pub(crate) fn quoted(value: &(impl AsRef<OsStr> + ?Sized)) -> String {
    format!("'{}'", printable(value))
}

#[cfg(test)]
mod tests {
    use super::{parse, Bind, Command, Program, Run, MOST};
    use crate::hosts::{self, Sharing};
    use crate::options::{spelled, Group, Means, ROWS};
    use hetmp_core::topo::PlaceKind;
    use proptest::prelude::*;
    use std::ffi::OsString;

    fn of(words: &[&str]) -> Result<Command, String> {
        parse(words.iter().map(OsString::from))
    }

    fn run(line: &str) -> Run {
        let words: Vec<&str> = line.split(' ').collect();
        match of(&words) {
            Ok(Command::Run(run)) => *run,
            other => panic!("{line}: {other:?}"),
        }
    }

    /// A job of `p` with two processes.
    fn two(change: impl FnOnce(&mut Run)) -> Run {
        let program = Program {
            processes: Some(2),
            words: vec!["p".into()],
            ..Program::default()
        };
        let mut run = Run {
            programs: vec![program],
            ..Run::default()
        };
        change(&mut run);
        run
    }

    fn to(kind: PlaceKind, each: u32, strict: bool) -> Option<Bind> {
        Some(Bind::To { kind, each, strict })
    }

    #[test]
    fn options_end_at_the_program() {
        let job = run("-n 3 --prefix -x A=b=c -x D prog -n 7 --help");
        assert!(job.prefix);
        let [program] = &job.programs[..] else {
            panic!("{job:?}");
        };
        assert_eq!(program.processes, Some(3));
        assert_eq!(program.words, ["prog", "-n", "7", "--help"]);
        assert_eq!(program.variables[0], ("A".into(), Some("b=c".into())));
        assert_eq!(program.variables[1], ("D".into(), None));
        assert_eq!(run("--hosts=f -- -prog").programs[0].words, ["-prog"]);
        assert_eq!(of(&["--who"]), Ok(Command::Who));
        assert_eq!(of(&["-V"]), Ok(Command::Version));
        assert_eq!(of(&["-h"]), Ok(Command::Help));
        assert_eq!(of(&["--agent"]), Ok(Command::Agent));
    }

    #[test]
    fn programs_are_divided_by_colons() {
        let job = run("-n 1 -wdir /d -x A=1 -l a -x : --prefix -n 2 -genv G 1 b : -np 3 -env B 2 -H h:3 -- c a:b");
        assert!(job.prefix);
        assert_eq!(job.variables, [("G".into(), Some("1".into()))]);
        let words: Vec<_> = job
            .programs
            .iter()
            .map(|p| p.words.join("+".as_ref()))
            .collect();
        assert_eq!(words, ["a+-x", "b", "c+a:b"]);
        let counts: Vec<_> = job.programs.iter().map(|p| p.processes).collect();
        assert_eq!(counts, [Some(1), Some(2), Some(3)]);
        let [a, b, c] = &job.programs[..] else {
            panic!("{job:?}");
        };
        assert_eq!(a.folder, Some("/d".into()));
        assert_eq!(a.variables, [("A".into(), Some("1".into()))]);
        assert_eq!((&b.folder, &b.variables), (&None, &Vec::new()));
        assert_eq!(c.variables, [("B".into(), Some("2".into()))]);
        assert_eq!(c.hosts, hosts::list("h:3").expect("a list"));
    }

    /// Every spelling of every option that means something.
    #[test]
    fn options_of_other_launchers_mean_what_they_mean_there() {
        let list = |text| hosts::list(text).expect("a list");
        for line in [
            "-n 2 p",
            "-n2 p",
            "-np 2 p",
            "-np2 p",
            "--np 2 p",
            "--np=2 p",
            "--n 2 p",
            "-c 2 p",
            "-n 2 --allow-run-as-root p",
            "-n 2 -map-by slot p",
        ] {
            assert_eq!(run(line), two(|_| ()), "{line}");
        }
        let per_host = |n| Sharing {
            per_host: Some(n),
            ..Sharing::default()
        };
        let over = Sharing {
            oversubscribe: true,
            ..Sharing::default()
        };
        let turns = Sharing {
            by_turns: true,
            ..Sharing::default()
        };
        let (cores, threads) = (PlaceKind::Cores, PlaceKind::Threads);
        for (options, job) in [
            ("-N 3|-N3|--N 3|-npernode 3|--npernode 3|-ppn 3|--map-by ppr:3:node", two(|r| r.sharing = per_host(3))),
            ("-oversubscribe|--oversubscribe|--map-by slot:OVERSUBSCRIBE", two(|r| r.sharing = over)),
            ("--map-by node|-map-by node", two(|r| r.sharing = turns)),
            ("--hosts f|--hosts=f|--hostfile f|-hostfile f|--machinefile f|-machinefile f|-f f",
             two(|r| r.hosts = Some("f".into()))),
            ("-H a,b:2|--host a,b:2|-host a,b:2|-hosts a,b:2|-H a -H b:2",
             two(|r| r.programs[0].hosts = list("a,b:2"))),
            ("-H a,a", two(|r| r.programs[0].hosts = list("a:2"))),
            ("-wdir d|--wdir d|-wd d|--wd=d", two(|r| r.programs[0].folder = Some("d".into()))),
            ("-x V=1|-env V 1|--env V 1", two(|r| r.programs[0].variables = vec![("V".into(), Some("1".into()))])),
            ("-x V", two(|r| r.programs[0].variables = vec![("V".into(), None)])),
            ("-genv V 1|--genv V 1", two(|r| r.variables = vec![("V".into(), Some("1".into()))])),
            ("--prefix|-l|--tag-output|-tag-output|-prepend-rank", two(|r| r.prefix = true)),
            ("--bind-to none|-bind-to NONE", two(|r| r.bind = Some(Bind::None))),
            ("--bind-to core|-bind-to core:1", two(|r| r.bind = to(cores, 1, true))),
            ("--bind-to core:4|--cpus-per-rank 4|--cpus-per-proc 4|--map-by slot:PE=4|--cpus-per-rank 4 --bind-to \
              core", two(|r| r.bind = to(cores, 4, true))),
            ("--bind-to core:overload-allowed|--bind-to core:if-supported", two(|r| r.bind = to(cores, 1, false))),
            ("--bind-to core --oversubscribe|--oversubscribe --bind-to core", two(|r| {
                r.bind = to(cores, 1, false);
                r.sharing = over;
            })),
            ("--bind-to hwthread", two(|r| r.bind = to(threads, 1, true))),
            ("--bind-to socket|--bind-to package", two(|r| r.bind = to(PlaceKind::Sockets, 1, true))),
            ("--bind-to numa", two(|r| r.bind = to(PlaceKind::NumaDomains, 1, true))),
            ("--bind-to l3cache", two(|r| r.bind = to(PlaceKind::LlCaches, 1, true))),
            ("--map-by core", two(|r| r.unheeded = vec!["--map-by core".into()])),
            ("--mca btl ^tcp -mca a b --report-bindings", two(|r| {
                r.unheeded = ["--mca btl ^tcp", "-mca a b", "--report-bindings"].map(String::from).into();
            })),
        ] {
            for spelling in options.split('|') {
                assert_eq!(run(&format!("-n 2 {spelling} p")), job, "{spelling}");
                // Options of the job may stand with any program.
                if job.programs == two(|_| ()).programs {
                    let last = run(&format!("-n 1 o : -n 2 {spelling} p"));
                    assert_eq!((last.sharing, last.bind), (job.sharing, job.bind.clone()), "{spelling}");
                }
            }
        }
    }

    #[test]
    fn options_without_a_meaning_here_are_remembered() {
        let rows = || ROWS.iter().filter(|row| row.means == Means::Nothing);
        for (row, name) in rows().flat_map(|row| row.names.iter().map(move |name| (row, name))) {
            let given = format!("{} {}", spelled(name), row.values);
            let job = run(&format!("-n 2 {} p", given.trim_end()));
            assert_eq!(job.unheeded, [given.trim_end()]);
        }
        assert!(rows().count() > 5);
    }

    #[test]
    fn the_help_names_every_option() {
        let help = crate::options::help();
        assert!(help.lines().all(|line| line.len() <= 80), "{help}");
        for row in ROWS.iter().filter(|row| row.means.group() != Group::Hidden) {
            assert!(
                help.contains(&format!(" {}", spelled(row.names[0]))),
                "{row:?}"
            );
        }
        let mut names: Vec<_> = ROWS.iter().flat_map(|row| row.names).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "a name twice");
    }

    #[test]
    fn mistakes_cost_one_line() {
        for (line, message) in [
            ("-n 0 p", "option -n: '0': not a number in range (expected 1 to 4096)"),
            ("-n x p", "option -n: 'x': not a number in range (expected 1 to 4096)"),
            ("-np4097 p", "option -np4097: '4097': not a number in range (expected 1 to 4096)"),
            ("-n", "option -n: a value is missing (expected N)"),
            ("-env A", "option -env: a value is missing (expected NAME VALUE)"),
            ("-n 2", "program: none is named (expected PROGRAM [ARGUMENTS])"),
            ("-n 2 --", "program: none is named (expected PROGRAM [ARGUMENTS])"),
            ("-n 2 p :", "program: none is named (expected PROGRAM [ARGUMENTS])"),
            ("-n 2 p : -n 1", "program: none is named (expected PROGRAM [ARGUMENTS])"),
            (": -n 2 p", "program: none is named (expected PROGRAM [ARGUMENTS])"),
            ("-n 1 p : : q", "program: none is named (expected PROGRAM [ARGUMENTS])"),
            ("p", "option -n: missing for program 'p' (expected a number of processes)"),
            ("--hosts f p : -n 1 q", "option -n: missing for program 'p' (expected a number of processes)"),
            ("--hosts f -H a -n 1 p", "option --hosts: 'f': given with --host (expected one of the two)"),
            ("-n 2 --nodes 2 --bind-to core p", "option --nodes: '2': given with --bind-to (expected one of the two)"),
            (
                "-n 2 --dsm --nodes 2 p",
                "option --nodes: '2': with --dsm each process is a node (expected dsm:N;speed=S;... with a speed for \
                 each)",
            ),
            ("-x =1 p", "option -x: '=1': no name (expected NAME or NAME=VALUE)"),
            ("-genv A=1 2 p", "option -genv: 'A=1': not a variable's name (expected NAME VALUE)"),
            ("-H a,,b p", "option -H: 'a,,b': not a host's name (expected a name or an address, USER@ before it and \
                           :N behind it, N from 1)"),
            ("-H a:0 p", "option -H: 'a:0': not a number of processes (expected a name or an address, USER@ before it \
                          and :N behind it, N from 1)"),
            ("--map-by x p", "option --map-by: 'x': not a mapping (expected slot, node or ppr:N:node; :PE=N, \
                              :OVERSUBSCRIBE behind it)"),
            ("--map-by ppr:2:socket p", "option --map-by: 'ppr:2:socket': not a mapping (expected slot, node or \
                ppr:N:node; :PE=N, :OVERSUBSCRIBE behind it)"),
            ("--host-timeout -1 p", "option --host-timeout: '-1': not a number in range (expected seconds from 0, for \
                                     ever, to 86400)"),
            ("--frobnicate p", "option: '--frobnicate': unknown (expected one that hetrun --help lists)"),
            ("--prefix=1 p", "option: '--prefix=1': unknown (expected one that hetrun --help lists)"),
            ("-x4 p", "option: '-x4': unknown (expected one that hetrun --help lists)"),
            ("-\u{7} p", "option: '-\\u{7}': unknown (expected one that hetrun --help lists)"),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(of(&words).unwrap_err(), message, "{line}");
        }
        for what in ["", "cpu", "core:0", "core:x", "none:2", "core:4097"] {
            let text = of(&["-n", "1", "--bind-to", what, "p"]).unwrap_err();
            assert!(
                text.starts_with(&format!("option --bind-to: '{what}': not a binding (")),
                "{text}"
            );
        }
    }

    /// A word of a command line: an option, a value or anything.
    fn word() -> impl Strategy<Value = OsString> {
        let names: Vec<String> = ROWS
            .iter()
            .flat_map(|row| row.names)
            .map(|n| spelled(n))
            .collect();
        prop_oneof![
            4 => prop::sample::select(names).prop_map(OsString::from),
            2 => prop::sample::select(
                vec![":", "--", "-", "p", "1", "core:2", "a:1,b", "ppr:1:node:pe=2", "-n4", "A=1"])
                .prop_map(OsString::from),
            1 => prop::collection::vec(any::<u8>().prop_filter("no end", |b| *b != 0), 0..12)
                .prop_map(std::os::unix::ffi::OsStringExt::from_vec),
            1 => "--?[a-zA-Z-]{0,9}=?.{0,5}".prop_map(OsString::from),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn any_command_line_is_a_job_or_one_line(words in prop::collection::vec(word(), 0..14)) {
            match parse(words) {
                Ok(Command::Run(run)) => {
                    prop_assert!(!run.programs.is_empty());
                    for program in &run.programs {
                        prop_assert!(!program.words.is_empty());
                        prop_assert!(program.words.iter().all(|word| word != ":"));
                        prop_assert!(program.processes.is_none_or(|n| (1..=MOST).contains(&n)));
                    }
                }
                Ok(_) => {}
                Err(line) => prop_assert!(!line.is_empty() && !line.contains(char::is_control), "{line:?}"),
            }
        }
    }
}
