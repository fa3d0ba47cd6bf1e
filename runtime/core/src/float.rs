//! The floating-point environment and `errno` of the program's threads: what the runtime computes there shows nowhere.
//!
//! A program may ask for a signal at a floating-point exception (`feenableexcept`, Fortran's `-ffpe-trap`), and may
//! read which exceptions occurred (`fetestexcept`, a Fortran `STOP`). The runtime computes times and shares on the
//! program's own threads. Such a computation may well raise an exception where its source does not: the compiler
//! takes the default environment for granted, and divides before it tests the divisor.
//!
//! To the program a region or a loop is no call of the C library, so `errno` stays, too, whatever the runtime asks the
//! system.

/// Computes `f` in the default environment: no exception traps, and numbers are rounded to nearest. Afterwards the
/// thread's modes and flags and its `errno` are what they were. `f` calls nothing of the program's.
///
/// Costs few stores and loads where the modes are the default ones and `f` raises nothing new.
#[inline]
pub fn apart<R>(f: impl FnOnce() -> R) -> R {
    let before = enter();
    let result = crate::sys::keeping_errno(|| call(f));
    leave(before);
    result
}

/// The default environment for the calling thread, which is the runtime's own and was created by a thread of the
/// program's.
pub fn default_here() {
    let _ = enter();
}

/// The calling thread's modes, without the flags of exceptions.
pub fn modes() -> u64 {
    machine::modes()
}

/// Keeps the compiler from moving computations over the change of the modes, which the compiler does not know of.
#[inline(never)]
fn call<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod machine {
    /// The modes after reset: every exception is masked, numbers are rounded to nearest, none is flushed to zero.
    const DEFAULT: u32 = 0x1f80;
    /// The flags of exceptions that occurred.
    const FLAGS: u32 = 0x3f;

    #[inline]
    pub(super) fn read() -> u32 {
        let mut mxcsr = 0u32;
        // SAFETY: stores into the variable, and nothing else.
        unsafe {
            core::arch::asm!("stmxcsr dword ptr [{at}]", at = in(reg) &raw mut mxcsr,
                options(nostack, preserves_flags));
        }
        mxcsr
    }

    #[inline]
    pub(super) fn write(mxcsr: u32) {
        // SAFETY: loads modes that the processor accepts: they were read from there, or are the default ones. The
        // caller sees to it that no computation of others' runs under them.
        unsafe {
            core::arch::asm!("ldmxcsr dword ptr [{at}]", at = in(reg) &raw const mxcsr,
                options(nostack, preserves_flags, readonly));
        }
    }

    pub(super) fn modes() -> u64 {
        let mut x87 = 0u16;
        // SAFETY: stores into the variable, and nothing else.
        unsafe {
            core::arch::asm!("fnstcw word ptr [{at}]", at = in(reg) &raw mut x87, options(nostack, preserves_flags));
        }
        u64::from(read() & !FLAGS) << 16 | u64::from(x87)
    }

    #[inline]
    pub(super) fn enter() -> u32 {
        let before = read();
        if before & !FLAGS != DEFAULT {
            write(DEFAULT);
        }
        before
    }

    #[inline]
    pub(super) fn leave(before: u32) {
        if read() != before {
            write(before);
        }
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod machine {
    #[inline]
    pub(super) fn read() -> (u64, u64) {
        let (modes, flags): (u64, u64);
        // SAFETY: reads two registers, and nothing else.
        unsafe {
            core::arch::asm!("mrs {m}, fpcr", "mrs {f}, fpsr", m = out(reg) modes, f = out(reg) flags,
                options(nomem, nostack, preserves_flags));
        }
        (modes, flags)
    }

    #[inline]
    pub(super) fn write((modes, flags): (u64, u64)) {
        // SAFETY: loads modes that the processor accepts: they were read from there, or are the default ones. The
        // caller sees to it that no computation of others' runs under them.
        unsafe {
            core::arch::asm!("msr fpcr, {m}", "msr fpsr, {f}", m = in(reg) modes, f = in(reg) flags,
                options(nostack, preserves_flags));
        }
    }

    pub(super) fn modes() -> u64 {
        read().0
    }

    #[inline]
    pub(super) fn enter() -> (u64, u64) {
        let before = read();
        if before.0 != 0 {
            write((0, before.1));
        }
        before
    }

    #[inline]
    pub(super) fn leave(before: (u64, u64)) {
        if read() != before {
            write(before);
        }
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod machine {
    pub(super) fn modes() -> u64 {
        0
    }

    pub(super) fn enter() {}

    pub(super) fn leave((): ()) {}
}

use machine::{enter, leave};

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod tests {
    use super::{apart, machine};
    use core::hint::black_box;

    /// Numbers are rounded up, and small ones flushed to zero; a result was not exact.
    #[cfg(target_arch = "x86_64")]
    const OWN: u32 = 0xdf80 | 0x20;
    #[cfg(target_arch = "aarch64")]
    const OWN: (u64, u64) = (1 << 24 | 1 << 22, 0x10);

    #[test]
    fn computations_leave_nothing_behind() {
        let before = machine::enter();
        let invalid = apart(|| black_box(0.0) / black_box(0.0f64));
        assert!(invalid.is_nan());
        // Nothing was left to be put back.
        machine::leave(before);
        let third = black_box(1.0) / black_box(3.0f64);
        assert!(third > 0.3);
        // A flag of the program's own stays, and its modes come back.
        machine::write(OWN);
        let small = apart(|| black_box(f64::MIN_POSITIVE) / black_box(2.0));
        let now = machine::read();
        machine::leave(before);
        assert!(small > 0.0, "numbers are flushed to zero");
        assert_eq!(now, OWN);
    }
}
