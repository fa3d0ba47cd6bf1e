//! `hetmp-allocator`: the allocator of `libhetmp.so` itself, which does not use the program's malloc.
//!
//! * **What it is**: a `GlobalAlloc` over pages of its own, for a library that is loaded into every program.
//! * **What it owns**: the pages, and the lists of free blocks.
//! * **Data in**: sizes and alignments. **Data out**: blocks.
//!
//! **Why.** The library is loaded into every program. With `HETMP_NODES=dsm` the program's malloc lies in memory that
//! several processes share. The runtime's records must not lie there: the code that fetches a page would need that
//! very page. A program that brings a malloc of its own, or corrupts its heap, does not touch the runtime's blocks
//! either. Memory that belongs to the program (`omp_alloc`, `kmp_malloc`, `acc_malloc`) still comes from the
//! program's malloc.
//!
//! **Why not a crate.** An allocator behind one lock (dlmalloc) hangs in two cases: in a signal handler that
//! interrupted it, and in the child of a `fork` that happened while another thread held the lock (`_Fork` and a raw
//! `clone` run no handler that could help). Allocators with a cache for each thread are large, or need thread-local
//! storage, which is scarce in a library that is opened late.
//!
//! **How.** `GlobalAlloc` is told a block's size when the block is freed. So blocks need no header, and belong to no
//! thread:
//! 1. Sizes are rounded up to classes (`class`), four to each power of two.
//! 2. A *shard* has a list of free blocks for each small class. A thread begins at the shard to which its number
//!    hashes.
//! 3. A *depot* for each class takes blocks in batches from shards that have too many, and keeps blocks above
//!    `SHARDED`.
//! 4. If no list has a block, it is cut from the unused rest of the last *chunk*, or of a new chunk from the kernel.
//! 5. A block larger than the largest class is a mapping of its own, and is returned to the kernel when it is freed.
//!
//! **Nothing here waits.** Locks are only tried: if a shard's or depot's lock is taken, the thread goes on to the
//! next. The lock's holder may be a thread that does not exist in this process (a forked child), or the interrupted
//! thread itself (a signal handler), and would never release it. If all locks are taken, a block is cut from the
//! chunk, by one atomic step.
//!
//! **Memory checkers** know the blocks of malloc only. If one watches the process (`checkers`), blocks come from
//! malloc.
//!
//! **Memory kept.** A shard holds at most two batches of a class (16 KiB, or two blocks). Further small blocks stay
//! in the depots for all threads, so their memory is bounded by the largest amount that was in use at a time. Depots
//! of the larger classes keep the pages of `KEPT` blocks, and return those of other blocks to the kernel.

mod checkers;
mod class;
mod pages;

use class::{Class, CLASSES, LARGEST};
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::{null_mut, NonNull};
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use crossbeam_utils::CachePadded;
use std::alloc::System;

/// The number of shards: more than most machines have cores, so that threads seldom use the same one.
const SHARDS: usize = 32;
/// Bytes of the largest blocks that shards keep.
const SHARDED: usize = 32 << 10;
/// Bytes of a batch, which is what moves between a shard and a depot.
const BATCH_BYTES: usize = 8 << 10;
/// The most blocks of a batch.
const BATCH_BLOCKS: usize = 32;
/// Of how many blocks above [`SHARDED`] a depot keeps the pages.
const KEPT: usize = 4;
/// Address space that is taken from the kernel at a time. Chunks are aligned to this size.
const CHUNK: usize = 1 << 20;
/// How often all shards are tried before a freed block that no shard takes is given up.
const ROUNDS: u32 = 64;

/// A free block. Its first words link it to others.
#[repr(C)]
struct Free {
    /// The next block of the list or batch.
    next: *mut Free,
    /// In the first block of a batch in a depot: the first block of the next batch.
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
    /// Nobody uses the block, and it is large enough for [`Free`], as every class is.
    unsafe fn push(&mut self, block: *mut Free) {
        // SAFETY: the pusher owns the block: `put` got it back, `refill` cut it from new pages, and between a shard and
        // the depot blocks move under the lock. Every class has room for a `Free`.
        unsafe { (*block).next = self.head };
        self.head = block;
        self.len += 1;
    }

    fn pop(&mut self) -> Option<NonNull<Free>> {
        let block = NonNull::new(self.head)?;
        // SAFETY: nobody uses blocks of a list, and `push` has written this word.
        self.head = unsafe { (*block.as_ptr()).next };
        self.len -= 1;
        Some(block)
    }
}

