//! How many ranks a user has at once. An interface has room for few programs, and whoever takes all of it keeps the
//! others out.
//!
//! Each helper holds a socket with a name, and the system tells of every socket of the network namespace who has made
//! it. So the count needs no file, nobody can take part in another user's count, and a helper that ends, however, is
//! not counted any more.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// What the names of helpers' sockets begin with.
const NAME: &str = "hetmp-goal-kernel.";

/// One rank's place among those of its user.
#[derive(Debug)]
pub(crate) struct Slot(#[allow(dead_code, reason = "it is held, not used")] UnixDatagram);

impl Slot {
    /// A place, if `user`, who is this process's, has fewer than `most`.
    ///
    /// # Errors
    /// One line.
    pub(crate) fn take(user: u32, most: usize) -> Result<Slot, String> {
        let wrong = |e: io::Error| format!("ranks of user {user}: {e}");
        // Before the count, so that of two at once one at least counts both.
        let slot = Slot::new().map_err(wrong)?;
        let ranks = count(user).map_err(wrong)?;
        if ranks > most {
            return Err(format!(
                "ranks of user {user}: too many at once (expected at most {most})"
            ));
        }
        Ok(slot)
    }

    fn new() -> io::Result<Slot> {
        let mut random = [0u8; 8];
        // SAFETY: the call writes at most the eight bytes of `random`.
        if unsafe { libc::getrandom(random.as_mut_ptr().cast(), random.len(), 0) } != 8 {
            return Err(io::Error::last_os_error());
        }
        // A name that nobody else can have taken.
        let name = format!("{NAME}{:016x}", u64::from_ne_bytes(random));
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        socket.shutdown(Shutdown::Both)?;
        Ok(Slot(socket))
    }
}

/// The helpers' sockets that this user has made.
fn count(user: u32) -> io::Result<usize> {
    // SAFETY: a system call that takes numbers; the descriptor is new and nobody else has it.
    let socket = unsafe {
        let fd = libc::socket(
            libc::AF_NETLINK,
            libc::SOCK_RAW | libc::SOCK_CLOEXEC,
            libc::NETLINK_SOCK_DIAG,
        );
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    let request = request();
    // SAFETY: the call reads `request`, of which it is told the length.
    let sent = unsafe {
        libc::send(
            socket.as_raw_fd(),
            request.as_ptr().cast(),
            request.len(),
            0,
        )
    };
    if sent != request.len() as isize {
        return Err(io::Error::last_os_error());
    }
    let mut found = 0;
    let mut answer = vec![0u8; 1 << 16];
    loop {
        // SAFETY: the call writes at most as many bytes as `answer` has.
        let read = unsafe {
            libc::recv(
                socket.as_raw_fd(),
                answer.as_mut_ptr().cast(),
                answer.len(),
                0,
            )
        };
        let Ok(read) = usize::try_from(read) else {
            return Err(io::Error::last_os_error());
        };
        for (kind, body) in messages(&answer[..read]) {
            match libc::c_int::from(kind) {
                libc::NLMSG_DONE => return Ok(found),
                libc::NLMSG_ERROR => {
                    let error = body.first_chunk().map_or(0, |b| -i32::from_ne_bytes(*b));
                    return Err(io::Error::from_raw_os_error(error));
                }
                _ => found += usize::from(is_users(body, user)),
            }
        }
    }
}

/// `SOCK_DIAG_BY_FAMILY`: tells of sockets.
const BY_FAMILY: u16 = 20;
/// Of each, the name and the user (`UDIAG_SHOW_NAME`, `UDIAG_SHOW_UID`), which are these attributes.
const SHOW: u32 = 1 | 0x40;
const ATTRIBUTE_NAME: u16 = 0;
const ATTRIBUTE_USER: u16 = 7;
/// Bytes of `struct nlmsghdr` and `struct unix_diag_msg`.
const HEAD: usize = 16;
const SOCKET: usize = 16;

/// Asks for all sockets of AF_UNIX: a `struct nlmsghdr` and a `struct unix_diag_req`.
fn request() -> Vec<u8> {
    let mut bytes = Vec::new();
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    bytes.extend(40u32.to_ne_bytes());
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([libc::AF_UNIX as u8, 0, 0, 0]);
    // Sockets in any state, any number.
    for word in [u32::MAX, 0, SHOW, u32::MAX, u32::MAX] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes
}

/// Parts that begin with a length (of 4 or 2 bytes) and a kind, and end at multiples of four bytes. Of each, the kind
/// and what follows `head` bytes.
fn parts(bytes: &[u8], wide: bool, head: usize) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    core::iter::from_fn(move || {
        let half = |at: usize| {
            rest.get(at..)?
                .first_chunk()
                .map(|b| u16::from_ne_bytes(*b))
        };
        let (len, kind) = if wide {
            let len = rest.first_chunk().map(|b| u32::from_ne_bytes(*b))?;
            (len as usize, half(4)?)
        } else {
            (usize::from(half(0)?), half(2)?)
        };
        let body = rest.get(head..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, body))
    })
}

fn messages(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    parts(bytes, true, HEAD)
}

/// Whether a message tells of a helper's socket of this user.
fn is_users(message: &[u8], user: u32) -> bool {
    let attributes = message.get(SOCKET..).unwrap_or(&[]);
    let of = |kind: u16| {
        parts(attributes, false, 4)
            .find(|(k, _)| *k == kind)
            .map(|(_, value)| value)
    };
    let is_helper = of(ATTRIBUTE_NAME).is_some_and(|name| {
        name.strip_prefix(b"\0")
            .is_some_and(|name| name.starts_with(NAME.as_bytes()))
    });
    is_helper && of(ATTRIBUTE_USER) == Some(&user.to_ne_bytes()[..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(name: &[u8], user: u32) -> Vec<u8> {
        let mut bytes = vec![0; SOCKET];
        for (kind, value) in [
            (5, &[0; 4][..]),
            (ATTRIBUTE_USER, &user.to_ne_bytes()),
            (ATTRIBUTE_NAME, name),
        ] {
            bytes.extend((4 + value.len() as u16).to_ne_bytes());
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    #[test]
    fn a_users_helpers_are_counted_and_no_others() {
        assert!(is_users(&message(b"\0hetmp-goal-kernel.1", 1000), 1000));
        assert!(!is_users(&message(b"\0hetmp-goal-kernel.1", 1001), 1000));
        assert!(!is_users(&message(b"\0another", 1000), 1000));
        assert!(!is_users(&message(b"hetmp-goal-kernel.1", 1000), 1000));
        let whole = message(b"\0hetmp-goal-kernel.1", 1000);
        for cut in 0..whole.len() - 1 {
            assert!(!is_users(&whole[..cut], 1000), "{cut} bytes");
        }
    }

    #[test]
    fn a_user_has_so_many_places_and_gets_them_back() {
        // SAFETY: a call without preconditions.
        let me = unsafe { libc::getuid() };
        let others = count(me).expect("the system tells");
        let first = Slot::take(me, others + 2).expect("the first");
        let second = Slot::take(me, others + 2).expect("the second");
        let third = Slot::take(me, others + 2).expect_err("one too many");
        assert!(
            third.contains("too many at once (expected at most "),
            "{third}"
        );
        drop(first);
        Slot::take(me, others + 2).expect("there is room again");
        assert_eq!(count(me.wrapping_add(1)).expect("the system tells"), 0);
        drop(second);
    }
}
