//! How a program ended; and a bounded wait for locks that it may have left locked.

use core::fmt;

/// How the program has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The program still runs.
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
