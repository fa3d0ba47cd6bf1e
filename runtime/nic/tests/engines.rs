//! Tests that every engine must pass, and tests of single engines' own guarantees. Several tests are
//! named after bugs that other libraries had.
#![cfg(not(loom))]

mod common;

use std::time::{Duration, Instant};

use common::{each_engine, job, Job, Kind};
use hetmp_nic::descriptor::*;
use hetmp_nic::engine::emulated::Model;
use hetmp_nic::engine::QueuePair;
use hetmp_nic::keys::{Memory, Rights};

fn word(job: &Job, rank: usize, offset: usize) -> u64 {
    job.read(rank, offset, 8)
        .try_into()
        .map(u64::from_le_bytes)
        .expect("eight bytes")
}

fn inline_put(qp: &QueuePair, remote: u64, bytes: &[u8]) -> Work {
    Work::Put {
        source: Source::Inline(Inline::new(bytes).expect("fits")),
        remote: qp.remote(remote),
        signal: None,
    }
}

fn atomic(op: AtomicOp, remote: Remote, operand: u64, comparand: u64) -> Atomic {
    Atomic {
        op,
        width: Width::W8,
        fetch: Fetch::No,
        remote,
        operand,
        comparand,
    }
}

#[test]
fn bytes_put_arrive_and_bytes_got_come_back() {
    each_engine(2, |job| {
        for len in [0usize, 1, 2, 3, 4, 8, 13, 64, 1000, 4096] {
            let bytes: Vec<u8> = (0..len).map(|i| (i * 7 + len) as u8).collect();
            job.write(0, 0, &bytes);
            job.write(1, 8192, &vec![0; len + 1]);
            let mut qp = job.queue_pair(0, 8);
            qp.put(1, job.address(1, 8192), job.address(0, 0), len as u32);
            qp.quiet().expect("valid");
            assert_eq!(job.read(1, 8192, len), bytes, "{len}");
            assert_eq!(job.read(1, 8192 + len, 1), [0], "{len}");
            qp.get(1, job.address(1, 8192), job.address(0, 16384), len as u32);
            qp.quiet().expect("valid");
            assert_eq!(job.read(0, 16384, len), bytes, "{len}");
        }
    });
}

/// Transfers that are longer than a piece of the TCP engine, and longer than its window.
#[test]
fn large_puts_and_gets_arrive_whole_and_a_bad_end_writes_nothing() {
    each_engine(2, |job| {
        let len = 1_500_001;
        let bytes: Vec<u8> = (0..len).map(|i: usize| ((i * 31) >> 3) as u8).collect();
        job.write(0, 3, &bytes);
        let mut qp = job.queue_pair(0, 8);
        let signal = Signal {
            remote: job.remote(1, 0),
            // The signal is added once, not once for each piece.
            op: SignalOp::Add,
            value: 1,
        };
        qp.put_signal(1, job.address(1, 9), job.address(0, 3), len as u32, signal);
        qp.quiet().expect("valid");
        assert!(job.read(1, 9, len) == bytes);
        assert_eq!(word(job, 1, 0), 1);
        job.write(0, 3, &vec![0; len]);
        qp.get(1, job.address(1, 9), job.address(0, 3), len as u32);
        qp.quiet().expect("valid");
        assert!(job.read(0, 3, len) == bytes);
        job.write(0, 3, &vec![0; len]);
        let too_far = job.address(1, common::HEAP - len + 1);
        qp.put(1, too_far, job.address(0, 3), len as u32);
        let failed = qp.quiet().expect_err("one byte too many").0;
        assert_eq!(
            (failed.len(), failed[0].status, failed[0].value),
            (1, Status::RemoteBounds, too_far)
        );
        assert!(job.read(1, 9, len) == bytes);
    });
}

#[test]
fn a_full_queue_holds_the_initiator_back_and_loses_nothing() {
    each_engine(2, |job| {
        let mut qp = job.queue_pair(0, 2);
        for n in 0..500u64 {
            let add = atomic(AtomicOp::Add, job.remote(1, 0), n, 0);
            qp.post(1, n % 3 == 0, Work::Atomic(add));
        }
        qp.quiet().expect("valid");
        assert_eq!(word(job, 1, 0), 499 * 500 / 2);
        let completions = core::iter::from_fn(|| qp.initiator().poll()).count();
        assert_eq!(completions, 167);
    });
}

