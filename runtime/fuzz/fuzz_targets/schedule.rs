//! A compiled schedule of GOAL: refused, or the same after a way through its graph, as bytes.
#![no_main]

use hetmp_goal::schedule::Schedule;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(schedule) = Schedule::from_bytes(bytes) {
        let words = schedule.words().to_vec();
        let _ = schedule.to_graph().compile();
        assert!(Schedule::from_words(words.into()).is_ok());
    }
});
