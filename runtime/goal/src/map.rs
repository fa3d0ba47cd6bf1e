//! Hash tables without a random seed. `std`'s hasher keeps its seed in thread-local storage, which is scarce for a
//! library that is opened late. Peers that choose colliding keys can make these tables slow and nothing worse: how
//! much peers can put into them is bounded (see [`crate::rank`]).

use core::hash::{BuildHasherDefault, Hasher};

pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<Mix>>;
pub(crate) type HashSet<K> = std::collections::HashSet<K, BuildHasherDefault<Mix>>;

/// Multiplies by an odd number for each word. At the end the high bits are mixed into the low ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    #[inline]
    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0.rotate_left(5) ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}
