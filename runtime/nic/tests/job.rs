//! Jobs of two processes, which find each other by an exchange through files: messages, puts and counts must cross on
//! every transport.
//!
//! The second process is this test program again. A variable of its environment makes it run one test only.
#![cfg(not(loom))]

use hetmp_core::bootstrap::{through, Exchange};
use hetmp_nic::arithmetic::{apply, Arithmetic, Type};
use hetmp_nic::descriptor::{Key, Local, Remote, Source, Status, Work};
use hetmp_nic::domain::{Arrival, Sizes};
use hetmp_nic::engine::{ofi, Engine};
use hetmp_nic::job::{self, Job, Request, Way};
use hetmp_nic::keys::{Memory, Rights};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const FOLDER: &str = "HETMP_NIC_TEST_FOLDER";
/// The name of a file that rank 0 makes when all operations that it posted are done.
const THROUGH: &str = "through";
/// Long enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
const MEMORY: usize = 64 << 10;
const SIZES: Sizes = Sizes {
    ports: 2,
    regions: 4,
    messages: 4,
    counters: 4,
};

/// The exchange between the two ranks: files in a folder that both know.
struct Files {
    folder: PathBuf,
    rank: u32,
    fences: u32,
}

impl Exchange for Files {
    fn rank(&self) -> u32 {
        self.rank
    }
    fn size(&self) -> u32 {
        2
    }
    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), String> {
        std::fs::write(self.folder.join(format!("{key}.{}", self.rank)), value)
            .map_err(|e| e.to_string())
    }
    fn fence(&mut self) -> Result<(), String> {
        self.fences += 1;
        let file = |rank| self.folder.join(format!("fence {}.{rank}", self.fences));
        std::fs::write(file(self.rank), b"").map_err(|e| e.to_string())?;
        let until = Instant::now() + PATIENCE;
        while !file(1 - self.rank).exists() {
            if Instant::now() > until {
                return Err("the other rank does not come".to_owned());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
    fn get(&mut self, rank: u32, key: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(std::fs::read(self.folder.join(format!("{key}.{rank}"))).ok())
    }
    fn abort(&mut self, _status: i32, _message: &str) {}
}

/// The numbers of events that the rank of this process was told of, by kind (memory, messages, counts), and the ports
/// of all events as bits.
#[derive(Default)]
struct Came {
    memory: AtomicU64,
    messages: AtomicU64,
    counts: AtomicU64,
}

fn join(rank: u32, folder: PathBuf, way: Way, came: &'static Came) -> &'static Job {
    let files = Files {
        folder,
        rank,
        fences: 0,
    };
    let mut exchange = through(Box::new(files)).expect("two ranks");
    assert_eq!(exchange.local_ranks(), [0, 1]);
    let request = Request {
        member: "rank",
        name: c"hetmp-job-test",
        memory: MEMORY,
        align: 1 << 16,
        sizes: SIZES,
        way,
        model: "",
        dials: false,
        needs_all: false,
    };
    let joining = job::begin(request, exchange.as_mut()).expect("memory");
    // SAFETY: the peer does not know of this memory yet.
    unsafe { joining.base().cast::<u64>().write(100 + u64::from(rank)) };
    let note = [rank as u8, b'\n'];
    let mut noted = 0;
    let mut check = |r: u32, local: bool, note: &[u8]| {
        noted += 1;
        assert!(local && note == [r as u8, b'\n']);
        Ok(())
    };
    let handler = |r: u32, _: *mut u8| -> Option<job::Handler> {
        (r == rank).then(|| -> job::Handler {
            Box::new(|a| {
                let of = match a {
                    Arrival::Memory { .. } => &came.memory,
                    Arrival::Message { .. } => &came.messages,
                    Arrival::Count(_) => &came.counts,
                };
                of.fetch_add(1, Ordering::Relaxed);
            })
        })
    };
    let mut joined = joining
        .meet(exchange.as_mut(), &note, &mut check, &handler)
        .expect("both come");
    assert_eq!(noted, 1);
    joined.start(exchange.as_mut()).expect("an engine");
    joined.establish(exchange)
}

/// Runs `body` as rank 0 here and as rank 1 in another process, which runs the test `name`.
fn two(name: &str, way: Way, body: impl Fn(&'static Job, &'static Came)) {
    let came = Box::leak(Box::default());
    if let Ok(folder) = std::env::var(FOLDER) {
        let through = PathBuf::from(&folder).join(THROUGH);
        body(join(1, folder.into(), way, came), came);
        // This process must not end yet: its engine may still have to tell rank 0 that the last operation is done.
        until("rank 0", || through.exists());
        return;
    }
    let folder = std::env::temp_dir().join(format!("hetmp-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut other = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", name, "--nocapture"])
        .env(FOLDER, &folder)
        .stdout(Stdio::null())
        .spawn()
        .expect("this program again");
    body(join(0, folder.clone(), way, came), came);
    std::fs::write(folder.join(THROUGH), b"").expect("its folder");
    let status = other.wait().expect("a child");
    let _ = std::fs::remove_dir_all(folder);
    assert!(status.success(), "rank 1: {status}");
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < end, "{what}");
        std::thread::yield_now();
    }
}

/// A word of this rank's memory.
fn word(job: &Job, offset: usize) -> &'static AtomicU64 {
    assert!(offset + 8 <= MEMORY);
    // SAFETY: in bounds of a segment that stays mapped, and aligned.
    unsafe { AtomicU64::from_ptr(job.peers()[job.rank() as usize].base().add(offset).cast()) }
}

