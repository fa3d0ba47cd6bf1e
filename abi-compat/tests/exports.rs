//! The dynamic symbols of libhetmp.so: libgomp's names at libgomp's nodes, libgomp's
//! soname, and no other visible names. And those of the libraries that programs of our own headers link with.
//!
//! With `HETMP_BLESS=1` the tests write what is generated from these names.

use hetmp_abi_compat::suite::find_in_path;
use hetmp_abi_compat::{c_api, clang, coverage, elf, library, symbols};
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How generated files are written anew.
const BLESS: &str = "HETMP_BLESS=1 cargo test -p hetmp-abi-compat --test exports";

fn blesses() -> bool {
    std::env::var_os("HETMP_BLESS").is_some()
}

fn ours() -> elf::SharedLibrary {
    elf::read(library::fresh()).unwrap()
}

fn check_same_text(file: &str, generated: &str) {
    let path = library::root().join(file);
    let committed = fs::read_to_string(&path).unwrap_or_default();
    if committed == generated {
        return;
    }
    if blesses() {
        return fs::write(path, generated).unwrap();
    }
    let line = committed
        .lines()
        .zip(generated.lines())
        .position(|(a, b)| a != b)
        .unwrap_or(committed.lines().count().min(generated.lines().count()));
    panic!(
        "{file} is out of date from line {}: {:?}, generated {:?} (run {BLESS})",
        line + 1,
        committed.lines().nth(line),
        generated.lines().nth(line)
    );
}

/// Checks the lists themselves: if the system's libgomp is gcc 12's, it must export exactly
/// the list's names.
#[test]
fn the_list_is_what_gcc_12_has() {
    let Some(system) = library::system_libgomp() else {
        eprintln!("skipped: no system libgomp.so.1");
        return;
    };
    let system = elf::read(&system).unwrap();
    for wanted in symbols::gcc12() {
        assert!(coverage::exports(&system, &wanted), "{wanted:?}");
    }
    // A newer libgomp of the system has more nodes. The nodes in our list must agree.
    for node in symbols::nodes() {
        if let Some(parent) = system.nodes.get(&node.name) {
            assert_eq!(*parent, node.parent, "{}", node.name);
        } else {
            assert!(node.since > 12, "{}", node.name);
        }
    }
}

/// The same for clang's libomp.
#[test]
fn the_list_is_what_libomp_19_has() {
    let system = clang::runtime().and_then(|library| elf::read(&library));
    let system = match (clang::installed(), system) {
        (true, Ok(system)) => system,
        (_, Err(why)) => return eprintln!("skipped: {why}"),
        (false, _) => return,
    };
    // Its insides, and what is there for tools.
    let left_out = |name: &str| {
        ["__kmp_", "___kmp_", "ompt_"]
            .iter()
            .any(|start| name.starts_with(start))
    };
    let has: BTreeSet<&str> = system
        .symbols
        .iter()
        .filter(|s| s.node.as_deref() == Some("VERSION") && !left_out(&s.name))
        .map(|s| s.name.as_str())
        .collect();
    let listed: BTreeSet<&str> = symbols::libomp19().into_iter().collect();
    let differ: Vec<_> = has.symmetric_difference(&listed).collect();
    assert!(differ.is_empty(), "{differ:?}");
}

#[test]
fn version_script_is_generated() {
    check_same_text("runtime/abi/nodes.map", &symbols::nodes_map());
}

#[test]
fn every_libgomp_export_is_ours_too() {
    let ours = ours();
    let missing: Vec<String> = symbols::gcc12()
        .iter()
        .filter(|wanted| !coverage::exports(&ours, wanted))
        .map(|e| {
            let form = if e.default { "@@" } else { "@" };
            format!("{}{form}{}", e.name, e.node)
        })
        .collect();
    assert!(
        missing.is_empty(),
        "{} missing: {}",
        missing.len(),
        missing.join(" ")
    );
}

/// All of libgomp's version nodes exist. lld does not write which node inherits from which,
/// and the dynamic loader does not need it. If a linker writes it, it must be as in libgomp.
#[test]
fn every_node_exists() {
    let ours = ours();
    for node in symbols::nodes() {
        match ours.nodes.get(&node.name) {
            None => panic!("node {} is missing", node.name),
            Some(None) => {}
            Some(parent) => assert_eq!(*parent, node.parent, "{}", node.name),
        }
    }
}

/// The exports at nodes of libgomp that are in no list of libgomp's.
fn not_libgomps(library: &elf::SharedLibrary) -> Vec<symbols::Export> {
    let mut known = symbols::gcc12();
    known.extend(symbols::later());
    let nodes: Vec<String> = symbols::nodes().into_iter().map(|n| n.name).collect();
    let exports = library.symbols.iter().filter_map(|symbol| {
        let (name, node) = (symbol.name.clone(), symbol.node.clone()?);
        let default = symbol.default;
        nodes.contains(&node).then_some(symbols::Export {
            name,
            node,
            default,
        })
    });
    exports.filter(|export| !known.contains(export)).collect()
}

