//! Compiles the reader of Matrix Market files, which is C; counted like Rust where clang is there.

fn main() {
    let source = "fuzz_c/matrix.c";
    println!("cargo:rerun-if-changed={source}");
    println!("cargo:rerun-if-changed=../../c-tests/apps/matrix.h");
    let mut build = cc::Build::new();
    build.file(source).include("../../include").opt_level(1);
    if std::process::Command::new("clang")
        .arg("--version")
        .output()
        .is_ok()
    {
        let counted = "-fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp";
        build.compiler("clang").flag(counted);
    }
    build.compile("hetmp_fuzz_c");
}
