//! Runs: how they begin, which of their operations may begin, and how they end.

use super::{Event, Failure, Handle, Rank, Run, RunId, StartError, State};
use crate::element;
use crate::graph::Work;
use crate::memory::{gather, scatter, Memory};
use crate::packet::{Label, Packet};
use crate::run::Counters;
use crate::schedule::Schedule;
use core::cell::OnceCell;
use core::cmp::Reverse;
use std::sync::Arc;

impl Run {
    /// The label of this run's messages with this tag.
    pub(super) fn label(&self, tag: u32) -> Label {
        Label {
            context: self.context,
            sequence: self.sequence,
            tag,
        }
    }

    /// How many messages with a tag the run sends to the peer, or receives from it.
    pub(super) fn messages(&self, peer: u32, tag: u32, received: bool) -> u32 {
        let labels = self.labels.get_or_init(|| {
            let label = |work: &Work| match work {
                Work::Send { to, tag, .. } => Some((*to, *tag, false)),
                Work::Recv { from, tag, .. } => Some((*from, *tag, true)),
                _ => None,
            };
            let works = self.counters.schedule().works();
            let mut labels: Vec<_> = works.filter_map(label).collect();
            labels.sort_unstable();
            labels
        });
        let key = (peer, tag, received);
        let first = labels.partition_point(|l| *l < key);
        (labels.partition_point(|l| *l <= key) - first) as u32
    }

    /// True if messages to or from the peer are still missing.
    pub(super) fn needs(&self, peer: u32) -> bool {
        let found = self.counters.schedule().peers().binary_search(&peer);
        found.is_ok_and(|at| self.needs[at] > 0)
    }

    fn note(&mut self, place: usize, complete: bool, at: u64) {
        if let Some(events) = &mut self.events {
            events.push(Event {
                place,
                complete,
                at,
            });
        }
    }
}

impl Rank {
    /// Begins a run of `schedule` in `context`, on `memory`. Other runs of the schedule may be going on. `now` is in
    /// nanoseconds, and never goes back.
    ///
    /// # Errors
    /// [`StartError`]; then nothing has begun.
    pub fn start(
        &mut self,
        schedule: &Arc<Schedule>,
        context: u32,
        mut memory: Box<dyn Memory + Send>,
        now: u64,
    ) -> Result<Handle, StartError> {
        let (of, here) = ((schedule.rank(), schedule.ranks()), (self.me, self.ranks));
        if of != here {
            return Err(StartError::Rank { schedule: of, here });
        }
        for (i, need) in schedule.segments().iter().enumerate() {
            let segment = i as u16;
            let have = memory.segment_bytes(segment);
            if have < *need {
                return Err(StartError::Segment {
                    segment,
                    have,
                    need: *need,
                });
            }
        }
        memory.make_scratchpad(schedule.scratchpad());
        self.now = self.now.max(now);
        let sequence = self.sequences.entry(context).or_default();
        let number = *sequence;
        *sequence += 1;
        let (missing, mut needs) = self.spare.pop().unwrap_or_default();
        needs.clear();
        needs.extend_from_slice(schedule.messages());
        let mut ready = core::mem::take(&mut self.ready);
        let run = Run {
            counters: Counters::new(Arc::clone(schedule), missing, &mut ready),
            context,
            sequence: number,
            memory,
            state: State::Running,
            needs,
            events: self.traced.then(Vec::new),
            labels: OnceCell::new(),
        };
        let id = self.runs.insert(run);
        self.open.insert((context, number), id);
        let gone = || {
            let mut peers = schedule.peers().iter().copied();
            peers.find(|p| self.lost.contains(p))
        };
        let gone = if self.lost.is_empty() { None } else { gone() };
        let aborted = if self.aborted.is_empty() {
            None
        } else {
            self.aborted.remove(&(context, number))
        };
        match (gone, aborted) {
            (Some(peer), _) => self.fail(id, Failure::PeerLost { peer }),
            (None, Some(peer)) => self.fail(id, Failure::PeerFailed { peer }),
            (None, None) if schedule.operations() == 0 => self.end(id),
            (None, None) => self.go_on(id, &mut ready),
        }
        ready.clear();
        self.ready = ready;
        self.settle();
        Ok(Handle(id))
    }

    /// Ends a run that is not done. Its peers' parts of the run fail.
    pub fn abandon(&mut self, run: Handle) {
        self.fail(run.0, Failure::Abandoned);
        self.settle();
    }

    /// Begins the operations in `ready`, and those that become ready by this, in that order.
    pub(super) fn go_on(&mut self, id: RunId, ready: &mut Vec<usize>) {
        let Some(run) = self.runs.get(id) else {
            return;
        };
        let schedule = Arc::clone(run.counters.schedule());
        let mut next = 0;
        while let Some(place) = ready.get(next).copied() {
            next += 1;
            let Some(run) = self.runs.get_mut(id) else {
                return;
            };
            if run.state != State::Running {
                return;
            }
            run.note(place, false, self.now);
            run.counters.begun(place, ready);
            if self.begin(id, &schedule, place) {
                self.count_complete(id, place, ready);
            }
        }
    }

