//! What was learned about loops is kept from one run of a program to the next: next to what was read in the object's
//! code (`HETMP_CACHE`), or in a file of the user's own (`HETMP_PROFILE`).
//!
//! That file is read when the first region is looked at, and written when the process ends. It names a region
//! by the build-id of its object and the offset in that object. So an entry is valid for every run
//! of the same binary, wherever the loader puts it, and for no other binary. It is also valid only for the same
//! nodes and speeds.
//!
//! In the cache, an object's part of the same text is in the object's file, which is found as [`kept`] says.
//!
//! # Several processes
//! A process that ends reads the file again, adds what it has learned, and replaces the file by a rename: a
//! reader sees the old file or the new one, never a part. A lock on the file makes processes that end at the
//! same time take turns. A process that does not get the lock within a second goes ahead without it.
//!
//! # Locks
//! The dynamic linker holds a lock while constructors run, and constructors may open regions. So the linker
//! is asked about addresses ([`prepare`]) only while no lock of this library is held.

use super::{known, source};
use crate::icv::Globals;
use crate::unlike::virtual_team::regions;
use crate::unlike::{kept, modes, nodes, unloads};
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use hetmp_core::file;
use hetmp_core::float;
use hetmp_core::object;
use hetmp_core::report::warn;
use hetmp_core::whole::{patiently, Held, Mutex, OnceLock};
use hetmp_scan::kept::MOST_TAUGHT;
use hetmp_sched::cache::{Key, ProbeCache};
use hetmp_sched::gain::Kept;
use hetmp_sched::placement::Placement;
use hetmp_sched::profile::{Place, Profile, Regions, Setting};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Largest size of a file, in bytes: a larger one was not written by hetmp.
const LARGEST: u64 = 64 << 20;

/// Build-ids and offsets by address; `None` where there is no build-id.
type Places = BTreeMap<u64, Option<(String, u64)>>;

/// What this process has learned.
type News = BTreeMap<Setting, Regions>;

#[derive(Debug)]
struct State {
    /// The user's own file; `None`: the cache.
    path: Option<PathBuf>,
    /// The profile as it was at the start; the cache's as objects were met.
    loaded: Mutex<Profile>,
    /// The regions that were met, by address: the name of their object, which begins with its build-id, and offset.
    places: Mutex<Places>,
    /// What was learned of regions that are known by address no more.
    put_by: Mutex<News>,
    /// A region was found in `loaded`.
    matched: AtomicBool,
}

static STATE: OnceLock<State> = OnceLock::new();

/// Reads the file. Called once, before the first region that is looked at.
pub(super) fn configure(globals: &Globals) {
    let Some(name) = globals.ours.profile.as_deref() else {
        return begin(None, Profile::default());
    };
    // The program may change its directory.
    let path = PathBuf::from(OsStr::from_bytes(name));
    let path = std::path::absolute(&path).unwrap_or(path);
    let (loaded, foreign) = match read(&path) {
        Ok(None) => (Profile::default(), false),
        Ok(Some(text)) => match Profile::parse(&text) {
            Ok(profile) => (profile, false),
            Err(refusal) => {
                let then = if refusal.ours {
                    "learning anew"
                } else {
                    "it is left as it is"
                };
                refuse(&path, format_args!("{refusal}; {then}"));
                (Profile::default(), !refusal.ours)
            }
        },
        Err(error) => {
            refuse(&path, format_args!("{error} (expected a readable file)"));
            (Profile::default(), true)
        }
    };
    // A file of another kind or version stays as it is.
    if !foreign {
        begin(Some(path), loaded);
    }
}

fn begin(path: Option<PathBuf>, loaded: Profile) {
    let state = State {
        path,
        loaded: Mutex::new(loaded),
        places: Mutex::default(),
        put_by: Mutex::default(),
        matched: AtomicBool::new(false),
    };
    if STATE.set(state).is_ok() {
        // SAFETY: the handler can be called at any time, since the library is never unloaded. If there is no
        // room for another handler, nothing is kept.
        unsafe { libc::atexit(at_exit) };
    }
}

fn refuse(path: &Path, why: fmt::Arguments<'_>) {
    warn(format_args!("HETMP_PROFILE: '{}': {why}", path.display()));
}

/// The text of the file; `None` where there is no file yet.
fn read(path: &Path) -> io::Result<Option<String>> {
    match hetmp_core::file::bytes(path, LARGEST) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        // The parser refuses bytes that are not text, as no profile.
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
    }
}

