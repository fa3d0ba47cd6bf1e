//! Limits the size of import cycles: the files of a crate may import each other in a cycle, but only a few files may
//! belong to one.
//!
//! A file imports another one if a path in its code leads to that file or to an item in it. Such a path begins with
//! `crate::`, `super::`, `self::`, or, in the file that declares a module, with that module's name. Comments and a
//! file's own tests do not count. A name that is taken through a re-export counts as an import of the file that
//! re-exports it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The most files that a cycle may have: a module and its parts may import each other.
const FEW: usize = 4;

/// Where there are larger ones: the crate, and the largest that it has.
const BARS: [(&str, usize); 7] = [
    ("core/src", 11),
    ("dsm-preload/src", 12),
    ("goal/src", 5),
    ("omp/src", 6),
    ("scan/src", 5),
    ("sched/src", 9),
    ("shmem/src", 6),
];

/// A module's path in its crate; empty for the crate's root.
type Module = Vec<String>;

/// The sources below `folder`. A folder with a `main.rs` is a program of its own, which goes to `programs`.
fn sources(folder: &Path, into: &mut Vec<PathBuf>, programs: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.join("main.rs").exists() {
            programs.push(path);
        } else if path.is_dir() {
            sources(&path, into, programs);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

fn module_of(root: &Path, file: &Path) -> Module {
    let relative = file.strip_prefix(root).expect("below the root");
    let mut parts: Module = relative
        .with_extension("")
        .iter()
        .map(|p| p.to_string_lossy().into_owned())
        .collect();
    if parts.last().is_some_and(|p| p == "mod") || parts == ["lib"] || parts == ["main"] {
        parts.pop();
    }
    parts
}

/// The code of a file without comments and without its module of tests.
fn code(text: &str) -> String {
    // Look for the module's name, not for `#[cfg(test)]`: the attribute may have other conditions too.
    let text = text.split("\nmod tests {").next().unwrap_or("");
    text.lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The paths that a `use` names: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree);
        return vec![path.trim().to_owned()];
    };
    let Some(close) = tree.rfind('}').filter(|&close| close > open) else {
        return Vec::new();
    };
    let (prefix, inside) = (&tree[..open], &tree[open + 1..close]);
    let mut depth = 0;
    let parts = inside.split(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts
        .filter(|part| !part.trim().is_empty())
        .flat_map(expand)
        .map(|path| format!("{prefix}{path}"))
        .collect()
}

/// All paths in `code`. The trees of `use` are expanded.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = String::new();
    let mut pieces = code.split("use ");
    rest.push_str(pieces.next().unwrap_or(""));
    for piece in pieces {
        let (tree, after) = piece.split_once(';').unwrap_or((piece, ""));
        // The word `use` also occurs in string literals. These have characters that no path has.
        let is_tree = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_:{},*".contains(c);
        if tree.chars().all(is_tree) {
            found.extend(expand(tree));
            rest.push_str(after);
        } else {
            rest.push_str(piece);
        }
    }
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    found.extend(
        rest.split(|c| !word(c))
            .filter(|w| w.contains("::"))
            .map(str::to_owned),
    );
    found
}

/// The module that `path`, written in `here`, leads to.
fn resolve(here: &Module, path: &str, all: &BTreeSet<Module>) -> Option<Module> {
    let mut names = path.split("::").map(str::trim).peekable();
    let mut at = match *names.peek()? {
        "crate" => {
            names.next();
            Vec::new()
        }
        "super" | "self" => {
            let mut at = here.clone();
            while let Some(&first) = names.peek() {
                match first {
                    "super" => {
                        at.pop();
                    }
                    "self" => {}
                    _ => break,
                }
                names.next();
            }
            at
        }
        _ => here.clone(),
    };
    let mut inner = false;
    for name in names {
        at.push(name.to_owned());
        if !all.contains(&at) {
            at.pop();
            break;
        }
        inner = true;
    }
    // A path that begins with a plain name is inside this crate only if the name is a child module's.
    let ours = inner
        || ["crate", "super", "self"]
            .iter()
            .any(|w| path.starts_with(w));
    (ours && at != *here).then_some(at)
}

