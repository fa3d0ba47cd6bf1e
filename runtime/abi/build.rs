//! Gives `libhetmp.so` the soname and the version nodes of libgomp, and OpenSHMEM's names.

fn main() {
    println!("cargo:rerun-if-changed=nodes.map");
    println!("cargo:rerun-if-changed=shmem.map");
    let dir = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    // GNU ld cannot combine rustc's own (anonymous) version script with ours; lld can.
    println!("cargo:rustc-cdylib-link-arg=-fuse-ld=lld");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={dir}/nodes.map");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={dir}/shmem.map");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libgomp.so.1");
    // Pool threads outlive a dlclose of the library that brought us in.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
