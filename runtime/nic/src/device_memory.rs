//! A model on the CPU of what a GPU's memory does to one-sided communication: the three hazards of Hamidouche and
//! LeBeane, "GPU Initiated OpenSHMEM", section 4.2, and a checker for programs.
//!
//! * [`cached`]: the device's L2. The adapter reads and writes an image of *cached* memory. The program sees the
//!   image, and the image gets the program's writes, only at a kernel boundary or flush. *Uncached* memory is the
//!   image itself: register it as it is.
//! * [`read_cache`]: the path block between device and adapter (PPB) answers reads of a source from lines that it has
//!   kept, until the initiator invalidates them.
//! * [`combiner`]: at the target, writes are held for a bounded random time and applied in pieces and in any order,
//!   until a fence flushes them.
//! * [`board`]: records which writes an initiator left unordered, for the target that waits for one of them, and which
//!   puts are on their way there.
//! * [`sources`]: finds sources that were changed before the adapter has read them.
//!
//! All of this is pure code on plain memory; the [emulated adapter](crate::engine::emulated) drives it where
//! [`Model::device`](crate::engine::emulated::Model) is set.

pub mod board;
pub mod cached;
pub mod combiner;
pub mod read_cache;
pub mod sources;

/// The longest hold unless the setting says otherwise, nanoseconds.
pub(crate) const HOLD_NS: u64 = 50_000;
/// The largest hold, nanoseconds: a second.
pub(crate) const LONGEST_HOLD_NS: u64 = 1_000_000_000;

/// What `HETMP_NIC_MODEL` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Seed of the random holds and cuts.
    pub seed: u64,
    /// Longest hold, nanoseconds.
    pub hold_ns: u64,
    /// Report unordered writes that a target waits for.
    pub check: bool,
    /// Every post invalidates the read cache first. Otherwise the initiator has to.
    pub invalidate: bool,
}

impl Default for DeviceMemory {
    fn default() -> Self {
        DeviceMemory {
            seed: 0,
            hold_ns: HOLD_NS,
            check: false,
            invalidate: true,
        }
    }
}

/// Why a value of `HETMP_NIC_MODEL` is refused: the part at fault, what is wrong with it, and what is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    part: String,
    wrong: &'static str,
}

impl core::fmt::Display for Refused {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "HETMP_NIC_MODEL: '{}': {}", self.part, self.wrong)
    }
}

impl std::error::Error for Refused {}

impl DeviceMemory {
    /// Reads the notation `gpu[,seed=N][,hold=NANOSECONDS][,check][,noinval]`. Blanks and the case of letters do not
    /// matter.
    ///
    /// # Errors
    /// The first part that cannot be used.
    pub fn parse(text: &str) -> Result<DeviceMemory, Refused> {
        let refuse = |part: &str, wrong| {
            Err(Refused {
                // Escaped, so that the message stays one line whatever the environment holds.
                part: part.escape_debug().to_string(),
                wrong,
            })
        };
        let lower = text.to_ascii_lowercase();
        let mut parts = lower.split(',').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        if kind != "gpu" {
            return refuse(
                kind,
                "unknown (expected gpu, then ,seed=N, ,hold=NANOSECONDS, ,check and ,noinval if wanted)",
            );
        }
        let mut model = DeviceMemory::default();
        let mut seen: Vec<&str> = Vec::new();
        for part in parts {
            let (name, value) = match part.split_once('=') {
                Some((name, value)) => (name.trim(), Some(value.trim())),
                None => (part, None),
            };
            if seen.contains(&name) {
                return refuse(part, "twice (expected each part once)");
            }
            seen.push(name);
            match (name, value) {
                ("seed", Some(v)) => match number(v) {
                    Some(n) => model.seed = n,
                    None => return refuse(part, "no seed (expected 0 to 18446744073709551615)"),
                },
                ("hold", Some(v)) => match number(v).filter(|n| *n <= LONGEST_HOLD_NS) {
                    Some(n) => model.hold_ns = n,
                    None => return refuse(part, "no hold (expected 0 to 1000000000 nanoseconds)"),
                },
                ("check", None) => model.check = true,
                ("noinval", None) => model.invalidate = false,
                _ => {
                    return refuse(
                        part,
                        "unknown (expected after gpu seed=N, hold=NANOSECONDS, check or noinval)",
                    )
                }
            }
        }
        Ok(model)
    }
}

/// Digits only: `+7` is refused.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Random numbers (xorshift64*). The same seed gives the same numbers; nothing else is required of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        // Mixes the seed first (the last steps of splitmix64): otherwise the sequences of neighbouring seeds would
        // begin alike.
        let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        // A generator in state 0 would give 0 for ever.
        Random((z ^ z >> 31).max(1))
    }

    /// A number from 0 to `most`.
    pub(crate) fn up_to(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let r = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 24;
        match most.checked_add(1) {
            Some(n) => r % n,
            None => r,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notation_means_what_the_table_of_variables_says() {
        assert_eq!(DeviceMemory::parse("gpu"), Ok(DeviceMemory::default()));
        assert_eq!(
            DeviceMemory::parse(" GPU , Seed=7,check, noinval,hold = 300"),
            Ok(DeviceMemory {
                seed: 7,
                hold_ns: 300,
                check: true,
                invalidate: false
            })
        );
        let all = DeviceMemory::parse("gpu,seed=18446744073709551615,hold=1000000000");
        assert_eq!(
            all.map(|m| (m.seed, m.hold_ns)),
            Ok((u64::MAX, LONGEST_HOLD_NS))
        );
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        for (text, part) in [
            ("", ""),
            ("cpu", "cpu"),
            ("check", "check"),
            ("gpu,", ""),
            ("gpu,sed=1", "sed=1"),
            ("gpu,seed", "seed"),
            ("gpu,seed=", "seed="),
            ("gpu,seed=-1", "seed=-1"),
            ("gpu,seed=+1", "seed=+1"),
            ("gpu,seed=18446744073709551616", "seed=18446744073709551616"),
            ("gpu,seed=1,seed=2", "seed=2"),
            ("gpu,hold=1000000001", "hold=1000000001"),
            ("gpu,check=1", "check=1"),
            ("gpu,a\nb", "a\\nb"),
        ] {
            let line = DeviceMemory::parse(text).expect_err(text).to_string();
            let start = format!("HETMP_NIC_MODEL: '{part}': ");
            assert!(line.starts_with(&start), "{text:?}: {line}");
            assert!(
                line.contains("(expected ") && !line.contains('\n'),
                "{line}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_understood_or_refused(text in "(gpu)?[,=a-z0-9 ]{0,40}|\\PC{0,40}") {
            if let Err(refused) = DeviceMemory::parse(&text) {
                proptest::prop_assert!(!refused.to_string().contains('\n'));
            }
        }
    }
}
