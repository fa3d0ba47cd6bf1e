//! Failures that only sockets have: strangers that connect, ranks that never connect, and peers that are lost.
#![cfg(not(loom))]

use hetmp_core::park::Policy;
use hetmp_nic::descriptor::{Atomic, AtomicOp, Fetch, Remote, Status, Width, Work};
use hetmp_nic::engine::tcp::{connect, Tcp};
use hetmp_nic::engine::{Domain, Engine, Sizes, TemplateKeys};
use hetmp_nic::keys::{Memory, Rights};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a wait that goes wrong may take; a right one ends by what happens.
const PATIENCE: Duration = Duration::from_secs(60);

fn listeners(n: usize) -> (Vec<TcpListener>, Vec<SocketAddr>) {
    let l: Vec<_> = (0..n)
        .map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"))
        .collect();
    let a = l.iter().map(|l| l.local_addr().expect("bound")).collect();
    (l, a)
}

#[test]
fn strangers_are_turned_away_and_the_job_connects_all_the_same() {
    let (l, addresses) = listeners(2);
    let within = PATIENCE;
    // One stranger sends noise, the other one sends a greeting with the wrong secret.
    let mut noise = TcpStream::connect(addresses[0]).expect("listening");
    noise.write_all(&[0x55; 100]).expect("sent");
    std::thread::scope(|s| {
        let wrong = s.spawn(|| {
            let (own, _) = listeners(1);
            connect::mesh(1, &own[0], &addresses, &[1; 32], Duration::from_secs(5))
        });
        let real = s.spawn(|| {
            // Sleep, so that the strangers' connections are in the queue before this rank's.
            std::thread::sleep(Duration::from_millis(20));
            connect::mesh(1, &l[1], &addresses, &[2; 32], within)
        });
        let mine = connect::mesh(0, &l[0], &addresses, &[2; 32], within).expect("connected");
        let theirs = real.join().expect("no panic").expect("connected");
        assert_eq!(
            mine[1].as_ref().map(|s| s.peer_addr().ok()),
            theirs[0].as_ref().map(|s| s.local_addr().ok())
        );
        assert!(wrong.join().expect("no panic").is_err());
    });
}

#[test]
fn who_takes_a_ranks_place_learns_no_secret_and_cannot_send_proofs_back() {
    let (l, addresses) = listeners(2);
    let secret: connect::Secret = core::array::from_fn(|i| i as u8 + 1);
    let within = Duration::from_secs(10);
    let mut heard = Vec::new();
    std::thread::scope(|s| {
        let real = s.spawn(|| connect::mesh(1, &l[1], &addresses, &secret, within));
        // In the place of rank 0: sends back what it hears.
        let (mut caller, _) = l[0].accept().expect("the rank calls");
        let mut greeting = [0; 48];
        caller.read_exact(&mut greeting).expect("a greeting");
        heard.extend(greeting);
        caller.write_all(&greeting).expect("sent");
        caller.write_all(&greeting[..32]).expect("sent");
        let _ = caller.read_to_end(&mut heard);
        assert!(real.join().expect("no panic").is_err());
    });
    assert!(heard.len() == 48 && !heard.windows(8).any(|w| w == &secret[8..16]));
    // In the place of rank 1: with its own proof the listener is not content.
    std::thread::scope(|s| {
        let within = Duration::from_millis(500);
        let (l, addresses) = (&l, &addresses);
        let real = s.spawn(move || connect::mesh(0, &l[0], addresses, &secret, within));
        let mut stream = TcpStream::connect(addresses[0]).expect("listening");
        let mut greeting = heard.clone();
        greeting.truncate(48);
        stream.write_all(&greeting).expect("sent");
        let mut answer = [0; 80];
        stream
            .read_exact(&mut answer)
            .expect("a greeting and a proof");
        stream.write_all(&answer[48..]).expect("sent");
        assert_eq!(stream.read(&mut answer).expect("closed"), 0);
        assert!(real.join().expect("no panic").is_err());
    });
}

#[test]
fn callers_who_say_nothing_keep_nobody_waiting() {
    let (l, addresses) = listeners(2);
    // More connections than are served at a time, all before that of the awaited rank. Some send half a greeting.
    let mut idle: Vec<TcpStream> = (0..100)
        .map(|_| TcpStream::connect(addresses[0]).expect("listening"))
        .collect();
    for stream in idle.iter_mut().step_by(3) {
        stream.write_all(b"hetmpnic").expect("sent");
    }
    // If each stranger in turn were given a second, all together would take longer.
    let within = Duration::from_secs(90);
    std::thread::scope(|s| {
        let real = s.spawn(|| connect::mesh(1, &l[1], &addresses, &[2; 32], within));
        let mine = connect::mesh(0, &l[0], &addresses, &[2; 32], within).expect("connected");
        assert!(mine[1].is_some());
        assert!(real.join().expect("no panic").is_ok());
    });
}

