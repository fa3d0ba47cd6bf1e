//! The entries that gcc's `-fopenmp` code calls: `GOMP_*`.

mod alloc;
mod doacross;
mod error;
pub(crate) mod keyed;
mod loops;
mod loops_ull;
mod ordered;
mod parallel;
mod reduction;
mod sections;
mod single;
mod sync;
pub(crate) mod target;
pub(crate) mod task;
mod teams;
