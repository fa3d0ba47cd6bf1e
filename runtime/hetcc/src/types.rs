//! Have the variables that both halves share one layout? What the debug information of a source's two objects says.
//!
//! Compared are the types of all variables with addresses of their own, and of what gcc hands to each outlined region
//! or task (the record `.omp_data_s`), member by member, and through pointers whatever these lead to. Behind `void *`
//! there is nothing to be seen, and a local variable counts only where a region shares it: a `struct stat` that a
//! function fills in for itself harms nobody.

use gimli::{AttributeValue, EndianSlice, LittleEndian, Operation, SectionId};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, RelocationTarget};
use std::collections::{BTreeMap, HashMap, HashSet};

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// An entry of the debug information, with what is compared of it.
struct Entry {
    tag: gimli::DwTag,
    name: Option<String>,
    linkage_name: Option<String>,
    of: Option<usize>,
    /// The entry that this one completes.
    completes: Option<usize>,
    children: Vec<usize>,
    bytes: Option<u64>,
    encoding: Option<gimli::DwAte>,
    at: Option<u64>,
    bits: (Option<u64>, Option<u64>),
    bound: Option<u64>,
    is_declaration: bool,
    is_artificial: bool,
    has_address: bool,
    is_polymorphic: bool,
}

/// The debug information of one object.
struct Info {
    entries: Vec<Entry>,
}

/// The types of one object that can be reached by both halves, by a name for people and for pairing.
type Roots = BTreeMap<String, Vec<usize>>;

/// Compares the objects that two compilers have made of one source.
///
/// # Errors
/// One line that names what differs.
pub(crate) fn compare(x86: &[u8], arm: &[u8]) -> Result<(), String> {
    let broken =
        |e: gimli::Error| format!("debug information: {e} (expected that of gcc 12 or later)");
    let (x86, arm) = (
        Info::read(x86).map_err(broken)?,
        Info::read(arm).map_err(broken)?,
    );
    let (mine, theirs) = (x86.roots(), arm.roots());
    let mut pair = Pair {
        x86: &x86,
        arm: &arm,
        met: HashSet::new(),
    };
    for (name, types) in &mine {
        let others = theirs.get(name).map(Vec::as_slice).unwrap_or_default();
        for (x, a) in types.iter().zip(others) {
            pair.same(Some(*x), Some(*a), None)
                .map_err(|d| format!("{name}{d}"))?;
        }
    }
    Ok(())
}

impl Info {
    fn read(file: &[u8]) -> gimli::Result<Info> {
        let file = object::File::parse(file)
            .map_err(|_| gimli::Error::UnexpectedEof(gimli::ReaderOffsetId(0)))?;
        let load = |id: SectionId| -> gimli::Result<Vec<u8>> { Ok(relocated(&file, id.name())) };
        let sections = gimli::DwarfSections::load(load)?;
        let dwarf = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
        let mut info = Info {
            entries: Vec::new(),
        };
        let mut units = dwarf.units();
        while let Some(header) = units.next()? {
            let unit = dwarf.unit(header)?;
            info.read_unit(&dwarf, &unit)?;
        }
        Ok(info)
    }

