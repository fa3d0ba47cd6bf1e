//! Any schedule behind one call, for the threads of a simulated team: those of the runtime, and those that only the
//! simulator knows. They are driven without a clock.

use super::across::Across;
use super::decided::Decided;
use super::published::{Execution as PublishedRun, Next as PublishedNext, Published};
use super::questions::{Measured, Rate, Thresholds};
use super::self_scheduling::{SelfScheduling, Technique};
use hetmp_sched::cache::Known;
use hetmp_sched::crossing::early::Seen;
use hetmp_sched::decide::Objective;
use hetmp_sched::execution::{Execution, Measure, Start, Step};
use hetmp_sched::placement::Placement;
use hetmp_sched::ranges::Range;
use hetmp_sched::record::{Learning, LoopRecord, Tally};
use hetmp_sched::schedule::{Kind, Schedule};
use std::sync::Arc;

/// The answer to a thread's call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Answer {
    /// Run this range; if `measure`, bring the measurement to the next call.
    Run { range: Range, measure: bool },
    /// Sleep until [`Driver::changed`] says so for this ticket, then call again.
    Wait(u64),
    /// Leave the loop.
    Done,
}

#[derive(Debug)]
enum State {
    /// A schedule of the runtime's, and how often each thread has asked.
    Runtime(Box<dyn Execution>, Vec<u64>),
    Techniques(SelfScheduling, Counted),
    Published(Box<PublishedRun>, Counted),
    Across(Across, Counted),
}

/// The tally for schedules that keep none.
#[derive(Debug)]
struct Counted {
    tally: Tally,
    /// Calls of each thread so far.
    trips: Vec<u64>,
}

/// One execution of one loop under one schedule.
#[derive(Debug)]
pub(super) struct Driver {
    state: State,
    kind: Kind,
    n: u64,
    team: Arc<Placement>,
}

impl Driver {
    /// For `n` iterations on `team`. As in the runtime, `auto` is `static`.
    pub(super) fn new(
        schedule: &Schedule,
        n: u64,
        team: &Arc<Placement>,
        objective: Objective,
        known: Option<Arc<Known>>,
    ) -> Driver {
        let schedule = schedule.executes_as();
        let run = schedule.kind.begin(Start {
            n,
            chunk: schedule.chunk.unwrap_or(0),
            team: Arc::clone(team),
            ascending: false,
            objective,
            known,
        });
        let state = State::Runtime(run, vec![0; team.threads()]);
        Driver {
            state,
            kind: schedule.kind,
            n,
            team: Arc::clone(team),
        }
    }

    /// For `n` iterations on `team` under a technique that only the simulator knows. `variation`: how much
    /// iterations' costs vary, as [`SelfScheduling::new`] takes it.
    pub(super) fn technique(t: Technique, n: u64, team: &Arc<Placement>, variation: f64) -> Driver {
        let counted = Counted {
            tally: Tally::new(team.threads()),
            trips: vec![0; team.threads()],
        };
        Driver {
            state: State::Techniques(
                SelfScheduling::new(t, n, team.threads(), variation),
                counted,
            ),
            // Records name these techniques `guided`.
            kind: Kind::Guided,
            n,
            team: Arc::clone(team),
        }
    }

    /// For `n` iterations on `team` under one of the paper's schedules, with a chunk for the fastest node.
    pub(super) fn published(
        of: Published,
        n: u64,
        team: &Arc<Placement>,
        thresholds: Thresholds,
        chunk: u64,
        known: &[Option<Rate>],
    ) -> Driver {
        let counted = Counted {
            tally: Tally::new(team.threads()),
            trips: vec![0; team.threads()],
        };
        let probe = of.probe;
        let run = PublishedRun::new(of, n, team, thresholds, chunk, known);
        Driver {
            state: State::Published(Box::new(run), counted),
            kind: match of.jump {
                None => Kind::HetProbe { probe },
                jump => Kind::HetProbeI { probe, jump },
            },
            n,
            team: Arc::clone(team),
        }
    }

    /// A loop that crosses nodes on `team`.
    pub(super) fn across(of: Across, n: u64, team: &Arc<Placement>) -> Driver {
        let counted = Counted {
            tally: Tally::new(team.threads()),
            trips: vec![0; team.threads()],
        };
        Driver {
            state: State::Across(of, counted),
            kind: Kind::Dynamic,
            n,
            team: Arc::clone(team),
        }
    }

    /// Does the driver look at what the origin's threads do?
    pub(super) fn looks(&self) -> bool {
        matches!(self.state, State::Across(..))
    }

    /// They have done this in `ns`.
    pub(super) fn look(&mut self, ns: u64, seen: Seen) {
        if let State::Across(of, _) = &mut self.state {
            of.look(ns, seen);
        }
    }

    /// Has the origin given up a trial?
    pub(super) fn gave_up(&self) -> bool {
        matches!(&self.state, State::Across(of, _) if of.gave_up())
    }

