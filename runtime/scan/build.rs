//! Names the sources that readings are made by: what one version of the scan has found, another one may see
//! differently.

#[path = "../sources.rs"]
mod sources;

use std::path::Path;

fn main() {
    let name = sources::name(Path::new(".."), &["scan"]);
    println!("cargo:rustc-env=HETMP_SCAN_SOURCES={name}");
}
