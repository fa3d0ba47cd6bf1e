//! Identifies the calling thread: a word of thread-local storage, and a number for any thread.
//!
//! The word is null, or the thread's [`crate::callers::Caller`]; only `callers` sets it. It is one word in the
//! initial-exec model, for the reasons that [`hetmp_core::tls`] gives. It is a word of its own, because a slave may
//! use OpenMP too.

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod imp {
    core::arch::global_asm!(
        ".pushsection .tbss.hetmp_mq_self, \"awT\", @nobits",
        ".globl hetmp_mq_self_word",
        ".hidden hetmp_mq_self_word",
        ".type hetmp_mq_self_word, @object",
        ".size hetmp_mq_self_word, 8",
        ".p2align 3",
        "hetmp_mq_self_word:",
        ".zero 8",
        ".popsection",
    );

    #[inline(always)]
    pub(super) fn get() -> *const () {
        let p: *const ();
        // SAFETY: loads the offset of the word defined above and the word of the calling thread.
        unsafe {
            core::arch::asm!(
                "mov {p}, qword ptr hetmp_mq_self_word@GOTTPOFF[rip]",
                "mov {p}, qword ptr fs:[{p}]",
                p = out(reg) p,
                options(nostack, preserves_flags, readonly),
            );
        }
        p
    }

    #[inline(always)]
    pub(super) fn set(value: *const ()) {
        // SAFETY: loads the offset of the word defined above, and stores to the calling thread's own word.
        unsafe {
            core::arch::asm!(
                "mov {t}, qword ptr hetmp_mq_self_word@GOTTPOFF[rip]",
                "mov qword ptr fs:[{t}], {v}",
                t = out(reg) _,
                v = in(reg) value,
                options(nostack, preserves_flags),
            );
        }
    }

    #[inline(always)]
    pub(super) fn pointer() -> u64 {
        let p: u64;
        // SAFETY: the x86-64 ABI stores the thread pointer at its own address.
        unsafe {
            core::arch::asm!("mov {p}, qword ptr fs:0", p = out(reg) p, options(nostack, preserves_flags, readonly));
        }
        p
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod imp {
    use std::cell::Cell;
    thread_local! {
        static SELF: Cell<*const ()> = const { Cell::new(core::ptr::null()) };
    }
    #[inline(always)]
    pub(super) fn get() -> *const () {
        SELF.with(Cell::get)
    }
    #[inline(always)]
    pub(super) fn set(value: *const ()) {
        SELF.with(|s| s.set(value));
    }
    #[inline(always)]
    pub(super) fn pointer() -> u64 {
        SELF.with(|s| core::ptr::from_ref(s) as u64)
    }
}

/// The calling thread's word.
#[inline(always)]
pub(crate) fn get() -> *const () {
    imp::get()
}

/// Sets the calling thread's word.
pub(crate) fn set(value: *const ()) {
    imp::set(value);
}

/// A number that no other live thread has: the thread pointer, which the header's inline paths read too.
#[inline(always)]
pub(crate) fn pointer() -> u64 {
    imp::pointer()
}
