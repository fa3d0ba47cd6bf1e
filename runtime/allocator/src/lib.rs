//! `hetmp-allocator`: what `libhetmp.so` allocates does not come from the program's malloc.
//!
//! * **What it is**: a `GlobalAlloc` over pages of its own, for a library that is loaded into every program.
//! * **What it owns**: the pages, and the lists of free blocks.
//! * **Data in**: sizes and alignments. **Data out**: blocks.
//!
//! **Why.** The library is loaded into every program. Where the program's malloc lies in memory that several processes
//! share (`HETMP_NODES=dsm`), the runtime's records must not lie there: whoever brings a page back would need that page.
//! A program that brings a malloc of its own, or corrupts its heap, does not meet the runtime's blocks either. Memory
//! that belongs to the program (`omp_alloc`, `kmp_malloc`, `acc_malloc`) comes from its malloc as before.
//!
//! **Why not a crate.** Allocators behind one lock (dlmalloc) hang in the child of a `fork` that another thread made them
//! hold, which `_Fork` and a raw `clone` let no handler mend, and in a signal handler that interrupted them. Those with
//! caches for each thread are large, or want thread-local storage, which is scarce in a library that is opened late.
//!
//! **How.** `GlobalAlloc` is told a block's size when it is freed, so that blocks need no header and belong to nobody:
//! 1. Sizes are rounded up to [classes](class), four to each power of two.
//! 2. A *shard* has a list of free blocks for each small class. A thread begins at the shard that its number hashes to.
//! 3. A *depot* for each class takes what shards have too much of, in batches, and keeps blocks above [`SHARDED`].
//! 4. What nobody has comes from the unused rest of the last *chunk*, and beyond that from the kernel.
//! 5. Larger blocks than the largest class are mappings of their own, and go back to the kernel at once.
//!
//! **Nothing here waits.** Locks are only ever tried: a shard or depot whose lock is taken is passed by. The holder may be a
//! thread that does not exist in this process (a forked child), or the interrupted thread itself (a signal handler), and
//! would never let go. Where all are taken, a block comes from the chunk, by one atomic step.
//!
//! **Memory checkers** know the blocks of malloc only. Where one watches the process ([`checkers`]), blocks come from there.
//!
//! **Memory kept.** A shard holds at most two batches of a class (16 KiB, or two blocks). Small blocks beyond stay in the
//! depots for all threads, so that their memory is bounded by the most that was in use at a time. Depots of the larger
//! classes keep the pages of [`KEPT`] blocks, and give back those of others.

mod checkers;
mod class;
mod pages;

use class::{Class, CLASSES, LARGEST};
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::{null_mut, NonNull};
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::alloc::System;

/// Lists of free blocks, so that threads seldom meet: more than there are cores on most machines.
const SHARDS: usize = 32;
/// Bytes of the largest blocks that shards keep.
const SHARDED: usize = 32 << 10;
/// Bytes of a batch: what moves between a shard and a depot.
const BATCH_BYTES: usize = 8 << 10;
/// Blocks of a batch, at most.
const BATCH_BLOCKS: usize = 32;
/// Blocks above [`SHARDED`] whose pages a depot keeps.
const KEPT: usize = 4;
/// Address space that is taken from the kernel at a time, aligned to its size.
const CHUNK: usize = 1 << 20;
/// Rounds over all shards before a block that nobody takes back is given up.
const ROUNDS: u32 = 64;

/// A free block: its first words lead to others.
#[repr(C)]
struct Free {
    /// The next one of the list or batch.
    next: *mut Free,
    /// Of the first block of a batch in a depot: the first block of the next batch.
    next_batch: *mut Free,
}

/// Free blocks of one class.
#[derive(Clone, Copy)]
struct List {
    head: *mut Free,
    len: usize,
}

impl List {
    const EMPTY: List = List {
        head: null_mut(),
        len: 0,
    };

    /// # Safety
    /// The block is nobody's, and large enough for [`Free`], which every class is.
    unsafe fn push(&mut self, block: *mut Free) {
        // SAFETY: the pusher owns the block: `put` got it back, `refill` cut it from new pages, and between a shard and
        // the depot blocks move under the lock. Every class has room for a `Free`.
        unsafe { (*block).next = self.head };
        self.head = block;
        self.len += 1;
    }

    fn pop(&mut self) -> Option<NonNull<Free>> {
        let block = NonNull::new(self.head)?;
        // SAFETY: blocks of a list are nobody's, and `push` has written their word.
        self.head = unsafe { (*block.as_ptr()).next };
        self.len -= 1;
        Some(block)
    }
}

