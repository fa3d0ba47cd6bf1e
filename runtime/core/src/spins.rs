//! How long waits spin: what the environment says, read in one place for every engine.
//!
//! OpenMP, OpenSHMEM, GOAL and message queues share one waiting policy ([`crate::park`]). A program may use one of them
//! or several, in any order, and `OMP_WAIT_POLICY` means the same to all of them. So no engine says how long waits
//! spin: the first one to start has the policy ask here ([`Policy::join`](crate::park::Policy::join)).
//!
//! `GOMP_SPINCOUNT` (turns) wins over `KMP_BLOCKTIME` (a time), which wins over `KMP_LIBRARY` and `OMP_WAIT_POLICY`
//! (words). A value that is not understood changes nothing. OpenMP, which complains about bad values, reads them by the
//! same functions.

use crate::env::text::Cursor;
use crate::env::{snapshot, Snapshot};

/// Turns of a spin loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spins {
    /// Where every thread has a core.
    pub free: u64,
    /// Where threads outnumber cores.
    pub throttled: u64,
}

/// `OMP_WAIT_POLICY` is not set: spin shortly, then sleep. `free` is libgomp's value, which assumes 100,000 turns in
/// a millisecond. `throttled` is a tenth of libgomp's: a thread that shares its core with the awaited thread will
/// yield next ([`crate::park`]), and turns before the yield are lost time for both. With 10 turns, eight threads on
/// two cores pass a barrier in half the time that they need with 100.
pub const UNSET: Spins = Spins {
    free: 300_000,
    throttled: 10,
};
/// `active`: spin for minutes. Where threads outnumber cores, spinning would only keep the awaited thread from running:
/// then as without the variable.
pub const ACTIVE: Spins = Spins {
    free: 30_000_000_000,
    throttled: UNSET.throttled,
};
/// `passive`: spin for a few microseconds. Going to sleep and being woken takes more processor time than that, so
/// even a program that wants no spinning gains.
pub const PASSIVE: Spins = Spins {
    free: 256,
    throttled: 0,
};

/// `wait-policy-var` of OpenMP (5.1, section 6.7), with a value for "not set".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPolicy {
    /// Not set: spin a while, then sleep.
    Unset,
    /// `ACTIVE`: spin for minutes.
    Active,
    /// `PASSIVE`: sleep at once.
    Passive,
}

/// `KMP_LIBRARY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// OpenMP's regions have one thread.
    Serial,
    /// Waiting threads spin.
    Turnaround,
    /// Waiting threads sleep.
    Throughput,
}

impl Library {
    /// The name in the variable.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Library::Serial => "serial",
            Library::Turnaround => "turnaround",
            Library::Throughput => "throughput",
        }
    }
}

/// What the environment says about waits, as far as it is understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// `OMP_WAIT_POLICY`.
    pub policy: Option<WaitPolicy>,
    /// `KMP_LIBRARY`.
    pub library: Option<Library>,
    /// `GOMP_SPINCOUNT` in turns.
    pub turns: Option<u64>,
    /// `KMP_BLOCKTIME` in microseconds; the largest number: for ever.
    pub blocktime_us: Option<u64>,
}

impl Asked {
    /// The word in effect.
    #[must_use]
    pub fn policy(self) -> WaitPolicy {
        match self.library {
            Some(Library::Turnaround) => WaitPolicy::Active,
            Some(Library::Throughput) => WaitPolicy::Passive,
            Some(Library::Serial) | None => self.policy.unwrap_or(WaitPolicy::Unset),
        }
    }

    /// The number of turns in effect, where there is one.
    #[must_use]
    pub fn number(self) -> Option<u64> {
        self.turns.or(self.blocktime_us.map(in_microseconds))
    }

    /// How long waits spin.
    #[must_use]
    pub fn spins(self) -> Spins {
        let word = match self.policy() {
            WaitPolicy::Unset => UNSET,
            WaitPolicy::Active => ACTIVE,
            WaitPolicy::Passive => PASSIVE,
        };
        let free = self.number().unwrap_or(word.free);
        Spins {
            free,
            throttled: word.throttled.min(free),
        }
    }

    /// What `environment` says.
    fn of(environment: &Snapshot) -> Asked {
        let get = |name| environment.get(name);
        Asked {
            policy: get("OMP_WAIT_POLICY")
                .or_else(|| get("OMP_WAIT_POLICY_ALL"))
                .and_then(wait_policy),
            library: get("KMP_LIBRARY").and_then(library),
            turns: get("GOMP_SPINCOUNT").and_then(spin_count),
            blocktime_us: get("KMP_BLOCKTIME").and_then(blocktime),
        }
    }
}

/// Turns of a spin loop in a millisecond, about (a turn is 40 to 140 cycles).
const TURNS_PER_MS: u64 = 30_000;

/// The number of turns that take about `us` microseconds, at least those of [`PASSIVE`]. `u64::MAX` microseconds
/// stand for ever.
#[must_use]
pub fn in_microseconds(us: u64) -> u64 {
    match us {
        u64::MAX => u64::MAX,
        us => us.saturating_mul(TURNS_PER_MS / 1000).max(PASSIVE.free),
    }
}

/// What the process's environment says about waits.
pub(crate) fn from_env() -> Asked {
    Asked::of(snapshot())
}

/// A value of `OMP_WAIT_POLICY`.
#[must_use]
pub fn wait_policy(value: &[u8]) -> Option<WaitPolicy> {
    let mut at = Cursor::new(value);
    at.skip_blanks();
    let policy = if at.eat_word("active") {
        WaitPolicy::Active
    } else if at.eat_word("passive") {
        WaitPolicy::Passive
    } else {
        return None;
    };
    at.only_blanks_left().then_some(policy)
}

