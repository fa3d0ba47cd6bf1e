//! What the dynamic loader reads first of an ELF file: its header and its dynamic section.

use object::elf::{
    FileHeader64, DF_1_PIE, DT_FLAGS_1, DT_NEEDED, DT_NULL, DT_STRSZ, DT_STRTAB, ELFCLASS64,
    ET_DYN, PT_INTERP, PT_LOAD,
};
use object::endian::Endianness;
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _};
use object::read::{ReadCache, ReadRef};
use std::io::Read as _;
use std::path::Path;

/// What is said about a file for a machine that is not asked for.
const OTHER: &str = "for another architecture";
/// The start of every ELF file.
const MAGIC: &[u8] = b"\x7fELF";

/// The machine of a file that this one's loader takes.
const NATIVE: u16 = if cfg!(target_arch = "x86_64") {
    object::elf::EM_X86_64
} else {
    object::elf::EM_AARCH64
};

/// The dynamic section of a file.
pub(crate) struct Dynamic<'d> {
    entries: Vec<(u32, u64)>,
    strings: &'d [u8],
    kind: u16,
    machine: u16,
    pub(crate) has_interpreter: bool,
}

impl<'d> Dynamic<'d> {
    /// Of a file for this machine. The error says what the file is instead.
    pub(crate) fn read<R: ReadRef<'d>>(data: R) -> Result<Dynamic<'d>, String> {
        Dynamic::read_any(data).and_then(|dynamic| match dynamic.machine {
            NATIVE => Ok(dynamic),
            _ => Err(OTHER.to_owned()),
        })
    }

    /// Of a file for any machine with 64 bits.
    pub(crate) fn read_any<R: ReadRef<'d>>(data: R) -> Result<Dynamic<'d>, String> {
        if data.read_bytes_at(0, 4) != Ok(MAGIC) {
            return Err("not an ELF file".to_owned());
        }
        if data.read_bytes_at(4, 1) != Ok(&[ELFCLASS64]) {
            return Err(OTHER.to_owned());
        }
        let broken = |error: object::Error| format!("broken: {error}");
        let header = FileHeader64::<Endianness>::parse(data).map_err(broken)?;
        let endian = header.endian().map_err(broken)?;
        let headers = header.program_headers(endian, data).map_err(broken)?;
        let mut entries: Vec<(u32, u64)> = Vec::new();
        for h in headers {
            let dynamic = h.dynamic(endian, data).map_err(broken)?;
            for entry in dynamic.into_iter().flatten() {
                if entry.d_tag(endian) == u64::from(DT_NULL) {
                    break;
                }
                let tag = entry.tag32(endian).unwrap_or(DT_NULL);
                entries.push((tag, entry.d_val(endian)));
            }
        }
        let mut dynamic = Dynamic {
            entries,
            strings: &[],
            kind: header.e_type.get(endian),
            machine: header.e_machine.get(endian),
            has_interpreter: headers.iter().any(|h| h.p_type(endian) == PT_INTERP),
        };
        if let (Some(address), Some(size)) = (dynamic.value(DT_STRTAB), dynamic.value(DT_STRSZ)) {
            let loaded = headers.iter().filter(|h| h.p_type(endian) == PT_LOAD);
            let strings = loaded.into_iter().find_map(|h| {
                let into = address.checked_sub(h.p_vaddr(endian))?;
                let fits = into.checked_add(size)? <= h.p_filesz(endian);
                let at = h.p_offset(endian).checked_add(into)?;
                data.read_bytes_at(at, size).ok().filter(|_| fits)
            });
            dynamic.strings = strings.unwrap_or_default();
        }
        Ok(dynamic)
    }

    fn value(&self, wanted: u32) -> Option<u64> {
        self.entries.iter().find(|e| e.0 == wanted).map(|e| e.1)
    }

    /// The texts of all entries of a kind, in their order.
    pub(crate) fn texts(&self, wanted: u32) -> Vec<String> {
        self.entries
            .iter()
            .filter(|(tag, _)| *tag == wanted)
            .filter_map(|&(_, offset)| {
                let text = self.strings.get(usize::try_from(offset).ok()?..)?;
                let end = text.iter().position(|&byte| byte == 0)?;
                Some(String::from_utf8_lossy(&text[..end]).into_owned())
            })
            .collect()
    }

    /// Whether this machine runs it.
    pub(crate) fn is_native(&self) -> bool {
        self.machine == NATIVE
    }

    /// A file that the loader adds to a process, no program.
    fn is_library(&self) -> bool {
        let flags = self.value(DT_FLAGS_1).unwrap_or_default();
        self.kind == ET_DYN && flags & u64::from(DF_1_PIE) == 0
    }
}

/// Does the file begin as an ELF file does? Of another one, which may be large, no more is read.
pub(crate) fn is_one(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = hetmp_core::file::open(path)
        .and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut start));
    read.is_ok() && start == MAGIC
}

fn with<T>(path: &Path, look: impl FnOnce(Dynamic<'_>) -> T) -> Result<T, String> {
    let file = hetmp_core::file::open(path).map_err(|error| error.to_string())?;
    // Reads only what is looked at: programs may be large.
    let cache = ReadCache::new(file);
    Dynamic::read(&cache).map(look)
}

/// Refuses what the loader could not preload.
pub(crate) fn check_library(path: &Path) -> Result<(), String> {
    match with(path, |dynamic| dynamic.is_library())? {
        true => Ok(()),
        false => Err("a program".to_owned()),
    }
}

/// The libraries that a program names; none where it cannot be read.
pub(crate) fn needed(path: &Path) -> Vec<String> {
    with(path, |dynamic| dynamic.texts(DT_NEEDED)).unwrap_or_default()
}