fn receive(job: &Job, port: u8) -> (u32, u32, Vec<u8>) {
    let inbox = job
        .domain()
        .port(port)
        .and_then(|p| p.inbox())
        .expect("its own");
    let mut got = None;
    until("a message", || {
        if let Some(e) = job.queues() {
            e.progress();
        }
        got = inbox.receive_within(1_000_000);
        got.is_some()
    });
    let m = got.expect("received");
    (m.source, m.tag, m.bytes().to_vec())
}

/// Messages to ports, counts, regions that are registered and deregistered, and an operation that waits for a count
/// from the peer.
fn everything(job: &'static Job, came: &Came) {
    let engine: &dyn Engine = job.queues().expect("an engine");
    let (me, other) = (job.rank(), 1 - job.rank());
    assert_eq!(word(job, 0).load(Ordering::Relaxed), 100 + u64::from(me));
    let mut qp = engine.queue_pair(8, job.keys());
    let mine = job.domain().port(1).expect("two ports");
    // The peer makes its counters in the same order, so they have the same numbers.
    let counter = mine.counter(3).expect("four counters");

    // More messages than the inbox holds, to port 1; one to port 0.
    for tag in 0..10 {
        qp.send_inline(other, 1, tag, &[me as u8; 9]).expect("fits");
        let (source, got, bytes) = receive(job, 1);
        assert_eq!(
            (source, got, &bytes[..]),
            (other, tag, &[other as u8; 9][..])
        );
    }
    qp.send_inline(other, 0, 77, b"to the other port")
        .expect("fits");
    assert_eq!(receive(job, 0).1, 77);
    qp.send_inline(other, 9, 0, b"").expect("fits");
    let failed = qp.quiet().expect_err("no such port").0;
    assert_eq!((failed[0].status, failed[0].value), (Status::Port, 9));

    // A region of port 1, registered now. A message takes its key to the peer.
    let region = Memory {
        here: job.peers()[me as usize].base().wrapping_add(4096),
        len: 64,
        base: 1 << 40,
    };
    // SAFETY: no other test uses this part of the memory.
    let key =
        unsafe { job.domain().register(1, region, Rights::ALL, Some(counter)) }.expect("room");
    qp.send_inline(other, 1, 50, &key.0.to_le_bytes())
        .expect("fits");
    let bytes = receive(job, 1).2;
    let theirs = Remote {
        address: (1 << 40) + 8,
        key: Key(u32::from_le_bytes(bytes[..4].try_into().expect("a key"))),
    };
    let put = |value: u64, remote: Remote| Work::Put {
        source: hetmp_nic::descriptor::Source::Inline(
            hetmp_nic::descriptor::Inline::new(&value.to_le_bytes()).expect("fits"),
        ),
        remote,
        signal: None,
    };
    qp.post(other, false, put(7, theirs));
    qp.quiet().expect("a region that is there");
    until("the put is counted", || {
        job.domain().counters().value(counter) >= Some(1)
    });
    assert_eq!(word(job, 4096 + 8).load(Ordering::Acquire), 7);

    // Counts at the peer.
    qp.post(other, false, Work::Count { counter, add: 9 });
    qp.ring();
    until("the peer's count", || {
        job.domain().counters().value(counter) >= Some(10)
    });

    // The region is deregistered. Operations that are posted to it afterwards must not write. Both ranks meet before
    // and after, by messages.
    let mut meet = |tag| {
        qp.send_inline(other, 1, tag, b"").expect("fits");
        assert_eq!(receive(job, 1).1, tag);
    };
    meet(60);
    assert!(job.domain().keys().deregister(key));
    meet(61);
    qp.post(other, false, put(8, theirs));
    let failed = qp.quiet().expect_err("the region is gone").0;
    assert_eq!(failed[0].status, Status::RemoteKey);
    assert_eq!(word(job, 4096 + 8).load(Ordering::Acquire), 7);

    if engine.abilities().triggered {
        // A put that waits for a count of the peer.
        let mut waiting = engine.queue_pair(8, job.keys());
        let threshold = 11;
        let wait = Work::Wait {
            counter,
            threshold,
            span: 1,
        };
        let there = Remote {
            address: 8192,
            key: job.keys().remote,
        };
        waiting.post(other, false, wait);
        waiting.post(other, false, put(5, there));
        waiting.ring();
        // The peer has not counted yet, and the adapter may sleep.
        qp.send_inline(other, 1, 70, b"").expect("fits");
        assert_eq!(receive(job, 1).1, 70);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(word(job, 8192).load(Ordering::Acquire), 0);
        qp.send_inline(other, 1, 71, b"").expect("fits");
        assert_eq!(receive(job, 1).1, 71);
        qp.post(other, false, Work::Count { counter, add: 1 });
        qp.ring();
        until("what the count set off", || {
            engine.progress();
            word(job, 8192).load(Ordering::Acquire) == 5
        });
        waiting.quiet().expect("valid");
    }
    qp.quiet().expect("valid");
    if job.reach() != job::Reach::Nobody && engine.name() == "tcp" {
        // On this transport the engine that delivers them runs in this process.
        assert!(came.memory.load(Ordering::Relaxed) >= 1);
        assert!(came.messages.load(Ordering::Relaxed) >= 14);
        assert_eq!(came.counts.load(Ordering::Relaxed), 2);
    }

    // Memory that is added after the start.
    let more = job
        .segment(c"hetmp-more", 1 << 20, 1 << 21)
        .expect("memory");
    let base = more[me as usize].as_ref().expect("its own").base();
    assert_eq!(base as usize % (1 << 21), 0);
    let later = Memory {
        here: base.wrapping_add(1 << 19),
        len: 64,
        base: 0,
    };
    // SAFETY: only this test uses this memory.
    let key = unsafe { job.domain().register(1, later, Rights::ALL, None) }.expect("in a window");
    qp.send_inline(other, 1, 80, &key.0.to_le_bytes())
        .expect("fits");
    let bytes = receive(job, 1).2;
    let theirs = Remote {
        address: 16,
        key: Key(u32::from_le_bytes(bytes[..4].try_into().expect("a key"))),
    };
    qp.post(other, false, put(33, theirs));
    qp.quiet().expect("valid");
    // SAFETY: in bounds of a segment that stays mapped.
    let came = unsafe { AtomicU64::from_ptr(base.add((1 << 19) + 16).cast()) };
    until("what the peer put into later memory", || {
        engine.progress();
        came.load(Ordering::Acquire) == 33
    });
    qp.send_inline(other, 1, 90, b"").expect("fits");
    assert_eq!(receive(job, 1).1, 90);
    qp.quiet().expect("valid");
}

