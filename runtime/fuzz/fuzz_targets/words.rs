//! Values of environment variables: nodes, schedules, places, switches, and files in their syntax.
#![no_main]
#![allow(dead_code, reason = "the library uses more of these files")]

#[path = "../../omp/src/icv/kinds.rs"]
mod kinds;
#[path = "../../omp/src/affinity/order.rs"]
mod order;
#[path = "../../omp/src/affinity/places.rs"]
mod places;
#[path = "../../omp/src/icv/schedule.rs"]
mod schedule;
#[path = "../../omp/src/affinity/subset.rs"]
mod subset;

/// The name by which `order` knows `kinds`.
mod icv {
    pub(crate) use crate::kinds;
}

use hetmp_core::env::{switch, text};
use hetmp_core::toml;
use hetmp_core::topo::{CpuSet, Nodes, PlaceKind, Topology};
use hetmp_goal::kernel::member::Member;
use hetmp_goal_job::Choice;
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
    let _ = (places::parse(bytes), places::parse_cpu_affinity(bytes));
    let _ = (order::parse(bytes), subset::parse(bytes));
    let _ = schedule::parse(bytes);
    // `@file` reads files: not those that random names lead to.
    if !bytes.contains(&b'@') {
        let _ = Nodes::parse(bytes, machine());
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Schedule::parse(text);
        let _ = toml::parse(text);
        let _ = (Choice::parse(text), Member::parse(text, [2; 6], 64));
    }
});
