//! Thin wrappers over the system calls by which the runtime waits and reads clocks.
//!
//! `futex` is for this crate alone: other crates sleep by [`crate::park`], [`crate::lock`], [`crate::bell`] or
//! [`crate::sleep`].

use core::sync::atomic::AtomicU32;

/// The calling thread's `errno`.
pub fn errno() -> libc::c_int {
    // SAFETY: __errno_location returns a valid pointer to the calling thread's errno.
    unsafe { *libc::__errno_location() }
}

/// Calls `f`, and leaves the calling thread's `errno` as it was: to the program a barrier or a region is no call of the
/// C library. `f` stays on its thread.
#[inline]
pub fn keeping_errno<R>(f: impl FnOnce() -> R) -> R {
    let saved = errno();
    let result = f();
    // SAFETY: __errno_location returns a valid pointer to the calling thread's errno.
    unsafe { *libc::__errno_location() = saved };
    result
}

/// Which threads a futex call concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Threads of this process.
    Process,
    /// Threads of every process that maps the memory of the word.
    Machine,
}

impl Scope {
    #[inline]
    const fn flag(self) -> libc::c_int {
        match self {
            Scope::Process => libc::FUTEX_PRIVATE_FLAG,
            Scope::Machine => 0,
        }
    }
}

/// Sleeps while `*word == expected`, until [`futex_wake`]. May return early (signals, races): the caller checks its
/// condition again.
#[inline]
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32) {
    futex_wait_in(Scope::Process, word, expected);
}

/// Like [`futex_wait`], for a word that other processes may map.
#[inline]
pub(crate) fn futex_wait_in(scope: Scope, word: &AtomicU32, expected: u32) {
    // The program's errno must not change: for the program a barrier is no call of the C library.
    let saved = errno();
    // SAFETY: the word is a live, aligned u32; a null timeout means none.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | scope.flag(),
            expected,
            core::ptr::null::<libc::timespec>(),
        );
        *libc::__errno_location() = saved;
    }
}

/// Like [`futex_wait`], but returns after `ns` nanoseconds at the latest (monotonic clock).
pub(crate) fn futex_wait_for(word: &AtomicU32, expected: u32, ns: u64) {
    futex_wait_for_in(Scope::Process, word, expected, ns);
}

/// Like `futex_wait_for`, for a word that other processes may map.
pub(crate) fn futex_wait_for_in(scope: Scope, word: &AtomicU32, expected: u32, ns: u64) {
    let saved = errno();
    // SAFETY: timespec is plain data.
    let mut timeout: libc::timespec = unsafe { core::mem::zeroed() };
    timeout.tv_sec = (ns / 1_000_000_000) as libc::time_t;
    timeout.tv_nsec = (ns % 1_000_000_000) as libc::c_long;
    // SAFETY: the word is a live, aligned u32, and the timeout is on this stack.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | scope.flag(),
            expected,
            &raw const timeout,
        );
        *libc::__errno_location() = saved;
    }
}

/// Wakes up to `count` threads that sleep on `word`.
///
/// Takes a pointer, because the store that released the sleepers may have freed the memory of the word. A wake-up at
/// an address that now serves something else is harmless: every sleeper checks its condition again.
#[inline]
#[allow(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "the pointer is a key for the kernel, which does not read through it"
)]
pub(crate) fn futex_wake(word: *const u32, count: i32) {
    futex_wake_in(Scope::Process, word, count);
}

/// Like [`futex_wake`], for a word that other processes may map.
#[inline]
#[allow(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "the pointer is a key for the kernel, which does not read through it"
)]
pub(crate) fn futex_wake_in(scope: Scope, word: *const u32, count: i32) {
    let saved = errno();
    // SAFETY: the kernel only uses the address as a key; it does not read what lies there.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word,
            libc::FUTEX_WAKE | scope.flag(),
            count,
        );
        *libc::__errno_location() = saved;
    }
}

/// Gives the rest of this thread's time slice to another runnable thread of the same core.
#[inline]
pub fn yield_now() {
    // SAFETY: sched_yield has no preconditions and always succeeds on Linux.
    unsafe {
        libc::sched_yield();
    }
}

/// Sleeps for `ns` nanoseconds, or until a signal comes; the kernel adds some 50 us. Leaves `errno` alone.
pub fn nap(ns: u64) {
    let time = libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    };
    let saved = errno();
    // SAFETY: the pointer is to a live timespec; null says that the remaining time is not wanted.
    unsafe {
        libc::nanosleep(&time, core::ptr::null_mut());
        *libc::__errno_location() = saved;
    }
}

