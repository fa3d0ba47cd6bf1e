//! What the kernel does with memory of the program's threads, where page faults are caught by SIGSEGV.
//!
//! A system call on a page that is on another node would fail: the kernel's own accesses raise no signal. So the
//! program's system calls are caught (`dispatch`, `patched`) and made with private memory (`calls`).
//!
//! The kernel uses a thread's memory unasked, too: for the frames of signals (`signals`: on a private stack), for
//! restartable sequences (switched off), and when a thread ends (`calls` does that part itself).

mod bounce;
mod calls;
#[cfg(target_arch = "x86_64")]
mod dispatch;
mod numbers;
#[cfg(target_arch = "aarch64")]
mod patched;
mod signals;
mod stacks;
mod table;
mod vectors;

#[cfg(target_arch = "x86_64")]
use dispatch as way;
#[cfg(target_arch = "aarch64")]
use patched as way;

use crate::place;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU8, AtomicUsize, Ordering};
use pages::backend::sigsegv::{is_guard, number, raw};
use pages::PAGE;
use stacks::Record;
pub(crate) use way::probe;

/// Are system calls of the program's threads caught?
static ON: AtomicBool = AtomicBool::new(false);
/// The program's variables: begin and end of each range. Signal handlers read it, so it is not in the heap, whose pages
/// may be away. Programs of hundreds of libraries have as many ranges.
static DATA: [AtomicUsize; 8192] = [const { AtomicUsize::new(0) }; 8192];
/// Where a thread's restartable sequences are noted, relative to its control block, if the C library uses them.
static SEQUENCES: AtomicUsize = AtomicUsize::new(0);

/// Calls that may not be made again after they have failed half-way are in the table. So this bounds only calls on
/// addresses that can never be used.
const TRIES: usize = 200;

/// Catches the system calls of all threads that [`begin`] starts from now on. `data`: the program's variables.
///
/// # Errors
/// One line.
pub(crate) fn start(data: &[core::ops::Range<usize>]) -> Result<(), String> {
    if data.len() * 2 > DATA.len() {
        return Err(format!(
            "HETMP_DSM: 'sigsegv': the program has {} parts of data (expected at most {})",
            data.len(),
            DATA.len() / 2
        ));
    }
    for (range, words) in data.iter().zip(DATA.chunks_exact(2)) {
        words[0].store(range.start, Ordering::Relaxed);
        words[1].store(range.end, Ordering::Relaxed);
    }
    // SAFETY: the names are C strings. The symbols are variables of the C library, the second an unsigned number.
    unsafe {
        let offset: *const isize =
            libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast();
        let size: *const u32 = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()).cast();
        if let (Some(offset), Some(size)) = (offset.as_ref(), size.as_ref()) {
            if *size != 0 {
                SEQUENCES.store(*offset as usize, Ordering::Relaxed);
            }
        }
    }
    way::start()?;
    signals::take_over();
    ON.store(true, Ordering::Release);
    Ok(())
}

/// Do the program's threads need [`prepare`] and [`begin`]?
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Acquire)
}

/// The signals of this library, taken out of a set.
fn without_ours(set: u64) -> u64 {
    set & !(1 << (libc::SIGSEGV - 1) | 1 << (libc::SIGSYS - 1))
}

/// Does no program have memory at this address? The handler, which reads what calls lead to, then fails as the kernel
/// would. (Other addresses without memory end the program in the handler.)
fn is_bad(address: usize) -> bool {
    address < PAGE
}

/// Is this address in memory that nodes share?
fn is_shared(address: usize) -> bool {
    let range = |r: &[AtomicUsize]| r[0].load(Ordering::Relaxed)..r[1].load(Ordering::Relaxed);
    let mut data = DATA.chunks_exact(2).map(range).take_while(|r| r.end != 0);
    place::in_heap(address) || data.any(|r| r.contains(&address))
}

