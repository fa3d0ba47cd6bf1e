//! Entries with a variable number of arguments, which stable Rust cannot define.
//!
//! [`variadic!`] emits an entry in assembly that stores the argument registers as `va_start` would, makes a
//! `va_list` of them, and calls a Rust function with the named arguments and the list. Only x86-64 has such
//! entries so far. On other processors they are missing, and the loader refuses a program that needs one.

/// The `va_list` of the System V ABI for x86-64.
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

/// Bytes that the six integer registers take in `saved`.
const REGISTERS: u32 = 48;

impl VaList {
    /// The next argument that is a word: a pointer, or an integer of 64 bits.
    ///
    /// # Safety
    /// The caller of the entry passed such an argument next.
    #[inline(always)]
    pub(crate) unsafe fn next_word(&mut self) -> usize {
        // SAFETY: the offsets say where the next argument is, and the entry set them before the call.
        unsafe {
            if self.gp_offset < REGISTERS {
                let p = self.saved.add(self.gp_offset as usize).cast::<usize>();
                self.gp_offset += 8;
                *p
            } else {
                let p = self.overflow;
                self.overflow = p.add(1);
                *p as usize
            }
        }
    }

    /// The next argument of an integer type.
    ///
    /// # Safety
    /// The caller of the entry passed an integer next, not a floating-point number.
    pub(crate) unsafe fn next_int(&mut self) -> i32 {
        // SAFETY: the offsets say where the next argument is, and the entry set them before the call.
        unsafe {
            if self.gp_offset < REGISTERS {
                let p = self.saved.add(self.gp_offset as usize).cast::<i32>();
                self.gp_offset += 8;
                *p
            } else {
                let p = self.overflow;
                self.overflow = p.add(1);
                *p.cast::<i32>()
            }
        }
    }
}

/// Notes where the program called the entry, if there is an observer.
///
/// # Safety
/// `named` is what the entry passed.
#[inline(always)]
pub(crate) unsafe fn note(named: *const u64) {
    if hetmp_core::observers::any() {
        // Above the 208 bytes of the entry's frame: the caller's frame pointer, then the return address.
        //
        // SAFETY: `named` is the bottom of the entry's frame: this function's contract.
        let (pointer, caller) = unsafe { (*named.add(26) as usize, *named.add(27) as usize) };
        hetmp_omp::tool::events::note(caller, named.wrapping_add(28).addr(), pointer);
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
    };
}

pub(crate) use variadic;