#[test]
fn a_zero_byte_operation_completes_and_quiet_returns() {
    each_engine(2, |job| {
        let mut qp = job.queue_pair(0, 4);
        let end = job.address(1, common::HEAP);
        qp.put(1, end, job.address(0, 0), 0);
        qp.get(1, end, job.address(0, 0), 0);
        qp.put_inline(1, job.address(1, 0), &[]).expect("fits");
        let signal = Signal {
            remote: job.remote(1, 64),
            op: SignalOp::Add,
            value: 3,
        };
        // A put of zero bytes still sets its signal.
        qp.put_signal(1, job.address(1, 0), job.address(0, 0), 0, signal);
        qp.send_inline(1, 0, 9, &[]).expect("fits");
        qp.quiet().expect("valid");
        assert_eq!(word(job, 1, 64), 3);
        let m = job.receive(1).expect("delivered");
        assert_eq!((m.source, m.tag, m.bytes()), (0, 9, &[][..]));
    });
}

/// The signal word must hold the sum of both, in whatever order the two kinds of operation arrive.
#[test]
fn a_put_with_signal_racing_a_bare_signal_loses_neither() {
    each_engine(3, |job| {
        const ROUNDS: u64 = 300;
        std::thread::scope(|s| {
            s.spawn(|| {
                let mut qp = job.queue_pair(0, 16);
                for n in 1..=ROUNDS {
                    job.write(0, 0, &[n as u8; 256]);
                    let signal = Signal {
                        remote: job.remote(2, 512),
                        op: SignalOp::Add,
                        value: 1,
                    };
                    qp.put_signal(2, job.address(2, 0), job.address(0, 0), 256, signal);
                    qp.quiet().expect("valid");
                }
            });
            s.spawn(|| {
                let mut qp = job.queue_pair(1, 16);
                for _ in 0..ROUNDS {
                    let add = atomic(AtomicOp::Add, job.remote(2, 512), 1 << 32, 0);
                    qp.post(2, false, Work::Atomic(add));
                    qp.ring();
                }
                qp.quiet().expect("valid");
            });
        });
        assert_eq!(word(job, 2, 512), ROUNDS << 32 | ROUNDS);
        assert_eq!(job.read(2, 0, 256), [ROUNDS as u8; 256]);
    });
}

#[test]
fn a_bad_key_bound_or_right_completes_in_error_and_touches_nothing() {
    each_engine(2, |job| {
        job.write(0, 0, &[0xaa; 64]);
        let read_only = job.register(1, 32768, 64, Rights::REMOTE_READ);
        let before = (job.read(0, 0, common::HEAP), job.read(1, 0, common::HEAP));
        let mut qp = job.queue_pair(0, 64);
        let here = Local {
            address: job.address(0, 0),
            key: job.key(0),
        };
        let there = job.remote(1, 128);
        let put = |local: Local, n: u32, remote: Remote, signal: Option<Signal>| Work::Put {
            source: Source::Memory(local, n),
            remote,
            signal,
        };
        let stale = Key(there.key.0 ^ 1 << 31);
        let far = Remote {
            address: job.address(1, common::HEAP - 4),
            ..there
        };
        let weak = Remote {
            address: job.address(1, 32768),
            key: read_only,
        };
        let odd = job.remote(1, 129);
        let signal_at = |remote| {
            Some(Signal {
                remote,
                op: SignalOp::Set,
                value: 1,
            })
        };
        let beyond = Local {
            address: job.address(0, common::HEAP),
            ..here
        };
        let nowhere = Local { key: stale, ..here };
        let unknown = Remote {
            key: stale,
            ..there
        };
        let k = u64::from(stale.0);
        let w = u64::from(read_only.0);
        let cases = [
            (1, put(nowhere, 8, there, None), Status::LocalKey, k),
            (
                1,
                put(beyond, 8, there, None),
                Status::LocalBounds,
                beyond.address,
            ),
            (1, put(here, 8, unknown, None), Status::RemoteKey, k),
            (
                1,
                put(here, 8, far, None),
                Status::RemoteBounds,
                far.address,
            ),
            (1, put(here, 8, weak, None), Status::RemoteRight, w),
            // The data's address is valid, the signal's is not: the data must not be written either.
            (
                1,
                put(here, 8, there, signal_at(odd)),
                Status::Misaligned,
                odd.address,
            ),
            (
                1,
                put(here, 8, there, signal_at(weak)),
                Status::RemoteRight,
                w,
            ),
            (7, put(here, 8, there, None), Status::Peer, 7),
            (
                1,
                Work::Get {
                    local: beyond,
                    length: 8,
                    remote: there,
                },
                Status::LocalBounds,
                beyond.address,
            ),
            (
                1,
                Work::Get {
                    local: here,
                    length: 8,
                    remote: far,
                },
                Status::RemoteBounds,
                far.address,
            ),
            (
                1,
                Work::Atomic(atomic(AtomicOp::Add, odd, 1, 0)),
                Status::Misaligned,
                odd.address,
            ),
            (
                1,
                Work::Atomic(atomic(AtomicOp::Swap, weak, 1, 0)),
                Status::RemoteRight,
                w,
            ),
        ];
        for (peer, work, status, value) in cases {
            // The operation asks for no completion, but an error gives one anyway.
            let ticket = qp.post(peer, false, work);
            let failed = qp.quiet().expect_err("must fail").0;
            assert_eq!(failed.len(), 1, "{work:?}");
            let c = failed[0];
            assert_eq!(
                (c.ticket, c.status, c.value),
                (ticket, status, value),
                "{work:?}"
            );
        }
        let ticket = qp.initiator().post_words(&[u64::MAX; WORDS]).expect("room");
        let failed = qp.quiet().expect_err("no such opcode").0;
        assert_eq!(
            (failed[0].ticket, failed[0].status),
            (ticket, Status::Malformed)
        );
        assert!(before == (job.read(0, 0, common::HEAP), job.read(1, 0, common::HEAP)));
        qp.put(1, there.address, here.address, 8);
        assert_eq!(qp.quiet(), Ok(()), "the queue pair goes on after errors");
        assert_eq!(job.read(1, 128, 8), [0xaa; 8]);
    });
}

