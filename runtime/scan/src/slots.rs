//! The words of a stack frame that hold something of interest.

use crate::value::{join, Order, Place, Value};

/// One word of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) size: i64,
    pub(crate) value: Value,
}

/// What was stored and is not plain, in the order of the places. A function has few of them, and states are copied and
/// joined all the time: one piece of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slots(Vec<(Place, Slot)>);

impl Slots {
    fn position(&self, place: Place) -> Result<usize, usize> {
        self.0.binary_search_by_key(&place, |&(at, _)| at)
    }

    pub(crate) fn get(&self, place: Place) -> Option<Slot> {
        self.position(place).ok().map(|n| self.0[n].1)
    }

    pub(crate) fn get_mut(&mut self, place: Place) -> Option<&mut Slot> {
        let n = self.position(place).ok()?;
        Some(&mut self.0[n].1)
    }

    pub(crate) fn insert(&mut self, place: Place, slot: Slot) {
        match self.position(place) {
            Ok(n) => self.0[n].1 = slot,
            Err(n) => self.0.insert(n, (place, slot)),
        }
    }

    pub(crate) fn remove(&mut self, place: Place) {
        if let Ok(n) = self.position(place) {
            self.0.remove(n);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Place, Slot)> + Clone {
        self.0.iter()
    }

    /// Changes all values, and forgets those that become plain.
    pub(crate) fn change(&mut self, change: impl Fn(&mut Value)) {
        self.0
            .iter_mut()
            .for_each(|(_, slot)| change(&mut slot.value));
        self.0.retain(|(_, slot)| slot.value != Value::Plain);
    }

    /// The slots that share a byte with these `size` bytes at `place`.
    pub(crate) fn overlapping(
        &self,
        place: Place,
        size: i64,
    ) -> impl Iterator<Item = (Place, Slot)> + '_ {
        // No slot is longer than a vector register.
        let low = Place {
            offset: place.offset.saturating_sub(64),
            ..place
        };
        let high = Place {
            offset: place.offset.saturating_add(size),
            ..place
        };
        let first = self.0.partition_point(|&(at, _)| at < low);
        self.0[first..]
            .iter()
            .copied()
            .take_while(move |&(at, _)| at < high)
            .filter(move |(at, slot)| at.offset + slot.size > place.offset)
    }

    /// Takes in what another path brings, where the two paths are known to be ordered so; tells whether anything
    /// changed. A missing place is plain.
    pub(crate) fn join(&mut self, other: &Slots, mine: Order, theirs: Order) -> bool {
        if self == other && self.0.iter().all(|(_, slot)| slot.value != Value::Plain) {
            return false;
        }
        let mut joined = Vec::with_capacity(self.0.len().max(other.0.len()));
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        loop {
            let place = match (left.peek(), right.peek()) {
                (Some((a, _)), Some((b, _))) => *a.min(b),
                (Some((place, _)), None) | (None, Some((place, _))) => *place,
                (None, None) => break,
            };
            let a = left.next_if(|(at, _)| *at == place).map(|&(_, slot)| slot);
            let b = right.next_if(|(at, _)| *at == place).map(|&(_, slot)| slot);
            let x = a.map_or(Value::Plain, |slot| slot.value);
            let y = b.map_or(Value::Plain, |slot| slot.value);
            let (size, value) = match (a, b) {
                (Some(a), Some(b)) if a.size != b.size => (a.size.max(b.size), x.mixed(y)),
                (Some(slot), _) | (None, Some(slot)) => (slot.size, join((x, mine), (y, theirs))),
                (None, None) => continue,
            };
            if value != Value::Plain {
                joined.push((place, Slot { size, value }));
            }
        }
        let changed = joined != self.0;
        self.0 = joined;
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Origin;

    fn place(offset: i64) -> Place {
        Place { base: 0, offset }
    }

    fn slots(all: &[(i64, i64, Value)]) -> Slots {
        let mut slots = Slots::default();
        for &(offset, size, value) in all {
            slots.insert(place(offset), Slot { size, value });
        }
        slots
    }

    #[test]
    fn joins_take_in_both_sides() {
        let taint = Value::Taint(Origin::ID.with(Origin::TEAM));
        let mine = slots(&[(8, 8, Value::Id), (0, 4, Value::Zero), (24, 8, Value::Id)]);
        let theirs = slots(&[
            (8, 8, Value::Team),
            (16, 8, Value::Team),
            (24, 4, Value::Team),
        ]);
        let mut joined = mine.clone();
        assert!(joined.join(&theirs, Order::Unknown, Order::Unknown));
        let team = Value::Taint(Origin::TEAM);
        // Zero or plain is plain, and so forgotten; of different lengths the longer one holds.
        assert_eq!(
            joined,
            slots(&[(8, 8, taint), (16, 8, team), (24, 8, taint)])
        );
        assert!(!joined.join(&theirs, Order::Unknown, Order::Unknown));
        assert!(!joined.clone().join(&joined, Order::Unknown, Order::Unknown));
        // A plain word is as good as none.
        let mut plain = slots(&[(8, 8, Value::Plain)]);
        assert!(plain.clone().join(&plain, Order::Unknown, Order::Unknown));
        plain.change(|_| ());
        assert_eq!(plain, Slots::default());
    }

    #[test]
    fn overlaps() {
        let all = slots(&[
            (0, 8, Value::Id),
            (8, 4, Value::Team),
            (12, 64, Value::Zero),
        ]);
        let found = |offset, size| -> Vec<i64> {
            let found = all.overlapping(place(offset), size);
            found.map(|(at, _)| at.offset).collect()
        };
        assert_eq!(found(4, 4), [0]);
        assert_eq!(found(4, 5), [0, 8]);
        assert_eq!(found(75, 1), [12]);
        assert_eq!(found(76, 1), [] as [i64; 0]);
        assert_eq!(found(-4, 4), [] as [i64; 0]);
    }
}