    fn read_unit(
        &mut self,
        dwarf: &gimli::Dwarf<Bytes<'_>>,
        unit: &gimli::Unit<Bytes<'_>>,
    ) -> gimli::Result<()> {
        // Entries by their offset in the unit; references are resolved when all are there.
        let mut by_offset: HashMap<usize, usize> = HashMap::new();
        let mut refers: Vec<(usize, Option<usize>, Option<usize>)> = Vec::new();
        let mut stack: Vec<usize> = Vec::new();
        let mut cursor = unit.entries();
        let mut depth = 0_isize;
        while let Some((delta, die)) = cursor.next_dfs()? {
            depth += delta;
            stack.truncate(usize::try_from(depth).unwrap_or(0));
            let index = self.entries.len();
            by_offset.insert(die.offset().0, index);
            if let Some(&parent) = stack.last() {
                self.entries[parent].children.push(index);
            }
            stack.push(index);
            let text = |at| -> gimli::Result<Option<String>> {
                let Some(value) = die.attr_value(at)? else {
                    return Ok(None);
                };
                Ok(Some(
                    dwarf
                        .attr_string(unit, value)?
                        .to_string_lossy()
                        .into_owned(),
                ))
            };
            let number = |at| -> gimli::Result<Option<u64>> {
                Ok(die.attr_value(at)?.and_then(|v| v.udata_value()))
            };
            let flag = |at| -> gimli::Result<bool> {
                Ok(matches!(
                    die.attr_value(at)?,
                    Some(AttributeValue::Flag(true))
                ))
            };
            let refer = |at| -> gimli::Result<Option<usize>> {
                Ok(match die.attr_value(at)? {
                    Some(AttributeValue::UnitRef(offset)) => Some(offset.0),
                    _ => None,
                })
            };
            let of = refer(gimli::DW_AT_type)?;
            let completes = match refer(gimli::DW_AT_specification)? {
                None => refer(gimli::DW_AT_abstract_origin)?,
                found => found,
            };
            refers.push((index, of, completes));
            let bound = match number(gimli::DW_AT_count)? {
                None => number(gimli::DW_AT_upper_bound)?,
                found => found,
            };
            let encoding = match die.attr_value(gimli::DW_AT_encoding)? {
                Some(AttributeValue::Encoding(e)) => Some(e),
                _ => None,
            };
            let has_address = match die.attr_value(gimli::DW_AT_location)? {
                Some(AttributeValue::Exprloc(e)) => matches!(
                    e.operations(unit.encoding()).next()?,
                    Some(Operation::Address { .. } | Operation::UnsignedConstant { .. })
                ),
                _ => false,
            };
            self.entries.push(Entry {
                tag: die.tag(),
                name: text(gimli::DW_AT_name)?,
                linkage_name: text(gimli::DW_AT_linkage_name)?,
                of: None,
                completes: None,
                children: Vec::new(),
                bytes: number(gimli::DW_AT_byte_size)?,
                encoding,
                at: number(gimli::DW_AT_data_member_location)?,
                bits: (
                    number(gimli::DW_AT_data_bit_offset)?,
                    number(gimli::DW_AT_bit_size)?,
                ),
                bound,
                is_declaration: flag(gimli::DW_AT_declaration)?,
                is_artificial: flag(gimli::DW_AT_artificial)?,
                has_address,
                is_polymorphic: die.attr_value(gimli::DW_AT_containing_type)?.is_some(),
            });
        }
        for (index, of, completes) in refers {
            self.entries[index].of = of.and_then(|o| by_offset.get(&o).copied());
            self.entries[index].completes = completes.and_then(|o| by_offset.get(&o).copied());
        }
        Ok(())
    }

    fn roots(&self) -> Roots {
        let mut roots = Roots::new();
        for entry in &self.entries {
            let whole = entry.completes.map(|c| &self.entries[c]);
            let of = entry.of.or(whole.and_then(|w| w.of));
            let name = entry.name.as_ref().or(whole.and_then(|w| w.name.as_ref()));
            match entry.tag {
                gimli::DW_TAG_variable if entry.has_address => {
                    let linkage = whole
                        .and_then(|w| w.linkage_name.as_ref())
                        .or(entry.linkage_name.as_ref());
                    if let (Some(of), Some(name)) = (of, linkage.or(name)) {
                        roots
                            .entry(format!("variable '{name}'"))
                            .or_default()
                            .push(of);
                    }
                }
                gimli::DW_TAG_subprogram if entry.is_artificial => {
                    let Some(name) = name.filter(|n| n.contains("._omp_fn.")) else {
                        continue;
                    };
                    // Its one parameter, `.omp_data_i`.
                    let first = entry.children.iter().map(|&c| &self.entries[c]);
                    let mut first = first.filter(|c| c.tag == gimli::DW_TAG_formal_parameter);
                    if let Some(of) = first.next().and_then(|p| p.of) {
                        roots
                            .entry(format!("region '{name}'"))
                            .or_default()
                            .push(of);
                    }
                }
                _ => {}
            }
        }
        for (index, entry) in self.entries.iter().enumerate() {
            if let (true, Some(name)) = (entry.is_polymorphic && is_record(entry.tag), &entry.name)
            {
                roots
                    .entry(format!("class '{name}'"))
                    .or_default()
                    .push(index);
            }
        }
        roots
    }

