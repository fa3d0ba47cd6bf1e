//! The software adapter as a state machine: queues and the time go in, effects and completions come out.
//!
//! An operation that is taken from a queue gets the time at which it takes effect: when the wire to its target is
//! free, plus its bytes divided by the bandwidth, plus the latency, plus a seeded random delay. Because of the random
//! delay, operations of one queue pair overtake each other, as they may on a real fabric. Only a fence keeps their
//! order. It sets a floor for each target, so that a fence never waits for another target.

use super::device::Device;
use super::device::Invalidations;
use crate::descriptor::{Descriptor, Failure, Status, Work};
use crate::device_memory::combiner::{Piece, Way};
use crate::device_memory::sources::Sources;
use crate::device_memory::DeviceMemory;
use crate::engine::front::Front;
use crate::engine::{Fabric, Outcome};
use crate::execute;
use crate::queue_pair::Consumer;
use crate::trigger::Triggers;
use hetmp_core::hash::HashMap;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The costs of the emulated link. All zero: operations take effect as soon as they are seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Model {
    /// Nanoseconds from the end of the wire to the target's memory.
    pub latency_ns: u64,
    /// Bytes per microsecond on the wire from one rank to another; 0: no limit.
    pub bytes_per_us: u64,
    /// The largest random delay, nanoseconds. Messages have none, because they must arrive in order.
    pub jitter_ns: u64,
    /// Seed of the random delays.
    pub seed: u64,
    /// Both ends have a device's memory. An operation then completes when the target's side has taken it;
    /// [`QueuePair::quiet`](crate::engine::QueuePair::quiet) and fences make it visible.
    pub device: Option<DeviceMemory>,
}

/// After this time a full inbox is tried again, nanoseconds.
const RETRY_NS: u64 = 2_000;

/// The most operations taken from one queue before the next queue gets its turn.
const BURST: usize = 32;

#[derive(Clone, Copy, Debug)]
struct Operation {
    queue: usize,
    ticket: u64,
    work: Result<Descriptor, Failure>,
}

#[derive(Debug, Default)]
struct Path {
    /// Later operations take effect at this time or after it; set by a fence.
    floor: u64,
    /// The latest time at which an operation so far takes effect.
    latest: u64,
    /// The latest time at which a message so far takes effect.
    latest_message: u64,
    /// Operations behind a message that found the inbox full, in order.
    blocked: VecDeque<Operation>,
}

#[derive(Debug)]
struct Queue {
    rank: u32,
    front: Front,
    paths: HashMap<u32, Path>,
}

/// The adapter.
#[derive(Debug)]
pub(crate) struct Adapter {
    fabric: Fabric,
    model: Model,
    random: u64,
    /// A queue keeps its index, because operations under way name it by the index.
    queues: Vec<Option<Queue>>,
    /// When each wire is free again.
    wires: HashMap<(u32, u32), u64>,
    /// By the time of taking effect, then in the order in which they were taken.
    under_way: BTreeMap<(u64, u64), Operation>,
    taken: u64,
    triggers: HashMap<u32, Triggers<Operation>>,
    /// Queue and peer of paths whose message was refused.
    blocked: Vec<(usize, u32)>,
    retry_at: u64,
    device: Option<Device>,
}

impl Adapter {
    pub(super) fn new(fabric: Fabric, model: Model, invalidations: Arc<Invalidations>) -> Adapter {
        let device = model
            .device
            .map(|setting| Device::new(setting, fabric.clone(), invalidations));
        Adapter {
            device,
            fabric,
            model,
            random: model.seed ^ 0x9e37_79b9_7f4a_7c15,
            queues: Vec::new(),
            wires: HashMap::default(),
            under_way: BTreeMap::new(),
            taken: 0,
            triggers: HashMap::default(),
            blocked: Vec::new(),
            retry_at: 0,
        }
    }

    /// From now on a checker looks on.
    pub(super) fn check(&mut self, sources: Arc<Sources>) {
        if let Some(device) = &mut self.device {
            device.check(sources);
        }
    }

    pub(super) fn join(&mut self, rank: u32, consumer: Consumer) {
        let queue = Queue {
            rank,
            front: Front::new(consumer),
            paths: HashMap::default(),
        };
        match self.queues.iter().position(Option::is_none) {
            Some(i) => self.queues[i] = Some(queue),
            None => self.queues.push(Some(queue)),
        }
    }

