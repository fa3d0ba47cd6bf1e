//! Compiles the C parts of `libhetmp.so`, and gives the library the soname of libgomp, the version nodes of libgomp
//! and libomp, and those of the other interfaces.

#[path = "../sources.rs"]
mod sources;

/// The functions that `c/calls.c` wraps. A program may define functions of these names itself; the linker sends
/// the library's own calls to the wrappers, so that the library never calls the program's functions by mistake.
const CALLS: [&str; 15] = [
    "read", "write", "writev", "close", "lseek64", "open", "open64", "unlink", "readlink", "poll",
    "connect", "bind", "listen", "send", "recv",
];

fn main() {
    let sources = sources::name(std::path::Path::new(".."), &sources::OF_NODES);
    println!("cargo:rustc-env=HETMP_SOURCES={sources}");
    println!("cargo:rerun-if-changed=nodes.map");
    println!("cargo:rerun-if-changed=libomp.map");
    println!("cargo:rerun-if-changed=hetmp.map");
    println!("cargo:rerun-if-changed=c/atomics.c");
    println!("cargo:rerun-if-changed=c/calls.c");
    // OpenMP's atomic updates of complex numbers multiply and divide inline. Without this option the compiler calls
    // functions of its own library (`__muldc3`), which handle infinities.
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
    // rustc passes an anonymous version script of its own. GNU ld cannot combine that script with ours, lld can.
    println!("cargo:rustc-cdylib-link-arg=-fuse-ld=lld");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={dir}/nodes.map");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={dir}/libomp.map");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={dir}/hetmp.map");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libgomp.so.1");
    // A program opens a plug-in that needs libgomp, and closes it again. The pool threads still run this library's
    // code then: the library must stay mapped.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