/// A value of `GOMP_SPINCOUNT`: a number of turns with libgomp's units; huge ones, and `infinite`, are `u64::MAX`.
#[must_use]
pub fn spin_count(value: &[u8]) -> Option<u64> {
    let mut at = Cursor::new(value);
    at.skip_blanks();
    if at.eat_word("infinite") || at.eat_word("infinity") {
        return at.only_blanks_left().then_some(u64::MAX);
    }
    let n = at.unsigned(10).value()?;
    at.skip_blanks();
    let factor = match at.peek() {
        None => return Some(n),
        Some(unit) => {
            at.eat(unit);
            match unit.to_ascii_lowercase() {
                b'k' => 1_000,
                b'm' => 1_000_000,
                b'g' => 1_000_000_000,
                b't' => 1_000_000_000_000,
                _ => return None,
            }
        }
    };
    at.only_blanks_left().then(|| n.saturating_mul(factor))
}

/// A value of `KMP_BLOCKTIME`, in microseconds; without a unit it is in milliseconds.
#[must_use]
pub fn blocktime(value: &[u8]) -> Option<u64> {
    let text = word(value)?;
    if text == "infinite" || text == "infinity" {
        return Some(u64::MAX);
    }
    let (number, unit) = match text.strip_suffix("us") {
        Some(number) => (number, 1),
        None => (text.strip_suffix("ms").unwrap_or(&text), 1000),
    };
    let n: u64 = number.trim().parse().ok()?;
    // What an `int` of milliseconds does not hold is for ever.
    let us = n.saturating_mul(unit);
    Some(if us / 1000 < i32::MAX as u64 {
        us
    } else {
        u64::MAX
    })
}

/// A value of `KMP_LIBRARY`.
#[must_use]
pub fn library(value: &[u8]) -> Option<Library> {
    match word(value)?.as_str() {
        "serial" => Some(Library::Serial),
        "turnaround" | "dedicated" => Some(Library::Turnaround),
        "throughput" | "multiuser" => Some(Library::Throughput),
        _ => None,
    }
}

/// The value as a lower-case word, as libomp reads its variables.
fn word(value: &[u8]) -> Option<String> {
    let text = core::str::from_utf8(value).ok()?;
    Some(text.trim().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spins(lines: &[&str]) -> Spins {
        let lines = lines.iter().map(|l| l.as_bytes());
        Asked::of(&Snapshot::from_lines(lines, false)).spins()
    }

    #[test]
    fn words_are_understood_as_openmp_does() {
        assert_eq!(spins(&[]), UNSET);
        assert_eq!(spins(&["OMP_WAIT_POLICY= Active "]), ACTIVE);
        assert_eq!(spins(&["OMP_WAIT_POLICY=PASSIVE"]), PASSIVE);
        assert_eq!(spins(&["OMP_WAIT_POLICY_ALL=passive"]), PASSIVE);
        assert_eq!(spins(&["OMP_WAIT_POLICY=passively"]), UNSET);
        assert_eq!(spins(&["KMP_LIBRARY=throughput"]), PASSIVE);
        let both = ["OMP_WAIT_POLICY=passive", "KMP_LIBRARY=turnaround"];
        assert_eq!(spins(&both), ACTIVE);
        let serial = ["OMP_WAIT_POLICY=passive", "KMP_LIBRARY=serial"];
        assert_eq!(spins(&serial), PASSIVE);
    }

    #[test]
    fn blocktimes() {
        let of = |v: &str| blocktime(v.as_bytes());
        assert_eq!(of("0"), Some(0));
        assert_eq!(of(" 200 "), Some(200_000));
        assert_eq!(of("50ms"), Some(50_000));
        assert_eq!(of("50 US"), Some(50));
        assert_eq!(of("Infinite"), Some(u64::MAX));
        assert_eq!(of("99999999999999"), Some(u64::MAX));
        for bad in ["", "-1", "1s", "us", "infinitely"] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }

    #[test]
    fn spin_counts_and_words() {
        assert_eq!(spin_count(b"5K"), Some(5000));
        assert_eq!(spin_count(b" 12 "), Some(12));
        assert_eq!(spin_count(b"infinity "), Some(u64::MAX));
        assert_eq!(spin_count(b"99999999999t"), Some(u64::MAX));
        for bad in ["", "1b", "1 k k", "infinitely", "k"] {
            assert_eq!(spin_count(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(library(b"Serial"), Some(Library::Serial));
        assert_eq!(library(b"s"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_any_parser_panic(v in proptest::collection::vec(any::<u8>(), 0..48)) {
            let _ = (wait_policy(&v), spin_count(&v), blocktime(&v), library(&v));
        }
    }

    #[test]
    fn numbers_win_over_words() {
        let of = |free, throttled| Spins { free, throttled };
        assert_eq!(spins(&["GOMP_SPINCOUNT=7"]), of(7, 7));
        assert_eq!(spins(&["GOMP_SPINCOUNT=20k"]), of(20_000, 10));
        assert_eq!(spins(&["GOMP_SPINCOUNT=infinity"]), of(u64::MAX, 10));
        assert_eq!(spins(&["GOMP_SPINCOUNT=5x"]), UNSET);
        let three = [
            "OMP_WAIT_POLICY=active",
            "KMP_BLOCKTIME=1",
            "GOMP_SPINCOUNT=5000",
        ];
        assert_eq!(spins(&three), of(5000, 10));
        assert_eq!(spins(&three[..2]), of(30_000, 10));
        assert_eq!(spins(&["KMP_BLOCKTIME=0"]), of(PASSIVE.free, 10));
        assert_eq!(spins(&["KMP_BLOCKTIME=infinite"]), of(u64::MAX, 10));
        assert_eq!(spins(&["KMP_BLOCKTIME=20us"]), of(600, 10));
    }
}
