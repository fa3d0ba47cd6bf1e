//! Pages from the kernel, asked for by its own calls: functions named `mmap` may be somebody else's, who allocates
//! (`libhetmp_dsm.so`, a sanitizer, a tracer).

use core::ptr::null_mut;

/// Bytes of the smallest page; mappings are whole pages.
pub(super) const PAGE: usize = 4096;

/// A call of the kernel, which leaves the program's errno alone. -1: it failed.
///
/// # Safety
/// As the call says.
unsafe fn call(number: libc::c_long, a: [usize; 4], flags: libc::c_int) -> isize {
    // SAFETY: __errno_location returns a valid pointer to the calling thread's errno.
    let saved = unsafe { *libc::__errno_location() };
    // SAFETY: this function's contract; the arguments are those of the callers below. The fifth and sixth are those of an
    // anonymous mapping, and other calls ignore them.
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
    // SAFETY: a new mapping touches nobody's memory.
    match unsafe { call(libc::SYS_mmap, [0, len, rights, 0], flags) } {
        -1 => null_mut(),
        at => core::ptr::with_exposed_provenance_mut(at as usize),
    }
}

/// Maps `len` bytes, rounded up to pages, at a multiple of `align`, a power of two; all zero. Null if there is no memory.
#[cold]
pub(super) fn map(len: usize, align: usize) -> *mut u8 {
    let Some(len) = len.checked_next_multiple_of(PAGE) else {
        return null_mut();
    };
    if align <= PAGE {
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
    // SAFETY: both ends of the mapping that was just made; the middle stays.
    unsafe {
        if before > 0 {
            unmap(at, before);
        }
        unmap(start.wrapping_add(len), room - before - len);
    }
    start
}

/// Gives pages back.
///
/// # Safety
/// `at` begins a mapping of [`map`] (or whole pages of it) of `len` bytes, which nobody uses any more.
#[cold]
pub(super) unsafe fn unmap(at: *mut u8, len: usize) {
    if len > 0 {
        // SAFETY: the pages are whole pages of a mapping of `map`, which the allocator gives up with this call.
        unsafe {
            call(
                libc::SYS_munmap,
                [at as usize, len.next_multiple_of(PAGE), 0, 0],
                0,
            )
        };
    }
}

/// Makes a mapping of `len` bytes one of `new` bytes, elsewhere if need be. Null, with nothing done, if there is no memory.
///
/// # Safety
/// `at` is a mapping of [`map`] of `len` bytes, and is used no more if the result is not null.
#[cold]
pub(super) unsafe fn remap(at: *mut u8, len: usize, new: usize) -> *mut u8 {
    let Some(new) = new.checked_next_multiple_of(PAGE) else {
        return null_mut();
    };
    let may = libc::MREMAP_MAYMOVE as usize;
    let a = [at as usize, len.next_multiple_of(PAGE), new, may];
    // SAFETY: the mapping is one of `map`; `realloc`, whose block it is, goes on with the address that is returned.
    match unsafe { call(libc::SYS_mremap, a, 0) } {
        -1 => null_mut(),
        at => core::ptr::with_exposed_provenance_mut(at as usize),
    }
}

/// Gives back the whole pages of a block but for the first one. The addresses stay, and read as zero.
///
/// # Safety
/// The block is nobody's, from `at` for `len` bytes.
#[cold]
pub(super) unsafe fn forget(at: *mut u8, len: usize) {
    let start = (at as usize + 1).next_multiple_of(PAGE);
    let end = (at as usize + len) & !(PAGE - 1);
    if end > start {
        let a = [start, end - start, libc::MADV_DONTNEED as usize, 0];
        // SAFETY: this function's contract: the pages lie within the block.
        unsafe { call(libc::SYS_madvise, a, 0) };
    }
}
