//! The helper: `hetmp goal kernel-engine`, a process that loads the program and attaches it to the interface.
//!
//! To load a program takes rights (CAP_BPF, CAP_NET_ADMIN) that the rank's process need not have, and code that has no
//! place in the programs of others. So the rank starts a process, gets three descriptors from it through a socket, and
//! keeps the socket. The program stays attached until the socket closes, however the rank ends. Meanwhile the helper
//! asks again for messages that were lost.

use core::ffi::CStr;
use core::mem::MaybeUninit;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a helper may take to load the program.
const PATIENCE: Duration = Duration::from_secs(30);
/// Descriptors that a helper sends.
const DESCRIPTORS: usize = 3;

/// A helper, and what it has sent.
#[derive(Debug)]
pub(super) struct Helper {
    /// The helper ends when this closes.
    pub(super) socket: UnixStream,
    /// The map of the state, the map of runs, the program.
    pub(super) descriptors: [OwnedFd; DESCRIPTORS],
    /// The interface's number.
    pub(super) interface: u32,
    /// Its address.
    pub(super) address: [u8; 6],
}

/// Where the command `hetmp` is: beside this library, in `../bin` of it, or in the `PATH`.
fn command() -> PathBuf {
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
        let up = f.parent().map(|p| p.join("bin/hetmp"));
        [Some(f.join("hetmp")), up].into_iter().flatten()
    });
    beside
        .into_iter()
        .find(|c| c.is_file())
        .unwrap_or_else(|| PathBuf::from("hetmp"))
}

impl Helper {
    /// Starts a helper for an interface, and waits until the program is attached.
    ///
    /// # Errors
    /// One line: what failed and what is accepted.
    pub(super) fn start(interface: &str) -> Result<Helper, String> {
        let (socket, theirs) = UnixStream::pair().map_err(|e| format!("socket: {e}"))?;
        let command = command();
        let started = Command::new(&command)
            .args(["goal", "kernel-engine", "--interface", interface])
            .env_remove("LD_PRELOAD")
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut child = started.map_err(|e| {
            format!(
                "command {}: {e}: hetmp of this installation is needed",
                command.display()
            )
        })?;
        socket
            .set_read_timeout(Some(PATIENCE))
            .map_err(|e| format!("socket: {e}"))?;
        let answer = receive(&socket);
        // The helper has forked itself away before it answers, so that the program never gets to see a child of ours.
        // If the program's own wait has taken this one, the error says so, and nothing is lost.
        let _ = child.wait();
        let (text, descriptors) = answer.map_err(|e| format!("helper: {e}"))?;
        let wrong = || format!("helper: answer {text:?}: hetmp of the same version is needed");
        if let Some(why) = text.strip_prefix("error ") {
            return Err(why.to_owned());
        }
        let mut words = text.strip_prefix("ready ").ok_or_else(wrong)?.split(' ');
        let interface = words
            .next()
            .and_then(|w| w.parse().ok())
            .ok_or_else(wrong)?;
        let address = words.next().and_then(address).ok_or_else(wrong)?;
        let descriptors = descriptors.try_into().map_err(|_| wrong())?;
        Ok(Helper {
            socket,
            descriptors,
            interface,
            address,
        })
    }
}

/// Six bytes from twelve hexadecimal digits.
pub(super) fn address(text: &str) -> Option<[u8; 6]> {
    let number = u64::from_str_radix(text, 16)
        .ok()
        .filter(|_| text.len() == 12)?;
    let mut address = [0; 6];
    address.copy_from_slice(&number.to_be_bytes()[2..]);
    Some(address)
}

/// One message of up to 500 bytes, with descriptors.
fn receive(socket: &UnixStream) -> io::Result<(String, Vec<OwnedFd>)> {
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
