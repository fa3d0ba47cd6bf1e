//! Machines and programs that `hetmp simulate` reads.
#![no_main]
#![allow(dead_code, reason = "the command uses more of these files")]

#[path = "../../cli/src/simulate/file.rs"]
mod file;
#[path = "../../cli/src/simulate/format.rs"]
mod format;
#[path = "../../cli/src/simulate/library.rs"]
mod library;

use libfuzzer_sys::fuzz_target;

/// Refused in one line, whatever the file has.
fn seen<T>(answer: Result<T, String>) {
    if let Err(line) = answer {
        assert!(!line.contains('\n'), "{line}");
    }
}

fuzz_target!(|bytes: &[u8]| {
    hetmp_fuzz::as_file(bytes, |path| {
        let name = path.to_str().expect("a folder whose name is text");
        seen(file::platform(name));
        seen(file::workload(name));
    });
});
