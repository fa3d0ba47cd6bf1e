//! The protocols of barriers, sleeping and tasks, under all interleavings that loom finds with few
//! preemptions. `scripts/model` runs this test.
//!
//! Some files of the engine hold a protocol and depend on nothing but `hetmp-core`. They are compiled into
//! this test as they are. The code around them (a task's body, a queue) is written anew here, as small as
//! possible, with its steps in the engine's order. Comments name the place in the engine.
//!
//! [`barriers`]: barriers and joins of each kind. [`sleeping`]: who sleeps, and who wakes whom. [`records`]: when tasks
//! are freed, how they are counted, and who runs one that waits for others. [`nodes`]: what threads of several nodes do
//! together, and the watchdog of virtual teams.
#![cfg(loom)]
#![allow(dead_code, reason = "each model uses a part of the engine's files")]

#[path = "../../src/team/barrier.rs"]
mod barrier;
#[path = "../../src/task/counts.rs"]
mod counts;
#[path = "../../src/task/helpers.rs"]
mod helpers;
#[path = "../../src/team/levels.rs"]
mod levels;
#[path = "../../src/task/lookout.rs"]
mod lookout;
#[path = "../../../dsm/src/meeting.rs"]
mod meeting;
#[path = "../../src/task/pastimes.rs"]
mod pastimes;
#[path = "../../src/team/routes.rs"]
mod routes;
#[path = "../../src/team/seat.rs"]
mod seat;
#[path = "../../src/unlike/virtual_team/sight.rs"]
mod sight;
#[path = "../../src/task/sleep.rs"]
mod sleep;
#[path = "../../../dsm/src/together/slot.rs"]
mod slot;
#[path = "../../src/task/successors.rs"]
mod successors;
#[path = "../../src/task/sums.rs"]
mod sums;
/// As the engine names it.
mod team {
    pub(crate) use crate::barrier;
}

mod barriers;
mod nodes;
mod records;
mod sleeping;

use barrier::Pastime;
use hetmp_core::park::{Flag, Poll};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

fn bounded(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(f);
}

/// Waits, and does nothing else.
struct Idle;

impl Pastime for Idle {
    fn poll(&mut self) -> Poll {
        Poll::Idle
    }
    fn asleep(&mut self, _: &Flag, _: bool) {}
}

/// Plain data. Loom checks that the accesses to it are ordered.
struct Data(UnsafeCell<u32>);
// SAFETY: loom's cell finds accesses that are not ordered, and this is what the test looks for.
unsafe impl Sync for Data {}
// SAFETY: loom's cell finds accesses that are not ordered, and this is what the test looks for.
unsafe impl Send for Data {}

impl Data {
    fn new(v: u32) -> Data {
        Data(UnsafeCell::new(v))
    }
    fn set(&self, v: u32) {
        // SAFETY: loom checks that no other thread accesses the cell.
        self.0.with_mut(|p| unsafe { *p = v });
    }
    fn get(&self) -> u32 {
        // SAFETY: loom checks that no thread writes the cell.
        self.0.with(|p| unsafe { *p })
    }
}

/// Runs `body(tid)` on `n` threads, of which the caller is one.
fn team(n: u32, body: impl Fn(u32) + Send + Sync + 'static) {
    let body = Arc::new(body);
    let others: Vec<_> = (1..n)
        .map(|tid| {
            let body = Arc::clone(&body);
            thread::spawn(move || body(tid))
        })
        .collect();
    body(0);
    for o in others {
        o.join().unwrap();
    }
}
