//! The records by which exceptions pass through a copy of a function ([`crate::uneven`]), in the form of an `.eh_frame`
//! section.
//!
//! All instructions of a copy keep their distances. So the frame instructions, and the table of the places where
//! exceptions continue, whose entries count from the function's start, hold for the copy as they are. Only addresses
//! are written anew, as absolute ones: the function's start, and those of the table and of the language's routine.

use super::{search, Format, Reader, OMITTED};
use crate::elf::{u64_at, Memory};

/// The records of the part of a function that holds an address.
pub(crate) struct Part {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// A common entry and the part's own.
    pub(crate) bytes: Vec<u8>,
}

/// Entries are padded to a multiple of this.
const ALIGNED: usize = 8;
/// Eight bytes, as they are.
const ABSOLUTE: u8 = 0;
const INDIRECT: u8 = 0x80;

/// Copies the records of the part that holds `address`, for a copy that lies `distance` behind it.
pub(crate) fn part(memory: &dyn Memory, header: u64, address: u64, distance: i64) -> Option<Part> {
    let entry = search(memory, header, address)??;
    let mut reader = Reader::new(memory, entry)?;
    let length = usize::try_from(reader.word()?).ok()?;
    let end_at = reader.at.checked_add(length)?;
    let common_at = reader.address();
    let common = common_at.wrapping_sub(u64::from(reader.word()?));
    let format = Format::read(memory, common)?;
    let start = reader.pointer(format.pointers, 0)?;
    let size = reader.pointer(format.pointers & 0x0f, 0)?;
    let end = start.checked_add(size)?;
    if !(start..end).contains(&address) || !format.augmented {
        return None;
    }
    let extra = usize::try_from(reader.unsigned()?).ok()?;
    let behind = reader.at.checked_add(extra)?;
    let mut table = 0;
    if format.language != OMITTED {
        table = reader.pointer(format.language, 0)?;
        // Places that do not count from the function's start would be the original's.
        if table != 0 && Reader::new(memory, table)?.byte()? != OMITTED {
            return None;
        }
    }
    let instructions = reader.bytes.get(behind..end_at)?;
    // Addresses of the original among the instructions are refused there.
    reader.at = behind;
    super::pushed_arguments(&mut reader, end_at, &format, start)?;
    let mut bytes = common_entry(memory, common, &format)?;
    let mut own = Vec::new();
    own.extend(u32::try_from(bytes.len() + 4).ok()?.to_le_bytes());
    own.extend(start.checked_add_signed(distance)?.to_le_bytes());
    own.extend(size.to_le_bytes());
    if format.language == OMITTED {
        own.push(0);
    } else {
        own.push(8);
        own.extend(table.to_le_bytes());
    }
    own.extend(instructions);
    append(&mut bytes, own)?;
    Some(Part { start, end, bytes })
}

/// The common entry with absolute addresses.
fn common_entry(memory: &dyn Memory, common: u64, format: &Format) -> Option<Vec<u8>> {
    let mut reader = Reader::new(memory, common)?;
    let length = usize::try_from(reader.word()?).ok()?;
    let end_at = reader.at.checked_add(length)?;
    reader.word()?;
    let head = reader.at;
    let version = reader.byte()?;
    let mut letters = Vec::new();
    loop {
        match reader.byte()? {
            0 => break,
            letter => letters.push(letter),
        }
    }
    reader.unsigned()?;
    reader.signed()?;
    if version == 1 {
        reader.byte()?;
    } else {
        reader.unsigned()?;
    }
    let mut own = vec![0; 4];
    own.extend(reader.bytes.get(head..reader.at)?);
    let extra = usize::try_from(reader.unsigned()?).ok()?;
    let behind = reader.at.checked_add(extra)?;
    let mut data = Vec::new();
    for letter in letters {
        match letter {
            b'z' => {}
            b'R' | b'L' => {
                reader.byte()?;
                let none = letter == b'L' && format.language == OMITTED;
                data.push(if none { OMITTED } else { ABSOLUTE });
            }
            b'P' => {
                let encoding = reader.byte()?;
                let mut routine = reader.pointer(encoding & !INDIRECT, 0)?;
                if encoding & INDIRECT != 0 {
                    routine = u64_at(memory.from(routine)?, 0)?;
                }
                data.push(ABSOLUTE);
                data.extend(routine.to_le_bytes());
            }
            b'S' | b'B' => {}
            _ => return None,
        }
    }
    own.push(u8::try_from(data.len()).ok().filter(|&n| n < 0x80)?);
    own.extend(data);
    own.extend(reader.bytes.get(behind..end_at)?);
    let mut bytes = Vec::new();
    append(&mut bytes, own)?;
    Some(bytes)
}

/// Appends an entry with its length, padded with instructions that do nothing.
fn append(bytes: &mut Vec<u8>, mut entry: Vec<u8>) -> Option<()> {
    entry.resize((entry.len() + 4).next_multiple_of(ALIGNED) - 4, 0);
    bytes.extend(u32::try_from(entry.len()).ok()?.to_le_bytes());
    bytes.extend(entry);
    Some(())
}
