//! The processor's instructions for lines of a memory that is not coherent.
//!
//! They change where a line's bytes are, and none of these bytes: so they are sound on every address that is mapped,
//! and callers name such addresses only. Whether the processor has an instruction is asked before it is used.

pub(super) use by_processor::{fence, invalidate, name, write_back};

/// On x86-64: `clwb` and `clflushopt`, or `clflush` where the processor has not these.
#[cfg(target_arch = "x86_64")]
mod by_processor {
    use core::arch::asm;
    use core::arch::x86_64::{__cpuid, __cpuid_count};
    use core::sync::atomic::{AtomicU8, Ordering};

    const KNOWN: u8 = 1;
    const CLFLUSHOPT: u8 = 2;
    const CLWB: u8 = 4;

    /// What the processor has.
    fn has() -> u8 {
        static BITS: AtomicU8 = AtomicU8::new(0);
        let mut bits = BITS.load(Ordering::Relaxed);
        if bits == 0 {
            #[allow(unused_unsafe, reason = "newer compilers have it safe")]
            // SAFETY: every x86-64 processor has the instruction.
            let seventh = unsafe {
                match __cpuid(0).eax {
                    7.. => __cpuid_count(7, 0).ebx,
                    _ => 0,
                }
            };
            bits = KNOWN | (seventh >> 22) as u8 & (CLFLUSHOPT | CLWB);
            BITS.store(bits, Ordering::Relaxed);
        }
        bits
    }

    /// Writes the line at `at` back to memory; it may stay in the cache. Done at the next [`fence`].
    pub(crate) fn write_back(at: *const u8) {
        match has() & CLWB {
            0 => invalidate(at),
            // SAFETY: the instruction, which the processor has, changes no byte that a program can see.
            _ => unsafe { asm!("clwb [{}]", in(reg) at, options(nostack, preserves_flags)) },
        }
    }

    /// Removes the line at `at` from the cache; if it was changed there, it is written back. Done at the next
    /// [`fence`].
    pub(crate) fn invalidate(at: *const u8) {
        // SAFETY: the instructions, of which the processor has the one that is used, change no byte that a program can
        // see.
        unsafe {
            match has() & CLFLUSHOPT {
                0 => asm!("clflush [{}]", in(reg) at, options(nostack, preserves_flags)),
                _ => asm!("clflushopt [{}]", in(reg) at, options(nostack, preserves_flags)),
            }
        }
    }

    /// What was asked of lines before is done, and later loads and stores come after it.
    pub(crate) fn fence() {
        // SAFETY: every x86-64 processor has the instruction.
        unsafe { asm!("mfence", options(nostack, preserves_flags)) }
    }

    /// The instruction by which lines are written back.
    pub(crate) fn name() -> &'static str {
        match has() & (CLWB | CLFLUSHOPT) {
            0 => "clflush",
            CLFLUSHOPT => "clflushopt",
            _ => "clwb",
        }
    }
}

/// On 64-bit Arm: `dc`, which Linux lets programs use.
#[cfg(target_arch = "aarch64")]
mod by_processor {
    use core::arch::asm;

    /// Writes the line at `at` back to memory; it may stay in the cache. Done at the next [`fence`].
    pub(crate) fn write_back(at: *const u8) {
        // SAFETY: the instruction changes no byte that a program can see.
        unsafe { asm!("dc cvac, {}", in(reg) at, options(nostack, preserves_flags)) }
    }

    /// Removes the line at `at` from the cache; if it was changed there, it is written back. Done at the next
    /// [`fence`].
    pub(crate) fn invalidate(at: *const u8) {
        // SAFETY: the instruction changes no byte that a program can see.
        unsafe { asm!("dc civac, {}", in(reg) at, options(nostack, preserves_flags)) }
    }

    /// What was asked of lines before is done, and later loads and stores come after it.
    pub(crate) fn fence() {
        // SAFETY: every processor has the instruction.
        unsafe { asm!("dsb sy", options(nostack, preserves_flags)) }
    }

    /// The instruction by which lines are written back.
    pub(crate) fn name() -> &'static str {
        "dc"
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn lines_keep_their_bytes() {
        let bytes = [7u8; 256];
        for at in bytes.iter().step_by(64) {
            super::write_back(at);
            super::invalidate(at);
        }
        super::fence();
        assert!(bytes.iter().all(|b| *b == 7) && !super::name().is_empty());
    }
}
