//! Functions of the program's own libraries, as a part of the code of the regions that call them.
//!
//! The scan of a region reads one object, the region's. A call of another object is a name there. If the name is that
//! of a function of the program or of one of its own libraries, that function is read, too, and what it calls counts as
//! called by the region. Functions of the system's libraries are not read: for these there is a list of names.

use super::admit::Noting;
use super::bodies;
use super::callable::is_harmless;
use core::cell::RefCell;
use hetmp_core::program::is_system_library;
use hetmp_scan::loaded::Loaded;
use hetmp_scan::{Entry, Scan};
use std::collections::{BTreeSet, VecDeque};
use std::ffi::CString;

/// How many functions are read for one region.
const MOST: usize = 200;

/// Does the object belong to the program? A path that is empty is that of the program itself.
fn is_own(object: &Loaded) -> bool {
    !is_system_library(&object.object().path)
}

/// The address of the function that a call by this name reaches: `name`, or `name@version`.
fn address_of(name: &str) -> Option<u64> {
    let (name, version) = name.split_once('@').unwrap_or((name, ""));
    let name = CString::new(name).ok()?;
    let version = CString::new(version.trim_start_matches('@')).ok()?;
    // SAFETY: C strings. The calls look up what the loader has loaded.
    let at = unsafe {
        let versioned = match version.is_empty() {
            true => core::ptr::null_mut(),
            false => libc::dlvsym(libc::RTLD_DEFAULT, name.as_ptr(), version.as_ptr()),
        };
        match versioned.is_null() {
            true => libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()),
            false => versioned,
        }
    };
    (!at.is_null()).then_some(at as u64)
}

/// The address and the object of a function that lies in the program or in a library of its own; `None` for other
/// names, and for those of which it is known what they do.
fn own(name: &str) -> Option<(u64, Loaded)> {
    let base = name.split('@').next().unwrap_or_default();
    if Entry::of_name(base).is_some() || base.starts_with("__kmpc_") || is_harmless(base) {
        return None;
    }
    let at = address_of(name)?;
    let object = Loaded::at(at)?;
    is_own(&object).then_some((at, object))
}

/// Replaces those of `names`, the functions that a region calls, that lie in the program or in its own libraries by
/// what these call. Adds to `found` what the scan of the region finds in its own object. True if one of the functions
/// reaches thread-local variables.
pub(super) fn add(names: &mut Vec<String>, found: &mut Scan) -> bool {
    let mut open = VecDeque::from(core::mem::take(names));
    let (mut seen, mut keeps, mut read) = (BTreeSet::new(), false, 0);
    while let Some(name) = open.pop_front() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let own = if read == MOST { None } else { own(&name) };
        let Some((at, object)) = own else {
            names.push(name);
            continue;
        };
        read += 1;
        let noting = Noting {
            object: &object,
            names: RefCell::new(Vec::new()),
        };
        match bodies::closure(&noting, at) {
            Ok(reach) => {
                keeps |= reach.thread_local;
                if let Some(address) = reach.unknown {
                    found.calls.unknown = true;
                    found.calls.unknown_address = address;
                }
            }
            Err(why) => bodies::limit(found, why),
        }
        let called = noting.names.into_inner();
        for entry in called.iter().filter_map(|name| Entry::of_name(name)) {
            found.calls.insert(entry);
        }
        open.extend(called);
    }
    keeps
}

/// Has the program, or one of its own libraries, thread-local variables?
pub(super) fn any_thread_locals() -> bool {
    let objects = Loaded::starts();
    let objects = objects.into_iter().filter_map(Loaded::at);
    objects.filter(is_own).any(|o| o.object().has_tls)
}
