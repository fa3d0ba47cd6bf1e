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
