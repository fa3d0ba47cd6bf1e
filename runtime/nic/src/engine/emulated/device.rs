//! The adapter of a device: reads sources through the read cache, and writes through the combiner at the target.
//!
//! As in every engine, memory is touched through a span that a lookup of key, bounds and rights gave out.

use crate::descriptor::{
    Atomic, AtomicOp, Descriptor, Failure, Fetch, Local, Source, Status, Work,
};
use crate::device_memory::combiner::{Combiner, Piece, Way};
use crate::device_memory::read_cache::ReadCache;
use crate::device_memory::sources::Sources;
use crate::device_memory::DeviceMemory;
use crate::engine::{Arrival, Domain, Fabric, Outcome};
use crate::execute::{self, LocalPart, RemotePart};
use crate::inbox::Message;
use crate::keys::{Rights, Side};
use crate::memory;
use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_core::hash::HashMap;
use std::sync::Arc;

/// How often each rank has invalidated its read cache. On a real device this is a write to a register.
#[derive(Debug)]
pub(super) struct Invalidations(Box<[AtomicU64]>);

impl Invalidations {
    pub(super) fn new(ranks: usize) -> Invalidations {
        Invalidations((0..ranks).map(|_| AtomicU64::new(0)).collect())
    }

    pub(super) fn add(&self, rank: u32) {
        if let Some(n) = self.0.get(rank as usize) {
            n.fetch_add(1, Ordering::Release);
        }
    }

    fn of(&self, rank: u32) -> u64 {
        self.0
            .get(rank as usize)
            .map_or(0, |n| n.load(Ordering::Acquire))
    }
}

/// The operation with the addresses under which the adapter reaches the initiator's own memory: it reads and writes
/// the image of cached memory, and not what the program has in its cache.
fn seen_by_adapter(me: &Domain, d: &Descriptor) -> Descriptor {
    let moved = |l: &mut Local| l.address = me.adapters(l.address);
    let mut d = *d;
    match &mut d.work {
        Work::Put {
            source: Source::Memory(l, _),
            ..
        }
        | Work::Send {
            source: Source::Memory(l, _),
            ..
        }
        | Work::Get { local: l, .. }
        | Work::Atomic(Atomic {
            fetch: Fetch::Memory(l),
            ..
        }) => moved(l),
        Work::Compute {
            target, operand, ..
        } => {
            moved(target);
            moved(operand);
        }
        Work::Put { .. }
        | Work::Send { .. }
        | Work::Atomic(_)
        | Work::Nop
        | Work::Fence
        | Work::Wait { .. }
        | Work::Count { .. } => {}
    }
    d
}

/// The devices of the ranks that this adapter serves.
#[derive(Debug)]
pub(super) struct Device {
    setting: DeviceMemory,
    fabric: Fabric,
    combiner: Combiner,
    /// By rank, with the number of invalidations that the cache has followed.
    caches: HashMap<u32, (u64, ReadCache)>,
    invalidations: Arc<Invalidations>,
    /// A checker looks on.
    checked: Option<Arc<Sources>>,
    /// The bytes of the source being read. Kept between operations, to keep its memory.
    gathered: Vec<u8>,
}

impl Device {
    pub(super) fn new(
        setting: DeviceMemory,
        fabric: Fabric,
        invalidations: Arc<Invalidations>,
    ) -> Device {
        Device {
            setting,
            fabric,
            combiner: Combiner::new(setting.seed, setting.hold_ns),
            caches: HashMap::default(),
            invalidations,
            checked: None,
            gathered: Vec::new(),
        }
    }

    pub(super) fn check(&mut self, sources: Arc<Sources>) {
        self.checked = Some(sources);
    }

    pub(super) fn due(&mut self, now: u64) -> Option<(Way, Piece)> {
        self.combiner.due(now)
    }

    pub(super) fn next_due(&self) -> Option<u64> {
        self.combiner.next_due()
    }

    pub(super) fn flush(&mut self, way: &Way) -> Vec<(Way, Piece)> {
        self.combiner.flush(way.queue, way.peer)
    }