/// An allreduce of two ranks, of which all operations are posted in advance. Each rank sends its vector. When the
/// peer's vector has come and the own one has left, the rank adds the two, and sends the sum to the peer. A round
/// begins when the peer's sum of the last round has come.
fn reductions(job: &'static Job, _: &Came) {
    const ROUNDS: u64 = 60;
    const BYTES: usize = 8192;
    const OWN: usize = 0;
    const CAME: usize = 16384;
    const SUM: usize = 32768;
    let types = [
        Type::Double,
        Type::Signed(32),
        Type::Unsigned(5),
        Type::Float,
        Type::Unsigned(64),
        Type::Signed(16),
    ];
    let engine: &dyn Engine = job.queues().expect("an engine");
    let (me, other) = (job.rank(), 1 - job.rank());
    let base = job.peers()[me as usize].base();
    let port = job.domain().port(1).expect("two ports");
    let counter = |i| port.counter(i).expect("four counters");
    let [arrived, left, ready, summed] = [0, 1, 2, 3].map(counter);
    let sums = job
        .domain()
        .port(0)
        .and_then(|p| p.counter(0))
        .expect("there");
    let region = |at: usize, counted| {
        let memory = Memory {
            here: base.wrapping_add(at),
            len: BYTES,
            base: 0,
        };
        // SAFETY: only operations of this test use the region, and the rank reads it between them.
        unsafe { job.domain().register(1, memory, Rights::ALL, Some(counted)) }.expect("room")
    };
    // The peer registers the same regions in the same order, so its keys are the same.
    let (came_key, sum_key) = (region(CAME, arrived), region(SUM, sums));
    let mut qp = engine.queue_pair(16, job.keys());
    qp.send_inline(other, 1, 1, b"registered").expect("fits");
    assert_eq!(receive(job, 1).1, 1);

    let vector = |rank: u32, round: u64| -> Vec<u8> {
        let of = |i| (u64::from(rank) + 2) * 1_000_003 * (round + i as u64);
        (0..BYTES / 8).flat_map(|i| of(i).to_le_bytes()).collect()
    };
    let own = |at: usize| Local {
        address: base as u64 + at as u64,
        key: job.keys().local,
    };
    let wait = |counter, threshold| Work::Wait {
        counter,
        threshold,
        span: 1,
    };
    let send = |key| Work::Put {
        source: Source::Memory(own(OWN), BYTES as u32),
        remote: Remote { address: 0, key },
        signal: None,
    };
    let count = |counter| Work::Count { counter, add: 1 };
    for round in 1..=ROUNDS {
        let element = types[round as usize % types.len()];
        let op = [Arithmetic::Add, Arithmetic::Max][round as usize / types.len() % 2];
        let mut want = vector(me, round);
        // SAFETY: in bounds. `flush` has returned, so the sum of the last round has left.
        unsafe { base.add(OWN).copy_from(want.as_ptr(), BYTES) };
        qp.post_counting_source(other, left, send(came_key));
        for first in [left, arrived] {
            qp.post(me, false, wait(first, round));
            qp.post(me, false, count(ready));
        }
        qp.post(me, false, wait(ready, 2 * round));
        let compute = Work::Compute {
            op,
            element,
            target: own(OWN),
            operand: Local {
                address: 0,
                key: came_key,
            },
            length: BYTES as u32,
        };
        qp.post_counted(me, summed, compute);
        qp.post(me, false, wait(summed, round));
        qp.post(other, false, send(sum_key));
        qp.ring();
        until("the sum of the other rank", || {
            engine.progress();
            job.domain().counters().value(sums) >= Some(round)
        });
        apply(op, element, &mut want, &vector(other, round)).expect("no division");
        let mut got = vec![0; BYTES];
        // SAFETY: in bounds; the peer sends its next sum after this rank's next vector.
        unsafe { base.add(SUM).copy_to(got.as_mut_ptr(), BYTES) };
        assert!(got == want, "round {round}: {op} {element}");
        qp.flush();
    }
    qp.quiet().expect("valid");
}

