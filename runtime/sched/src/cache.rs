//! What is known about regions from their earlier executions.
//!
//! There is one entry for each region, order of magnitude of the trip count, and shape of the team. `entry`
//! says what is in an entry and how it learns.
//!
//! Data only: the runtime keeps the cache under its own lock, takes an [`Arc<Known>`](Known) out before an
//! execution, and brings the record back after it.

mod entry;

use crate::decide::{Decision, Objective};
use crate::irregular::CostMap;
use crate::placement::Placement;
use crate::probe::NodeRate;
use crate::record::LoopRecord;
pub use entry::{Entry, Saved, NEW_WEIGHT};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The order of magnitude of a trip count: the number of its bits.
#[must_use]
pub fn magnitude(n: u64) -> u8 {
    (u64::BITS - n.leading_zeros()) as u8
}

/// The key of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The region's identity, never its data: an address in the program text
    /// or something derived from it.
    pub region: u64,
    /// [`magnitude`] of the trip count.
    pub magnitude: u8,
    /// `Placement::shape_key`.
    pub shape: u64,
}

impl Key {
    /// Key of `region` with `n` iterations on `team`.
    #[must_use]
    pub fn new(region: u64, n: u64, team: &Placement) -> Self {
        Key {
            region,
            magnitude: magnitude(n),
            shape: team.shape_key(),
        }
    }
}

/// What an execution may know about its region: a snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// Averages per node.
    pub rates: Box<[Option<NodeRate>]>,
    /// The decision to run by without probing; `None`: the next execution probes.
    pub plan: Option<Arc<Decision>>,
    /// Which parts of the loop have cheap and which have dear iterations, where these differ: from the last
    /// probing that looked for it.
    pub map: Option<Arc<CostMap>>,
    /// The next execution by the plan runs in fixed pieces (see [`crate::fixed`]).
    pub fixed: bool,
    /// Several probings have shown that the loop is over before the threads of some node arrive: there is
    /// nothing to divide, and probing only costs.
    pub brief: bool,
}

/// All entries.
#[derive(Clone, Debug, Default)]
pub struct ProbeCache {
    entries: BTreeMap<Key, Entry>,
}

impl ProbeCache {
    /// An empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What is known for the next execution of `key`.
    #[must_use]
    pub fn known(&self, key: &Key) -> Option<Arc<Known>> {
        self.entries.get(key).map(|e| Arc::clone(&e.known))
    }

    /// Learns from an execution of `key`, whose record is `record`.
    ///
    /// Returns whether the next execution runs by another plan, or in another form.
    pub fn update(&mut self, key: Key, record: &LoopRecord, objective: Objective) -> bool {
        let entry = self.entries.entry(key).or_default();
        let before = Arc::clone(&entry.known);
        entry.update(record, objective);
        let now = &entry.known;
        let same = match (&before.plan, &now.plan) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        !same || (before.fixed, before.brief) != (now.fixed, now.brief)
    }

    /// Takes over what another process has learned about `key`, unless this process knows something already.
    pub fn restore(&mut self, key: Key, saved: &Saved, team: &Placement, objective: Objective) {
        if let Some(entry) = Entry::restored(saved, team, objective) {
            self.entries.entry(key).or_insert(entry);
        }
    }

    /// The entry of `key`.
    #[must_use]
    pub fn entry(&self, key: &Key) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// All entries in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Entry)> {
        self.entries.iter()
    }
}
