//! Waiting for a run, and for peers at the end.
//!
//! Nobody wakes a waiter: it looks, then gives its core away, then naps, longer and longer, and asks now and then
//! whether those that the run needs still live.

use super::{Offload, Run};
use crate::settings;
use hetmp_core::park::{give_core, Policy};
use hetmp_core::sync::pause;
use hetmp_core::{report, sys};
use hetmp_goal::rank::Failure;
use std::sync::{Arc, PoisonError};

/// How often a waiter looks before it gives its core away: some 10 us, if every rank has a core.
const LOOKS: u32 = 300;
/// The first of [`LOOKS`], which have no pause between them.
const QUICK: u32 = 64;
/// How long a waiter gives its core away before it sleeps, nanoseconds. A nap takes 60 us at least, because Linux
/// rounds up: to sleep earlier costs more than it saves, and whoever else wants the core gets it meanwhile.
const YIELDING: u64 = 100_000;
/// A waiter's first nap, nanoseconds. Each is half as long again as the one before. Nobody wakes a waiter: what a nap
/// is too long delays it.
const FIRST_NAP: u64 = 10_000;
/// The longest nap, nanoseconds.
const LONGEST_NAP: u64 = 500_000;
/// After this time without an end a waiter asks whether its peers still live, nanoseconds, and then again and again.
const CHECKS: u64 = 50_000_000;
/// How long a rank that leaves waits for peers that may still ask for messages, nanoseconds.
const FAREWELL: u64 = 1_000_000_000;

/// Whether a rank is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    /// As far as is known.
    No,
    /// It has left the job.
    Left,
    /// Its process has ended without leaving.
    Died,
}

impl Offload {
    /// Waits for the end of a run. `is_gone` says whether a rank has died, or has left.
    ///
    /// # Errors
    /// Why the run has failed.
    pub(crate) fn wait(
        &self,
        run: &Arc<Run>,
        is_gone: &dyn Fn(u32) -> Gone,
    ) -> Result<(), Failure> {
        if !Policy::oversubscribed() {
            for i in 0..LOOKS {
                if let Some(ended) = self.test(run) {
                    return ended;
                }
                if i >= QUICK {
                    pause();
                }
            }
        }
        let began = sys::monotonic_ns();
        let mut checked = began;
        while checked.saturating_sub(began) < YIELDING {
            if let Some(ended) = self.test(run) {
                return ended;
            }
            checked = sys::monotonic_ns();
            if !give_core() {
                break;
            }
        }
        let mut nap = FIRST_NAP;
        loop {
            if let Some(ended) = self.test(run) {
                return ended;
            }
            sys::nap(nap);
            nap = (nap + nap / 2).min(LONGEST_NAP);
            let now = sys::monotonic_ns();
            if now.saturating_sub(checked) >= CHECKS {
                checked = now;
                self.check(run, is_gone);
            }
        }
    }

    /// Fails all runs if a rank is gone without which `run` cannot end. Runs that only waited for one that has left
    /// begin.
    pub(crate) fn check(&self, run: &Arc<Run>, is_gone: &dyn Fn(u32) -> Gone) {
        if let Some(why) = self.device().failure() {
            report::warn(format_args!("GOAL engine {}: {why}", self.device().name()));
            self.fail_all(&mut self.lock(), Failure::Abandoned);
            return;
        }
        let others = self.members.iter().copied().filter(|r| *r != self.rank());
        let mut left = 0;
        let lost = others.into_iter().find(|r| match is_gone(*r) {
            Gone::No => false,
            // What it has sent before it left has arrived, or was asked for.
            Gone::Left => {
                left |= 1 << *r;
                self.device().needs(self.turn(run.number), &run.image, *r)
            }
            Gone::Died => true,
        });
        if let Some(peer) = lost {
            let mut runs = self.lock();
            // What the rank has sent before its end counts.
            if !self.collect(&mut runs, run) {
                self.fail_all(&mut runs, Failure::PeerLost { peer });
            }
        } else if left != 0 {
            let mut runs = self.lock();
            runs.left |= left;
            self.launch(&mut runs);
        }
    }

    /// Gives up the runs of all series that have not ended, waits a while for peers that may still ask for messages,
    /// and detaches the device.
    pub(crate) fn finish_all(&self, is_gone: &dyn Fn(u32) -> Gone) {
        let until = sys::monotonic_ns() + FAREWELL;
        let all = self.shared.all.lock();
        for series in all.unwrap_or_else(PoisonError::into_inner).iter() {
            series.finish(until, is_gone);
        }
        self.device().detach();
        if settings::counters() {
            let (name, counted) = (self.device().name(), self.device().counted());
            report::line(
                "hetmp: ",
                format_args!("GOAL engine {name}, rank {}: {counted}", self.rank()),
            );
        }
    }

    fn finish(&self, until: u64, is_gone: &dyn Fn(u32) -> Gone) {
        let mut runs = self.lock();
        for run in runs.open.clone().iter().flatten() {
            self.collect(&mut runs, run);
        }
        let was_lost = runs.lost.is_some();
        let has_open = !runs.queue.is_empty() || runs.open.iter().any(Option::is_some);
        self.fail_all(&mut runs, Failure::Abandoned);
        let launched = runs.last;
        // Runs that this rank gives up end at no peer that needs this rank, so that waiting would be in vain.
        let is_asked = self.device().is_asked();
        while is_asked && !was_lost && !has_open && sys::monotonic_ns() < until {
            let first = launched.saturating_sub(self.window() - 1).max(1);
            let behind = (first..=launched).fold(0, |all, n| {
                all | self.behind(&runs, runs.sent[self.slot(n)], n)
            });
            let here = self.members.iter().copied();
            let here = here.filter(|r| behind >> r & 1 == 1 && is_gone(*r) == Gone::No);
            let behind = here.fold(0, |all, r| all | 1u64 << r);
            if behind == 0 {
                break;
            }
            self.probe(&mut runs, behind);
            sys::nap(FIRST_NAP);
        }
    }
}
