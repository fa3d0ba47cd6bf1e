//! The three hazards, stepped with a time of the test's own: whatever a seed shows, it shows every time.
//! Each test has both halves: the program that orders passes under every seed, the one that does not is
//! caught by some.

use super::adapter::{Adapter, Model};
use super::device::Invalidations;
use crate::descriptor::*;
use crate::device_memory::cached::Cached;
use crate::device_memory::DeviceMemory;
use crate::engine::{ends, Domain, Fabric, Sizes, TemplateKeys};
use crate::keys::{Memory, Rights};
use crate::queue_pair::Initiator;
use std::sync::Arc;

const HEAP: usize = 8192;
const WORDS: usize = HEAP / 8;
/// Bytes before and behind a heap that nobody may write.
const GUARD: isize = 4096;
const SEEDS: u64 = 60;
const HOLD: u64 = 1000;
/// Where things lie in a target's heap, in words.
const FLAG: usize = 0;
const DATA: usize = 64;

/// Three ranks, an adapter that serves all of them, and a clock.
struct Bench {
    adapter: Adapter,
    queues: Vec<Initiator>,
    heaps: Vec<*mut u64>,
    domains: Arc<[Arc<Domain>]>,
    keys: Vec<Key>,
    invalidations: Arc<Invalidations>,
    now: u64,
}

impl Bench {
    fn new(device: DeviceMemory) -> Bench {
        Bench::with(Some(device))
    }

    fn with(device: Option<DeviceMemory>) -> Bench {
        let ranks = 3;
        let domains: Arc<[Arc<Domain>]> = (0..ranks)
            .map(|_| Arc::new(Domain::new(Sizes::default())))
            .collect();
        let mut heaps = Vec::new();
        let mut keys = Vec::new();
        for d in domains.iter() {
            // Aligned to lines, as cuts are.
            let bytes = HEAP + 2 * GUARD as usize;
            let layout = std::alloc::Layout::from_size_align(bytes, 4096).expect("a layout");
            // SAFETY: not of size 0. Never given back: a test may leave writes behind.
            let start = unsafe { std::alloc::alloc_zeroed(layout) };
            assert!(!start.is_null());
            // SAFETY: within the allocation.
            let heap = unsafe { start.offset(GUARD) };
            // SAFETY: the heap lives for ever; the tests access it by volatile accesses between steps.
            let key = unsafe {
                d.keys()
                    .register(Memory::here(heap, HEAP), Rights::ALL, None)
            };
            keys.push(key.expect("room"));
            heaps.push(heap.cast());
        }
        let invalidations = Arc::new(Invalidations::new(ranks));
        let model = Model {
            device,
            ..Model::default()
        };
        let fabric = Fabric {
            domains: domains.clone(),
        };
        let mut adapter = Adapter::new(fabric, model, invalidations.clone());
        let mut queues = Vec::new();
        for rank in 0..ranks as u32 {
            let template = TemplateKeys::default();
            let (initiator, consumer) = ends(64, rank, template);
            adapter.join(rank, consumer);
            queues.push(initiator);
        }
        Bench {
            adapter,
            queues,
            heaps,
            domains,
            keys,
            invalidations,
            now: 1,
        }
    }

    fn seeded(seed: u64) -> Bench {
        Bench::new(DeviceMemory {
            seed,
            hold_ns: HOLD,
            ..DeviceMemory::default()
        })
    }

    fn remote(&self, rank: usize, word: usize) -> Remote {
        Remote {
            address: self.heaps[rank] as u64 + word as u64 * 8,
            key: self.keys[rank],
        }
    }

    fn local(&self, rank: usize, word: usize) -> Local {
        let r = self.remote(rank, word);
        Local {
            address: r.address,
            key: r.key,
        }
    }

    fn word(&self, rank: usize, word: usize) -> u64 {
        assert!(word < WORDS);
        // SAFETY: in bounds of a heap that lives for ever.
        unsafe { self.heaps[rank].add(word).read_volatile() }
    }

