//! Does an instruction of 64-bit Arm write memory? For handlers of faults, where the system does not say: emulators of
//! processes leave the record out that tells it. Pure.
//!
//! Source: Arm Architecture Reference Manual for A-profile (DDI 0487), C4.1 "A64 instruction set encoding".

/// Does the instruction write to memory, or read and write? `None`: it is none that is known to access memory.
pub fn writes(word: u32) -> Option<bool> {
    let bits = |from: u32, count: u32| word >> from & ((1 << count) - 1);
    let bit = |at: u32| bits(at, 1) == 1;
    let is_load = bit(22);
    // Pointers and modes of what is addressed are in the lower bits everywhere; the upper ones say what is done.
    match bits(25, 4) {
        0b0010 => scalable(word),
        0b0000 if bits(29, 3) == 0b111 => Some(bit(21)),
        0b1010 => cache(word),
        0b0100 | 0b0110 | 0b1100 | 0b1110 => match (bits(28, 2), bit(26)) {
            // Exclusive and ordered accesses; and compare-and-swap, of one register or of a pair.
            (0b00, false) if !bit(24) => {
                let swaps = bit(21) && (bit(23) || !bit(31));
                Some(!is_load || swaps)
            }
            // Structures of vectors.
            (0b00, true) if !bit(31) => Some(!is_load),
            // Pairs.
            (0b10, _) => Some(!is_load),
            // Literals.
            (0b01, _) if !bit(24) => Some(false),
            (0b01, vector) => beside_literals(word, vector),
            (0b11, vector) if bit(24) || !bit(21) || bits(10, 2) == 0b10 => {
                Some(one_register(word, vector))
            }
            (0b11, _) if bits(10, 2) == 0 => atomic(word),
            // With an authenticated pointer.
            (0b11, false) if bits(30, 2) == 0b11 => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// One register, with any mode of addressing.
fn one_register(word: u32, vector: bool) -> bool {
    let what = word >> 22 & 3;
    // Of a vector register, the upper bit says that it has 128 bits. Else it says that a load extends the sign, or that
    // nothing is loaded but into a cache.
    what == 0 || vector && what == 2
}

/// Ordered accesses with an offset, copies and fills of memory, and tags.
fn beside_literals(word: u32, vector: bool) -> Option<bool> {
    let what = word >> 22 & 3;
    match (word >> 21 & 1, word >> 10 & 3) {
        (0, 0b00) => Some(what == 0 || vector && what == 2),
        (0, 0b10) if vector => Some(what == 0 || what == 2),
        // Copies read and write, by turns; fills write.
        (0, 0b01) => Some(true),
        // Tags: all but one store them.
        (1, kind) => Some(kind != 0 || what % 2 == 0),
        _ => None,
    }
}

/// Atomic operations, and what is encoded among them.
fn atomic(word: u32) -> Option<bool> {
    // A load with acquire; a load of 64 bytes.
    let reads = [(0x3fff_fc00, 0x38bf_c000), (0xffff_fc00, 0xf83f_d000)];
    Some(!reads.iter().any(|(mask, is)| word & mask == *is))
}

/// Instructions on caches that a program may use: they fault where it must not read. Three of them write zeros or tags.
fn cache(word: u32) -> Option<bool> {
    match word & 0xffff_ffe0 {
        0xd50b_7420 | 0xd50b_7460 | 0xd50b_7480 => Some(true),
        0xd50b_7520 | 0xd50b_7a20 | 0xd50b_7b20 | 0xd50b_7c20 | 0xd50b_7d20 | 0xd50b_7e20 => {
            Some(false)
        }
        _ => None,
    }
}

/// Scalable vectors.
fn scalable(word: u32) -> Option<bool> {
    match word >> 29 {
        0b100..=0b110 => Some(false),
        0b111 => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::writes;

    /// Each kind once, with the word that GNU as 2.40 makes of the text.
    #[test]
    fn each_kind() {
        for (text, word, expected) in [
            ("ldr x10, [x0, #8]", 0xf940_040a, Some(false)),
            ("str x10, [x0, #8]", 0xf900_040a, Some(true)),
            ("ldrsw x10, [x0]", 0xb980_000a, Some(false)),
            ("prfm pldl1keep, [x0]", 0xf980_0000, Some(false)),
            ("str q0, [x0, #16]", 0x3d80_0400, Some(true)),
            ("ldr q0, [x0, #16]", 0x3dc0_0400, Some(false)),
            ("stp q0, q1, [x0]", 0xad00_0400, Some(true)),
            ("ldp x10, x11, [x0]", 0xa940_2c0a, Some(false)),
            ("stlr x10, [x0]", 0xc89f_fc0a, Some(true)),
            ("ldar x10, [x0]", 0xc8df_fc0a, Some(false)),
            ("ldapr x10, [x0]", 0xf8bf_c00a, Some(false)),
            ("ldxr x10, [x0]", 0xc85f_7c0a, Some(false)),
            ("stxr w11, x10, [x0]", 0xc80b_7c0a, Some(true)),
            ("ldxp x10, x11, [x0]", 0xc87f_2c0a, Some(false)),
            ("casal x10, x11, [x0]", 0xc8ea_fc0b, Some(true)),
            ("casp x10, x11, x12, x13, [x0]", 0x482a_7c0c, Some(true)),
            ("ldadd x10, x11, [x0]", 0xf82a_000b, Some(true)),
            ("swpal x10, x11, [x0]", 0xf8ea_800b, Some(true)),
            ("ld1 {v0.4s}, [x0]", 0x4c40_7800, Some(false)),
            ("st1 {v0.4s}, [x0]", 0x4c00_7800, Some(true)),
            ("ldr x10, .", 0x5800_000a, Some(false)),
            ("ldrh w11, [x0, x10]", 0x786a_680b, Some(false)),
            ("dc zva, x0", 0xd50b_7420, Some(true)),
            ("dc cvau, x0", 0xd50b_7b20, Some(false)),
            ("add x0, x0, #1", 0x9100_0400, None),
            ("ret", 0xd65f_03c0, None),
        ] {
            assert_eq!(writes(word), expected, "{text} {word:#x}");
        }
    }
}
