//! Exports the interposed names, which are assembly and so not among those that rustc exports.

fn main() {
    println!("cargo:rerun-if-changed=exports.map");
    let dir = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    // GNU ld cannot combine rustc's own (anonymous) version script with ours; lld can.
    println!("cargo:rustc-cdylib-link-arg=-fuse-ld=lld");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={dir}/exports.map");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libhetmp_dsm.so");
    // The threads that serve pages outlive a dlclose.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
