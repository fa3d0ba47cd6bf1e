//! Asks the kernel which of a rank's streams have bytes. The answer costs as much as there are such streams, however
//! many there are in all.
//!
//! With `poll` every look goes through all streams: in a job of 64 ranks on two cores that was most of a barrier's
//! time.

use hetmp_core::descriptor::apart;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// The most streams that one look finds. What is left over is found by the next look.
const BATCH: usize = 64;

/// The streams of a rank in an epoll set, by the numbers of their peers.
#[derive(Debug)]
pub(super) struct Ready {
    set: OwnedFd,
    /// By peer: the set also watches for room to write.
    writes: Vec<bool>,
}

impl Ready {
    /// An empty set, for peers below `ranks`.
    ///
    /// # Errors
    /// The process or system has too many descriptors.
    pub(super) fn new(ranks: usize) -> io::Result<Ready> {
        // SAFETY: no preconditions.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Ready {
            // SAFETY: the descriptor was just made, and nobody else has it.
            set: apart(unsafe { OwnedFd::from_raw_fd(fd) }),
            writes: vec![false; ranks],
        })
    }

    fn control(&self, what: i32, peer: usize, stream: RawFd) -> io::Result<()> {
        let out = if self.writes[peer] { libc::EPOLLOUT } else { 0 };
        let mut event = libc::epoll_event {
            events: (libc::EPOLLIN | out) as u32,
            u64: peer as u64,
        };
        // SAFETY: two live descriptors, and a live event.
        match unsafe { libc::epoll_ctl(self.set.as_raw_fd(), what, stream, &mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Adds the stream of a peer.
    ///
    /// # Errors
    /// The system's limit of watched descriptors.
    pub(super) fn add(&mut self, peer: usize, stream: RawFd) -> io::Result<()> {
        self.writes[peer] = false;
        self.control(libc::EPOLL_CTL_ADD, peer, stream)
    }

    /// Removes a stream, which must still be open. Closing alone would not remove a stream that a forked child has
    /// open, too: the set would find it for ever.
    pub(super) fn remove(&mut self, peer: usize, stream: RawFd) {
        let _ = self.control(libc::EPOLL_CTL_DEL, peer, stream);
    }

    /// Says whether room to write counts as ready, too.
    pub(super) fn set_writes(&mut self, peer: usize, stream: RawFd, writes: bool) {
        if self.writes[peer] != writes {
            self.writes[peer] = writes;
            let _ = self.control(libc::EPOLL_CTL_MOD, peer, stream);
        }
    }

    /// A descriptor that is readable while a stream is ready.
    pub(super) fn descriptor(&self) -> RawFd {
        self.set.as_raw_fd()
    }

    /// Fills in the peers whose streams have bytes, have ended or have failed.
    pub(super) fn look(&self, peers: &mut Vec<usize>) {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; BATCH];
        // SAFETY: a live descriptor and an array of the length given.
        let n = unsafe {
            libc::epoll_wait(
                self.set.as_raw_fd(),
                events.as_mut_ptr(),
                BATCH as libc::c_int,
                0,
            )
        };
        peers.clear();
        for event in events.iter().take(n.max(0) as usize) {
            // The structure is packed on x86-64: its fields are copied, not borrowed.
            let (bits, peer) = (event.events, event.u64);
            if bits & !(libc::EPOLLOUT as u32) != 0 {
                peers.push(peer as usize);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    #[test]
    fn only_streams_with_bytes_or_an_end_are_found() {
        let pairs: Vec<_> = (0..100).map(|_| UnixStream::pair().unwrap()).collect();
        let mut ready = Ready::new(100).unwrap();
        for (peer, (here, _)) in pairs.iter().enumerate() {
            ready.add(peer, here.as_raw_fd()).unwrap();
        }
        let mut found = vec![7];
        ready.look(&mut found);
        assert!(found.is_empty());
        (&pairs[3].1).write_all(b"x").unwrap();
        // Room to write alone is no reason to read.
        ready.set_writes(5, pairs[5].0.as_raw_fd(), true);
        ready.look(&mut found);
        assert_eq!(found, [3]);
        pairs[9].1.shutdown(std::net::Shutdown::Both).unwrap();
        ready.look(&mut found);
        found.sort_unstable();
        assert_eq!(found, [3, 9]);
        // A copy of the descriptor, as a forked child has, does not keep a removed stream in the set.
        let copy = pairs[9].0.try_clone().unwrap();
        ready.remove(9, pairs[9].0.as_raw_fd());
        ready.look(&mut found);
        assert_eq!(found, [3]);
        drop(copy);
        // More streams than one look finds are found by the following looks, since reading takes them out.
        for (_, there) in &pairs[10..] {
            let mut there = there;
            there.write_all(b"y").unwrap();
        }
        let mut all = std::collections::BTreeSet::new();
        for _ in 0..3 {
            ready.look(&mut found);
            for &peer in &found {
                let mut byte = [0];
                std::io::Read::read_exact(&mut &pairs[peer].0, &mut byte).unwrap();
                all.insert(peer);
            }
        }
        assert_eq!(all.len(), 91);
    }

    #[test]
    fn a_sleeper_learns_of_room_to_write() {
        let (here, there) = UnixStream::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        let mut ready = Ready::new(1).unwrap();
        ready.add(0, here.as_raw_fd()).unwrap();
        let readable = |ready: &Ready| {
            let mut fd = libc::pollfd {
                fd: ready.descriptor(),
                events: libc::POLLIN,
                revents: 0,
            };
            // SAFETY: one live descriptor.
            unsafe { libc::poll(&mut fd, 1, 0) == 1 }
        };
        while (&here).write(&[0; 4096]).is_ok() {}
        ready.set_writes(0, here.as_raw_fd(), true);
        assert!(!readable(&ready));
        let mut buffer = vec![0; 1 << 20];
        std::io::Read::read(&mut &there, &mut buffer).unwrap();
        // The kernel says that there is room once a good part of the buffer is free.
        while !readable(&ready) {
            std::io::Read::read(&mut &there, &mut buffer).unwrap();
        }
        ready.set_writes(0, here.as_raw_fd(), false);
        assert!(!readable(&ready));
    }
}
