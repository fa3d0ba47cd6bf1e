//! The executable's static data in memory that other processes can map.
//!
//! OpenSHMEM (1.5, section 3) makes global and static variables of the program symmetric objects. A distributed
//! shared memory needs them shared too. The writable pages of the executable (`.data`, `.bss` and their neighbours)
//! are copied into a [segment](crate::segment), and the segment is mapped in their place. The program goes on with
//! the same values at the same addresses, and peers that map the segment see them. If every process runs the same
//! file, an offset names the same variable in all of them, wherever the loader has put a position-independent
//! executable.
//!
//! A forked child gets a private copy, as fork promises ([`Snapshot`]).

use crate::page;
use core::ffi::c_void;
use core::mem::ManuallyDrop;
use memmap2::{MmapMut, MmapOptions};
use std::ops::Range;

/// The page-aligned range of the executable's writable data; empty if it has none.
pub fn range() -> Range<usize> {
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
        let parts = writable(info.dlpi_addr as usize, headers);
        if let (Some(first), Some(last)) = (parts.first(), parts.last()) {
            *found = first.start..last.end;
        }
        // The first object is the executable. A value other than 0 ends the iteration.
        1
    }
    // SAFETY: the callback matches what is passed to it, which lives through the call.
    unsafe { crate::whole::each_object(visit, (&raw mut found).cast()) };
    found
}

/// The pages of an object's writable segments, without those that become read-only after relocation: ranges in
/// ascending order, with room between any two. `headers`: the object's program headers, loaded with `base` added to
/// their addresses.
#[must_use]
pub fn writable(base: usize, headers: &[libc::Elf64_Phdr]) -> Vec<Range<usize>> {
    in_pages(page::size(), base, headers)
}

fn in_pages(page: usize, base: usize, headers: &[libc::Elf64_Phdr]) -> Vec<Range<usize>> {
    let at = |h: &libc::Elf64_Phdr| base.wrapping_add(h.p_vaddr as usize);
    let floor = |address: usize| address & !(page - 1);
    // The loader protects whole pages only: up to the last page that lies wholly inside.
    let mut relro = headers
        .iter()
        .filter(|h| h.p_type == libc::PT_GNU_RELRO)
        .map(|h| floor(at(h))..floor(at(h) + h.p_memsz as usize));
    let relro = relro.next_back().unwrap_or_default();
    let mut parts: Vec<Range<usize>> = Vec::new();
    for h in headers {
        if h.p_type != libc::PT_LOAD || h.p_flags & libc::PF_W == 0 {
            continue;
        }
        let mut start = floor(at(h));
        let end = (at(h) + h.p_memsz as usize).next_multiple_of(page);
        if relro.contains(&start) {
            start = relro.end.min(end);
        }
        match parts.last_mut() {
            Some(last) if start < end && last.end >= start => last.end = last.end.max(end),
            _ if start < end => parts.push(start..end),
            _ => {}
        }
    }
    parts
}

/// Copies those pages of `from..from + len` that are not all zero to `to`, whose memory is zero.
///
/// Untouched pages of a large `.bss` are skipped, so that they take neither time nor memory. Plain loads and stores
/// instead of memcpy: a sanitizer's memcpy refuses to read the gaps between variables.
///
/// # Safety
/// Both are mapped for `len` bytes, a multiple of a page, and page-aligned.
unsafe fn copy_pages(from: usize, to: *mut u8, len: usize) {
    let page = page::size();
    let words = page / 8;
    for at in (0..len).step_by(page) {
        let source = (from + at) as *const u64;
        let target = to.wrapping_add(at).cast::<u64>();
        // SAFETY: who calls has mapped both ranges for the whole length. Volatile, since other threads of the program
        // may write meanwhile.
        unsafe {
            let any = (0..words).fold(0, |any, i| any | source.add(i).read_volatile());
            if any != 0 {
                for i in 0..words {
                    target.add(i).write_volatile(source.add(i).read_volatile());
                }
            }
        }
    }
}