#[test]
fn reductions_run_by_themselves_on_mapped_memory() {
    two(
        "reductions_run_by_themselves_on_mapped_memory",
        Way::Shm,
        reductions,
    );
}

#[test]
fn reductions_run_by_themselves_through_adapters() {
    two(
        "reductions_run_by_themselves_through_adapters",
        Way::Emulated,
        reductions,
    );
}

#[test]
fn reductions_run_by_themselves_over_sockets() {
    two(
        "reductions_run_by_themselves_over_sockets",
        Way::Tcp,
        reductions,
    );
}

#[test]
fn everything_crosses_mapped_memory() {
    two("everything_crosses_mapped_memory", Way::Shm, everything);
}

#[test]
fn everything_crosses_adapters() {
    two("everything_crosses_adapters", Way::Emulated, everything);
}

#[test]
fn everything_crosses_sockets() {
    two("everything_crosses_sockets", Way::Tcp, everything);
}

/// Runs a test over a fabric, if libfabric is installed and has the provider.
fn over(name: &str, provider: &'static str, body: impl Fn(&'static Job, &'static Came)) {
    let memory = vec![0u64; 512].leak();
    let memory = Memory::here(core::ptr::from_mut(&mut memory[0]).cast(), 4096);
    // SAFETY: the memory is leaked, so it lives for ever, and no peer knows of it.
    match unsafe { ofi::open(0, Some(provider), None, false, memory, &[3; 32], 1) }.map(drop) {
        Ok(()) => two(name, Way::Ofi(Some(provider)), body),
        Err(e) => {
            assert!(
                e.contains("cannot be loaded") || e.contains("no such provider"),
                "{e}"
            );
            eprintln!("skipped: ofi:{provider}: {e}");
        }
    }
}

