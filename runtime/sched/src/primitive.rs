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

/// A value on cache lines of its own.
///
/// 128 bytes, because x86-64 prefetches lines in pairs and some arm64 cores
/// have lines of that size.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);
