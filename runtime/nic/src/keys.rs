//! Registered memory: keys, bounds, rights, and the guard that keeps a region registered while an operation uses it.
//!
//! A key is an index into the table and a generation. After a region was deregistered, its key stays invalid even
//! when its place is used again.
//!
//! **Between processes.** A rank's table may lie in memory that its peers map; then peers find a region as soon as
//! the rank has registered it. The region's address differs from process to process, so a place holds an offset into
//! one of the rank's [windows](KeyTable::window), which are memory of the rank that its peers map too. Memory outside
//! of all windows can only be registered for the rank's own operations. A process that uses a place counts its uses
//! in words of its own (`users`), so that operations of different processes write to different cache lines. Before
//! the owner says that a region is gone, it looks at the words of all processes.
//!
//! **A peer that writes what it likes.** Whoever maps a table can write to it. So the owner looks its regions up in a
//! table of its own, and only publishes a copy; and what a peer's table says is used within the windows of that peer
//! alone, whose bounds are known here.

use crate::array::Array;
#[cfg(not(loom))]
use crate::array::Shareable;
use crate::descriptor::{CounterId, Failure, Key, Status};
use core::fmt;
use core::ops::Range;
use hetmp_core::lock::Lock;
use hetmp_core::park::Spinner;
#[cfg(loom)]
use hetmp_core::sync::{fence, pause};
use hetmp_core::sync::{AtomicU64, Ordering};
use std::sync::OnceLock;

/// What peers, or the engine on behalf of the owner, may do with a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Rights(u8);

impl Rights {
    /// The owner's own operations may read it as a source.
    pub const LOCAL_READ: Rights = Rights(1);
    /// The owner's own operations may write to it.
    pub const LOCAL_WRITE: Rights = Rights(2);
    /// Peers may get.
    pub const REMOTE_READ: Rights = Rights(4);
    /// Peers may put.
    pub const REMOTE_WRITE: Rights = Rights(8);
    /// Peers may run atomics, and signal.
    pub const REMOTE_ATOMIC: Rights = Rights(16);
    /// All rights, which a symmetric heap needs.
    pub const ALL: Rights = Rights(31);

    /// True when every right of `other` is in `self`.
    pub const fn holds(self, other: Rights) -> bool {
        self.0 & other.0 == other.0
    }

    const fn is_local(self) -> bool {
        self.0 & !3 == 0
    }
}

impl core::ops::BitOr for Rights {
    type Output = Rights;
    fn bitor(self, other: Rights) -> Rights {
        Rights(self.0 | other.0)
    }
}

/// Memory that is to be registered.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Its address in this process.
    pub here: *mut u8,
    /// Bytes.
    pub len: usize,
    /// The address of its first byte in descriptors, which is the owner's address. Differs from `here` if a peer's
    /// memory is mapped at another address.
    pub base: u64,
}

impl Memory {
    /// Memory of this process, under its own address.
    pub fn here(here: *mut u8, len: usize) -> Memory {
        Memory {
            here,
            len,
            base: here as u64,
        }
    }
}

/// Why memory cannot be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterError {
    /// All places of the table are taken.
    Full {
        /// How many there are.
        places: usize,
    },
    /// The range wraps around the end of the address space.
    Range {
        /// First address.
        base: u64,
        /// Bytes.
        len: usize,
    },
    /// The region is for peers, and lies in no window that they map.
    Window {
        /// First address.
        base: u64,
        /// Bytes.
        len: usize,
    },
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegisterError::Full { places } => {
                write!(
                    f,
                    "registration {}: too many (expected at most {places} regions)",
                    places + 1
                )
            }
            RegisterError::Range { base, len } => write!(
                f,
                "region {base:#x} of {len} bytes: beyond the address space (expected a range within it)"
            ),
            RegisterError::Window { base, len } => write!(
                f,
                "region {base:#x} of {len} bytes: peers do not map it (expected memory of a segment, or no rights for \
                    peers)"
            ),
        }
    }
}

impl std::error::Error for RegisterError {}

/// The low bits of a key are the index of the place; the others are the generation.
const PLACE_BITS: u32 = 16;
const GENERATIONS: u32 = 1 << (32 - PLACE_BITS);

/// Loom treats sequentially consistent accesses as acquiring and releasing only. In the model this fence gives them
/// the order that they have on a machine.
#[inline(always)]
fn order() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}

