//! Registered memory: keys, bounds, rights, and the guard that keeps a region registered while it is used.
//!
//! A key is a place in the table and a generation, so that the key of a region that was taken out stays
//! invalid when its place is used again.
//!
//! **Between processes.** The table of a rank may lie in memory that its peers map: they then find what it registers,
//! when it registers it. Addresses differ from process to process, so a place holds an offset into one of the rank's
//! [windows](KeyTable::window): memory of the rank that its peers map, too. What lies in no window can be registered for the
//! rank's own operations alone. Who uses a place counts itself in words of its own process (`users`), so that operations
//! of different processes share no cache line that is written; the owner looks at the words of all of them before it
//! says that a region is gone.

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

/// What others (or the engine on behalf of the owner) may do with a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Rights(u8);

impl Rights {
    /// Source of the owner's own operations.
    pub const LOCAL_READ: Rights = Rights(1);
    /// Destination of the owner's own operations.
    pub const LOCAL_WRITE: Rights = Rights(2);
    /// Peers may get.
    pub const REMOTE_READ: Rights = Rights(4);
    /// Peers may put.
    pub const REMOTE_WRITE: Rights = Rights(8);
    /// Peers may run atomics, and signal.
    pub const REMOTE_ATOMIC: Rights = Rights(16);
    /// Everything, as a symmetric heap needs it.
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

/// Memory to be registered.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Where this process sees it.
    pub here: *mut u8,
    /// Bytes.
    pub len: usize,
    /// The address that descriptors use for its first byte: the owner's own. Differs from `here` where a
    /// peer's memory is mapped at another address.
    pub base: u64,
}

impl Memory {
    /// Memory of this process under its own address.
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
    /// The range does not end within the address space.
    Range {
        /// First address.
        base: u64,
        /// Bytes.
        len: usize,
    },
    /// Peers are to reach memory that they do not map.
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
                    "registration {}: at most {places} regions are accepted",
                    places + 1
                )
            }
            RegisterError::Range { base, len } => write!(
                f,
                "region {base:#x} of {len} bytes: a range that ends within the address space is accepted"
            ),
            RegisterError::Window { base, len } => write!(
                f,
                "region {base:#x} of {len} bytes: with rights for peers, memory of a segment that they map is accepted"
            ),
        }
    }
}

impl std::error::Error for RegisterError {}

/// Bits of a key that name the place; the rest is the generation.
const PLACE_BITS: u32 = 16;
const GENERATIONS: u32 = 1 << (32 - PLACE_BITS);

/// Loom takes sequentially consistent accesses for acquiring and releasing ones; it needs the fence to
/// see the order that the accesses around it have on a machine.
#[inline(always)]
fn order() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}

/// # Memory ordering
/// A user announces itself in `users` and then reads `key`; deregistration clears `key` and then reads
/// `users`; all four are sequentially consistent (a read-modify-write and a load on the side of the
/// operation, which on x86-64 needs no fence besides). Either the user sees the key gone, or deregistration sees the user and waits: no operation runs in memory that
/// its owner was told is its own again. The fields are written before `key` is (release), and read only
/// after it was seen (acquire).
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Place {
    /// The key while registered, else 0.
    key: AtomicU64,
    /// Offset of the first byte in the window, which is the rights' second byte.
    here: AtomicU64,
    base: AtomicU64,
    len: AtomicU64,
    /// Bits 0 to 7: the rights; 8 to 15: the window.
    rights: AtomicU64,
    /// 0, or one more than the number of the counter that counts what arrives.
    counter: AtomicU64,
    generation: AtomicU64,
}

/// How many operations of one process use a place right now: its part of "Memory ordering" above.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Users(AtomicU64);

// SAFETY: atomics, for which zero is a value.
#[cfg(not(loom))]
unsafe impl Shareable for Place {}
// SAFETY: an atomic word, for which zero is a value, in `repr(C)`.
#[cfg(not(loom))]
unsafe impl Shareable for Users {}

/// Windows of a rank.
pub(crate) const WINDOWS: usize = 8;