    /// The type behind names and qualifiers, and the first of the names, which is what the program says.
    fn plain(&self, mut of: Option<usize>) -> (Option<usize>, Option<&str>) {
        let mut name = None;
        while let Some(index) = of {
            let entry = &self.entries[index];
            match entry.tag {
                gimli::DW_TAG_typedef => name = name.or(entry.name.as_deref()),
                gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type => {}
                _ => return (of, name),
            }
            of = entry.of;
        }
        (None, name)
    }
}

/// One machine marks a virtual function in the pointer, the other in what is added to `this`.
const MEMBER_FUNCTION: &str =
    ": pointers to member functions have two formats (expected a virtual function)";

fn is_record(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type
    )
}

/// Two objects of one source, and the pairs of types that were met.
struct Pair<'a> {
    x86: &'a Info,
    arm: &'a Info,
    met: HashSet<(usize, usize)>,
}

impl Pair<'_> {
    /// The error is the rest of a line: a path of members, then what differs.
    fn same(
        &mut self,
        x: Option<usize>,
        a: Option<usize>,
        called: Option<&str>,
    ) -> Result<(), String> {
        let ((x, name), (a, _)) = (self.x86.plain(x), self.arm.plain(a));
        let (x, a) = match (x, a) {
            (None, None) => return Ok(()),
            (Some(x), Some(a)) => (x, a),
            _ => return Err(other_type(name.unwrap_or("void"))),
        };
        if !self.met.insert((x, a)) {
            return Ok(());
        }
        let (mine, theirs) = (&self.x86.entries[x], &self.arm.entries[a]);
        let called = name.or(called);
        let name = match (called, &mine.name) {
            (Some(name), _) => name.to_owned(),
            (None, Some(tag)) if mine.tag == gimli::DW_TAG_structure_type => {
                format!("struct {tag}")
            }
            (None, Some(tag)) if mine.tag == gimli::DW_TAG_union_type => format!("union {tag}"),
            (None, Some(name)) => name.clone(),
            (None, None) => "what has no name".to_owned(),
        };
        if mine.is_declaration || theirs.is_declaration {
            return Ok(());
        }
        // What the C library and the compilers define for each machine: the name is what helps.
        if mine.tag != theirs.tag || is_record(mine.tag) && mine.name != theirs.name {
            return Err(differs(&name, mine, theirs));
        }
        match mine.tag {
            gimli::DW_TAG_base_type => return base(mine, theirs, &name),
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type => return self.same(mine.of, theirs.of, None),
            gimli::DW_TAG_ptr_to_member_type => {
                let (to, _) = self.x86.plain(mine.of);
                let is_function =
                    to.is_some_and(|t| self.x86.entries[t].tag == gimli::DW_TAG_subroutine_type);
                if is_function {
                    return Err(MEMBER_FUNCTION.to_owned());
                }
                return Ok(());
            }
            gimli::DW_TAG_subroutine_type => return Ok(()),
            _ => {}
        }
        let called = called.filter(|_| mine.tag == gimli::DW_TAG_array_type);
        if let (Some(_), Some(_)) = (mine.of, theirs.of) {
            self.same(mine.of, theirs.of, called)?;
        }
        // The innermost of what differs says most.
        self.members(x, a, &name)?;
        match mine.bytes == theirs.bytes {
            true => Ok(()),
            false => Err(differs(&name, mine, theirs)),
        }
    }

    fn members(&mut self, x: usize, a: usize, name: &str) -> Result<(), String> {
        let of = |info: &Info, index: usize| -> Vec<usize> {
            let children = info.entries[index].children.iter().copied();
            let is_part = |&c: &usize| {
                let child = &info.entries[c];
                let is_member =
                    matches!(child.tag, gimli::DW_TAG_member | gimli::DW_TAG_inheritance);
                is_member && !child.is_declaration || child.tag == gimli::DW_TAG_subrange_type
            };
            children.filter(is_part).collect()
        };
        let (mine, theirs) = (of(self.x86, x), of(self.arm, a));
        let whole = differs(name, &self.x86.entries[x], &self.arm.entries[a]);
        if mine.len() != theirs.len() {
            return Err(whole);
        }
        for (x, a) in mine.into_iter().zip(theirs) {
            let (m, t) = (&self.x86.entries[x], &self.arm.entries[a]);
            let member = m.name.as_deref().unwrap_or("");
            if m.tag == gimli::DW_TAG_subrange_type {
                match m.bound == t.bound {
                    true => continue,
                    false => return Err(whole),
                }
            }
            if (m.tag, &m.name, m.at, m.bits) != (t.tag, &t.name, t.at, t.bits) {
                return Err(whole);
            }
            // What a library keeps in a type of its own says less than the type's name.
            let path = |rest: String| match member.starts_with("__") {
                true => whole.clone(),
                false => format!(", member '{member}'{rest}"),
            };
            if member == "__pfn" {
                return Err(MEMBER_FUNCTION.to_owned());
            }
            self.same(m.of, t.of, None).map_err(path)?;
        }
        Ok(())
    }
}

