//! What the program was linked with, and ([`binding`]) where its OpenMP names lead.
//!
//! All reading of tables happens inside of the loader's walk over its objects (`dl_iterate_phdr`), which keeps each one
//! loaded; no pointer into an object outlives its callback.

pub mod binding;

use core::ffi::CStr;
use once_cell::race::OnceBool;

/// True if the program's own file needs a symbol at version node `VERSION`, the only node of libomp: clang built the
/// program for libomp. Libraries of the process do not count. A Python process is no such program, whatever its
/// packages were built with.
#[must_use]
pub fn wants_libomp() -> bool {
    static ANSWER: OnceBool = OnceBool::new();
    ANSWER.get_or_init(|| asks_for_version(&|name| name == LIBOMP))
}

/// True if the program's own file, or a library of its own, needs a symbol of libgomp or libomp. False for a shell, or
/// for `timeout`, that will start such a program.
#[must_use]
pub fn uses_openmp() -> bool {
    any_object(&|info, is_program| {
        if !is_program && is_system(info) {
            return false;
        }
        // SAFETY: the loader's record of an object that stays loaded during the call.
        let tables = unsafe { tables(info) };
        let is_openmp =
            |name: &[u8]| name == LIBOMP || name.starts_with(b"GOMP_") || name.starts_with(b"OMP_");
        // SAFETY: the dynamic section of a loaded object says where its tables lie.
        unsafe { needs(&tables, &is_openmp) }
    })
}

/// The stack that a thread has by default in the runtimes that this library replaces, in bytes; `None`: what the thread
/// library gives. libgomp leaves it to that. libomp takes the process's limit (`ulimit -s`), but no more than 64 MiB.
/// Where loaded objects ask for both runtimes, the larger stack serves both.
#[must_use]
pub fn default_stack() -> Option<usize> {
    const MOST: u64 = 64 << 20;
    let asks = |node: &dyn Fn(&[u8]) -> bool| {
        // SAFETY: the loader's record of an object that stays loaded during the call. Its dynamic section says where
        // its tables lie.
        any_object(&|info, _| unsafe { needs(&tables(info), node) })
    };
    if !asks(&|name| name == LIBOMP) {
        return None;
    }
    let mut limit = libc::rlimit {
        rlim_cur: MOST,
        rlim_max: MOST,
    };
    // SAFETY: the limit is live, and keeps its value if the call fails.
    unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) };
    let libomp = limit.rlim_cur.min(MOST) as usize;
    let libgomp = asks(&|name| {
        [&b"GOMP_"[..], b"OMP_", b"OACC_"]
            .iter()
            .any(|n| name.starts_with(n))
    });
    // Without a limit the thread library gives less than libomp, else as much or more.
    (!libgomp || limit.rlim_cur == libc::RLIM_INFINITY).then_some(libomp)
}

/// The path of a library of the program's own, loaded at its start, that has constructors. (One, which compilers add to
/// every library and which does nothing, is not counted.)
#[must_use]
pub fn constructed_library() -> Option<String> {
    let found = core::cell::RefCell::new(None);
    any_object(&|info, is_program| {
        // SAFETY: the loader's record of an object that stays loaded during the call.
        let constructors = unsafe { tables(info) }.constructors;
        let has = !is_program && constructors > 8 && !is_system(info);
        if has {
            *found.borrow_mut() = Some(path_of(info));
        }
        has
    });
    found.into_inner()
}

fn path_of(info: &libc::dl_phdr_info) -> String {
    // SAFETY: the loader keeps the name as long as the object is loaded.
    unsafe { name(info.dlpi_name) }
}

/// # Safety
/// `name` is null or a C string.
unsafe fn name(name: *const libc::c_char) -> String {
    // SAFETY: this function's contract.
    let name = unsafe { name.as_ref() }.map(|n| unsafe { CStr::from_ptr(n) });
    name.map_or(String::new(), |n| n.to_string_lossy().into_owned())
}

fn is_system(info: &libc::dl_phdr_info) -> bool {
    is_system_library(&path_of(info))
}

