//! Errors that end the job: one line that names the function, the PE and the value.

use crate::world;
use core::fmt;

/// Ends every PE of the job, after a line with `what`, which says what is wrong and what is expected.
#[cold]
#[inline(never)]
pub(crate) fn die(f: &'static str, what: fmt::Arguments<'_>) -> ! {
    let text = format!("{f} {what}");
    world::abort(1, &text)
}

/// The launcher has died, so that nobody can end the job. Each PE that waits ends by itself.
#[cold]
#[inline(never)]
pub(crate) fn launcher_gone(f: &'static str, me: u32) -> ! {
    hetmp_core::report::flush_output();
    hetmp_core::report::warn(format_args!(
        "{f} PE {me}: the launcher that started it has gone (expected one that stays)"
    ));
    // SAFETY: `_exit` has no preconditions. The program's exit handlers must not run: this thread is in the middle of
    // a call.
    unsafe { libc::_exit(1) }
}

/// Ends the job for a PE number that does not exist.
#[cold]
#[inline(never)]
pub(crate) fn bad_pe(f: &'static str, pe: i32, n: u32) -> ! {
    die(
        f,
        format_args!(
            "PE {pe}: no such PE (expected 0 to {})",
            n.saturating_sub(1)
        ),
    )
}

/// Ends the job for an address that is not symmetric, or a range that leaves its region.
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
        format_args!(
            "PE {pe}: address {address:#x} of {bytes} bytes: not symmetric (expected {what})"
        ),
    )
}
