//! Man pages and shell completions: made from the commands' own definitions, so that they cannot say
//! something else.

use crate::Output;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Man {
    /// The folder, usually .../share/man/man1; it is made if it is not there
    folder: PathBuf,
}

/// What hetrun prints for `--help`.
const HETRUN: &str = include_str!("hetrun/help.txt");

/// The script that a shell reads for completion.
pub(crate) fn completions(arguments: &Completions, mut command: clap::Command) -> Output {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "hetmp", &mut script);
    Output {
        text: String::from_utf8_lossy(&script).into_owned(),
        ..Output::default()
    }
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
            "{}: {error}: a folder that can be written is accepted",
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

/// hetrun parses its command line itself. Its help text describes it.
fn hetrun(command: &clap::Command) -> Vec<u8> {
    let version = command.get_version().unwrap_or_default();
    let (synopsis, rest) = HETRUN.split_once("\n\n").unwrap_or((HETRUN, ""));
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