/// Is this the name, or the path, of a library that belongs to the system or to a compiler, and not to the program? The
/// vdso and the loader are among them.
#[must_use]
pub fn is_system_library(path: &str) -> bool {
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
        "libc++",
        "libc++abi",
        "libunwind",
        "libgfortran",
        "libquadmath",
        "libgomp",
        "libhetmp",
        "libhetmp_dsm",
        "libhetmp_goal",
        "libhetmp_mq",
        "libhetmp_shmem",
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

/// The only version node of libomp.
const LIBOMP: &[u8] = b"VERSION";

/// The tables of an object's dynamic section that are read here, as addresses.
#[derive(Default)]
struct Tables {
    strings: usize,
    symbols: usize,
    /// The hash table of GNU systems.
    hash: usize,
    /// The hash table of System V, which objects have that were linked with `--hash-style=sysv`.
    old_hash: usize,
    /// The version of each symbol.
    versions: usize,
    defined: usize,
    defined_count: u64,
    needed: usize,
    needed_count: u64,
    /// Relocations of functions that the loader may bind at their first call.
    jumps: usize,
    jump_bytes: u64,
    /// The other relocations.
    relocations: usize,
    relocation_bytes: u64,
    /// How many of the latter, at the front, name no symbol.
    relative: u64,
    /// Bytes of the table of constructors: 8 for each.
    constructors: u64,
}

// Tags of the dynamic section (System V gABI and the GNU extensions for symbol versions).
const DT_NULL: u64 = 0;
const DT_PLTRELSZ: u64 = 2;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_JMPREL: u64 = 23;
const DT_INIT_ARRAYSZ: u64 = 27;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_RELACOUNT: u64 = 0x6fff_fff9;
const DT_VERDEF: u64 = 0x6fff_fffc;
const DT_VERDEFNUM: u64 = 0x6fff_fffd;
const DT_VERNEED: u64 = 0x6fff_fffe;
const DT_VERNEEDNUM: u64 = 0x6fff_ffff;

/// `Elf64_Verneed`: one library whose versions are needed.
#[repr(C)]
struct Verneed {
    version: u16,
    count: u16,
    file: u32,
    aux: u32,
    next: u32,
}

/// `Elf64_Vernaux`: one version that is needed.
#[repr(C)]
struct Vernaux {
    hash: u32,
    flags: u16,
    other: u16,
    name: u32,
    next: u32,
}

fn asks_for_version(wanted: &dyn Fn(&[u8]) -> bool) -> bool {
    any_object(&|info, is_program| {
        // SAFETY: the loader's record of an object that stays loaded during the call. Its dynamic section says where
        // its tables lie.
        is_program && unsafe { needs(&tables(info), wanted) }
    })
}

/// Is `wanted` true of any loaded object? Its second argument says whether the object is the program, which comes
/// first.
fn any_object(wanted: &dyn Fn(&libc::dl_phdr_info, bool) -> bool) -> bool {
    struct Search<'a> {
        wanted: &'a dyn Fn(&libc::dl_phdr_info, bool) -> bool,
        is_program: bool,
        found: bool,
    }
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        data: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: dl_iterate_phdr passes a live record, and as `data` the pointer that it was given below: the
        // search, which nobody else uses until the call returns.
        let (info, search) = unsafe { (&*info, &mut *data.cast::<Search<'_>>()) };
        search.found = (search.wanted)(info, search.is_program);
        search.is_program = false;
        // A value other than 0 ends the iteration.
        search.found.into()
    }
    let mut search = Search {
        wanted,
        is_program: true,
        found: false,
    };
    // SAFETY: the callback has the signature that is asked for, does not unwind, and gets the search that
    // lives across the call.
    unsafe { crate::whole::each_object(visit, (&raw mut search).cast()) };
    search.found
}

/// # Safety
/// `info` describes an object that stays loaded during the call.
unsafe fn headers(info: &libc::dl_phdr_info) -> &[libc::Elf64_Phdr] {
    if info.dlpi_phdr.is_null() {
        return &[];
    }
    // SAFETY: `visit` hands in the loader's record of an object that stays loaded while the loader calls back, with as
    // many headers as the record says.
    unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) }
}

