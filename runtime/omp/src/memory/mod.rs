//! Memory that programs ask the runtime for: allocators, and threadprivate copies.

pub mod alloc;
pub mod threadprivate;
