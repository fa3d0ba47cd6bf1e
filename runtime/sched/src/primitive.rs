//! The one place that names atomics and locks, so that loom can stand in.

#[cfg(loom)]
pub(crate) use loom::sync::{
    atomic::{AtomicBool, AtomicU64, Ordering},
    Mutex, MutexGuard,
};
#[cfg(not(loom))]
pub(crate) use {
    core::sync::atomic::{AtomicBool, AtomicU64, Ordering},
    std::sync::{Mutex, MutexGuard},
};
