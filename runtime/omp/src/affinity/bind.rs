//! Which thread goes where: thread affinity policies (OpenMP 5.1, section 2.6.2).
//!
//! The specification leaves choices open: where the larger groups are when threads or places do not divide
//! evenly, and which places `true` uses. Programs are tuned to libgomp's placement, so every choice here is
//! that of libgomp 12.

use crate::icv::ProcBind;

/// Where a thread is, and the part of the place list that regions it opens may use
/// (`place-partition-var`). Places are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The thread's place.
    pub place: u32,
    /// The first place of the thread's partition.
    pub first: u32,
    /// The number of places in the partition.
    pub count: u32,
}

impl Placement {
    fn is_sound(&self) -> bool {
        let end = self.first.checked_add(self.count);
        self.count > 0 && end.is_some_and(|end| self.first <= self.place && self.place < end)
    }

    /// The place after `place`; behind the partition's last place comes its first.
    fn next(&self, place: u32) -> u32 {
        if place + 1 == self.first + self.count {
            self.first
        } else {
            place + 1
        }
    }
}

/// The placements of a team's threads in the order of their numbers, beginning with the primary thread. Made
/// by [`team_places`].
#[derive(Clone, Debug)]
pub struct TeamPlaces {
    primary: Placement,
    nthreads: u32,
    thread: u32,
    layout: Layout,
}

#[derive(Clone, Debug)]
enum Layout {
    /// All threads are on the primary thread's place, and no partition changes.
    Together,
    /// Groups of threads on successive places, starting from the primary thread's. With
    /// `own_place`, a thread's partition is its place alone (`spread`); otherwise it does not
    /// change (`close`).
    Groups {
        own_place: bool,
        place: u32,
        /// Threads put on `place` so far, and the number that belongs there.
        filled: u32,
        size: u32,
        /// From this thread on, groups have one thread: threads left over after equal groups on all places go
        /// to the first places again.
        singles_from: u32,
    },
    /// The partition is cut into as many parts as there are threads. Each thread gets one part and is on its
    /// first place.
    Parts {
        /// First place of the current part.
        part: u32,
        /// Parts that begin before this place have one place more than `count`.
        larger_before: u32,
        count: u32,
    },
}

/// The placements of a new team of `nthreads` threads. `primary` is the placement of the thread that meets
/// the parallel construct; `policy` comes from `crate::icv::Globals::team_icv`.
///
/// With [`ProcBind::False`] (threads are not bound) every thread gets the primary thread's placement.
///
/// # Panics
/// If `primary` is not inside its own partition.
#[must_use]
pub fn team_places(policy: ProcBind, primary: Placement, nthreads: u32) -> TeamPlaces {
    assert!(primary.is_sound(), "placement {primary:?}");
    let groups = |own_place| Layout::Groups {
        own_place,
        place: primary.place,
        filled: 0,
        size: (nthreads / primary.count).max(1),
        singles_from: if nthreads > primary.count {
            nthreads - nthreads % primary.count
        } else {
            // One thread on each place, whatever the policy.
            nthreads
        },
    };
    let layout = match policy {
        // A team of one changes nothing, not even the partition.
        _ if nthreads <= 1 => Layout::Together,
        ProcBind::False | ProcBind::Primary => Layout::Together,
        ProcBind::True | ProcBind::Close => groups(false),
        ProcBind::Spread if nthreads > primary.count => groups(true),
        ProcBind::Spread => {
            let count = primary.count / nthreads;
            let larger_before = primary.first + primary.count % nthreads * (count + 1);
            // The first place of the part that holds the primary thread's place.
            let part = if primary.place < larger_before {
                primary.place - (primary.place - primary.first) % (count + 1)
            } else {
                primary.place - (primary.place - larger_before) % count
            };
            Layout::Parts {
                part,
                larger_before,
                count,
            }
        }
    };
    TeamPlaces {
        primary,
        nthreads,
        thread: 0,
        layout,
    }
}

impl Iterator for TeamPlaces {
    type Item = Placement;

