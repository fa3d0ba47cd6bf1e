//! Finds the place in the program from which a call came, for the checker's reports.
//!
//! Used while a checker runs only: walking the stack costs a microsecond.

use core::ffi::{c_int, c_void};
use core::ops::Range;
use hetmp_nic::device_memory::board;
use std::sync::OnceLock;

/// Instead of a place in the program: a device's kernel posted, which cannot tell where it is.
pub(crate) const A_KERNEL: u64 = u64::MAX;

/// How many frames are looked at.
const FRAMES: usize = 12;

/// Where code lies in this process.
#[derive(Debug)]
pub(super) struct Code {
    /// The executable's.
    pub(super) program: Range<usize>,
    /// This library's.
    pub(super) own: Range<usize>,
}

/// The addresses of the executable and of this library.
pub(super) fn code() -> &'static Code {
    static CODE: OnceLock<Code> = OnceLock::new();
    CODE.get_or_init(look_up)
}

fn look_up() -> Code {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes its own description of a loaded object, and our pointer.
        let (info, found) = unsafe { (&*info, &mut *data.cast::<Code>()) };
        // SAFETY: the loader's headers, as many as it says.
        let headers =
            unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let ends = headers
            .iter()
            .filter(|h| h.p_type == libc::PT_LOAD)
            .map(|h| {
                let start = (info.dlpi_addr + h.p_vaddr) as usize;
                start..start + h.p_memsz as usize
            })
            .reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
            .unwrap_or(0..0);
        if found.program.is_empty() {
            found.program = ends.clone();
        }
        if ends.contains(&(look_up as fn() -> Code as usize)) {
            found.own = ends;
        }
        0
    }
    let mut found = Code {
        program: 0..0,
        own: 0..0,
    };
    // SAFETY: the callback matches what is passed to it, which lives through the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut found).cast()) };
    found
}

/// The call in the innermost frame outside of this library; 0 if there is none. It is an offset in its file, so that
/// all PEs agree about it.
#[inline(never)]
pub(crate) fn caller() -> u64 {
    let mut frames = [core::ptr::null_mut(); FRAMES];
    // SAFETY: room for as many as said.
    let n = unsafe { libc::backtrace(frames.as_mut_ptr(), FRAMES as c_int) };
    let frames = &frames[..n.max(0) as usize];
    let own = &code().own;
    // This library was linked into the program's own file: take some frame above this one.
    let linked = frames.get(FRAMES / 2).or(frames.last());
    frames
        .iter()
        .find(|at| !own.contains(&(**at as usize)))
        .or(linked)
        // One byte before the return address, which may belong to the next line.
        .map_or(0, |at| board::site((*at as usize).wrapping_sub(1)))
}

/// A place in the program as text for people, with what `addr2line` needs. The number is an offset in the program's
/// file. If the call came from a library of the program, the number is an offset in that library, and the names will
/// be wrong.
pub(crate) fn name(site: u64) -> String {
    if site == A_KERNEL {
        return "a kernel on a device".to_owned();
    }
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.display();
    let at = site.wrapping_add(first_address());
    format!("{program}+{site:#x} (addr2line -ife {program} {at:#x})")
}

/// The address of the executable's first byte, as its file gives it; 0 for a position-independent executable.
fn first_address() -> u64 {
    // SAFETY: no preconditions.
    let (headers, entry) = unsafe {
        (
            libc::getauxval(libc::AT_PHDR),
            libc::getauxval(libc::AT_ENTRY),
        )
    };
    // The program headers follow the file's header, which is at the start of a page, whatever its size.
    let start = headers & !0xfff;
    if start == 0 {
        return 0;
    }
    // SAFETY: the executable's own header, which is mapped as long as the process.
    let named = unsafe { (start as *const libc::Elf64_Ehdr).read_unaligned() }.e_entry;
    // The distance between where the entry lies and where the file says it lies.
    start.wrapping_sub(entry.wrapping_sub(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_this_program_is_found_and_named() {
        let site = caller();
        assert_ne!(site, 0);
        let text = name(site);
        assert!(text.contains("(addr2line -ife /"), "{text}");
        // Test programs are position-independent.
        assert_eq!(first_address(), 0);
    }
}
