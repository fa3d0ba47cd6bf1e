//! Exports the interposed names, which are assembly and so not among those that rustc exports; and keeps the system's
//! functions apart from those of the program that have their names, as `libhetmp.so` does, by the same file.

#[path = "../sources.rs"]
mod sources;

/// The functions of `calls.c`: names of the system's that a program may give to its own.
const CALLS: [&str; 15] = [
    "read", "write", "writev", "close", "lseek64", "open", "open64", "unlink", "readlink", "poll",
    "connect", "bind", "listen", "send", "recv",
];

fn main() {
    let sources = sources::name(std::path::Path::new(".."), &sources::OF_NODES);
    println!("cargo:rustc-env=HETMP_SOURCES={sources}");
    println!("cargo:rerun-if-changed=exports.map");
    println!("cargo:rerun-if-changed=../abi/c/calls.c");
    println!("cargo:rerun-if-changed=c/ends.c");
    cc::Build::new()
        .file("../abi/c/calls.c")
        .file("c/ends.c")
        .opt_level(2)
        .pic(true)
        .warnings(true)
        .compile("hetmp_dsm_calls");
    for name in CALLS {
        println!("cargo:rustc-cdylib-link-arg=-Wl,--wrap={name}");
    }
    let dir = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    // GNU ld cannot combine rustc's own (anonymous) version script with ours; lld can.
    println!("cargo:rustc-cdylib-link-arg=-fuse-ld=lld");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={dir}/exports.map");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libhetmp_dsm.so");
    // Its constructor runs before those of the program's libraries.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,initfirst");
    // The threads that serve pages outlive a dlclose.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
