//! For build scripts, and a test: a name for the sources of some crates. It says which code was compiled, whatever the
//! machine, the compiler and the options.

use std::path::{Path, PathBuf};

/// What processes that are nodes of one program must have in common: `libhetmp.so` and `libhetmp_dsm.so` send messages
/// and share structures that these crates define.
#[allow(dead_code, reason = "not every library has to do with nodes")]
pub(crate) const OF_NODES: [&str; 8] = [
    "abi",
    "core",
    "dsm",
    "dsm-preload",
    "nic",
    "omp",
    "scan",
    "sched",
];

/// 16 hexadecimal digits for the sources of these crates, which lie in the folder `runtime`.
pub(crate) fn name(runtime: &Path, crates: &[&str]) -> String {
    // FNV-1a: a name, which nobody attacks.
    let mut name = 0xcbf2_9ce4_8422_2325_u64;
    for folder in crates.iter().map(|name| runtime.join(name).join("src")) {
        println!("cargo:rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        collect(&folder, &mut files);
        files.sort();
        for file in files {
            let text = std::fs::read(&file).expect("a source");
            let path = file.strip_prefix(runtime).expect("below it");
            let path = path.to_string_lossy().into_owned();
            for byte in path.bytes().chain([0]).chain(text).chain([0]) {
                name = (name ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    println!(
        "cargo:rerun-if-changed={}",
        runtime.join("sources.rs").display()
    );
    format!("{name:016x}")
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("a source").path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
