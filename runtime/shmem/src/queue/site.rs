//! Where in the program a call came from: for the checker's reports.
//!
//! Only looked for while a checker runs: walking the stack costs a microsecond.

use core::ffi::{c_char, c_int, c_void, CStr};

/// Frames that are looked at.
const FRAMES: usize = 12;

extern "C" {
    /// glibc's walk of the calling thread's stack (execinfo.h).
    fn backtrace(buffer: *mut *mut c_void, size: c_int) -> c_int;
}

/// The object that holds an address, and the nearest symbol before it.
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

/// The return address of the innermost frame outside of this library; 0 if there is none.
#[inline(never)]
pub(crate) fn caller() -> u64 {
    let mut frames = [core::ptr::null_mut(); FRAMES];
    // SAFETY: room for as many as said.
    let n = unsafe { backtrace(frames.as_mut_ptr(), FRAMES as c_int) };
    let own = info(caller as fn() -> u64 as *mut c_void).map(|i| i.dli_fbase);
    frames
        .iter()
        .take(n.max(0) as usize)
        .find(|at| info(**at).map(|i| i.dli_fbase) != own)
        .map_or(0, |at| *at as u64)
}

/// A place in the program for people: function and offset if the program exports its names, else the file
/// and the address that `addr2line` takes.
pub(crate) fn name(site: u64) -> String {
    // The return address may belong to the line after the call, or to the next function.
    let at = site.wrapping_sub(1);
    let Some(i) = info(core::ptr::without_provenance_mut(at as usize)) else {
        return format!("{site:#x}");
    };
    let text = |p: *const c_char| {
        if p.is_null() {
            return None;
        }
        // SAFETY: the loader's own strings.
        Some(unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned())
    };
    let file = text(i.dli_fname).unwrap_or_default();
    let inside = at.wrapping_sub(i.dli_fbase as u64);
    match text(i.dli_sname) {
        Some(symbol) => format!(
            "{symbol}+{:#x} (addr2line -e {file} {inside:#x})",
            at.wrapping_sub(i.dli_saddr as u64)
        ),
        None => format!("{file}+{inside:#x} (addr2line -e {file} {inside:#x})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_the_c_library_is_named() {
        let at = libc::getpid as unsafe extern "C" fn() -> i32 as usize as u64;
        let text = name(at + 1);
        assert!(
            text.contains("libc") && text.contains("addr2line -e"),
            "{text}"
        );
    }
}