    fn set(&self, rank: usize, word: usize, value: u64) {
        assert!(word < WORDS);
        // SAFETY: in bounds of a heap that lives for ever.
        unsafe { self.heaps[rank].add(word).write_volatile(value) }
    }

    /// Rank 0 posts.
    fn post(&mut self, peer: usize, work: Work) {
        let d = Descriptor {
            queue_pair: 0,
            peer: peer as u32,
            signalled: false,
            count: None,
            count_source: false,
            work,
        };
        self.queues[0].post(&d).expect("room");
        self.queues[0].ring();
    }

    fn put(&mut self, peer: usize, to: usize, from: usize, words: usize) {
        let source = Source::Memory(self.local(0, from), words as u32 * 8);
        self.post(
            peer,
            Work::Put {
                source,
                remote: self.remote(peer, to),
                signal: None,
            },
        );
    }

    fn put_word(&mut self, peer: usize, to: usize, value: u64) {
        let inline = Inline::new(&value.to_le_bytes()).expect("fits");
        self.post(
            peer,
            Work::Put {
                source: Source::Inline(inline),
                remote: self.remote(peer, to),
                signal: None,
            },
        );
    }

    fn atomic(&mut self, peer: usize, to: usize, op: AtomicOp, operand: u64) {
        let atomic = Atomic {
            op,
            width: Width::W8,
            fetch: Fetch::No,
            remote: self.remote(peer, to),
            operand,
            comparand: 0,
        };
        self.post(peer, Work::Atomic(atomic));
    }

    /// What quiet posts, see `QueuePair::quiet`.
    fn flush_all(&mut self) {
        for peer in 0..self.heaps.len() {
            self.post(peer, Work::Fence);
        }
        self.step();
    }

    fn step(&mut self) {
        while self.adapter.step(self.now) {}
    }

    /// Lets the time pass until `seen` holds after a step; false: the hold is over.
    fn until(&mut self, seen: impl Fn(&Bench) -> bool) -> bool {
        let end = self.now + HOLD;
        while self.now <= end {
            self.step();
            if seen(self) {
                return true;
            }
            self.now += 1;
        }
        false
    }

    fn data_is(&self, rank: usize, words: usize, value: u64) -> bool {
        (DATA..DATA + words).all(|w| self.word(rank, w) == value)
    }
}

/// How many seeds show a flag without its data, for a program that gets `bench` to write both.
fn overtaken(program: impl Fn(&mut Bench)) -> u64 {
    (0..SEEDS)
        .filter(|seed| {
            let mut b = Bench::seeded(*seed);
            for w in 0..WORDS {
                b.set(0, w, 7);
            }
            program(&mut b);
            assert!(b.until(|b| b.word(1, FLAG) != 0), "the flag comes in time");
            !b.data_is(1, 40, 7)
        })
        .count() as u64
}

#[test]
fn a_flag_overtakes_its_data_without_a_fence_and_never_with_one() {
    let program = |fence: Option<usize>, atomic_flag: bool| {
        overtaken(|b| {
            b.put(1, DATA, DATA, 40);
            if let Some(peer) = fence {
                b.post(peer, Work::Fence);
            }
            if atomic_flag {
                b.atomic(1, FLAG, AtomicOp::Add, 1);
            } else {
                b.put_word(1, FLAG, 1);
            }
        })
    };
    for atomic_flag in [false, true] {
        assert_eq!(program(Some(1), atomic_flag), 0);
        let caught = program(None, atomic_flag);
        assert!(caught > SEEDS / 4, "{caught} of {SEEDS} seeds");
        let wrong_target = program(Some(2), atomic_flag);
        assert!(wrong_target > SEEDS / 4, "a fence is for one target");
    }
}

#[test]
fn data_written_by_atomics_needs_the_fence_too() {
    let program = |fenced: bool| {
        overtaken(|b| {
            for w in 0..40 {
                b.atomic(1, DATA + w, AtomicOp::Write, 7);
            }
            if fenced {
                b.post(1, Work::Fence);
            }
            b.put_word(1, FLAG, 1);
        })
    };
    assert_eq!(program(true), 0);
    assert!(program(false) > SEEDS / 4);
}

