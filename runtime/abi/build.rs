//! Gives `libhetmp.so` the soname and the version nodes of libgomp and libomp, and OpenSHMEM's names.

/// The functions of `c/calls.c`: names of the system's that a program may give to its own.
const CALLS: [&str; 15] = [
    "read", "write", "writev", "close", "lseek64", "open", "open64", "unlink", "readlink", "poll",
    "connect", "bind", "listen", "send", "recv",
];

fn main() {
    println!("cargo:rerun-if-changed=nodes.map");
    println!("cargo:rerun-if-changed=libomp.map");
    println!("cargo:rerun-if-changed=shmem.map");
    println!("cargo:rerun-if-changed=c/atomics.c");
    println!("cargo:rerun-if-changed=c/calls.c");
    // Plain complex arithmetic: without calls of the compiler's library that look after infinities.
    cc::Build::new()
        .file("c/atomics.c")
        .flag_if_supported("-fcx-limited-range")
        .opt_level(2)
        .pic(true)
        .warnings(true)
        .compile("hetmp_atomics");
    cc::Build::new()
        .file("c/calls.c")
        .opt_level(2)
        .pic(true)
        .warnings(true)
        .compile("hetmp_calls");
    for name in CALLS {
        println!("cargo:rustc-cdylib-link-arg=-Wl,--wrap={name}");
    }
    let dir = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    // GNU ld cannot combine rustc's own (anonymous) version script with ours; lld can.
    println!("cargo:rustc-cdylib-link-arg=-fuse-ld=lld");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={dir}/nodes.map");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={dir}/libomp.map");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={dir}/shmem.map");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libgomp.so.1");
    // Pool threads outlive a dlclose of the library that brought us in.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