/// `CLOCK_MONOTONIC` in nanoseconds.
#[inline]
pub fn monotonic_ns() -> u64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live timespec, and CLOCK_MONOTONIC always exists.
    unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t);
    }
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// The processor's time that the calling thread has taken, in nanoseconds. A system call.
pub fn thread_cpu_ns() -> u64 {
    cpu_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The processor's time that all threads of the process have taken, in nanoseconds. A system call.
pub fn process_cpu_ns() -> u64 {
    cpu_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// A clock of the processor's time that the calling thread has taken, for others to look at while the thread lives
/// ([`cpu_ns`]).
pub fn thread_cpu_clock() -> libc::clockid_t {
    let mut clock = 0;
    // SAFETY: the calling thread exists, and the pointer is to a live variable.
    unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) };
    clock
}

/// What a clock shows, in nanoseconds. A system call.
pub fn cpu_ns(clock: libc::clockid_t) -> u64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live timespec, and clocks of a process or a living thread exist.
    unsafe {
        libc::clock_gettime(clock, &mut t);
    }
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Tells the kernel that `threads` threads of this process may sleep, each at an address of its own.
///
/// The kernel keeps sleepers in a table whose size depends on the number of CPUs, and a wake-up goes through a row of
/// it: with 20,000 threads on 2 CPUs, 40 other sleepers each time. Linux 6.16 and newer give a process a table of its
/// own on demand (`PR_FUTEX_HASH`); on older kernels this does nothing.
pub fn expect_sleepers(threads: u32) {
    const PR_FUTEX_HASH: libc::c_int = 78;
    const SET_SLOTS: libc::c_ulong = 1;
    const GET_SLOTS: libc::c_ulong = 2;
    const NONE: libc::c_ulong = 0;
    let wanted = threads.next_power_of_two().min(1 << 16);
    let saved = errno();
    // SAFETY: both operations take numbers and change nothing but the size of the kernel's table.
    unsafe {
        let have = libc::prctl(PR_FUTEX_HASH, GET_SLOTS, NONE, NONE, NONE);
        if (0..wanted as libc::c_int).contains(&have) {
            libc::prctl(
                PR_FUTEX_HASH,
                SET_SLOTS,
                libc::c_ulong::from(wanted),
                NONE,
                NONE,
            );
        }
        *libc::__errno_location() = saved;
    }
}

/// A cheap tick counter of unknown but constant rate, for noticing gaps in a spin loop.
#[inline(always)]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: rdtsc is available on every x86-64 processor and has no side effects.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    // The counter's rate is that of the board, 19 MHz to 1 GHz. Limits in ticks are for some GHz, so it counts in
    // steps.
    #[cfg(target_arch = "aarch64")]
    {
        let (count, rate): (u64, u64);
        // SAFETY: Linux lets programs read both registers, which has no side effects.
        unsafe {
            core::arch::asm!("mrs {c}, cntvct_el0", "mrs {r}, cntfrq_el0", c = out(reg) count, r = out(reg) rate,
                options(nomem, nostack, preserves_flags));
        }
        count << (31 - (rate as u32 | 1).ilog2())
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    monotonic_ns()
}

/// The kernel's id of the calling thread.
pub fn gettid() -> libc::pid_t {
    // SAFETY: gettid has no preconditions.
    unsafe { libc::syscall(libc::SYS_gettid) as libc::pid_t }
}

/// What the system call `bpf` takes to run a program (`union bpf_attr`, its part `test`).
#[repr(C)]
#[derive(Default)]
struct TestRun {
    program: u32,
    returned: u32,
    bytes_in: u32,
    bytes_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    context_bytes_in: u32,
    context_bytes_out: u32,
    context_in: u64,
    context_out: u64,
    flags: u32,
    cpu: u32,
    batch: u32,
    zero: u32,
}

/// Runs a loaded eBPF program of the traffic control layer on a packet (`BPF_PROG_TEST_RUN`). Returns what the program
/// returned.
///
/// # Errors
/// The system's.
pub fn run_program(program: std::os::fd::BorrowedFd<'_>, packet: &[u8]) -> std::io::Result<u32> {
    use std::os::fd::AsRawFd as _;
    const BPF_PROG_TEST_RUN: libc::c_long = 10;
    let mut run = TestRun {
        program: program.as_raw_fd() as u32,
        bytes_in: packet.len() as u32,
        data_in: packet.as_ptr().expose_provenance() as u64,
        ..TestRun::default()
    };
    // SAFETY: the kernel reads `bytes_in` bytes at `data_in`, which is `packet`, and writes into `run`, whose length it
    // is told.
    let done = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            BPF_PROG_TEST_RUN,
            &raw mut run,
            size_of::<TestRun>(),
        )
    };
    if done < 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(run.returned)
}
