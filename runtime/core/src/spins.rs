//! How long waits spin: one table of spin lengths by `OMP_WAIT_POLICY`, for every engine.
//!
//! OpenMP and OpenSHMEM share one waiting policy ([`crate::park`]). A program may use either of them or both, and
//! either may start first. Both take their spin lengths from here, so that the second one to start changes nothing.

use crate::env::snapshot;

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
/// `active`: spin for minutes.
pub const ACTIVE: Spins = Spins {
    free: 30_000_000_000,
    throttled: 1000,
};
/// `passive`: spin for a few microseconds. Going to sleep and being woken takes more processor time than that, so
/// even a program that wants no spinning gains.
pub const PASSIVE: Spins = Spins {
    free: 256,
    throttled: 0,
};

/// The spin lengths for a value of `OMP_WAIT_POLICY`; those of [`UNSET`] for a value that is not understood.
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

/// The number of turns that take about `us` microseconds, at least those of [`PASSIVE`]. `u64::MAX` microseconds
/// stand for ever.
#[must_use]
pub fn in_microseconds(us: u64) -> u64 {
    match us {
        u64::MAX => u64::MAX,
        us => us.saturating_mul(TURNS_PER_MS / 1000).max(PASSIVE.free),
    }
}

/// The spin lengths that `OMP_WAIT_POLICY` asks for; `None` if another variable gives a number.
pub fn from_env() -> Option<Spins> {
    let snapshot = snapshot();
    // Numbers are read by the OpenMP engine.
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