/// Makes the pages of `len` bytes at each of some arguments present, if these are addresses of shared memory.
fn touch(a: &[usize; 6], pointers: &[usize], len: usize) {
    for at in pointers.iter().map(|p| a[*p]) {
        let last = at.saturating_add(len - 1);
        for at in core::iter::once(at).chain((at | (PAGE - 1)..last).step_by(PAGE).map(|at| at + 1))
        {
            if is_shared(at) && !is_guard(at) {
                let byte: *mut u8 = core::ptr::with_exposed_provenance_mut(at);
                // SAFETY: shared memory may be written. The bytes stay what they are, whatever other threads do.
                unsafe { AtomicU8::from_ptr(byte) }.fetch_or(0, Ordering::Relaxed);
            }
        }
    }
}

/// What [`begin`] needs to start a thread of the program. `None` if there is no memory.
pub(crate) fn prepare(
    body: extern "C-unwind" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> Option<*mut c_void> {
    let record = stacks::take(false)?;
    record.body.store(body as usize, Ordering::Relaxed);
    record
        .argument
        .store(argument.expose_provenance(), Ordering::Relaxed);
    Some(core::ptr::from_ref(record).cast_mut().cast())
}

/// No thread was started after all.
///
/// # Safety
/// `prepared` came from [`prepare`], and [`begin`] was not called with it.
pub(crate) unsafe fn forget(prepared: *mut c_void) {
    // SAFETY: this function's contract.
    unsafe { &*prepared.cast::<Record>() }.give_back();
}

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    // void *hetmp_begin(prepared): calls the program's function as the last thing it does, by a jump. A thread that is
    // cancelled, or calls `pthread_exit`, is unwound up to the C library's first function. Rust's own frames abort
    // there, whatever their ABI, since the library is built without unwinding.
    ".pushsection .text.hetmp_begin, \"ax\", @progbits",
    ".balign 16",
    ".globl hetmp_begin",
    ".hidden hetmp_begin",
    ".type hetmp_begin, @function",
    "hetmp_begin:",
    ".cfi_startproc",
    "sub rsp, 8",
    ".cfi_def_cfa_offset 16",
    "call {beginning}",
    "add rsp, 8",
    ".cfi_def_cfa_offset 8",
    "mov rdi, rdx",
    "jmp rax",
    ".cfi_endproc",
    ".size hetmp_begin, . - hetmp_begin",
    ".popsection",
    beginning = sym beginning,
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    // As above.
    ".pushsection .text.hetmp_begin, \"ax\", @progbits",
    ".balign 16",
    ".globl hetmp_begin",
    ".hidden hetmp_begin",
    ".type hetmp_begin, @function",
    "hetmp_begin:",
    ".cfi_startproc",
    "stp x29, x30, [sp, #-16]!",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset x29, -16",
    ".cfi_offset x30, -8",
    "bl {beginning}",
    "ldp x29, x30, [sp], #16",
    ".cfi_def_cfa_offset 0",
    ".cfi_restore x29",
    ".cfi_restore x30",
    "mov x16, x0",
    "mov x0, x1",
    "br x16",
    ".cfi_endproc",
    ".size hetmp_begin, . - hetmp_begin",
    ".popsection",
    beginning = sym beginning,
);

// SAFETY: the function above has this type, and is called by the C library alone, with what `prepare` made.
unsafe extern "C-unwind" {
    #[link_name = "hetmp_begin"]
    safe fn first(prepared: *mut c_void) -> *mut c_void;
}

/// The first function of a thread of the program.
pub(crate) fn begin() -> extern "C-unwind" fn(*mut c_void) -> *mut c_void {
    first
}

/// The program's function and its argument, as two registers.
#[repr(C)]
struct Body {
    function: usize,
    argument: usize,
}

/// What a thread of the program does before it calls the program's function.
extern "C" fn beginning(prepared: *mut c_void) -> Body {
    // SAFETY: `prepare` made the record, for this thread.
    let record = unsafe { &*prepared.cast::<Record>() };
    catch(record);
    Body {
        function: record.body.load(Ordering::Relaxed),
        argument: record.argument.load(Ordering::Relaxed),
    }
}