    pub(super) fn take_all(&mut self) -> Vec<(Way, Piece)> {
        self.combiner.take_all()
    }

    /// An operation arrives at its target. Plain writes are held there; everything else takes effect. `None` if the
    /// target's inbox is full; then nothing was done.
    pub(super) fn take(
        &mut self,
        now: u64,
        way: Way,
        ticket: u64,
        d: &Descriptor,
    ) -> Option<Outcome> {
        let d = &seen_by_adapter(&self.fabric.domains[way.rank as usize], d);
        let held = match &d.work {
            Work::Put { .. } => true,
            Work::Atomic(a) => a.fetch == Fetch::No && a.op != AtomicOp::Read,
            _ => false,
        };
        if held {
            let result = self.hold(now, way, d);
            if let (Some(sources), Work::Put { remote, .. }) = (&self.checked, &d.work) {
                let place = (d.queue_pair, ticket);
                // A cache that the program does not invalidate may give old bytes: a mistake of another kind.
                let whole = result.is_ok() && self.setting.invalidate;
                sources.read(place, whole.then_some(&self.gathered));
                if result.is_err() {
                    sources.land(way.rank, way.peer, remote, execute::bytes(d));
                }
            }
            return Some(result.unwrap_or_else(Outcome::failed));
        }
        if let Work::Send {
            source: Source::Memory(..),
            ..
        } = d.work
        {
            // A message is not held: it is short, and messages must arrive in order. Only its source may be stale.
            if !self.setting.invalidate {
                return self.send(way, d);
            }
        }
        self.fabric.run(way.rank, d)
    }

    fn hold(&mut self, now: u64, way: Way, d: &Descriptor) -> Result<Outcome, Failure> {
        let fabric = self.fabric.clone();
        let me = &fabric.domains[way.rank as usize];
        let Some(peer) = fabric.domains.get(way.peer as usize) else {
            return Err(Failure {
                status: Status::Peer,
                value: u64::from(way.peer),
            });
        };
        let local = execute::local(d, me.keys(), me.counters())?;
        let target = execute::remote(d, peer.keys(), peer.counters())?;
        match (&d.work, &target) {
            (Work::Put { remote, signal, .. }, RemotePart::Write(to, word)) => {
                self.gather(way.rank, &local);
                let counted = to.counter().is_some()
                    || word.as_ref().is_some_and(|s| s.word.counter().is_some());
                let announced = self.checked.is_some();
                self.combiner.put(
                    now,
                    way,
                    *remote,
                    &self.gathered,
                    *signal,
                    counted,
                    announced,
                );
            }
            (Work::Atomic(a), _) => self.combiner.atomic(now, way, *a),
            _ => debug_assert!(false, "only writes are held"),
        }
        Ok(self.arrived(me, d))
    }

    /// The outcome that the initiator gets.
    fn arrived(&self, me: &Domain, d: &Descriptor) -> Outcome {
        if let Some(c) = d.count {
            me.counters().add(c, 1);
        }
        Outcome {
            status: Status::Ok,
            bytes: execute::bytes(d),
            value: 0,
            counted: d.count.is_some(),
        }
    }

    fn send(&mut self, way: Way, d: &Descriptor) -> Option<Outcome> {
        let fabric = self.fabric.clone();
        let me = &fabric.domains[way.rank as usize];
        let local = match execute::local(d, me.keys(), me.counters()) {
            Ok(local) => local,
            Err(f) => return Some(Outcome::failed(f)),
        };
        self.gather(way.rank, &local);
        drop(local);
        let (Some(peer), Work::Send { port, tag, .. }) =
            (fabric.domains.get(way.peer as usize), &d.work)
        else {
            return Some(Outcome::failed(Failure {
                status: Status::Peer,
                value: u64::from(way.peer),
            }));
        };
        let Some(inbox) = peer.port(*port).and_then(|p| p.inbox()) else {
            return Some(Outcome::failed(Failure {
                status: Status::Port,
                value: u64::from(*port),
            }));
        };
        // Parsing has bounded the length.
        let message = Message::new(way.rank, *tag, &self.gathered)?;
        if !inbox.deliver(&message) {
            return None;
        }
        peer.arrived(|| Arrival::Message {
            port: *port,
            tag: *tag,
        });
        Some(self.arrived(me, d))
    }

