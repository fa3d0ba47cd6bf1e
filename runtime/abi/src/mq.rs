//! `hetmp/mq.h`: message queues between a master and slaves.
//!
//! Each entry converts its arguments, calls one function of `hetmp-mq`, and converts the result. [`hetmp_mq::verbs`]
//! stores or prints the errors. The documentation of each entry is the program's, too: `abi-compat/surface` writes it
//! and the prototype into the header.

use core::ffi::{c_char, c_int, CStr};
use hetmp_mq::api::{Error, From};
use hetmp_mq::verbs::Call;

/// The program's variable for an answer; `None` if the program passed null.
///
/// # Safety
/// The pointer is null, or valid for reading and writing as long as the call runs. Programs uphold this: `hetmp/mq.h`
/// asks for a separate variable for each answer. The SAFETY comments of this module name this contract as "see
/// `place`".
#[inline(always)]
unsafe fn place<'a, T>(p: *mut T) -> Option<&'a mut T> {
    // SAFETY: null, or the program's own variable for an answer, as `hetmp/mq.h` asks.
    unsafe { p.as_mut() }
}

/// Defines `export!`, which exports an entry: these names as they are, all others with `hetmp_` before them.
macro_rules! papers_names {
    ($d:tt $($short:ident)*) => {
        macro_rules! export {
            $(($short) => { $crate::entry::api!("HETMP_MQ", stringify!($short), $short); };)*
            ($d name:ident) => {
                $crate::entry::api!("HETMP_MQ", concat!("hetmp_", stringify!($d name)), $d name);
            };
        }
    };
}

// The names in the interface's paper. For the others, which are as short, `hetmp/mq.h` has macros.
papers_names! { $
    mAllocateMsg mCreateQueue mDestroySlaveThreads mGetSlaveCoreNum mRecvMsg mReleaseMsg mSendMsg mStartSlaveThreads
    mWaitSlaveThreads sRecvMsg sReleaseMsg sResvMsg
}

/// Defines exported functions.
macro_rules! export_c {
    ($($(#[$m:meta])* extern "C" fn $name:ident($($a:ident : $t:ty),* $(,)?) $(-> $r:ty)? $body:block)*) => {$(
        export!($name);
        $(#[$m])*
        #[allow(non_snake_case, reason = "the name is the ABI's")]
        pub(crate) extern "C" fn $name($($a: $t),*) $(-> $r)? $body
    )*};
}

mod inline;
mod local;
mod messages;
mod parameters;
mod queues;
mod threads;

/// The bytes of a C string without the final zero; no bytes for null.
fn text<'a>(s: *const c_char) -> &'a [u8] {
    if s.is_null() {
        return &[];
    }
    // SAFETY: the program passes a string with a terminating zero.
    unsafe { CStr::from_ptr(s) }.to_bytes()
}

/// The value of a result. After an error, `bad`, and the error is stored or printed.
fn tell<T>(
    result: Result<T, Error>,
    bad: T,
    err: *mut c_int,
    name: &'static str,
    from: From,
    handle: c_int,
) -> T {
    // SAFETY: the program's place, see `place`.
    Call { name, from, handle }.tell(result, bad, unsafe { place(err) })
}
