//! Local stores: the memory that a slave has on the chip.
//!
//! Each slave of each cluster has a store of the platform's size. Queues take their slave slots from it, and
//! [`Store::allocate`] serves the program's own requests. What does not fit fails, as on the chip. Two more memories
//! may belong to a cluster, whose slaves share them. On a strict platform every memory lies at a fixed address, the
//! same in every run, and nothing is mapped around it. Stores: `base + cluster * 512 s + slave * 2 s`, with array
//! memory `s` above scalar memory. `s` is 8 MiB, or more where the platform's memories are larger ([`step`]). Shared
//! ones, by a step of their own, go down from `base`. Slots of queues are guarded there, and lie elsewhere
//! ([`crate::strict`]); the store keeps the bytes that they take.

use crate::error::Error;
use crate::platform::{Kind, Platform};
use core::sync::atomic::{AtomicUsize, Ordering};
use hetmp_core::page;
use std::sync::{Arc, Mutex};

/// The address of the first strict store: where neither the loader nor the kernel puts anything. A kernel with 39 bits
/// of addresses has no more than the lower one.
fn base() -> usize {
    const HIGH: usize = 0x5a00_0000_0000;
    const LOW: usize = 0x20_0000_0000;
    if page::addresses() > HIGH {
        HIGH
    } else {
        LOW
    }
}

/// Blocks are aligned to cache lines, which DMA engines prefer.
const ALIGN: usize = 64;
/// A cluster's part of the address space has room for this many slaves, the most that a platform may have.
const SLAVES: usize = 256;
/// The most clusters of a platform.
const CLUSTERS: usize = 16;

/// [`step`] of the process's platform for stores and for shared memories, for the handler of memory faults; 0 before
/// the first strict store.
static STEPS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Bytes from one strict memory to the next, of slaves or of clusters: a power of two, with at least a page behind the
/// largest of these memories that stays unmapped.
fn step(platform: &Platform, shared: bool) -> usize {
    let kinds = Kind::ALL
        .into_iter()
        .filter(|k| k.shared().is_some() == shared);
    let largest = kinds.map(|k| platform.bytes[k as usize]).max().unwrap_or(0);
    let step = (largest + page::size()).next_power_of_two().max(8 << 20);
    STEPS[usize::from(shared)].store(step, Ordering::Relaxed);
    step
}

/// A memory, which belongs to one slave or to all of a cluster.
type Memory = Arc<Mutex<Area>>;

/// The memories that the slaves of a cluster share; `None` for one that the platform does not have.
#[derive(Debug)]
pub struct Shared([Option<Memory>; 2]);

impl Shared {
    /// Those of a cluster. Nothing is mapped before they are used.
    #[must_use]
    pub fn new(platform: &Platform, cluster: u32) -> Shared {
        Shared([Kind::Global, Kind::HighBandwidth].map(|kind| {
            let below = 1 + 2 * cluster as usize + kind.shared()?;
            memory(platform, kind, || base() - below * step(platform, true))
        }))
    }
}

/// An empty memory of this kind, if the platform has one; on a strict platform at this address.
fn memory(platform: &Platform, kind: Kind, wanted: impl Fn() -> usize) -> Option<Memory> {
    platform.has(kind).then(|| {
        Arc::new(Mutex::new(Area {
            base: 0,
            wanted: if platform.strict { wanted() } else { 0 },
            size: platform.bytes[kind as usize],
            blocks: Vec::new(),
        }))
    })
}

/// The memories of a slave.
#[derive(Debug)]
pub struct Store {
    /// By [`Kind`]: the slave's own, its cluster's, or its scalar memory for one that the platform does not have.
    areas: [Memory; 4],
    /// Address and length of guarded rows of slots. Their bytes are taken from an area, too.
    rows: Mutex<Vec<(usize, usize)>>,
}

#[derive(Debug)]
struct Area {
    /// Where it is mapped; 0 before the first block.
    base: usize,
    wanted: usize,
    size: usize,
    /// Offset and length of each block in use, in order.
    blocks: Vec<(usize, usize)>,
}

impl Store {
    /// The store of a slave, whose cluster has these memories. Nothing is mapped before the store is used.
    ///
    /// # Panics
    /// If the platform has no scalar memory, which every one has.
    #[must_use]
    pub fn new(platform: &Platform, cluster: u32, slave: u32, shared: &Shared) -> Store {
        let slaves = cluster as usize * SLAVES + slave as usize;
        let own = |kind: Kind| {
            memory(platform, kind, || {
                base() + (2 * slaves + kind as usize) * step(platform, false)
            })
        };
        let scalar = own(Kind::Scalar).expect("a platform has scalar memory");
        let areas = Kind::ALL.map(|kind| {
            let other = match kind.shared() {
                Some(number) => shared.0[number].clone(),
                None => (kind == Kind::Array).then(|| own(kind)).flatten(),
            };
            other.unwrap_or_else(|| scalar.clone())
        });
        Store {
            areas,
            rows: Mutex::new(Vec::new()),
        }
    }

