//! One macro for every OpenSHMEM routine.
//!
//! A routine `NAME` is exported as `pNAME`, and weakly as `NAME` (specification 1.5, section 10), so that a program or
//! a tool can define `NAME` itself and call `pNAME`. Both are aliases that the assembler makes in the object that holds
//! the function, for `rustc` has no attribute for them on stable, and gives a name that it exports itself no version
//! node. The node stands in `shmem.map`.

/// Defines routines. In a body, `F` is the C name, which the engine takes first, for its messages.
macro_rules! routines {
    ($(
        $(#[$m:meta])*
        fn $name:ident ( $($a:ident : $t:ty),* $(,)? ) $(-> $r:ty)? $body:block
    )*) => { $(
        $(#[$m])*
        #[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
        #[allow(unused_unsafe, reason = "some functions of the engine are safe to call")]
        unsafe extern "C" fn $name($($a: $t),*) $(-> $r)? {
            #[allow(dead_code, reason = "some routines have nothing to say")]
            const F: &str = stringify!($name);
            $body
        }
        core::arch::global_asm!(
            concat!(".globl p", stringify!($name)),
            concat!(".type p", stringify!($name), ", @function"),
            concat!(".set p", stringify!($name), ", {f}"),
            concat!(".weak ", stringify!($name)),
            concat!(".type ", stringify!($name), ", @function"),
            concat!(".set ", stringify!($name), ", {f}"),
            f = sym $name,
        );
    )* };
}

pub(super) use routines;