/// A place of the table, with a region or free.
///
/// # Memory ordering
/// A user announces itself in `users` and then reads `key`. Deregistration clears `key` and then reads `users`. All
/// four accesses are sequentially consistent. (On the operation's side these are a read-modify-write and a load,
/// which need no fence on x86-64.) So either the user sees that the key is gone, or deregistration sees the user and
/// waits: no operation touches memory after its owner was told that the memory is free. The other fields are written
/// before `key` is (release), and read only after `key` was seen (acquire).
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Place {
    /// The key while a region is registered here, else 0.
    key: AtomicU64,
    /// Offset of the region's first byte in its window.
    here: AtomicU64,
    base: AtomicU64,
    len: AtomicU64,
    /// Bits 0 to 7: the rights; 8 to 15: the window.
    rights: AtomicU64,
    /// One more than the number of the counter that counts what arrives; 0 for none.
    counter: AtomicU64,
    generation: AtomicU64,
}

/// How many operations of one process use a place at this moment. See "Memory ordering" of `Place`.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Users(AtomicU64);

// SAFETY: atomics, for which zero is a value.
#[cfg(not(loom))]
unsafe impl Shareable for Place {}
// SAFETY: an atomic word, for which zero is a value, in `repr(C)`.
#[cfg(not(loom))]
unsafe impl Shareable for Users {}

/// The most windows of a rank.
pub(crate) const WINDOWS: usize = 8;

/// A window, as mapped in this process.
#[derive(Debug, Default)]
struct Window {
    start: AtomicU64,
    /// 0: there is no such window.
    len: AtomicU64,
}

/// The regions of one rank, this process's own or a peer's.
#[derive(Debug)]
pub struct KeyTable {
    /// Where this process looks regions up: the owner in memory of its own, a peer in what the owner publishes.
    places: Array<Place>,
    /// The copy that peers map. In the owner's process only, which never reads it.
    published: Option<Array<Place>>,
    /// The words in which this process counts its uses.
    users: Array<Users>,
    /// The words of the other processes that map this table. Set in the owner's process only.
    others: OnceLock<Box<[Array<Users>]>>,
    /// Window 0 is the owner's whole address space. In a peer's process it is empty.
    windows: [Window; WINDOWS],
    /// Peers in other processes can use the regions, which therefore have to lie in a window.
    shared: bool,
    /// Held while a region is registered or deregistered; operations never take it.
    writing: Lock,
}

/// The number of places in a table for `places` regions.
fn most(places: usize) -> usize {
    places.min((1 << PLACE_BITS) - 1)
}

/// Free places in this process's own memory.
fn own(places: usize) -> Array<Place> {
    Array::own((0..most(places)).map(|_| Place::default()))
}

/// No windows yet, but for the whole address space if it is the owner's.
fn windows(is_owner: bool) -> [Window; WINDOWS] {
    let windows: [Window; WINDOWS] = Default::default();
    if is_owner {
        windows[0].len.store(u64::MAX, Ordering::Relaxed);
    }
    windows
}

/// The side of an operation on whose behalf memory is looked up. Failures are named after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The initiator's own memory.
    Local,
    /// The target's memory.
    Remote,
}

impl KeyTable {
    /// A table with room for `places` regions (at most 65535).
    pub fn new(places: usize) -> KeyTable {
        KeyTable {
            places: own(places),
            published: None,
            users: Array::own((0..most(places)).map(|_| Users::default())),
            others: OnceLock::new(),
            windows: windows(true),
            shared: false,
            writing: Lock::new(),
        }
    }

    /// Bytes that the table's places take in mapped memory.
    #[cfg(not(loom))]
    pub(crate) fn bytes(places: usize) -> usize {
        Array::<Place>::bytes(most(places))
    }

    /// Bytes that the words of one process take in mapped memory.
    #[cfg(not(loom))]
    pub(crate) fn users_bytes(places: usize) -> usize {
        Array::<Users>::bytes(most(places))
    }

    /// The words at `*at`, in mapped memory, in which one process counts its uses. Moves `*at` to their end.
    ///
    /// # Safety
    /// As for `Array::at`.
    #[cfg(not(loom))]
    pub(crate) unsafe fn users_at(at: &mut *mut u8, places: usize) -> Array<Users> {
        // SAFETY: who calls upholds the contract of `Array::at` for this many words.
        unsafe { Array::at(at, most(places)) }
    }

    /// A table in mapped memory at `*at`. Moves `*at` to its end. `users` are this process's words. `is_owner`: the
    /// regions are this process's own.
    ///
    /// # Safety
    /// As for `Array::at`, for `KeyTable::bytes` of `places`.
    #[cfg(not(loom))]
    pub(crate) unsafe fn at(
        at: &mut *mut u8,
        places: usize,
        users: Array<Users>,
        is_owner: bool,
    ) -> KeyTable {
        // SAFETY: who calls upholds the contract of `Array::at` for this many places.
        let mapped = unsafe { Array::at(at, most(places)) };
        let (places, published) = if is_owner {
            (own(places), Some(mapped))
        } else {
            (mapped, None)
        };
        KeyTable {
            places,
            published,
            users,
            others: OnceLock::new(),
            windows: windows(is_owner),
            shared: true,
            writing: Lock::new(),
        }
    }

