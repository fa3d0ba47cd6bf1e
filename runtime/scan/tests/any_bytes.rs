//! Whatever the bytes are, the scan ends, and claims nothing about code that
//! does not divide by the number of threads.
#![cfg(target_arch = "x86_64")]

use hetmp_scan::{divides_freely, scan, Callee, Entry, Form, Image, Machine, Pad, Unwind, Why};
use proptest::prelude::*;

const START: u64 = 0x40_0000;

/// Bytes at one address; calls of low addresses are calls of the runtime.
struct Bytes(Vec<u8>, Vec<Pad>, Machine);

impl Image for Bytes {
    fn machine(&self) -> Machine {
        self.2
    }

    fn code(&self, address: u64) -> Option<&[u8]> {
        self.0
            .get(usize::try_from(address.checked_sub(START)?).ok()?..)
    }

    fn callee(&self, target: u64) -> Callee {
        match target % 7 {
            0 => Callee::Runtime(Entry::ThreadNumber),
            1 => Callee::Runtime(Entry::TeamSize),
            2 => Callee::Named("exp".to_string()),
            3 => Callee::Unknown,
            _ => Callee::Inside(target),
        }
    }

    fn slot(&self, slot: u64) -> Callee {
        self.callee(slot)
    }

    fn unwind(&self, address: u64) -> Result<Option<Unwind>, Why> {
        Ok(Some(Unwind {
            start: START,
            end: START + self.0.len() as u64,
            pads: self.1.clone(),
            arguments: vec![(address, 16)],
        }))
    }
}

/// Pieces that make random code reach more than its first instruction.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => proptest::collection::vec(any::<u8>(), 1..8),
        // Short jumps and branches.
        2 => (0x70u8..0x80, any::<u8>()).prop_map(|(code, to)| vec![code, to]),
        1 => any::<u8>().prop_map(|to| vec![0xeb, to]),
        // Calls near by.
        3 => (any::<u8>(), any::<bool>()).prop_map(|(to, back)| {
            let high = if back { 0xff } else { 0 };
            vec![0xe8, to, high, high, high]
        }),
        // Register arithmetic, idiv and imul among it.
        4 => (prop_oneof![Just(0x01u8), Just(0x29), Just(0x39), Just(0x89), Just(0x85), Just(0xf7)], 0xc0u8..)
            .prop_map(|(code, registers)| vec![code, registers]),
        1 => (0xc0u8..).prop_map(|registers| vec![0x0f, 0xaf, registers]),
        1 => (0x40u8..0x50, 0xc0u8..).prop_map(|(condition, registers)| vec![0x0f, condition, registers]),
        // Loads, stores and addresses relative to the stack pointer.
        3 => (prop_oneof![Just(0x8bu8), Just(0x89), Just(0x8d)], 0u8..8, any::<u8>())
            .prop_map(|(code, register, at)| vec![0x48, code, 0x44 | register << 3, 0x24, at]),
        1 => Just(vec![0x99]),
        1 => Just(vec![0xc3]),
        1 => (0x50u8..0x60).prop_map(|code| vec![code]),
    ]
}

proptest! {
    #[test]
    fn ends(pieces in proptest::collection::vec(piece(), 1..120), pads in any::<bool>()) {
        let bytes: Vec<u8> = pieces.concat();
        let end = START + bytes.len() as u64;
        let pads = if pads {
            vec![Pad { start: START, end, pad: START + bytes.len() as u64 / 2 }]
        } else {
            Vec::new()
        };
        let divides = bytes.windows(2).any(|pair| pair[0] == 0xf7);
        let image = Bytes(bytes, pads, Machine::X86_64);
        let scan = scan(&image, START, Form::Data);
        let freely = divides_freely(&image, START, Form::Data);
        prop_assert!(freely.is_err() || scan.limit.is_none());
        if scan.fits().is_ok() {
            prop_assert!(divides);
            prop_assert!(scan.calls.contains(Entry::ThreadNumber));
            prop_assert!(scan.calls.contains(Entry::TeamSize));
        }
    }

    #[test]
    fn ends_for_arm(words in proptest::collection::vec(word(), 1..200)) {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let divides = words.iter().any(|word| word & 0x7fe0_f800 == 0x1ac0_0800);
        let image = Bytes(bytes, Vec::new(), Machine::A64);
        let scan = scan(&image, START, Form::Data);
        prop_assert!(scan.fits().is_err() || divides);
    }
}

/// Words that make random code of 64-bit Arm reach more than its first instruction.
fn word() -> impl Strategy<Value = u32> {
    prop_oneof![
        1 => any::<u32>(),
        // Calls and branches near by.
        1 => (0u32..64).prop_map(|to| 0x9400_0000 | to),
        1 => (any::<u32>(), 0u32..64).prop_map(|(by, to)| 0x5400_0000 | by & 0xf | to << 5),
        1 => (any::<u32>(), 0u32..64).prop_map(|(by, to)| 0x3400_0000 | by & 0x8100_001f | to << 5),
        // Sums, products, divisions, choices; loads and stores, of pairs, too; sums of fractions.
        2 => any::<u32>().prop_map(|by| 0x0b00_0000 | by & 0xe0df_03ff),
        1 => any::<u32>().prop_map(|by| 0x1b00_0000 | by & 0x801f_ffff),
        1 => any::<u32>().prop_map(|by| 0x1ac0_0c00 | by & 0x801f_03ff),
        1 => any::<u32>().prop_map(|by| 0x1a80_0000 | by & 0xc01f_f7ff),
        2 => any::<u32>().prop_map(|by| 0xb900_0000 | by & 0x407f_ffff),
        1 => any::<u32>().prop_map(|by| 0x2800_0000 | by & 0x81ff_ffff),
        1 => any::<u32>().prop_map(|by| 0x1e20_0800 | by & 0x005f_f3ff),
        1 => Just(0xd65f_03c0),
    ]
}
