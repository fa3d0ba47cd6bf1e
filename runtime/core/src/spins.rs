//! How long waits spin, by `OMP_WAIT_POLICY`: one table for every engine.
//!
//! OpenMP and OpenSHMEM wait under one policy ([`crate::park`]), which either of them may be the first to set, and a program
//! may use one without the other. So both take the numbers from here, and what the later one sets is what the first one set.

use crate::env::snapshot;

/// Turns of a spin loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spins {
    /// Where every thread has a core.
    pub free: u64,
    /// Where threads outnumber cores.
    pub throttled: u64,
}

/// `OMP_WAIT_POLICY` is not set: spin shortly, then sleep. The first number is libgomp's, whose estimate is 100,000 turns
/// in a millisecond. The second is a tenth of libgomp's: a thread that shares its core with the awaited one yields
/// next ([`crate::park`]), and whatever it spins before is lost to both. Eight threads on two cores pass a barrier in
/// half the time with 10 turns than with 100.
pub const UNSET: Spins = Spins {
    free: 300_000,
    throttled: 10,
};
/// `active`: spin for minutes.
pub const ACTIVE: Spins = Spins {
    free: 30_000_000_000,
    throttled: 1000,
};
/// `passive`: a few microseconds. Going to sleep and being woken costs more than that in processor time alone, so even
/// a program that wants no spinning gains.
pub const PASSIVE: Spins = Spins {
    free: 256,
    throttled: 0,
};

/// For a value of `OMP_WAIT_POLICY`; one that is not understood says nothing.
fn of(value: Option<&[u8]>) -> Spins {
    let value = value.unwrap_or_default().trim_ascii();
    if value.eq_ignore_ascii_case(b"active") {
        ACTIVE
    } else if value.eq_ignore_ascii_case(b"passive") {
        PASSIVE
    } else {
        UNSET
    }
}

/// Turns of a spin loop in a millisecond, about (a turn is 40 to 140 cycles).
const TURNS_PER_MS: u64 = 30_000;

/// The turns that take about `us` microseconds, at least those of [`PASSIVE`]; the largest number stands for ever.
#[must_use]
pub fn in_microseconds(us: u64) -> u64 {
    match us {
        u64::MAX => u64::MAX,
        us => us.saturating_mul(TURNS_PER_MS / 1000).max(PASSIVE.free),
    }
}

/// What the environment asks for; none where another variable has a number.
pub fn from_env() -> Option<Spins> {
    let snapshot = snapshot();
    // Numbers are OpenMP's to read.
    let numbers = ["GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY"];
    match numbers.iter().any(|name| snapshot.get(name).is_some()) {
        false => Some(of(snapshot.get("OMP_WAIT_POLICY"))),
        true => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_understood_as_openmp_does() {
        assert_eq!(of(None), UNSET);
        assert_eq!(of(Some(b" Active ")), ACTIVE);
        assert_eq!(of(Some(b"PASSIVE")), PASSIVE);
        assert_eq!(of(Some(b"passively")), UNSET);
    }
}
