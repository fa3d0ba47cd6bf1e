//! clang's ABI: `__kmpc_*`, and the functions of libomp's `omp.h` that OpenMP does not have (`kmp_*`).
//!
//! A function that clang compiled asks once for the calling thread's number, and passes this number (`gtid`)
//! to every entry. The entries here ignore the number, because the runtime knows the calling thread. So
//! nothing goes wrong where compiled code keeps a number across a region. The first argument of most entries
//! describes a place in the source ([`Ident`]); the entries look only at its flags.
//!
//! Everything is exported at libomp's only version node, `VERSION`. `docs/openmp-clang.md` lists the
//! functions of libomp that this library lacks.

mod alloc;
mod atomic;
mod doacross;
mod lock;
mod loops;
mod nest;
mod parallel;
mod sync;
mod task;
mod task_frame;
mod task_reduction;
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

// Which construct a call belongs to, in the flags of its place in the source.
/// A `barrier` construct.
const BARRIER: i32 = 0x20;
/// The barrier at the end of a worksharing construct.
const BARRIER_OF_WORK: i32 = 0x40;
/// `sections`, which are shared out as a static loop.
const SECTIONS: i32 = 0x400;
/// `distribute`.
const DISTRIBUTE: i32 = 0x800;

/// The flags of a place.
///
/// # Safety
/// `loc` is null or a place in the source.
unsafe fn flags(loc: Loc) -> i32 {
    // SAFETY: null, or a place in the source: this function's contract.
    unsafe { loc.as_ref() }.map_or(0, |l| l.flags)
}

/// A place in the source that compiled code passes.
type Loc = *const Ident;
