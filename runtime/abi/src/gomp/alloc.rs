//! The `allocate` clause and directive.

use crate::entry::entries;
use hetmp_omp::alloc;
use libc::c_void;

entries! {
    "GOMP_5.0.1" default:
    /// Memory for a variable with an `allocate` clause; never null.
    fn GOMP_alloc(align: usize, size: usize, allocator: usize) -> *mut c_void {
        alloc::allocate_or_end(align, size, allocator)
    }

    /// Frees memory of `GOMP_alloc`.
    fn GOMP_free(block: *mut c_void, _allocator: usize) {
        // SAFETY: the compiled code frees what GOMP_alloc gave, once.
        unsafe { alloc::free(block) };
    }

    "GOMP_5.1.2" default:
    /// Notes that the memory of an allocatable Fortran variable came from an OpenMP allocator.
    fn GOMP_add_alloc(block: *mut c_void) {
        alloc::note(block);
    }

    /// Was `GOMP_add_alloc` called for this memory? If so, the caller gives the memory back to the allocator,
    /// and the note is removed.
    fn GOMP_is_alloc(block: *mut c_void) -> bool {
        alloc::take_note(block)
    }
}
