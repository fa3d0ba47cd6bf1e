//! The write combiner at the target, and before it a fabric that keeps no order.
//!
//! A write that has arrived is held for a random time, up to the setting's limit. Data is cut at lines into a few
//! pieces, each with a time of its own; cuts never tear an aligned word. A put's signal, and the counting of its
//! arrival, come after the last piece of its own data and are independent of other writes. A fence flushes: it
//! applies everything that one queue has under way to one peer.

use super::Random;
use crate::descriptor::{Atomic, Remote, Signal};
use std::collections::BTreeMap;

/// Data is cut at multiples of this, so that a word that a program polls is never torn.
const LINE: u64 = 64;
/// The most pieces of one write.
const PIECES: u64 = 8;

/// A part of a write that is applied at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes to be written.
    Bytes(Remote, Box<[u8]>),
    /// All data of a put has been applied: its place, its bytes, and its signal.
    Arrived(Remote, u32, Option<Signal>),
    /// The last bytes of a put come next: its place and its bytes. For the checker.
    Landing(Remote, u32),
    /// An atomic that fetches nothing.
    Atomic(Atomic),
}

/// Which queue and ranks a piece belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The queue it was posted to.
    pub queue: usize,
    /// The initiator.
    pub rank: u32,
    /// The target.
    pub peer: u32,
}

/// The pieces that are held.
#[derive(Debug)]
pub struct Combiner {
    random: Random,
    hold_ns: u64,
    /// By the time at which the piece is due; pieces of the same time in the order in which they came.
    held: BTreeMap<(u64, u64), (Way, Piece)>,
    order: u64,
}

impl Combiner {
    /// A combiner that holds pieces up to `hold_ns` nanoseconds. The same seed gives the same holds.
    pub fn new(seed: u64, hold_ns: u64) -> Combiner {
        Combiner {
            random: Random::new(seed),
            hold_ns,
            held: BTreeMap::new(),
            order: 0,
        }
    }

