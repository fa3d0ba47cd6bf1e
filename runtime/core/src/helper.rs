//! A process of our own next to the program's, a command of the installation, which does for a process of a job what
//! must not, or cannot, be done inside of the program.
//!
//! The two share a socket, which is the helper's standard input. The helper ends when the program's process has ended,
//! however that comes about, because then the socket closes. [`start`] and [`receive`] are for the program's process;
//! [`apart`], [`send`] and [`closes`] for the helper.

use core::ffi::CStr;
use core::mem::MaybeUninit;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long a helper may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where a command of the installation is: next to this library, in `../bin` of it, or in the `PATH`, which a
/// [privileged](crate::env::is_privileged) process has from its caller and does not follow.
fn command(name: &str) -> Option<PathBuf> {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    let here = command as *const () as *const core::ffi::c_void;
    // SAFETY: `info` has room for the answer, and is read only if there is one; the name is a string that lives as long
    // as the library is loaded.
    let library = unsafe {
        if libc::dladdr(here, info.as_mut_ptr()) == 0 || info.assume_init_ref().dli_fname.is_null()
        {
            None
        } else {
            let name = CStr::from_ptr(info.assume_init_ref().dli_fname);
            Some(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())))
        }
    };
    let folder = library.as_deref().and_then(Path::parent);
    let beside = folder.into_iter().flat_map(|f| {
        let up = f.parent().map(|p| p.join("bin").join(name));
        [Some(f.join(name)), up].into_iter().flatten()
    });
    beside
        .into_iter()
        .find(|c| c.is_file())
        .or_else(|| (!crate::env::is_privileged()).then(|| PathBuf::from(name)))
}

/// Starts the command `name` of the installation with these arguments. Returns this process's end of the socket, and
/// the child: it ends as soon as the helper has put itself [apart], so that a program that waits for all its children
/// never sees one of ours.
///
/// # Errors
/// One line: what failed and what is needed.
pub fn start(name: &str, arguments: &[&str]) -> Result<(UnixStream, Child), String> {
    let (socket, theirs) = UnixStream::pair().map_err(|e| format!("socket: {e}"))?;
    let command = command(name)
        .ok_or_else(|| format!("command {name}: that of this installation is needed"))?;
    let started = Command::new(&command)
        .args(arguments)
        .env_remove("LD_PRELOAD")
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let child = started.map_err(|e| {
        format!(
            "command {}: {e}: that of this installation is needed",
            command.display()
        )
    })?;
    socket
        .set_read_timeout(Some(PATIENCE))
        .map_err(|e| format!("socket: {e}"))?;
    Ok((socket, child))
}

/// One message of up to 500 bytes, with descriptors.
///
/// # Errors
/// The system's; an end without a message.
pub fn receive(socket: &UnixStream) -> io::Result<(String, Vec<OwnedFd>)> {
    let mut text = [0u8; 500];
    // Aligned as control messages are, and long enough for more descriptors than are expected.
    let mut control = [0u64; 16];
    let mut io = libc::iovec {
        iov_base: text.as_mut_ptr().cast(),
        iov_len: text.len(),
    };
    // SAFETY: a structure of numbers and pointers, for which zero is a value.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = &raw mut io;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control);
    let read = loop {
        // SAFETY: `message` points to buffers of this function with their lengths.
        let read =
            unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
        if read >= 0 {
            break read as usize;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    };
    let mut descriptors = Vec::new();
    // SAFETY: the system has filled `control` with control messages, and CMSG_FIRSTHDR and CMSG_NXTHDR stay within
    // them. A message of SCM_RIGHTS is a header and then descriptors, which now belong to this process.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while let Some(h) = header.as_ref() {
            if h.cmsg_level == libc::SOL_SOCKET && h.cmsg_type == libc::SCM_RIGHTS {
                let data = libc::CMSG_DATA(header).cast::<RawFd>();
                let n = (h.cmsg_len - libc::CMSG_LEN(0) as usize) / size_of::<RawFd>();
                for i in 0..n {
                    descriptors.push(OwnedFd::from_raw_fd(data.add(i).read_unaligned()));
                }
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    if read == 0 {
        return Err(io::Error::other("ended without an answer"));
    }
    Ok((
        String::from_utf8_lossy(&text[..read]).trim_end().to_owned(),
        descriptors,
    ))
}

/// Lets this thread use every processor that the system lets it have. A launcher binds each rank to a processor of its
/// own (Open MPI does so by default), and what the rank starts inherits that: a helper could then work only while its
/// rank does not.
fn take_all_processors() {
    // SAFETY: a set of bits, which lives through the call. The call concerns this thread only. The system itself leaves
    // out processors that do not exist or that the control group does not have; if it refuses, the thread stays bound.
    unsafe {
        let mut all: libc::cpu_set_t = core::mem::zeroed();
        for cpu in 0..libc::CPU_SETSIZE as usize {
            libc::CPU_SET(cpu, &mut all);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const all);
    }
}

/// Leaves the process that the rank has started: that one ends, and its child goes on as nobody's child, on any
/// processor. True in the child.
///
/// # Errors
/// The system's.
pub fn apart() -> io::Result<bool> {
    // SAFETY: this process has one thread, so that the child may do what the parent could.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // Signals of the terminal are for the rank; its end closes the socket.
            // SAFETY: a system call without arguments.
            unsafe { libc::setsid() };
            take_all_processors();
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Sends a line with up to three descriptors.
///
/// # Errors
/// The system's.
pub fn send(socket: &UnixStream, text: &str, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
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
pub fn closes(socket: &UnixStream, time: Duration) -> io::Result<bool> {
    let mut poll = libc::pollfd {
        fd: socket.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: `poll` is one live structure, and the call is told of one.
    match unsafe { libc::poll(&raw mut poll, 1, time.as_millis() as libc::c_int) } {
        0 => Ok(false),
        // The rank never writes, so that anything to read is the end.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The processors of this thread.
    fn mine() -> libc::cpu_set_t {
        // SAFETY: a set of bits that lives through the call, which fills it.
        unsafe {
            let mut set: libc::cpu_set_t = core::mem::zeroed();
            let got = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
            assert_eq!(got, 0);
            set
        }
    }

    #[test]
    fn a_bound_thread_gets_its_processors_back() {
        // A thread of its own, so that other tests keep their processors.
        let test = std::thread::spawn(|| {
            let before = mine();
            let allowed = |set: &libc::cpu_set_t, cpu| {
                // SAFETY: the number is below CPU_SETSIZE.
                unsafe { libc::CPU_ISSET(cpu, set) }
            };
            let cpus = 0..libc::CPU_SETSIZE as usize;
            let first = cpus.clone().find(|c| allowed(&before, *c));
            // SAFETY: as in `mine`; the number is that of a processor of this thread.
            unsafe {
                let mut one: libc::cpu_set_t = core::mem::zeroed();
                libc::CPU_SET(first.expect("a processor"), &mut one);
                let set = libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one);
                assert_eq!((set, libc::CPU_COUNT(&mine())), (0, 1));
            }
            take_all_processors();
            let after = mine();
            for cpu in cpus {
                assert!(allowed(&after, cpu) || !allowed(&before, cpu), "{cpu}");
            }
        });
        test.join().expect("no panic");
    }
}