/// # Safety
/// `info` describes an object that stays loaded during the call.
unsafe fn tables(info: &libc::dl_phdr_info) -> Tables {
    let mut tables = Tables::default();
    let base = info.dlpi_addr as usize;
    // SAFETY: this function's contract.
    let headers = unsafe { headers(info) };
    let Some(dynamic) = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC) else {
        return tables;
    };
    let mut entry = base.wrapping_add(dynamic.p_vaddr as usize) as *const [u64; 2];
    // glibc has added the load address to these values; other loaders leave that to the reader.
    let address = |value: u64| {
        let value = value as usize;
        if value < base {
            base.wrapping_add(value)
        } else {
            value
        }
    };
    loop {
        // SAFETY: the section ends with an entry of tag 0, which ends the loop.
        let [tag, value] = unsafe { *entry };
        match tag {
            DT_NULL => return tables,
            DT_STRTAB => tables.strings = address(value),
            DT_SYMTAB => tables.symbols = address(value),
            DT_GNU_HASH => tables.hash = address(value),
            DT_HASH => tables.old_hash = address(value),
            DT_VERSYM => tables.versions = address(value),
            DT_VERDEF => tables.defined = address(value),
            DT_VERDEFNUM => tables.defined_count = value,
            DT_JMPREL => tables.jumps = address(value),
            DT_PLTRELSZ => tables.jump_bytes = value,
            DT_RELA => tables.relocations = address(value),
            DT_RELASZ => tables.relocation_bytes = value,
            DT_RELACOUNT => tables.relative = value,
            DT_VERNEED => tables.needed = address(value),
            DT_VERNEEDNUM => tables.needed_count = value,
            DT_INIT_ARRAYSZ => tables.constructors = value,
            _ => {}
        }
        // SAFETY: the last entry was not reached.
        entry = unsafe { entry.add(1) };
    }
}

/// # Safety
/// The tables are those of a loaded object.
unsafe fn needs(tables: &Tables, wanted: &dyn Fn(&[u8]) -> bool) -> bool {
    // SAFETY: this function's contract.
    unsafe { tables.each_needed(&mut |name, _| wanted(name.to_bytes())) }
}

impl Tables {
    /// Calls `found` with each version that the object needs, until it answers true.
    ///
    /// # Safety
    /// The tables are those of a loaded object.
    unsafe fn each_needed(&self, found: &mut dyn FnMut(&CStr, &Vernaux) -> bool) -> bool {
        if self.strings == 0 || self.needed == 0 {
            return false;
        }
        let mut library = self.needed;
        for _ in 0..self.needed_count {
            // SAFETY: the table has as many entries as the section says, each with as many versions as it says, linked
            // by distances in bytes; names are strings in the string table.
            unsafe {
                let file = &*(library as *const Verneed);
                let mut version = library.wrapping_add(file.aux as usize);
                for _ in 0..file.count {
                    let aux = &*(version as *const Vernaux);
                    let name = self.strings.wrapping_add(aux.name as usize);
                    if found(CStr::from_ptr(name as *const libc::c_char), aux) {
                        return true;
                    }
                    version = version.wrapping_add(aux.next as usize);
                }
                library = library.wrapping_add(file.next as usize);
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    /// A test program needs the C library's versions, and nothing of libomp's.
    #[test]
    fn this_program_needs_the_c_library() {
        let asks = |wanted: &[u8]| super::asks_for_version(&|name| name == wanted);
        assert!(asks(b"GLIBC_2.2.5"));
        assert!(!asks(b"GLIBC_2.2"));
        assert!(!super::wants_libomp());
        assert!(!super::uses_openmp());
        assert_eq!(super::constructed_library(), None);
    }

    #[test]
    fn libraries_of_the_system_and_of_programs() {
        for name in [
            "/lib/x86_64-linux-gnu/libc.so.6",
            "libstdc++.so.6",
            "libc++abi.so.1",
            "/usr/lib/libgomp.so.1",
            "/lib64/ld-linux-x86-64.so.2",
            "libm-2.31.so",
            "linux-vdso.so.1",
        ] {
            assert!(super::is_system_library(name), "{name}");
        }
        for name in ["./libgrid.so", "/opt/libcfd.so.2", "libmesh.so"] {
            assert!(!super::is_system_library(name), "{name}");
        }
    }
}