#[test]
fn a_rank_that_does_not_come_ends_the_wait() {
    let (l, addresses) = listeners(2);
    let result = connect::mesh(0, &l[0], &addresses, &[0; 32], Duration::from_millis(100));
    assert!(result.is_err());
}

#[test]
fn a_peer_that_is_gone_ends_the_wait_for_it() {
    let (l, addresses) = listeners(2);
    let within = PATIENCE;
    let mut heap = vec![0u64; 8];
    let domain = Arc::new(Domain::new(Sizes::default()));
    std::thread::scope(|s| {
        let peer = s.spawn(|| connect::mesh(1, &l[1], &addresses, &[2; 32], within));
        let streams = connect::mesh(0, &l[0], &addresses, &[2; 32], within).expect("connected");
        let engine = Tcp::start(0, domain.clone(), streams).expect("started");
        let memory = Memory::here(heap.as_mut_ptr().cast(), 64);
        // SAFETY: the heap outlives the engine.
        let key = unsafe { engine.register(memory, Rights::ALL, None) }.expect("room");
        let keys = TemplateKeys {
            local: key,
            remote: key,
        };
        let mut qp = engine.queue_pair(4, keys);
        qp.put(1, memory.base, memory.base, 8);
        // The peer never answers, and dies after a while.
        let streams = peer.join().expect("no panic").expect("connected");
        std::thread::sleep(Duration::from_millis(20));
        drop(streams);
        let failed = qp.quiet().expect_err("lost").0;
        assert_eq!((failed[0].status, failed[0].value), (Status::PeerLost, 1));
        qp.put(1, memory.base, memory.base, 8);
        let failed = qp.quiet().expect_err("still lost").0;
        assert_eq!(failed[0].status, Status::PeerLost);
        qp.put(0, memory.base, memory.base, 8);
        assert_eq!(qp.quiet(), Ok(()), "itself it still reaches");
    });
}

/// Two ranks in this process, each with a heap of `words` words, all registered under one key.
fn pair(words: usize) -> ([Tcp; 2], [Vec<u64>; 2], TemplateKeys) {
    let (l, addresses) = listeners(2);
    let within = PATIENCE;
    let mut heaps = [vec![0u64; words], vec![0u64; words]];
    let mut keys = TemplateKeys::default();
    let engines = std::thread::scope(|s| {
        let other = s.spawn(|| connect::mesh(1, &l[1], &addresses, &[2; 32], within));
        let mine = connect::mesh(0, &l[0], &addresses, &[2; 32], within).expect("connected");
        let theirs = other.join().expect("no panic").expect("connected");
        let mut start = |rank: usize, streams| {
            let domain = Arc::new(Domain::new(Sizes::default()));
            let engine = Tcp::start(rank as u32, domain, streams).expect("started");
            let memory = Memory::here(heaps[rank].as_mut_ptr().cast(), words * 8);
            // SAFETY: the tests that call `pair` drop the engines before the heaps, and read the heaps by atomics.
            let key = unsafe { engine.register(memory, Rights::ALL, None) }.expect("room");
            keys = TemplateKeys {
                local: key,
                remote: key,
            };
            engine
        };
        [start(0, mine), start(1, theirs)]
    });
    (engines, heaps, keys)
}

/// A thread that waits moves the sockets' data itself. When it then computes, no thread does so: the engine's own
/// thread must notice that and take over.
#[test]
fn a_rank_that_computes_after_it_waited_serves_its_peers() {
    let (engines, heaps, keys) = pair(8);
    let at = |rank: usize| heaps[rank].as_ptr() as u64;
    let mut mine = engines[0].queue_pair(8, keys);
    let mut theirs = engines[1].queue_pair(8, keys);
    for round in 1..=20u64 {
        for _ in 0..50 {
            mine.put(1, at(1), at(0), 8);
            mine.quiet().expect("valid");
        }
        // From here on, rank 0 makes no call.
        theirs
            .put_inline(0, at(0) + 8, &round.to_le_bytes())
            .expect("fits");
        theirs.quiet().expect("valid");
        // SAFETY: an aligned word of a heap that lives until the end of the test.
        let word = unsafe { AtomicU64::from_ptr(heaps[0].as_ptr().cast_mut().add(1)) };
        assert_eq!(word.load(Ordering::Acquire), round);
    }
    drop((mine, theirs, engines));
}

