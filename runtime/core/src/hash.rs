//! A hash table for words: numbers and addresses.
//!
//! The standard table seeds its hash from random numbers in static thread-local storage, which is scarce for a
//! library that is opened late. The seed protects against keys that an attacker chooses. The keys here are our own
//! numbers.

use core::hash::{BuildHasherDefault, Hasher};

/// A table whose keys are words or small tuples of words. Made by `default()`.
pub type HashMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<WordHasher>>;

/// Multiplies by an odd number near the golden ratio (Knuth, volume 3, section 6.4), then mixes the two halves: the
/// table takes the bucket from the low bits and the tag from the high bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordHasher(u64);

impl WordHasher {
    fn mix(&mut self, word: u64) {
        let h = (self.0 ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = h ^ (h >> 32);
    }
}

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.mix(u64::from(*b));
        }
    }
    fn write_u32(&mut self, word: u32) {
        self.mix(u64::from(word));
    }
    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }
    fn write_usize(&mut self, word: usize) {
        self.mix(word as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::HashMap;

    #[test]
    fn keys_are_told_apart() {
        let mut map = HashMap::default();
        for i in 0..10_000u64 {
            map.insert((i, (i * 8) as u32), i);
        }
        assert_eq!(map.len(), 10_000);
        assert!((0..10_000u64).all(|i| map[&(i, (i * 8) as u32)] == i));
    }
}
