//! Where exceptions continue: the search table `.eh_frame_hdr`, the frame
//! description entries it points to, and the call-site tables of
//! `.gcc_except_table` (System V ABI, AMD64 supplement; Itanium C++ ABI,
//! exception handling).
//!
//! The code of a `catch` is reached by no jump, only through these tables, and
//! it can use the thread number as any other code can.

pub(crate) mod frames;

use crate::elf::{u32_at, u64_at, Memory};
use crate::{Pad, Unwind, Why};

const OMITTED: u8 = 0xff;

/// Reads one after the other; every step fails at the end of the bytes.
struct Reader<'a> {
    bytes: &'a [u8],
    /// Address of the first byte.
    start: u64,
    at: usize,
}

impl<'a> Reader<'a> {
    fn new(memory: &'a dyn Memory, address: u64) -> Option<Reader<'a>> {
        Some(Reader {
            bytes: memory.from(address)?,
            start: address,
            at: 0,
        })
    }

    fn address(&self) -> u64 {
        self.start + self.at as u64
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn word(&mut self) -> Option<u32> {
        let word = u32_at(self.bytes, self.at)?;
        self.at += 4;
        Some(word)
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let mut value = 0i64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= i64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                if byte & 0x40 != 0 && shift + 7 < 64 {
                    value |= -1i64 << (shift + 7);
                }
                return Some(value);
            }
        }
        None
    }

    /// A pointer in one of the DWARF exception-header encodings; `data` is what
    /// data-relative ones are relative to. Indirect ones are not followed.
    fn pointer(&mut self, encoding: u8, data: u64) -> Option<u64> {
        let here = self.address();
        let value = match encoding & 0x0f {
            0x00 | 0x04 | 0x0c => {
                let value = u64_at(self.bytes, self.at)?;
                self.at += 8;
                value
            }
            0x01 => self.unsigned()?,
            0x09 => self.signed()? as u64,
            0x02 | 0x0a => {
                let part = self.bytes.get(self.at..self.at + 2)?;
                self.at += 2;
                let value = u16::from_le_bytes(part.try_into().ok()?);
                if encoding & 0x08 == 0 {
                    u64::from(value)
                } else {
                    i64::from(value as i16) as u64
                }
            }
            0x03 => u64::from(self.word()?),
            0x0b => i64::from(self.word()? as i32) as u64,
            _ => return None,
        };
        if value == 0 {
            // Null whatever it is relative to.
            return Some(0);
        }
        Some(match encoding & 0x70 {
            0x00 => value,
            0x10 => here.wrapping_add(value),
            0x30 => data.wrapping_add(value),
            _ => return None,
        })
    }
}

/// The record of the function that holds `address`, through the search table
/// at `header`.
pub(crate) fn find(memory: &dyn Memory, header: u64, address: u64) -> Result<Option<Unwind>, Why> {
    match search(memory, header, address) {
        None => Err(Why::Unwind),
        Some(None) => Ok(None),
        Some(Some(entry)) => record(memory, entry, address).ok_or(Why::Unwind),
    }
}

