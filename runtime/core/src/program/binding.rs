//! Which runtime the OpenMP names of each loaded object lead to.
//!
//! A process may have several OpenMP runtimes. That is sound as long as each object has all its names from one of them.
//! An object that opens its regions in one runtime and asks another for its thread's number computes wrong results
//! without a word. It comes about where the object needs a name, at its version, that libhetmp.so does not have: the
//! loader goes on to the next library, which here is another runtime. So this process is ended with a line.
//!
//! Names that the object's own library defines (`omp_helper`), and those of libraries that pass calls on to a runtime
//! (tools that wrap `GOMP_parallel`), do not count: see [`Object::is_runtime`].

use super::{any_object, tables, Tables};
use crate::report;
use core::cell::{Cell, RefCell};
use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How many objects the loader had loaded when they were last looked at.
static SEEN: AtomicU64 = AtomicU64::new(0);

/// Pages of code that have opened regions.
static PAGES: [AtomicUsize; 64] = [const { AtomicUsize::new(0) }; 64];

/// [`check`], when a page of code opens its first region: it may belong to an object that was loaded since the last
/// one.
#[inline]
pub fn check_at(code: usize) {
    let page = code >> 12;
    let known = &PAGES[page % PAGES.len()];
    if known.load(Ordering::Relaxed) != page {
        check();
        known.store(page, Ordering::Relaxed);
    }
}

/// Ends the process if an object has some OpenMP names from this library and others from another runtime. To be called
/// when a thread comes to the library for the first time, too. Looks only if objects were loaded since the last call.
#[cold]
#[inline(never)]
pub fn check() {
    let mixed = RefCell::new(None);
    any_object(&|info, _| {
        // The loader unloads nothing as long as this call into it lasts. So all that is read below stays where it is.
        if SEEN.swap(info.dlpi_adds, Ordering::Relaxed) != info.dlpi_adds {
            mixed.replace(mixed_object(check as *const () as usize));
        }
        true
    });
    if let Some(Mixed {
        path,
        theirs,
        from,
        ours,
    }) = mixed.into_inner()
    {
        report::line(
            "hetmp: ",
            format_args!(
                "{path}: '{theirs}': comes from {from}, but '{ours}' from hetmp: results would be wrong (expected all \
                 OpenMP names of a file from one runtime: see hetmp which)"
            ),
        );
        report::flush_output();
        // SAFETY: _exit has no preconditions. Functions registered for the exit belong to a program with two runtimes,
        // of which another thread may be inside of one.
        unsafe { libc::_exit(1) };
    }
}

/// An object with names from two runtimes.
struct Mixed {
    path: String,
    /// A name that comes from another runtime, and that one's file.
    theirs: String,
    from: String,
    /// A name that comes from this library.
    ours: String,
}

/// The first such object. `own` is an address in this library.
fn mixed_object(own: usize) -> Option<Mixed> {
    let runtimes = RefCell::new(Vec::new());
    any_object(&|info, _| {
        let object = Object::of(info);
        if object.is_runtime() {
            runtimes.borrow_mut().push(object);
        }
        false
    });
    let runtimes = runtimes.into_inner();
    if runtimes.len() < 2 {
        return None;
    }
    let ours = runtimes.iter().position(|runtime| runtime.holds(own))?;
    let mixed = RefCell::new(None);
    // What stands before the loader in its list was there when the program started. For such an object, the loader asks
    // all others in their order. An object that was opened later may have others to ask first.
    let opened = Cell::new(false);
    // SAFETY: getauxval has no preconditions.
    let loader = unsafe { libc::getauxval(libc::AT_BASE) } as usize;
    any_object(&|info, _| {
        let object = Object::of(info);
        opened.set(opened.get() || object.base == loader);
        // Runtimes name their own functions.
        let known = runtimes.iter().any(|r| r.start == object.start);
        if !known {
            let asks_us_first = ours == 0 && !opened.get();
            mixed.replace(object.mixed(&runtimes, ours, asks_us_first));
        }
        mixed.borrow().is_some()
    });
    mixed.into_inner()
}

/// `Elf64_Sym`.
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

/// `Elf64_Rela`.
#[repr(C)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

/// The type of a relocation that copies a variable into the program (x86-64, AArch64): its place holds no address.
const COPIES: [u64; 2] = [5, 1024];

/// `Elf64_Verdef`: a version that the object defines.
#[repr(C)]
struct Verdef {
    version: u16,
    flags: u16,
    index: u16,
    count: u16,
    hash: u32,
    aux: u32,
    next: u32,
}

