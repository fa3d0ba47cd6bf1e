//! Names the sources that readings are made by: what one version of the scan has found, another one may see
//! differently.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=src");
    let mut files = Vec::new();
    collect(Path::new("src"), &mut files);
    files.sort();
    // FNV-1a: a name, which nobody attacks.
    let mut name = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        let text = std::fs::read(&file).expect("a source");
        let path = file.to_string_lossy().into_owned();
        for byte in path.bytes().chain([0]).chain(text).chain([0]) {
            name = (name ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    println!("cargo:rustc-env=HETMP_SCAN_SOURCES={name:016x}");
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("a source").path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
