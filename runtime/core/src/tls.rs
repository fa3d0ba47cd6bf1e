//! The per-thread self pointer: one word of static thread-local storage.
//!
//! `omp_get_thread_num` is called from inner loops, so the way from a thread to its state is the
//! hottest load of the library. A `thread_local!` in a shared library goes through
//! `__tls_get_addr` (3.8 ns here); one 8-byte word in the initial-exec model is a load of its
//! offset and a load through the thread register (2.2 ns). The word is only 8 bytes because static
//! TLS is scarce for libraries that are opened late.
//!
//! **Invariant**: the word is null, or a pointer that the thread itself stored with [`set`]. The engine that stores
//! it (`hetmp-omp`) keeps the pointee alive as long as the thread may run the engine's code.

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod imp {
    core::arch::global_asm!(
        ".pushsection .tbss.hetmp_self, \"awT\", @nobits",
        ".globl hetmp_self_word",
        ".hidden hetmp_self_word",
        ".type hetmp_self_word, @object",
        ".size hetmp_self_word, 8",
        ".p2align 3",
        "hetmp_self_word:",
        ".zero 8",
        ".popsection",
    );

    #[inline(always)]
    pub(super) fn get() -> *mut () {
        let p: *mut ();
        // SAFETY: loads the offset of the word defined above (the linker resolves GOTTPOFF, or
        // relaxes it) and then the word of the calling thread. Not `pure`: `set` changes it.
        unsafe {
            core::arch::asm!(
                "mov {p}, qword ptr hetmp_self_word@GOTTPOFF[rip]",
                "mov {p}, qword ptr fs:[{p}]",
                p = out(reg) p,
                options(nostack, preserves_flags, readonly),
            );
        }
        p
    }

    #[inline(always)]
    pub(super) fn set(value: *mut ()) {
        // SAFETY: loads the offset of the word defined above, and stores to the calling thread's own word.
        unsafe {
            core::arch::asm!(
                "mov {t}, qword ptr hetmp_self_word@GOTTPOFF[rip]",
                "mov qword ptr fs:[{t}], {v}",
                t = out(reg) _,
                v = in(reg) value,
                options(nostack, preserves_flags),
            );
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod imp {
    use std::cell::Cell;
    thread_local! {
        static SELF: Cell<*mut ()> = const { Cell::new(core::ptr::null_mut()) };
    }
    #[inline(always)]
    pub(super) fn get() -> *mut () {
        SELF.with(Cell::get)
    }
    #[inline(always)]
    pub(super) fn set(value: *mut ()) {
        SELF.with(|s| s.set(value));
    }
}

/// The calling thread's self pointer; null until [`set`].
#[inline(always)]
pub fn get() -> *mut () {
    imp::get()
}

/// Stores the calling thread's self pointer.
#[inline(always)]
pub fn set(value: *mut ()) {
    imp::set(value);
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_thread_has_its_own_word() {
        let mut a = 1u32;
        let pa: *mut () = core::ptr::addr_of_mut!(a).cast();
        super::set(pa);
        std::thread::spawn(|| {
            assert!(super::get().is_null());
            let mut b = 2u32;
            super::set(core::ptr::addr_of_mut!(b).cast());
            assert!(!super::get().is_null());
        })
        .join()
        .expect("thread");
        assert_eq!(super::get(), pa);
        super::set(core::ptr::null_mut());
    }
}
