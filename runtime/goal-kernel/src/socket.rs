//! The helper's end of the socket to its rank.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Leaves the process that the rank has started: that one ends, and its child goes on as nobody's child. True in the
/// child.
///
/// # Errors
/// The system's.
pub(crate) fn apart() -> io::Result<bool> {
    // SAFETY: this process has one thread, so that the child may do what the parent could.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // Signals of the terminal are for the rank; its end closes the socket.
            // SAFETY: a system call without arguments.
            unsafe { libc::setsid() };
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Sends a line with up to three descriptors.
///
/// # Errors
/// The system's.
pub(crate) fn send(
    socket: &UnixStream,
    text: &str,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    // Aligned as control messages are, and long enough for one with four descriptors.
    let mut control = [0u64; 8];
    let mut io = libc::iovec {
        iov_base: text.as_ptr().cast_mut().cast(),
        iov_len: text.len(),
    };
    // SAFETY: a structure of numbers and pointers, for which zero is a value.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = &raw mut io;
    message.msg_iovlen = 1;
    if !descriptors.is_empty() {
        let bytes = size_of_val(descriptors) as u32;
        assert!(descriptors.len() <= 4, "the room in `control`");
        message.msg_control = control.as_mut_ptr().cast();
        // SAFETY: `control` has room for a header and four descriptors, of which `bytes` are written behind the
        // header.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(bytes) as _;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(bytes) as _;
            let data = libc::CMSG_DATA(header).cast::<RawFd>();
            for (i, d) in descriptors.iter().enumerate() {
                data.add(i).write_unaligned(d.as_raw_fd());
            }
        }
    }
    loop {
        // SAFETY: `message` points to buffers of this function with their lengths, and to a text that is only read.
        let sent =
            unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
        if sent >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Waits for at most `time`. True if the other end has closed.
///
/// # Errors
/// The system's.
pub(crate) fn closes(socket: &UnixStream, time: Duration) -> io::Result<bool> {
    let mut poll = libc::pollfd {
        fd: socket.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: `poll` is one live structure, and the call is told of one.
    match unsafe { libc::poll(&raw mut poll, 1, time.as_millis() as libc::c_int) } {
        0 => Ok(false),
        // The rank never writes, so that whatever there is to read is the end.
        n if n > 0 => Ok(true),
        _ => {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                Ok(false)
            } else {
                Err(error)
            }
        }
    }
}
