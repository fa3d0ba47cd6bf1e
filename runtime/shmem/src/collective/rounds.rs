//! Which member tells which: barriers and trees, without any memory.
//!
//! Generic over how one member tells another, so that the models of `tests/loom.rs` run this very code.

/// How members tell each other that they have done a phase of a collective.
pub(crate) trait Tell {
    /// This PE's number among the members.
    fn rank(&self) -> usize;
    /// Number of members.
    fn size(&self) -> usize;
    /// Tells a member that this PE has done a phase, including what it copies to that member in the phase.
    fn tell(&self, phase: u32, rank: usize);
    /// Waits until a member has told about a phase. Only for phases in which no other member tells this PE.
    fn await_from(&self, phase: u32, rank: usize);
    /// Waits until all other members have told about a phase.
    fn await_all(&self, phase: u32);
    /// True if a member tells by a store to mapped memory, false if by a message. All members get the same answer.
    fn by_stores(&self) -> bool {
        true
    }

    /// The other members, beginning with the one after this, so that members do not all turn to the same one first.
    #[inline(always)]
    fn others(&self) -> impl Iterator<Item = usize> {
        let (me, n) = (self.rank(), self.size());
        (me + 1..n).chain(0..me)
    }

    /// Tells all other members, and waits for all of them.
    #[inline(always)]
    fn meet(&self, phase: u32) {
        for rank in self.others() {
            self.tell(phase, rank);
        }
        self.await_all(phase);
    }
}

/// The most phases of a collective.
pub(crate) const PHASES: u32 = 32;

/// The largest team in which every member tells every other one. That is one round: PEs that share cores are switched
/// as rarely as possible, and all flags travel at the same time. Larger teams use rounds of doubling distance, and
/// trees.
pub(crate) const FLAT: usize = 16;
/// The same where members tell by messages, each of which costs processor time on both sides. Where 16 PEs share two
/// cores, 64 messages in four rounds take two thirds of the time of 240 in one; with 8 PEs one round is still faster.
const FLAT_BY_MESSAGES: usize = 8;

/// Waits until all members have called it.
///
/// Beyond [`FLAT`] members (by messages: beyond [`FLAT_BY_MESSAGES`]) this is a dissemination barrier: in round `r`,
/// member `i` tells `i + 2^r` and hears from `i - 2^r`. After all rounds every member has heard from all others,
/// directly or through others.
#[inline(always)]
pub(crate) fn sync<G: Tell>(g: &G) {
    let n = g.size();
    if n <= FLAT_BY_MESSAGES || n <= FLAT && g.by_stores() {
        g.meet(0);
    } else {
        disseminate(g);
    }
}

#[inline(never)]
pub(crate) fn disseminate<G: Tell>(g: &G) {
    let (me, n) = (g.rank(), g.size());
    for (round, distance) in rounds(n) {
        g.tell(round, (me + distance) % n);
        g.await_from(round, (me + n - distance) % n);
    }
}

/// The rounds of a dissemination among `n` members, with their distances.
fn rounds(n: usize) -> impl Iterator<Item = (u32, usize)> {
    (0..)
        .map(|r| (r, 1 << r))
        .take_while(move |&(_, distance)| distance < n)
}

/// The member from which `v` hears in a binomial tree with root 0.
pub(crate) fn parent(v: usize) -> usize {
    v & (v - 1)
}

/// The members that `v` tells in that tree; those with the largest subtrees come first.
pub(crate) fn children(v: usize, n: usize) -> impl Iterator<Item = usize> {
    let low = if v == 0 {
        n.next_power_of_two()
    } else {
        1 << v.trailing_zeros()
    };
    (0..low.trailing_zeros())
        .rev()
        .map(move |k| v + (1 << k))
        .filter(move |&c| c < n)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use core::cell::Cell;

    /// A member whose peers are always there already: counts what it tells.
    struct Counting {
        members: usize,
        stores: bool,
        told: Cell<usize>,
    }

    impl Tell for Counting {
        fn rank(&self) -> usize {
            0
        }
        fn size(&self) -> usize {
            self.members
        }
        fn tell(&self, _phase: u32, _rank: usize) {
            self.told.set(self.told.get() + 1);
        }
        fn await_from(&self, _phase: u32, _rank: usize) {}
        fn await_all(&self, _phase: u32) {}
        fn by_stores(&self) -> bool {
            self.stores
        }
    }

    #[test]
    fn members_that_send_messages_tell_few_others() {
        let told = |members, stores| {
            let g = Counting {
                members,
                stores,
                told: Cell::new(0),
            };
            sync(&g);
            g.told.get()
        };
        let sizes = [2, 8, 9, 16, 17, 64];
        assert_eq!(sizes.map(|n| told(n, true)), [1, 7, 8, 15, 5, 6]);
        assert_eq!(sizes.map(|n| told(n, false)), [1, 7, 4, 4, 5, 6]);
    }

    #[test]
    fn dissemination_reaches_everybody() {
        for n in 1..70usize {
            // Which members each one knows about, as bits.
            let mut knows: Vec<u128> = (0..n).map(|i| 1 << i).collect();
            let mut last = 0;
            for (round, distance) in rounds(n) {
                let before = knows.clone();
                for (i, k) in knows.iter_mut().enumerate() {
                    *k |= before[(i + n - distance) % n];
                }
                last = round + 1;
            }
            assert!(knows.iter().all(|k| k.count_ones() as usize == n), "{n}");
            assert!(last < PHASES);
        }
    }

    #[test]
    fn trees_reach_everybody_once_and_parents_tell_their_children() {
        for n in 1..70 {
            let mut heard = vec![0; n];
            for v in 0..n {
                for c in children(v, n) {
                    assert_eq!(parent(c), v);
                    heard[c] += 1;
                }
            }
            assert_eq!(heard[0], 0);
            assert!(heard[1..].iter().all(|&h| h == 1), "{n}: {heard:?}");
        }
    }
}
