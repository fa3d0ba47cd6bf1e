//! A ring of bytes with one writer and one reader: computes where records lie. Pure; [`crate::link`] has the memory.
//!
//! Positions count bytes since the beginning and never wrap around; the place of a position in the ring is the
//! position modulo [`RING`]. A record is a header of [`HEAD`] bytes with its length, the bytes, and padding to a
//! multiple of 8. No record crosses the ring's end: a header of [`SKIP`] there sends the reader to the ring's start.

/// Bytes of a ring.
pub(crate) const RING: u64 = 64 << 10;
/// Bytes of a record's header, which is the record's length as a 64-bit word.
pub(crate) const HEAD: u64 = 8;
/// The longest record. Once the reader has caught up, such a record always finds room.
pub(crate) const LONGEST: u64 = RING / 2 - HEAD;
/// A length that means: go on at the start of the ring.
pub(crate) const SKIP: u64 = u64::MAX;

/// The bytes that a record of `n` bytes takes in the ring.
fn taken(n: u64) -> u64 {
    (HEAD + n + 7) & !7
}

/// Where the next record goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// A header of [`SKIP`] has to be written here first.
    pub(crate) skip: Option<usize>,
    /// The place of the record's header. Its bytes follow.
    pub(crate) at: usize,
    /// The writer's position afterwards.
    pub(crate) tail: u64,
}

/// The place for a record of `n` bytes, after `tail` bytes were written and `consumed` bytes read. `None`: there is
/// no room yet.
#[inline]
pub(crate) fn place(tail: u64, consumed: u64, n: u64) -> Option<Place> {
    if n > LONGEST {
        return None;
    }
    let (offset, need) = (tail % RING, taken(n));
    let (skip, start) = if RING - offset < need {
        (Some(offset as usize), tail + (RING - offset))
    } else {
        (None, tail)
    };
    let end = start + need;
    // A peer that reports more bytes than were written has broken the protocol. It must not get room by that.
    let used = end.checked_sub(consumed.min(tail))?;
    (used <= RING).then_some(Place {
        skip,
        at: (start % RING) as usize,
        tail: end,
    })
}

/// What a reader finds at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No further record.
    Nothing,
    /// A record.
    Record {
        /// The place of its bytes.
        at: usize,
        /// How many bytes.
        len: usize,
        /// The reader's position afterwards.
        next: u64,
    },
    /// Something that no writer of this protocol writes.
    Broken,
}

/// Finds the record at position `read`, after `tail` bytes were written. `word` reads the header at a place.
#[inline]
pub(crate) fn find(read: u64, tail: u64, word: impl Fn(usize) -> u64) -> Found {
    let mut at = read;
    loop {
        if at == tail {
            return Found::Nothing;
        }
        let left = tail.wrapping_sub(at);
        // A writer is never more than a whole ring ahead.
        if !(HEAD..=RING).contains(&left) || tail % 8 != 0 {
            return Found::Broken;
        }
        let (offset, n) = (at % RING, word((at % RING) as usize));
        if n == SKIP {
            if offset == 0 {
                return Found::Broken;
            }
            at += RING - offset;
            if at.wrapping_sub(read) > tail.wrapping_sub(read) {
                return Found::Broken;
            }
            continue;
        }
        if n > LONGEST || taken(n) > left || taken(n) > RING - offset {
            return Found::Broken;
        }
        return Found::Record {
            at: (offset + HEAD) as usize,
            len: n as usize,
            next: at + taken(n),
        };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Records of any lengths come out as they went in, and the writer never overruns the reader.
    #[test]
    fn records_come_out_as_they_went_in() {
        let mut random = 7u64;
        let mut draw = |n: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % n
        };
        let mut memory = vec![0u8; RING as usize];
        let (mut tail, mut read) = (0, 0);
        let mut under_way: VecDeque<Vec<u8>> = VecDeque::new();
        let mut passed = 0;
        while passed < 20_000 {
            let n = if draw(8) == 0 {
                draw(LONGEST + 1)
            } else {
                draw(200)
            };
            let record: Vec<u8> = (0..n).map(|i| (i + tail) as u8).collect();
            match place(tail, read, n) {
                Some(p) if draw(3) != 0 => {
                    if let Some(skip) = p.skip {
                        memory[skip..skip + 8].copy_from_slice(&SKIP.to_le_bytes());
                    }
                    memory[p.at..p.at + 8].copy_from_slice(&n.to_le_bytes());
                    memory[p.at + 8..p.at + 8 + record.len()].copy_from_slice(&record);
                    tail = p.tail;
                    under_way.push_back(record);
                }
                _ => {
                    let word = |at: usize| {
                        u64::from_le_bytes(memory[at..at + 8].try_into().expect("eight"))
                    };
                    match find(read, tail, word) {
                        Found::Record { at, len, next } => {
                            assert_eq!(Some(memory[at..at + len].to_vec()), under_way.pop_front());
                            read = next;
                            passed += 1;
                        }
                        Found::Nothing => assert!(under_way.is_empty()),
                        Found::Broken => panic!("at {read} of {tail}"),
                    }
                }
            }
        }
    }

    #[test]
    fn what_no_writer_writes_is_broken_or_nothing() {
        let mut random = 3u64;
        for _ in 0..200_000 {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let (read, tail) = ((random >> 20) & !7, random >> 19);
            let header = random.rotate_left(17) >> (random & 63);
            if let Found::Record { at, len, next } = find(read, tail, |_| header) {
                assert!(at + len <= RING as usize && next <= tail && next > read);
            }
        }
    }

    #[test]
    fn a_report_of_more_than_was_written_makes_no_room() {
        let full = place(RING, 0, 0);
        assert_eq!(full, None);
        assert!(place(RING, RING, 0).is_some());
        assert_eq!(place(8, u64::MAX, LONGEST), place(8, 8, LONGEST));
        assert_eq!(place(0, 0, LONGEST + 1), None);
    }
}
