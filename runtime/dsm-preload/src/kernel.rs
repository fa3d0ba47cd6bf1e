//! System calls of the program, where page faults are caught by SIGSEGV.
//!
//! A system call on a page that is on another node would fail: the kernel's own accesses raise no signal. So the kernel
//! is told (`PR_SET_SYSCALL_USER_DISPATCH`, Linux 5.11) not to carry out the system calls of the program's threads but
//! to raise SIGSYS. The handler, [`trapped`], makes the call itself, with private memory in the place of the program's
//! ([`bounce`]). That reaches the calls that the C library makes on its own behalf, within `fread` or `system`, which
//! wrappers of functions would not.
//!
//! * Threads that serve pages are not concerned, nor are system calls of `raw`, the handler's own.
//! * Calls whose pointers are known ([`table`], `vectors`) get copies. What is copied is read and written by the
//!   handler as by any other code, and faults are served as ever.
//! * Other calls get their own pointers, after the handler has touched the pages there. If such a call still fails with
//!   `EFAULT`, because a page has gone meanwhile, it is made again.
//! * The kernel uses a thread's memory unasked, too: for the frames of signals (`signals`: on a private stack), for
//!   restartable sequences (switched off), and when a thread ends (the handler does that part itself).
//! * A process made by `posix_spawn` or `vfork` shares this one's memory until it starts the new program, a *guest*:
//!   its calls are caught, too.
//!
//! The handler touches no thread-local variable, takes no lock and allocates nothing but mappings.

mod bounce;
mod signals;
mod stacks;
mod table;
mod vectors;

use crate::place;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU8, AtomicUsize, Ordering};
use libc::{c_int, c_long};
use pages::backend::sigsegv::{is_guard, number, raw};
use pages::PAGE;
use stacks::Record;

/// Are system calls of the program's threads caught?
static ON: AtomicBool = AtomicBool::new(false);
/// The program's variables: begin and end of each range.
static DATA: [AtomicUsize; 256] = [const { AtomicUsize::new(0) }; 256];
/// Where a thread's restartable sequences are noted, relative to its control block, if the C library uses them.
static SEQUENCES: AtomicUsize = AtomicUsize::new(0);

const DISPATCH: usize = 59;
/// Calls that may not be made again after they have failed half-way are in the table. So this bounds only calls on
/// addresses that can never be used.
const TRIES: usize = 200;
/// Larger buffers are read and written in pieces.
const PIECE: usize = 16 << 20;

fn dispatch(on: bool) -> isize {
    let code = raw::code();
    let a = match on {
        true => [DISPATCH, 1, code.start, code.len(), 0, 0],
        false => [DISPATCH, 0, 0, 0, 0, 0],
    };
    // SAFETY: the range is that of `raw`, and there is no byte that would switch the calls on and off.
    unsafe { raw::call(libc::SYS_prctl, a) }
}

/// May the system calls of this process be caught?
pub(crate) fn probe() -> Result<(), String> {
    if dispatch(true) == 0 && dispatch(false) == 0 {
        return Ok(());
    }
    Err("HETMP_DSM: 'sigsegv': a kernel that hands system calls to the program (Linux 5.11 or later) is \
         needed".to_owned())
}

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
    let action = raw::Action {
        handler: trapped as *const () as usize,
        flags: (libc::SA_SIGINFO | libc::SA_NODEFER) as usize,
        restorer: 0,
        mask: 0,
    };
    // SAFETY: the handler is async-signal-safe (see the head of this file).
    let before = unsafe { raw::action(libc::SIGSYS, Some(&action.on_own_stack())) }
        .map_err(|e| format!("HETMP_DSM: 'sigsegv': a handler of SIGSYS is needed (error {e})"))?;
    signals::SYS.set(Some(&before));
    signals::take_over();
    ON.store(true, Ordering::Release);
    Ok(())
}

/// Are system calls of the program's threads caught?
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
    let holds = |r: &[AtomicUsize]| {
        (r[0].load(Ordering::Relaxed)..r[1].load(Ordering::Relaxed)).contains(&address)
    };
    place::in_heap(address) || DATA.chunks_exact(2).any(holds)
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
        without_sequences(control_block().wrapping_add(offset));
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
    demand(dispatch(true), "a thread whose system calls are caught");
}

