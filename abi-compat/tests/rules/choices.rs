//! Choices: the numbers that say when, how much and how often the judge does something. There may be fewer of them, and
//! no more: who needs a new one finds one that it replaces, and has the experiment that sets it next to it.
//!
//! A constant is no choice if others must agree on it (a code), or if it only bounds memory, or work on what is damaged
//! (a room). `choices.txt` names those; every other number counts, written out in code, too. The lines of the
//! files that decide are counted as well.

use hetmp_abi_compat::library;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Lower it with each one that goes.
const MOST: usize = 60;

/// Lines of code, without tests, comments and empty ones, of the files that decide. Lower it with each one that goes.
/// The aim is 3500.
const MOST_LINES: usize = 5665;

/// The files that decide, and the folders next to them, without their ends. (The words for ways and reasons, in
/// `sched/ways`, decide nothing.)
const POLICY: [&str; 34] = [
    "omp/across/admit",
    "omp/across/divide",
    "omp/across/early",
    "omp/across/first",
    "omp/across/weigh",
    "omp/unlike/het/choose",
    "omp/unlike/het/settled",
    "omp/unlike/modes",
    "omp/unlike/virtual_team/announce",
    "omp/unlike/virtual_team/disturbance",
    "omp/unlike/virtual_team/even",
    "omp/unlike/virtual_team/fit",
    "omp/unlike/virtual_team/ledger",
    "omp/unlike/virtual_team/plan",
    "omp/unlike/virtual_team/regions",
    "omp/unlike/virtual_team/unasked",
    "omp/unlike/virtual_team/watchdog",
    "sched/cache",
    "sched/crossing",
    "sched/deal",
    "sched/decide",
    "sched/decision",
    "sched/energy",
    "sched/even",
    "sched/fixed",
    "sched/gain",
    "sched/irregular/cold",
    "sched/irregular/jumps",
    "sched/irregular/map",
    "sched/irregular/measured",
    "sched/irregular/period",
    "sched/limits",
    "sched/probe",
    "sched/watch",
];

const FOLDERS: [&str; 3] = ["sched/src", "omp/src/unlike", "omp/src/across"];

/// Numbers that change units, halve, or say nothing.
const PLAIN: [&str; 9] = [
    "0.0", "0.5", "1.0", "2.0", "100.0", "1000.0", "1e3", "1e6", "1e9",
];

/// The name of the constant that this line defines, if it is a number.
fn constant(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("const ")?;
    let (name, after) = after.split_once(": ")?;
    let kind = after.split(" = ").next()?;
    let is_number = ["f64", "u8", "u16", "u32", "u64", "usize", "i32", "i64"].contains(&kind);
    let visible = before.trim().is_empty() || before.trim().starts_with("pub");
    (visible && (is_number || kind.starts_with("(f64"))).then_some(name)
}

/// The numbers with a point or an exponent that are written out in this line.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    let words = line.split(move |c| !is_part(c));
    words.filter(|word| {
        let number = word.replace('_', "");
        let is_float = number.starts_with(|c: char| c.is_ascii_digit())
            && number.contains(['.', 'e'])
            && number.parse::<f64>().is_ok();
        is_float && !PLAIN.contains(&number.as_str())
    })
}

/// What the code of a file says, without comments and tests.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let text = text.split("\nmod tests {").next().unwrap_or("");
    text.lines()
        .map(|line| line.split("//").next().unwrap_or(""))
}

/// What is found in a file: its numbers, and how many lines of code it has.
type Found = BTreeMap<String, (Vec<String>, usize)>;

fn visit(folder: &Path, found: &mut Found) {
    let root = library::root().join("runtime");
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        if path.is_dir() {
            visit(&path, found);
            continue;
        }
        // `crossing/whole.rs` is a file of tests.
        if !name.ends_with(".rs") || ["tests.rs", "whole.rs"].contains(&name) {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source");
        let shown = path.strip_prefix(&root).expect("below the root").display();
        let all = found
            .entry(shown.to_string().replacen("/src/", "/", 1))
            .or_default();
        for line in code(&text) {
            all.1 += usize::from(!line.trim().is_empty());
            match constant(line) {
                Some(name) => all.0.push(name.to_owned()),
                None => all.0.extend(literals(line).map(str::to_owned)),
            }
        }
    }
}

fn found() -> Found {
    let mut found = Found::new();
    for folder in FOLDERS {
        visit(&library::root().join("runtime").join(folder), &mut found);
    }
    found
}

#[test]
fn choices_do_not_grow() {
    let list = library::root().join("abi-compat/tests/choices.txt");
    let list = fs::read_to_string(list).expect("the list");
    let mut other = BTreeSet::new();
    for line in list.lines().filter(|l| !l.starts_with('#')) {
        let mut words = line.split(' ');
        let file = words.next().unwrap_or_default();
        other.extend(words.map(|name| format!("{file} {name}")));
    }
    let found = found();
    let all = found
        .iter()
        .flat_map(|(file, (names, _))| names.iter().map(move |name| format!("{file} {name}")));
    let (others, choices): (Vec<String>, Vec<String>) = all.partition(|name| other.contains(name));
    let gone: Vec<&String> = other.iter().filter(|name| !others.contains(name)).collect();
    assert!(
        gone.is_empty(),
        "in choices.txt, but not in the code: {gone:?}"
    );
    assert!(
        choices.len() <= MOST,
        "{} numbers that are choices (expected at most {MOST}: let one of these serve, or compute it from what was \
         measured; codes and rooms stand in choices.txt):\n{}",
        choices.len(),
        choices.join("\n")
    );
}

#[test]
fn policy_does_not_grow() {
    let of = |part: &str| {
        let is_its = |file: &str| {
            let rest = file.strip_prefix(part);
            rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        let its: Vec<usize> = (found().iter())
            .filter(|(file, _)| is_its(file))
            .map(|(_, (_, lines))| *lines)
            .collect();
        assert!(!its.is_empty(), "{part}: no such file");
        its.iter().sum::<usize>()
    };
    let mut parts: Vec<(usize, &str)> = POLICY.iter().map(|part| (of(part), *part)).collect();
    let all: usize = parts.iter().map(|(lines, _)| lines).sum();
    parts.sort_unstable_by(|a, b| b.cmp(a));
    assert!(
        all <= MOST_LINES,
        "{all} lines of code in the files of POLICY, which decide where iterations run (expected at most \
         {MOST_LINES}). Comments, tests and empty lines do not count, nor do other files: move out what computes \
         without deciding, or take {} lines from the largest: {:?}",
        all - MOST_LINES,
        &parts[..5]
    );
}

#[test]
fn numbers_are_found() {
    assert_eq!(
        constant("    pub(super) const LONG_NS: f64 = 2e6;"),
        Some("LONG_NS")
    );
    assert_eq!(constant("const ALL: &str = \"0.7\";"), None);
    let line = "x.max(5_000.0) * 0.25 + 1.0 + self.0.len() as f64 + 1e-9";
    assert_eq!(literals(line).collect::<Vec<_>>(), ["5_000.0", "0.25"]);
}