    fn area(&self, kind: Kind) -> std::sync::MutexGuard<'_, Area> {
        // A panic aborts the process, so the lock is never poisoned.
        self.areas[kind as usize]
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Allocates `bytes` in one of the memories, and returns their address.
    ///
    /// # Errors
    /// [`Error::NoLocalMemory`] if the block does not fit.
    pub fn allocate(&self, kind: Kind, bytes: usize) -> Result<usize, Error> {
        let mut area = self.area(kind);
        let bytes = bytes
            .checked_next_multiple_of(ALIGN)
            .ok_or(Error::NoLocalMemory)?
            .max(ALIGN);
        // First fit: stores are small, and their blocks live long.
        let (mut at, mut place) = (0, area.blocks.len());
        for (i, &(offset, len)) in area.blocks.iter().enumerate() {
            if offset - at >= bytes {
                place = i;
                break;
            }
            at = offset + len;
        }
        if at > area.size || area.size - at < bytes {
            return Err(Error::NoLocalMemory);
        }
        if area.base == 0 {
            area.base = map(area.wanted, area.size)?;
        }
        area.blocks.insert(place, (at, bytes));
        Ok(area.base + at)
    }

    /// Frees a block. False if no block begins at this address.
    pub fn free(&self, address: usize) -> bool {
        Kind::ALL.into_iter().any(|kind| {
            let mut area = self.area(kind);
            let base = area.base;
            match area
                .blocks
                .iter()
                .position(|&(offset, _)| base != 0 && base + offset == address)
            {
                Some(i) => {
                    area.blocks.remove(i);
                    true
                }
                None => false,
            }
        })
    }

    /// How many bytes are free. They need not lie together.
    pub fn left(&self, kind: Kind) -> usize {
        let area = self.area(kind);
        area.size - area.blocks.iter().map(|b| b.1).sum::<usize>()
    }

    fn rows(&self) -> std::sync::MutexGuard<'_, Vec<(usize, usize)>> {
        // A panic aborts the process, so the lock is never poisoned.
        let rows = self.rows.lock();
        rows.unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// A guarded row of slots belongs to this store from now on.
    pub(crate) fn add_row(&self, address: usize, len: usize) {
        self.rows().push((address, len));
    }

    /// The row at this address is about to be unmapped.
    pub(crate) fn remove_row(&self, address: usize) {
        self.rows().retain(|&(at, _)| at != address);
    }

    /// True if this address range lies in blocks or slots of this store.
    pub fn contains(&self, address: usize, bytes: usize) -> bool {
        let within = |&(from, len): &(usize, usize)| {
            address >= from && bytes <= len && address - from <= len - bytes
        };
        if self.rows().iter().any(within) {
            return true;
        }
        Kind::ALL.into_iter().any(|kind| {
            let area = self.area(kind);
            area.base != 0
                && area
                    .blocks
                    .iter()
                    .any(|&(offset, len)| within(&(area.base + offset, len)))
        })
    }
}

/// Maps `size` bytes; at `wanted`, unless that is 0.
fn map(wanted: usize, size: usize) -> Result<usize, Error> {
    let mut flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    if wanted != 0 {
        flags |= libc::MAP_FIXED_NOREPLACE;
    }
    // SAFETY: a new anonymous mapping. With MAP_FIXED_NOREPLACE it replaces nothing.
    let p = unsafe {
        libc::mmap(
            wanted as *mut libc::c_void,
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            flags,
            -1,
            0,
        )
    };
    // An old kernel takes the flag for a hint.
    if p == libc::MAP_FAILED || (wanted != 0 && p as usize != wanted) {
        return Err(Error::NoMemory);
    }
    Ok(p as usize)
}

