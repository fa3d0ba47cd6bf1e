//! Races of the worksharing chain, under all interleavings that loom finds with few preemptions:
//! `RUSTFLAGS="--cfg loom" cargo test -p hetmp-omp --test loom_chain --release`.
//!
//! Two threads only: with three, two threads that spin while they wait for the third would take turns for
//! ever in the model. The module's own tests have more threads.
#![cfg(loom)]
#![allow(
    dead_code,
    reason = "the module is a part of the engine, which uses more of it"
)]

#[path = "../src/worksharing/chain.rs"]
mod chain;

use chain::{Chain, Node, Pos};
use hetmp_core::sync::AtomicU32;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// A node whose content loom checks: the claiming thread writes it, then all threads read it.
struct Plain {
    state: AtomicU32,
    value: UnsafeCell<u64>,
}

impl Node for Plain {
    fn new() -> Plain {
        Plain {
            state: AtomicU32::new(0),
            value: UnsafeCell::new(u64::MAX),
        }
    }
    fn state(&self) -> &AtomicU32 {
        &self.state
    }
    unsafe fn clean(&self) {
        self.value.with_mut(|v| {
            // SAFETY: loom checks that no other thread accesses the value.
            unsafe { *v = u64::MAX };
        });
    }
}

struct Team<const B: usize>(Chain<Plain, B>);
// SAFETY: threads share chains in the engine, too. The chain's exclusive functions are called outside of the
// threads.
unsafe impl<const B: usize> Sync for Team<B> {}
// SAFETY: the thread that owns the team calls the chain's exclusive functions, while no other thread is in
// it.
unsafe impl<const B: usize> Send for Team<B> {}

struct Start<const B: usize>(Pos<Plain, B>);
// SAFETY: the start of a region hands places to the threads of the team in the same way.
unsafe impl<const B: usize> Send for Start<B> {}

/// Walks `count` nodes. Returns at how many of them the thread was the first.
fn walk<const B: usize>(team: &Team<B>, start: Start<B>, n: u32, count: u64) -> u64 {
    let mut pos = start.0;
    let mut firsts = 0;
    for i in 0..count {
        // SAFETY: `pos` is the start, or what the last step returned.
        let (step, next) = unsafe { team.0.step(pos, n) };
        pos = next;
        if step.claim() {
            // SAFETY: loom checks that no other thread uses the node.
            unsafe { step.node.clean() };
            step.node.value.with_mut(|v| {
                // SAFETY: loom checks that no other thread accesses the value.
                unsafe { *v = i };
            });
            step.publish();
            firsts += 1;
        }
        step.node.value.with(|v| {
            // SAFETY: loom checks that no thread writes the value.
            assert_eq!(unsafe { *v }, i);
        });
    }
    firsts
}

fn model<const B: usize>(threads: u32, count: u64) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let team = Arc::new(Team::<B>(Chain::new()));
        // SAFETY: the other threads do not run yet.
        let start = unsafe { team.0.position() };
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let (team, start) = (team.clone(), Start(start));
                thread::spawn(move || walk(&team, start, threads, count))
            })
            .collect();
        let mut firsts = walk(&team, Start(start), threads, count);
        for t in others {
            firsts += t.join().expect("thread");
        }
        assert_eq!(firsts, count);
        // The blocks of the nodes, and one block that a thread made in vain.
        assert!(team.0.blocks() as u64 <= count / B as u64 + 2);
    });
}

#[test]
fn blocks_of_one_are_recycled() {
    // The third construct may reuse the block of the first.
    model::<1>(2, 4);
}

#[test]
fn blocks_of_two_are_recycled() {
    model::<2>(2, 5);
}
