//! Programs and objects as `hetmp which` and `hetcc` see them, and the note of a program for two machines.
#![no_main]
#![allow(dead_code, reason = "the commands use more of these files")]

#[path = "../../cli/src/elf.rs"]
mod elf;
#[path = "../../cli/src/which/part.rs"]
mod part;
#[path = "../../hetcc/src/parts.rs"]
mod parts;

use hetmp_core::multi_isa::{other_half, Half};
use hetmp_core::object::{plain_name, Functions, Variables};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = parts::Parts::read(bytes);
    if let Some(half) = Half::parse(bytes) {
        assert_eq!(Half::parse(&half.to_bytes()).as_ref(), Some(&half));
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = plain_name(text);
    }
    hetmp_fuzz::as_file(bytes, |path| {
        let _ = part::Part::read_any(path);
        let _ = (elf::check_library(path), elf::needed(path));
        let _ = (Functions::of(path).at(0x1000), other_half(path));
        let _ = Variables::of(path).within(0, u64::MAX).count();
    });
});
