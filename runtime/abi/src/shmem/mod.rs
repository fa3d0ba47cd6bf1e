//! `shmem.h`: OpenSHMEM.
//!
//! Every routine is one line: convert, call one function of `hetmp-shmem`, convert back. The typed families are
//! generated tables over the macros of [`shapes`]; what stands alone is in [`library`]. The hot ones are inlined
//! from the engine: on the direct way, a `shmem_int_p` is two bounds checks and a store.

mod library;
mod long_double;
mod routine;
mod shapes;
mod team_shapes;
mod teams;

mod active_set;
mod atomic;
mod atomic_nbi;
mod atomic_old;
mod collective;
mod put_signal;
mod reduce;
mod rma;
mod rma_nbi;
mod strided;
mod wait;

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the tables of shmem.h take long, size_t and pointers for 64 bits");
