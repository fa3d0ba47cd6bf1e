//! Tables by the number of a page, for what is looked up several times for each page that moves.
//!
//! A transaction looks some twenty times into such tables. With trees of 65,000 pages a page that moved took 1.7 us
//! more of the processor's time (64 MiB that change sides). Pages that move together are neighbours, and so are their
//! places here: the hash of a page is its number.
#![forbid(unsafe_code)]

use core::hash::{BuildHasherDefault, Hash, Hasher};
use core::ops::{Deref, DerefMut};
use std::collections::HashMap;

/// See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ByPage<V, K: Hash + Eq = u64>(HashMap<K, V, BuildHasherDefault<PageHasher>>);

/// The hash of a page, or of a page and what is wanted of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        /// Bits that do not say where in the table an entry is, but tell entries of one group apart.
        const TAG: u64 = !(u64::MAX >> 7);
        let mixed = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 & !TAG | mixed & TAG
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_u64(b.into()));
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = self.0.wrapping_mul(4).wrapping_add(n);
    }

    fn write_isize(&mut self, n: isize) {
        self.write_u64(n as u64);
    }
}

impl<V, K: Hash + Eq> Default for ByPage<V, K> {
    fn default() -> ByPage<V, K> {
        ByPage(HashMap::default())
    }
}

impl<V, K: Hash + Eq> Deref for ByPage<V, K> {
    type Target = HashMap<K, V, BuildHasherDefault<PageHasher>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<V, K: Hash + Eq> DerefMut for ByPage<V, K> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// For the model checker: tables that are equal have one hash, whatever the order of their entries.
impl<V: Hash, K: Hash + Eq + Ord> Hash for ByPage<V, K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut all: Vec<(&K, &V)> = self.0.iter().collect();
        all.sort_unstable_by_key(|e| e.0);
        all.hash(state);
    }
}
