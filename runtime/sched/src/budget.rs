//! What looking for gains may cost a program.
//!
//! To find out whether a region may run as a virtual team, its code is read, which takes some tenths of a millisecond, or several. A program
//! of some hundred milliseconds with ten such regions ends before that has paid for itself. So the time spent on reading
//! stays below a small part of the time that the program has run, and of what was gained so far. A region whose turn has
//! not come keeps its ordinary team.
//!
//! **How long reading takes** is known beforehand from the function's length: about in proportion, as what was read so far has
//! shown. (The functions that it calls are not counted. So reading is broken off after some times that
//! time, and tried again later.) A long function waits for its turn while short ones are read.
//!
//! **Regions that lose much** are read all the same: where threads have waited for each other twice as long as
//! reading takes ([`Even::lost_ns`]), most of that time could have been gained. (In time that threads wait, a region is read whatever was
//! spent: [`Even::waits_long_enough_to_read`].) Regions whose barriers cost more than they gain ([`crate::segments`]) are read last.
//!
//! **Where nodes differ** a first allowance comes on top, because the gain is likely, and a program may have a single
//! region that runs once. For that reason the allowance of the very first region is larger. Both are small: a program of 50 ms feels
//! two of these, and a region that runs again shows soon what it loses. Where nodes do not differ, the threads must have waited in any
//! case.
//!
//! Pure: no clock. Times are nanoseconds.

use crate::even::Even;

/// Nanoseconds that reading takes: for each byte of code...
const BYTE_NS: f64 = 350.0;
/// ...and for each region, whatever its length. Both before any was read; what was read counts with this many bytes as expected.
const REGION_NS: f64 = 50_000.0;
const SUPPOSED_BYTES: f64 = 3000.0;
/// The length of a function of which it is not known, in bytes.
const UNKNOWN_BYTES: f64 = 2500.0;
/// Where a program asked for a number of threads, a second question is put to the code, and takes so many times as long as
/// reading it takes otherwise.
const ASKED: f64 = 4.0;
/// The allowance at the start, where nodes differ...
const ALLOWANCE_NS: f64 = 0.25e6;
/// ...and for the first region that is read.
const FIRST_ALLOWANCE_NS: f64 = 1.2e6;
/// Part of the program's time that may go into reading regions that are expected to lose as virtual teams.
const OF_TIME_FOR_LOSERS: f64 = 0.002;
/// Part of the program's time that may go into reading...
const OF_TIME: f64 = 0.02;
/// ...and part of what virtual teams have gained.
const OF_GAIN: f64 = 0.25;
/// A region is read if its threads have waited this many times as long as reading takes, where nodes differ...
const LOSES_MUCH: f64 = 2.0;
/// ...and where they do not: there, waits are more often the doing of other processes.
const LOSES_MUCH_ALIKE: f64 = 20.0;

/// How much there is to read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Length {
    /// Bytes of the region's function, and some more for what else is asked about it.
    weighted: f64,
}

impl Length {
    /// `bytes`: length of the region's function, where it is known. `asked`: the program asked for a number of threads.
    #[must_use]
    pub fn new(bytes: Option<u64>, asked: bool) -> Length {
        let bytes = bytes.map_or(UNKNOWN_BYTES, |bytes| bytes as f64);
        Length {
            weighted: if asked { bytes * ASKED } else { bytes },
        }
    }

    /// In bytes of a region whose program did not ask for a number of threads.
    #[must_use]
    pub fn bytes(self) -> f64 {
        self.weighted
    }
}

/// What a program has spent on reading its regions' code, and what it has gained.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// Nanoseconds spent.
    pub spent_ns: f64,
    /// Of these, what the first region took because it was the first one.
    pub prepared_ns: f64,
    /// Number of regions that were read.
    pub regions: u32,
    /// Their [`Length::bytes`].
    pub bytes: f64,
    /// Nanoseconds by which virtual teams were faster than ordinary teams would have been.
    pub gained_ns: f64,
}

impl Budget {
    /// What reading a region of this length will take.
    #[must_use]
    pub fn expected_ns(&self, length: Length) -> f64 {
        let read_ns = self.spent_ns - self.prepared_ns - REGION_NS * f64::from(self.regions);
        let byte_ns = (read_ns.max(0.0) + BYTE_NS * SUPPOSED_BYTES) / (self.bytes + SUPPOSED_BYTES);
        REGION_NS + byte_ns * length.weighted
    }

    /// May a region be read now whose barriers are expected to cost more than it could gain, when the program has run for
    /// `ran_ns`? When that is little beside the time, as the expectation may be wrong.
    #[must_use]
    pub fn may_read_loser(&self, length: Length, ran_ns: f64) -> bool {
        self.spent_ns + self.expected_ns(length) <= OF_TIME_FOR_LOSERS * ran_ns
    }

