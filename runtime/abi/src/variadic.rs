//! Entries with a variable number of arguments, which stable Rust cannot define.
//!
//! [`variadic!`] emits an entry in assembly that stores the argument registers as `va_start` would, makes a
//! `va_list` of them, and calls a Rust function with the named arguments and the list.

/// The `va_list` of the System V ABI for x86-64.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
#[repr(C)]
pub(crate) struct VaList {
    /// Bytes of `saved` that are used up. At 48 all stored registers are, and arguments come from the stack.
    gp_offset: u32,
    fp_offset: u32,
    /// The next argument on the stack.
    overflow: *const u64,
    /// The stored argument registers.
    saved: *const u8,
}

/// The `va_list` of AAPCS64.
#[cfg(target_arch = "aarch64")]
#[derive(Debug)]
#[repr(C)]
pub(crate) struct VaList {
    /// The next argument on the stack.
    overflow: *const u64,
    /// The ends of the stored registers, of integers and of vectors.
    saved_end: *const u8,
    vectors_end: *const u8,
    /// Minus the bytes of the stored registers that are left. At 0 arguments come from the stack.
    gp_offset: i32,
    fp_offset: i32,
}

impl VaList {
    /// The next integer register, if one is left.
    #[inline(always)]
    fn register(&mut self) -> Option<*const u64> {
        #[cfg(target_arch = "x86_64")]
        let at = (self.gp_offset < 48).then(|| self.saved.wrapping_add(self.gp_offset as usize));
        #[cfg(target_arch = "aarch64")]
        let at =
            (self.gp_offset < 0).then(|| self.saved_end.wrapping_offset(self.gp_offset as isize));
        self.gp_offset += if at.is_some() { 8 } else { 0 };
        at.map(<*const u8>::cast)
    }

    /// Where the next argument of an integer type or a pointer is.
    #[inline(always)]
    fn next(&mut self) -> *const u64 {
        self.register().unwrap_or_else(|| {
            let at = self.overflow;
            self.overflow = at.wrapping_add(1);
            at
        })
    }

    /// The next argument that is a word: a pointer, or an integer of 64 bits.
    ///
    /// # Safety
    /// The caller of the entry passed such an argument next.
    #[inline(always)]
    pub(crate) unsafe fn next_word(&mut self) -> usize {
        // SAFETY: the argument is there: this function's contract, and the entry set the offsets before the call.
        unsafe { *self.next() as usize }
    }

    /// The next argument of an integer type.
    ///
    /// # Safety
    /// The caller of the entry passed an integer next, not a floating-point number.
    pub(crate) unsafe fn next_int(&mut self) -> i32 {
        // SAFETY: as for `next_word`. Both processors are little-endian: the integer is the lower half.
        unsafe { *self.next().cast::<i32>() }
    }
}

/// Words of an entry's frame below the caller's frame pointer and the return address.
const FRAME: usize = if cfg!(target_arch = "x86_64") { 26 } else { 28 };

/// Notes where the program called the entry, if there is an observer.
///
/// # Safety
/// `named` is what the entry passed.
#[inline(always)]
pub(crate) unsafe fn note(named: *const u64) {
    if hetmp_core::observers::any() {
        // Above the entry's frame: the caller's frame pointer, then the return address.
        //
        // SAFETY: `named` is the bottom of the entry's frame: this function's contract.
        let (pointer, caller) =
            unsafe { (*named.add(FRAME) as usize, *named.add(FRAME + 1) as usize) };
        hetmp_omp::tool::events::note(caller, named.wrapping_add(FRAME + 2).addr(), pointer);
    }
}

