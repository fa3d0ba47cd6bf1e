//! Runs by number.

/// The number of a run: its index (low half), and how many runs had this index before (high half).
pub(crate) type RunId = u64;

/// A table whose numbers are never given out twice.
#[derive(Debug)]
pub(super) struct Slab<T> {
    slots: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Slab<T> {
        Slab {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(super) fn insert(&mut self, value: T) -> RunId {
        let at = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() as u32 - 1
        });
        let (generation, slot) = &mut self.slots[at as usize];
        *slot = Some(value);
        RunId::from(*generation) << 32 | RunId::from(at)
    }

    fn slot(&self, id: RunId) -> Option<usize> {
        let at = id as u32 as usize;
        let (generation, _) = self.slots.get(at)?;
        (u64::from(*generation) == id >> 32).then_some(at)
    }

    #[inline]
    pub(super) fn get(&self, id: RunId) -> Option<&T> {
        self.slots[self.slot(id)?].1.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: RunId) -> Option<&mut T> {
        let at = self.slot(id)?;
        self.slots[at].1.as_mut()
    }

    pub(super) fn remove(&mut self, id: RunId) -> Option<T> {
        let at = self.slot(id)?;
        let (generation, slot) = &mut self.slots[at];
        let value = slot.take()?;
        // An index that has used up all its numbers is not used again.
        if let Some(next) = generation.checked_add(1) {
            *generation = next;
            self.free.push(at as u32);
        }
        Some(value)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (RunId, &T)> {
        self.slots.iter().enumerate().filter_map(|(at, slot)| {
            let id = RunId::from(slot.0) << 32 | at as RunId;
            slot.1.as_ref().map(|value| (id, value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_of_one_thing() {
        let mut slab = Slab::new();
        let (a, b) = (slab.insert('a'), slab.insert('b'));
        assert_eq!(slab.remove(a), Some('a'));
        assert_eq!((slab.remove(a), slab.get(a)), (None, None));
        let c = slab.insert('c');
        assert_ne!(a, c);
        assert_eq!(slab.get(a), None);
        assert_eq!(slab.get_mut(c).copied(), Some('c'));
        let all: Vec<_> = slab.iter().collect();
        assert_eq!(all, [(c, &'c'), (b, &'b')]);
        assert_eq!(slab.get(u64::MAX), None);
    }
}
