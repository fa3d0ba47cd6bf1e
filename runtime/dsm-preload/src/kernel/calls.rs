//! System calls of the program, where page faults are caught by SIGSEGV: they are made here, with private memory in the
//! place of the program's ([`bounce`]). That reaches the calls that the C library makes on its own behalf, within
//! `fread` or `system`, which wrappers of functions would not. `dispatch` and `patched` say how calls come here.
//!
//! * Threads that serve pages are not concerned, nor are system calls of `raw`, the handler's own.
//! * Calls whose pointers are known ([`table`], `vectors`) get copies. What is copied is read and written here as by
//!   any other code, and faults are served as ever.
//! * Other calls get their own pointers, after the pages there were touched. If such a call still fails with `EFAULT`,
//!   because a page has gone meanwhile, it is made again.
//! * A process made by `posix_spawn` or `vfork` shares this one's memory until it starts the new program, a *guest*:
//!   its calls are caught, too.
//!
//! This code touches no thread-local variable, takes no lock and allocates nothing but mappings.

use super::{
    bounce, is_shared, numbers, signals, stacks, table, touch, vectors, word_of_thread, TRIES,
};
use core::sync::atomic::Ordering;
use libc::{c_int, c_long};
use pages::backend::sigsegv::raw;
use pages::PAGE;

/// Larger buffers are read and written in pieces.
const PIECE: usize = 16 << 20;

/// Carries out the program's system call.
///
/// # Safety
/// The arguments are as the call demands.
pub(super) unsafe fn emulate(number: c_long, a: [usize; 6]) -> isize {
    let refused = -libc::ENOSYS as isize;
    // SAFETY: the arguments are the program's: this function's contract.
    unsafe {
        match number {
            numbers::SYS_rt_sigaction => signals::action(stacks::current(), a),
            numbers::SYS_rt_sigprocmask => signals::mask(a),
            numbers::SYS_sigaltstack => signals::stack(stacks::current(), a),
            // The C library then does with `clone`, and without restartable sequences.
            numbers::SYS_clone3 | numbers::SYS_rseq => refused,
            // A child would go on with a copy of this process's pages.
            numbers::SYS_fork | numbers::SYS_clone => refused,
            numbers::SYS_execve => execute(number, a, 0),
            numbers::SYS_execveat => execute(number, a, 1),
            numbers::SYS_exit => exit(a),
            numbers::SYS_readv | numbers::SYS_preadv | numbers::SYS_preadv2 => {
                vectors::list(number, a, false)
            }
            numbers::SYS_writev | numbers::SYS_pwritev | numbers::SYS_pwritev2 => {
                vectors::list(number, a, true)
            }
            numbers::SYS_process_vm_readv => vectors::of_process(number, a, false),
            numbers::SYS_process_vm_writev => vectors::of_process(number, a, true),
            numbers::SYS_sendmsg | numbers::SYS_recvmsg => vectors::message(number, a),
            numbers::SYS_sendmmsg | numbers::SYS_recvmmsg => vectors::messages(number, a),
            numbers::SYS_read
            | numbers::SYS_write
            | numbers::SYS_pread64
            | numbers::SYS_pwrite64
                if a[2] > PIECE && is_shared(a[1]) =>
            {
                pieces(number, a)
            }
            numbers::SYS_futex => futex(a),
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
        numbers::SYS_ppoll
            | numbers::SYS_pselect6
            | numbers::SYS_epoll_pwait
            | numbers::SYS_epoll_pwait2
            | numbers::SYS_rt_sigsuspend
    )
}

/// Reads or writes a large buffer in pieces.
///
/// # Safety
/// As for [`emulate`].
unsafe fn pieces(number: c_long, a: [usize; 6]) -> isize {
    let pointers = table::pointers(number).unwrap_or_default();
    let reads = matches!(number, numbers::SYS_read | numbers::SYS_pread64);
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
        let seeks = || unsafe { raw::call(numbers::SYS_lseek, [a[0], 0, 1, 0, 0, 0]) >= 0 };
        if n < piece[2] || reads && !seeks() {
            break;
        }
    }
    done as isize
}

/// Makes the call, once more if a page at one of the `pointers` was absent.
///
/// # Safety
/// As for [`emulate`].
unsafe fn again(number: c_long, a: [usize; 6], pointers: &[usize]) -> isize {
    let mut result = -libc::EFAULT as isize;
    // What the kernel uses there may cross to the next page. Codes of `ioctl` say how many bytes: 14 bits of them.
    let len = match number {
        numbers::SYS_ioctl => PAGE.max(a[1] >> 16 & 0x3fff),
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
        result = unsafe { raw::call(numbers::SYS_futex, a) };
        if result != -libc::EFAULT as isize || !(is_shared(a[0]) || is_shared(a[4])) {
            break;
        }
        touch(&a, &[0, 4], PAGE);
    }
    result
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
            // This runs on the thread's own stack there.
            #[cfg(target_arch = "aarch64")]
            if let Some(word) = word {
                raw::end_thread(word, a[0]);
            }
            #[cfg(target_arch = "x86_64")]
            if let Some(word) = word {
                let at = word.as_ptr().expose_provenance();
                word.store(0, Ordering::SeqCst);
                futex([at, libc::FUTEX_WAKE as usize, 1, 0, 0, 0]);
            }
        }
        raw::call(numbers::SYS_exit, a)
    }
}
