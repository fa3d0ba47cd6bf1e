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

/// `OMP_WAIT_POLICY` is not set: spin shortly, then sleep. The numbers are libgomp's, whose estimate is 100,000 turns in a
/// millisecond.
pub const UNSET: Spins = Spins {
    free: 300_000,
    throttled: 100,
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

/// What the environment asks for; none where `GOMP_SPINCOUNT` has a number, which is OpenMP's to read.
pub fn from_env() -> Option<Spins> {
    let snapshot = snapshot();
    match snapshot.get("GOMP_SPINCOUNT") {
        None => Some(of(snapshot.get("OMP_WAIT_POLICY"))),
        Some(_) => None,
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