    /// Begins the operations that become ready by completed ones, until there are none.
    pub(super) fn settle(&mut self) {
        if self.completions.is_empty() {
            return;
        }
        let mut ready = core::mem::take(&mut self.ready);
        while let Some((id, place)) = self.completions.pop_front() {
            ready.clear();
            self.count_complete(id, place, &mut ready);
            if !ready.is_empty() {
                self.go_on(id, &mut ready);
            }
        }
        ready.clear();
        self.ready = ready;
    }

    pub(super) fn count_complete(&mut self, id: RunId, place: usize, ready: &mut Vec<usize>) {
        let Some(run) = self.runs.get_mut(id) else {
            return;
        };
        if run.state != State::Running {
            return;
        }
        if let Some(peer) = run.counters.schedule().step(place).peer {
            run.needs[peer as usize] -= 1;
        }
        run.note(place, true, self.now);
        run.counters.complete(place, ready);
        if run.counters.is_complete() {
            self.end(id);
        }
    }

    /// All operations of the run are complete.
    pub(super) fn end(&mut self, id: RunId) {
        if let Some(run) = self.runs.get_mut(id) {
            run.state = State::Done;
            self.close(id);
        }
    }

    pub(super) fn fail(&mut self, id: RunId, why: Failure) {
        let Some(run) = self.runs.get_mut(id) else {
            return;
        };
        if run.state != State::Running {
            return;
        }
        run.state = State::Failed(why);
        let (context, sequence) = (run.context, run.sequence);
        // Otherwise the peers of this run would wait for ever.
        let peers = run.counters.schedule().peers();
        let mut told: Vec<u32> = peers.iter().copied().filter(|p| run.needs(*p)).collect();
        told.retain(|p| *p != self.me && !self.is_gone(*p));
        for peer in told {
            self.out
                .push_back((peer, Packet::Abort { context, sequence }));
        }
        self.matching.forget_run(id);
        self.close_pulls(id);
        // Its promises and offers stay known until the peer answers; the answer is then dropped.
        self.close(id);
    }

    /// The run is done: drops messages for it that will find no receive.
    pub(super) fn close(&mut self, id: RunId) {
        let Some(run) = self.runs.get(id) else {
            return;
        };
        let (context, sequence) = (run.context, run.sequence);
        self.open.remove(&(context, sequence));
        self.ended.push_back(id);
        for (source, offer) in self.matching.forget_early(context, sequence) {
            match offer {
                Some(ticket) if !self.is_gone(source) => {
                    self.peer(source).offers -= 1;
                    self.out.push_back((source, Packet::Refuse { ticket }));
                }
                Some(_) => {}
                None => self.taken(source),
            }
        }
    }

    /// Begins one operation. True if it is complete already.
    fn begin(&mut self, id: RunId, schedule: &Schedule, place: usize) -> bool {
        match schedule.work(place) {
            Work::Send { to, tag, from } => self.send(id, place, *to, *tag, from),
            Work::Recv { from, tag, into } => self.receive(id, place, (*from, *tag), into),
            Work::Calc { nanoseconds: 0 } => true,
            Work::Calc { nanoseconds } => {
                let at = self.now.saturating_add(*nanoseconds);
                self.timers.push(Reverse((at, id, place)));
                false
            }
            work => self.compute(id, place, work),
        }
    }

    /// Executes an operation that needs no peer.
    fn compute(&mut self, id: RunId, place: usize, work: &Work) -> bool {
        let Some(run) = self.runs.get_mut(id) else {
            return false;
        };
        match work {
            Work::Local {
                op,
                element,
                target,
                operand,
            } => {
                let done = match (&target[..], &operand[..]) {
                    ([target], [operand]) => run.memory.combine(*op, *element, target, operand),
                    _ => {
                        let mut value = gather(&*run.memory, target);
                        let operand = gather(&*run.memory, operand);
                        let done = element::apply(*op, *element, &mut value, &operand);
                        scatter(&mut *run.memory, target, 0, &value);
                        done
                    }
                };
                if done.is_err() {
                    self.fail(id, Failure::DivisionByZero { operation: place });
                }
                done.is_ok()
            }
            Work::Copy { into, from } => {
                if let ([into], [from]) = (&into[..], &from[..]) {
                    run.memory.copy(into, from);
                } else {
                    let value = gather(&*run.memory, from);
                    scatter(&mut *run.memory, into, 0, &value);
                }
                true
            }
            Work::Timestamp { into } => {
                run.memory.write(into, &self.now.to_le_bytes());
                true
            }
            // `begin` handles these operations.
            Work::Send { .. } | Work::Recv { .. } | Work::Calc { .. } => false,
        }
    }
}
