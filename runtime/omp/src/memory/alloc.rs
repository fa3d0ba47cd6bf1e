//! Allocators (OpenMP 5.1, section 2.13 and 3.13).
//!
//! All memory spaces are the C heap, as in libgomp 12. The observable behaviour is libgomp's: which traits
//! are refused, how many bytes of a pool an allocation takes, and which fallback happens when. A block has a
//! `Header` in front, so that freeing needs no allocator.
//!
//! **Data in**: handles and sizes from the ABI. A handle is a small number (predefined) or the
//! address of an `Allocator` made by [`init()`]. **Data out**: blocks of `malloc`.

use crate::icv::Allocator as Predefined;
use crate::init;
use crate::thread::Thread;
use core::hash::BuildHasherDefault;
use core::ptr;
use hetmp_core::hash::HashMap;
use hetmp_core::report;
use hetmp_core::sync::{AtomicUsize, Ordering};
use hetmp_core::whole::Mutex;
use libc::c_void;

/// `omp_null_allocator`: stands for the default allocator of the data environment.
pub(crate) const NULL: usize = 0;
/// The largest predefined handle. Larger handles are addresses.
const LAST_PREDEFINED: usize = Predefined::ThreadMem as usize;
/// `omp_default_mem_alloc`.
const DEFAULT_MEM: usize = Predefined::DefaultMem as usize;

/// `omp_high_bw_mem_space`: high-bandwidth memory, which the runtime never has.
const HIGH_BW_SPACE: usize = 3;
/// The largest memory space number.
const LAST_SPACE: usize = 4;

/// `omp_atv_default`: the trait's default value.
const DEFAULT: usize = usize::MAX;
/// A pool without limit.
const UNLIMITED: usize = usize::MAX;
/// The least alignment of a block.
const WORD: usize = core::mem::size_of::<usize>();

/// One trait of an allocator: `omp_alloctrait_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Trait {
    /// `omp_alloctrait_key_t`.
    pub(crate) key: u32,
    /// `omp_alloctrait_value_t`, or a number.
    pub(crate) value: usize,
}

/// What happens when an allocation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fallback {
    DefaultMem,
    Null,
    Abort,
    Allocator,
}

/// An allocator that the program made.
#[derive(Debug)]
struct Allocator {
    alignment: usize,
    pool_size: usize,
    /// Bytes of the pool in use, including headers and alignment.
    used: AtomicUsize,
    fallback: Fallback,
    fallback_allocator: usize,
}

/// The header in front of every block.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Header {
    /// The address that `malloc` returned.
    start: *mut c_void,
    /// The number of bytes that `malloc` was asked for.
    size: usize,
    /// The allocator that gave the block.
    allocator: usize,
    /// Keeps blocks aligned to 16 bytes, as `malloc` aligns them.
    pad: usize,
}

/// Bytes of a header. Programs that tune pool sizes for libgomp rely on 32.
const HEADER: usize = core::mem::size_of::<Header>();
const _: () = assert!(HEADER == 32);

impl Allocator {
    /// The allocator behind `handle`; `None` for predefined ones.
    fn of<'a>(handle: usize) -> Option<&'a Allocator> {
        if handle <= LAST_PREDEFINED {
            return None;
        }
        // SAFETY: the program passes a handle that `init` returned and `destroy` has not taken yet.
        Some(unsafe { &*ptr::with_exposed_provenance::<Allocator>(handle) })
    }

    fn is_limited(&self) -> bool {
        self.pool_size != UNLIMITED
    }

    /// Counts a block that changes from `old` to `new` bytes. False if the pool is too small.
    fn reserve(&self, old: usize, new: usize) -> bool {
        if !self.is_limited() {
            return true;
        }
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                if new <= old {
                    return Some(used.wrapping_sub(old - new));
                }
                used.checked_add(new - old).filter(|&n| n <= self.pool_size)
            })
            .is_ok()
    }

    /// Takes `size` bytes from the count.
    fn release(&self, size: usize) {
        if self.is_limited() {
            self.used.fetch_sub(size, Ordering::Relaxed);
        }
    }
}

