//! Programs for 64-bit Arm, made by a cross compiler and run by an emulator of programs, in place of this machine's
//! own: `HETMP_TEST_MACHINE=aarch64` (scripts/test's step `cross`). Emulation shows what code computes. It does not
//! show what weakly ordered memory may do, nor how long anything takes.

use crate::suite::find_in_path;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EMULATOR: &str = "qemu-aarch64-static";
/// The folder of Debian's libraries for the cross compiler, libgomp among them.
const SYSTEM: &str = "/usr/aarch64-linux-gnu";
/// Emulation costs 6 to 17 times, and the slowest programs share a busy machine.
const SLOWER: u32 = 20;

/// Whether programs are made for Arm and emulated.
///
/// # Panics
/// With one line where the variable is wrong, or `HETMP_LIB` does not name the library for that machine.
pub fn emulated() -> bool {
    match std::env::var("HETMP_TEST_MACHINE").as_deref() {
        Err(_) => false,
        Ok("aarch64") => {
            assert!(
                std::env::var_os("HETMP_LIB").is_some(),
                "hetmp: HETMP_LIB: not set (expected libhetmp.so for aarch64)"
            );
            true
        }
        Ok(other) => {
            panic!("hetmp: HETMP_TEST_MACHINE: '{other}': is not known (expected aarch64)")
        }
    }
}

/// The compiler that makes programs for the tested machine.
#[must_use]
pub fn compiler(name: &str) -> String {
    if emulated() {
        format!("aarch64-linux-gnu-{name}")
    } else {
        name.to_owned()
    }
}

/// What is started to run `program` with `args`, and how long that may take. The environment is the program's: the
/// emulator is linked statically, so what is preloaded does not concern it.
///
/// # Errors
/// There is no emulator.
pub fn start(
    program: &Path,
    args: &[String],
    limit: Duration,
) -> Result<(PathBuf, Vec<String>, Duration), String> {
    if !emulated() {
        return Ok((program.to_owned(), args.to_vec(), limit));
    }
    let mut all = ["-L", SYSTEM].map(str::to_owned).to_vec();
    all.push(program.display().to_string());
    all.extend_from_slice(args);
    Ok((find_in_path(EMULATOR)?, all, limit * SLOWER))
}
