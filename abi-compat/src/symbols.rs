//! The checked-in lists of what libgomp and libomp export (`symbols/`).

/// A function at a version node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Export {
    /// The symbol.
    pub name: String,
    /// The version node.
    pub node: String,
    /// True for `name@@node`, the version that a linker picks; false for `name@node`, an old version.
    pub default: bool,
}

/// A version node of libgomp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// The node it inherits from.
    pub parent: Option<String>,
    /// The first gcc that has it; 12 stands for 12 and older.
    pub since: u32,
}

/// Everything that gcc 12's libgomp exports.
pub fn gcc12() -> Vec<Export> {
    exports(include_str!("../symbols/libgomp-12.txt"))
}

/// The file of [`later`], below the repository's root.
pub const LATER: &str = "abi-compat/symbols/libgomp-later.txt";

/// The exports that libgomp gained in gcc 13 to 17. Read anew: a test may have added some.
pub fn later() -> Vec<Export> {
    exports(&std::fs::read_to_string(crate::library::root().join(LATER)).expect(LATER))
}

/// The programming interface that LLVM 19's libomp exports at `VERSION`.
pub fn libomp19() -> Vec<&'static str> {
    names(include_str!("../symbols/libomp-19.txt"))
}

/// Names of libomp's interface that libhetmp.so does not export.
pub fn libomp_missing() -> Vec<&'static str> {
    names(include_str!("../symbols/libomp-missing.txt"))
}

/// The names of [`libomp_missing`], each with the word that says why it is missing.
pub fn libomp_missing_why() -> Vec<(&'static str, &'static str)> {
    include_str!("../symbols/libomp-missing.txt")
        .lines()
        .filter(|l| !l.starts_with('#'))
        .filter_map(|l| l.split_once(' '))
        .collect()
}

fn names(text: &'static str) -> Vec<&'static str> {
    text.lines()
        .filter(|l| !l.starts_with('#'))
        .filter_map(|l| l.split_whitespace().next())
        .collect()
}

/// Every version node, in the order of their chains.
pub fn nodes() -> Vec<Node> {
    rows(include_str!("../symbols/libgomp-nodes.txt"))
        .map(|[name, parent, since]| Node {
            name: name.to_owned(),
            parent: (parent != "-").then(|| parent.to_owned()),
            since: since.parse().expect("FIRST-GCC is a number"),
        })
        .collect()
}

/// The text of `runtime/abi/nodes.map`, the linker's version script. The script lists
/// nodes only: `.symver` directives in the library assign symbols to nodes.
pub fn nodes_map() -> String {
    let mut text = String::from(
        "# Version nodes of libhetmp.so: nodes only, chained as libgomp chains them.\n\
         # Generated from abi-compat/symbols/libgomp-nodes.txt by\n\
         # `HETMP_BLESS=1 cargo test -p hetmp-abi-compat --test exports version_script`; symbols name their node\n\
         # with .symver.\n",
    );
    for node in nodes() {
        let parent = node.parent.map(|p| format!(" {p}")).unwrap_or_default();
        text += &format!("{} {{ }}{parent};\n", node.name);
    }
    text
}

fn exports(text: &str) -> Vec<Export> {
    rows(text)
        .map(|[name, node, kind]| Export {
            name: name.to_owned(),
            node: node.to_owned(),
            default: match kind {
                "default" => true,
                "hidden" => false,
                _ => panic!("symbol list: {name}: kind {kind} (expected default or hidden)"),
            },
        })
        .collect()
}

fn rows(text: &str) -> impl Iterator<Item = [&str; 3]> {
    text.lines().filter(|l| !l.starts_with('#')).map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        <[&str; 3]>::try_from(words).unwrap_or_else(|_| panic!("symbol list: {line}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn lists_are_whole_and_consistent() {
        let (old, new, nodes) = (gcc12(), later(), nodes());
        assert_eq!(old.len(), 475);
        assert_eq!(old.iter().filter(|e| !e.default).count(), 20);
        assert_eq!(nodes.iter().filter(|n| n.since == 12).count(), 31);
        let mut seen = HashSet::new();
        for node in &nodes {
            assert!(node
                .parent
                .as_ref()
                .is_none_or(|p| seen.contains(p.as_str())));
            assert!(seen.insert(node.name.as_str()));
        }
        let mut all = HashSet::new();
        for e in old.iter().chain(&new) {
            assert!(seen.contains(e.node.as_str()), "{e:?}");
            assert!(all.insert((&e.name, &e.node)), "{e:?}");
        }
        for e in &new {
            let node = nodes.iter().find(|n| n.name == e.node).unwrap();
            assert!(node.since > 12, "{e:?}");
        }
    }
}
