use super::*;
use core::sync::atomic::AtomicBool;

/// A ring that is not any thread's own.
fn ring(capacity: u64) -> Ring {
    Ring {
        tid: 1,
        capacity,
        words: map(capacity).expect("memory"),
        begun: AtomicU64::new(0),
        written: AtomicU64::new(0),
        version: AtomicU64::new(0),
        depth: AtomicUsize::new(0),
        stack: [const { [const { AtomicU64::new(0) }; WORDS] }; DEPTH],
    }
}

fn numbered(ring: &Ring, i: u64) {
    ring.record([Kind::Chunk as u64, i, i, i, i, i]);
}

#[test]
fn a_full_ring_keeps_the_newest() {
    let r = ring(4);
    for i in 0..11 {
        numbered(&r, i);
    }
    let t = r.read();
    assert_eq!(t.dropped, 7);
    let kept: Vec<u64> = t.events.iter().map(|e| e.what).collect();
    assert_eq!(kept, [7, 8, 9, 10]);
}

#[test]
fn what_is_open_is_there() {
    let r = ring(8);
    r.push(0, Kind::Region, 0, 10, 0x100, 2, 0, 0);
    r.push(1, Kind::Chunk, 1, 20, 0x200, 5, 9, 77);
    let t = r.read();
    assert_eq!(t.events.len(), 2);
    assert!(t.events.iter().all(|e| e.unfinished && e.end_ns > 20));
    let e = t.events[1];
    assert_eq!(
        (e.kind, e.node, e.what, e.a, e.b),
        (Kind::Chunk, 1, 0x200, 5, 9)
    );
    r.pop(1, 30);
    let e = r.read().events[1];
    assert_eq!((e.start_ns, e.end_ns, e.unfinished), (20, 30, false));
}

#[test]
fn a_stack_has_a_bottom() {
    let r = ring(8);
    let before = lost();
    for i in 0..DEPTH + 3 {
        r.push(r.depth(), Kind::Region, 0, i as u64, 0, 0, 0, 0);
    }
    assert_eq!(r.depth(), DEPTH);
    // Other tests may lose some, too.
    assert!(lost() >= before + 3);
}

/// Threads trace while another thread reads.
#[test]
fn threads_trace_while_they_are_read() {
    assert!(!on());
    open(Kind::Region, 1, 1, 1);
    close(Kind::Region);
    assert!(read().is_empty(), "off");
    start(1000);
    let go = AtomicBool::new(true);
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                let mut rounds = 0u64;
                while go.load(Ordering::Relaxed) || rounds < 1000 {
                    rounds += 1;
                    open(Kind::Region, 7, 2, 0);
                    chunk(1, 70, 0, Some((0, 5)), true);
                    {
                        // Inside a chunk, a region whose loop is cancelled in its chunk.
                        let _inner = scope(Kind::Region, 8, 1, 0);
                        chunk(2, 80, 0, Some((0, 3)), false);
                    }
                    chunk(1, 70, 1, Some((5, 9)), false);
                    chunk(1, 70, 1, None, false);
                    open(Kind::Barrier, 0, 0, 0);
                    close(Kind::Barrier);
                    note(Kind::Decision, 70, text("why"), 0);
                    close(Kind::Region);
                }
            });
        }
        for _ in 0..200 {
            for t in read() {
                nested(&t);
            }
        }
        go.store(false, Ordering::Relaxed);
    });
    let threads = read();
    assert_eq!(threads.len(), 2);
    assert_ne!(threads[0].tid, threads[1].tid);
    for t in &threads {
        assert_eq!(t.events.len(), 1000);
        assert!(t.dropped > 0);
        assert!(t.events.iter().all(|e| !e.unfinished));
        for (kind, what) in [(Kind::Probe, 70), (Kind::Chunk, 80), (Kind::Barrier, 0)] {
            assert!(t.events.iter().any(|e| (e.kind, e.what) == (kind, what)));
        }
        let told = t.events.iter().find(|e| e.kind == Kind::Decision);
        let said = told.and_then(|e| text_of(e.a)).expect("kept");
        assert!(said == "why" || said.starts_with('('), "{said}");
    }
    stop();
}

/// Every event of a thread lies inside or beside every other one, and none is torn.
fn nested(t: &Thread) {
    let mut ends: Vec<u64> = Vec::new();
    let mut last = 0;
    for e in &t.events {
        assert!(e.start_ns <= e.end_ns && e.start_ns >= last, "{e:?}");
        last = e.start_ns;
        let known = matches!(
            (e.kind, e.what, e.a, e.b),
            (Kind::Region, 7, 2, 0)
                | (Kind::Region, 8, 1, 0)
                | (Kind::Probe, 70, 0, 5)
                | (Kind::Chunk, 80, 0, 3)
                | (Kind::Chunk, 70, 5, 9)
                | (Kind::Barrier, 0, 0, 0)
                | (Kind::Decision, 70, _, 0)
        );
        assert!(known, "{e:?}");
        while ends.last().is_some_and(|&end| end <= e.start_ns) {
            ends.pop();
        }
        if let Some(&end) = ends.last() {
            assert!(e.end_ns <= end, "{e:?} goes on after {end}");
        }
        ends.push(e.end_ns);
    }
}
