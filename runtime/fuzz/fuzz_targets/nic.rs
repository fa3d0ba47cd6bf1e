//! What a program writes into a queue, and what a peer sends over a socket.
#![no_main]

use hetmp_nic::descriptor::{Completion, Descriptor, COMPLETION_WORDS, WORDS};
use hetmp_nic::device_memory::DeviceMemory;
use hetmp_nic::engine::tcp::frame::{split, Decoder, Header, HEADER_BYTES};
use libfuzzer_sys::fuzz_target;

fn words<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let mut words = bytes
        .chunks_exact(8)
        .map(|w| u64::from_le_bytes(w.try_into().expect("eight bytes")));
    let mut out = [0; N];
    for word in &mut out {
        *word = words.next()?;
    }
    Some(out)
}

fuzz_target!(|bytes: &[u8]| {
    if let Some(words) = words::<WORDS>(bytes) {
        let _ = Descriptor::parse(&words);
    }
    if let Some(words) = words::<COMPLETION_WORDS>(bytes) {
        let _ = Completion::parse(&words);
    }
    if let Some(header) = bytes.first_chunk::<HEADER_BYTES>() {
        if let Some(parsed) = Header::parse(header) {
            let _ = parsed.encode();
        }
    }
    let mut stream = Decoder::default();
    stream.push(bytes);
    while let Ok(Some((_, content))) = stream.frame() {
        if let Some((words, _)) = split(content) {
            let _ = Descriptor::parse(&words);
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = DeviceMemory::parse(text);
    }
});
