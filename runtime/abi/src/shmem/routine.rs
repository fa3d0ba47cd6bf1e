//! One macro for every OpenSHMEM routine.
//!
//! A routine `NAME` is exported as `pNAME` and as `NAME` (specification 1.5, section 10): a program or a tool can
//! define `NAME` itself and call `pNAME`. How these names are exported, and to whom: [`crate::entry::api`].

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
        $crate::entry::api!("HETMP_SHMEM", stringify!($name), $name);
        $crate::entry::api!("HETMP_SHMEM", concat!("p", stringify!($name)), $name);
    )* };
}

pub(super) use routines;