#[test]
fn a_signal_stays_behind_its_own_data_but_not_behind_that_of_others() {
    let signalling = |b: &mut Bench, words: usize| {
        let signal = Signal {
            remote: b.remote(1, FLAG),
            op: SignalOp::Set,
            value: 1,
        };
        let source = Source::Memory(b.local(0, DATA), words as u32 * 8);
        let remote = b.remote(1, if words == 0 { 900 } else { DATA });
        b.post(
            1,
            Work::Put {
                source,
                remote,
                signal: Some(signal),
            },
        );
    };
    assert_eq!(overtaken(|b| signalling(b, 40)), 0);
    let others = overtaken(|b| {
        b.put(1, DATA, DATA, 40);
        signalling(b, 0);
    });
    assert!(others > SEEDS / 4);
}

#[test]
fn after_quiet_everything_is_there_and_before_it_not_always() {
    let mut early = 0;
    for seed in 0..SEEDS {
        let mut b = Bench::seeded(seed);
        b.set(0, DATA, 3);
        for peer in 1..3 {
            b.put(peer, DATA, DATA, 1);
            b.atomic(peer, DATA + 1, AtomicOp::Add, 4);
        }
        b.step();
        assert!(b.queues[0].is_quiet(), "the adapter has taken everything");
        early += u64::from((1..3).all(|p| b.word(p, DATA) == 3 && b.word(p, DATA + 1) == 4));
        b.flush_all();
        for peer in 1..3 {
            assert_eq!((b.word(peer, DATA), b.word(peer, DATA + 1)), (3, 4));
        }
    }
    assert!(early < SEEDS / 4, "{early}: most hold something");
}

#[test]
fn nothing_is_held_for_ever_or_lost() {
    for seed in 0..SEEDS {
        let mut b = Bench::seeded(seed);
        for w in 0..40 {
            b.set(0, DATA + w, 5);
        }
        b.put(1, DATA, DATA, 40);
        b.atomic(2, FLAG, AtomicOp::Add, 9);
        // Nobody posts, nobody rings: the adapter knows when to look again.
        b.step();
        while let Some(due) = b.adapter.next_due() {
            assert!(due > b.now && due <= 1 + HOLD);
            b.now = due;
            b.step();
        }
        assert!(b.data_is(1, 40, 5));
        assert_eq!(b.word(2, FLAG), 9);
        // Nor when the adapter stops.
        b.put_word(1, FLAG, 8);
        b.step();
        b.adapter.stop();
        assert_eq!(b.word(1, FLAG), 8);
    }
}

#[test]
fn a_bad_operation_fails_as_it_does_elsewhere_and_a_region_that_goes_takes_its_writes_along() {
    let mut b = Bench::seeded(1);
    b.put(1, WORDS - 1, DATA, 2);
    let nobody = Work::Put {
        source: Source::Inline(Inline::default()),
        remote: b.remote(1, 0),
        signal: None,
    };
    b.post(7, nobody);
    b.step();
    let failed: Vec<_> = b.queues[0]
        .take_errors()
        .iter()
        .map(|c| (c.ticket, c.status))
        .collect();
    assert_eq!(failed, [(0, Status::RemoteBounds), (1, Status::Peer)]);
    assert_eq!(b.adapter.next_due(), None);
    for seed in 0..SEEDS {
        let mut b = Bench::seeded(seed);
        b.put_word(1, FLAG, 1);
        b.adapter.step(0);
        let before = b.word(1, FLAG);
        assert!(b.domains[1].keys().deregister(b.keys[1]));
        b.now += HOLD;
        b.step();
        assert_eq!(b.word(1, FLAG), before);
        assert_eq!(b.adapter.next_due(), None);
    }
}

