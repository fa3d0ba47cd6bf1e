//! The ablation: a put posted from its slot's template, against building its whole descriptor.
//!
//! Three ways to post the same put. *template* stores the four words that change; *whole* builds a
//! [`Descriptor`], encodes and stores it, as messages and triggered operations are posted; *words* stores the eight
//! words as a library would that has the layout of a put written out by hand, which is the least that rebuilding costs.
//! Atomics are posted in the first two of these ways.

use crate::bench::Options;
use crate::rows::{median, Report, Rounds};
use hetmp_nic::descriptor::{
    Atomic, AtomicOp, Descriptor, Fetch, Key, Local, Remote, Source, Width, Words, Work,
};
use hetmp_nic::engine::emulated::{self, Model};
use hetmp_nic::engine::{Domain, Engine, QueuePair, Sizes, TemplateKeys};
use hetmp_nic::keys::{Memory, Rights};
use hetmp_nic::queue_pair::{queue_pair, Initiator};
use hetmp_nic::template::{Answer, AtomicWords, Dynamic, Shape, Statics};
use std::hint::black_box;
use std::process::Command;
use std::sync::{Arc, Barrier};
use std::time::Instant;

const STATICS: Statics = Statics {
    queue_pair: 1,
    local: Key(0x1_0001),
    remote: Key(0x1_0002),
};
const DEPTH: usize = 64;
/// Posts that are timed together: half the queue, so that no post finds it full.
const BATCH: u32 = 32;

type Post = fn(&mut Initiator, u32, u64, u64, u32);

/// Names of the ways; valgrind counts the functions below by theirs.
const WAYS: [(&str, Post, &str); 3] = [
    ("template", post_from_template, "post_from_template"),
    ("words", post_all_words, "post_all_words"),
    ("whole", post_whole_descriptor, "post_whole_descriptor"),
];

/// The same for an addition that brings nothing back.
const ATOMIC_WAYS: [(&str, Post, &str); 2] = [
    (
        "atomic template",
        post_atomic_from_template,
        "post_atomic_from_template",
    ),
    ("atomic whole", post_whole_atomic, "post_whole_atomic"),
];

#[no_mangle]
#[inline(never)]
fn post_from_template(i: &mut Initiator, peer: u32, remote: u64, local: u64, length: u32) {
    let d = Dynamic {
        peer,
        remote,
        local,
        length,
    };
    i.post_template(Shape::Put, d).expect("room");
}

#[no_mangle]
#[inline(never)]
fn post_all_words(i: &mut Initiator, peer: u32, remote: u64, local: u64, length: u32) {
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let words = || -> Words {
        [
            // Opcode 1, a put.
            pair(1, STATICS.queue_pair),
            pair(peer, 0),
            remote,
            pair(STATICS.remote.0, 0),
            pair(length, STATICS.local.0),
            local,
            0,
            0,
        ]
    };
    i.post_with(words).expect("room");
}

fn descriptor(peer: u32, remote: u64, local: u64, length: u32) -> Descriptor {
    Descriptor {
        queue_pair: STATICS.queue_pair,
        peer,
        signalled: false,
        count: None,
        count_source: false,
        work: Work::Put {
            source: Source::Memory(
                Local {
                    address: local,
                    key: STATICS.local,
                },
                length,
            ),
            remote: Remote {
                address: remote,
                key: STATICS.remote,
            },
            signal: None,
        },
    }
}

#[no_mangle]
#[inline(never)]
fn post_whole_descriptor(i: &mut Initiator, peer: u32, remote: u64, local: u64, length: u32) {
    i.post(&descriptor(peer, remote, local, length))
        .expect("room");
}

const ADD: Shape = Shape::Atomic(AtomicOp::Add, Width::W8, Answer::Nowhere);

#[no_mangle]
#[inline(never)]
fn post_atomic_from_template(
    i: &mut Initiator,
    peer: u32,
    remote: u64,
    operand: u64,
    comparand: u32,
) {
    let d = AtomicWords {
        peer,
        remote,
        local: 0,
        operand,
        comparand: comparand.into(),
    };
    i.post_template(ADD, d).expect("room");
}

