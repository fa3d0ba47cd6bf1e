//! The private stack of each of the program's threads, on which its signal handlers run.
//!
//! A stack's record lies in its own mapping, consists of atomics, and is unmapped by nobody while a thread has the
//! stack; memory is taken by raw calls, since the program's `malloc` may be what was interrupted.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use pages::backend::sigsegv::raw;
use pages::PAGE;

/// Bytes of a stack, and its alignment. Enough for a handler of the program's that faults, within a call that is
/// caught.
const LEN: usize = 512 << 10;

/// What is known of a thread. It lies at the low end of the thread's stack, above a page that nobody may use.
#[repr(C)]
pub(crate) struct Record {
    /// Not 0 while a thread uses the stack. The kernel writes 0 when the thread is gone.
    used: AtomicU32,
    /// 1 in a process that shares this one's memory until it starts another program (`posix_spawn`, `system`).
    guest: AtomicU32,
    /// What `sigaltstack` was asked for: address, flags, size.
    asked: [AtomicUsize; 3],
    /// The program's function and its argument, for the thread's start.
    pub(crate) body: AtomicUsize,
    pub(crate) argument: AtomicUsize,
    /// Memory of a guest that its parent removes: address and length.
    pub(crate) left: [AtomicUsize; 2],
}

/// All stacks made so far.
static STACKS: [AtomicUsize; 4096] = [const { AtomicUsize::new(0) }; 4096];

fn record(stack: usize) -> &'static Record {
    let at: *const Record = core::ptr::with_exposed_provenance(stack + PAGE);
    // SAFETY: `make` has made the stack and filled its record, which consists of atomics and is never unmapped while it
    // is in use.
    unsafe { &*at }
}

/// The private stack of the calling thread, as the kernel knows it: its lowest address. `None`: it has none.
#[cfg(target_arch = "aarch64")]
fn own() -> Option<usize> {
    let mut stack = [0usize; 3];
    let to = (&raw mut stack).expose_provenance();
    // SAFETY: room for what the call tells.
    unsafe { raw::call(libc::SYS_sigaltstack, [0, to, 0, 0, 0, 0]) };
    stack[0].checked_sub(2 * PAGE)
}

/// Is this a thread of the program, or a guest?
#[cfg(target_arch = "aarch64")]
pub(crate) fn is_programs() -> bool {
    own().is_some_and(|own| STACKS.iter().any(|s| s.load(Ordering::Acquire) == own))
}

/// The record of the calling thread, which is one of the program.
#[cfg(target_arch = "aarch64")]
pub(crate) fn current() -> &'static Record {
    record(own().unwrap_or_default())
}

/// The record of the thread that runs on this stack. Only for signal handlers that run on one.
#[cfg(target_arch = "x86_64")]
pub(crate) fn current() -> &'static Record {
    let here = 0u8;
    record((&raw const here).addr() & !(LEN - 1))
}

/// A stack that no thread uses. `None` if there is no memory.
pub(crate) fn take(guest: bool) -> Option<&'static Record> {
    let free = |s: &&AtomicUsize| {
        let stack = s.load(Ordering::Acquire);
        stack != 0
            && record(stack)
                .used
                .compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
    };
    let stack = match STACKS.iter().find(free) {
        Some(found) => found.load(Ordering::Acquire),
        None => {
            let stack = make()?;
            record(stack).used.store(1, Ordering::Relaxed);
            // Without a place in the list the stack is used once.
            let _ = STACKS.iter().any(|s| {
                s.compare_exchange(0, stack, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
            });
            stack
        }
    };
    let r = record(stack);
    r.guest.store(guest.into(), Ordering::Relaxed);
    for (word, value) in r.asked.iter().zip([0, libc::SS_DISABLE as usize, 0]) {
        word.store(value, Ordering::Relaxed);
    }
    r.left[1].store(0, Ordering::Relaxed);
    Some(r)
}

/// A new mapping of this process.
pub(crate) fn map(len: usize) -> Option<usize> {
    let may = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let kind = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize;
    // SAFETY: a new mapping at an address that the kernel chooses.
    let at = unsafe { raw::call(libc::SYS_mmap, [0, len, may, kind, usize::MAX, 0]) };
    (at > 0).then_some(at as usize)
}

/// # Safety
/// [`map`] made the mapping, and nobody uses it any more.
pub(crate) unsafe fn unmap(at: usize, len: usize) {
    // SAFETY: this function's contract.
    unsafe { raw::call(libc::SYS_munmap, [at, len, 0, 0, 0, 0]) };
}

/// A new stack: its lowest address.
fn make() -> Option<usize> {
    let at = map(2 * LEN)?;
    let stack = at.next_multiple_of(LEN);
    // SAFETY: parts of the new mapping that nobody uses. The record's page is zero, as `Record` may be.
    unsafe {
        if stack > at {
            unmap(at, stack - at);
        }
        let end = at + 2 * LEN;
        if end > stack + LEN {
            unmap(stack + LEN, end - stack - LEN);
        }
        let none = libc::PROT_NONE as usize;
        raw::call(libc::SYS_mprotect, [stack, PAGE, none, 0, 0, 0]);
    }
    Some(stack)
}

impl Record {
    fn stack(&self) -> usize {
        core::ptr::from_ref(self).addr() - PAGE
    }

    /// Makes the calling thread's signal handlers run on this stack. Returns what the kernel returns.
    pub(crate) fn set(&self) -> isize {
        let how = libc::stack_t {
            ss_sp: core::ptr::with_exposed_provenance_mut::<c_void>(self.stack() + 2 * PAGE),
            ss_flags: 0,
            ss_size: LEN - 2 * PAGE,
        };
        let at = (&raw const how).expose_provenance();
        // SAFETY: the stack belongs to the calling thread, and stays until the thread is gone.
        unsafe { raw::call(libc::SYS_sigaltstack, [at, 0, 0, 0, 0, 0]) }
    }

    pub(crate) fn is_guest(&self) -> bool {
        self.guest.load(Ordering::Relaxed) != 0
    }

    /// Notes what the program wants as the thread's stack for signals, if anything, and returns what it wanted before.
    pub(crate) fn asked_stack(&self, new: Option<[usize; 3]>) -> [usize; 3] {
        let old = core::array::from_fn(|i| self.asked[i].load(Ordering::Relaxed));
        if let Some(new) = new {
            for (word, value) in self.asked.iter().zip(new) {
                word.store(value, Ordering::Relaxed);
            }
        }
        old
    }

    /// The stack is free again. For one whose process has ended.
    pub(crate) fn give_back(&self) {
        self.used.store(0, Ordering::Release);
    }

    /// From now on the kernel frees the stack when the calling thread is gone.
    pub(crate) fn ends_with_this_thread(&self) {
        let word = self.used.as_ptr().expose_provenance();
        // SAFETY: the word stays mapped for ever.
        unsafe { raw::call(libc::SYS_set_tid_address, [word, 0, 0, 0, 0, 0]) };
    }
}
