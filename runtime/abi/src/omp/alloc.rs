//! Memory allocators.

use super::alias;
use crate::entry::entries;
use hetmp_omp::alloc::{self, Trait};
use libc::{c_void, size_t};

const _: () = assert!(size_of::<Trait>() == 16 && align_of::<Trait>() == 8);

/// Converts the arguments of `omp_init_allocator`, and makes the allocator.
///
/// # Safety
/// `traits` has `count` elements.
unsafe fn init(space: usize, count: i64, traits: *const Trait) -> usize {
    let traits = if count <= 0 {
        &[]
    } else {
        // SAFETY: `traits` has `count` elements: this function's contract.
        unsafe { core::slice::from_raw_parts(traits, count as usize) }
    };
    alloc::init(space, traits)
}

entries! {
    "OMP_5.0.1" default:
    /// Makes an allocator; `omp_null_allocator` if a trait is refused.
    fn omp_init_allocator(space: usize, count: i32, traits: *const Trait) -> usize {
        // SAFETY: the program passes an array of that size.
        unsafe { init(space, i64::from(count), traits) }
    }

    /// Fortran form of `omp_init_allocator`.
    fn omp_init_allocator_(
        space: *const usize, count: *const i32, traits: *const Trait,
    ) -> usize {
        // SAFETY: the program passes integers and an array of that size.
        unsafe { init(*space, i64::from(*count), traits) }
    }

    /// Fortran form of `omp_init_allocator` for 8-byte integers.
    fn omp_init_allocator_8_(
        space: *const usize, count: *const i64, traits: *const Trait,
    ) -> usize {
        // SAFETY: the program passes integers and an array of that size.
        unsafe { init(*space, *count, traits) }
    }

    /// Destroys an allocator.
    fn omp_destroy_allocator(allocator: usize) {
        // SAFETY: the program destroys an allocator that it made, once.
        unsafe { alloc::destroy(allocator) };
    }

    /// Fortran form of `omp_destroy_allocator`.
    fn omp_destroy_allocator_(allocator: *const usize) {
        // SAFETY: the program destroys an allocator that it made, once. Fortran passes a reference to its
        // variable.
        unsafe { alloc::destroy(*allocator) };
    }

    /// Sets the allocator that `omp_null_allocator` stands for.
    fn omp_set_default_allocator(allocator: usize) {
        alloc::set_default(allocator);
    }

    /// Fortran form of `omp_set_default_allocator`.
    fn omp_set_default_allocator_(allocator: *const usize) {
        // SAFETY: the program passes a handle.
        alloc::set_default(unsafe { *allocator });
    }

    /// The value that `omp_set_default_allocator` sets.
    fn omp_get_default_allocator() -> usize {
        alloc::get_default()
    }

    /// Allocates memory.
    fn omp_alloc(size: size_t, allocator: usize) -> *mut c_void {
        alloc::allocate(1, 1, size, false, allocator)
    }

    /// Frees a block; its header names its allocator.
    fn omp_free(block: *mut c_void, _allocator: usize) {
        // SAFETY: the program frees what it got from these routines, once.
        unsafe { alloc::free(block) };
    }

    "OMP_5.0.2" default:
    /// Allocates memory with an alignment.
    fn omp_aligned_alloc(align: size_t, size: size_t, allocator: usize) -> *mut c_void {
        alloc::allocate(align, 1, size, false, allocator)
    }

    /// Allocates zeroed memory.
    fn omp_calloc(count: size_t, size: size_t, allocator: usize) -> *mut c_void {
        alloc::allocate(1, count, size, true, allocator)
    }

    /// Allocates zeroed memory with an alignment.
    fn omp_aligned_calloc(
        align: size_t, count: size_t, size: size_t, allocator: usize,
    ) -> *mut c_void {
        alloc::allocate(align, count, size, true, allocator)
    }

    /// Changes a block's size.
    fn omp_realloc(
        block: *mut c_void, size: size_t, allocator: usize, _free_allocator: usize,
    ) -> *mut c_void {
        // SAFETY: the program passes what it got from these routines.
        unsafe { alloc::reallocate(block, size, allocator) }
    }
}

alias! {
    "OMP_5.0.1": omp_get_default_allocator = "omp_get_default_allocator_";
}
