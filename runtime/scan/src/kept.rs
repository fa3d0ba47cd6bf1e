//! What the scan has found, kept for other processes that run the same code.
//!
//! **Why that is sound.** A [`Reading`] is a function of one object alone: of its code, its offset tables with the
//! names in them, its exception tables and its program headers. Of functions in other objects only the names are known,
//! so that no other object, no variable of the environment and no property of the processor can change it. It holds
//! where all of this is the same:
//! - *code*: a reading keeps which bytes were decoded, and their checksum. Whoever takes it compares them with the
//!   bytes that lie there now. So it does not hold for code that a debugger, an optimiser or the program itself has
//!   changed, nor does a reading of changed code hold for the original.
//! - *tables and headers*: readings are filed under the object's [`Identity`], which is the linker's build-id, or a
//!   checksum of all that is mapped read-only where there is none, and the layout of the segments, which tools that
//!   edit linked files change.
//! - *the scan*: a file names the sources of this crate that it was made by.
//!
//! Beside the readings of an object lies what its executions have taught, a text that this crate does not look into.
//! No result may depend on it: it is about times.
//!
//! Bytes in, values out, and the other way round: who keeps the files, and whom to believe, is the caller's business.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::elf::{u32_at, u64_at, Memory, Segment, PF_W, PT_LOAD};
use crate::{Callee, Calls, Entry, Form, Image, Scan, Told, Unwind, Use, Why};

/// The first bytes of a file.
const MAGIC: &[u8; 8] = b"hetmpR1\n";

/// The longest file, in bytes. A reading takes some 150.
pub const LARGEST: usize = 1 << 20;

/// The longest text of what executions have taught, in bytes.
pub const MOST_TAUGHT: usize = LARGEST / 2;

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

