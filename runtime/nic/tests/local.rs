//! On every engine: arithmetic on the initiator's own memory, and the moment at which buffers may be used again.
#![cfg(not(loom))]

mod common;

use common::{each_engine, job, Job, Kind};
use hetmp_nic::arithmetic::{apply, Arithmetic, Type};
use hetmp_nic::descriptor::{CounterId, Key, Local, Source, Status, Work};
use hetmp_nic::engine::emulated::Model;
use hetmp_nic::keys::Rights;

fn local(job: &Job, offset: usize) -> Local {
    Local {
        address: job.address(0, offset),
        key: job.key(0),
    }
}

fn compute(job: &Job, op: Arithmetic, element: Type, length: u32) -> Work {
    Work::Compute {
        op,
        element,
        target: local(job, 0),
        operand: local(job, 65536),
        length,
    }
}

/// Bytes that are not zero and do not repeat, so that a wrong offset gives other bytes.
fn bytes(n: usize, seed: usize) -> Vec<u8> {
    (0..n)
        .map(|i| ((i * 31 + seed * 17 + i / 251) % 255) as u8 + 1)
        .collect()
}

#[test]
fn every_operation_on_every_type_says_what_arithmetic_says() {
    let mut types = vec![Type::Float, Type::Double];
    for bits in [1, 7, 8, 12, 16, 31, 32, 33, 64] {
        types.extend([Type::Signed(bits), Type::Unsigned(bits)]);
    }
    each_engine(1, |job| {
        let mut qp = job.queue_pair(0, 8);
        // Longer than the block that the engine handles at a time, and no multiple of it.
        let n = 8 * 389;
        for (seed, element) in types.iter().enumerate() {
            for op in Arithmetic::ALL.into_iter().filter(|op| op.takes(*element)) {
                let (mut want, operand) = (bytes(n, seed), bytes(n, seed + 1));
                job.write(0, 0, &want);
                job.write(0, n, &[0xaa]);
                job.write(0, 65536, &operand);
                let result = apply(op, *element, &mut want, &operand);
                qp.post(0, false, compute(job, op, *element, n as u32));
                match (result, qp.quiet()) {
                    (Ok(()), Ok(())) => {}
                    // For narrow types, some operands are zero in the bits that the type has.
                    (Err(e), Err(failed)) => {
                        assert_eq!(failed.0[0].status, Status::Divisor);
                        assert_eq!(failed.0[0].value, e.element as u64);
                    }
                    (want, got) => panic!("{op} {element}: {want:?}, but {got:?}"),
                }
                assert_eq!(job.read(0, 0, n), want, "{op} {element}");
                assert_eq!(job.read(0, n, 1), [0xaa], "nothing behind it");
            }
        }
    });
}

#[test]
fn arithmetic_that_may_not_be_is_named_and_touches_nothing() {
    each_engine(2, |job| {
        let mut qp = job.queue_pair(0, 16);
        job.write(0, 0, &[7; 64]);
        job.write(0, 65536, &[1; 64]);
        let read_only = job.register(0, 0, 64, Rights::LOCAL_READ);
        let write_only = job.register(0, 0, 64, Rights::LOCAL_WRITE);
        let with = |target: Local, operand: Local, length| Work::Compute {
            op: Arithmetic::Add,
            element: Type::Unsigned(32),
            target,
            operand,
            length,
        };
        let key = |key| Local {
            key,
            ..local(job, 0)
        };
        let (target, operand) = (local(job, 0), local(job, 65536));
        let end = local(job, common::HEAP - 4);
        let cases = [
            (with(key(read_only), operand, 8), Status::LocalRight),
            (with(key(write_only), operand, 8), Status::LocalRight),
            (with(target, key(write_only), 8), Status::LocalRight),
            (with(target, key(Key(1 << 30 | 1)), 8), Status::LocalKey),
            (with(target, end, 8), Status::LocalBounds),
            (with(end, operand, 8), Status::LocalBounds),
        ];
        for (work, status) in cases {
            qp.post(0, false, work);
            let failed = qp.quiet().expect_err("not allowed").0;
            assert_eq!((failed.len(), failed[0].status), (1, status));
        }
        // A local operation on another rank is refused.
        qp.post(1, false, with(target, operand, 8));
        let failed = qp.quiet().expect_err("another rank").0;
        assert_eq!((failed[0].status, failed[0].value), (Status::Peer, 1));
        assert_eq!(job.read(0, 0, 64), [7; 64]);
        // A length of zero is allowed. The target may also be the operand.
        qp.post(0, false, with(target, operand, 0));
        let ticket = qp.post(0, true, with(target, target, 8));
        let done = qp.wait_for(ticket).expect("signalled");
        assert_eq!((done.status, done.bytes), (Status::Ok, 8));
        assert_eq!(job.read(0, 0, 9), [14, 14, 14, 14, 14, 14, 14, 14, 7]);
    });
}

