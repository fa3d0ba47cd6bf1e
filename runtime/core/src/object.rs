//! Loaded objects: which file holds an address of the program, and which function.
//!
//! An address is valid in one run only. What is kept between runs or shown to people is a [`Place`]: the object's
//! build-id and the offset in it, which are the same in every run of the same binary. Function names come from the
//! symbol tables of the file on disk, which are read only when a name is asked for.

use core::ffi::CStr;
use core::fmt;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The position of an address in a loaded object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file that was loaded.
    pub path: PathBuf,
    /// The GNU build-id of the object (a note that the linker writes); empty where it has none.
    pub build_id: Vec<u8>,
    /// The address in the object's own numbering, which `addr2line` and `objdump` use.
    pub offset: u64,
}

impl Place {
    /// The place of `address`; `None` if no loaded object holds it, as with code made at run time.
    #[must_use]
    pub fn of(address: usize) -> Option<Place> {
        struct Search {
            address: u64,
            found: Option<Place>,
        }
        unsafe extern "C" fn visit(
            info: *mut libc::dl_phdr_info,
            _: libc::size_t,
            data: *mut libc::c_void,
        ) -> libc::c_int {
            // SAFETY: dl_iterate_phdr passes a live record, and as `data` the pointer that it was given below: the
            // search, which nobody else uses until the call returns.
            let (info, search) = unsafe { (&*info, &mut *data.cast::<Search>()) };
            // SAFETY: the record's program headers, which live as long as the object is loaded.
            let headers = unsafe { headers(info) };
            let base = info.dlpi_addr;
            let holds = |h: &libc::Elf64_Phdr| {
                h.p_type == libc::PT_LOAD
                    && search
                        .address
                        .wrapping_sub(base)
                        .checked_sub(h.p_vaddr)
                        .is_some_and(|o| o < h.p_memsz)
            };
            if !headers.iter().any(holds) {
                return 0;
            }
            // SAFETY: a string with a terminating zero, or null.
            let name = unsafe { info.dlpi_name.as_ref() }
                .map(|n| unsafe { CStr::from_ptr(n) }.to_bytes())
                .filter(|n| !n.is_empty());
            let path = match name {
                Some(name) => PathBuf::from(OsStr::from_bytes(name)),
                // An empty name is the program itself.
                None => std::fs::read_link("/proc/self/exe").unwrap_or_default(),
            };
            // SAFETY: a record that dl_iterate_phdr passes right now.
            let build_id = unsafe { note(info, b"GNU\0", 3) };
            search.found = Some(Place {
                path,
                build_id: build_id.unwrap_or_default().to_vec(),
                offset: search.address.wrapping_sub(base),
            });
            1
        }
        let mut search = Search {
            address: address as u64,
            found: None,
        };
        // SAFETY: the callback has the signature that is asked for, does not unwind, and gets the
        // search that lives across the call.
        unsafe { crate::whole::each_object(visit, (&raw mut search).cast()) };
        search.found
    }
}

/// `file+0xoffset`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.path.file_name().unwrap_or(self.path.as_os_str());
        write!(f, "{}+{:#x}", file.to_string_lossy(), self.offset)
    }
}

/// # Safety
/// `info` is a record that `dl_iterate_phdr` hands out right now.
unsafe fn headers(info: &libc::dl_phdr_info) -> &[libc::Elf64_Phdr] {
    if info.dlpi_phdr.is_null() {
        return &[];
    }
    // SAFETY: who calls has a record that dl_iterate_phdr passes right now, and `dlpi_phnum` counts the headers at
    // `dlpi_phdr`.
    unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) }
}

/// The description of a note of a loaded object. `owner`: its name, with the zero at its end.
///
/// # Safety
/// `info` is a record that `dl_iterate_phdr` hands out right now.
pub(crate) unsafe fn note<'a>(
    info: &'a libc::dl_phdr_info,
    owner: &[u8],
    kind: u32,
) -> Option<&'a [u8]> {
    // SAFETY: the caller's.
    let headers = unsafe { headers(info) }.iter();
    let mut notes = headers.filter(|h| h.p_type == libc::PT_NOTE);
    notes.find_map(|h| {
        let start = info.dlpi_addr.wrapping_add(h.p_vaddr) as usize as *const u8;
        // SAFETY: note segments of a loaded object are in memory and readable.
        let bytes = unsafe { core::slice::from_raw_parts(start, h.p_memsz as usize) };
        note_in(bytes, h.p_align, owner, kind)
    })
}

