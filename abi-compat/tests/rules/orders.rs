//! Memory order: each relaxed or volatile access in the libraries and in the headers has a reason in `orders.txt`. On
//! x86-64 a missing acquire or release shows nothing; on Arm it does.

use hetmp_abi_compat::library;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// How many such accesses the code of a file has, without comments, imports and tests.
fn count(text: &str) -> usize {
    const WORDS: [&str; 4] = [
        "Relaxed",
        "read_volatile",
        "write_volatile",
        "__ATOMIC_RELAXED",
    ];
    let text = text.split("\nmod tests {").next().unwrap_or("");
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("use "));
    let code = lines.map(|line| line.split("//").next().unwrap_or(""));
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    // In C: `*(volatile int *)at`.
    let casts = |line: &str| {
        let casts = line.split("*(").skip(1);
        casts
            .filter(|rest| {
                rest.split(')')
                    .next()
                    .is_some_and(|t| t.contains("volatile "))
            })
            .count()
    };
    code.map(|line| {
        let words = line.split(|c| !is_word(c));
        words.filter(|word| WORDS.contains(word)).count() + casts(line)
    })
    .sum()
}

fn visit(folder: &Path, found: &mut BTreeMap<String, usize>) {
    let root = library::root();
    for entry in fs::read_dir(folder)
        .expect("a folder")
        .map(|e| e.expect("an entry").path())
    {
        let name = entry
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if entry.is_dir() {
            if !["tests", "examples", "benches"].contains(&name.as_str()) {
                visit(&entry, found);
            }
            continue;
        }
        let is_test =
            ["tests.rs", "fixture.rs"].contains(&name.as_str()) || name.ends_with("_tests.rs");
        let is_code = [".rs", ".c", ".h"].iter().any(|end| name.ends_with(end));
        if !is_code || is_test {
            continue;
        }
        let n = count(&fs::read_to_string(&entry).expect("a source"));
        let path = entry
            .strip_prefix(&root)
            .expect("below the root")
            .display()
            .to_string();
        if n > 0 {
            let path = path.strip_prefix("runtime/").unwrap_or(&path);
            found.insert(path.replacen("/src/", "/", 1), n);
        }
    }
}

#[test]
fn each_relaxed_or_volatile_access_has_a_reason() {
    let list = library::root().join("abi-compat/tests/orders.txt");
    let list = fs::read_to_string(list).expect("the list");
    let reasons: Vec<&str> = list
        .lines()
        .filter_map(|l| l.strip_prefix("# "))
        .filter_map(|l| l.split_once(' '))
        .filter(|(_, text)| text.starts_with(' '))
        .map(|(reason, _)| reason)
        .collect();
    let mut told = BTreeMap::new();
    for line in list.lines().filter(|l| !l.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        assert!(words.len() > 2, "'{line}': no reason");
        for reason in &words[2..] {
            assert!(
                reasons.contains(reason),
                "'{line}': '{reason}' is not explained ({reasons:?})"
            );
        }
        told.insert(
            words[1].to_owned(),
            words[0].parse::<usize>().expect("a number"),
        );
    }
    let mut found = BTreeMap::new();
    for folder in ["runtime", "include"] {
        visit(&library::root().join(folder), &mut found);
    }
    for (path, n) in &found {
        assert_eq!(
            told.get(path),
            Some(n),
            "{path}: accesses whose reason is not in orders.txt"
        );
    }
    let gone: Vec<&String> = told
        .keys()
        .filter(|path| !found.contains_key(*path))
        .collect();
    assert!(
        gone.is_empty(),
        "in orders.txt, but not in the code: {gone:?}"
    );
}

#[test]
fn words_are_counted_in_code_alone() {
    let text = "use core::Relaxed;\nx.load(Relaxed); // Relaxed\ny(Ordering::Relaxed, Relaxed)\nmod tests {\nRelaxed";
    assert_eq!(count(text), 3);
    let text = "p.read_volatile();\n*(volatile int *)at = get(a, __ATOMIC_RELAXED);\nint f(volatile int *p);";
    assert_eq!(count(text), 3);
}
