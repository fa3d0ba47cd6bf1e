use super::*;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::Barrier;

struct Plain {
    state: AtomicU32,
    /// The thread that claims the node writes it.
    value: Cell<u64>,
    memory: UnsafeCell<Option<Box<u64>>>,
}

impl Node for Plain {
    fn new() -> Plain {
        Plain {
            state: AtomicU32::new(0),
            value: Cell::new(u64::MAX),
            memory: UnsafeCell::new(None),
        }
    }
    fn state(&self) -> &AtomicU32 {
        &self.state
    }
    unsafe fn clean(&self) {
        // SAFETY: this function's contract.
        unsafe { *self.memory.get() = None };
    }
}

struct Team(Chain<Plain, 16>);
// SAFETY: threads share chains in the engine, too. Only one thread calls the chain's exclusive functions in
// these tests.
unsafe impl Sync for Team {}

/// SAFETY of all calls: the tests' threads walk from `position` on, and the exclusive functions are called while none
/// walks.
impl Team {
    fn position(&self) -> Pos<Plain, 16> {
        // SAFETY: see above.
        unsafe { self.0.position() }
    }
    fn at(&self, pos: Pos<Plain, 16>) -> (&Plain, Pos<Plain, 16>) {
        // SAFETY: see above.
        unsafe { self.0.at(pos) }
    }
    fn settle(&self, pos: Pos<Plain, 16>) {
        // SAFETY: see above.
        unsafe { self.0.settle(pos) };
    }
    fn restart(&self) {
        // SAFETY: see above.
        unsafe { self.0.restart() };
    }
    fn step(&self, pos: Pos<Plain, 16>, n: u32) -> (Step<'_, Plain>, Pos<Plain, 16>) {
        // SAFETY: see above.
        unsafe { self.0.step(pos, n) }
    }
}

#[derive(Clone, Copy)]
struct Start(Pos<Plain, 16>);
// SAFETY: the start of a region hands places to the threads of the team in the same way.
unsafe impl Send for Start {}

impl Start {
    fn pos(self) -> Pos<Plain, 16> {
        self.0
    }
}

/// Walks `count` nodes, from node number `first` on. Returns at how many of them this thread was the first.
fn walk(team: &Team, pos: &mut Pos<Plain, 16>, n: u32, first: u64, count: u64) -> u64 {
    let mut firsts = 0;
    for i in first..first + count {
        let (step, next) = team.step(*pos, n);
        *pos = next;
        if step.claim() {
            step.node.value.set(i);
            step.publish();
            firsts += 1;
        }
        assert_eq!(step.node.value.get(), i);
    }
    firsts
}

#[test]
fn a_thread_may_run_far_ahead() {
    const COUNT: u64 = 10_000;
    let team = Team(Chain::new());
    for region in 0..3 {
        let start = Start(team.position());
        let ahead = AtomicBool::new(false);
        let firsts = AtomicU64::new(0);
        let end = std::thread::scope(|s| {
            for slow in 0..2 {
                let (team, ahead, firsts) = (&team, &ahead, &firsts);
                s.spawn(move || {
                    let mut pos = start.pos();
                    // One thread stands still at the start, the other after a few blocks.
                    let early = 100 * slow;
                    let mut mine = walk(team, &mut pos, 3, 0, early);
                    while !ahead.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                    mine += walk(team, &mut pos, 3, early, COUNT - early);
                    firsts.fetch_add(mine, Ordering::Relaxed);
                });
            }
            let mut pos = start.pos();
            let mine = walk(&team, &mut pos, 3, 0, COUNT);
            // The fast thread got here although no other thread moved, so all of its blocks are still in use.
            assert!(team.0.blocks() as u64 >= COUNT / 16);
            ahead.store(true, Ordering::Release);
            firsts.fetch_add(mine, Ordering::Relaxed);
            pos
        });
        assert_eq!(firsts.into_inner(), COUNT, "region {region}");
        team.settle(end);
        assert!(team.0.blocks() <= KEEP);
    }
}

#[test]
fn threads_that_stay_together_need_two_blocks() {
    for n in 2..5u32 {
        let team = Team(Chain::new());
        let start = Start(team.position());
        let barrier = Barrier::new(n as usize);
        let firsts = AtomicU64::new(0);
        std::thread::scope(|s| {
            for _ in 0..n {
                let (team, barrier, firsts) = (&team, &barrier, &firsts);
                s.spawn(move || {
                    let mut pos = start.pos();
                    for i in 0..500 {
                        let mine = walk(team, &mut pos, n, i * 7, 7);
                        firsts.fetch_add(mine, Ordering::Relaxed);
                        barrier.wait();
                    }
                });
            }
        });
        assert_eq!(firsts.into_inner(), 500 * 7);
        // The two blocks that take turns, and for each thread at most one that it made in vain.
        assert!(team.0.blocks() <= 2 + n as usize, "{}", team.0.blocks());
    }
}

/// As in a region that crosses processes: two threads of a team of five are in this process.
#[test]
fn blocks_are_recycled_without_threads_that_never_come() {
    let team = Team(Chain::new());
    team.0.expect_less(3);
    team.restart();
    let start = Start(team.position());
    let barrier = Barrier::new(2);
    std::thread::scope(|s| {
        for _ in 0..2 {
            let (team, barrier) = (&team, &barrier);
            s.spawn(move || {
                let mut pos = start.pos();
                for i in 0..500 {
                    walk(team, &mut pos, 5, i * 7, 7);
                    barrier.wait();
                }
            });
        }
    });
    assert!(team.0.blocks() <= 4, "{}", team.0.blocks());
}

#[test]
fn a_combined_construct_takes_its_node_for_all() {
    let team = Team(Chain::new());
    // Across several blocks.
    for _ in 0..100 {
        let (_, next) = team.at(team.position());
        // In the region both threads enter one more node, as members of a team of two.
        let (step, end) = team.step(next, 2);
        assert!(!step.is_claimed());
        assert!(step.claim());
        assert!(step.is_claimed());
        step.publish();
        assert!(step.is_claimed());
        let (step, _) = team.step(next, 2);
        assert!(!step.claim());
        team.settle(end);
    }
    assert!(team.0.blocks() <= KEEP);
}

#[test]
fn memory_is_freed_between_regions_and_nodes_are_free_after_a_restart() {
    let team = Team(Chain::new());
    let start = team.position();
    let (step, next) = team.step(start, 2);
    assert!(step.claim());
    // SAFETY: no other thread uses the node.
    unsafe { *step.node.memory.get() = Some(Box::new(7)) };
    step.publish();
    team.0.note_heavy();
    let node: *const Plain = step.node;
    team.settle(next);
    // SAFETY: blocks that are in use are kept, and no other thread uses the node.
    assert!(unsafe { (*(*node).memory.get()).is_none() });

    // Two threads are at different nodes, as a cancelled region leaves them.
    let mut fast = next;
    walk(&team, &mut fast, 2, 0, 40);
    team.restart();
    let again = team.position();
    let mut pos = again;
    assert_eq!(walk(&team, &mut pos, 2, 0, 40), 40);
    let mut other = again;
    assert_eq!(walk(&team, &mut other, 2, 0, 40), 0);
}