/// Makes an allocator (`omp_init_allocator`). `NULL` if a trait or the space is refused.
pub fn init(space: usize, traits: &[Trait]) -> usize {
    if space > LAST_SPACE {
        return NULL;
    }
    let mut made = Allocator {
        alignment: WORD,
        pool_size: UNLIMITED,
        used: AtomicUsize::new(0),
        fallback: Fallback::DefaultMem,
        fallback_allocator: NULL,
    };
    let mut pinned = false;
    for t in traits {
        let good = match (t.key, t.value) {
            // sync_hint: contended, uncontended, serialized, private. All are treated alike.
            (1, DEFAULT | 3..=6) => true,
            // alignment
            (2, DEFAULT) => {
                made.alignment = WORD;
                true
            }
            (2, n) => {
                made.alignment = n.max(WORD);
                n.is_power_of_two()
            }
            // access: all, thread, pteam, cgroup. All threads may use the heap.
            (3, DEFAULT | 7..=10) => true,
            // pool_size; the default, the largest number, means no limit.
            (4, n) => {
                made.pool_size = n;
                true
            }
            // fallback
            (5, DEFAULT | 11) => {
                made.fallback = Fallback::DefaultMem;
                true
            }
            (5, 12) => {
                made.fallback = Fallback::Null;
                true
            }
            (5, 13) => {
                made.fallback = Fallback::Abort;
                true
            }
            (5, 14) => {
                made.fallback = Fallback::Allocator;
                true
            }
            // fb_data
            (6, handle) => {
                made.fallback_allocator = handle;
                true
            }
            // pinned: false, true
            (7, DEFAULT | 0) => {
                pinned = false;
                true
            }
            (7, 1) => {
                pinned = true;
                true
            }
            // partition: environment, nearest, blocked, interleaved. Pages go to the node of their first
            // touch.
            (8, DEFAULT | 15..=18) => true,
            _ => false,
        };
        if !good {
            return NULL;
        }
    }
    if pinned || space == HIGH_BW_SPACE {
        return NULL;
    }
    Box::into_raw(Box::new(made)).expose_provenance()
}

/// Ends an allocator (`omp_destroy_allocator`).
///
/// # Safety
/// `handle` is `NULL` or came from [`init()`], is destroyed only once, and none of its blocks is used or
/// freed afterwards.
pub unsafe fn destroy(handle: usize) {
    if handle > LAST_PREDEFINED {
        // SAFETY: `init` made the handle by `Box::into_raw`; the program destroys an allocator once, when
        // nobody uses it.
        drop(unsafe { Box::from_raw(ptr::with_exposed_provenance_mut::<Allocator>(handle)) });
    }
}

/// `omp_set_default_allocator`.
pub fn set_default(handle: usize) {
    let handle = if handle == NULL { DEFAULT_MEM } else { handle };
    Thread::current()
        .task()
        .change_icv(|icv| icv.allocator = handle);
}

/// `omp_get_default_allocator`.
#[must_use]
pub fn get_default() -> usize {
    match Thread::current().task().icv().allocator {
        NULL => init::globals().default_allocator as usize,
        handle => handle,
    }
}

/// What to do after a failed allocation.
enum Next {
    Again(usize),
    GiveUp,
}

/// The fallback of `allocator` for an allocation of `bytes` bytes. The program asked for the alignment
/// `asked`, and the allocator made it `align`.
fn fall_back(allocator: Option<&Allocator>, align: usize, asked: usize, bytes: usize) -> Next {
    let Some(a) = allocator else {
        return Next::GiveUp;
    };
    match a.fallback {
        // The default memory is the same heap. It can only help if the pool was too small, or the allocator's
        // own alignment too large.
        Fallback::DefaultMem if a.is_limited() || (align > WORD && align > asked) => {
            Next::Again(DEFAULT_MEM)
        }
        Fallback::DefaultMem | Fallback::Null => Next::GiveUp,
        Fallback::Abort => out_of_memory(bytes),
        Fallback::Allocator => Next::Again(a.fallback_allocator),
    }
}

#[cold]
fn out_of_memory(bytes: usize) -> ! {
    report::fatal(format_args!(
        "out of memory allocating {bytes} bytes: an allocation that fits, or a fallback trait \
         other than abort_fb"
    ))
}

/// The alignment of a block of `allocator`, and the bytes that header and alignment take.
fn overhead(allocator: Option<&Allocator>, asked: usize) -> (usize, usize) {
    let align = asked.max(allocator.map_or(WORD, |a| a.alignment));
    (align, HEADER + (align - WORD))
}

/// Writes the header in front of a block within the `total` bytes at `start`.
///
/// # Safety
/// `start` is a block of the C heap, with at least the bytes that [`overhead`] adds for `align`.
unsafe fn dress(start: *mut c_void, total: usize, align: usize, allocator: usize) -> *mut c_void {
    let first = start.addr() + HEADER;
    let block = if align > WORD {
        start.map_addr(|_| (first + align - WORD) & !(align - 1))
    } else {
        start.map_addr(|_| first)
    };
    let header = Header {
        start,
        size: total,
        allocator,
        pad: 0,
    };
    // SAFETY: there is room for the header before the block, and both are aligned to words.
    unsafe { block.cast::<Header>().sub(1).write(header) };
    block
}

/// The header of `block`.
///
/// # Safety
/// The block came from this module and is not freed.
unsafe fn header_of(block: *mut c_void) -> Header {
    // SAFETY: `dress` wrote the header.
    unsafe { block.cast::<Header>().sub(1).read() }
}

