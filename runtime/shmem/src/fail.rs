//! Errors that end the job: one line that names the function, the PE and the value.

use crate::world;
use core::fmt;

/// Ends every PE of the job. The text says what is wrong and what is accepted.
#[cold]
#[inline(never)]
pub(crate) fn die(f: &'static str, what: fmt::Arguments<'_>) -> ! {
    let text = format!("{f} {what}");
    world::abort(1, &text)
}

/// The launcher has died: there is nobody to ask for the end of the job, so each PE that waits ends by itself.
#[cold]
#[inline(never)]
pub(crate) fn launcher_gone(f: &'static str, me: u32) -> ! {
    hetmp_core::report::flush_output();
    hetmp_core::report::warn(format_args!(
        "{f} PE {me}: the launcher that started it has gone: a job whose launcher stays is accepted"
    ));
    // SAFETY: no preconditions. Handlers of the program must not run: it is in the middle of a call.
    unsafe { libc::_exit(1) }
}

/// A PE number that does not exist.
#[cold]
#[inline(never)]
pub(crate) fn bad_pe(f: &'static str, pe: i32, n: u32) -> ! {
    die(
        f,
        format_args!("PE {pe}: 0 to {} is accepted", n.saturating_sub(1)),
    )
}

/// An address that is not symmetric, or a range that leaves its region.
#[cold]
#[inline(never)]
pub(crate) fn bad_address(f: &'static str, address: usize, bytes: usize, pe: i32) -> ! {
    let regions = world::regions();
    let what = if regions.iter().any(|r| r.contains(&address)) {
        "a range within the symmetric heap or the static data"
    } else {
        "an address in the symmetric heap or the static data"
    };
    die(
        f,
        format_args!("PE {pe}: address {address:#x} of {bytes} bytes: {what} is accepted"),
    )
}
