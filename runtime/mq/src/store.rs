//! Local stores: the memory that a slave has on the chip.
//!
//! Each slave of each cluster has a store of the platform's size. Queues take their slave slots from it, and
//! [`Store::allocate`] serves the program's own requests. What does not fit fails, as on the chip. On a strict
//! platform a store lies at a fixed address, the same in every run: `BASE + cluster * 4 GiB + slave * 16 MiB`, with
//! array memory 8 MiB above scalar memory, and nothing mapped around it.

use crate::error::Error;
use crate::platform::Platform;
use std::sync::Mutex;

/// The address of the first strict store.
pub(crate) const BASE: usize = 0x5a00_0000_0000;
/// Blocks are aligned to cache lines, which DMA engines prefer.
const ALIGN: usize = 64;

/// The two memories of a slave.
#[derive(Debug)]
pub struct Store {
    areas: [Mutex<Area>; 2],
    one_kind: bool,
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
                BASE + ((cluster as usize) << 32)
                    + ((slave as usize) << 24)
                    + (usize::from(array) << 23)
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

    /// True if this address range lies in blocks of this store.
    pub fn contains(&self, address: usize, bytes: usize) -> bool {
        (0..2).any(|kind| {
            let area = self.area(kind == 1);
            area.base != 0
                && area.blocks.iter().any(|&(offset, len)| {
                    let from = area.base + offset;
                    address >= from && bytes <= len && address - from <= len - bytes
                })
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
    let offset = address.checked_sub(BASE)?;
    (offset < 16 << 32).then_some(((offset >> 32) as u32, ((offset >> 24) & 0xff) as u32))
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
        assert_eq!(at, BASE + (3 << 32) + (23 << 24) + (1 << 23));
        assert_eq!(owner_of(at + 5), Some((3, 23)));
        assert_eq!(owner_of(BASE - 1), None);
    }
}
