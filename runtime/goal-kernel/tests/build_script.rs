//! What the build script tells cargo: a clang that is installed later must be found by the next build.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

#[test]
fn a_clang_that_comes_later_is_found() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("build-script");
    let _ = fs::remove_dir_all(&dir);
    let bin = dir.join("bin");
    fs::create_dir_all(&bin).expect("a folder");
    let script = dir.join("script");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let built = Command::new(rustc)
        .args(["--edition=2021", "-o"])
        .arg(&script)
        .arg(crate_folder.join("build.rs"))
        .status();
    assert!(built.expect("rustc runs").success());
    let said = || {
        let out = Command::new(&script)
            .current_dir(crate_folder)
            .env("OUT_DIR", &dir)
            .env("PATH", &bin)
            .env("CARGO_CFG_TARGET_ENDIAN", "little")
            .env_remove("HETMP_BPF_CLANG")
            .output()
            .expect("the script runs");
        assert!(out.status.success());
        String::from_utf8(out.stdout).expect("UTF-8")
    };
    let looks_at = |said: &str, path: &Path| {
        let line = format!("cargo::rerun-if-changed={}", path.display());
        // A folder's name may end with a slash.
        said.lines().any(|l| l.trim_end_matches('/') == line)
    };
    let without = said();
    assert!(without.contains("is left out"), "{without}");
    assert!(looks_at(&without, &bin), "{without}");
    assert_eq!(fs::read(dir.join("engine.o")).expect("an object"), b"");

    let clang = bin.join("clang-18");
    fs::write(&clang, "#!/bin/sh\nfor last; do case $before in -o) echo new >\"$last\"; esac; before=$last; done\n")
        .expect("written");
    fs::set_permissions(&clang, fs::Permissions::from_mode(0o755)).expect("a mode");
    let with = said();
    assert!(!with.contains("is left out"), "{with}");
    assert!(looks_at(&with, &clang) && !looks_at(&with, &bin), "{with}");
    assert_eq!(fs::read(dir.join("engine.o")).expect("an object"), b"new\n");
}
