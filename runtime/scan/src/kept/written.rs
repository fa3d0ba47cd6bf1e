//! The readings of an object, as a file has them: bytes in, values out, and the other way round.

use super::{Found, Identity, Reading, Sum};
use crate::elf::{u32_at, u64_at};
use crate::{Calls, Entry, Form, Scan, Told, Use, Why};
use std::collections::BTreeMap;

/// The first bytes of a file.
const MAGIC: &[u8; 8] = b"hetmpR1\n";

/// The longest file, in bytes. A reading takes some 150.
pub const LARGEST: usize = 1 << 20;

/// The longest text of what executions have taught, in bytes.
pub const MOST_TAUGHT: usize = LARGEST / 2;

/// The readings of one object, at the addresses of its own numbering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readings {
    object: Identity,
    pub(super) all: BTreeMap<(u64, Form), Reading>,
    /// What executions have taught.
    pub taught: String,
}

/// Why bytes are no readings of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Another version has written them, or they are of another object.
    Other,
    /// They are not as they were written.
    Damaged,
}

/// Bytes with the sum behind them that tells damaged ones.
pub fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = Sum::EMPTY.bytes(&bytes);
    bytes.extend(sum.0.to_le_bytes());
    bytes
}

impl Readings {
    /// None yet.
    pub fn new(object: Identity) -> Readings {
        Readings {
            object,
            all: BTreeMap::new(),
            taught: String::new(),
        }
    }

    /// Those that `bytes` hold.
    ///
    /// # Errors
    /// [`Unfit`].
    pub fn parse(bytes: &[u8], object: Identity) -> Result<Readings, Unfit> {
        let end = bytes.len().checked_sub(8).ok_or(Unfit::Damaged)?;
        if u64_at(bytes, end) != Some(Sum::EMPTY.bytes(&bytes[..end]).0) {
            return Err(Unfit::Damaged);
        }
        let mut readings = Readings::new(object);
        let head = readings.head();
        let body = bytes[..end].strip_prefix(&*head).ok_or(Unfit::Other)?;
        let mut source = Source(body);
        readings.taught = source.text().ok_or(Unfit::Damaged)?;
        while !source.0.is_empty() {
            let (key, reading) = source.reading().ok_or(Unfit::Damaged)?;
            readings.all.insert(key, reading);
        }
        Ok(readings)
    }

    pub(super) fn head(&self) -> Vec<u8> {
        let mut head = MAGIC.to_vec();
        head.extend(env!("HETMP_SCAN_SOURCES").as_bytes());
        head.push(self.object.0.len() as u8);
        head.extend(&self.object.0);
        head
    }

    /// As [`Readings::parse`] takes them. No more than [`LARGEST`], if no more than [`MOST_TAUGHT`] was taught.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = self.head();
        out.extend((self.taught.len() as u32).to_le_bytes());
        out.extend(self.taught.as_bytes());
        for (&key, reading) in &self.all {
            let before = out.len();
            put(&mut out, key, reading);
            if out.len() + 8 > LARGEST {
                out.truncate(before);
                break;
            }
        }
        sealed(out)
    }

    /// What the function at this place shows. `asked`: only if it is known whether its loops divide freely.
    pub fn get(&self, offset: u64, form: Form, asked: bool) -> Option<&Reading> {
        let reading = self.all.get(&(offset, form))?;
        (!asked || reading.found.divides.is_some()).then_some(reading)
    }

    /// Puts in a reading that was made now. One that says less than what is there of the same code is dropped.
    pub fn insert(&mut self, offset: u64, form: Form, reading: Reading) {
        let known = self.all.get(&(offset, form));
        let says_less = known.is_some_and(|known| {
            known.sum == reading.sum
                && known.found.divides.is_some()
                && reading.found.divides.is_none()
        });
        if !says_less && reading.code.len() <= usize::from(u16::MAX) {
            self.all.insert((offset, form), reading);
        }
    }

    /// Puts in all readings that `newer` has.
    pub fn merge(&mut self, newer: &Readings) {
        for (&(offset, form), reading) in &newer.all {
            self.insert(offset, form, reading.clone());
        }
    }

    /// Whose they are.
    pub fn identity(&self) -> &Identity {
        &self.object
    }

    /// How many functions are known.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Is none known?
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

fn number_of(why: Why) -> u8 {
    let at = Why::ALL.iter().position(|&other| other == why);
    at.map_or(u8::MAX, |at| at as u8)
}