/// The description of the first note of that owner and kind in a note segment.
fn note_in<'a>(mut notes: &'a [u8], align: u64, owner: &[u8], wanted: u32) -> Option<&'a [u8]> {
    let align = if align == 8 { 8 } else { 4 };
    let padded = |n: usize| n.checked_add(align - 1).map(|n| n & !(align - 1));
    while notes.len() >= 12 {
        let word = |at: usize| {
            let bytes = notes[at..at + 4].try_into().expect("four bytes");
            u32::from_ne_bytes(bytes)
        };
        let (name, description, kind) = (word(0) as usize, word(4) as usize, word(8));
        let start = padded(12usize.checked_add(name)?)?;
        let end = start.checked_add(description)?;
        let text = notes.get(12..12usize.checked_add(name)?)?;
        let found = notes.get(start..end)?;
        if kind == wanted && text == owner {
            return Some(found);
        }
        notes = notes.get(padded(end)?..)?;
    }
    None
}

/// The bytes of the first section of that name in an ELF file of 64 bits and this machine's byte order.
pub(crate) fn section<'a>(file: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let sections = Table::of(file)?;
    let names = sections.bytes_of(sections.row(number(file, 62, 2)?)?)?;
    let is_named = |s: &&[u8]| {
        let at = number(s, 0, 4).and_then(|at| usize::try_from(at).ok());
        let rest = at.and_then(|at| names.get(at..)).unwrap_or_default();
        rest.strip_prefix(name.as_bytes())
            .is_some_and(|r| r.first() == Some(&0))
    };
    let mut all = (0..sections.count).filter_map(|i| sections.row(i));
    sections.bytes_of(all.find(is_named)?)
}

/// The functions of one file, by address.
#[derive(Debug, Default)]
pub struct Functions {
    /// Start, size and place of the name in `names`, sorted by start.
    all: Vec<(u64, u64, u32)>,
    names: Vec<u8>,
}

/// Larger files are not read: a user would have to wait for gigabytes of debug information.
const LARGEST_FILE: u64 = crate::file::LARGE;

impl Functions {
    /// The functions named in the file's symbol tables. None if the file is stripped or damaged, or is no 64-bit ELF
    /// file of this machine's byte order.
    #[must_use]
    pub fn of(path: &Path) -> Functions {
        crate::file::bytes(path, LARGEST_FILE)
            .ok()
            .and_then(|bytes| Functions::parse(&bytes, FUNCTIONS))
            .unwrap_or_default()
    }

    /// The name of the function that holds `offset`.
    #[must_use]
    pub fn at(&self, offset: u64) -> Option<&str> {
        let end = self.all.partition_point(|f| f.0 <= offset);
        // Several functions may start at the same address; the last that starts at or before `offset` need not reach
        // it.
        let found = self.all[..end]
            .iter()
            .rev()
            .take(16)
            .find(|f| offset - f.0 < f.1)?;
        self.name(found.2)
    }

    fn name(&self, at: u32) -> Option<&str> {
        let name = &self.names[at as usize..];
        let length = name.iter().position(|&b| b == 0)?;
        core::str::from_utf8(&name[..length]).ok()
    }

    /// The symbols of these kinds.
    fn parse(file: &[u8], kinds: [u64; 2]) -> Option<Functions> {
        let sections = Table::of(file)?;
        let mut out = Functions::default();
        for wanted in [2, 11] {
            // .symtab, else .dynsym.
            let table = (0..sections.count)
                .filter_map(|i| sections.row(i))
                .find(|s| number(s, 4, 4) == Some(wanted));
            if let Some(table) = table {
                out.read(file, &sections, table, kinds)?;
                break;
            }
        }
        out.all.sort_unstable();
        Some(out)
    }

    fn read(
        &mut self,
        file: &[u8],
        sections: &Table<'_>,
        table: &[u8],
        kinds: [u64; 2],
    ) -> Option<()> {
        let entry = number(table, 56, 8)?.max(24);
        let symbols = Table {
            file,
            at: number(table, 24, 8)?,
            entry,
            count: number(table, 32, 8)? / entry,
        };
        self.names = sections
            .bytes_of(sections.row(number(table, 40, 4)?)?)?
            .to_vec();
        for i in 0..symbols.count {
            let symbol = symbols.row(i)?;
            let (kind, section) = (number(symbol, 4, 1)? & 15, number(symbol, 6, 2)?);
            let name = number(symbol, 0, 4)?;
            // Of these kinds, and defined here.
            if kinds.contains(&kind) && section != 0 && name < self.names.len() as u64 {
                let (value, size) = (number(symbol, 8, 8)?, number(symbol, 16, 8)?);
                self.all.push((value, size.max(1), name as u32));
            }
        }
        Some(())
    }
}

