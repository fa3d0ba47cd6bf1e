//! What is written is read, and nothing else is believed.

use super::*;
use crate::{Entry, Told};

/// Two functions: the first one returns, the second one calls the first one, and then what is not known.
const CODE: [u8; 24] = [
    0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xe8, 0xf3, 0xff, 0xff, 0xff, 0xff, 0xd0, 0xc3,
    0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
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
    let again = Readings::parse(&bytes, readings.identity().clone());
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
    let parse = |bytes: &[u8]| Readings::parse(bytes, readings.identity().clone());
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
            if let Ok(parsed) = Readings::parse(&body, readings.identity().clone()) {
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
    let parsed = Readings::parse(&bytes, readings.identity().clone()).expect("whole");
    assert!(!parsed.is_empty() && parsed.len() < readings.len());
    assert_eq!(parsed.taught, readings.taught);
}
