//! The profile that `hetmp run --profile` shows: where the threads of the program were, and where they waited.
//!
//! * [`sums`] adds up what the library has written for each thread (`hetmp_profile::read`).
//! * [`table`] prints the text, [`mod@json`] the file that `--profile=FILE` keeps.
//!
//! **Data in**: the files of a folder, one for each process that used OpenMP. **Data out**: text.

mod json;
mod sums;
mod table;

use crate::source::{Place, Source, Sources};
use hetmp_profile::read::{self, Profile};
use std::path::Path;

/// One process that used OpenMP, with source lines.
pub(crate) struct Process {
    program: String,
    pid: u32,
    /// `exit`, `exit status N`, `signal N`, or `running`: without a word.
    ending: String,
    /// From the program's start, or from its first use of OpenMP where the start is not known, to its end, nanoseconds.
    elapsed: u64,
    from_start: bool,
    sums: sums::Process,
}

/// The process that was started: its number, when it was started and when it had ended on the monotonic clock,
/// nanoseconds, and how it ended.
pub(crate) struct Child {
    pub(crate) pid: u32,
    pub(crate) started: u64,
    pub(crate) ended: u64,
    pub(crate) ending: String,
}

/// The processes whose files are in `folder`, in the order in which they began. The errors are lines.
pub(crate) fn processes(folder: &Path, child: &Child) -> (Vec<Process>, Vec<String>) {
    let mut errors = Vec::new();
    let mut found: Vec<Profile> = Vec::new();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.extension().is_some_and(|e| e == "times") {
            match read::read(&path, child.ended) {
                Ok(profile) => found.push(profile),
                Err(error) => errors.push(format!("profile {}: {error}", path.display())),
            }
        }
    }
    found.sort_by_key(|profile| profile.started);
    let mut sources = Sources::default();
    let all = (0..found.len()).map(|i| process(&found[i], &found[i + 1..], child, &mut sources));
    (all.collect(), errors)
}

/// `later`: the processes that used OpenMP after this one did.
fn process(profile: &Profile, later: &[Profile], child: &Child, sources: &mut Sources) -> Process {
    // A process that executed another program goes on under the same number.
    let executed = later.iter().find(|other| other.pid == profile.pid);
    let is_child = profile.pid == child.pid;
    let ended = match executed {
        Some(next) => next.started,
        None => profile.ended.unwrap_or(child.ended),
    };
    let ending = match (executed, profile.ended) {
        (Some(_), _) => "executing another program".to_owned(),
        (None, _) if is_child => child.ending.clone(),
        (None, Some(_)) => "exit".to_owned(),
        (None, None) => "running".to_owned(),
    };
    let started = if is_child {
        child.started
    } else {
        profile.started
    };
    Process {
        program: profile.program.display().to_string(),
        pid: profile.pid,
        ending,
        elapsed: ended.saturating_sub(started),
        from_start: is_child,
        sums: sums::of(profile, &mut |place| find(sources, place)),
    }
}

fn find(sources: &mut Sources, place: Option<&read::Place>) -> Source {
    let Some(place) = place else {
        return Source::default();
    };
    let place = Place {
        region: String::new(),
        module: place.path.to_str().map(str::to_owned),
        build_id: Some(place.build_id.clone()).filter(|id| !id.is_empty()),
        offset: place.offset,
        symbol: None,
    };
    sources.find(&place, true)
}

/// The tables of all processes.
pub(crate) fn text(all: &[Process]) -> String {
    let tables: Vec<String> = all.iter().map(table::text).collect();
    tables.join("\n")
}

/// All processes as JSON.
pub(crate) fn json(all: &[Process]) -> String {
    format!("{:#}\n", json::of(all))
}
