//! Values of environment variables: nodes, schedules, switches, and files in their syntax.
#![no_main]

use hetmp_core::env::{switch, text};
use hetmp_core::toml;
use hetmp_core::topo::{Nodes, Topology};
use hetmp_sched::schedule::Schedule;
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

fn machine() -> &'static Topology {
    static MACHINE: OnceLock<Topology> = OnceLock::new();
    MACHINE.get_or_init(Topology::discover)
}

fuzz_target!(|bytes: &[u8]| {
    let _ = switch(bytes);
    let _ = text::quoted(bytes);
    // `@file` reads files: not those that random names lead to.
    if !bytes.contains(&b'@') {
        let _ = Nodes::parse(bytes, machine());
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Schedule::parse(text);
        let _ = toml::parse(text);
    }
});
