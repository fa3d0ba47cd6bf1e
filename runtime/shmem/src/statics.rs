//! The executable's static data as symmetric memory.
//!
//! OpenSHMEM (1.5, section 3) makes global and static variables of the program symmetric objects. At `shmem_init`
//! the writable pages of the executable (`.data`, `.bss` and what lies with them) are copied into this PE's
//! segment, and the segment is mapped in their place: the program goes on with the same values at the same
//! addresses, and peers that map the segment see them. Every PE runs the same file, so that an offset names
//! the same variable in all of them, wherever the loader put a position-independent executable.
//!
//! A forked child gets a private copy, as fork promises ([`make_private`]).

use core::ffi::c_void;
use std::ops::Range;

/// Page size that everything here is rounded to.
pub(crate) const PAGE: usize = 4096;

/// The page-aligned range of the executable's writable data; empty if it has none.
pub(crate) fn range() -> Range<usize> {
    let mut found: Range<usize> = 0..0;
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes its own description of a loaded object, and our pointer.
        let (info, found) = unsafe { (&*info, &mut *data.cast::<Range<usize>>()) };
        // SAFETY: the loader's headers, as many as it says.
        let headers =
            unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        *found = writable(
            info.dlpi_addr as usize,
            headers.iter().map(|h| Header {
                kind: h.p_type,
                flags: h.p_flags,
                start: h.p_vaddr as usize,
                len: h.p_memsz as usize,
            }),
        );
        // The first object is the executable: look no further.
        1
    }
    // SAFETY: the callback matches what is passed to it, which lives through the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut found).cast()) };
    found
}

struct Header {
    kind: u32,
    flags: u32,
    start: usize,
    len: usize,
}

/// The pages of the writable segments, without what becomes read-only after relocation.
fn writable(base: usize, headers: impl Iterator<Item = Header>) -> Range<usize> {
    let (mut start, mut end) = (usize::MAX, 0);
    let mut relro = 0;
    for h in headers {
        let at = base.wrapping_add(h.start);
        if h.kind == libc::PT_LOAD && h.flags & libc::PF_W != 0 {
            start = start.min(at & !(PAGE - 1));
            end = end.max((at + h.len).next_multiple_of(PAGE));
        } else if h.kind == libc::PT_GNU_RELRO {
            // The loader protects whole pages only, up to the last that is wholly within.
            relro = (at + h.len) & !(PAGE - 1);
        }
    }
    let start = start.max(relro);
    if start < end {
        start..end
    } else {
        0..0
    }
}

/// Copies `range` to `copy` (its place in the mapped segment) and maps the segment's file over it.
///
/// # Errors
/// The mapping is refused.
///
/// # Safety
/// `range` is what [`range`] found; `copy` is as long and maps `file` at `offset`, shared. No other thread of
/// the program writes static variables meanwhile: what it writes between the copy and the mapping is lost.
pub(crate) unsafe fn share(
    range: &Range<usize>,
    copy: *mut u8,
    file: libc::c_int,
    offset: usize,
) -> std::io::Result<()> {
    if range.is_empty() {
        return Ok(());
    }
    // SAFETY: both are mapped for the whole length, by the caller's promise; the mapping replaces pages by
    // pages of the same content.
    let at = unsafe {
        core::ptr::copy_nonoverlapping(range.start as *const u8, copy, range.len());
        libc::mmap(
            range.start as *mut c_void,
            range.len(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_FIXED,
            file,
            offset as libc::off_t,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}

/// Replaces the shared pages by a private copy: in a forked child, whose variables are its own.
///
/// # Safety
/// `range` was [shared](share), and this thread is the only one.
pub(crate) unsafe fn make_private(range: &Range<usize>) {
    if range.is_empty() {
        return;
    }
    // SAFETY: a new mapping, filled from the old pages, then moved over them: at no time is the range
    // without its content.
    unsafe {
        let copy = libc::mmap(
            core::ptr::null_mut(),
            range.len(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if copy == libc::MAP_FAILED {
            return;
        }
        core::ptr::copy_nonoverlapping(range.start as *const u8, copy.cast(), range.len());
        libc::mremap(
            copy,
            range.len(),
            range.len(),
            libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
            range.start as *mut c_void,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_become_read_only_are_left_out() {
        let h = |kind, flags, start, len| Header {
            kind,
            flags,
            start,
            len,
        };
        let w = libc::PF_R | libc::PF_W;
        let found = writable(
            0x10000,
            [
                h(libc::PT_LOAD, libc::PF_R | libc::PF_X, 0x1000, 0x500),
                h(libc::PT_LOAD, w, 0x3d98, 0x1300),
                h(libc::PT_GNU_RELRO, libc::PF_R, 0x3d98, 0x268),
            ]
            .into_iter(),
        );
        assert_eq!(found, 0x14000..0x16000);
        assert_eq!(writable(0, core::iter::empty()), 0..0);
        let no_relro = writable(0, [h(libc::PT_LOAD, w, 0x4010, 8)].into_iter());
        assert_eq!(no_relro, 0x4000..0x5000);
    }

    #[test]
    fn this_executable_has_static_data() {
        static mut WORD: u64 = 7;
        let at = (&raw mut WORD) as usize;
        assert!(range().contains(&at));
    }
}
