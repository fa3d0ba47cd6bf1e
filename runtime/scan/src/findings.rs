//! What is remembered beyond the state of one point: where the two numbers
//! escape, and who may see the frame.

use std::collections::{BTreeMap, BTreeSet};

use crate::value::{Origin, Place, Split, Value};
use crate::Why;

/// Findings that outlive the state of one point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// First escape of the thread number, by address.
    pub(crate) id: Option<(u64, Why)>,
    /// First escape of the number of threads.
    pub(crate) team: Option<(u64, Why)>,
    /// First escape of a number from a shared counter.
    pub(crate) ticket: Option<(u64, Why)>,
    /// The splits whose product was made.
    pub(crate) splits: BTreeSet<u64>,
    /// Additions that give the end of a chunk: its first iteration and its length.
    pub(crate) ends: BTreeSet<u64>,
    /// The branches that ask whether the thread number is 0.
    pub(crate) zero_branches: BTreeMap<u64, ZeroBranch>,
    /// Calls whose answer was taken for one that is printed only, and where they return to.
    pub(crate) told: BTreeMap<u64, u64>,
    /// What was found where parts were to be made uneven.
    pub(crate) uneven: Uneven,
}

/// A branch that asks whether the thread number is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ZeroBranch {
    /// It jumps if it is.
    pub(crate) zero_jumps: bool,
    /// Where `rsp` and `rbp` point in the frame there, if they do.
    pub(crate) stack: Value,
    pub(crate) frame: Value,
}

impl Findings {
    /// Takes in what was found in a called function.
    pub(crate) fn merge(&mut self, other: &Findings) {
        for (origin, found) in [
            (Origin::ID, other.id),
            (Origin::TEAM, other.team),
            (Origin::TICKET, other.ticket),
        ] {
            if let Some((address, why)) = found {
                self.escape(origin, why, address);
            }
        }
        self.splits.extend(&other.splits);
        self.ends.extend(&other.ends);
        self.told.extend(&other.told);
        self.uneven.merge(&other.uneven);
    }

    pub(crate) fn escape(&mut self, origin: Origin, why: Why, address: u64) {
        for (which, place) in [
            (Origin::ID, &mut self.id),
            (Origin::TEAM, &mut self.team),
            (Origin::TICKET, &mut self.ticket),
        ] {
            if origin.has(which) && place.is_none_or(|(first, _)| address < first) {
                *place = Some((address, why));
            }
        }
    }
}

/// Where an operand lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    Slot(Place),
    /// A place at or above this one.
    SomeSlot(Place),
    Outside,
}

/// What is known about one function's frame, whatever the path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The lowest place whose address left the function's registers and frame:
    /// what lies at or above it may be read and written by others.
    pub(crate) exposed: Option<Place>,
    /// Places that hold the numbers, with the storing instruction.
    pub(crate) hidden: Vec<(Place, Origin, u64)>,
    /// The lowest place from which on the frame is reached with an index.
    indexed: Option<Place>,
    /// The lowest place whose address was ever taken: what lies below is a
    /// variable that no pointer reaches, wherever it comes from.
    pub(crate) taken: Option<Place>,
    /// What each instruction that was executed reached, where that was to be recorded.
    touched: BTreeMap<u64, Memory>,
    records: bool,
    /// The last instruction that reached memory, and what it reached.
    last: Option<(u64, Memory)>,
    /// By the calls that divide static loops: where the loop's last, lower, upper and stride lie.
    pub(crate) divided: BTreeMap<u64, [Place; 4]>,
    /// Instructions that made a base of their own.
    bases: Vec<u64>,
}

/// Lowers `lowest` to the place that `value` points to, if it does.
fn lower(lowest: &mut Option<Place>, value: Value) {
    let Some(place) = value.points_from() else {
        return;
    };
    if lowest.is_none_or(|low| low.is_at_or_above(place)) {
        *lowest = Some(place);
    }
}

/// More bases than this and the frame is not followed.
const BASES: usize = 16;

impl Frame {
    pub(crate) fn expose(&mut self, value: Value) {
        lower(&mut self.exposed, value);
    }

    /// The address of this place was made.
    pub(crate) fn take(&mut self, place: Place) {
        if place != Place::LOWEST {
            lower(&mut self.taken, Value::FrameFrom(place));
        }
    }

    /// Whether a pointer to `from` or above may reach `place`.
    fn reaches(&self, from: Option<Place>, place: Place) -> bool {
        let from = match from {
            Some(Place::LOWEST) => self.taken.or(from),
            from => from,
        };
        from.is_some_and(|from| place.is_at_or_above(from))
    }

    /// Something at or above this address is reached, by a number that is not
    /// followed.
    pub(crate) fn index(&mut self, from: Place) {
        self.take(from);
        lower(&mut self.indexed, Value::FrameFrom(from));
    }

    pub(crate) fn is_indexed(&self, place: Place) -> bool {
        self.reaches(self.indexed, place)
    }

    pub(crate) fn is_exposed(&self, place: Place) -> bool {
        self.reaches(self.exposed, place)
    }

    /// What a called function may have got as an argument.
    pub(crate) fn expose_argument(&mut self, value: Value) {
        if value != Value::StaleFrame {
            self.expose(value);
        }
    }

    pub(crate) fn hide(&mut self, place: Place, origin: Origin, address: u64) {
        if !origin.is_none() && !self.hidden.contains(&(place, origin, address)) {
            self.hidden.push((place, origin, address));
        }
    }

    /// Whether [`Frame::touched`] is to tell what is reached from now on.
    pub(crate) fn record(&mut self, records: bool) {
        self.records = records;
    }

    /// The instruction at `address` reaches this.
    pub(crate) fn touch(&mut self, address: u64, memory: Memory) {
        self.last = Some((address, memory));
        if self.records {
            self.touched.insert(address, memory);
        }
    }

    /// What the instruction at `address` reached, if it did so while that was recorded.
    pub(crate) fn touched(&self, address: u64) -> Option<Memory> {
        self.touched.get(&address).copied()
    }

    /// What the instruction at `address` has just reached.
    pub(crate) fn just_touched(&self, address: u64) -> Option<Memory> {
        self.last
            .filter(|&(last, _)| last == address)
            .map(|(_, memory)| memory)
    }

    /// The base that the instruction at `address` makes.
    pub(crate) fn base(&mut self, address: u64) -> Option<u8> {
        let index = match self.bases.iter().position(|&base| base == address) {
            Some(index) => index,
            None if self.bases.len() < BASES => {
                self.bases.push(address);
                self.bases.len() - 1
            }
            None => return None,
        };
        u8::try_from(index + 1).ok()
    }
}

/// What was found about the splits of the functions that were followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uneven {
    /// Divisions by the number of threads.
    pub(crate) divisions: BTreeSet<Split>,
    /// The branches that ask `id < n % threads`, and whether they jump if that is true.
    pub(crate) branches: BTreeMap<u64, (Split, bool)>,
    /// The first use that forbids it.
    pub(crate) forbidden: Option<(u64, Why)>,
}

impl Uneven {
    pub(crate) fn merge(&mut self, other: &Uneven) {
        self.divisions.extend(&other.divisions);
        self.branches.extend(&other.branches);
        if let Some((at, why)) = other.forbidden {
            self.forbid(at, why);
        }
    }

    pub(crate) fn forbid(&mut self, at: u64, why: Why) {
        if self.forbidden.is_none_or(|(first, _)| at < first) {
            self.forbidden = Some((at, why));
        }
    }
}
