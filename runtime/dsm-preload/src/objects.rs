//! The objects (executable and libraries) that the loader has loaded.
//!
//! The loader's records are read inside of its walk only, and copied.

use core::ffi::{c_void, CStr};
use core::ops::Range;
use hetmp_core::program::is_system_library;
use hetmp_core::statics;
use libc::c_int;

/// A loaded object.
pub(crate) struct Object {
    /// The object's path; empty for the executable.
    pub(crate) name: String,
    /// The distance between the addresses in the object's file and its addresses in memory.
    pub(crate) base: usize,
    /// The pages of its variables.
    pub(crate) data: Vec<Range<usize>>,
    /// Variables lie in memory that is also code.
    pub(crate) executable_data: bool,
    pub(crate) code: Range<usize>,
    pub(crate) executable_stack: bool,
    /// The dynamic section; empty if the object has none.
    pub(crate) dynamic: Range<usize>,
    /// What becomes read-only after relocation.
    pub(crate) relro: Range<usize>,
}

impl Object {
    /// Is this a library of the program's own, or (as the first of all objects) the program itself? `ours`: an address
    /// of this library's code.
    pub(crate) fn is_own(&self, ours: usize) -> bool {
        !is_system_library(&self.name) && !self.code.contains(&ours)
    }
}

/// All loaded objects, the executable first.
pub(crate) fn objects() -> Vec<Object> {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes its description of an object, and `data` is the vector below.
        let (info, all) = unsafe { (&*info, &mut *data.cast::<Vec<Object>>()) };
        // SAFETY: `dlpi_phnum` headers lie at `dlpi_phdr`, and the loader keeps them while it calls this
        // function.
        let headers =
            unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let name = if info.dlpi_name.is_null() {
            String::new()
        } else {
            // SAFETY: not null, and so a C string of the loader.
            unsafe { CStr::from_ptr(info.dlpi_name) }
                .to_string_lossy()
                .into_owned()
        };
        let mut object = Object {
            name,
            base: info.dlpi_addr as usize,
            data: statics::writable(info.dlpi_addr as usize, headers),
            executable_data: false,
            code: Range {
                start: usize::MAX,
                end: 0,
            },
            executable_stack: false,
            dynamic: 0..0,
            relro: 0..0,
        };
        for h in headers {
            let start = (info.dlpi_addr + h.p_vaddr) as usize;
            let all = start..start + h.p_memsz as usize;
            if h.p_type == libc::PT_DYNAMIC {
                object.dynamic = all.clone();
            }
            if h.p_type == libc::PT_GNU_RELRO {
                object.relro = all.clone();
            }
            let writable_code = libc::PF_W | libc::PF_X;
            if h.p_type == libc::PT_LOAD && h.p_flags & writable_code == writable_code {
                object.executable_data = true;
            }
            if h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0 {
                object.code.start = object.code.start.min(start);
                object.code.end = object.code.end.max(all.end);
            }
            if h.p_type == libc::PT_GNU_STACK {
                object.executable_stack = h.p_flags & libc::PF_X != 0;
            }
        }
        all.push(object);
        0
    }
    let mut all: Vec<Object> = Vec::new();
    // SAFETY: the callback fits the vector that is passed to it, and the vector lives through the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut all).cast()) };
    all
}
