//! An allocator over one range of addresses, an *arena*.
//!
//! There are three arenas. A page of the shared heap may be on another node, and the thread that fetches it
//! must not need the shared heap for that:
//!
//! * [`DRIVER`]: the memory of the threads that serve pages. Once the nodes run, no other thread takes this
//!   arena's lock.
//! * [`PRIVATE`]: the memory of the runtime (`libhetmp.so`) and of the loader, and everything that is
//!   allocated before the nodes start.
//! * [`SHARED`]: the program's heap. Each node allocates from its own part.
//!
//! The size of a block is one of four steps between two powers of two. A block comes from the list of freed
//! blocks of its size, or from the unused rest of the range. 16 bytes in front of the user's address hold
//! where the block begins and the number of its size.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crossbeam_utils::Backoff;
use pages::PAGE;

const MAGIC: u64 = 0x6865_746d;
const HEADER: usize = 16;
const CLASSES: usize = 448;

/// The memory of the threads that serve pages.
pub(crate) static DRIVER: Arena = Arena::new();
/// The memory of the runtime, of the loader, and of the time before the nodes start.
pub(crate) static PRIVATE: Arena = Arena::new();
/// The program's heap, this node's part.
pub(crate) static SHARED: Arena = Arena::new();

/// Size in bytes of the address space that an arena makes for itself, where the process's addresses are not limited
/// (`ulimit -v`); also that of a node's part.
const OWN: usize = 64 << 30;

/// An allocator. If it was not given a range, it maps one of its own at the first use.
pub(crate) struct Arena {
    start: AtomicUsize,
    end: AtomicUsize,
    /// The memory from here on was never handed out, and is zero.
    next: AtomicUsize,
    lock: AtomicBool,
    /// The first freed block of each size. A freed block's first word is the address of the next one. Guarded
    /// by the lock.
    freed: [AtomicUsize; CLASSES],
}

/// The smallest size of a block that holds `total` bytes, and the number of this size: (number, size).
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

    /// Lets the arena allocate from the addresses `part`, which are zero. `whole`: the addresses that
    /// [`Arena::holds`] accepts. What the arena had before is not in the arena any more.
    pub(crate) fn set_range(&self, whole: core::ops::Range<usize>, part: core::ops::Range<usize>) {
        for first in &self.freed {
            first.store(0, Ordering::Relaxed);
        }
        self.next.store(part.start, Ordering::Relaxed);
        self.start.store(whole.start, Ordering::Relaxed);
        self.end.store(part.end, Ordering::Release);
    }

    /// The end of the memory that was handed out so far.
    pub(crate) fn used(&self) -> usize {
        self.next.load(Ordering::Relaxed)
    }

    /// Maps the arena's range. Where the process has less addresses than that, half of the largest power of two that it
    /// has.
    fn make_range(&self) {
        // SAFETY: a new mapping at an address that the kernel chooses.
        let map = |len| unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        let (mut at, mut len) = (map(OWN), OWN);
        while at == libc::MAP_FAILED && len > PAGE {
            len /= 2;
            at = map(len);
        }
        if at == libc::MAP_FAILED {
            return;
        }
        if len < OWN && len > PAGE {
            len /= 2;
            // SAFETY: the upper half of the mapping, which nobody uses yet.
            unsafe { libc::munmap(at.byte_add(len), len) };
        }
        let at = at as usize;
        self.set_range(at..at + len, at..at + len);
    }

    /// Is this address in the arena's range? (The shared arena's range is this node's part;
    /// [`crate::place::in_heap`] asks about all parts.)
    pub(crate) fn holds(&self, address: usize) -> bool {
        let start = self.start.load(Ordering::Relaxed);
        (start..self.end.load(Ordering::Relaxed)).contains(&address)
    }

    fn locked<T>(&self, body: impl FnOnce() -> T) -> T {
        let backoff = Backoff::new();
        while self
            .lock
            .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            backoff.snooze();
        }
        let result = body();
        self.lock.store(false, Ordering::Release);
        result
    }

    /// Allocates `size` bytes at a multiple of `align`, a power of two. With `zero` the bytes are zero.
    /// Returns null if there is no room.
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
                // SAFETY: a freed block of this arena; its first word belongs to the list.
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
        // SAFETY: the block has `total` bytes from `base` on, and only this caller has it.
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

    /// The begin of the block at user address `at`, the number of its size, and its bytes from `at` on.
    /// `None` if `at` is not the address of a block.
    fn block(at: *mut u8) -> Option<(usize, usize, usize)> {
        if at.addr() % HEADER != 0 {
            return None;
        }
        let header: *const u64 = at.wrapping_sub(HEADER).cast();
        // SAFETY: the caller has checked that `at` lies in an arena, and every block of an arena has a
        // header.
        let (base, word) = unsafe { (header.read() as usize, header.add(1).read()) };
        let number = (word & 0xffff) as usize;
        let good = word >> 32 == MAGIC && number < CLASSES && base <= at.addr();
        good.then(|| (base, number, base + size_of_class(number) - at.addr()))
    }

    /// The number of bytes from `at` to the end of its block; `None` if `at` is not the address of a block.
    pub(crate) fn usable(at: *mut u8) -> Option<usize> {
        Arena::block(at).map(|b| b.2)
    }

    /// Frees a block. Returns false if `at` is not the address of a block.
    ///
    /// # Safety
    /// No thread uses the block any more.
    pub(crate) unsafe fn free(&self, at: *mut u8) -> bool {
        let Some((base, number, _)) = Arena::block(at) else {
            return false;
        };
        let link: *mut usize = core::ptr::with_exposed_provenance_mut(base);
        // SAFETY: no thread uses the block. Its header is cleared, and its first word now belongs to the
        // list.
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

/// The allocator of this library's own Rust code.
pub(crate) struct Driver;

// SAFETY: `Arena` hands out blocks that do not overlap, with the size and the alignment that the caller asked
// for.
unsafe impl core::alloc::GlobalAlloc for Driver {
    unsafe fn alloc(&self, layout: core::alloc::Layout) -> *mut u8 {
        DRIVER.allocate(layout.size(), layout.align(), false)
    }

    unsafe fn alloc_zeroed(&self, layout: core::alloc::Layout) -> *mut u8 {
        DRIVER.allocate(layout.size(), layout.align(), true)
    }

    unsafe fn dealloc(&self, at: *mut u8, _layout: core::alloc::Layout) {
        // SAFETY: by `GlobalAlloc`'s contract `at` came from `alloc`, that is from `DRIVER`, and is not used
        // any more.
        unsafe { DRIVER.free(at) };
    }
}
