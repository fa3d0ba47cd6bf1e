//! Finds out whether a memory checker watches this process. Then blocks come from the program's malloc, so that the
//! checker sees each block of the runtime and can report its misuse.

/// True under valgrind, and in a program that was compiled for the address sanitizer.
#[cold]
pub(super) fn watch() -> bool {
    is_under_valgrind() || has_address_sanitizer()
}

/// Valgrind's request number 0x1001, as valgrind.h describes the interface: a sequence of instructions that does
/// nothing on a processor, and that valgrind answers in rdx.
#[cfg(target_arch = "x86_64")]
fn is_under_valgrind() -> bool {
    let request: [u64; 6] = [0x1001, 0, 0, 0, 0, 0];
    let mut answer = 0u64;
    // SAFETY: the rotations add up to 128 bits, and the exchange is of a register with itself. Valgrind reads the six
    // words only.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") request.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer != 0
}

#[cfg(target_arch = "x86_64")]
fn has_address_sanitizer() -> bool {
    let at: usize;
    // A symbol is weak in one object file only, and the compiler divides a crate into several: so the directive
    // stands next to its use.
    // SAFETY: reads the table entry of the weak symbol, which is 0 where nothing defines the symbol.
    unsafe {
        core::arch::asm!(
            ".weak __asan_init",
            "mov {at}, qword ptr [rip + __asan_init@GOTPCREL]",
            at = out(reg) at,
            options(nostack, readonly, preserves_flags),
        );
    }
    at != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn is_under_valgrind() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn has_address_sanitizer() -> bool {
    false
}
