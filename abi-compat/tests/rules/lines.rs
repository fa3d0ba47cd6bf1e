//! No line of code, comment, script or prose is longer than 120 columns: editors side by side and review tools show
//! that much, and `rustfmt` leaves a statement with a longer string alone.
//!
//! Left out: tables, what stands between fences (mostly output, as it was printed), and what another test generates.
//!
//! And all pages together have no more words than somebody reads, while a file with much `unsafe` begins with more than
//! a line: it says what makes that sound.

use hetmp_abi_compat::library;
use std::fs;
use std::path::Path;

const MOST: usize = 120;

/// Of all pages of `PAGES`, tables and generated ones included, as `wc -w` counts.
const MOST_WORDS: usize = 45_000;

const PAGES: [&str; 5] = ["", "docs", "docs/dev", "docs/measurements", "examples"];

/// Written as a whole by a program.
const GENERATED: [&str; 6] = [
    "include/shmem.h",
    "docs/coverage.md",
    "docs/coverage-clang.md",
    "docs/environment.md",
    "docs/shmem-coverage.md",
    "docs/simd.md",
];

fn is_table(line: &str) -> bool {
    line.trim_start()
        .trim_start_matches(['/', '!', ' '])
        .starts_with('|')
}

/// The numbers of lines that are too long, and their columns.
fn longer(text: &str, is_page: bool) -> Vec<(usize, usize)> {
    let (mut generated, mut fence) = (false, false);
    let mut found = Vec::new();
    for (i, line) in text.lines().enumerate() {
        generated |= line.contains("BEGIN generated");
        fence ^= is_page && line.trim_start().starts_with("```");
        let columns = line.chars().count();
        if columns > MOST && !generated && !fence && !is_table(line) {
            found.push((i + 1, columns));
        }
        generated &= !line.contains("END generated");
    }
    found
}

fn visit(folder: &Path, found: &mut Vec<String>, files: &mut usize) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        if path.is_symlink() || name.starts_with('.') || name == "target" {
            continue;
        }
        if path.is_dir() {
            visit(&path, found, files);
            continue;
        }
        let extension = path.extension().and_then(|e| e.to_str());
        match extension {
            Some("rs" | "c" | "h" | "md" | "sh" | "py" | "awk" | "in") => {}
            None if fs::read(&path).is_ok_and(|text| text.starts_with(b"#!")) => {}
            _ => continue,
        }
        let shown = path
            .strip_prefix(library::root())
            .unwrap_or(&path)
            .display()
            .to_string();
        if GENERATED.contains(&&*shown) {
            continue;
        }
        *files += 1;
        let text = fs::read_to_string(&path).expect("a file of text");
        for (line, columns) in longer(&text, extension == Some("md")) {
            found.push(format!(
                "{shown}:{line}: {columns} columns (expected at most {MOST})"
            ));
        }
    }
}

#[test]
fn no_line_is_longer_than_the_limit() {
    let (mut found, mut files) = (Vec::new(), 0);
    visit(&library::root(), &mut found, &mut files);
    assert!(files > 500, "{files} files: the walk went astray");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Uses of `unsafe` that a file may have without a word of its head on what they rely on. (The crate `abi` has one
/// contract for all its modules, in `lib.rs`.)
const MOST_UNSAFE: usize = 1;

/// How many uses of `unsafe` the code of a file has, and how many lines its head.
fn head(text: &str) -> (usize, usize) {
    let code = text.split("\nmod tests {").next().unwrap_or("");
    let uses = ["unsafe {", "unsafe impl", "unsafe fn"].map(|word| {
        let lines = code.lines().filter(|l| !l.trim_start().starts_with("//"));
        lines.map(|line| line.matches(word).count()).sum::<usize>()
    });
    let lines = text.lines().take_while(|line| line.starts_with("//!"));
    (uses.iter().sum(), lines.count())
}

fn short_heads(folder: &Path, found: &mut Vec<String>, files: &mut usize) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        if path.is_dir() {
            if !["tests", "examples", "target", "fuzz"].contains(&name) {
                short_heads(&path, found, files);
            }
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            *files += 1;
            let text = fs::read_to_string(&path).expect("a source");
            let (uses, lines) = head(&text);
            if uses > MOST_UNSAFE && lines < 2 {
                found.push(format!("{}: {uses} uses of unsafe", path.display()));
            }
        }
    }
}

#[test]
fn heads_say_what_makes_unsafe_sound() {
    let (mut found, mut files) = (Vec::new(), 0);
    for folder in fs::read_dir(library::root().join("runtime")).expect("the crates") {
        let folder = folder.expect("an entry").path();
        if folder.is_dir() && !folder.ends_with("abi") {
            short_heads(&folder, &mut found, &mut files);
        }
    }
    assert!(files > 500, "{files} files: the walk went astray");
    found.sort();
    assert!(
        found.is_empty(),
        "heads (//!) of one line, which do not say what makes this sound:\n{}",
        found.join("\n")
    );
    let code = "//! One line.\n// unsafe {\nunsafe impl A {}\nlet b = unsafe { c() };\nmod tests {\nunsafe {}";
    assert_eq!(head(code), (2, 1));
}

#[test]
fn all_pages_have_few_words() {
    let mut words = 0;
    for folder in PAGES {
        for entry in fs::read_dir(library::root().join(folder)).expect("a folder of pages") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|e| e == "md") {
                let text = fs::read_to_string(&path).expect("a page");
                words += text.split_whitespace().count();
            }
        }
    }
    assert!(words > 20_000, "{words} words: the pages went astray");
    assert!(
        words <= MOST_WORDS,
        "{words} words (expected at most {MOST_WORDS}: what is new takes the place of something)"
    );
}

#[test]
fn tables_fences_and_generated_lines_may_be() {
    let long = "x ".repeat(61);
    let page = format!("{long}\n| {long}\n```\n{long}\n```\n{long}\n");
    assert_eq!(longer(&page, true), [(1, 122), (6, 122)]);
    let code = format!(
        "// {long}\n//! | {long}\n/* BEGIN generated */\n{long}\n/* END generated */\n{long}\n"
    );
    assert_eq!(longer(&code, false), [(1, 125), (6, 122)]);
}
