//! How an operation begins and ends: from a descriptor to a place in a peer's line, and from the last reply to a
//! completion.

use super::{Direct, Operation, Peer, Port, Taken};
use crate::descriptor::{CounterId, Descriptor, Failure, Fetch, Status, Work};
use crate::engine::Outcome;
use crate::execute;

impl<D: Direct> Port<D> {
    /// Begins an operation: checks the initiator's half, and puts the operation at the end of its peer's line.
    pub(super) fn dispatch(&mut self, q: usize, taken: &Taken) {
        let d = match taken.work.and_then(|d| self.check(&d).map(|()| d)) {
            Ok(d) => d,
            Err(f) => return self.complete(q, taken, Outcome::failed(f), false),
        };
        let id = self.next;
        self.next += 1;
        let mut operation = Operation::new(q, taken.ticket, d);
        // What a wait holds back was put aside when its descriptor was taken. The wait itself sends nothing.
        let sends_nothing = matches!(d.work, Work::Wait { .. });
        operation.all_sent = sends_nothing;
        self.operations.insert(id, operation);
        if sends_nothing {
            self.finish(id);
        } else {
            self.peers[d.peer as usize].waiting.push_back(id);
        }
    }

    /// The initiator's half: is there such a peer, and may the operation use the memory that it names here?
    fn check(&self, d: &Descriptor) -> Result<(), Failure> {
        let failed = |status| {
            Err(Failure {
                status,
                value: u64::from(d.peer),
            })
        };
        let is_wait = matches!(d.work, Work::Wait { .. });
        let is_arithmetic = matches!(d.work, Work::Compute { .. });
        match self.peers.get(d.peer as usize) {
            // A wait has no peer.
            _ if is_wait => {}
            None => return failed(Status::Peer),
            Some(p) if p.lost => return failed(Status::PeerLost),
            // Arithmetic is for this rank's own memory.
            Some(_) if is_arithmetic && d.peer != self.rank => return failed(Status::Peer),
            Some(_) => {}
        }
        if self.direct.takes(d) {
            // `send_direct` looks the memory up, before anything leaves.
            return Ok(());
        }
        execute::local(d, self.domain.keys(), self.domain.counters()).map(|_| ())
    }

    /// Says that the source of an operation lies in the output, so that its initiator may write there again. An
    /// operation that fetches keeps its buffer until the reply has come.
    pub(super) fn free(&mut self, id: u64) {
        let Some(o) = self.operations.get_mut(&id) else {
            return;
        };
        let fetches = match &o.d.work {
            Work::Get { .. } => true,
            Work::Atomic(a) => a.fetch != Fetch::No,
            _ => false,
        };
        if fetches || o.freed {
            return;
        }
        o.freed = true;
        let counted = o.d.count.filter(|_| o.d.count_source);
        if let Some(front) = &mut self.queues[o.queue] {
            front.consumer.free();
            front.consumer.notify();
        }
        if let Some(c) = counted {
            self.domain.counters().add(c, 1);
            self.moved = true;
            self.release();
        }
    }

    /// Ends an operation in error at once, without the replies that its pieces still lack.
    fn fail(&mut self, id: u64, failure: Failure) {
        if let Some(o) = self.operations.get_mut(&id) {
            o.failure.get_or_insert(failure);
            o.all_sent = true;
            o.open = 0;
        }
        self.finish(id);
    }

    /// Completes an operation if no piece will go out and no reply will come.
    pub(super) fn finish(&mut self, id: u64) {
        if !self.operations.get(&id).is_some_and(Operation::is_done) {
            return;
        }
        let Some(o) = self.operations.remove(&id) else {
            return;
        };
        let mut outcome = match o.failure {
            Some(f) => Outcome::failed(f),
            None => Outcome {
                status: Status::Ok,
                bytes: execute::bytes(&o.d),
                value: o.value,
                counted: false,
            },
        };
        let counted_before = o.d.count_source && o.freed;
        if let (Some(c), None, false) = (o.d.count, o.failure, counted_before) {
            self.domain.counters().add(c, 1);
            outcome.counted = true;
        }
        self.end(o.queue, o.ticket, o.d, outcome, o.freed);
    }

    /// Writes the completion of an operation, and sets off what waited for its count.
    pub(super) fn end(
        &mut self,
        queue: usize,
        ticket: u64,
        d: Descriptor,
        outcome: Outcome,
        freed: bool,
    ) {
        let taken = Taken {
            ticket,
            work: Ok(d),
            after: None,
        };
        self.complete(queue, &taken, outcome, freed);
        if outcome.counted {
            self.moved = true;
            self.release();
        }
    }

    /// Writes a completion and wakes the initiator. `freed`: the initiator has heard already that the source is free.
    fn complete(&mut self, q: usize, taken: &Taken, outcome: Outcome, freed: bool) {
        let signalled = taken.work.is_ok_and(|d| d.signalled);
        if let Some(front) = &mut self.queues[q] {
            let c = outcome.completion(taken.ticket, signalled);
            if freed {
                front.consumer.complete_freed(c);
            } else {
                front.consumer.complete(c);
            }
            front.consumer.notify();
        }
    }

    /// Begins what waited for counters of this rank and need wait no longer.
    pub(in crate::engine) fn release(&mut self) {
        let domain = self.domain.clone();
        let value = |c: CounterId| domain.counters().value(c).unwrap_or(0);
        for (q, taken) in self.triggers.ready(value) {
            self.dispatch(q, &taken);
        }
    }

    /// Gives a peer up: what is under way to the peer, and what will be posted to it, ends in error.
    pub(in crate::engine) fn lose(&mut self, peer: usize) {
        let failure = Failure {
            status: Status::PeerLost,
            value: peer as u64,
        };
        self.peers[peer] = Peer::gone();
        self.requests.retain(|_, r| r.peer != peer);
        // Found by the operations themselves, not by their requests. The reply that broke the protocol has already
        // taken its request off the list: an operation found by requests alone would never end.
        let mut ids: Vec<u64> = self
            .operations
            .iter()
            .filter(|(_, o)| o.d.peer as usize == peer)
            .map(|(id, _)| *id)
            .collect();
        // Operations end in the order in which they were posted.
        ids.sort_unstable();
        for id in ids {
            self.fail(id, failure);
        }
    }

    /// Ends everything that is under way or held back with an error: the engine stops.
    pub(in crate::engine) fn stop(&mut self) {
        let stopped = Failure {
            status: Status::Stopped,
            value: 0,
        };
        let ids: Vec<u64> = self.operations.keys().copied().collect();
        for id in ids {
            self.fail(id, stopped);
        }
        for (q, taken) in self.triggers.take_all() {
            self.complete(q, &taken, Outcome::failed(stopped), false);
        }
    }
}