/// A name that an object needs from others.
struct Import<'a> {
    /// In the object's table of symbols.
    index: usize,
    name: &'a CStr,
    version: Option<&'a CStr>,
}

impl Import<'_> {
    fn text(&self) -> String {
        let name = self.name.to_string_lossy();
        match self.version {
            Some(version) => format!("{name}@{}", version.to_string_lossy()),
            None => name.into_owned(),
        }
    }
}

/// Where an import leads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leads {
    /// To this library.
    Here,
    /// To another runtime, by its index.
    There(usize),
    /// To no runtime, or the loader has not decided yet.
    Open,
}

/// A loaded object. It is used only while the loader keeps its list as it is: in [`check`].
struct Object {
    /// The loader's name of its file.
    name: *const libc::c_char,
    /// What is added to the addresses in its tables.
    base: usize,
    /// Its addresses.
    start: usize,
    end: usize,
    tables: Tables,
}

impl Object {
    fn of(info: &libc::dl_phdr_info) -> Object {
        let base = info.dlpi_addr as usize;
        let (mut start, mut end) = (usize::MAX, 0);
        // SAFETY: the loader's record of an object that stays loaded during the call.
        for header in unsafe { super::headers(info) } {
            if header.p_type == libc::PT_LOAD {
                let from = base.wrapping_add(header.p_vaddr as usize);
                start = start.min(from);
                end = end.max(from.wrapping_add(header.p_memsz as usize));
            }
        }
        Object {
            name: info.dlpi_name,
            base,
            start,
            end,
            // SAFETY: as before.
            tables: unsafe { tables(info) },
        }
    }

    fn path(&self) -> String {
        // SAFETY: null, or a string of the loader, which keeps it as long as the object is loaded.
        let name = unsafe { super::name(self.name) };
        if name.is_empty() {
            // The program itself.
            let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
            return program.display().to_string();
        }
        name
    }

    fn holds(&self, address: usize) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// Does the object define what opens regions, and what says in which thread of them a caller is? Tools wrap the
    /// former alone.
    fn is_runtime(&self) -> bool {
        self.defines(c"omp_get_thread_num", None)
            && [
                c"GOMP_parallel",
                c"GOMP_parallel_start",
                c"__kmpc_fork_call",
            ]
            .iter()
            .any(|name| self.defines(name, None))
    }

    /// Would the loader take `name` from here? A name without a version is taken at any.
    fn defines(&self, name: &CStr, version: Option<&CStr>) -> bool {
        let t = &self.tables;
        if t.symbols == 0 || t.strings == 0 {
            return false;
        }
        if t.hash == 0 {
            // SAFETY: the tables of a loaded object: this type's contract.
            return unsafe { (1..self.symbols()).any(|i| self.is_definition(i, name, version)) };
        }
        let hash = name.to_bytes().iter().fold(5381_u32, |h, &byte| {
            h.wrapping_mul(33).wrapping_add(byte.into())
        });
        // SAFETY: the tables of a loaded object (this type's contract): the hash table of GNU systems has four words, a
        // filter of `words` double words, `buckets` indices, and from the first symbol that it knows on one hash a
        // symbol, of which the last of a bucket is odd.
        unsafe {
            let head = t.hash as *const u32;
            let (buckets, first, words, shift) = (*head, *head.add(1), *head.add(2), *head.add(3));
            let filter = head.add(4).cast::<u64>();
            let word = *filter.add((hash as usize / 64) & (words as usize).wrapping_sub(1));
            if word >> (hash % 64) & word >> ((hash >> (shift % 32)) % 64) & 1 == 0 || buckets == 0
            {
                return false;
            }
            let bucket = filter.add(words as usize).cast::<u32>();
            let chain = bucket.add(buckets as usize);
            let mut index = *bucket.add((hash % buckets) as usize);
            if index < first {
                return false;
            }
            loop {
                let of = *chain.add((index - first) as usize);
                if of | 1 == hash | 1 && self.is_definition(index as usize, name, version) {
                    return true;
                }
                if of & 1 == 1 {
                    return false;
                }
                index += 1;
            }
        }
    }

    /// Does the symbol `index` define `name`, at this version?
    ///
    /// # Safety
    /// As [`Object::symbol`].
    unsafe fn is_definition(&self, index: usize, name: &CStr, version: Option<&CStr>) -> bool {
        // SAFETY: this function's contract; names are strings in the object's table.
        unsafe {
            let symbol = self.symbol(index);
            symbol.section != 0
                && self.string(symbol.name) == name
                && self.has_version(index, version)
        }
    }

