//! The macro that defines entries with a version node: all of libgomp's. CONTRIBUTING.md lists the other ways
//! to define an entry.
//!
//! Stable Rust cannot give a function a versioned name. So each entry is an ordinary `extern "C"` function,
//! and a stub with a private name jumps to the function and carries the versioned name by `.symver ...,
//! remove`. The stub costs no time that can be measured. The linker drops stubs that come from an rlib, so
//! only this crate can use the macro.
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

// A panic that reaches an `extern "C"` function ends the process in any build. With `panic = "abort"` a panic
// in a thread of the library's own ends the process, too, and no lock is ever poisoned. Only builds for
// debugging may unwind.
#[cfg(not(any(panic = "abort", debug_assertions)))]
compile_error!("libhetmp.so must be built with panic = \"abort\": a panic must not unwind into C");

/// Defines entries and exports each at its version node.
macro_rules! entries {
    () => {};
    ($node:tt default : $($rest:tt)*) => { $crate::entry::entries!{ @fns $node "@@" ; $($rest)* } };
    ($node:tt hidden : $($rest:tt)*) => { $crate::entry::entries!{ @fns $node "@" ; $($rest)* } };
    (@fns $node:tt $at:tt ; ) => {};
    (@fns $node:tt $at:tt ; $next:tt $how:ident : $($rest:tt)*) => {
        $crate::entry::entries!{ $next $how : $($rest)* }
    };
    (@fns $node:tt $at:tt ;
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
    (@fns $node:tt $at:tt ;
        $(#[$m:meta])*
        placed($from:ident) fn $name:ident () $(-> $r:ty)? $body:block
        $($rest:tt)*
    ) => {
        $(#[$m])*
        #[allow(non_snake_case, reason = "the name is the ABI's")]
        pub(crate) unsafe extern "C" fn $name() $(-> $r)? $body
        $crate::entry::export_placed!($name, $from, stringify!($name), $node, $at);
        $crate::entry::entries!{ @fns $node $at ; $($rest)* }
    };
    (@fns $node:tt $at:tt ;
        $(#[$m:meta])*
        watched fn $name:ident ( $($a:ident : $t:ty),* $(,)? ) $(-> $r:ty)? $body:block
        $($rest:tt)*
    ) => {
        $crate::entry::entries!{ @fns $node $at ;
            $(#[$m])*
            watched($name) fn $name($($a: $t),*) $(-> $r)? $body
            $($rest)*
        }
    };
    (@fns $node:tt $at:tt ;
        $(#[$m:meta])*
        watched($plain:ident) fn $name:ident ( $($a:ident : $t:ty),* $(,)? ) $(-> $r:ty)? $body:block
        $($rest:tt)*
    ) => {
        $(#[$m])*
        #[allow(non_snake_case, reason = "the name is the ABI's")]
        #[allow(clippy::too_many_arguments, reason = "the arguments are the ABI's")]
        pub(crate) unsafe extern "C" fn $name($($a: $t),*) $(-> $r)? $body
        $crate::entry::export_watched!($name, $plain, stringify!($name), $node, $at);
        $crate::entry::entries!{ @fns $node $at ; $($rest)* }
    };
    (@fns $node:tt $at:tt ;
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

/// Exports the function `$name` as `$export` at version node `$node` (`$at`: `@@` or `@`). A default
/// version is also exported at libomp's only node, if it is of OpenMP: [`for_libomp`].
macro_rules! export {
    ($name:ident, $export:expr, $node:tt, $at:tt) => {
        $crate::entry::stub!(($name), $export, $node, $at);
        $crate::entry::for_libomp!(stub, ($name), $export, $node, $at);
    };
}

/// As [`export`], for an entry whose events tell a tool where the program called it: while there is an observer, the
/// stub notes that place first. While there is none, the stub jumps to `plain`, which need not look for observers
/// again. That counts for locks: what is read next to a locked instruction waits for that instruction.
macro_rules! export_watched {
    ($name:ident, $plain:ident, $export:expr, $node:tt, $at:tt) => {
        $crate::entry::watched_stub!(($name, $plain), $export, $node, $at);
        $crate::entry::for_libomp!(watched_stub, ($name, $plain), $export, $node, $at);
    };
}

/// As [`export`], for an entry without arguments whose answer may depend on where it is called: once some region has
/// such calls, the stub jumps to `from`, with its return address as the argument.
macro_rules! export_placed {
    ($name:ident, $from:ident, $export:expr, $node:tt, $at:tt) => {
        $crate::entry::placed_stub!(($name, $from), $export, $node, $at);
        $crate::entry::for_libomp!(placed_stub, ($name, $from), $export, $node, $at);
    };
}

/// Defines `for_libomp!`, which exports a name once more at libomp's only node, if the name's own node is one of these
/// and the version its default.
macro_rules! also_at_libomps_node {
    ($d:tt $($node:tt)+) => {
        macro_rules! for_libomp {
            $(($d stub:ident, $d f:tt, $d export:expr, $node, "@@") => {
                $d crate::entry::$d stub!($d f, $d export, "VERSION", "@");
            };)+
            ($d stub:ident, $d f:tt, $d export:expr, $d node:tt, $d at:tt) => {};
        }
    };
}

// What clang compiles for libomp, and what gcc compiles and is then linked with libomp, which has gcc's entries, too.
also_at_libomps_node! { $
    "OMP_1.0" "OMP_2.0" "OMP_3.0" "OMP_3.1" "OMP_4.0" "OMP_4.5" "OMP_5.0" "OMP_5.0.1" "OMP_5.0.2" "OMP_5.1" "OMP_5.1.1"
    "OMP_5.2" "OMP_6.0" "OMP_6.1"
    "GOMP_1.0" "GOMP_2.0" "GOMP_3.0" "GOMP_4.0" "GOMP_4.5" "GOMP_5.0" "GOMP_5.0.1" "GOMP_5.1" "GOMP_5.1.1"
    "GOMP_5.1.2" "GOMP_6.0.2"
}

/// Defines one stub with its version.
macro_rules! stub {
    (($name:ident), $export:expr, $node:tt, $at:tt) => {
        core::arch::global_asm!(
            ".pushsection .text.hetmp_entry, \"ax\", @progbits",
            ".p2align 4",
            concat!(".globl hetmp_entry.", $export, ".", $node),
            concat!(".type hetmp_entry.", $export, ".", $node, ", @function"),
            concat!("hetmp_entry.", $export, ".", $node, ":"),
            $crate::machine::jump!("{f}"),
            concat!(".size hetmp_entry.", $export, ".", $node, ", . - hetmp_entry.", $export, ".", $node),
            concat!(".symver hetmp_entry.", $export, ".", $node, ", ", $export, $at, $node, ", remove"),
            ".popsection",
            f = sym $name,
        );
    };
}

/// Defines one stub with its version, for an entry that notes where it was called.
macro_rules! watched_stub {
    (($name:ident, $plain:ident), $export:expr, $node:tt, $at:tt) => {
        core::arch::global_asm!(
            ".pushsection .text.hetmp_entry, \"ax\", @progbits",
            ".p2align 4",
            concat!(".globl hetmp_entry.", $export, ".", $node),
            concat!(".type hetmp_entry.", $export, ".", $node, ", @function"),
            concat!("hetmp_entry.", $export, ".", $node, ":"),
            ".cfi_startproc",
            $crate::machine::if_set!("{observers}"),
            $crate::machine::jump!("{plain}"),
            "9:",
            $crate::machine::note!(),
            $crate::machine::jump!("{f}"),
            ".cfi_endproc",
            concat!(".size hetmp_entry.", $export, ".", $node, ", . - hetmp_entry.", $export, ".", $node),
            concat!(".symver hetmp_entry.", $export, ".", $node, ", ", $export, $at, $node, ", remove"),
            ".popsection",
            f = sym $name,
            plain = sym $plain,
            observers = sym hetmp_core::observers::WORD,
        );
    };
}

/// Defines one stub with its version, for [`export_placed`].
macro_rules! placed_stub {
    (($name:ident, $from:ident), $export:expr, $node:tt, $at:tt) => {
        core::arch::global_asm!(
            ".pushsection .text.hetmp_entry, \"ax\", @progbits",
            ".p2align 4",
            concat!(".globl hetmp_entry.", $export, ".", $node),
            concat!(".type hetmp_entry.", $export, ".", $node, ", @function"),
            concat!("hetmp_entry.", $export, ".", $node, ":"),
            $crate::machine::if_set!("{printed}"),
            $crate::machine::jump!("{plain}"),
            "9:",
            $crate::machine::place_first!(),
            $crate::machine::jump!("{from}"),
            concat!(".size hetmp_entry.", $export, ".", $node, ", . - hetmp_entry.", $export, ".", $node),
            concat!(".symver hetmp_entry.", $export, ".", $node, ", ", $export, $at, $node, ", remove"),
            ".popsection",
            plain = sym $name,
            from = sym $from,
            printed = sym hetmp_omp::query::PRINTED,
        );
    };
}

/// Exports the function `$f` as `$export`, a name of an interface that is not OpenMP's, at the interface's version node
/// and at `HETMP_ENGINE`. Both are hidden versions (`@`, not `@@`): the loader binds to them only what asks for the
/// version by name. So a preload of this library never takes the place of a function of the same name in the program or
/// in a library of its own. docs/dev/names.md says who asks for which node.
///
/// The names are aliases, and cost no jump. The assembler defines them in the object that holds the function, so the
/// macro must be called in the function's module.
macro_rules! api {
    ("HETMP_ENGINE", $export:expr, $f:path) => {
        core::arch::global_asm!(
            concat!(".globl hetmp_api.", $export),
            concat!(".type hetmp_api.", $export, ", @function"),
            concat!(".set hetmp_api.", $export, ", {f}"),
            concat!(".symver hetmp_api.", $export, ", ", $export, "@HETMP_ENGINE, remove"),
            f = sym $f,
        );
    };
    ($node:literal, $export:expr, $f:path) => {
        $crate::entry::api!($node, $export, at "{f}", f = sym $f);
    };
    ($node:literal, $export:expr, at $target:expr $(, f = sym $f:path)?) => {
        core::arch::global_asm!(
            concat!(".globl hetmp_api.", $export),
            concat!(".type hetmp_api.", $export, ", @function"),
            concat!(".set hetmp_api.", $export, ", ", $target),
            concat!(".symver hetmp_api.", $export, ", ", $export, "@", $node),
            concat!(".symver hetmp_api.", $export, ", ", $export, "@HETMP_ENGINE, remove"),
            $(f = sym $f,)?
        );
    };
}

#[allow(
    clippy::single_component_path_imports,
    reason = "clippy does not see a macro that a macro made"
)]
pub(crate) use for_libomp;
pub(crate) use {
    api, entries, export, export_placed, export_watched, placed_stub, stub, watched_stub,
};