    /// For the owner's process: the words in which the other processes count. Call it before the first
    /// deregistration.
    #[cfg(not(loom))]
    pub(crate) fn watch(&self, others: Box<[Array<Users>]>) {
        // A second call would pass the same words.
        let _ = self.others.set(others);
    }

    /// The index of the place that a key names.
    pub(crate) fn place_of(key: Key) -> usize {
        (key.0 & ((1 << PLACE_BITS) - 1)) as usize
    }

    /// Says where window `number` of the rank lies in this process; 1 to `WINDOWS` - 1. Every peer does the same with
    /// the address at which it maps the window, before it uses regions in the window.
    pub fn window(&self, number: usize, start: *mut u8, len: usize) {
        let Some(w) = self.windows.get(number).filter(|_| number != 0) else {
            debug_assert!(false, "window {number}");
            return;
        };
        w.start.store(start as u64, Ordering::Relaxed);
        w.len.store(len as u64, Ordering::Release);
    }

    /// The window that holds a range, and the window's start. For a range in no window: window 0, whose start is 0.
    fn window_of(&self, start: u64, len: u64) -> (u64, u64) {
        for (i, w) in self.windows.iter().enumerate().skip(1) {
            let size = w.len.load(Ordering::Acquire);
            let from = w.start.load(Ordering::Relaxed);
            if start >= from && start - from <= size && len <= size - (start - from) && size != 0 {
                return (i as u64, from);
            }
        }
        (0, 0)
    }

    /// Registers memory.
    ///
    /// # Errors
    /// The table is full, the range wraps around, or peers could not reach the memory because it lies in no window.
    ///
    /// # Safety
    /// `memory` stays readable and writable, as `rights` say, until [`KeyTable::deregister`] has returned for its
    /// key. Others that use the memory meanwhile expect concurrent access by the engine, as the memory model of the
    /// API above says (OpenSHMEM's, for example).
    pub unsafe fn register(
        &self,
        memory: Memory,
        rights: Rights,
        counter: Option<CounterId>,
    ) -> Result<Key, RegisterError> {
        // SAFETY: who calls upholds the contract of `register_among`, which is the same.
        unsafe { self.register_among(0..self.places.len(), memory, rights, counter) }
    }

    /// Like [`KeyTable::register`], at one of these places, which are those of a [port](crate::domain::Port).
    ///
    /// # Errors
    /// Those of [`KeyTable::register`].
    ///
    /// # Safety
    /// As for [`KeyTable::register`].
    pub(crate) unsafe fn register_among(
        &self,
        places: Range<usize>,
        memory: Memory,
        rights: Rights,
        counter: Option<CounterId>,
    ) -> Result<Key, RegisterError> {
        let range = RegisterError::Range {
            base: memory.base,
            len: memory.len,
        };
        if memory.base.checked_add(memory.len as u64).is_none()
            || (memory.here as usize).checked_add(memory.len).is_none()
        {
            return Err(range);
        }
        let (window, start) = self.window_of(memory.here as u64, memory.len as u64);
        if self.shared && window == 0 && !rights.is_local() {
            return Err(RegisterError::Window {
                base: memory.base,
                len: memory.len,
            });
        }
        let places = places.start..places.end.min(self.places.len());
        self.writing.lock();
        let free = places
            .clone()
            .find(|&i| self.places[i].key.load(Ordering::Relaxed) == 0);
        let result = match free {
            None => Err(RegisterError::Full {
                places: places.len(),
            }),
            Some(i) => {
                let p = &self.places[i];
                // Generation 0 is skipped, so that no key is 0.
                let mut g = (p.generation.load(Ordering::Relaxed) as u32 + 1) % GENERATIONS;
                if g == 0 {
                    g = 1;
                }
                p.generation.store(u64::from(g), Ordering::Relaxed);
                let key = g << PLACE_BITS | i as u32;
                for p in self.copies(i) {
                    p.here.store(memory.here as u64 - start, Ordering::Relaxed);
                    p.base.store(memory.base, Ordering::Relaxed);
                    p.len.store(memory.len as u64, Ordering::Relaxed);
                    p.rights
                        .store(u64::from(rights.0) | window << 8, Ordering::Relaxed);
                    p.counter
                        .store(counter.map_or(0, |c| u64::from(c.0) + 1), Ordering::Relaxed);
                    p.key.store(u64::from(key), Ordering::Release);
                }
                Ok(Key(key))
            }
        };
        self.writing.unlock();
        result
    }