/// A window as this process sees it: an address, so that the word may also be that of the whole address space.
#[derive(Debug, Default)]
struct Window {
    start: AtomicU64,
    /// 0: there is none.
    len: AtomicU64,
}

/// The regions of one rank, its own or a peer's.
#[derive(Debug)]
pub struct KeyTable {
    places: Array<Place>,
    /// Of this process.
    users: Array<Users>,
    /// Of the other processes that map this table; in the owner's process alone.
    others: OnceLock<Box<[Array<Users>]>>,
    /// Number 0 is the owner's whole address space, and means nothing elsewhere.
    windows: [Window; WINDOWS],
    /// Peers in other processes find what is registered here: it has to lie in a window.
    shared: bool,
    /// Held by registration and deregistration; operations never take it.
    writing: Lock,
}

/// Places of a table that has room for this many regions.
fn most(places: usize) -> usize {
    places.min((1 << PLACE_BITS) - 1)
}

/// Which side of an operation asks: decides what a failure is called.
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
            places: Array::own((0..most(places)).map(|_| Place::default())),
            users: Array::own((0..most(places)).map(|_| Users::default())),
            others: OnceLock::new(),
            windows: Default::default(),
            shared: false,
            writing: Lock::new(),
        }
    }

    /// Bytes that the places take in mapped memory.
    #[cfg(not(loom))]
    pub(crate) fn bytes(places: usize) -> usize {
        Array::<Place>::bytes(most(places))
    }

    /// Bytes that the users of one process take in mapped memory.
    #[cfg(not(loom))]
    pub(crate) fn users_bytes(places: usize) -> usize {
        Array::<Users>::bytes(most(places))
    }

    /// Words in mapped memory in which one process counts its users of a table, behind which `at` is moved.
    ///
    /// # Safety
    /// As [`Array::at`].
    #[cfg(not(loom))]
    pub(crate) unsafe fn users_at(at: &mut *mut u8, places: usize) -> Array<Users> {
        // SAFETY: this function's contract is that of `Array::at` for as many words.
        unsafe { Array::at(at, most(places)) }
    }

    /// A table in mapped memory, behind which `at` is moved; `users` are this process' own.
    ///
    /// # Safety
    /// As [`Array::at`], for [`KeyTable::bytes`] of `places`.
    #[cfg(not(loom))]
    pub(crate) unsafe fn at(at: &mut *mut u8, places: usize, users: Array<Users>) -> KeyTable {
        KeyTable {
            // SAFETY: this function's contract is that of `Array::at` for as many places.
            places: unsafe { Array::at(at, most(places)) },
            users,
            others: OnceLock::new(),
            windows: Default::default(),
            shared: true,
            writing: Lock::new(),
        }
    }

    /// In the owner's process: where the other processes count themselves. Before the first deregistration.
    #[cfg(not(loom))]
    pub(crate) fn watch(&self, others: Box<[Array<Users>]>) {
        // A second set would be the same one.
        let _ = self.others.set(others);
    }

    /// The number of the place that a key names.
    pub(crate) fn place_of(key: Key) -> usize {
        (key.0 & ((1 << PLACE_BITS) - 1)) as usize
    }

    /// Says where the rank's window `number`, 1 to `WINDOWS` less one, lies in this process. Its peers say the same, for
    /// the addresses at which they map it, before they use what is registered there.
    pub fn window(&self, number: usize, start: *mut u8, len: usize) {
        let Some(w) = self.windows.get(number).filter(|_| number != 0) else {
            debug_assert!(false, "window {number}");
            return;
        };
        w.start.store(start as u64, Ordering::Relaxed);
        w.len.store(len as u64, Ordering::Release);
    }

    /// The window that holds a range, and its start: for the whole address space number 0, and 0.
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
    /// The table is full, or the range wraps around.
    ///
    /// # Safety
    /// `memory` stays readable and writable, as `rights` say, until [`KeyTable::deregister`] has returned
    /// for its key, and whoever else accesses it meanwhile expects concurrent access by the engine, as
    /// the rules of the API above (OpenSHMEM's memory model) say.
    pub unsafe fn register(
        &self,
        memory: Memory,
        rights: Rights,
        counter: Option<CounterId>,
    ) -> Result<Key, RegisterError> {
        // SAFETY: this function's contract is that of the function called.
        unsafe { self.register_among(0..self.places.len(), memory, rights, counter) }
    }

    /// As [`KeyTable::register`], at one of these places: those of one [port](crate::domain::Port).
    ///
    /// # Errors
    /// As [`KeyTable::register`].
    ///
    /// # Safety
    /// As [`KeyTable::register`].
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
                // Generation 0 is left out, so that no key is 0.
                let mut g = (p.generation.load(Ordering::Relaxed) as u32 + 1) % GENERATIONS;
                if g == 0 {
                    g = 1;
                }
                p.generation.store(u64::from(g), Ordering::Relaxed);
                p.here.store(memory.here as u64 - start, Ordering::Relaxed);
                p.base.store(memory.base, Ordering::Relaxed);
                p.len.store(memory.len as u64, Ordering::Relaxed);
                p.rights
                    .store(u64::from(rights.0) | window << 8, Ordering::Relaxed);
                p.counter
                    .store(counter.map_or(0, |c| u64::from(c.0) + 1), Ordering::Relaxed);
                let key = g << PLACE_BITS | i as u32;
                p.key.store(u64::from(key), Ordering::Release);
                Ok(Key(key))
            }
        };
        self.writing.unlock();
        result
    }

    /// Takes a region out and waits until no operation is using it. False if the key names none.
    ///
    /// A process that dies while it uses the region is waited for: whoever notices its end ends the job.
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
            p.key.store(0, Ordering::SeqCst);
            order();
            let mut spinner = Spinner::new();
            while users(index) {
                // A use is one copy: it ends without our help, but may need this very core to end.
                if !spinner.turn() {
                    #[cfg(not(loom))]
                    hetmp_core::sys::yield_now();
                    #[cfg(loom)]
                    pause();
                }
            }
        }
        self.writing.unlock();
        known
    }

    /// The memory `address..address+len` of region `key`, if it exists, lies within and has `rights`.
    ///
    /// A length of 0 is allowed anywhere from the first address to one past the last.
    ///
    /// # Errors
    /// Which of the three does not hold.
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
        // See "Memory ordering".
        users.0.fetch_add(1, Ordering::SeqCst);
        order();
        // Dropped on every way out from here on, which takes the user off again.
        let mut span = Span {
            place,
            users,
            window: 0,
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
        // Written so that no sum can wrap: an address far above would else come round into the region.
        let inside =
            address >= base && address - base <= size && len as u64 <= size - (address - base);
        if !inside {
            return Err(fail(Status::LocalBounds, Status::RemoteBounds, address));
        }
        // Of window 0, the start is 0.
        let window = &self.windows[(rights_and_window >> 8) as usize % WINDOWS];
        span.window = window.start.load(Ordering::Relaxed);
        let here = place.here.load(Ordering::Relaxed).wrapping_add(span.window);
        span.start = (here as usize).wrapping_add((address - base) as usize) as *mut u8;
        Ok(span)
    }
}

