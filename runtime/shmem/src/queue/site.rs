//! Where in the program a call came from: for the checker's reports.
//!
//! Only looked for while a checker runs: walking the stack costs a microsecond.

use core::ffi::{c_int, c_void};
use hetmp_core::segment::PAGE;
use hetmp_nic::device_memory::board;

/// Frames that are looked at.
const FRAMES: usize = 12;

/// The object that holds an address.
fn info(at: *mut c_void) -> Option<libc::Dl_info> {
    let mut info = libc::Dl_info {
        dli_fname: core::ptr::null(),
        dli_fbase: core::ptr::null_mut(),
        dli_sname: core::ptr::null(),
        dli_saddr: core::ptr::null_mut(),
    };
    // SAFETY: any address may be asked for.
    (unsafe { libc::dladdr(at, &raw mut info) } != 0).then_some(info)
}

/// The call in the innermost frame outside of this library, as an offset in the file it belongs to, which all PEs
/// agree about; 0 if there is none.
#[inline(never)]
pub(crate) fn caller() -> u64 {
    let mut frames = [core::ptr::null_mut(); FRAMES];
    // SAFETY: room for as many as said.
    let n = unsafe { libc::backtrace(frames.as_mut_ptr(), FRAMES as c_int) };
    let frames = &frames[..n.max(0) as usize];
    let own = info(caller as fn() -> u64 as *mut c_void).map(|i| i.dli_fbase);
    // A program that this library was linked into: some frame above this one has to do.
    let linked = frames.get(FRAMES / 2).or(frames.last());
    frames
        .iter()
        .find(|at| info(**at).map(|i| i.dli_fbase) != own)
        .or(linked)
        // The return address may belong to the line after the call.
        .map_or(0, |at| board::site((*at as usize).wrapping_sub(1)))
}

/// A place in the program for people: what `addr2line` takes. Sites of a library of the program are offsets in that
/// library, which the number alone does not say: then the names do not fit.
pub(crate) fn name(site: u64) -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.display();
    let at = site.wrapping_add(first_address());
    format!("{program}+{site:#x} (addr2line -fe {program} {at:#x})")
}

/// The address that the executable's file gives to its first byte: 0 if it is position-independent.
fn first_address() -> u64 {
    // SAFETY: no preconditions.
    let (headers, entry) = unsafe {
        (
            libc::getauxval(libc::AT_PHDR),
            libc::getauxval(libc::AT_ENTRY),
        )
    };
    // The program headers lie in the first page, behind the header of the file.
    let start = headers & !(PAGE as u64 - 1);
    if start == 0 {
        return 0;
    }
    // SAFETY: the executable's own header, mapped as long as the process lives.
    let named = unsafe { (start as *const libc::Elf64_Ehdr).read_unaligned() }.e_entry;
    // How far the file was moved from where it names its entry.
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
        assert!(text.contains("(addr2line -fe /"), "{text}");
        // Test programs are position-independent.
        assert_eq!(first_address(), 0);
    }
}