#[test]
fn an_arrival_is_counted_when_it_is_there() {
    let counter = CounterId(3);
    let mut late = 0;
    for seed in 0..SEEDS {
        let mut b = Bench::seeded(seed);
        let here = b.heaps[1].cast::<u8>();
        // SAFETY: the heap lives for ever.
        let key = unsafe {
            b.domains[1]
                .keys()
                .register(Memory::here(here, HEAP), Rights::ALL, Some(counter))
        }
        .expect("room");
        b.keys[1] = key;
        for w in 0..40 {
            b.set(0, DATA + w, 6);
        }
        b.put(1, DATA, DATA, 40);
        b.step();
        let count = |b: &Bench| b.domains[1].counters().value(counter) == Some(1);
        late += u64::from(!count(&b));
        assert!(b.until(count));
        assert!(b.data_is(1, 40, 6));
    }
    assert!(late > 0);
}

#[test]
fn a_source_is_stale_without_an_invalidation_and_never_with_one() {
    // What arrives of a source that is put, changed and put again.
    let second = |invalidate: bool, by_hand: bool| {
        let mut b = Bench::new(DeviceMemory {
            invalidate,
            ..DeviceMemory::default()
        });
        b.set(0, DATA, 1);
        b.put(1, DATA, DATA, 1);
        b.flush_all();
        b.set(0, DATA, 2);
        b.set(0, DATA + 1, 2);
        if by_hand {
            b.invalidations.add(0);
        }
        b.put(1, DATA, DATA, 2);
        b.flush_all();
        (b.word(1, DATA), b.word(1, DATA + 1))
    };
    assert_eq!(second(true, false), (2, 2), "every post invalidates");
    assert_eq!(second(false, true), (2, 2));
    // The neighbour was never put before, but its line was.
    assert_eq!(second(false, false), (1, 0));
}

#[test]
fn a_message_is_as_stale_as_its_source() {
    let texts = |by_hand: bool| {
        let mut b = Bench::new(DeviceMemory {
            invalidate: false,
            ..DeviceMemory::default()
        });
        let mut got = Vec::new();
        for n in 1..3 {
            b.set(0, DATA, n);
            if by_hand {
                b.invalidations.add(0);
            }
            let source = Source::Memory(b.local(0, DATA), 8);
            b.post(
                1,
                Work::Send {
                    source,
                    port: 0,
                    tag: 0,
                },
            );
            b.step();
            let m = b.domains[1].inbox().and_then(|i| i.receive());
            got.push(m.expect("sent").bytes()[0]);
        }
        got
    };
    assert_eq!(texts(true), [1, 2]);
    assert_eq!(texts(false), [1, 1]);
}

#[test]
fn cached_memory_meets_the_adapter_at_kernel_boundaries_only() {
    let mut b = Bench::seeded(0);
    let mut program = vec![0u64; 64];
    let mut image = vec![0u64; 64];
    let p = program.as_mut_ptr();
    // SAFETY: both vectors outlive the bench's last step, and are accessed through these pointers.
    let mut cached = unsafe { Cached::new(p.cast(), image.as_mut_ptr().cast(), 512) };
    let set = |i: usize, v: u64| {
        assert!(i < 64);
        // SAFETY: in bounds.
        unsafe { p.add(i).write_volatile(v) }
    };
    let get = |i: usize| {
        assert!(i < 64);
        // SAFETY: in bounds.
        unsafe { p.add(i).read_volatile() }
    };
    // SAFETY: both vectors outlive the bench's last step, and are accessed through these pointers.
    let key = unsafe {
        b.domains[0]
            .keys()
            .register(cached.memory(), Rights::ALL, None)
    }
    .expect("room");
    let put = |b: &mut Bench| {
        let source = Source::Memory(
            Local {
                address: p as u64,
                key,
            },
            8,
        );
        let remote = b.remote(1, DATA);
        b.post(
            1,
            Work::Put {
                source,
                remote,
                signal: None,
            },
        );
        b.flush_all();
        b.word(1, DATA)
    };
    set(0, 1);
    assert_eq!(put(&mut b), 0, "the program's store is in its cache");
    cached.flush();
    assert_eq!(put(&mut b), 1);
    set(0, 2);
    assert_eq!(put(&mut b), 1);
    // What arrives is not seen before the next kernel.
    let inline = Inline::new(&9u64.to_le_bytes()).expect("fits");
    b.post(
        0,
        Work::Put {
            source: Source::Inline(inline),
            remote: Remote {
                address: p as u64 + 8,
                key,
            },
            signal: None,
        },
    );
    b.flush_all();
    assert_eq!(get(1), 0);
    cached.boundary();
    assert_eq!(get(1), 9);
    assert_eq!(put(&mut b), 2);
    // Uncached memory is the image itself: the heap of rank 0.
    b.set(0, DATA, 4);
    b.put(1, DATA, DATA, 1);
    b.flush_all();
    assert_eq!(b.word(1, DATA), 4);
    assert!(b.domains[0].keys().deregister(key));
}