    /// How many symbols the object has, as far as its old hash table says; else 0.
    ///
    /// # Safety
    /// The object is loaded.
    unsafe fn symbols(&self) -> usize {
        match self.tables.old_hash {
            0 => 0,
            // SAFETY: the table's second word is the number of symbols.
            at => unsafe { *(at as *const u32).add(1) as usize },
        }
    }

    /// # Safety
    /// The object is loaded, has a table of symbols, and `index` is in it.
    unsafe fn symbol(&self, index: usize) -> &Symbol {
        // SAFETY: this function's contract.
        unsafe { &*(self.tables.symbols as *const Symbol).add(index) }
    }

    /// # Safety
    /// The object is loaded, and `offset` is that of a string in its table.
    unsafe fn string(&self, offset: u32) -> &CStr {
        let at = self.tables.strings.wrapping_add(offset as usize);
        // SAFETY: this function's contract; strings end with a zero byte.
        unsafe { CStr::from_ptr(at as *const libc::c_char) }
    }

    /// The index of a symbol's version; 1 is none.
    ///
    /// # Safety
    /// As [`Object::symbol`].
    unsafe fn version_index(&self, index: usize) -> u16 {
        match self.tables.versions {
            0 => 1,
            // SAFETY: the table has an entry for each symbol. Its highest bit says that the version is not the default.
            at => unsafe { *(at as *const u16).add(index) & 0x7fff },
        }
    }

    /// Does the definition `index` have this version?
    ///
    /// # Safety
    /// As [`Object::symbol`].
    unsafe fn has_version(&self, index: usize, version: Option<&CStr>) -> bool {
        let Some(version) = version else { return true };
        let t = &self.tables;
        if t.defined == 0 {
            return true;
        }
        // SAFETY: this function's contract. The table has as many entries as the section says, linked by distances in
        // bytes. The first name of each is its own.
        unsafe {
            let own = self.version_index(index);
            let mut at = t.defined;
            for _ in 0..t.defined_count {
                let definition = &*(at as *const Verdef);
                if definition.index == own {
                    let name = *(at.wrapping_add(definition.aux as usize) as *const u32);
                    return self.string(name) == version;
                }
                at = at.wrapping_add(definition.next as usize);
            }
        }
        false
    }

    /// The relocations that name a symbol, by which the loader binds.
    ///
    /// # Safety
    /// The object is loaded.
    unsafe fn relocations(&self) -> impl Iterator<Item = &Relocation> {
        let t = &self.tables;
        let table = |at: usize, bytes: u64| match at {
            0 => &[],
            // SAFETY: this function's contract; the section says how long the table is.
            at => unsafe {
                core::slice::from_raw_parts(
                    at as *const Relocation,
                    bytes as usize / size_of::<Relocation>(),
                )
            },
        };
        let plain = table(t.relocations, t.relocation_bytes);
        // Those that need no symbol stand in front.
        let plain = plain.get(t.relative as usize..).unwrap_or_default();
        table(t.jumps, t.jump_bytes)
            .iter()
            .chain(plain)
            .filter(|r| r.info >> 32 != 0 && !COPIES.contains(&(r.info & 0xffff_ffff)))
    }

    /// The imports are among this number of symbols, which stand in front.
    ///
    /// # Safety
    /// The object is loaded.
    unsafe fn imports_end(&self) -> usize {
        // SAFETY: as in `defines`.
        unsafe {
            if self.tables.hash == 0 {
                return self.symbols();
            }
            let head = self.tables.hash as *const u32;
            let (buckets, first, words) = (*head, *head.add(1), *head.add(2));
            let bucket = head.add(4 + 2 * words as usize);
            if (0..buckets as usize).any(|i| *bucket.add(i) != 0) {
                return first as usize;
            }
            // An object that defines nothing: linkers write no such number.
            self.relocations()
                .map(|r| (r.info >> 32) as usize + 1)
                .max()
                .unwrap_or(0)
        }
    }