    /// May a region be read now, when the program has run for `ran_ns`? `seen`: what is known of the region's executions
    /// as an ordinary team. `begun`: the region is being read in time that its threads wait, and had lost so many nanoseconds when that
    /// began. `unlike`: the nodes differ by a known property.
    #[must_use]
    pub fn may_read(
        &self,
        seen: Option<&Even>,
        length: Length,
        ran_ns: f64,
        begun: Option<f64>,
        unlike: bool,
    ) -> bool {
        let next = self.expected_ns(length);
        if !unlike && !seen.is_some_and(Even::is_to_be_looked_at) {
            return false;
        }
        // The first allowance is for reading alone: what the first region of all takes besides has been spent already.
        let (allowance, much) = match unlike {
            true if self.regions == 0 => (FIRST_ALLOWANCE_NS, LOSES_MUCH),
            true => (ALLOWANCE_NS + self.prepared_ns, LOSES_MUCH),
            false => (0.0, LOSES_MUCH_ALIKE),
        };
        // What is read meanwhile costs nothing. Only where that does not come to an end, the rest is read at once.
        let budget = allowance + OF_TIME * ran_ns + OF_GAIN * self.gained_ns;
        let lost = much * next + begun.unwrap_or(0.0);
        self.spent_ns + next <= budget || seen.is_some_and(|seen| seen.has_lost(lost))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::even::Seen;

    const MS: f64 = 1e6;

    /// One region of a program: how long it takes, and which of its executions are observed.
    #[derive(Clone, Copy)]
    struct Region {
        ns: f64,
        seen: Even,
        rest: u32,
        read: bool,
    }

    impl Region {
        fn new(ms: f64) -> Region {
            Region {
                ns: ms * MS,
                seen: Even::new(),
                rest: 0,
                read: false,
            }
        }

        /// An execution in which the threads wait for a third of the time.
        fn run(&mut self) {
            match self.rest.checked_sub(1) {
                Some(fewer) => self.rest = fewer,
                None => {
                    let seen = Seen {
                        elapsed_ns: self.ns,
                        most_ns: self.ns,
                        mean_ns: self.ns * 2.0 / 3.0,
                        best_ns: self.ns / 2.0,
                    };
                    self.rest = self.seen.see(&seen, 0, true);
                }
            }
        }
    }

    /// The length of a function that takes so many milliseconds to read.
    fn taking(ms: f64) -> Length {
        Length::new(Some(((ms * MS - REGION_NS) / BYTE_NS) as u64), false)
    }

    /// Plays a program whose regions take `ms` milliseconds each and run in turn `rounds` times. To read one takes
    /// `read_ms`; `gain` is the part of its time that a region saves once it was read. Returns milliseconds without
    /// reading, and with it.
    fn play(ms: &[f64], rounds: u32, read_ms: f64, gain: f64, unlike: bool) -> (f64, f64) {
        let length = taking(read_ms);
        let mut budget = Budget::default();
        let mut regions: Vec<Region> = ms.iter().map(|&ms| Region::new(ms)).collect();
        let (mut plain, mut ran) = (0.0, 0.0);
        for _ in 0..rounds {
            for region in &mut regions {
                plain += region.ns;
                let asks = !region.read && region.rest == 0;
                if asks && budget.may_read(Some(&region.seen), length, ran, None, unlike) {
                    region.read = true;
                    ran += read_ms * MS;
                    budget.spent_ns += read_ms * MS;
                    budget.regions += 1;
                    budget.bytes += length.bytes();
                }
                let saved = if region.read { gain * region.ns } else { 0.0 };
                budget.gained_ns += saved;
                ran += region.ns - saved;
                if !region.read {
                    region.run();
                }
            }
        }
        (plain / MS, ran / MS)
    }

    #[test]
    fn the_first_region_is_read_at_once_where_it_is_short_and_nodes_differ() {
        let none = Budget::default();
        assert!(none.may_read(None, taking(1.0), 0.0, None, true));
        assert!(!none.may_read(None, taking(3.0), 0.0, None, true));
        assert!(
            none.may_read(None, taking(3.0), 100.0 * MS, None, true),
            "the program has read its input"
        );
        assert!(
            !none.may_read(None, taking(1.0), 1e12, None, false),
            "its threads may be even"
        );
    }

    /// CloverLeaf's halo regions have 60,000 bytes each, and run for a tenth of a second in all.
    #[test]
    fn long_functions_wait_for_their_turn() {
        let none = Budget::default();
        assert!(!none.may_read(None, taking(20.0), 0.0, None, true));
        let one = Budget {
            spent_ns: 1.2 * MS,
            prepared_ns: 0.8 * MS,
            regions: 1,
            bytes: taking(0.4).bytes(),
            gained_ns: 0.0,
        };
        assert!(!one.may_read(None, taking(5.0), 0.0, None, true));
        assert!(!one.may_read(None, taking(0.5), 10.0 * MS, None, true));
        assert!(one.may_read(None, taking(0.5), 40.0 * MS, None, true));
        assert!(one.may_read(None, taking(5.0), 300.0 * MS, None, true));
    }

    #[test]
    fn what_is_expected_to_lose_is_read_late() {
        let none = Budget::default();
        assert!(!none.may_read_loser(taking(4.0), 100.0 * MS));
        assert!(none.may_read_loser(taking(4.0), 3000.0 * MS));
    }

    /// The decoder's tables are unpacked once, which says nothing about what further regions take.
    #[test]
    fn the_first_region_is_no_measure_for_the_next() {
        let after_one = |prepared| Budget {
            spent_ns: 1.2 * MS,
            prepared_ns: prepared * MS,
            regions: 1,
            bytes: taking(0.4).bytes(),
            gained_ns: 0.0,
        };
        let may = |after: Budget| after.may_read(None, taking(0.75), 60.0 * MS, None, true);
        assert!(may(after_one(0.8)));
        assert!(!may(after_one(0.0)));
    }

    /// Where what was read took ten times as long as supposed (it called long functions), so will what is to be read.
    #[test]
    fn what_was_read_tells_how_long_the_next_will_take() {
        let mut slow = Budget {
            spent_ns: 10.0 * MS,
            prepared_ns: 0.0,
            regions: 5,
            bytes: taking(1.0).bytes(),
            gained_ns: 0.0,
        };
        let before = Budget::default().expected_ns(taking(1.0));
        assert!(slow.expected_ns(taking(1.0)) > 2.0 * before);
        slow.bytes *= 10.0;
        assert!(slow.expected_ns(taking(1.0)) < 1.2 * before);
    }

    #[test]
    fn programs_that_asked_for_a_number_of_threads_take_longer_to_read() {
        let none = Budget::default();
        let take = |asked| none.expected_ns(Length::new(Some(1000), asked));
        assert!(take(true) > 3.0 * take(false));
    }

    /// NPB LU and SP, class S: seven regions, a tenth of a second, nothing to gain.
    #[test]
    fn a_short_program_without_gain_loses_little() {
        for unlike in [true, false] {
            let (plain, ran) = play(&[0.2; 7], 60, 1.9, 0.0, unlike);
            assert!(ran <= plain * 1.05, "{plain} ms became {ran} ms ({unlike})");
        }
        // A second.
        let (plain, ran) = play(&[0.3; 7], 500, 1.9, 0.0, true);
        assert!(ran <= plain * 1.03, "{plain} ms became {ran} ms");
    }

    /// Two hundred regions of 5 us each, none of which gains.
    #[test]
    fn many_short_regions_cost_no_more_than_few() {
        for unlike in [true, false] {
            let (plain, ran) = play(&[0.005; 200], 1000, 1.0, 0.0, unlike);
            assert!(ran <= plain * 1.03, "{plain} ms became {ran} ms ({unlike})");
        }
    }

    /// LULESH on unlike nodes: 45 regions, ten of which make up four fifths of half a second. Half of it can be gained.
    #[test]
    fn what_gains_is_read_soon() {
        let ms: Vec<f64> = (0..45).map(|i| 1.2 * 0.85f64.powi(i)).collect();
        let (plain, ran) = play(&ms, 60, 0.45, 0.5, true);
        assert!(ran <= plain * 0.59, "{plain} ms became {ran} ms");
    }

    /// NPB LU, class S: its longest region is read while its threads wait. To read the rest at once took 2 ms of 37, the moment before
    /// the program ended.
    #[test]
    fn what_is_read_in_waits_is_left_there() {
        let broke = Budget {
            spent_ns: 100.0 * MS,
            prepared_ns: 0.0,
            regions: 100,
            bytes: 100.0 * taking(1.0).bytes(),
            gained_ns: 0.0,
        };
        let mut region = Region::new(1.0);
        (0..4).for_each(|_| region.run());
        let begun = Some(region.seen.lost_ns());
        let may =
            |region: &Region| broke.may_read(Some(&region.seen), taking(1.0), 0.0, begun, true);
        (0..4).for_each(|_| region.run());
        assert!(!may(&region));
        (0..16).for_each(|_| region.run());
        assert!(may(&region), "it does not come to its end");
    }

    #[test]
    fn regions_that_lose_much_are_read_whatever_was_spent() {
        let broke = Budget {
            spent_ns: 100.0 * MS,
            prepared_ns: 0.0,
            regions: 100,
            bytes: 100.0 * taking(1.0).bytes(),
            gained_ns: 0.0,
        };
        let may_after = |runs: u32, unlike| {
            let mut region = Region::new(1.0);
            (0..runs).for_each(|_| region.run());
            broke.may_read(Some(&region.seen), taking(1.0), 0.0, None, unlike)
        };
        assert!(!may_after(4, true) && may_after(8, true));
        assert!(!may_after(16, false) && may_after(140, false));
    }
}
