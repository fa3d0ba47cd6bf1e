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

/// Defines `get` and `set` of one word of static thread-local storage with this symbol.
///
/// They are assembly: compiled code may keep the address of a `thread_local!`, and a fiber may go on on another thread.
#[doc(hidden)]
#[macro_export]
macro_rules! thread_word {
    ($symbol:literal) => {
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
        core::arch::global_asm!(
            concat!(".pushsection .tbss.", $symbol, ", \"awT\", @nobits"),
            concat!(".globl ", $symbol),
            concat!(".hidden ", $symbol),
            concat!(".type ", $symbol, ", @object"),
            concat!(".size ", $symbol, ", 8"),
            ".p2align 3",
            concat!($symbol, ":"),
            ".zero 8",
            ".popsection",
        );

        #[cfg(all(target_arch = "x86_64", not(miri)))]
        #[inline(always)]
        pub(super) fn get() -> *mut () {
            let p: *mut ();
            // SAFETY: loads the offset of the word defined above (the linker resolves GOTTPOFF, or
            // relaxes it) and then the word of the calling thread. Not `pure`: `set` changes it.
            unsafe {
                core::arch::asm!(
                    concat!("mov {p}, qword ptr ", $symbol, "@GOTTPOFF[rip]"),
                    "mov {p}, qword ptr fs:[{p}]",
                    p = out(reg) p,
                    options(nostack, preserves_flags, readonly),
                );
            }
            p
        }

        #[cfg(all(target_arch = "x86_64", not(miri)))]
        #[inline(always)]
        pub(super) fn set(value: *mut ()) {
            // SAFETY: loads the offset of the word defined above, and stores to the calling thread's own word.
            unsafe {
                core::arch::asm!(
                    concat!("mov {t}, qword ptr ", $symbol, "@GOTTPOFF[rip]"),
                    "mov qword ptr fs:[{t}], {v}",
                    t = out(reg) _,
                    v = in(reg) value,
                    options(nostack, preserves_flags),
                );
            }
        }

        #[cfg(all(target_arch = "aarch64", not(miri)))]
        #[inline(always)]
        pub(super) fn get() -> *mut () {
            let p: *mut ();
            // SAFETY: as on x86-64.
            unsafe {
                core::arch::asm!(
                    concat!("adrp {p}, :gottprel:", $symbol),
                    concat!("ldr {p}, [{p}, :gottprel_lo12:", $symbol, "]"),
                    "mrs {t}, tpidr_el0",
                    "ldr {p}, [{t}, {p}]",
                    p = out(reg) p,
                    t = out(reg) _,
                    options(nostack, preserves_flags, readonly),
                );
            }
            p
        }

        #[cfg(all(target_arch = "aarch64", not(miri)))]
        #[inline(always)]
        pub(super) fn set(value: *mut ()) {
            // SAFETY: as on x86-64.
            unsafe {
                core::arch::asm!(
                    concat!("adrp {p}, :gottprel:", $symbol),
                    concat!("ldr {p}, [{p}, :gottprel_lo12:", $symbol, "]"),
                    "mrs {t}, tpidr_el0",
                    "str {v}, [{t}, {p}]",
                    p = out(reg) _,
                    t = out(reg) _,
                    v = in(reg) value,
                    options(nostack, preserves_flags),
                );
            }
        }

        #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
        std::thread_local! {
            static SELF: core::cell::Cell<*mut ()> = const { core::cell::Cell::new(core::ptr::null_mut()) };
        }
        #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
        #[inline(always)]
        pub(super) fn get() -> *mut () {
            SELF.with(core::cell::Cell::get)
        }
        #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
        #[inline(always)]
        pub(super) fn set(value: *mut ()) {
            SELF.with(|s| s.set(value));
        }
    };
}

mod imp {
    crate::thread_word!("hetmp_self_word");
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

/// The thread pointer: a number that no other live thread has.
#[inline(always)]
pub fn pointer() -> u64 {
    let p: u64;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the x86-64 ABI stores the thread pointer at its own address.
    unsafe {
        core::arch::asm!("mov {p}, qword ptr fs:0", p = out(reg) p, options(nostack, preserves_flags, readonly));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mrs {p}, tpidr_el0", p = out(reg) p, options(nostack, preserves_flags, nomem));
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    {
        std::thread_local!(static HERE: u8 = const { 0 });
        p = HERE.with(|h| core::ptr::from_ref(h) as u64);
    }
    p
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