/// libhetmp.so exports a name at a node of libgomp only if libgomp does. Otherwise an old
/// program could be bound to a function of another meaning.
#[test]
fn versioned_exports_are_libgomp_s() {
    let strange = not_libgomps(&ours());
    assert!(
        strange.is_empty(),
        "not in a list of libgomp's: {strange:?} (expected lines in {}, if gcc's libgomp.map has them at these \
         versions)",
        symbols::LATER
    );
}

/// Every name of libomp is exported, or in the list of missing names. Every name exported at
/// libomp's node is libomp's, or one of OpenMP or of gcc's interface, which newer programs may use.
#[test]
fn libomp_exports_are_ours_or_listed() {
    let at_node: Vec<String> = ours()
        .symbols
        .into_iter()
        .filter(|s| s.node.as_deref() == Some("VERSION"))
        .map(|s| s.name)
        .collect();
    let (known, missing) = (symbols::libomp19(), symbols::libomp_missing());
    let has = |name: &str| at_node.iter().any(|n| n == name);
    for name in &known {
        assert_ne!(
            has(name),
            missing.contains(name),
            "{name}: exported {}, listed in symbols/libomp-missing.txt {}",
            has(name),
            missing.contains(name)
        );
    }
    for name in &missing {
        assert!(known.contains(name), "{name}: not one of libomp's");
    }
    for name in &at_node {
        assert!(
            known.contains(&name.as_str()) || name.starts_with("omp_") || name.starts_with("GOMP_"),
            "{name}: not one of libomp's"
        );
    }
}

/// The names that libhetmp.so lacks are not in clang and flang, whose code generators hold every name that compiled
/// code calls, nor in libomptarget, which programs with device code load.
#[test]
fn compilers_do_not_know_what_is_missing() {
    let Ok(clang) = find_in_path("clang-19") else {
        eprintln!("skipped: no clang-19");
        return;
    };
    let ldd = Command::new("ldd").arg(&clang).output().unwrap();
    let mut files: Vec<PathBuf> = String::from_utf8_lossy(&ldd.stdout)
        .split_whitespace()
        .filter(|word| word.starts_with('/'))
        .filter(|path| path.contains("libLLVM") || path.contains("libclang-cpp"))
        .map(PathBuf::from)
        .collect();
    if files.is_empty() {
        eprintln!("skipped: {}: no shared code generator", clang.display());
        return;
    }
    let program = fs::canonicalize(&clang).unwrap();
    let bin = program.parent().unwrap();
    files.extend(
        ["../lib/libomptarget.so.19.1", "flang-new"]
            .iter()
            .map(|near| bin.join(near))
            .filter(|path| path.exists()),
    );
    let called = "__kmpc_fork_call";
    let mut search = Command::new("grep");
    search
        .env("LC_ALL", "C")
        .args(["-a", "-h", "-o", "-F", "-w", "-e", called]);
    for name in symbols::libomp_missing() {
        search.args(["-e", name]);
    }
    let out = search.arg("--").args(&files).output().unwrap();
    let mut found: Vec<String> = String::from_utf8_lossy(&out.stdout)
        .lines()
        .map(str::to_owned)
        .collect();
    found.sort();
    found.dedup();
    assert_eq!(found, [called], "in {files:?}");
}

/// Names that are not OpenMP's are hidden, so that a preload replaces nobody's: docs/dev/names.md.
#[test]
fn nothing_but_openmp_is_visible() {
    let openmp: HashSet<String> = symbols::nodes()
        .into_iter()
        .map(|n| n.name)
        .chain(["VERSION".to_owned()])
        .collect();
    let visible: Vec<String> = ours()
        .symbols
        .into_iter()
        .filter(|s| {
            s.node
                .as_ref()
                .is_none_or(|n| s.default && !openmp.contains(n))
        })
        .map(|s| s.name)
        .collect();
    assert!(visible.is_empty(), "{}", visible.join(" "));
}