/// Catches the system calls of this thread. Ends the process, with one line, if the kernel refuses: it would use pages
/// of other nodes then.
fn catch(record: &Record) {
    demand(record.set(), "a stack for signals");
    let offset = SEQUENCES.load(Ordering::Relaxed);
    if offset != 0 && !record.is_guest() {
        without_sequences(thread_pointer().wrapping_add(offset));
    }
    let ours: u64 = !without_ours(!0);
    let set = (&raw const ours).expose_provenance();
    // SAFETY: a set of signals on this stack.
    unsafe {
        raw::call(
            libc::SYS_rt_sigprocmask,
            [libc::SIG_UNBLOCK as usize, set, 0, 8, 0, 0],
        )
    };
    demand(way::catch(), "a thread whose system calls are caught");
}

/// Switches the thread's restartable sequences off, whose structure is at this address.
fn without_sequences(at: usize) {
    const SIGNATURE: usize = if cfg!(target_arch = "aarch64") {
        0xd428_bc00
    } else {
        0x5305_3053
    };
    // The structure's second number tells the CPU. It is negative where there are none: the C library starts no
    // sequences in threads that a thread without has started.
    let cpu: *mut u32 = core::ptr::with_exposed_provenance_mut(at + 4);
    // SAFETY: the structure lies in the thread's control block, which may be written. So the kernel may write the page
    // then.
    let is_on = || unsafe { AtomicU32::from_ptr(cpu) }.fetch_or(0, Ordering::Relaxed) as i32 >= 0;
    let mut off = 0;
    for _ in 0..TRIES {
        if !is_on() {
            return;
        }
        // SAFETY: the C library has registered this structure for this thread; without it the library asks the kernel.
        off = unsafe { raw::call(libc::SYS_rseq, [at, 32, 1, SIGNATURE, 0, 0]) };
        // The page may have gone to another node.
        if off != -libc::EFAULT as isize {
            break;
        }
    }
    demand(off, "a thread without restartable sequences");
}

/// Ends the process if the kernel has refused what a thread needs.
fn demand(result: isize, what: &str) {
    if result < 0 {
        let error = -result;
        crate::refuse::fail(format_args!(
            "HETMP_DSM: 'sigsegv': {what} is needed (error {error})"
        ));
    }
}

/// The calling thread's pointer to what it has for itself.
fn thread_pointer() -> usize {
    let at: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the C library keeps the pointer in the first word that it leads to.
    unsafe {
        core::arch::asm!("mov {}, fs:[0]", out(reg) at, options(nostack, readonly, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mrs {}, tpidr_el0", out(reg) at, options(nomem, nostack, preserves_flags));
    }
    at
}

/// The address of the calling thread's control block.
pub(crate) fn control_block() -> usize {
    if cfg!(target_arch = "x86_64") {
        return thread_pointer();
    }
    // On 64-bit Arm the block lies below what the pointer leads to. SAFETY: pthread_self has no preconditions.
    unsafe { libc::pthread_self() as usize }
}

/// The word to which the kernel would write a zero when the calling thread ends: the kernel itself says where, unless
/// it was built without checkpoints of processes. Then the thread's control block is searched.
pub(crate) fn word_of_thread() -> Option<&'static AtomicU32> {
    const GET_TID_ADDRESS: usize = 40;
    let mut at = 0usize;
    let to = (&raw mut at).expose_provenance();
    // SAFETY: a number, and room for an address on this stack.
    unsafe {
        if raw::call(libc::SYS_prctl, [GET_TID_ADDRESS, to, 0, 0, 0, 0]) == 0 && at != 0 {
            return Some(&*core::ptr::with_exposed_provenance(at));
        }
        let me = raw::call(libc::SYS_gettid, [0; 6]) as u32;
        let block: *const [AtomicU32; number::WORDS] =
            core::ptr::with_exposed_provenance(control_block());
        number::of(&*block, me)
    }
}
