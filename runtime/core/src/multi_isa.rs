//! Programs for two instruction sets, which `hetcc` makes: one file for users, two programs in it.
//!
//! The program that users start is for one machine; section [`HALF`] of its file, which is not loaded, holds the same
//! program for the other machine. What the two share lies at the same addresses in both. Each says so in a note of
//! name `hetmp` and type 1, in section [`NOTE`], which is loaded, and a part of a `PT_NOTE` segment. All of its numbers
//! are little-endian:
//!
//! | offset | bytes | |
//! | ---: | ---: | --- |
//! | 0 | 4 | the version of the format, 1 |
//! | 4 | 2 | the machine of this half, as in `e_machine` |
//! | 6 | 2 | the machine of the other half |
//! | 8 | 16 | the program: equal in two processes if they run halves of one file |
//! | 24 | 16 | the layout: a hash of the name, address and size of all that is shared |
//! | 40 | 80 | five ranges of addresses, first byte and end: text, constants, data, own, other |

use core::ops::Range;
use std::path::Path;

/// The name of the note's section.
pub const NOTE: &str = ".note.hetmp.program";
/// The name of the section that holds the other half, an ELF file, in a program or an object.
pub const HALF: &str = ".hetmp.half";
/// Boundaries of the ranges are multiples of this: no kernel has larger pages.
pub const ALIGN: u64 = 64 << 10;

/// The machine that this library is for, as in `e_machine`.
pub const THIS_MACHINE: u16 = if cfg!(target_arch = "aarch64") {
    183
} else {
    62
};

const VERSION: u32 = 1;
const BYTES: usize = 120;

/// One half of a program, as its note describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Half {
    /// The machine that it is for, as in `e_machine`: 62 or 183.
    pub machine: u16,
    /// That of the other half.
    pub other_machine: u16,
    /// Equal in two processes if they run halves of one file.
    pub program: [u8; 16],
    /// A hash of the name, address and size of all that is shared.
    pub layout: [u8; 16],
    /// Functions: each has the same address in both halves, and each half's own code there.
    pub text: Range<u64>,
    /// Constants that have names, among them virtual tables: the same addresses, each half's own bytes, read only.
    pub constants: Range<u64>,
    /// Variables: the same addresses and types. The one range that nodes share; whatever else is writable in the
    /// program (the loader's tables, what the C library keeps there) is each process's own.
    pub data: Range<u64>,
    /// Constants of this half alone (texts, tables of jumps). The other half has a copy of these bytes at the same
    /// addresses, so that it can follow pointers to them.
    pub own: Range<u64>,
    /// The copy of what is the other half's `own`.
    pub other: Range<u64>,
}

impl Half {
    /// The note's description.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.machine.to_le_bytes());
        bytes.extend_from_slice(&self.other_machine.to_le_bytes());
        bytes.extend_from_slice(&self.program);
        bytes.extend_from_slice(&self.layout);
        for range in [
            &self.text,
            &self.constants,
            &self.data,
            &self.own,
            &self.other,
        ] {
            bytes.extend_from_slice(&range.start.to_le_bytes());
            bytes.extend_from_slice(&range.end.to_le_bytes());
        }
        bytes
    }

    /// What [`Half::to_bytes`] has made; `None` for anything else, and for other versions.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Half> {
        if bytes.len() != BYTES || bytes[..4] != VERSION.to_le_bytes() {
            return None;
        }
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let long = |at: usize| Some(u64::from_le_bytes(bytes[at..at + 8].try_into().ok()?));
        let range = |i: usize| {
            let at = 40 + 16 * i;
            let range = long(at)?..long(at + 8)?;
            let is_whole = range.start <= range.end && (range.start | range.end) % ALIGN == 0;
            is_whole.then_some(range)
        };
        Some(Half {
            machine: short(4),
            other_machine: short(6),
            program: bytes[8..24].try_into().ok()?,
            layout: bytes[24..40].try_into().ok()?,
            text: range(0)?,
            constants: range(1)?,
            data: range(2)?,
            own: range(3)?,
            other: range(4)?,
        })
    }

    /// What the note of the running program says; `None` if `hetcc` did not make it. Such a program is never
    /// position-independent: the addresses are those in memory.
    #[must_use]
    pub fn of_this_program() -> Option<Half> {
        let mut found: Option<Half> = None;
        unsafe extern "C" fn visit(
            info: *mut libc::dl_phdr_info,
            _size: libc::size_t,
            data: *mut libc::c_void,
        ) -> libc::c_int {
            // SAFETY: the loader passes its description of a loaded object, and our pointer.
            let (info, found) = unsafe { (&*info, &mut *data.cast::<Option<Half>>()) };
            // SAFETY: a record that dl_iterate_phdr hands out right now.
            *found = unsafe { crate::object::note(info, b"hetmp\0", 1) }.and_then(Half::parse);
            // The first object is the program. A value other than 0 ends the iteration.
            1
        }
        // SAFETY: the callback matches what is passed to it, which lives through the call.
        unsafe { crate::whole::each_object(visit, (&raw mut found).cast()) };
        found
    }
}

/// The other half in the file of a program or object that `hetcc` made; `None` if there is none.
///
/// # Errors
/// Those of reading the file.
pub fn other_half(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    let bytes = crate::file::bytes(path, crate::file::LARGE)?;
    Ok(crate::object::section(&bytes, HALF).map(<[u8]>::to_vec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_says_what_was_written() {
        let half = Half {
            machine: 62,
            other_machine: 183,
            program: [1; 16],
            layout: [2; 16],
            text: 0x200_0000..0x202_0000,
            constants: 0x202_0000..0x202_0000,
            data: 0x205_0000..0x207_0000,
            own: 0x203_0000..0x204_0000,
            other: 0x204_0000..0x205_0000,
        };
        let mut bytes = half.to_bytes();
        assert_eq!(Half::parse(&bytes), Some(half));
        for cut in 0..bytes.len() {
            assert_eq!(Half::parse(&bytes[..cut]), None, "{cut}");
        }
        // Another version; the end before the start; a boundary inside of a page.
        for (at, value) in [(0, 2), (43, 9), (40, 1)] {
            let old = std::mem::replace(&mut bytes[at], value);
            assert_eq!(Half::parse(&bytes), None, "{at}");
            bytes[at] = old;
        }
    }

    #[test]
    fn other_programs_have_one_half() {
        assert_eq!(Half::of_this_program(), None);
        let exe = std::env::current_exe().expect("a path");
        assert_eq!(other_half(&exe).expect("readable"), None);
        let bytes = std::fs::read(exe).expect("readable");
        let text = crate::object::section(&bytes, ".text").expect("has code");
        assert!(text.len() > 1000);
        for cut in [0, 5, 63, 64, bytes.len() - 1] {
            let _ = crate::object::section(&bytes[..cut], ".text");
        }
    }
}
