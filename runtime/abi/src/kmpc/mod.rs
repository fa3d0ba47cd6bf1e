//! clang's ABI: `__kmpc_*`, and what libomp's `omp.h` has beyond OpenMP (`kmp_*`).
//!
//! clang names a thread by a number that it asks for once in a function and passes to every entry
//! (`gtid`). The entries here ignore the number: the runtime knows the calling thread, also where
//! compiled code keeps a number across a region. The first argument of most entries is a description of the
//! place in the source ([`Ident`]); only its flags are looked at.
//!
//! Everything is exported at libomp's only version node, `VERSION`. What libomp has and this library has
//! not is listed in `docs/openmp-clang.md`.

mod alloc;
mod atomic;
mod doacross;
mod lock;
mod loops;
mod parallel;
mod sync;
mod task;
mod teams;
mod threadprivate;
mod user;

/// A place in the source (`ident_t`).
#[repr(C)]
pub(crate) struct Ident {
    reserved_1: i32,
    flags: i32,
    reserved_2: i32,
    reserved_3: i32,
    source: *const libc::c_char,
}

const _: () = assert!(size_of::<Ident>() == 24);

/// The compiled code of a reduction has atomic operations.
const ATOMIC_REDUCTION: i32 = 0x10;

/// A place in the source that compiled code passes.
type Loc = *const Ident;
