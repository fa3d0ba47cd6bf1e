//! Memory that programs ask the runtime for: allocators, and threadprivate copies.

pub mod alloc;
pub(crate) mod copies;
pub mod threadprivate;
