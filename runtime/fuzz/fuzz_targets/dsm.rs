//! Messages between nodes.
#![no_main]

use hetmp_dsm::Message;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some((message, count)) = Message::decode(bytes) {
        assert_eq!(message.encode(count), bytes);
    }
});