#[no_mangle]
#[inline(never)]
fn post_whole_atomic(i: &mut Initiator, peer: u32, remote: u64, operand: u64, comparand: u32) {
    let atomic = Atomic {
        op: AtomicOp::Add,
        width: Width::W8,
        fetch: Fetch::No,
        remote: Remote {
            address: remote,
            key: STATICS.remote,
        },
        operand,
        comparand: comparand.into(),
    };
    let d = Descriptor {
        queue_pair: STATICS.queue_pair,
        peer,
        signalled: false,
        count: None,
        count_source: false,
        work: Work::Atomic(atomic),
    };
    i.post(&d).expect("room");
}

/// Posts `batches` batches, and gives the median nanoseconds of one post. What was posted is taken and
/// completed between the batches, untimed, as an engine would.
fn batches(post: Post, batches: u32) -> f64 {
    let (mut i, mut c) = queue_pair(DEPTH, STATICS);
    i.fill(Shape::Put).expect("empty");
    let post = black_box(post);
    let mut times = Vec::with_capacity(batches as usize);
    let mut n = 0u64;
    for _ in 0..batches {
        let start = Instant::now();
        for _ in 0..BATCH {
            n += 8;
            post(&mut i, 1, n, n, 8);
        }
        i.ring();
        times.push(start.elapsed().as_nanos() as f64 / f64::from(BATCH));
        for _ in 0..BATCH {
            let (_, words) = c.peek().expect("posted");
            black_box(words);
            c.advance();
            c.complete(None);
        }
    }
    median(&times)
}

/// The clock alone, as it enters the rows.
fn clock(batches: u32) -> f64 {
    let times: Vec<f64> = (0..batches)
        .map(|_| Instant::now().elapsed().as_nanos() as f64 / f64::from(BATCH))
        .collect();
    median(&times)
}

/// The same by several threads at once, each with a queue pair of its own.
fn by_initiators(initiators: usize, post: Post, count: u32) -> f64 {
    let barrier = Barrier::new(initiators);
    let medians: Vec<f64> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..initiators)
            .map(|_| {
                s.spawn(|| {
                    barrier.wait();
                    batches(post, count)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|t| t.join().expect("no panic"))
            .collect()
    });
    median(&medians)
}

/// `--post WAY N`: what valgrind looks at.
pub(crate) fn alone(args: &mut dyn Iterator<Item = String>) {
    let way = args.next().unwrap_or_default();
    let count: u32 = args.next().and_then(|n| n.parse().ok()).unwrap_or(0);
    for (name, post, _) in WAYS.into_iter().chain(ATOMIC_WAYS) {
        if name == way {
            batches(post, count);
        }
    }
}

/// Instructions of one post: what valgrind counts within the function, of `n` batches.
fn instructions(way: &str, function: &str, n: u32) -> Option<f64> {
    let out = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect={function}"))
        .arg(std::env::current_exe().ok()?)
        .args(["--post", way, &n.to_string()])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&out.stderr);
    let collected = text.lines().find_map(|l| l.split("Collected :").nth(1))?;
    let total: f64 = collected.trim().parse().ok()?;
    Some(total / f64::from(n * BATCH))
}

pub(crate) fn measure(options: &Options, report: &mut Report) {
    let mut counted = Rounds::new(
        "Posting a put, instructions (callgrind, the posting call)",
        "instructions",
    );
    for (way, _, function) in WAYS {
        match instructions(way, function, 200) {
            Some(n) => counted.add(way, n),
            None => println!("posting, instructions: not counted, valgrind does not run here\n"),
        }
    }
    counted.ratio("words / template", "words", "template");
    counted.ratio("whole / template", "whole", "template");
    report.table(counted);
    let mut counted = Rounds::new(
        "Posting an atomic, instructions (callgrind, the posting call)",
        "instructions",
    );
    for (way, _, function) in ATOMIC_WAYS {
        if let Some(n) = instructions(way, function, 200) {
            counted.add(way, n);
        }
    }
    counted.ratio("whole / template", "atomic whole", "atomic template");
    report.table(counted);

    let count = if options.quick { 2_000 } else { 10_000 };
    for initiators in [1, 2, 4, 8] {
        let title = format!("Posting a put and ringing, by {initiators} initiators");
        let mut table = Rounds::new(&title, "ns a post");
        let share = count / initiators as u32;
        for _ in 0..options.rounds {
            for (way, post, _) in WAYS {
                table.add(way, by_initiators(initiators, post, share));
            }
            table.add("the clock itself", clock(share));
        }
        table.ratio("words / template", "words", "template");
        table.ratio("whole / template", "whole", "template");
        report.table(table);
    }
    let mut table = Rounds::new("Posting an atomic and ringing, by 1 initiator", "ns a post");
    for _ in 0..options.rounds {
        for (way, post, _) in ATOMIC_WAYS {
            table.add(way, by_initiators(1, post, count));
        }
    }
    table.ratio("whole / template", "atomic whole", "atomic template");
    report.table(table);

    let count = if options.quick { 200 } else { 1_000 };
    for initiators in [1, 2, 4, 8] {
        let title =
            format!("Puts of 8 bytes, {BATCH} a quiet, emulated adapter, {initiators} initiators");
        let mut table = Rounds::new(&title, "ns a put, all together");
        for _ in 0..options.rounds {
            for (name, way) in ABLATION {
                table.add(name, through(initiators, way, count / initiators as u32));
            }
        }
        table.ratio("none / template", "none", "template");
        table.ratio("none / batch", "none", "batch");
        table.ratio("none / both", "none", "both");
        report.table(table);
    }
}