    /// Takes a put that has arrived. `counted`: the target counts arrivals in this region. `announced`: its last piece
    /// comes after a [`Piece::Landing`].
    #[allow(
        clippy::too_many_arguments,
        reason = "a put, and two of its target's wishes"
    )]
    pub fn put(
        &mut self,
        now: u64,
        way: Way,
        remote: Remote,
        bytes: &[u8],
        signal: Option<Signal>,
        counted: bool,
        announced: bool,
    ) {
        let first = self.order;
        self.order += u64::from(announced);
        let mut last = now;
        let mut from = 0;
        for end in self.cuts(remote.address, bytes.len()) {
            let part = Remote {
                address: remote.address + from as u64,
                ..remote
            };
            let due = now + self.hold();
            last = last.max(due);
            self.keep(due, way, Piece::Bytes(part, bytes[from..end].into()));
            from = end;
        }
        if announced {
            // Before all pieces of the same time.
            let piece = Piece::Landing(remote, bytes.len() as u32);
            self.held.insert((last, first), (way, piece));
        }
        if signal.is_some() || counted {
            // The signal gets a hold of its own, because a signal may be slow too.
            let due = last.max(now + self.hold());
            let piece = Piece::Arrived(remote, bytes.len() as u32, signal);
            self.keep(due, way, piece);
        }
    }

    /// Takes an atomic that fetches nothing.
    pub fn atomic(&mut self, now: u64, way: Way, atomic: Atomic) {
        let due = now + self.hold();
        self.keep(due, way, Piece::Atomic(atomic));
    }

    /// The next piece that is due.
    pub fn due(&mut self, now: u64) -> Option<(Way, Piece)> {
        let first = self.held.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// When the next piece is due.
    pub fn next_due(&self) -> Option<u64> {
        self.held.first_key_value().map(|(k, _)| k.0)
    }

    /// All pieces of one queue to one peer, in the order in which they have to be applied.
    pub fn flush(&mut self, queue: usize, peer: u32) -> Vec<(Way, Piece)> {
        let keys: Vec<_> = self
            .held
            .iter()
            .filter(|(_, (w, _))| w.queue == queue && w.peer == peer)
            .map(|(k, _)| *k)
            .collect();
        keys.iter().filter_map(|k| self.held.remove(k)).collect()
    }

    /// All pieces.
    pub fn take_all(&mut self) -> Vec<(Way, Piece)> {
        core::mem::take(&mut self.held).into_values().collect()
    }

    fn keep(&mut self, due: u64, way: Way, piece: Piece) {
        self.held.insert((due, self.order), (way, piece));
        self.order += 1;
    }

    /// A random hold. A quarter of the writes passes at once, as if the combiner were empty.
    fn hold(&mut self) -> u64 {
        if self.random.up_to(3) == 0 {
            0
        } else {
            self.random.up_to(self.hold_ns)
        }
    }

    /// The ends of the pieces into which `len` bytes at `address` are cut.
    fn cuts(&mut self, address: u64, len: usize) -> Vec<usize> {
        let mut ends = Vec::new();
        if len == 0 {
            return ends;
        }
        // The line boundaries strictly inside.
        let first = (LINE - address % LINE) as usize;
        let inside = len.saturating_sub(first).div_ceil(LINE as usize) as u64;
        if inside > 0 {
            for _ in 0..self.random.up_to(PIECES - 1) {
                ends.push(first + self.random.up_to(inside - 1) as usize * LINE as usize);
            }
        }
        ends.push(len);
        ends.sort_unstable();
        ends.dedup();
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::{Key, SignalOp};

    const WAY: Way = Way {
        queue: 0,
        rank: 0,
        peer: 1,
    };

    fn remote(address: u64) -> Remote {
        Remote {
            address,
            key: Key(1),
        }
    }

    fn signal() -> Option<Signal> {
        Some(Signal {
            remote: remote(0),
            op: SignalOp::Set,
            value: 1,
        })
    }

    /// Every byte comes once, cut at lines only and never later than the hold, and the signal comes last.
    fn whole(seed: u64, address: u64, len: usize) {
        let bytes: Vec<u8> = (0..len).map(|i| i as u8 ^ 0x5a).collect();
        let mut c = Combiner::new(seed, 1000);
        c.put(7, WAY, remote(address), &bytes, signal(), false, true);
        let mut written = vec![None; len];
        let mut landing = false;
        let mut left = len;
        let mut signalled = false;
        let mut pieces = 0;
        let mut times = Vec::new();
        for now in 7..=1007 {
            while let Some((way, piece)) = c.due(now) {
                assert_eq!(way, WAY);
                assert!(!signalled, "nothing comes after the signal");
                times.push(now);
                match piece {
                    Piece::Landing(r, n) => {
                        assert_eq!((r, n as usize), (remote(address), len));
                        assert!(left > 0 || len == 0, "before the last piece");
                        landing = true;
                    }
                    Piece::Bytes(r, b) => {
                        pieces += 1;
                        left -= b.len();
                        assert!(left > 0 || landing);
                        let from = (r.address - address) as usize;
                        assert!(from == 0 || r.address % LINE == 0);
                        for (w, b) in written[from..].iter_mut().zip(b.iter()) {
                            assert_eq!(w.replace(*b), None);
                        }
                    }
                    Piece::Arrived(r, n, s) => {
                        assert_eq!((r, n as usize, s), (remote(address), len, signal()));
                        signalled = true;
                    }
                    Piece::Atomic(_) => unreachable!(),
                }
            }
        }
        assert!(signalled && c.next_due().is_none());
        assert!(pieces <= PIECES);
        assert!(written.iter().zip(&bytes).all(|(w, b)| *w == Some(*b)));
    }

    proptest::proptest! {
        #[test]
        fn a_write_arrives_whole_and_in_time_and_its_signal_behind_it(
            seed in 0..u64::MAX, address in 0..200u64, len in 0..1500usize
        ) {
            whole(seed, address, len);
        }

        #[test]
        fn a_flush_takes_one_way_only_and_keeps_signals_behind_their_data(
            seed in 0..u64::MAX, puts in proptest::collection::vec((0..2usize, 0..3u32, 0..300usize), 1..12)
        ) {
            let mut c = Combiner::new(seed, 1000);
            for (i, (queue, peer, len)) in puts.iter().enumerate() {
                let way = Way { queue: *queue, rank: 0, peer: *peer };
                c.put(i as u64, way, remote(i as u64 * 4096), &vec![1; *len], signal(), false, false);
            }
            let before = c.held.len();
            let flushed = c.flush(0, 1);
            assert_eq!(c.held.len() + flushed.len(), before);
            assert!(flushed.iter().all(|(w, _)| w.queue == 0 && w.peer == 1));
            assert!(c.held.values().all(|(w, _)| w.queue != 0 || w.peer != 1));
            let mut missing: Vec<usize> = puts.iter().map(|p| p.2).collect();
            for (_, piece) in flushed {
                match piece {
                    Piece::Bytes(r, b) => missing[(r.address / 4096) as usize] -= b.len(),
                    Piece::Arrived(r, ..) => assert_eq!(missing[(r.address / 4096) as usize], 0),
                    Piece::Atomic(_) | Piece::Landing(..) => unreachable!(),
                }
            }
        }
    }

    #[test]
    fn one_seed_gives_one_order() {
        let play = |seed| {
            let mut c = Combiner::new(seed, 1000);
            for n in 0..20 {
                c.put(
                    n,
                    WAY,
                    remote(n * 4096),
                    &[n as u8; 300],
                    signal(),
                    false,
                    false,
                );
            }
            core::iter::from_fn(|| c.due(u64::MAX)).collect::<Vec<_>>()
        };
        assert_eq!(play(5), play(5));
        assert_ne!(play(5), play(6));
    }
}
