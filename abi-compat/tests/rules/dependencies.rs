//! docs/dev/dependencies.md and deny.toml against the dependencies that the crates of the workspace name.

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

/// Our own crates that a crate is linked with, by folder: not those of its tests.
fn linked(folder: &str, into: &mut BTreeSet<String>) {
    let path = library::root().join("runtime").join(folder);
    let text = fs::read_to_string(path.join("Cargo.toml")).expect(folder);
    let tests = text.find("[dev-dependencies]").unwrap_or(text.len());
    let ours = text[..tests].lines().filter_map(|line| {
        let name = line.strip_prefix("hetmp-")?;
        name.split(['.', ' ', '=']).next()
    });
    for name in ours {
        if into.insert(name.to_owned()) {
            linked(name, into);
        }
    }
}

/// The laboratory, the commands, and what needs privileges are not loaded into programs.
#[test]
fn what_programs_load_is_linked_with_the_engines_alone() {
    for library in ["abi", "dsm-preload", "profile"] {
        let mut found = BTreeSet::new();
        linked(library, &mut found);
        assert!(found.contains("core"), "{library}: {found:?}");
        for apart in ["lab", "cli", "goal-kernel"] {
            assert!(!found.contains(apart), "{library}: {found:?}");
        }
    }
    let mut found = BTreeSet::new();
    linked("cli", &mut found);
    assert!(found.contains("lab"), "{found:?}");
}

/// Whether a licence expression can be chosen from `allowed`: one side of each OR, all sides of each AND.
fn may_be_chosen(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    let plain = expression.replace('/', " OR ").replace(['(', ')'], "");
    plain.split(" AND ").all(|part| {
        part.split(" OR ")
            .any(|licence| allowed.contains(licence.trim()))
    })
}

/// What `cargo deny` would say of licences and sources, where that tool is not there.
#[test]
fn each_package_has_a_licence_and_a_source_that_deny_toml_allows() {
    let root = library::root();
    let rules = fs::read_to_string(root.join("deny.toml")).expect("deny.toml");
    let list = rules.split_once("[licenses]\nallow = [").expect("a list").1;
    let list = list.split_once(']').expect("its end").0;
    let allowed: BTreeSet<&str> = list.split('"').skip(1).step_by(2).collect();
    let out = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--offline", "--format-version", "1"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(&root)
        .output()
        .expect("cargo");
    let said = String::from_utf8_lossy(&out.stderr);
    let found: serde_json::Value =
        serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {said}"));
    let packages = found["packages"].as_array().expect("packages");
    assert!(packages.len() > 100, "{}", packages.len());
    for package in packages {
        let (name, licence) = (
            package["name"].as_str().unwrap(),
            package["license"].as_str().unwrap_or("none"),
        );
        let excepted = format!("crate = \"{name}\"\nallow = [\"{licence}\"]");
        assert!(
            may_be_chosen(licence, &allowed) || rules.contains(&excepted),
            "{name}: {licence}"
        );
        let source = package["source"].as_str().unwrap_or("this workspace");
        assert!(
            source == "this workspace" || source.ends_with("github.com/rust-lang/crates.io-index"),
            "{name}: {source}"
        );
    }
}

#[test]
fn a_licence_is_chosen_from_an_expression() {
    let allowed = BTreeSet::from(["MIT", "Unicode-3.0"]);
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("Apache-2.0/MIT", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("(MIT OR Apache-2.0) AND GPL-3.0", false),
        ("none", false),
    ] {
        assert_eq!(
            may_be_chosen(expression, &allowed),
            expected,
            "{expression}"
        );
    }
}

#[test]
fn dependencies_of_all_sections_are_seen() {
    let text = "[package]\nname = \"x\"\n[dependencies]\na = \"1\"\nb.workspace = true\nhetmp-core.workspace = true\n\
                # c\nc = { path = \"../c\" }\n[dev-dependencies]\nd = { version = \"1\", features = [\n    \"e\",\n] \
                }\n\
                [target.\"cfg(x)\".dependencies]\nf = \"1\"\n[features]\ng = []\n";
    assert_eq!(named(text).collect::<Vec<_>>(), ["a", "b", "d", "f"]);
}
