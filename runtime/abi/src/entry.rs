//! One macro for every entry of the C ABI.
//!
//! A versioned name cannot be given to a Rust function on stable Rust, so each entry is an ordinary
//! `extern "C"` function, and a stub of a private name that jumps to it carries the versioned
//! name through `.symver ..., remove`. The stub costs nothing that can be measured. Stubs are
//! dropped when they come from an rlib, so the macro must be used in this crate.
//!
//! ```ignore
//! entries! {
//!     "GOMP_1.0" default:
//!     /// A barrier of the current team.
//!     fn GOMP_barrier() { ... }
//!     "OMP_1.0" hidden:
//!     fn lock_init_25 = "omp_init_lock" (lock: *mut Lock) { ... }
//! }
//! ```

#[cfg(not(panic = "abort"))]
compile_error!("libhetmp.so must be built with panic = \"abort\": a panic must not unwind into C");

/// Defines entries and exports each at its version node.
macro_rules! entries {
    () => {};
    ($node:literal default : $($rest:tt)*) => { $crate::entry::entries!{ @fns $node "@@" ; $($rest)* } };
    ($node:literal hidden : $($rest:tt)*) => { $crate::entry::entries!{ @fns $node "@" ; $($rest)* } };
    (@fns $node:literal $at:literal ; ) => {};
    (@fns $node:literal $at:literal ; $next:literal $how:ident : $($rest:tt)*) => {
        $crate::entry::entries!{ $next $how : $($rest)* }
    };
    (@fns $node:literal $at:literal ;
        $(#[$m:meta])*
        fn $name:ident = $export:literal ( $($a:ident : $t:ty),* $(,)? ) $(-> $r:ty)? $body:block
        $($rest:tt)*
    ) => {
        $(#[$m])*
        #[allow(non_snake_case, reason = "the name is the ABI's")]
        pub(crate) unsafe extern "C" fn $name($($a: $t),*) $(-> $r)? $body
        $crate::entry::export!($name, $export, $node, $at);
        $crate::entry::entries!{ @fns $node $at ; $($rest)* }
    };
    (@fns $node:literal $at:literal ;
        $(#[$m:meta])*
        fn $name:ident ( $($a:ident : $t:ty),* $(,)? ) $(-> $r:ty)? $body:block
        $($rest:tt)*
    ) => {
        $(#[$m])*
        #[allow(non_snake_case, reason = "the name is the ABI's")]
        pub(crate) unsafe extern "C" fn $name($($a: $t),*) $(-> $r)? $body
        $crate::entry::export!($name, stringify!($name), $node, $at);
        $crate::entry::entries!{ @fns $node $at ; $($rest)* }
    };
}

/// Exports the function `$name` as `$export` at version node `$node` (`$at`: `@@` or `@`).
macro_rules! export {
    ($name:ident, $export:expr, $node:literal, $at:literal) => {
        core::arch::global_asm!(
            ".pushsection .text.hetmp_entry, \"ax\", @progbits",
            ".p2align 4",
            concat!(".globl hetmp_entry.", $export, ".", $node),
            concat!(".type hetmp_entry.", $export, ".", $node, ", @function"),
            concat!("hetmp_entry.", $export, ".", $node, ":"),
            "jmp {f}",
            concat!(".size hetmp_entry.", $export, ".", $node, ", . - hetmp_entry.", $export, ".", $node),
            concat!(".symver hetmp_entry.", $export, ".", $node, ", ", $export, $at, $node, ", remove"),
            ".popsection",
            f = sym $name,
        );
    };
}

pub(crate) use {entries, export};