/// STT_FUNC and STT_GNU_IFUNC.
const FUNCTIONS: [u64; 2] = [2, 10];
/// STT_OBJECT.
const VARIABLES: [u64; 2] = [1, 1];

/// The variables of one file, by address: global ones, and static ones of files and functions.
#[derive(Debug, Default)]
pub struct Variables(Functions);

/// A variable of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable<'a> {
    /// Its name in the symbol table.
    pub name: &'a str,
    /// Its address in the object's own numbering.
    pub start: u64,
    /// Its size in bytes.
    pub size: u64,
}

impl Variables {
    /// The variables named in the file's symbol tables; none where [`Functions::of`] finds no functions.
    #[must_use]
    pub fn of(path: &Path) -> Variables {
        let bytes = crate::file::bytes(path, LARGEST_FILE).ok();
        let found = bytes.and_then(|bytes| Functions::parse(&bytes, VARIABLES));
        Variables(found.unwrap_or_default())
    }

    /// The variables that have bytes between the addresses `from` and before `to`, in the order of their
    /// addresses.
    pub fn within(&self, from: u64, to: u64) -> impl Iterator<Item = Variable<'_>> {
        let all = self.0.all.iter();
        all.filter(move |v| v.0 < to && v.0.saturating_add(v.1) > from)
            .filter_map(|&(start, size, name)| {
                let name = self.0.name(name)?;
                Some(Variable { name, start, size })
            })
    }
}

/// Rows of equal size in a file.
struct Table<'a> {
    file: &'a [u8],
    at: u64,
    entry: u64,
    count: u64,
}

impl<'a> Table<'a> {
    /// The sections of an ELF file of 64 bits and this machine's byte order.
    fn of(file: &'a [u8]) -> Option<Table<'a>> {
        let little = u16::from_ne_bytes([1, 0]) == 1;
        let class = [2, if little { 1 } else { 2 }];
        if !file.starts_with(b"\x7fELF") || file.get(4..6)? != class {
            return None;
        }
        Some(Table {
            file,
            at: number(file, 40, 8)?,
            entry: number(file, 58, 2)?,
            count: number(file, 60, 2)?,
        })
    }

    /// What a section's header says where the section's bytes are.
    fn bytes_of(&self, header: &[u8]) -> Option<&'a [u8]> {
        let start = usize::try_from(number(header, 24, 8)?).ok()?;
        let size = usize::try_from(number(header, 32, 8)?).ok()?;
        self.file.get(start..start.checked_add(size)?)
    }

    fn row(&self, i: u64) -> Option<&'a [u8]> {
        let start = self.at.checked_add(i.checked_mul(self.entry)?)?;
        let end = start.checked_add(self.entry)?;
        self.file
            .get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }
}

/// The number of `size` bytes at `at`, in this machine's byte order.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + size)?;
    let mut word = [0; 8];
    if u16::from_ne_bytes([1, 0]) == 1 {
        word[..size].copy_from_slice(bytes);
    } else {
        word[8 - size..].copy_from_slice(bytes);
    }
    Some(u64::from_ne_bytes(word))
}

/// The name that the programmer gave to the function with this symbol: without the compiler's suffixes
/// (`work._omp_fn.0`, `work.constprop.0`), Fortran's underscore, or a C++ signature.
#[must_use]
pub fn plain_name(symbol: &str) -> &str {
    let stem = match symbol.find('.') {
        // A dot at the start is a part of the name: clang's old `.omp_outlined`.
        Some(at) if at > 0 => &symbol[..at],
        _ => symbol,
    };
    if let Some(rest) = stem.strip_prefix("_Z") {
        return cxx_name(rest).unwrap_or(stem);
    }
    if let Some((_, procedure)) = stem.split_once("_MOD_") {
        if stem.starts_with("__") {
            return procedure;
        }
    }
    match stem.strip_suffix('_') {
        Some(fortran) if !fortran.is_empty() && !fortran.starts_with('_') => fortran,
        _ => stem,
    }
}

