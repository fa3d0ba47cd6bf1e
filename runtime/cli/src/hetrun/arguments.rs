//! The command line: options up to the program's name; everything after the name belongs to the program.

use hetmp_core::topo::nodes::dsm;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The help text. hetrun's man page is made from it too.
pub(crate) const HELP: &str = include_str!("help.txt");

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

/// A job, as the command line describes it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) processes: Option<u32>,
    pub(crate) hosts: Option<PathBuf>,
    pub(crate) nodes: Option<String>,
    pub(crate) prefix: bool,
    /// The processes are the nodes of one program (`dsm`).
    pub(crate) dsm: bool,
    /// Variables for the processes: names, and values if they were given.
    pub(crate) variables: Vec<(OsString, Option<OsString>)>,
    pub(crate) ssh: Option<String>,
    pub(crate) remote: Option<PathBuf>,
    /// Seconds; 0 means for ever.
    pub(crate) host_timeout: Option<u32>,
    pub(crate) program: Vec<OsString>,
}

/// After this many seconds without a sign of life another host is given up, by default.
pub(crate) const HOST_TIMEOUT: u32 = 10;

/// The most processes that hetrun starts. Each costs hetrun threads and descriptors.
pub(crate) const MOST: u32 = 4096;

fn seconds(text: &OsStr) -> Result<u32, String> {
    let text = text.to_string_lossy();
    text.parse::<u32>()
        .ok()
        .filter(|n| *n <= 86_400)
        .ok_or_else(|| {
            format!("option --host-timeout {text}: seconds from 0 (for ever) to 86400 are accepted")
        })
}

pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut arguments = arguments.into_iter();
    let mut run = Run::default();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy().into_owned();
        if !text.starts_with('-') || text == "-" {
            run.program.push(argument);
            run.program.extend(arguments);
            break;
        }
        let (name, mut joined) = match text.split_once('=') {
            Some((name, value)) if name.starts_with("--") => {
                (name.to_owned(), Some(OsString::from(value)))
            }
            _ => (text.clone(), None),
        };
        let bare = joined.is_none();
        let mut value = |what: &str| -> Result<OsString, String> {
            joined
                .take()
                .or_else(|| arguments.next())
                .ok_or_else(|| format!("option {name}: missing: {what} is accepted"))
        };
        match name.as_str() {
            "-n" | "-np" => run.processes = Some(processes(&value("a number of processes")?)?),
            "--hosts" | "--hostfile" => run.hosts = Some(value("the name of a file")?.into()),
            "--nodes" => run.nodes = Some(plain("--nodes", value("what HETMP_NODES takes")?)?),
            "--dsm" if bare => run.dsm = true,
            "--prefix" if bare => run.prefix = true,
            "-x" => {
                let assignment = value("NAME or NAME=VALUE")?;
                run.variables.push(variable(&assignment)?);
            }
            "--ssh" => run.ssh = Some(plain("--ssh", value("a command")?)?),
            "--remote" => run.remote = Some(value("a path")?.into()),
            "--host-timeout" => {
                run.host_timeout = Some(seconds(&value("a number of seconds")?)?);
            }
            "--who" if bare => return Ok(Command::Who),
            "--agent" if bare => return Ok(Command::Agent),
            "--version" | "-V" if bare => return Ok(Command::Version),
            "--help" | "-h" if bare => return Ok(Command::Help),
            "--" => {
                run.program.extend(arguments);
                break;
            }
            _ => {
                return Err(format!(
                    "option {text}: -n, --hosts, --dsm, --nodes, --prefix, -x, --ssh, --remote, --who, \
                     --version and --help are accepted"
                ))
            }
        }
    }
    if run.program.is_empty() {
        return Err("program (missing): the name of a program is accepted".to_owned());
    }
    if run.processes.is_none() && run.hosts.is_none() {
        return Err("option -n: missing: a number of processes is accepted".to_owned());
    }
    let other = run.nodes.as_deref().filter(|n| dsm::split(n).is_none());
    if let (true, Some(nodes)) = (run.dsm, other) {
        return Err(format!(
            "option --nodes {nodes}: with --dsm, each process is a node: dsm:N;speed=S;... with a speed for each is accepted"
        ));
    }
    Ok(Command::Run(Box::new(run)))
}

fn processes(value: &OsStr) -> Result<u32, String> {
    value
        .to_str()
        .and_then(|text| text.parse().ok())
        .filter(|n| (1..=MOST).contains(n))
        .ok_or_else(|| {
            format!(
                "option -n {}: 1 to {MOST} processes are accepted",
                value.to_string_lossy()
            )
        })
}

fn plain(option: &str, value: OsString) -> Result<String, String> {
    value
        .into_string()
        .map_err(|value| format!("option {option} {value:?}: UTF-8 is accepted"))
}

fn variable(assignment: &OsStr) -> Result<(OsString, Option<OsString>), String> {
    use std::os::unix::ffi::OsStrExt as _;
    let bytes = assignment.as_bytes();
    let (name, value) = match bytes.iter().position(|&b| b == b'=') {
        Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
        None => (bytes, None),
    };
    if name.is_empty() {
        return Err(format!(
            "option -x {}: NAME or NAME=VALUE is accepted",
            assignment.to_string_lossy()
        ));
    }
    let own = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
    Ok((own(name), value.map(own)))
}

#[cfg(test)]
mod tests {
    use super::{parse, Command};
    use std::ffi::OsString;

    fn of(words: &[&str]) -> Result<Command, String> {
        parse(words.iter().map(OsString::from))
    }

    #[test]
    fn options_end_at_the_program() {
        let Ok(Command::Run(run)) = of(&[
            "-n", "3", "--prefix", "-x", "A=b=c", "-x", "D", "prog", "-n", "7", "--help",
        ]) else {
            panic!();
        };
        assert_eq!(run.processes, Some(3));
        assert!(run.prefix);
        assert_eq!(run.program, ["prog", "-n", "7", "--help"]);
        assert_eq!(run.variables[0], ("A".into(), Some("b=c".into())));
        assert_eq!(run.variables[1], ("D".into(), None));
        let Ok(Command::Run(run)) = of(&["--hosts=f", "--", "-prog"]) else {
            panic!();
        };
        assert_eq!(run.program, ["-prog"]);
        assert_eq!(of(&["--who"]), Ok(Command::Who));
    }

    #[test]
    fn mistakes_cost_one_line() {
        for (words, line) in [
            (
                &["-n", "0", "p"][..],
                "option -n 0: 1 to 4096 processes are accepted",
            ),
            (
                &["-n", "x", "p"],
                "option -n x: 1 to 4096 processes are accepted",
            ),
            (
                &["-n"],
                "option -n: missing: a number of processes is accepted",
            ),
            (
                &["-n", "2"],
                "program (missing): the name of a program is accepted",
            ),
            (
                &["p"],
                "option -n: missing: a number of processes is accepted",
            ),
            (
                &["-n", "2", "--dsm", "--nodes", "2", "p"],
                "option --nodes 2: with --dsm, each process is a node: dsm:N;speed=S;... with a speed for each is accepted",
            ),
            (
                &["-x", "=1", "p"],
                "option -x =1: NAME or NAME=VALUE is accepted",
            ),
        ] {
            assert_eq!(of(words).unwrap_err(), line);
        }
        let text = of(&["--frobnicate", "p"]).unwrap_err();
        assert!(
            text.starts_with("option --frobnicate: -n, --hosts, --dsm,"),
            "{text}"
        );
        assert!(of(&["--prefix=1", "p"])
            .unwrap_err()
            .starts_with("option --prefix=1: "));
    }
}