/// Each library of an interface exports, visibly, what `libhetmp.so` has at the interface's node and a header declares.
#[test]
fn libraries_of_interfaces_export_their_headers_names() {
    let mut headers = String::new();
    gather(&library::root().join("include"), &mut headers);
    let declared: HashSet<&str> = headers
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .collect();
    let names = |library: &elf::SharedLibrary, node: &str, default: bool| -> BTreeSet<String> {
        let at = |s: &&elf::Symbol| s.node.as_deref() == Some(node) && s.default == default;
        let functions = library.symbols.iter().filter(at).filter(|s| s.function);
        functions.map(|s| s.name.clone()).collect()
    };
    let (ours, folder) = (
        ours(),
        c_api::library_folder(library::fresh(), "exports-test").unwrap(),
    );
    let engine = names(&ours, "HETMP_ENGINE", false);
    for (interface, example) in [
        ("mq", "mSendMsg"),
        ("goal", "GOAL_Run"),
        ("shmem", "shmem_int_p"),
    ] {
        let node = format!("HETMP_{}", interface.to_uppercase());
        let file = folder.join(format!("libhetmp_{interface}.so"));
        let own = elf::read(&file).unwrap();
        assert_eq!(own.soname, Some(format!("libhetmp_{interface}.so.0")));
        assert_eq!(own.needed, ["libhetmp.so"]);
        let exported = names(&own, &node, true);
        assert!(exported.contains(example), "{exported:?}");
        assert_eq!(exported, names(&ours, &node, false));
        assert!(exported.is_subset(&engine));
        assert_eq!(
            exported.len(),
            own.symbols.iter().filter(|s| s.function).count()
        );
        // The macros of shmem.h make most of its names, which its own tests compare.
        let unknown: Vec<&String> = exported
            .iter()
            .filter(|n| interface != "shmem" || n.starts_with("hetmp_"))
            .filter(|n| !declared.contains(n.as_str()))
            .collect();
        assert!(unknown.is_empty(), "in no header of include/: {unknown:?}");
    }
}

/// The queues' names that do not begin with `hetmp_` are those that their paper's text has. The header has the other
/// names as macros.
#[test]
fn short_names_are_the_papers() {
    let paper = BTreeSet::from([
        "mAllocateMsg",
        "mCreateQueue",
        "mDestroySlaveThreads",
        "mGetSlaveCoreNum",
        "mRecvMsg",
        "mReleaseMsg",
        "mSendMsg",
        "mStartSlaveThreads",
        "mWaitSlaveThreads",
        "sRecvMsg",
        "sReleaseMsg",
        "sResvMsg",
    ]);
    let ours = ours();
    // Old names of OpenSHMEM (`start_pes`) are its specification's.
    let of_shmem: HashSet<&str> = ours
        .symbols
        .iter()
        .filter(|s| s.node.as_deref() == Some("HETMP_SHMEM"))
        .map(|s| s.name.as_str())
        .collect();
    let own = |s: &&elf::Symbol| {
        let node = s.node.as_deref();
        s.function && node.is_none_or(|n| n.starts_with("HETMP_"))
    };
    let short: BTreeSet<&str> = ours
        .symbols
        .iter()
        .filter(own)
        .map(|s| s.name.as_str())
        .filter(|name| {
            !["hetmp_", "goal_", "GOAL_"]
                .iter()
                .any(|p| name.starts_with(p))
        })
        .filter(|name| !of_shmem.contains(name))
        .collect();
    assert_eq!(short, paper);
    let header = fs::read_to_string(library::root().join("include/hetmp/mq.h")).unwrap();
    let queues = ours
        .symbols
        .iter()
        .filter(|s| s.node.as_deref() == Some("HETMP_MQ"));
    for name in queues.filter_map(|s| s.name.strip_prefix("hetmp_")) {
        // Those of the inline functions have no short form.
        let made = header.contains(&format!("#define {name} hetmp_{name}\n"));
        assert_ne!(made, name.starts_with("mq_"), "{name}");
    }
}

fn gather(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(&path, text);
        } else if path.extension().is_some_and(|e| e == "h" || e == "hpp") {
            *text += &fs::read_to_string(&path).unwrap();
        }
    }
}

#[test]
fn loads_like_libgomp() {
    let ours = ours();
    assert_eq!(ours.soname.as_deref(), Some("libgomp.so.1"));
    assert!(ours.nodelete, "pool threads outlive a dlclose: -z nodelete");
    assert!(
        !ours
            .needed
            .iter()
            .any(|n| n.contains("gomp") || n.contains("stdc++")),
        "{:?}",
        ours.needed
    );
}

#[test]
#[ignore = "true of a library with link-time optimisation only"]
fn thread_local_storage_is_small() {
    let ours = ours();
    // One word of the OpenMP runtime, one of the message queues, and 16 bytes of Rust's standard
    // library (the panic counter), which every cdylib has. libgomp takes 136 bytes.
    assert!(
        ours.tls_size <= 8 + 8 + 16,
        "{} bytes of TLS: static TLS space is scarce for libraries opened late",
        ours.tls_size
    );
}

#[test]
fn coverage_matrix_is_up_to_date() {
    check_same_text("docs/coverage.md", &coverage::matrix(&ours()));
    check_same_text("docs/coverage-clang.md", &coverage::libomp::matrix(&ours()));
}
