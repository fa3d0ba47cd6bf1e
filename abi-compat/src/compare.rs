//! Comparing a program's run with the same run under libgomp.

use crate::case::{Binary, Case, Setting};
use crate::exec::{Ending, Outcome};
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::Path;

/// The program's output under libgomp. It is kept in a file next to the binary: later
/// test runs do not run libgomp again, which halves their time.
///
/// # Errors
/// The program could not be run, or did not end as its header says.
pub fn reference(
    case: &Case,
    binary: &Binary,
    setting: &Setting,
    remember: bool,
) -> Result<Vec<u8>, String> {
    let mut hasher = DefaultHasher::new();
    setting.to_string().hash(&mut hasher);
    let file = binary
        .dir
        .join(format!("reference-{:016x}", hasher.finish()));
    let made = |p: &Path| p.metadata().and_then(|m| m.modified()).ok();
    if remember && made(&file) > made(&binary.path) {
        if let Ok(text) = fs::read(&file) {
            return Ok(text);
        }
    }
    let out = patient(case, binary, setting)?;
    fs::write(&file, &out.stdout).map_err(|e| format!("file {}: {e}", file.display()))?;
    Ok(out.stdout)
}

/// Attempts under libgomp before its failure counts.
const TRIES: u32 = 3;

/// Runs the program under libgomp. libgomp has rare races of its own, which must not fail our tests: a run that
/// crashes or hangs is repeated. Runs under libhetmp.so are never repeated.
fn patient(case: &Case, binary: &Binary, setting: &Setting) -> Result<Outcome, String> {
    let mut tries = 1;
    loop {
        let out = case.run(binary, setting, &[])?;
        match check_ending(case, setting, "libgomp", &out) {
            Ok(()) => return Ok(out),
            Err(why) if tries == TRIES => return Err(why),
            Err(why) => eprintln!("libgomp is run again: {why}"),
        }
        tries += 1;
    }
}

/// Checks that the program ended as its header says.
///
/// # Errors
/// How the program ended instead, and the end of its output.
pub fn check_ending(
    case: &Case,
    setting: &Setting,
    how: &str,
    out: &Outcome,
) -> Result<(), String> {
    if out.ending == Ending::Exit(case.exit) {
        return Ok(());
    }
    Err(format!(
        "{} with {setting} through {how}: {} after {:.1} s, exit {} expected\n{}{}",
        case.name,
        out.ending,
        out.seconds,
        case.exit,
        tail(&out.stdout),
        tail(&out.stderr)
    ))
}

/// The first line in which two outputs differ.
pub fn difference(expected: &[u8], seen: &[u8]) -> String {
    let expected = String::from_utf8_lossy(expected);
    let seen = String::from_utf8_lossy(seen);
    let (mut e, mut s) = (expected.lines(), seen.lines());
    let mut number = 1;
    loop {
        match (e.next(), s.next()) {
            (Some(a), Some(b)) if a == b => number += 1,
            (None, None) => return "outputs differ in line ends only".to_owned(),
            (a, b) => {
                let text = |l: Option<&str>| l.map_or("nothing".to_owned(), |l| format!("`{l}`"));
                return format!("line {number}: {} expected, {} seen", text(a), text(b));
            }
        }
    }
}

/// The last lines of an output, indented.
pub fn tail(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(10)..]
        .iter()
        .map(|l| format!("    {l}\n"))
        .collect()
}
