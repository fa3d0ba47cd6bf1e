//! Places in memory: the nodes' parts of the shared heap, the stacks in them, and the code of the runtime.
//!
//! Addresses are numbers here: nothing is read through them but the loader's own names.

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

/// Size in bytes of a node's part: first the node's heap, then the stacks of its threads.
pub(crate) const PART: usize = 64 << 30;
const HEAP: usize = 48 << 30;
/// Bytes of addresses for stacks in a node's part.
pub(crate) const STACKS: usize = PART - HEAP;

static START: AtomicUsize = AtomicUsize::new(0);
static NODES: AtomicUsize = AtomicUsize::new(0);
static ME: AtomicUsize = AtomicUsize::new(0);
/// What threads may do with memory of the parts: `PROT_` flags.
static RIGHTS: AtomicI32 = AtomicI32::new(libc::PROT_READ | libc::PROT_WRITE);
/// True from the time when the nodes run.
static STARTED: AtomicBool = AtomicBool::new(false);

/// True while the constructors of the program's own libraries run, before the nodes exist.
static EARLY: AtomicBool = AtomicBool::new(false);

/// Parts of code: begin and end of each.
pub(crate) struct Code([AtomicUsize; 128]);

/// Code whose allocations are private: the runtime's and the loader's.
static RUNTIME: Code = Code::new();
/// While constructors run: libraries of the system that allocate for themselves only.
pub(crate) static SYSTEM: Code = Code::new();
/// The C library, which allocates for its callers and for itself.
pub(crate) static C_LIBRARY: Code = Code::new();
/// The libraries of C++, whose `operator new` allocates for its callers.
pub(crate) static CPP_LIBRARY: Code = Code::new();

impl Code {
    const fn new() -> Code {
        Code([const { AtomicUsize::new(0) }; 128])
    }

    fn contains(&self, address: usize) -> bool {
        self.0.chunks_exact(2).any(|r| {
            (r[0].load(Ordering::Relaxed)..r[1].load(Ordering::Relaxed)).contains(&address)
        })
    }

    /// Adds a part. If there is no room left, nothing is added.
    pub(crate) fn add(&self, code: Range<usize>) {
        let parts = &mut self.0.chunks_exact(2);
        if let Some(r) = parts.find(|r| r[1].load(Ordering::Relaxed) == 0) {
            r[0].store(code.start, Ordering::Relaxed);
            r[1].store(code.end, Ordering::Relaxed);
        }
    }
}

/// Notes where the parts begin and how many there are, before the nodes exist.
pub(crate) fn set(start: usize, nodes: usize) {
    START.store(start, Ordering::Relaxed);
    NODES.store(nodes, Ordering::Relaxed);
}

/// The number of nodes for which addresses are reserved; 0 before [`set`].
pub(crate) fn reserved() -> usize {
    NODES.load(Ordering::Relaxed)
}

/// The addresses of the heap in a node's part.
pub(crate) fn heap(node: usize) -> Range<usize> {
    let start = part(node).start;
    start..start + HEAP
}

/// Until [`end_early`], what the program's own libraries allocate comes from the origin's part of the heap, whose
/// addresses are private memory of this process until then.
pub(crate) fn begin_early() {
    crate::arena::SHARED.set_range(part(0), heap(0));
    EARLY.store(true, Ordering::Release);
}

/// The nodes are about to be made. Returns the part of the heap that was allocated.
pub(crate) fn end_early() -> Range<usize> {
    match EARLY.swap(false, Ordering::AcqRel) {
        true => part(0).start..crate::arena::SHARED.used().next_multiple_of(4096),
        false => 0..0,
    }
}

/// Do constructors of the program's own libraries run now?
fn early() -> bool {
    EARLY.load(Ordering::Acquire)
}

/// Does memory at addresses of the heap belong to the program now?
pub(crate) fn in_use() -> bool {
    started() || early()
}

/// The addresses of a node's part.
pub(crate) fn part(node: usize) -> Range<usize> {
    let start = START.load(Ordering::Relaxed) + node * PART;
    start..start + PART
}

/// The addresses of the stacks in this node's part.
pub(crate) fn stacks() -> Range<usize> {
    let part = part(ME.load(Ordering::Relaxed));
    part.start + HEAP..part.end
}

/// Memory of the parts may be executed, too.
pub(crate) fn set_executable() {
    RIGHTS.fetch_or(libc::PROT_EXEC, Ordering::Relaxed);
}

/// What threads may do with memory of the parts: `PROT_` flags.
pub(crate) fn rights() -> libc::c_int {
    RIGHTS.load(Ordering::Relaxed)
}

/// From now on the program's allocations come from the shared heap. `me`: this node's number. `used`: the part of the
/// origin's heap that was allocated before.
pub(crate) fn begin(me: usize, used: &Range<usize>) {
    ME.store(me, Ordering::Relaxed);
    let part = part(me);
    if me != 0 || used.is_empty() {
        crate::arena::SHARED.set_range(part.clone(), heap(me));
    }
    STARTED.store(true, Ordering::Release);
}

/// Do the nodes run?
pub(crate) fn started() -> bool {
    STARTED.load(Ordering::Acquire)
}

/// Do allocations by code at this address belong to the program? No for a thread whose stack is private,
/// whatever code it runs: such a thread serves pages, and the C library allocates for it, too, for example
/// when it starts.
pub(crate) fn is_shared_for(caller: usize) -> bool {
    if early() {
        return is_early_for(caller);
    }
    let here = 0u8;
    started() && in_heap((&raw const here).addr()) && !RUNTIME.contains(caller)
}

/// Does code at this address allocate for a constructor of the program's own libraries? What the system's libraries
/// keep for themselves, each node has for itself: the buffer of standard output, for example.
#[cold]
fn is_early_for(caller: usize) -> bool {
    let (c, cpp) = (C_LIBRARY.contains(caller), CPP_LIBRARY.contains(caller));
    if !c && !cpp {
        return !RUNTIME.contains(caller) && !SYSTEM.contains(caller);
    }
    // SAFETY: plain data, which the call fills in if it succeeds. The name is null or a C string of a loaded library.
    let name = unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        let known = libc::dladdr(core::ptr::without_provenance(caller), &raw mut info) != 0;
        match info.dli_sname.as_ref() {
            Some(name) if known => core::ffi::CStr::from_ptr(name).to_bytes(),
            _ => b"",
        }
    };
    if c {
        !name.ends_with(b"file_doallocate")
    } else {
        name.starts_with(b"_Zn")
    }
}

/// The program, or a library, has started threads of its own.
static OTHERS: AtomicBool = AtomicBool::new(false);

/// Notes that the program, or a library, starts a thread, which no region of OpenMP has.
pub(crate) fn note_other() {
    OTHERS.store(true, Ordering::SeqCst);
}

/// Were there ever such threads?
pub(crate) fn has_others() -> bool {
    OTHERS.load(Ordering::SeqCst)
}

/// Does this address belong to the code of the runtime or of the loader?
pub(crate) fn is_runtime(caller: usize) -> bool {
    RUNTIME.contains(caller)
}

/// Notes code whose allocations are private.
pub(crate) fn add_runtime(code: Range<usize>) {
    RUNTIME.add(code);
}

/// Is this address in the part of any node?
pub(crate) fn in_heap(address: usize) -> bool {
    let start = START.load(Ordering::Relaxed);
    let len = NODES.load(Ordering::Relaxed) * PART;
    start != 0 && address >= start && address - start < len
}

/// Is this address in this node's part?
pub(crate) fn is_own_heap(address: usize) -> bool {
    part(ME.load(Ordering::Relaxed)).contains(&address)
}
