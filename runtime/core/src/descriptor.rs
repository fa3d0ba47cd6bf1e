//! Numbers for our descriptors.
//!
//! A program may close what it did not open, by a loop over numbers, or take numbers that it believes free. Then our
//! messages would go into its files. So our descriptors get numbers that programs do not meet: they come after those of
//! an `fd_set`, and after the limit of open descriptors that processes usually have.

use crate::whole::Mutex;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

/// The first number that hetmp takes. The kernel keeps a table up to the highest one: 64 KiB for twice this number.
const FIRST: RawFd = 4096;

/// The descriptor under one of our numbers; under its old one where the process may have no more descriptors.
#[must_use]
pub fn apart<T: From<OwnedFd> + Into<OwnedFd>>(held: T) -> T {
    let held: OwnedFd = held.into();
    if held.as_raw_fd() >= FIRST {
        return held.into();
    }
    let again = move_up(&held).or_else(|| with_higher_limit(|| move_up(&held)));
    again.unwrap_or(held).into()
}

fn move_up(held: &OwnedFd) -> Option<OwnedFd> {
    // SAFETY: a live descriptor.
    let new = unsafe { libc::fcntl(held.as_raw_fd(), libc::F_DUPFD_CLOEXEC, FIRST) };
    // SAFETY: the number was just made, and nobody else has it.
    (new >= 0).then(|| unsafe { OwnedFd::from_raw_fd(new) })
}

/// Calls `body` while the process may have our numbers. The limit is for new descriptors: those above it stay.
fn with_higher_limit<T>(body: impl FnOnce() -> Option<T>) -> Option<T> {
    // Two threads would take each other's limit for the process's.
    static LOCK: Mutex<()> = Mutex::new(());
    let _held = LOCK.lock();
    let mut old = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: a live limit.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut old) } == 0;
    let wanted = old.rlim_max.min(2 * FIRST as libc::rlim_t);
    if !known || wanted <= old.rlim_cur {
        return None;
    }
    let higher = libc::rlimit {
        rlim_cur: wanted,
        ..old
    };
    // SAFETY: live limits.
    unsafe {
        if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const higher) != 0 {
            return None;
        }
        let result = body();
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const old);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_descriptor_gets_a_high_number_and_the_limit_stays() {
        let limit = || {
            let mut limit = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            // SAFETY: a live limit.
            let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
            assert_eq!(known, 0);
            (limit.rlim_cur, limit.rlim_max)
        };
        let before = limit();
        let (mut one, other) = UnixStream::pair().unwrap();
        let mut other = apart(other);
        assert_eq!(limit(), before);
        if before.1 >= 2 * FIRST as libc::rlim_t {
            assert!(other.as_raw_fd() >= FIRST);
            let number = other.as_raw_fd();
            other = apart(other);
            assert_eq!(other.as_raw_fd(), number);
        }
        std::io::Write::write_all(&mut one, b"x").unwrap();
        let mut got = [0];
        std::io::Read::read_exact(&mut other, &mut got).unwrap();
        assert_eq!(got, *b"x");
    }
}