    fn next(&mut self) -> Option<Placement> {
        let thread = self.thread;
        if thread == self.nthreads {
            return None;
        }
        self.thread += 1;
        let primary = self.primary;
        Some(match &mut self.layout {
            Layout::Together => primary,
            Layout::Groups {
                own_place,
                place,
                filled,
                size,
                singles_from,
            } => {
                if *filled == *size {
                    *place = primary.next(*place);
                    *filled = 0;
                    if thread == *singles_from {
                        *size = 1;
                    }
                }
                *filled += 1;
                if *own_place {
                    Placement {
                        place: *place,
                        first: *place,
                        count: 1,
                    }
                } else {
                    Placement {
                        place: *place,
                        ..primary
                    }
                }
            }
            Layout::Parts {
                part,
                larger_before,
                count,
            } => {
                let size = *count + u32::from(*part < *larger_before);
                let first = *part;
                *part += size;
                if *part == primary.first + primary.count {
                    *part = primary.first;
                }
                Placement {
                    // The primary thread stays where it is inside its part.
                    place: if thread == 0 { primary.place } else { first },
                    first,
                    count: size,
                }
            }
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.nthreads - self.thread) as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for TeamPlaces {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn places(
        policy: ProcBind,
        place: u32,
        first: u32,
        count: u32,
        n: u32,
    ) -> Vec<(u32, u32, u32)> {
        let primary = Placement {
            place,
            first,
            count,
        };
        team_places(policy, primary, n)
            .map(|p| (p.place, p.first, p.count))
            .collect()
    }

    #[test]
    fn close() {
        use ProcBind::Close;
        let at = |p: Vec<(u32, u32, u32)>| p.iter().map(|t| t.0).collect::<Vec<_>>();
        assert_eq!(at(places(Close, 0, 0, 4, 3)), [0, 1, 2]);
        assert_eq!(at(places(Close, 2, 0, 4, 4)), [2, 3, 0, 1]);
        // 10 threads on 4 places: two each, then the two left over.
        assert_eq!(
            at(places(Close, 2, 0, 4, 10)),
            [2, 2, 3, 3, 0, 0, 1, 1, 2, 3]
        );
        assert_eq!(at(places(ProcBind::True, 5, 4, 2, 3)), [5, 4, 5]);
        assert_eq!(at(places(Close, 0, 0, 1, 3)), [0, 0, 0]);
    }

    #[test]
    fn spread() {
        use ProcBind::Spread;
        // 8 places for 3 threads: parts of 3, 3 and 2.
        assert_eq!(
            places(Spread, 0, 0, 8, 3),
            [(0, 0, 3), (3, 3, 3), (6, 6, 2)]
        );
        assert_eq!(
            places(Spread, 4, 0, 8, 3),
            [(4, 3, 3), (6, 6, 2), (0, 0, 3)]
        );
        assert_eq!(
            places(Spread, 7, 0, 8, 3),
            [(7, 6, 2), (0, 0, 3), (3, 3, 3)]
        );
        assert_eq!(
            places(Spread, 3, 2, 2, 5),
            [(3, 3, 1), (3, 3, 1), (2, 2, 1), (2, 2, 1), (3, 3, 1)]
        );
        assert_eq!(places(Spread, 3, 2, 2, 1), [(3, 2, 2)]);
    }

    #[test]
    fn primary() {
        assert_eq!(places(ProcBind::Primary, 1, 0, 3, 3), [(1, 0, 3); 3]);
        assert_eq!(places(ProcBind::False, 1, 0, 3, 2), [(1, 0, 3); 2]);
    }

    proptest! {
        /// What the specification demands of every implementation.
        #[test]
        fn keeps_the_promises(
            first in 0u32..10, count in 1u32..20, offset in 0u32..20, n in 1u32..50, policy in 1u32..5,
        ) {
            let policy = ProcBind::from_raw(policy).expect("a policy");
            let place = first + offset % count;
            let team = places(policy, place, first, count, n);
            prop_assert_eq!(team.len(), n as usize);
            prop_assert_eq!(team[0].0, place);
            let mut load = vec![0u32; (first + count) as usize];
            for &(p, f, c) in &team {
                prop_assert!(f <= p && p < f + c && first <= f && f + c <= first + count);
                load[p as usize] += 1;
            }
            let load = &load[first as usize..];
            let (most, least) = (load.iter().max(), load.iter().min());
            match policy {
                ProcBind::Primary => prop_assert_eq!(most, Some(&n)),
                _ if n == 1 => {}
                ProcBind::Spread if n <= count => {
                    // The parts are disjoint, cover everything, and differ by at most one place.
                    let mut parts: Vec<_> = team.iter().map(|t| (t.1, t.2)).collect();
                    parts.sort_unstable();
                    let mut at = first;
                    for &(f, c) in &parts {
                        prop_assert_eq!(f, at);
                        prop_assert!(c == count / n || c == count / n + 1);
                        at += c;
                    }
                    prop_assert_eq!(at, first + count);
                }
                _ => prop_assert!(most.expect("places") - least.expect("places") <= 1),
            }
        }
    }
}
