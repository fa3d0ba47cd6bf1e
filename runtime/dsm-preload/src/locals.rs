//! Thread-local variables of the program's own libraries, which constructors have set on the process's first thread,
//! and which `main` expects on its own.

use core::ffi::{c_void, CStr};
use libc::c_int;

/// The calling thread's copies of the thread-local variables of the program's own libraries: address and size, in the
/// order of the libraries.
pub(crate) struct ThreadLocals(Vec<(usize, usize)>);

impl ThreadLocals {
    pub(crate) fn of_this_thread() -> ThreadLocals {
        unsafe extern "C" fn visit(
            info: *mut libc::dl_phdr_info,
            _size: usize,
            data: *mut c_void,
        ) -> c_int {
            // SAFETY: the loader passes its description of an object, and `data` is the list below.
            let (info, all) = unsafe { (&*info, &mut *data.cast::<Vec<(usize, usize)>>()) };
            // SAFETY: null, or a C string of the loader.
            let name = unsafe { info.dlpi_name.as_ref() }.map(|n| unsafe { CStr::from_ptr(n) });
            let name = name.map(CStr::to_string_lossy).unwrap_or_default();
            if name.is_empty() || hetmp_core::program::is_system_library(&name) {
                return 0;
            }
            // SAFETY: `dlpi_phnum` headers lie at `dlpi_phdr`, and the loader keeps them while it calls this
            // function.
            let headers = unsafe {
                core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum))
            };
            let tls = headers.iter().find(|h| h.p_type == libc::PT_TLS);
            if let Some(tls) = tls.filter(|_| !info.dlpi_tls_data.is_null()) {
                let at = info.dlpi_tls_data.expose_provenance();
                all.push((at, tls.p_memsz as usize));
            }
            0
        }
        let mut all = Vec::new();
        // SAFETY: the callback fits the list that is passed to it, and the list lives through the call.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut all).cast()) };
        ThreadLocals(all)
    }

    /// Copies the values to the calling thread's variables. Pointers from one variable to another, as in a C++ string
    /// that holds its text itself, then lead to the calling thread's.
    ///
    /// # Safety
    /// The thread whose variables these are lives, and neither thread uses them meanwhile.
    pub(crate) unsafe fn copy_to_this_thread(&self) {
        let here = ThreadLocals::of_this_thread();
        for ((from, size), (to, room)) in self.0.iter().zip(&here.0) {
            let from: *const u8 = core::ptr::with_exposed_provenance(*from);
            let to: *mut u8 = core::ptr::with_exposed_provenance_mut(*to);
            let size = *size.min(room);
            let old = from.addr()..from.addr() + size;
            // SAFETY: both are the blocks of one library, of two threads that live: this function's contract. Words are
            // read and written within the new block.
            unsafe {
                to.copy_from_nonoverlapping(from, size);
                for at in (to.align_offset(8)..size.saturating_sub(7)).step_by(8) {
                    let word: *mut usize = to.add(at).cast();
                    if old.contains(&word.read()) {
                        word.write(word.read() - old.start + to.expose_provenance());
                    }
                }
            }
        }
    }
}
