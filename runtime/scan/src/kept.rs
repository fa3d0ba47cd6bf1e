//! What the scan has found, kept for other processes that run the same code.
//!
//! **Why that is sound.** A [`Reading`] is a function of one object alone: of its code, its offset tables with the
//! names in them, its exception tables and its program headers. Of functions in other objects only the names are known,
//! so that no other object, no variable of the environment and no property of the processor can change it. It has
//! where all of this is the same:
//! - *code*: a reading keeps which bytes were decoded, and their checksum. Whoever takes it compares them with the
//!   bytes that lie there now. So it does not hold for code that a debugger, an optimiser or the program itself has
//!   changed, nor does a reading of changed code hold for the original.
//! - *tables and headers*: readings are filed under the object's [`Identity`], which is the linker's build-id, or a
//!   checksum of all that is mapped read-only where there is none, and the layout of the segments, which tools that
//!   edit linked files change.
//! - *the scan*: a file names the sources of this crate that it was made by.
//!
//! Next to the readings of an object lies what its executions have taught, a text that this crate does not look into.
//! No result may depend on it: it is about times.
//!
//! How a file has them is in `written`; who keeps the files, and whom to believe, is the caller's business.

mod written;

use std::cell::RefCell;

use crate::elf::{u64_at, Memory, Segment, PF_W, PT_LOAD};
use crate::{Callee, Form, Image, Scan, Unwind, Use, Why};

pub use written::{sealed, Readings, Unfit, LARGEST, MOST_TAUGHT};

/// Most bytes of an object without a build-id, all of which are read to tell it from others: these take 3 ms.
const NAMELESS: u64 = 16 << 20;

/// A checksum, eight bytes at a time. For given bytes before and after, each word gives another sum.
#[derive(Clone, Copy, Debug)]
struct Sum(u64);

impl Sum {
    const EMPTY: Sum = Sum(0x9E37_79B9_7F4A_7C15);

    fn word(self, word: u64) -> Sum {
        let product = (self.0 ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Sum(product ^ (product >> 32))
    }

    fn bytes(self, bytes: &[u8]) -> Sum {
        let words = bytes.chunks_exact(8);
        let mut last = [0; 8];
        last[..words.remainder().len()].copy_from_slice(words.remainder());
        let sum = words.fold(self.word(bytes.len() as u64), |sum, word| {
            sum.word(u64_at(word, 0).unwrap_or(0))
        });
        sum.word(u64::from_le_bytes(last))
    }
}

/// By what an object is known in every process that has mapped it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity(Vec<u8>);

impl Identity {
    /// `None` where there is no build-id, and the object is too large to do without.
    pub(crate) fn of(memory: &dyn Memory, base: u64, segments: &[Segment]) -> Option<Identity> {
        let layout = segments.iter().fold(Sum::EMPTY, |sum, s| {
            sum.word(u64::from(s.kind) << 32 | u64::from(s.flags))
                .word(s.start.wrapping_sub(base))
                .word(s.length)
        });
        let mut name = match crate::elf::build_id(memory, segments) {
            Some(id) if !id.is_empty() && id.len() <= 64 => id,
            _ => contents(memory, segments)?.0.to_le_bytes().to_vec(),
        };
        name.extend(layout.0.to_le_bytes());
        Some(Identity(name))
    }