/// Numbers: equal bytes mean equal values only in one format.
fn base(mine: &Entry, theirs: &Entry, name: &str) -> Result<(), String> {
    let own = mine.name.as_deref().unwrap_or_default();
    // The processor's own format of 80 bits; the other machine has numbers of 128 bits under this name.
    let is_extended = own.contains("long double") || own.contains("kind=10");
    let is_float = matches!(
        mine.encoding,
        Some(gimli::DW_ATE_float | gimli::DW_ATE_complex_float)
    );
    if is_extended && is_float && mine.bytes >= Some(16) {
        return Err(format!(
            ": '{own}' has two formats (expected double, or __float128)"
        ));
    }
    let sign = |e: &Entry| match e.encoding {
        // wchar_t has a sign on one machine alone.
        Some(gimli::DW_ATE_unsigned) if name.starts_with('w') => Some(gimli::DW_ATE_signed),
        encoding => encoding,
    };
    match mine.bytes == theirs.bytes && sign(mine) == sign(theirs) {
        true => Ok(()),
        false => Err(differs(name, mine, theirs)),
    }
}

fn differs(name: &str, mine: &Entry, theirs: &Entry) -> String {
    match (mine.bytes, theirs.bytes) {
        (Some(x86), Some(arm)) if x86 != arm => format!(
            ": '{name}' has {x86} bytes on x86_64 and {arm} on aarch64 (expected a type of one layout)"
        ),
        _ => other_type(name),
    }
}

fn other_type(name: &str) -> String {
    format!(": '{name}' is another type on x86_64 than on aarch64 (expected a type of one layout)")
}

/// The bytes of a section, with references into other sections filled in as a linker would.
fn relocated(file: &object::File<'_>, name: &str) -> Vec<u8> {
    let Some(section) = file.section_by_name(name) else {
        return Vec::new();
    };
    let mut bytes = section
        .uncompressed_data()
        .map(|d| d.into_owned())
        .unwrap_or_default();
    for (at, relocation) in section.relocations() {
        let RelocationTarget::Symbol(symbol) = relocation.target() else {
            continue;
        };
        let address = file.symbol_by_index(symbol).map_or(0, |s| s.address());
        let value = address
            .wrapping_add_signed(relocation.addend())
            .to_le_bytes();
        let size = usize::from(relocation.size() / 8);
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        if let Some(place) = at.checked_add(size).and_then(|end| bytes.get_mut(at..end)) {
            place.copy_from_slice(&value[..size.min(8)]);
        }
    }
    bytes
}
