//! Put and quiet through the emulated adapter, by size, compared with the round trip of a cache line and a plain copy.

use crate::bench::Options;
use crate::rows::{median, Report, Rounds};
use hetmp_nic::engine::emulated::{self, Model};
use hetmp_nic::engine::shm::Shm;
use hetmp_nic::engine::{Domain, Engine, Sizes, TemplateKeys};
use hetmp_nic::keys::{Memory, Rights};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

const LARGEST: usize = 1 << 20;
/// Longer than the adapter spins before it sleeps.
const UNTIL_ASLEEP: Duration = Duration::from_millis(60);

/// Nanoseconds of one call: the median of nine batches.
fn batches(calls: u32, mut call: impl FnMut()) -> f64 {
    for _ in 0..calls / 5 + 1 {
        call();
    }
    let times: Vec<f64> = (0..9)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..calls {
                call();
            }
            start.elapsed().as_nanos() as f64 / f64::from(calls)
        })
        .collect();
    median(&times)
}

/// There and back between two threads that both spin.
fn line_round_trip(calls: u32) -> f64 {
    let word = AtomicU64::new(0);
    std::thread::scope(|s| {
        s.spawn(|| {
            let mut next = 1;
            loop {
                let v = word.load(Ordering::Acquire);
                if v == u64::MAX {
                    return;
                }
                if v == next {
                    word.store(next + 1, Ordering::Release);
                    next += 2;
                }
                std::hint::spin_loop();
            }
        });
        let mut n = 0;
        let ns = batches(calls, || {
            n += 1;
            word.store(n, Ordering::Release);
            n += 1;
            while word.load(Ordering::Acquire) != n {
                std::hint::spin_loop();
            }
        });
        word.store(u64::MAX, Ordering::Release);
        ns
    })
}

pub(crate) fn measure(options: &Options, report: &mut Report) {
    let mut memory = vec![0u8; 2 * LARGEST];
    let whole = Memory::here(memory.as_mut_ptr(), memory.len());
    let (from, to) = (whole.base, whole.base + LARGEST as u64);
    let domains: Arc<[Arc<Domain>]> = (0..2)
        .map(|_| Arc::new(Domain::new(Sizes::default())))
        .collect();
    let mut keys = TemplateKeys::default();
    for d in domains.iter() {
        // SAFETY: the vector outlives the engines; the copies below touch it between their operations.
        let key = unsafe { d.keys().register(whole, Rights::ALL, None) }.expect("room");
        keys = TemplateKeys {
            local: key,
            remote: key,
        };
    }
    let ranks = emulated::start(domains.clone(), Model::default()).expect("a thread");
    let shm = Shm::new(0, domains).expect("rank 0 of 2");
    let mut direct = shm.queue_pair(64, keys);
    let mut qp = ranks[0].queue_pair(64, keys);

    let calls = if options.quick { 2_000 } else { 10_000 };
    let mut table = Rounds::new("Put and quiet, emulated adapter awake", "ns");
    for _ in 0..options.rounds {
        // Alone on the cores: the adapter sleeps.
        std::thread::sleep(UNTIL_ASLEEP);
        table.add("floor: cache line round trip", line_round_trip(calls));
        for bytes in [4u32, 64, 1024, 4096, 65536, 1 << 20] {
            let calls = (calls / (1 + bytes / 512)).max(20);
            let copy = batches(calls, || {
                // SAFETY: both halves are `LARGEST` bytes, and no operation is under way.
                unsafe {
                    core::ptr::copy_nonoverlapping(
                        black_box(from as *const u8),
                        black_box(to as *mut u8),
                        bytes as usize,
                    )
                }
            });
            table.add(&format!("floor: memcpy, {bytes} B"), copy);
            let ns = batches(calls, || {
                qp.put(1, to, from, bytes);
                qp.quiet().expect("valid");
            });
            table.add(&format!("put + quiet, {bytes} B"), ns);
            let ns = batches(calls, || {
                direct.put(1, to, from, bytes);
                direct.quiet().expect("valid");
            });
            table.add(&format!("the same on shm, {bytes} B"), ns);
        }
        // As blocking puts and `p` travel.
        let ns = batches(calls, || {
            qp.put_inline(1, to, &[1; 4]).expect("fits");
            qp.quiet().expect("valid");
        });
        table.add("put + quiet, 4 B in the descriptor", ns);
    }
    let floor = "floor: cache line round trip";
    table.ratio("put 4 B / line round trip", "put + quiet, 4 B", floor);
    table.ratio(
        "the same in the descriptor",
        "put + quiet, 4 B in the descriptor",
        floor,
    );
    for bytes in [65536, 1 << 20] {
        table.ratio(
            &format!("put {bytes} B / memcpy"),
            &format!("put + quiet, {bytes} B"),
            &format!("floor: memcpy, {bytes} B"),
        );
    }
    report.table(table);

    let mut table = Rounds::new("Put and quiet of 4 bytes, emulated adapter asleep", "ns");
    for _ in 0..options.rounds {
        let times: Vec<f64> = (0..if options.quick { 3 } else { 9 })
            .map(|_| {
                std::thread::sleep(UNTIL_ASLEEP);
                let start = Instant::now();
                qp.put(1, to, from, 4);
                qp.quiet().expect("valid");
                start.elapsed().as_nanos() as f64
            })
            .collect();
        table.add("put + quiet, 4 B", median(&times));
    }
    report.table(table);
    drop((qp, direct, ranks, shm));
    drop(memory);
}