/// Switches the thread's restartable sequences off, whose structure is at this address.
fn without_sequences(at: usize) {
    const SIGNATURE: usize = 0x5305_3053;
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

/// The address of the calling thread's control block.
pub(crate) fn control_block() -> usize {
    let at: usize;
    // SAFETY: the C library keeps the block's address in its first word.
    unsafe {
        core::arch::asm!("mov {}, fs:[0]", out(reg) at, options(nostack, readonly, preserves_flags));
    }
    at
}

/// The handler of SIGSYS: carries out the system call that the thread was about to make. A SIGSYS that comes for
/// another reason (somebody sent it, or a filter of system calls refused one) is the program's.
extern "C-unwind" fn trapped(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    const USER_DISPATCH: c_int = 2;
    // SAFETY: the kernel passes its description of the signal.
    let code = unsafe { (*info).si_code };
    if code != USER_DISPATCH {
        signals::SYS.deliver(signal, info, context, code > 0);
        return;
    }
    // SAFETY: the kernel passes the context of the interrupted thread.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let registers = &mut context.uc_mcontext.gregs;
    let r = |n: c_int| registers[n as usize] as usize;
    let number = registers[libc::REG_RAX as usize] as c_long;
    let a = [
        r(libc::REG_RDI),
        r(libc::REG_RSI),
        r(libc::REG_RDX),
        r(libc::REG_R10),
        r(libc::REG_R8),
        r(libc::REG_R9),
    ];
    let kept = [
        r(libc::REG_RBX),
        r(libc::REG_RBP),
        r(libc::REG_R12),
        r(libc::REG_R13),
        r(libc::REG_R14),
        r(libc::REG_R15),
    ];
    let (next, stack) = (r(libc::REG_RIP), r(libc::REG_RSP));
    let makes_thread = matches!(number, libc::SYS_clone | libc::SYS_vfork);
    if makes_thread {
        // SAFETY: the kernel's description of the interrupted thread's floating-point state, or null.
        if let Some(state) = unsafe { context.uc_mcontext.fpregs.as_ref() } {
            take_floating_point_modes(state);
        }
    }
    // SAFETY: the call and its arguments are the program's.
    let result = unsafe { emulate(number, a, kept, next, stack) };
    if makes_thread {
        hetmp_core::float::default_here();
    }
    registers[libc::REG_RAX as usize] = result as i64;
    if number == libc::SYS_rt_sigprocmask {
        // The mask that the thread gets when the handler returns is that of the context.
        let to = &raw mut context.uc_sigmask;
        // SAFETY: the kernel's set is the first word of the C library's.
        unsafe { signals::read_mask(to.cast()) };
    }
}

/// Takes over the modes of the program's thread, such as which exceptions raise a signal. The kernel enters a handler
/// with the default ones, and a thread that the handler makes inherits those of the handler.
fn take_floating_point_modes(state: &libc::_libc_fpstate) {
    /// The flags of exceptions that have occurred: they stay with the thread that made them.
    const FLAGS: u32 = 0x3f;
    let (mxcsr, control) = (state.mxcsr & !FLAGS, state.cwd);
    // SAFETY: loads modes that the processor had before. Until they are taken back, the handler computes with integers
    // only.
    unsafe {
        core::arch::asm!("ldmxcsr dword ptr [{m}]", "fldcw word ptr [{c}]",
            m = in(reg) &raw const mxcsr, c = in(reg) &raw const control,
            options(nostack, preserves_flags, readonly));
    }
}

/// Carries out the program's system call.
///
/// # Safety
/// The arguments are as the call demands. `kept`, `next` and `stack`: the program's registers, where its code goes on,
/// and its stack pointer.
unsafe fn emulate(
    number: c_long,
    a: [usize; 6],
    kept: [usize; 6],
    next: usize,
    stack: usize,
) -> isize {
    let refused = -libc::ENOSYS as isize;
    // SAFETY: the arguments are the program's: this function's contract.
    unsafe {
        match number {
            libc::SYS_rt_sigaction => signals::action(stacks::current(), a),
            libc::SYS_rt_sigprocmask => signals::mask(a),
            libc::SYS_sigaltstack => signals::stack(stacks::current(), a),
            libc::SYS_clone => clone(a, a[0], kept, next),
            libc::SYS_vfork => clone(vfork(stack), a[0], kept, next),
            // The C library then does with `clone`, and without restartable sequences.
            libc::SYS_clone3 | libc::SYS_rseq => refused,
            // A child would go on with a copy of this process's pages.
            libc::SYS_fork => refused,
            libc::SYS_execve => execute(number, a, 0),
            libc::SYS_execveat => execute(number, a, 1),
            libc::SYS_exit => exit(a),
            libc::SYS_readv | libc::SYS_preadv | libc::SYS_preadv2 => {
                vectors::list(number, a, false)
            }
            libc::SYS_writev | libc::SYS_pwritev | libc::SYS_pwritev2 => {
                vectors::list(number, a, true)
            }
            libc::SYS_process_vm_readv => vectors::of_process(number, a, false),
            libc::SYS_process_vm_writev => vectors::of_process(number, a, true),
            libc::SYS_sendmsg | libc::SYS_recvmsg => vectors::message(number, a),
            libc::SYS_sendmmsg | libc::SYS_recvmmsg => vectors::messages(number, a),
            libc::SYS_read | libc::SYS_write | libc::SYS_pread64 | libc::SYS_pwrite64
                if a[2] > PIECE && is_shared(a[1]) =>
            {
                pieces(number, a)
            }
            libc::SYS_futex => futex(a),
            _ => match table::pointers(number) {
                _ if !a.iter().any(|at| is_shared(*at)) && !has_signals(number) => {
                    raw::call(number, a)
                }
                Some(pointers) => bounce::call(number, a, pointers),
                None => again(number, a, &[0, 1, 2, 3, 4, 5]),
            },
        }
    }
}

/// Does the call take a set of signals?
fn has_signals(number: c_long) -> bool {
    matches!(
        number,
        libc::SYS_ppoll
            | libc::SYS_pselect6
            | libc::SYS_epoll_pwait
            | libc::SYS_epoll_pwait2
            | libc::SYS_rt_sigsuspend
    )
}

/// Reads or writes a large buffer in pieces.
///
/// # Safety
/// As for [`emulate`].
unsafe fn pieces(number: c_long, a: [usize; 6]) -> isize {
    let pointers = table::pointers(number).unwrap_or_default();
    let reads = matches!(number, libc::SYS_read | libc::SYS_pread64);
    let mut done = 0;
    while done < a[2] {
        let mut piece = a;
        piece[1] += done;
        piece[2] = (a[2] - done).min(PIECE);
        piece[3] = a[3].wrapping_add(done);
        // SAFETY: a part of the program's buffer, at its place in the file.
        let n = unsafe { bounce::call(number, piece, pointers) };
        let Ok(n) = usize::try_from(n) else {
            return if done == 0 { n } else { done as isize };
        };
        done += n;
        // A pipe, a socket or a terminal gives what is there. Asking once more would wait for more.
        // SAFETY: a call with numbers only.
        let seeks = || unsafe { raw::call(libc::SYS_lseek, [a[0], 0, 1, 0, 0, 0]) >= 0 };
        if n < piece[2] || reads && !seeks() {
            break;
        }
    }
    done as isize
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

/// Makes the call, once more if a page at one of the `pointers` was absent.
///
/// # Safety
/// As for [`emulate`].
unsafe fn again(number: c_long, a: [usize; 6], pointers: &[usize]) -> isize {
    let mut result = -libc::EFAULT as isize;
    // What the kernel uses there may cross to the next page. Codes of `ioctl` say how many bytes: 14 bits of them.
    let len = match number {
        libc::SYS_ioctl => PAGE.max(a[1] >> 16 & 0x3fff),
        _ => PAGE,
    };
    for _ in 0..TRIES {
        touch(&a, pointers, len);
        // SAFETY: this function's contract.
        result = unsafe { raw::call(number, a) };
        if result != -libc::EFAULT as isize {
            break;
        }
    }
    result
}

/// `futex`: a word of the program's, perhaps a second one, and a time.
///
/// # Safety
/// As for [`emulate`].
unsafe fn futex(mut a: [usize; 6]) -> isize {
    let kind = a[1] as c_int & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    let waits = [
        libc::FUTEX_WAIT,
        libc::FUTEX_WAIT_BITSET,
        libc::FUTEX_LOCK_PI,
        libc::FUTEX_WAIT_REQUEUE_PI,
        13, // FUTEX_LOCK_PI2
    ];
    let from: *const [u64; 2] = core::ptr::with_exposed_provenance(a[3]);
    let is_time = waits.contains(&kind) && is_shared(a[3]);
    // SAFETY: the program's time, as the call demands.
    let time = unsafe { is_time.then(|| from.read_unaligned()) };
    if let Some(time) = &time {
        a[3] = core::ptr::from_ref(time).expose_provenance();
    }
    let mut result = -libc::EFAULT as isize;
    for _ in 0..TRIES {
        // Most often the page is there, and a wake-up needs none.
        // SAFETY: this function's contract.
        result = unsafe { raw::call(libc::SYS_futex, a) };
        if result != -libc::EFAULT as isize || !(is_shared(a[0]) || is_shared(a[4])) {
            break;
        }
        touch(&a, &[0, 4], PAGE);
    }
    result
}

/// `vfork`, as arguments of [`clone`]: the child goes on upon the caller's stack, and the caller waits for it. Below
/// the pointer lies nothing that either needs: `vfork` is a function, called by one that keeps nothing there.
fn vfork(stack: usize) -> [usize; 6] {
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    [flags as usize, stack, 0, 0, 0, 0]
}

/// `clone`: a new thread, or a process that shares this one's memory until it starts another program. `rdi`: what the
/// child finds in that register; the C library's `vfork` keeps there where it returns to.
///
/// # Safety
/// As for [`emulate`].
unsafe fn clone(a: [usize; 6], rdi: usize, kept: [usize; 6], next: usize) -> isize {
    let flags = a[0] as c_int;
    let is_thread = flags & libc::CLONE_THREAD != 0;
    let shares = flags & libc::CLONE_VM != 0;
    if !shares || a[1] == 0 || !is_thread && flags & libc::CLONE_VFORK == 0 {
        // A copy of this process, whose memory would not be a node's.
        return -libc::ENOSYS as isize;
    }
    let guest = match is_thread {
        true => None,
        false => match stacks::take(true) {
            Some(record) => Some(record),
            None => return -libc::ENOMEM as isize,
        },
    };
    let (first, argument) = guest.map_or((0, 0), |record| {
        (
            welcome as *const () as usize,
            core::ptr::from_ref(record).expose_provenance(),
        )
    });
    let top: *mut [usize; 4] = core::ptr::with_exposed_provenance_mut(a[1] - 32);
    let how = raw::Clone {
        arguments: [a[0], a[1] - 32, a[2], a[3], a[4]],
        r9: a[5],
        kept,
    };
    // SAFETY: the program gave the child this stack, and nobody uses it yet. A thread that `pthread_create` makes calls
    // `begin`; until then it needs its own stack and control block only, which this thread has just written.
    let result = unsafe {
        top.write_unaligned([first, argument, rdi, next]);
        raw::clone(&how)
    };
    if let Some(record) = guest {
        // The guest has started its program, or has ended: this thread has waited for that (`CLONE_VFORK`).
        let [at, len] = [0, 1].map(|i| record.left[i].load(Ordering::Acquire));
        if len != 0 {
            // SAFETY: `execute` made the mapping in the guest, which is gone.
            unsafe { bounce::unmap(at, len) };
        }
        record.give_back();
    }
    result
}

/// The first function of a guest, on the stack that the program gave it.
extern "C" fn welcome(record: &Record) {
    catch(record);
}

/// `execve` and `execveat`; `path`: which argument the path is.
///
/// # Safety
/// As for [`emulate`].
unsafe fn execute(number: c_long, mut a: [usize; 6], path: usize) -> isize {
    // SAFETY: the lists and texts are as the call demands.
    unsafe {
        let new = match vectors::new_program(a[path], a[path + 1], a[path + 2]) {
            Ok(new) => new,
            Err(error) => return -error as isize,
        };
        let (at, len) = new.mapping;
        let record = stacks::current();
        if record.is_guest() {
            record.left[0].store(at, Ordering::Relaxed);
            record.left[1].store(len, Ordering::Release);
        }
        a[path] = new.path;
        a[path + 1] = new.arguments;
        a[path + 2] = new.environment;
        // Only failure comes back.
        let failed = raw::call(number, a);
        record.left[1].store(0, Ordering::Release);
        bounce::unmap(at, len);
        failed
    }
}

/// `exit`: the end of a thread. The kernel would write a zero to a word of the thread's control block, and wake the
/// thread that waits for it. That page may be on another node: so the handler does both.
///
/// # Safety
/// As for [`emulate`].
unsafe fn exit(a: [usize; 6]) -> isize {
    let record = stacks::current();
    // SAFETY: calls with numbers; the word is one of the thread's control block.
    unsafe {
        if !record.is_guest() {
            let word = word_of_thread();
            record.ends_with_this_thread();
            if let Some(word) = word {
                let at = word.as_ptr().expose_provenance();
                word.store(0, Ordering::SeqCst);
                futex([at, libc::FUTEX_WAKE as usize, 1, 0, 0, 0]);
            }
        }
        raw::call(libc::SYS_exit, a)
    }
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