    /// The name of the object's file: hexadecimal digits.
    pub fn name(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The checksum of what nobody can write to.
fn contents(memory: &dyn Memory, segments: &[Segment]) -> Option<Sum> {
    let fixed = |s: &&Segment| s.kind == PT_LOAD && s.flags & PF_W == 0;
    let lengths = segments.iter().filter(fixed).map(|s| s.length);
    // The lengths are what the file says.
    if lengths.fold(0, u64::saturating_add) > NAMELESS {
        return None;
    }
    segments
        .iter()
        .filter(fixed)
        .try_fold(Sum::EMPTY, |sum, s| {
            let bytes = memory.from(s.start)?.get(..s.length as usize)?;
            Some(sum.bytes(bytes))
        })
}

/// What the code of one function shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What it does.
    pub scan: Scan,
    /// Whether its loops [divide freely](crate::divides_freely), where that was asked.
    pub divides: Option<Result<(), u64>>,
}

impl Found {
    /// The same for an object that lies `by` bytes further.
    #[must_use]
    pub fn moved(mut self, by: u64) -> Found {
        let move_ = |address: &mut u64| {
            if *address != 0 {
                *address = address.wrapping_add(by);
            }
        };
        let scan = &mut self.scan;
        for used in [&mut scan.thread_number, &mut scan.team_size] {
            if let Use::Escapes(_, address) = used {
                move_(address);
            }
        }
        move_(&mut scan.limit_address);
        move_(&mut scan.calls.unknown_address);
        let told = scan.told.addresses();
        scan.told = told.map(|address| address.wrapping_add(by)).collect();
        if let Some(Err(address)) = &mut self.divides {
            move_(address);
        }
        self
    }
}

/// What was found, and in which code, at the addresses of the object's own numbering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What was found.
    pub found: Found,
    /// The bytes that were decoded: first address and length, in order.
    code: Vec<(u64, u32)>,
    /// Their checksum.
    sum: u64,
}

/// Notes what is decoded.
struct Noting<'a> {
    image: &'a dyn Image,
    decoded: RefCell<Vec<(u64, u64)>>,
}

impl Image for Noting<'_> {
    fn code(&self, address: u64) -> Option<&[u8]> {
        self.image.code(address)
    }

    fn callee(&self, target: u64) -> Callee {
        self.image.callee(target)
    }

    fn slot(&self, slot: u64) -> Callee {
        self.image.slot(slot)
    }

    fn unwind(&self, address: u64) -> Result<Option<Unwind>, Why> {
        self.image.unwind(address)
    }

    fn machine(&self) -> crate::Machine {
        self.image.machine()
    }

    fn decoded(&self, start: u64, end: u64) {
        let mut all = self.decoded.borrow_mut();
        match all.last_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => all.push((start, end)),
        }
    }
}

/// Puts ranges in order, and those that touch together.
fn joined(mut all: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    all.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (start, end) in all {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

impl Reading {
    /// Reads the function at `entry` of an object at `base`, which a compiler outlined in this `form`. `asked`: finds
    /// out also whether its loops divide freely.
    pub fn of(image: &dyn Image, base: u64, entry: u64, form: Form, asked: bool) -> Reading {
        let noting = Noting {
            image,
            decoded: RefCell::new(Vec::new()),
        };
        let (scan, divides) = if asked {
            let (scan, divides) = crate::scan_with_division(&noting, entry, form);
            (scan, Some(divides))
        } else {
            (crate::scan(&noting, entry, form), None)
        };
        let found = Found { scan, divides };
        let ranges = joined(noting.decoded.into_inner()).into_iter();
        let code: Vec<(u64, u32)> = ranges
            .map(|(start, end)| (start.wrapping_sub(base), (end - start) as u32))
            .collect();
        let mut reading = Reading {
            found: found.moved(base.wrapping_neg()),
            code,
            sum: 0,
        };
        let there = |offset: u64, length| image.code(base.wrapping_add(offset))?.get(..length);
        reading.sum = reading.sum_of(there).map_or(0, |sum| sum.0);
        reading
    }

    fn sum_of<'m>(&self, code: impl Fn(u64, usize) -> Option<&'m [u8]>) -> Option<Sum> {
        let ranges = &mut self.code.iter();
        ranges.try_fold(Sum::EMPTY, |sum, &(start, length)| {
            Some(sum.word(start).bytes(code(start, length as usize)?))
        })
    }

    /// Does the code that was read lie there? `code` has its bytes by address, in the object's own numbering, and
    /// length.
    pub fn holds<'m>(&self, code: impl Fn(u64, usize) -> Option<&'m [u8]>) -> bool {
        self.sum_of(code).is_some_and(|sum| sum.0 == self.sum)
    }
}

#[cfg(test)]
mod tests;