/// The address of the frame description entry that may cover `address`.
fn search(memory: &dyn Memory, header: u64, address: u64) -> Option<Option<u64>> {
    let mut reader = Reader::new(memory, header)?;
    let (version, frame, count, table) = (
        reader.byte()?,
        reader.byte()?,
        reader.byte()?,
        reader.byte()?,
    );
    // Data-relative pairs of signed words: what every linker writes.
    if version != 1 || table != 0x3b {
        return None;
    }
    reader.pointer(frame, header)?;
    let count = usize::try_from(reader.pointer(count, header)?).ok()?;
    let pairs = reader.bytes.get(reader.at..)?;
    let pairs = pairs.get(..count.checked_mul(8)?)?;
    let start = |index: usize| {
        u32_at(pairs, index * 8).map(|word| header.wrapping_add_signed(i64::from(word as i32)))
    };
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if start(middle)? <= address {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if low == 0 {
        return Some(None);
    }
    let entry = u32_at(pairs, (low - 1) * 8 + 4)?;
    Some(Some(header.wrapping_add_signed(i64::from(entry as i32))))
}

/// Reads a frame description entry; `Some(None)` where it covers something
/// else.
fn record(memory: &dyn Memory, entry: u64, address: u64) -> Option<Option<Unwind>> {
    let mut reader = Reader::new(memory, entry)?;
    let length = reader.word()?;
    if length == 0 || length == u32::MAX {
        return None;
    }
    let common_at = reader.address();
    let common = common_at.wrapping_sub(u64::from(reader.word()?));
    let format = Format::read(memory, common)?;
    let start = reader.pointer(format.pointers, 0)?;
    let size = reader.pointer(format.pointers & 0x0f, 0)?;
    let end = start.checked_add(size)?;
    if !(start..end).contains(&address) {
        return Some(None);
    }
    let mut pads = Vec::new();
    if format.augmented {
        let length = usize::try_from(reader.unsigned()?).ok()?;
        let behind = reader.at.checked_add(length)?;
        if format.language != OMITTED {
            let table = reader.pointer(format.language, 0)?;
            if table != 0 {
                pads = call_sites(memory, table, start)?;
            }
        }
        reader.at = behind;
    }
    let arguments = if pads.is_empty() {
        Vec::new()
    } else {
        let length = usize::try_from(length).ok()?;
        pushed_arguments(&mut reader, length.checked_add(4)?, &format, start)?
    };
    Some(Some(Unwind {
        start,
        end,
        pads,
        arguments,
    }))
}

/// Reads the frame instructions up to `end` for the one that matters here,
/// the size of the arguments on the stack.
fn pushed_arguments(
    reader: &mut Reader,
    end: usize,
    format: &Format,
    start: u64,
) -> Option<Vec<(u64, i64)>> {
    let mut found = Vec::new();
    let mut at = start;
    while reader.at < end {
        let code = reader.byte()?;
        let mut advance = 0;
        match code {
            0x40..=0x7f => advance = u64::from(code & 0x3f),
            // Registers at offsets from the frame address, and back.
            0x80..=0xbf => {
                reader.unsigned()?;
            }
            0xc0..=0xff | 0x00 | 0x0a | 0x0b => {}
            // An address, which no compiler writes here.
            0x01 => return None,
            0x02 => advance = u64::from(reader.byte()?),
            0x03 => advance = u64::from(reader.byte()?) | u64::from(reader.byte()?) << 8,
            0x04 => advance = u64::from(reader.word()?),
            0x06..=0x08 | 0x0d | 0x0e | 0x13 => {
                reader.unsigned()?;
            }
            0x05 | 0x09 | 0x0c | 0x11 | 0x12 | 0x14 | 0x15 => {
                reader.unsigned()?;
                reader.unsigned()?;
            }
            0x0f => {
                let length = usize::try_from(reader.unsigned()?).ok()?;
                reader.at = reader.at.checked_add(length)?;
            }
            0x10 | 0x16 => {
                reader.unsigned()?;
                let length = usize::try_from(reader.unsigned()?).ok()?;
                reader.at = reader.at.checked_add(length)?;
            }
            0x2e => found.push((at, i64::try_from(reader.unsigned()?).ok()?)),
            _ => return None,
        }
        at = at.checked_add(advance.checked_mul(format.code)?)?;
    }
    Some(found)
}

/// How the entries of one common information entry are written.
struct Format {
    augmented: bool,
    /// What advances of the address are multiplied by.
    code: u64,
    pointers: u8,
    language: u8,
}

impl Format {
    fn read(memory: &dyn Memory, common: u64) -> Option<Format> {
        let mut reader = Reader::new(memory, common)?;
        reader.word()?;
        if reader.word()? != 0 {
            return None;
        }
        let version = reader.byte()?;
        let mut letters = Vec::new();
        loop {
            match reader.byte()? {
                0 => break,
                letter => letters.push(letter),
            }
        }
        let code = reader.unsigned()?;
        reader.signed()?;
        if version == 1 {
            reader.byte()?;
        } else {
            reader.unsigned()?;
        }
        let mut format = Format {
            augmented: false,
            code,
            pointers: 0,
            language: OMITTED,
        };
        for letter in letters {
            match letter {
                b'z' => {
                    format.augmented = true;
                    reader.unsigned()?;
                }
                b'R' => format.pointers = reader.byte()?,
                b'L' => format.language = reader.byte()?,
                b'P' => {
                    let encoding = reader.byte()?;
                    // Where it leads does not matter, how long it is does.
                    reader.pointer(encoding & 0x7f, 0)?;
                }
                b'S' | b'B' => {}
                _ => return None,
            }
        }
        Some(format)
    }
}

fn call_sites(memory: &dyn Memory, table: u64, function: u64) -> Option<Vec<Pad>> {
    let mut reader = Reader::new(memory, table)?;
    let encoding = reader.byte()?;
    let landing = if encoding == OMITTED {
        function
    } else {
        reader.pointer(encoding, 0)?
    };
    let types = reader.byte()?;
    if types != OMITTED {
        reader.unsigned()?;
    }
    let encoding = reader.byte()?;
    let length = usize::try_from(reader.unsigned()?).ok()?;
    let end = reader.at.checked_add(length)?;
    let mut pads = Vec::new();
    while reader.at < end {
        let start = reader.pointer(encoding, 0)?;
        let size = reader.pointer(encoding, 0)?;
        let pad = reader.pointer(encoding, 0)?;
        reader.unsigned()?;
        if pad != 0 {
            let start = function.checked_add(start)?;
            pads.push(Pad {
                start,
                end: start.checked_add(size)?,
                pad: landing.checked_add(pad)?,
            });
        }
    }
    Some(pads)
}