/// Exports `$f(named: *const u64, rest: *mut VaList)` as the variadic function `$export` with
/// `$named` named arguments (all in registers) at version node `$node`.
macro_rules! variadic {
    ($f:ident, $export:literal, $node:literal, $named:literal) => {
        #[cfg(target_arch = "x86_64")]
        core::arch::global_asm!(
            ".pushsection .text.hetmp_entry, \"ax\", @progbits",
            ".p2align 4",
            concat!(".globl hetmp_entry.", $export),
            concat!(".type hetmp_entry.", $export, ", @function"),
            concat!("hetmp_entry.", $export, ":"),
            ".cfi_startproc",
            "push rbp",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset rbp, -16",
            "mov rbp, rsp",
            ".cfi_def_cfa_register rbp",
            // The register save area (6 integers, 8 vectors), and behind it the va_list.
            "sub rsp, 208",
            "mov [rsp], rdi",
            "mov [rsp + 8], rsi",
            "mov [rsp + 16], rdx",
            "mov [rsp + 24], rcx",
            "mov [rsp + 32], r8",
            "mov [rsp + 40], r9",
            // The caller passes in al how many vector registers hold arguments.
            "test al, al",
            "je 2f",
            "movaps [rsp + 48], xmm0",
            "movaps [rsp + 64], xmm1",
            "movaps [rsp + 80], xmm2",
            "movaps [rsp + 96], xmm3",
            "movaps [rsp + 112], xmm4",
            "movaps [rsp + 128], xmm5",
            "movaps [rsp + 144], xmm6",
            "movaps [rsp + 160], xmm7",
            "2:",
            "lea rax, [rbp + 16]",
            concat!("mov dword ptr [rsp + 176], 8 * ", $named),
            "mov dword ptr [rsp + 180], 48",
            "mov [rsp + 184], rax",
            "mov [rsp + 192], rsp",
            "mov rdi, rsp",
            "lea rsi, [rsp + 176]",
            "call {f}",
            "leave",
            ".cfi_def_cfa rsp, 8",
            "ret",
            ".cfi_endproc",
            concat!(".size hetmp_entry.", $export, ", . - hetmp_entry.", $export),
            concat!(".symver hetmp_entry.", $export, ", ", $export, "@@", $node, ", remove"),
            ".popsection",
            f = sym $f,
        );
        #[cfg(target_arch = "aarch64")]
        core::arch::global_asm!(
            ".pushsection .text.hetmp_entry, \"ax\", @progbits",
            ".p2align 4",
            concat!(".globl hetmp_entry.", $export),
            concat!(".type hetmp_entry.", $export, ", @function"),
            concat!("hetmp_entry.", $export, ":"),
            ".cfi_startproc",
            "stp x29, x30, [sp, #-16]!",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset x29, -16",
            ".cfi_offset x30, -8",
            "mov x29, sp",
            ".cfi_def_cfa_register x29",
            // The register save area (8 integers, 8 vectors), and behind it the va_list.
            "sub sp, sp, #224",
            "stp x0, x1, [sp]",
            "stp x2, x3, [sp, #16]",
            "stp x4, x5, [sp, #32]",
            "stp x6, x7, [sp, #48]",
            "stp q0, q1, [sp, #64]",
            "stp q2, q3, [sp, #96]",
            "stp q4, q5, [sp, #128]",
            "stp q6, q7, [sp, #160]",
            "add x8, x29, #16",
            "add x9, sp, #64",
            "stp x8, x9, [sp, #192]",
            "add x8, sp, #192",
            concat!("mov w9, #8 * ", $named, " - 64"),
            "mov w10, #-128",
            "str x8, [sp, #208]",
            "stp w9, w10, [sp, #216]",
            "mov x0, sp",
            "add x1, sp, #192",
            "bl {f}",
            "mov sp, x29",
            "ldp x29, x30, [sp], #16",
            ".cfi_def_cfa sp, 0",
            ".cfi_restore x29",
            ".cfi_restore x30",
            "ret",
            ".cfi_endproc",
            concat!(".size hetmp_entry.", $export, ", . - hetmp_entry.", $export),
            concat!(".symver hetmp_entry.", $export, ", ", $export, "@@", $node, ", remove"),
            ".popsection",
            f = sym $f,
        );
    };
}

pub(crate) use variadic;
