//! The helper: `hetmp goal kernel-engine`, a process that loads the program and attaches it to the interface.
//!
//! To load a program takes rights (CAP_BPF, CAP_NET_ADMIN) that the rank's process need not have, and code that has no
//! place in the programs of others. So the rank starts a process, gets three descriptors from it through a socket, and
//! keeps the socket. The program stays attached until the socket closes, however the rank ends. Meanwhile the helper
//! asks again for messages that were lost.

use hetmp_core::helper;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

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
    /// The longest part of a message that its packets take, bytes.
    pub(super) part: u64,
}

impl Helper {
    /// Starts a helper for an interface, and waits until the program is attached.
    ///
    /// # Errors
    /// One line: what failed and what is accepted.
    pub(super) fn start(interface: &str) -> Result<Helper, String> {
        let arguments = ["goal", "kernel-engine", "--interface", interface];
        let (socket, mut child) = helper::start(&arguments)?;
        let answer = helper::receive(&socket);
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
        let part = words
            .next()
            .and_then(|w| w.parse().ok())
            .ok_or_else(wrong)?;
        let descriptors = descriptors.try_into().map_err(|_| wrong())?;
        Ok(Helper {
            socket,
            descriptors,
            interface,
            address,
            part,
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
