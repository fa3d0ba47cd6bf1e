//! One macro for every OpenSHMEM routine.
//!
//! A routine `NAME` is exported as `pNAME`, and weakly as `NAME` (specification 1.5, section 10): a program or a tool
//! can define `NAME` itself and call `pNAME`. Both names are aliases, which the assembler defines in the object that
//! holds the function. There are two reasons against `#[no_mangle]`: stable `rustc` has no attribute for weak names,
//! and a name that `rustc` exports itself gets no version node. The version node is in `shmem.map`.

/// Defines routines. In a body, `F` is the routine's C name. The engine's functions take it as their first argument
/// and name it in error lines.
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
