//! The objects that are mapped into this process.
//!
//! The loader's records are read inside of its walk only. Code is read while one of its object's functions is being
//! called, which keeps the object mapped; nobody writes code after relocation.

use std::ffi::{c_int, c_void, CStr};

use crate::elf::{is_code, Memory, Segment, Tables};
use crate::kept::Identity;
use crate::{Callee, Entry, Image, Unwind, Why};

/// One mapped object: the program or a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Path as the loader knows it; empty for the program itself.
    pub path: String,
    /// What is added to the addresses in the file.
    pub base: u64,
    /// First mapped address.
    pub start: u64,
    /// Address after the last mapped byte.
    pub end: u64,
    /// The note that names the build, empty where there is none.
    pub build_id: Vec<u8>,
    /// Whether it has thread-local storage of its own (`PT_TLS`).
    pub has_tls: bool,
}

/// The object that `address` is mapped from, or `None` where it is in none.
pub fn object_of(address: u64) -> Option<Object> {
    Loaded::at(address).map(|loaded| loaded.object)
}

/// The readable segments of a mapped object.
#[derive(Clone, Debug, Default)]
struct Mapped {
    readable: Vec<Segment>,
}

impl Mapped {
    fn of(segments: &[Segment]) -> Mapped {
        let readable = |s: &&Segment| s.kind == libc::PT_LOAD && s.flags & libc::PF_R != 0;
        Mapped {
            readable: segments.iter().filter(readable).copied().collect(),
        }
    }
}

impl Memory for Mapped {
    fn from(&self, address: u64) -> Option<&[u8]> {
        let segment = self
            .readable
            .iter()
            .find(|s| address >= s.start && address - s.start < s.length)?;
        let length = segment.length - (address - segment.start);
        // SAFETY: the loader mapped the segment readable, with this length. It
        // stays while one of the object's functions is being called, which is
        // when the runtime, the only user of `Loaded`, looks at it. Only tables and
        // code are read, which nobody writes after relocation; of the dynamic
        // section and the offset tables only words that relocation wrote.
        Some(unsafe { std::slice::from_raw_parts(address as usize as *const u8, length as usize) })
    }
}

/// One mapped object, without the tables whose reading takes time.
#[derive(Clone, Debug)]
pub struct Head {
    /// What is added to the addresses in the file.
    pub base: u64,
    /// Whether it has thread-local storage of its own.
    pub has_tls: bool,
    segments: Vec<Segment>,
    memory: Mapped,
}

impl Head {
    /// The object that holds `address`, or `None`. It is there as long as [`Loaded::at`] says.
    pub fn at(address: u64) -> Option<Head> {
        let (_, base, segments) = Search::of(address)?;
        Some(Head {
            base,
            has_tls: segments.iter().any(|s| s.kind == libc::PT_TLS),
            memory: Mapped::of(&segments),
            segments,
        })
    }

    /// By what the object is known in other processes.
    pub fn identity(&self) -> Option<Identity> {
        Identity::of(&self.memory, self.base, &self.segments)
    }

    /// The bytes of code at this address of the object's own numbering.
    pub fn code(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let address = self.base.wrapping_add(offset);
        let bytes = self.memory.from(address)?;
        bytes
            .get(..length)
            .filter(|_| is_code(&self.segments, address))
    }
}

/// The [`Image`] of one mapped object.
#[derive(Clone, Debug)]
pub struct Loaded {
    object: Object,
    memory: Mapped,
    tables: Tables,
}

impl Loaded {
    /// The object that holds `address`, or `None`.
    ///
    /// Costs a walk over the relocations of the object.
    ///
    /// For an address in code that is being called, as an outlined function is
    /// when its region starts: its object cannot be unloaded before the region
    /// has ended. Nothing keeps an object mapped beyond that, so the result is
    /// not to be used between regions, and again in a later one only if no object was unloaded meanwhile.
    pub fn at(address: u64) -> Option<Loaded> {
        let (path, base, segments) = Search::of(address)?;
        let loads = segments.iter().filter(|s| s.kind == libc::PT_LOAD);
        let start = loads.clone().map(|s| s.start).min()?;
        let end = loads.clone().map(|s| s.start + s.length).max()?;
        let memory = Mapped::of(&segments);
        let tables = Tables::read(&memory, base, segments);
        Some(Loaded {
            object: Object {
                path,
                base,
                start,
                end,
                build_id: tables.build_id.clone(),
                has_tls: tables.has_tls,
            },
            memory,
            tables,
        })
    }

    /// First addresses of all objects that are mapped now, the program's first.
    pub fn starts() -> Vec<u64> {
        let mut starts: Vec<u64> = Vec::new();
        // SAFETY: `note_start` gets the vector back, which outlives the call, and no other
        // reference to it is used meanwhile.
        unsafe {
            libc::dl_iterate_phdr(Some(note_start), (&raw mut starts).cast());
        }
        starts
    }

    /// Whether the object calls an entry of this kind, as far as the loader fills in the call.
    pub fn asks_for(&self, entry: Entry) -> bool {
        self.asks_for_any(&[entry])
    }