/// How the puts between two quiets are posted.
#[derive(Clone, Copy)]
struct How {
    /// From the slot's template; else a general descriptor is built and encoded.
    template: bool,
    /// One doorbell for all of them; else one for each.
    batch: bool,
}

const ABLATION: [(&str, How); 4] = [
    (
        "none",
        How {
            template: false,
            batch: false,
        },
    ),
    (
        "batch",
        How {
            template: false,
            batch: true,
        },
    ),
    (
        "template",
        How {
            template: true,
            batch: false,
        },
    ),
    (
        "both",
        How {
            template: true,
            batch: true,
        },
    ),
];

/// Through an adapter that executes them: the wall time of a put while all initiators put.
fn through(initiators: usize, how: How, quiets: u32) -> f64 {
    let mut memory = vec![0u64; 1024];
    let whole = Memory::here(memory.as_mut_ptr().cast(), 8192);
    let domains: Arc<[Arc<Domain>]> = (0..2)
        .map(|_| Arc::new(Domain::new(Sizes::default())))
        .collect();
    let mut keys = TemplateKeys::default();
    for d in domains.iter() {
        // SAFETY: the vector outlives the engine and is not accessed while it runs.
        let key = unsafe { d.keys().register(whole, Rights::ALL, None) }.expect("room");
        keys = TemplateKeys {
            local: key,
            remote: key,
        };
    }
    let ranks = emulated::start(domains, Model::default()).expect("a thread");
    let (from, to) = (whole.base, whole.base + 4096);
    let barrier = Barrier::new(initiators);
    let put = |qp: &mut QueuePair| {
        if how.template {
            let d = Dynamic {
                peer: 1,
                remote: to,
                local: from,
                length: 8,
            };
            qp.initiator()
                .post_template(Shape::Put, d)
                .expect("a quiet came before the queue was full");
        } else {
            let d = Descriptor {
                queue_pair: qp.initiator().statics().queue_pair,
                peer: 1,
                signalled: false,
                count: None,
                count_source: false,
                work: Work::Put {
                    source: Source::Memory(qp.local(from), 8),
                    remote: qp.remote(to),
                    signal: None,
                },
            };
            // The general way; posting by the queue pair has a shorter one for puts.
            qp.initiator()
                .post(black_box(&d))
                .expect("a quiet came before the queue was full");
        }
        if !how.batch {
            qp.ring();
        }
    };
    let run = |qp: &mut QueuePair, quiets: u32| {
        for _ in 0..quiets {
            for _ in 0..BATCH {
                put(qp);
            }
            qp.quiet().expect("valid");
        }
    };
    let times: Vec<f64> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..initiators)
            .map(|_| {
                s.spawn(|| {
                    let mut qp = ranks[0].queue_pair(DEPTH, keys);
                    run(&mut qp, quiets / 10 + 1);
                    barrier.wait();
                    let start = Instant::now();
                    run(&mut qp, quiets);
                    start.elapsed().as_nanos() as f64
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|t| t.join().expect("no panic"))
            .collect()
    });
    let slowest = times.iter().copied().fold(0.0, f64::max);
    drop(ranks);
    drop(memory);
    slowest / f64::from(quiets * BATCH * initiators as u32)
}
