//! Compiles the program in `bpf/` with clang. Where there is no clang that can do it, the build goes on without the
//! program, says so, and the engine is refused when somebody asks for it.

use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "bpf/engine.bpf.c";
const FLOAT: &str = "bpf/float.h";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed={FLOAT}");
    println!("cargo::rerun-if-env-changed=HETMP_BPF_CLANG");
    let object =
        Path::new(&std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("engine.o");
    match compile(&object) {
        // Another version may lie there tomorrow, or none.
        Ok(clang) => places(&clang)
            .filter(|path| path.is_file())
            .take(1)
            .for_each(|path| println!("cargo::rerun-if-changed={}", path.display())),
        Err(why) => {
            println!("cargo::warning=GOAL's engine `kernel` is left out: {why}");
            std::fs::write(&object, []).expect("a folder that cargo has made");
            // Installed later, a clang changes one of these folders. Its own file may be older than this build.
            println!("cargo::rerun-if-env-changed=PATH");
            for folder in places(Path::new("")).filter(|folder| folder.is_dir()) {
                println!("cargo::rerun-if-changed={}", folder.display());
            }
        }
    }
}

/// The files that a program's name may mean.
fn places(program: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&search).collect();
    folders.into_iter().map(move |folder| folder.join(program))
}

/// Returns the compiler that has done it.
fn compile(object: &Path) -> Result<PathBuf, String> {
    let endian = std::env::var("CARGO_CFG_TARGET_ENDIAN").unwrap_or_default();
    if endian != "little" {
        return Err("packets have the byte order of little-endian machines".to_owned());
    }
    let named = std::env::var_os("HETMP_BPF_CLANG").filter(|c| !c.is_empty());
    let compilers: Vec<PathBuf> = match named {
        Some(named) => vec![named.into()],
        // Newest first, with the one that has been tested at the front; the plain name may mean an old one.
        None => [
            "clang-19", "clang-20", "clang-21", "clang-18", "clang-17", "clang-16", "clang",
        ]
        .map(PathBuf::from)
        .into(),
    };
    let mut first = None;
    for clang in compilers {
        match run(&clang, object) {
            Ok(()) => return Ok(clang),
            Err(why) => first = first.or(Some(why)),
        }
    }
    Err(first.unwrap_or_default())
}

fn run(clang: &Path, object: &Path) -> Result<(), String> {
    let mut command = Command::new(clang);
    command
        .args([
            "-target", "bpfel", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror", "-c", SOURCE, "-o",
        ])
        .arg(object);
    // Debian has <asm/types.h>, which <linux/types.h> includes, in a folder of the architecture.
    let arch = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    command.arg(format!("-idirafter/usr/include/{arch}-linux-gnu"));
    let out = command
        .output()
        .map_err(|e| format!("{}: {e}", clang.display()))?;
    if out.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&out.stderr);
    let line = text
        .lines()
        .find(|l| l.contains("error"))
        .unwrap_or("failed");
    Err(format!("{}: {line}", clang.display()))
}
