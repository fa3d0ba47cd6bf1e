//! An exchange made of one function of the caller's: an allgather, which every parallel library has.
//!
//! What a rank puts waits for the next fence. A fence gathers the lengths of all ranks' waiting values, then the
//! values, filled up to the longest. A value travels as the length of its key, the key, the length of the value, and
//! the value; lengths have 32 bits, little-endian.

use hetmp_core::bootstrap::Exchange;
use hetmp_core::hash::HashMap;

/// Gives this rank's bytes to all ranks, and returns all ranks' bytes, in the order of ranks. All ranks give equally
/// many.
pub type Gather = Box<dyn FnMut(&[u8], &mut [u8]) -> Result<(), String> + Send>;

/// See the module.
pub struct Through {
    rank: u32,
    size: u32,
    gather: Gather,
    waiting: Vec<u8>,
    known: HashMap<(u32, String), Vec<u8>>,
}

impl core::fmt::Debug for Through {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Through")
            .field("rank", &self.rank)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl Through {
    /// Rank `rank` of `size`; nothing was put.
    #[must_use]
    pub fn new(rank: u32, size: u32, gather: Gather) -> Through {
        Through {
            rank,
            size,
            gather,
            waiting: Vec::new(),
            known: HashMap::default(),
        }
    }

    /// Keeps what a rank has put.
    fn learn(&mut self, rank: u32, mut bytes: &[u8]) -> Result<(), String> {
        let mut next = |what: &str| {
            take(&mut bytes)
                .ok_or_else(|| format!("rank {rank}: a {what} without its length (expected both)"))
        };
        while let Some(key) = next("key")? {
            let key = String::from_utf8_lossy(key).into_owned();
            let value = next("value")?.unwrap_or_default().to_vec();
            self.known.insert((rank, key), value);
        }
        Ok(())
    }
}

/// The first bytes, as many as the number before them says. The inner `None` stands for no bytes at all.
#[allow(
    clippy::option_option,
    reason = "the outer one is an error, the inner one the end"
)]
fn take<'a>(bytes: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    if bytes.is_empty() {
        return Some(None);
    }
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some(Some(value))
}

impl Exchange for Through {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), String> {
        for part in [key.as_bytes(), value] {
            let length = u32::try_from(part.len()).map_err(|e| e.to_string())?;
            self.waiting.extend_from_slice(&length.to_le_bytes());
            self.waiting.extend_from_slice(part);
        }
        Ok(())
    }

    fn fence(&mut self) -> Result<(), String> {
        let size = self.size as usize;
        let mut waiting = core::mem::take(&mut self.waiting);
        let mut lengths = vec![0; 8 * size];
        (self.gather)(&(waiting.len() as u64).to_le_bytes(), &mut lengths)?;
        let lengths: Vec<usize> = lengths
            .chunks_exact(8)
            .map(|w| w.iter().rev().fold(0, |n, b| n << 8 | usize::from(*b)))
            .collect();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        if longest == 0 {
            return Ok(());
        }
        waiting.resize(longest, 0);
        let mut all = vec![0; longest * size];
        (self.gather)(&waiting, &mut all)?;
        for ((rank, length), bytes) in (0..).zip(lengths).zip(all.chunks_exact(longest)) {
            self.learn(rank, &bytes[..length])?;
        }
        Ok(())
    }

    fn get(&mut self, rank: u32, key: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(self.known.get(&(rank, key.to_owned())).cloned())
    }

    /// Only this process ends; the library that has started the program notices that.
    fn abort(&mut self, _status: i32, _message: &str) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Barrier, Mutex};

    /// An allgather between threads.
    fn gather(rank: usize, board: Arc<(Barrier, Mutex<Vec<Vec<u8>>>)>) -> Gather {
        Box::new(move |give, get| {
            board.1.lock().expect("no panic")[rank] = give.to_vec();
            board.0.wait();
            get.copy_from_slice(&board.1.lock().expect("no panic").concat());
            board.0.wait();
            Ok(())
        })
    }

    #[test]
    fn values_are_there_after_the_fence_and_not_before() {
        const RANKS: usize = 3;
        let board = Arc::new((Barrier::new(RANKS), Mutex::new(vec![Vec::new(); RANKS])));
        std::thread::scope(|s| {
            for rank in 0..RANKS {
                let mut e = Through::new(rank as u32, RANKS as u32, gather(rank, board.clone()));
                s.spawn(move || {
                    e.put("a", &vec![rank as u8; 10 * rank]).expect("room");
                    assert_eq!(e.get(rank as u32, "a"), Ok(None));
                    e.fence().expect("a fence");
                    // A fence without values.
                    e.fence().expect("a fence");
                    if rank == 1 {
                        e.put("only", b"1").expect("room");
                    }
                    e.fence().expect("a fence");
                    for other in 0..RANKS {
                        let value = e.get(other as u32, "a").expect("a value");
                        assert_eq!(value, Some(vec![other as u8; 10 * other]));
                        let only = e.get(other as u32, "only").expect("an answer");
                        assert_eq!(only, (other == 1).then(|| b"1".to_vec()));
                    }
                });
            }
        });
    }

    #[test]
    fn bytes_without_their_lengths_are_refused() {
        let mut e = Through::new(0, 1, Box::new(|_, _| Ok(())));
        assert!(e.learn(0, &[1, 0]).is_err());
        assert!(e.learn(0, &[9, 0, 0, 0, b'k']).is_err());
        assert!(e.learn(0, &[]).is_ok());
    }
}