    /// Whether the cache learns from executions of this schedule.
    pub(super) fn learns(&self) -> bool {
        matches!(self.state, State::Runtime(..)) && self.kind.name().learns()
    }

    /// Whether threads take iterations from memory that all nodes share.
    pub(super) fn shares_cursors(&self) -> bool {
        match &self.state {
            State::Runtime(run, _) => run.shares_cursors(),
            State::Techniques(..) | State::Published(..) => true,
            State::Across(of, _) => of.is_on_demand(),
        }
    }

    /// The next call of thread `tid` at the time `now`, with the measurement of its last chunk if that was a probe.
    pub(super) fn call(&mut self, tid: usize, m: Option<Measured>, now: u64) -> Answer {
        match &mut self.state {
            State::Runtime(run, trips) => {
                let trip = trips[tid];
                trips[tid] += 1;
                match run.step(tid, trip, m.map(|m| m.of)) {
                    Step::Run(range, measure) => Answer::Run {
                        range,
                        measure: measure != Measure::Nothing,
                    },
                    Step::End => Answer::Done,
                }
            }
            State::Techniques(t, counted) => {
                match counted.take(tid, |_| t.take(tid, m.as_ref().map(|m| &m.of))) {
                    Some(range) => Answer::Run {
                        range,
                        measure: true,
                    },
                    None => Answer::Done,
                }
            }
            State::Published(p, counted) => {
                let mut waits = None;
                let took = counted.take(tid, |_| match p.call(tid, m.as_ref()) {
                    PublishedNext::Run(range) => Some(range),
                    PublishedNext::Wait(ticket) => {
                        waits = Some(ticket);
                        None
                    }
                    PublishedNext::Done => None,
                });
                match (took, waits) {
                    (Some(range), _) => Answer::Run {
                        range,
                        measure: true,
                    },
                    (None, Some(ticket)) => Answer::Wait(ticket),
                    (None, None) => Answer::Done,
                }
            }
            State::Across(of, counted) => {
                let node = self.team.node_of(tid);
                match counted.take(tid, |_| of.next(node, now)) {
                    Some(range) => Answer::Run {
                        range,
                        measure: false,
                    },
                    None => Answer::Done,
                }
            }
        }
    }

    /// What one of the paper's schedules remembers for the loop's next execution.
    pub(super) fn remembers(&self) -> Option<&[Option<Rate>]> {
        match &self.state {
            State::Published(p, _) => Some(p.rates()),
            _ => None,
        }
    }

    /// Must waiting threads be looked at? Ask after each call.
    pub(super) fn must_wake(&mut self) -> bool {
        match &mut self.state {
            State::Published(p, _) => p.must_wake(),
            _ => false,
        }
    }

    /// Must a thread that waits with this ticket call again?
    pub(super) fn changed(&self, ticket: u64) -> bool {
        match &self.state {
            State::Published(p, _) => p.changed(ticket),
            _ => false,
        }
    }

    /// How often the division was renewed.
    pub(super) fn renewals(&self) -> u32 {
        match &self.state {
            State::Runtime(run, _) => run.renewals(),
            State::Published(p, _) => p.probings().saturating_sub(1),
            _ => 0,
        }
    }

    /// Thread `tid` has left, `elapsed_ns` nanoseconds after its first call.
    pub(super) fn finish(&self, tid: usize, elapsed_ns: u64) {
        match &self.state {
            State::Runtime(run, _) => run.finish(tid, elapsed_ns),
            State::Techniques(_, c) | State::Published(_, c) | State::Across(_, c) => {
                c.tally.leave(tid, elapsed_ns);
            }
        }
    }

    /// What was decided. Call it after all threads have left.
    pub(super) fn decided(&self, record: &LoopRecord) -> Option<Decided> {
        match &self.state {
            State::Published(p, _) => p.answers().map(Decided::Paper),
            _ => record.decision.clone().map(Decided::Schedule),
        }
    }

    /// The record. Call it after all threads have left.
    pub(super) fn record(&self) -> LoopRecord {
        match &self.state {
            State::Runtime(run, _) => run.record(),
            State::Published(p, c) => {
                let mut record = LoopRecord::new(self.kind.clone(), self.n, &self.team, &c.tally);
                record.learning = if p.probings() > 0 {
                    Learning::Probed
                } else {
                    Learning::Settled
                };
                record
            }
            State::Techniques(_, c) | State::Across(_, c) => {
                LoopRecord::new(self.kind.clone(), self.n, &self.team, &c.tally)
            }
        }
    }
}

impl Counted {
    fn take(&mut self, tid: usize, piece: impl FnOnce(u64) -> Option<Range>) -> Option<Range> {
        let trip = self.trips[tid];
        self.trips[tid] += 1;
        if trip == 0 {
            self.tally.arrive(tid);
        }
        let range = piece(trip)?;
        self.tally.add(tid, range.len());
        Some(range)
    }
}
