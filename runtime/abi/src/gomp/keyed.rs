//! Entries that learn which loop of the program called them.
//!
//! Some schedules remember a loop from one execution to the next, so they must tell loops apart. The key of a
//! loop that is a whole region is the region's outlined function. The key of another loop is the address that
//! the entry returns to. Rust cannot ask for this address, so the exported stub of a keyed entry passes it as
//! an additional last argument.

/// Defines entries with an additional last argument `key`, the return address, which callers do not pass.
///
/// The number before each entry is the number of arguments that callers pass. All of them are integers. The
/// number decides into which register, or onto which place of the stack, the stub puts the key.
macro_rules! keyed {
    ($( $args:tt $node:literal
        $(#[$m:meta])*
        fn $name:ident ( $($a:ident : $t:ty),* $(,)? ) -> bool $body:block
    )*) => {$(
        $(#[$m])*
        #[allow(non_snake_case, reason = "the name is the ABI's")]
        pub(crate) unsafe extern "C" fn $name($($a: $t),*) -> bool $body
        $crate::gomp::keyed::stub!($args, $name, $node);
    )*};
}

/// System V: six registers take integers. Further integers lie on the stack above the return address.
#[cfg(target_arch = "x86_64")]
macro_rules! stub {
    (5, $name:ident, $node:literal) => {
        $crate::gomp::keyed::code!($name, $node, "mov r9, [rsp]", "jmp {f}");
    };
    (6, $name:ident, $node:literal) => {
        $crate::gomp::keyed::code!(
            $name,
            $node,
            "push qword ptr [rsp]",
            ".cfi_adjust_cfa_offset 8",
            "call {f}",
            "add rsp, 8",
            ".cfi_adjust_cfa_offset -8",
            "ret"
        );
    };
    (7, $name:ident, $node:literal) => {
        // The seventh argument lies above the return address, and is passed on below the key.
        $crate::gomp::keyed::code!(
            $name,
            $node,
            "sub rsp, 8",
            ".cfi_adjust_cfa_offset 8",
            "push qword ptr [rsp + 8]",
            ".cfi_adjust_cfa_offset 8",
            "push qword ptr [rsp + 24]",
            ".cfi_adjust_cfa_offset 8",
            "call {f}",
            "add rsp, 24",
            ".cfi_adjust_cfa_offset -24",
            "ret"
        );
    };
}

/// AAPCS64: the return address is in a register, and eight other registers take arguments.
#[cfg(target_arch = "aarch64")]
macro_rules! stub {
    (5, $name:ident, $node:literal) => {
        $crate::gomp::keyed::code!($name, $node, "mov x5, x30", "b {f}");
    };
    (6, $name:ident, $node:literal) => {
        $crate::gomp::keyed::code!($name, $node, "mov x6, x30", "b {f}");
    };
    (7, $name:ident, $node:literal) => {
        $crate::gomp::keyed::code!($name, $node, "mov x7, x30", "b {f}");
    };
}

/// Emits a function of these instructions, at its node and at libomp's.
macro_rules! code {
    ($name:ident, $node:literal, $($line:literal),*) => {
        $crate::gomp::keyed::named!(
            $name, stringify!($name), [$node "@@"] ["VERSION" "@"], $($line),*
        );
    };
}

/// As `code`, for a function whose exported name differs from its Rust name, at these nodes.
macro_rules! named {
    ($name:ident, $export:expr, $([$node:literal $at:literal])+, $($line:literal),*) => {
        core::arch::global_asm!(
            ".pushsection .text.hetmp_entry, \"ax\", @progbits",
            ".p2align 4",
            $(
                concat!(".globl hetmp_entry.", $export, ".", $node),
                concat!(".type hetmp_entry.", $export, ".", $node, ", @function"),
                concat!("hetmp_entry.", $export, ".", $node, ":"),
            )+
            ".cfi_startproc",
            $crate::machine::note_if_observed!(),
            $($line,)*
            ".cfi_endproc",
            $(
                concat!(".size hetmp_entry.", $export, ".", $node, ", . - hetmp_entry.", $export, ".", $node),
                concat!(".symver hetmp_entry.", $export, ".", $node, ", ", $export, $at, $node, ", remove"),
            )+
            ".popsection",
            f = sym $name,
            observers = sym hetmp_core::observers::WORD,
        );
    };
}

pub(crate) use named;
pub(super) use {code, keyed, stub};