    /// The OpenMP names that the object needs.
    fn imports(&self) -> Vec<Import<'_>> {
        let t = &self.tables;
        let mut found = Vec::new();
        if t.symbols == 0 || t.strings == 0 {
            return found;
        }
        // SAFETY: the tables of a loaded object: this type's contract.
        unsafe {
            for index in 1..self.imports_end() {
                let symbol = self.symbol(index);
                if symbol.section != 0 {
                    continue;
                }
                let name = self.string(symbol.name);
                if is_openmp(name.to_bytes()) {
                    let wanted = self.version_index(index);
                    let mut version = None;
                    t.each_needed(&mut |_, aux| {
                        let is_it = aux.other & 0x7fff == wanted;
                        if is_it {
                            version = Some(self.string(aux.name));
                        }
                        is_it
                    });
                    found.push(Import {
                        index,
                        name,
                        version,
                    });
                }
            }
        }
        found
    }

    /// Says so if some of the object's imports lead to `runtimes[ours]` and others to another of `runtimes`, which are
    /// in the order in which they were loaded.
    fn mixed(&self, runtimes: &[Object], ours: usize, asks_us_first: bool) -> Option<Mixed> {
        let imports = self.imports();
        let here = |i: &Import<'_>| runtimes[ours].defines(i.name, i.version);
        if ours == 0 && imports.iter().all(here) {
            // All lead here, or, in a scope of the object's own, none.
            return None;
        }
        let mut leads: Vec<Leads> = imports
            .iter()
            .map(|import| {
                let there = (0..runtimes.len())
                    .find(|&r| r != ours && runtimes[r].defines(import.name, import.version));
                match (here(import), there) {
                    (true, None) => Leads::Here,
                    (true, Some(_)) if asks_us_first => Leads::Here,
                    (false, Some(there)) => Leads::There(there),
                    _ => Leads::Open,
                }
            })
            .collect();
        // What the loader has bound already is certain.
        //
        // SAFETY: the tables and variables of a loaded object: this type's contract.
        for relocation in unsafe { self.relocations() } {
            let index = (relocation.info >> 32) as usize;
            let Ok(at) = imports.binary_search_by_key(&index, |import| import.index) else {
                continue;
            };
            let slot = self.base.wrapping_add(relocation.offset as usize) as *const usize;
            // SAFETY: as before; the place that a relocation names holds an address.
            let bound = unsafe { slot.read_unaligned() };
            match runtimes.iter().position(|runtime| runtime.holds(bound)) {
                Some(r) if r == ours => leads[at] = Leads::Here,
                Some(r) => leads[at] = Leads::There(r),
                None => {}
            }
        }
        let ours = leads.iter().position(|&lead| lead == Leads::Here)?;
        let (theirs, from) = leads.iter().enumerate().find_map(|(i, &lead)| match lead {
            Leads::There(r) => Some((i, &runtimes[r])),
            _ => None,
        })?;
        Some(Mixed {
            path: self.path(),
            theirs: imports[theirs].text(),
            from: from.path(),
            ours: imports[ours].text(),
        })
    }
}

/// Does compiled code find this name in an OpenMP runtime?
fn is_openmp(name: &[u8]) -> bool {
    const STARTS: [&[u8]; 7] = [
        b"GOMP_", b"GOACC_", b"omp_", b"ompc_", b"kmp_", b"kmpc_", b"__kmpc_",
    ];
    STARTS.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The objects of this test program, whose runtimes are none.
    #[test]
    fn objects_define_and_need_what_the_linker_wrote() {
        let objects = RefCell::new(Vec::new());
        any_object(&|info, _| {
            objects.borrow_mut().push(Object::of(info));
            false
        });
        let objects = objects.into_inner();
        let c = objects
            .iter()
            .find(|o| o.path().contains("/libc.so"))
            .expect("the C library");
        assert!(c.defines(c"malloc", None));
        assert!(
            c.defines(c"malloc", Some(c"GLIBC_2.2.5")) || c.defines(c"malloc", Some(c"GLIBC_2.17"))
        );
        assert!(!c.defines(c"malloc", Some(c"GLIBC_9.9")));
        assert!(!c.defines(c"omp_get_thread_num", None));
        assert!(c.holds(libc::malloc as *const () as usize));
        assert!(!c.is_runtime());
        let program = &objects[0];
        assert!(program.holds(objects_define_and_need_what_the_linker_wrote as *const () as usize));
        // SAFETY: objects of this program, which unloads none.
        let bound = unsafe {
            assert!(program.imports_end() > 1);
            program.relocations().any(|r| {
                let slot = program.base.wrapping_add(r.offset as usize) as *const usize;
                program.string(program.symbol((r.info >> 32) as usize).name) == c"malloc"
                    && c.holds(slot.read_unaligned())
            })
        };
        assert!(bound, "malloc leads to the C library");
        assert!(program.imports().is_empty());
        check();
    }
}
