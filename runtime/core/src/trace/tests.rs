use super::*;
use core::sync::atomic::AtomicBool;

fn track(capacity: u64) -> Track {
    Track::new(1, capacity).expect("memory")
}

/// A chunk of the iterations from `i` on, from time `from` to time `to`.
fn chunk_of(track: &Track, node: u32, i: u64, [from, to]: [u64; 2]) {
    track.record([head(Kind::Chunk, node), 0x200, from, to, i, i + 1]);
}

#[test]
fn what_cannot_be_joined_is_kept_while_it_is_new() {
    let t = track(4);
    for i in 0..11 {
        // There is a pause before each.
        chunk_of(&t, 0, i, [2 * i, 2 * i + 1]);
    }
    let read = t.read();
    assert!((2..=4).contains(&read.events.len()), "{read:?}");
    assert_eq!(read.dropped + read.events.len() as u64, 11);
    let kept: Vec<u64> = read.events.iter().map(|e| e.a).collect();
    assert_eq!(kept, Vec::from_iter(read.dropped..11));
    assert!(read.events.iter().all(|e| e.chunks == 1));
}

/// Regions of ten thousand chunks in room for sixty-four.
#[test]
fn chunks_are_joined_and_no_region_is_lost() {
    let t = track(64);
    let mut time = 100;
    for region in 0..8u64 {
        let begin = time;
        for i in 0..10_000 {
            // Each other iteration is another thread's. Two nodes, as if the thread moved.
            chunk_of(&t, u32::from(i >= 5000), 2 * i, [time, time + 1]);
            time += 1;
        }
        t.record([head(Kind::Region, 0), region, begin, time, 0, 0]);
        time += 50;
    }
    let read = t.read();
    assert_eq!(read.dropped, 0);
    let (regions, chunks): (Vec<Event>, Vec<Event>) =
        read.events.iter().partition(|e| e.kind == Kind::Region);
    let whats: Vec<u64> = regions.iter().map(|e| e.what).collect();
    assert_eq!(whats, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(chunks.len() <= 64);
    assert_eq!(chunks.iter().map(|e| e.chunks).sum::<u64>(), 80_000);
    for e in &chunks {
        // Nothing is joined over the end of a region, nor over a change of the node.
        assert_eq!(e.end_ns - e.start_ns, e.chunks, "{e:?}");
        assert!(regions
            .iter()
            .any(|r| r.start_ns <= e.start_ns && e.end_ns <= r.end_ns));
        assert_eq!(e.b - e.a, 2 * e.chunks - 1, "{e:?}");
        assert!(
            if e.node == 0 {
                e.b <= 10_000
            } else {
                e.a >= 10_000
            },
            "{e:?}"
        );
    }
}

#[test]
fn what_fits_is_not_joined() {
    let t = track(16);
    for i in 0..16 {
        chunk_of(&t, 0, i, [i, i + 1]);
    }
    assert_eq!(t.read().events.len(), 16);
}

#[test]
fn what_is_open_is_there() {
    let r = track(8);
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
    let r = track(8);
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
        assert!((1000..=2000).contains(&t.events.len()));
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

/// Every event of a thread lies inside or next to every other one, and none is torn.
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