fn put_use(out: &mut Vec<u8>, used: Use) {
    let (kind, why, address) = match used {
        Use::Absent => (0, 0, 0),
        Use::Arithmetic => (1, 0, 0),
        Use::Escapes(why, address) => (2, number_of(why), address),
    };
    out.extend([kind, why]);
    out.extend(address.to_le_bytes());
}

fn put(out: &mut Vec<u8>, (offset, form): (u64, Form), reading: &Reading) {
    let Reading { found, code, sum } = reading;
    let Found { scan, divides } = found;
    out.extend(offset.to_le_bytes());
    out.push(u8::from(form == Form::Numbers));
    put_use(out, scan.thread_number);
    put_use(out, scan.team_size);
    let calls = &scan.calls;
    out.extend(calls.entries.to_le_bytes());
    let flags = [
        calls.foreign,
        calls.unknown,
        calls.thread_local,
        calls.polls,
    ];
    out.extend(flags.map(u8::from));
    out.extend(calls.unknown_address.to_le_bytes());
    out.extend(scan.chunks.to_le_bytes());
    out.push(scan.told.count() as u8);
    out.extend(scan.told.addresses().flat_map(u64::to_le_bytes));
    out.push(scan.limit.map_or(0, |why| 1 + number_of(why)));
    out.extend(scan.limit_address.to_le_bytes());
    let (kind, address) = match divides {
        None => (0, 0),
        Some(Ok(())) => (1, 0),
        Some(Err(address)) => (2, *address),
    };
    out.push(kind);
    out.extend(u64::to_le_bytes(address));
    out.extend((code.len() as u16).to_le_bytes());
    for (start, length) in code {
        out.extend(start.to_le_bytes());
        out.extend(length.to_le_bytes());
    }
    out.extend(sum.to_le_bytes());
}

/// What is left to be parsed.
struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn take<T>(&mut self, length: usize, of: impl Fn(&[u8], usize) -> Option<T>) -> Option<T> {
        let value = of(self.0, 0)?;
        self.0 = self.0.get(length..)?;
        Some(value)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1, |bytes, at| bytes.get(at).copied())
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn four(&mut self) -> Option<u32> {
        self.take(4, u32_at)
    }

    fn eight(&mut self) -> Option<u64> {
        self.take(8, u64_at)
    }

    fn text(&mut self) -> Option<String> {
        let length = self.four()? as usize;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn use_(&mut self) -> Option<Use> {
        let (kind, why, address) = (self.byte()?, self.byte()?, self.eight()?);
        match kind {
            0 => Some(Use::Absent),
            1 => Some(Use::Arithmetic),
            2 => Some(Use::Escapes(*Why::ALL.get(usize::from(why))?, address)),
            _ => None,
        }
    }

    fn reading(&mut self) -> Option<((u64, Form), Reading)> {
        let offset = self.eight()?;
        let form = match self.flag()? {
            false => Form::Data,
            true => Form::Numbers,
        };
        let (thread_number, team_size) = (self.use_()?, self.use_()?);
        let calls = Calls {
            entries: self
                .four()
                .filter(|entries| u64::from(*entries) < 1 << Entry::ALL.len())?,
            foreign: self.flag()?,
            unknown: self.flag()?,
            thread_local: self.flag()?,
            polls: self.flag()?,
            unknown_address: self.eight()?,
        };
        let chunks = self.four()?;
        let told = (0..self.byte()?)
            .map(|_| self.eight())
            .collect::<Option<Vec<u64>>>()?;
        let limit = match self.byte()? {
            0 => None,
            why => Some(*Why::ALL.get(usize::from(why) - 1)?),
        };
        let scan = Scan {
            thread_number,
            team_size,
            calls,
            chunks,
            told: told.into_iter().collect::<Told>(),
            limit,
            limit_address: self.eight()?,
        };
        let (kind, address) = (self.byte()?, self.eight()?);
        let divides = match kind {
            0 => None,
            1 => Some(Ok(())),
            2 => Some(Err(address)),
            _ => return None,
        };
        let ranges = u16::from(self.byte()?) | u16::from(self.byte()?) << 8;
        let code = (0..ranges)
            .map(|_| Some((self.eight()?, self.four()?)))
            .collect::<Option<Vec<(u64, u32)>>>()?;
        let sum = self.eight()?;
        let found = Found { scan, divides };
        let reading = Reading { found, code, sum };
        Some(((offset, form), reading))
    }
}
