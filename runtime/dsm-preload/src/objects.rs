//! The objects (executable and libraries) that the loader has loaded.

use core::ffi::{c_void, CStr};
use libc::c_int;

/// Is this one of the libraries of which each node may have its own data?
pub(crate) fn is_system_library(path: &str) -> bool {
    const NAMES: &[&str] = &[
        "linux-vdso",
        "ld-linux",
        "libc",
        "libm",
        "libmvec",
        "libdl",
        "libpthread",
        "librt",
        "libgcc_s",
        "libstdc++",
        "libgfortran",
        "libquadmath",
        "libgomp",
        "libhetmp",
        "libhetmp_dsm",
        "libomp",
        "libiomp5",
        "libutil",
        "libz",
        "libnss_files",
        "libnss_dns",
        "libresolv",
        "libatomic",
    ];
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file.split(['.', '-']).next().unwrap_or(file);
    let long = file.split('.').next().unwrap_or(file);
    NAMES.contains(&stem)
        || NAMES.contains(&long)
        || file.starts_with("ld-linux")
        || file.starts_with("linux-vdso")
}

/// A loaded object.
pub(crate) struct Object {
    /// The object's path; empty for the executable.
    pub(crate) name: String,
    /// The distance between the addresses in the object's file and its addresses in memory.
    pub(crate) base: usize,
    pub(crate) writable: bool,
    pub(crate) code: core::ops::Range<usize>,
    pub(crate) executable_stack: bool,
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
            writable: false,
            code: core::ops::Range {
                start: usize::MAX,
                end: 0,
            },
            executable_stack: false,
        };
        for h in headers {
            let start = (info.dlpi_addr + h.p_vaddr) as usize;
            if h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_W != 0 {
                object.writable = true;
            }
            if h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0 {
                object.code.start = object.code.start.min(start);
                object.code.end = object.code.end.max(start + h.p_memsz as usize);
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
