//! `hetmp prepare`: reads the code of all regions beforehand, and keeps what it finds where the runtime looks for it.

use super::{regions, Found, Targets};
use crate::progress::Progress;
use crate::Output;
use hetmp_core::file::Folder;
use hetmp_scan::kept::{Readings, LARGEST};
use std::fmt::Write as _;

#[derive(Debug, clap::Args)]
#[command(args_override_self = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    targets: Targets,
}

pub(crate) fn run(arguments: &Arguments) -> Output {
    match prepare(arguments) {
        Ok(text) => Output {
            text,
            ..Output::default()
        },
        Err(error) => Output::refuse(error),
    }
}

fn prepare(arguments: &Arguments) -> Result<String, String> {
    let folder = Folder::of_caches()?;
    let none = "HETMP_CACHE: there is no folder for caches (expected HOME or HETMP_CACHE with a folder's name)";
    let folder = folder.ok_or(none)?;
    let process = super::process(&arguments.targets, &mut Found::default())?;
    let mut out = String::new();
    let progress = Progress::new(process.files.len());
    for (i, file) in process.files.iter().enumerate() {
        let part = &file.part;
        if part.is.is_some() || part.asks.is_empty() {
            continue;
        }
        let path = part.path.display();
        progress.at(i, &path.to_string());
        let Some((mut readings, reached)) = regions::read(part) else {
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "{path}: not prepared (no code for x86-64, or too large without a build-id)"
            );
            continue;
        };
        let name = readings.identity().name();
        // What executions have taught stays.
        let old = folder.read(&name, LARGEST as u64).ok().flatten();
        let old = old.and_then(|old| Readings::parse(&old, readings.identity().clone()).ok());
        readings.taught = old.map_or(String::new(), |old| old.taught);
        folder.put(&name, &readings.bytes()).map_err(|error| {
            let folder = folder.path().display();
            format!("HETMP_CACHE: '{folder}': {error} (expected a folder of your own that can be written to)")
        })?;
        let _ = writeln!(
            out,
            "{path}: {} regions, {reached} reached by the schedules",
            readings.len()
        );
    }
    if out.is_empty() {
        let _ = writeln!(
            out,
            "{} files, and none of them uses OpenMP",
            process.files.len()
        );
    }
    Ok(out)
}
