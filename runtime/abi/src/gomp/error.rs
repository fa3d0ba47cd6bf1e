//! The `error` directive.

use crate::entry::entries;
use hetmp_core::report;
use hetmp_omp::tool::{self, events};
use libc::{c_char, size_t};
use std::ffi::{CStr, CString};

/// The bytes of a message. If `length` is the largest number, the message ends at its terminating zero.
///
/// # Safety
/// `message` is null, or a text of `length` bytes, or a text with a terminating zero.
unsafe fn text<'a>(message: *const c_char, length: size_t) -> Option<&'a [u8]> {
    if message.is_null() {
        return None;
    }
    // SAFETY: not null, and so a text of that length or with a terminating zero: this function's contract.
    Some(unsafe {
        if length == size_t::MAX {
            CStr::from_ptr(message).to_bytes()
        } else {
            core::slice::from_raw_parts(message.cast(), length)
        }
    })
}

/// Tells a tool of the directive. Severity 1 warns, 2 is fatal.
#[cold]
fn tell(severity: u32, message: Option<&[u8]>) {
    // A message with a zero inside ends there.
    let text = message.unwrap_or_default();
    let text: Vec<u8> = text.iter().copied().take_while(|&b| b != 0).collect();
    events::error(severity, &CString::new(text).unwrap_or_default());
}

/// Writes the directive's line, with libgomp's words, because programs and test suites look for them.
fn say(fatal: bool, message: Option<&[u8]>) {
    if tool::on() {
        tell(if fatal { 2 } else { 1 }, message);
    }
    let severity = if fatal { "fatal error: " } else { "" };
    let mut line = format!("\nlibgomp: {severity}error directive encountered").into_bytes();
    if let Some(message) = message {
        line.extend_from_slice(b": ");
        line.extend_from_slice(message);
    }
    line.push(b'\n');
    report::write_all(libc::STDERR_FILENO, &line);
}

entries! {
    "GOMP_5.1" default:
    /// `error at(execution) severity(warning)`.
    watched fn GOMP_warning(message: *const c_char, length: size_t) {
        // SAFETY: the compiled code passes a text and its length.
        say(false, unsafe { text(message, length) });
    }

    /// `error at(execution) severity(fatal)`: ends the program with status 1.
    watched fn GOMP_error(message: *const c_char, length: size_t) {
        // SAFETY: the compiled code passes a text and its length.
        say(true, unsafe { text(message, length) });
        // SAFETY: exit has no preconditions.
        unsafe { libc::exit(1) };
    }
}
