//! Graphs as text: GOAL's own, and MSCCL's algorithms.
#![no_main]

use hetmp_goal::{msccl, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(given) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(graphs) = text::read(given) {
        for graph in &graphs {
            let _ = graph.clone().compile();
        }
    }
    let _ = text::read_rank(given, 1);
    let _ = msccl::read(given, msccl::Chunk::floats(4));
});
