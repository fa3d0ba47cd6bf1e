//! One-line messages to the user.
//!
//! Everything hetmp says to a person goes through here. Each message is one line and one `write`, so that lines of
//! several threads never mix, and all carry the same prefix.

use core::sync::atomic::{AtomicBool, Ordering};
use std::fmt::Write as _;

/// True while warnings are off (`KMP_WARNINGS=off`).
static QUIET: AtomicBool = AtomicBool::new(false);

/// Turns warnings off or on: [`warn`] writes nothing while they are off.
pub fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Writes `hetmp: <text>` and a line feed to standard error, as one system call, unless warnings are off.
pub fn warn(text: core::fmt::Arguments<'_>) {
    warn_as("hetmp: ", text);
}

/// [`warn`] with another prefix, by which scripts know warnings.
pub fn warn_as(prefix: &str, text: core::fmt::Arguments<'_>) {
    if !QUIET.load(Ordering::Relaxed) {
        line(prefix, text);
    }
}

/// Writes `prefix`, `text` and a line feed to standard error, as one system call.
pub fn line(prefix: &str, text: core::fmt::Arguments<'_>) {
    let mut buffer = String::with_capacity(160);
    buffer.push_str(prefix);
    // Formatting into a String fails only if one of our Display implementations is broken.
    let _ = buffer.write_fmt(text);
    buffer.push('\n');
    write_all(libc::STDERR_FILENO, buffer.as_bytes());
}

/// Says why the process cannot go on, and ends it with exit status 1, as libgomp does.
#[cold]
pub fn fatal(text: core::fmt::Arguments<'_>) -> ! {
    line("hetmp: ", text);
    // SAFETY: exit has no preconditions; a library that cannot go on ends the process by it.
    unsafe { libc::exit(1) }
}

extern "C" {
    static mut stdout: *mut libc::FILE;
    fn ftrylockfile(file: *mut libc::FILE) -> libc::c_int;
    fn funlockfile(file: *mut libc::FILE);
    fn fflush_unlocked(file: *mut libc::FILE) -> libc::c_int;
}

/// Writes out the text that waits in the program's standard output. For a process that is about to end by `_exit`,
/// which would lose that text.
///
/// Another thread of the program may hold the stream's lock and never release it, because it waits for this very
/// thread. So this looks `PATIENCE` times, a millisecond apart, and then gives the text up.
#[cold]
pub fn flush_output() {
    /// How often to look at a stream whose lock another thread holds.
    const PATIENCE: u32 = 100;
    for _ in 0..PATIENCE {
        // SAFETY: the C library's own stream, which it never frees; the program may have set the variable to another
        // stream of its own, which is as good. The lock is held while it is flushed.
        unsafe {
            let out = stdout;
            if out.is_null() {
                return;
            }
            if ftrylockfile(out) == 0 {
                fflush_unlocked(out);
                funlockfile(out);
                return;
            }
        }
        std::thread::sleep(core::time::Duration::from_millis(1));
    }
}

/// Writes `text` to the program's standard output, after what the program itself has written there.
pub fn print(text: &[u8]) {
    // SAFETY: the C library's own stream, which it never frees, and a live slice. The stream locks itself.
    unsafe {
        let out = stdout;
        if !out.is_null() {
            libc::fwrite(text.as_ptr().cast(), 1, text.len(), out);
        }
    }
}

/// Writes all of `bytes` to `fd`. Goes on after interrupted and short writes. Errors are ignored: there is nobody
/// left to tell.
pub fn write_all(fd: libc::c_int, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the pointer and length describe a live slice.
        let n = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
        if n > 0 {
            bytes = &bytes[n as usize..];
        } else if crate::sys::errno() != libc::EINTR {
            return;
        }
    }
}
