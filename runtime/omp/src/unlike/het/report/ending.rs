//! How a program ended, and patience with what it has left locked.

use core::fmt;

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It runs on.
    Running,
    Exit,
    Signal(libc::c_int),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Running => f.write_str("running"),
            Ending::Exit => f.write_str("exit"),
            Ending::Signal(n) => write!(f, "signal {n}"),
        }
    }
}

/// Tries for a tenth of a second, because whoever has it needs it for a microsecond. A thread that
/// crashed has it for ever.
pub(super) fn patiently<T>(mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    for _ in 0..1000 {
        if let Some(it) = attempt() {
            return Some(it);
        }
        std::thread::sleep(core::time::Duration::from_micros(100));
    }
    None
}