#[test]
fn a_region_that_was_taken_out_is_out_of_reach() {
    each_engine(2, |job| {
        let key = job.register(1, 1024, 64, Rights::ALL);
        let mut qp = job.queue_pair(0, 4);
        let work = Work::Put {
            source: Source::Inline(Inline::new(&[5; 8]).expect("fits")),
            remote: Remote {
                address: job.address(1, 1024),
                key,
            },
            signal: None,
        };
        qp.post(1, false, work);
        qp.quiet().expect("registered");
        assert!(job.domain(1).keys().deregister(key));
        job.write(1, 1024, &[0; 8]);
        qp.post(1, false, work);
        let failed = qp.quiet().expect_err("gone").0;
        assert_eq!(failed[0].status, Status::RemoteKey);
        assert_eq!(job.read(1, 1024, 8), [0; 8]);
    });
}

#[test]
fn atomics_do_what_their_names_say_in_both_widths() {
    use AtomicOp::*;
    each_engine(2, |job| {
        let mut qp = job.queue_pair(0, 4);
        let start = 0xf0f0_1234_8765_4321u64;
        for width in [Width::W4, Width::W8] {
            let cut = |v: u64| {
                if width == Width::W4 {
                    v & 0xffff_ffff
                } else {
                    v
                }
            };
            for op in [Read, Write, Swap, CompareSwap, Add, And, Or, Xor] {
                for comparand in [0, start] {
                    job.write(1, 0, &start.to_le_bytes());
                    let a = Atomic {
                        width,
                        ..atomic(op, job.remote(1, 0), 0xffff_ffff_0000_00ff, comparand)
                    };
                    assert_eq!(qp.fetch(1, a), Ok(cut(start)), "{op:?}");
                    let want = cut(op.apply(cut(start), cut(a.operand), cut(comparand)));
                    assert_eq!(cut(word(job, 1, 0)), want, "{op:?} {width:?}");
                    if width == Width::W4 {
                        assert_eq!(word(job, 1, 0) >> 32, start >> 32, "{op:?}");
                    }
                }
            }
        }
        let mut into_memory = atomic(Add, job.remote(1, 0), 5, 0);
        job.write(1, 0, &40u64.to_le_bytes());
        into_memory.fetch = Fetch::Memory(Local {
            address: job.address(0, 256),
            key: job.key(0),
        });
        qp.post(1, false, Work::Atomic(into_memory));
        qp.quiet().expect("valid");
        assert_eq!((word(job, 0, 256), word(job, 1, 0)), (40, 45));
    });
}

