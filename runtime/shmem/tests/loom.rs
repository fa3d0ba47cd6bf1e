//! Models of collectives: members that run ahead, and flags that are never reset.
//!
//! Run by `scripts/model shmem`.
#![cfg(loom)]

#[path = "../src/collective/rounds.rs"]
#[allow(dead_code, reason = "the models run a part of it")]
mod rounds;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::sync::Arc;
use loom::thread;
use rounds::{Tell, PHASES};

fn await_flag(flag: &AtomicU64, value: u64) {
    while flag.load(Ordering::Acquire) < value {
        thread::yield_now();
    }
}

/// Runs `member` as each of `n` members, with few preemptions. More than two members have too many interleavings to try
/// all, so the model then stops after some time.
fn model(n: usize, member: impl Fn(usize, &Team) + Send + Sync + Clone + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(if n > 2 { 1 } else { 2 });
    if n > 2 {
        builder.max_duration = Some(std::time::Duration::from_secs(15));
    }
    builder.check(move || {
        let team = Arc::new(Team::new(n));
        let threads: Vec<_> = (1..n)
            .map(|rank| {
                let (team, member) = (team.clone(), member.clone());
                thread::spawn(move || member(rank, &team))
            })
            .collect();
        member(0, &team);
        for t in threads {
            t.join().expect("a member");
        }
    });
}

/// The cells of a team, by reader and writer.
struct Team {
    n: usize,
    told: Vec<Vec<AtomicU64>>,
    lines: Vec<Vec<[Line; 2]>>,
    /// What members wrote before they came to a barrier.
    data: Vec<UnsafeCell<u64>>,
}

struct Line {
    step: AtomicU64,
    data: UnsafeCell<u64>,
}

impl Team {
    fn new(n: usize) -> Team {
        let line = || Line {
            step: AtomicU64::new(0),
            data: UnsafeCell::new(0),
        };
        Team {
            n,
            told: (0..n)
                .map(|_| (0..n).map(|_| AtomicU64::new(0)).collect())
                .collect(),
            lines: (0..n)
                .map(|_| (0..n).map(|_| [line(), line()]).collect())
                .collect(),
            data: (0..n).map(|_| UnsafeCell::new(0)).collect(),
        }
    }

    /// An exchange as in `team/steps.rs`. A member writes the line of this turn without checking that the peer has read
    /// the line's last content: the turns make sure of that.
    fn exchange(&self, me: usize, step: u64, mine: u64) -> u64 {
        let turn = (step % 2) as usize;
        for r in (0..self.n).filter(|r| *r != me) {
            let line = &self.lines[r][me][turn];
            // SAFETY: the protocol orders all accesses to the cell; loom fails the test if it does not.
            line.data.with_mut(|p| unsafe { *p = mine });
            line.step.store(step, Ordering::Release);
        }
        let mut sum = mine;
        for r in (0..self.n).filter(|r| *r != me) {
            let line = &self.lines[me][r][turn];
            await_flag(&line.step, step);
            // SAFETY: the protocol orders all accesses to the cell; loom fails the test if it does not.
            sum += line.data.with(|p| unsafe { *p });
        }
        sum
    }
}

/// One collective, as `Step` in `team/steps.rs`.
struct Step<'a> {
    team: &'a Team,
    me: usize,
    first: u64,
}

impl Tell for Step<'_> {
    fn rank(&self) -> usize {
        self.me
    }
    fn size(&self) -> usize {
        self.team.n
    }
    fn tell(&self, phase: u32, rank: usize) {
        self.team.told[rank][self.me].store(self.first + u64::from(phase), Ordering::Release);
    }
    fn await_from(&self, phase: u32, rank: usize) {
        await_flag(
            &self.team.told[self.me][rank],
            self.first + u64::from(phase),
        );
    }
    fn await_all(&self, phase: u32) {
        for rank in self.others() {
            self.await_from(phase, rank);
        }
    }
}

/// Members write their own datum, meet, and read everybody's; `rounds` times, with a barrier before they write again.
fn barriers(n: usize, rounds: u64, barrier: fn(&Step<'_>)) {
    model(n, move |me, team| {
        for round in 0..rounds {
            let step = |k: u64| Step {
                team,
                me,
                first: 1 + (round * 2 + k) * u64::from(PHASES),
            };
            // SAFETY: the protocol orders all accesses to the cell; loom fails the test if it does not.
            team.data[me].with_mut(|p| unsafe { *p = round + 1 });
            barrier(&step(0));
            for d in &team.data {
                // SAFETY: the protocol orders all accesses to the cell; loom fails the test if it does not.
                assert_eq!(d.with(|p| unsafe { *p }), round + 1);
            }
            if round + 1 < rounds {
                barrier(&step(1));
            }
        }
    });
}

#[test]
fn a_flat_barrier_orders_what_members_wrote() {
    barriers(2, 2, |s| rounds::sync(s));
    barriers(3, 1, |s| rounds::sync(s));
}

#[test]
fn dissemination_orders_what_members_wrote() {
    barriers(2, 2, |s| rounds::disseminate(s));
    barriers(3, 1, |s| rounds::disseminate(s));
}

#[test]
fn exchanges_by_turns_need_no_other_order() {
    for n in [2, 3] {
        let steps = if n == 2 { 3 } else { 2 };
        model(n, move |me, team| {
            for step in 1..=steps {
                let sum = team.exchange(me, step, step * 10 + me as u64);
                let n = n as u64;
                assert_eq!(sum, n * step * 10 + n * (n - 1) / 2);
            }
        });
    }
}

/// Turns are necessary: with a single line, the model must find a contribution that was overwritten.
#[test]
#[should_panic]
fn one_line_for_all_turns_is_found_out() {
    model(2, |me, team| {
        for step in [2, 4, 6] {
            team.exchange(me, step, step);
        }
    });
}
