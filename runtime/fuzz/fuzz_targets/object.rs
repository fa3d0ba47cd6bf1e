//! Programs and objects as `hetmp which` and `hetcc` see them, and the note of a program for two machines.
#![no_main]
#![allow(dead_code, reason = "the commands use more of these files")]

#[path = "../../cli/src/elf.rs"]
mod elf;
#[path = "../../cli/src/which/part.rs"]
mod part;
#[path = "../../hetcc/src/parts.rs"]
mod parts;

use hetmp_core::multi_isa::Half;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = parts::Parts::read(bytes);
    if let Some(half) = Half::parse(bytes) {
        assert_eq!(Half::parse(&half.to_bytes()).as_ref(), Some(&half));
    }
    hetmp_fuzz::as_file(bytes, |path| {
        let _ = part::Part::read_any(path);
        let _ = (elf::check_library(path), elf::needed(path));
    });
});
