//! What earlier runs have read in regions' code and learned from executions, and what this one does, in files of the
//! user's cache folder (`HETMP_CACHE`): one for each object. [`hetmp_scan::kept`] says why a reading is valid in
//! another process, [`Folder`] whom to believe.
//!
//! A file is opened when a region of its object would be read, and written when the process ends, if something new was
//! read: then with what other processes have written meanwhile. Each writer puts a whole file in place; of two that
//! write at once the later one wins. A fault of folder or file costs at most a line: the code is then read
//! as without them.

use crate::init;
use crate::unlike::modes;
use crate::unlike::virtual_team::ledger::Balance;
use crate::unlike::virtual_team::object;
use core::sync::atomic::{AtomicU32, Ordering};
use hetmp_core::file::Folder;
use hetmp_core::report::warn;
use hetmp_core::whole::{patiently, Held, Mutex};
use hetmp_core::{float, sys};
use hetmp_scan::kept::{Found, Identity, Reading, Readings, Unfit, LARGEST, MOST_TAUGHT};
use hetmp_scan::loaded::Loaded;
use hetmp_scan::Form;
use std::collections::BTreeSet;
use std::path::Path;

/// What is kept of one object.
#[derive(Debug)]
struct Object {
    identity: Identity,
    /// From its file.
    old: Readings,
    /// From this process.
    new: Readings,
}

#[derive(Debug)]
struct Kept {
    folder: Option<Folder>,
    objects: Vec<Object>,
    /// The identities of what is mapped at these addresses.
    mapped: Vec<(u64, Option<Identity>)>,
    /// Functions that no earlier run has read.
    missed: BTreeSet<(usize, Form, bool)>,
}

/// `None`: not looked for yet.
static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

/// Functions that this process has read, and that it has not read because they were known.
static READ: AtomicU32 = AtomicU32::new(0);
static KNOWN: AtomicU32 = AtomicU32::new(0);

/// `None` if the lock cannot be had: the thread that holds it may have crashed.
fn lock() -> Option<Held<'static, Option<Kept>>> {
    patiently(|| KEPT.try_lock())
}

impl Kept {
    fn new() -> Kept {
        let folder = Folder::of_caches().unwrap_or_else(|refusal| {
            warn(format_args!("{refusal}"));
            None
        });
        // SAFETY: the handler can be called at any time, since the library is never unloaded. If there is no room for
        // another handler, nothing is kept.
        unsafe { libc::atexit(at_exit) };
        Kept {
            folder,
            objects: Vec::new(),
            mapped: Vec::new(),
            missed: BTreeSet::new(),
        }
    }

    /// What is kept of the object at `base`, whose identity is `of`; its file is read the first time.
    fn object(&mut self, base: u64, of: impl Fn() -> Option<Identity>) -> Option<&mut Object> {
        let folder = self.folder.as_ref()?;
        let known = self.mapped.iter().find(|mapped| mapped.0 == base);
        let identity = match known {
            Some(mapped) => mapped.1.clone(),
            None => {
                self.mapped.push((base, of()));
                self.mapped.last()?.1.clone()
            }
        }?;
        let known = self.objects.iter().position(|o| o.identity == identity);
        let at = known.unwrap_or_else(|| {
            self.objects.push(Object {
                old: load(folder, &identity, true),
                new: Readings::new(identity.clone()),
                identity,
            });
            self.objects.len() - 1
        });
        self.objects.get_mut(at)
    }
}

fn refuse(folder: &Folder, path: &Path, why: core::fmt::Arguments<'_>) {
    // Nobody has asked for the usual folder, and some homes cannot be written to.
    if folder.named || init::globals().ours.verbose {
        warn(format_args!("HETMP_CACHE: '{}': {why}", path.display()));
    }
}

/// The readings in the object's file. `says`: a line where it is not as it should be.
fn load(folder: &Folder, identity: &Identity, says: bool) -> Readings {
    let name = identity.name();
    let bytes = match folder.read(&name, LARGEST as u64) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Readings::new(identity.clone()),
        Err(error) => {
            if says {
                let expected = "expected a folder and files of your own that only you may write to";
                refuse(
                    folder,
                    &folder.file(&name),
                    format_args!("{error} ({expected})"),
                );
            }
            return Readings::new(identity.clone());
        }
    };
    Readings::parse(&bytes, identity.clone()).unwrap_or_else(|unfit| {
        if says && unfit == Unfit::Damaged {
            warn(format_args!(
                "HETMP_CACHE: '{}': damaged, and written anew (expected a whole file)",
                folder.file(&name).display()
            ));
        }
        Readings::new(identity.clone())
    })
}

