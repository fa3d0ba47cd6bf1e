//! `shmem.h`: OpenSHMEM.
//!
//! Every routine converts its arguments, calls one function of `hetmp-shmem`, and converts the result. The typed
//! families (`shmem_TYPENAME_put` ...) are generated tables of rows; the macros of [`shapes`] and [`team_shapes`]
//! turn a row into functions. Routines without types are written by hand, in [`library`] and [`teams`]. The engine's
//! hot functions are inlined here: if the target's memory is mapped, `shmem_int_p` is two bounds checks and a store.
//!
//! The SAFETY comments of these modules say "the program's buffers", "object", "team" and so on. They mean the
//! contract of the specification: a program passes buffers of the length that it gives, variables for the answers,
//! and teams and contexts that a routine of OpenSHMEM created and that are not destroyed yet.

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
