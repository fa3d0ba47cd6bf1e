//! The next put to each peer, made ready while the provider has no room for it.
//!
//! The provider `shm` carries one short put to a peer at a time. Such a put is a matter of two looks, one on each side,
//! so that whatever this rank does between the end of one put and the start of the next is time that nothing uses.
//! Therefore a put that finds no room is checked and kept here, and the completion that makes room hands it over at
//! once, before anything is written down about the put that ended. Until then nobody asks the provider again: each
//! question takes a lock that the target needs for its work.
//!
//! For providers that keep write after write there are [lanes](super::lane) instead, and this keeps nothing.

use super::lane::Held;

/// What is kept for one peer.
#[derive(Debug, Default)]
struct Place {
    /// Puts and gets that the provider has.
    given: u32,
    put: Option<Held>,
}

/// The puts that wait for room, at most one for each peer.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// By rank. Empty where there are lanes.
    places: Vec<Place>,
    /// How many puts wait.
    waiting: usize,
}

impl Ahead {
    /// From now on keeps a put for each of this many ranks.
    pub(super) fn reach(&mut self, ranks: usize) {
        self.places.resize_with(ranks, Place::default);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Whether a put waits for this rank: what follows has no room either.
    #[inline]
    pub(super) fn waits(&self, rank: usize) -> bool {
        self.waiting > 0 && self.places.get(rank).is_some_and(|p| p.put.is_some())
    }

    /// Whether a put that finds no room may be kept: a completion of this rank will come, and tell that there is room.
    pub(super) fn may_wait(&self, rank: usize) -> bool {
        self.places
            .get(rank)
            .is_some_and(|p| p.given > 0 && p.put.is_none())
    }

    /// Keeps a put that found no room.
    pub(super) fn keep(&mut self, rank: usize, put: Held) {
        if let Some(place) = self.places.get_mut(rank) {
            self.waiting += usize::from(place.put.is_none());
            place.put = Some(put);
        }
    }

    /// Takes the put that waits for this rank.
    pub(super) fn take(&mut self, rank: usize) -> Option<Held> {
        if self.waiting == 0 {
            return None;
        }
        let put = self.places.get_mut(rank)?.put.take()?;
        self.waiting -= 1;
        Some(put)
    }

    /// The provider has got a put or a get.
    #[inline]
    pub(super) fn went(&mut self, rank: usize) {
        if let Some(place) = self.places.get_mut(rank) {
            place.given += 1;
        }
    }

    /// The provider has given a put or a get back.
    #[inline]
    pub(super) fn came_back(&mut self, rank: usize) {
        if let Some(place) = self.places.get_mut(rank) {
            place.given -= 1;
        }
    }

    /// The ranks whose put waits although no completion of theirs will come.
    pub(super) fn forsaken(&self) -> Vec<usize> {
        if self.waiting == 0 {
            return Vec::new();
        }
        (0..self.places.len())
            .filter(|r| self.places[*r].put.is_some() && self.places[*r].given == 0)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Ahead, Held};
    use core::ptr::null_mut;

    fn put(id: u64) -> Held {
        Held {
            id,
            slot: null_mut(),
            from: core::ptr::null(),
            len: 8,
            descriptor: null_mut(),
            at: (0, 0),
            data: None,
        }
    }

    #[test]
    fn a_put_waits_only_where_a_completion_will_come() {
        let mut ahead = Ahead::default();
        assert!(!ahead.may_wait(0), "there are lanes");
        ahead.reach(2);
        assert!(!ahead.may_wait(1), "nothing is under way");
        ahead.went(1);
        assert!(ahead.may_wait(1) && !ahead.may_wait(0));
        ahead.keep(1, put(7));
        assert!(ahead.waits(1) && !ahead.waits(0) && !ahead.may_wait(1));
        assert!(ahead.forsaken().is_empty());
        ahead.came_back(1);
        assert_eq!(ahead.forsaken(), [1]);
        assert_eq!(ahead.take(1).map(|p| p.id), Some(7));
        assert!(ahead.is_empty() && ahead.take(1).is_none());
    }
}
