//! Who a rank is in its job: what its process tells the helper, and what the helper writes for the program.

use super::shared::{MESSAGE, PART, RANKS};

/// Bytes of the value of the map `job_map`.
pub const BYTES: usize = ADDRESSES + 6 * RANKS as usize;
/// Offset of the ranks' addresses in it.
const ADDRESSES: usize = 24;

/// A rank in its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The job's number.
    pub job: u64,
    /// This rank.
    pub rank: u32,
    /// Bytes of a part of a message.
    pub part: u64,
    /// The addresses of all ranks, in order.
    pub addresses: Vec<[u8; 6]>,
}

impl Member {
    /// Words for the helper.
    #[must_use]
    pub fn encode(&self) -> String {
        let Member {
            job, rank, part, ..
        } = self;
        let addresses: String = self
            .addresses
            .iter()
            .map(|a| format!(" {}", spell(a)))
            .collect();
        format!("join {job:016x} {rank} {part}{addresses}")
    }

    /// The member of these words, for the interface with this address and this longest part.
    ///
    /// # Errors
    /// One line: what a rank behind this interface cannot be.
    pub fn parse(text: &str, own: [u8; 6], longest: u64) -> Result<Member, String> {
        let member = Member::read(text).ok_or_else(|| {
            format!("'{text}': no rank of a job (expected hetmp of the same version)")
        })?;
        let ranks = member.addresses.len();
        let wrong = if member.job == 0 {
            "a job's number of 0"
        } else if ranks > RANKS as usize || member.rank as usize >= ranks {
            "a rank that the job does not have"
        } else if member.addresses[member.rank as usize] != own {
            "the address of another interface"
        } else if member.addresses.iter().any(|a| a[0] & 1 == 1) {
            "an address of more than one interface"
        } else if !(MESSAGE..=longest.min(PART)).contains(&member.part) {
            "parts that the interface does not take"
        } else {
            return Ok(member);
        };
        Err(format!("'{text}': {wrong}"))
    }

    fn read(text: &str) -> Option<Member> {
        let mut words = text.strip_prefix("join ")?.split(' ');
        Some(Member {
            job: u64::from_str_radix(words.next()?, 16).ok()?,
            rank: words.next()?.parse().ok()?,
            part: words.next()?.parse().ok()?,
            addresses: words.map(address).collect::<Option<_>>()?,
        })
    }

    /// The value of the map `job_map`, for packets through interface number `interface`.
    #[must_use]
    pub fn value(&self, interface: u32) -> [u8; BYTES] {
        let mut value = [0; BYTES];
        value[..8].copy_from_slice(&self.job.to_le_bytes());
        let ranks = self.addresses.len() as u32;
        let words = [self.rank, ranks, interface, self.part as u32];
        for (to, word) in value[8..ADDRESSES].chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        for (to, address) in value[ADDRESSES..].chunks_exact_mut(6).zip(&self.addresses) {
            to.copy_from_slice(address);
        }
        value
    }
}

/// An address as twelve hexadecimal digits.
#[must_use]
pub fn spell(address: &[u8; 6]) -> String {
    address.iter().map(|b| format!("{b:02x}")).collect()
}

/// The address that twelve hexadecimal digits spell.
#[must_use]
pub fn address(text: &str) -> Option<[u8; 6]> {
    let is_one = text.len() == 12 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let number = u64::from_str_radix(text, 16).ok().filter(|_| is_one)?;
    let mut address = [0; 6];
    address.copy_from_slice(&number.to_be_bytes()[2..]);
    Some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: [u8; 6] = [2, 0, 0, 0xff, 1, 9];

    fn member() -> Member {
        Member {
            job: 0x0123_4567_89ab_cdef,
            rank: 1,
            part: 1448,
            addresses: vec![[2, 0, 0, 0, 0, 1], OWN, [0; 6]],
        }
    }

    #[test]
    fn words_come_back() {
        assert_eq!(Member::parse(&member().encode(), OWN, 1448), Ok(member()));
        assert_eq!(address(&spell(&OWN)), Some(OWN));
        assert_eq!(address("+20000ff0109"), None);
        let value = member().value(7);
        assert_eq!(
            value[8..24],
            [1, 0, 0, 0, 3, 0, 0, 0, 7, 0, 0, 0, 0xa8, 5, 0, 0]
        );
        assert_eq!(value[30..36], OWN);
    }

    #[test]
    fn nobody_sends_as_another_or_to_all() {
        let refused = |change: &dyn Fn(&mut Member)| {
            let mut member = member();
            change(&mut member);
            Member::parse(&member.encode(), OWN, 1448).expect_err("a wrong member")
        };
        for (what, error) in [
            (refused(&|m| m.job = 0), "number of 0"),
            (refused(&|m| m.rank = 3), "does not have"),
            (refused(&|m| m.addresses.resize(65, OWN)), "does not have"),
            (refused(&|m| m.rank = 0), "another interface"),
            (refused(&|m| m.addresses[2] = [0xff; 6]), "more than one"),
            (refused(&|m| m.addresses[0][0] = 1), "more than one"),
            (refused(&|m| m.part = 1449), "does not take"),
            (refused(&|m| m.part = 8), "does not take"),
        ] {
            assert!(what.contains(error), "{what}");
        }
        for text in ["", "join", "join 1 0", "leave 1 0 1448 020000ff0109"] {
            assert!(Member::parse(text, OWN, 1448).is_err(), "{text}");
        }
    }
}
