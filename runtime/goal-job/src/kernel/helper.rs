//! The helper: `hetmp-goal-kernel`, a process that loads the program and attaches it to the interface.
//!
//! To load a program takes rights (CAP_BPF, CAP_NET_ADMIN) that the rank's process need not have, and code that has no
//! place in the programs of others. So the rank starts a process, gets three descriptors from it through a socket, and
//! keeps the socket. When the rank has met the others, it tells the helper who it is in the job. The program stays
//! attached until the socket closes, however the rank ends. Meanwhile the helper asks again for messages that were
//! lost.

use hetmp_core::helper;
use hetmp_goal::kernel::member::{address, Member};
use std::io::{self, Write as _};
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
    /// The interface's address.
    pub(super) address: [u8; 6],
    /// The longest part of a message that its packets take, bytes.
    pub(super) part: u64,
}

impl Helper {
    /// Starts a helper for an interface, and waits until the program is attached.
    ///
    /// # Errors
    /// One line: what failed and what is expected.
    pub(super) fn start(interface: &str) -> Result<Helper, String> {
        let (socket, mut child) = helper::start("hetmp-goal-kernel", &["--interface", interface])?;
        let answer = helper::receive(&socket);
        // The helper has forked itself away before it answers, so that the program never gets to see one of our
        // children. If the program's own wait has taken this one, the error says so, and nothing is lost.
        let _ = child.wait();
        let (text, descriptors) = answer.map_err(|e| format!("helper: {e}"))?;
        let wrong = || format!("helper: answer {text:?}: hetmp of the same version is needed");
        if let Some(why) = text.strip_prefix("error ") {
            return Err(why.to_owned());
        }
        let mut words = text.strip_prefix("ready ").ok_or_else(wrong)?.split(' ');
        let address = words.next().and_then(address).ok_or_else(wrong)?;
        let part = words
            .next()
            .and_then(|w| w.parse().ok())
            .ok_or_else(wrong)?;
        let descriptors = descriptors.try_into().map_err(|_| wrong())?;
        Ok(Helper {
            socket,
            descriptors,
            address,
            part,
        })
    }

    /// Has the program take packets as this member.
    ///
    /// # Errors
    /// One line: why the helper does not.
    pub(super) fn join(&mut self, member: &Member) -> Result<(), String> {
        let said = self
            .socket
            .write_all(format!("{}\n", member.encode()).as_bytes());
        let answer = said.and_then(|()| helper::receive(&self.socket));
        match answer.map_err(|e: io::Error| format!("helper: {e}"))?.0 {
            text if text == "joined" => Ok(()),
            text => Err(text.strip_prefix("error ").unwrap_or(&text).to_owned()),
        }
    }
}
