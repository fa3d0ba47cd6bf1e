//! Two processes, each with an emulated adapter of its own, work on memory that both have mapped.
//!
//! The second process is this test program again. A variable of its environment makes it run one test only.
#![cfg(not(loom))]

use hetmp_nic::descriptor::{
    Atomic, AtomicOp, CounterId, Fetch, Key, Remote, Signal, SignalOp, Status, Width, Work,
};
use hetmp_nic::device_memory::board::{site, Board, Kind, BOARD_BYTES};
use hetmp_nic::device_memory::DeviceMemory;
use hetmp_nic::engine::emulated::{self, Emulated, Model};
use hetmp_nic::engine::{Domain, Engine, QueuePair, Sizes, TemplateKeys};
use hetmp_nic::keys::{Memory, Rights};
use memmap2::MmapOptions;
use std::mem::ManuallyDrop;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of each rank's heap.
const HEAP: usize = 1 << 20;
/// Bytes before the heaps. In the first page, each process writes the addresses at which it has mapped the heaps. The
/// boards follow.
const HEAD: usize = 4096 + 2 * BOARD_BYTES;
const FILE: &str = "HETMP_NIC_TEST_FILE";
/// Long enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The shared file in memory, as this process has mapped it.
struct Shared {
    start: *mut u8,
}

impl Shared {
    fn map(fd: i32) -> Shared {
        let len = HEAD + 2 * HEAP;
        let map = MmapOptions::new().len(len).map_raw(fd).expect("a mapping");
        // It is never unmapped.
        let start = ManuallyDrop::new(map).as_mut_ptr();
        Shared { start }
    }

    /// The word at `offset` in the file: first the head, then the heaps.
    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset + 8 <= HEAD + 2 * HEAP && offset % 8 == 0);
        // SAFETY: in bounds and aligned. Both processes access words atomically, or by the engine.
        unsafe { AtomicU64::from_ptr(self.start.add(offset).cast()) }
    }

    fn await_word(&self, offset: usize, what: impl Fn(u64) -> bool) -> u64 {
        let until = Instant::now() + PATIENCE;
        loop {
            let v = self.word(offset).load(Ordering::Acquire);
            if what(v) {
                return v;
            }
            assert!(Instant::now() < until, "word {offset} stays {v}");
            std::thread::yield_now();
        }
    }
}

/// One of the two ranks.
struct Rank {
    rank: usize,
    shared: Shared,
    engine: Emulated,
    keys: TemplateKeys,
    /// First address of each heap, as its owner sees it.
    heaps: [u64; 2],
    boards: Arc<[Board]>,
}

impl Rank {
    fn join(rank: usize, shared: Shared, model: Model) -> Rank {
        // SAFETY: within the mapping.
        let heap = |r: usize| unsafe { shared.start.add(HEAD + r * HEAP) };
        shared
            .word(rank * 8)
            .store(heap(rank) as u64, Ordering::Release);
        let mut heaps = [0; 2];
        let mut domains = Vec::new();
        let mut keys = TemplateKeys::default();
        for (r, base) in heaps.iter_mut().enumerate() {
            *base = shared.await_word(r * 8, |v| v != 0);
            let domain = if r == rank {
                Domain::new(Sizes::default())
            } else {
                Domain::view(Sizes::default())
            };
            let memory = Memory {
                here: heap(r),
                len: HEAP,
                base: *base,
            };
            // SAFETY: the mapping is never unmapped; the test accesses it by atomic words.
            let key = unsafe { domain.keys().register(memory, Rights::ALL, None) }.expect("room");
            keys = TemplateKeys {
                local: key,
                remote: key,
            };
            domains.push(Arc::new(domain));
        }
        let engine = emulated::start_one(rank as u32, domains.into(), model).expect("a thread");
        let boards = (0..2)
            // SAFETY: within the mapping, which was zero and is never unmapped.
            .map(|r| unsafe { Board::at(shared.start.add(4096 + r * BOARD_BYTES)) })
            .collect();
        let engine = engine.checking(Arc::clone(&boards));
        assert_eq!((engine.rank(), engine.ranks()), (rank as u32, 2));
        Rank {
            rank,
            shared,
            engine,
            keys,
            heaps,
            boards,
        }
    }

    fn queue_pair(&self) -> QueuePair {
        self.engine.queue_pair(16, self.keys)
    }

    fn at(&self, rank: usize, offset: usize) -> u64 {
        self.heaps[rank] + offset as u64
    }