/// The cluster and slave in or next to whose strict store an address lies; no slave for a cluster's shared memories.
#[must_use]
pub(crate) fn owner_of(address: usize) -> Option<(u32, Option<u32>)> {
    let step = |shared: bool| STEPS[usize::from(shared)].load(Ordering::Relaxed);
    if let Some(above) = address.checked_sub(base()) {
        let slave = above.checked_div(2 * step(false))?;
        let (cluster, slave) = (slave / SLAVES, slave % SLAVES);
        (cluster < CLUSTERS).then_some((cluster as u32, Some(slave as u32)))
    } else {
        let cluster = (base() - 1 - address).checked_div(2 * step(true))?;
        (cluster < CLUSTERS).then_some((cluster as u32, None))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn store(platform: &Platform, cluster: u32, slave: u32) -> Store {
        Store::new(platform, cluster, slave, &Shared::new(platform, cluster))
    }

    #[test]
    fn what_does_not_fit_fails_and_what_is_given_back_fits_again() {
        let platform = Platform::from_env(Some(b"sw26010")).expect("platform");
        let store = store(&platform, 0, 0);
        let a = store.allocate(Kind::Scalar, 40_000).expect("fits");
        // One kind of memory: array memory is the same.
        assert_eq!(
            store.allocate(Kind::Array, 40_000),
            Err(Error::NoLocalMemory)
        );
        let b = store.allocate(Kind::Array, 25_000).expect("fits");
        assert!(
            store.contains(b, 25_000)
                && !store.contains(b, 25_100)
                && !store.contains(b + 1, 25_024)
        );
        assert!(store.free(a) && !store.free(a));
        assert_eq!(store.allocate(Kind::Scalar, 40_000), Ok(a));
        assert_eq!(store.left(Kind::Scalar), 65536 - 40_000 - 25_024);
        assert_eq!(
            store.allocate(Kind::Scalar, usize::MAX),
            Err(Error::NoLocalMemory)
        );
        assert_eq!(
            store
                .allocate(Kind::Scalar, 0)
                .map(|_| store.left(Kind::Scalar)),
            Ok(65536 - 40_000 - 25_024 - 64)
        );
    }

    #[test]
    fn the_slaves_of_a_cluster_share_its_memories() {
        let platform = Platform::from_env(Some(b"mt3000")).expect("platform");
        let shared = [0, 1].map(|cluster| Shared::new(&platform, cluster));
        let [a, b] = [0, 1].map(|slave| Store::new(&platform, 0, slave, &shared[0]));
        let other = Store::new(&platform, 1, 0, &shared[1]);
        for (kind, bytes) in [(Kind::Global, 6 << 20), (Kind::HighBandwidth, 48 << 20)] {
            let half = a.allocate(kind, bytes / 2).expect("fits");
            let rest = b.allocate(kind, bytes / 2).expect("fits");
            assert_eq!(half.abs_diff(rest), bytes / 2);
            assert_eq!(a.allocate(kind, 1), Err(Error::NoLocalMemory));
            assert_eq!((b.left(kind), other.left(kind)), (0, bytes));
            // Every slave of the cluster may transfer to and from it; each gives back what it took.
            assert!(a.contains(rest, bytes / 2) && !other.contains(rest, 64));
            assert!(a.free(half) && b.free(rest) && a.left(kind) == bytes);
        }
        assert_eq!(
            (a.left(Kind::Scalar), a.left(Kind::Array)),
            (65536, 786_432)
        );
    }

    #[test]
    fn strict_stores_have_fixed_addresses() {
        let platform = Platform::from_env(Some(b"mt3000,strict")).expect("platform");
        let store = store(&platform, 3, 23);
        let at = store.allocate(Kind::Array, 100).expect("fits");
        assert_eq!(at, base() + (3 << 32) + (23 << 24) + (1 << 23));
        assert_eq!(owner_of(at + 5), Some((3, Some(23))));
        // GSM and HBSM, by the step of the larger one.
        for (kind, below) in [(Kind::Global, 7 << 26), (Kind::HighBandwidth, 8 << 26)] {
            let at = store.allocate(kind, 100).expect("fits");
            assert_eq!(at, base() - below);
            assert_eq!(owner_of(at + (48 << 20)), Some((3, None)));
        }
        assert_eq!(owner_of(base() - (32 << 26) - 1), None);
    }

    /// Each memory has its own addresses, with an unmapped page behind, whatever its size; and all of them fit below
    /// the end of the address space of a process.
    #[test]
    fn strict_stores_neither_meet_nor_touch() {
        for (scalar, array) in [
            (1 << 16, 0),
            (1 << 23, 1 << 23),
            (1 << 24, 1 << 24),
            (1 << 30, 1 << 30),
            (1 << 10, 1 << 30),
        ] {
            let platform = Platform {
                strict: true,
                // As large as the larger one, so that the shared ones are tried at every size, too.
                bytes: [scalar, array, scalar.max(array), scalar],
                ..Platform::from_env(None).expect("platform")
            };
            let (mut last_end, mut last_begin) = (0, base());
            for (cluster, slave) in [(0, 0), (0, 1), (0, 255), (1, 0), (15, 254), (15, 255)] {
                let store = store(&platform, cluster, slave);
                for kind in [Kind::Scalar, Kind::Array] {
                    let area = store.area(kind);
                    if kind == Kind::Array && !platform.has(kind) {
                        continue;
                    }
                    assert!(
                        area.wanted >= base().max(last_end + page::size()),
                        "{platform:?}"
                    );
                    last_end = area.wanted + area.size;
                    assert!(last_end < page::addresses() / 8 * 7);
                }
                for kind in [Kind::Global, Kind::HighBandwidth] {
                    let (begin, size) = {
                        let area = store.area(kind);
                        (area.wanted, area.size)
                    };
                    // Each slave of a cluster sees the same.
                    assert!(
                        slave != 0 || begin + size + page::size() <= last_begin,
                        "{platform:?}"
                    );
                    assert!(begin >= page::addresses() / 16, "{platform:?}");
                    last_begin = begin;
                }
            }
        }
    }

    #[test]
    fn guarded_rows_belong_to_the_store_while_they_are_there() {
        let platform = Platform::from_env(Some(b"sw26010")).expect("platform");
        let store = store(&platform, 0, 0);
        store.add_row(0x10000, 8192);
        assert!(store.contains(0x10000, 8192) && !store.contains(0x10001, 8192));
        store.remove_row(0x10000);
        assert!(!store.contains(0x10000, 1));
    }
}
