//! (crate)
