//! Barriers and joins.

use crate::barrier::{wait_on, Barrier, Pastime, Signals};
use crate::levels::{Distance, Levels};
use crate::seat::Seat;
use crate::{bounded, team, Data, Idle};
use hetmp_core::park::{Flag, Poll};

fn barriers(n: u32, epochs: u32, preemptions: usize, central: bool) {
    bounded(preemptions, move || {
        let barrier = Barrier::new();
        let signals: Vec<Signals> = (0..n).map(|_| Signals::new(n)).collect();
        let data: Vec<Data> = (0..n).map(|_| Data::new(0)).collect();
        team(n, move |tid| {
            for e in 1..=epochs {
                // A full epoch would need two barriers: write, barrier, read, barrier. The data of the next
                // epoch is written only after the next barrier, so one barrier is enough in odd epochs.
                if e % 2 == 1 {
                    data[tid as usize].set(e);
                }
                if central {
                    barrier.central(e, n, &Flag::new(), &mut Idle);
                } else {
                    let own = |seat: Seat| &signals[seat.index()];
                    barrier.spread(e, Seat::new(tid), n, own, &mut Idle);
                }
                if e % 2 == 1 {
                    for d in &data {
                        assert_eq!(d.get(), e);
                    }
                }
            }
        });
    });
}

#[test]
fn spread_barrier_of_two() {
    barriers(2, 3, 3, false);
}

#[test]
fn spread_barrier_of_three() {
    barriers(3, 2, 1, false);
}

#[test]
fn central_barrier_of_two() {
    barriers(2, 3, 3, true);
}

#[test]
fn central_barrier_of_three() {
    barriers(3, 2, 1, true);
}

/// A barrier in levels for threads on these nodes, as far apart as makes it the faster one.
fn barriers_in_levels(nodes: &'static [u32], epochs: u32, preemptions: usize) {
    bounded(preemptions, move || {
        let distance = Distance {
            ratio: 8.0,
            emulated: None,
            verbose: false,
        };
        let levels = Levels::new(nodes, distance);
        assert!(levels.is_used());
        let data: Vec<Data> = nodes.iter().map(|_| Data::new(0)).collect();
        team(nodes.len() as u32, move |tid| {
            for e in 1..=epochs {
                // As in `barriers`.
                if e % 2 == 1 {
                    data[tid as usize].set(e);
                }
                levels.pass(e, Seat::new(tid), &mut Idle);
                if e % 2 == 1 {
                    for d in &data {
                        assert_eq!(d.get(), e);
                    }
                }
            }
        });
    });
}

/// Two threads meet, one of them crosses, and then tells the other.
#[test]
fn barrier_in_levels_of_three() {
    barriers_in_levels(&[0, 0, 1], 2, 1);
}

/// Two threads of each node meet, and both cross.
#[test]
fn barrier_in_levels_of_four() {
    barriers_in_levels(&[0, 0, 1, 1], 1, 0);
}

/// Waits as `TaskPastime` does, which looks at the thread's member at the end, too.
struct AtMember<'a>(&'a Data);

impl Pastime for AtMember<'_> {
    fn poll(&mut self) -> Poll {
        self.0.get();
        Poll::Idle
    }
    fn asleep(&mut self, _: &Flag, _: bool) {
        self.0.get();
    }
}

impl Drop for AtMember<'_> {
    fn drop(&mut self) {
        self.0.get();
    }
}

/// The start and the end of regions, as in `Pool::start`, `team::worker` and `region::join`. The slot is
/// written again for the next region as soon as the join is complete.
fn regions(n: u32, regions: u32, preemptions: usize, central: bool) {
    bounded(preemptions, move || {
        let barrier = Barrier::new();
        let signals: Vec<Signals> = (0..n).map(|_| Signals::new(n)).collect();
        let slots: Vec<(Flag, Data)> = (0..n).map(|_| (Flag::new(), Data::new(0))).collect();
        let results: Vec<Data> = (0..n).map(|_| Data::new(0)).collect();
        let members: Vec<Data> = (0..n).map(|_| Data::new(0)).collect();
        team(n, move |tid| {
            for r in 1..=regions {
                if tid == 0 {
                    if central {
                        barrier.expect(n - 1);
                    }
                    for (go, call) in &slots[1..] {
                        call.set(r);
                        go.signal(r);
                    }
                } else {
                    let (go, call) = &slots[tid as usize];
                    wait_on(go, r, &mut Idle);
                    results[tid as usize].set(call.get());
                }
                match (central, tid) {
                    (false, _) => {
                        let own = |seat: Seat| &signals[seat.index()];
                        let with = AtMember(&members[tid as usize]);
                        barrier.join_spread(r, Seat::new(tid), n, own, with);
                    }
                    (true, 0) => barrier.collect(r, n, &mut AtMember(&members[0])),
                    (true, _) => barrier.report(r),
                }
                if tid == 0 {
                    for result in &results[1..] {
                        assert_eq!(result.get(), r);
                    }
                    // As `Team::grow`: all members are made anew.
                    for member in &members {
                        member.set(r);
                    }
                }
            }
        });
    });
}

#[test]
fn regions_of_two() {
    regions(2, 2, 3, false);
    regions(2, 2, 3, true);
}

#[test]
fn regions_of_three() {
    regions(3, 2, 1, false);
    regions(3, 2, 1, true);
}