/// The readings of one object, at the addresses of its own numbering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readings {
    object: Identity,
    all: BTreeMap<(u64, Form), Reading>,
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

    fn head(&self) -> Vec<u8> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Two functions: the first one returns, the second one calls the first one, and then what is not known.
    const CODE: [u8; 24] = [
        0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xe8, 0xf3, 0xff, 0xff, 0xff, 0xff, 0xd0,
        0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
    ];

    struct Bytes {
        start: u64,
        code: Vec<u8>,
    }

    impl Bytes {
        fn at(start: u64) -> Bytes {
            let code = CODE.to_vec();
            Bytes { start, code }
        }
    }

    impl Image for Bytes {
        fn code(&self, address: u64) -> Option<&[u8]> {
            let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
            self.code.get(at..).filter(|bytes| !bytes.is_empty())
        }
        fn callee(&self, target: u64) -> Callee {
            match self.code(target) {
                Some(_) => Callee::Inside(target),
                None => Callee::Unknown,
            }
        }
        fn slot(&self, _: u64) -> Callee {
            Callee::Unknown
        }
        fn unwind(&self, _: u64) -> Result<Option<Unwind>, Why> {
            Ok(None)
        }
    }

    fn holds(reading: &Reading, image: &Bytes) -> bool {
        reading.holds(|address, length| image.code(address)?.get(..length))
    }

    fn sample() -> Readings {
        let mut readings = Readings::new(Identity(vec![7; 28]));
        let image = Bytes::at(0x1000);
        for (offset, form, asked) in [
            (0x1000, Form::Data, true),
            (0x1008, Form::Data, true),
            (0x1008, Form::Numbers, false),
        ] {
            readings.insert(offset, form, Reading::of(&image, 0, offset, form, asked));
        }
        // Everything that can be said, in one of them.
        let mut all = Reading::of(&image, 0, 0x1000, Form::Data, false);
        all.found.scan.thread_number = Use::Escapes(Why::Counter, 0x1003);
        all.found.scan.team_size = Use::Arithmetic;
        all.found.scan.told = [0x1004, 0x1005].into_iter().collect();
        all.found.scan.limit = Some(Why::NotX86);
        all.found.scan.limit_address = 0x1007;
        all.found.scan.calls.insert(Entry::Other);
        (all.found.scan.calls.polls, all.found.scan.chunks) = (true, 3);
        all.found.divides = Some(Err(0x1002));
        readings.insert(0x1001, Form::Data, all);
        readings.taught = "a text\n".to_owned();
        readings
    }

    #[test]
    fn lengths_that_add_up_to_more_than_a_word_are_too_long() {
        struct Nothing;
        impl Memory for Nothing {
            fn from(&self, _: u64) -> Option<&[u8]> {
                Some(&[])
            }
        }
        let half = Segment {
            kind: PT_LOAD,
            flags: 4,
            start: 0,
            length: 1 << 63,
        };
        assert_eq!(Identity::of(&Nothing, 0, &[half, half]), None);
    }

    #[test]
    fn an_address_of_nothing_is_left_out() {
        let told: Told = [0, 0x1004].into_iter().collect();
        assert!(told.any() && told.addresses().eq([0x1004]));
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let readings = sample();
        let bytes = readings.bytes();
        let again = Readings::parse(&bytes, readings.object.clone());
        assert_eq!(again.as_ref(), Ok(&readings));
        assert_eq!(again.map(|r| r.bytes()), Ok(bytes.clone()));
        let other = Identity(vec![8; 28]);
        assert_eq!(Readings::parse(&bytes, other), Err(Unfit::Other));
    }

    /// No byte can be another one, missing or too much.
    #[test]
    fn damage_anywhere_is_seen() {
        let readings = sample();
        let bytes = readings.bytes();
        let parse = |bytes: &[u8]| Readings::parse(bytes, readings.object.clone());
        for length in 0..bytes.len() {
            assert_eq!(parse(&bytes[..length]), Err(Unfit::Damaged), "{length}");
        }
        for at in 0..bytes.len() {
            for flip in [1, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                assert_eq!(parse(&damaged), Err(Unfit::Damaged), "{at} {flip}");
            }
        }
        assert_eq!(parse(&[&*bytes, &[0]].concat()), Err(Unfit::Damaged));
    }

    /// Bytes with a right checksum that nobody wrote give readings or none, but no panic.
    #[test]
    fn a_right_checksum_over_nonsense_is_survived() {
        let readings = sample();
        let bytes = readings.bytes();
        let (head, end) = (readings.head().len(), bytes.len() - 8);
        for at in head..end {
            for value in [0, 1, 2, 3, 0x7f, 0xff] {
                let mut body = bytes[..end].to_vec();
                body[at] = value;
                let sum = Sum::EMPTY.bytes(&body);
                body.extend(sum.0.to_le_bytes());
                if let Ok(parsed) = Readings::parse(&body, readings.object.clone()) {
                    for reading in parsed.all.into_values() {
                        holds(&reading, &Bytes::at(0x1000));
                        let _ = reading.found.moved(0x5000_0000);
                    }
                }
            }
        }
    }

    #[test]
    fn a_reading_holds_for_the_code_it_was_made_from() {
        let image = Bytes::at(0x1000);
        let reading = Reading::of(&image, 0, 0x1008, Form::Data, true);
        assert!(reading.found.scan.calls.unknown && holds(&reading, &image));
        // What was decoded: the function, and the one that it calls.
        for at in 0..CODE.len() {
            let mut changed = Bytes::at(0x1000);
            changed.code[at] ^= 1;
            let was_read = at == 0 || (8..16).contains(&at);
            assert_eq!(holds(&reading, &changed), !was_read, "{at}");
        }
        let mut short = Bytes::at(0x1000);
        short.code.truncate(12);
        assert!(!holds(&reading, &short));
    }

    #[test]
    fn the_same_elsewhere() {
        let of = |base| Reading::of(&Bytes::at(base), base, base + 8, Form::Data, true);
        let (here, there) = (of(0x1000), of(0x7000));
        assert_eq!(here, there);
        let image = Bytes::at(0x7000);
        assert!(here.holds(|offset, length| image.code(0x7000 + offset)?.get(..length)));
        let scan = crate::scan(&image, 0x7008, Form::Data);
        assert_eq!(here.found.moved(0x7000).scan, scan);
    }

    #[test]
    fn less_does_not_replace_more() {
        let image = Bytes::at(0x1000);
        let of = |asked| Reading::of(&image, 0, 0x1000, Form::Data, asked);
        let mut readings = Readings::new(Identity(vec![1]));
        readings.insert(0x1000, Form::Data, of(false));
        assert!(readings.get(0x1000, Form::Data, true).is_none());
        assert!(readings.get(0x1000, Form::Numbers, false).is_none());
        readings.insert(0x1000, Form::Data, of(true));
        readings.insert(0x1000, Form::Data, of(false));
        assert!(readings.get(0x1000, Form::Data, true).is_some());
        // Other code does.
        let mut other = of(false);
        other.sum ^= 1;
        readings.insert(0x1000, Form::Data, other);
        assert!(readings.get(0x1000, Form::Data, true).is_none());
    }

    #[test]
    fn no_file_grows_without_end() {
        let mut readings = Readings::new(Identity(vec![1]));
        let reading = Reading::of(&Bytes::at(0), 0, 0, Form::Data, true);
        for offset in 0..20_000 {
            readings.insert(offset, Form::Data, reading.clone());
        }
        readings.taught = "x".repeat(MOST_TAUGHT);
        let bytes = readings.bytes();
        assert!(bytes.len() <= LARGEST);
        let parsed = Readings::parse(&bytes, readings.object.clone()).expect("whole");
        assert!(!parsed.is_empty() && parsed.len() < readings.len());
        assert_eq!(parsed.taught, readings.taught);
    }
}