    /// Reads a source as the adapter of `rank` does.
    fn gather(&mut self, rank: u32, local: &LocalPart<'_>) {
        self.gathered.clear();
        match local {
            LocalPart::Inline(i) => {
                let (bytes, n) = i.bytes();
                self.gathered.extend_from_slice(&bytes[..n]);
            }
            LocalPart::Read(span) => {
                self.gathered.resize(span.len(), 0);
                let fetch = |at: usize, into: &mut [u8]| {
                    // SAFETY: the cache asks for parts of the region only. The span keeps the region registered, and
                    // who registered it keeps the memory valid until then.
                    unsafe { memory::copy(at as *const u8, into.as_mut_ptr(), into.len()) }
                };
                let start = span.start() as usize;
                if self.setting.invalidate {
                    // Posting has invalidated the cache, so that no line can be found.
                    fetch(start, &mut self.gathered);
                    return;
                }
                let invalidated = self.invalidations.of(rank);
                let (seen, cache) = self.caches.entry(rank).or_default();
                if *seen != invalidated {
                    *seen = invalidated;
                    cache.invalidate();
                }
                cache.read(start, &mut self.gathered, span.region(), fetch);
            }
            LocalPart::Nothing | LocalPart::Write(_) | LocalPart::Update(..) => {}
        }
    }

    /// Applies a piece that was held. Does nothing if its region was deregistered meanwhile. True if counters moved.
    pub(super) fn apply(&self, way: &Way, piece: &Piece) -> bool {
        let Some(peer) = self.fabric.domains.get(way.peer as usize) else {
            return false;
        };
        let find = |r: &crate::descriptor::Remote, n: usize, rights| {
            peer.keys().find(Side::Remote, r.key, r.address, n, rights)
        };
        let count = |span: &crate::keys::Span<'_>| {
            span.counter().is_some_and(|c| {
                peer.counters().add(c, 1);
                peer.counted();
                true
            })
        };
        match piece {
            Piece::Bytes(remote, bytes) => {
                if let Ok(to) = find(remote, bytes.len(), Rights::REMOTE_WRITE) {
                    // SAFETY: `find` returned a span of `bytes.len()` bytes, which keeps its region registered.
                    unsafe { memory::copy(bytes.as_ptr(), to.start(), to.len()) };
                    peer.arrived(|| Arrival::Memory {
                        at: *remote,
                        len: to.len() as u32,
                        signal: None,
                    });
                }
                false
            }
            Piece::Arrived(data, len, signal) => {
                let mut counted = false;
                if let Some(s) = signal {
                    if let Ok(word) = find(&s.remote, 8, Rights::REMOTE_ATOMIC) {
                        memory::signal(&word, s.op, s.value);
                        peer.arrived(|| Arrival::Memory {
                            at: *data,
                            len: *len,
                            signal: Some(s.remote),
                        });
                        counted |= count(&word);
                    }
                }
                if let Ok(to) = find(data, *len as usize, Rights::REMOTE_WRITE) {
                    counted |= count(&to);
                }
                counted
            }
            Piece::Landing(to, len) => {
                if let Some(sources) = &self.checked {
                    sources.land(way.rank, way.peer, to, *len);
                }
                false
            }
            Piece::Atomic(a) => {
                let bytes = a.width.bytes() as usize;
                find(&a.remote, bytes, Rights::REMOTE_ATOMIC).is_ok_and(|word| {
                    memory::atomic(&word, a);
                    peer.arrived(|| Arrival::Memory {
                        at: a.remote,
                        len: a.width.bytes(),
                        signal: None,
                    });
                    count(&word)
                })
            }
        }
    }
}