#[test]
fn messages_arrive_whole_in_order_and_wait_for_a_full_inbox() {
    each_engine(2, |job| {
        const MESSAGES: u32 = 1000;
        std::thread::scope(|s| {
            s.spawn(|| {
                let mut qp = job.queue_pair(0, 8);
                for n in 0..MESSAGES {
                    let len = n as usize % (MESSAGE_BYTES + 1);
                    if len <= INLINE_BYTES {
                        qp.send_inline(1, 0, n, &vec![n as u8; len]).expect("fits");
                        continue;
                    }
                    // The buffer is written again, so the earlier operation must be done.
                    qp.quiet().expect("valid");
                    job.write(0, 0, &vec![n as u8; len]);
                    let source = Source::Memory(qp.local(job.address(0, 0)), len as u32);
                    qp.post(
                        1,
                        false,
                        Work::Send {
                            source,
                            port: 0,
                            tag: n,
                        },
                    );
                    qp.ring();
                }
                qp.quiet().expect("valid");
            });
            for n in 0..MESSAGES {
                let m = job.receive(1).expect("in time");
                assert_eq!((m.source, m.tag), (0, n));
                let len = n as usize % (MESSAGE_BYTES + 1);
                assert_eq!(m.bytes(), vec![n as u8; len]);
            }
        });
    });
}

/// The test pauses until engine and target sleep. The doorbell must wake them.
#[test]
fn a_sleeping_engine_is_woken() {
    each_engine(2, |job| {
        let mut qp = job.queue_pair(0, 4);
        for n in 1..3u8 {
            std::thread::sleep(std::time::Duration::from_millis(300));
            qp.put_inline(1, job.address(1, 0), &[n; 8]).expect("fits");
            qp.quiet().expect("valid");
            assert_eq!(job.read(1, 0, 8), [n; 8]);
        }
    });
}

#[test]
fn many_initiators_share_a_target() {
    each_engine(4, |job| {
        const ADDS: u64 = 400;
        std::thread::scope(|s| {
            for rank in 0..4 {
                s.spawn(move || {
                    let mut qp = job.queue_pair(rank, 4);
                    for _ in 0..ADDS {
                        let add = atomic(AtomicOp::Add, job.remote(0, 0), 1, 0);
                        qp.post(0, false, Work::Atomic(add));
                        qp.ring();
                    }
                    qp.quiet().expect("valid");
                });
            }
        });
        assert_eq!(word(job, 0, 0), 4 * ADDS);
    });
}

#[test]
fn the_completion_of_a_signalled_operation_says_what_it_moved() {
    each_engine(2, |job| {
        let mut qp = job.queue_pair(0, 4);
        let get = Work::Get {
            local: qp.local(job.address(0, 0)),
            length: 24,
            remote: job.remote(1, 0),
        };
        let ticket = qp.post(1, true, get);
        let silent = qp.put(1, job.address(1, 64), job.address(0, 64), 8);
        let c = qp.wait_for(ticket).expect("signalled");
        assert_eq!((c.status, c.bytes), (Status::Ok, 24));
        assert_eq!(qp.wait_for(silent), None);
    });
}

/// With random delays, puts overtake each other, and a fence prevents it. The test must see both.
#[test]
fn without_a_fence_puts_overtake_each_other_and_with_one_they_do_not() {
    let overtaken = |fenced: bool| {
        let model = Model {
            jitter_ns: 20_000,
            seed: 7,
            ..Model::default()
        };
        let job = job(Kind::Emulated(model), 2);
        let mut qp = job.queue_pair(0, 64);
        let mut wrong = 0;
        for n in 1..=40u64 {
            // The flag gets the value n after the data of round n. Whoever sees the flag must see these data.
            qp.put_inline(1, job.address(1, 0), &n.to_le_bytes())
                .expect("fits");
            if fenced {
                qp.fence(1);
            }
            let get = atomic(AtomicOp::Read, job.remote(1, 0), 0, 0);
            if qp.fetch(1, get) != Ok(n) {
                wrong += 1;
            }
            qp.quiet().expect("valid");
        }
        wrong
    };
    assert_eq!(overtaken(true), 0);
    let wrong = overtaken(false);
    assert!(wrong > 0, "the model reorders nothing");
}