/// Registered memory that was found in bounds; its region stays registered until this is dropped.
#[derive(Debug)]
pub struct Span<'a> {
    place: &'a Place,
    users: &'a Users,
    /// Start of its window in this process.
    window: u64,
    start: *mut u8,
    len: usize,
}

impl Span<'_> {
    /// Its first byte in this process.
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True for no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// First address in this process, and bytes, of the whole region.
    pub fn region(&self) -> (usize, usize) {
        (
            self.place
                .here
                .load(Ordering::Relaxed)
                .wrapping_add(self.window) as usize,
            self.place.len.load(Ordering::Relaxed) as usize,
        )
    }

    /// The counter of the owner that counts operations on this region.
    pub fn counter(&self) -> Option<CounterId> {
        let c = self.place.counter.load(Ordering::Relaxed);
        c.checked_sub(1).map(|c| CounterId(c as u32))
    }
}

impl Drop for Span<'_> {
    fn drop(&mut self) {
        // Release: what the operation did in the region comes before deregistration's return.
        self.users.0.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn table(len: usize, rights: Rights) -> (KeyTable, Vec<u8>, Key, u64) {
        let mut memory = vec![0u8; len];
        let table = KeyTable::new(4);
        let m = Memory::here(memory.as_mut_ptr(), len);
        // SAFETY: the vector is returned with the table and not accessed while spans are used.
        let key = unsafe { table.register(m, rights, None) }.expect("room");
        (table, memory, key, m.base)
    }

    #[test]
    fn bounds_hold_to_the_byte_and_do_not_wrap() {
        let (t, _memory, key, base) = table(64, Rights::ALL);
        let find = |address: u64, len: usize| {
            t.find(Side::Remote, key, address, len, Rights::REMOTE_READ)
                .map(|s| s.len())
        };
        assert_eq!(find(base, 64), Ok(64));
        assert_eq!(find(base + 64, 0), Ok(0));
        assert_eq!(find(base + 63, 1), Ok(1));
        for (address, len) in [
            (base - 1, 1),
            (base, 65),
            (base + 64, 1),
            (base + 65, 0),
            (u64::MAX, usize::MAX),
            (base + 1, usize::MAX),
        ] {
            assert_eq!(
                find(address, len),
                Err(Failure {
                    status: Status::RemoteBounds,
                    value: address
                }),
                "{address:#x} {len}"
            );
        }
    }

    #[test]
    fn a_missing_right_is_named_for_its_side() {
        let (t, _memory, key, base) = table(8, Rights::LOCAL_READ);
        let local = |r| {
            t.find(Side::Local, key, base, 8, r)
                .map(|_| ())
                .map_err(|f| f.status)
        };
        assert_eq!(local(Rights::LOCAL_READ), Ok(()));
        assert_eq!(local(Rights::LOCAL_WRITE), Err(Status::LocalRight));
        let remote = t.find(Side::Remote, key, base, 8, Rights::REMOTE_WRITE);
        assert_eq!(
            remote.map(|_| ()).map_err(|f| f.status),
            Err(Status::RemoteRight)
        );
    }

    #[test]
    fn the_key_of_a_region_that_is_gone_stays_invalid_when_its_place_is_used_again() {
        let (t, mut memory, key, base) = table(8, Rights::ALL);
        assert!(t.deregister(key));
        assert!(!t.deregister(key));
        // SAFETY: the vector outlives the table, and is not accessed while spans are used.
        let again = unsafe { t.register(Memory::here(memory.as_mut_ptr(), 8), Rights::ALL, None) }
            .expect("room");
        assert_ne!(again, key);
        let found = |k| {
            t.find(Side::Remote, k, base, 8, Rights::REMOTE_READ)
                .map(|_| ())
                .map_err(|f| f.status)
        };
        assert_eq!(found(key), Err(Status::RemoteKey));
        assert_eq!(found(Key::NONE), Err(Status::RemoteKey));
        assert_eq!(found(again), Ok(()));
    }

    #[test]
    fn a_full_table_and_a_wrapping_range_are_refused() {
        let (t, mut memory, _, _) = table(8, Rights::ALL);
        let m = Memory::here(memory.as_mut_ptr(), 8);
        // SAFETY: the vector outlives the table, and is not accessed while spans are used.
        let keys: Vec<_> = (0..4)
            .map(|_| unsafe { t.register(m, Rights::ALL, None) })
            .collect();
        assert!(keys[..3].iter().all(|k| k.is_ok()));
        assert_eq!(keys[3], Err(RegisterError::Full { places: 4 }));
        let wraps = Memory {
            base: u64::MAX,
            ..m
        };
        // SAFETY: refused.
        let refused = unsafe { t.register(wraps, Rights::ALL, None) };
        assert_eq!(
            refused.expect_err("wraps").to_string(),
            "region 0xffffffffffffffff of 8 bytes: a range that ends within the address space is accepted"
        );
    }
}
