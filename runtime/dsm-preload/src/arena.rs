//! An allocator over one range of addresses.
//!
//! There are three arenas, since a page of the shared heap may be away, and whoever brings it back must not need it:
//! * [`DRIVER`]: what the threads that serve pages allocate. No other thread ever takes its lock, once the nodes run.
//! * [`PRIVATE`]: what the runtime (`libhetmp.so`), the loader and everything before the nodes' start allocate.
//! * [`SHARED`]: the program's heap, of which each node has a part.
//!
//! Blocks come in sizes of four steps to each power of two, from lists of freed ones or from the unused rest of the range. 16
//! bytes before a block say where it begins and its size.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const MAGIC: u64 = 0x6865_746d;
const HEADER: usize = 16;
const CLASSES: usize = 448;

/// Of allocations.
pub(crate) static DRIVER: Arena = Arena::new();
/// See the module's head.
pub(crate) static PRIVATE: Arena = Arena::new();
/// See the module's head.
pub(crate) static SHARED: Arena = Arena::new();

/// Address space of an arena that makes its own range.
const OWN: usize = 64 << 30;

/// An allocator; without a range it makes one of its own at the first use.
pub(crate) struct Arena {
    start: AtomicUsize,
    end: AtomicUsize,
    /// Everything from here on was never given out, and is zero.
    next: AtomicUsize,
    lock: AtomicBool,
    /// First freed block of each size; its first word leads to the next one. Under the lock.
    freed: [AtomicUsize; CLASSES],
}

/// The number of the size that holds `total` bytes, and that size.
fn class(total: usize) -> Option<(usize, usize)> {
    let total = total.max(32);
    let bits = (usize::BITS - (total - 1).leading_zeros()) as usize;
    let shift = bits - 3;
    let size = total.checked_next_multiple_of((1 << shift).max(16))?;
    let number = shift * 9 + (size >> shift);
    (number < CLASSES).then_some((number, size))
}

fn size_of_class(number: usize) -> usize {
    (number % 9) << (number / 9)
}

impl Arena {
    const fn new() -> Arena {
        Arena {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            lock: AtomicBool::new(false),
            freed: [const { AtomicUsize::new(0) }; CLASSES],
        }
    }

    /// Gives it the addresses from `first` to `last`, which are zero; `whole` are those of all nodes' parts.
    pub(crate) fn set_range(&self, whole: core::ops::Range<usize>, part: core::ops::Range<usize>) {
        self.next.store(part.start, Ordering::Relaxed);
        self.start.store(whole.start, Ordering::Relaxed);
        self.end.store(part.end, Ordering::Release);
    }

    fn make_range(&self) {
        // SAFETY: a new mapping.
        let at = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                OWN,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if at != libc::MAP_FAILED {
            let at = at as usize;
            self.set_range(at..at + OWN, at..at + OWN);
        }
    }

    /// Did this address come from here? (For the shared one: from any node's part.)
    pub(crate) fn holds(&self, address: usize) -> bool {
        let start = self.start.load(Ordering::Relaxed);
        start != 0 && address >= start && address - start < OWN
    }

    fn locked<T>(&self, body: impl FnOnce() -> T) -> T {
        while self
            .lock
            .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            hetmp_core::sys::yield_now();
        }
        let result = body();
        self.lock.store(false, Ordering::Release);
        result
    }

    /// `size` bytes at a multiple of `align`, a power of two; zero if asked for. Null if there is no room.
    pub(crate) fn allocate(&self, size: usize, align: usize, zero: bool) -> *mut u8 {
        let slack = if align > HEADER { align } else { 0 };
        let total = size.checked_add(HEADER + slack).and_then(class);
        let Some((number, total)) = total else {
            return core::ptr::null_mut();
        };
        let (base, fresh) = self.locked(|| {
            let first = self.freed[number].load(Ordering::Relaxed);
            if first != 0 {
                let link: *const usize = core::ptr::with_exposed_provenance(first);
                // SAFETY: a freed block of this arena, whose first word is the list's.
                self.freed[number].store(unsafe { link.read() }, Ordering::Relaxed);
                return (first, false);
            }
            if self.start.load(Ordering::Relaxed) == 0 {
                self.make_range();
            }
            let next = self.next.load(Ordering::Relaxed);
            let end = self.end.load(Ordering::Relaxed);
            if next == 0 || end - next < total {
                return (0, false);
            }
            self.next.store(next + total, Ordering::Relaxed);
            (next, true)
        });
        if base == 0 {
            return core::ptr::null_mut();
        }
        let user = (base + HEADER).next_multiple_of(align.max(HEADER));
        let at: *mut u8 = core::ptr::with_exposed_provenance_mut(user);
        // SAFETY: the block is this caller's alone: from `base` for `total` bytes.
        unsafe {
            let header: *mut u64 = at.sub(HEADER).cast();
            header.write(base as u64);
            header.add(1).write(MAGIC << 32 | number as u64);
            if zero && !fresh {
                at.write_bytes(0, size);
            }
        }
        at
    }

    /// Where a block begins, and how many bytes it has from `at` on; none if `at` is no block.
    fn block(at: *mut u8) -> Option<(usize, usize, usize)> {
        if at.addr() % HEADER != 0 {
            return None;
        }
        let header: *const u64 = at.wrapping_sub(HEADER).cast();
        // SAFETY: the caller saw that `at` lies in an arena, every block of which has a header.
        let (base, word) = unsafe { (header.read() as usize, header.add(1).read()) };
        let number = (word & 0xffff) as usize;
        let good = word >> 32 == MAGIC && number < CLASSES && base <= at.addr();
        good.then(|| (base, number, base + size_of_class(number) - at.addr()))
    }

    /// Bytes from `at` to the end of its block; none if `at` is no block.
    pub(crate) fn usable(at: *mut u8) -> Option<usize> {
        Arena::block(at).map(|b| b.2)
    }

    /// Gives a block back. False: it is none.
    ///
    /// # Safety
    /// Nobody uses it any more.
    pub(crate) unsafe fn free(&self, at: *mut u8) -> bool {
        let Some((base, number, _)) = Arena::block(at) else {
            return false;
        };
        let link: *mut usize = core::ptr::with_exposed_provenance_mut(base);
        // SAFETY: the block is nobody's: its header goes, and its first word becomes the list's.
        unsafe {
            at.sub(8).cast::<u64>().write(0);
            self.locked(|| {
                link.write(self.freed[number].load(Ordering::Relaxed));
                self.freed[number].store(base, Ordering::Relaxed);
            });
        }
        true
    }
}

/// The driver's own allocations.
pub(crate) struct Driver;

// SAFETY: `Arena` gives out blocks that overlap no other, as large and as aligned as asked for.
unsafe impl core::alloc::GlobalAlloc for Driver {
    unsafe fn alloc(&self, layout: core::alloc::Layout) -> *mut u8 {
        DRIVER.allocate(layout.size(), layout.align(), false)
    }

    unsafe fn alloc_zeroed(&self, layout: core::alloc::Layout) -> *mut u8 {
        DRIVER.allocate(layout.size(), layout.align(), true)
    }

    unsafe fn dealloc(&self, at: *mut u8, _layout: core::alloc::Layout) {
        // SAFETY: `GlobalAlloc`'s contract, which the code that allocated upholds: `at` came from `alloc`, that is from `DRIVER`,
        // and is used no more.
        unsafe { DRIVER.free(at) };
    }
}
