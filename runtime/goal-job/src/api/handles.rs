//! Handles: numbers that tables give out.
//!
//! A C program may use a handle after it was freed, or pass a graph's handle where a schedule's is expected. A handle
//! therefore contains an index, the generation of what is stored there, and the kind of its table. A wrong use is
//! then an error, and never an access to memory.
//!
//! A collective without a schedule is over sooner than a table is locked three times: its handle says which it is, and
//! the team knows which of its collectives the program has handles of.

use super::{Code, Error, Result};

/// A handle that a table has given out; 0 is none.
pub type Key = usize;

/// A table of values by handle.
pub(super) struct Slots<T> {
    kind: usize,
    slots: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

const PLACE_BITS: u32 = 28;
const GENERATION_BITS: u32 = 32;
/// The kind of handles that no table gives out: [`of_team`].
const DIRECT: usize = 5;
const STEP_BITS: u32 = 54;

/// The handle of a collective of the team with a number, which has a name there and no place in a table.
pub(super) fn of_team(team: u32, step: u64) -> Key {
    DIRECT << (PLACE_BITS + GENERATION_BITS) | (team as usize) << STEP_BITS | step as usize
}

/// The team's number and the collective's name that [`of_team`] has put together. `None` for another handle.
#[inline]
pub(super) fn team_and_step(key: Key) -> Option<(u32, u64)> {
    let team = key >> STEP_BITS & 0x3f;
    let step = key & ((1 << STEP_BITS) - 1);
    (key >> (PLACE_BITS + GENERATION_BITS) == DIRECT).then_some((team as u32, step as u64))
}

impl<T> Slots<T> {
    pub(super) fn new(kind: usize) -> Slots<T> {
        Slots {
            kind,
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(super) fn insert(&mut self, value: T) -> Result<Key> {
        let place = match self.free.pop() {
            Some(place) => place as usize,
            None => {
                if self.slots.len() >= 1 << PLACE_BITS {
                    return Err(Error::new(Code::Limit, "handles: too many"));
                }
                self.slots.push((1, None));
                self.slots.len() - 1
            }
        };
        let slot = &mut self.slots[place];
        slot.1 = Some(value);
        Ok(place | (slot.0 as usize) << PLACE_BITS | self.kind << (PLACE_BITS + GENERATION_BITS))
    }

    fn place(&self, key: Key) -> Option<usize> {
        let place = key & ((1 << PLACE_BITS) - 1);
        let (generation, value) = self.slots.get(place)?;
        let same = key >> PLACE_BITS == (*generation as usize | self.kind << GENERATION_BITS);
        (same && value.is_some()).then_some(place)
    }

    pub(super) fn get(&mut self, key: Key, what: &str) -> Result<&mut T> {
        let place = self.place(key);
        place
            .and_then(|p| self.slots[p].1.as_mut())
            .ok_or_else(|| none(what))
    }

    pub(super) fn remove(&mut self, key: Key, what: &str) -> Result<T> {
        let place = self.place(key).ok_or_else(|| none(what))?;
        let slot = &mut self.slots[place];
        slot.0 = slot.0.wrapping_add(1).max(1);
        self.free.push(place as u32);
        slot.1.take().ok_or_else(|| none(what))
    }
}

/// The error of a handle that was not given out, or was freed.
#[cold]
pub(super) fn none(what: &str) -> Error {
    Error::new(
        Code::Argument,
        format_args!("{what}: unknown (expected one that was made and not freed)"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_teams_handle_is_no_handle_of_a_table() {
        for (team, step) in [(0, 0), (63, (1 << 54) - 1), (5, 77)] {
            assert_eq!(team_and_step(of_team(team, step)), Some((team, step)));
        }
        let mut table = Slots::new(4);
        let key = table.insert("one").expect("room");
        assert_eq!((team_and_step(key), team_and_step(0)), (None, None));
        assert!(table.get(of_team(0, key as u64), "x").is_err());
    }

    #[test]
    fn handles_are_known_once_and_by_their_table() {
        let (mut a, mut b) = (Slots::new(1), Slots::new(2));
        let one = a.insert("one").expect("room");
        let other = b.insert("other").expect("room");
        assert_ne!(one, other);
        assert_eq!(a.get(one, "x").copied(), Ok("one"));
        assert!(a.get(other, "x").is_err() && b.get(one, "x").is_err());
        assert!(a.get(0, "x").is_err() && a.get(usize::MAX, "x").is_err());
        assert_eq!(a.remove(one, "x"), Ok("one"));
        assert!(a.remove(one, "x").is_err());
        let again = a.insert("again").expect("room");
        assert_ne!(one, again);
        assert!(a.get(one, "x").is_err());
        assert_eq!(a.get(again, "x").copied(), Ok("again"));
    }
}
