//! HetProbe-I.
#![cfg(not(loom))]

#[path = "../interleave/chance.rs"]
mod chance;
mod interleave;
mod worth;
