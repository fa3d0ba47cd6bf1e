//! Mutual exclusion: locks, critical sections, and the protection of reductions.

pub mod critical;
pub mod lock;
pub mod reduce;