/// A fence for one target, after a large put to another target. A fence that waited for all targets would take as long
/// as the large put.
#[test]
fn a_fence_touches_one_target_only() {
    let model = Model {
        bytes_per_us: 1,
        ..Model::default()
    };
    let job = job(Kind::Emulated(model), 3);
    let mut qp = job.queue_pair(0, 16);
    let slow = qp.post(
        2,
        true,
        Work::Put {
            // 256 KiB at 1 byte a microsecond: a quarter of a second, however busy the machine is.
            source: Source::Memory(qp.local(job.address(0, 0)), 1 << 18),
            remote: job.remote(2, 0),
            signal: None,
        },
    );
    qp.put_inline(1, job.address(1, 0), &[1; 8]).expect("fits");
    let fence = qp.post(1, true, Work::Fence);
    let c = qp.wait_for(fence).expect("signalled");
    assert_eq!(c.status, Status::Ok);
    assert_eq!(job.read(1, 0, 8), [1; 8]);
    assert_eq!(
        qp.initiator().take(slow),
        None,
        "the put to the other target is still on its wire"
    );
    assert_eq!(qp.wait_for(slow).expect("signalled").status, Status::Ok);
}

#[test]
fn the_link_costs_what_its_model_says() {
    let model = Model {
        latency_ns: 3_000_000,
        bytes_per_us: 10,
        ..Model::default()
    };
    let job = job(Kind::Emulated(model), 2);
    let mut qp = job.queue_pair(0, 4);
    let start = std::time::Instant::now();
    qp.put(1, job.address(1, 0), job.address(0, 0), 20_000);
    qp.put(1, job.address(1, 0), job.address(0, 0), 20_000);
    qp.quiet().expect("valid");
    // Two transfers of 2 ms, one after the other on the wire, and the latency once.
    assert!(start.elapsed().as_micros() >= 7_000);
}

fn triggering() -> Vec<Kind> {
    let mut kinds = vec![Kind::Shm, Kind::Emulated(Model::default()), Kind::Tcp];
    kinds.extend(common::providers().iter().map(|p| Kind::Ofi(p, 2)));
    kinds
}

#[test]
fn an_operation_waits_for_its_counter_and_runs_without_its_initiator() {
    for kind in triggering() {
        let job = job(kind, 3);
        // A step of a collective: rank 0 puts two halves, and rank 1 forwards them once both have arrived.
        let arrivals = CounterId(4);
        let halves = job.register_counted(1, 0, 16, arrivals);
        // With two endpoints a rank, the halves then arrive at another one than that of `forward`.
        let _of_the_first_endpoint = job.queue_pair(1, 8);
        let mut forward = job.queue_pair(1, 8);
        let wait = Work::Wait {
            counter: arrivals,
            threshold: 2,
            span: 2,
        };
        forward.post(1, false, wait);
        forward.put(2, job.address(2, 64), job.address(1, 0), 16);
        forward.send_inline(2, 0, 5, b"there").expect("fits");
        let mut qp = job.queue_pair(0, 8);
        for half in 0..2u64 {
            let put = Work::Put {
                source: Source::Inline(Inline::new(&[half as u8 + 1; 8]).expect("fits")),
                remote: Remote {
                    address: job.address(1, half as usize * 8),
                    key: halves,
                },
                signal: None,
            };
            assert!(!forward.initiator().is_quiet());
            assert_eq!(job.read(2, 64, 16), [0; 16]);
            qp.post(1, false, put);
            qp.quiet().expect("valid");
        }
        let mut want = [1; 16];
        want[8..].fill(2);
        let deadline = Instant::now() + Duration::from_secs(60);
        while job.read(2, 64, 16) != want {
            assert!(Instant::now() < deadline, "{kind:?}: nothing was set off");
            std::thread::sleep(Duration::from_millis(1));
        }
        forward.quiet().expect("released");
        assert_eq!(job.receive(2).expect("sent").bytes(), b"there");
        assert_eq!(job.domain(1).counters().value(arrivals), Some(2));
    }
}