/// Finds out which object and offset the region at `address` has. Call this before [`fill`], without any
/// lock.
#[inline]
pub(super) fn prepare(address: u64) {
    if let Some(state) = STATE.get() {
        look();
        find(state, address);
    }
}

#[cold]
fn find(state: &State, address: u64) {
    let known = state.places().is_none_or(|all| all.contains_key(&address));
    if known {
        return;
    }
    let place = match state.path {
        Some(_) => object::Place::of(address as usize)
            .filter(|p| !p.build_id.is_empty())
            .map(|p| (hexadecimal(&p.build_id), p.offset)),
        None => in_cache(state, address),
    };
    if let Some(mut all) = state.places() {
        all.insert(address, place);
    }
}

/// The place of a region whose object is in the cache. What is known of the object is loaded when its first region is
/// met.
fn in_cache(state: &State, address: u64) -> Option<(String, u64)> {
    // Nothing is to be learned where nodes are not told apart.
    if nodes::count() < 2 {
        return None;
    }
    let (object, offset, taught) = kept::place(address as usize)?;
    // Whole and of this version, as the file that it was in says.
    if let Ok(profile) = Profile::parse(&taught) {
        patiently(|| state.loaded.try_lock())?.append(profile);
    }
    Some((object, offset))
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    for b in bytes {
        // Writing to a String cannot fail.
        let _ = write!(out, "{b:02x}");
    }
    out
}

/// Takes over what the file knows about a region that this process has not met yet.
#[inline]
pub(super) fn fill(cache: &mut ProbeCache, key: &Key, team: &Placement) {
    if let Some(state) = STATE.get() {
        if cache.entry(key).is_none() {
            take_over(state, cache, key, team);
        }
    }
}

#[cold]
fn take_over(state: &State, cache: &mut ProbeCache, key: &Key, team: &Placement) {
    let Some((setting, offset)) = state.locate(key.region) else {
        return;
    };
    let place = place(offset, key);
    let saved = state.known(&setting, |regions| regions.loops.get(&place).cloned());
    if let Some(saved) = saved {
        cache.restore(*key, &saved, team, source::objective());
    }
}

fn place(offset: u64, key: &Key) -> Place {
    Place {
        offset,
        magnitude: key.magnitude,
        shape: key.shape,
    }
}

/// The way that earlier runs have found for the region at `address`. Call this without any lock.
pub(in crate::unlike) fn way(address: usize, threads: u32) -> Option<Kept> {
    let state = STATE.get()?;
    find(state, address as u64);
    let (setting, offset) = state.locate(address as u64)?;
    state.known(&setting, |regions| {
        regions.ways.get(&(offset, threads)).copied()
    })
}

impl State {
    /// The regions that were met; `None` if the lock cannot be had: the thread that holds it may have crashed.
    fn places(&self) -> Option<Held<'_, Places>> {
        patiently(|| self.places.try_lock())
    }

    /// What `find` finds of an object: this process may have put it by, or an earlier one may have left it.
    fn known<T>(&self, setting: &Setting, find: impl Fn(&Regions) -> Option<T>) -> Option<T> {
        let put_by = patiently(|| self.put_by.try_lock())?;
        if let Some(found) = put_by.get(setting).and_then(&find) {
            return Some(found);
        }
        let loaded = patiently(|| self.loaded.try_lock())?;
        let found = loaded.regions(setting).and_then(find);
        if found.is_some() {
            self.matched.store(true, Ordering::Relaxed);
        }
        found
    }

    /// The names of a region of this process in the file.
    fn locate(&self, address: u64) -> Option<(Setting, u64)> {
        let (object, offset) = self.places()?.get(&address)?.clone()?;
        let nodes = described();
        Some((Setting { nodes, object }, offset))
    }
}

/// The nodes, without the properties that measurements do not depend on.
fn described() -> String {
    let Some(layout) = nodes::layout() else {
        return "one".to_owned();
    };
    let mut out = String::new();
    for (i, node) in layout.nodes.iter().enumerate() {
        let mut node = node.clone();
        (node.name, node.watts, node.watts_idle) = (None, None, None);
        let separator = if i == 0 { "" } else { ";" };
        let _ = write!(out, "{separator}{node}");
    }
    out
}

extern "C" fn at_exit() {
    float::apart(save_news);
}

