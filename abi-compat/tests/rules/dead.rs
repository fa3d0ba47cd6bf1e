//! No item that is public in its crate, or beyond it, stands there unused: the compiler does not look for users in
//! other crates, and takes each `pub` for used.
//!
//! An item is used if its name is a word of any source's code a second time, tests included. So what shares its name
//! with another is not found.

use hetmp_sched::ways::Reason;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// All Rust sources below `folder`, with their paths.
fn sources(folder: &Path, into: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).expect("a source");
            into.push((path.display().to_string(), text));
        }
    }
}

/// The words of a line's code.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or("");
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// The name of the public item that a line begins.
fn public(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.strip_prefix("pub ").or_else(|| {
        let (_, rest) = line.strip_prefix("pub(")?.split_once(") ")?;
        Some(rest)
    })?;
    let mut words = rest.split([' ', '(', '<', ':', ';', '!']);
    let mut kind = words.next()?;
    let mut name = words.next()?;
    while matches!(kind, "const" | "unsafe") && matches!(name, "unsafe" | "fn") {
        (kind, name) = (name, words.next()?);
    }
    let is_item = matches!(
        kind,
        "fn" | "const" | "static" | "struct" | "enum" | "type" | "trait"
    );
    is_item.then_some(name)
}

fn all() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut all = Vec::new();
    for folder in ["runtime", "abi-compat"] {
        sources(&root.join(folder), &mut all);
    }
    assert!(all.len() > 900, "{} files: the walk went astray", all.len());
    all
}

/// A row of the table of variables is a promise: some code of the libraries and commands asks for that name, or for
/// that name without what stands before and behind its `_`, as the families of variables are read.
#[test]
fn each_variable_of_ours_is_read() {
    let all = all();
    let reads = |name: &str| {
        all.iter().any(|(path, text)| {
            let reader = path.contains("/../runtime/") && !path.contains("/core/src/env/");
            let code = text.split("\nmod tests {").next().unwrap_or("");
            reader
                && code
                    .lines()
                    .filter_map(|l| l.split("//").next())
                    .any(|l| l.contains('"') && words(l).any(|word| word == name))
        })
    };
    let rows = hetmp_core::env::TABLE.iter();
    let ours = rows.filter(|v| v.family == hetmp_core::env::Family::Hetmp);
    let dead: Vec<&str> = ours.map(|v| v.name).filter(|name| !reads(name)).collect();
    assert!(dead.is_empty(), "no code reads {dead:?}");
}

/// So is a row of the table of reasons: something finds it.
#[test]
fn each_reason_is_found() {
    let all = all();
    let finds = |variant: &str| {
        all.iter().any(|(path, text)| {
            let finder = path.contains("/../runtime/") && !path.ends_with("/sched/src/ways.rs");
            finder && text.contains(&format!("Reason::{variant}"))
        })
    };
    let variants = Reason::ALL.iter().map(|reason| format!("{reason:?}"));
    let dead: Vec<String> = variants.filter(|variant| !finds(variant)).collect();
    assert!(dead.is_empty(), "no code finds {dead:?}");
}

#[test]
fn what_is_public_has_a_user() {
    let all = all();
    let mut count: BTreeMap<&str, u32> = BTreeMap::new();
    for word in all
        .iter()
        .flat_map(|(_, text)| text.lines())
        .flat_map(words)
    {
        *count.entry(word).or_default() += 1;
    }
    let mut dead = String::new();
    for (path, text) in &all {
        // What programs call from outside is in `abi`.
        if path.contains("/../runtime/abi/") || !path.contains("/../runtime/") {
            continue;
        }
        for (i, line) in text.lines().enumerate() {
            if let Some(name) = public(line).filter(|name| count.get(name) == Some(&1)) {
                dead += &format!("{path}:{}: {name}: nothing names it\n", i + 1);
            }
        }
    }
    assert!(dead.is_empty(), "{dead}");
}

#[test]
fn public_items_are_seen() {
    for (line, name) in [
        ("pub fn a(&self) {", Some("a")),
        ("    pub(crate) const fn b<T>() {", Some("b")),
        ("pub(super) const C: u8 = 0;", Some("C")),
        ("pub unsafe fn d() {", Some("d")),
        ("pub struct E;", Some("E")),
        ("pub mod f;", None),
        ("pub use g::h;", None),
        ("    pub field: u8,", None),
        ("fn private() {", None),
    ] {
        assert_eq!(public(line), name, "{line}");
    }
}
