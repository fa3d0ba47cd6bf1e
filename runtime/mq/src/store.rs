//! Local stores: the memory that a slave has on the chip.
//!
//! Each slave of each cluster has a store of the platform's size. Queues take their slave slots from it, and
//! [`Store::allocate`] serves the program's own requests. What does not fit fails, as on the chip. On a strict
//! platform a store lies at a fixed address, the same in every run, and nothing is mapped around either of its
//! memories: `base + cluster * 512 s + slave * 2 s`, with array memory `s` above scalar memory. `s` is 8 MiB, or more
//! where the platform's memories are larger ([`step`]). Slots of queues are guarded there, and lie elsewhere
//! ([`crate::strict`]); the store keeps the bytes that they take.

use crate::error::Error;
use crate::platform::Platform;
use core::sync::atomic::{AtomicUsize, Ordering};
use hetmp_core::page;
use std::sync::Mutex;

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

/// [`step`] of the process's platform, for the handler of memory faults; 0 before the first strict store.
static STEP: AtomicUsize = AtomicUsize::new(0);

/// Bytes from one memory of a strict store to the next: a power of two, with at least a page behind the largest
/// memory of the platform that stays unmapped.
fn step(platform: &Platform) -> usize {
    let largest = platform.store_bytes(false).max(platform.store_bytes(true));
    (largest + page::size()).next_power_of_two().max(8 << 20)
}

/// The two memories of a slave.
#[derive(Debug)]
pub struct Store {
    areas: [Mutex<Area>; 2],
    one_kind: bool,
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
    /// The store of a slave. Nothing is mapped before the store is used.
    #[must_use]
    pub fn new(platform: &Platform, cluster: u32, slave: u32) -> Store {
        let area = |array: bool| {
            let wanted = if platform.strict {
                let step = step(platform);
                STEP.store(step, Ordering::Relaxed);
                let slaves = cluster as usize * SLAVES + slave as usize;
                base() + (2 * slaves + usize::from(array)) * step
            } else {
                0
            };
            Mutex::new(Area {
                base: 0,
                wanted,
                size: platform.store_bytes(array),
                blocks: Vec::new(),
            })
        };
        Store {
            areas: [area(false), area(true)],
            one_kind: platform.array_bytes == 0,
            rows: Mutex::new(Vec::new()),
        }
    }

    fn area(&self, array: bool) -> std::sync::MutexGuard<'_, Area> {
        // A panic aborts the process, so the lock is never poisoned.
        self.areas[usize::from(array && !self.one_kind)]
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Allocates `bytes` in one of the memories, and returns their address.
    ///
    /// # Errors
    /// [`Error::NoLocalMemory`] if the block does not fit.
    pub fn allocate(&self, array: bool, bytes: usize) -> Result<usize, Error> {
        let mut area = self.area(array);
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
        (0..2).any(|kind| {
            let mut area = self.area(kind == 1);
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
    pub fn left(&self, array: bool) -> usize {
        let area = self.area(array);
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
        (0..2).any(|kind| {
            let area = self.area(kind == 1);
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

/// The cluster and slave in or beside whose strict store an address lies.
#[must_use]
pub(crate) fn owner_of(address: usize) -> Option<(u32, u32)> {
    let slave = address
        .checked_sub(base())?
        .checked_div(2 * STEP.load(Ordering::Relaxed))?;
    (slave < CLUSTERS * SLAVES).then_some(((slave / SLAVES) as u32, (slave % SLAVES) as u32))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_fails_and_what_is_given_back_fits_again() {
        let platform = Platform::from_env(Some(b"sw26010")).expect("platform");
        let store = Store::new(&platform, 0, 0);
        let a = store.allocate(false, 40_000).expect("fits");
        // One kind of memory: array memory is the same.
        assert_eq!(store.allocate(true, 40_000), Err(Error::NoLocalMemory));
        let b = store.allocate(true, 25_000).expect("fits");
        assert!(
            store.contains(b, 25_000)
                && !store.contains(b, 25_100)
                && !store.contains(b + 1, 25_024)
        );
        assert!(store.free(a) && !store.free(a));
        assert_eq!(store.allocate(false, 40_000), Ok(a));
        assert_eq!(store.left(false), 65536 - 40_000 - 25_024);
        assert_eq!(store.allocate(false, usize::MAX), Err(Error::NoLocalMemory));
        assert_eq!(
            store.allocate(false, 0).map(|_| store.left(false)),
            Ok(65536 - 40_000 - 25_024 - 64)
        );
    }

    #[test]
    fn strict_stores_have_fixed_addresses() {
        let platform = Platform::from_env(Some(b"mt3000,strict")).expect("platform");
        let store = Store::new(&platform, 3, 23);
        let at = store.allocate(true, 100).expect("fits");
        assert_eq!(at, base() + (3 << 32) + (23 << 24) + (1 << 23));
        assert_eq!(owner_of(at + 5), Some((3, 23)));
        assert_eq!(owner_of(base() - 1), None);
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
                scalar_bytes: scalar,
                array_bytes: array,
                ..Platform::from_env(None).expect("platform")
            };
            let mut last_end = 0;
            for (cluster, slave) in [(0, 0), (0, 1), (0, 255), (1, 0), (15, 254), (15, 255)] {
                let store = Store::new(&platform, cluster, slave);
                for kind in 0..if array == 0 { 1 } else { 2 } {
                    let area = store.area(kind == 1);
                    assert!(
                        area.wanted >= base().max(last_end + page::size()),
                        "{platform:?}"
                    );
                    last_end = area.wanted + area.size;
                    assert!(last_end < page::addresses() / 8 * 7);
                }
            }
        }
    }

    #[test]
    fn guarded_rows_belong_to_the_store_while_they_are_there() {
        let platform = Platform::from_env(Some(b"sw26010")).expect("platform");
        let store = Store::new(&platform, 0, 0);
        store.add_row(0x10000, 8192);
        assert!(store.contains(0x10000, 8192) && !store.contains(0x10001, 8192));
        store.remove_row(0x10000);
        assert!(!store.contains(0x10000, 1));
    }
}