/// The last identifier of a mangled C++ name: `N2ns3runEv` is `run`.
fn cxx_name(mut rest: &str) -> Option<&str> {
    rest = rest.trim_start_matches(|c: char| !c.is_ascii_digit());
    let mut last = None;
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return last;
        }
        let length: usize = rest[..digits].parse().ok()?;
        let name = rest.get(digits..digits.checked_add(length)?)?;
        last = Some(name);
        rest = &rest[digits + length..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_knows_its_place() {
        let here = this_test_knows_its_place as fn() as usize;
        let place = Place::of(here).expect("in the test program");
        assert_eq!(place.path, std::env::current_exe().expect("a path"));
        assert!(place.offset > 0 && place.offset < 1 << 32);
        let functions = Functions::of(&place.path);
        let name = functions.at(place.offset).expect("not stripped");
        assert!(name.contains("this_test_knows_its_place"), "{name}");
        assert_eq!(functions.at(u64::MAX), None);
        assert_eq!(Place::of(8), None);
        let libc = Place::of(libc::getpid as *const () as usize).expect("libc");
        assert_ne!(libc.path, place.path);
    }

    #[test]
    fn notes() {
        fn id(bytes: &[u8]) -> Option<&[u8]> {
            note_in(bytes, 4, b"GNU\0", 3)
        }
        let mut bytes = Vec::new();
        for (kind, id) in [(1u32, &b"abi!"[..]), (3, &b"\x12\x34\x56\x78\x9a"[..])] {
            for word in [4, id.len() as u32, kind] {
                bytes.extend_from_slice(&word.to_ne_bytes());
            }
            bytes.extend_from_slice(b"GNU\0");
            bytes.extend_from_slice(id);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        assert_eq!(id(&bytes), Some(&b"\x12\x34\x56\x78\x9a"[..]));
        for cut in 0..bytes.len() - 3 {
            assert_eq!(id(&bytes[..cut]), None, "{cut}");
        }
        assert_eq!(id(&[0xff; 64]), None);
    }

    /// A damaged file has no functions and causes no crash.
    #[test]
    fn damaged_files() {
        let exe = std::env::current_exe().expect("a path");
        let mut bytes = std::fs::read(exe).expect("readable");
        for at in 0..64 {
            let old = bytes[at];
            for value in [0, 1, 0x7f, 0xff] {
                bytes[at] = value;
                let _ = Functions::parse(&bytes, FUNCTIONS);
            }
            bytes[at] = old;
        }
        for cut in [0, 5, 63, 64, 200, bytes.len() / 2, bytes.len() - 1] {
            let _ = Functions::parse(&bytes[..cut], FUNCTIONS);
        }
        assert!(Functions::of(Path::new("/nonexistent")).at(0).is_none());
        let endless = Functions {
            all: vec![(8, u64::MAX, 0)],
            names: b"v\0".to_vec(),
        };
        assert_eq!(endless.at(16), Some("v"));
        assert_eq!(Variables(endless).within(16, 24).count(), 1);
    }

    #[test]
    fn names() {
        for (symbol, name) in [
            ("work._omp_fn.0", "work"),
            ("work", "work"),
            ("main.omp_outlined", "main"),
            ("cg_._omp_fn.3", "cg"),
            ("__solver_MOD_sweep._omp_fn.1", "sweep"),
            ("_Z5sweepPdi._omp_fn.0", "sweep"),
            ("_ZN2ns5Class3runEv", "run"),
            ("_ZNK3foo3barEi.constprop.0", "bar"),
            (".omp_outlined.", ".omp_outlined."),
            ("_start", "_start"),
            ("_", "_"),
            ("", ""),
            ("_Z99999999999999999999x", "_Z99999999999999999999x"),
            ("_Z9x", "_Z9x"),
        ] {
            assert_eq!(plain_name(symbol), name, "{symbol}");
        }
    }

    #[test]
    fn variables_of_ours_are_found() {
        static KNOWN_VARIABLE: [core::sync::atomic::AtomicU64; 600] =
            [const { core::sync::atomic::AtomicU64::new(0) }; 600];
        let address = KNOWN_VARIABLE.as_ptr() as usize;
        let place = Place::of(address).expect("in this program");
        let all = Variables::of(&place.path);
        let found: Vec<_> = all.within(place.offset + 8, place.offset + 9).collect();
        let [found] = found[..] else {
            panic!("{found:?}")
        };
        assert!(found.name.contains("KNOWN_VARIABLE"), "{found:?}");
        assert_eq!((found.start, found.size), (place.offset, 4800));
        let before = all.within(place.offset - 1, place.offset);
        assert!(before
            .map(|v| v.name)
            .all(|n| !n.contains("KNOWN_VARIABLE")));
    }
}