/// Several threads wait. One moves the sockets' data, the others sleep. When that thread is done, another one must take
/// over.
fn beside() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 150;
    let (engines, heaps, keys) = pair(8);
    let word = Remote {
        address: heaps[1].as_ptr() as u64,
        key: keys.remote,
    };
    std::thread::scope(|s| {
        for thread in 0..THREADS {
            let mut qp = engines[0].queue_pair(4, keys);
            s.spawn(move || {
                for round in 0..ROUNDS {
                    let add = Atomic {
                        op: AtomicOp::Add,
                        width: Width::W8,
                        fetch: Fetch::No,
                        remote: word,
                        operand: 1,
                        comparand: 0,
                    };
                    if (round + thread) % 3 == 0 {
                        assert!(qp.fetch(1, add).expect("valid") < THREADS * ROUNDS);
                    } else {
                        qp.post(1, false, Work::Atomic(add));
                        qp.ring();
                    }
                    if round % 2 == 0 {
                        qp.quiet().expect("valid");
                    }
                }
                qp.quiet().expect("valid");
            });
        }
    });
    // SAFETY: an aligned word of a heap that lives until the end of the test.
    let sum = unsafe { AtomicU64::from_ptr(heaps[1].as_ptr().cast_mut()) };
    assert_eq!(sum.load(Ordering::Acquire), THREADS * ROUNDS);
    drop(engines);
}

#[test]
fn initiators_that_wait_beside_each_other_all_get_on() {
    // First with spinning, then as under a passive wait policy. This setting is the whole program's; its other
    // tests work with both.
    for spins in [300_000, 0] {
        Policy::set_spins(spins, spins.min(100));
        beside();
    }
    Policy::set_spins(300_000, 100);
}

/// A rank that waits for a change of its memory calls `progress` in a loop. Bytes then arrive without the engine's
/// thread.
#[test]
fn a_rank_that_looks_for_progress_takes_what_arrives() {
    let (engines, heaps, keys) = pair(8);
    let mut qp = engines[1].queue_pair(8, keys);
    // SAFETY: an aligned word of a heap that lives until the end of the test.
    let word = unsafe { AtomicU64::from_ptr(heaps[0].as_ptr().cast_mut()) };
    for round in 1..=200u64 {
        qp.put_inline(0, heaps[0].as_ptr() as u64, &round.to_le_bytes())
            .expect("fits");
        let until = Instant::now() + PATIENCE;
        while word.load(Ordering::Acquire) != round {
            engines[0].progress();
            assert!(Instant::now() < until, "round {round}");
        }
    }
    qp.quiet().expect("valid");
    drop((qp, engines));
}

/// One initiator sleeps in `poll`, others sleep and wait for that one. All of them fail when the peer is lost;
/// operations to the third rank do not.
#[test]
fn a_peer_that_dies_fails_all_who_wait_for_it_and_nobody_else() {
    let (l, addresses) = listeners(3);
    let within = PATIENCE;
    let mut heaps = [[0u64; 8]; 2];
    let spaces: Vec<_> = heaps.iter_mut().map(|h| h.as_mut_ptr() as usize).collect();
    std::thread::scope(|s| {
        let mesh = |rank: u32| {
            let (l, addresses) = (&l[rank as usize], &addresses);
            move || connect::mesh(rank, l, addresses, &[2; 32], within).expect("connected")
        };
        let dying = s.spawn(mesh(1));
        let other = s.spawn(mesh(2));
        let mine = mesh(0)();
        let start = |rank: u32, streams, space: usize| {
            let domain = Arc::new(Domain::new(Sizes::default()));
            let engine = Tcp::start(rank, domain, streams).expect("started");
            let memory = Memory::here(space as *mut u8, 64);
            // SAFETY: the heaps outlive the engines, which this scope ends.
            let key = unsafe { engine.register(memory, Rights::ALL, None) }.expect("room");
            (engine, key)
        };
        let (engine, key) = start(0, mine, spaces[0]);
        let (_other, _) = start(2, other.join().expect("no panic"), spaces[1]);
        let streams = dying.join().expect("no panic");
        let keys = TemplateKeys {
            local: key,
            remote: key,
        };
        let (from, there) = (spaces[0] as u64, spaces[1] as u64);
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let mut qp = engine.queue_pair(8, keys);
                s.spawn(move || {
                    // Rank 1 never answers, so its memory does not matter.
                    qp.put(1, from, from, 8);
                    qp.put(2, there, from, 8);
                    let failed = qp.quiet().expect_err("lost").0;
                    assert_eq!(failed.len(), 1);
                    assert_eq!((failed[0].status, failed[0].value), (Status::PeerLost, 1));
                    qp.put(2, there, from, 8);
                    assert_eq!(qp.quiet(), Ok(()));
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(60));
        assert!(waiting.iter().all(|w| !w.is_finished()));
        drop(streams);
        for w in waiting {
            w.join().expect("no panic");
        }
    });
}