    /// The place that this process reads, and the one that it publishes.
    fn copies(&self, index: usize) -> impl Iterator<Item = &Place> {
        let published = self.published.as_ref().and_then(|all| all.get(index));
        self.places.get(index).into_iter().chain(published)
    }

    /// Deregisters a region, and waits until no operation uses it. False if the key names no region.
    ///
    /// If a process dies while it uses the region, this waits on; whoever notices the death ends the job.
    pub fn deregister(&self, key: Key) -> bool {
        let index = KeyTable::place_of(key);
        let Some(p) = self.places.get(index) else {
            return false;
        };
        let users = |index: usize| {
            let others = self.others.get().map_or(&[][..], |o| o);
            let of_others = others.iter().filter_map(|o| o.get(index));
            of_others
                .chain(&self.users[index..index + 1])
                .any(|u| u.0.load(Ordering::SeqCst) != 0)
        };
        self.writing.lock();
        let known = key != Key::NONE && p.key.load(Ordering::Relaxed) == u64::from(key.0);
        if known {
            for p in self.copies(index) {
                p.key.store(0, Ordering::SeqCst);
            }
            order();
            let mut spinner = Spinner::new();
            while users(index) {
                // A use is one copy. It ends without our help, but the thread may need this very core for it.
                spinner.turn_or_rest();
            }
        }
        self.writing.unlock();
        known
    }

    /// Looks up the memory `address..address+len` of region `key`, for an operation that needs `rights`.
    ///
    /// Length 0 is allowed from the region's first address up to the first one after the region.
    ///
    /// # Errors
    /// The key names no region, the range leaves the region, or a right is missing.
    pub fn find(
        &self,
        side: Side,
        key: Key,
        address: u64,
        len: usize,
        rights: Rights,
    ) -> Result<Span<'_>, Failure> {
        debug_assert!((side == Side::Local) == rights.is_local());
        let fail = |local: Status, remote: Status, value: u64| Failure {
            status: if side == Side::Local { local } else { remote },
            value,
        };
        let unknown = fail(Status::LocalKey, Status::RemoteKey, u64::from(key.0));
        let index = KeyTable::place_of(key);
        let (Some(place), Some(users)) = (self.places.get(index), self.users.get(index)) else {
            return Err(unknown);
        };
        // Announces this use before `key` is read: see "Memory ordering" of `Place`.
        users.0.fetch_add(1, Ordering::SeqCst);
        order();
        // Every way out from here drops the span, which ends the announced use.
        let mut span = Span {
            place,
            users,
            region: (0, 0),
            start: core::ptr::null_mut(),
            len,
        };
        if key == Key::NONE || place.key.load(Ordering::SeqCst) != u64::from(key.0) {
            return Err(unknown);
        }
        let rights_and_window = place.rights.load(Ordering::Relaxed);
        let has = Rights(rights_and_window as u8);
        if !has.holds(rights) {
            return Err(fail(
                Status::LocalRight,
                Status::RemoteRight,
                u64::from(key.0),
            ));
        }
        let base = place.base.load(Ordering::Relaxed);
        let size = place.len.load(Ordering::Relaxed);
        // No sum here can wrap around: otherwise an address far above the region could seem to lie inside.
        let inside =
            address >= base && address - base <= size && len as u64 <= size - (address - base);
        if !inside {
            return Err(fail(Status::LocalBounds, Status::RemoteBounds, address));
        }
        // The start of window 0 is 0.
        let window = &self.windows[(rights_and_window >> 8) as usize % WINDOWS];
        let (from, here) = (
            window.start.load(Ordering::Relaxed),
            place.here.load(Ordering::Relaxed),
        );
        // Of a peer's region, only the window's bounds are known for sure.
        let most = window.len.load(Ordering::Relaxed);
        if here > most || size > most - here {
            return Err(unknown);
        }
        span.region = (from.wrapping_add(here) as usize, size as usize);
        span.start = span.region.0.wrapping_add((address - base) as usize) as *mut u8;
        Ok(span)
    }
}

/// Registered memory that was found in bounds. The region stays registered until this value is dropped.
#[derive(Debug)]
pub struct Span<'a> {
    place: &'a Place,
    users: &'a Users,
    region: (usize, usize),
    start: *mut u8,
    len: usize,
}

impl Span<'_> {
    /// The first byte in this process.
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if the length is 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The whole region: its first address in this process, and its bytes.
    pub fn region(&self) -> (usize, usize) {
        self.region
    }

    /// The owner's counter of operations on this region.
    pub fn counter(&self) -> Option<CounterId> {
        let c = self.place.counter.load(Ordering::Relaxed);
        c.checked_sub(1).map(|c| CounterId(c as u32))
    }
}

impl Drop for Span<'_> {
    fn drop(&mut self) {
        // Release: deregistration, which acquires, returns after everything that the operation did in the region.
        self.users.0.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
