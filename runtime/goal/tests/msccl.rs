//! MSCCL algorithms: a ring that this file generates is run with data; damaged texts are refused.

use hetmp_goal::global;
use hetmp_goal::memory::Owned;
use hetmp_goal::msccl::{read, Algorithm, Chunk};
use hetmp_goal::network::Network;
use hetmp_goal::rank::{Limits, State};
use proptest::prelude::*;
use std::fmt::Write as _;
use std::sync::Arc;

/// An allreduce around a ring, in place: reduce-scatter, then allgather, with steps of every reducing kind.
fn ring(n: i64) -> String {
    let mut text = format!(
        "<?xml version=\"1.0\"?>\n<!-- a ring\n -->\n<algo name='ring' ngpus=\"{n}\" coll=\"allreduce\" \
         inplace=\"1\">\n"
    );
    for r in 0..n {
        let _ = writeln!(
            text,
            " <gpu id=\"{r}\" i_chunks=\"{n}\" o_chunks=\"0\" s_chunks=\"1\">"
        );
        let (send, recv) = ((r + 1) % n, (r + n - 1) % n);
        let _ = writeln!(
            text,
            "  <tb id=\"0\" send=\"{send}\" recv=\"{recv}\" chan=\"0\">"
        );
        let mut s = 0;
        let mut step = |text: &mut String, kind: &str, chunk: i64| {
            let chunk = chunk.rem_euclid(n);
            let _ = writeln!(
                text,
                "   <step s=\"{s}\" type=\"{kind}\" srcbuf=\"i\" srcoff=\"{chunk}\" dstbuf=\"i\" dstoff=\"{chunk}\" \
                 cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>"
            );
            s += 1;
        };
        step(&mut text, "s", r);
        for k in 1..n - 1 {
            step(&mut text, "rrs", r - k);
        }
        step(&mut text, "rrcs", r + 1);
        for k in 0..n - 2 {
            step(&mut text, "rcs", r - k);
        }
        step(&mut text, "r", r + 2);
        text.push_str("  </tb>\n  <tb id=\"1\" send=\"-1\" recv=\"-1\" chan=\"0\">\n");
        let last = 2 * n - 2;
        let _ = writeln!(
            text,
            "   <step s=\"0\" type=\"nop\" depid=\"0\" deps=\"{last}\"/>\n   <step s=\"1\" type=\"cpy\" srcbuf=\"i\" \
             srcoff=\"0\" dstbuf=\"s\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\"/>\n  </tb>\n </gpu>"
        );
    }
    text.push_str("</algo>\n");
    text
}

/// Runs an algorithm in one thread and compares its data.
fn right(algorithm: &Algorithm, limits: Limits, seed: u64) {
    assert_eq!(global::check(&algorithm.graphs), []);
    let data = algorithm.data().expect("a collective that is known");
    let mut net = Network::new(algorithm.graphs.len() as u32, limits, seed);
    let bytes = |v: &[f32]| -> Vec<u8> { v.iter().flat_map(|x| x.to_le_bytes()).collect() };
    let handles: Vec<_> = algorithm
        .graphs
        .iter()
        .zip(&data.before)
        .map(|(graph, [i, o])| {
            let schedule = Arc::new(graph.compile().expect("a graph"));
            let memory = Owned::new(vec![bytes(i), bytes(o)]);
            net.start(&schedule, 0, Box::new(memory))
                .expect("memory that fits")
        })
        .collect();
    net.run();
    for (r, handle) in (0..).zip(handles) {
        let (state, memory) = net.rank(r).take(handle).expect("an end");
        assert_eq!(state, State::Done, "rank {r}");
        for (s, wanted) in data.after[r as usize].iter().enumerate() {
            for (i, value) in wanted.iter().enumerate() {
                let Some(value) = value else { continue };
                let piece = hetmp_goal::memory::Buffer::user(s as u16, 4 * i as u64, 4);
                let mut got = [0; 4];
                memory.read(&piece, &mut got);
                assert_eq!(
                    f32::from_le_bytes(got),
                    *value,
                    "rank {r} segment {s} element {i}"
                );
            }
        }
    }
}

#[test]
fn a_ring_reduces_with_short_and_long_messages() {
    for n in [2, 3, 4, 8] {
        let algorithm = read(&ring(n), Chunk::floats(5)).expect("an algorithm");
        assert_eq!(
            (algorithm.name.as_str(), algorithm.collective.as_str()),
            ("ring", "allreduce")
        );
        for seed in 0..20 {
            let eager = if seed % 2 == 0 { 0 } else { 8 << 10 };
            right(
                &algorithm,
                Limits {
                    eager,
                    ..Limits::default()
                },
                seed,
            );
        }
    }
}

/// Public algorithms, where a folder of them is named.
#[test]
fn public_algorithms_reduce_and_gather() {
    let Some(folder) = std::env::var_os("HETMP_TEST_MSCCL") else {
        return;
    };
    let mut files = 0;
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().extension().is_none_or(|e| e != "xml") {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("a text");
        let algorithm = read(&text, Chunk::floats(3)).unwrap_or_else(|e| panic!("{entry:?}: {e}"));
        for eager in [0, 8 << 10] {
            right(
                &algorithm,
                Limits {
                    eager,
                    ..Limits::default()
                },
                1,
            );
        }
        files += 1;
    }
    assert!(files > 0, "no .xml there");
}