#[test]
fn everything_crosses_a_fabric_of_sockets() {
    over("everything_crosses_a_fabric_of_sockets", "tcp", everything);
}

#[test]
fn everything_crosses_a_fabric_of_shared_memory() {
    over(
        "everything_crosses_a_fabric_of_shared_memory",
        "shm",
        |job, came| {
            everything(job, came);
            // The process ends without closing its endpoint, as jobs do. By then the provider's file must be gone.
            let own = format!("{}:", std::process::id());
            let left = || {
                let all = std::fs::read_dir("/dev/shm").expect("readable").flatten();
                all.filter(|e| e.file_name().to_string_lossy().starts_with(&own))
                    .count()
            };
            until("the end of the provider's file", || left() == 0);
        },
    );
}

#[test]
fn everything_crosses_a_fabric_with_progress_of_its_own() {
    over(
        "everything_crosses_a_fabric_with_progress_of_its_own",
        "sockets",
        everything,
    );
}

#[test]
fn reductions_run_by_themselves_over_a_fabric() {
    over(
        "reductions_run_by_themselves_over_a_fabric",
        "tcp",
        reductions,
    );
}

/// Each refusal is one line, which names the value and what is expected.
#[test]
fn a_fabric_that_cannot_be_is_refused_in_one_line() {
    let memory = vec![0u64; 512].leak();
    let memory = Memory::here(core::ptr::from_mut(&mut memory[0]).cast(), 4096);
    for (provider, several, part) in [
        ("pigeon", false, "no such provider here ("),
        (
            "shm",
            true,
            "no ordered messages with remote memory access between these processes (",
        ),
    ] {
        // SAFETY: the memory is leaked, so it lives for ever, and no peer knows of it.
        let opened = unsafe { ofi::open(0, Some(provider), None, several, memory, &[3; 32], 1) };
        let why = opened.expect_err("no such thing");
        if why.contains("cannot be loaded") {
            eprintln!("skipped: {why}");
            return;
        }
        assert!(why.contains(part) && !why.contains('\n'), "{why}");
        assert!(
            why.contains("(expected one of ") && why.contains("tcp"),
            "{why}"
        );
    }
}
