//! A network interface, as the program needs it.
//!
//! Requests (`ioctl`) read and write one structure, of which each fills the member that is read behind it.

use hetmp_goal::kernel::{HEAD_BYTES, MESSAGE, PART};
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// An interface's number and address, and how much of a message its packets take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interface {
    pub(crate) number: u32,
    pub(crate) address: [u8; 6],
    /// The longest part of a message in one packet, bytes.
    pub(crate) part: u64,
}

/// Bytes of an Ethernet head, which an interface's longest packet does not count.
const ETHERNET: usize = 14;

/// The interface of this name in this process's network namespace.
///
/// # Errors
/// One line: what is wrong with it and what is expected.
pub(crate) fn find(name: &str) -> Result<Interface, String> {
    let wrong = |why: &dyn core::fmt::Display| format!("interface {name}: {why}");
    // SAFETY: a structure of numbers, for which zero is a value.
    let mut request: libc::ifreq = unsafe { core::mem::zeroed() };
    if name.is_empty() || name.len() >= request.ifr_name.len() {
        return Err(wrong(&"no interface's name (expected 1 to 15 bytes)"));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    // SAFETY: a system call that takes numbers.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(wrong(&io::Error::last_os_error()));
    }
    // SAFETY: the descriptor was just made, and nobody else has it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let mut ask = |what: libc::Ioctl| -> Result<libc::__c_anonymous_ifr_ifru, String> {
        // SAFETY: `request` is a structure of the kind that these requests read and write.
        if unsafe { libc::ioctl(socket.as_raw_fd(), what, &raw mut request) } < 0 {
            return Err(wrong(&io::Error::last_os_error()));
        }
        Ok(request.ifr_ifru)
    };
    // SAFETY: each request fills the member that is read after it.
    unsafe {
        let number = ask(libc::SIOCGIFINDEX)?.ifru_ifindex as u32;
        let flags = libc::c_int::from(ask(libc::SIOCGIFFLAGS)?.ifru_flags);
        let longest = ask(libc::SIOCGIFMTU)?.ifru_mtu as usize;
        let hardware = ask(libc::SIOCGIFHWADDR)?.ifru_hwaddr;
        if flags & libc::IFF_UP == 0 {
            return Err(wrong(&"down (expected an interface that is up)"));
        }
        if ![libc::ARPHRD_ETHER, libc::ARPHRD_LOOPBACK].contains(&hardware.sa_family) {
            return Err(wrong(
                &"another kind of device (expected Ethernet or the loopback device)",
            ));
        }
        let need = HEAD_BYTES + MESSAGE as usize - ETHERNET;
        if longest < need {
            return Err(wrong(&format_args!(
                "packets of up to {longest} bytes (expected {need} or more)"
            )));
        }
        let mut address = [0; 6];
        for (to, from) in address.iter_mut().zip(hardware.sa_data) {
            *to = from as u8;
        }
        // Whole words, so that copies of parts begin at words.
        let part = (longest + ETHERNET - HEAD_BYTES) as u64 / 8 * 8;
        Ok(Interface {
            number,
            address,
            part: part.clamp(MESSAGE, PART),
        })
    }
}
