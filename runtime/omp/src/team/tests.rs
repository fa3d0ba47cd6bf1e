//! A team whose threads are told other numbers than their seats, as where a region's threads are in several
//! processes: four threads on seats 0 to 3, told that they are numbers 10 to 13 of 14.

use super::members::Team;
use super::region::barrier;
use super::seat::Seat;
use crate::query;
use crate::task::submit::{allocate, submit, Submission};
use crate::task::wait::work_off;
use crate::thread::Thread;
use crate::worksharing::construct;
use crate::worksharing::kinds::{Handing, Loop, LoopBounds, Next, NodeSchedule, Order, SchedKind};
use crate::worksharing::loops;
use hetmp_core::sync::{AtomicU32, Ordering};
use hetmp_sched::ranges::Range;

const SEATS: u32 = 4;
const FIRST: u32 = 10;
const TOLD: u32 = FIRST + SEATS;

struct Shared(Team);
// SAFETY: what a team is for: its cells are written by `team` below, before threads share it.
unsafe impl Sync for Shared {}

fn team() -> Shared {
    let _ = Thread::current();
    let team = Team::new(SEATS);
    let icv = *Thread::current().task().icv();
    team.cross(TOLD, TOLD - SEATS, 0, icv);
    // Or its barriers would go to other processes, which this test has not.
    team.shared.across.set(false);
    Shared(team)
}

/// Runs `body` as the thread on `seat`.
fn sit<R>(team: &Team, seat: u32, body: impl FnOnce(&Thread) -> R) -> R {
    let th = Thread::current();
    let saved = th.save();
    th.become_member(team, Seat::new(seat), TOLD);
    th.ctx.number.set(FIRST + seat);
    // SAFETY: no region has begun in this team, whose threads all start here.
    th.ctx.pos.set(unsafe { team.works.position() });
    let result = body(th);
    th.restore(&saved);
    result
}

/// Ends the process where a thread of a team panics: the other threads would wait for it for ever.
struct Together;

impl Drop for Together {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

fn a_loop(iterations: u64) -> Loop {
    Loop {
        bounds: LoopBounds::signed(0, iterations as i64, 1),
        clause: Some(SchedKind::Static),
        chunk: 0,
        whole: false,
        order: Order::None,
        key: 0,
    }
}

#[test]
fn the_program_is_told_the_number() {
    let team = team();
    for seat in 0..SEATS {
        sit(&team.0, seat, |th| {
            assert_eq!(th.seat(), Seat::new(seat));
            assert_eq!(query::thread_num(), (FIRST + seat) as i32);
            assert_eq!(query::num_threads(), TOLD as i32);
        });
    }
}

#[test]
fn static_loops_go_by_the_number() {
    let team = team();
    for seat in 0..SEATS {
        let number = u64::from(FIRST + seat);
        let range = sit(&team.0, seat, |th| {
            loops::start(th, &a_loop(2 * u64::from(TOLD)))
        });
        assert_eq!(range, Some((2 * number, 2 * number + 2)));
    }
}

#[test]
fn pieces_and_schedules_of_nodes_go_by_the_seat() {
    /// Gives each seat the iteration of its index.
    #[derive(Debug)]
    struct BySeat;
    impl NodeSchedule for BySeat {
        fn next(&self, seat: Seat) -> Next {
            let i = u64::from(seat.get());
            Next::Range(Range::new(i, i + 1))
        }
        fn key(&self) -> usize {
            0
        }
    }

    for handing in [Handing::Fixed, Handing::Ours] {
        let team = team();
        for seat in 0..SEATS {
            let i = u64::from(seat);
            let range = sit(&team.0, seat, |th| {
                construct::enter(th, |work| {
                    loops::prepare(work, th, TOLD, &a_loop(u64::from(SEATS)));
                    work.kind.set(handing);
                    // SAFETY: the node is this thread's alone until it is published.
                    unsafe {
                        *work.ours.get() = Some(Box::new(BySeat));
                        *work.pieces.get() = (0..u64::from(SEATS))
                            .map(|i| Range::new(i, i + 1))
                            .collect();
                    }
                });
                loops::next(th)
            });
            assert_eq!(range, Some((i, i + 1)), "{handing:?}");
        }
    }
}

#[test]
fn tasks_are_stolen_from_every_seat() {
    unsafe extern "C" fn count(data: *mut libc::c_void) {
        // SAFETY: `submit` below passes what `allocate` gave, which holds the address of a live counter.
        unsafe { &**data.cast::<*const AtomicU32>() }.fetch_add(1, Ordering::Relaxed);
    }
    let team = team();
    let done = AtomicU32::new(0);
    let mut tasks = 0;
    for owner in 0..SEATS {
        for thief in (0..SEATS).filter(|&t| t != owner) {
            sit(&team.0, owner, |th| {
                let how = Submission {
                    body: count,
                    deferrable: true,
                    is_final: false,
                    untied: false,
                    depends: &[],
                    priority: 0,
                    outside: false,
                };
                let data = allocate(th, size_of::<*const AtomicU32>());
                // SAFETY: `data` is fresh from `allocate`, and has room for the address.
                unsafe {
                    data.cast::<*const AtomicU32>().write(&raw const done);
                    submit(th, data, &how);
                }
            });
            assert_eq!(done.load(Ordering::Relaxed), tasks, "not deferred");
            sit(&team.0, thief, work_off);
            tasks += 1;
            assert_eq!(
                done.load(Ordering::Relaxed),
                tasks,
                "{thief} steals from {owner}"
            );
        }
    }
    team.0.tasks.end_region();
}

#[test]
fn the_spread_barrier_goes_by_the_seat() {
    const BARRIERS: u32 = 50;
    let team = team();
    assert!(!team.0.shared.central.get());
    let arrived = AtomicU32::new(0);
    let (team, arrived) = (&team, &arrived);
    std::thread::scope(|scope| {
        for seat in 0..SEATS {
            scope.spawn(move || {
                let _together = Together;
                sit(&team.0, seat, |th| {
                    for i in 1..=BARRIERS {
                        arrived.fetch_add(1, Ordering::Relaxed);
                        assert!(!barrier(th));
                        let seen = arrived.load(Ordering::Relaxed);
                        assert!(seen >= i * SEATS, "{seen} of {}", i * SEATS);
                    }
                });
            });
        }
    });
}
