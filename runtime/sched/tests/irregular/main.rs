//! HetProbe-I.
#![cfg(not(loom))]

mod interleave;
mod worth;