    fn remote(&self, offset: usize) -> Remote {
        Remote {
            address: self.at(1 - self.rank, offset),
            key: self.keys.remote,
        }
    }

    /// A word of a heap, as this process sees it.
    fn word(&self, rank: usize, offset: usize) -> &AtomicU64 {
        self.shared.word(HEAD + rank * HEAP + offset)
    }

    fn await_word(&self, offset: usize, value: u64) {
        self.shared
            .await_word(HEAD + self.rank * HEAP + offset, |v| v == value);
    }
}

/// Runs `body` as rank 0 here and as rank 1 in another process, which runs the test `name`.
fn two(name: &str, model: Model, body: impl Fn(&Rank)) {
    if let Ok(path) = std::env::var(FILE) {
        let file = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .expect("the file of rank 0");
        let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
        body(&Rank::join(1, Shared::map(fd), model));
        return;
    }
    // SAFETY: the name is a string of this program; no other preconditions.
    let fd = unsafe { libc::memfd_create(c"hetmp-nic-test".as_ptr(), libc::MFD_CLOEXEC) };
    assert!(fd >= 0);
    // SAFETY: the descriptor was opened by `memfd_create` just before.
    assert_eq!(unsafe { libc::ftruncate(fd, (HEAD + 2 * HEAP) as i64) }, 0);
    let mut other = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", name, "--nocapture"])
        .env(FILE, format!("/proc/{}/fd/{fd}", std::process::id()))
        .stdout(Stdio::null())
        .spawn()
        .expect("this program again");
    body(&Rank::join(0, Shared::map(fd), model));
    let until = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = other.try_wait().expect("a child") {
            break status;
        }
        if Instant::now() > until {
            let _ = other.kill();
            panic!("rank 1 does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(status.success(), "rank 1: {status}");
    // SAFETY: `memfd_create` opened the descriptor in this function, and it is not used after this.
    unsafe { libc::close(fd) };
}

fn add(remote: Remote, operand: u64) -> Atomic {
    Atomic {
        op: AtomicOp::Add,
        width: Width::W8,
        fetch: Fetch::No,
        remote,
        operand,
        comparand: 0,
    }
}

/// Both ranks at the same time: puts with signals to each other, gets of the data that arrived, and atomics on one
/// word.
fn exchange(r: &Rank) {
    const ROUNDS: u64 = 200;
    const WORDS: usize = 512;
    let (me, other) = (r.rank, 1 - r.rank);
    let mut qp = r.queue_pair();
    for round in 1..=ROUNDS {
        let value = round << 8 | me as u64;
        for w in 0..WORDS {
            r.word(me, 8192 + w * 8).store(value, Ordering::Relaxed);
        }
        let signal = Signal {
            remote: r.remote(0),
            op: SignalOp::Set,
            value: round,
        };
        let bytes = (WORDS * 8) as u32;
        qp.put_signal(
            other as u32,
            r.at(other, 32768),
            r.at(me, 8192),
            bytes,
            signal,
        );
        r.await_word(0, round);
        let came = round << 8 | other as u64;
        for w in 0..WORDS {
            assert_eq!(r.word(me, 32768 + w * 8).load(Ordering::Relaxed), came);
        }
        // The peer still has the data that it put here, and a get fetches the same data.
        qp.get(other as u32, r.at(other, 8192), r.at(me, 65536), bytes);
        assert_eq!(qp.fetch(other as u32, add(r.remote(8), 1)), Ok(round - 1));
        qp.quiet().expect("valid");
        assert_eq!(
            r.word(me, 65536 + 8 * (WORDS - 1)).load(Ordering::Relaxed),
            came
        );
        // The next round overwrites data that the peer may still be reading, so tell the peer that this round is done.
        qp.put_inline(other as u32, r.at(other, 16), &round.to_le_bytes())
            .expect("fits");
        r.await_word(16, round);
    }
    qp.quiet().expect("valid");
    // Both ranks add to a word at rank 0. The sum is complete only when both are done.
    for _ in 0..ROUNDS {
        let word = Remote {
            address: r.at(0, 24),
            key: r.keys.remote,
        };
        qp.post(0, false, Work::Atomic(add(word, 1)));
        qp.ring();
    }
    qp.quiet().expect("valid");
    if me == 0 {
        r.await_word(24, 2 * ROUNDS);
    }
}

#[test]
fn two_processes_reach_each_other_through_adapters_of_their_own() {
    two(
        "two_processes_reach_each_other_through_adapters_of_their_own",
        Model::default(),
        exchange,
    );
}

#[test]
fn so_they_do_over_a_link_that_reorders() {
    let model = Model {
        latency_ns: 2_000,
        bytes_per_us: 10_000,
        jitter_ns: 5_000,
        seed: 3,
        device: None,
    };
    two("so_they_do_over_a_link_that_reorders", model, exchange);
}

fn device() -> Model {
    Model {
        device: Some(DeviceMemory {
            seed: 11,
            hold_ns: 3_000,
            ..DeviceMemory::default()
        }),
        ..Model::default()
    }
}

#[test]
fn a_program_that_orders_is_right_on_device_memory() {
    two(
        "a_program_that_orders_is_right_on_device_memory",
        device(),
        exchange,
    );
}

/// Rank 0 writes data and a flag, with a fence and without. Rank 1 waits for the flag, and asks the checker for writes
/// that were not ordered before it.
#[test]
fn a_flag_without_a_fence_is_named_at_the_rank_that_waited_for_it() {
    two(
        "a_flag_without_a_fence_is_named_at_the_rank_that_waited_for_it",
        device(),
        |r| {
            let mut qp = r.queue_pair();
            assert!(qp.is_checked());
            // Sites are the same in both processes, although each may have loaded this program at another address.
            let code = site(exchange as *const () as usize);
            for (round, fenced) in [(1u64, true), (2, false), (3, true), (4, false)] {
                if r.rank == 0 {
                    qp.at_site(code + round)
                        .put(1, r.at(1, 4096), r.at(0, 0), 1000);
                    if fenced {
                        qp.fence(1);
                    }
                    qp.at_site(code + 200 + round)
                        .put_inline(1, r.at(1, 64), &round.to_le_bytes())
                        .expect("fits");
                    qp.quiet().expect("valid");
                    // Wait until rank 1 has looked.
                    r.await_word(64, round);
                    continue;
                }
                r.await_word(64, round);
                let races = r.boards[1].observe(r.at(1, 64), 8);
                let sites: Vec<_> = races
                    .iter()
                    .map(|x| (x.initiator, x.first.kind, x.first.site, x.flag.site))
                    .collect();
                if fenced {
                    assert_eq!(sites, []);
                } else {
                    assert_eq!(sites, [(0, Kind::Put, code + round, code + 200 + round)]);
                    assert_eq!(races[0].first.address, r.at(1, 4096));
                    assert_eq!(races[0].first.len, 1000);
                }
                // Site 0 marks internal traffic, which the checker ignores.
                qp.at_site(0)
                    .put_inline(0, r.at(0, 64), &round.to_le_bytes())
                    .expect("fits");
                qp.quiet().expect("valid");
            }
        },
    );
}

#[test]
fn what_does_not_cross_processes_is_refused_and_touches_nothing() {
    two(
        "what_does_not_cross_processes_is_refused_and_touches_nothing",
        Model::default(),
        |r| {
            let other = 1 - r.rank as u32;
            let mut qp = r.queue_pair();
            qp.send_inline(other, 0, 1, b"hello").expect("fits");
            let count = Work::Count {
                counter: CounterId(0),
                add: 1,
            };
            qp.post(other, false, count);
            let beyond = r.at(1 - r.rank, HEAP - 4);
            qp.put(other, beyond, r.at(r.rank, 0), 8);
            // A key that the owner never gave out is also refused in the view of its memory.
            let stale = Remote {
                key: Key(r.keys.remote.0 ^ 1 << 31),
                ..r.remote(0)
            };
            qp.post(other, false, Work::Atomic(add(stale, 1)));
            qp.put_inline(other, r.at(1 - r.rank, 0), &7u64.to_le_bytes())
                .expect("fits");
            let failed = qp.quiet().expect_err("four of the five").0;
            let seen: Vec<_> = failed
                .iter()
                .map(|c| (c.ticket, c.status, c.value))
                .collect();
            assert_eq!(
                seen,
                [
                    (0, Status::Unsupported, u64::from(other)),
                    (1, Status::Unsupported, u64::from(other)),
                    (2, Status::RemoteBounds, beyond),
                    (3, Status::RemoteKey, u64::from(stale.key.0)),
                ]
            );
            r.await_word(0, 7);
            assert_eq!(r.word(r.rank, HEAP - 8).load(Ordering::Relaxed), 0);
            assert!(r
                .engine
                .domain()
                .inbox()
                .expect("its own")
                .receive()
                .is_none());
        },
    );
}