/// Copies `range` to `copy`, its place in the mapped segment, and maps the segment's file over `range`.
///
/// # Errors
/// The mapping is refused.
///
/// # Safety
/// `range` is what [`range`] found; `copy` is as long, zero, and maps `file` at `offset`, shared. No other thread of
/// the program writes static variables meanwhile: what it writes between the copy and the mapping is lost.
pub unsafe fn share(
    range: &Range<usize>,
    copy: *mut u8,
    file: libc::c_int,
    offset: usize,
) -> std::io::Result<()> {
    if range.is_empty() {
        return Ok(());
    }
    // SAFETY: who calls has mapped both ranges for the whole length. The mapping replaces pages by pages with the
    // same content.
    let at = unsafe {
        copy_pages(range.start, copy, range.len());
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

/// A copy of shared static data, made before a fork. The child gets the values of the moment of the fork, whatever
/// the parent and its peers write afterwards.
#[derive(Debug)]
pub struct Snapshot {
    copy: MmapMut,
    range: Range<usize>,
}

impl Snapshot {
    /// Copies `range`; `None` if there is no memory for it.
    ///
    /// # Safety
    /// `range` was [shared](share), or is empty.
    pub unsafe fn take(range: &Range<usize>) -> Option<Snapshot> {
        let mut options = MmapOptions::new();
        let options = options.len(range.len()).no_reserve_swap();
        let mut copy = options.map_anon().ok()?;
        // SAFETY: a new mapping, as long as what is copied into it.
        unsafe { copy_pages(range.start, copy.as_mut_ptr(), range.len()) };
        Some(Snapshot {
            copy,
            range: range.clone(),
        })
    }

    /// Maps the copy over the shared pages, in the child. False if the system refuses.
    pub fn put_in_place(self) -> bool {
        if self.range.is_empty() {
            return true;
        }
        let len = self.range.len();
        // It moves, and is then no longer where its owner would unmap it.
        let copy = ManuallyDrop::new(self.copy);
        // SAFETY: the copy moves over the shared pages in one step: at no time is the range without content.
        let at = unsafe {
            libc::mremap(
                copy.as_ptr().cast_mut().cast(),
                len,
                len,
                libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
                self.range.start as *mut c_void,
            )
        };
        at != libc::MAP_FAILED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_become_read_only_are_left_out() {
        let h = |kind, flags, start, len| libc::Elf64_Phdr {
            p_type: kind,
            p_flags: flags,
            p_vaddr: start,
            p_memsz: len,
            p_offset: 0,
            p_paddr: 0,
            p_filesz: 0,
            p_align: 0,
        };
        let w = libc::PF_R | libc::PF_W;
        let code = h(libc::PT_LOAD, libc::PF_R | libc::PF_X, 0x1000, 0x500);
        let relro = |len| h(libc::PT_GNU_RELRO, libc::PF_R, 0x3d98, len);
        let writable = |base, headers: &[libc::Elf64_Phdr]| in_pages(0x1000, base, headers);
        let found = writable(
            0x10000,
            &[code, h(libc::PT_LOAD, w, 0x3d98, 0x1300), relro(0x268)],
        );
        assert_eq!((found.len(), found[0].clone()), (1, 0x14000..0x16000));
        assert!(writable(0, &[]).is_empty());
        let no_relro = writable(0, &[h(libc::PT_LOAD, w, 0x4010, 8)]);
        assert_eq!((no_relro.len(), no_relro[0].clone()), (1, 0x4000..0x5000));
        // lld puts what becomes read-only into a segment of its own. Segments need not be neighbours.
        let apart = writable(
            0,
            &[
                h(libc::PT_LOAD, w, 0x3d98, 0x268),
                relro(0x268),
                h(libc::PT_LOAD, w, 0x4010, 8),
                h(libc::PT_LOAD, w, 0x5000, 8),
                h(libc::PT_LOAD, w, 0x9010, 8),
            ],
        );
        assert_eq!(apart, [0x4000..0x6000, 0x9000..0xa000]);
        // As linked for pages of up to 64 KiB: a kernel with such pages protects no RELRO part that ends within one.
        let large = |end: u64| {
            let data = h(libc::PT_LOAD, w, 0x1fd98, 0x1300);
            let relro = h(libc::PT_GNU_RELRO, libc::PF_R, 0x1fd98, end - 0x1fd98);
            in_pages(0x10000, 0, &[data, relro])
        };
        let one = |span| vec![span; 1];
        assert_eq!(large(0x20000), one(0x20000..0x30000));
        assert_eq!(large(0x1ffff), one(0x10000..0x30000));
    }

    #[test]
    fn this_executable_has_static_data() {
        static mut WORD: u64 = 7;
        let at = (&raw mut WORD) as usize;
        assert!(range().contains(&at));
    }
}