    /// Whether the object calls an entry of one of these kinds, as far as the loader fills in the call.
    pub fn asks_for_any(&self, entries: &[Entry]) -> bool {
        self.tables.asks_for_any(&self.memory, entries)
    }

    /// Whether the object calls the function of this name, as far as the loader fills in the call.
    pub fn asks_for_name(&self, name: &str) -> bool {
        self.tables.asks_for_name(&self.memory, name)
    }

    /// Names of the libraries that the object is linked with.
    pub fn needed(&self) -> Vec<String> {
        self.tables.needed(&self.memory)
    }

    /// The name by which others are linked with the object: its own, else that of its file.
    pub fn name(&self) -> String {
        let file = || {
            let name = self.object.path.rsplit('/').next();
            name.unwrap_or_default().to_owned()
        };
        self.tables.own_name(&self.memory).unwrap_or_else(file)
    }

    /// The records by which exceptions pass through a copy of the functions that hold `addresses`, as an `.eh_frame`
    /// section. The copy lies `distance` behind them. `None`: they cannot be made.
    pub fn frames(&self, addresses: impl Iterator<Item = u64>, distance: i64) -> Option<Vec<u8>> {
        let mut section: Vec<u8> = Vec::new();
        let mut parts: Vec<(u64, u64)> = Vec::new();
        for address in addresses {
            if parts.iter().any(|part| (part.0..part.1).contains(&address)) {
                continue;
            }
            let part = self.tables.frames(&self.memory, address, distance)?;
            parts.push((part.start, part.end));
            section.extend(part.bytes);
        }
        // The end.
        section.extend([0; 4]);
        Some(section)
    }

    /// [`Head::identity`].
    pub fn identity(&self) -> Option<Identity> {
        Identity::of(&self.memory, self.object.base, self.tables.segments())
    }

    /// Bytes of code in the object.
    pub fn code_bytes(&self) -> u64 {
        self.tables.code_bytes()
    }

    /// What is known about the object.
    pub fn object(&self) -> &Object {
        &self.object
    }
}

struct Search {
    address: u64,
    found: Option<(String, u64, Vec<Segment>)>,
}

impl Search {
    /// Path, base and program headers of the object that holds `address`.
    fn of(address: u64) -> Option<(String, u64, Vec<Segment>)> {
        let mut search = Search {
            address,
            found: None,
        };
        // SAFETY: `visit` gets `search` back, which outlives the call, and no
        // other reference to it is used meanwhile.
        unsafe {
            libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast());
        }
        search.found
    }
}

/// Called by the loader for every object, under its lock: only copies.
unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    data: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid record, and `data` is the `Search` of
    // `Loaded::at`, which nothing else uses during the walk.
    let (info, search) = unsafe { (&*info, &mut *data.cast::<Search>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader's record says that there are that many headers.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let segments: Vec<Segment> = headers
        .iter()
        .map(|header| Segment {
            kind: header.p_type,
            flags: header.p_flags,
            start: info.dlpi_addr.wrapping_add(header.p_vaddr),
            length: header.p_memsz,
        })
        .collect();
    let holds = segments.iter().any(|s| {
        s.kind == libc::PT_LOAD && search.address >= s.start && search.address - s.start < s.length
    });
    if !holds {
        return 0;
    }
    let path = if info.dlpi_name.is_null() {
        String::new()
    } else {
        // SAFETY: the loader keeps the name, with its end, as long as the object.
        unsafe { CStr::from_ptr(info.dlpi_name) }
            .to_string_lossy()
            .into_owned()
    };
    search.found = Some((path, info.dlpi_addr, segments));
    1
}

/// Called by the loader for every object, under its lock: only copies.
unsafe extern "C" fn note_start(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    data: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid record, and `data` is the vector of `Loaded::starts`, which
    // nothing else uses during the walk.
    let (info, starts) = unsafe { (&*info, &mut *data.cast::<Vec<u64>>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader's record says that there are that many headers.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let start = headers
        .iter()
        .filter(|h| h.p_type == libc::PT_LOAD)
        .map(|h| info.dlpi_addr.wrapping_add(h.p_vaddr))
        .min();
    starts.extend(start);
    0
}

impl Loaded {
    /// The name of the function that a direct call to `target` reaches through the procedure linkage table.
    pub fn callee_name(&self, target: u64) -> Option<String> {
        self.tables.callee_name(&self.memory, target)
    }

    /// The name of the function whose address the loader puts into `slot`.
    pub fn slot_name(&self, slot: u64) -> Option<String> {
        self.tables.slot_name(&self.memory, slot)
    }
}

impl Image for Loaded {
    fn code(&self, address: u64) -> Option<&[u8]> {
        if self.tables.is_code(address) {
            self.memory.from(address)
        } else {
            None
        }
    }

    fn callee(&self, target: u64) -> Callee {
        self.tables.callee(&self.memory, target)
    }

    fn slot(&self, slot: u64) -> Callee {
        self.tables.slot(&self.memory, slot)
    }

    fn unwind(&self, address: u64) -> Result<Option<Unwind>, Why> {
        self.tables.unwind(&self.memory, address)
    }
}
