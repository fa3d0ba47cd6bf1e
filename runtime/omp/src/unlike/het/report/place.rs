//! Where in the program something is, for the reports.
//!
//! Asked once an address. The dynamic linker holds its lock while a library's constructors run, and
//! those may open regions: so it is asked while none of our own locks is held ([`of`] looks first,
//! and asks outside), or two threads could wait for each other.

use super::json::{maybe, quoted};
use hetmp_core::object;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;

/// A place in the program.
#[derive(Debug)]
pub(crate) struct Place {
    /// The object file and the offset in it; `None` where the address is in none.
    at: Option<object::Place>,
    address: u64,
    /// `file+0xoffset`, for messages.
    pub(crate) label: Box<str>,
}

static PLACES: Mutex<BTreeMap<u64, &'static Place>> = Mutex::new(BTreeMap::new());

/// The place of `address`. Kept for ever: a program has as many as it has loops and regions.
pub(crate) fn of(address: u64) -> &'static Place {
    // Nothing panics under this lock.
    let known = || PLACES.lock().ok();
    if let Some(place) = known().and_then(|all| all.get(&address).copied()) {
        return place;
    }
    let place: &'static Place = Box::leak(Box::new(Place::find(address)));
    known().map_or(place, |mut all| *all.entry(address).or_insert(place))
}

impl Place {
    fn find(address: u64) -> Place {
        let at = object::Place::of(address as usize).map(|mut at| {
            // What was found through a relative path is looked for from elsewhere later.
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

/// Function names, from the symbol tables of the objects' files. A large one takes a while to read,
/// so this is for the end of the program.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    read: bool,
    files: BTreeMap<PathBuf, object::Functions>,
}

impl Symbols {
    /// Without reading any file: nothing has a name.
    pub(super) fn none() -> Symbols {
        Symbols::default()
    }

    /// Reads the file of each object that is asked for.
    pub(super) fn from_files() -> Symbols {
        Symbols {
            read: true,
            ..Symbols::default()
        }
    }

    /// The function that `place` is in.
    pub(super) fn name(&mut self, place: &Place) -> Option<&str> {
        let at = place.at.as_ref().filter(|_| self.read)?;
        if !self.files.contains_key(&at.path) {
            let functions = object::Functions::of(&at.path);
            self.files.insert(at.path.clone(), functions);
        }
        // A call may be a function's last instruction, and a loop's key is where it returns to.
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