/// Words that mostly mean something, from words that mean nothing: keys of the heaps and addresses around their
/// ends.
fn words_from(seed: &Words, b: &Bench) -> Words {
    let mut w = *seed;
    let mut pick = w[0] >> 32;
    // Mostly true, and independent.
    let mut tame = || {
        pick = pick.rotate_right(3);
        pick & 7 != 0
    };
    let [opcode, flags, inline, detail] = (w[0] as u32).to_le_bytes();
    if tame() {
        let flags = flags & detail & 15;
        let inline = if flags & 2 != 0 { inline % 26 } else { 0 };
        let head = [opcode % 10, flags, inline, (detail >> 4) % 9];
        w[0] = w[0] & !0xffff_ffff | u64::from(u32::from_le_bytes(head));
    }
    if tame() {
        w[1] %= 4;
    }
    let rank = (w[1] % 3) as usize;
    let near = |rank: usize, x: u64| {
        let end = if x & 1 == 0 { HEAP as u64 } else { 0 };
        b.heaps[rank] as u64 + end + x / 2 % 160 - 80
    };
    if tame() {
        w[2] = near(rank, w[2]);
        w[3] = w[3] & !0xffff_ffff | u64::from(b.keys[rank].0);
    }
    if tame() {
        w[4] = (w[4] % 96) | (u64::from(b.keys[0].0) << 32);
        w[5] = near(0, w[5]);
    }
    if tame() {
        w[6] = near(rank, w[6]) & !7;
        w[3] = w[3] & 0xffff_ffff | u64::from(b.keys[rank].0) << 32;
    }
    w
}

proptest::proptest! {
    /// Whatever lies in a send queue, on device memory or not: every descriptor completes once, in time or when the
    /// adapter stops, and nothing is written next to the heaps.
    #[test]
    fn any_descriptors_complete_and_write_within_the_heaps_only(
        queue in proptest::collection::vec(
            proptest::array::uniform8(proptest::num::u64::ANY), 1..60),
        on_device in proptest::bool::ANY, invalidate in proptest::bool::ANY
    ) {
        let device = DeviceMemory { invalidate, hold_ns: HOLD, ..DeviceMemory::default() };
        let mut b = Bench::with(on_device.then_some(device));
        for seed in &queue {
            let words = words_from(seed, &b);
            b.queues[0].post_words(&words).expect("room");
            b.queues[0].ring();
            b.step();
        }
        // Messages to a full inbox are tried again for ever; receive them.
        for _ in 0..40 {
            b.now += HOLD;
            for d in b.domains.iter() {
                while d.inbox().is_some_and(|i| i.receive().is_some()) {}
            }
            b.step();
        }
        // What waits for counters that nobody moves.
        b.adapter.stop();
        proptest::prop_assert!(b.queues[0].is_quiet());
        let mut tickets = Vec::new();
        while let Some(c) = b.queues[0].poll() {
            tickets.push(c.ticket);
        }
        tickets.sort_unstable();
        let all = tickets.len();
        tickets.dedup();
        proptest::prop_assert_eq!(tickets.len(), all);
        for heap in &b.heaps {
            for at in [-GUARD, HEAP as isize] {
                // SAFETY: the guards belong to the allocation of the heap.
                let guard = unsafe {
                    core::slice::from_raw_parts(heap.cast::<u8>().offset(at), GUARD as usize)
                };
                proptest::prop_assert!(guard.iter().all(|b| *b == 0));
            }
        }
    }
}