type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// The imports of the crate at `root`. `programs` gets the folders of further ones.
fn imports(root: &Path, programs: &mut Vec<PathBuf>) -> Imports {
    let mut files = Vec::new();
    sources(root, &mut files, programs);
    let all: BTreeSet<Module> = files.iter().map(|f| module_of(root, f)).collect();
    files
        .iter()
        .map(|file| {
            let here = module_of(root, file);
            let text = fs::read_to_string(file).expect("a source file");
            let to = paths(&code(&text))
                .iter()
                .filter_map(|path| resolve(&here, path, &all))
                // Imports of the crate's root do not count. The root declares all modules, so with one constant taken
                // from the root, all files would be one cycle.
                .filter(|to| !to.is_empty())
                .collect();
            (here, to)
        })
        .collect()
}

fn reachable<'a>(from: &'a Module, imports: &'a Imports) -> BTreeSet<&'a Module> {
    let mut seen = BTreeSet::new();
    let mut left = vec![from];
    while let Some(next) = left.pop() {
        for to in imports.get(next).into_iter().flatten() {
            if seen.insert(to) {
                left.push(to);
            }
        }
    }
    seen
}

/// The cycles, largest first: sets of modules in which each imports all others, directly or through others.
fn circles(imports: &Imports) -> Vec<BTreeSet<&Module>> {
    let reach: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|m| (m, reachable(m, imports))).collect();
    let mut found: Vec<BTreeSet<&Module>> = Vec::new();
    for (m, to) in &reach {
        if to.contains(m) && !found.iter().any(|c| c.contains(m)) {
            found.push(
                to.iter()
                    .copied()
                    .filter(|t| reach[*t].contains(m))
                    .collect(),
            );
        }
    }
    found.sort_by_key(|c| std::cmp::Reverse(c.len()));
    found
}

#[test]
fn circles_of_imports_are_small() {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime");
    let mut left: Vec<PathBuf> = fs::read_dir(&runtime)
        .expect("the crates")
        .map(|entry| entry.expect("an entry").path().join("src"))
        .filter(|folder| folder.is_dir())
        .collect();
    let mut wrong = String::new();
    let mut files = 0;
    while let Some(root) = left.pop() {
        let name = root.strip_prefix(&runtime).expect("below").display();
        let name = name.to_string();
        let bar = BARS.iter().find(|(folder, _)| *folder == name);
        let bar = bar.map_or(FEW, |&(_, bar)| bar);
        let imports = imports(&root, &mut left);
        files += imports.len();
        for circle in circles(&imports).iter().filter(|c| c.len() > bar) {
            let names: Vec<String> = circle.iter().map(|m| m.join("::")).collect();
            wrong += &format!(
                "runtime/{name}: a circle of {} files, at most {bar}: {}\n",
                names.len(),
                names.join(", ")
            );
        }
    }
    assert!(files > 600, "{files} files: the walk went astray");
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn paths_and_circles_are_found() {
    let m = |s: &str| -> Module {
        let parts = s.split("::").filter(|p| !p.is_empty());
        parts.map(str::to_owned).collect()
    };
    let all: BTreeSet<Module> = ["", "a", "a::b", "c"].map(m).into();
    let text = "use crate::{a::{b, x as y}, c}; // use crate::d;\nfn f() { super::c::g() }";
    let found = paths(&code(text));
    assert_eq!(
        found,
        ["crate::a::b", "crate::a::x", "crate::c", "super::c::g"]
    );
    assert_eq!(resolve(&m("c"), "crate::a::b", &all), Some(m("a::b")));
    assert_eq!(resolve(&m("c"), "crate::a::X", &all), Some(m("a")));
    assert_eq!(
        resolve(&m("a::b"), "super::super::c::g", &all),
        Some(m("c"))
    );
    assert_eq!(resolve(&m("a"), "b::X", &all), Some(m("a::b")));
    assert_eq!(resolve(&m("a"), "std::fmt", &all), None);
    let edges = [("a", "c"), ("c", "a::b"), ("a::b", "a"), ("d", "a")];
    let mut imports = Imports::new();
    for (from, to) in edges {
        imports.entry(m(from)).or_default().insert(m(to));
    }
    let found = circles(&imports);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].len(), 3);
}
