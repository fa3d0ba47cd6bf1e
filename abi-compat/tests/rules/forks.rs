//! What the first user of something makes while another thread forks is half made in the child for ever. So crates that
//! are loaded into programs make such things within a stretch (`hetmp_core::whole`), and by no other type.

use hetmp_abi_compat::library;
use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

/// Does this line name a type of others that waits for the first user?
fn waits(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or("");
    let words = || code.split(|c: char| !c.is_alphanumeric() && c != '_');
    let of_std = code.contains("std::sync");
    words().any(|w| {
        ["LazyLock", "lazy_static"].contains(&w) || of_std && ["OnceLock", "Once"].contains(&w)
    }) || code.contains("once_cell::sync")
}

#[test]
fn first_uses_are_within_stretches() {
    let mut all = Vec::new();
    for name in ["core", "omp", "sched", "scan", "abi", "allocator"] {
        sources(
            &library::root().join("runtime").join(name).join("src"),
            &mut all,
        );
    }
    assert!(all.len() > 300, "{} files: the walk went astray", all.len());
    let mut found = Vec::new();
    for path in all
        .iter()
        .filter(|path| !path.ends_with("core/src/whole.rs"))
    {
        let text = fs::read_to_string(path).expect("a source");
        let lines = text.lines().zip(1..).filter(|(line, _)| waits(line));
        found.extend(lines.map(|(line, at)| format!("{}:{at}: {}", path.display(), line.trim())));
    }
    assert!(
        found.is_empty(),
        "expected hetmp_core::whole::OnceLock:\n{}",
        found.join("\n")
    );
}

#[test]
fn types_that_wait_are_noticed() {
    assert!(waits("use std::sync::{Mutex, OnceLock};"));
    assert!(waits("static X: std::sync::Once = std::sync::Once::new();"));
    assert!(waits("use std::sync::LazyLock;"));
    assert!(!waits("use hetmp_core::whole::OnceLock;"));
    assert!(!waits("use std::sync::Mutex; // not OnceLock"));
}