/// Allocates `count * size` bytes aligned to `align` (`omp_aligned_alloc`, `omp_aligned_calloc`). Null for
/// zero bytes, and where the fallback gives null.
pub fn allocate(
    align: usize,
    count: usize,
    size: usize,
    zeroed: bool,
    allocator: usize,
) -> *mut c_void {
    if size == 0 || count == 0 {
        return ptr::null_mut();
    }
    let mut handle = allocator;
    loop {
        if handle == NULL {
            handle = get_default();
        }
        let data = Allocator::of(handle);
        let (aligned, extra) = overhead(data, align);
        let total = count.checked_mul(size).and_then(|n| n.checked_add(extra));
        if let Some(total) = total {
            if data.is_none_or(|a| a.reserve(0, total)) {
                // SAFETY: malloc and calloc take any size.
                let start = unsafe {
                    if zeroed {
                        libc::calloc(1, total)
                    } else {
                        libc::malloc(total)
                    }
                };
                if !start.is_null() {
                    // SAFETY: `total` includes the bytes of `overhead`.
                    return unsafe { dress(start, total, aligned, handle) };
                }
                if let Some(a) = data {
                    a.release(total);
                }
            }
        }
        match fall_back(data, aligned, align, count.wrapping_mul(size)) {
            Next::Again(other) => handle = other,
            Next::GiveUp => return ptr::null_mut(),
        }
    }
}

/// Allocates for the `allocate` clause (`GOMP_alloc`). Ends the program if there is no memory.
pub fn allocate_or_end(align: usize, size: usize, allocator: usize) -> *mut c_void {
    let block = allocate(align, 1, size, false, allocator);
    if block.is_null() && size != 0 {
        out_of_memory(size);
    }
    block
}

/// Frees a block (`omp_free`).
///
/// # Safety
/// `block` is null or came from this module, and is freed only once.
pub unsafe fn free(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    // SAFETY: the program passes a block of `allocate` that it has not freed.
    let header = unsafe { header_of(block) };
    if let Some(a) = Allocator::of(header.allocator) {
        a.release(header.size);
    }
    // SAFETY: `start` is the address that malloc returned.
    unsafe { libc::free(header.start) };
}

/// Changes a block's size, and possibly its allocator (`omp_realloc`).
///
/// # Safety
/// The same as for [`free`]. If null is returned, the old block still exists (except for size 0).
pub unsafe fn reallocate(block: *mut c_void, size: usize, allocator: usize) -> *mut c_void {
    if block.is_null() {
        return allocate(1, 1, size, false, allocator);
    }
    if size == 0 {
        // SAFETY: the program passes a block of `allocate` that it has not freed.
        unsafe { free(block) };
        return ptr::null_mut();
    }
    // SAFETY: the program passes a block of `allocate` that it has not freed.
    let old = unsafe { header_of(block) };
    let before = block.addr() - old.start.addr();
    let old_data = Allocator::of(old.allocator);
    let mut handle = allocator;
    loop {
        if handle == NULL {
            handle = old.allocator;
        }
        let data = Allocator::of(handle);
        let (align, extra) = overhead(data, WORD);
        // realloc may move a block to an address with another alignment. So it is used only for blocks
        // without padding for alignment, before and after, and only if the pools agree.
        let unpadded = align == WORD && before == HEADER;
        let in_place = unpadded
            && if data.is_some_and(Allocator::is_limited) {
                handle == old.allocator
            } else {
                !old_data.is_some_and(Allocator::is_limited)
            };
        if let Some(total) = size.checked_add(extra) {
            let counted = if in_place { old.size } else { 0 };
            if data.is_none_or(|a| a.reserve(counted, total)) {
                // SAFETY: `start` is the address that malloc returned.
                let start = unsafe {
                    if in_place {
                        libc::realloc(old.start, total)
                    } else {
                        libc::malloc(total)
                    }
                };
                if !start.is_null() {
                    // SAFETY: `total` includes the bytes of `overhead`.
                    let new = unsafe { dress(start, total, align, handle) };
                    if !in_place {
                        let usable = old.size - before;
                        // SAFETY: both blocks have at least this number of bytes, and do not overlap.
                        unsafe {
                            ptr::copy_nonoverlapping(
                                block.cast::<u8>(),
                                new.cast::<u8>(),
                                usable.min(size),
                            );
                            free(block);
                        }
                    }
                    return new;
                }
                if let Some(a) = data {
                    // Undo the count.
                    a.reserve(total, counted);
                }
            }
        }
        match fall_back(data, align, WORD, size) {
            Next::Again(other) => handle = other,
            Next::GiveUp => return ptr::null_mut(),
        }
    }
}

/// Addresses of Fortran variables' memory that came from these routines. Compiled code that frees or moves an
/// allocatable variable asks here, since the variable itself has no mark.
static NOTED: Mutex<HashMap<usize, ()>> =
    Mutex::new(HashMap::with_hasher(BuildHasherDefault::new()));

/// Notes that `block`, unless null, came from an allocator.
pub fn note(block: *mut c_void) {
    if !block.is_null() {
        NOTED.lock().insert(block.addr(), ());
    }
}

/// Was [`note`] called for `block`? Removes the note: the caller is about to free or move the block, and
/// notes the new one.
pub fn take_note(block: *mut c_void) -> bool {
    NOTED.lock().remove(&block.addr()).is_some()
}