/// Where `address` lies: the name of its object, and its offset there. Also what earlier runs have learned about the
/// object, for who asks first. `None`: nothing can be kept of it.
pub(super) fn place(address: usize) -> Option<(String, u64, String)> {
    sys::keeping_errno(|| {
        // Without the lock, as in `find`.
        let head = object::head_at(address as u64)?;
        let mut kept = lock()?;
        let kept = kept.get_or_insert_with(Kept::new);
        let object = kept.object(head.base, || head.identity())?;
        let taught = core::mem::take(&mut object.old.taught);
        let offset = (address as u64).wrapping_sub(head.base);
        Some((object.identity.name(), offset, taught))
    })
}

/// Adds what this process has learned about the object of this name: `add` makes a new text of that in the file.
pub(super) fn teach(name: &str, add: impl FnOnce(&str) -> String) {
    let kept = lock();
    let Some(kept) = kept.as_deref().and_then(Option::as_ref) else {
        return;
    };
    let of_name = |object: &&Object| object.identity.name() == name;
    if let (Some(folder), Some(object)) = (&kept.folder, kept.objects.iter().find(of_name)) {
        update(folder, &object.identity, |all| {
            let text = add(&all.taught);
            if text.len() <= MOST_TAUGHT {
                all.taught = text;
            } else {
                let (file, length) = (folder.file(name), text.len());
                let expected = format!("expected at most {MOST_TAUGHT} bytes");
                refuse(
                    folder,
                    &file,
                    format_args!("{length} bytes of what loops have taught are too many, and not kept ({expected})"),
                );
            }
        });
    }
}

/// Changes the object's file: what other processes have written there meanwhile stays.
fn update(folder: &Folder, identity: &Identity, change: impl FnOnce(&mut Readings)) {
    let mut all = load(folder, identity, false);
    change(&mut all);
    let name = identity.name();
    if let Err(error) = folder.put(&name, &all.bytes()) {
        let expected = "expected a folder that can be written to";
        refuse(folder, folder.path(), format_args!("{error} ({expected})"));
    }
}

/// What an earlier run has found in the function at `address`, which is being opened, and whether its object has
/// thread-local variables. `asked` as for `virtual_team::fit::read`.
pub(super) fn find(address: usize, form: Form, asked: bool) -> Option<(Found, bool)> {
    let key = (address, form, asked);
    let is_missed = |kept: &Kept| kept.folder.is_none() || kept.missed.contains(&key);
    if lock()?.as_ref().is_some_and(is_missed) {
        return None;
    }
    sys::keeping_errno(|| {
        // Without the lock: the loader has one, too, which it holds while constructors open regions.
        let head = object::head_at(address as u64)?;
        let mut kept = lock()?;
        let kept = kept.get_or_insert_with(Kept::new);
        let offset = (address as u64).wrapping_sub(head.base);
        let object = kept.object(head.base, || head.identity());
        let reading = object
            .and_then(|object| object.old.get(offset, form, asked))
            .filter(|reading| reading.holds(|offset, length| head.code(offset, length)))
            .map(|reading| reading.found.clone().moved(head.base));
        match reading {
            Some(_) => KNOWN.fetch_add(1, Ordering::Relaxed),
            None => u32::from(kept.missed.insert(key)),
        };
        Some((reading?, head.has_tls))
    })
}

/// An object was unloaded: another one may now lie where it did.
pub(super) fn forget() {
    if let Some(kept) = lock().as_deref_mut().and_then(Option::as_mut) {
        kept.mapped.clear();
        kept.missed.clear();
    }
}

/// Reads the function at `address` of `object`, and keeps what was found. `asked` as for `virtual_team::fit::read`.
pub(super) fn read(object: &Loaded, address: usize, form: Form, asked: bool) -> Found {
    let base = object.object().base;
    let reading = Reading::of(object, base, address as u64, form, asked);
    READ.fetch_add(1, Ordering::Relaxed);
    let found = reading.found.clone().moved(base);
    if let Some(mut kept) = lock() {
        let kept = kept.get_or_insert_with(Kept::new);
        if let Some(object) = kept.object(base, || object.identity()) {
            let offset = (address as u64).wrapping_sub(base);
            object.new.insert(offset, form, reading);
        }
    }
    found
}

extern "C" fn at_exit() {
    float::apart(save);
}

fn save() {
    if !modes::in_first_process() {
        return;
    }
    let kept = lock();
    let Some(kept) = kept.as_deref().and_then(Option::as_ref) else {
        return;
    };
    if init::globals().ours.verbose {
        let (read, known) = (READ.load(Ordering::Relaxed), KNOWN.load(Ordering::Relaxed));
        let us = Balance::now().looked / 1000;
        warn(format_args!(
            "code: {read} functions read, {known} known from earlier runs; looking took {us} us"
        ));
    }
    let Some(folder) = &kept.folder else { return };
    for Object { identity, new, .. } in &kept.objects {
        if !new.is_empty() {
            update(folder, identity, |all| all.merge(new));
        }
    }
}
