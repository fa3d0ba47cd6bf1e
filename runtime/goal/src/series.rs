//! Numbers of runs that are executed away from their process.
//!
//! The runs of all ranks are one *series*, and those of each group are another, whose number is the group's context:
//! ranks may begin the collectives of two groups in different orders, so that only within a series all members number
//! the runs alike. Each series has slots of its own. Otherwise a rank that is ahead in one series could take the last
//! slot from a run of another one, for which a peer waits.

/// The highest context of a group that has a series. Series 0 is that of all ranks.
pub const GROUPS: u32 = 4;
/// How many runs of a group a rank keeps at once.
pub const GROUP_RUNS: u64 = 4;
/// Bits of a word below the number of the series.
pub const SHIFT: u32 = 56;

/// A run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its series.
    pub series: u32,
    /// Which run of the series, from 1.
    pub number: u64,
}

impl Turn {
    /// Both numbers in a word. Words of one series are in the order of its runs.
    #[must_use]
    pub fn word(self) -> u64 {
        u64::from(self.series) << SHIFT | self.number
    }

    /// How many runs of the series a rank keeps at once, if it keeps `all` runs of all ranks.
    #[must_use]
    pub fn window(self, all: u64) -> u64 {
        if self.series == 0 {
            all
        } else {
            GROUP_RUNS
        }
    }

    /// Where the run lies, if a rank keeps `all` runs of all ranks.
    #[must_use]
    pub fn slot(self, all: u64) -> u64 {
        let before = match self.series {
            0 => 0,
            group => all + GROUP_RUNS * u64::from(group - 1),
        };
        before + self.number % self.window(all)
    }
}

/// How many slots a rank has that keeps `all` runs of all ranks.
#[must_use]
pub const fn slots(all: u64) -> u64 {
    all + GROUP_RUNS * GROUPS as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_are_kept_at_once_have_slots_of_their_own() {
        let all = 8;
        let mut taken = vec![0; slots(all) as usize];
        for series in 0..=GROUPS {
            let first = Turn { series, number: 21 };
            for number in first.number..first.number + first.window(all) {
                let turn = Turn { series, number };
                taken[turn.slot(all) as usize] += 1;
                assert!(turn.word() >= first.word() && turn.word() >> SHIFT == u64::from(series));
            }
        }
        assert!(taken.iter().all(|n| *n == 1));
    }
}