/// A value behind a lock that is tried and never waited for.
///
/// # Memory ordering
/// Taking the lock is an acquire, releasing it a release: a holder sees everything that earlier holders wrote.
struct Tried<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: only the thread that holds the lock touches the value. The pointers in a `List` are to blocks that nobody
// uses.
unsafe impl<T> Sync for Tried<T> {}

impl<T> Tried<T> {
    const fn new(value: T) -> Tried<T> {
        Tried {
            held: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Runs `body` on the value; `None` if another thread holds the lock.
    #[inline]
    fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> Option<R> {
        // Looks first: fetching a cache line exclusively is expensive, and is only worth it if the exchange may
        // succeed.
        if self.held.load(Ordering::Relaxed) || self.held.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: this thread holds the lock. `body` runs no code that comes back here, and a signal handler that
        // interrupts it finds the lock taken.
        let result = body(unsafe { &mut *self.value.get() });
        self.held.store(false, Ordering::Release);
        Some(result)
    }
}

type Shard = CachePadded<Tried<[List; class::up_to(SHARDED)]>>;

/// Batches of free blocks of one class. For a class above [`SHARDED`] a batch is a single block.
struct Depot {
    first: *mut Free,
    batches: usize,
}

/// The source of blocks: decided at the first allocation, and never changed afterwards.
const UNASKED: u8 = 0;
const OWN: u8 = 1;
const MALLOC: u8 = 2;

/// An allocator. Each copy of the library has one, as its `#[global_allocator]`.
pub struct Allocator {
    shards: [Shard; SHARDS],
    depots: [Tried<Depot>; CLASSES],
    /// The unused rest of the last chunk, from this address to the next multiple of [`CHUNK`]. If the address is such
    /// a multiple, nothing is left.
    rest: AtomicUsize,
    /// Bytes taken from the kernel for chunks.
    chunks: AtomicUsize,
    /// [`OWN`] or [`MALLOC`], on a cache line that is not written again.
    source: CachePadded<AtomicU8>,
}

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

/// How many blocks a batch of `class` has.
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
    // Threads' control blocks lie at the ends of stacks, so that the low bits of their addresses are alike (Knuth,
    // volume 3, 6.4).
    (thread.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 59) as usize % SHARDS
}

impl Allocator {
    /// An allocator without any memory yet.
    pub const fn new() -> Allocator {
        Allocator {
            shards: [const { CachePadded::new(Tried::new([List::EMPTY; class::up_to(SHARDED)])) };
                SHARDS],
            depots: [const {
                Tried::new(Depot {
                    first: null_mut(),
                    batches: 0,
                })
            }; CLASSES],
            rest: AtomicUsize::new(0),
            chunks: AtomicUsize::new(0),
            source: CachePadded::new(AtomicU8::new(UNASKED)),
        }
    }

    /// True if blocks come from this allocator, and not from malloc.
    #[inline]
    fn is_own(&self) -> bool {
        // Relaxed: every thread that asks gets the same answer.
        self.source.load(Ordering::Relaxed) == OWN || self.ask()
    }

    #[cold]
    #[inline(never)]
    fn ask(&self) -> bool {
        if self.source.load(Ordering::Relaxed) == UNASKED {
            let source = if checkers::watch() { MALLOC } else { OWN };
            self.source.store(source, Ordering::Relaxed);
        }
        self.source.load(Ordering::Relaxed) == OWN
    }

    /// Bytes of address space that were taken from the kernel so far, for blocks of all classes.
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
            let taken = shard.with(|lists| {
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

    /// Fills an empty list with a batch from the depot, or with new blocks. The list stays empty if there is no
    /// memory.
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
            // SAFETY: `cut` has returned this many blocks, which nobody uses.
            unsafe { list.push(at.add(i * class.bytes()).cast()) };
        }
    }

    fn take_large(&self, class: Class) -> *mut u8 {
        match self.depots[class.index()].with(Depot::pop) {
            Some(Some(block)) => block.as_ptr().cast(),
            _ => self.cut(class.bytes(), 1),
        }
    }

