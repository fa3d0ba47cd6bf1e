//! `shmem_longdouble_p` and `_g`. Rust has no type `long double`. An assembly stub takes the value from the caller,
//! or returns it to the caller, in the form of the platform's ABI; a Rust function moves the value as 16 bytes.

use super::shapes::*;

/// Bytes of a `long double` in memory: x87 extended precision with padding, or IEEE quadruple precision.
const SIZE: usize = 16;

macro_rules! p {
    ($function:ident, $name:literal, ($($ctx:ident)?)) => {
        unsafe extern "C" fn $function($($ctx: Ctx,)? dest: *mut u8, pe: c_int, value: *const u8) {
            #[allow(unused, reason = "with a context, it is the parameter")]
            let context = DEFAULT;
            $(let context = $ctx;)?
            // SAFETY: `dest` is the program's object. `value` points at 16 bytes on the stack: the argument that the
            // program passed (x86-64), or the stub's copy of it (AArch64).
            unsafe { rma::put($name, context, dest, value, SIZE, pe) }
        }
    };
}
macro_rules! g {
    ($function:ident, $name:literal, ($($ctx:ident)?)) => {
        unsafe extern "C" fn $function($($ctx: Ctx,)? source: *const u8, pe: c_int, value: *mut u8) {
            #[allow(unused, reason = "with a context, it is the parameter")]
            let context = DEFAULT;
            $(let context = $ctx;)?
            // SAFETY: `source` is the program's object. `value` points at 16 bytes in the stub's frame.
            unsafe { rma::get($name, context, value, source, SIZE, pe) }
        }
    };
}
p!(p, "shmem_longdouble_p", ());
p!(ctx_p, "shmem_ctx_longdouble_p", (ctx));
g!(g, "shmem_longdouble_g", ());
g!(ctx_g, "shmem_ctx_longdouble_g", (ctx));

/// Exports a stub as `$name` and as `p$name`.
macro_rules! stub {
    ($name:literal, $function:ident, $($line:literal),* $(,)?) => {
        core::arch::global_asm!(
            ".pushsection .text.hetmp_entry, \"ax\", @progbits",
            ".p2align 4",
            concat!(".type hetmp_stub.", $name, ", @function"),
            concat!("hetmp_stub.", $name, ":"),
            ".cfi_startproc",
            $($line,)*
            ".cfi_endproc",
            concat!(".size hetmp_stub.", $name, ", . - hetmp_stub.", $name),
            ".popsection",
            f = sym $function,
        );
        $crate::entry::api!("HETMP_SHMEM", $name, at concat!("hetmp_stub.", $name));
        $crate::entry::api!("HETMP_SHMEM", concat!("p", $name), at concat!("hetmp_stub.", $name));
    };
}

// The System V ABI passes a long double on the stack and returns it in st(0).
#[cfg(target_arch = "x86_64")]
mod stubs {
    use super::{ctx_g, ctx_p, g, p};
    // The caller has put the value above the return address. The stub needs no frame: it passes the value's address
    // and jumps.
    stub!("shmem_longdouble_p", p, "lea rdx, [rsp + 8]", "jmp {f}");
    stub!(
        "shmem_ctx_longdouble_p",
        ctx_p,
        "lea rcx, [rsp + 8]",
        "jmp {f}"
    );
    stub!(
        "shmem_longdouble_g",
        g,
        "sub rsp, 24",
        ".cfi_def_cfa_offset 32",
        "mov rdx, rsp",
        "call {f}",
        "fld tbyte ptr [rsp]",
        "add rsp, 24",
        ".cfi_def_cfa_offset 8",
        "ret",
    );
    stub!(
        "shmem_ctx_longdouble_g",
        ctx_g,
        "sub rsp, 24",
        ".cfi_def_cfa_offset 32",
        "mov rcx, rsp",
        "call {f}",
        "fld tbyte ptr [rsp]",
        "add rsp, 24",
        ".cfi_def_cfa_offset 8",
        "ret",
    );
}

// AAPCS64: a long double has quadruple precision, and is passed and returned in q0.
#[cfg(target_arch = "aarch64")]
mod stubs {
    use super::{ctx_g, ctx_p, g, p};
    stub!(
        "shmem_longdouble_p",
        p,
        "stp x29, x30, [sp, #-32]!",
        ".cfi_def_cfa_offset 32",
        ".cfi_offset 29, -32",
        ".cfi_offset 30, -24",
        "str q0, [sp, #16]",
        "add x2, sp, #16",
        "bl {f}",
        "ldp x29, x30, [sp], #32",
        "ret",
    );
    stub!(
        "shmem_ctx_longdouble_p",
        ctx_p,
        "stp x29, x30, [sp, #-32]!",
        ".cfi_def_cfa_offset 32",
        ".cfi_offset 29, -32",
        ".cfi_offset 30, -24",
        "str q0, [sp, #16]",
        "add x3, sp, #16",
        "bl {f}",
        "ldp x29, x30, [sp], #32",
        "ret",
    );
    stub!(
        "shmem_longdouble_g",
        g,
        "stp x29, x30, [sp, #-32]!",
        ".cfi_def_cfa_offset 32",
        ".cfi_offset 29, -32",
        ".cfi_offset 30, -24",
        "add x2, sp, #16",
        "bl {f}",
        "ldr q0, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "ret",
    );
    stub!(
        "shmem_ctx_longdouble_g",
        ctx_g,
        "stp x29, x30, [sp, #-32]!",
        ".cfi_def_cfa_offset 32",
        ".cfi_offset 29, -32",
        ".cfi_offset 30, -24",
        "add x3, sp, #16",
        "bl {f}",
        "ldr q0, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "ret",
    );
}
