//! Man pages and shell completions: made from the commands' own definitions, so that they cannot say
//! something else.

use crate::Output;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ValueHint};
use options::{Group, Means, Row, ROWS};
use std::path::{Path, PathBuf};

#[path = "hetrun/options.rs"]
mod options;

#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell
    shell: clap_complete::Shell,
    /// The command that is completed
    #[arg(default_value = "hetmp")]
    command: Completed,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Completed {
    Hetmp,
    Hetrun,
    Oshrun,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Man {
    /// The folder, usually .../share/man/man1; it is made if it is not there
    folder: PathBuf,
}

/// The script that a shell reads for completion.
pub(crate) fn completions(arguments: &Completions, mut command: clap::Command) -> Output {
    let mut script = Vec::new();
    let name = match arguments.command {
        Completed::Hetmp => "hetmp",
        Completed::Hetrun => "hetrun",
        Completed::Oshrun => "oshrun",
    };
    command = match arguments.command {
        Completed::Hetmp => with_values(command),
        Completed::Hetrun | Completed::Oshrun => launcher(),
    };
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    Output {
        text: String::from_utf8_lossy(&script).into_owned(),
        ..Output::default()
    }
}

/// What shells offer for an option's value. The option may take more: a schedule has numbers behind its name.
fn with_values(command: clap::Command) -> clap::Command {
    let offer = |arg: Arg| {
        let value = arg.get_value_names().and_then(|names| names.first());
        let value = value.map_or("", |name| name.as_str()).to_owned();
        let words = match value.as_str() {
            "SCHEDULE" => hetmp_sched::schedule::TABLE
                .iter()
                .map(|row| row.word)
                .collect(),
            "WORD" => vec!["time", "energy", "edp"],
            "NODES" => vec!["dsm:2"],
            _ => crate::simulate::names(arg.get_id().as_str()),
        };
        match value.as_str() {
            _ if !words.is_empty() => arg.value_parser(PossibleValuesParser::new(words)),
            "FILE" => arg.value_hint(ValueHint::FilePath),
            "PROGRAM" => arg.value_hint(ValueHint::CommandWithArguments),
            _ => arg,
        }
    };
    command.mut_args(offer).mut_subcommands(with_values)
}

/// Writes the pages.
pub(crate) fn man(arguments: &Man, command: clap::Command) -> Output {
    match write(&arguments.folder, command) {
        Ok(text) => Output {
            text,
            ..Output::default()
        },
        Err(line) => Output {
            errors: vec![line],
            ..Output::default()
        },
    }
}

fn write(folder: &Path, command: clap::Command) -> Result<String, String> {
    let refuse = |path: &Path, error: std::io::Error| {
        format!(
            "{}: {error} (expected a folder that can be written)",
            path.display()
        )
    };
    std::fs::create_dir_all(folder).map_err(|error| refuse(folder, error))?;
    for (name, page) in [
        ("hetrun.1", hetrun(&command)),
        ("oshrun.1", b".so man1/hetrun.1\n".to_vec()),
    ] {
        let path = folder.join(name);
        hetmp_core::file::put(&path, &page).map_err(|error| refuse(&path, error))?;
    }
    // A page for each subcommand: hetmp-run.1, hetmp-goal-check.1, ...
    clap_mangen::generate_to(command.disable_help_subcommand(true), folder)
        .map_err(|error| refuse(folder, error))?;
    Ok(String::new())
}

/// hetrun parses its command line itself. This is a description of its table of options, for shells.
fn launcher() -> clap::Command {
    let command = clap::Command::new("hetrun")
        .disable_help_flag(true)
        .disable_version_flag(true);
    let option = |row: &Row| {
        let count = row.values.split(' ').filter(|v| !v.is_empty()).count();
        let mut option = Arg::new(row.names[0]).help(row.help);
        for name in row.names {
            option = match name.chars().next().filter(|_| name.len() == 1) {
                Some(letter) if option.get_short().is_none() => option.short(letter),
                Some(letter) => option.visible_short_alias(letter),
                None if option.get_long().is_none() => option.long(*name),
                None => option.visible_alias(*name),
            };
        }
        match (row.means, count) {
            (_, 0) => option.action(ArgAction::SetTrue),
            (Means::HostsFile | Means::Remote, _) => option.value_hint(ValueHint::FilePath),
            (Means::Folder, _) => option.value_hint(ValueHint::DirPath),
            (_, count) => option.num_args(count),
        }
    };
    let shown = ROWS.iter().filter(|row| row.means.group() != Group::Hidden);
    let program = Arg::new("program").num_args(1..).trailing_var_arg(true);
    command
        .args(shown.map(option))
        .arg(program.value_hint(ValueHint::CommandWithArguments))
}

/// hetrun's page is its help text.
fn hetrun(command: &clap::Command) -> Vec<u8> {
    let version = command.get_version().unwrap_or_default();
    let help = options::help();
    let (synopsis, rest) = help.split_once("\n\n").unwrap_or((&help, ""));
    let synopsis = synopsis
        .replacen("usage: ", "", 1)
        .replace("\n       ", "\n");
    format!(
        ".TH hetrun 1 \"\" \"hetmp {version}\"\n.SH NAME\nhetrun, oshrun \\- start the processes of a job\n\
         .SH SYNOPSIS\n.nf\n{}.fi\n.SH DESCRIPTION\n.nf\n{}.fi\n",
        literally(&synopsis),
        literally(rest)
    )
    .into_bytes()
}

/// Lines of text for the formatter: no line begins with a request, and hyphens stay hyphens.
fn literally(text: &str) -> String {
    text.lines()
        .map(|line| {
            let line = line.replace('\\', "\\e").replace('-', "\\-");
            let guard = if line.starts_with(['.', '\'']) {
                "\\&"
            } else {
                ""
            };
            format!("{guard}{line}\n")
        })
        .collect()
}