/// What this process has learned, by the names of regions, beyond what was put by; and whether some region has none.
/// `None`: another thread, which may run on, has the lock.
fn learned(state: &State) -> Option<(News, bool)> {
    let mut news = News::new();
    let mut nameless = false;
    {
        let all = known::at_exit()?;
        for (key, entry) in all.cache.iter() {
            let Some(saved) = entry.saved() else { continue };
            match state.locate(key.region) {
                Some((setting, offset)) => {
                    let loops = &mut news.entry(setting).or_default().loops;
                    loops.insert(place(offset, key), saved);
                }
                None => nameless = true,
            }
        }
    }
    for ((address, threads), kept) in regions::kept() {
        if let Some((setting, offset)) = state.locate(address as u64) {
            let ways = &mut news.entry(setting).or_default().ways;
            ways.insert((offset, threads), kept);
        }
    }
    Some((news, nameless))
}

/// If an object was unloaded since the last call, everything that is known of code by address is forgotten: another
/// object may lie there now. What executions have taught is put by for later runs before that, under the name of the
/// object that it was learned of. Call this without any lock.
pub(in crate::unlike) fn look() {
    if unloads::noticed() {
        kept::forget();
        put_by();
        regions::forget();
        known::forget();
    }
}

fn put_by() {
    let Some(state) = STATE.get() else { return };
    let news = learned(state).map_or(News::new(), |(news, _)| news);
    if let Some(mut all) = patiently(|| state.put_by.try_lock()) {
        add(&mut all, news);
    }
    if let Some(mut places) = state.places() {
        places.clear();
    }
}

fn add(all: &mut News, news: News) {
    for (setting, regions) in news {
        let before = all.entry(setting).or_default();
        before.loops.extend(regions.loops);
        before.ways.extend(regions.ways);
    }
}

fn save_news() {
    let Some(state) = STATE.get() else { return };
    if !modes::in_first_process() {
        return;
    }
    let Some((now, nameless)) = learned(state) else {
        return;
    };
    let put_by = patiently(|| state.put_by.try_lock());
    let mut news = put_by.map_or(News::new(), |mut all| core::mem::take(&mut *all));
    add(&mut news, now);
    let Some(loaded) = patiently(|| state.loaded.try_lock()) else {
        return;
    };
    match &state.path {
        Some(path) => save_in_file(path, state, &loaded, news, nameless),
        None => save_in_cache(&loaded, news),
    }
}

fn save_in_cache(loaded: &Profile, news: News) {
    // A process has one set of nodes, so that each object is there once.
    for (setting, regions) in news {
        kept::teach(&setting.object, |text| {
            let mut profile = Profile::parse(text).unwrap_or_default();
            profile.merge(&setting, loaded.regions(&setting), regions);
            profile.text(MOST_TAUGHT)
        });
    }
}

fn save_in_file(path: &Path, state: &State, loaded: &Profile, news: News, nameless: bool) {
    if nameless {
        refuse(
            path,
            format_args!("only regions of objects with a build-id are kept (gcc -Wl,--build-id)"),
        );
    }
    if news.is_empty() {
        return;
    }
    if !loaded.is_empty() && !state.matched.load(Ordering::Relaxed) {
        refuse(
            path,
            format_args!(
                "nothing in it is of this program on these nodes; what was learned now is added"
            ),
        );
    }
    if let Err(error) = save(path, loaded, news) {
        refuse(
            path,
            format_args!("{error} (expected a file that can be written)"),
        );
    }
}

/// Adds `news` to the file.
fn save(path: &Path, loaded: &Profile, news: News) -> io::Result<()> {
    let _lock = Lock::of(path);
    let mut profile = match read(path)? {
        None => Profile::default(),
        Some(text) => match Profile::parse(&text) {
            Ok(profile) => profile,
            // The file is damaged, as the user was told at the start; or another file has replaced it since.
            Err(refusal) if refusal.ours => Profile::default(),
            Err(refusal) => return Err(io::Error::other(refusal.why)),
        },
    };
    for (setting, regions) in news {
        let before = loaded.regions(&setting);
        profile.merge(&setting, before, regions);
    }
    file::put(path, profile.text(LARGEST as usize / 16).as_bytes())
}

/// A lock on the file, held as long as this value lives.
struct Lock(#[allow(dead_code, reason = "closing it releases the lock")] File);

impl Lock {
    fn of(path: &Path) -> Option<Lock> {
        for _ in 0..100 {
            // An empty file is an empty profile.
            let file = file::keep(path).ok()?;
            // SAFETY: the descriptor is open.
            let got = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0;
            if got {
                // The process that held the lock before may have put another file in place.
                let same = file.metadata().ok()?.ino() == fs::metadata(path).ok()?.ino();
                if same {
                    return Some(Lock(file));
                }
            } else {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        None
    }
}
