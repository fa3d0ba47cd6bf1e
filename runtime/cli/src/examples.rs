//! What the help text and the man page of each command end with: examples, and what its exit status says.

/// A command's words behind `hetmp`, what is said before the examples, the examples, and the exit status where it is
/// not [`USUAL`].
type Row = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static str,
);

const USUAL: &str = "0; 1 if something cannot be had or written; 2 for bad options and files.";

const ROWS: &[Row] = &[
    (
        "",
        "",
        &[
            "hetmp compare ./a.out",
            "hetmp run --report ./a.out",
            "hetmp info",
        ],
        "",
    ),
    (
        "calibrate",
        "",
        &[
            "hetmp calibrate --out machine.toml && HETMP_CALIBRATION=machine.toml hetmp run ./a.out",
            "hetmp calibrate --nodes dsm:2 --over tcp --svg link.svg",
        ],
        "",
    ),
    (
        "calibrate goal",
        "",
        &["hetrun -n 4 hetmp calibrate goal"],
        "",
    ),
    (
        "compare",
        "Each run reads nothing (or --input) and its output is not shown, but compared. Ratios are medians over the \
         rounds, each run over the first row's run of the same round. Row hetmp has the program's own schedules. Where \
         HETMP_NODES slows nodes down, the program's own runtime is left out: it would not be slowed.",
        &[
            "hetmp compare ./a.out",
            "hetmp compare -n 11 --schedule hetprobe ./lulesh -s 16 -i 60",
            "hetmp compare --nodes 'cores=0;cores=1,speed=0.5' ./a.out",
        ],
        "0; 1 if a run ended otherwise than the first one; 2 for bad options; 126 or 127 if the program cannot be run \
         or found.",
    ),
    (
        "completions",
        "",
        &["hetmp completions bash >~/.local/share/bash-completion/completions/hetmp"],
        "",
    ),
    (
        "goal",
        "",
        &["hetmp goal check job.goal", "hetmp goal --help"],
        "",
    ),
    (
        "goal check",
        "",
        &["hetmp goal check job.goal", "hetmp goal check --chunk 1024 allreduce.xml"],
        "0; 1 if something is wrong with the job; 2 for bad options and files.",
    ),
    (
        "goal compile",
        "",
        &["hetmp goal compile --rank 1 -o rank-1.bin job.goal"],
        "",
    ),
    ("goal show", "", &["hetmp goal show rank-1.bin"], ""),
    (
        "goal plot",
        "",
        &["hetmp goal plot --format svg job.goal >job.svg"],
        "",
    ),
    (
        "goal import",
        "",
        &["hetmp goal import allreduce.xml >job.goal"],
        "",
    ),
    (
        "goal run",
        "",
        &["hetrun -n 4 hetmp goal run --svg timeline.svg job.goal"],
        "",
    ),
    (
        "info",
        "",
        &[
            "hetmp info",
            "hetmp info --env",
            "HETMP_NODES='cores=0;cores=1,speed=0.5' hetmp info --svg machine.svg",
        ],
        "",
    ),
    ("man", "", &["hetmp man ~/.local/share/man/man1"], ""),
    (
        "prepare",
        "The runtime reads a region's code when it first opens, on unlike nodes, and keeps what it finds in the folder \
         of HETMP_CACHE [default: $XDG_CACHE_HOME/hetmp or ~/.cache/hetmp]. This does it for all regions at once. A \
         program that is built anew is another one.",
        &["hetmp prepare ./a.out", "hetmp prepare --python .venv/bin/python numpy"],
        "",
    ),
    (
        "report",
        "",
        &[
            "HETMP_REPORT=r.json hetmp run ./a.out && hetmp report r.json",
            "hetmp report --top 10 --html page.html --trace t.json r.json",
            "hetmp report --words",
        ],
        "",
    ),
    (
        "run",
        "hetmp becomes the program: the same process, signals and exit status. With --report, --html or --profile it \
         stays next to the program, passes signals on, and ends as the program ended. Variables that are set already \
         apply where no option says otherwise. What is read in the program's code is kept for later runs; hetmp \
         prepare reads it beforehand.",
        &[
            "hetmp run ./a.out",
            "hetmp run --report --schedule hetprobe ./a.out",
            "hetmp run --nodes 'cores=0;cores=1,speed=0.5' --html page.html --trace t.json ./a.out",
        ],
        "the program's; 2 for bad options, 126 or 127 if the program cannot be run or found.",
    ),
    (
        "simulate",
        "",
        &[
            "hetmp simulate --paper",
            "hetmp simulate --platform pe-laptop --workload all --others",
            "hetmp simulate --show pe-laptop >mine.toml && hetmp simulate --platform ./mine.toml",
        ],
        "",
    ),
    (
        "which",
        "A program is looked at with the libraries that it names, and a Python package with those of the packages that \
         it requires. What is opened at run time by name (plugins) is not seen: name such files too. Where a name \
         means both, it is the package if --python was given (python -m hetmp which does) or the program is a script.",
        &[
            "hetmp which ./a.out",
            "hetmp which --python .venv/bin/python scikit-learn",
        ],
        "",
    ),
];

/// The command and those below it, with their rows. `path`: the words that lead to it.
pub(crate) fn with(command: clap::Command, path: &str) -> clap::Command {
    let row = ROWS.iter().find(|row| row.0 == path);
    let command = match row {
        Some((_, about, examples, status)) => command.after_help(text(about, examples, status)),
        None => command,
    };
    let below = |path: &str, name: &str| format!("{path} {name}").trim_start().to_owned();
    let path = path.to_owned();
    command.mut_subcommands(move |command| {
        let path = below(&path, command.get_name());
        with(command, &path)
    })
}

fn text(about: &str, examples: &[&str], status: &str) -> String {
    let status = if status.is_empty() { USUAL } else { status };
    let gap = if about.is_empty() { "" } else { "\n\n" };
    let examples: String = examples.iter().map(|e| format!("  {e}\n")).collect();
    format!("{about}{gap}Examples:\n{examples}\nExit status: {status}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each example is parsed by the command that it is one of.
    fn check(command: &clap::Command, path: &str, whole: &clap::Command, rows: &mut usize) {
        let row = ROWS.iter().find(|row| row.0 == path);
        let (_, _, examples, _) = row.unwrap_or_else(|| panic!("hetmp {path}: no examples"));
        *rows += 1;
        for example in *examples {
            let words = example.split_once("hetmp ").expect(example).1;
            let words = words
                .split([' '])
                .take_while(|w| !w.starts_with(['>', '&']));
            let all: Vec<&str> = ["hetmp"].into_iter().chain(words).collect();
            let parsed = whole.clone().try_get_matches_from(all);
            let help = |e: &clap::Error| e.kind() == clap::error::ErrorKind::DisplayHelp;
            assert!(
                parsed.as_ref().err().is_none_or(help),
                "{example}: {parsed:?}"
            );
        }
        for below in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            let path = format!("{path} {}", below.get_name());
            check(below, path.trim_start(), whole, rows);
        }
    }

    #[test]
    fn each_command_has_examples_that_it_understands() {
        let (whole, mut rows) = (crate::command(), 0);
        check(&whole, "", &whole, &mut rows);
        assert_eq!(rows, ROWS.len());
    }
}
