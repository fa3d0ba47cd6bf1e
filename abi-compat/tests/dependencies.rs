//! docs/dev/dependencies.md against the dependencies that the crates of the workspace name.

use hetmp_abi_compat::library;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// For each crate from outside, the folders of the crates that use it.
type Users = BTreeMap<String, BTreeSet<String>>;

/// The dependencies that a `Cargo.toml` names, in all its sections.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.lines().filter_map(move |line| {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]");
            return None;
        }
        let name = line.split(['.', ' ', '=']).next()?;
        let outside = inside && !name.is_empty() && !name.starts_with(['#', '}', ']']);
        (outside && !name.starts_with("hetmp") && !line.contains("path = ")).then_some(name)
    })
}

fn used() -> Users {
    let root = library::root();
    let all = fs::read_to_string(root.join("Cargo.toml")).expect("Cargo.toml");
    let members = all.split_once("members = [").expect("members").1;
    let members = members.split_once(']').expect("their end").0;
    let mut users = Users::new();
    for member in members.split('"').skip(1).step_by(2) {
        let folder = Path::new(member).file_name().expect("a folder");
        let text = fs::read_to_string(root.join(member).join("Cargo.toml")).expect(member);
        for name in named(&text) {
            let of = users.entry(name.to_owned()).or_default();
            of.insert(folder.to_string_lossy().into_owned());
        }
    }
    users
}

fn documented() -> Users {
    let page = fs::read_to_string(library::root().join("docs/dev/dependencies.md")).expect("page");
    let rows = page.lines().filter_map(|l| l.strip_prefix("| `"));
    let rows = rows.map(|row| {
        let [name, _, users] = row.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("three columns: {row}");
        };
        let users = users.split('`').skip(1).step_by(2);
        let name = name.trim_end_matches('`').to_owned();
        (name, users.map(str::to_owned).collect())
    });
    rows.collect()
}

#[test]
fn each_dependency_has_its_row() {
    let (used, documented) = (used(), documented());
    assert!(used.len() > 20, "{used:?}");
    let of = |all: &Users| -> BTreeSet<String> { all.keys().cloned().collect() };
    assert_eq!(
        of(&used),
        of(&documented),
        "Cargo.toml, and the page's rows"
    );
    for (name, users) in &used {
        assert_eq!(
            users, &documented[name],
            "who uses {name}, and who the page says"
        );
    }
}

#[test]
fn dependencies_of_all_sections_are_seen() {
    let text = "[package]\nname = \"x\"\n[dependencies]\na = \"1\"\nb.workspace = true\nhetmp-core.workspace = true\n\
                # c\nc = { path = \"../c\" }\n[dev-dependencies]\nd = { version = \"1\", features = [\n    \"e\",\n] }\n\
                [target.\"cfg(x)\".dependencies]\nf = \"1\"\n[features]\ng = []\n";
    assert_eq!(named(text).collect::<Vec<_>>(), ["a", "b", "d", "f"]);
}
