//! Names for addresses in the program, for the reports.
//!
//! An address is looked up once. The dynamic linker holds its lock while a library's constructors run, and
//! constructors may open regions. If the linker were asked while a lock of this library is held, two threads
//! could wait for each other. So [`of`] looks in the table first, and asks the linker without the table's
//! lock.

use super::json::{maybe, quoted};
use hetmp_core::object;
use hetmp_core::whole::Mutex;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// A place in the program.
#[derive(Debug)]
pub(crate) struct Place {
    /// The object file and the offset in it; `None` if the address lies in no object.
    at: Option<object::Place>,
    address: u64,
    /// `file+0xoffset`, for messages.
    pub(crate) label: Box<str>,
}

static PLACES: Mutex<BTreeMap<u64, &'static Place>> = Mutex::new(BTreeMap::new());

/// The place of `address`. Kept for ever: a program has only as many as it has loops and regions.
pub(crate) fn of(address: u64) -> &'static Place {
    if let Some(place) = PLACES.lock().get(&address).copied() {
        return place;
    }
    let place: &'static Place = Box::leak(Box::new(Place::find(address)));
    PLACES.lock().entry(address).or_insert(place)
}

impl Place {
    fn find(address: u64) -> Place {
        let at = object::Place::of(address as usize).map(|mut at| {
            // A relative path must be resolved now: the program may change its directory.
            if let Ok(path) = std::fs::canonicalize(&at.path) {
                at.path = path;
            }
            at
        });
        let label = at
            .as_ref()
            .map_or_else(|| format!("{address:#x}"), ToString::to_string);
        Place {
            at,
            address,
            label: label.into(),
        }
    }

    /// The place as fields of a JSON object.
    pub(super) fn json(&self, out: &mut String, symbols: &mut Symbols) {
        let hex = |id: &[u8]| id.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let id = self.at.as_ref().map(|p| hex(&p.build_id));
        let module = self.at.as_ref().map(|p| p.path.to_string_lossy());
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            "\"region\":{},\"module\":{},\"build_id\":{},\"offset\":{},\"symbol\":{}",
            quoted(&self.label),
            maybe(module.as_deref()),
            maybe(id.as_deref().filter(|id| !id.is_empty())),
            self.at.as_ref().map_or(self.address, |p| p.offset),
            maybe(symbols.name(self))
        );
    }
}

/// Function names, from the symbol tables of the objects' files. Reading a large one takes a while, so it is
/// done at the end of the program.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    read: bool,
    files: BTreeMap<PathBuf, object::Functions>,
}

impl Symbols {
    /// Reads no file: no function has a name.
    pub(super) fn none() -> Symbols {
        Symbols::default()
    }

    /// Reads the file of each object when it is first needed.
    pub(super) fn from_files() -> Symbols {
        Symbols {
            read: true,
            ..Symbols::default()
        }
    }

    /// The name of the function that `place` is in.
    pub(super) fn name(&mut self, place: &Place) -> Option<&str> {
        let at = place.at.as_ref().filter(|_| self.read)?;
        if !self.files.contains_key(&at.path) {
            let functions = object::Functions::of(&at.path);
            self.files.insert(at.path.clone(), functions);
        }
        // A loop's key is a return address. It may lie behind the function's end, if the call is the last
        // instruction.
        let functions = self.files.get(&at.path)?;
        functions
            .at(at.offset)
            .or_else(|| functions.at(at.offset.checked_sub(1)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_ours_is_found() {
        let address = code_of_ours_is_found as fn() as usize as u64;
        let place = of(address);
        assert!(place.label.contains("+0x"), "{place:?}");
        assert!(core::ptr::eq(place, of(address)));
        let name = Symbols::from_files().name(place).map(str::to_owned);
        assert!(name.is_some_and(|n| n.contains("code_of_ours_is_found")));
        assert_eq!(Symbols::none().name(place), None);
        let mut out = String::new();
        of(16).json(&mut out, &mut Symbols::from_files());
        assert_eq!(
            out,
            "\"region\":\"0x10\",\"module\":null,\"build_id\":null,\"offset\":16,\"symbol\":null"
        );
    }
}