#[test]
fn operations_counted_when_done_set_off_the_next_and_pass_what_still_waits() {
    for kind in triggering() {
        let job = job(kind, 2);
        let mut qp = job.queue_pair(0, 16);
        let (first, second) = (CounterId(0), CounterId(1));
        // The wait that is posted first ends last.
        for (counter, threshold) in [(second, 1), (first, 2)] {
            let wait = Work::Wait {
                counter,
                threshold,
                span: 1,
            };
            qp.post(0, false, wait);
            let swap = atomic(AtomicOp::Swap, job.remote(1, 0), threshold, 0);
            if counter == first {
                qp.post_counted(1, second, Work::Atomic(swap));
            } else {
                qp.post(1, false, Work::Atomic(swap));
            }
        }
        let again = Work::Count {
            counter: first,
            add: 1,
        };
        let counted = qp.post(0, true, again);
        // The two waits that were posted before do not hold this put up.
        let free = qp.post(1, true, inline_put(&qp, job.address(1, 8), &[9; 8]));
        assert_eq!(qp.wait_for(free).expect("signalled").status, Status::Ok);
        assert_eq!(qp.wait_for(counted).expect("signalled").status, Status::Ok);
        assert_eq!(
            (word(&job, 1, 0), word(&job, 1, 8)),
            (0, 0x0909_0909_0909_0909)
        );
        qp.post(0, false, again);
        qp.quiet().expect("all released");
        // The swap that waits for `first` wrote 2, then the swap that waits for `second` wrote 1.
        assert_eq!(word(&job, 1, 0), 1);
    }
}

#[test]
fn a_wait_for_a_counter_that_is_not_there_fails_with_what_it_held() {
    for kind in triggering() {
        let job = job(kind, 1);
        let mut qp = job.queue_pair(0, 8);
        let counter = CounterId(1 << 30);
        let wait = |counter, span| Work::Wait {
            counter,
            threshold: 1,
            span,
        };
        qp.post(0, false, wait(counter, 1));
        qp.put_inline(0, job.address(0, 0), &[1]).expect("fits");
        let failed = qp.quiet().expect_err("no such counter").0;
        assert!(failed.iter().all(|c| c.status == Status::Counter));
        assert_eq!(failed.len(), 2);
        // A wait inside the span of another wait is refused, but counts as one operation of that span.
        qp.post(0, false, wait(CounterId(0), 1));
        qp.post(0, false, wait(CounterId(0), 1));
        qp.put_inline(0, job.address(0, 0), &[1]).expect("fits");
        let count = Work::Count {
            counter: CounterId(0),
            add: 1,
        };
        qp.post(0, false, count);
        let failed = qp.quiet().expect_err("nested").0;
        assert_eq!((failed.len(), failed[0].status), (1, Status::Malformed));
        assert_eq!(job.read(0, 0, 1), [1]);
    }
}

/// A peer in another process: its memory is mapped here, at another address than in its own process.
#[test]
fn a_view_is_reached_by_the_addresses_of_its_owner() {
    use hetmp_nic::engine::{shm::Shm, Domain, Engine, Sizes, TemplateKeys};
    use std::sync::Arc;
    let mut theirs = vec![0u64; 8];
    let mut ours = vec![7u64; 8];
    let (me, view) = (
        Arc::new(Domain::new(Sizes::default())),
        Arc::new(Domain::view(Sizes::default())),
    );
    let base = 0x7000_0000_0000u64;
    let there = Memory {
        here: theirs.as_mut_ptr().cast(),
        len: 64,
        base,
    };
    let here = Memory::here(ours.as_mut_ptr().cast(), 64);
    // SAFETY: both vectors outlive the queue pair and are not accessed while it works.
    let (local, remote) = unsafe {
        (
            me.keys().register(here, Rights::ALL, None).expect("room"),
            view.keys()
                .register(there, Rights::ALL, None)
                .expect("room"),
        )
    };
    let shm = Shm::new(0, vec![me, view].into()).expect("rank 0 of 2");
    let mut qp = shm.queue_pair(4, TemplateKeys { local, remote });
    qp.put(1, base + 8, here.base, 16);
    assert_eq!(qp.quiet(), Ok(()));
    qp.send_inline(1, 0, 0, b"x").expect("fits");
    let failed = qp.quiet().expect_err("no inbox of another process").0;
    assert_eq!(failed[0].status, Status::Unsupported);
    assert_eq!(theirs, [0, 7, 7, 0, 0, 0, 0, 0]);
}