#[test]
fn mistakes_are_named_with_their_line() {
    let good = ring(3);
    let said = |from: &str, to: &str| {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        read(&text, Chunk::floats(1))
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        said("type=\"rrs\"", "type=\"rrx\""),
        "line 8: step rrx: unknown (expected s, r, rcs, rrc, rrs, rrcs, re, cpy or nop)"
    );
    assert_eq!(
        said("srcoff=\"0\"", "srcoff=\"3\""),
        "line 7: chunks 3 to 3 of buffer i: up to 3 are there"
    );
    assert_eq!(
        said("deps=\"4\"", "deps=\"9\""),
        "line 14: depid 0 deps 9: no such step (expected one of this GPU)"
    );
    assert_eq!(
        said("send=\"1\"", "send=\"7\""),
        "line 7: rank 7: not in the job (expected 0 to 2)"
    );
    assert_eq!(
        said("send=\"1\"", "send=\"-1\""),
        "line 7: step s: no peer to send to (expected a thread block with one)"
    );
    assert_eq!(
        said("ngpus=\"3\"", "ngpus=\"4\""),
        "3 of 4 GPUs (expected all of them)"
    );
    assert_eq!(
        said("gpu id=\"1\"", "gpu id=\"0\""),
        "line 18: gpu 0: twice or out of range (expected each of 0 to 2 once)"
    );
    assert_eq!(
        said("</tb>", "</gpu>"),
        "line 12: </gpu>: out of place (expected gpu in algo, tb in gpu, step in tb)"
    );
    assert_eq!(
        said("depid=\"-1\"", "depid=\"1\" x"),
        "line 7: x deps=\"-1\" hasdep=\"0\": no attribute (expected NAME=\"VALUE\")"
    );
}

proptest! {
    /// A damaged text is refused, or gives graphs that compile or are refused. Nothing panics.
    #[test]
    fn damaged_texts_are_refused_or_read(
        n in 2i64..5,
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0usize..4, any::<char>()), 1..6),
    ) {
        let mut text: Vec<char> = ring(n).chars().collect();
        for (at, remove, insert) in cuts {
            let at = at.index(text.len());
            let end = (at + remove).min(text.len());
            text.splice(at..end, [insert]);
        }
        let text: String = text.into_iter().collect();
        if let Ok(algorithm) = read(&text, Chunk::floats(1)) {
            for graph in &algorithm.graphs {
                let _ = graph.compile();
            }
        }
    }

    #[test]
    fn any_text_is_refused_or_read(text in "[<>/ a-z=\"'0-9\\n!?-]{0,200}") {
        let _ = read(&text, Chunk::floats(1));
    }
}

/// A step of a thread block of its own, without a dependence.
fn alone(id: i64, kind: &str, peers: (i64, i64), chunk: i64) -> String {
    format!(
        "<tb id=\"{id}\" send=\"{}\" recv=\"{}\" chan=\"0\"><step s=\"0\" type=\"{kind}\" srcbuf=\"o\" \
         srcoff=\"{chunk}\" dstbuf=\"o\" dstoff=\"{chunk}\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/></tb>",
        peers.0, peers.1
    )
}

/// An allgather whose input is a part of its output, as synthesisers write them.
#[test]
fn an_allgather_in_place_finds_its_input_in_the_output() {
    let text = |outofplace: i64| {
        let mut text = format!(
            "<algo name='x' ngpus='2' coll='allgather' inplace='1' outofplace='{outofplace}'>"
        );
        for r in 0..2 {
            let peer = 1 - r;
            let _ = write!(
                text,
                "<gpu id='{r}' i_chunks='1' o_chunks='2' s_chunks='0'>{}{}</gpu>",
                alone(0, "s", (peer, -1), r),
                alone(1, "r", (-1, peer), peer)
            );
        }
        text + "</algo>"
    };
    let algorithm = read(&text(0), Chunk::floats(3)).expect("an algorithm");
    right(&algorithm, Limits::default(), 1);
    // One for two buffers has to copy; this one does not.
    let data = read(&text(1), Chunk::floats(3))
        .expect("an algorithm")
        .data();
    assert_eq!(data.expect("a known shape").before[0][1], [-1.0; 6]);
}

/// Traffic that calls itself an allgather: two chunks between pairs of four ranks.
#[test]
fn traffic_under_a_collective_s_name_is_run_without_its_data() {
    let mut text =
        "<algo name='x' ngpus='4' coll='allgather' inplace='1' outofplace='0'>".to_owned();
    for r in 0..4 {
        let peer = r ^ 1;
        let _ = write!(
            text,
            "<gpu id='{r}' i_chunks='0' o_chunks='2' s_chunks='0'>{}{}</gpu>",
            alone(0, "s", (peer, -1), 0),
            alone(1, "r", (-1, peer), 1)
        );
    }
    let algorithm = read(&(text + "</algo>"), Chunk::floats(4)).expect("an algorithm");
    assert_eq!(global::check(&algorithm.graphs), []);
    assert_eq!(algorithm.data(), None);
}
