//! Runs: their beginning, which operations may begin, and their end.

use super::{Event, Failure, Handle, Rank, Run, StartError, State};
use crate::element;
use crate::graph::Work;
use crate::memory::{gather, scatter, Memory};
use crate::packet::{Label, Packet};
use crate::run::Counters;
use crate::schedule::Schedule;
use core::cmp::Reverse;
use std::sync::Arc;

impl Run {
    /// Whether messages to or from the peer are missing.
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
    /// Begins a run of `schedule` in `context`, on `memory`. The schedule may be running already. `now` is in
    /// nanoseconds, and never goes back.
    ///
    /// # Errors
    /// [`StartError`]; nothing has begun.
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
        let (number, id) = (*sequence, self.next_run);
        *sequence += 1;
        self.next_run = self.next_run.wrapping_add(1);
        let needs = schedule.messages().into();
        let mut ready = Vec::new();
        let run = Run {
            counters: Counters::new(Arc::clone(schedule), &mut ready),
            context,
            sequence: number,
            memory,
            state: State::Running,
            needs,
            events: self.traced.then(Vec::new),
        };
        self.runs.insert(id, run);
        self.open.insert((context, number), id);
        let gone = schedule
            .peers()
            .iter()
            .copied()
            .find(|p| self.lost.contains(p));
        match (gone, self.aborted.remove(&(context, number))) {
            (Some(peer), _) => self.fail(id, Failure::PeerLost { peer }),
            (None, Some(peer)) => self.fail(id, Failure::PeerFailed { peer }),
            (None, None) if schedule.operations() == 0 => self.end(id),
            (None, None) => self.go_on(id, ready),
        }
        self.settle();
        Ok(Handle(id))
    }

    /// Ends a run that is not over: its peers' parts of it fail.
    pub fn abandon(&mut self, run: Handle) {
        self.fail(run.0, Failure::Abandoned);
        self.settle();
    }

    /// Begins operations, and whatever they make ready in turn.
    pub(super) fn go_on(&mut self, id: u32, mut ready: Vec<usize>) {
        // First come, first begun: the last one of the vector is the next one.
        ready.reverse();
        while let Some(place) = ready.pop() {
            let Some(run) = self.runs.get_mut(&id) else {
                return;
            };
            if run.state != State::Running {
                return;
            }
            let mut more = Vec::new();
            run.note(place, false, self.now);
            run.counters.begun(place, &mut more);
            if self.begin(id, place) {
                self.count_complete(id, place, &mut more);
            }
            ready.splice(0..0, more.into_iter().rev());
        }
    }

    /// Looks at what completed operations made ready, until nothing is left.
    pub(super) fn settle(&mut self) {
        while let Some((id, place)) = self.completions.pop_front() {
            let mut ready = Vec::new();
            self.count_complete(id, place, &mut ready);
            self.go_on(id, ready);
        }
    }

    pub(super) fn count_complete(&mut self, id: u32, place: usize, ready: &mut Vec<usize>) {
        let Some(run) = self.runs.get_mut(&id) else {
            return;
        };
        if run.state != State::Running {
            return;
        }
        let schedule = run.counters.schedule();
        if let Some(peer) = schedule.op(place).peer(schedule.peers()) {
            run.needs[peer] -= 1;
        }
        run.note(place, true, self.now);
        run.counters.complete(place, ready);
        if run.counters.is_complete() {
            self.end(id);
        }
    }

    /// All operations are complete.
    pub(super) fn end(&mut self, id: u32) {
        if let Some(run) = self.runs.get_mut(&id) {
            run.state = State::Done;
            self.close(id);
        }
    }

    pub(super) fn fail(&mut self, id: u32, why: Failure) {
        let Some(run) = self.runs.get_mut(&id) else {
            return;
        };
        if run.state != State::Running {
            return;
        }
        run.state = State::Failed(why);
        let (context, sequence) = (run.context, run.sequence);
        // Peers of this run would wait for ever.
        let peers = run.counters.schedule().peers();
        let told: Vec<u32> = peers
            .iter()
            .copied()
            .filter(|p| *p != self.me && run.needs(*p) && !self.lost.contains(p))
            .collect();
        for peer in told {
            self.out
                .push_back((peer, Packet::Abort { context, sequence }));
        }
        self.matching.forget_run(id);
        // What it promised or offered stays known until the peer answers, and is then thrown away.
        self.close(id);
    }

    /// The run is over: messages for it that nobody will receive go.
    pub(super) fn close(&mut self, id: u32) {
        let Some(run) = self.runs.get(&id) else {
            return;
        };
        let (context, sequence) = (run.context, run.sequence);
        self.open.remove(&(context, sequence));
        self.ended.push_back(id);
        for source in self.matching.forget_early(context, sequence) {
            self.taken(source);
        }
    }

    /// Begins one operation; true if it is complete, too.
    pub(super) fn begin(&mut self, id: u32, place: usize) -> bool {
        let Some(run) = self.runs.get_mut(&id) else {
            return false;
        };
        let label = |tag| Label {
            context: run.context,
            sequence: run.sequence,
            tag,
        };
        match run.counters.schedule().work(place) {
            Work::Send { to, tag, from } => {
                let label = label(tag);
                self.send(id, place, to, label, &from)
            }
            Work::Recv { from, tag, into } => {
                let key = (from, label(tag));
                self.receive(id, place, key, &into)
            }
            Work::Local {
                op,
                element,
                target,
                operand,
            } => {
                let done = match (&target[..], &operand[..]) {
                    ([target], [operand]) => run.memory.combine(op, element, target, operand),
                    _ => {
                        let mut value = gather(&*run.memory, &target);
                        let operand = gather(&*run.memory, &operand);
                        let done = element::apply(op, element, &mut value, &operand);
                        scatter(&mut *run.memory, &target, 0, &value);
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
                    let value = gather(&*run.memory, &from);
                    scatter(&mut *run.memory, &into, 0, &value);
                }
                true
            }
            Work::Timestamp { into } => {
                run.memory.write(&into, &self.now.to_le_bytes());
                true
            }
            Work::Calc { nanoseconds } => {
                if nanoseconds != 0 {
                    self.timers
                        .push(Reverse((self.now.saturating_add(nanoseconds), id, place)));
                }
                nanoseconds == 0
            }
        }
    }
}