    /// Takes a block back from its owner.
    ///
    /// # Safety
    /// The block came from [`Allocator::take`] of this allocator for this class, and nobody uses it any more.
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
                let done = shard.with(|lists| {
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
        // Every shard's lock is held by a thread that does not run. The block is given up, because waiting could take
        // for ever.
    }

    /// Moves a batch from a list to the depot. If the depot's lock is taken, the list keeps all its blocks.
    #[cold]
    fn hand_over(&self, list: &mut List, class: Class) {
        let n = batch(class);
        let first = list.head;
        let mut last = first;
        for _ in 1..n {
            // SAFETY: the list has more than `n` blocks, which nobody uses.
            last = unsafe { (*last).next };
        }
        // SAFETY: the list has more than `n` blocks.
        let left = unsafe { (*last).next };
        let handed = self.depots[class.index()].with(|depot| {
            // SAFETY: nobody uses the two blocks: the batch is leaving the list.
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
    /// As for [`Allocator::put`].
    unsafe fn put_large(&self, block: *mut Free, class: Class) {
        for round in 0..ROUNDS {
            let done = self.depots[class.index()].with(|depot| {
                // SAFETY: who calls `put_large` has given up the block.
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
        // The depot's lock is held by a thread that does not run. The block is given up; its pages are returned to
        // the kernel.
        // SAFETY: who calls `put_large` has given up the block.
        unsafe { pages::forget(block.cast(), class.bytes()) };
    }

    /// Cuts `blocks` blocks of `bytes` bytes off the rest of the chunk, or off a new chunk. They are aligned to the
    /// largest power of two that divides `bytes`. Null if there is no memory.
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
                // Relaxed: the memory is fresh from the kernel, and no thread has written there.
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
                    // Another thread has installed its chunk first.
                    // SAFETY: the chunk was just mapped, and no other thread knows it.
                    unsafe { pages::unmap(chunk, CHUNK) };
                    rest = now;
                }
            }
        }
    }
}

impl Depot {
    /// # Safety
    /// `first` is the first block of a batch of the depot's class, and nobody uses its blocks.
    unsafe fn push(&mut self, first: *mut Free) {
        // SAFETY: who calls `push` has blocks that nobody uses, and every class has room for two words.
        unsafe { (*first).next_batch = self.first };
        self.first = first;
        self.batches += 1;
    }

    fn pop(&mut self) -> Option<NonNull<Free>> {
        let first = NonNull::new(self.first)?;
        // SAFETY: nobody uses batches in a depot, and `push` has written this word.
        self.first = unsafe { (*first.as_ptr()).next_batch };
        self.batches -= 1;
        Some(first)
    }
}

// SAFETY: a block comes from a list, a batch or the rest of a chunk, each of which gives it to one caller only. Its
// class is as large and as aligned as the layout asks (`Class::of`). A new mapping of the kernel belongs to its
// caller alone.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !self.is_own() {
            // SAFETY: who calls `alloc` passes a layout of at least one byte.
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
            // SAFETY: who calls `dealloc` passes a block of `alloc`, which came from malloc too.
            unsafe { System.dealloc(at, layout) };
            return;
        }
        match Class::of(layout) {
            // SAFETY: who calls `dealloc` passes a block that `alloc` returned for this layout, and does not use it
            // any more.
            Some(class) => unsafe { self.put(at, class) },
            // SAFETY: who calls `dealloc` passes a mapping that `alloc` made for this layout, and does not use it any
            // more.
            None => unsafe { pages::unmap(at, layout.size()) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: `GlobalAlloc` asks for a layout that is not empty, here as in `alloc`; whoever calls `alloc_zeroed`
        // upholds that.
        let at = unsafe { self.alloc(layout) };
        // Memory fresh from the kernel is zero.
        let is_new = self.is_own() && Class::of(layout).is_none();
        if !at.is_null() && !is_new {
            // SAFETY: a new block of that many bytes.
            unsafe { at.write_bytes(0, layout.size()) };
        }
        at
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.is_own() {
            // SAFETY: who calls `realloc` passes a block of `alloc`, which came from malloc too.
            return unsafe { System.realloc(at, layout, size) };
        }
        // SAFETY: who calls `realloc` passes a `size` that makes a layout with this alignment.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (Class::of(layout), Class::of(new)) {
            (Some(old), Some(class)) if old == class => return at,
            (None, None) if layout.align() <= pages::size() => {
                // SAFETY: who calls `realloc` passes a mapping that `alloc` made for `layout`.
                return unsafe { pages::remap(at, layout.size(), size) };
            }
            _ => {}
        }
        // SAFETY: who calls `realloc` passes a block of `layout`. The copy ends where the smaller of the two blocks
        // ends.
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
