//! What processes of a job and their launcher send each other: hetrun's frames, PMI's lines, and the maps of ranks.
#![no_main]

use hetmp_core::bootstrap::wire::{Reply, Request, Ticket};
use hetmp_core::bootstrap::{mapping, pmi};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // A frame begins with its length.
    if let Ok(request) = Request::decode(bytes) {
        assert_eq!(Request::decode(&request.encode()[4..]), Ok(request));
    }
    if let Ok(reply) = Reply::decode(bytes) {
        assert_eq!(Reply::decode(&reply.encode()[4..]), Ok(reply));
    }
    let _ = (pmi::read_line(&mut &*bytes), pmi::read_packet(&mut &*bytes));
    if let Ok(text) = std::str::from_utf8(bytes) {
        if let Some(ticket) = Ticket::decode(text) {
            assert_eq!(ticket.encode(), text);
        }
        let ranks = mapping::local_ranks(text, 1, 64);
        assert!(ranks.is_none_or(|ranks| ranks.iter().all(|&rank| rank < 64)));
    }
});