    /// Takes what was announced, and executes what is due. False if there is nothing to do before
    /// [`Adapter::next_due`] or the next doorbell.
    pub(super) fn step(&mut self, now: u64) -> bool {
        let mut worked = false;
        for q in 0..self.queues.len() {
            for _ in 0..BURST {
                if !(self.take_put(q, now) || self.take(q, now)) {
                    break;
                }
                worked = true;
            }
            let gone = self.queues[q].as_ref().is_some_and(|x| x.front.is_over());
            if gone {
                self.queues[q] = None;
            }
        }
        if !self.blocked.is_empty() && now >= self.retry_at {
            worked |= self.retry(now);
        }
        while let Some(entry) = self.under_way.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let operation = entry.remove();
            self.arrive(operation, now);
            worked = true;
        }
        if self.device.is_some() {
            worked |= self.apply_due(now);
        }
        worked
    }

    #[cold]
    #[inline(never)]
    fn apply_due(&mut self, now: u64) -> bool {
        let mut worked = false;
        while let Some((way, piece)) = self.device.as_mut().and_then(|d| d.due(now)) {
            self.apply(&way, &piece, now);
            worked = true;
        }
        worked
    }

    /// A held write takes effect.
    fn apply(&mut self, way: &Way, piece: &Piece, now: u64) {
        if let Some(d) = &self.device {
            if d.apply(way, piece) {
                self.release(way.peer, now);
            }
        }
    }

    /// True if operations take effect as soon as they are taken. Then no clock is needed.
    pub(super) fn is_immediate(&self) -> bool {
        let m = &self.model;
        m.latency_ns | m.bytes_per_us | m.jitter_ns == 0
            && self.device.is_none()
            && self.under_way.is_empty()
            && self.blocked.is_empty()
    }

    /// The next time at which something is due even if no doorbell rings.
    pub(super) fn next_due(&self) -> Option<u64> {
        let first = self.under_way.first_key_value().map(|(k, _)| k.0);
        let retry = (!self.blocked.is_empty()).then_some(self.retry_at);
        let held = self.device.as_ref().and_then(Device::next_due);
        [first, retry, held].into_iter().flatten().min()
    }

    /// Ends everything that has not arrived with an error. Writes that are held have completed, so they take effect.
    pub(super) fn stop(&mut self) {
        for (way, piece) in self.device.as_mut().map_or(Vec::new(), Device::take_all) {
            self.apply(&way, &piece, 0);
        }
        let mut left: Vec<Operation> = core::mem::take(&mut self.under_way).into_values().collect();
        for t in self.triggers.values_mut() {
            left.extend(t.take_all());
        }
        for q in self.queues.iter_mut().flatten() {
            for p in q.paths.values_mut() {
                left.extend(p.blocked.drain(..));
            }
        }
        for operation in left {
            let stopped = Outcome::failed(Failure {
                status: Status::Stopped,
                value: 0,
            });
            self.complete(&operation, stopped);
        }
    }

    /// A fast path for the most common case: a plain put that takes effect at once, on an idle adapter.
    #[inline]
    fn take_put(&mut self, q: usize, now: u64) -> bool {
        if !self.is_immediate() {
            return false;
        }
        let Some(queue) = &mut self.queues[q] else {
            return false;
        };
        let Some((ticket, put)) = queue.front.take_put() else {
            return false;
        };
        let rank = queue.rank;
        let result = self.fabric.put(rank, &put);
        let failed = result.map_err(Outcome::failed).err();
        let consumer = &mut queue.front.consumer;
        consumer.complete(failed.and_then(|f| f.completion(ticket, false)));
        consumer.notify();
        if result == Ok(true) {
            self.release(put.peer, now);
        }
        true
    }

    fn take(&mut self, q: usize, now: u64) -> bool {
        let Some(queue) = &mut self.queues[q] else {
            return false;
        };
        let counters = self.fabric.domains[queue.rank as usize].counters();
        let Some(taken) = queue.front.take(counters) else {
            return false;
        };
        let operation = Operation {
            queue: q,
            ticket: taken.ticket,
            work: taken.work,
        };
        let passed = match taken.after {
            Some(wait) => {
                let triggers = self.triggers.entry(queue.rank).or_default();
                triggers.pass(counters, wait, operation)
            }
            None => Some(operation),
        };
        match passed {
            // Nothing delays the operation or has to come before it, so it needs no entry in the table of times.
            Some(operation) if self.is_immediate() => self.arrive(operation, now),
            Some(operation) => self.dispatch(operation, now),
            None => {}
        }
        true
    }

    /// Gives an operation the time at which it takes effect.
    fn dispatch(&mut self, operation: Operation, now: u64) {
        let order = self.taken;
        self.taken += 1;
        let due = match &operation.work {
            Ok(d) => self.due(operation.queue, d, now),
            Err(_) => now,
        };
        self.under_way.insert((due, order), operation);
    }

    fn due(&mut self, q: usize, d: &Descriptor, now: u64) -> u64 {
        let Some(queue) = &mut self.queues[q] else {
            return now;
        };
        // A wait is local. A number that names no peer must not add a path.
        if matches!(d.work, Work::Wait { .. }) || d.peer as usize >= self.fabric.domains.len() {
            return now;
        }
        let path = queue.paths.entry(d.peer).or_default();
        if d.work == Work::Fence {
            path.floor = path.floor.max(path.latest);
            return path.floor.max(now);
        }
        if matches!(d.work, Work::Compute { .. }) {
            // Needs no wire and has no delay. Only fences hold it back.
            let due = path.floor.max(now);
            path.latest = path.latest.max(due);
            return due;
        }
        let wire = self.wires.entry((queue.rank, d.peer)).or_insert(0);
        let start = now.max(*wire);
        let bytes = u64::from(execute::bytes(d));
        let sent = start
            + (bytes * 1000)
                .checked_div(self.model.bytes_per_us)
                .unwrap_or(0);
        *wire = sent;
        let mut due = sent + self.model.latency_ns;
        let message = matches!(d.work, Work::Send { .. });
        if self.model.jitter_ns != 0 && !message {
            // xorshift64*: the same seed gives the same delays.
            self.random ^= self.random >> 12;
            self.random ^= self.random << 25;
            self.random ^= self.random >> 27;
            let r = self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
            due += r % (self.model.jitter_ns + 1);
        }
        due = due.max(path.floor);
        if message {
            due = due.max(path.latest_message);
            path.latest_message = due;
        }
        path.latest = path.latest.max(due);
        due
    }

    fn arrive(&mut self, operation: Operation, now: u64) {
        let (q, d) = match &operation.work {
            Err(f) => {
                let failed = Outcome::failed(*f);
                self.complete(&operation, failed);
                return;
            }
            Ok(d) => (operation.queue, *d),
        };
        let Some(queue) = &mut self.queues[q] else {
            return;
        };
        // A message to this target was refused. Everything after it waits, because there may be a fence in between.
        if !self.blocked.is_empty() {
            if let Some(path) = queue.paths.get_mut(&d.peer) {
                if !path.blocked.is_empty() {
                    path.blocked.push_back(operation);
                    return;
                }
            }
        }
        if !self.execute(&operation, &d, now) {
            if let Some(queue) = &mut self.queues[q] {
                let path = queue.paths.entry(d.peer).or_default();
                path.blocked.push_back(operation);
            }
            self.blocked.push((q, d.peer));
            self.retry_at = now + RETRY_NS;
        }
    }

    #[cold]
    #[inline(never)]
    fn execute_on_device(
        &mut self,
        (queue, ticket): (usize, u64),
        rank: u32,
        d: &Descriptor,
        now: u64,
    ) -> Option<Outcome> {
        let way = Way {
            queue,
            rank,
            peer: d.peer,
        };
        if matches!(d.work, Work::Fence) {
            let flushed = self.device.as_mut().map_or(Vec::new(), |x| x.flush(&way));
            for (way, piece) in flushed {
                self.apply(&way, &piece, now);
            }
        }
        match &mut self.device {
            Some(device) => device.take(now, way, ticket, d),
            None => self.fabric.run(rank, d),
        }
    }

    /// False: the target's inbox is full.
    fn execute(&mut self, operation: &Operation, d: &Descriptor, now: u64) -> bool {
        let Some(rank) = self.queues[operation.queue].as_ref().map(|q| q.rank) else {
            return true;
        };
        let outcome = if self.device.is_some() {
            self.execute_on_device((operation.queue, operation.ticket), rank, d, now)
        } else {
            self.fabric.run(rank, d)
        };
        let Some(outcome) = outcome else {
            return false;
        };
        self.complete(operation, outcome);
        if outcome.counted {
            self.release(rank, now);
            if d.peer != rank {
                self.release(d.peer, now);
            }
        }
        true
    }

    fn complete(&mut self, operation: &Operation, outcome: Outcome) {
        let signalled = operation.work.is_ok_and(|d| d.signalled);
        if let Some(queue) = &mut self.queues[operation.queue] {
            let completion = outcome.completion(operation.ticket, signalled);
            queue.front.consumer.complete(completion);
            queue.front.consumer.notify();
        }
    }

    /// Starts the operations that waited for counters of `rank`.
    fn release(&mut self, rank: u32, now: u64) {
        let Some(triggers) = self.triggers.get_mut(&rank) else {
            return;
        };
        let counters = self.fabric.domains[rank as usize].counters();
        let ready = triggers.ready(|c| counters.value(c).unwrap_or(0));
        for operation in ready {
            self.dispatch(operation, now);
        }
    }

    /// Starts the operations that waited for counters which peers in other processes have moved.
    #[inline]
    pub(super) fn recount(&mut self, now: u64) {
        if !self.triggers.is_empty() {
            self.recount_all(now);
        }
    }

    #[cold]
    fn recount_all(&mut self, now: u64) {
        let ranks: Vec<u32> = self.triggers.keys().copied().collect();
        for rank in ranks {
            self.release(rank, now);
        }
        self.triggers.retain(|_, t| !t.is_empty());
    }

    fn retry(&mut self, now: u64) -> bool {
        let mut worked = false;
        for (q, peer) in core::mem::take(&mut self.blocked) {
            loop {
                let next = self.queues[q]
                    .as_ref()
                    .and_then(|x| x.paths.get(&peer))
                    .and_then(|p| p.blocked.front().copied());
                let Some(operation) = next else {
                    break;
                };
                let accepted = match operation.work {
                    Ok(d) => self.execute(&operation, &d, now),
                    Err(_) => true,
                };
                if !accepted {
                    self.blocked.push((q, peer));
                    break;
                }
                worked = true;
                if let Some(path) = self.queues[q].as_mut().and_then(|x| x.paths.get_mut(&peer)) {
                    path.blocked.pop_front();
                }
            }
        }
        self.retry_at = now + RETRY_NS;
        worked
    }
}
