//! Pages from the kernel, by direct system calls. A function named `mmap` may be replaced by code that allocates
//! (`libhetmp_dsm.so`, a sanitizer, a tracer).

use core::ptr::null_mut;

/// The kernel's page, bytes; mappings are whole pages.
pub(super) fn size() -> usize {
    // SAFETY: sysconf has no preconditions. The C library answers from memory, without an allocation.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// A call of the kernel, which leaves the program's errno alone. -1: it failed.
///
/// # Safety
/// Those of the system call.
unsafe fn call(number: libc::c_long, a: [usize; 4], flags: libc::c_int) -> isize {
    // SAFETY: __errno_location returns a valid pointer to the calling thread's errno.
    let saved = unsafe { *libc::__errno_location() };
    // SAFETY: who calls upholds the conditions of the system call. The fifth and sixth arguments are those of an
    // anonymous mapping, which other calls ignore.
    unsafe {
        let result = if number == libc::SYS_mmap {
            libc::syscall(number, a[0], a[1], a[2], flags, -1isize, 0usize)
        } else {
            libc::syscall(number, a[0], a[1], a[2], a[3])
        };
        *libc::__errno_location() = saved;
        result as isize
    }
}

fn map_pages(len: usize) -> *mut u8 {
    let rights = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping touches no memory that is in use.
    match unsafe { call(libc::SYS_mmap, [0, len, rights, 0], flags) } {
        -1 => null_mut(),
        at => core::ptr::with_exposed_provenance_mut(at as usize),
    }
}

/// Maps `len` zero bytes, rounded up to whole pages, at a multiple of `align` (a power of two). Null if there is no
/// memory.
#[cold]
pub(super) fn map(len: usize, align: usize) -> *mut u8 {
    let Some(len) = len.checked_next_multiple_of(size()) else {
        return null_mut();
    };
    if align <= size() {
        return map_pages(len);
    }
    let Some(room) = len.checked_add(align) else {
        return null_mut();
    };
    let at = map_pages(room);
    if at.is_null() {
        return at;
    }
    let before = at.align_offset(align);
    let start = at.wrapping_add(before);
    // SAFETY: both ends belong to the mapping that was just made. Its middle stays.
    unsafe {
        if before > 0 {
            unmap(at, before);
        }
        unmap(start.wrapping_add(len), room - before - len);
    }
    start
}

/// Returns pages to the kernel.
///
/// # Safety
/// `at` is the start of a mapping of [`map`], or of whole pages of it, `len` bytes long; nobody uses it any more.
#[cold]
pub(super) unsafe fn unmap(at: *mut u8, len: usize) {
    if len > 0 {
        // SAFETY: the pages are whole pages of a mapping of `map`, which the allocator gives up with this call.
        unsafe {
            call(
                libc::SYS_munmap,
                [at as usize, len.next_multiple_of(size()), 0, 0],
                0,
            )
        };
    }
}

/// Changes the length of a mapping from `len` to `new` bytes, and may move it. Null, without effect, if there is no
/// memory.
///
/// # Safety
/// `at` is a mapping of [`map`] of `len` bytes. If the result is not null, the old address is not used any more.
#[cold]
pub(super) unsafe fn remap(at: *mut u8, len: usize, new: usize) -> *mut u8 {
    let Some(new) = new.checked_next_multiple_of(size()) else {
        return null_mut();
    };
    let may = libc::MREMAP_MAYMOVE as usize;
    let a = [at as usize, len.next_multiple_of(size()), new, may];
    // SAFETY: the mapping is one of `map`; `realloc`, whose block it is, goes on with the address that is returned.
    match unsafe { call(libc::SYS_mremap, a, 0) } {
        -1 => null_mut(),
        at => core::ptr::with_exposed_provenance_mut(at as usize),
    }
}

/// Returns all whole pages of a block but the first to the kernel. The addresses stay valid and read as zero.
///
/// # Safety
/// Nobody uses the `len` bytes at `at`.
#[cold]
pub(super) unsafe fn forget(at: *mut u8, len: usize) {
    let start = (at as usize + 1).next_multiple_of(size());
    let end = (at as usize + len) & !(size() - 1);
    if end > start {
        let a = [start, end - start, libc::MADV_DONTNEED as usize, 0];
        // SAFETY: who calls has a block that nobody uses, and the pages lie within it.
        unsafe { call(libc::SYS_madvise, a, 0) };
    }
}
