//! Allocators, as compiled code calls them for `allocate` clauses and directives.

use crate::entry::entries;
use hetmp_omp::alloc::{self, Trait};
use libc::{c_void, size_t};

entries! {
    "VERSION" default:
    /// Allocates memory.
    fn __kmpc_alloc(_gtid: i32, size: size_t, allocator: usize) -> *mut c_void {
        alloc::allocate(1, 1, size, false, allocator)
    }

    /// Allocates with an alignment.
    fn __kmpc_aligned_alloc(
        _gtid: i32, align: size_t, size: size_t, allocator: usize,
    ) -> *mut c_void {
        alloc::allocate(align, 1, size, false, allocator)
    }

    /// Allocates zeroed memory.
    fn __kmpc_calloc(_gtid: i32, count: size_t, size: size_t, allocator: usize) -> *mut c_void {
        alloc::allocate(1, count, size, true, allocator)
    }

    /// Changes a block's size.
    fn __kmpc_realloc(
        _gtid: i32, block: *mut c_void, size: size_t, allocator: usize, _free_allocator: usize,
    ) -> *mut c_void {
        // SAFETY: the program passes what it got from these routines.
        unsafe { alloc::reallocate(block, size, allocator) }
    }

    /// Frees a block; its header names its allocator.
    fn __kmpc_free(_gtid: i32, block: *mut c_void, _allocator: usize) {
        // SAFETY: the program frees what it got from these routines, once.
        unsafe { alloc::free(block) };
    }

    /// Makes an allocator.
    fn __kmpc_init_allocator(
        _gtid: i32, space: usize, count: i32, traits: *const Trait,
    ) -> usize {
        let traits = if count <= 0 {
            &[]
        } else {
            // SAFETY: the compiled code passes an array of that size.
            unsafe { core::slice::from_raw_parts(traits, count as usize) }
        };
        alloc::init(space, traits)
    }

    /// Destroys an allocator.
    fn __kmpc_destroy_allocator(_gtid: i32, allocator: usize) {
        // SAFETY: the compiled code destroys an allocator that it made, once.
        unsafe { alloc::destroy(allocator) };
    }

    /// Sets the allocator that `omp_null_allocator` stands for.
    fn __kmpc_set_default_allocator(_gtid: i32, allocator: usize) {
        alloc::set_default(allocator);
    }

    /// The allocator that `omp_null_allocator` stands for.
    fn __kmpc_get_default_allocator(_gtid: i32) -> usize {
        alloc::get_default()
    }
}