/// A sum waits until its operand has arrived, and a put of the sum waits until the sum is computed.
#[test]
fn a_reduction_runs_without_its_initiator() {
    each_engine(3, |job| {
        let (arrived, summed) = (CounterId(1), CounterId(2));
        let halves = job.register_counted(0, 65536, 128, arrived);
        job.write(0, 0, &[1; 64]);
        let mut qp = job.queue_pair(0, 16);
        let wait = |counter, threshold, span| Work::Wait {
            counter,
            threshold,
            span,
        };
        qp.post(0, false, wait(arrived, 2, 2));
        let add = |from| Work::Compute {
            op: Arithmetic::Add,
            element: Type::Unsigned(64),
            target: local(job, 0),
            operand: local(job, from),
            length: 64,
        };
        qp.post_counted(0, summed, add(65536));
        qp.post_counted(0, summed, add(65536 + 64));
        qp.post(0, false, wait(summed, 2, 1));
        qp.put(2, job.address(2, 256), job.address(0, 0), 64);
        for (half, rank) in [1, 2].into_iter().enumerate() {
            assert_eq!(job.read(2, 256, 64), [0; 64]);
            let mut from = job.queue_pair(rank, 4);
            job.write(rank, 0, &[10 * rank as u8; 64]);
            let put = Work::Put {
                source: Source::Memory(
                    Local {
                        address: job.address(rank, 0),
                        key: job.key(rank),
                    },
                    64,
                ),
                remote: hetmp_nic::descriptor::Remote {
                    address: job.address(0, 65536 + 64 * half),
                    key: halves,
                },
                signal: None,
            };
            from.post(0, false, put);
            from.quiet().expect("valid");
        }
        qp.quiet().expect("valid");
        assert_eq!(job.read(2, 256, 64), [31; 64]);
    });
}

#[test]
fn a_buffer_may_be_written_again_once_it_is_flushed_or_counted() {
    const BYTES: usize = 100_000;
    let kinds = [
        Kind::Shm,
        Kind::Tcp,
        Kind::Emulated(Model::default()),
        Kind::Emulated(Model {
            latency_ns: 20_000,
            bytes_per_us: 5_000,
            jitter_ns: 30_000,
            seed: 5,
            device: None,
        }),
    ];
    for kind in kinds {
        let job = job(kind, 2);
        let mut qp = job.queue_pair(0, 8);
        let counter = CounterId(3);
        for round in 0..16u8 {
            job.write(0, 0, &vec![round + 1; BYTES]);
            let at = usize::from(round) * BYTES;
            let put = Work::Put {
                source: Source::Memory(local(&job, 0), BYTES as u32),
                remote: job.remote(1, at),
                signal: None,
            };
            if round % 2 == 0 {
                qp.post(1, false, put);
                qp.flush();
            } else {
                let before = job.domain(0).counters().value(counter).expect("there");
                qp.post_counting_source(1, counter, put);
                qp.ring();
                while job.domain(0).counters().value(counter) == Some(before) {
                    // Engines without a thread of their own make progress here.
                    if !job.engine(0).progress() {
                        std::thread::yield_now();
                    }
                }
            }
            job.write(0, 0, &vec![0xee; BYTES]);
        }
        qp.quiet().expect("valid");
        for round in 0..16u8 {
            let got = job.read(1, usize::from(round) * BYTES, BYTES);
            assert!(
                got.iter().all(|b| *b == round + 1),
                "{kind:?}: round {round}"
            );
        }
        let message = |round: u8| {
            job.write(0, 0, &[round; 200]);
            Work::Send {
                source: Source::Memory(local(&job, 0), 200),
                port: 0,
                tag: u32::from(round),
            }
        };
        // The inbox holds four.
        for round in 1..4 {
            qp.post(1, false, message(round));
            qp.flush();
        }
        job.write(0, 0, &[0xee; 200]);
        for round in 1..4 {
            assert_eq!(job.receive(1).expect("sent").bytes(), [round; 200]);
        }
        qp.quiet().expect("valid");
        // Each operation counts once, and not a second time when it is done.
        assert_eq!(job.domain(0).counters().value(counter), Some(8));
    }
}

#[test]
fn a_flush_waits_for_what_is_fetched_and_for_nothing_else_that_failed() {
    each_engine(2, |job| {
        let mut qp = job.queue_pair(0, 8);
        for round in 1..20u8 {
            job.write(1, 0, &vec![round; 70_000]);
            qp.get(1, job.address(1, 0), job.address(0, 0), 70_000);
            qp.flush();
            assert!(job.read(0, 0, 70_000).iter().all(|b| *b == round));
        }
        let beyond = job.address(1, common::HEAP);
        qp.put(1, beyond, job.address(0, 0), 8);
        qp.flush();
        let failed = qp.quiet().expect_err("out of bounds").0;
        assert_eq!(failed[0].status, Status::RemoteBounds);
        // A flush with no operation under way returns at once.
        qp.flush();
    });
}