/// A value under a lock that is tried and never waited for.
///
/// # Memory ordering
/// Taking the lock is an acquire, letting it go a release: who takes it sees what the last holder left.
struct Tried<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is touched by the thread that holds the lock only; `List` holds pointers to blocks that are nobody's.
unsafe impl<T> Sync for Tried<T> {}

impl<T> Tried<T> {
    const fn new(value: T) -> Tried<T> {
        Tried {
            held: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Runs `body` on the value; `None` where another one holds the lock.
    #[inline]
    fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> Option<R> {
        // The look first: a line that others hold exclusively is only fetched to be changed if that may succeed.
        if self.held.load(Ordering::Relaxed) || self.held.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: the lock is held, and `body` runs no code that comes back here (a signal handler that interrupts it
        // finds the lock taken).
        let result = body(unsafe { &mut *self.value.get() });
        self.held.store(false, Ordering::Release);
        Some(result)
    }
}

#[repr(align(128))]
struct Shard(Tried<[List; class::up_to(SHARDED)]>);

/// Batches of free blocks of one class; of a class above [`SHARDED`], single blocks.
struct Depot {
    first: *mut Free,
    batches: usize,
}

/// Where blocks come from; asked for by the first allocation, and the same from then on.
const UNASKED: u8 = 0;
const OWN: u8 = 1;
const MALLOC: u8 = 2;

/// An allocator. There is one for each copy of the library, as its `#[global_allocator]`.
pub struct Allocator {
    shards: [Shard; SHARDS],
    depots: [Tried<Depot>; CLASSES],
    /// The unused rest of the last chunk: from here to the next multiple of [`CHUNK`]. A multiple of it: none is left.
    rest: AtomicUsize,
    /// Bytes taken from the kernel for chunks.
    chunks: AtomicUsize,
    source: Apart,
}

/// [`OWN`] or [`MALLOC`], on a cache line that nobody writes.
#[repr(align(128))]
struct Apart(AtomicU8);

impl Default for Allocator {
    fn default() -> Self {
        Allocator::new()
    }
}

impl core::fmt::Debug for Allocator {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Allocator")
            .field("chunks", &self.chunk_bytes())
            .finish_non_exhaustive()
    }
}

/// Blocks of a batch of `class`.
const fn batch(class: Class) -> usize {
    let n = BATCH_BYTES / class.bytes();
    if n < 1 {
        1
    } else if n > BATCH_BLOCKS {
        BATCH_BLOCKS
    } else {
        n
    }
}

fn yield_now() {
    // SAFETY: no preconditions.
    unsafe { libc::sched_yield() };
}

/// The shard where the calling thread begins.
#[inline]
fn own_shard() -> usize {
    // SAFETY: no preconditions.
    let thread = unsafe { libc::pthread_self() } as usize as u64;
    // Control blocks lie at the ends of stacks, whose low bits are alike (Knuth, volume 3, 6.4).
    (thread.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 59) as usize % SHARDS
}

impl Allocator {
    /// An allocator that has nothing yet.
    pub const fn new() -> Allocator {
        Allocator {
            shards: [const { Shard(Tried::new([List::EMPTY; class::up_to(SHARDED)])) }; SHARDS],
            depots: [const {
                Tried::new(Depot {
                    first: null_mut(),
                    batches: 0,
                })
            }; CLASSES],
            rest: AtomicUsize::new(0),
            chunks: AtomicUsize::new(0),
            source: Apart(AtomicU8::new(UNASKED)),
        }
    }

    /// Do blocks come from here, not from malloc?
    #[inline]
    fn is_own(&self) -> bool {
        // Relaxed: whoever asks first, the answer is the same.
        self.source.0.load(Ordering::Relaxed) == OWN || self.ask()
    }

    #[cold]
    #[inline(never)]
    fn ask(&self) -> bool {
        if self.source.0.load(Ordering::Relaxed) == UNASKED {
            let source = if checkers::watch() { MALLOC } else { OWN };
            self.source.0.store(source, Ordering::Relaxed);
        }
        self.source.0.load(Ordering::Relaxed) == OWN
    }

    /// Bytes of address space taken from the kernel for blocks of all classes, so far.
    pub(crate) fn chunk_bytes(&self) -> usize {
        self.chunks.load(Ordering::Relaxed)
    }

    /// A block of `class`; null if there is no memory.
    #[inline]
    fn take(&self, class: Class) -> *mut u8 {
        if class.bytes() > SHARDED {
            return self.take_large(class);
        }
        let own = own_shard();
        for i in 0..SHARDS {
            let shard = &self.shards[(own + i) % SHARDS];
            let taken = shard.0.with(|lists| {
                let list = &mut lists[class.index()];
                if list.head.is_null() {
                    self.refill(list, class);
                }
                list.pop()
            });
            if let Some(block) = taken {
                return block.map_or(null_mut(), |b| b.as_ptr().cast());
            }
        }
        self.cut(class.bytes(), 1)
    }

    /// Fills an empty list with a batch: of the depot, or new. It stays empty if there is no memory.
    #[cold]
    fn refill(&self, list: &mut List, class: Class) {
        if let Some(Some(first)) = self.depots[class.index()].with(Depot::pop) {
            *list = List {
                head: first.as_ptr(),
                len: batch(class),
            };
            return;
        }
        let blocks = batch(class);
        let at = self.cut(class.bytes(), blocks);
        if at.is_null() {
            return;
        }
        for i in (0..blocks).rev() {
            // SAFETY: `cut` gave as many blocks, which are nobody's.
            unsafe { list.push(at.add(i * class.bytes()).cast()) };
        }
    }

    fn take_large(&self, class: Class) -> *mut u8 {
        match self.depots[class.index()].with(Depot::pop) {
            Some(Some(block)) => block.as_ptr().cast(),
            _ => self.cut(class.bytes(), 1),
        }
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// It came from [`Allocator::take`] of this allocator for this class, and is nobody's now.
    #[inline]
    unsafe fn put(&self, at: *mut u8, class: Class) {
        let block: *mut Free = at.cast();
        if class.bytes() > SHARDED {
            // SAFETY: `dealloc` and `realloc` pass a block of this allocator and class, which its owner has given up.
            unsafe { self.put_large(block, class) };
            return;
        }
        let own = own_shard();
        for round in 0..ROUNDS {
            for i in 0..SHARDS {
                let shard = &self.shards[(own + i) % SHARDS];
                let done = shard.0.with(|lists| {
                    let list = &mut lists[class.index()];
                    // SAFETY: `dealloc` and `realloc` pass a block of this class, which its owner has given up.
                    unsafe { list.push(block) };
                    if list.len > 2 * batch(class) {
                        self.hand_over(list, class);
                    }
                });
                if done.is_some() {
                    return;
                }
            }
            if round > 2 {
                yield_now();
            }
        }
        // Every shard is held by threads that do not run: given up, rather than waited for.
    }

    /// Brings a batch of a list to the depot. The list keeps all where the depot's lock is taken.
    #[cold]
    fn hand_over(&self, list: &mut List, class: Class) {
        let n = batch(class);
        let first = list.head;
        let mut last = first;
        for _ in 1..n {
            // SAFETY: the list has more than `n` blocks, which are nobody's.
            last = unsafe { (*last).next };
        }
        // SAFETY: the list has more than `n` blocks.
        let left = unsafe { (*last).next };
        let handed = self.depots[class.index()].with(|depot| {
            // SAFETY: both blocks are nobody's: the batch leaves the list.
            unsafe {
                (*last).next = null_mut();
                depot.push(first);
            }
        });
        if handed.is_some() {
            list.head = left;
            list.len -= n;
        }
    }

    /// # Safety
    /// As [`Allocator::put`].
    unsafe fn put_large(&self, block: *mut Free, class: Class) {
        for round in 0..ROUNDS {
            let done = self.depots[class.index()].with(|depot| {
                // SAFETY: this function's contract: the block is nobody's.
                unsafe {
                    if depot.batches >= KEPT {
                        pages::forget(block.cast(), class.bytes());
                    }
                    depot.push(block);
                }
            });
            if done.is_some() {
                return;
            }
            if round > 2 {
                yield_now();
            }
        }
        // The lock's holder does not run: the block is given up, and only its pages go back.
        // SAFETY: this function's contract: the block is nobody's.
        unsafe { pages::forget(block.cast(), class.bytes()) };
    }

    /// Cuts `blocks` blocks of `bytes` bytes off the rest of the chunk, or off a new one. They are aligned to the largest
    /// power of two that divides `bytes`. Null if there is no memory.
    #[cold]
    fn cut(&self, bytes: usize, blocks: usize) -> *mut u8 {
        let align = 1usize << bytes.trailing_zeros();
        let len = bytes * blocks;
        debug_assert!(len <= CHUNK);
        let mut rest = self.rest.load(Ordering::Relaxed);
        loop {
            let start = rest.next_multiple_of(align);
            let end = rest.next_multiple_of(CHUNK);
            if rest % CHUNK != 0 && end - start >= len {
                // Relaxed: the kernel made the memory, nobody has written there.
                match self.rest.compare_exchange_weak(
                    rest,
                    start + len,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => return core::ptr::with_exposed_provenance_mut(start),
                    Err(now) => rest = now,
                }
                continue;
            }
            let chunk = pages::map(CHUNK, CHUNK);
            if chunk.is_null() {
                return null_mut();
            }
            let first = chunk.expose_provenance();
            match self.rest.compare_exchange(
                rest,
                first + len,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    self.chunks.fetch_add(CHUNK, Ordering::Relaxed);
                    return chunk;
                }
                Err(now) => {
                    // Another thread was faster.
                    // SAFETY: just mapped, and nobody knows it.
                    unsafe { pages::unmap(chunk, CHUNK) };
                    rest = now;
                }
            }
        }
    }
}

impl Depot {
    /// # Safety
    /// `first` is the first block of a batch of the depot's class; all of them are nobody's.
    unsafe fn push(&mut self, first: *mut Free) {
        // SAFETY: this function's contract; every class has room for two words.
        unsafe { (*first).next_batch = self.first };
        self.first = first;
        self.batches += 1;
    }

    fn pop(&mut self) -> Option<NonNull<Free>> {
        let first = NonNull::new(self.first)?;
        // SAFETY: batches in a depot are nobody's, and `push` has written the word.
        self.first = unsafe { (*first.as_ptr()).next_batch };
        self.batches -= 1;
        Some(first)
    }
}

// SAFETY: a block comes from a list, a batch or the rest of a chunk, each of which gives it to one caller only; its class
// is as large as asked for and so aligned (`Class::of`); mappings of the kernel are nobody else's.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !self.is_own() {
            // SAFETY: `GlobalAlloc`'s contract: a layout of at least one byte.
            return unsafe { System.alloc(layout) };
        }
        match Class::of(layout) {
            Some(class) => self.take(class),
            None => pages::map(layout.size(), layout.align()),
        }
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if !self.is_own() {
            // SAFETY: `GlobalAlloc`'s contract: a block of `alloc`, which got it from there.
            unsafe { System.dealloc(at, layout) };
            return;
        }
        match Class::of(layout) {
            // SAFETY: `GlobalAlloc`'s contract, which the compiler's and the library's code keeps: a block of `alloc` with
            // this layout, which nobody uses any more.
            Some(class) => unsafe { self.put(at, class) },
            // SAFETY: `GlobalAlloc`'s contract: `alloc` made this mapping for this layout, and nobody uses it any more.
            None => unsafe { pages::unmap(at, layout.size()) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: `GlobalAlloc` asks for a layout that is not empty, here as in `alloc`; whoever calls `alloc_zeroed`
        // upholds that.
        let at = unsafe { self.alloc(layout) };
        // The kernel's pages are zero.
        let is_new = self.is_own() && Class::of(layout).is_none();
        if !at.is_null() && !is_new {
            // SAFETY: a new block of that many bytes.
            unsafe { at.write_bytes(0, layout.size()) };
        }
        at
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.is_own() {
            // SAFETY: `GlobalAlloc`'s contract: a block of `alloc`, which got it from there.
            return unsafe { System.realloc(at, layout, size) };
        }
        // SAFETY: `GlobalAlloc`'s contract: with this alignment, `size` makes a layout.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (Class::of(layout), Class::of(new)) {
            (Some(old), Some(class)) if old == class => return at,
            (None, None) if layout.align() <= pages::PAGE => {
                // SAFETY: `GlobalAlloc`'s contract: a mapping that `alloc` made for `layout`.
                return unsafe { pages::remap(at, layout.size(), size) };
            }
            _ => {}
        }
        // SAFETY: `GlobalAlloc`'s contract: `at` is a block of `layout`. The copy ends where the smaller block does.
        unsafe {
            let to = self.alloc(new);
            if !to.is_null() {
                to.copy_from_nonoverlapping(at, layout.size().min(size));
                self.dealloc(at, layout);
            }
            to
        }
    }
}

const _: () = assert!(LARGEST <= CHUNK && BATCH_BYTES <= CHUNK);

#[cfg(test)]
mod tests;
